import { held, signOut } from "./api.js";
import { box, confirmed, h, say, shown } from "./elements.js";
import { sections } from "./sections.js";
import { signInScreen } from "./signin.js";
import { cleanName } from "../web/text.js";

const REFRESH_EVERY = 5000;

const main = h("main", { id: "main", tabindex: "-1" });
const nav = h("nav", { "aria-label": "Sections" });
let timer, section;

function failed(error) {
  if (error.endsAccess) leave(error.message);
  else say(error.message, true);
}

async function leave(complaint = "") {
  clearInterval(timer);
  section = undefined;
  const ended = signOut();
  await signInScreen(complaint, begin);
  await ended;
}

function begin() {
  document.body.replaceChildren(
    h(
      "a",
      {
        href: "#main",
        class: "skip",
        onclick: (event) => {
          event.preventDefault();
          main.focus();
        },
      },
      "To the content",
    ),
    h(
      "header",
      {},
      h("strong", {}, "Parley"),
      nav,
      h("span", { class: "who" }, held.value.name ?? "with an app key"),
      h("button", { type: "button", onclick: () => leave() }, "Sign out"),
    ),
    h("p", { role: "status", class: "status" }),
    main,
  );
  nav.replaceChildren(...sections.map(({ id, title }) => h("a", { href: "#" + id }, title)));
  open();
}

// MARK: Sections

function open() {
  clearInterval(timer);
  section = sections.find(({ id }) => "#" + id === location.hash) ?? sections[0];
  for (const link of nav.children) {
    if (link.hash === "#" + section.id) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${section.title} · Parley`;
  say("");
  if (section.figures) figures();
  else rows();
}

async function figures() {
  const list = h("dl", { class: "figures" });
  main.replaceChildren(h("h1", {}, section.title), list);
  const mine = section;
  const refresh = async () => {
    if (document.hidden) return;
    try {
      const figures = await mine.figures();
      if (section === mine)
        list.replaceChildren(
          ...figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value)))),
        );
    } catch (error) {
      if (section === mine) failed(error);
    }
  };
  await refresh();
  if (section === mine) timer = setInterval(refresh, REFRESH_EVERY);
}

function rows() {
  const mine = section;
  const search =
    mine.search && h("input", { type: "search", id: "search", placeholder: mine.search, "aria-label": mine.search });
  const list = table(mine, () => search?.value);
  const found = h(
    "form",
    {
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        list.again();
      },
    },
    search,
    search && h("button", { type: "submit" }, "Find"),
  );
  const make =
    mine.make &&
    h(
      "button",
      {
        type: "button",
        onclick: () =>
          doing(async () => {
            details(mine.make.title, await mine.make.run(), { text: mine.make.result });
            list.again();
          }),
      },
      mine.make.title,
    );
  main.replaceChildren(
    h("h1", {}, mine.title),
    h("div", { class: "bar" }, search && found, make),
    ...(mine.note ? [h("p", { class: "note" }, mine.note)] : []),
    list.element,
  );
}

async function doing(work) {
  try {
    await work();
  } catch (error) {
    failed(error);
  }
}

/**
 * Makes a table of rows, which are loaded page by page; `spec` is a section, or the rows within an item's details. `changed`
 * is called after an action.
 */
function table(spec, search, changed) {
  const body = h("tbody", { role: "rowgroup" });
  const more = h("button", { type: "button", hidden: true, onclick: () => load() }, "More");
  const hasActions = spec.show || spec.actions.length > 0;
  const titles = [...spec.columns.map(([title]) => title), ...(hasActions ? ["Actions"] : [])];
  // A narrow screen shows each row as a card; the roles say that it is a table all the same.
  const head = h(
    "tr",
    { role: "row" },
    titles.map((title) => h("th", { scope: "col", role: "columnheader" }, title)),
  );
  const rows = h("table", { role: "table" }, h("thead", { role: "rowgroup" }, head), body);
  const element = h(
    "div",
    {},
    h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": spec.title }, rows),
    more,
  );
  let cursor,
    round = 0;

  async function load(isAgain = false) {
    const asked = ++round;
    try {
      const page = await spec.load({ cursor: isAgain ? undefined : cursor, search: search?.() });
      if (asked !== round) return;
      if (isAgain) body.replaceChildren();
      body.append(...page.items.map(row));
      if (!body.children.length)
        body.append(
          h("tr", { role: "row" }, h("td", { role: "cell", colspan: titles.length, class: "none" }, "Nothing.")),
        );
      cursor = page.nextCursor;
      more.hidden = cursor === undefined;
    } catch (error) {
      if (element.isConnected) failed(error);
    }
  }

  const again = () => load(true);

  function row(item) {
    const cells = spec.columns.map(([title, value]) =>
      h("td", { role: "cell", "data-title": title }, shown(value(item) ?? "")),
    );
    const name = cleanName((spec.name ?? spec.columns[0][1])(item));
    const buttons = spec.actions
      .filter(({ when }) => !when || when(item))
      .map((action) =>
        h(
          "button",
          {
            type: "button",
            class: action.isGrave && "grave",
            "aria-label": `${action.title}: ${name}`,
            onclick: () =>
              doing(async () => {
                if (action.question && !(await confirmed(action.question(item), action.title))) return;
                const answer = await action.run(item);
                if (action.isShown) details(action.title, answer);
                await again();
                changed?.();
                say(`${action.title}: ${name}. Done.`);
              }),
          },
          action.title,
        ),
      );
    const look =
      spec.show &&
      h(
        "button",
        {
          type: "button",
          "aria-label": `Details: ${name}`,
          onclick: () =>
            doing(async () => details(name, await spec.show(item), { rows: spec.rows?.(item), changed: again })),
        },
        "Details",
      );
    return h("tr", { role: "row" }, cells, hasActions && h("td", { role: "cell", class: "actions" }, look, buttons));
  }

  load();
  return { element, again };
}

/**
 * Shows what an operation has answered.
 *
 * @param {string} title
 * @param {any} value
 * @param {{ text?: string, rows?: any, changed?: () => void }} more
 */
function details(title, value, { text, rows: within, changed } = {}) {
  const dialog = box(
    h("h2", {}, title),
    text && h("p", {}, text),
    shown(value),
    within && [h("h3", {}, within.title), table(within, undefined, changed).element],
    h("button", { type: "button", class: "close", onclick: () => dialog.close() }, "Close"),
  );
}

addEventListener("hashchange", () => {
  if (section) open();
});
if (held.value) begin();
else signInScreen("", begin);
