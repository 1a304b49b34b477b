"""The web client in headless Chromium, driven by Playwright, with slixmpp as the other person; and what serves it."""
import asyncio
import gzip
import json
import re
import struct

from lib.apps import App, exchange, exchange_json
from lib.browser import accessible, browsing
from lib.files import png
from lib.harness import PATIENCE, ROOT, expect, on_server
from lib.peers import Client, text

CLIENTS = ROOT / "clients"
# Names, texts, file names and reactions of a hostile peer.
NASTY = [
    "<script>window.hacked=1</script>", "<img src=x onerror=window.hacked=1>", "\"><svg onload=window.hacked=1>", "javascript:window.hacked=1",
    "{{constructor.constructor('window.hacked=1')()}}", "\u202eoemoR\u202c", "\u2067\u202djuliet\u2066", "Z" + "\u0338\u0489\u0355" * 40, "W" * 400,
    "\u200b\u2060Juliet", "a\u2028b", "${window.hacked=1}", "&lt;b&gt;&amp;", "\u0430dmin", "data:text/html,<script>window.hacked=1</script>", "\U0001f468" + "\u200d\U0001f468" * 30,
]


# MARK: What serves it


def serving(server):
    def get(path, **headers):
        return exchange("GET", server.base + path, headers=headers)

    status, fields, page = get("/")
    expect(status == 200 and fields["Content-Type"] == "text/html; charset=utf-8", f"{status} {fields}")
    policy = fields["Content-Security-Policy"]
    for rule in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "require-trusted-types-for 'script'"]:
        expect(rule in policy, f"{rule} is not in {policy}")
    expect("unsafe" not in policy and "*" not in policy, policy)
    expect(fields["X-Content-Type-Options"] == "nosniff" and fields["Referrer-Policy"] == "no-referrer", f"{fields}")
    expect(get("/", **{"If-None-Match": fields["ETag"]})[0] == 304, "the page is sent again though it is the same")
    # The files named by `content` are loaded when they are first shown.
    links = re.findall(r'(?:href|src|content)="(/[^"]+)"', page.decode())
    for link in links:
        status, fields, plain = get(link)
        expect(status == 200, f"{link}: {status}")
        if link.startswith("/client/"):
            expect("immutable" in fields["Cache-Control"], f"{link}: {fields['Cache-Control']}")
        if len(plain) > 1000:
            status, fields, data = get(link, **{"Accept-Encoding": "gzip"})
            expect(fields["Content-Encoding"] == "gzip" and gzip.decompress(data) == plain, f"{link} is not compressed")
    # What is here is served, and nothing but it.
    base = next((link for link in links if link.startswith("/client/")), "").split("/web/")[0].split("/js/")[0]
    expect(base, f"the page loads nothing of /client/: {links}")
    for path in sorted([*(CLIENTS / "web").rglob("*"), *(CLIENTS / "js").glob("*.js")]):
        name = path.relative_to(CLIENTS)
        if path.is_file() and path.suffix != ".md" and name.name not in ("node.js", "websocket.js"):
            expect(get(f"{base}/{name}")[0] == 200, f"clients/{name} is not in Sources/CWebFiles/files.c: make generate")
            # One after the other is told of the next otherwise: a round trip each. One language is enough, and few people sign up.
            if path.suffix == ".js" and name.name not in ("sw.js", "ar.js", "proof.js"):
                expect(f"{base}/{name}" in links, f"clients/web/index.html neither preloads {name} nor names it as loaded later")
    # Browsers offer to install what has icons of these sizes.
    manifest = json.loads(get("/manifest.webmanifest")[2])
    sizes = {}
    for icon in manifest["icons"]:
        status, fields, data = get(icon["src"])
        expect(status == 200 and fields["Content-Type"] == icon["type"], f"{icon}: {status} {fields}")
        if icon["type"] == "image/png":
            expect(icon["sizes"] == "{}x{}".format(*struct.unpack(">II", data[16:24])) and len(data) < 10_000, f"{icon}: {len(data)} bytes")
        sizes.setdefault(icon["purpose"], set()).add(icon["sizes"])
    expect({"192x192", "512x512"} <= sizes["any"] and "512x512" in sizes["maskable"], f"{sizes}")
    for path in ["/client/", base, base + "/web/", base + "/web/../../../etc/passwd", "/nothing", "/index.html"]:
        status, fields, body = get(path)
        expect(status == 404 and json.loads(body)["code"] == "path-unknown", f"{path}: {status} {body[:80]}")


