import { Calls } from "./calls.js";
import { Connection } from "./connection.js";
import { dialogs, dialogSupport } from "./dialogs.js";
import { ParleyError, aborted, closed, signedOut } from "./errors.js";
import { following } from "./following.js";
import { operations } from "./operations.js";
import { Outbox } from "./outbox.js";
import { people, peopleSupport } from "./people.js";
import { Requests, uuid } from "./requests.js";
import { IndexedDBStorage, MemoryStorage } from "./storage.js";
import { Store } from "./store.js";
import { Tabs } from "./tabs.js";

const FLUSH_AFTER = 50;
const ACK_EVERY = 10_000;
const PROOFS = 3;

/**
 * The class of what the other files have. Those of its methods that apps call have their types from parley.d.ts.
 *
 * @typedef {typeof dialogSupport & typeof following & typeof peopleSupport} Support
 * @typedef {"on" | "next" | "open" | "request" | "signIn" | "signUp" | "signOut" | "connect" | "disconnect" | "close" | "sent" | "now"} Own
 * @typedef {Omit<import("./parley.js").Parley, Own | "url" | "user" | "userId" | "deviceId" | "signedIn" | "state" | "isLeader" | "dialogs"
 *   | "hasMoreDialogs" | "totalUnread" | "totalMentions" | "outbox">} Operations
 */
const Assembled = /** @type {new () => Support & Operations} */ (class {});
Object.assign(Assembled.prototype, dialogs, dialogSupport, following, operations, people, peopleSupport);

/** Does the work of a `Parley`, which forwards to it. */
export class Core extends Assembled {
  state = "stopped";
  calls = new Calls(this);
  queue = new Outbox(this);
  listeners = new Map();
  pauses = new Set();
  /** What rejects the promises of `next`. */
  endings = new Set();
  /** The error that the last `disconnect` gave: it ends each `connect` that began before. */
  departure;
  flushing = Promise.resolve();
  timers = new Map();
  missing = new Set();
  fetching = 0;
  typed = new Map();
  asked = new Map();
  pictures = new Map();
  acked = 0;
  ackedCursor;
  isReplay = false;
  /** The events whose listeners have not ended, oldest first, each with the cursor before it. */
  handled = new Set();
  /** The promise of `open`. */
  opened;
  /** The presence that the app has set. */
  wantedPresence;

  /** @param {import("./parley.js").Options} options */
  constructor({
    url,
    storage,
    account = "default",
    client = "parley.js",
    keepMessages = 60,
    keepDialogs = 50,
    sendDelivered = true,
    shareConnection = true,
    requestTimeout = 90_000,
    ...given
  } = {}) {
    super();
    this.url = new URL(url ?? globalThis.location.origin).href.replace(/\/+$/, "");
    const name = `parley:${account}`;
    this.storage = storage ?? (globalThis.indexedDB ? new IndexedDBStorage(name) : new MemoryStorage());
    this.client = client;
    this.sendDelivered = sendDelivered;
    this.store = new Store(
      this.storage,
      { keepMessages, keepDialogs },
      {
        dialogs: (id) => this.dialogsChanged([id]),
        missing: (id) => this.fetchDialog(id),
        unread: () => this.emit("unread", { totalUnread: this.totalUnread, totalMentions: this.totalMentions }),
      },
    );
    this.session = {
      current: undefined,
      reload: async () => {
        this.session.current = await this.storage.get("state", "session");
      },
      replace: async (session) => {
        await this.storage.write([["state", "session", session]]);
        this.session.current = session;
        this.tabs.post({ t: "session" });
      },
      end: (error) => this.sessionEnded(error),
    };
    // A timer of more than 31 bits fires at once, also one of `Infinity`.
    const timeout = Math.min(requestTimeout, 2 ** 30);
    const fetch = given.fetch ?? ((address, input) => globalThis.fetch(address, input));
    this.tabs = new Tabs(name, shareConnection, {
      onLead: () => this.becomeLeader(),
      onMessage: (message) => this.fromTab(message),
    });
    this.requests = new Requests(this.url, fetch, this.session, (work) => this.tabs.alone(work), timeout);
    this.connection = new Connection(
      this.url.replace(/^http/, "ws") + "/v1/ws",
      given.WebSocket ?? globalThis.WebSocket,
      {
        cursor: () => this.store.cursor,
        token: () => this.session.current?.accessToken,
        refresh: (token) => this.requests.refresh(token),
        frame: (frame) => this.receiveFrame(frame),
        changed: (state, retryAt, error) => this.setState({ state, retryAt, error }),
        ended: async (error) => {
          await this.disconnect(error);
          this.emit("connection", { state: "stopped", error });
        },
      },
      timeout,
    );
  }

