import { webcrypto } from "node:crypto";
import { open, rename } from "node:fs/promises";
import { Parley as Common } from "./parley.js";
import { MemoryStorage, applyChanges } from "./storage.js";
import { WebSocket } from "./websocket.js";

export * from "./parley.js";

globalThis.crypto ??= webcrypto; // Node 18

/** The client with what Node lacks: a WebSocket. */
export class Parley extends Common {
  constructor(options) {
    super({ WebSocket, ...options });
  }
}

const REWRITE_BYTES = 1 << 20;

/** Keeps everything in one file: a line of JSON for each write, the last of which may be cut off. */
export class FileStorage extends MemoryStorage {
  keepsBlobs = undefined;
  #path;
  #file;
  #loading;
  #writing;
  #waiting = [];
  #size = 0;
  #kept = 0;

  constructor(path) {
    super();
    this.#path = path;
  }

  #load() {
    this.#loading ??= (async () => {
      this.#file = await open(this.#path, "a+", 0o600);
      for (const line of (await this.#file.readFile("utf8")).split("\n")) {
        try {
          applyChanges(
            this.tables,
            JSON.parse(line).map(([table, key, value]) => [table, key, value ?? undefined]),
          );
        } catch {
          /* cut off */
        }
      }
      await this.#rewrite();
    })();
    return this.#loading;
  }

  async get(table, key) {
    await this.#load();
    return super.get(table, key);
  }

  async all(table) {
    await this.#load();
    return super.all(table);
  }

  /** Writes that wait for the disk are written together. */
  async write(changes) {
    await this.#load();
    if (!changes.length) return;
    applyChanges(this.tables, changes);
    this.#waiting.push(JSON.stringify(changes) + "\n");
    this.#writing ??= this.#drain();
    await this.#writing;
  }

  async #drain() {
    await undefined;
    try {
      while (this.#waiting.length) {
        const text = this.#waiting.splice(0).join("");
        await this.#file.appendFile(text);
        await this.#file.datasync();
        this.#size += text.length;
        if (this.#size > REWRITE_BYTES && this.#size > 4 * this.#kept) await this.#rewrite();
      }
    } finally {
      this.#writing = undefined;
    }
  }

  async #rewrite() {
    const changes = [...this.tables].flatMap(([table, values]) =>
      [...values].map(([key, value]) => [table, key, value]),
    );
    const text = changes.map((change) => JSON.stringify([change]) + "\n").join("");
    const next = await open(this.#path + ".new", "w", 0o600);
    await next.writeFile(text);
    await next.datasync();
    await next.close();
    await rename(this.#path + ".new", this.#path);
    await this.#file.close();
    this.#file = await open(this.#path, "a", 0o600);
    this.#size = this.#kept = text.length;
  }

  async clear() {
    await this.#load();
    await super.clear();
    await this.#writing;
    await this.#rewrite();
  }

  async close() {
    await this.#writing;
    await this.#file?.close();
    this.#loading = this.#file = undefined;
  }
}
