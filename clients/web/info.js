// The panel of a dialog: the person or the group, settings, members, shared pictures.

import { fill, h, later, name, svg, whenReleased } from "./dom.js";
import { inAnHour, isFuture, t } from "./i18n.js";
import { icons } from "./icons.js";
import { gallery } from "./files.js";
import { newGroup } from "./newchat.js";
import { cleanAddress, cleanName, cleanText, cut, folded } from "./text.js";
import { ask, attempt, button, item, menu, prompt, select, sheet, toggle, tool } from "./ui.js";

/** The times between two messages of one member that can be chosen, in seconds. */
const SLOW = [0, 10, 30, 60, 300];
/** The days that messages can stay in one's own view; 0: as long as the server keeps them. */
const STAY = [0, 1, 7, 30, 90, 365];
/** The members from which on one can be searched for. */
const FIND_FROM = 10;
/** The members that one search looks at by itself, and those found at which it waits. */
const SEARCHED_MAX = 5000;
const FOUND_MAX = 50;
/** The members of one page, and those that are shown more at a time. */
const PAGE = 100;

export function infoPanel(app, screen) {
  // The members stay where they are when the rest is drawn again: one may be typing there.
  const above = h("div", { style: { display: "contents" } });
  const below = h("div", { style: { display: "contents" } });
  const members = screen.isGroup ? membersOf(app, screen) : undefined;
  const body = h("div", { class: "panel-body" }, above, members?.element, below);
  const panel = h(
    "section",
    { class: "panel", "aria-label": t("dialog.details") },
    h(
      "header",
      { class: "panel-head" },
      h("h2", {}, t("dialog.details")),
      tool("close", t("close"), () => app.closePanel()),
    ),
    body,
  );
  const media = h("div");
  const draw = () => {
    if (!screen.dialog) return;
    fill(
      above,
      card(app, screen),
      screen.isGroup ? groupActions(app, screen) : personActions(app, screen),
      settingsOf(app, screen),
      media,
    );
    fill(below, endOf(app, screen));
  };
  draw();
  loadMedia(app, screen, media);
  const ends = [
    app.parley.on("dialogs", () => {
      if (panel.isConnected) whenReleased(body, draw);
      else for (const end of ends) end();
    }),
    app.parley.on("member.updated", ({ dialogId, member }) => {
      if (dialogId === screen.dialogId && screen.dialog && panel.isConnected) members?.change(member);
    }),
    app.people.onChange(() => panel.isConnected && whenReleased(body, draw)),
  ];
  return panel;
}

function card(app, screen) {
  const { dialog } = screen;
  const other = app.people.otherOf(dialog);
  const user = other && (app.people.user(other) ?? dialog.user);
  const about = dialog.about ?? dialog.topic;
  return h(
    "div",
    { class: "card" },
    app.people.avatar({ dialog, presence: true }),
    h("h3", {}, name(app.people.titleOf(dialog))),
    h("p", { class: "note cut" }, h("bdi", {}, cleanAddress(user?.jid ?? dialog.jid))),
    h(
      "p",
      { class: "soft", dir: "auto" },
      screen.isGroup ? cleanText(about) : cleanName(user?.status) || app.people.presenceText(other),
    ),
  );
}

function personActions(app, screen) {
  const { people, parley } = app;
  const other = people.otherOf(screen.dialog);
  if (other === parley.userId) return undefined;
  const contact = people.contacts.get(other);
  const isBlocked = people.blocked.has(other);
  const rename = async () => {
    const text = await prompt(t("contact.rename"), t("profile.name"), contact?.name ?? "");
    if (text !== undefined) attempt(() => parley.putContact(other, { name: text.trim() }));
  };
  return [
    // Somebody who has declined is in the list still, and can be asked again.
    !app.isGuest &&
      ["none", "followedBy"].includes(contact?.state ?? "none") &&
      item("userAdd", t("contact.add"), () => attempt(() => parley.putContact(other))),
    contact?.state === "pendingIn" && item("check", t("accept"), () => attempt(() => parley.putContact(other))),
    contact?.state === "pendingOut" && item("clock", t("contact.pending")),
    contact && item("edit", t("contact.rename"), rename),
    contact &&
      !contact.shared &&
      item("close", t("contact.remove"), async () => {
        if (await ask(t("contact.remove"), t("contact.removeText", { name: people.nameOf(other) }), t("remove")))
          attempt(() => parley.removeContact(other));
      }),
    item(
      "block",
      t(isBlocked ? "block.end" : "block.begin"),
      async () => {
        if (isBlocked) attempt(() => parley.unblock(other));
        else if (await ask(t("block.begin"), t("block.text", { name: people.nameOf(other) }), t("block.begin")))
          attempt(() => parley.block(other));
      },
      { danger: !isBlocked },
    ),
  ];
}

