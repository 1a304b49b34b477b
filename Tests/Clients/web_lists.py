"""The web client's lists in headless Chromium: 5,000 dialogs, their filters and search, what is pinned and starred, long lists in
sheets; and what its composer schedules and places.
"""
import asyncio
import datetime
import pathlib
import re
import urllib.parse

from lib.apps import App
from lib.browser import browsing
from lib.harness import PASSWORD, PATIENCE, expect, on_server

DIALOGS = 5_000
STARS = 103  # more than a page
GUESTS = 120  # more than a page
# Scrolls to the end until nothing follows. It gives the most rows that there were, and the last one.
SCROLLS = """async (end) => {
  const nav = document.querySelector("nav.dialogs");
  const frame = () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
  let most = 0;
  for (const until = Date.now() + end; Date.now() < until; await frame()) {
    most = Math.max(most, nav.querySelectorAll(".row").length);
    if ([...nav.querySelectorAll(".row")].at(-1)?.textContent.includes("Oldest")) break;
    nav.scrollTop = nav.scrollHeight;
  }
  return { most, last: [...nav.querySelectorAll(".row")].at(-1)?.textContent ?? "" };
}"""


def expect_call(app, method, path, body=None):
    status, answer = app.call(method, path, body)
    expect(status < 300, f"{method} {path}: {status} {answer}")
    return answer


def fill(server):
    """Juliet's old dialogs, and above them thousands that an import brings."""
    nurse, juliet = App(server, "nurse", "seed"), App(server, "juliet", "seed")
    group = lambda name, kind="group": expect_call(nurse, "POST", "/v1/dialogs", {"type": kind, "name": name, "memberIds": ["juliet"]})["id"]
    group("Oldest of all")
    attic = group("Attic")
    expect_call(juliet, "PATCH", f"/v1/dialogs/{attic}/me", {"archived": True})
    pinned = group("Pinned long ago")
    expect_call(juliet, "PATCH", f"/v1/dialogs/{pinned}/me", {"pinned": True})
    group("Márket square", "public")
    unread = group("Café of Verona")
    for number in range(3):
        mention = {"clientId": f"m{number}", "content": {"type": "text", "text": "@Juliet, supper"}, "mentions": [{"userId": "juliet", "begin": 0, "end": 7}]}
        expect_call(nurse, "POST", f"/v1/dialogs/{unread}/messages", mention)
    # Only a part of these messages is on the screen; the stars of the others are of another page.
    stars = juliet.dialog("nurse")
    for number in range(STARS):
        message = juliet.say(stars, f"Star {number}")
        expect_call(juliet, "PUT", f"/v1/dialogs/{stars}/messages/{message['id']}/star")
    server.command("user", "import", "-", stdin="jid,password,name\n" + "".join(f"guest{number:03}@localhost,{PASSWORD},Guest {number}\n" for number in range(GUESTS)))
    crowd = expect_call(juliet, "POST", "/v1/dialogs", {"type": "group", "name": "Crowd", "memberIds": [f"guest{number:03}" for number in range(GUESTS)]})["id"]
    juliet.say(crowd, "Who reads this?")
    count = DIALOGS - len(expect_call(juliet, "GET", "/v1/dialogs?limit=100")["items"])
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    history = "".join(
        f"<result xmlns='urn:xmpp:mam:2' id='{number}'><forwarded xmlns='urn:xmpp:forward:0'>"
        f"<delay xmlns='urn:xmpp:delay' stamp='{(now + datetime.timedelta(milliseconds=number // 10)).isoformat(timespec='milliseconds')}Z'/>"
        f"<message xmlns='jabber:client' from='peer{number:04}@elsewhere.example/x' to='juliet@localhost' type='chat'><body>Greetings</body></message>"
        "</forwarded></result>" for number in range(count))
    path = pathlib.Path(server.folder) / "former.xml"
    path.write_text("<server-data xmlns='urn:xmpp:pie:0'><host jid='localhost'><user name='juliet'><archive xmlns='urn:xmpp:pie:0#mam'>"
                    f"{history}</archive></user></host></server-data>")
    said = server.command("import", "xep0227", str(path))
    expect(re.search(rf"^{count:,} messages imported, 0 already present, 0 failed$", said, re.M), said)
    return juliet, stars, crowd


