// What other apps share with the installed client. The worker has put it aside (sw.js); the user says which dialog it is for, whose composer
// gets it. Nothing is sent by itself: pages of other sites can share, too.

import { h } from "./dom.js";
import { t } from "./i18n.js";
import { dialogPicker } from "./list.js";
import { cleanFileName, cleanText, cut } from "./text.js";
import { attempt, sheet, toast } from "./ui.js";

/** The worker's cache with what was shared last. */
const CACHE = "shared";
/** What nobody has taken in an hour is not offered any more. */
const KEPT_FOR = 3_600_000;

/** Lets go of what was shared. */
export async function clearShared() {
  await globalThis.caches?.delete(CACHE).catch(() => {});
}

/** Returns what was shared: `{text, files, lost}`, where `lost` files were too many or too large to be kept; `undefined` if there is nothing. */
async function shared() {
  if (!(await globalThis.caches?.has(CACHE))) return undefined;
  const cache = await caches.open(CACHE);
  const { title = "", text = "", url = "", names, lost, time } = (await (await cache.match("/shared"))?.json()) ?? {};
  if (!(Date.now() - time < KEPT_FOR)) {
    await clearShared();
    return undefined;
  }
  const files = await Promise.all(
    names.map(async (name, index) => {
      const data = await (await cache.match(`/shared/${index}`)).blob();
      return new File([data], name, { type: data.type });
    }),
  );
  // Most apps have the address or the title in the text, too.
  const parts = [!text.includes(title) && title, text, !text.includes(url) && url];
  return {
    text: parts
      .filter(Boolean)
      .map((part) => part.trim())
      .join("\n"),
    files,
    lost,
  };
}

/** Asks for whom it is, if something was shared. */
export async function offerShared(app) {
  const { text, files = [], lost } = (await shared().catch(() => undefined)) ?? {};
  if (lost) toast(t("share.lost", { count: lost }));
  if (!text && !files.length) return;
  sheet(
    t("share.with"),
    (close) => [
      text && h("p", { class: "soft", dir: "auto" }, cut(cleanText(text), 300)),
      files.length > 0 &&
        h(
          "div",
          {},
          files.map(({ name }) => h("p", { class: "note cut" }, h("bdi", {}, cleanFileName(name)))),
        ),
      dialogPicker(app, (open) =>
        attempt(async () => {
          const { id } = await open();
          if (await app.compose(id, text, files)) close();
        }),
      ),
    ],
    {
      onClose: () => {
        clearShared();
        app.screen?.composer?.focus();
      },
    },
  );
}