def sources(_):
    """No way from a string to markup, nothing from elsewhere, no string outside the catalogue's languages."""
    for path in [*(CLIENTS / "web").rglob("*.js"), *(CLIENTS / "js").glob("*.js")]:
        code = re.sub(r"^\s*(//|\*|/\*).*$", "", path.read_text(), flags=re.M)
        found = re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|createContextualFragment|DOMParser|srcdoc", code)
        expect(not found, f"{path.name}: {found}")
        expect(not re.search(r"""(?:import|from)\s*\(?["'`]https?:""", code), f"{path.name} imports from elsewhere")


def catalogues(_):
    """Both languages have the same strings, each with the same values, and what the sources ask for by name is there."""
    strings = {name: dict(re.findall(r'^  "?([\w.-]+)"?: (.*),$', (CLIENTS / f"web/strings/{name}.js").read_text(), re.M)) for name in ("en", "ar")}
    english, arabic = strings["en"], strings["ar"]
    expect(len(english) > 300 and set(english) == set(arabic), f"in one language only: {set(english) ^ set(arabic)}")
    values = lambda text: set(re.findall(r"\{(\w+)\}", text))
    differ = [key for key in english if values(english[key]) != values(arabic[key]) or english[key].startswith("{ ") != arabic[key].startswith("{ ")]
    expect(not differ, f"other values: {differ}")
    asked = {key for path in (CLIENTS / "web").rglob("*.js") for key in re.findall(r"""\bt\(\s*"([\w.-]+)\"""", path.read_text())}
    expect(len(asked) > 100 and asked <= set(english), f"not in the catalogue: {asked - set(english)}")


# MARK: In the browser


async def bubble(page, words, status=None):
    """Waits for a message on the screen, with the given state of delivery."""
    found = page.locator(f".message:has-text({json.dumps(words)})").last
    await found.wait_for()
    if status:
        await found.locator(f".status .icon.{status}").wait_for()
    return found


async def say(page, words):
    await page.fill(".write", words)
    await page.keyboard.press("Enter")


async def talking(checks, server, browser, romeo):
    page = await browser.page()
    sizes = []
    page.on("response", lambda response: sizes.append(response))
    with checks.check("web client: who signs in sees their contacts; the first load is small"):
        await browser.sign_in("juliet", page)
        await page.locator(".row:has-text('Romeo')").click()
        await page.wait_for_selector(".write")
        total = 0
        for response in sizes:
            if "/v1/" not in response.url:
                total += (await response.request.sizes())["responseBodySize"]
        expect(0 < total < 150_000, f"{total} bytes")
        print(f"the first load is {total} bytes")
    with checks.check("web client: a message both ways, typing, and ticks for sent, delivered, read"):
        await say(page, "Wherefore art thou?")
        got = await romeo.saw("message", text("Wherefore art thou?"))
        # slixmpp confirms by itself.
        await bubble(page, "Wherefore art thou?", "delivered")
        romeo.displays("juliet@localhost", got["id"])
        await bubble(page, "Wherefore art thou?", "read")
        composing = romeo.make_message("juliet@localhost", mtype="chat")
        composing["chat_state"] = "composing"
        composing.send()
        await page.locator(".head:has-text('typing')").wait_for()
        romeo.send_message("juliet@localhost", "Here I am", mtype="chat")
        await bubble(page, "Here I am")
        await page.locator(".head:has-text('typing')").wait_for(state="detached")
    with checks.check("web client: reply, reaction, edit, deletion"):
        mine = await bubble(page, "Wherefore art thou?")
        theirs = await bubble(page, "Here I am")
        await theirs.locator(".text").dblclick()
        await say(page, "At last")
        await (await bubble(page, "At last")).locator(".quote:has-text('Here I am')").wait_for()
        await theirs.locator(".bubble").click(button="right")
        await page.locator(".menu .emojis button").first.click()
        await theirs.locator(".reactions button").wait_for()
        await mine.locator(".bubble").click(button="right")
        await page.locator(".menu button:has-text('Edit')").click()
        await say(page, "Wherefore art thou, Romeo?")
        await (await bubble(page, "Wherefore art thou, Romeo?")).locator(".meta:has-text('edited')").wait_for()
        await (await bubble(page, "At last")).locator(".bubble").click(button="right")
        await page.locator(".menu button:has-text('Delete for everyone')").click()
        await page.locator("dialog button.danger").click()
        await page.locator(".message.gone").wait_for()
    with checks.check("web client: a picture is sent by the file picker, and shown"):
        await page.set_input_files(".composer input[type=file]", [{"name": "rose.png", "mimeType": "image/png", "buffer": png(40, 30)}])
        await page.locator(".tray-item").wait_for()
        await say(page, "A rose")
        got = await romeo.saw("message", lambda stanza: "/uploads/" in str(stanza["body"]))
        expect(str(got["body"]).endswith("rose.png"), f"{got['body']}")
        await page.wait_for_function("() => [...document.querySelectorAll('.picture img')].some((each) => each.naturalWidth === 40)")
    with checks.check("web client: a voice message with its waveform"):
        await page.click("[aria-label='Record a voice message']")
        await page.locator(".recording .grow:text('0:01')").wait_for()
        await page.click(".recording .main")
        await romeo.saw("message", lambda stanza: "recording." in str(stanza["body"]))
        await page.locator(".sound .wave").wait_for()
    with checks.check("web client: two tabs show the same, and the unread count"):
        other = await browser.page(page.context)
        await other.goto(server.base + "/")
        await other.locator(".row:has-text('Romeo')").wait_for()
        await say(page, "In both tabs")
        await other.locator(".row:has-text('In both tabs')").wait_for()
        await page.goto(server.base + "/#/")
        await other.bring_to_front()
        romeo.send_message("juliet@localhost", "Unread", mtype="chat")
        await other.locator(".row:has-text('Unread') .badge").wait_for()
        await other.close()
    return page


