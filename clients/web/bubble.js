// One message as an element.

import { h, name, svg } from "./dom.js";
import { clock, duration, moment, t } from "./i18n.js";
import { icons } from "./icons.js";
import { filesElement } from "./files.js";
import { summary, systemText } from "./summary.js";
import { cleanName, cleanText, cut, isEmoji, link, rich } from "./text.js";
import { attempt, sheet, tool } from "./ui.js";

const STATUS = { sending: "clock", sent: "check", delivered: "checks", read: "checks", failed: "warning" };

/** Returns a text that differs whenever the element would. */
export function messageSignature(screen, message, place) {
  const { people, parley } = screen.app;
  const quoted = message.replyTo && screen.messageOf(message.replyTo);
  return JSON.stringify([
    message.id,
    message.version,
    message.status,
    message.progress,
    message.deletedAt,
    message.editedAt,
    message.pinnedAt,
    screen.app.stars.has(message.id),
    message.delivery?.state,
    message.reactions,
    message.error?.code,
    message.content.text,
    message.content.type,
    place,
    screen.nameOf(message.senderId, message.senderNick),
    quoted && [quoted.version, quoted.deletedAt],
    people.user(message.senderId)?.avatarHash,
    people.blocked.has(message.senderId),
    parley.userId,
    message.content.type === "system" && systemText(screen.app, message),
    document.documentElement.lang,
  ]);
}

export function messageElement(screen, message, { isFirst, isLast }) {
  const { app } = screen;
  const { type } = message.content;
  const key = { key: message.key, ...(message.id && { id: message.id }) };
  if (type === "system") {
    return h(
      "li",
      { class: "notice", tabindex: "-1", data: key },
      h("span", { dir: "auto", title: moment(message.sentAt) }, systemText(app, message)),
    );
  }
  if (type === "call") {
    const icon = h(
      "span",
      {},
      svg(icons.call),
      " ",
      summary(app, message),
      message.content.durationSeconds ? ` · ${duration(message.content.durationSeconds * 1000)}` : "",
      ` · ${clock(message.sentAt)}`,
    );
    return h("li", { class: `notice call${message.content.missed ? " bad" : ""}`, tabindex: "-1", data: key }, icon);
  }
  const isMine = message.senderId === app.parley.userId;
  const isDeleted = type === "deleted";
  const showsSender = screen.isGroup && !isMine;
  const text = cleanText(message.content.text);
  const isLarge = type === "text" && !message.replyTo && isEmoji(text);
  const classes = [
    "message",
    isMine ? "own" : "other",
    isFirst && "first",
    isLast && "last",
    isLarge && "large",
    isDeleted && "gone",
    message.status === "failed" && "failed",
  ];
  const open = (event) => {
    if (event.target.closest("a, video, audio")) return;
    event.preventDefault();
    screen.openMessageMenu(message, { x: event.clientX, y: event.clientY });
  };
  const bubble = h(
    "div",
    {
      class: "bubble",
      on: {
        contextmenu: open,
        dblclick: (event) => {
          if (screen.mayWrite && !isDeleted && !event.target.closest("a, button")) screen.composer.reply(message);
        },
      },
    },
    showsSender &&
      isFirst &&
      h(
        "div",
        { class: "sender", style: { "--hue": hueOf(message.senderId) } },
        name(screen.nameOf(message.senderId, message.senderNick)),
      ),
    message.forwardedFrom &&
      h(
        "div",
        { class: "forwarded" },
        svg(icons.forward, "icon turns"),
        message.forwardedFrom.senderId
          ? t("forwarded.from", { name: screen.nameOf(message.forwardedFrom.senderId) })
          : t("forwarded"),
      ),
    message.replyTo && !isDeleted && quote(screen, message.replyTo),
    contentOf(screen, message, text),
  );
  longPress(bubble, (place) => screen.openMessageMenu(message, place));
  return h(
    "li",
    { class: classes.filter(Boolean).join(" "), tabindex: "-1", data: key, "aria-label": screen.labelOf(message) },
    showsSender &&
      (isLast
        ? app.people.avatar({
            userId: message.senderId,
            nick: message.senderNick ?? screen.memberNameOf(message.senderId),
            size: 32,
          })
        : h("span", { class: "gap" })),
    h(
      "div",
      { class: "body" },
      h("div", { class: "bubble-line" }, bubble),
      reactionsOf(screen, message),
      message.status === "failed" &&
        !message.id &&
        h(
          "button",
          {
            type: "button",
            class: "why",
            on: { click: (event) => screen.openMessageMenu(message, event.currentTarget) },
          },
          svg(icons.warning),
          reasonOf(message.error?.code, message.error?.detail),
        ),
      message.delivery &&
        h(
          "p",
          { class: `why${message.delivery.state === "failed" ? "" : " soft"}` },
          message.delivery.state === "failed"
            ? t("delivery.failed", { reason: cleanName(message.delivery.text) })
            : t("delivery.queued"),
        ),
    ),
  );
}

