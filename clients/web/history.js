// The messages of a dialog. Only those around the place that is on the screen are elements: a window over the messages that the SDK
// has loaded, which moves as one scrolls. Whatever is added above or below, the message that one reads stays where it is.

import { announce, h, later, svg, whenReleased } from "./dom.js";
import { day, isSameDay, number, t } from "./i18n.js";
import { icons } from "./icons.js";
import { actionsOf, messageElement, messageSignature } from "./bubble.js";
import { summary } from "./summary.js";

/** How many messages are elements at once, at least: some screens' worth in each direction. */
const WINDOW = 120;
/** The most messages of which one frame makes elements: some milliseconds' work, so that no frame is late. */
const SLICE = 8;
/** The most that it makes where it finds none: what covers the screen. */
const SCREEN = 24;
/** The height of the smallest message in pixels, of which a tall screen shows many. */
const SMALLEST = 34;
/** The distance to an end of the elements, in pixels, at which the window moves or a page is loaded. */
const NEAR = 900;
/** Messages of one sender within this time, in milliseconds, are one group. */
const TOGETHER = 5 * 60_000;
/** The most messages that are kept in memory while one reads at the end. */
const KEPT = 2000;
/** The messages that are loaded around the first unread one, if it is not among the newest. */
const AROUND = 100;
/** The pages of as many messages in which it is looked for, if only the number of those after it is known. */
const PAGES = 50;
/** The milliseconds for which a message that somebody jumped to is marked: those of the animation `found`. */
const FOUND = 2000;

export class History {
  /** The number of the last message in the server's first answer. */
  freshSeq;

  /** @param {import("./dialog.js").DialogScreen} screen */
  constructor(screen) {
    this.screen = screen;
    this.view = screen.view;
    this.rows = new Map();
    this.isAtEnd = true;
    /** Where a message is held until one scrolls: `{key, top}`, in pixels below the upper edge. */
    this.hold = undefined;
    /** Whether the elements that are there may show something old. */
    this.isStale = true;
    /** The last message that was read when the dialog was opened, "" if none was; `undefined`: there is nothing unread. */
    this.unreadAfter = undefined;
    /** The number of the last message that is known to be read. */
    this.readSeq = Infinity;
    this.hasBegun = false;
    /** Whether all that was unread at the beginning is known. */
    this.isSettled = false;
    const point = (event) => this.showActions(event.target.closest("[data-key]"));
    this.list = h("ol", {
      class: "messages",
      "aria-label": t("messages"),
      on: {
        focusin: point,
        pointerover: (event) => {
          if (event.pointerType === "mouse") point(event);
        },
        pointerleave: () => this.showActions(),
      },
    });
    this.scroller = h(
      "div",
      { class: "scroller", on: { scroll: () => this.scrolled(), keydown: (event) => this.key(event) } },
      this.list,
    );
    this.down = h(
      "button",
      {
        type: "button",
        class: "down",
        "aria-label": t("history.end"),
        hidden: true,
        on: { click: () => this.toEnd() },
      },
      svg(icons.arrowDown),
      h("span", { class: "badge", hidden: true }),
    );
    this.element = h("div", { class: "history" }, this.scroller, this.down);
    this.end = this.view.onChange(() => this.changed());
    this.mark = later(400, () => this.markRead());
    this.onFocus = () => this.mark();
    addEventListener("focus", this.onFocus);
    this.sizes = new ResizeObserver(() => {
      if (this.isAtEnd) this.stick();
    });
    this.sizes.observe(this.scroller);
    this.sizes.observe(this.list);
    this.lastKey = this.view.messages.at(-1)?.key;
    requestAnimationFrame(() => {
      if (!this.hasBegun) this.begin();
    });
  }

  close() {
    this.isClosed = true;
    this.end();
    this.sizes.disconnect();
    removeEventListener("focus", this.onFocus);
  }