async def surviving(checks, server, browser, page, romeo):
    loop = asyncio.get_running_loop()
    with checks.check("web client: it starts without a network after the first visit"):
        first = await browser.page()
        await first.goto(server.base + "/")
        await first.wait_for_function("() => navigator.serviceWorker.controller")
        await first.context.set_offline(True)
        await first.reload()
        await first.wait_for_selector("[name=password]")
        await first.context.close()
    with checks.check("web client: a message that is written offline survives a reload, and is sent once"):
        await page.bring_to_front()
        await page.locator(".row:has-text('Romeo')").click()
        await page.wait_for_selector(".write")
        await page.wait_for_function("() => navigator.serviceWorker.controller")
        await page.context.set_offline(True)
        await say(page, "From under the balcony")
        await bubble(page, "From under the balcony", "sending")
        await page.reload()
        await bubble(page, "From under the balcony", "sending")
        await page.context.set_offline(False)
        await romeo.saw("message", text("From under the balcony"))
        await bubble(page, "From under the balcony", "delivered")
        expect(not [data for event, data in romeo.seen if event == "message" and str(data["body"]) == "From under the balcony"], "it was sent twice")
    with checks.check("web client: a page that ends before a message is stored has its text as a draft"):
        # A transaction lasts as long as it is given requests, and is undone if the page ends before.
        await page.evaluate("""() => {
          const { put } = IDBObjectStore.prototype;
          IDBObjectStore.prototype.put = function (...values) {
            const request = put.apply(this, values);
            if (this.name === "outbox") { const again = () => { this.count().onsuccess = again; }; again(); }
            return request;
          };
        }""")
        await say(page, "Not stored yet")
        await bubble(page, "Not stored yet")
        expect(not await page.locator(".message:has-text('Not stored yet') .icon.sending").count(), "what is not stored is shown as being sent")
        await page.reload()
        await page.wait_for_function("() => document.querySelector('.write')?.value === 'Not stored yet'")
        await page.keyboard.press("Enter")
        await romeo.saw("message", text("Not stored yet"))
        await bubble(page, "Not stored yet", "delivered")
        # What says that a draft is gone has no text.
        await page.wait_for_function("() => !Object.entries(localStorage).some(([key, value]) => key.startsWith('parley.draft/') && JSON.parse(value).text)")
    with checks.check("web client: a restarted server"):
        await loop.run_in_executor(None, server.stop)
        await say(page, "While it is away")
        await bubble(page, "While it is away", "sending")
        await loop.run_in_executor(None, server.start)
        await bubble(page, "While it is away", "sent")
    browser.errors.clear()  # of the connections that were refused