/** The buttons beside a message; `undefined` if nothing can be done with it. */
export function actionsOf(screen, message) {
  if (!message.id || ["system", "call", "deleted"].includes(message.content.type)) return undefined;
  const menu = (event) => screen.openMessageMenu(message, event.currentTarget);
  return h(
    "div",
    { class: "actions" },
    screen.mayWrite && tool("smile", t("message.react"), menu),
    screen.mayWrite && tool("reply", t("message.reply"), () => screen.composer.reply(message), { turns: true }),
    tool("menu", t("more"), menu, { "aria-haspopup": "menu" }),
  );
}

/** Says why a message was not sent. */
export const reasonOf = (code, detail) =>
  t.optional(`error.${code}`) ?? t("message.failed", { reason: cleanName(detail) });

/** The colour of somebody's name, the same everywhere. */
export function hueOf(id) {
  let hue = 0;
  for (const character of String(id)) hue = (hue * 31 + character.codePointAt(0)) % 360;
  return hue;
}

function metaOf(screen, message) {
  const status =
    message.status !== "failed" &&
    STATUS[message.status] &&
    svg(icons[STATUS[message.status]], `icon ${message.status}`);
  return h(
    "span",
    { class: "meta" },
    message.pinnedAt && svg(icons.pin),
    screen.app.stars.has(message.id) &&
      h("span", { class: "starred", role: "img", "aria-label": t("starred"), title: t("starred") }, svg(icons.star)),
    message.editedAt && !message.deletedAt && h("span", {}, t("edited")),
    h("time", { datetime: message.sentAt, title: moment(message.sentAt) }, clock(message.sentAt)),
    status && h("span", { class: "status", title: t(`status.${message.status}`) }, status),
  );
}

/** The content, with the time at the end of its last line. */
function contentOf(screen, message, text) {
  const { app } = screen;
  const { content } = message;
  const meta = metaOf(screen, message);
  const mention = (userId, shown) =>
    h(
      "button",
      {
        type: "button",
        class: `mention${userId === app.parley.userId ? " me" : ""}`,
        on: {
          click: () => {
            if (userId !== app.parley.userId && !userId.startsWith("occupant:")) app.openPrivate(userId);
          },
        },
      },
      h("bdi", {}, shown),
    );
  const words = text && h("div", { class: "text", dir: "auto" }, rich(content.text, message.mentions, mention), meta);
  switch (content.type) {
    case "deleted":
      return h(
        "div",
        { class: "text soft" },
        svg(icons.block),
        " ",
        content.reason ? t("message.deletedBecause", { reason: cleanName(content.reason) }) : t("message.deleted"),
        meta,
      );
    case "image":
    case "video":
    case "audio":
    case "file":
      return [filesElement(app, message), words || meta];
    case "location":
      return [locationOf(content), meta];
    case "contact":
      return [
        h(
          "div",
          { class: "card-in" },
          svg(icons.user),
          h(
            "div",
            { class: "grow" },
            name(cleanName(content.name ?? content.text)),
            [content.phones, content.emails]
              .flat()
              .filter((each) => typeof each === "string")
              .map((each) => h("div", { class: "note" }, h("bdi", {}, cleanName(each)))),
          ),
          content.userId &&
            tool("send", t("chat.open"), () => app.openPrivate(String(content.userId)), { turns: true }),
        ),
        meta,
      ];
    case "encrypted":
      return h("div", { class: "text soft" }, svg(icons.key), " ", t("message.encrypted"), meta);
    default:
      return words || h("div", { class: "text soft" }, t("message.unknown"), meta);
  }
}

