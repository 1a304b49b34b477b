// Menus, sheets, questions, toasts, and the small parts that several screens have.

import { append, fill, h, svg } from "./dom.js";
import { icons } from "./icons.js";
import { t } from "./i18n.js";
import { ParleyError } from "../js/parley.js";

/** A button that shows an icon alone; `label` is its name for everybody who does not see it. */
export function tool(icon, label, action, properties = {}) {
  const { class: extra = "", turns = false, ...rest } = properties;
  return h(
    "button",
    { type: "button", class: `tool ${extra}`, "aria-label": label, title: label, on: { click: action }, ...rest },
    svg(icons[icon], turns ? "icon turns" : "icon"),
  );
}

export function button(label, action, kind = "", properties = {}) {
  return h(
    "button",
    { type: action ? "button" : "submit", class: `button ${kind}`, on: action ? { click: action } : {}, ...properties },
    label,
  );
}

/** A labelled field. `input` is the element. */
export function field(label, properties = {}, tag = "input") {
  const input = h(tag, { class: "input", ...properties });
  const element = h("label", { class: "field" }, h("span", {}, label), input);
  return { element, input };
}

/**
 * A line of a panel: icon, label, and what stands at its end.
 *
 * @param {string | undefined | false} icon
 * @param {any} label
 * @param {((event: any) => void) | undefined | false} [action]
 * @param {{ danger?: boolean, tail?: any, note?: any }} options
 */
export function item(icon, label, action, { danger = false, tail, note } = {}) {
  const content = [
    icon && svg(icons[icon]),
    h("span", { class: "grow" }, label, note && h("span", { class: "note cut", style: { display: "block" } }, note)),
    tail !== undefined && h("span", { class: "tail" }, tail),
  ];
  return action
    ? h("button", { type: "button", class: `item${danger ? " danger" : ""}`, on: { click: action } }, content)
    : h("div", { class: "item" }, content);
}

/** A line with a switch. `change` is given the new state, and may fail: then the switch goes back. */
export function toggle(icon, label, isOn, change) {
  const input = h("input", { type: "checkbox", class: "switch", role: "switch" });
  input.checked = isOn;
  input.addEventListener("change", () =>
    attempt(() => change(input.checked)).then((done) => {
      if (!done) input.checked = !input.checked;
    }),
  );
  return h("label", { class: "item" }, icon && svg(icons[icon]), h("span", { class: "grow" }, label), input);
}

/** A line with a choice among `options`: pairs of value and label. */
export function select(icon, label, value, options, change) {
  const element = h(
    "select",
    { "aria-label": label },
    options.map(([key, text]) => h("option", { value: key }, text)),
  );
  element.value = value;
  element.addEventListener("change", () => attempt(() => change(element.value)));
  return h("div", { class: "item" }, icon && svg(icons[icon]), h("span", { class: "grow" }, label), element);
}

// MARK: The clipboard

/** Puts a text into the clipboard, and says so. */
export function copy(text) {
  return copied(async () => {
    if (navigator.clipboard) return navigator.clipboard.writeText(text);
    // A page that came without HTTPS has no clipboard, but what is selected in it can be copied.
    const area = h("textarea", { readonly: true, "aria-hidden": "true" });
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    (before?.closest("dialog") ?? document.body).append(area);
    area.value = text;
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    before?.focus();
    if (!done) throw new Error("The text was not copied.");
  });
}

/** Puts a picture into the clipboard, as PNG, which is what all browsers take, and says so. */
export function copyPicture(address) {
  const png = async () => {
    const bitmap = await createImageBitmap(await (await fetch(address)).blob());
    const canvas = new OffscreenCanvas(bitmap.width, bitmap.height);
    canvas.getContext("2d").drawImage(bitmap, 0, 0);
    return canvas.convertToBlob();
  };
  // The promise is handed over at once: Safari takes nothing later than the click.
  return copied(async () => navigator.clipboard.write([new ClipboardItem({ "image/png": png() })]));
}

const copied = (write) =>
  write().then(
    () => toast(t("copied")),
    () => toast(t("copy.failed")),
  );

// MARK: Menus

let openMenu;

/**
 * Opens a menu at a place: an element or the coordinates of a pointer. An entry is `{icon, label, action, danger}`, `"-"` for a line, or
 * an element. Arrow keys move, Escape closes, and the focus goes back to where it was.
 */
