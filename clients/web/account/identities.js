// Providers by which one signs in to the account that one has.

import { fill, h, svg } from "../dom.js";
import { moment, t } from "../i18n.js";
import { icons } from "../icons.js";
import { leaveFor, providersFor, titleOf } from "../provider.js";
import { ask, attempt, button, sheet, toast } from "../ui.js";

/** The providers that are connected, and those that can be. */
export function identitiesSheet(app, info) {
  sheet(t("identities"), () => {
    const body = h("div", { class: "sheet-body", style: { padding: "0" } });
    const draw = async () => {
      const connected = (await app.parley.listIdentities()).items.filter(({ type }) => type === "provider");
      const others = providersFor(info).filter(({ provider }) => !connected.some((each) => each.provider === provider));
      const remove = async ({ id, provider }) => {
        const title = t("identities.remove", { name: titleOf(provider) });
        if (await ask(title, t("identities.removeText"), t("identities.disconnect")))
          await attempt(() => app.parley.removeIdentity(id)).then(draw);
      };
      fill(
        body,
        h("p", { class: "soft" }, t("identities.text")),
        connected.map((each) =>
          h(
            "div",
            { class: "item" },
            svg(icons.key),
            h(
              "span",
              { class: "grow" },
              h("bdi", {}, titleOf(each.provider)),
              h(
                "span",
                { class: "note", style: { display: "block" } },
                t("identities.since", { time: moment(each.createdAt) }),
              ),
            ),
            button(t("identities.disconnect"), () => remove(each), "danger"),
          ),
        ),
        others.map((each) =>
          button(
            t("identities.connect", { name: titleOf(each.provider) }),
            () => attempt(() => leaveFor(each, app.parley.userId)),
            "wide",
          ),
        ),
        !connected.length && !others.length && h("p", { class: "empty" }, t("identities.none")),
      );
    };
    attempt(draw);
    return body;
  });
}

/** Connects the provider from which the user has come back. */
export async function connectIdentity(app, { userId, error, ...given }) {
  // Meanwhile somebody else may have signed in in another tab, who has not asked for this.
  if (error || userId !== app.parley.userId) {
    toast(t(error === "access_denied" ? "identities.denied" : "identities.failed"));
    return;
  }
  if (!(await attempt(() => app.parley.addIdentity(given)))) return;
  toast(t("identities.done", { name: titleOf(given.provider) }));
  // A guest is none any more.
  await app.parley.me().catch(() => {});
}
