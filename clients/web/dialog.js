// An open dialog: its head, its history, its composer, and what can be done with a message.

import { hasCalls } from "./calls.js";
import { fill, h, name, svg, whenReleased } from "./dom.js";
import { moment, t } from "./i18n.js";
import { icons } from "./icons.js";
import { Composer, mayWrite } from "./composer.js";
import { picturesOf } from "./files.js";
import { History } from "./history.js";
import { infoPanel } from "./info.js";
import { forwardSheet, receiptsSheet, reportSheet } from "./messageactions.js";
import { summary } from "./summary.js";
import { cleanAddress, cleanText } from "./text.js";
import { ask, attempt, button, copy, copyPicture, describe, menu, tool } from "./ui.js";

const QUICK = ["👍", "❤️", "😂", "😮", "😢", "🙏"];

/** The most members that are loaded to complete a mention. */
const MEMBERS_MAX = 2000;

export class DialogScreen {
  /** The promise of `open`. */
  opened;

  /**
   * @param {import("./app.js").App} app
   * @param {string} dialogId
   * @param {HTMLElement} place
   */
  constructor(app, dialogId, place) {
    this.app = app;
    this.dialogId = dialogId;
    this.place = place;
    this.ends = [];
  }

  get dialog() {
    return this.app.parley.dialogs.find((each) => each.id === this.dialogId) ?? this.fetched;
  }

  get members() {
    return this.view?.members ?? new Map();
  }

  get isGroup() {
    return this.dialog?.type !== "private";
  }

  get mayWrite() {
    return mayWrite(this.dialog);
  }

  /** Whether calls can be made from here: to one other user. */
  get mayCall() {
    return !this.isGroup && this.app.people.otherOf(this.dialog) !== this.app.parley.userId && hasCalls;
  }

  get isAdmin() {
    return ["owner", "admin"].includes(this.dialog?.me?.role);
  }

  async open(messageId) {
    const { app } = this;
    fill(this.place, h("div", { class: "nothing" }, h("p", { class: "soft" }, t("loading"))));
    try {
      // One request has all of it. A dialog that the user does not read may still be known.
      this.view = await app.parley.view(this.dialogId);
      if (!this.dialog)
        await this.view.fresh.catch(async () => {
          this.fetched = await app.parley.dialog(this.dialogId);
        });
    } catch (error) {
      if (app.screen === this)
        fill(
          this.place,
          h(
            "div",
            { class: "nothing" },
            h(
              "div",
              { class: "empty" },
              h("p", {}, describe(error)),
              button(t("back"), () => app.closeDialog()),
            ),
          ),
        );
      return;
    }
    if (app.screen !== this) {
      this.view.close();
      return;
    }
    this.head = h("header", { class: "head" });
    this.strips = h("div");
    this.history = new History(this);
    this.composer = new Composer(this);
    fill(this.place, this.head, this.strips, this.history.element, this.composer.element, this.composer.drop);
    this.listen();
    this.reachStars();
    this.drawHead();
    this.drawStrips();
    if (messageId) await this.jump(messageId);
    this.composer.focus();
  }

  listen() {
    const { parley, people } = this.app;
    const redrawStrips = () => whenReleased(this.strips, () => this.drawStrips());
    const redraw = () => {
      whenReleased(this.head, () => this.drawHead());
      redrawStrips();
      this.composer.allow();
    };
    this.ends = [
      parley.on("typing", ({ dialogId }) => {
        if (dialogId === this.dialogId) redraw();
      }),
      parley.on("dialogs", () => {
        redraw();
        this.history.settle();
      }),
      this.view.onChange(() => {
        redrawStrips();
        this.reachStars();
      }),
      this.app.stars.onChange(() => this.history.redraw()),
      people.onChange(() => {
        redraw();
        this.history.redraw();
      }),
    ];
  }

  /** The stars of all messages that are loaded are known. */
  reachStars() {
    const oldest = this.view.messages[0];
    if (oldest?.sentAt) this.app.stars.reach(oldest.sentAt);
  }

  close() {
    for (const end of this.ends) end();
    this.composer?.close();
    this.history?.close();
    this.view?.close();
  }