function groupActions(app, screen) {
  if (!screen.isAdmin) return undefined;
  const { dialog } = screen;
  const { parley } = app;
  const change = async (key, label, value, properties) => {
    const text = await prompt(label, label, value ?? "", properties);
    if (text !== undefined) attempt(() => parley.updateDialog(screen.dialogId, { [key]: text.trim() || null }));
  };
  return [
    item("edit", t("group.rename"), () => change("name", t("group.name"), dialog.name)),
    item("info", t("group.about"), () => change("about", t("group.about"), dialog.about, { rows: 3 })),
    item("camera", t("group.picture"), () => choosePicture((file) => parley.setDialogAvatar(screen.dialogId, file))),
    dialog.avatarHash &&
      item("trash", t("picture.remove"), () => attempt(() => parley.setDialogAvatar(screen.dialogId, null))),
    item("block", t("group.banned"), () => bannedSheet(app, screen)),
    dialog.me.role === "owner" && [
      toggle("language", t("group.public"), dialog.type === "public", (isOn) =>
        parley.updateDialog(screen.dialogId, { type: isOn ? "public" : "group" }),
      ),
      select(
        "clock",
        t("group.history"),
        dialog.historyVisibility ?? "all",
        [
          ["all", t("group.historyAll")],
          ["sinceJoin", t("group.historySinceJoin")],
        ],
        (value) => parley.updateDialog(screen.dialogId, { historyVisibility: value }),
      ),
      select(
        "pin",
        t("group.whoPins"),
        dialog.whoPins ?? "admins",
        [
          ["admins", t("group.admins")],
          ["members", t("group.members")],
        ],
        (value) => parley.updateDialog(screen.dialogId, { whoPins: value }),
      ),
      select(
        "edit",
        t("group.whoWrites"),
        dialog.whoWrites ?? "members",
        [
          ["admins", t("group.admins")],
          ["members", t("group.members")],
        ],
        (value) => parley.updateDialog(screen.dialogId, { whoWrites: value }),
      ),
      select(
        "clock",
        t("group.slowMode"),
        String(dialog.slowModeSeconds ?? 0),
        SLOW.map((seconds) => [String(seconds), seconds ? t("seconds", { count: seconds }) : t("off")]),
        (value) => parley.updateDialog(screen.dialogId, { slowModeSeconds: Number(value) }),
      ),
    ],
  ];
}

/** Those who are kept out, whom the list of members does not have. */
function bannedSheet(app, screen) {
  sheet(t("group.banned"), () => {
    const body = h("div");
    const draw = async () => {
      const page = await app.parley.listMembers(screen.dialogId, { role: "banned", limit: 100 });
      fill(
        body,
        page.items.map(({ userId, nick }) =>
          h(
            "div",
            { class: "item" },
            app.people.avatar({ userId, nick, size: 36 }),
            name(app.people.nameOf(userId, nick), "grow cut"),
            button(t("group.unban"), () =>
              attempt(() => app.parley.removeMember(screen.dialogId, userId)).then(() => attempt(draw)),
            ),
          ),
        ),
        page.items.length === 0 && h("p", { class: "empty" }, t("group.noneBanned")),
      );
    };
    attempt(draw);
    return body;
  });
}

/** Lets the user choose a picture. */
export function choosePicture(use) {
  const input = h("input", { type: "file", accept: "image/png,image/jpeg,image/gif,image/webp" });
  input.addEventListener("change", () => input.files[0] && attempt(() => use(input.files[0])));
  input.click();
}