  /** The first drawing: at the first unread message if there is one, however far back, else at the end. */
  begin() {
    if (this.isClosed || this.isSeeking) return;
    const { messages, isFresh } = this.view;
    const { me } = this.screen.dialog ?? {};
    const isUnread = me?.unreadCount > 0 && !this.isLed;
    this.unreadAfter = isUnread
      ? (this.readBefore ?? me.readMessageId ?? this.beforeUnread(me.unreadCount))
      : undefined;
    const first = this.firstUnread(messages);
    const isMissing = isUnread && first < 0;
    const isLoaded = !this.view.hasOlder || messages.some((message) => message.id && message.id === this.unreadAfter);
    if (isMissing && isFresh && !isLoaded && !this.isSought) {
      this.seek();
      return;
    }
    if (isFresh) this.reachFresh();
    // A browser that has kept nothing of the dialog, or not enough of it, waits for its messages.
    this.hasBegun = isFresh || (messages.length > 0 && !isMissing);
    if (first >= 0) {
      this.isAtEnd = false;
      this.hold = { key: messages[first].key, top: 110 };
    }
    if (this.isLed) {
      this.readSeq = messages.find((message) => message.id && message.id === me?.readMessageId)?.seq ?? Infinity;
      this.skipTo(this.ledSeq);
    } else if (this.unreadAfter === undefined) this.readSeq = messages.findLast((message) => message.id)?.seq ?? 0;
    else if (first >= 0) this.readSeq = messages.slice(0, first).findLast((message) => message.id)?.seq ?? 0;
    this.isStale = true;
    this.draw();
    this.noteEnd();
    if (this.hasBegun) this.mark();
    // Among what was loaded nothing is unread after all.
    if (this.isSought && first < 0 && this.view.hasNewer && !this.isLed) this.toEnd();
  }

  /** Loads what is around the first unread message. */
  async seek() {
    this.isSeeking = true;
    try {
      if (this.unreadAfter === undefined) await this.seekBack(this.screen.dialog.me.unreadCount);
      else {
        await this.view.jump(this.unreadAfter, AROUND).catch((error) => {
          if (error.temporary) throw error;
          return this.seekAfter(this.unreadAfter);
        });
      }
      // If the user has gone elsewhere meanwhile, that way may have replaced this one.
      this.isSought = !this.isLed;
    } catch (error) {
      // After a lost connection the next change tries again.
      this.isSought = !error.temporary;
    }
    this.isSeeking = false;
    if (this.isClosed) return;
    if (this.isSought || this.isLed) this.begin();
    else this.redraw();
  }

  /** The last message that was read is gone: alone, and the server still knows what follows it, or with all before it. */
  async seekAfter(messageId) {
    const { app, dialogId } = this.screen;
    const page = await app.parley.listMessages(dialogId, { after: messageId, limit: 1 }).catch((error) => {
      if (error.temporary) throw error;
      return { items: [] };
    });
    await this.loadUnread(page.items[0]?.id ?? "");
  }

  /** Nothing has been read, and more messages are unread than are loaded: the first unread one is found by counting back from the end. */
  async seekBack(count) {
    const { app, dialogId } = this.screen;
    let left = count,
      before,
      first = "";
    for (let pages = 0; left > 0 && pages < PAGES && (before || !pages); pages += 1) {
      const page = await app.parley.listMessages(dialogId, { limit: AROUND, ...(before && { before }) });
      for (const message of page.items) {
        if (left > 0 && this.isCounted(message)) {
          left -= 1;
          first = message.id;
        }
      }
      before = page.nextCursor;
    }
    await this.loadUnread(first);
  }

  /** Loads the messages around the first unread one, unless the user has gone elsewhere meanwhile; "" means the first message of the dialog. */
  async loadUnread(messageId) {
    if (this.isLed) return;
    await this.view.jump(messageId, AROUND);
    const { messages } = this.view;
    // Messages that wait to be sent have no id either.
    this.readBefore = (messageId && messages[messages.findIndex(({ id }) => id === messageId) - 1]?.id) || "";
  }

  changed() {
    const { messages } = this.view;
    const last = messages.at(-1);
    if (last && last.key !== this.lastKey) {
      const isMine = last.senderId === this.screen.app.parley.userId;
      if (isMine && (last.status === "storing" || last.status === "sending")) {
        this.isAtEnd = this.isLed = true;
        this.hold = this.unreadAfter = undefined;
      } else if (!isMine && this.lastKey && !this.view.hasNewer)
        announce(`${this.screen.nameOf(last.senderId, last.senderNick)}: ${summary(this.screen.app, last)}`);
      this.lastKey = last.key;
    }
    this.settle();
    if (!this.hasBegun) return this.begin();
    if (this.isAtEnd && messages.length > KEPT) this.view.trim(KEPT / 2);
    this.redraw();
    this.mark();
    return undefined;
  }