  get user() {
    return this.store.user;
  }
  get userId() {
    return this.session.current?.user.id;
  }
  get deviceId() {
    return this.session.current?.deviceId;
  }
  get signedIn() {
    return this.session.current !== undefined;
  }
  get isLeader() {
    return this.tabs.leads || !this.tabs.locks;
  }
  get sends() {
    return !this.isClosed && this.signedIn && this.isLeader;
  }
  get dialogs() {
    this.sorted ??= this.store.list();
    return this.sorted;
  }
  get hasMoreDialogs() {
    return this.store.listCursor !== null;
  }
  get totalUnread() {
    return this.store.totalUnread;
  }
  get totalMentions() {
    return this.store.totalMentions;
  }
  now() {
    return new Date(Date.now() - this.store.ahead);
  }
  get outbox() {
    return [...this.queue.entries.values()].map((entry) => this.queue.shown(entry));
  }

  // MARK: Events

  on(type, listener) {
    if (!this.listeners.has(type)) this.listeners.set(type, new Set());
    this.listeners.get(type).add(listener);
    return () => this.listeners.get(type).delete(listener);
  }

  /**
   * @param {string} type
   * @param {(data: any) => unknown} test
   */
  next(type, test = () => true) {
    /** @type {Promise<any>} */
    const found = new Promise((resolve, reject) => {
      const end = (settle, value = undefined) => {
        off();
        this.endings.delete(fail);
        settle(value);
      };
      const fail = () => end(reject, closed());
      const off = this.on(type, (data) => {
        if (test(data)) end(resolve, data);
      });
      if (this.isClosed) fail();
      else this.endings.add(fail);
    });
    // Nobody has to wait for it any more when the client is closed.
    found.catch(() => {});
    return found;
  }

  emit(type, data) {
    for (const listener of [...(this.listeners.get(type) ?? [])]) this.callListener(() => listener(data));
  }

  /**
   * An error of a listener is reported as an uncaught one, and does not disturb the client. What a listener of an event promises is
   * awaited before the event counts as handled.
   */
  callListener(work) {
    try {
      const done = work();
      if (typeof done?.then === "function") this.promised?.push(Promise.resolve(done));
    } catch (error) {
      this.throwLater(error);
    }
  }

  /** The error may end the program: it is thrown once it is stored that the event was handled, or the same event would end the program at each start. */
  async throwLater(error) {
    if (this.tabs.leads) await this.flush();
    setTimeout(() => {
      throw error;
    });
  }

  reportError(error) {
    if (!this.isClosed) this.emit("error", error);
  }

  dialogsChanged(ids) {
    this.sorted = undefined;
    this.flushLater();
    if (!this.changedIds) {
      this.changedIds = new Set();
      queueMicrotask(() => {
        const dialogIds = [...this.changedIds];
        this.changedIds = undefined;
        this.emit("dialogs", { dialogIds });
      });
    }
    for (const id of ids) this.changedIds.add(id);
  }

  runAfter(name, ms, work) {
    if (this.timers.has(name) || this.isClosed) return;
    this.timers.set(
      name,
      setTimeout(() => {
        this.timers.delete(name);
        Promise.resolve(work()).catch((error) => this.reportError(error));
      }, ms),
    );
  }