function settingsOf(app, screen) {
  const { me } = screen.dialog;
  if (!me) return undefined;
  const set = (changes) => app.parley.updateSettings(screen.dialogId, changes);
  const nick =
    screen.isGroup &&
    item(
      "user",
      t("group.nick"),
      async () => {
        const text = await prompt(t("group.nick"), t("profile.name"), me.nick ?? "", { required: true });
        if (text?.trim()) attempt(() => app.parley.putMember(screen.dialogId, "me", { nick: text.trim() }));
      },
      { tail: h("bdi", {}, cut(cleanName(me.nick), 24)) },
    );
  const head = h("h3", { class: "section" }, t("settings"));
  if (app.isGuest) return [head, item("info", t("guest.note")), nick];
  return [
    head,
    select(
      "bell",
      t("notify"),
      me.notify ?? "default",
      ["default", "always", "mentions", "never"].map((value) => [value, t(`notify.${value}`)]),
      (value) => set({ notify: value === "default" ? null : value }),
    ),
    item("bellOff", isFuture(me.mutedUntil) ? t("mute.end") : t("mute.hour"), () =>
      attempt(() =>
        set({
          mutedUntil: isFuture(me.mutedUntil) ? null : inAnHour().toISOString(),
        }),
      ),
    ),
    toggle("pin", t("dialog.pinned"), me.pinned, (pinned) => set({ pinned })),
    toggle("archive", t("dialog.archived"), me.archived, (archived) => set({ archived })),
    select(
      "clock",
      t("dialog.stay"),
      String(me.retentionDays ?? 0),
      [...new Set([...STAY, me.retentionDays ?? 0])].map((days) => [
        String(days),
        days ? t("days", { count: days }) : t("off"),
      ]),
      (value) => set({ retentionDays: Number(value) || null }),
    ),
    nick,
  ];
}

async function loadMedia(app, screen, place) {
  const page = await app.parley
    .searchMessages({ dialogId: screen.dialogId, type: "image", limit: 9 })
    .catch(() => ({ items: [] }));
  const pictures = page.items
    .flatMap((message) => message.content.attachments ?? [])
    .filter((file) => file.id && /^image\/(png|jpeg|gif|webp)$/.test(file.mediaType));
  if (!pictures.length) return;
  fill(
    place,
    h("h3", { class: "section" }, t("media")),
    h(
      "div",
      { class: "media" },
      pictures.slice(0, 9).map((file, index) =>
        h(
          "button",
          {
            type: "button",
            "aria-label": t("file.open", { name: cleanName(file.name) || t("file.picture") }),
            on: { click: () => gallery(app, pictures, index) },
          },
          h("img", { src: app.parley.fileUrl(file.thumbnail?.url ?? file.url), alt: "", loading: "lazy" }),
        ),
      ),
    ),
  );
}

/** Whether a member is a user of another server, who is there once they have followed the invitation. */
const isElsewhere = (app, { userId }) =>
  !userId.startsWith("occupant:") &&
  userId.includes("@") &&
  hostOf(userId) !== hostOf(app.people.user(app.parley.userId)?.jid ?? "");
const hostOf = (address) => address.slice(address.lastIndexOf("@") + 1);

