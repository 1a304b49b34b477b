const DIALOGS_MAX = 5000;
const USERS_MAX = 500;
const PRESENCES_MAX = 1000;

/** Of two copies of a message, the newer one. */
export const newer = (one, other) => (other && (!one || (other.version ?? 0) >= (one.version ?? 0)) ? other : one);

/** Returns a negative number if the first one is less, a positive one if it is greater, and 0 if they are equal. */
export const compared = (one, other) => (one < other ? -1 : Number(one > other));

/** By what dialogs are ordered. */
export const timeOf = (dialog) => dialog.lastMessage?.sentAt ?? dialog.updatedAt ?? dialog.createdAt ?? "";

/**
 * The local state of an account: the loaded dialogs, their newest messages as far as they were opened, markers, users, presence. It is
 * changed by events, each applied by id, and by answers. Values are replaced, never changed: references tell what is new.
 */
export class Store {
  cursor = undefined;
  user = undefined;
  totalUnread = 0;
  totalMentions = 0;
  /** The milliseconds by which this clock was ahead of the server's when the connection began. */
  ahead = 0;
  /** Where the list of dialogs continues; `null`: it is complete; undefined: nothing has been loaded. */
  listCursor = undefined;
  /** The earliest time of a dialog of the pages up to there. */
  listEnd = undefined;
  dialogs = new Map();
  /** The newest messages of dialogs that were opened: `{messages, at}`. */
  tails = new Map();
  /** By dialog and user: `{delivered, read}` are messages' ids, `deliveredSeq` and `readSeq` their numbers once these are known. */
  markers = new Map();
  users = new Map();
  presences = new Map();
  typing = new Map();
  views = new Map();
  /** What is not yet in the storage: `dialogs/ID`, `tails/ID`. */
  dirty = new Set();
  isStateDirty = false;
  /** Counts events and answers, so that an answer older than an event does not undo it. */
  clock = 0;
  stamps = new Map();

  constructor(storage, options, hooks) {
    this.storage = storage;
    this.options = options;
    this.hooks = hooks;
  }

  // MARK: Persistence

  async load() {
    const state = (await this.storage.get("state", "sync")) ?? {};
    const rows = await this.storage.all("dialogs");
    this.cursor = state.cursor;
    this.user = state.user ?? this.user;
    this.totalUnread = state.totalUnread ?? 0;
    this.totalMentions = state.totalMentions ?? 0;
    this.ahead = state.ahead ?? 0;
    this.listCursor = state.listCursor;
    this.listEnd = state.listEnd;
    this.dialogs = new Map(rows);
    this.tails.clear();
    this.dirty.clear();
    this.clock++;
  }

  async loadTail(dialogId) {
    if (this.tails.has(dialogId)) return this.tails.get(dialogId);
    const tail = await this.storage.get("tails", dialogId);
    if (!this.tails.has(dialogId)) {
      this.tails.set(dialogId, { messages: tail?.messages ?? [], at: 0 });
      for (const [userId, marker] of Object.entries(tail?.markers ?? {})) this.mark({ dialogId, userId, ...marker });
    }
    return this.tails.get(dialogId);
  }

  /** Marks a dialog as opened now, and lets go of those that were opened longest ago. */
  async touch(dialogId) {
    (await this.loadTail(dialogId)).at = Date.now();
    this.dirty.add("tails/" + dialogId);
    const closed = [...this.tails].filter(([id]) => !this.views.has(id)).sort(([, a], [, b]) => b.at - a.at);
    for (const [id] of closed.slice(this.options.keepDialogs)) {
      this.tails.delete(id);
      this.markers.delete(id);
      this.dirty.add("tails/" + id);
    }
  }

  markAllDirty() {
    for (const id of this.dialogs.keys()) this.dirty.add("dialogs/" + id);
    for (const id of this.tails.keys()) this.dirty.add("tails/" + id);
    this.isStateDirty = true;
  }

