"""The web client in headless Chromium, driven by Playwright, with slixmpp as the other person; and what serves it."""
import asyncio
import gzip
import json
import pathlib
import re

from axe_playwright_python.base import AXE_FILE_PATH

from lib.apps import App, exchange
from lib.browser import browsing
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
    links = re.findall(r'(?:href|src)="(/[^"]+)"', page.decode())
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
            expect(get(f"{base}/{name}")[0] == 200, f"clients/{name} is not in Sources/CWebFiles/files.c")
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
    keys = {name: set(re.findall(r'^  "?([\w.-]+)"?:', (CLIENTS / f"web/strings/{name}.js").read_text(), re.M)) for name in ("en", "ar")}
    expect(keys["ar"] <= keys["en"], f"not in English: {keys['ar'] - keys['en']}")


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


async def axe(page, where):
    """Runs axe-core in the page: it is put there by the debugger, which the policy does not bind."""
    script = pathlib.Path(AXE_FILE_PATH).read_text()
    session = await page.context.new_cdp_session(page)
    await session.send("Runtime.evaluate", {"expression": script})
    result = await page.evaluate(
        "() => axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']})")
    told = [f"{each['id']}: {node['html'][:160]} {node.get('failureSummary', '')[:200]}" for each in result["violations"] for node in each["nodes"][:2]]
    expect(not told, f"{where}: " + "\n".join(told))


async def talking(checks, server, browser, romeo):
    app = lambda body: asyncio.get_running_loop().run_in_executor(None, body)
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
        marker = romeo.make_message("juliet@localhost", mtype="chat")
        marker["displayed"]["id"] = got["id"]
        marker.send()
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
    with checks.check("web client: a restarted server"):
        await loop.run_in_executor(None, server.stop)
        await say(page, "While it is away")
        await bubble(page, "While it is away", "sending")
        await loop.run_in_executor(None, server.start)
        await bubble(page, "While it is away", "sent")
    browser.errors.clear()  # of the connections that were refused


async def scrolling(checks, server, browser):
    loop = asyncio.get_running_loop()

    def fill():
        app = App(server, "nurse", "seed")
        dialog = app.dialog("juliet")
        for number in range(400):
            status, answer = app.call("POST", f"/v1/dialogs/{dialog}/messages", {"clientId": f"n{number}", "content": {"type": "text", "text": f"Line {number}" + "\nand more" * (number % 3)}})
            expect(status == 201, f"{answer}")
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
          let most = 0;
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
          return {jumps, most, first: document.querySelector(".message .text")?.textContent ?? "", longest: Math.round(window.longest)};
        }""")
        print(f"scrolled: {jumps}")
        expect(jumps["first"].startswith("Line 0"), f"the beginning was not reached: {jumps}")
        expect(jumps["jumps"] == 0, f"the place was lost: {jumps}")
        expect(jumps["most"] <= 130, f"all messages are elements: {jumps}")
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


async def accessible(checks, server, browser, page):
    with checks.check("web client: WCAG 2.2 AA by axe: sign-in, list, dialog, details, settings, both themes and directions"):
        blank = await browser.page()
        await blank.goto(server.base + "/")
        await blank.wait_for_selector("[name=password]")
        await axe(blank, "sign-in")
        for theme in ("light", "dark"):
            await page.emulate_media(color_scheme=theme)
            await page.wait_for_selector(f"[data-theme={theme}]", state="attached")
            await page.locator(".row:has-text('Romeo')").click()
            await page.wait_for_selector(".write")
            await page.click(".who")
            await page.wait_for_selector(".panel .card")
            await axe(page, f"list, dialog, details, {theme}")
            await page.click(".panel-head .tool")
            await page.click(".side-head .me")
            await page.locator(".side .section").nth(3).wait_for()
            await axe(page, f"settings, {theme}")
            await page.click(".side-head .tool")
        await blank.close()
    with checks.check("web client: another language, from right to left, and a phone"):
        phone = await browser.sign_in("juliet", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, locale="ar")
        expect(await phone.evaluate("() => document.documentElement.dir") == "rtl", "not from right to left")
        await phone.locator(".row").first.click()
        await phone.wait_for_selector(".write")
        expect(await phone.locator(".side").is_hidden(), "the list covers the dialog")
        expect(await phone.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), "wider than the screen")
        await axe(phone, "phone, Arabic")
        await phone.go_back()
        await phone.locator(".row").first.wait_for()
        await phone.context.close()
    with checks.check("web client: the keyboard alone: to a dialog, through its messages, and back"):
        await page.goto(server.base + "/#/")
        await page.keyboard.press("Control+k")
        await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await page.wait_for_selector(".write:focus")
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


async def calling(checks, server, browser):
    picture = "() => document.querySelector('.call .remote')?.videoWidth > 0"
    # Profiles of their own: what the checks before did to the other ones is no matter of this one.
    page, romeo = await browser.sign_in("juliet"), await browser.sign_in("romeo")
    with checks.check("web client: two browsers call each other, with sound and pictures in both directions"):
        await page.locator(".row:has-text('Romeo')").click()
        await page.click("[aria-label='Video call']")
        await romeo.click(".call .answer")
        for each in (page, romeo):
            await each.wait_for_function(picture)
        await romeo.click("[aria-label='Mute']")
        await romeo.locator("[aria-label='Unmute']").wait_for()
        await romeo.click("[aria-label='Hang up']")
        await page.locator("section.call").wait_for(state="detached")
        await page.locator(".notice.call").wait_for()
    with checks.check("web client: a call is declined, and another one given up is missed"):
        await page.click("[aria-label='Call']")
        await romeo.click(".call .hang-up")
        await page.locator(".toast:has-text('Declined')").wait_for()
        await page.click("[aria-label='Call']")
        await romeo.wait_for_selector(".call .answer")
        await page.click(".call .hang-up")
        await romeo.locator("section.call").wait_for(state="detached")
        await romeo.locator(".row:has-text('Missed call')").wait_for()
    await romeo.context.close()
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
        await scrolling(checks, server, browser)
        await accessible(checks, server, browser, page)
        await calling(checks, server, browser)
        await ending(checks, server, browser, page)
    await asyncio.wait_for(romeo.disconnect(), PATIENCE)


async def body(checks, server):
    with checks.check("web client: files in the program, compressed, kept for ever, under a strict policy"):
        await asyncio.get_running_loop().run_in_executor(None, serving, server)
    with checks.check("web client: its sources make no markup of strings, and load nothing from elsewhere"):
        sources(server)
    await client(checks, server)


def run(checks):
    on_server(body, checks, "romeo", "juliet", "nurse", "tybalt")
