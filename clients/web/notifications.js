// Notifications of the browser, and the service worker, which makes the client start without a network.

import { preferences } from "./preferences.js";
import { summary } from "./summary.js";

/** Shows a message of somebody else as a notification, unless its dialog is on the screen or muted. */
export function notifyOf(app, { message, isOwn, isReplay }) {
  if (isOwn || isReplay || !preferences.get("notifications") || globalThis.Notification?.permission !== "granted") return;
  if (!app.parley.isLeader || message.content.type === "system") return;
  if (document.hasFocus() && app.screen?.dialogId === message.dialogId) return;
  const dialog = app.parley.dialogs.find((each) => each.id === message.dialogId);
  const { notify, mutedUntil } = dialog?.me ?? {};
  if (notify === "never" || (mutedUntil && new Date(mutedUntil) > new Date())) return;
  const isAddressed = message.mentions?.some((mention) => mention.userId === app.parley.userId);
  if (notify === "mentions" && !isAddressed) return;
  if (app.people.blocked.has(message.senderId)) return;
  const name = app.people.nameOf(message.senderId, message.senderNick);
  const title = dialog && dialog.type !== "private" ? `${name} · ${app.people.titleOf(dialog)}` : name;
  showNotification(app, title, summary(app, message).slice(0, 200), message.dialogId);
}

/** Shows a notification, if the user allows them, that leads to a dialog. */
export function showNotification(app, title, body, dialogId) {
  if (!preferences.get("notifications") || globalThis.Notification?.permission !== "granted" || (document.hasFocus() && app.screen?.dialogId === dialogId)) return;
  const notification = new Notification(title, { body, tag: dialogId });
  notification.onclick = () => {
    window.focus();
    app.openDialog(dialogId);
    notification.close();
  };
}

/** Asks the user for the permission. Returns whether it is given. */
export async function allowNotifications() {
  const isGranted = (await globalThis.Notification?.requestPermission()) === "granted";
  preferences.set("notifications", isGranted);
  return isGranted;
}

/** Registers `/sw.js`. Where the browser asks for trusted types, this is the only address that is one. */
export function registerWorker() {
  if (!navigator.serviceWorker) return;
  const address = "/sw.js";
  const policy = globalThis.trustedTypes?.createPolicy("parley", {
    createScriptURL(text) {
      if (text !== address) throw new TypeError("This is not the service worker.");
      return text;
    },
  });
  navigator.serviceWorker.register(policy ? policy.createScriptURL(address) : address).catch(() => {});
}
