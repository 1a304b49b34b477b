// Keeps the client's own files, so that it starts without a network. It never keeps anything of the protocol or of people:
// messages are in the SDK's store.

const CACHE = "/client/0/";

self.addEventListener("install", (event) => {
  self.skipWaiting();
  event.waitUntil(keep());
});

/** Keeps the page and what it links to: the first visit was not seen by this worker. The browser has most of it already. */
async function keep() {
  const cache = await caches.open(CACHE);
  const answer = await fetch("/");
  if (!answer.ok) return;
  const files = [...(await answer.clone().text()).matchAll(/(?:href|src)="(\/client\/[^"]+)"/g)].map((match) => match[1]);
  await Promise.all([cache.put("/", answer), cache.addAll(files)]);
}

self.addEventListener("activate", (event) => {
  event.waitUntil((async () => {
    for (const name of await caches.keys()) if (name !== CACHE && name !== "texts") await caches.delete(name);
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (event) => {
  const address = new URL(event.request.url);
  if (event.request.method !== "GET" || address.origin !== location.origin) return;
  if (address.pathname === "/") event.respondWith(page(event.request));
  else if (address.pathname.startsWith(CACHE)) event.respondWith(file(event.request));
});

/** The page: the newest one, or without a network the kept one. */
async function page(request) {
  const cache = await caches.open(CACHE);
  try {
    const answer = await fetch(request);
    if (answer.ok) await cache.put("/", answer.clone());
    return answer;
  } catch (error) {
    const kept = await cache.match("/");
    if (kept) return kept;
    throw error;
  }
}

/** A file, whose address changes with it: once fetched it is never asked for again. */
async function file(request) {
  const cache = await caches.open(CACHE);
  const kept = await cache.match(request);
  if (kept) return kept;
  const answer = await fetch(request);
  if (answer.ok) await cache.put(request, answer.clone());
  return answer;
}

self.addEventListener("push", (event) => event.waitUntil(show(event.data?.json() ?? {})));

/** Shows a push. Its texts are keys of the catalogue, which a page has put aside in the user's language, or texts of the app's backend. */
async function show({ title, body, dialogId, callId, type }) {
  const texts = await (await (await caches.open("texts")).match("/texts"))?.json() ?? {};
  const write = (part) => part?.text ?? texts[part?.key]?.replace(/\{(\d)\}/g, (_, index) => part.args?.[index] ?? "") ?? part?.args?.[0] ?? "";
  if (type === "call.end") {
    for (const each of await self.registration.getNotifications({ tag: callId })) each.close();
  }
  await self.registration.showNotification(write(title) || "Parley", {
    body: write(body), tag: (type === "call" && callId) || (dialogId ?? callId ?? type), data: { dialogId },
  });
}

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { dialogId } = event.notification.data ?? {};
  event.waitUntil((async () => {
    const pages = await self.clients.matchAll({ type: "window", includeUncontrolled: true });
    const page = pages.find(({ url }) => new URL(url).pathname === "/");
    if (!page) return self.clients.openWindow(dialogId ? `/#/dialog/${encodeURIComponent(dialogId)}` : "/");
    // The page goes there without being loaded anew.
    page.postMessage({ dialogId });
    return page.focus();
  })());
});