  /**
   * The changes that make the storage equal to this; events after `cursor` will come again. The caller writes them; if that
   * fails, `markAllDirty`.
   *
   * @returns {import("./parley.js").StorageChange[]}
   */
  changes(cursor = this.cursor) {
    /** @type {import("./parley.js").StorageChange[]} */
    const changes = [...this.dirty].map((key) => {
      const slash = key.indexOf("/"),
        table = key.slice(0, slash),
        id = key.slice(slash + 1);
      if (table === "dialogs") return [table, id, this.dialogs.get(id)];
      const tail = this.tails.get(id);
      return [table, id, tail && { ...tail, markers: Object.fromEntries(this.markers.get(id) ?? []) }];
    });
    if (changes.length || this.isStateDirty) {
      const { user, totalUnread, totalMentions, listCursor, listEnd, ahead } = this;
      changes.push(["state", "sync", { cursor, user, totalUnread, totalMentions, listCursor, listEnd, ahead }]);
    }
    this.dirty.clear();
    this.isStateDirty = false;
    return changes;
  }

  // MARK: Dialogs

  /** Pinned ones first, then by the last message. */
  list() {
    return [...this.dialogs.values()].sort(
      (a, b) => Number(Boolean(b.me?.pinned)) - Number(Boolean(a.me?.pinned)) || compared(timeOf(b), timeOf(a)),
    );
  }

  /** Puts dialogs of an answer to a request at `asked`, a value of `clock`. Returns the ids of those changed by an event since. */
  putDialogs(dialogs, asked = this.clock) {
    const overtaken = [];
    for (const dialog of dialogs) {
      if ((this.stamps.get(dialog.id) ?? 0) > asked) {
        overtaken.push(dialog.id);
        continue;
      }
      this.setDialog(dialog);
      if (dialog.user) this.putUser(dialog.user);
    }
    return overtaken;
  }

  setDialog(dialog) {
    const old = this.dialogs.get(dialog.id);
    // One that loses its messages stays in the list.
    if (old && timeOf(old) >= this.listEnd && timeOf(dialog) < this.listEnd) this.listEnd = timeOf(dialog);
    this.dialogs.set(dialog.id, dialog);
    this.dirty.add("dialogs/" + dialog.id);
    if (this.dialogs.size > DIALOGS_MAX) {
      const last = this.list().findLast?.((each) => !this.views.has(each.id)) ?? this.list().at(-1);
      this.removeDialog(last.id);
    }
    this.hooks.dialogs(dialog.id);
  }

  changeDialog(id, change) {
    const dialog = this.dialogs.get(id);
    this.stamps.set(id, ++this.clock);
    if (this.stamps.size > 1000) this.stamps.delete(this.stamps.keys().next().value);
    if (dialog) this.setDialog(change(dialog));
    return dialog !== undefined;
  }

  changeMine(id, members) {
    return this.changeDialog(id, (dialog) => {
      const me = {
        unreadCount: 0,
        mentionCount: 0,
        pinned: false,
        archived: false,
        markedUnread: false,
        ...dialog.me,
        ...members,
      };
      for (const [name, value] of Object.entries(me)) if (value === undefined) delete me[name];
      return { ...dialog, me };
    });
  }

  removeDialog(id) {
    this.dialogs.delete(id);
    this.tails.delete(id);
    this.markers.delete(id);
    this.typing.delete(id);
    this.dirty.add("dialogs/" + id).add("tails/" + id);
    this.hooks.dialogs(id);
  }

  /** The state of a dialog in an event: without what differs between its viewers. */
  applyDialog({ dialog, message }) {
    const isKnown = this.changeDialog(dialog.id, (old) => ({
      ...dialog,
      me: old.me,
      user: old.user,
      ownerId: dialog.ownerId ?? old.ownerId,
      createdAt: dialog.createdAt ?? old.createdAt,
      externalId: dialog.externalId ?? old.externalId,
      lastMessage: (dialog.lastMessage?.seq ?? 0) >= (old.lastMessage?.seq ?? 0) ? dialog.lastMessage : old.lastMessage,
    }));
    if (!isKnown) this.hooks.missing(dialog.id);
    if (message) this.addMessage(message);
  }

  // MARK: Messages

  addMessage(message) {
    const { dialogId } = message;
    const isKnown = this.changeDialog(dialogId, (dialog) => {
      const last = dialog.lastMessage;
      if (last && last.seq > message.seq) return dialog;
      return {
        ...dialog,
        lastMessage: last?.id === message.id ? newer(last, message) : message,
        updatedAt: message.sentAt,
      };
    });
    if (!isKnown) this.hooks.missing(dialogId);
    this.changeTail(dialogId, (messages) => insert(messages, message));
    this.resolve(dialogId, message);
    this.views.get(dialogId)?.forEach((view) => {
      view.add(message);
    });
  }