async def invited(checks, server, browser):
    with checks.check("web client: an invitation's link leads to an account and a first contact"):
        loop = asyncio.get_running_loop()
        account = {"username": "nina", "password": "By a link alone"}
        status, _, problem = await loop.run_in_executor(None, exchange_json, "POST", server.base + "/v1/users", account)
        expect(status == 403 and problem["code"] == "registration-off", f"{status} {problem}")
        made = await loop.run_in_executor(None, server.command, "invite", "create", "--contact", "juliet")
        page = await browser.page()
        await page.goto(f"{server.base}/invite/{re.search('preauth=([A-Za-z0-9]+)', made)[1]}")
        await page.click("a:has-text('Chat in this browser')")
        await page.locator("h2:has-text('Juliet'):has-text('invites you')").wait_for()
        await page.fill("[name=username]", "nina")
        await page.fill("[name=password]", "By a link alone")
        await page.click("form button[type=submit]")
        await page.wait_for_selector(".side .dialogs")
        expect("invite" not in page.url, page.url)
        roster = await loop.run_in_executor(None, server.command, "roster", "list", "nina")
        expect("juliet@localhost" in roster and "both" in roster, roster)
        await page.context.close()


async def opening(checks, server, browser):
    def fill():
        app = App(server, "nurse", "seed")
        app.call("PATCH", "/v1/users/me", {"name": "Angelica"})
        group = app.call("POST", "/v1/dialogs", {"type": "group", "name": "Kitchen", "memberIds": ["juliet", "romeo"]})[1]["id"]
        pinned = app.say(group, "Soup at noon")
        app.say(group, "Who brings bread?")
        expect(app.call("PUT", f"/v1/dialogs/{group}/messages/{pinned['id']}/pin")[0] == 200, "it cannot be pinned")
        return app, group

    loop = asyncio.get_running_loop()
    app, group = await loop.run_in_executor(None, fill)
    page = await browser.sign_in("juliet")
    with checks.check("web client: opening a group costs one request: its messages, members, pins and people"):
        row = page.locator(".row:has-text('Kitchen')")
        await row.wait_for()
        await page.wait_for_load_state("networkidle")
        asked = []
        page.on("request", lambda request: asked.append(f"{request.method} {request.url}") if "/v1/" in request.url else None)
        await row.click()
        await page.locator(".strip:has-text('Soup at noon')").wait_for()
        await page.locator(".message .sender:has-text('Angelica')").wait_for()
        # What the opening causes is asked for before a later message is shown.
        await loop.run_in_executor(None, app.say, group, "Nobody?")
        await bubble(page, "Nobody?")
        expect(len(asked) == 1 and f"/v1/dialogs/{group}/messages?" in asked[0], f"{asked}")
    await page.context.close()


