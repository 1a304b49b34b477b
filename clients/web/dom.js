// The only place where elements are made. Text becomes text nodes: there is no way from a string to markup here, and no
// other file has one (Tests/Clients/web_client.py looks for `innerHTML` and its like).

const SVG = "http://www.w3.org/2000/svg";

/**
 * Makes an element.
 *
 * `properties`: `class`, `text`, `on` (listeners by event), `data` (dataset), `style` (CSS properties); `true` sets an empty
 * attribute, `false`, `null` and `undefined` set none; all others become attributes. Children are nodes, texts, or lists of both;
 * `null`, `false` and `undefined` are left out.
 */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    switch (name) {
      case "class":
        element.className = value;
        break;
      case "text":
        element.textContent = value;
        break;
      case "on":
        for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
        break;
      case "data":
        Object.assign(element.dataset, value);
        break;
      case "style":
        for (const [key, item] of Object.entries(value)) element.style.setProperty(key, item);
        break;
      case "value":
        element.value = value;
        break;
      default:
        element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  append(element, children);
  return element;
}

export function append(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== undefined && child !== null && child !== false) element.append(child);
  }
}

/** Replaces the children of an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
  return element;
}

/** Draws an icon of 24 × 24 units by the path in `icons.js`. */
export function svg(path, className = "icon") {
  const image = document.createElementNS(SVG, "svg");
  image.setAttribute("viewBox", "0 0 24 24");
  image.setAttribute("class", className);
  image.setAttribute("aria-hidden", "true");
  const line = document.createElementNS(SVG, "path");
  line.setAttribute("d", path);
  image.append(line);
  return image;
}

/** Isolates a name, so that marks of direction in it change nothing around it. */
export const name = (text, className) => h("bdi", { class: className, text: text });

/** Says something to screen readers alone. */
export function announce(text) {
  const place = document.getElementById("announcer");
  if (place) place.textContent = text;
}

/** Calls `action` at most once in `milliseconds`, at their end. */
export function later(milliseconds, action) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), milliseconds);
  };
}

// MARK: The pointer

/** What is pressed by the pointer. */
let pressed;
/** What waits until the pointer is released, each with the element within which something is pressed. */
let waiting = [];

const release = () => {
  pressed = undefined;
  const actions = waiting;
  waiting = [];
  // The click comes after this event, and before the next frame.
  if (actions.length)
    requestAnimationFrame(() => {
      for (const [element, action] of actions) whenReleased(element, action);
    });
};

addEventListener(
  "pointerdown",
  (event) => {
    if (event.button === 0) pressed = event.target;
  },
  true,
);
for (const event of ["pointerup", "pointercancel"]) addEventListener(event, release, true);
// A release over another window, or over the entries of a `select`, may not be reported.
addEventListener("blur", release);
addEventListener(
  "pointermove",
  (event) => {
    if (pressed && event.buttons === 0) release();
  },
  true,
);

/**
 * Calls `action` now, or once the pointer is released if it presses something within the element: what is replaced while it is pressed
 * gets no click.
 */
export function whenReleased(element, action) {
  if (pressed && element !== pressed && element.contains(pressed)) waiting.push([element, action]);
  else action();
}
