// Beginning something: a chat with somebody, a group, a public group; and requests of others.

import { fill, h, later, name, svg, whenReleased } from "./dom.js";
import { t } from "./i18n.js";
import { icons } from "./icons.js";
import { cleanAddress, cleanName, folded } from "./text.js";
import { attempt, button, field, sheet } from "./ui.js";

/** The pages that one search for a name reads, of which each looks at thousands of users or dialogs. */
export const SEARCH_PAGES = 5;

/** Returns the items of the first page of a search that has some. */
export async function firstFound(search, input) {
  for (let cursor, pages = 0; (!pages || cursor) && pages < SEARCH_PAGES; pages += 1) {
    const page = await search({ ...input, ...(cursor && { cursor }) });
    if (page.items.length) return page.items;
    cursor = page.nextCursor;
  }
  return [];
}

/**
 * A line for a person.
 *
 * @param {import("./app.js").App} app
 * @param {string} userId
 * @param {{ note?: any, tail?: any, action?: () => void, given?: string }} options `given` is a name for those who have no other.
 */
export function personItem(app, userId, { note, tail, action, given }) {
  const content = [
    app.people.avatar({ userId, nick: given, presence: true, size: 36 }),
    h(
      "span",
      { class: "grow" },
      name(app.people.nameOf(userId, given), "cut"),
      note && h("span", { class: "note cut", style: { display: "block" } }, note),
    ),
    tail,
  ];
  return action
    ? h("button", { type: "button", class: "item", on: { click: action } }, content)
    : h("div", { class: "item" }, content);
}

/**
 * A field that finds people, with the caller's contacts below it as long as it is empty. `pick` is given an id; a whole address that
 * nobody has here can be picked too, where the server talks with others.
 *
 * @param {import("./app.js").App} app
 * @param {(id: string) => void} pick
 * @param {{ isChosen?: (id: string) => boolean }} options
 */
function peopleSearch(app, pick, { isChosen } = {}) {
  const results = h("div", { class: "results" });
  const input = h("input", {
    class: "input",
    type: "search",
    placeholder: t("people.search"),
    "aria-label": t("people.search"),
    autocomplete: "off",
  });
  const draw = async () => {
    const query = input.value.trim();
    let ids = [...app.people.contacts.values()]
      .filter((contact) => contact.state !== "pendingIn")
      .map((contact) => contact.userId);
    if (query) {
      const wanted = folded(query);
      ids = ids.filter((id) => folded(id).includes(wanted) || folded(app.people.nameOf(id)).includes(wanted));
      const found = await firstFound((input) => app.parley.searchUsers(input), { query, limit: 20 }).catch(() => []);
      if (input.value.trim() !== query) return;
      ids = [...new Set([...ids, ...found.map((user) => user.id)])];
      if (/^[^@\s]+@[^@\s]+$/.test(query) && !ids.includes(query)) ids.push(query);
    }
    ids = ids.filter((id) => id !== app.parley.userId);
    fill(
      results,
      ids.slice(0, 50).map((id) =>
        personItem(app, id, {
          note: cleanAddress(app.people.user(id)?.jid ?? id),
          action: () => {
            pick(id);
            draw();
          },
          tail: isChosen?.(id) && svg(icons.check),
        }),
      ),
      ids.length === 0 && h("p", { class: "empty" }, t(query ? "people.none" : "contacts.none")),
    );
  };
  input.addEventListener("input", later(200, draw));
  const end = app.people.onChange(() => (results.isConnected ? whenReleased(results, draw) : end()));
  setTimeout(draw, 0);
  return h(
    "div",
    { style: { display: "grid", gap: "8px" } },
    h("div", { class: "search" }, svg(icons.search), input),
    results,
  );
}

export function newChat(app) {
  sheet(t("chat.new"), (close) => {
    const line = (icon, label, action) =>
      h(
        "button",
        {
          type: "button",
          class: "item",
          on: {
            click: () => {
              close();
              action();
            },
          },
        },
        svg(icon),
        label,
      );
    const inviting = line(icons.userAdd, t("invite"), () =>
      attempt(async () => (await import("./invite.js")).invite(app)),
    );
    inviting.hidden = true;
    if (!app.isGuest)
      app.parley.info().then(
        ({ features }) => {
          inviting.hidden = !features.includes("invitations");
        },
        () => {},
      );
    return [
      peopleSearch(app, (userId) => {
        close();
        app.openPrivate(userId);
      }),
      line(icons.star, t("notes"), () => app.openPrivate(app.parley.userId)),
      inviting,
    ];
  });
}