async def scrolling(checks, server, browser):
    loop = asyncio.get_running_loop()

    def fill():
        app = App(server, "nurse", "seed")
        dialog = app.dialog("juliet")
        for number in range(400):
            status, answer = app.call("POST", f"/v1/dialogs/{dialog}/messages", {"clientId": f"n{number}", "content": {"type": "text", "text": f"Line {number}" + "\nand more" * (number % 3)}})
            expect(status == 201, f"{answer}")
        # What is unread would be opened at its beginning.
        status, marker = App(server, "juliet", "seed").call("PUT", f"/v1/dialogs/{dialog}/marker", {"read": answer["id"]})
        expect(status == 200, f"{marker}")
        return dialog

    dialog = await loop.run_in_executor(None, fill)
    page = await browser.sign_in("juliet")
    with checks.check("web client: a long history loads as one scrolls, keeps its place, and stays a few elements"):
        await page.evaluate("() => { window.longest = 0; new PerformanceObserver((list) => { for (const each of list.getEntries()) longest = Math.max(longest, each.duration); }).observe({type: 'longtask', buffered: true}); }")
        await page.goto(f"{server.base}/#/dialog/{dialog}")
        await page.locator(".notice.unread, .message:has-text('Line')").first.wait_for()
        await page.evaluate("() => { window.longest = 0; }")
        await page.hover(".scroller")
        jumps = await page.evaluate("""async () => {
          const scroller = document.querySelector(".scroller");
          const top = () => scroller.getBoundingClientRect().top;
          let jumps = 0;
          let [most, slice, made] = [0, 0, 0];
          // What one task adds is told at its end, at once.
          new MutationObserver((records) => {
            const added = records.reduce((sum, record) => sum + [...record.addedNodes].filter((each) => each.dataset?.key).length, 0);
            slice = Math.max(slice, added);
            made += added;
          }).observe(scroller.firstElementChild, {childList: true});
          const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
          for (let step = 0; step < 4000 && !document.querySelector(".notice:first-child span")?.textContent.includes("beginning"); step += 1) {
            scroller.scrollTop -= 240;
            await frame();
            const seen = [...scroller.querySelectorAll("[data-key]")].find((each) => each.getBoundingClientRect().top >= top());
            const before = seen?.getBoundingClientRect().top;
            await frame();
            if (seen && (!seen.isConnected || Math.abs(seen.getBoundingClientRect().top - before) > 2)) jumps += 1;
            most = Math.max(most, scroller.querySelectorAll("[data-key]").length);
          }
          return {jumps, most, slice, made, nodes: document.querySelectorAll(".history *").length, first: document.querySelector(".message .text")?.textContent ?? "", longest: Math.round(window.longest)};
        }""")
        print(f"scrolled: {jumps}")
        expect(jumps["first"].startswith("Line 0"), f"the beginning was not reached: {jumps}")
        expect(jumps["jumps"] == 0, f"the place was lost: {jumps}")
        # Counts, not times: what bounds the longest task on any machine.
        expect(jumps["most"] <= 130 and jumps["nodes"] <= 2500, f"all messages are elements: {jumps}")
        expect(jumps["slice"] <= 8, f"one frame makes more than its share: {jumps}")
        expect(jumps["made"] <= 400, f"messages are made or moved more than once: {jumps}")
        await page.click(".down")
        await page.locator(".message:has-text('Line 399')").wait_for()
    with checks.check("web client: a search leads to the message"):
        await page.fill(".side input[type=search]", "Line 77")
        await page.locator(".row:has-text('Line 77')").last.click()
        await page.locator(".message.found:has-text('Line 77'), .message:has-text('Line 77'):focus").first.wait_for()
    await page.context.close()


async def hostile(checks, server, browser, romeo):
    """Names, texts, file names, locations and reactions of somebody who means harm."""
    loop = asyncio.get_running_loop()

    def attack():
        app = App(server, "tybalt", "seed")
        app.call("PATCH", "/v1/users/me", {"name": NASTY[0] + "\u202e" + "<b>", "status": NASTY[1]})
        dialog = app.dialog("juliet")
        group = app.call("POST", "/v1/dialogs", {"type": "group", "name": NASTY[1] + "\u202egnp.", "memberIds": ["juliet"], "about": NASTY[2]})[1]["id"]
        for place in (dialog, group):
            for number, words in enumerate(NASTY):
                status, made = app.call("POST", f"/v1/dialogs/{place}/messages", {"clientId": f"x{place}{number}", "content": {"type": "text", "text": words}})
                expect(status == 201, f"{words!r}: {made}")
            app.call("PUT", f"/v1/dialogs/{place}/messages/{made['id']}/reactions", {"emoji": ["<b>x</b>", "\u202e", "javascript:1"]})
            app.call("POST", f"/v1/dialogs/{place}/messages", {"clientId": f"l{place}", "content": {"type": "location", "lat": 1, "lng": 2, "name": NASTY[1]}})
            app.call("POST", f"/v1/dialogs/{place}/messages", {"clientId": f"c{place}", "content": {"type": "contact", "text": NASTY[0], "name": NASTY[1], "emails": [NASTY[2]]}})
        return dialog, group

    dialog, group = await loop.run_in_executor(None, attack)
    for words in NASTY[:6]:  # as an XMPP client: a file elsewhere, with this name
        message = romeo.make_message("juliet@localhost", f"https://evil.example/{words}", mtype="chat")
        message["oob"]["url"] = "https://evil.example/x.svg"
        message.send()
    page = await browser.sign_in("juliet")
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    with checks.check("web client: what a hostile peer writes is text: it runs nothing, loads nothing, and stays in its place"):
        for place in (dialog, group, None):
            if place:
                await page.goto(f"{server.base}/#/dialog/{place}")
            else:
                await page.locator(".row:has-text('Romeo')").click()
            await page.locator(".message").first.wait_for()
            await page.click(".who")
            await page.locator(".panel .card h3").wait_for()
            expect(await page.evaluate("() => document.documentElement.scrollWidth <= innerWidth && document.querySelector('.scroller').scrollWidth <= document.querySelector('.scroller').clientWidth"),
                   f"something is wider than the screen in {place}")
            shown = await page.evaluate("() => document.querySelectorAll('.message script, .message iframe, .message [onerror], .message object, .message svg [onload]').length")
            expect(shown == 0, "markup of a peer became elements")
            wide = await page.evaluate("() => [...document.querySelectorAll('.message .bubble')].filter((each) => each.getBoundingClientRect().height > 700).length")
            expect(wide == 0, "a message is taller than the screen")
            links = await page.evaluate("() => [...document.querySelectorAll('.message a')].map((each) => each.protocol)")
            expect(set(links) <= {"https:", "http:"}, f"links to {set(links)}")
            for title in await page.locator("bdi").all_text_contents():
                expect(not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u2060]", title), f"{title!r} has marks of direction")
        expect(await page.evaluate("() => window.hacked") is None, "a script of a peer ran")
        elsewhere = [url for url in requests if not url.startswith((server.base, "blob:", "data:"))]
        expect(not elsewhere, f"loaded from elsewhere: {elsewhere}")
        expect(not browser.errors, f"the page complains: {browser.errors}")
    await page.context.close()