  updateMessage(message) {
    this.changeMessage(message.dialogId, message.id, (old) => newer(old, message));
    this.views.get(message.dialogId)?.forEach((view) => {
      view.changePin(message);
    });
  }

  changeMessage(dialogId, id, change) {
    if (this.dialogs.get(dialogId)?.lastMessage?.id === id) {
      this.changeDialog(dialogId, (dialog) => ({ ...dialog, lastMessage: change(dialog.lastMessage) }));
    }
    this.changeTail(dialogId, (messages) => messages.map((old) => (old.id === id ? change(old) : old)));
    this.views.get(dialogId)?.forEach((view) => {
      view.change(id, change);
    });
  }

  removeMessage(dialogId, id) {
    this.changeTail(dialogId, (messages) => messages.filter((old) => old.id !== id));
    this.views.get(dialogId)?.forEach((view) => {
      view.remove(id);
    });
    if (this.dialogs.get(dialogId)?.lastMessage?.id === id) this.hooks.missing(dialogId);
  }

  changeTail(dialogId, change) {
    const tail = this.tails.get(dialogId);
    if (!tail) return;
    tail.messages = change(tail.messages).slice(-this.options.keepMessages);
    this.dirty.add("tails/" + dialogId);
  }

  // MARK: Markers

  mark({ dialogId, userId, delivered, read, deliveredSeq, readSeq }) {
    if (!this.markers.has(dialogId)) this.markers.set(dialogId, new Map());
    const markers = this.markers.get(dialogId),
      old = markers.get(userId);
    const next = { deliveredSeq: 0, readSeq: 0, ...old };
    next.deliveredSeq = Math.max(next.deliveredSeq, deliveredSeq ?? 0);
    next.readSeq = Math.max(next.readSeq, readSeq ?? 0);
    if (delivered) next.delivered = delivered;
    if (read) next.read = read;
    markers.set(userId, next);
    if (this.tails.has(dialogId)) this.dirty.add("tails/" + dialogId);
  }

  /** A marker names a message; what it covers is known by that message's number. */
  resolve(dialogId, message) {
    let isChanged = false;
    for (const marker of this.markers.get(dialogId)?.values() ?? []) {
      for (const kind of ["delivered", "read"]) {
        if (marker[kind] === message.id && marker[kind + "Seq"] < message.seq) {
          marker[kind + "Seq"] = message.seq;
          isChanged = true;
        }
      }
    }
    return isChanged;
  }

  /** Whom a message of one's own has reached: the best of the others, and those who have read it. */
  reached(dialogId, seq, userId) {
    let status = "sent";
    const readers = [];
    for (const [id, marker] of this.markers.get(dialogId) ?? []) {
      if (id === userId) continue;
      if (marker.readSeq >= seq) {
        status = "read";
        readers.push(id);
      } else if (marker.deliveredSeq >= seq && status === "sent") status = "delivered";
    }
    return { status, readers };
  }

  applyMarker(marker) {
    const { dialogId, userId, delivered, read } = marker;
    if (userId === this.user?.id) {
      const mine = {};
      if (delivered) mine.deliveredMessageId = delivered;
      if (read) mine.readMessageId = read;
      this.changeMine(dialogId, mine);
      return;
    }
    if (!this.tails.has(dialogId) && !this.views.has(dialogId)) return;
    this.mark(marker);
    const seen = [this.dialogs.get(dialogId)?.lastMessage, ...(this.tails.get(dialogId)?.messages ?? [])];
    for (const view of this.views.get(dialogId) ?? []) seen.push(...view.list);
    for (const message of seen)
      if (message && (message.id === delivered || message.id === read)) this.resolve(dialogId, message);
    this.views.get(dialogId)?.forEach((view) => {
      view.changeParts(() => this.mark(marker));
    });
  }

  // MARK: People

  putUser(user) {
    const old = this.users.get(user.id);
    this.users.delete(user.id);
    this.users.set(user.id, { ...old, ...user });
    if (this.users.size > USERS_MAX) this.users.delete(this.users.keys().next().value);
  }