async def listing(checks, server, page, asked, crowd):
    def questions():
        """The requests for dialogs since the last call."""
        found = [urllib.parse.parse_qs(urllib.parse.urlsplit(url).query) for url in asked if re.search(r"/v1/dialogs\?", url)]
        asked.clear()
        return [{name: value for name, (value,) in each.items() if name not in ("limit", "cursor")} for each in found]

    row = lambda words: page.locator(f"nav.dialogs .row:has-text('{words}')")
    with checks.check(f"web lists: {DIALOGS:,} dialogs show after one page of them, and what is pinned is above it"):
        await page.locator("nav.dialogs .row >> nth=0").and_(row("Pinned long ago")).wait_for()
        await row("peer").first.wait_for()
        found = questions()
        expect(found == [{}, {"pinned": "true"}], f"asked {found}")
    with checks.check("web lists: a search finds a dialog that is not loaded, by a part of its name"):
        await page.fill(".side input[type=search]", "peer0007")
        await page.locator("nav.dialogs .row:has-text('peer0007')").first.wait_for()
        expect({"query": "peer0007"} in questions(), "the server was not asked")
        await page.fill(".side input[type=search]", "")
        await row("Pinned long ago").wait_for()
    with checks.check("web lists: a message is forwarded to a dialog that only the server knows, by its name without an accent"):
        await page.goto(f"{server.base}/#/dialog/{crowd}")
        await page.locator(".message:has-text('Who reads this?') .bubble").click(button="right")
        await page.locator(".menu button:has-text('Forward')").click()
        await page.fill("dialog input[type=search]", "market SQ")
        await page.locator("dialog .item:has-text('Márket square')").click()
        await page.locator(".message .forwarded").wait_for()
        await page.locator(".head:has-text('Márket square')").wait_for()
    asked.clear()
    with checks.check("web lists: a filter's dialogs come from the server, wherever they are in the list"):
        for name, words, wanted in [
                ("unread", "Café of Verona", [{"unread": "true"}]), ("archived", "Attic", [{"archived": "true"}]),
                ("groups", "Oldest of all", [{"type": "group", "archived": "false"}, {"type": "public", "archived": "false"}])]:
            await page.click(f".filters [data-filter={name}]")
            await row(words).wait_for()
            found = questions()
            expect(found == wanted, f"{name}: asked {found}")
        expect(await row("Attic").count() == 0 and await row("peer").count() == 0, "the groups have others among them")
        await page.click(".filters [data-filter=unread]")
    with checks.check("web lists: a row says how many messages mention one"):
        await row("Café of Verona").locator(".badge:text-is('@3')").wait_for()
        await page.click(".filters [data-filter=all]")
    with checks.check("web lists: one scrolls to the end by pages, with a few rows at a time, and back"):
        asked.clear()
        seen = await page.evaluate(SCROLLS, PATIENCE * 1000)
        found = questions()
        print(f"{len(found)} pages, {seen}")
        expect("Oldest of all" in seen["last"], f"the end is {seen['last']}, after {len(found)} pages")
        expect(seen["most"] <= 60, f"{seen['most']} rows at once")
        expect(DIALOGS / 100 - 1 <= len(found) <= DIALOGS / 100 + 1, f"{len(found)} requests")
        await page.evaluate("() => { document.querySelector('nav.dialogs').scrollTop = 0; }")
        await page.locator("nav.dialogs .row >> nth=0").and_(row("Pinned long ago")).wait_for()
        expect(await page.locator("nav.dialogs .row").count() <= 60, "rows remain")
    with checks.check("web lists: the keyboard goes on through rows that did not exist"):
        await page.locator("nav.dialogs .row").first.focus()
        for _ in range(40):
            await page.keyboard.press("ArrowDown")
            await page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        seen = await page.evaluate("() => [document.activeElement.textContent, document.querySelector('nav.dialogs').scrollTop]")
        expect("peer" in seen[0] and seen[1] > 1000, f"{seen}")
        await page.evaluate("() => { document.querySelector('nav.dialogs').scrollTop = 0; }")


