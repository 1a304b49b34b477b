import { call, key } from "./api.js";
import { sections } from "./sections.js";

const REFRESH_EVERY = 5000;

/** Makes an element. Whatever comes from people is text: no string becomes markup. */
function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== false));
  return element;
}

/** Shows one value: a time in the reader's own way, a list or an object as what it contains. */
function shown(value) {
  if (value === undefined || value === null) return "";
  if (value.time) return h("time", { datetime: value.time }, new Date(value.time).toLocaleString());
  if (Array.isArray(value)) return value.length ? h("ul", {}, value.map((each) => h("li", {}, shown(each)))) : "none";
  if (typeof value === "object") {
    return h("dl", {}, Object.entries(value).map(([name, each]) => [h("dt", {}, name), h("dd", {}, shown(each))]));
  }
  return h("bdi", {}, String(value));
}

const main = h("main", { id: "main", tabindex: "-1" });
const status = h("p", { role: "status", class: "status" });
const nav = h("nav", { "aria-label": "Sections" });
let timer, section;

function say(text, isError = false) {
  status.textContent = text;
  status.classList.toggle("error", isError);
}

function failed(error) {
  if (error.status === 401) return signIn(error.message);
  say(error.message, true);
}

// MARK: Signing in

function signIn(complaint = "") {
  clearInterval(timer);
  key.set(undefined);
  const input = h("input", { type: "password", id: "key", autocomplete: "off", required: true, "aria-describedby": "hint" });
  const form = h("form", {
    class: "sign-in",
    async onsubmit(event) {
      event.preventDefault();
      key.set(input.value.trim());
      try {
        await call("GET", "/audit?limit=1");
        begin();
      } catch (error) {
        // A key that may not read the record is a key all the same.
        if (error.status === 403) begin(); else signIn(error.message);
      }
    },
  },
  h("h1", {}, "Administration"),
  h("label", { for: "key" }, "App key"), input,
  h("p", { id: "hint" }, "Made by: ", h("code", {}, "parley key add my-laptop --scope '*'"), ". Its scopes decide what you see. It stays in this tab."),
  h("button", { type: "submit" }, "Continue"),
  h("p", { role: "alert", class: "error" }, complaint));
  document.body.replaceChildren(h("main", {}, form));
  input.focus();
}

function begin() {
  document.body.replaceChildren(
    h("a", { href: "#main", class: "skip", onclick: (event) => { event.preventDefault(); main.focus(); } }, "To the content"),
    h("header", {}, h("strong", {}, "Parley"), nav, h("button", { type: "button", onclick: () => signIn() }, "Sign out")), status, main);
  nav.replaceChildren(...sections.map(({ id, title }) => h("a", { href: "#" + id }, title)));
  open();
}

// MARK: Sections

function open() {
  clearInterval(timer);
  section = sections.find(({ id }) => "#" + id === location.hash) ?? sections[0];
  for (const link of nav.children) {
    if (link.hash === "#" + section.id) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.title = `${section.title} · Parley`;
  say("");
  if (section.figures) figures(); else rows();
}

async function figures() {
  const list = h("dl", { class: "figures" });
  main.replaceChildren(h("h1", {}, section.title), list);
  const mine = section;
  const refresh = async () => {
    if (document.hidden) return;
    try {
      const figures = await mine.figures();
      if (section === mine) list.replaceChildren(...figures.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, String(value)))));
    } catch (error) {
      if (section === mine) failed(error);
    }
  };
  await refresh();
  if (section === mine) timer = setInterval(refresh, REFRESH_EVERY);
}

function rows() {
  const mine = section;
  const body = h("tbody");
  const more = h("button", { type: "button", hidden: true, onclick: () => load() }, "More");
  const search = mine.search && h("input", { type: "search", id: "search", placeholder: mine.search, "aria-label": mine.search });
  const found = h("form", { role: "search", onsubmit: (event) => { event.preventDefault(); again(); } }, search, search && h("button", { type: "submit" }, "Find"));
  const make = mine.make && h("button", {
    type: "button",
    onclick: () => doing(async () => { details(mine.make.title, await mine.make.run(), mine.make.result); again(); }),
  }, mine.make.title);
  const head = h("tr", {}, mine.columns.map(([title]) => h("th", { scope: "col" }, title)), h("th", { scope: "col" }, "Actions"));
  main.replaceChildren(
    h("h1", {}, mine.title), h("div", { class: "bar" }, search && found, make),
    h("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": mine.title }, h("table", {}, h("thead", {}, head), body)), more);
  let cursor, round = 0;

  async function load() {
    const asked = ++round;
    try {
      const page = await mine.load({ cursor, search: search?.value });
      if (section !== mine || asked !== round) return;
      body.append(...page.items.map(row));
      if (!body.children.length) body.append(h("tr", {}, h("td", { colspan: mine.columns.length + 1 }, "Nothing.")));
      cursor = page.nextCursor;
      more.hidden = cursor === undefined;
    } catch (error) {
      if (section === mine) failed(error);
    }
  }

  function again() {
    cursor = undefined;
    body.replaceChildren();
    load();
  }

  async function doing(work) {
    try { await work(); } catch (error) { failed(error); }
  }

  function row(item) {
    const cells = mine.columns.map(([, value]) => h("td", {}, shown(value(item))));
    const name = String(mine.columns[0][1](item) ?? "");
    const buttons = mine.actions.filter(({ when }) => !when || when(item)).map((action) => h("button", {
      type: "button", class: action.isGrave && "grave", "aria-label": `${action.title}: ${name}`,
      onclick: () => doing(async () => {
        if (action.question && !await confirmed(action.question(item), action.title)) return;
        const answer = await action.run(item);
        if (action.isShown) details(action.title, answer);
        say(`${action.title}: ${name}. Done.`);
        again();
      }),
    }, action.title));
    const look = mine.show && h("button", {
      type: "button", "aria-label": `Details: ${name}`, onclick: () => doing(async () => details(name, await mine.show(item))),
    }, "Details");
    return h("tr", {}, cells, h("td", { class: "actions" }, look, buttons));
  }

  load();
}

// MARK: Boxes

function box(...children) {
  const dialog = h("dialog", {}, children);
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

function details(title, value, text) {
  const dialog = box(h("h2", {}, title), text && h("p", {}, text), shown(value), h("button", { type: "button", onclick: () => dialog.close() }, "Close"));
}

function confirmed(question, title) {
  return new Promise((resolve) => {
    const dialog = box(
      h("p", {}, question),
      h("button", { type: "button", onclick: () => dialog.close("yes") }, title),
      h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Cancel"));
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
  });
}

addEventListener("hashchange", () => { if (key.value) open(); });
if (key.value) begin(); else signIn();
