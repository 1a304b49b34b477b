// The messages of a dialog. Only those around the place that is on the screen are elements: a window over the messages that the SDK
// has loaded, which moves as one scrolls. Whatever is added above or below, the message that one reads stays where it is.

import { announce, h, later, svg } from "./dom.js";
import { day, isSameDay, number, t } from "./i18n.js";
import { icons } from "./icons.js";
import { messageElement, messageSignature } from "./bubble.js";
import { summary } from "./summary.js";

/** How many messages are elements at once, at least: some screens' worth in each direction. */
const WINDOW = 120;
/** The height of the smallest message in pixels, of which a tall screen shows many. */
const SMALLEST = 34;
/** The distance to an end of the elements, in pixels, at which the window moves or a page is loaded. */
const NEAR = 900;
/** Messages of one sender within this time, in milliseconds, are one group. */
const TOGETHER = 5 * 60_000;
/** The most messages that are kept in memory while one reads at the end. */
const KEPT = 2000;

export class History {
  constructor(screen) {
    this.screen = screen;
    this.view = screen.view;
    this.rows = new Map();
    this.isAtEnd = true;
    this.center = undefined;
    this.unreadAfter = screen.dialog?.me?.unreadCount > 0 ? screen.dialog.me.readMessageId ?? "" : undefined;
    this.list = h("ol", { class: "messages", "aria-label": t("messages") });
    this.scroller = h("div", { class: "scroller", on: { scroll: () => this.scrolled(), keydown: (event) => this.key(event) } }, this.list);
    this.down = h("button", { type: "button", class: "down", "aria-label": t("history.end"), hidden: true, on: { click: () => this.toEnd() } }, svg(icons.arrowDown), h("span", { class: "badge", hidden: true }));
    this.element = h("div", { class: "history" }, this.scroller, this.down);
    this.end = this.view.onChange(() => this.changed());
    this.mark = later(400, () => this.markRead());
    this.onFocus = () => this.mark();
    addEventListener("focus", this.onFocus);
    this.sizes = new ResizeObserver(() => { if (this.isAtEnd) this.stick(); });
    this.sizes.observe(this.scroller);
    this.sizes.observe(this.list);
    this.lastKey = this.view.messages.at(-1)?.key;
    requestAnimationFrame(() => this.begin());
  }

  close() {
    this.end();
    this.sizes.disconnect();
    removeEventListener("focus", this.onFocus);
  }

  /** The first drawing: at the first unread message if there is one, else at the end. */
  begin() {
    this.draw();
    const divider = this.list.querySelector(".unread");
    if (divider) {
      this.isAtEnd = false;
      this.scroller.scrollTop = divider.offsetTop - 80;
      this.scrolled();
    } else {
      this.stick();
    }
    this.mark();
  }

  changed() {
    const { messages } = this.view;
    const last = messages.at(-1);
    if (last && last.key !== this.lastKey) {
      const isMine = last.senderId === this.screen.app.parley.userId;
      if (isMine && last.status === "sending") { this.isAtEnd = true; this.unreadAfter = undefined; }
      else if (!isMine && this.lastKey && !this.view.hasNewer) announce(`${this.screen.nameOf(last.senderId, last.senderNick)}: ${summary(this.screen.app, last)}`);
      this.lastKey = last.key;
    }
    if (this.isAtEnd && messages.length > KEPT) this.view.trim(KEPT / 2);
    this.redraw();
    this.mark();
  }

