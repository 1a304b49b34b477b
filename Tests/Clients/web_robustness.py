"""The web client in headless Chromium, driven by Playwright, where it is tried hardest: a history of 10,000 messages."""
import asyncio
import datetime
import json
import pathlib
import re
import urllib.parse

from lib.apps import App
from lib.browser import browsing
from lib.files import ask, upload
from lib.harness import PASSWORD, Server, expect

# MARK: 10,000 messages

LINES = 10_000
BEGAN = datetime.datetime(2024, 3, 1, 8, tzinfo=datetime.timezone.utc)
# Looks at each frame, and counts what the history shows. While `isStill` no message on the screen may move, whatever is added above it.
WATCH = r"""() => {
  const scroller = document.querySelector(".scroller");
  const list = scroller.firstElementChild;
  const numbers = new WeakMap();
  const shown = new Set();
  const watch = window.watch = {frames: 0, most: 0, nodes: 0, slice: 0, made: 0, shown: 0, gaps: [], isStill: false, still: 0, moved: [], isAtBeginning: false};
  const take = (element) => {
    const number = Number(/^Line (\d+)\./.exec(element.querySelector(".text").textContent)[1]);
    numbers.set(element, number);
    watch.shown = shown.add(number).size;
  };
  const rows = () => [...list.querySelectorAll(":scope > [data-key]")];
  rows().forEach(take);
  // What one task adds is told at its end, at once.
  new MutationObserver((records) => {
    const added = records.flatMap((record) => [...record.addedNodes]).filter((each) => each.dataset?.key);
    added.forEach(take);
    watch.slice = Math.max(watch.slice, added.length);
    watch.made += added.length;
  }).observe(list, {childList: true});
  let held;
  const look = () => {
    const here = rows();
    const {top} = scroller.getBoundingClientRect();
    watch.frames += 1;
    watch.most = Math.max(watch.most, here.length);
    watch.nodes = Math.max(watch.nodes, list.querySelectorAll("*").length);
    here.slice(1).forEach((each, index) => { if (numbers.get(each) !== numbers.get(here[index]) + 1) watch.gaps.push([numbers.get(here[index]), numbers.get(each)]); });
    if (held) {
      watch.still += held.first !== here[0];
      const at = held.element.isConnected && held.element.getBoundingClientRect().top;
      if (at === false || Math.abs(at - held.at) > 2) watch.moved.push([numbers.get(held.element), held.at, at]);
    }
    const element = here.find((each) => each.getBoundingClientRect().top >= top);
    held = watch.isStill && element && {element, at: element.getBoundingClientRect().top, first: here[0]};
    watch.isAtBeginning = Boolean(list.querySelector(".notice:first-child")?.textContent.includes("beginning"));
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""
# Looks at some frames after those that still had to do with the wheel.
STILL = """async () => {
  const frame = () => new Promise(requestAnimationFrame);
  for (let count = 0; count < 4; count += 1) await frame();
  watch.isStill = true;
  for (let count = 0; count < 8; count += 1) await frame();
  watch.isStill = false;
  return watch.isAtBeginning && !document.querySelector(".scroller").scrollTop;
}"""


def history(folder, one, other):
    """An export (XEP-0227) of two users who have written to each other for a year."""
    path = pathlib.Path(folder) / "history.xml"
    with path.open("w") as out:
        out.write(f"<server-data xmlns='urn:xmpp:pie:0'><host jid='localhost'><user name='{other}' password='{PASSWORD}'/>"
                  f"<user name='{one}' password='{PASSWORD}'><archive xmlns='urn:xmpp:pie:0#mam'>")
        for number in range(LINES):
            sender, receiver = (one, other) if number // 3 % 2 else (other, one)
            stamp = (BEGAN + datetime.timedelta(minutes=50 * number)).strftime("%Y-%m-%dT%H:%M:%SZ")
            words = f"Line {number}." + "&#10;and more" * (number % 3)
            out.write(f"<result xmlns='urn:xmpp:mam:2' id='{number}'><forwarded xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='{stamp}'/>"
                      f"<message xmlns='jabber:client' type='chat' id='m{number}' from='{sender}@localhost/x' to='{receiver}@localhost'>"
                      f"<body>{words}</body></message></forwarded></result>\n")
        out.write("</archive></user></host></server-data>")
    return str(path)


def tasks_of(trace):
    """The CPU time of each task of the page's main thread in milliseconds, in order: the time that passes says more of the machine's load."""
    events = json.loads(trace)["traceEvents"]
    main = {(each["pid"], each["tid"]) for each in events if each["name"] == "thread_name" and each["args"]["name"] == "CrRendererMain"}
    return sorted(each["tdur"] / 1000 for each in events if (each["pid"], each["tid"]) in main and each["name"].endswith("RunTask") and "tdur" in each)


async def scrolling(checks, server, browser):
    loop = asyncio.get_running_loop()
    page = await browser.sign_in("juliet")
    with checks.check("web client: 10,000 messages by the wheel: a few are elements, none is skipped, doubled or made twice, and none moves by itself"):
        await page.locator(".row:has-text('nurse')").click()
        await page.locator(f".message:has-text('Line {LINES - 1}.')").wait_for()
        await page.hover(".scroller")
        await page.evaluate(WATCH)
        await browser.browser.start_tracing(categories=["toplevel"])
        for step in range(4 * LINES):
            await page.mouse.wheel(0, -2000)
            if step % 16 == 0 and await page.evaluate(STILL):
                break
        nurse = await loop.run_in_executor(None, App, server, "nurse")
        dialog = await loop.run_in_executor(None, nurse.dialog, "juliet")
        await loop.run_in_executor(None, nurse.say, dialog, f"Line {LINES}.")
        await page.locator(f".row:has-text('Line {LINES}.')").wait_for()
        await page.evaluate(STILL)
        found = await page.evaluate("() => watch")
        tasks = tasks_of(await browser.browser.stop_tracing())
        print(f"scrolled: {found}; CPU time of {len(tasks)} tasks: 99th percentile {tasks[len(tasks) * 99 // 100]} ms, the longest {tasks[-1]} ms")
        expect((await page.locator(".message .text").first.inner_text()).startswith("Line 0."), "the beginning was not reached")
        expect(found["shown"] == LINES and not found["gaps"], f"messages are missing or doubled: {found}")
        expect(found["still"] > 20 and not found["moved"], f"the place was lost: {found}")
        expect(found["most"] <= 130 and found["nodes"] <= 2000, f"too many elements: {found}")
        expect(found["slice"] <= 8, f"one frame makes more than its share: {found}")
        expect(found["made"] <= LINES, f"messages are made or moved more than once: {found}")
        # A bound that says whether the page stands still, and nothing of how fast the machine is.
        expect(len(tasks) > LINES / 10 and tasks[-1] < 1000, f"the longest of {len(tasks)} tasks: {tasks[-3:]}")
        await page.click(".down")
        await page.locator(f".message:has-text('Line {LINES}.')").wait_for()
        await page.locator(".down").wait_for(state="hidden")
        expect(await page.locator(".messages [data-key]").count() <= 130, "too many elements at the end")
    await page.context.close()


# MARK: Hostile peers

# Each is a name, a text, a file's name, a place and a reaction of somebody who means harm.
NASTY = [
    "<img src=x onerror=\"window.hacked=1\">", "<script>alert(1)</script>", "\"><svg/onload=alert(1)>", "[x](javascript:alert(1))", "\u202egpj.exe\u202c", "\u2067\u202dtxet\u2069",
    "Z\u0338\u0489\u0355" + "\u0351\u0362" * 50, "W" * 240, "\u200b\u2060\u00ad", "\ufdfd" * 10, "<a href='data:text/html,<script>alert(1)</script>'>x</a>", "\U000e0041\U000e007f",
]
# What of a page was made of markup, sticks out, or is a mark that turns others around.
FAULTS = r"""() => {
  const faults = [];
  if (window.hacked) faults.push("a script ran");
  if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page has ${document.documentElement.scrollWidth} pixels of ${innerWidth}`);
  for (const each of document.querySelectorAll(".scroller, .panel, .side, .dialogs, .head, .menu, .sheet, .gallery header")) {
    if (each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX !== "hidden") faults.push(`${each.className} is ${each.scrollWidth} wide in ${each.clientWidth}`);
    const box = each.getBoundingClientRect();
    if (box.width && (box.left < -1 || box.right > innerWidth + 1)) faults.push(`${each.className} is outside`);
  }
  for (const each of document.querySelectorAll("#app script, #app iframe, #app object, #app embed, #app [onload], #app [onerror], dialog script, dialog [onerror]")) faults.push(each.outerHTML.slice(0, 100));
  for (const each of document.querySelectorAll("bdi, .file-name, .sender, .reactions")) if (/[\u202a-\u202e\u2066-\u2069\u200b\u2060]/.test(each.textContent)) faults.push(`marks in ${each.textContent}`);
  for (const each of document.querySelectorAll("#app a, dialog a")) if (!/^(https?|mailto|xmpp|blob):$/.test(each.protocol)) faults.push(each.href);
  for (const each of document.querySelectorAll(".message .bubble")) if (each.getBoundingClientRect().height > 700 && innerWidth > 400) faults.push("a message is taller than the screen");
  return faults;
}"""
PAGE = b"<!doctype html><script>alert(1)</script>"
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'><script>alert(1)</script></svg>"
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog/OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\ntrailer<</Root 1 0 R>>"
# Bytes, the type and the name that the sender gives.
LIES = [
    (PAGE, "text/html", "page.html"), (PAGE, "image/png", "page.png"), (PAGE, "text/plain", "page.txt"), (PAGE, "application/xhtml+xml", "page.xhtml"), (PAGE, "video/mp4", "page.mp4"),
    (SVG, "image/svg+xml", "picture.svg"), (SVG, "image/png", "picture.png"), (SVG, "text/xml", "picture.xml"), (PDF, "application/pdf", "paper.pdf"), (PDF, "image/jpeg", "paper.jpg"),
    (b"alert(1)", "text/javascript", "code.js"), (PAGE, "text/html", "photo.jpg" + " " * 90 + ".html"),
]


def must(app, method, path, body=None):
    status, made = app.call(method, path, body)
    expect(status in (200, 201), f"{path}: {body}: {made}")
    return made


def attack(server):
    """Three people of whom two imitate romeo, and a group of one of them, in which all of `NASTY` is at every place."""
    tybalt, mercutio = App(server, "tybalt"), App(server, "mercutio")
    must(tybalt, "PATCH", "/v1/users/me", {"name": "Romeo", "status": NASTY[0] + NASTY[6]})
    must(mercutio, "PATCH", "/v1/users/me", {"name": "R\u043em\u0435o\u200b"})
    romeo = App(server, "romeo")
    for app in (romeo, tybalt, mercutio):
        app.say(app.dialog("juliet"), "It is me")
    group = must(tybalt, "POST", "/v1/dialogs", {"type": "group", "name": "Romeo", "memberIds": ["juliet", "mercutio", "romeo"], "about": NASTY[0] + NASTY[7]})["id"]
    files = []
    for number, nasty in enumerate(NASTY):
        made = tybalt.say(group, f"{nasty} https://example.org/{nasty}", f"t{number}")
        must(tybalt, "PUT", f"/v1/dialogs/{group}/messages/{made['id']}/reactions", {"emoji": [nasty[:20]]})
        must(tybalt, "POST", f"/v1/dialogs/{group}/messages", {"clientId": f"l{number}", "replyTo": made["id"], "content": {"type": "location", "lat": 1, "lng": 2, "name": nasty}})
        must(tybalt, "POST", f"/v1/dialogs/{group}/messages", {"clientId": f"c{number}", "content": {"type": "contact", "text": f"{nasty}.", "name": nasty, "emails": [nasty], "phones": [nasty]}})
    for number, (data, kind, title) in enumerate(LIES + [(b"x", "application/zip", each[:200] + ".exe") for each in NASTY]):
        made = upload(server, tybalt, data, title, kind)
        files.append((kind, made))
        must(tybalt, "POST", f"/v1/dialogs/{group}/messages", {"clientId": f"f{number}", "content": {"type": "file", "attachments": [made["id"]]}})
    pinned = tybalt.say(group, NASTY[0] + NASTY[7], "pinned")
    must(tybalt, "PUT", f"/v1/dialogs/{group}/messages/{pinned['id']}/pin")
    for name in ("https://xn--pple-43d.example/", "https://\u0430pple.example/a", "https://apple.example@evil.example/", "https://b\u00fccher.example/", "https://apple.example/\u202ekcab"):
        tybalt.say(group, f"Look: {name} here")
    mercutio.say(group, "I am Romeo")
    last = romeo.say(group, "No, I am")
    # What is unread would be opened at its beginning.
    must(App(server, "juliet"), "PUT", f"/v1/dialogs/{group}/marker", {"read": last["id"]})
    return tybalt, group, files


async def hostile(checks, server, browser):
    loop = asyncio.get_running_loop()
    tybalt, group, files = await loop.run_in_executor(None, attack, server)
    page = await browser.sign_in("juliet")
    asked, asks = [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (asks.append(dialog.message), asyncio.ensure_future(dialog.dismiss())))
    browser.errors.clear()
    with checks.check("web client: who has the name of somebody else, or one that looks like it, is shown with the address"):
        for title in ("Romeo (romeo@localhost)", "Romeo (tybalt@localhost)", "R\u043em\u0435o (mercutio@localhost)", "Romeo (Group)"):
            await page.locator(".row .title", has_text=title).first.wait_for()
        await page.locator(f".row[data-id='{group}']").click()
        for title in ("Romeo (romeo@localhost)", "R\u043em\u0435o (mercutio@localhost)"):
            await page.locator(".message .sender", has_text=title).first.wait_for(state="attached")
        await loop.run_in_executor(None, tybalt.call, "PATCH", "/v1/users/me", {"name": NASTY[0] + "\u202e" + NASTY[6]})
        # Strangers' new names are told with their dialogs.
        await page.locator(".row .title:text-is('Romeo (tybalt@localhost)')").click()
        await page.locator(".row .title:text-is('Romeo (tybalt@localhost)')").wait_for(state="detached")
    with checks.check("web client: what hostile peers write, anywhere, runs nothing, loads nothing and stays in its place"):
        for width in (1280, 320):
            await page.set_viewport_size({"width": width, "height": 760})
            await page.goto(f"{server.base}/#/dialog/{group}")
            await page.locator(".message:has-text('kcab')").wait_for()
            for part in ("end", "middle", "details", "members"):
                if part == "details":
                    await page.click(".who")
                    await page.locator(".panel .card h3").wait_for()
                elif part == "members":
                    await page.locator(".panel .item:has-text('mercutio@localhost')").scroll_into_view_if_needed()
                elif part == "middle":
                    await page.evaluate("() => { document.querySelector('.scroller').scrollTop /= 2; }")
                found = await page.evaluate(FAULTS)
                expect(not found, f"{part}, {width} pixels: {found}")
            await page.click(".panel-head .tool")
        await page.set_viewport_size({"width": 1280, "height": 760})
        elsewhere = [url for url in asked if not url.startswith((server.base, "blob:", "data:"))]
        expect(not elsewhere and not asks, f"loaded from elsewhere: {elsewhere}; asked: {asks}")
    with checks.check("web client: a link that looks as if it led elsewhere is shown with its host; a file's name ends as the file does"):
        shown = await page.evaluate("() => [...document.querySelectorAll('.message .text')].map((each) => each.innerText).filter((each) => each.startsWith('Look:'))")
        for host, name in (("xn--pple-43d.example", "\u0430pple.example/a"), ("evil.example", "@evil.example")):
            expect(any(name in each and f"({host})" in each for each in shown), f"{host}: {shown}")
        expect(sum("(" in each for each in shown) == 2, f"honest links are marked: {shown}")
        names = await page.evaluate("() => [...document.querySelectorAll('.file-name')].map((each) => each.textContent)")
        expect("photo.jpg .html" in names and sum(each.endswith(".exe") for each in names) == len(NASTY), f"{names}")
    with checks.check("web client: files whose types lie are served with types that run nothing, in a sandbox, and do nothing when opened"):
        tab = await browser.page(page.context)
        tab.on("dialog", lambda dialog: (asks.append(dialog.message), asyncio.ensure_future(dialog.dismiss())))
        for kind, made in files:
            status, fields, _ = await loop.run_in_executor(None, ask, server, made["url"])
            served = fields["Content-Type"].split(";")[0]
            expect(status == 200 and not re.search("html|xml|svg|script", served), f"{made['name']} of {kind} is served as {served}")
            expect("sandbox" in fields["Content-Security-Policy"] and "default-src 'none'" in fields["Content-Security-Policy"] and fields["X-Content-Type-Options"] == "nosniff", f"{fields}")
            expect(fields["Content-Disposition"].startswith("attachment") or re.match("(image|video|text)/", served), f"{made['name']}: {fields}")
            if not fields["Content-Disposition"].startswith("attachment"):
                parts = urllib.parse.urlsplit(made["url"])
                await tab.goto(f"{server.base}{parts.path}?{parts.query}", wait_until="load")
                expect(await tab.evaluate("() => document.scripts.length === 0 && origin === 'null'"), f"{made['name']} is a document of the server's origin")
        expect(not asks, f"{asks}")
    await page.context.close()


# MARK: A wrong clock

SHIFT = """(() => {
  const Real = Date;
  const now = () => Real.now() + %d;
  globalThis.Date = class extends Real {
    constructor(...values) { values.length ? super(...values) : super(now()); }
    static now() { return now(); }
  };
})()"""
DAY = 86_400_000


async def bubble(page, words, status=None):
    """Waits for a message on the screen, with the given state of delivery."""
    found = page.locator(f".message:has-text({json.dumps(words)})").last
    await found.wait_for()
    if status:
        await found.locator(f".status .icon.{status}").wait_for()


async def say(page, words):
    await page.fill(".write", words)
    await page.keyboard.press("Enter")


async def clocks(checks, server, browser):
    loop = asyncio.get_running_loop()
    call = lambda body, *values: loop.run_in_executor(None, body, *values)
    romeo = await call(App, server, "romeo")
    dialog = await call(romeo.dialog, "juliet")
    for name, shift in (("ahead", 2 * DAY), ("behind", -2 * DAY)):
        context = await browser.context(timezone_id="UTC")
        await context.add_init_script(SHIFT % shift)
        page = await browser.page(context)
        mine = [f"{number} by a clock two days {name}" for number in range(4)]

        async def ordered(*wanted):
            await bubble(page, wanted[-1])
            shown = [each.split("\n")[0] for each in await page.locator(".message .text").all_inner_texts()]
            expect(shown[-len(wanted):] == list(wanted), f"in another order: {shown[-5:]}")
            days = await page.locator(".notice.day").all_inner_texts()
            expect(days.count("Today") == 1 and days[-1] == "Today", f"days: {days}")

        with checks.check(f"web client: a clock two days {name}: the order, one day, the states of a message, one that waits"):
            await browser.sign_in("juliet", page)
            await page.goto(f"{server.base}/#/dialog/{dialog}")
            await page.wait_for_selector(".write")
            await call(romeo.say, dialog, mine[0])
            await bubble(page, mine[0])
            await say(page, mine[1])
            await bubble(page, mine[1], "sent")
            last = (await call(romeo.history, dialog))[-1]["id"]
            for state in ("delivered", "read"):
                await call(must, romeo, "PUT", f"/v1/dialogs/{dialog}/marker", {state: last})
                await bubble(page, mine[1], state)
            await context.set_offline(True)
            await say(page, mine[2])
            await bubble(page, mine[2], "sending")
            await ordered(*mine[:3])
            await context.set_offline(False)
            await bubble(page, mine[2], "sent")
            await call(romeo.say, dialog, mine[3])
            await ordered(*mine)
            times = await page.locator(f".row[data-id='{dialog}'] .when").all_inner_texts()
            expect(all(re.fullmatch(r"\d?\d:\d\d", each) for each in times) and times, f"the list says {times}")
        with checks.check(f"web client: a clock two days {name}: a token is renewed once, and a message is sent at the time that was chosen"):
            renewed = []
            page.on("request", lambda request: renewed.append(request.post_data_json) if request.url.endswith("/v1/sessions") else None)
            expired = {"code": "token-expired", "detail": "It has expired.", "status": 401}
            await page.route("**/v1/scheduled-messages*", lambda route: route.fulfill(status=401, content_type="application/problem+json", body=json.dumps(expired)), times=1)
            await page.fill(".write", "At its time")
            await page.click("[aria-label='Attach']")
            await page.click(".menu button:has-text('Send later')")
            wanted = datetime.datetime.fromisoformat(await page.input_value("dialog [type=datetime-local]") + "+00:00")
            late = (wanted - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
            expect(3000 < late < 3700, f"an hour from now is {wanted}")
            await page.click("dialog button.main")
            await page.locator("dialog").wait_for(state="detached")
            await page.click("[aria-label='Attach']")
            await page.click(".menu button:has-text('Scheduled')")
            await page.locator("dialog .item:has-text('At its time')").wait_for()
            juliet = await call(App, server, "juliet", f"clock-{name}")
            kept = (await call(juliet.call, "GET", "/v1/scheduled-messages"))[1]["items"]
            expect([each["sendAt"][:16] for each in kept] == [wanted.isoformat()[:16]], f"{kept} in place of {wanted}")
            await page.click("dialog .item button.danger")
            await page.locator("dialog").wait_for(state="detached")
            expect([each["grant"] for each in renewed] == ["refresh"], f"renewed: {renewed}")
        await context.close()


# MARK: Two tabs

STORED = """async () => {
  const opened = indexedDB.open("parley:default");
  const database = await new Promise((resolve, reject) => { opened.onsuccess = () => resolve(opened.result); opened.onerror = () => reject(opened.error); });
  const tables = [...database.objectStoreNames];
  const transaction = database.transaction(tables);
  const read = (table) => new Promise((resolve) => { const request = transaction.objectStore(table).getAllKeys(); request.onsuccess = () => resolve(request.result.map((key) => `${table}/${key}`)); });
  const keys = (await Promise.all(tables.map(read))).flat();
  database.close();
  return keys;
}"""


async def tabs(checks, server, browser):
    loop = asyncio.get_running_loop()
    call = lambda body, *values: loop.run_in_executor(None, body, *values)
    romeo = await call(lambda: App(server, "romeo").connect())
    dialog = await call(romeo.dialog, "juliet")
    context = await browser.context()

    async def opened():
        page = await browser.page(context)
        await page.goto(f"{server.base}/#/dialog/{dialog}")
        return page

    async def both_ways(page, words):
        await call(romeo.say, dialog, f"{words}, she hears")
        await bubble(page, f"{words}, she hears")
        await say(page, f"{words}, he hears")
        await call(romeo.message, f"{words}, he hears")
        await bubble(page, f"{words}, he hears", "sent")

    with checks.check("web client: the tab with the connection is closed, and the other one goes on: it receives, and sends what it wrote without a network, once"):
        first = await browser.sign_in("juliet", await browser.page(context))
        second = await opened()
        await second.wait_for_selector(".write")
        await both_ways(second, "Through the first tab")
        await context.set_offline(True)
        await say(second, "Kept by the second tab")
        await bubble(second, "Kept by the second tab", "sending")
        await first.close()
        await context.set_offline(False)
        await call(romeo.message, "Kept by the second tab")
        await bubble(second, "Kept by the second tab", "sent")
        await both_ways(second, "Through the second tab")
        texts = [each["content"]["text"] for each in await call(romeo.history, dialog)]
        expect(texts.count("Kept by the second tab") == 1, f"{texts[-8:]}")
    with checks.check("web client: a restarted server, with two tabs open"):
        third = await opened()
        await third.wait_for_selector(".write")
        await both_ways(third, "Before the restart")
        await call(server.stop)
        await say(third, "Written without a server")
        await bubble(third, "Written without a server", "sending")
        await bubble(second, "Written without a server", "sending")
        await call(server.start)
        await call(romeo.close)
        await call(romeo.connect)
        for page in (second, third):
            await bubble(page, "Written without a server", "sent")
            await both_ways(page, f"After the restart, in tab {2 if page == second else 3}")
        texts = [each["content"]["text"] for each in await call(romeo.history, dialog)]
        expect(texts.count("Written without a server") == 1, f"{texts[-8:]}")
    with checks.check("web client: a revoked session leads both tabs to the sign-in, and leaves neither messages nor tokens in the browser"):
        # It is written a moment after it is shown.
        await second.wait_for_function(
            f"async (keys) => {{ const stored = await ({STORED})(); return keys.every((key) => stored.includes(key)); }}",
            arg=[f"tails/{dialog}", f"dialogs/{dialog}", "state/session"])
        juliet = await call(App, server, "juliet", "revoker")
        await call(juliet.call, "DELETE", "/v1/sessions")
        for page in (second, third):
            await page.wait_for_selector("[name=password]")
            await page.locator(".error:has-text('signed out')").wait_for()
        for page in (second, third):
            left = await page.evaluate(STORED)
            expect(set(left) == {"state/deviceId", "state/former"}, f"{left}")
            kept = await page.evaluate("() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
            expect("hears" not in kept and "oken" not in kept, kept)
    await call(romeo.close)
    await context.close()


# MARK: All of them

SLICES = [scrolling, hostile, clocks, tabs]


async def body(checks, server):
    async with browsing(server) as browser:
        for part in SLICES:
            await part(checks, server, browser)


def run(checks):
    with Server() as server:
        # History is imported before anything else is written.
        server.command("import", "xep0227", history(server.folder, "juliet", "nurse"))
        server.start().add_users("romeo", "tybalt", "mercutio")
        server.befriend("romeo", "juliet")
        try:
            asyncio.run(body(checks, server))
        except Exception:
            print(server.tail())
            raise