async def accessibility(checks, server, browser, page):
    with checks.check("web client: WCAG 2.2 AA by axe: sign-in, list, dialog, details, settings, both themes and directions"):
        blank = await browser.page()
        await blank.goto(server.base + "/")
        await blank.wait_for_selector("[name=password]")
        await accessible(blank, "sign-in")
        for theme in ("light", "dark"):
            await page.emulate_media(color_scheme=theme)
            await page.wait_for_selector(f"[data-theme={theme}]", state="attached")
            await page.locator(".row:has-text('Romeo')").click()
            await page.wait_for_selector(".write")
            await page.click(".who")
            await page.wait_for_selector(".panel .card")
            await accessible(page, f"list, dialog, details, {theme}")
            await page.click(".panel-head .tool")
            await page.click(".side-head .me")
            await page.locator(".side .section").nth(3).wait_for()
            await accessible(page, f"settings, {theme}")
            await page.click(".side-head .tool")
        await blank.close()
    with checks.check("web client: another language, from right to left, and a phone"):
        phone = await browser.sign_in("juliet", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, locale="ar")
        expect(await phone.evaluate("() => document.documentElement.dir") == "rtl", "not from right to left")
        await phone.locator(".row").first.click()
        await phone.wait_for_selector(".write")
        expect(await phone.locator(".side").is_hidden(), "the list covers the dialog")
        expect(await phone.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "wider than the screen")
        await accessible(phone, "phone, Arabic")
        await phone.go_back()
        await phone.locator(".row").first.wait_for()
        await phone.context.close()
    with checks.check("web client: the keyboard alone: to a dialog, through its messages, and back"):
        await page.goto(server.base + "/#/")
        await page.keyboard.press("Control+k")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".write:focus")
        await page.wait_for_selector(".message[tabindex='0']")  # there are no messages to go to before
        await page.keyboard.press("Shift+Tab")
        for _ in range(6):
            if await page.evaluate("() => Boolean(document.activeElement.dataset.key)"):
                break
            await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("ArrowUp")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".menu button:focus")
        await page.keyboard.press("Escape")
        await page.wait_for_selector(".message:focus")
    with checks.check("web client: a row that is drawn anew keeps the focus, at once"):
        app = App(server, "nurse", "focus")
        dialog = app.dialog("juliet")
        row = page.locator(f".row[data-id='{dialog}']")
        await row.wait_for()
        await row.focus()
        # The observer is called before anything else that the page does after the change.
        await page.evaluate("""() => {
          const row = document.activeElement;
          window.kept = new Promise((done) => new MutationObserver((_, observer) => {
            if (row.isConnected) return;
            observer.disconnect();
            done(document.activeElement.dataset.id === row.dataset.id);
          }).observe(row.parentElement, { childList: true }));
        }""")
        await asyncio.get_running_loop().run_in_executor(None, app.say, dialog, "A new line for the row")
        expect(await asyncio.wait_for(page.evaluate("() => window.kept"), PATIENCE), "the focus is elsewhere")


