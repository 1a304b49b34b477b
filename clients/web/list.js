// The column of dialogs: filters, search, the list itself.

import { fill, h, later, name, svg, whenReleased } from "./dom.js";
import { isFuture, shortTime, t } from "./i18n.js";
import { icons } from "./icons.js";
import { mayWrite } from "./composer.js";
import { nearby } from "./nearby.js";
import { SEARCH_PAGES, firstFound, newChat, newGroup, personItem, publicDialogs, requests } from "./newchat.js";
import { starsScreen } from "./stars.js";
import { summary } from "./summary.js";
import { cleanAddress, cleanText, cut, folded, marked } from "./text.js";
import { attempt, menu, tool } from "./ui.js";

/** What the server is asked for the dialogs of each filter. Each question has pages of its own; those of all dialogs are the SDK's. */
const FILTERS = {
  all: [],
  unread: [{ unread: true }],
  groups: [
    { type: "group", archived: false },
    { type: "public", archived: false },
  ],
  archived: [{ archived: true }],
};
/** The dialogs of one page. */
const PAGE = 100;
/** The rows that are drawn above and below what is on the screen. */
const SPARE = 10;
/** The letters of a sender's name before a hit of a search. */
const SENDER_MAX = 12;
/**
 * Finds dialogs by a part of their name: `show` is given those that are known at once, and again when the server has named others.
 */
export async function findDialogs(app, query, show) {
  const wanted = folded(query);
  const known = app.parley.dialogs.filter((dialog) => dialog.me && folded(app.people.titleOf(dialog)).includes(wanted));
  show(known);
  if (!query || !app.parley.hasMoreDialogs) return;
  const more = [];
  for (let cursor, pages = 0; (!pages || cursor) && pages < SEARCH_PAGES && !more.length; pages += 1) {
    const page = await app.parley.listDialogs({ query, limit: 20, cursor }).catch(() => ({ items: [] }));
    more.push(...page.items.filter((dialog) => !known.some((each) => each.id === dialog.id)));
    cursor = page.nextCursor;
  }
  if (more.length) show([...known, ...more]);
}

/**
 * A field that finds dialogs in which the user may write, and contacts with whom there is none yet. `pick` is given a function that returns
 * the dialog, or makes it.
 */
export function dialogPicker(app, pick) {
  const { people, parley } = app;
  const results = h("div", { class: "results" });
  const input = h("input", {
    class: "input",
    type: "search",
    placeholder: t("search"),
    "aria-label": t("search"),
    autocomplete: "off",
  });
  const draw = () => {
    const query = input.value.trim();
    findDialogs(app, query, (dialogs) => {
      if (input.value.trim() !== query) return;
      const others = new Set(dialogs.map((dialog) => people.otherOf(dialog)));
      const contacts = [...people.contacts.values()].filter(
        ({ userId, state }) =>
          state !== "pendingIn" && !others.has(userId) && folded(people.nameOf(userId)).includes(folded(query)),
      );
      fill(
        results,
        dialogs
          .filter((dialog) => mayWrite(dialog))
          .slice(0, 40)
          .map((dialog) =>
            h(
              "button",
              { type: "button", class: "item", on: { click: () => pick(() => dialog) } },
              people.avatar({ dialog, size: 36 }),
              name(people.titleOf(dialog), "grow cut"),
            ),
          ),
        contacts
          .slice(0, 20)
          .map(({ userId }) => personItem(app, userId, { action: () => pick(() => parley.openPrivate(userId)) })),
      );
    });
  };
  input.addEventListener("input", later(150, draw));
  const end = people.onChange(() => (results.isConnected ? whenReleased(results, draw) : end()));
  draw();
  return h(
    "div",
    { style: { display: "grid", gap: "8px" } },
    h("div", { class: "search" }, svg(icons.search), input),
    results,
  );
}

