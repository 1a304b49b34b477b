import { delay } from "./connection.js";
import { aborted } from "./errors.js";
import { forward, setInternal } from "./facade.js";
import { insert, newer } from "./store.js";

/** How many live messages a view holds beyond what was loaded on purpose. */
const LIVE_MAX = 500;
/** What the first answer includes, so that opening costs one request. */
const INCLUDE = "dialog,members,pins,markers,users";

/** Does the work of a `DialogView`: holds the loaded piece of a dialog, which the store keeps current. */
export class View {
  list = [];
  isFresh = false;
  hasOlder = true;
  hasNewer = false;
  members = new Map();
  pins = [];
  listeners = new Set();
  /** Grows by what `loadOlder` loads. */
  bound = LIVE_MAX;
  locals = new Map();
  collectors = new Set();

  /**
   * @param {import("./core.js").Core} client
   * @param {string} dialogId
   * @param {number} limit
   */
  constructor(client, dialogId, limit) {
    this.client = client;
    this.dialogId = dialogId;
    this.limit = limit;
    const { views } = client.store;
    if (!views.has(dialogId)) views.set(dialogId, new Set());
    views.get(dialogId).add(this);
    this.fresh = new Promise((resolve, reject) => {
      this.resolve = resolve;
      this.reject = reject;
    });
    this.fresh.catch(() => {});
  }

  get dialog() {
    return this.client.store.dialogs.get(this.dialogId);
  }

  get messages() {
    this.shown ??= [
      ...this.list.map((message) => this.shownMessage(message)),
      ...this.client.pending(this.dialogId, this.hasNewer),
    ];
    return this.shown;
  }

  shownMessage(message) {
    const { store, userId } = this.client;
    const key = message.clientId && message.senderId === userId ? message.clientId : message.id;
    let status;
    if (message.senderId === userId && message.content.type !== "system") {
      status =
        message.delivery?.state === "failed" ? "failed" : store.reached(this.dialogId, message.seq, userId).status;
    }
    const old = this.locals.get(message.id);
    if (old && old.status === status && old.of === message) return old.shown;
    const shown = { ...message, key };
    if (status) shown.status = status;
    if (status === "failed") shown.error = { code: message.delivery.code, detail: message.delivery.text ?? "" };
    this.locals.set(message.id, { of: message, status, shown });
    return shown;
  }

