// The column of dialogs: filters, search, the list itself.

import { append, fill, h, later, name, svg } from "./dom.js";
import { isFuture, shortTime, t } from "./i18n.js";
import { icons } from "./icons.js";
import { newChat, newGroup, publicDialogs, requests } from "./newchat.js";
import { settingsScreen } from "./account/settings.js";
import { summary } from "./summary.js";
import { cleanText, marked } from "./text.js";
import { attempt, menu, tool } from "./ui.js";

const FILTERS = ["all", "unread", "groups", "archived"];

export class DialogList {
  constructor(app) {
    this.app = app;
    this.filter = "all";
    this.rows = new Map();
    this.isLoaded = false;
    this.me = h("button", { type: "button", class: "me", on: { click: () => this.show(settingsScreen(app, () => this.show())) } });
    this.state = h("div", { class: "link-state", role: "status", hidden: true });
    this.search = h("input", { class: "input", type: "search", placeholder: t("search"), "aria-label": t("search"), autocomplete: "off",
      on: { input: later(200, () => this.find()), keydown: (event) => this.searchKey(event) } });
    this.filters = h("div", { class: "filters", role: "group", "aria-label": t("list.filter") }, FILTERS.map((filter) => h("button", {
      type: "button", "aria-pressed": String(filter === this.filter), data: { filter }, on: { click: () => this.setFilter(filter) },
    }, t(`list.${filter}`))));
    this.nav = h("nav", { class: "dialogs", "aria-label": t("list.title"), on: { scroll: () => this.more(), keydown: (event) => this.key(event) } });
    this.home = [
      h("header", { class: "side-head" }, this.me, h("h1", { class: "grow" }, t("list.title")),
        tool("edit", t("chat.new"), (event) => this.openNew(event.currentTarget), { "aria-haspopup": "menu" })),
      this.state,
      h("div", { class: "search" }, svg(icons.search), this.search),
      this.filters,
      this.nav,
    ];
    this.element = h("aside", { class: "side", "aria-label": t("list.title") }, this.home);
    const redraw = () => this.draw();
    app.parley.on("dialogs", redraw);
    app.parley.on("typing", redraw);
    app.parley.on("resync", redraw);
    app.parley.on("connection", () => this.showState());
    app.people.onChange(redraw);
  }

  /** Shows another screen in the column, or without one the list. */
  show(element) {
    fill(this.element, element ?? this.home);
    if (element) element.querySelector?.("button")?.focus();
    else this.draw();
  }

  openNew(place) {
    const { app } = this;
    menu(place, [
      { icon: "user", label: t("chat.new"), action: () => newChat(app) },
      { icon: "group", label: t("group.new"), action: () => newGroup(app) },
      { icon: "search", label: t("public.find"), action: () => publicDialogs(app) },
      { icon: "userAdd", label: t("contacts.requests"), action: () => requests(app) },
      { icon: "star", label: t("stars"), action: () => this.showStars() },
    ]);
  }

  showState() {
    const { state } = this.app.parley;
    clearTimeout(this.stateTimer);
    // A short loss is nobody's concern.
    if (state === "online" || state === "stopped") this.state.hidden = true;
    else this.stateTimer = setTimeout(() => { this.state.textContent = t(`connection.${state}`); this.state.hidden = false; }, 1500);
  }

  setFilter(filter) {
    this.filter = filter;
    for (const each of this.filters.children) each.setAttribute("aria-pressed", String(each.dataset.filter === filter));
    this.nav.scrollTop = 0;
    this.draw();
  }

  shown() {
    return this.app.parley.dialogs.filter((dialog) => {
      const me = dialog.me;
      if (!me) return false;
      switch (this.filter) {
        case "unread": return me.unreadCount > 0 || me.markedUnread;
        case "groups": return dialog.type !== "private" && !me.archived;
        case "archived": return me.archived;
        default: return !me.archived;
      }
    });
  }

  // MARK: Drawing

