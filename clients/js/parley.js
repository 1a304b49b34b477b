import { Call, Calls } from "./calls.js";
import { Connection } from "./connection.js";
import { ParleyError, signedOut } from "./errors.js";
import { operations } from "./operations.js";
import { Outbox } from "./outbox.js";
import { Requests, path, uuid } from "./requests.js";
import { IndexedDBStorage, MemoryStorage } from "./storage.js";
import { Store } from "./store.js";
import { Tabs } from "./tabs.js";
import { asFile, typeOf, upload } from "./uploads.js";
import { View } from "./view.js";

export { Call, IndexedDBStorage, MemoryStorage, ParleyError };

const FLUSH_AFTER = 50;
const ACK_EVERY = 10_000;
const DELIVERED_AFTER = 1000;
const TYPING_EVERY = 4000;
const DRAFT_AFTER = 1000;
const FETCHES = 4;
const PICTURES_MAX = 200;

/** The client: see parley.d.ts. */
export class Parley {
  state = "stopped";
  calls = new Calls(this);
  queue = new Outbox(this);
  listeners = new Map();
  pauses = new Set();
  flushing = Promise.resolve();
  timers = new Map();
  missing = new Set();
  fetching = 0;
  typed = new Map();
  asked = new Map();
  pictures = new Map();
  acked = 0;

  constructor({ url, storage, account = "default", client = "parley.js", keepMessages = 60, keepDialogs = 50, sendDelivered = true,
    shareConnection = true, ...given } = {}) {
    this.url = new URL(url ?? globalThis.location.origin).href.replace(/\/+$/, "");
    const name = `parley:${account}`;
    this.storage = storage ?? (globalThis.indexedDB ? new IndexedDBStorage(name) : new MemoryStorage());
    Object.assign(this, { client, sendDelivered });
    this.store = new Store(this.storage, { keepMessages, keepDialogs }, {
      dialogs: (id) => this.dialogsChanged([id]),
      missing: (id) => this.fetchDialog(id),
      unread: () => this.emit("unread", { totalUnread: this.totalUnread, totalMentions: this.totalMentions }),
    });
    this.session = {
      current: undefined,
      reload: async () => { this.session.current = await this.storage.get("state", "session"); },
      replace: async (session) => {
        await this.storage.write([["state", "session", session]]);
        this.session.current = session;
        this.tabs.post({ t: "session" });
      },
      end: (error) => this.ended(error),
    };
    const fetch = given.fetch ?? ((...input) => globalThis.fetch(...input));
    this.tabs = new Tabs(name, shareConnection, { onLead: () => this.lead(), onMessage: (message) => this.fromTab(message) });
    this.requests = new Requests(this.url, fetch, this.session, (work) => this.tabs.alone(work));
    this.connection = new Connection(this.url.replace(/^http/, "ws") + "/v1/ws", given.WebSocket ?? globalThis.WebSocket, {
      cursor: () => this.store.cursor,
      token: () => this.session.current?.accessToken,
      refresh: (token) => this.requests.refresh(token),
      frame: (frame) => this.frame(frame),
      changed: (state, retryAt, error) => this.turn({ state, retryAt, error }),
      ended: async (error) => {
        const { connected } = this;
        await this.disconnect();
        connected?.reject(error);
        this.emit("connection", { state: "stopped", error });
      },
    });
  }

  get user() { return this.store.user; }
  get userId() { return this.session.current?.user.id; }
  get deviceId() { return this.session.current?.deviceId; }
  get signedIn() { return this.session.current !== undefined; }
  get isLeader() { return this.tabs.leads || !this.tabs.locks; }
  get sends() { return !this.isClosed && this.signedIn && this.isLeader; }
  get dialogs() { return this.sorted ??= this.store.list(); }
  get hasMoreDialogs() { return this.store.listCursor !== null; }
  get totalUnread() { return this.store.totalUnread; }
  get totalMentions() { return this.store.totalMentions; }
  get outbox() { return [...this.queue.entries.values()].map((entry) => this.queue.shown(entry)); }