async def starring(checks, server, page, juliet, stars):
    loop = asyncio.get_running_loop()
    star = lambda words: page.locator(f".message:has-text({words!r}) .meta .starred")
    with checks.check("web lists: a starred message shows its star, which another device takes away"):
        await page.goto(f"{server.base}/#/dialog/{stars}")
        await star(f"Star {STARS - 1}").last.wait_for()
        first = (await loop.run_in_executor(None, juliet.call, "GET", "/v1/stars?limit=2"))[1]["items"]
        await loop.run_in_executor(None, juliet.call, "DELETE", f"/v1/dialogs/{stars}/messages/{first[0]['id']}/star")
        await star(f"Star {STARS - 1}").wait_for(state="detached")
    with checks.check("web lists: a star is removed and set again in the message's menu"):
        words = f"Star {STARS - 2}"
        for label, state in [("Remove star", "detached"), ("Star", "attached")]:
            await page.locator(f".message:has-text('{words}') .bubble").last.click(button="right")
            await page.locator(f".menu button span:text-is('{label}')").click()
            await star(words).last.wait_for(state=state)
        page_of = await loop.run_in_executor(None, juliet.call, "GET", "/v1/stars?limit=1")
        expect(page_of[1]["items"][0]["content"]["text"] == words, f"{page_of}")
    with checks.check("web lists: the list of starred messages goes on page by page, and leads to the message"):
        await page.click("[aria-label='New chat']")
        await page.locator(".menu button:has-text('Starred messages')").click()
        await page.locator(".side .row").nth(98).wait_for()
        expect(await page.locator(".side .row:has-text('Star 0')").count() == 0, "all stars are one page")
        await page.locator(".side .item:has-text('More')").click()
        await page.locator(".side .row", has_text=re.compile(r"Star 0$")).click()
        await page.locator(".message.found:has-text('Star 0'), .message:has-text('Star 0'):focus").first.wait_for()
        await star("Star 0").first.wait_for()
    with checks.check("web lists: a star that is set or removed in one tab shows in the others, in their lists too"):
        other = await page.context.new_page()
        await other.goto(f"{server.base}/#/dialog/{stars}")
        words = f"Star {STARS - 3}"
        await page.click("[aria-label='To the newest message']")
        for tab in (page, other):
            await tab.locator(f".message:has-text('{words}') .meta .starred").last.wait_for()
        # The first tab has the connection; the second hears of everything by it.
        for acting, seeing in [(other, page), (page, other)]:
            for label, state in [("Remove star", "detached"), ("Star", "attached")]:
                await acting.locator(f".message:has-text('{words}') .bubble").last.click(button="right")
                await acting.locator(f".menu button span:text-is('{label}')").click()
                await seeing.locator(f".message:has-text('{words}') .meta .starred").last.wait_for(state=state)
                if seeing is page:
                    await page.locator(f".side .row:has-text('{words}')").wait_for(state=state)
        await other.close()
        await page.click(".side-head [aria-label='Back']")


async def sheets(checks, server, page, crowd):
    with checks.check("web lists: who has received a message is told of all members, page by page"):
        await page.goto(f"{server.base}/#/dialog/{crowd}")
        await page.locator(".message:has-text('Who reads this?') .bubble").click(button="right")
        await page.locator(".menu button:has-text('Info')").click()
        people = page.locator("dialog .item .status")
        await people.nth(98).wait_for()
        expect(await people.count() <= 100, "all are one page")
        await page.locator("dialog .item:has-text('More')").click()
        await people.nth(GUESTS - 1).wait_for()
        expect(await people.count() == GUESTS and await page.locator("dialog .item:has-text('More')").count() == 0, f"{await people.count()}")
        await page.click("dialog [aria-label='Close']")
    with checks.check("web lists: a member of a large group is found by a part of the name, page by page"):
        await page.click(".head .who")
        find, found = page.get_by_label("Find a member"), page.locator(".panel .item:has(.avatar)")
        await found.nth(99).wait_for()
        await find.press_sequentially("guest 11")
        await page.wait_for_function("() => document.querySelectorAll('.panel .item .avatar').length === 11")
        expect(await find.evaluate("(input) => input === document.activeElement"), "the field has lost the focus")
        await find.fill("nobody at all")
        await page.locator(".panel .empty:has-text('Nothing was found')").wait_for()
        await find.fill("guest 119")
        await found.filter(has_text="Guest 119").click()
        await page.get_by_role("menuitem", name="Remove from group", exact=True).click()
        await page.locator(".panel .empty:has-text('Nothing was found')").wait_for()
        await find.fill("")
        await page.locator(".panel h3:has-text('120 members')").wait_for()
        await page.click(".panel [aria-label='Close']")


