"""Web Push to the web client in headless Chromium: it registers this browser at Parley's server, which encrypts a push and sends it to a
push service (ours); what that decrypts is delivered to the client's service worker as a push event of the browser.

The headless shell knows no push service and gives no permission for notifications. So three things stand in for it: the answer of
`Notification.permission`, the subscription that `pushManager.subscribe` returns, and `showNotification`, which is recorded. A page cannot
make a `Notification`, as on phones.
"""
import asyncio
import json
import tempfile

from lib.apps import App
from lib.browser import browsing
from lib.harness import PATIENCE, expect, on_server
from lib.pushes import World

PAGE = """
window.Notification = class {
  static permission = "granted";
  constructor(title, options) {
    if (!window.hasNoWorker) throw new TypeError("Illegal constructor");
    window.made = {title, ...options, close: () => this.onclose()};
    Object.assign(this, window.made);
    window.made.click = () => this.onclick();
  }
};
window.shown = [];
ServiceWorkerRegistration.prototype.showNotification = async function (title, options) {
  const made = {title, ...options, close() { window.shown = window.shown.filter((each) => each !== made); }};
  window.shown = [...window.shown.filter((each) => each.tag !== made.tag), made];
};
ServiceWorkerRegistration.prototype.getNotifications = async ({tag}) => window.shown.filter((each) => each.tag === tag);
localStorage.setItem("parley.preferences", JSON.stringify({notifications: true}));
PushManager.prototype.getSubscription = async () => null;
PushManager.prototype.subscribe = async (options) => { window.asked = options; return {toJSON: () => (%s)}; };
"""
WORKER = """() => {
  self.shown = [];
  self.told = 0;
  self.waiters = new Map();
  // Resolves with what is shown when so many notifications have been.
  self.until = (count) => (self.told >= count ? Promise.resolve(self.shown) : new Promise((resolve) => self.waiters.set(count, resolve)))
    .then(() => self.shown.map(({title, body, tag, data}) => ({title, body, tag, data})));
  self.registration.showNotification = async (title, options) => {
    const made = {title, ...options, close() { self.shown = self.shown.filter((each) => each !== made); }};
    self.shown.push(made);
    self.told += 1;
    self.waiters.get(self.told)?.();
  };
  self.registration.getNotifications = async ({tag}) => self.shown.filter((each) => each.tag === tag);
}"""


# A click on a notification of a dialog, which the worker is told of.
CLICK = """(dialogId) => {
  self.dispatchEvent(Object.assign(new Event("notificationclick"), {notification: {close() {}, data: {dialogId}}, waitUntil(work) { work.catch(() => {}); }}));
}"""
# What the page has had shown, once it is as it is said to be.
SHOWN = "(wanted) => JSON.stringify(window.shown.map(({title, body, tag, data}) => [title, body, tag, data.dialogId])) === JSON.stringify(wanted)"


async def in_page(checks, page, romeo, dialog, say):
    """Notifications of an open page, which its worker shows: no others are there on phones."""
    run = lambda *arguments: asyncio.get_running_loop().run_in_executor(None, romeo.call, *arguments)
    said = lambda words: ["Romeo", words, dialog, dialog]
    with checks.check("web push: the worker of an open page shows its notifications, one for a dialog, until that is opened"):
        await say("a", {"type": "text", "text": "It is the east"})
        await page.wait_for_function(SHOWN, arg=[said("It is the east")])
        await say("b", {"type": "text", "text": "and Juliet is the sun"})
        await page.wait_for_function(SHOWN, arg=[said("and Juliet is the sun")])
        await page.click(".row:has-text('Romeo')")
        await page.wait_for_selector(".write")
        await page.wait_for_function(SHOWN, arg=[])
        await page.evaluate("() => { location.hash = ''; }")
        await page.wait_for_selector(".write", state="detached")
    with checks.check("web push: a call's notification is closed when the call has ended; that of a message stays"):
        await say("c", {"type": "text", "text": "Arise"})
        await page.wait_for_function(SHOWN, arg=[said("Arise")])
        _, call = await run("POST", "/v1/calls", {"userId": "juliet", "kind": "audio", "clientId": "p-call"})
        await page.wait_for_function(SHOWN, arg=[said("Arise"), ["مكالمة واردة", "Romeo", call["id"], dialog]])
        await run("DELETE", f"/v1/calls/{call['id']}")
        await page.wait_for_function("(call) => window.shown.every((each) => each.tag !== call)", arg=call["id"])
    with checks.check("web push: without a worker the page shows its notifications itself, and a click opens the dialog"):
        await page.evaluate("() => { window.hasNoWorker = true; navigator.serviceWorker.getRegistration = async () => undefined; }")
        await say("d", {"type": "text", "text": "Speak again"})
        await page.wait_for_function("() => window.made?.body === 'Speak again'")
        await page.evaluate("() => window.made.click()")
        await page.wait_for_selector(".write")
        await page.goto("about:blank")
        await page.goto(romeo.server.base + "/")
        await page.wait_for_selector(".side .dialogs")


