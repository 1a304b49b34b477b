// The terms of use, which the operator may want everybody to agree to (`terms.version`): nothing else is usable before.

import { fill, h } from "./dom.js";
import { t } from "./i18n.js";
import { cleanName, link } from "./text.js";
import { attempt, button, describe } from "./ui.js";

/** The version that was still to be agreed to when the server was asked last. */
const REQUIRED = "parley.terms.required";
/** The version that a guest has agreed to: of guests the server stores nothing. */
const AGREED = "parley.terms.agreed";

const keep = (key, version) => { try { version ? localStorage.setItem(key, version) : localStorage.removeItem(key); } catch { /* Then the server is asked again. */ } };

/** Whether it is known here, also without a network, that the user has to agree first. */
export const hasTerms = () => localStorage.getItem(REQUIRED) !== null;

/** Asks for the user's agreement, if the server wants it. Resolves once it is given or none is wanted, with whether the server has said so. */
export async function agreeToTerms(parley) {
  const me = await parley.me().catch(() => undefined);
  const version = me ? me.termsRequired : localStorage.getItem(REQUIRED);
  const isNeeded = version && !(me?.guest && localStorage.getItem(AGREED) === version);
  keep(REQUIRED, isNeeded && version);
  if (isNeeded) await agreement(parley, version);
  return isNeeded || me !== undefined;
}

/** Shows what is to be agreed to, over everything else, until it is or the user has signed out. */
function agreement(parley, version) {
  return new Promise((resolve) => {
    let info;
    let isDone = false;
    const text = h("div", { class: "sheet-body", style: { padding: "0" } });
    const error = h("p", { class: "error", role: "alert", hidden: true });
    const submit = button("", undefined, "main");
    const draw = () => {
      fill(text, h("p", { dir: "auto" }, t("terms.text", { host: info?.domain ?? location.hostname, version: cleanName(version) })),
        /^https?:/.test(info?.termsUrl) && h("p", {}, link(info.termsUrl, t("terms.read"))));
      submit.textContent = t(info ? "terms.agree" : "again");
    };
    /** Without what there is to read nobody agrees. */
    const load = async () => { info = await parley.info(); draw(); };
    const agree = async () => {
      const me = parley.user?.guest ? keep(AGREED, version) : await parley.acceptTerms(version);
      // It may have changed meanwhile.
      if (me?.termsRequired) { version = me.termsRequired; draw(); return; }
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
    const dialog = h("dialog", { class: "sheet", "aria-labelledby": "terms", closedby: "none" },
      h("div", { class: "sheet-head" }, h("h2", { id: "terms" }, t("terms"))),
      h("form", { class: "sheet-body", on: { submit: (event) => { event.preventDefault(); work(info ? agree : load); } } },
        text, error, h("div", { class: "sheet-foot" }, button(t("signout"), () => attempt(() => parley.signOut())), submit)));
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
