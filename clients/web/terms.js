// The terms of use, which the operator may want everybody to agree to (`terms.version`): nothing else is usable before.

import { fill, h } from "./dom.js";
import { t } from "./i18n.js";
import { keep, kept } from "./preferences.js";
import { cleanName, link } from "./text.js";
import { attempt, button, describe } from "./ui.js";

/** The version that was still to be agreed to when the server was asked last. */
const REQUIRED = "parley.terms.required";
/** The version that a guest has agreed to: of guests the server stores nothing. */
const AGREED = "parley.terms.agreed";

/** Whether it is known here, also without a network, that the user has to agree first. */
export const hasTerms = () => kept(REQUIRED) !== undefined;

/** Returns the version that is still to be agreed to, if there is one, and whether the server has said so: without a network what was known last counts. */
async function required(parley) {
  const me = await parley.me().catch(() => undefined);
  const wanted = me ? me.termsRequired : kept(REQUIRED);
  const version = me?.guest && kept(AGREED) === wanted ? undefined : wanted;
  keep(REQUIRED, version);
  return { version, isAsked: me !== undefined };
}

/** Asks for the user's agreement, if it is wanted. Resolves once it is given or none is wanted, with whether the server has been asked. */
export async function agreeToTerms(parley) {
  const { version, isAsked } = await required(parley);
  if (version) await agreement(parley, version);
  return isAsked || version !== undefined;
}

/** Asks the server while the client is in use: if there is something to agree to, the page begins anew with that. */
export async function checkTerms(parley) {
  const { version } = await required(parley);
  if (!version) return;
  // Where the browser keeps nothing, the page would not know of it after it was loaded anew.
  if (hasTerms()) location.reload();
  else await agreement(parley, version);
}

/** Shows what is to be agreed to until it is, or the user has signed out. */
function agreement(parley, version) {
  return new Promise((resolve) => {
    let info;
    let isDone = false;
    const text = h("div", { class: "sheet-body", style: { padding: "0" } });
    const error = h("p", { class: "error", role: "alert", hidden: true });
    const submit = button("", undefined, "main");
    const draw = () => {
      fill(
        text,
        h(
          "p",
          { dir: "auto" },
          t("terms.text", { host: info?.domain ?? location.hostname, version: cleanName(version) }),
        ),
        /^https?:/.test(info?.termsUrl) && h("p", {}, link(info.termsUrl, t("terms.read"))),
      );
      submit.textContent = t(info ? "terms.agree" : "again");
    };
    /** Without what there is to read nobody agrees. */
    const load = async () => {
      info = await parley.info();
      draw();
    };
    const agree = async () => {
      const me = parley.user?.guest ? keep(AGREED, version) : await parley.acceptTerms(version);
      // It may have changed meanwhile.
      if (me?.termsRequired) {
        version = me.termsRequired;
        draw();
        return;
      }
      keep(REQUIRED);
      isDone = true;
      dialog.close();
      resolve();
    };
    const work = async (action) => {
      submit.disabled = true;
      error.hidden = true;
      try {
        await action();
      } catch (problem) {
        error.textContent = describe(problem);
        error.hidden = false;
      } finally {
        submit.disabled = false;
      }
    };
    const dialog = h(
      "dialog",
      { class: "sheet", "aria-labelledby": "terms", closedby: "none", autofocus: true },
      h("div", { class: "sheet-head" }, h("h2", { id: "terms" }, t("terms"))),
      h(
        "form",
        {
          class: "sheet-body",
          on: {
            submit: (event) => {
              event.preventDefault();
              work(info ? agree : load);
            },
          },
        },
        text,
        error,
        h(
          "div",
          { class: "sheet-foot" },
          button(t("signout"), () => attempt(() => parley.signOut())),
          submit,
        ),
      ),
    );
    // Browsers close a dialog at the second press of Escape, whatever the page says to it.
    dialog.addEventListener("close", () => (isDone ? dialog.remove() : dialog.showModal()));
    draw();
    document.body.append(dialog);
    dialog.showModal();
    work(load);
  });
}

/** Lets go of what is kept: a login has ended. */
export function clearTerms() {
  keep(REQUIRED);
  keep(AGREED);
}