async def walk(checks, server, world):
    loop = asyncio.get_running_loop()
    romeo = await loop.run_in_executor(None, App, server, "romeo")
    dialog = await loop.run_in_executor(None, romeo.dialog, "juliet")
    say = lambda number, content: loop.run_in_executor(None, romeo.call, "POST", f"/v1/dialogs/{dialog}/messages", {"clientId": f"p{number}", "content": content})
    taken = lambda what: loop.run_in_executor(None, world.browser.push, what, "/juliet", key)
    async with browsing(server) as browser:
        context = await browser.context(locale="ar")
        await context.add_init_script(PAGE % json.dumps(world.browser.subscription("/juliet")))
        page = await browser.page(context)
        with checks.check("web push: the browser is registered, with the server's key, at the user's sign-in"):
            async with page.expect_response(lambda response: "/v1/devices/" in response.url) as answer:
                await browser.sign_in("juliet", page)
            response = await answer.value
            expect(response.status in (200, 201), f"{response.status}: {await response.text()}")
            sent = response.request.post_data_json
            expect(sent["locale"] == "ar" and sent["push"]["provider"] == "webpush", f"{sent}")
            key = (await loop.run_in_executor(None, romeo.call, "GET", "/v1/info"))[1]["webPushKey"]
            asked = await page.evaluate("() => window.asked")
            expect(asked == {"userVisibleOnly": True, "applicationServerKey": key}, f"{asked}")
        await in_page(checks, page, romeo, dialog, say)
        with checks.check("web push: the service worker shows a push in the user's language, and one notification for a dialog"):
            worker = context.service_workers[0]
            await worker.evaluate(WORKER)
            await page.evaluate("() => { window.isSame = true; }")
            await worker.evaluate(CLICK, dialog)
            await page.wait_for_selector(".write")
            expect(await page.evaluate("() => window.isSame"), "a click on a notification loads the page anew")
            # No tab is open: a file of the same origin is none of the client's.
            await page.goto(server.base + "/manifest.webmanifest")
            session = await context.new_cdp_session(page)
            registration = loop.create_future()
            session.on("ServiceWorker.workerRegistrationUpdated", lambda event: registration.done() or not event["registrations"] or registration.set_result(event["registrations"][0]["registrationId"]))
            await session.send("ServiceWorker.enable")
            number = await asyncio.wait_for(registration, PATIENCE)

            async def deliver(notice):
                await session.send("ServiceWorker.deliverPushMessage", {"origin": server.base, "registrationId": number, "data": json.dumps(notice)})

            async def shown(count):
                return await asyncio.wait_for(worker.evaluate("(count) => self.until(count)", count), PATIENCE)

            await say(1, {"type": "text", "text": "Soft, what light"})
            _, notice = await taken("a message")
            await deliver(notice)
            first, = await shown(1)
            expect(first == {"title": "Romeo", "body": "Soft, what light", "tag": dialog, "data": {"dialogId": dialog}}, f"{first}")
            await say(2, {"type": "sticker", "text": "🌹"})
            _, notice = await taken("a sticker")
            await deliver(notice)
            second = (await shown(2))[1]
            expect(second["body"] == "ملصق" and second["tag"] == dialog, f"not in Arabic, or another tag: {second}")
        with checks.check("web push: what is no push of the server is shown as it can be, and a call's notification ends with it"):
            await deliver({"title": {"text": "Parley"}, "body": {"key": "parley_call"}, "callId": "c1", "type": "call"})
            third = (await shown(3))[2]
            expect(third["tag"] == "c1" and third["body"] == "مكالمة واردة", f"{third}")
            await deliver({"title": {"key": "unknown", "args": ["Romeo"]}, "body": {"key": "parley_missed_call"}, "callId": "c1", "type": "call.end"})
            found = await shown(4)
            expect(len(found) == 3 and found[2]["body"] == "مكالمة فائتة" and found[2]["title"] == "Romeo", f"{found}")


def run(checks):
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder)
        on_server(lambda checks, server: walk(checks, server, world), checks, "romeo", "juliet", push__content="body", **world.settings)
