import { delay } from "./connection.js";
import { ParleyError, closed } from "./errors.js";
import { upload } from "./uploads.js";

/**
 * @typedef {object} Entry
 * @property {string} key By which the entries are ordered.
 * @property {string} clientId
 * @property {string} dialogId
 * @property {any} body
 * @property {any[]} [files]
 * @property {"storing" | "queued" | "failed"} state
 * @property {string} createdAt
 * @property {{ code: string, detail: string, field?: string }} [error]
 * @property {number} [progress]
 */

/**
 * Messages that are to be sent, in order within each dialog, one at a time. An entry is `storing` until it is stored, then `queued`,
 * and `failed` if the server refuses it; it is removed when the server has it. A repeat after a lost answer has the same `clientId`
 * and makes no second message.
 */
export class Outbox {
  /** @type {Map<string, Entry>} */
  entries = new Map();
  /** By dialog: the running work. */
  running = new Map();
  aborts = new Map();
  waiters = new Map();
  last = 0;

  /** @param {import("./core.js").Core} client */
  constructor(client) {
    this.client = client;
  }

  /** What another tab or an earlier process has left. */
  async load() {
    for (const [, entry] of await this.client.storage.all("outbox")) {
      if (!this.entries.has(entry.clientId)) this.entries.set(entry.clientId, entry);
    }
    this.order();
  }

  order() {
    this.entries = new Map([...this.entries].sort(([, a], [, b]) => (a.key < b.key ? -1 : 1)));
  }

  of(dialogId) {
    return [...this.entries.values()].filter((entry) => entry.dialogId === dialogId);
  }

  /**
   * As a message of its dialog.
   *
   * @param {Entry} entry
   * @returns {import("./parley.js").LocalMessage}
   */
  shown({ clientId, dialogId, body, files, createdAt, state, error, progress }) {
    const content = body.content ?? { type: "text", text: "" };
    const attachments =
      files?.map(({ name, mediaType, size, data }) => ({ name, mediaType, size, data })) ??
      content.attachments?.map((id) => ({ id }));
    return {
      key: clientId,
      id: "",
      seq: Infinity,
      dialogId,
      senderId: this.client.userId,
      clientId,
      sentAt: createdAt,
      content: { ...content, text: content.text ?? "", ...(attachments && { attachments }) },
      replyTo: body.replyTo,
      mentions: body.mentions,
      metadata: body.metadata,
      status: state === "queued" ? "sending" : state,
      error,
      progress,
    };
  }

  async add(dialogId, body, files) {
    const waiting = this.entries.get(body.clientId);
    // A bot that gets an event again answers it again. The first answer is sent, even if it was refused before.
    if (waiting?.dialogId === dialogId) {
      if (waiting.state === "failed") await this.retry(waiting.clientId);
      return this.shown(waiting);
    }
    if (waiting) throw new ParleyError("client-id-reused", "A message with this clientId waits for another dialog.");
    this.last = Math.max(this.last + 1, Date.now());
    /** @type {Entry} */
    const entry = {
      key: String(this.last).padStart(16, "0") + body.clientId,
      clientId: body.clientId,
      dialogId,
      body,
      files,
      state: "storing",
      createdAt: this.client.now().toISOString(),
    };
    this.entries.set(entry.clientId, entry);
    this.tell(entry);
    try {
      await this.keep(entry, { state: "queued" });
    } catch (error) {
      this.entries.delete(entry.clientId);
      this.tell(entry, { isGone: true });
      throw error;
    }
    this.change(entry, { state: "queued" });
    this.drain(dialogId);
    return this.shown(entry);
  }

  /** Files are kept where the storage can hold them, which that of Safari's private windows cannot; else they and the message end with the process. */
  async keep(entry, members) {
    const kept = { ...entry, ...members, progress: undefined };
    const { storage } = this.client;
    const write = () => storage.write([["outbox", entry.key, kept]]);
    if (!entry.files) return write();
    if (
      storage.keepsBlobs &&
      (await write().then(
        () => true,
        () => false,
      ))
    )
      return;
    if (entry.files.some((file) => !file.id)) return;
    delete kept.files;
    await write();
  }

  /**
   * @param {Entry} entry
   * @param {{ isGone?: boolean, message?: import("./parley.js").Message }} what
   */
  tell(entry, { isGone, message } = {}) {
    const { clientId, dialogId } = entry;
    this.client.emit("outbox", { clientId, dialogId, entry: isGone ? undefined : this.shown(entry), isGone, message });
    this.client.store.views.get(dialogId)?.forEach((view) => {
      view.changed();
    });
    if (this.isEmpty()) this.client.emit("drained");
  }

  /** Another tab has added or changed an entry. */
  take(entry) {
    const isNew = !this.entries.has(entry.clientId);
    this.entries.set(entry.clientId, entry);
    if (isNew) this.order();
    this.tell(entry);
    this.drain(entry.dialogId);
  }

