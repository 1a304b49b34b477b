// Starts the client: signs in, connects, and puts the three columns together.

import { Parley } from "../js/parley.js";
import { fill, h, svg } from "./dom.js";
import { t, useClock, useLanguage } from "./i18n.js";
import { icons } from "./icons.js";
import { connectIdentity } from "./account/identities.js";
import { CallScreen } from "./calls.js";
import { DialogList } from "./list.js";
import { DialogScreen } from "./dialog.js";
import { Drafts, clearDrafts } from "./drafts.js";
import { clearNearby } from "./nearby.js";
import { closeNotifications, followNotifications, notifyOf, registerPush, registerWorker } from "./notifications.js";
import { People } from "./people.js";
import { preferences } from "./preferences.js";
import { returned } from "./provider.js";
import { clearShared, offerShared } from "./share.js";
import { signInScreen } from "./signin.js";
import { Stars } from "./stars.js";
import { agreeToTerms, checkTerms, clearTerms, hasTerms } from "./terms.js";
import { attempt, describe, toast } from "./ui.js";

/** Set in the storage of the tab when a session has ended that the user did not end. */
const ENDED = "parley.ended";

/** The signed-in client: what the screens share. */
export class App {
  /**
   * @param {HTMLElement} root
   * @param {import("../js/parley.js").Parley} parley
   */
  constructor(root, parley) {
    this.root = root;
    this.parley = parley;
    useClock(() => parley.now());
    this.people = new People(parley);
    this.stars = new Stars(parley);
    this.drafts = new Drafts(this);
    this.list = new DialogList(this);
    this.main = h("main", { class: "talk" });
    this.frame = h("div", { class: "frame", data: { open: "false" } }, this.list.element, this.main);
    fill(root, this.frame);
    this.showNothing();
    this.calls = new CallScreen(this);
    parley.on("message", (event) => notifyOf(this, event));
    parley.on("call", ({ call }) => {
      if (call.state.state !== "ringing") closeNotifications(call.id);
    });
    followNotifications(this);
    parley.on("unread", () => this.showTotal());
    parley.on("dialog.deleted", ({ dialogId }) => {
      if (this.screen?.dialogId === dialogId) this.closeDialog();
    });
    addEventListener("hashchange", () => this.followAddress());
    addEventListener("keydown", (event) => this.shortcut(event));
    document.addEventListener("visibilitychange", () => this.setPresence());
  }

  /** `came` is with what a provider has sent the user back. */
  async start(came) {
    this.list.draw();
    const connected = this.parley.connect().catch((error) => {
      if (error.code !== "signed-out") toast(describe(error));
    });
    // What is kept here is shown at once, also without a network; a new browser waits for the first page.
    await Promise.all([this.parley.dialogs.length ? undefined : connected, this.people.load().catch(() => {})]);
    this.list.isLoaded = true;
    this.list.draw();
    this.list.loadPinned();
    this.stars.reach();
    this.showTotal();
    this.setPresence();
    this.followAddress();
    registerPush(this);
    if (came?.userId) connectIdentity(this, came);
    else offerShared(this);
  }

  /** Whether the user is a guest, whom the server refuses what lasts (docs/app-protocol.md): what they may not do is not offered. */
  get isGuest() {
    return Boolean(this.parley.user?.guest);
  }

  // MARK: Which dialog is open. The address has it, so that the browser's history works: #/dialog/ID/MESSAGE

  followAddress() {
    const [, kind, id, messageId] = location.hash.split("/").map(decodeURIComponent);
    if (kind === "dialog" && id) this.show(id, messageId);
    else this.closeDialog(false);
  }

  openDialog(dialogId, messageId) {
    const address = `#/dialog/${[dialogId, messageId].filter(Boolean).map(encodeURIComponent).join("/")}`;
    if (location.hash === address) this.show(dialogId, messageId);
    else location.hash = address;
  }

  /** Opens a dialog, and gives its composer what the user shares from elsewhere. Resolves with whether it has it. */
  async compose(dialogId, text, files) {
    const address = `#/dialog/${encodeURIComponent(dialogId)}`;
    if (location.hash !== address) history.pushState(null, "", address);
    this.show(dialogId);
    const { screen } = this;
    await screen.opened;
    if (screen.composer && !screen.mayWrite) toast(t("composer.readOnly"));
    if (!screen.composer || !screen.mayWrite) return false;
    screen.composer.receive(text, files);
    return true;
  }