export function menu(place, entries) {
  openMenu?.();
  const before = document.activeElement;
  const element = h("div", { class: "menu", role: "menu" });
  const close = (refocus = true) => {
    element.remove();
    document.removeEventListener("pointerdown", outside, true);
    window.removeEventListener("resize", closeAtResize);
    if (place instanceof Element) place.removeAttribute("aria-expanded");
    openMenu = undefined;
    if (refocus && before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
  };
  const closeAtResize = () => close();
  const outside = (event) => {
    if (!element.contains(event.target)) close(false);
  };
  for (const entry of entries.filter(Boolean)) {
    if (entry === "-") element.append(h("hr", { role: "separator" }));
    else if (entry instanceof Node) element.append(entry);
    else
      element.append(
        h(
          "button",
          {
            type: "button",
            role: "menuitem",
            class: entry.danger ? "danger" : "",
            on: {
              click: () => {
                close();
                entry.action();
              },
            },
          },
          entry.icon && svg(icons[entry.icon]),
          h("span", {}, entry.label),
        ),
      );
  }
  element.addEventListener("keydown", (event) => {
    const buttons = [...element.querySelectorAll("button")];
    const at = buttons.indexOf(document.activeElement);
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    if (step) buttons[(at + step + buttons.length) % buttons.length]?.focus();
    else if (event.key === "Home") buttons[0]?.focus();
    else if (event.key === "End") buttons.at(-1)?.focus();
    else if (event.key === "Escape" || event.key === "Tab") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  document.body.append(element);
  const box =
    place instanceof Element
      ? place.getBoundingClientRect()
      : { left: place.x, right: place.x, top: place.y, bottom: place.y };
  const { offsetWidth: width, offsetHeight: height } = element;
  const isRTL = document.documentElement.dir === "rtl";
  const wanted =
    place instanceof Element && (isRTL ? box.left < innerWidth / 2 : box.right > innerWidth / 2) !== isRTL
      ? box.right - width
      : box.left;
  element.style.left = `${Math.max(8, Math.min(wanted, innerWidth - width - 8))}px`;
  element.style.top = `${Math.max(8, box.bottom + height + 8 > innerHeight ? box.top - height - 4 : box.bottom + 4)}px`;
  if (place instanceof Element) place.setAttribute("aria-expanded", "true");
  document.addEventListener("pointerdown", outside, true);
  window.addEventListener("resize", closeAtResize);
  openMenu = close;
  element.querySelector("button")?.focus({ preventScroll: true });
  return close;
}

// MARK: Sheets

/**
 * Opens a modal sheet. `build` is given a function that closes it, and returns its content.
 *
 * @param {string} title
 * @param {(close: () => void) => any} build
 * @param {{ onClose?: () => void }} options
 */
export function sheet(title, build, { onClose } = {}) {
  const id = `sheet-${Math.random().toString(36).slice(2)}`;
  const body = h("div", { class: "sheet-body" });
  const dialog = h("dialog", { class: "sheet", "aria-labelledby": id });
  const close = () => dialog.close();
  append(dialog, [h("div", { class: "sheet-head" }, h("h2", { id }, title), tool("close", t("close"), close)), body]);
  dialog.addEventListener("close", () => {
    dialog.remove();
    onClose?.();
  });
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) close();
  });
  document.body.append(dialog);
  fill(body, build(close));
  dialog.showModal();
  (body.querySelector("input:not([type=hidden]), textarea, select, button") ?? dialog).focus();
  return close;
}

/** Asks for a yes. Resolves with whether it was given. */
export function ask(title, text, yes, { danger = true } = {}) {
  return new Promise((resolve) => {
    let answer = false;
    sheet(
      title,
      (close) => [
        h("p", { class: "soft" }, text),
        h(
          "div",
          { class: "sheet-foot" },
          button(t("cancel"), close),
          button(
            yes,
            () => {
              answer = true;
              close();
            },
            danger ? "danger" : "main",
          ),
        ),
      ],
      { onClose: () => resolve(answer) },
    );
  });
}

/** Asks for one line of text. Resolves with it, or with `undefined`. */
export function prompt(title, label, value = "", properties = {}) {
  return new Promise((resolve) => {
    let answer;
    sheet(
      title,
      (close) => {
        const { element, input } = field(label, { value, ...properties }, properties.rows ? "textarea" : "input");
        return h(
          "form",
          {
            class: "sheet-body",
            style: { padding: "0" },
            on: {
              submit: (event) => {
                event.preventDefault();
                answer = input.value;
                close();
              },
            },
          },
          element,
          h("div", { class: "sheet-foot" }, button(t("cancel"), close), button(t("save"), undefined, "main")),
        );
      },
      { onClose: () => resolve(answer) },
    );
  });
}

// MARK: What happened

let toasts;

/** Shows a text for five seconds. */
export function toast(text) {
  toasts ??= document.body.appendChild(
    h("div", { class: "toasts", role: "status", "aria-live": "polite", popover: "manual" }),
  );
  // It is put above a dialog that has been opened since.
  toasts.hidePopover?.();
  toasts.showPopover?.();
  const element = toasts.appendChild(h("div", { class: "toast", dir: "auto" }, text));
  setTimeout(() => element.remove(), 5000);
}

/** Describes an error for people: by its code where the catalogue has one, else by what the server says. */
export function describe(error) {
  if (!(error instanceof ParleyError)) return t("error.unknown", { reason: String(error?.message ?? error) });
  const known = t.optional(`error.${error.code}`, { count: error.retryAfter });
  if (known) return known;
  return error.retryAfter
    ? t("error.wait", { count: error.retryAfter })
    : t("error.unknown", { reason: error.message });
}

/** Runs an action, and shows its error. Resolves with whether it succeeded. */
export async function attempt(action) {
  try {
    await action();
    return true;
  } catch (error) {
    toast(describe(error));
    return false;
  }
}