  change(entry, members) {
    if (!this.entries.has(entry.clientId)) return;
    Object.assign(entry, members);
    this.tell(entry);
    this.client.tabs.post({ t: "entry", entry });
  }

  /** The server has the message: by the answer or by the event, whichever comes first. */
  settle(message) {
    const entry = this.entries.get(message.clientId);
    if (entry) this.remove(entry, message);
  }

  remove(entry, message) {
    if (!this.entries.delete(entry.clientId)) return Promise.resolve();
    this.client.tabs.post({ t: "gone", clientId: entry.clientId, message });
    this.gone(entry, message);
    return this.client.storage
      .write([["outbox", entry.key, undefined]])
      .catch((error) => this.client.reportError(error));
  }

  gone(entry, message) {
    this.entries.delete(entry.clientId);
    this.aborts.get(entry.clientId)?.abort();
    this.tell(entry, { isGone: true, message });
    const error = message ? undefined : new ParleyError("aborted", "The message was discarded.");
    this.answer(entry.clientId, error, message);
  }

  answer(clientId, error, message) {
    const waiter = this.waiters.get(clientId);
    this.waiters.delete(clientId);
    if (error) waiter?.reject(error);
    else waiter?.resolve(message);
  }

  /** What waits stays stored, and is sent after the next start. */
  close() {
    for (const clientId of [...this.waiters.keys()]) this.answer(clientId, closed());
  }

  async retry(clientId) {
    const entry = this.entries.get(clientId);
    if (!entry || entry.state !== "failed") return;
    // What was uploaded may have been the reason.
    for (const file of entry.files ?? []) {
      delete file.id;
      delete file.upload;
    }
    this.change(entry, { state: "queued", error: undefined });
    await this.keep(entry);
    this.drain(entry.dialogId);
  }

  async discard(clientId) {
    const entry = this.entries.get(clientId);
    if (entry) await this.remove(entry);
  }

  isEmpty() {
    return ![...this.entries.values()].some((entry) => entry.state !== "failed");
  }

  /** Returns the next entry of a dialog, unless it is not stored yet: those behind it wait, too. */
  next(dialogId) {
    const entry = this.of(dialogId).find((each) => each.state !== "failed");
    return entry?.state === "queued" ? entry : undefined;
  }

  drainAll() {
    for (const { dialogId } of this.entries.values()) this.drain(dialogId);
  }

  /** Only the tab with the connection sends. */
  drain(dialogId) {
    if (this.running.has(dialogId) || !this.client.sends) return;
    const work = async () => {
      try {
        await this.run(dialogId);
      } catch (error) {
        this.client.reportError(error);
      }
      this.running.delete(dialogId);
      if (this.client.sends && this.next(dialogId)) this.drain(dialogId);
    };
    this.running.set(dialogId, work());
  }

  async run(dialogId) {
    let attempts = 0;
    for (;;) {
      const entry = this.next(dialogId);
      if (!entry || !this.client.sends) return;
      try {
        const message = await this.deliver(entry);
        attempts = 0;
        this.client.applyNewMessage(message);
        await this.remove(entry, message);
      } catch (error) {
        if (!this.entries.has(entry.clientId)) continue;
        if (error.code === "signed-out" || error.code === "closed") return;
        if (error.temporary) {
          await this.client.pause(
            error.retryAfter ? error.retryAfter * 1000 : delay(attempts++),
            error.code === "network",
          );
          continue;
        }
        const { code, message: detail, field } = error;
        this.change(entry, { state: "failed", error: { code, detail, field }, progress: undefined });
        await this.keep(entry);
        this.answer(entry.clientId, error);
      }
    }
  }

  async deliver(entry) {
    const { client } = this;
    const { dialogId } = entry;
    if (entry.files) await this.uploadFiles(entry);
    if (client.connection.state === "online") {
      return client.connection.command("message.send", { dialogId, ...entry.body });
    }
    return client.request("POST", `/dialogs/${encodeURIComponent(dialogId)}/messages`, { body: entry.body });
  }

  async uploadFiles(entry) {
    const abort = new AbortController();
    this.aborts.set(entry.clientId, abort);
    const total = entry.files.reduce((sum, file) => sum + file.size, 0) || 1;
    const ids = [];
    let before = 0;
    try {
      for (const file of entry.files) {
        if (!file.id) {
          const onProgress = (done) => this.change(entry, { progress: Math.min(1, (before + done) / total) });
          file.id = (
            await upload(this.client, file, {
              signal: abort.signal,
              onProgress,
              slot: file,
              onSlot: () => this.keep(entry),
            })
          ).id;
          await this.keep(entry);
        }
        ids.push(file.id);
        before += file.size;
      }
    } finally {
      this.aborts.delete(entry.clientId);
    }
    entry.body = { ...entry.body, content: { ...entry.body.content, attachments: ids } };
    await this.keep(entry);
  }
}