  nameOf(userId, nick) {
    if (userId === this.app.parley.userId) return t("you");
    return this.app.people.nameOf(userId, nick ?? this.memberNameOf(userId));
  }

  memberNameOf(userId) {
    const member = this.members.get(userId);
    return member?.nick ?? member?.name;
  }

  /** Loads the members that are not known yet, page by page, and tells of each page. */
  async loadMembers(told) {
    this.whenMembers = told;
    if (this.isLoadingMembers) return;
    this.isLoadingMembers = true;
    const { view } = this;
    try {
      while (view.members.size < MEMBERS_MAX && this.app.screen === this) {
        // A view that has asked anew has another map, with its first members alone.
        const { members } = view;
        if (this.membersRead?.members !== members) this.membersRead = { members, cursor: view.membersCursor };
        const { membersRead } = this;
        if (!membersRead.cursor) break;
        const page = await this.app.parley.listMembers(this.dialogId, { limit: 100, cursor: membersRead.cursor });
        membersRead.cursor = page.nextCursor;
        for (const member of page.items) view.members.set(member.userId, member);
        this.whenMembers();
      }
    } catch {
      // The next letter tries again.
    }
    this.isLoadingMembers = false;
  }

  /** Returns a loaded message by its id. */
  messageOf(id) {
    const { messages } = this.view;
    if (this.indexed !== messages) {
      this.indexed = messages;
      this.byId = new Map(messages.map((message) => [message.id, message]));
    }
    return this.byId.get(id);
  }

  // MARK: Head and strips

  drawHead() {
    const { app, dialog } = this;
    if (!dialog) return;
    const other = app.people.otherOf(dialog);
    const typing = app.parley.typingIn(this.dialogId).filter((id) => id !== app.parley.userId);
    const text = typing.length
      ? t(this.isGroup ? "typing.names" : "typing", {
          names: typing
            .map((id) => this.nameOf(id))
            .slice(0, 3)
            .join(", "),
          count: typing.length,
        })
      : this.isGroup
        ? t("members.count", { count: dialog.memberCount ?? 0 })
        : other === app.parley.userId
          ? ""
          : app.people.presenceText(other) || cleanAddress(dialog.user?.jid);
    const signature = JSON.stringify([
      app.people.titleOf(dialog),
      text,
      dialog.avatarHash,
      app.people.user(other)?.avatarHash,
      app.people.presence(other)?.availability,
      document.documentElement.lang,
    ]);
    if (signature === this.headSignature) return;
    this.headSignature = signature;
    fill(
      this.head,
      tool("back", t("back"), () => app.closeDialog(), { class: "back", turns: true }),
      h(
        "button",
        {
          type: "button",
          class: "who",
          "aria-label": t("dialog.info", { name: app.people.titleOf(dialog) }),
          on: { click: () => this.openInfo() },
        },
        app.people.avatar({ dialog, presence: true }),
        h(
          "span",
          { style: { "min-width": "0" } },
          h("h2", { class: "cut" }, name(app.people.titleOf(dialog))),
          h("span", { class: "note cut", style: { display: "block" }, dir: "auto" }, text || "\u00a0"),
        ),
      ),
      this.mayCall && [
        tool("call", t("call.audio"), () => app.calls.start(other, "audio")),
        tool("video", t("call.video"), () => app.calls.start(other, "video"), { class: "roomy" }),
      ],
      tool("search", t("dialog.search"), () => this.searchHere(), { class: "roomy" }),
      tool("menu", t("more"), (event) => this.openMenu(event.currentTarget), { "aria-haspopup": "menu" }),
    );
  }