/** A place: its name, its coordinates, a link to a map. Nothing of it is loaded from elsewhere. */
function locationOf(content) {
  const isPlace = Math.abs(content.lat) <= 90 && Math.abs(content.lng) <= 180;
  if (!isPlace) return h("div", { class: "text soft" }, t("location.broken"));
  const where = `${Number(content.lat).toFixed(5)}, ${Number(content.lng).toFixed(5)}`;
  return h(
    "div",
    { class: "card-in" },
    svg(icons.location),
    h(
      "div",
      { class: "grow" },
      name(cleanName(content.name) || t("location")),
      h(
        "div",
        { class: "note" },
        h("bdi", { dir: "ltr" }, where),
        " · ",
        link(
          `https://www.openstreetmap.org/?mlat=${Number(content.lat)}&mlon=${Number(content.lng)}#map=16/${Number(content.lat)}/${Number(content.lng)}`,
          t("location.map"),
        ),
      ),
    ),
  );
}

function quote(screen, messageId) {
  const { app } = screen;
  const element = h("button", { type: "button", class: "quote", on: { click: () => screen.jump(messageId) } });
  const show = (message) => {
    element.style.setProperty("--hue", hueOf(message?.senderId ?? ""));
    element.replaceChildren(
      h(
        "span",
        { class: "sender cut" },
        name(message ? screen.nameOf(message.senderId, message.senderNick) : t("message.original")),
      ),
      h("span", { class: "cut", dir: "auto" }, message ? summary(app, message) : t("message.gone")),
    );
  };
  const known = screen.messageOf(messageId) ?? screen.quotes?.get(messageId);
  show(known);
  if (!known) {
    screen.quotes ??= new Map();
    app.parley.message(screen.dialogId, messageId).then(
      (message) => {
        screen.quotes.set(messageId, message);
        show(message);
      },
      () => {},
    );
  }
  return element;
}

function reactionsOf(screen, message) {
  const entries = Object.entries(message.reactions ?? {}).filter(([, ids]) => Array.isArray(ids) && ids.length);
  if (!entries.length) return undefined;
  return h(
    "div",
    { class: "reactions" },
    entries.slice(0, 24).map(([emoji, ids]) => {
      const isMine = ids.includes(screen.app.parley.userId);
      const names = ids
        .slice(0, 12)
        .map((id) => screen.nameOf(id))
        .join(", ");
      // A reaction of an XMPP client may be any text: a short one is shown.
      const shown = cut(cleanName(emoji), 12) || "?";
      return h(
        "button",
        {
          type: "button",
          "aria-pressed": String(isMine),
          title: names,
          "aria-label": t("react.by", { emoji: shown, names }),
          on: { click: () => screen.react(message, emoji) },
        },
        h("bdi", {}, shown),
        ids.length > 1 && h("span", {}, ids.length),
      );
    }),
  );
}

/** On touch screens a long press opens what a right click opens elsewhere. */
function longPress(element, action) {
  let timer;
  const end = () => clearTimeout(timer);
  element.addEventListener("pointerdown", (event) => {
    if (event.pointerType === "touch")
      timer = setTimeout(() => {
        navigator.vibrate?.(10);
        action({ x: event.clientX, y: event.clientY });
      }, 450);
  });
  for (const event of ["pointerup", "pointermove", "pointercancel"]) element.addEventListener(event, end);
}

/** Shows the earlier texts of a message. */
export function editsSheet(app, message) {
  return attempt(async () => {
    const page = await app.parley.listEdits(message.dialogId, message.id);
    // The last one is the current text.
    sheet(t("message.edits"), () =>
      page.items
        .slice(0, page.nextCursor ? undefined : -1)
        .map((edit) =>
          h("div", {}, h("p", { class: "note" }, moment(edit.at)), h("p", { dir: "auto" }, cleanText(edit.text))),
        ),
    );
  });
}