  /** Stores the number of the last message in the server's first answer. Later messages arrive while the dialog is open. */
  reachFresh() {
    this.freshSeq ??= this.view.messages.findLast((message) => message.id)?.seq ?? 0;
  }

  /**
   * Begins anew if the server's first answer has unread messages that were not kept here, where the number of unread messages may change
   * only after that answer; or if the first unread message was kept here and is not in the answer. Nothing is begun anew once messages
   * may have been marked as read.
   */
  settle() {
    if (this.isSettled || !this.hasBegun || !this.view.isFresh || this.isLed || this.isSeeking) return;
    const { messages } = this.view;
    this.reachFresh();
    const live = () => messages.filter((message) => message.seq > this.freshSeq && this.isCounted(message)).length;
    const isMissed =
      this.unreadAfter === undefined
        ? this.isAtEnd && this.screen.dialog?.me?.unreadCount > live()
        : this.firstUnread(messages) < 0;
    if (!isMissed) return;
    this.isSettled = true;
    this.hasBegun = false;
    this.begin();
  }

  /** Draws at the next frame, once; what is there anew too, unless only the window moves. */
  redraw(isStale = true) {
    this.isStale ||= isStale;
    if (this.drawing || this.isClosed) return;
    this.drawing = requestAnimationFrame(() =>
      whenReleased(this.list, () => {
        this.drawing = undefined;
        if (this.isClosed) return;
        this.draw();
        this.noteEnd();
      }),
    );
  }

  // MARK: The window

  /** Draws around what one reads, as far as one frame may; the next frames do the rest. */
  draw() {
    const { messages } = this.view;
    const hold = this.isAtEnd ? undefined : (this.hold ?? this.anchor());
    const at = hold ? messages.findIndex((message) => message.key === hold.key) : -1;
    const middle = at < 0 ? messages.length : at;
    const { clientHeight } = this.scroller;
    const size = Math.max(WINDOW, 4 * Math.ceil(clientHeight / SMALLEST));
    const first = Math.max(0, Math.min(middle - size / 2, messages.length - size));
    const bounds = {
      first,
      past: Math.min(messages.length, first + size),
      middle,
      screen: Math.max(1, Math.min(SCREEN, Math.ceil(clientHeight / SMALLEST))),
    };
    const wasStale = this.isStale;
    const { fresh, isWhole } = this.choose(messages, bounds);
    this.place(this.entries(messages, fresh));
    const element = hold && this.rows.get(hold.key)?.element;
    if (this.isAtEnd) this.stick();
    else if (element)
      this.scrollTo(
        this.scroller.scrollTop +
          element.getBoundingClientRect().top -
          this.scroller.getBoundingClientRect().top -
          hold.top,
      );
    this.showDown();
    this.isStale = wasStale && !isWhole;
    if (!isWhole) this.redraw(false);
  }

  /** Returns the first message on the screen, and how far it is below the upper edge. */
  anchor() {
    const { top } = this.scroller.getBoundingClientRect();
    for (const element of this.list.children) {
      const box = element.getBoundingClientRect();
      if (box.bottom > top + 4 && element.dataset.key) return { key: element.dataset.key, top: box.top - top };
    }
    return undefined;
  }

  /**
   * Chooses the messages that are shown in this frame: from the middle outwards, until the window is full or the frame has made its
   * share of elements. Returns which of them are made, by key, and whether nothing is left for the next frame.
   */
  choose(messages, { first, past, middle, screen }) {
    const fresh = new Map();
    let isWhole = true;
    let share = this.rows.has(messages[Math.min(middle, messages.length - 1)]?.key) ? SLICE : screen;
    if (this.isStale) this.unreadKey = messages[this.firstUnread(messages)]?.key;
    /** Whether a message can be shown now: it has an element, or gets one. An old element stays until it is its turn. */
    const fits = (index) => {
      const message = messages[index];
      const former = this.rows.get(message.key);
      if (former && !this.isStale) return true;
      const place = this.placeOf(messages, index);
      const signature = messageSignature(this.screen, message, place);
      if (former?.signature === signature) return true;
      if (share === 0) {
        isWhole = false;
        return former !== undefined;
      }
      share -= 1;
      fresh.set(message.key, { signature, place });
      return true;
    };
    let [low, high] = [middle, middle];
    for (let goesUp = true, goesDown = true; goesUp || goesDown; ) {
      goesDown &&= high < past && fits(high);
      if (goesDown) high += 1;
      goesUp &&= low > first && fits(low - 1);
      if (goesUp) low -= 1;
    }
    this.first = low;
    this.past = high;
    return { fresh, isWhole };
  }