  drawStrips() {
    const { app, dialog } = this;
    if (!dialog) return;
    const other = app.people.otherOf(dialog);
    const contact = app.people.contacts.get(other);
    const isRequest = contact?.state === "pendingIn";
    const { pins } = this.view;
    const pin = pins[0];
    const signature = JSON.stringify([
      pin?.id,
      pin?.version,
      pins.length,
      contact?.state,
      app.people.blocked.has(other),
      document.documentElement.lang,
    ]);
    if (signature === this.stripSignature) return;
    this.stripSignature = signature;
    fill(
      this.strips,
      isRequest &&
        h(
          "div",
          { class: "strip request" },
          svg(icons.userAdd),
          h("span", { class: "grow" }, t("contacts.asks", { name: this.nameOf(other) })),
          button(t("decline"), () => attempt(() => app.parley.removeContact(other)), "danger"),
          button(t("accept"), () => attempt(() => app.parley.putContact(other)), "main"),
        ),
      app.people.blocked.has(other) &&
        h(
          "div",
          { class: "strip request" },
          svg(icons.block),
          h("span", { class: "grow" }, t("block.is")),
          button(t("block.end"), () => attempt(() => app.parley.unblock(other)), "plain"),
        ),
      pin &&
        h(
          "button",
          { type: "button", class: "strip", on: { click: () => this.jump(pin.id) } },
          svg(icons.pin),
          h("span", { class: "grow cut", dir: "auto" }, summary(app, pin)),
          pins.length > 1 && h("span", { class: "soft" }, t("pins.more", { count: pins.length - 1 })),
        ),
    );
  }

  openInfo() {
    this.app.openPanel(infoPanel(this.app, this));
  }

  searchHere() {
    const panel = h("section", { class: "panel", "aria-label": t("dialog.search") });
    const results = h("div", { class: "panel-body" });
    const input = h("input", {
      class: "input",
      type: "search",
      placeholder: t("dialog.search"),
      "aria-label": t("dialog.search"),
    });
    const find = async () => {
      const query = input.value.trim();
      if (!query) return fill(results);
      await attempt(async () => {
        const page = await this.app.parley.searchMessages({ dialogId: this.dialogId, query, limit: 50 });
        if (input.value.trim() === query) fill(results, this.app.list.messageRows(page.items, input.value));
      });
      return undefined;
    };
    input.addEventListener("input", () => {
      clearTimeout(this.searchTimer);
      this.searchTimer = setTimeout(find, 250);
    });
    fill(
      panel,
      h(
        "header",
        { class: "panel-head" },
        h("div", { class: "search grow" }, svg(icons.search), input),
        tool("close", t("close"), () => this.app.closePanel()),
      ),
      results,
    );
    this.app.openPanel(panel);
    input.focus();
  }

  openMenu(place) {
    const { app, dialog } = this;
    const settings = dialog.me;
    const set = (changes) => attempt(() => app.parley.updateSettings(this.dialogId, changes));
    // A phone's head has no place for all.
    const isNarrow = matchMedia("(max-width: 480px)").matches;
    menu(place, [
      isNarrow &&
        this.mayCall && {
          icon: "video",
          label: t("call.video"),
          action: () => app.calls.start(app.people.otherOf(dialog), "video"),
        },
      isNarrow && { icon: "search", label: t("dialog.search"), action: () => this.searchHere() },
      { icon: "info", label: t("dialog.details"), action: () => this.openInfo() },
      !app.isGuest && {
        icon: settings?.notify === "never" ? "bell" : "bellOff",
        label: t(settings?.notify === "never" ? "dialog.unmute" : "dialog.mute"),
        action: () => set({ notify: settings?.notify === "never" ? null : "never" }),
      },
      !app.isGuest && {
        icon: "pin",
        label: t(settings?.pinned ? "dialog.unpin" : "dialog.pin"),
        action: () => set({ pinned: !settings?.pinned }),
      },
      !app.isGuest && {
        icon: "archive",
        label: t(settings?.archived ? "dialog.unarchive" : "dialog.archive"),
        action: () => set({ archived: !settings?.archived }),
      },
      "-",
      {
        icon: "trash",
        label: t("dialog.clear"),
        danger: true,
        action: async () => {
          if (await ask(t("dialog.clear"), t("dialog.clearText"), t("dialog.clear")))
            attempt(() => app.parley.clearDialog(this.dialogId));
        },
      },
    ]);
  }

  /** Sends a message and, if one reads elsewhere, goes to the end, where it is. Returns whether the outbox has stored the message. */
  async send(message) {
    const isStored = await attempt(() => this.view.send(message));
    if (isStored && (this.view.hasNewer || this.history.jumping)) await attempt(() => this.history.toEnd());
    return isStored;
  }

