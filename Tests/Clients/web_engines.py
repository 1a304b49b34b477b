"""The web client in Firefox and in WebKit, the engine of Safari: the same short day in each, with slixmpp as the other person. Firefox and
Chromium call each other; WebKitGTK has no calls, and the client there says so.
"""
import asyncio
import contextlib
import os

from lib.apps import App
from lib.browser import browsing, perceives
from lib.engines import FirefoxPage, Screen, firefox, sign_in, webkit
from lib.files import png
from lib.harness import expect, on_server
from lib.peers import Client, text

LINES = 150
NASTY = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>\u202egnp.exe"
# Goes back a piece at each call, until the beginning is there.
BACK = """() => {
  document.querySelector(".scroller").scrollTop -= 400;
  return document.querySelector(".notice:first-child")?.textContent.includes("beginning");
}"""


async def say(page, words):
    await page.write(".write", words)
    await page.press("Enter")


async def told(page, words, status):
    """Waits for the user's own message on the screen, with this state of delivery."""
    await page.see(f".message:has(.status .icon.{status})", words)


async def talking(check, server, page, romeo):
    with check("who signs in sees their dialogs"):
        await sign_in(page, "juliet")
        await page.see(".row", "Nurse")
        await page.click(".row", "Romeo")
        await page.see(".write")
    with check("a message both ways, and ticks for delivered and read"):
        await say(page, "Wherefore art thou?")
        got = await romeo.saw("message", text("Wherefore art thou?"))
        # slixmpp confirms by itself.
        await told(page, "Wherefore art thou?", "delivered")
        romeo.displays("juliet@localhost", got["id"])
        await told(page, "Wherefore art thou?", "read")
        romeo.send_message("juliet@localhost", "Here I am", mtype="chat")
        await page.see(".message", "Here I am")
    with check("reply, reaction, edit"):
        await page.click(".message .bubble", "Here I am", button="right")
        await page.click(".menu button", "Reply")
        await say(page, "At last")
        await page.see(".message:has(.quote)", "At last")
        await page.click(".message:not(:has(.quote)) .bubble", "Here I am", button="right")
        await page.click(".menu .emojis button")
        await page.see(".message:has(.reactions button)", "Here I am")
        await page.press("Escape")
        await page.click(".write")
        await page.press("ArrowUp")
        await say(page, "At last, Romeo")
        await page.see(".message:has(.quote) .bubble", "edited")
    with check("a key that chooses a word of an input method sends nothing"):
        await page.write(".write", "ふ")
        await page.ask("""() => {
          const at = document.querySelector(".write");
          for (const options of [{ isComposing: true }, { keyCode: 229 }]) at.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true, ...options }));
        }""")
        expect(await page.ask("() => document.querySelector('.write').value") == "ふ", "it was sent")
    with check("a picture is sent, and shown"):
        rose = os.path.join(server.folder, "rose.png")
        with open(rose, "wb") as file:
            file.write(png(40, 30))
        await page.attach(".composer input[type=file]", rose)
        await page.see(".tray-item")
        await say(page, "A rose")
        await romeo.saw("message", lambda stanza: "/uploads/" in str(stanza["body"]))
        await page.until("() => [...document.querySelectorAll('.picture img')].some((each) => each.naturalWidth === 40)")
    with check("a hostile text and name are text"):
        await page.click(".row", "onerror")
        await page.see(".message", "<script>")
        found = await page.ask("""() => [window.hacked, document.querySelectorAll(".message script, .message img, #app [onerror]").length,
          document.documentElement.scrollWidth <= innerWidth, [...document.querySelectorAll("bdi")].some((each) => each.textContent.includes("\u202e"))]""")
        expect(found == [None, 0, True, False], f"a script ran, elements, it fits, marks of direction: {found}")
    with check("a long history loads as one scrolls"):
        await page.click(".row", "Nurse")
        await page.see(".message", f"Line {LINES - 1}")
        await page.until(BACK)
        first = await page.ask("() => [...document.querySelectorAll('.message .text')].map((each) => each.textContent.slice(0, 6)).slice(0, 3)")
        expect(first == ["Line 0", "Line 1", "Line 2"], f"the beginning is {first}")


async def two(check, page, romeo):
    """Two pages, of which one has the connection. What is left is the second."""
    with check("a second page sends by the first one's connection, and by its own once that is closed"):
        await page.click(".row", "Romeo")
        second = await page.another()
        await second.open("/")
        await second.click(".row", "Romeo")
        await say(second, "Through the first")
        await romeo.saw("message", text("Through the first"))
        await told(second, "Through the first", "delivered")
        await told(page, "Through the first", "delivered")
        await complaints(page)
        await page.close()
        await say(second, "By itself")
        await romeo.saw("message", text("By itself"))
        await told(second, "By itself", "delivered")
    return second


async def surviving(check, server, page):
    call = lambda body: asyncio.get_running_loop().run_in_executor(None, body)
    with check("nothing in the page failed until now"):
        await complaints(page)
    with check("without a server the page starts again, with the login, the history, and what was written meanwhile; later that is sent once"):
        await page.see(".message", "Here I am")
        await page.ask("async () => Boolean(await navigator.serviceWorker.ready)")
        await call(server.stop)
        await page.see(".side", "No connection")
        await say(page, "From under the balcony")
        await told(page, "From under the balcony", "sending")
        await page.reload()
        await page.see(".message", "Here I am")
        await told(page, "From under the balcony", "sending")
        await call(server.start)
        await told(page, "From under the balcony", "sent")
        juliet = await call(lambda: App(server, "juliet"))
        dialog = await call(lambda: juliet.dialog("romeo"))
        texts = [each["content"].get("text") for each in await call(lambda: juliet.history(dialog))]
        expect(texts.count("From under the balcony") == 1, f"{texts[-5:]}")
        await page.miss(".side", "No connection")
        # Of the connections that were refused.
        await page.complaints()