/** Makes a group, or with `dialogId` adds people to one. */
export function newGroup(app, dialogId) {
  const chosen = new Set();
  sheet(t(dialogId ? "group.addPeople" : "group.new"), (close) => {
    const chips = h("div", { class: "filters chips" });
    const title = field(t("group.name"), { required: true, maxlength: 100 });
    const isPublic = h("input", { type: "checkbox" });
    const submit = button(t(dialogId ? "group.add" : "group.create"), undefined, "main");
    const draw = () => {
      fill(
        chips,
        [...chosen].map((id) =>
          h(
            "button",
            {
              type: "button",
              "aria-label": t("remove.named", { name: app.people.nameOf(id) }),
              on: {
                click: () => {
                  chosen.delete(id);
                  draw();
                },
              },
            },
            name(app.people.nameOf(id)),
            " ×",
          ),
        ),
      );
      chips.hidden = chosen.size === 0;
      submit.disabled = dialogId !== undefined && chosen.size === 0;
    };
    draw();
    const save = (event) => {
      event.preventDefault();
      attempt(async () => {
        if (dialogId) {
          for (const id of chosen) await app.parley.putMember(dialogId, id, {});
          close();
        } else {
          const dialog = await app.parley.createDialog({
            type: isPublic.checked ? "public" : "group",
            name: title.input.value.trim(),
            memberIds: [...chosen],
          });
          close();
          app.openDialog(dialog.id);
        }
      });
    };
    return h(
      "form",
      { class: "sheet-body long", style: { padding: "0" }, on: { submit: save } },
      !dialogId && [title.element, h("label", { class: "choice" }, isPublic, h("span", {}, t("group.public")))],
      peopleSearch(
        app,
        (id) => {
          chosen.has(id) ? chosen.delete(id) : chosen.add(id);
          draw();
        },
        { isChosen: (id) => chosen.has(id) },
      ),
      h("div", { class: "sheet-end" }, chips, h("div", { class: "sheet-foot" }, button(t("cancel"), close), submit)),
    );
  });
}

/** Finds a public group, and joins it. */
export function publicDialogs(app) {
  sheet(t("public.find"), (close) => {
    const results = h("div");
    const input = h("input", { class: "input", type: "search", placeholder: t("search"), "aria-label": t("search") });
    const draw = async () => {
      const query = input.value.trim();
      const found = await firstFound((each) => app.parley.listDialogs(each), {
        scope: "public",
        limit: 50,
        ...(query && { query }),
      }).catch(() => []);
      if (input.value.trim() !== query) return;
      fill(
        results,
        found.map((dialog) =>
          h(
            "button",
            {
              type: "button",
              class: "item",
              on: {
                click: () =>
                  attempt(async () => {
                    if (!dialog.me) await app.parley.putMember(dialog.id, "me", {});
                    close();
                    app.openDialog(dialog.id);
                  }),
              },
            },
            app.people.avatar({ dialog, size: 36 }),
            h(
              "span",
              { class: "grow" },
              name(app.people.titleOf(dialog), "cut"),
              h(
                "span",
                { class: "note cut", style: { display: "block" }, dir: "auto" },
                cleanName(dialog.about ?? dialog.topic) || t("members.count", { count: dialog.memberCount ?? 0 }),
              ),
            ),
          ),
        ),
        found.length === 0 && h("p", { class: "empty" }, t("search.none")),
      );
    };
    input.addEventListener("input", later(250, draw));
    draw();
    return [h("div", { class: "search" }, svg(icons.search), input), results];
  });
}

/** The requests of those who want to become contacts. */
export function requests(app) {
  sheet(t("contacts.requests"), (close) => {
    const body = h("div");
    const draw = () =>
      fill(
        body,
        app.people.requests.map((contact) =>
          h(
            "div",
            { class: "item" },
            app.people.avatar({ userId: contact.userId, size: 36 }),
            h(
              "span",
              { class: "grow" },
              name(app.people.nameOf(contact.userId), "cut"),
              h("span", { class: "note cut", style: { display: "block" } }, h("bdi", {}, cleanAddress(contact.jid))),
            ),
            button(t("decline"), () => attempt(() => app.parley.removeContact(contact.userId)).then(draw), "danger"),
            button(t("accept"), () => attempt(() => app.parley.putContact(contact.userId)).then(draw), "main"),
          ),
        ),
        app.people.requests.length === 0 && [
          h("p", { class: "empty" }, t("contacts.noRequests")),
          h("div", { class: "sheet-foot" }, button(t("close"), close)),
        ],
      );
    const end = app.people.onChange(() => (body.isConnected ? whenReleased(body, draw) : end()));
    draw();
    return body;
  });
}
