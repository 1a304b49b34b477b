// People nearby: those who share their approximate place find each other (docs/app-protocol.md, "Nearby").

import { fill, h, whenReleased } from "./dom.js";
import { clock, isFuture, t } from "./i18n.js";
import { personItem } from "./newchat.js";
import { keep, kept } from "./preferences.js";
import { button, describe, sheet } from "./ui.js";

/** Until when the user's place is shared: the server does not tell that again. */
const KEY = "parley.nearby";
/** How long a place is shared, in seconds, and how far away people are found, in kilometres: the server finds nobody farther away. */
const SHARED_FOR = 3600;
const RADIUS = 50;

/** Lets go of what is kept: a login has ended. */
export const clearNearby = () => keep(KEY);

/** Asks the browser where it is. Places are shared to about a kilometre, so that nothing much finer leaves the browser. */
function place() {
  return new Promise((resolve, reject) =>
    navigator.geolocation.getCurrentPosition(
      ({ coords }) =>
        resolve({ latitude: Number(coords.latitude.toFixed(3)), longitude: Number(coords.longitude.toFixed(3)) }),
      ({ code, PERMISSION_DENIED }) =>
        reject({ text: t(code === PERMISSION_DENIED ? "nearby.denied" : "location.denied") }),
      { timeout: 15_000, maximumAge: 60_000 },
    ),
  );
}

/** Shows who is nearby, once the user shares a place. */
export function nearby(app) {
  sheet(t("nearby"), (close) => {
    let users;
    const state = h("p", { class: "soft", role: "status" });
    const error = h("p", { class: "error", role: "alert", hidden: true });
    const results = h("div", { class: "results" });
    const draw = () => {
      const until = isFuture(kept(KEY)) && kept(KEY);
      state.textContent = until ? t("nearby.until", { time: clock(until) }) : t("nearby.text");
      look.textContent = t(until ? "nearby.again" : "nearby.share");
      stop.hidden = !until;
      drawUsers();
    };
    const drawUsers = () => {
      fill(
        results,
        users?.map(({ id, name, distance }) =>
          personItem(app, id, {
            given: name,
            note: t("nearby.distance", { count: distance }),
            action: () => {
              close();
              app.openPrivate(id);
            },
          }),
        ),
        users?.length === 0 && h("p", { class: "empty" }, t("nearby.none")),
      );
    };
    const working = (action) => async () => {
      look.disabled = stop.disabled = true;
      error.hidden = true;
      try {
        await action();
      } catch (problem) {
        error.textContent = problem.text ?? describe(problem);
        error.hidden = false;
      }
      look.disabled = stop.disabled = false;
      draw();
    };
    const look = button(
      "",
      working(async () => {
        const here = await place();
        // Whoever has closed the sheet meanwhile shares nothing.
        if (!results.isConnected) return;
        keep(KEY, (await app.parley.shareLocation({ ...here, ttl: SHARED_FOR })).expiresAt);
        users = (
          await app.parley.searchUsers({ near: `${here.latitude},${here.longitude}`, radius: RADIUS, limit: 100 })
        ).items;
      }),
      "main",
    );
    const stop = button(
      t("nearby.stop"),
      working(async () => {
        await app.parley.shareLocation(null);
        keep(KEY);
        users = undefined;
      }),
    );
    const end = app.people.onChange(() => (results.isConnected ? whenReleased(results, drawUsers) : end()));
    draw();
    return [state, error, results, h("div", { class: "sheet-foot" }, stop, look)];
  });
}