async def turning(check, page):
    with check("from right to left, chosen in the settings"):
        await page.click(".side-head .me")
        # They are drawn again once they are there.
        await page.see("[aria-label='Who may write to me']")
        await page.choose("select:has([value=ar])", "ar")
        await page.see(":lang(ar) .row", "Romeo")
        expect(await page.ask("() => document.documentElement.dir") == "rtl", "from left to right")


async def complaints(page):
    found = await page.complaints()
    expect(not found, f"the page complains: {found}")


def others(server):
    """A dialog, a long history, and somebody who means harm."""
    romeo = App(server, "romeo")
    romeo.say(romeo.dialog("juliet"), "Good morrow")
    nurse = App(server, "nurse")
    dialog = nurse.dialog("juliet")
    for number in range(LINES):
        last = nurse.say(dialog, f"Line {number}")
    # What is unread would be opened at its beginning.
    App(server, "juliet").call("PUT", f"/v1/dialogs/{dialog}/marker", {"read": last["id"]})
    tybalt = App(server, "tybalt")
    tybalt.call("PATCH", "/v1/users/me", {"name": NASTY[:60] + "\u202e"})
    tybalt.say(tybalt.dialog("juliet"), NASTY)


@contextlib.contextmanager
def named(checks, engine, name):
    with checks.check(f"web engines: {engine}: {name}"):
        yield


async def met(server):
    """Slixmpp at home, and what others have written."""
    await asyncio.get_running_loop().run_in_executor(None, others, server)
    romeo = Client(server, "romeo@localhost/orchard")
    romeo.register_plugin("xep_0066")
    await romeo.arrive()
    romeo.send_presence()
    return romeo


# MARK: Firefox


async def in_firefox(checks, server):
    check = lambda name: named(checks, "Firefox", name)
    romeo = await met(server)
    async with firefox(server) as browser:
        page = FirefoxPage(browser, await browser.page())
        await talking(check, server, page, romeo)
        page = await two(check, page, romeo)
        await surviving(check, server, page)
        with check("from right to left, in the browser's language"):
            arabic = FirefoxPage(browser, await browser.page(locale="ar"))
            await arabic.open("/")
            await arabic.see(":lang(ar) [name=password]")
            expect(await arabic.ask("() => document.documentElement.dir") == "rtl", "from left to right")
            await arabic.page.context.close()
        await turning(check, page)
        await page.page.context.close()
        await calling(check, server, browser)
        with check("nothing in the pages failed"):
            await complaints(page)
    await romeo.leave()


async def calling(check, server, browser):
    async with browsing(server) as chromium:
        here, there = await browser.watched(), await chromium.watched()
        await browser.sign_in("juliet", here)
        await chromium.sign_in("romeo", there)
        # A window that has not got the focus calls, too: Firefox tells it less.
        await here.context.new_page()
        await here.wait_for_function("() => !document.hasFocus()")
        for caller, called, who in [(here, there, "Romeo"), (there, here, "Juliet")]:
            with check(f"a video call with Chromium, which {'answers' if caller is here else 'calls'}, with sound and pictures in both directions"):
                await caller.locator(f".row:has-text('{who}')").click()
                await caller.click("[aria-label='Video call']")
                await called.click(".call .answer")
                for each in (here, there):
                    await perceives(each, "audio", "video")
                    await each.wait_for_function("() => document.querySelector('.call .remote')?.videoWidth > 0")
                await caller.click("[aria-label='Hang up']")
                await called.locator("section.call").wait_for(state="detached")
        with check("Chromium's page did not fail in the calls, either"):
            expect(not chromium.errors, f"{chromium.errors}")


# MARK: WebKit


async def in_webkit(checks, server):
    check = lambda name: named(checks, "WebKit", name)
    call = lambda body, *values: asyncio.get_running_loop().run_in_executor(None, body, *values)
    romeo = await met(server)
    with Screen() as screen:
        async with webkit(server, screen) as page:
            await talking(check, server, page, romeo)
            page = await two(check, page, romeo)
            await surviving(check, server, page)
            with check("where there are no calls none is offered, and whoever is called is told so"):
                await page.see(".head", "Romeo")
                offered = await page.ask("() => [Boolean(globalThis.RTCPeerConnection), document.querySelectorAll('.head [aria-label=Call]').length]")
                expect(offered == [False, 0], f"WebRTC, buttons: {offered}")
                await call(server.befriend, "nurse", "juliet")
                caller = await call(App, server, "nurse", "phone")
                status, made = await call(caller.call, "POST", "/v1/calls", {"userId": "juliet", "kind": "audio", "clientId": "first"})
                expect(status == 201, f"{status} {made}")
                await page.see(".call", "This browser cannot make calls")
                expect(await page.ask("() => document.querySelectorAll('.call .answer').length") == 0, "it can be answered")
                await call(caller.call, "DELETE", f"/v1/calls/{made['id']}")
                await page.miss(".call")
            await turning(check, page)
            with check("nothing in the page failed"):
                await complaints(page)
    await romeo.leave()


def run(checks):
    for body in (in_firefox, in_webkit):
        on_server(body, checks, "romeo", "juliet", "nurse", "tybalt")