async def composing(checks, page, juliet, crowd):
    loop = asyncio.get_running_loop()
    with checks.check("web lists: a message that is sent later keeps its reply and its files"):
        await page.locator(".message:has-text('Who reads this?') .text").dblclick()
        await page.set_input_files(".composer input[type=file]", [{"name": "list.txt", "mimeType": "text/plain", "buffer": b"bread"}])
        await page.fill(".write", "Then bring this")
        await page.click("[aria-label='Attach']")
        await page.locator(".menu button span:text-is('Send later')").click()
        await page.locator("dialog:has-text('Reply to'):has-text('list.txt')").wait_for()
        await page.locator("dialog button.main").click()
        await page.locator("dialog").wait_for(state="detached")
        (kept,) = (await loop.run_in_executor(None, juliet.call, "GET", "/v1/scheduled-messages"))[1]["items"]
        expect(kept["content"]["text"] == "Then bring this" and kept["content"]["attachments"][0]["name"] == "list.txt", f"{kept}")
        expect(kept.get("replyTo"), f"it replies to nothing: {kept}")
        expect(await page.locator(".tray-item, .context:not([hidden])").count() == 0, "the composer is not empty")
        soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        await loop.run_in_executor(None, expect_call, juliet, "PATCH", f"/v1/scheduled-messages/{kept['id']}", {"sendAt": soon})
        sent = page.locator(".message:has-text('Then bring this')")
        await sent.locator(".quote:has-text('Who reads this?')").wait_for()
        await sent.locator(":text('list.txt')").first.wait_for()
    with checks.check("web lists: a place is sent by its coordinates or as a geo: address"):
        for words, name, shown in [("45.4386, 10.9928", "", "45.43860, 10.99280"), ("geo:-33.85,151.21,12;u=30", "Opera", "-33.85000, 151.21000")]:
            await page.click("[aria-label='Attach']")
            await page.locator(".menu button:has-text('Location')").click()
            if not name:
                await page.fill("dialog input >> nth=0", "91, 10")
                await page.locator("dialog button.main").click()
                await page.locator(".toast:has-text('latitude')").wait_for()
            await page.fill("dialog input >> nth=0", words)
            await page.fill("dialog input >> nth=1", name)
            await page.locator("dialog button.main").click()
            await page.locator(f".message:has-text('{shown}'):has-text('{name}') .status .icon.sent").wait_for()
        content = (await loop.run_in_executor(None, juliet.call, "GET", f"/v1/dialogs/{crowd}/messages?limit=1"))[1]["items"][0]["content"]
        expect((content["lat"], content["lng"], content["accuracy"], content["name"]) == (-33.85, 151.21, 30, "Opera"), f"{content}")


async def body(checks, server):
    loop = asyncio.get_running_loop()
    juliet, stars, crowd = await loop.run_in_executor(None, fill, server)
    async with browsing(server) as browser:
        page = await browser.page()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        await browser.sign_in("juliet", page)
        await listing(checks, server, page, asked, crowd)
        await starring(checks, server, page, juliet, stars)
        await sheets(checks, server, page, crowd)
        await composing(checks, page, juliet, crowd)
        with checks.check("web lists: nothing in the page failed"):
            expect(not browser.errors, f"{browser.errors}")


def run(checks):
    on_server(body, checks, "juliet", "nurse", friends=False)