  /** Waits; a pause because of the network ends when the client is online. */
  pause(ms, isNetwork) {
    return new Promise((resolve) => {
      const pause = {
        isNetwork,
        end: () => {
          clearTimeout(timer);
          this.pauses.delete(pause);
          resolve();
        },
      };
      const timer = setTimeout(pause.end, ms);
      this.pauses.add(pause);
    });
  }

  // MARK: Session

  open() {
    this.opened ??= (async () => {
      await this.session.reload();
      await this.store.load();
      this.store.user ??= this.session.current?.user;
      await this.queue.load();
      this.sorted = undefined;
      if (this.signedIn) this.queue.drainAll();
      return this.signedIn;
    })();
    return this.opened;
  }

  async request(method, address, input) {
    if (!this.opened) await this.open();
    if (this.isClosed) throw closed();
    return this.requests.send(method, address, input);
  }

  /** @param {any} input */
  async signIn({ identity, ...input }) {
    await this.open();
    if (identity) input.identityToken = await identity((await this.request("POST", "/nonces", { token: false })).nonce);
    input.grant ??= input.challenge
      ? "second-factor"
      : input.identityToken
        ? "jwt"
        : input.provider
          ? "provider"
          : input.password !== undefined
            ? "password"
            : "code";
    input.deviceId ??= (await this.storage.get("state", "deviceId")) ?? uuid();
    input.client ??= this.client;
    const session = await this.request("POST", "/sessions", { body: input, token: false });
    await this.disconnect();
    const former = this.session.current ?? (await this.storage.get("state", "former"));
    if (former && (former.user?.id ?? former) !== session.user.id) await this.forget();
    await this.storage.write([
      ["state", "deviceId", session.deviceId],
      ["state", "former", session.user.id],
    ]);
    await this.session.replace(session);
    this.store.user = session.user;
    this.emit("session", { signedIn: true });
    return session.user;
  }

  async signUp(input) {
    // Other proofs are for a network that changes meanwhile, or a server that restarts.
    const create = (proofs, proof) =>
      this.request("POST", "/users", { body: { ...input, proof }, token: false }).catch(async (error) => {
        if (error.code !== "registration-proof-required" || proofs === 0) throw error;
        const { prove } = await import("./proof.js");
        return create(proofs - 1, await prove(error));
      });
    const { id } = await create(PROOFS);
    return this.signIn({ username: id, password: input.password });
  }

  async signOut() {
    await this.open();
    try {
      await this.request("DELETE", "/sessions/current");
    } catch (error) {
      this.reportError(error);
    }
    await this.forget();
    this.emit("session", { signedIn: false });
  }

  /** Before another tab can get the connection, so that it stores nothing any more. */
  async forget(keepsOutbox = false, error = signedOut()) {
    this.connection.stop();
    this.reset();
    await this.flushing;
    await this.wipe(keepsOutbox);
    this.tabs.post({ t: "session", keepsOutbox });
    await this.disconnect(error);
  }

  /** Removes what is stored, or all but the device and what was not sent. */
  async wipe(keepsOutbox) {
    if (!keepsOutbox) return this.storage.clear();
    const gone = [
      ["state", "session"],
      ["state", "sync"],
    ];
    for (const table of ["dialogs", "tails"]) {
      for (const [key] of await this.storage.all(table)) gone.push([table, key]);
    }
    await this.storage.write(gone.map(([table, key]) => [table, key, undefined]));
  }

  /** Nothing of the former user is left in memory, nor is it stored any more. */
  reset() {
    this.session.current = undefined;
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    for (const entry of this.queue.entries.values()) this.queue.gone(entry);
    this.closeViews();
    const { storage, options, hooks } = this.store;
    this.store = new Store(storage, options, hooks);
    this.calls = new Calls(this);
    this.sorted = undefined;
    this.handled.clear();
  }

  closeViews() {
    for (const views of this.store.views.values()) for (const view of [...views]) view.close();
  }

  /** The login has ended: what was not sent stays until somebody else signs in. */
  async sessionEnded(error) {
    if (!this.session.current) return;
    await this.forget(true, error);
    this.emit("session", { signedIn: false, error });
  }

  // MARK: Connection

