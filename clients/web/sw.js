// Keeps the client's own files, so that it starts without a network. It never keeps anything of the protocol or of people:
// messages are in the SDK's store.

const worker = /** @type {WorkerScope} */ (/** @type {unknown} */ (self));
const CACHE = "/client/0/";
/** What another app has shared, until the page has taken it (share.js): `/shared` tells what it is, `/shared/0` and so on are the files. */
const SHARED = "shared";
/** The most files of one message. */
const FILES = 10;

worker.addEventListener("install", (event) => {
  worker.skipWaiting();
  event.waitUntil(keep());
});

/** Keeps the page, what it links to and what it loads later: the first visit was not seen by this worker. The browser has most of it already. */
async function keep() {
  const cache = await caches.open(CACHE);
  const answer = await fetch("/");
  if (!answer.ok) return;
  const files = [...(await answer.clone().text()).matchAll(/(?:href|src|content)="(\/client\/[^"]+)"/g)].map(
    (match) => match[1],
  );
  await Promise.all([cache.put("/", answer), cache.addAll(files)]);
}

worker.addEventListener("activate", (event) => {
  event.waitUntil(
    (async () => {
      for (const name of await caches.keys()) if (![CACHE, SHARED, "texts"].includes(name)) await caches.delete(name);
      await worker.clients.claim();
    })(),
  );
});

worker.addEventListener("fetch", (event) => {
  const address = new URL(event.request.url);
  if (address.origin !== location.origin) return;
  if (event.request.method === "POST" && address.pathname === "/share") event.respondWith(takeShare(event.request));
  if (event.request.method !== "GET") return;
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

/** Puts aside what another app shares (`share_target` of the manifest), in place of what was shared before, and shows the page, which asks for whom it is. */
async function takeShare(request) {
  try {
    await caches.delete(SHARED);
    const form = await request.formData();
    const files = form.getAll("files").filter((each) => each instanceof File && each.name);
    const cache = await caches.open(SHARED);
    const names = [];
    for (const file of files.slice(0, FILES)) {
      await cache.put(`/shared/${names.length}`, new Response(file)).then(
        () => names.push(file.name),
        () => {
          /* There is no room for it. */
        },
      );
    }
    const [title, text, url] = ["title", "text", "url"].map((name) => form.get(name) ?? "");
    const shared = { title, text, url, names, lost: files.length - names.length, time: Date.now() };
    await cache.put("/shared", new Response(JSON.stringify(shared)));
  } catch {
    // What cannot be read cannot be shared.
  }
  return Response.redirect("/", 303);
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

worker.addEventListener("push", (event) => event.waitUntil(show(event.data?.json() ?? {})));

/**
 * Shows a push. Its texts are keys of the catalogue, which a page has put aside in the user's language, or texts of the app's backend. The
 * rule for what is shown as a name is in text.js, which this worker cannot import because it is no module: the server has applied the rule.
 * The worker does not know the names of the user's contacts, so it marks no imitators; the page does when it is opened.
 */
async function show({ title, body, dialogId, callId, type }) {
  const texts = (await (await (await caches.open("texts")).match("/texts"))?.json()) ?? {};
  const write = (part) =>
    part?.text ??
    texts[part?.key]?.replace(/\{(\d)\}/g, (_, index) => part.args?.[index] ?? "") ??
    part?.args?.[0] ??
    "";
  if (type === "call.end") {
    for (const each of await worker.registration.getNotifications({ tag: callId })) each.close();
  }
  await worker.registration.showNotification(write(title) || "Parley", {
    body: write(body),
    tag: (type === "call" && callId) || (dialogId ?? callId ?? type),
    data: { dialogId },
  });
}

worker.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const { dialogId } = event.notification.data ?? {};
  event.waitUntil(
    (async () => {
      const pages = await worker.clients.matchAll({ type: "window", includeUncontrolled: true });
      const page = pages.find(({ url }) => new URL(url).pathname === "/");
      if (!page) return worker.clients.openWindow(dialogId ? `/#/dialog/${encodeURIComponent(dialogId)}` : "/");
      // The page goes there without being loaded anew.
      page.postMessage({ dialogId });
      return page.focus();
    })(),
  );
});