  /** Draws at the next frame, once. */
  redraw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = undefined;
      this.draw();
    });
  }

  // MARK: The window

  draw() {
    const { messages } = this.view;
    const anchor = this.isAtEnd ? undefined : this.anchor();
    let middle = messages.length;
    const wanted = this.center ?? anchor?.key;
    if (!this.isAtEnd && wanted) {
      const at = messages.findIndex((message) => message.key === wanted || message.id === wanted);
      if (at >= 0) middle = at;
    }
    const size = Math.max(WINDOW, 4 * Math.ceil(this.scroller.clientHeight / SMALLEST));
    this.first = Math.max(0, Math.min(middle - size / 2, messages.length - size));
    this.past = Math.min(messages.length, this.first + size);
    this.place(messages);
    if (this.isAtEnd) this.stick();
    else if (anchor?.element.isConnected) this.scroller.scrollTop += anchor.element.getBoundingClientRect().top - anchor.top;
    this.showDown();
  }

  /** Returns the first message on the screen, and where it is. */
  anchor() {
    const top = this.scroller.getBoundingClientRect().top;
    for (const element of this.list.children) {
      const box = element.getBoundingClientRect();
      if (box.bottom > top + 4 && element.dataset.key) return { element, key: element.dataset.key, top: box.top };
    }
    return undefined;
  }

  place(messages) {
    const kept = new Map();
    let place = this.list.firstElementChild;
    const put = (key, signature, make) => {
      const former = this.rows.get(key);
      let element = former?.element;
      if (former?.signature !== signature) {
        element = make();
        if (former) {
          if (former.element.contains(document.activeElement)) setTimeout(() => element.focus({ preventScroll: true }), 0);
          if (place === former.element) place = former.element.nextElementSibling;
          former.element.replaceWith(element);
        }
      }
      kept.set(key, { signature, element });
      if (element === place) place = place.nextElementSibling;
      else if (element.nextElementSibling !== place || element.parentElement !== this.list) this.list.insertBefore(element, place);
    };
    if (this.first === 0 && !this.view.hasOlder && this.view.isFresh) {
      put("begin", String(messages.length === 0), () => h("li", { class: "notice" }, h("span", {}, t(messages.length ? "history.begin" : "history.empty"))));
    } else if (this.first === 0) {
      put("older", "", () => h("li", { class: "notice" }, h("span", {}, t("loading"))));
    }
    const unread = this.firstUnread(messages);
    for (let index = this.first; index < this.past; index += 1) {
      const message = messages[index];
      const before = messages[index - 1];
      const isNewDay = !before || !isSameDay(before.sentAt, message.sentAt);
      if (isNewDay) put(`day ${message.key}`, day(message.sentAt), () => h("li", { class: "notice day" }, h("span", {}, day(message.sentAt))));
      if (index === unread) put("unread", "", () => h("li", { class: "notice unread" }, h("span", {}, t("history.unread"))));
      const isFirst = isNewDay || index === unread || !this.isTogether(before, message);
      const isLast = !messages[index + 1] || !this.isTogether(message, messages[index + 1]) || !isSameDay(message.sentAt, messages[index + 1].sentAt);
      const place = { isFirst, isLast };
      put(message.key, messageSignature(this.screen, message, place), () => messageElement(this.screen, message, place));
    }
    for (const [key, { element }] of this.rows) if (!kept.has(key) || kept.get(key).element !== element) element.remove();
    this.rows = kept;
    // One message can be reached by the Tab key; arrow keys go to the others.
    if (!this.list.querySelector("[data-key][tabindex='0']")) this.list.querySelector("[data-key]:last-child")?.setAttribute("tabindex", "0");
  }

  isTogether(one, other) {
    const isSpeech = (message) => message.content.type !== "system" && message.content.type !== "call";
    return one.senderId === other.senderId && isSpeech(one) && isSpeech(other) && new Date(other.sentAt) - new Date(one.sentAt) < TOGETHER;
  }

  /** Returns the index of the first message that was unread when the dialog was opened; -1 if that is not known. */
  firstUnread(messages) {
    if (this.unreadAfter === undefined) return -1;
    const at = messages.findIndex((message) => message.id && message.id === this.unreadAfter);
    // Who has read nothing yet begins at the beginning.
    if (at < 0 && (this.unreadAfter !== "" || this.view.hasOlder)) return -1;
    return messages.findIndex((message, index) => index > at && message.senderId !== this.screen.app.parley.userId && message.content.type !== "system");
  }

  // MARK: Scrolling

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    const below = scrollHeight - scrollTop - clientHeight;
    this.isAtEnd = below < 60 && this.past === this.view.messages.length && !this.view.hasNewer;
    this.center = undefined;
    if (scrollTop < NEAR) this.up();
    else if (below < NEAR) this.further();
    if (this.isAtEnd) this.mark();
    this.showDown();
  }

  up() {
    if (this.first > 0) this.redraw();
    else if (this.view.hasOlder && !this.loading) this.load(() => this.view.loadOlder());
  }

  further() {
    if (this.past < this.view.messages.length) this.redraw();
    else if (this.view.hasNewer && !this.loading) this.load(() => this.view.loadNewer());
  }

  async load(action) {
    this.loading = true;
    try {
      await action();
    } catch {
      // Offline: the next movement tries again.
      await new Promise((resolve) => setTimeout(resolve, 1000));
    }
    this.loading = false;
    this.redraw();
  }

  stick() {
    this.scroller.scrollTop = this.scroller.scrollHeight;
  }

  async toEnd() {
    if (this.view.hasNewer) await this.view.toEnd();
    this.isAtEnd = true;
    this.draw();
    this.mark();
  }

  /** Shows a message in the middle of the screen, wherever in the history it is. */
  async jump(messageId) {
    if (!this.view.messages.some((message) => message.id === messageId)) await this.view.jump(messageId);
    this.isAtEnd = false;
    this.center = messageId;
    this.draw();
    const element = this.list.querySelector(`[data-id="${CSS.escape(messageId)}"]`);
    if (!element) return;
    element.scrollIntoView({ block: "center" });
    element.classList.add("found");
    element.focus({ preventScroll: true });
    setTimeout(() => element.classList.remove("found"), 2000);
  }

  showDown() {
    this.down.hidden = this.isAtEnd;
    const count = this.screen.dialog?.me?.unreadCount ?? 0;
    const badge = this.down.querySelector(".badge");
    badge.hidden = !count;
    badge.textContent = number(count);
  }

  markRead() {
    if (!this.isAtEnd || document.hidden || !document.hasFocus() || this.screen.app.screen !== this.screen) return;
    if (this.screen.dialog?.me) this.view.markRead().catch(() => {});
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
    } else if (current && (event.key === "Enter" || event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey))) {
      const message = this.view.messages.find((each) => each.key === current.dataset.key);
      if (message) this.screen.openMessageMenu(message, current.querySelector(".bubble") ?? current);
      event.preventDefault();
    } else if (event.key === "End" && !event.target.matches("input, textarea")) {
      this.toEnd();
    }
  }
}