  // MARK: Events

  on(type, listener) {
    if (!this.listeners.has(type)) this.listeners.set(type, new Set());
    this.listeners.get(type).add(listener);
    return () => this.listeners.get(type).delete(listener);
  }

  next(type, test = () => true) {
    return new Promise((resolve) => {
      const off = this.on(type, (data) => {
        if (!test(data)) return;
        off();
        resolve(data);
      });
    });
  }

  emit(type, data) { for (const listener of [...(this.listeners.get(type) ?? [])]) this.safely(() => listener(data)); }

  /** An error of a listener is reported as an uncaught one, and does not disturb the client. */
  safely(work) { try { work(); } catch (error) { setTimeout(() => { throw error; }); } }

  failed(error) { if (!this.isClosed) this.emit("error", error); }

  dialogsChanged(ids) {
    this.sorted = undefined;
    this.later();
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

  after(name, ms, work) {
    if (this.timers.has(name) || this.isClosed) return;
    this.timers.set(name, setTimeout(() => {
      this.timers.delete(name);
      Promise.resolve(work()).catch((error) => this.failed(error));
    }, ms));
  }

  /** Waits; a pause because of the network ends when the client is online. */
  pause(ms, isNetwork) {
    return new Promise((resolve) => {
      const pause = { isNetwork, end: () => { clearTimeout(timer); this.pauses.delete(pause); resolve(); } };
      const timer = setTimeout(pause.end, ms);
      this.pauses.add(pause);
    });
  }

  // MARK: Session

  open() {
    return this.opened ??= (async () => {
      await this.session.reload();
      await this.store.load();
      this.store.user ??= this.session.current?.user;
      await this.queue.load();
      this.sorted = undefined;
      if (this.signedIn) this.queue.drainAll();
      return this.signedIn;
    })();
  }

  async request(method, address, input) {
    if (!this.opened) await this.open();
    if (this.isClosed) throw new ParleyError("closed", "The client has been closed.");
    return this.requests.send(method, address, input);
  }

  async signIn({ identity, ...input }) {
    await this.open();
    if (identity) input.identityToken = await identity((await this.request("POST", "/nonces", { token: false })).nonce);
    input.grant ??= input.challenge ? "second-factor" : input.identityToken ? "jwt" : input.provider ? "provider"
      : input.password !== undefined ? "password" : "code";
    input.deviceId ??= (await this.storage.get("state", "deviceId")) ?? uuid();
    input.client ??= this.client;
    const session = await this.request("POST", "/sessions", { body: input, token: false });
    await this.disconnect();
    const former = this.session.current ?? await this.storage.get("state", "former");
    if (former && (former.user?.id ?? former) !== session.user.id) await this.forget();
    await this.storage.write([["state", "deviceId", session.deviceId], ["state", "former", session.user.id]]);
    await this.session.replace(session);
    this.store.user = session.user;
    this.emit("session", { signedIn: true });
    return session.user;
  }

  async signUp(input) {
    const { id } = await this.request("POST", "/users", { body: input, token: false });
    return this.signIn({ username: id, password: input.password });
  }

  async signOut() {
    await this.open();
    try { await this.request("DELETE", "/sessions/current"); } catch (error) { this.failed(error); }
    await this.disconnect();
    await this.forget();
    this.tabs.post({ t: "session" });
    this.emit("session", { signedIn: false });
  }

  async forget() {
    this.reset();
    await this.flushing;
    await this.storage.clear();
  }

  /** Nothing of the former user is left in memory, nor is it stored any more. */
  reset() {
    this.session.current = undefined;
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.timers.clear();
    for (const entry of this.queue.entries.values()) this.queue.gone(entry);
    for (const views of this.store.views.values()) for (const view of [...views]) view.close();
    const { storage, options, hooks } = this.store;
    this.store = new Store(storage, options, hooks);
    this.calls = new Calls(this);
    this.sorted = undefined;
  }

  /** The login has ended: what is stored stays until somebody else signs in. */
  async ended(error) {
    if (!this.session.current) return;
    this.session.current = undefined;
    await this.storage.write([["state", "session", undefined]]);
    this.tabs.post({ t: "session" });
    const { connected } = this;
    await this.disconnect();
    connected?.reject(error);
    this.emit("session", { signedIn: false, error });
  }

  // MARK: Connection

  async connect() {
    if (!await this.open() && !this.signedIn) throw signedOut();
    if (!this.connected) {
      const promise = new Promise((resolve, reject) => { this.connected = { resolve, reject }; });
      this.connected.promise = promise;
      promise.catch(() => {});
      this.turn({ state: "connecting" });
      this.tabs.join();
      this.tabs.post({ t: "join" });
    }
    return this.connected.promise;
  }

  async disconnect() {
    this.connected = undefined;
    this.isFollowing = false;
    if (this.tabs.leads) await this.flush(true);
    this.connection.stop();
    this.tabs.leave();
    if (this.state !== "stopped") this.turn({ state: "stopped" });
  }

  async close() {
    if (this.isClosed) return;
    await this.disconnect();
    this.isClosed = true;
    for (const pause of this.pauses) pause.end();
    for (const timer of this.timers.values()) clearTimeout(timer);
    this.tabs.close();
    await this.flushing;
    await this.storage.close();
  }

  sent() { return this.queue.isEmpty() ? Promise.resolve() : this.next("drained"); }

  turn({ state, retryAt, error }) {
    this.state = state;
    this.emit("connection", { state, retryAt, error });
    if (this.tabs.leads && state !== "stopped") this.tabs.post({ t: "state", state, retryAt });
    if (state === "online") {
      this.connected?.resolve();
      for (const pause of [...this.pauses]) if (pause.isNetwork) pause.end();
      for (const views of this.store.views.values()) for (const view of views) if (!view.isFresh) view.reload();
    }
  }

  /** This tab has got the connection. */
  async lead() {
    try {
      this.isFollowing = false;
      this.tabs.post({ t: "lead" });
      this.store.markAllDirty();
      await this.queue.load();
      while (this.store.cursor === undefined && this.tabs.leads) {
        try { await this.loadDialogs(); } catch (error) {
          if (!error.temporary) throw error;
          this.turn({ state: "waiting", error });
          await this.pause(error.retryAfter * 1000 || 2000, true);
        }
      }
      if (!this.tabs.leads) return;
      this.connection.start();
      this.queue.drainAll();
    } catch (error) {
      this.connected?.reject(error);
      await this.disconnect();
      this.failed(error);
    }
  }

  /** A frame of the server. */
  frame(frame) {
    const { type, data, cursor, prevCursor } = frame;
    if (type === "ready") {
      this.replayed = new Set();
      this.store.user = { ...this.store.user, ...data.user };
    } else if (type === "resync") {
      this.resync(data);
    } else if (type === "session.revoked") {
      this.revoked = data.reason;
    } else if (cursor && prevCursor !== this.store.cursor) {
      // An event was lost on the way: the server tells it again.
      this.connection.lost(new ParleyError("network", "An event is missing."));
    } else {
      this.applied(frame, this.replayed !== undefined);
      this.tabs.post({ t: "frame", frame, isReplay: this.replayed !== undefined });
      if (type === "caught_up") this.caughtUp(data);
    }
  }

  applied(frame, isReplay = false) {
    const { type, data } = frame;
    this.store.apply(frame);
    if (frame.cursor) this.later();
    const message = type === "message.created" ? data.message : undefined;
    const isOwn = message?.senderId === this.userId;
    if (isOwn && message.clientId) this.queue.settle(message);
    if (message && !isOwn) this.delivered(message);
    if (isReplay && (data.message?.dialogId ?? data.marker?.dialogId ?? data.dialogId)) {
      this.replayed?.add(data.message?.dialogId ?? data.marker?.dialogId ?? data.dialogId);
    }
    this.emit(type, data);
    this.emit("*", frame);
    if (message) this.emit("message", { message, isOwn, isReplay });
    if (type === "typing.updated") this.emit("typing", data);
    if (type === "presence.updated") this.emit("presence", data.presence);
    if (type === "call.updated") this.calls.apply(data.call);
    if (type === "call.signal") this.calls.signal(data).catch((error) => this.failed(error));
  }

  /** An answer that has a new message, which its event may have told already. */
  arrived(message) {
    this.store.addMessage(message);
    this.later();
  }

  caughtUp({ cursor }) {
    this.store.cursor = cursor;
    const { replayed } = this;
    this.replayed = undefined;
    if (this.wish) this.connection.command("presence", this.wish).catch(() => {});
    // Counts are told live only.
    if (replayed?.size) this.recount(replayed).catch((error) => this.failed(error));
    this.later();
  }

  async recount(ids) {
    const asked = this.store.clock;
    const page = await this.listDialogs({ limit: 50 });
    const overtaken = this.store.putDialogs(page.items.filter(({ id }) => this.store.dialogs.has(id)), asked);
    this.store.setTotals(page);
    for (const { id } of page.items) ids.delete(id);
    for (const id of [...overtaken, ...ids]) if (this.store.dialogs.has(id)) this.fetchDialog(id);
  }

  /** Events were lost, or are too many: the lists are fetched again, and nothing is stored before they are there. */
  async resync({ reason, cursor }) {
    const mark = this.resyncing = {};
    this.store.cursor = cursor;
    for (;;) {
      try {
        const asked = this.store.clock;
        const page = await this.listDialogs({ limit: 50 });
        if (this.resyncing !== mark) return;
        for (const id of [...this.store.dialogs.keys()]) {
          if ((this.store.stamps.get(id) ?? 0) <= asked && !page.items.some((each) => each.id === id)) this.store.removeDialog(id);
        }
        for (const id of this.store.tails.keys()) if (!this.store.views.has(id)) this.store.tails.delete(id);
        await this.storage.write((await this.storage.all("tails")).map(([key]) => ["tails", key, undefined]));
        this.took(page, asked);
        break;
      } catch (error) {
        if (this.resyncing !== mark || this.isClosed) return;
        if (!error.temporary) return this.failed(error);
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

  later() { if (this.tabs.leads) this.after("flush", FLUSH_AFTER, () => this.flush()); }

  /** Stores the effects of events together with their cursor. */
  flush(isLast = false) {
    return this.flushing = this.flushing.then(async () => {
      if (this.resyncing) return;
      const { cursor } = this.store;
      const changes = this.store.changes();
      try {
        await this.storage.write(changes);
      } catch (error) {
        this.store.markAllDirty();
        return this.failed(error);
      }
      if (cursor && this.connection.state === "online" && cursor !== this.ackedCursor && (isLast || Date.now() - this.acked > ACK_EVERY)) {
        Object.assign(this, { acked: Date.now(), ackedCursor: cursor });
        this.connection.command("ack", { cursor }).catch(() => {});
      }
    });
  }

  // MARK: Tabs

  async fromTab({ t, ...message }) {
    const { queue, store } = this;
    if (t === "entry") queue.take(message.entry);
    else if (t === "gone" && queue.entries.has(message.clientId)) queue.gone(queue.entries.get(message.clientId), message.message);
    else if (t === "session") await this.otherSession();
    else if (this.tabs.leads) {
      if (t === "join") {
        // Events that are told from here on are held by the other tab until it has read what is stored.
        this.tabs.post({ t: "joined", state: this.state, typing: [...store.typing], presences: [...store.presences] });
        await this.flush();
        this.tabs.post({ t: "flushed" });
      } else if (t === "presence") this.setPresence(message.presence);
    } else if (this.connected) {
      if (t === "joined" && !this.isFollowing) Object.assign(this, { isFollowing: true, held: [], joined: message });
      else if (t === "flushed" && this.held) await this.follow(this.joined);
      else if (t === "state") this.turn(message);
      else if (t === "lead") {
        this.isFollowing = false;
        this.tabs.post({ t: "join" });
      } else if (t === "resync") {
        await store.load();
        this.reloaded(message);
      } else if (t === "frame" && this.isFollowing) this.followed(message);
    }
  }

  /** Another tab has signed in or out, or has another token. */
  async otherSession() {
    const before = this.userId;
    await this.session.reload();
    if (this.userId === before) return;
    const { current } = this.session;
    this.reset();
    await this.disconnect();
    this.session.current = current;
    await this.store.load();
    this.store.user ??= current?.user;
    this.emit("session", { signedIn: this.signedIn });
  }

  reloaded({ reason }) {
    for (const views of this.store.views.values()) for (const view of views) view.reload();
    this.sorted = undefined;
    this.emit("resync", { reason });
    this.emit("dialogs", {});
  }

  /** Reads what the leading tab has stored, and applies its events from there. */
  async follow({ state, typing, presences }) {
    await this.store.load();
    Object.assign(this.store, { typing: new Map(typing), presences: new Map(presences) });
    this.sorted = undefined;
    const { held } = this;
    this.held = undefined;
    for (const message of held) this.followed(message);
    this.emit("dialogs", {});
    this.turn({ state });
  }

  followed({ frame, isReplay }) {
    if (this.held) return this.held.push({ frame, isReplay });
    // Events come in order; those from before the stored state are applied again without harm.
    this.applied(frame, isReplay);
    this.store.dirty.clear();
  }

  // MARK: Dialogs

  async loadDialogs(limit = 50) {
    await this.open();
    if (this.store.listCursor === null) return false;
    const asked = this.store.clock;
    this.took(await this.listDialogs({ limit, cursor: this.store.listCursor }), asked);
    return this.hasMoreDialogs;
  }

  /** A page of the user's dialogs, or one dialog, of an answer. */
  took(answer, asked = this.store.clock) {
    if (answer.items) {
      for (const id of this.store.putDialogs(answer.items, asked)) this.fetchDialog(id);
      this.store.cursor ??= answer.cursor;
      this.store.listCursor = answer.nextCursor ?? null;
      this.store.setTotals(answer);
      this.store.isStateDirty = true;
      if (this.sendDelivered) {
        for (const { lastMessage, me } of answer.items) {
          if (me?.unreadCount && lastMessage && me.deliveredMessageId !== lastMessage.id) this.delivered(lastMessage);
        }
      }
    } else if (answer.me) this.store.putDialogs([answer], asked);
    this.later();
    return answer;
  }

  async dialog(id) {
    await this.open();
    return this.store.dialogs.get(id) ?? this.took(await this.request("GET", path`/dialogs/${id}`));
  }

  async openPrivate(userId) { return this.took(await this.persist(() => this.request("POST", "/dialogs", { body: { type: "private", userId } }))); }

  async createDialog(input) { return this.took(await this.request("POST", "/dialogs", { body: input })); }

  /** Asks for a dialog that is not known, or whose copy may be old. */
  fetchDialog(id) {
    if (this.isClosed || !this.signedIn) return;
    this.missing.add(id);
    if (this.fetching >= FETCHES) return;
    this.fetching++;
    queueMicrotask(async () => {
      for (const next of this.missing) {
        this.missing.delete(next);
        const asked = this.store.clock;
        try {
          const dialog = await this.request("GET", path`/dialogs/${next}`);
          if (dialog.me && this.store.putDialogs([dialog], asked).length) this.missing.add(next);
        } catch (error) {
          if (error.status === 404 || error.status === 403) this.store.removeDialog(next);
          else if (error.status === 429) { this.missing.add(next); await this.pause(error.retryAfter * 1000 || 1000); }
          else if (error.code !== "signed-out" && error.code !== "network") this.failed(error);
        }
      }
      this.fetching--;
    });
  }

  async view(dialogId, { limit = 50 } = {}) {
    await this.open();
    const view = new View(this, dialogId, limit);
    await view.start();
    return view;
  }

  pending(dialogId, isElsewhere) { return isElsewhere ? [] : this.queue.of(dialogId).map((entry) => this.queue.shown(entry)); }

  // MARK: Sending

  prepare(message) {
    const { files, text, ...body } = typeof message === "string" ? { text: message } : message;
    body.clientId ??= uuid();
    if (body.forwardFrom) return [body];
    const given = files?.map(asFile);
    const type = given ? typeOf(given) : "text";
    body.content = { type, ...(text !== undefined && { text }), ...body.content };
    return [body, given];
  }

  async send(dialogId, message) {
    await this.open();
    if (!this.signedIn) throw signedOut();
    const [body, files] = this.prepare(message);
    return this.queue.add(dialogId, body, files);
  }

  async sendNow(dialogId, message) {
    const clientId = message.clientId ?? uuid();
    const answer = new Promise((resolve, reject) => this.queue.waiters.set(clientId, { resolve, reject }));
    answer.catch(() => {});
    try {
      await this.send(dialogId, { ...(typeof message === "string" ? { text: message } : message), clientId });
      return await answer;
    } catch (error) {
      this.queue.waiters.delete(clientId);
      if (error.code !== "client-id-reused") await this.discard(clientId);
      throw error;
    }
  }

  retry(clientId) { return this.queue.retry(clientId); }
  discard(clientId) { return this.queue.discard(clientId); }

  /** Repeats a change, whose repetition has no further effect, until it is answered; a few times. */
  async persist(work) {
    for (let attempt = 1; ; attempt++) {
      try { return await work(); } catch (error) {
        if (error.code !== "network" || attempt === 4) throw error;
        await this.pause(500 * attempt, true);
      }
    }
  }

  changed(message) {
    this.store.updateMessage(message);
    this.later();
    return message;
  }

  isMe(me) {
    this.store.user = me;
    this.store.isStateDirty = true;
    this.later();
    return me;
  }

  // MARK: Markers, typing, presence, drafts

  command(type, data, fallback) {
    if (this.connection.state === "online") return this.connection.command(type, data);
    return fallback();
  }

  async setMarker(dialogId, marker) {
    const answer = await this.command(
      "marker.set", { dialogId, ...marker }, () => this.request("PUT", path`/dialogs/${dialogId}/marker`, { body: marker }));
    this.store.applyMarker({ ...answer, userId: this.userId });
    this.later();
  }

  markRead(dialogId, messageId, { private: isPrivate } = {}) {
    const me = this.store.dialogs.get(dialogId)?.me;
    if (me?.readMessageId === messageId && !me.markedUnread) return Promise.resolve();
    return this.persist(() => this.setMarker(dialogId, { read: messageId, ...(isPrivate && { private: true }) }));
  }

  /** Others see that a message has arrived; one marker for all of the same second. */
  delivered({ dialogId, id }) {
    if (!this.sendDelivered || !this.tabs.leads) return;
    this.reachedLast = (this.reachedLast ?? new Map()).set(dialogId, id);
    this.after("delivered", DELIVERED_AFTER, async () => {
      const last = this.reachedLast;
      this.reachedLast = undefined;
      for (const [dialog, delivered] of last) {
        const { me, memberCount = 2 } = this.store.dialogs.get(dialog) ?? {};
        if (memberCount > 20 || me?.readMessageId === delivered) continue;
        await this.setMarker(dialog, { delivered }).catch((error) => { if (error.status >= 500) this.failed(error); });
      }
    });
  }

  setTyping(dialogId, on) {
    const last = this.typed.get(dialogId) ?? 0;
    if (on ? Date.now() - last < TYPING_EVERY : !last) return;
    if (on) this.typed.set(dialogId, Date.now()); else this.typed.delete(dialogId);
    this.command("typing", { dialogId, on }, () => this.request("POST", path`/dialogs/${dialogId}/typing`, { body: { on } })).catch(() => {});
  }

  typingIn(dialogId) { return (this.store.typing.get(dialogId) ?? []).filter((id) => id !== this.userId); }
  presenceOf(userId) { return this.store.presences.get(userId); }

  setPresence(presence) {
    this.wish = presence;
    if (this.connection.state === "online") this.connection.command("presence", presence).catch(() => {});
    else if (!this.tabs.leads) this.tabs.post({ t: "presence", presence });
  }

  setDraft(dialogId, text, replyTo) {
    const draft = text ? { dialogId, text, replyTo, updatedAt: new Date().toISOString() } : undefined;
    const had = this.store.dialogs.get(dialogId)?.me?.draft;
    this.store.changeMine(dialogId, { draft });
    if (!draft && !had) return;
    clearTimeout(this.timers.get("draft/" + dialogId));
    this.timers.delete("draft/" + dialogId);
    this.after("draft/" + dialogId, DRAFT_AFTER, () => (draft
      ? this.request("PUT", path`/dialogs/${dialogId}/draft`, { body: { text, replyTo } })
      : this.request("DELETE", path`/dialogs/${dialogId}/draft`).catch((error) => { if (error.status !== 404) throw error; })));
  }

  // MARK: Files and people

  async upload(file, input) {
    await this.open();
    return upload(this, file, input);
  }

  /** A development server names its TLS port, whose certificate no browser trusts; the same files are on the port that we use. */
  fileUrl(url) {
    const { protocol } = new URL(this.url);
    const place = new URL(url, this.url);
    return protocol === "http:" && place.pathname.startsWith("/uploads/") ? this.url + place.pathname + place.search : place.href;
  }

  knownUser(id) { return id === this.userId ? this.user : this.store.users.get(id); }

  getUser(id) {
    const known = this.knownUser(id);
    if (known || id.startsWith("occupant:")) return Promise.resolve(known);
    if (!this.asked.has(id)) {
      if (!this.asked.size) queueMicrotask(() => this.askUsers());
      let resolve;
      const answer = new Promise((done) => { resolve = done; });
      this.asked.set(id, { answer, resolve });
    }
    return this.asked.get(id).answer;
  }

  async askUsers() {
    const { asked } = this;
    this.asked = new Map();
    const ids = [...asked.keys()];
    for (let i = 0; i < ids.length; i += 100) {
      const some = ids.slice(i, i + 100);
      try {
        for (const user of (await this.searchUsers({ ids: some.join(","), limit: 100 })).items) this.store.putUser(user);
      } catch (error) { this.failed(error); }
      for (const id of some) asked.get(id).resolve(this.store.users.get(id));
    }
  }

  picture(hash, address) {
    if (!hash) return Promise.resolve(undefined);
    if (!this.pictures.has(hash)) {
      if (this.pictures.size >= PICTURES_MAX) this.pictures.delete(this.pictures.keys().next().value);
      this.pictures.set(hash, this.request("GET", address).catch((error) => {
        this.pictures.delete(hash);
        if (error.status === 404) return undefined;
        throw error;
      }));
    }
    return this.pictures.get(hash);
  }

  async userAvatar(id) { return this.picture((await this.getUser(id))?.avatarHash, path`/users/${id}/avatar`); }
  async dialogAvatar(id) { return this.picture((await this.dialog(id)).avatarHash, path`/dialogs/${id}/avatar`); }

  async deleteAccount(input) {
    await this.request("DELETE", "/users/me", { query: input });
    await this.disconnect();
    await this.forget();
    this.emit("session", { signedIn: false });
  }

  // MARK: Calls

  async call(to, kind) {
    const body = { ...to, kind, clientId: uuid() };
    return this.calls.apply(await this.persist(() => this.request("POST", "/calls", { body })));
  }

  async listCalls() { return (await this.request("GET", "/calls")).items.map((state) => this.calls.apply(state)); }
}

Object.assign(Parley.prototype, operations);