  /** Draws at the next frame, once, whatever has changed until then. */
  draw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = undefined;
      this.drawNow();
    });
  }

  drawNow() {
    const { app } = this;
    this.me.setAttribute("aria-label", t("settings"));
    this.me.title = t("settings");
    fill(this.me, app.people.avatar({ userId: app.parley.userId, size: 36 }));
    if (this.query) return;
    const dialogs = this.shown();
    const kept = new Map();
    const wanted = [];
    const asking = app.people.requests.length;
    if (asking && this.filter === "all") {
      wanted.push(this.keyed("requests", String(asking), kept, () => h("button", { type: "button", class: "row", on: { click: () => requests(app) } },
        h("span", { class: "avatar", style: { "--hue": "168" } }, svg(icons.userAdd)),
        h("span", { class: "line" }, h("span", { class: "title" }, t("contacts.requests")), h("span", { class: "badge" }, asking)))));
    }
    for (const dialog of dialogs) wanted.push(this.row(dialog, kept));
    if (!dialogs.length && this.isLoaded && this.filter === "all") {
      for (const id of app.people.contacts.keys()) {
        wanted.push(this.keyed(`contact ${id}`, app.people.nameOf(id) + app.people.presenceText(id), kept, () => this.hit(app.people.avatar({ userId: id, presence: true, size: 48 }),
          app.people.nameOf(id), app.people.presenceText(id) || t("chat.begin"), () => app.openPrivate(id))));
      }
    }
    if (!wanted.length) {
      wanted.push(this.keyed("empty", this.filter + this.isLoaded, kept, () => h("div", { class: "empty" }, this.isLoaded
        ? [svg(icons.chat), h("p", {}, t(this.filter === "all" ? "list.empty" : "list.emptyFilter"))] : h("p", {}, t("loading")))));
    }
    this.rows = kept;
    let place = this.nav.firstElementChild;
    for (const element of wanted) {
      if (element === place) place = place.nextElementSibling;
      else this.nav.insertBefore(element, place);
    }
    while (place) {
      const next = place.nextElementSibling;
      place.remove();
      place = next;
    }
    this.more();
  }

  /** Returns the element of a key: the former one, if nothing that it shows has changed. */
  keyed(key, signature, kept, make) {
    const former = this.rows.get(key);
    const element = former?.signature === signature ? former.element : make();
    if (former && former.element !== element && former.element.contains(document.activeElement)) setTimeout(() => element.focus(), 0);
    kept.set(key, { signature, element });
    return element;
  }

  row(dialog, kept) {
    const { app } = this;
    const title = app.people.titleOf(dialog);
    const typing = app.parley.typingIn(dialog.id).filter((id) => id !== app.parley.userId);
    const isOpen = app.screen?.dialogId === dialog.id;
    const last = dialog.lastMessage;
    const presence = dialog.type === "private" ? app.people.presence(app.people.otherOf(dialog))?.availability : "";
    const hash = dialog.type === "private" ? app.people.user(app.people.otherOf(dialog), dialog.user)?.avatarHash : dialog.avatarHash;
    const preview = this.preview(dialog, typing);
    const me = dialog.me;
    const signature = JSON.stringify([title, typing, isOpen, last?.id, last?.version, preview.text, preview.kind, me, presence, hash, last && shortTime(last.sentAt)]);
    return this.keyed(dialog.id, signature, kept, () => {
      const isMuted = me.notify === "never" || isFuture(me.mutedUntil);
      const unread = me.unreadCount || (me.markedUnread ? "•" : 0);
      return h("button", {
        type: "button", class: "row", "aria-current": String(isOpen), data: { id: dialog.id, unread: String(Boolean(unread)) },
        on: { click: () => app.openDialog(dialog.id), contextmenu: (event) => { event.preventDefault(); this.openMenu(dialog, { x: event.clientX, y: event.clientY }); } },
      },
      app.people.avatar({ dialog, presence: true, size: 48 }),
      h("span", { style: { "min-width": "0" } },
        h("span", { class: "line" }, name(title, "title cut"), isMuted && svg(icons.bellOff), me.pinned && svg(icons.pin),
          last && h("span", { class: "when" }, shortTime(last.sentAt))),
        h("span", { class: "line" }, h("span", { class: `snippet cut ${preview.kind}`, dir: "auto" }, preview.kind === "draft" && h("span", { class: "draft" }, `${t("draft")}: `), preview.text),
          me.mentionCount > 0 && h("span", { class: "badge", "aria-label": t("mentions.count", { count: me.mentionCount }) }, "@"),
          unread !== 0 && h("span", { class: `badge${isMuted ? " quiet" : ""}`, "aria-label": t("unread.count", { count: me.unreadCount }) }, unread))));
    });
  }

  preview(dialog, typing) {
    const { app } = this;
    if (typing.length) return { kind: "typing", text: t(typing.length > 1 ? "typing.many" : "typing", { count: typing.length }) };
    if (dialog.me.draft && app.screen?.dialogId !== dialog.id) return { kind: "draft", text: cleanText(dialog.me.draft.text) };
    const last = dialog.lastMessage;
    if (!last) return { kind: "", text: "" };
    const text = summary(app, last);
    const isNotice = last.content.type === "system" || last.content.type === "call";
    if (isNotice || (dialog.type === "private" && last.senderId !== app.parley.userId)) return { kind: "", text };
    const who = last.senderId === app.parley.userId ? t("you") : app.people.nameOf(last.senderId, last.senderNick);
    return { kind: "", text: t("list.preview", { who, text }) };
  }

  /** Loads the next page before the end is reached. */
  more() {
    const { parley } = this.app;
    const isNear = this.nav.scrollTop + this.nav.clientHeight > this.nav.scrollHeight - 600;
    if (!isNear || this.loading || !this.isLoaded || this.query || !parley.hasMoreDialogs) return;
    this.loading = true;
    attempt(() => parley.loadDialogs()).then((done) => { this.loading = !done; this.draw(); });
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const rows = [...this.nav.querySelectorAll(".row")];
    rows[rows.indexOf(document.activeElement) + step]?.focus();
    event.preventDefault();
  }

  openMenu(dialog, place) {
    const { parley } = this.app;
    const set = (changes) => attempt(() => parley.updateSettings(dialog.id, changes));
    const { pinned, archived, notify, unreadCount, markedUnread } = dialog.me;
    menu(place, [
      { icon: "pin", label: t(pinned ? "dialog.unpin" : "dialog.pin"), action: () => set({ pinned: !pinned }) },
      { icon: notify === "never" ? "bell" : "bellOff", label: t(notify === "never" ? "dialog.unmute" : "dialog.mute"), action: () => set({ notify: notify === "never" ? null : "never" }) },
      { icon: "archive", label: t(archived ? "dialog.unarchive" : "dialog.archive"), action: () => set({ archived: !archived }) },
      unreadCount || markedUnread
        ? { icon: "checks", label: t("dialog.markRead"), action: () => attempt(async () => {
          if (dialog.lastMessage) await parley.markRead(dialog.id, dialog.lastMessage.id);
          if (markedUnread) await parley.updateSettings(dialog.id, { markedUnread: false });
        }) }
        : { icon: "bell", label: t("dialog.markUnread"), action: () => set({ markedUnread: true }) },
    ]);
  }

  // MARK: Search

  searchKey(event) {
    if (event.key === "Escape") {
      this.search.value = "";
      this.find();
      this.search.blur();
      event.stopPropagation();
    } else if (event.key === "ArrowDown") {
      this.nav.querySelector(".row")?.focus();
      event.preventDefault();
    }
  }

  /** Finds dialogs, people and messages. What is known is shown at once, the rest as it arrives. */
  async find() {
    const query = this.search.value.trim();
    this.query = query;
    this.filters.hidden = query !== "";
    if (!query) {
      this.rows = new Map();
      fill(this.nav);
      this.drawNow();
      return;
    }
    const { app } = this;
    const fits = (text) => text.toLocaleLowerCase().includes(query.toLocaleLowerCase());
    const dialogs = app.parley.dialogs.filter((dialog) => dialog.me && fits(app.people.titleOf(dialog)));
    const parts = { dialogs, people: undefined, messages: undefined };
    const show = () => { if (this.query === query) this.showFound(query, parts); };
    show();
    const known = new Set(dialogs.map((dialog) => app.people.otherOf(dialog)));
    app.parley.searchUsers({ query, limit: 10 }).then((page) => { parts.people = page.items.filter((user) => !known.has(user.id) && user.id !== app.parley.userId); show(); }, () => {});
    app.parley.searchMessages({ query, limit: 30 }).then((page) => { parts.messages = page.items; show(); }, () => { parts.messages = []; show(); });
  }

  showFound(query, { dialogs, people = [], messages }) {
    const { app } = this;
    const head = (text) => h("h2", { class: "dialogs-head" }, text);
    fill(this.nav,
      dialogs.length > 0 && [head(t("search.dialogs")), dialogs.slice(0, 20).map((dialog) => this.hit(app.people.avatar({ dialog, size: 40 }),
        app.people.titleOf(dialog), "", () => app.openDialog(dialog.id)))],
      people.length > 0 && [head(t("search.people")), people.map((user) => this.hit(app.people.avatar({ userId: user.id, size: 40 }),
        app.people.nameOf(user.id, user.name), user.jid, () => app.openPrivate(user.id)))],
      head(t("search.messages")),
      messages === undefined ? h("p", { class: "empty" }, t("loading")) : this.messageRows(messages, query));
  }

  messageRows(messages, query) {
    const { app } = this;
    if (!messages.length) return h("p", { class: "empty" }, t("search.none"));
    return messages.map((message) => {
      const dialog = app.parley.dialogs.find((each) => each.id === message.dialogId);
      const sender = message.senderId === app.parley.userId ? t("you") : app.people.nameOf(message.senderId, message.senderNick);
      const title = dialog ? app.people.titleOf(dialog) : sender;
      return this.hit(dialog ? app.people.avatar({ dialog, size: 40 }) : app.people.avatar({ userId: message.senderId, size: 40 }), title,
        [`${sender}: `, marked(summary(app, message), query)], () => app.openDialog(message.dialogId, message.id), shortTime(message.sentAt));
    });
  }

  hit(avatar, title, text, action, when) {
    return h("button", { type: "button", class: "row", on: { click: action } }, avatar, h("span", { style: { "min-width": "0" } },
      h("span", { class: "line" }, name(title, "title cut"), when && h("span", { class: "when" }, when)),
      text && text.length > 0 && h("span", { class: "line" }, h("span", { class: "snippet cut", dir: "auto" }, text))));
  }

  /** The messages that the user has starred. */
  async showStars() {
    await attempt(async () => {
      const page = await this.app.parley.listStars({ limit: 100 });
      const body = h("div", { class: "dialogs" }, page.items.length ? this.messageRows(page.items) : h("p", { class: "empty" }, t("stars.none")));
      const element = h("div", { style: { display: "contents" } }, h("header", { class: "side-head" },
        tool("back", t("back"), () => this.show(), { turns: true }), h("h1", { class: "grow" }, t("stars"))));
      append(element, [body]);
      this.show(element);
    });
  }
}