  onChange(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Listeners are told once for all changes of the same moment. */
  changed() {
    this.shown = undefined;
    if (this.isTelling) return;
    this.isTelling = true;
    queueMicrotask(() => {
      this.isTelling = false;
      for (const listener of this.listeners) this.client.callListener(listener);
    });
  }

  // MARK: What the store tells

  /** Applies an event to the list; while a page is awaited, again behind it, as it may be older. */
  apply(event) {
    for (const arrived of this.collectors) arrived.push(event);
    this.list = event(this.list);
    this.changed();
  }

  add(message) {
    // What lies before the loaded piece comes with `loadOlder`: put before it now it would leave a gap.
    this.apply((list) =>
      this.hasNewer || (this.hasOlder && list.length && message.seq < list[0].seq) ? list : insert(list, message),
    );
    if (this.list.length > this.bound + 50) this.trim(this.bound);
  }

  change(id, change) {
    this.apply((list) => list.map((message) => (message.id === id ? change(message) : message)));
  }

  remove(id) {
    this.apply((list) => list.filter((message) => message.id !== id));
    this.changeParts(() => {
      this.pins = this.pins.filter((message) => message.id !== id);
    });
  }

  clear() {
    this.apply(() => {
      this.hasOlder = this.hasNewer = false;
      return [];
    });
    this.changeParts(() => {
      this.pins = [];
    });
  }

  /** Applies a change of the parts that an answer includes; while one is awaited, again after it, as it may be older. */
  changeParts(change) {
    this.late?.push(change);
    change();
    this.changed();
  }

  changeMember(member) {
    this.changeParts(() => {
      if (member.role === "none" || member.role === "banned") this.members.delete(member.userId);
      else this.members.set(member.userId, { ...this.members.get(member.userId), ...member });
    });
  }

  changePin(message) {
    this.changeParts(() => {
      const now = newer(
        this.pins.find(({ id }) => id === message.id),
        message,
      );
      const pins = this.pins.filter(({ id }) => id !== message.id);
      if (now.pinnedAt) pins.push(now);
      this.pins = pins.sort((a, b) => (a.pinnedAt < b.pinnedAt ? 1 : -1));
    });
  }

  // MARK: Loading

  /** Shows what is kept, then asks. */
  async start() {
    const tail = await this.client.store.loadTail(this.dialogId);
    if (!this.isFresh && !this.list.length) {
      this.list = [...tail.messages];
      this.changed();
    }
    await this.client.store.touch(this.dialogId);
    this.reload();
  }

  /** Runs a request, and gives its answer together with the events that arrived meanwhile. */
  async collectEvents(request) {
    const arrived = [];
    this.collectors.add(arrived);
    try {
      return [await request, arrived];
    } finally {
      this.collectors.delete(arrived);
    }
  }

  /** Loads the newest messages in place of all others. After a temporary error they are asked for again: as soon as the client is connected, or after a pause. */
  async reload() {
    const { client } = this;
    const attempt = {};
    this.attempt = attempt;
    this.asked = attempt;
    this.isShown = false;
    for (let n = 0; this.asked === attempt; n++) {
      const asked = client.store.clock;
      const late = [];
      this.late = late;
      try {
        const [page, arrived] = await this.collectEvents(
          client.listMessages(this.dialogId, { limit: this.limit, include: INCLUDE }),
        );
        if (this.asked !== attempt) return;
        this.applyIncluded(page, asked, late);
        // A jump since then replaces the messages, not the members and pins.
        if (this.attempt === attempt) {
          this.replace(page.items, page.nextCursor, undefined, arrived);
          client.store.changeTail(this.dialogId, () => this.list);
        }
        client.flushLater();
        this.isFresh = true;
        this.error = undefined;
        this.changed();
        return this.resolve();
      } catch (error) {
        if (this.asked !== attempt) return;
        this.error = error;
        this.late = undefined;
        this.changed();
        if (!error.temporary) return this.reject(error);
        await client.pause(error.retryAfter * 1000 || delay(n), true);
      }
    }
  }

  applyIncluded({ dialog, members, pins, markers, users }, asked, late) {
    const { store } = this.client;
    for (const user of users.items) store.putUser(user);
    for (const marker of markers.items) store.mark(marker);
    this.client.applyAnswer(dialog, asked);
    this.members = new Map(members?.items.map((member) => [member.userId, member]));
    this.membersCursor = members?.nextCursor;
    this.pins = pins.items;
    this.late = undefined;
    for (const change of late) change();
  }

  /** Replaces the list by a page, newest first. */
  replace(items, older, newerCursor, arrived) {
    const known = new Map(this.list.map((message) => [message.id, message]));
    this.list = [...items].reverse().map((message) => newer(known.get(message.id), message));
    this.olderCursor = older;
    this.newerCursor = newerCursor;
    this.hasOlder = older !== undefined;
    this.hasNewer = newerCursor !== undefined;
    this.isShown = true;
    this.bound = LIVE_MAX + this.list.length;
    this.locals.clear();
    this.merge([], arrived);
  }

  /** Adds the messages of a page, and applies the events that came while it was awaited. */
  merge(messages, arrived) {
    for (const message of messages) this.list = insert(this.list, message);
    for (const event of arrived) this.list = event(this.list);
    for (const message of this.list) this.client.store.resolve(this.dialogId, message);
    this.changed();
  }

  /** Where the messages before the first one are asked for. */
  get before() {
    return this.olderCursor ?? this.list[0]?.id;
  }

  loadOlder(limit = 50) {
    return this.loadPage("hasOlder", async () => {
      const { before } = this;
      const [page, arrived] = await this.collectEvents(this.client.listMessages(this.dialogId, { before, limit }));
      // If the messages were replaced or trimmed meanwhile, the page would leave a gap.
      if (this.before !== before) return this.hasOlder;
      this.bound += page.items.length;
      this.olderCursor = page.nextCursor;
      this.hasOlder = page.nextCursor !== undefined;
      this.merge(page.items, arrived);
      return this.hasOlder;
    });
  }

  loadNewer(limit = 50) {
    return this.loadPage("hasNewer", async () => {
      const after = this.newerCursor;
      const [page, arrived] = await this.collectEvents(this.client.listMessages(this.dialogId, { after, limit }));
      if (this.newerCursor !== after) return this.hasNewer;
      this.bound += page.items.length;
      this.newerCursor = page.nextCursor;
      this.hasNewer = page.nextCursor !== undefined;
      this.merge(page.items, arrived);
      return this.hasNewer;
    });
  }

  /** One page at a time. Another call waits for the running one, or a loop over the pages would block all else. */
  async loadPage(has, load) {
    if (!this[has]) return false;
    if (this.running) {
      await this.running.catch(() => {});
      return this[has];
    }
    this.running = load();
    try {
      return await this.running;
    } finally {
      this.running = undefined;
    }
  }

  async jump(messageId, limit = 50) {
    const attempt = {};
    this.attempt = attempt;
    try {
      if (!messageId) {
        const [page, arrived] = await this.collectEvents(this.client.listMessages(this.dialogId, { after: "", limit }));
        if (this.attempt === attempt) this.replace(page.items, undefined, page.nextCursor, arrived);
        return;
      }
      const half = Math.max(1, Math.floor(limit / 2));
      const [[message, older, after], arrived] = await this.collectEvents(
        Promise.all([
          this.client.message(this.dialogId, messageId),
          this.client.listMessages(this.dialogId, { before: messageId, limit: half }),
          this.client.listMessages(this.dialogId, { after: messageId, limit: half }),
        ]),
      );
      if (this.attempt === attempt) {
        this.replace([...after.items, message, ...older.items], older.nextCursor, after.nextCursor, arrived);
      }
    } catch (error) {
      // The newest messages were not shown because of the jump. If the message is gone, they are shown before the jump fails.
      if (this.attempt === attempt && !this.isShown) {
        const again = this.reload();
        if (!error.temporary) await again;
      }
      throw error;
    }
  }

  toEnd() {
    if (this.hasNewer || (!this.isShown && this.attempt !== this.asked)) return this.reload();
    // A jump that is still loading is over.
    this.attempt = this.asked;
    return Promise.resolve();
  }

  trim(keep) {
    if (this.list.length <= keep) return;
    for (const message of this.list.slice(0, -keep)) this.locals.delete(message.id);
    this.list = this.list.slice(-keep);
    this.olderCursor = undefined;
    this.hasOlder = true;
    this.changed();
  }

  send(message) {
    return this.client.send(this.dialogId, message);
  }

  async markRead() {
    const last = this.list.findLast((message) => message.senderId !== this.client.userId) ?? this.list.at(-1);
    if (last) await this.client.markRead(this.dialogId, last.id);
  }

  readersOf(messageId) {
    const message = this.list.find((each) => each.id === messageId);
    return message ? this.client.store.reached(this.dialogId, message.seq, this.client.userId).readers : [];
  }

  close() {
    const { views } = this.client.store;
    views.get(this.dialogId)?.delete(this);
    if (!views.get(this.dialogId)?.size) views.delete(this.dialogId);
    this.listeners.clear();
    this.attempt = this.asked = undefined;
    this.reject(aborted());
  }
}

/** A dialog that is being read: see parley.d.ts. */
export class DialogView {
  /** @param {View} view */
  constructor(view) {
    setInternal(this, view);
  }
}

forward(
  DialogView,
  ["onChange", "loadOlder", "loadNewer", "jump", "toEnd", "trim", "send", "markRead", "readersOf", "close"],
  [
    ...["dialogId", "dialog", "messages", "members", "membersCursor", "pins"],
    ...["hasOlder", "hasNewer", "isFresh", "error", "fresh"],
  ],
);
