// The user's own screens: profile, this browser, privacy, security, data.

import { fill, h, name, svg, whenReleased } from "../dom.js";
import { languages, moment, t, useLanguage } from "../i18n.js";
import { icons } from "../icons.js";
import { choosePicture } from "../info.js";
import { allowNotifications } from "../notifications.js";
import { preferences } from "../preferences.js";
import { cleanName, cut } from "../text.js";
import { ask, attempt, item, prompt, select, sheet, toast, toggle, tool } from "../ui.js";
import { identitiesSheet } from "./identities.js";
import { addressSheet, appPasswordsSheet, passwordSheet, secondFactorSheet, sessionsSheet } from "./security.js";

/** The column of settings. `back` shows the list again. */
export function settingsScreen(app, back) {
  const body = h("div", { class: "panel-body" });
  const element = h(
    "div",
    { style: { display: "contents" } },
    h(
      "header",
      { class: "side-head" },
      tool("back", t("back"), back, { turns: true }),
      h("h1", { class: "grow" }, t("settings")),
    ),
    body,
  );
  let me = app.parley.user;
  const draw = () =>
    fill(
      body,
      card(app, me),
      profile(app, me, load),
      browser(app, draw),
      me.lastSeenVisibility && privacy(app, me, load),
      security(app, me, load),
      data(app, me),
    );
  const load = async () => {
    await attempt(async () => {
      me = { ...(await app.parley.me()), info: await app.parley.info() };
    });
    whenReleased(body, draw);
  };
  draw();
  load();
  return element;
}

function card(app, me) {
  return h(
    "div",
    { class: "card" },
    app.people.avatar({ userId: me.id }),
    h("h3", {}, name(cleanName(me.name) || me.id)),
    h("p", { class: "note" }, h("bdi", {}, me.jid)),
    me.status && h("p", { class: "soft", dir: "auto" }, cleanName(me.status)),
  );
}

function profile(app, me, load) {
  const change = async (key, label, value, properties) => {
    const text = await prompt(label, label, value ?? "", properties);
    if (text !== undefined && (await attempt(() => app.parley.updateMe({ [key]: text.trim() || null })))) load();
  };
  return [
    h("h2", { class: "section" }, t("profile")),
    me.guest && item("info", t("guest.note")),
    !me.guest &&
      item("user", t("profile.name"), () => change("name", t("profile.name"), me.name, { maxlength: 100 }), {
        tail: h("bdi", {}, cut(cleanName(me.name), 24)),
      }),
    !me.guest &&
      item("smile", t("profile.status"), () => change("status", t("profile.status"), me.status, { maxlength: 200 })),
    !me.guest &&
      item("camera", t("profile.picture"), () =>
        choosePicture(async (file) => {
          await app.parley.setMyAvatar(file);
          await load();
        }),
      ),
    !me.guest &&
      me.avatarHash &&
      item("trash", t("picture.remove"), () =>
        attempt(async () => {
          await app.parley.setMyAvatar(null);
          await load();
        }),
      ),
    select(
      "bell",
      t("availability"),
      preferences.get("availability"),
      ["online", "away", "doNotDisturb"].map((value) => [value, t(`presence.${value}`)]),
      (value) => {
        preferences.set("availability", value);
        app.setPresence();
      },
    ),
  ];
}

function browser(app, draw) {
  return [
    h("h2", { class: "section" }, t("settings.browser")),
    select(
      "moon",
      t("theme"),
      preferences.get("theme"),
      ["system", "light", "dark"].map((value) => [value, t(`theme.${value}`)]),
      (value) => {
        preferences.set("theme", value);
        preferences.applyTheme();
      },
    ),
    select("language", t("language"), document.documentElement.lang, Object.entries(languages), async (code) => {
      preferences.set("language", code);
      await useLanguage(code);
      // Every element has its strings from when it was made.
      location.reload();
    }),
    toggle(
      "bell",
      t("notifications"),
      preferences.get("notifications") && globalThis.Notification?.permission === "granted",
      async (isOn) => {
        if (!isOn) {
          preferences.set("notifications", false);
          return;
        }
        if (!(await allowNotifications(app))) {
          toast(t("notifications.denied"));
          setTimeout(draw, 0);
        }
      },
    ),
    toggle("call", t("settings.rings"), preferences.get("rings"), (isOn) => preferences.set("rings", isOn)),
    toggle("send", t("settings.sendsOnEnter"), preferences.get("sendsOnEnter"), (isOn) =>
      preferences.set("sendsOnEnter", isOn),
    ),
  ];
}

