// Inviting somebody who has no account here.

import { h } from "./dom.js";
import { t } from "./i18n.js";
import { qrCode } from "./qr.js";
import { attempt, button, copy, sheet } from "./ui.js";

/** Makes a link for one person, and shows it. */
export const invite = (app) =>
  attempt(async () => {
    const { url } = await app.parley.createInvitation();
    // Browsers have it where the page came by HTTPS, and machines have somewhere to send to.
    const share = navigator.share && button(t("invite.share"), () => navigator.share({ url }).catch(() => {}));
    sheet(t("invite"), (close) =>
      h(
        "div",
        { class: "sheet-body", style: { padding: "0" } },
        h("p", { class: "soft" }, t("invite.text")),
        qrCode(url, t("invite.scan")),
        h("code", { class: "secret", dir: "ltr" }, url),
        h(
          "div",
          { class: "sheet-foot" },
          share,
          button(t("message.copy"), () => copy(url)),
          button(t("done"), close, "main"),
        ),
      ),
    );
  });
