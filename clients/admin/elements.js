// Elements of the page. Whatever comes from people is text: no string becomes markup.

/** Makes an element. Children that are undefined, false or empty are left out. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== false && child !== ""));
  return element;
}

/**
 * Shows one value: a time in the reader's own way, a quote as one, a list or an object as what it contains. Texts stand apart, as they are
 * stored: an administrator has to see that. Within sentences names are as the web client shows them (../web/text.js).
 */
export function shown(value) {
  if (value === undefined || value === null) return "";
  if (value.time) return h("time", { datetime: value.time }, new Date(value.time).toLocaleString());
  if (value.code) return h("code", {}, value.code);
  if (value.quote) return h("blockquote", {}, h("bdi", {}, value.quote));
  if (Array.isArray(value))
    return value.length
      ? h(
          "ul",
          {},
          value.map((each) => h("li", {}, shown(each))),
        )
      : "none";
  if (typeof value === "object") {
    const members = Object.entries(value).filter(([, each]) => each !== undefined && each !== "");
    return h(
      "dl",
      {},
      members.map(([name, each]) => [h("dt", {}, name), h("dd", {}, shown(each))]),
    );
  }
  return h("bdi", {}, value === true ? "yes" : value === false ? "no" : String(value));
}

/** Opens a box, with a line of its own for what has been done in it. */
export function box(...children) {
  const dialog = h("dialog", {}, children, h("p", { role: "status", class: "status" }));
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function confirmed(question, title) {
  return new Promise((resolve) => {
    const dialog = box(
      h("p", {}, question),
      h("button", { type: "button", class: "main", onclick: () => dialog.close("yes") }, title),
      h("button", { type: "button", autofocus: true, onclick: () => dialog.close() }, "Cancel"),
    );
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"));
  });
}

/** Says what has been done or refused, in the box that is open, else above the section. */
export function say(text, isError = false) {
  const place =
    [...document.querySelectorAll("dialog[open] > .status")].at(-1) ?? document.querySelector("body > .status");
  if (!place) return;
  place.textContent = text;
  place.classList.toggle("error", isError);
}
