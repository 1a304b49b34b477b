// Notifications of the browser, and the service worker, which makes the client start without a network.

import { isFuture, t } from "./i18n.js";
import { preferences } from "./preferences.js";
import { summary } from "./summary.js";
import { cut } from "./text.js";

/** The members above which a group causes notifications of what addresses the user alone, unless they chose otherwise. */
const LARGE = 100;

/** Returns which messages of a dialog are notified: as the user has chosen, or by the default of docs/app-protocol.md, "Settings of a dialog". */
function notifyIn(dialog) {
  const { type, memberCount = 0, me } = dialog ?? {};
  return me?.notify ?? (type === "public" || (type === "group" && memberCount > LARGE) ? "mentions" : "always");
}

/** Whether a message mentions the user, or answers one of theirs. */
async function addresses(app, message) {
  const { userId } = app.parley;
  if (message.mentions?.some((mention) => mention.userId === userId)) return true;
  if (!message.replyTo) return false;
  const answered = await app.parley.message(message.dialogId, message.replyTo).catch(() => undefined);
  return answered?.senderId === userId;
}

/** Shows a message of somebody else as a notification, unless its dialog is on the screen or muted. */
export async function notifyOf(app, { message, isOwn, isReplay }) {
  if (isOwn || isReplay || !preferences.get("notifications") || globalThis.Notification?.permission !== "granted")
    return;
  if (!app.parley.isLeader || message.content.type === "system") return;
  if (document.hasFocus() && app.screen?.dialogId === message.dialogId) return;
  // The first message of a dialog can be here before the dialog is.
  const dialog = await app.parley.dialog(message.dialogId).catch(() => undefined);
  const notify = notifyIn(dialog);
  if (notify === "never" || isFuture(dialog?.me?.mutedUntil)) return;
  if (notify === "mentions" && !(await addresses(app, message))) return;
  if (app.people.blocked.has(message.senderId)) return;
  const name = app.people.nameOf(message.senderId, message.senderNick);
  const title = dialog && dialog.type !== "private" ? `${name} · ${app.people.titleOf(dialog)}` : name;
  showNotification(app, title, cut(summary(app, message), 200), message.dialogId);
}

/** Notifications are shown and closed one after the other, so that none is closed before it is there. */
let working = Promise.resolve();
const inTurn = (work) => {
  working = working.then(work).catch(() => {});
};
/** The notifications that no worker has shown, by their tags. */
const own = new Map();

/** The registration of a worker that shows notifications: phones have no others. */
const registration = async () => {
  const found = await navigator.serviceWorker?.getRegistration();
  return found?.active ? found : undefined;
};

/** Shows a notification, if the user allows them, that leads to a dialog. One with the same tag replaces it. */
export function showNotification(app, title, body, dialogId, tag = dialogId) {
  if (
    !preferences.get("notifications") ||
    globalThis.Notification?.permission !== "granted" ||
    (document.hasFocus() && app.screen?.dialogId === dialogId)
  )
    return;
  const options = { body, tag, data: { dialogId } };
  inTurn(async () => {
    const worker = await registration();
    if (worker) {
      await worker.showNotification(title, options);
      return;
    }
    const notification = new Notification(title, options);
    own.set(tag, notification);
    notification.onclick = () => {
      window.focus();
      app.openDialog(dialogId);
      notification.close();
    };
    notification.onclose = () => {
      if (own.get(tag) === notification) own.delete(tag);
    };
  });
}

/** Closes what a tag has shown: a dialog that is open now, a call that rings no more. */
export function closeNotifications(tag) {
  inTurn(async () => {
    own.get(tag)?.close();
    for (const each of (await (await registration())?.getNotifications({ tag })) ?? []) each.close();
  });
}

/** Asks the user for the permission. Returns whether it is given. */
export async function allowNotifications(app) {
  const isGranted = (await globalThis.Notification?.requestPermission()) === "granted";
  preferences.set("notifications", isGranted);
  if (isGranted) registerPush(app);
  return isGranted;
}

/** The texts of pushes, whose keys are the server's (docs/app-protocol.md, "Content"). */
const PUSHES = [
  "message",
  "messages",
  "from_in",
  "image",
  "video",
  "audio",
  "file",
  "location",
  "contact",
  "sticker",
  "encrypted",
  "call",
  "missed_call",
];

/**
 * Registers this browser for pushes, where the server sends them: then one is told of messages while no tab is open. It is repeated at
 * every start, as a registration ends with its login. The service worker finds the texts in this language where it looks for them.
 */
export async function registerPush(app) {
  // Guests have no devices.
  if (app.isGuest || !preferences.get("notifications") || globalThis.Notification?.permission !== "granted") return;
  try {
    const { webPushKey } = await app.parley.info();
    const { pushManager } = (await navigator.serviceWorker?.ready) ?? {};
    if (!webPushKey || !pushManager) return;
    const texts = Object.fromEntries(
      PUSHES.map((key) => [`parley_${key}`, t(`push.${key}`, { first: "{0}", second: "{1}" })]),
    );
    await (await caches.open("texts")).put("/texts", new Response(JSON.stringify(texts)));
    const subscription =
      (await pushManager.getSubscription()) ??
      (await pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: webPushKey }));
    const { endpoint, keys } = subscription.toJSON();
    await app.parley.putDevice(app.parley.deviceId, {
      platform: "web",
      locale: document.documentElement.lang,
      push: { provider: "webpush", subscription: { endpoint, keys } },
    });
  } catch {
    // Without pushes there are notifications as long as a tab is open.
  }
}

/** Opens the dialog of a notification that was clicked: the worker has shown it, and brings this page to the front. */
export function followNotifications(app) {
  navigator.serviceWorker?.addEventListener("message", ({ data }) => {
    if (data.dialogId) app.openDialog(data.dialogId);
  });
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