  isNewDay(messages, index) {
    return index === 0 || !isSameDay(messages[index - 1].sentAt, messages[index].sentAt);
  }

  /** Returns where in a group of messages of one sender a message stands. */
  placeOf(messages, index) {
    const message = messages[index];
    const next = messages[index + 1];
    return {
      isFirst:
        this.isNewDay(messages, index) ||
        message.key === this.unreadKey ||
        !this.isTogether(messages[index - 1], message),
      isLast: !next || !this.isTogether(message, next) || !isSameDay(message.sentAt, next.sentAt),
    };
  }

  /** Returns what stands in the list: the chosen messages and the notices between them, each with its key and how it is made. */
  entries(messages, fresh) {
    const entries = [];
    const notice = (key, text, kind = "") =>
      entries.push({ key, signature: text, make: () => h("li", { class: `notice ${kind}` }, h("span", {}, text)) });
    if (this.first === 0 && !this.view.hasOlder && this.view.isFresh)
      notice("begin", t(messages.length ? "history.begin" : "history.empty"));
    else if (this.first === 0) notice("older", t("loading"));
    for (let index = this.first; index < this.past; index += 1) {
      const message = messages[index];
      const { key } = message;
      if (this.isNewDay(messages, index)) notice(`day ${key}`, day(message.sentAt), "day");
      if (key === this.unreadKey) notice("unread", t("history.unread"), "unread");
      const made = fresh.get(key);
      entries.push({
        key,
        signature: made?.signature ?? this.rows.get(key).signature,
        make: () => messageElement(this.screen, message, made.place),
      });
    }
    return entries;
  }

  /** Makes the list equal to the entries. What stays is not moved: only what is new is laid out. */
  place(entries) {
    const wanted = new Set(entries.map((entry) => entry.key));
    for (const [key, { element }] of this.rows) if (!wanted.has(key)) element.remove();
    const rows = new Map();
    let place = this.list.firstElementChild;
    for (const { key, signature, make } of entries) {
      const former = this.rows.get(key);
      let element = former?.element;
      if (former?.signature !== signature) {
        element = make();
        element.classList.toggle("found", key === this.foundKey);
        if (former) {
          const hadFocus = former.element.contains(document.activeElement);
          if (place === former.element) place = element;
          former.element.replaceWith(element);
          // At once: before a later moment the element may be replaced again, and another may have the focus.
          if (hadFocus) element.focus({ preventScroll: true });
        }
      }
      rows.set(key, { signature, element });
      if (element === place) place = place.nextElementSibling;
      else this.list.insertBefore(element, place);
    }
    this.rows = rows;
    // One message can be reached by the Tab key; arrow keys go to the others.
    if (!this.list.querySelector("[data-key][tabindex='0']"))
      this.list.querySelector("[data-key]:last-child")?.setAttribute("tabindex", "0");
  }

  isTogether(one, other) {
    const isSpeech = (message) => message.content.type !== "system" && message.content.type !== "call";
    return (
      one.senderId === other.senderId &&
      isSpeech(one) &&
      isSpeech(other) &&
      Date.parse(other.sentAt) - Date.parse(one.sentAt) < TOGETHER
    );
  }

  /**
   * Returns the message before the first unread one of who has read nothing: "" if that is the first of all; `undefined` if it is not
   * loaded. A group counts from the moment at which one has joined, and has messages from before.
   */
  beforeUnread(count) {
    if (this.screen.dialog?.type === "private") return "";
    const { messages, hasOlder, isFresh } = this.view;
    let left = count;
    for (let index = messages.length - 1; index >= 0; index -= 1) {
      if (this.isCounted(messages[index])) left -= 1;
      if (left === 0) return messages[index - 1]?.id ?? (hasOlder ? undefined : "");
    }
    return isFresh && hasOlder ? undefined : "";
  }

  /** Whether the server counts a message as unread until it is marked as read. */
  isCounted({ id, senderId, content }) {
    return (
      Boolean(id) &&
      senderId !== this.screen.app.parley.userId &&
      content.type !== "system" &&
      content.type !== "deleted"
    );
  }