  async connect() {
    const { departure } = this;
    await this.disconnecting;
    if (!(await this.open()) && !this.signedIn) throw signedOut();
    if (this.isClosed) throw closed();
    if (!this.connection.WebSocket) {
      throw new ParleyError(
        "websocket-missing",
        "This runtime has no WebSocket. Give a class as the option `WebSocket`; the package's entry for Node has one.",
      );
    }
    if (this.departure !== departure) throw this.departure;
    if (!this.connected) {
      const promise = new Promise((resolve, reject) => {
        this.connected = { resolve, reject };
      });
      this.connected.promise = promise;
      promise.catch(() => {});
      this.setState({ state: "connecting" });
      this.tabs.join();
      this.tabs.post({ t: "join" });
    }
    return this.connected.promise;
  }

  /** Callers that wait for the connection get the error. */
  disconnect(error = aborted()) {
    this.connected?.reject(error);
    this.connected = undefined;
    this.departure = error;
    this.isFollowing = false;
    this.disconnecting = (async () => {
      if (this.tabs.leads) await this.flush(true);
      this.connection.stop();
      this.tabs.leave();
      if (this.state !== "stopped") this.setState({ state: "stopped" });
    })();
    return this.disconnecting;
  }

  async close() {
    if (this.isClosed) return;
    await this.disconnect(closed());
    this.isClosed = true;
    this.closeViews();
    this.queue.close();
    for (const fail of [...this.endings]) fail();
    for (const pause of this.pauses) pause.end();
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.tabs.close();
    await this.flushing;
    await this.storage.close();
  }

  sent() {
    return this.queue.isEmpty() ? Promise.resolve() : this.next("drained");
  }

  /** @param {{ state: import("./parley.js").ConnectionState, retryAt?: number, error?: import("./parley.js").ParleyError }} change */
  setState({ state, retryAt, error }) {
    const isSame = state === this.state && state === "connecting";
    this.state = state;
    if (!isSame) this.emit("connection", { state, retryAt, error });
    if (this.tabs.leads && state !== "stopped") this.tabs.post({ t: "state", state, retryAt });
    if (state === "online") {
      this.connected?.resolve();
      for (const pause of [...this.pauses]) if (pause.isNetwork) pause.end();
    }
  }

  /** This tab has got the connection. */
  async becomeLeader() {
    try {
      this.isFollowing = false;
      this.tabs.post({ t: "lead" });
      this.store.markAllDirty();
      await this.queue.load();
      while (this.store.cursor === undefined && this.tabs.leads) {
        try {
          await this.loadDialogs();
        } catch (error) {
          if (!error.temporary) throw error;
          this.setState({ state: "waiting", error });
          await this.pause(error.retryAfter * 1000 || 2000, true);
        }
      }
      // Nothing that comes from here on may be missed, even if the program is killed at once.
      await this.flush();
      if (!this.tabs.leads) return;
      this.connection.start();
      this.queue.drainAll();
    } catch (error) {
      await this.disconnect(error);
      this.reportError(error);
    }
  }

  /** A frame of the server. */
  receiveFrame(frame) {
    const { type, time, data, cursor, prevCursor } = frame;
    if (type === "ready") {
      this.isReplay = true;
      this.store.ahead = Date.now() - Date.parse(time);
      this.store.isStateDirty = true;
      // A guest may have become an ordinary user.
      this.store.user = { ...this.store.user, guest: undefined, ...data.user };
    } else if (type === "resync") {
      this.resync(data);
    } else if (type === "session.revoked") {
      this.revoked = data.reason;
    } else if (cursor && prevCursor !== this.store.cursor) {
      // An event was lost on the way: the server tells it again.
      this.connection.lost(new ParleyError("network", "An event is missing."));
    } else {
      const { isReplay } = this;
      this.applyFrame(frame, isReplay);
      this.tabs.post({ t: "frame", frame, isReplay });
      if (type === "caught_up") this.caughtUp(data);
    }
  }