export class DialogList {
  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app;
    this.filter = "all";
    this.rows = new Map();
    this.isLoaded = false;
    this.forget();
    this.height = 66;
    this.me = h("button", {
      type: "button",
      class: "me",
      on: {
        click: () =>
          attempt(async () => {
            const { settingsScreen } = await import("./account/settings.js");
            this.show(settingsScreen(app, () => this.show()));
          }),
      },
    });
    this.state = h("div", { class: "link-state", role: "status", hidden: true });
    this.search = h("input", {
      class: "input",
      type: "search",
      placeholder: t("search"),
      "aria-label": t("search"),
      autocomplete: "off",
      on: { input: later(200, () => this.find()), keydown: (event) => this.searchKey(event) },
    });
    this.filters = h(
      "div",
      { class: "filters", role: "group", "aria-label": t("list.filter") },
      Object.keys(FILTERS).map((filter) =>
        h(
          "button",
          {
            type: "button",
            "aria-pressed": String(filter === this.filter),
            data: { filter },
            on: { click: () => this.setFilter(filter) },
          },
          t(`list.${filter}`),
        ),
      ),
    );
    this.nav = h("nav", {
      class: "dialogs",
      "aria-label": t("list.title"),
      tabindex: "-1",
      on: { scroll: () => this.draw(), keydown: (event) => this.key(event) },
    });
    // They stand for the rows that are not drawn.
    this.above = h("div", { class: "space" });
    this.below = h("div", { class: "space" });
    this.home = [
      h(
        "header",
        { class: "side-head" },
        this.me,
        h("h1", { class: "grow" }, t("list.title")),
        tool("edit", t("chat.new"), (event) => this.openNew(event.currentTarget), { "aria-haspopup": "menu" }),
      ),
      this.state,
      h("div", { class: "search" }, svg(icons.search), this.search),
      this.filters,
      this.nav,
    ];
    this.element = h("aside", { class: "side", "aria-label": t("list.title") }, this.home);
    const redraw = () => this.draw();
    app.parley.on("dialogs", redraw);
    app.parley.on("typing", redraw);
    app.parley.on("resync", () => {
      this.forget();
      this.loadPinned();
      redraw();
    });
    app.parley.on("connection", () => {
      this.showState();
      redraw();
    });
    app.people.onChange(redraw);
    new ResizeObserver(redraw).observe(this.nav);
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
      !app.isGuest && navigator.geolocation && { icon: "location", label: t("nearby"), action: () => nearby(app) },
      !app.isGuest && { icon: "userAdd", label: t("contacts.requests"), action: () => requests(app) },
      {
        icon: "star",
        label: t("stars"),
        action: async () => {
          const screen = await starsScreen(app, () => this.show());
          if (screen) this.show(screen);
        },
      },
    ]);
  }

  showState() {
    const { state } = this.app.parley;
    clearTimeout(this.stateTimer);
    // A short loss is nobody's concern.
    if (state === "online" || state === "stopped") this.state.hidden = true;
    else
      this.stateTimer = setTimeout(() => {
        this.state.textContent = t(`connection.${state}`);
        this.state.hidden = false;
      }, 1500);
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
        case "unread":
          return me.unreadCount > 0 || me.markedUnread;
        case "groups":
          return dialog.type !== "private" && !me.archived;
        case "archived":
          return me.archived;
        default:
          return !me.archived && (me.pinned || this.app.parley.isListed(dialog));
      }
    });
  }

  // MARK: Drawing

  /** Draws at the next frame, once, whatever has changed until then. */
  draw() {
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() =>
      whenReleased(this.nav, () => {
        this.drawing = undefined;
        this.drawNow();
      }),
    );
  }

  drawNow() {
    this.drawMe();
    // On a phone an open dialog hides the list, which then has no place to scroll to.
    if (this.query || !this.nav.clientHeight) return;
    const lines = this.lines();
    // All rows are equally high, so that only those on the screen need to exist.
    this.height =
      [...this.rows.values()].find(({ element }) => element.isConnected && element.matches(".row"))?.element
        .offsetHeight || this.height;
    const first = Math.max(0, Math.min(Math.floor(this.nav.scrollTop / this.height) - SPARE, lines.length - 1));
    const past = Math.min(lines.length, Math.ceil((this.nav.scrollTop + this.nav.clientHeight) / this.height) + SPARE);
    this.above.style.height = `${first * this.height}px`;
    this.below.style.height = `${(lines.length - past) * this.height}px`;
    const kept = new Map();
    const wanted = [this.above, ...lines.slice(first, past).map((line) => line(kept)), this.below];
    this.rows = kept;
    // Nothing that stays is moved, which would take the focus from it.
    for (const each of [...this.nav.children]) {
      if (wanted.includes(each)) continue;
      // Keys go on from here, if the row that had the focus has been scrolled away.
      if (each === document.activeElement) this.nav.focus({ preventScroll: true });
      each.remove();
    }
    let place = this.nav.firstElementChild;
    for (const element of wanted) {
      if (element === place) place = place.nextElementSibling;
      else this.nav.insertBefore(element, place);
    }
    // At once: a key that came in between would be lost, and a later moment could take the focus from an opened dialog.
    this.refocused?.focus({ preventScroll: true });
    this.refocused = undefined;
    this.more();
  }

  drawMe() {
    const { people, parley } = this.app;
    const face = `${people.nameOf(parley.userId)} ${people.user(parley.userId)?.avatarHash} ${document.documentElement.lang}`;
    if (face === this.face) return;
    this.face = face;
    this.me.setAttribute("aria-label", t("settings"));
    this.me.title = t("settings");
    fill(this.me, people.avatar({ userId: parley.userId, size: 36 }));
  }

  /** Returns what the list shows, from the top: a function for each row that returns its element. */
  lines() {
    const { app } = this;
    const dialogs = this.shown();
    const lines = [];
    const asking = app.people.requests.length;
    if (asking && this.filter === "all") {
      lines.push((kept) =>
        this.keyed("requests", String(asking), kept, () =>
          h(
            "button",
            { type: "button", class: "row", on: { click: () => requests(app) } },
            h("span", { class: "avatar", style: { "--hue": "168" } }, svg(icons.userAdd)),
            h(
              "span",
              { class: "line" },
              h("span", { class: "title" }, t("contacts.requests")),
              h("span", { class: "badge" }, asking),
            ),
          ),
        ),
      );
    }
    for (const dialog of dialogs) lines.push((kept) => this.row(dialog, kept));
    if (!dialogs.length && this.isLoaded && this.filter === "all") {
      for (const id of app.people.contacts.keys()) {
        lines.push((kept) =>
          this.keyed(`contact ${id}`, app.people.nameOf(id) + app.people.presenceText(id), kept, () =>
            this.hit(
              id,
              app.people.avatar({ userId: id, presence: true, size: 48 }),
              app.people.nameOf(id),
              app.people.presenceText(id) || t("chat.begin"),
              () => app.openPrivate(id),
            ),
          ),
        );
      }
    }
    if (!lines.length) {
      const isKnown = this.isLoaded && !this.hasMore;
      lines.push((kept) =>
        this.keyed("empty", this.filter + isKnown, kept, () =>
          h(
            "div",
            { class: "empty" },
            isKnown
              ? [svg(icons.chat), h("p", {}, t(this.filter === "all" ? "list.empty" : "list.emptyFilter"))]
              : h("p", {}, t("loading")),
          ),
        ),
      );
    }
    return lines;
  }

  /** Returns the element of a key: the former one, if nothing that it shows has changed. */
  keyed(key, signature, kept, make) {
    const former = this.rows.get(key);
    const element = former?.signature === signature ? former.element : make();
    if (former && former.element !== element && former.element.contains(document.activeElement))
      this.refocused = element;
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
    const hash =
      dialog.type === "private"
        ? app.people.user(app.people.otherOf(dialog), dialog.user)?.avatarHash
        : dialog.avatarHash;
    const preview = this.preview(dialog, typing);
    const me = dialog.me;
    const signature = JSON.stringify([
      title,
      typing,
      isOpen,
      last?.id,
      last?.version,
      preview.text,
      preview.kind,
      me,
      presence,
      hash,
      last && shortTime(last.sentAt),
    ]);
    return this.keyed(dialog.id, signature, kept, () => {
      const isMuted = me.notify === "never" || isFuture(me.mutedUntil);
      const unread = me.unreadCount || (me.markedUnread ? "•" : 0);
      return h(
        "button",
        {
          type: "button",
          class: "row",
          "aria-current": String(isOpen),
          data: { id: dialog.id, unread: String(Boolean(unread)) },
          on: {
            click: () => app.openDialog(dialog.id),
            contextmenu: (event) => {
              event.preventDefault();
              this.openMenu(dialog, { x: event.clientX, y: event.clientY });
            },
          },
        },
        app.people.avatar({ dialog, presence: true, size: 48 }),
        h(
          "span",
          { style: { "min-width": "0" } },
          h(
            "span",
            { class: "line" },
            name(title, "title cut"),
            isMuted && svg(icons.bellOff),
            me.pinned && svg(icons.pin),
            last && h("span", { class: "when" }, shortTime(last.sentAt)),
          ),
          h(
            "span",
            { class: "line" },
            h(
              "span",
              { class: `snippet cut ${preview.kind}`, dir: "auto" },
              preview.kind === "draft"
                ? [h("span", { class: "draft" }, `${t("draft")}: `), h("bdi", {}, preview.text)]
                : preview.text,
            ),
            me.mentionCount > 0 &&
              h(
                "span",
                { class: "badge", "aria-label": t("mentions.count", { count: me.mentionCount }) },
                `@${me.mentionCount}`,
              ),
            unread !== 0 &&
              h(
                "span",
                {
                  class: `badge${isMuted ? " quiet" : ""}`,
                  "aria-label": t("unread.count", { count: me.unreadCount }),
                },
                unread,
              ),
          ),
        ),
      );
    });
  }

  preview(dialog, typing) {
    const { app } = this;
    if (typing.length)
      return { kind: "typing", text: t(typing.length > 1 ? "typing.many" : "typing", { count: typing.length }) };
    if (dialog.me.draft && app.screen?.dialogId !== dialog.id)
      return { kind: "draft", text: cleanText(dialog.me.draft.text) };
    const last = dialog.lastMessage;
    if (!last) return { kind: "", text: "" };
    const text = summary(app, last);
    const isNotice = last.content.type === "system" || last.content.type === "call";
    if (isNotice || (dialog.type === "private" && last.senderId !== app.parley.userId)) return { kind: "", text };
    const who = last.senderId === app.parley.userId ? t("you") : app.people.nameOf(last.senderId, last.senderNick);
    return { kind: "", text: t("list.preview", { who, text }) };
  }

  // MARK: Loading

  /** Forgets which pages have been loaded. */
  forget() {
    this.questions = Object.fromEntries(
      Object.entries(FILTERS).map(([filter, queries]) => [filter, queries.map((query) => ({ query }))]),
    );
  }

  /** Whether there may be dialogs of the filter that are not known. */
  get hasMore() {
    return (
      this.app.parley.hasMoreDialogs &&
      (this.filter === "all" || this.questions[this.filter].some(({ cursor }) => cursor !== null))
    );
  }

  /** Loads the next page before the end is reached. What is loaded is among the SDK's dialogs, and is drawn with them. */
  more() {
    const { parley } = this.app;
    const isNear = this.nav.scrollTop + this.nav.clientHeight > this.nav.scrollHeight - 600;
    if (!isNear || this.loading || !this.isLoaded || this.query || parley.state !== "online" || !this.hasMore) return;
    this.loading = true;
    const questions = this.questions[this.filter].filter(({ cursor }) => cursor !== null);
    attempt(() =>
      questions.length
        ? Promise.all(
            questions.map(async (each) => {
              const page = await parley.listDialogs({
                ...each.query,
                limit: PAGE,
                ...(each.cursor && { cursor: each.cursor }),
              });
              each.cursor = page.nextCursor ?? null;
            }),
          )
        : parley.loadDialogs(PAGE),
    ).then((done) => {
      this.loading = false;
      if (done) this.draw();
    });
  }

  /** Loads what is pinned: it stands at the top, wherever its page is. */
  async loadPinned() {
    const { parley } = this.app;
    /** @type {string | null | undefined} */
    let cursor;
    while (parley.hasMoreDialogs && cursor !== null) {
      cursor =
        (await parley.listDialogs({ pinned: true, limit: PAGE, cursor }).catch(() => undefined))?.nextCursor ?? null;
    }
  }

  key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const rows = [...this.nav.querySelectorAll(".row")];
    rows[rows.indexOf(document.activeElement) + step]?.focus();
    event.preventDefault();
  }

  openMenu(dialog, place) {
    const { parley, isGuest } = this.app;
    const set = (changes) => attempt(() => parley.updateSettings(dialog.id, changes));
    const { pinned, archived, notify, unreadCount, markedUnread } = dialog.me;
    const isUnread = unreadCount || markedUnread;
    if (isGuest && !isUnread) return;
    menu(place, [
      !isGuest && {
        icon: "pin",
        label: t(pinned ? "dialog.unpin" : "dialog.pin"),
        action: () => set({ pinned: !pinned }),
      },
      !isGuest && {
        icon: notify === "never" ? "bell" : "bellOff",
        label: t(notify === "never" ? "dialog.unmute" : "dialog.mute"),
        action: () => set({ notify: notify === "never" ? null : "never" }),
      },
      !isGuest && {
        icon: "archive",
        label: t(archived ? "dialog.unarchive" : "dialog.archive"),
        action: () => set({ archived: !archived }),
      },
      isUnread
        ? {
            icon: "checks",
            label: t("dialog.markRead"),
            action: () =>
              attempt(async () => {
                if (dialog.lastMessage) await parley.markRead(dialog.id, dialog.lastMessage.id);
                if (markedUnread) await parley.updateSettings(dialog.id, { markedUnread: false });
              }),
          }
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
    const typed = this.search.value;
    const query = typed.trim();
    this.query = query;
    this.filters.hidden = query !== "";
    if (!query) {
      this.rows = new Map();
      fill(this.nav);
      this.drawNow();
      return;
    }
    const { app } = this;
    const parts = { dialogs: [], people: undefined, messages: undefined };
    const show = () =>
      whenReleased(this.nav, () => {
        if (this.query === query) this.showFound(typed, parts);
      });
    findDialogs(app, query, (dialogs) => {
      parts.dialogs = dialogs;
      show();
    });
    firstFound((input) => app.parley.searchUsers(input), { query, limit: 10 }).then(
      (people) => {
        parts.people = people;
        show();
      },
      () => {},
    );
    app.parley.searchMessages({ query, limit: 30 }).then(
      (page) => {
        parts.messages = page.items;
        show();
      },
      () => {
        parts.messages = [];
        show();
      },
    );
  }

  showFound(typed, { dialogs, people: found = [], messages }) {
    const { app } = this;
    const known = new Set([app.parley.userId, ...dialogs.map((dialog) => app.people.otherOf(dialog))]);
    const people = found.filter((user) => !known.has(user.id));
    const head = (text) => h("h2", { class: "dialogs-head" }, text);
    // Whoever has gone on by the keyboard stays at the same row when more is found, or is at the first one.
    const focused = this.nav.contains(document.activeElement) && /** @type {HTMLElement} */ (document.activeElement);
    fill(
      this.nav,
      dialogs.length > 0 && [
        head(t("search.dialogs")),
        dialogs
          .slice(0, 20)
          .map((dialog) =>
            this.hit(dialog.id, app.people.avatar({ dialog, size: 40 }), app.people.titleOf(dialog), "", () =>
              app.openDialog(dialog.id),
            ),
          ),
      ],
      people.length > 0 && [
        head(t("search.people")),
        people.map((user) =>
          this.hit(
            user.id,
            app.people.avatar({ userId: user.id, size: 40 }),
            app.people.nameOf(user.id, user.name),
            cleanAddress(user.jid),
            () => app.openPrivate(user.id),
          ),
        ),
      ],
      head(t("search.messages")),
      messages === undefined ? h("p", { class: "empty" }, t("loading")) : this.messageRows(messages, typed),
    );
    if (!focused) return;
    const rows = [.../** @type {NodeListOf<HTMLElement>} */ (this.nav.querySelectorAll(".row"))];
    const next = rows.find((row) => row.dataset.hit === focused.dataset.hit) ?? rows[0] ?? this.search;
    next.focus({ preventScroll: true });
  }

  /** The messages as rows: hits of a search for what was typed, or messages that were not searched for. */
  messageRows(messages, typed = "") {
    const { app } = this;
    // Words are found whole: that there are none says nothing while the last one may go on.
    if (!messages.length) return h("p", { class: "empty" }, t(/\s$/.test(typed) ? "search.none" : "search.unfinished"));
    return messages.map((message) => {
      const dialog = app.parley.dialogs.find((each) => each.id === message.dialogId);
      const isMine = message.senderId === app.parley.userId;
      // The title of a private dialog names the other one, and a long name would leave no place for the hit.
      const isOfOther = dialog?.type === "private" && !isMine;
      const { title: sender, address } = isMine
        ? { title: t("you"), address: undefined }
        : app.people.markedNameOf(message.senderId, message.senderNick, isOfOther ? dialog.user : undefined);
      const title = dialog && !isOfOther ? app.people.titleOf(dialog) : sender;
      const found = marked(summary(app, message), typed);
      return this.hit(
        message.id,
        dialog
          ? app.people.avatar({ dialog, size: 40 })
          : app.people.avatar({ userId: message.senderId, nick: message.senderNick, size: 40 }),
        title,
        sender === title ? found : [name(cut(sender, SENDER_MAX)), ": ", h("bdi", {}, found)],
        () => app.openDialog(message.dialogId, message.id),
        shortTime(message.sentAt),
        address,
      );
    });
  }

  /**
   * Returns a row of what was found; `address` is that of a sender who looks like somebody else, on a line of its own, so that it is not cut off.
   *
   * @param {string} id
   * @param {Element} avatar
   * @param {string} title
   * @param {any} text
   * @param {() => void} action
   * @param {string} [when]
   * @param {string} [address]
   */
  hit(id, avatar, title, text, action, when, address) {
    return h(
      "button",
      { type: "button", class: "row", data: { hit: id }, on: { click: action } },
      avatar,
      h(
        "span",
        { style: { "min-width": "0" } },
        h("span", { class: "line" }, name(title, "title cut"), when && h("span", { class: "when" }, when)),
        address && h("span", { class: "line" }, name(address, "address note")),
        text && text.length > 0 && h("span", { class: "line" }, h("span", { class: "snippet cut", dir: "auto" }, text)),
      ),
    );
  }
}