  /** What lies between the last message that was read and one that somebody jumps to is not read by that. */
  skipTo(seq) {
    if (seq > this.readSeq) this.readSeq = Infinity;
  }

  /** Returns the index of the first message that was unread when the dialog was opened; -1 if that is not known. */
  firstUnread(messages) {
    if (this.unreadAfter === undefined) return -1;
    const at = messages.findIndex((message) => message.id && message.id === this.unreadAfter);
    // Who has read nothing yet begins at the beginning.
    if (at < 0 && (this.unreadAfter !== "" || this.view.hasOlder)) return -1;
    return messages.findIndex(
      (message, index) =>
        index > at && message.senderId !== this.screen.app.parley.userId && message.content.type !== "system",
    );
  }

  // MARK: Scrolling

  /** Notes whether the end is on the screen; where nothing has to be scrolled, no event says so. Returns what is below, in pixels. */
  noteEnd() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const below = scrollHeight - scrollTop - clientHeight;
    // While frames fill the window, the end may be below it for a moment.
    this.isAtEnd =
      below < 60 &&
      !this.view.hasNewer &&
      (this.past === this.view.messages.length || (this.isAtEnd && this.drawing !== undefined));
    if (this.isAtEnd) this.mark();
    this.showDown();
    return below;
  }

  scrolled() {
    const { scrollTop } = this.scroller;
    const below = this.noteEnd();
    if (Math.abs(scrollTop - this.placed) > 1) this.hold = undefined;
    this.mark();
    if (scrollTop < NEAR) this.up();
    else if (below < NEAR) this.further();
  }

  up() {
    if (this.first > 0) this.redraw(false);
    else if (this.view.hasOlder && !this.loading) this.load(() => this.view.loadOlder());
  }

  further() {
    if (this.past < this.view.messages.length) this.redraw(false);
    else if (this.view.hasNewer && !this.loading) this.load(() => this.view.loadNewer());
  }

  async load(action) {
    this.loading = true;
    try {
      // A page may be empty where the server has more; nothing would move for the next one.
      const { length } = this.view.messages;
      while ((await action()) && this.view.messages.length === length && !this.isClosed);
    } catch {
      // Offline: the next movement tries again.
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    this.loading = false;
    this.redraw();
  }

  stick() {
    this.scrollTo(this.scroller.scrollHeight);
  }

  scrollTo(top) {
    this.scroller.scrollTop = top;
    this.placed = this.scroller.scrollTop;
  }

  async toEnd() {
    const { hasNewer } = this.view;
    const leading = this.lead();
    // Also where the end is loaded: a jump that is still loading is over.
    const end = this.view.toEnd();
    if (hasNewer) {
      await end;
      if (this.jumping !== leading) return;
    }
    this.jumping = undefined;
    if (this.isClosed || this.view.hasNewer) return;
    this.hasBegun ||= this.view.isFresh;
    this.isAtEnd = true;
    this.hold = undefined;
    this.draw();
    this.mark();
  }

  /**
   * Begins a jump or the way to the end, which replaces one that is still loading. Returns how things stood before the first of them: the object
   * in `jumping` is that of the last one.
   */
  lead() {
    const { isLed, hasBegun } = this.jumping ?? this;
    this.isLed = true;
    this.jumping = { isLed, hasBegun };
    return this.jumping;
  }

  /** Shows a message in the middle of the screen, wherever in the history it is. It gets the focus, unless it is shown there anew. */
  async jump(messageId, isAnew = false) {
    const sought = () => this.view.messages.find((each) => each.id === messageId);
    // While messages are loading that will replace these, a message that is there is loaded as well.
    if (!sought() || this.jumping || this.isSeeking) {
      const leading = this.lead();
      let failure;
      await this.view.jump(messageId).catch((error) => {
        failure = error;
      });
      if (this.jumping !== leading || this.isClosed) return;
      this.jumping = undefined;
      // The message is gone: the dialog opens as without the link to it, and a dialog that is open stays where it is.
      if (!sought()) {
        this.isLed = leading.isLed;
        if (!leading.isLed && !leading.hasBegun) {
          this.hasBegun = false;
          this.begin();
        }
        if (failure) throw failure;
        return;
      }
    }
    this.isLed = true;
    const message = sought();
    this.ledSeq = message.seq;
    this.skipTo(message.seq);
    this.isAtEnd = false;
    this.isStale = true;
    const hold = { key: message.key, top: 0 };
    this.hold = hold;
    this.draw();
    const { element } = this.rows.get(message.key);
    hold.top = Math.max(0, (this.scroller.clientHeight - element.offsetHeight) / 2);
    this.redraw(false);
    this.markFound(message.key);
    if (!isAnew) element.focus({ preventScroll: true });
    // The server's first answer replaces the messages kept in the browser and may lack this one; then the jump is repeated, unless the user has scrolled away.
    if (!this.view.isFresh)
      this.view.fresh.then(() => this.hold === hold && this.jump(messageId, true)).catch(() => {});
  }

  /** Marks a message for a moment, also if its element is replaced meanwhile. */
  markFound(key) {
    const show = () => {
      for (const [each, { element }] of this.rows) element.classList.toggle("found", each === this.foundKey);
    };
    clearTimeout(this.unmarking);
    this.foundKey = key;
    show();
    this.unmarking = setTimeout(() => {
      this.foundKey = undefined;
      show();
    }, FOUND);
  }

  showDown() {
    const count = this.screen.dialog?.me?.unreadCount ?? 0;
    const state = `${this.isAtEnd} ${count}`;
    if (state === this.downState) return;
    this.downState = state;
    this.down.hidden = this.isAtEnd;
    const badge = this.down.querySelector(".badge");
    badge.hidden = !count;
    badge.textContent = number(count);
  }

  /** Shows beside the message under the pointer, or with the focus, what can be done with it. */
  showActions(element) {
    if (this.actions?.parentElement?.closest("[data-key]") === element && this.actions?.isConnected) return;
    if (this.actions?.contains(document.activeElement)) return;
    this.actions?.remove();
    const message = element && this.view.messages.find((each) => each.key === element.dataset.key);
    this.actions = message && actionsOf(this.screen, message);
    if (this.actions) element.querySelector(".bubble-line")?.append(this.actions);
  }

  /** Marks as read what is or was on the screen: all of it at the end, else up to the last message whose end is in sight. */
  markRead() {
    // Until the server has answered, what is unread is not known.
    if (!this.hasBegun || !this.view.isFresh || this.jumping) return;
    this.isSettled = true;
    if (document.hidden || !document.hasFocus() || this.screen.app.screen !== this.screen) return;
    const { dialog } = this.screen;
    if (!dialog?.me) return;
    if (this.isAtEnd) {
      this.readSeq = this.view.messages.findLast((message) => message.id)?.seq ?? this.readSeq;
      this.view.markRead().catch(() => {});
      return;
    }
    const seen = dialog.me.unreadCount > 0 && this.lastSeen();
    if (!seen || !(seen.seq > this.readSeq)) return;
    this.readSeq = seen.seq;
    this.screen.app.parley.markRead(this.screen.dialogId, seen.id).catch(() => {});
  }

  /** Returns the last message of the server whose lower edge is on the screen. */
  lastSeen() {
    const { bottom } = this.scroller.getBoundingClientRect();
    const keys = new Set();
    for (const element of this.list.children) {
      if (element.dataset.key && element.getBoundingClientRect().bottom <= bottom + 1) keys.add(element.dataset.key);
    }
    return this.view.messages.findLast((message) => message.id && keys.has(message.key));
  }

  // MARK: Keyboard

  key(event) {
    const rows = [...this.list.querySelectorAll("[data-key]")];
    const at = rows.indexOf(document.activeElement);
    const current = rows[at];
    if (event.key === "ArrowUp" || event.key === "ArrowDown") {
      const next = rows[at < 0 ? rows.length - 1 : at + (event.key === "ArrowUp" ? -1 : 1)];
      if (next) {
        for (const row of rows) row.setAttribute("tabindex", row === next ? "0" : "-1");
        next.focus({ preventScroll: true });
        next.scrollIntoView({ block: "nearest" });
      } else if (event.key === "ArrowDown") {
        this.screen.composer.focus();
      }
      event.preventDefault();
    } else if (
      current &&
      (event.key === "Enter" || event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey))
    ) {
      const message = this.view.messages.find((each) => each.key === current.dataset.key);
      if (message) this.screen.openMessageMenu(message, current.querySelector(".bubble") ?? current);
      event.preventDefault();
    } else if (event.key === "End" && !event.target.matches("input, textarea")) {
      this.toEnd();
    }
  }
}