/** Returns the list of members, page by page, and a field that finds some among all of them; `change` is given what one has become. */
function membersOf(app, screen) {
  let people = [],
    cursor,
    loading,
    rows = PAGE;
  const list = h("div");
  const input = h("input", {
    class: "input",
    type: "search",
    placeholder: t("group.findMember"),
    "aria-label": t("group.findMember"),
    autocomplete: "off",
    on: { input: later(150, () => find()) },
  });
  const field = h("div", { class: "search", hidden: true }, svg(icons.search), input);
  const head = h("div");
  const query = () => folded(input.value.trim());
  /** All that are loaded, or those of them that are searched for: not by the name that is shown, for which each profile would be asked for. */
  const found = () => {
    const wanted = query();
    if (!wanted) return people;
    return people.filter(({ userId, nick, name: own }) =>
      [app.people.contacts.get(userId)?.name, nick, own, userId].some((text) => text && folded(text).includes(wanted)),
    );
  };
  const draw = () => {
    const all = found(),
      shown = all.slice(0, rows);
    const count = screen.dialog?.memberCount ?? people.length;
    fill(
      head,
      h("h3", { class: "section" }, t("members.count", { count })),
      screen.isAdmin && item("userAdd", t("group.addPeople"), () => newGroup(app, screen.dialogId)),
    );
    field.hidden = count < FIND_FROM;
    fill(
      list,
      shown.map((member) =>
        h(
          "button",
          {
            type: "button",
            class: "item",
            on: { click: (event) => memberMenu(app, screen, member, event.currentTarget) },
          },
          app.people.avatar({ userId: member.userId, nick: member.nick ?? member.name, presence: true, size: 36 }),
          h(
            "span",
            { class: "grow" },
            name(screen.nameOf(member.userId, member.nick ?? member.name), "cut"),
            isElsewhere(app, member) &&
              h(
                "span",
                { class: "note cut", style: { display: "block" } },
                t(member.nick ? "member.elsewhere" : "member.invited", { host: cleanName(hostOf(member.userId)) }),
              ),
          ),
          member.role !== "member" && h("span", { class: "tail" }, t(`role.${member.role}`)),
        ),
      ),
      cursor || all.length > rows
        ? item("arrowDown", t("more"), () => attempt(more))
        : !shown.length && people.length > 0 && h("p", { class: "empty" }, t("search.none")),
    );
  };
  const load = async () => {
    const page = await app.parley.listMembers(screen.dialogId, { limit: PAGE, ...(cursor && { cursor }) });
    for (const member of page.items) screen.members.set(member.userId, member);
    people.push(
      ...page.items.filter(({ userId, role }) => role !== "banned" && !people.some((each) => each.userId === userId)),
    );
    cursor = page.nextCursor;
    draw();
  };
  /** One page at a time, whoever asks for it. */
  const next = () => {
    loading ??= load().finally(() => {
      loading = undefined;
    });
    return loading;
  };
  const more = async () => {
    rows += PAGE;
    if (cursor && found().length < rows) await next();
    else draw();
  };
  /** Shows who is found among those that are loaded, and reads on as long as there is place for more. */
  const find = async () => {
    rows = PAGE;
    draw();
    const wanted = query();
    try {
      while (
        wanted &&
        query() === wanted &&
        cursor &&
        people.length < SEARCHED_MAX &&
        found().length < FOUND_MAX &&
        list.isConnected
      )
        await next();
    } catch {
      // `More` tries again.
    }
  };
  const change = (member) => {
    const isKnown = people.some(({ userId }) => userId === member.userId);
    if (["none", "banned"].includes(member.role)) people = people.filter(({ userId }) => userId !== member.userId);
    else if (isKnown) people = people.map((each) => (each.userId === member.userId ? { ...each, ...member } : each));
    else people.push(member);
    draw();
  };
  next().catch(() => {});
  return { element: h("div", {}, head, field, list), change };
}

function memberMenu(app, screen, member, place) {
  const { parley } = app;
  const isMe = member.userId === parley.userId;
  const set = (role) => attempt(() => parley.putMember(screen.dialogId, member.userId, { role }));
  const isOwner = screen.dialog.me?.role === "owner";
  menu(
    place,
    [
      !isMe &&
        !member.userId.startsWith("occupant:") && {
          icon: "send",
          label: t("chat.open"),
          action: () => app.openPrivate(member.userId),
        },
      isMe && { icon: "leave", label: t("group.leave"), danger: true, action: () => leave(app, screen) },
      !isMe &&
        isOwner &&
        ["owner", "admin", "member", "watcher"]
          .filter((role) => role !== member.role)
          .map((role) => ({ icon: "shield", label: t(`role.make.${role}`), action: () => set(role) })),
      !isMe &&
        screen.isAdmin && {
          icon: "close",
          label: t("group.removeMember"),
          danger: true,
          action: () => attempt(() => parley.removeMember(screen.dialogId, member.userId)),
        },
      !isMe && screen.isAdmin && { icon: "block", label: t("group.ban"), danger: true, action: () => set("banned") },
    ].flat(),
  );
}

async function leave(app, screen) {
  if (!(await ask(t("group.leave"), t("group.leaveText"), t("group.leave")))) return;
  await attempt(async () => {
    await app.parley.removeMember(screen.dialogId, "me");
    app.closeDialog();
  });
}

function endOf(app, screen) {
  const { parley } = app;
  const remove = async (forWhom, title, text) => {
    if (!(await ask(title, text, title))) return;
    await attempt(async () => {
      await parley.deleteDialog(screen.dialogId, forWhom);
      app.closeDialog();
    });
  };
  return [
    h("h3", { class: "section" }, " "),
    item("trash", t("dialog.remove"), () => remove("me", t("dialog.remove"), t("dialog.removeText")), { danger: true }),
    screen.isGroup && item("leave", t("group.leave"), () => leave(app, screen), { danger: true }),
    screen.isGroup &&
      screen.dialog.me?.role === "owner" &&
      item("block", t("group.end"), () => remove("everyone", t("group.end"), t("group.endText")), { danger: true }),
  ];
}
