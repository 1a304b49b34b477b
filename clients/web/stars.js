// Which messages the user has starred. A message does not say so, since it is the same for everybody; the list of stars does.

import { append, fill, h, whenReleased } from "./dom.js";
import { t } from "./i18n.js";
import { attempt, item, tool } from "./ui.js";

const PAGE = 100;

/** The stars of the newest messages: older ones are asked for when messages of their time are shown. */
export class Stars {
  /** @param {import("../js/parley.js").Parley} parley */
  constructor(parley) {
    this.parley = parley;
    this.ids = new Set();
    this.listeners = new Set();
    this.wanted = new Date().toISOString();
    parley.on("message.starred", ({ messageId, starred }) => {
      if (starred) this.ids.add(messageId);
      else this.ids.delete(messageId);
      this.changed();
    });
    parley.on("resync", () => {
      Object.assign(this, { ids: new Set(), cursor: undefined, oldest: undefined, isComplete: false });
      this.reach();
    });
  }

  /** Calls the listener when a star has come or gone. */
  onChange(listener) {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  changed() {
    for (const listener of this.listeners) listener();
  }

  has(id) {
    return this.ids.has(id);
  }

  /** Loads the stars of all messages since a time. The list begins with the newest message. */
  reach(time = this.wanted) {
    if (time < this.wanted) this.wanted = time;
    this.loading ??= (async () => {
      while (!this.isComplete && !(this.oldest <= this.wanted)) {
        const page = await this.page(this.cursor);
        this.cursor = page.nextCursor;
        this.oldest = page.items.at(-1)?.sentAt ?? this.oldest;
        this.isComplete = !page.nextCursor;
      }
    })()
      .catch(() => {})
      .finally(() => {
        this.loading = undefined;
      });
    return this.loading;
  }

  async page(cursor) {
    const page = await this.parley.listStars({ limit: PAGE, ...(cursor && { cursor }) });
    for (const message of page.items) this.ids.add(message.id);
    if (page.items.length) this.changed();
    return page;
  }
}

/** The messages that the user has starred, in the column of dialogs. */
export async function starsScreen(app, back) {
  const messages = [];
  const body = h("div", { class: "dialogs" });
  let cursor;
  const draw = () => {
    const shown = messages.filter((message) => app.stars.has(message.id));
    fill(
      body,
      shown.length > 0 && app.list.messageRows(shown),
      cursor && item("arrowDown", t("more"), load),
      !shown.length && !cursor && h("p", { class: "empty" }, t("stars.none")),
    );
  };
  const add = (found) => {
    messages.push(...found.filter(({ id }) => !messages.some((each) => each.id === id)));
    messages.sort((a, b) => (a.sentAt > b.sentAt ? -1 : Number(a.sentAt < b.sentAt)));
  };
  const load = () =>
    attempt(async () => {
      const page = await app.stars.page(cursor);
      add(page.items);
      cursor = page.nextCursor;
      draw();
    });
  if (!(await load())) return undefined;
  const end = app.stars.onChange(() => (body.isConnected ? whenReleased(body, draw) : end()));
  const endNew = app.parley.on("message.starred", async ({ dialogId, messageId, starred }) => {
    if (!body.isConnected) {
      endNew();
      return;
    }
    const message = starred && (await app.parley.message(dialogId, messageId).catch(() => undefined));
    if (message) {
      add([message]);
      draw();
    }
  });
  const screen = h(
    "div",
    { style: { display: "contents" } },
    h(
      "header",
      { class: "side-head" },
      tool("back", t("back"), back, { turns: true }),
      h("h1", { class: "grow" }, t("stars")),
    ),
  );
  append(screen, [body]);
  return screen;
}