  jump(messageId) {
    return attempt(() => this.history.jump(messageId));
  }

  // MARK: One message

  /** Opens what can be done with a message, at a place. */
  openMessageMenu(message, place) {
    const { app } = this;
    const isMine = message.senderId === app.parley.userId;
    const isStarred = app.stars.has(message.id);
    const { type } = message.content;
    const pictures = picturesOf(message);
    // What another server did not take is a message of the history all the same.
    if (!message.id) {
      menu(place, [
        message.status === "failed" && {
          icon: "send",
          label: t("message.retry"),
          action: () => attempt(() => app.parley.retry(message.clientId)),
        },
        {
          icon: "trash",
          label: t("message.discard"),
          danger: true,
          action: () => attempt(() => app.parley.discard(message.clientId)),
        },
      ]);
      return;
    }
    if (type === "system" || type === "deleted") return;
    const react =
      this.mayWrite &&
      h(
        "div",
        { class: "emojis", role: "group", "aria-label": t("message.react") },
        QUICK.map((emoji) =>
          h(
            "button",
            {
              type: "button",
              role: "menuitem",
              "aria-label": t("react.with", { emoji }),
              on: {
                click: () => {
                  close();
                  this.react(message, emoji);
                },
              },
            },
            emoji,
          ),
        ),
      );
    const close = menu(place, [
      react,
      this.mayWrite && { icon: "reply", label: t("message.reply"), action: () => this.composer.reply(message) },
      this.mayWrite &&
        isMine &&
        type === "text" &&
        !message.forwardedFrom && { icon: "edit", label: t("message.edit"), action: () => this.composer.edit(message) },
      message.content.text && {
        icon: "copy",
        label: t("message.copy"),
        action: () => copy(cleanText(message.content.text)),
      },
      pictures.length === 1 && {
        icon: "copy",
        label: t("message.copyPicture"),
        action: () => copyPicture(app.parley.fileUrl(pictures[0].url)),
      },
      type !== "call" &&
        type !== "encrypted" && {
          icon: "forward",
          label: t("message.forward"),
          action: () => forwardSheet(app, message),
        },
      this.mayWrite &&
        (!this.isGroup || this.isAdmin || this.dialog.whoPins === "members") && {
          icon: "pin",
          label: t(message.pinnedAt ? "message.unpin" : "message.pin"),
          action: () => attempt(() => app.parley.pin(this.dialogId, message.id, !message.pinnedAt)),
        },
      {
        icon: "star",
        label: t(isStarred ? "message.unstar" : "message.star"),
        action: () => attempt(() => app.parley.star(this.dialogId, message.id, !isStarred)),
      },
      { icon: "info", label: t("message.info"), action: () => receiptsSheet(app, this, message) },
      "-",
      !isMine &&
        !app.isGuest && {
          icon: "warning",
          label: t("message.report"),
          danger: true,
          action: () => reportSheet(app, message),
        },
      {
        icon: "trash",
        label: t("message.deleteForMe"),
        danger: true,
        action: () => attempt(() => app.parley.deleteMessage(this.dialogId, message.id, "me")),
      },
      this.mayWrite &&
        (isMine || (this.isGroup && this.isAdmin)) && {
          icon: "trash",
          label: t("message.deleteForAll"),
          danger: true,
          action: async () => {
            if (await ask(t("message.deleteForAll"), t("message.deleteForAllText"), t("delete")))
              attempt(() => app.parley.deleteMessage(this.dialogId, message.id, "everyone"));
          },
        },
    ]);
  }

  react(message, emoji) {
    return attempt(() => this.app.parley.toggleReaction(message, emoji));
  }

  /** Says who sent a message, when, and what, for screen readers. */
  labelOf(message) {
    const status = message.status ? t(`status.${message.status}`) : "";
    return [
      this.nameOf(message.senderId, message.senderNick),
      moment(message.sentAt),
      summary(this.app, message),
      status,
    ]
      .filter(Boolean)
      .join(", ");
  }
}