  async openPrivate(userId) {
    await attempt(async () => this.openDialog((await this.parley.openPrivate(userId)).id));
  }

  show(dialogId, messageId) {
    this.frame.dataset.open = "true";
    if (this.screen?.dialogId === dialogId) {
      if (messageId) this.screen.jump(messageId);
      return;
    }
    closeNotifications(dialogId);
    this.closePanel();
    this.screen?.close();
    this.screen = new DialogScreen(this, dialogId, this.main);
    this.screen.opened = this.screen.open(messageId);
    this.list.draw();
    this.setPresence();
  }

  closeDialog(rewrites = true) {
    if (rewrites && location.hash.length > 1) {
      location.hash = "";
      return;
    }
    this.closePanel();
    this.screen?.close();
    this.screen = undefined;
    this.frame.dataset.open = "false";
    this.showNothing();
    this.list.draw();
    this.setPresence();
  }

  showNothing() {
    fill(
      this.main,
      h("div", { class: "nothing" }, h("div", { class: "empty" }, svg(icons.chat), h("p", {}, t("dialog.none")))),
    );
  }

  /** Shows a panel beside the dialog: an element with the class `panel`. */
  openPanel(element) {
    this.closePanel();
    this.panel = element;
    this.frame.classList.add("with-panel");
    this.frame.append(element);
    element.querySelector("button")?.focus();
  }

  closePanel() {
    this.panel?.remove();
    this.panel = undefined;
    this.frame.classList.remove("with-panel");
  }

  // MARK: What the server and the window are told

  setPresence() {
    const activeDialogId = this.screen?.dialogId;
    this.parley.setPresence({
      availability: document.hidden ? "away" : preferences.get("availability"),
      ...(activeDialogId && { activeDialogId }),
    });
  }

  showTotal() {
    const count = this.parley.totalUnread;
    document.title = count ? `(${count}) ${t("app.name")}` : t("app.name");
    navigator.setAppBadge?.(count).catch(() => {});
  }

  shortcut(event) {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      this.list.search.focus();
    } else if (
      event.key === "Escape" &&
      !event.defaultPrevented &&
      !document.querySelector("dialog[open], .menu:not([hidden])")
    ) {
      if (this.panel) {
        this.closePanel();
        this.screen?.composer?.focus();
      } else if (this.screen?.composer?.cancel()) this.screen.composer.focus();
    }
  }
}

/** Lets go of what is kept of a login that has ended, beside what the SDK keeps. */
function forget() {
  clearDrafts();
  clearNearby();
  clearTerms();
}

/** Shows the client to whom is signed in, and the sign-in to others. */
async function welcome(root) {
  const parley = new Parley({ url: location.origin, client: "Parley Web" });
  /** Whoever has just signed in agrees to the terms first; whoever was signed in, if it is known here or once the server has been asked. */
  const start = async (back, isNew = true) => {
    // The page begins anew for the sign-in, so that nothing of the account stays in memory.
    parley.on("session", async ({ signedIn, error }) => {
      if (signedIn) return;
      forget();
      // Who was signed out goes on with what was shared after the next sign-in.
      if (error) sessionStorage.setItem(ENDED, "true");
      else await clearShared();
      history.replaceState(null, "", "/");
      location.reload();
    });
    if (isNew || hasTerms()) fill(root, h("main", { class: "welcome" }));
    const isAsked = (isNew || hasTerms()) && (await agreeToTerms(parley));
    if (!isAsked) parley.next("connection", ({ state }) => state === "online").then(() => checkTerms(parley));
    return new App(root, parley).start(back);
  };
  const came = returned();
  if (await parley.open().catch(() => false)) return start(came, false);
  forget();
  const notice = sessionStorage.getItem(ENDED) ? t("session.ended") : undefined;
  sessionStorage.removeItem(ENDED);
  // Whoever was to connect a provider is signed out: nobody is signed in by it instead.
  return signInScreen(root, parley, notice, came?.userId ? undefined : came, () => start());
}

preferences.applyTheme();
await useLanguage(preferences.get("language"));
registerWorker();
await welcome(document.getElementById("app"));