async def mentioning(checks, server, browser):
    loop = asyncio.get_running_loop()

    def gather():
        app = App(server, "nurse", "crowd")
        group = app.call("POST", "/v1/dialogs", {"type": "group", "name": "The houses", "memberIds": ["juliet"]})[1]["id"]
        server.add_users(*(f"guest{number:03}" for number in range(129)))
        for number in range(129):
            status, answer = app.call("PUT", f"/v1/dialogs/{group}/members/guest{number:03}", {})
            expect(status in (200, 201), f"{status} {answer}")
        news = app.call("POST", "/v1/dialogs", {"type": "group", "name": "News", "memberIds": ["juliet"]})[1]["id"]
        for number in range(40):
            app.call("POST", f"/v1/dialogs/{news}/messages", {"clientId": f"news{number}", "content": {"type": "text", "text": f"News {number}"}})
        return group, news

    group, news = await loop.run_in_executor(None, gather)
    page = await browser.sign_in("juliet")
    with checks.check("web client: a dialog opens at the first unread message"):
        await page.goto(f"{server.base}/#/dialog/{news}")
        await page.locator(".message:has-text('News 0')").wait_for()
        seen = await page.wait_for_function("""() => {
          const scroller = document.querySelector(".scroller").getBoundingClientRect();
          const line = document.querySelector(".notice.unread")?.getBoundingClientRect();
          return document.querySelectorAll(".message").length === 40 && line && line.top >= scroller.top && line.bottom < scroller.top + 250;
        }""")
        expect(seen and await page.locator(".down").is_visible(), "it opens at the end")
    with checks.check("web client: a mention is completed with a member of a large group whom nobody has seen yet"):
        await page.goto(f"{server.base}/#/dialog/{group}")
        await page.wait_for_selector(".write")
        await page.locator(".head:has-text('131 members')").wait_for()
        await page.type(".write", "@guest128")
        await page.locator(".suggestions button:has-text('guest128')").wait_for()
        await page.keyboard.press("Enter")
        await page.keyboard.press("Enter")
        await page.locator(".message .mention:has-text('@guest128')").wait_for()
    await page.context.close()


async def ending(checks, server, browser, page):
    with checks.check("web client: a revoked session leads to the sign-in"):
        romeo_page = await browser.sign_in("romeo")
        await romeo_page.wait_for_selector(".side")
        desk = App(server, "romeo", "desk")
        desk.call("DELETE", "/v1/sessions")
        await romeo_page.wait_for_selector("[name=password]")
        await romeo_page.locator(".error:has-text('signed out')").wait_for()
        await romeo_page.context.close()
    with checks.check("web client: nothing in the pages failed"):
        expect(not [error for error in browser.errors if "401" not in error], f"{browser.errors}")


async def client(checks, server):
    romeo = Client(server, "romeo@localhost/orchard")
    romeo.register_plugin("xep_0066")
    await romeo.arrive()
    romeo.send_presence()
    async with browsing(server) as browser:
        page = await talking(checks, server, browser, romeo)
        await surviving(checks, server, browser, page, romeo)
        await hostile(checks, server, browser, romeo)
        await invited(checks, server, browser)
        await opening(checks, server, browser)
        await scrolling(checks, server, browser)
        await accessibility(checks, server, browser, page)
        await mentioning(checks, server, browser)
        await ending(checks, server, browser, page)
    await asyncio.wait_for(romeo.disconnect(), PATIENCE)


async def body(checks, server):
    with checks.check("web client: files in the program, compressed, kept for ever, under a strict policy"):
        await asyncio.get_running_loop().run_in_executor(None, serving, server)
    with checks.check("web client: its sources make no markup of strings, and load nothing from elsewhere"):
        sources(server)
    with checks.check("web client: Arabic has every string of English, with the same values"):
        catalogues(server)
    await client(checks, server)


def run(checks):
    on_server(body, checks, "romeo", "juliet", "nurse", "tybalt")