  applyUser(user) {
    if (user.id === this.user?.id) {
      const { name, status, avatarHash, avatarUrl, guest } = user;
      this.user = { ...this.user, ...user, name, status, avatarHash, avatarUrl, guest };
      this.isStateDirty = true;
    }
    const old = this.users.get(user.id);
    if (old) this.users.set(user.id, { ...user, createdAt: old.createdAt, lastSeenAt: old.lastSeenAt });
    for (const dialog of this.dialogs.values()) {
      if (dialog.user?.id === user.id) this.changeDialog(dialog.id, (each) => ({ ...each, user }));
    }
  }

  // MARK: Events

  /** Applies an event, by id: a repeat changes nothing more. */
  apply({ type, cursor, data }) {
    this.clock++;
    EVENTS[type]?.(this, data);
    if (cursor) {
      this.cursor = cursor;
      this.isStateDirty = true;
    }
  }

  setTotals({ totalUnread, totalMentions }) {
    if (totalUnread === this.totalUnread && totalMentions === this.totalMentions) return;
    Object.assign(this, { totalUnread, totalMentions, isStateDirty: true });
    this.hooks.unread();
  }
}

/**
 * By the type of an event: what it changes.
 *
 * @type {Record<string, (store: Store, data: any) => void>}
 */
const EVENTS = {
  "message.created": (store, data) => store.addMessage(data.message),
  "message.updated": (store, data) => store.updateMessage(data.message),
  // Nothing is left of one that was deleted for the user alone.
  "message.deleted": (store, data) =>
    data.message ? store.updateMessage(data.message) : store.removeMessage(data.dialogId, data.messageId),
  "marker.updated": (store, data) => store.applyMarker(data.marker),
  "user.updated": (store, data) => store.applyUser(data.user),
  "dialog.created": (store, data) => store.applyDialog(data),
  "dialog.updated": (store, data) => store.applyDialog(data),
  "dialog.deleted": (store, data) => store.removeDialog(data.dialogId),
  "dialog.cleared": (store, data) => {
    store.changeTail(data.dialogId, () => []);
    store.views.get(data.dialogId)?.forEach((view) => {
      view.clear();
    });
    store.hooks.missing(data.dialogId);
  },
  "member.updated": (store, data) => {
    const { member, dialogId } = data;
    const isMine = member.userId === store.user?.id;
    if (isMine && (member.role === "none" || member.role === "banned")) return store.removeDialog(dialogId);
    store.applyDialog(data);
    store.views.get(dialogId)?.forEach((view) => {
      view.changeMember(member);
    });
    if (isMine) store.changeMine(dialogId, { role: member.role, nick: member.nick, kicked: member.kicked });
  },
  "settings.updated": (store, data) => {
    const { dialogId, notify, mutedUntil, pinned, archived, markedUnread, retentionDays } = data.settings;
    store.changeMine(dialogId, { notify, mutedUntil, pinned, archived, markedUnread, retentionDays });
  },
  "draft.updated": (store, data) => store.changeMine(data.dialogId, { draft: data.draft }),
  "unread.updated": (store, data) => {
    store.changeMine(data.dialogId, { unreadCount: data.unreadCount, mentionCount: data.mentionCount });
    store.setTotals(data);
  },
  caught_up: (store, data) => store.setTotals(data),
  "typing.updated": (store, data) => {
    if (data.userIds.length) store.typing.set(data.dialogId, data.userIds);
    else store.typing.delete(data.dialogId);
  },
  "presence.updated": (store, data) => {
    store.presences.delete(data.presence.userId);
    store.presences.set(data.presence.userId, data.presence);
    if (store.presences.size > PRESENCES_MAX) store.presences.delete(store.presences.keys().next().value);
  },
};

/** Returns the messages, ordered by number, with one more or with a newer copy. */
export function insert(messages, message) {
  let i = messages.length;
  while (i > 0 && messages[i - 1].seq > message.seq) i--;
  const old = messages[i - 1];
  if (old?.id === message.id) {
    const kept = newer(old, message);
    return kept === old ? messages : [...messages.slice(0, i - 1), kept, ...messages.slice(i)];
  }
  return i === messages.length ? [...messages, message] : [...messages.slice(0, i), message, ...messages.slice(i)];
}
