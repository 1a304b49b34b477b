import { ParleyError } from "./errors.js";

const TABLES = ["state", "dialogs", "tails", "outbox"];

/** Applies changes to tables by their names. */
export function applyChanges(tables, changes) {
  for (const [table, key, value] of changes) {
    if (value === undefined) tables.get(table).delete(key);
    else tables.get(table).set(key, value);
  }
}

/** Keeps nothing beyond the process. */
export class MemoryStorage {
  keepsBlobs = true;
  tables = new Map(TABLES.map((name) => [name, new Map()]));

  async get(table, key) {
    return this.tables.get(table).get(key);
  }

  async all(table) {
    return [...this.tables.get(table)].sort(([a], [b]) => (a < b ? -1 : Number(a > b)));
  }

  async write(changes) {
    applyChanges(this.tables, changes);
  }

  async clear() {
    for (const table of this.tables.values()) table.clear();
  }

  async close() {}
}

/** A database of the browser, shared by the tabs of an origin. */
export class IndexedDBStorage {
  keepsBlobs = true;
  #name;
  #opening;

  constructor(name = "parley") {
    this.#name = name;
  }

  #database() {
    this.#opening ??= new Promise((resolve, reject) => {
      const request = indexedDB.open(this.#name, 1);
      request.onupgradeneeded = () => {
        for (const table of TABLES) request.result.createObjectStore(table);
      };
      request.onsuccess = () => {
        // Another tab wants to delete or change the database: reopened at the next use.
        request.result.onversionchange = () => this.close();
        request.result.onclose = () => {
          this.#opening = undefined;
        };
        resolve(request.result);
      };
      request.onerror = () => reject(failure(request.error));
    });
    return this.#opening;
  }

  async #run(tables, mode, work) {
    const transaction = (await this.#database()).transaction(tables, mode, { durability: "strict" });
    return new Promise((resolve, reject) => {
      const result = work(transaction);
      transaction.oncomplete = () => resolve(result());
      // The transaction itself has no error until it has ended.
      transaction.onerror = transaction.onabort = (event) => reject(failure(event.target.error ?? transaction.error));
    });
  }

  get(table, key) {
    return this.#run([table], "readonly", (transaction) => {
      const request = transaction.objectStore(table).get(key);
      return () => request.result;
    });
  }

  all(table) {
    return this.#run([table], "readonly", (transaction) => {
      const store = transaction.objectStore(table);
      const [keys, values] = [store.getAllKeys(), store.getAll()];
      return () => keys.result.map((key, i) => [key, values.result[i]]);
    });
  }

  write(changes) {
    const tables = [...new Set(changes.map(([table]) => table))];
    if (!tables.length) return Promise.resolve();
    return this.#run(tables, "readwrite", (transaction) => {
      for (const [table, key, value] of changes) {
        const store = transaction.objectStore(table);
        if (value === undefined) store.delete(key);
        else store.put(value, key);
      }
      return () => undefined;
    });
  }

  clear() {
    return this.#run(TABLES, "readwrite", (transaction) => {
      for (const table of TABLES) transaction.objectStore(table).clear();
      return () => undefined;
    });
  }

  async close() {
    const opening = this.#opening;
    this.#opening = undefined;
    (await opening)?.close();
  }
}

const failure = (error) => new ParleyError("storage", `The local store failed: ${error?.message}`, {}, error);