  applyFrame(frame, isReplay = false) {
    const { type, data } = frame;
    const before = this.store.cursor;
    this.store.apply(frame);
    if (frame.cursor) this.flushLater();
    const promised = [];
    this.promised = promised;
    const message = type === "message.created" ? data.message : undefined;
    const isOwn = message?.senderId === this.userId;
    if (isOwn && message.clientId) this.queue.settle(message);
    if (message && !isOwn) this.markDelivered(message);
    this.emit(type, data);
    this.emit("*", frame);
    if (message) this.emit("message", { message, isOwn, isReplay });
    if (type === "typing.updated") this.emit("typing", data);
    if (type === "presence.updated") this.emit("presence", data.presence);
    if (type === "call.updated") this.calls.apply(data.call);
    if (type === "call.signal") this.calls.signal(data).catch((error) => this.reportError(error));
    this.promised = undefined;
    if (promised.length) this.holdCursor(frame.cursor && { before }, promised);
  }

  /** Until these promises have ended the stored cursor stays at the event before: after a restart the event comes again. */
  holdCursor(event, promises) {
    if (event) this.handled.add(event);
    let left = promises.length;
    const ended = () => {
      if (--left || !this.handled.delete(event)) return;
      this.store.isStateDirty = true;
      this.flushLater();
    };
    for (const each of promises)
      each.then(ended, (error) => {
        ended();
        this.throwLater(error);
      });
  }

  /** The cursor up to which all events are handled. */
  get safeCursor() {
    for (const { before } of this.handled) return before;
    return this.store.cursor;
  }

  /** An answer that has a new message, which its event may have told already. */
  applyNewMessage(message) {
    this.store.addMessage(message);
    this.flushLater();
  }

  caughtUp({ cursor }) {
    this.store.cursor = cursor;
    this.isReplay = false;
    if (this.wantedPresence) this.connection.command("presence", this.wantedPresence).catch(() => {});
    for (const id of [...this.missing]) this.fetchDialog(id);
    this.flushLater();
  }

  /** Events were lost: the lists are fetched again, and nothing is stored before. */
  async resync({ reason, cursor }) {
    const mark = {};
    this.resyncing = mark;
    this.store.cursor = cursor;
    this.handled.clear();
    for (;;) {
      try {
        const asked = this.store.clock;
        const page = await this.listDialogs({ limit: 50 });
        if (this.resyncing !== mark) return;
        for (const id of [...this.store.dialogs.keys()]) {
          if ((this.store.stamps.get(id) ?? 0) <= asked && !page.items.some((each) => each.id === id))
            this.store.removeDialog(id);
        }
        for (const id of this.store.tails.keys()) if (!this.store.views.has(id)) this.store.tails.delete(id);
        await this.storage.write((await this.storage.all("tails")).map(([key]) => ["tails", key]));
        this.store.listEnd = undefined;
        this.applyAnswer(page);
        break;
      } catch (error) {
        if (this.resyncing !== mark || this.isClosed) return;
        if (!error.temporary) return this.reportError(error);
        await this.pause(error.retryAfter * 1000 || 2000, true);
      }
    }
    this.resyncing = undefined;
    this.store.markAllDirty();
    await this.flush();
    this.tabs.post({ t: "resync", reason });
    this.reloaded({ reason });
  }

  // MARK: Storing

  flushLater() {
    if (this.tabs.leads) this.runAfter("flush", FLUSH_AFTER, () => this.flush());
  }

  /** Stores the effects of events together with their cursor. */
  flush(isLast = false) {
    this.flushing = this.flushing.then(async () => {
      if (this.resyncing) return;
      const cursor = this.safeCursor;
      const changes = this.store.changes(cursor);
      try {
        await this.storage.write(changes);
      } catch (error) {
        this.store.markAllDirty();
        return this.reportError(error);
      }
      if (
        cursor &&
        this.connection.state === "online" &&
        cursor !== this.ackedCursor &&
        (isLast || Date.now() - this.acked > ACK_EVERY)
      ) {
        Object.assign(this, { acked: Date.now(), ackedCursor: cursor });
        this.connection.command("ack", { cursor }).catch(() => {});
      }
    });
    return this.flushing;
  }
}