function privacy(app, me, load) {
  const set = (key) => async (value) => {
    await app.parley.updateMe({ [key]: value });
    await load();
  };
  const who = (values) => values.map((value) => [value, t(`who.${value}`)]);
  return [
    h("h2", { class: "section" }, t("privacy")),
    !me.guest && [
      select(
        "clock",
        t("privacy.lastSeen"),
        me.lastSeenVisibility,
        who(["everybody", "contacts", "nobody"]),
        set("lastSeenVisibility"),
      ),
      select("send", t("privacy.messages"), me.messagesFrom, who(["everybody", "contacts"]), set("messagesFrom")),
      select("call", t("privacy.calls"), me.callsFrom, who(["everybody", "contacts", "nobody"]), set("callsFrom")),
      toggle("search", t("privacy.searchable"), me.searchable, set("searchable")),
      toggle("user", t("privacy.matchable"), me.matchable, set("matchable")),
    ],
    item("block", t("privacy.blocked"), () => blockedSheet(app), { tail: app.people.blocked.size || "" }),
  ];
}

function blockedSheet(app) {
  sheet(t("privacy.blocked"), () => {
    const body = h("div");
    const draw = () =>
      fill(
        body,
        [...app.people.blocked].map((id) =>
          h(
            "div",
            { class: "item" },
            app.people.avatar({ userId: id, size: 36 }),
            h("span", { class: "grow cut" }, name(app.people.nameOf(id))),
            h(
              "button",
              {
                type: "button",
                class: "button",
                on: {
                  click: () =>
                    attempt(() => app.parley.unblock(id)).then(() => {
                      app.people.blocked.delete(id);
                      draw();
                    }),
                },
              },
              t("block.end"),
            ),
          ),
        ),
        app.people.blocked.size === 0 && h("p", { class: "empty" }, t("privacy.noneBlocked")),
      );
    draw();
    return body;
  });
}

function security(app, me, load) {
  return [
    h("h2", { class: "section" }, t("security")),
    !me.guest && [
      item("device", t("apppasswords"), () => appPasswordsSheet(app, me), { note: t("apppasswords.note") }),
      item("key", t(me.hasPassword === false ? "password.set" : "password.change"), () => passwordSheet(app, me, load)),
      ["email", "phone"]
        .filter((kind) => me[kind] || me.info?.features.includes(`codes.${kind}`))
        .map((kind) =>
          item(kind === "email" ? "send" : "call", t(`signin.${kind}`), () => addressSheet(app, me, kind, load), {
            tail: h("bdi", {}, cut(cleanName(me[kind]), 28)),
          }),
        ),
      me.hasPassword !== undefined &&
        item("shield", t("secondfactor"), () => secondFactorSheet(app, me, load), {
          tail: t(me.secondFactor ? "on" : "off"),
        }),
    ],
    me.info?.providers.length > 0 && item("user", t("identities"), () => identitiesSheet(app, me.info)),
    item("device", t("sessions"), () => sessionsSheet(app)),
  ];
}

function data(app, me) {
  const signOut = async () => {
    const waiting = app.parley.outbox.length;
    if (!waiting || (await ask(t("signout"), t("signout.unsent", { count: waiting }), t("signout"))))
      attempt(() => app.parley.signOut());
  };
  const remove = async () => {
    if (!(await ask(t("account.delete"), t("account.deleteText"), t("account.delete")))) return;
    const answer = await prompt(t("account.delete"), t("account.deleteType", { id: app.parley.userId }));
    if (answer === app.parley.userId) attempt(() => app.parley.deleteAccount());
  };
  return [
    h("h2", { class: "section" }, t("data")),
    !me.guest && item("file", t("export"), () => exportSheet(app)),
    item("leave", t("signout"), signOut),
    item("trash", t("account.delete"), remove, { danger: true }),
  ];
}

function exportSheet(app) {
  sheet(t("export"), (close) => {
    const body = h("div", { class: "sheet-body", style: { padding: "0" } });
    const draw = async () => {
      const page = await app.parley.listExports().catch(() => ({ items: [] }));
      fill(
        body,
        h("p", { class: "soft" }, t("export.text")),
        page.items.map((each) =>
          h(
            "div",
            { class: "item" },
            svg(icons.file),
            h(
              "span",
              { class: "grow" },
              moment(each.createdAt),
              h("span", { class: "note", style: { display: "block" } }, t(`export.${each.status}`)),
            ),
            each.url &&
              h("a", { class: "button", href: app.parley.fileUrl(each.url), download: "" }, t("file.download")),
          ),
        ),
        h(
          "div",
          { class: "sheet-foot" },
          h(
            "button",
            {
              type: "button",
              class: "button main",
              on: { click: () => attempt(() => app.parley.startExport()).then(draw) },
            },
            t("export.start"),
          ),
        ),
      );
      if (page.items.some((each) => each.status === "pending")) setTimeout(() => body.isConnected && draw(), 1500);
    };
    draw();
    return [body, close && undefined];
  });
}
