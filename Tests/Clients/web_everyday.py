"""What everybody meets in the web client, in headless Chromium: names, words and links as others wrote them (the rules of
Tests/Vectors/names.json, some of which are the server's too), more unread messages than one page, also those that arrived while
no page was open and in a group to which the user was just added, links among them, a call in the history, contacts in a public group, a new
group with many contacts to choose from, searches, drafts from right to left.
"""
import asyncio
import json
import re

from lib.apps import App
from lib.browser import browsing, button, sheet
from lib.harness import ROOT, expect, on_server

VECTORS = json.loads((ROOT / "Tests/Vectors/names.json").read_text())
FRIENDS = [f"friend{number:02}" for number in range(20)]
UNREAD = 120  # more than two pages
UNSEEN = 70  # more than a page
LONG = "Angelica Nutrix of the house of Capulet"
IMITATOR = "AngeIica Nutrix"
# What of the rules does not hold in the page: the rule, and what was given to it.
RULES = """async (vectors) => {
  const page = document.querySelector("script[type=module]").src;
  const { cleanName, cleanText, folded, isEmoji, looks, marked, rich } = await import(page.replace("app.js", "text.js"));
  const { People } = await import(page.replace("app.js", "people.js"));
  const parts = (nodes) => nodes.flat(Infinity).filter((node) => node !== false && node !== undefined);
  const text = (node) => node.textContent ?? node;
  const faults = [];
  const holds = (is, rule, ...values) => { if (!is) faults.push([rule, ...values]); };
  const equal = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  for (const [given, wanted] of vectors.folded) holds(folded(given) === wanted, "folded", given, folded(given));
  for (const given of vectors.kept) holds(cleanName(given) === given && cleanText(given) === given, "kept", given, cleanName(given));
  for (const [given, wanted] of vectors.cut) holds(cleanName(given) === wanted && cleanText(given) === wanted, "cut", given, cleanName(given));
  for (const [given, wanted] of vectors.names) holds(cleanName(given) === wanted, "names", given, cleanName(given));
  for (const known of vectors.imitators) {
    const people = Object.assign(Object.create(People.prototype), { looks: new Map(), alike: new Map(), changed() {} });
    for (const [id, name, address] of known) people.isAlike(id, name, address);
    for (const [id, name, address, wanted] of known) holds(people.isAlike(id, name, address) === wanted, "imitators", id, name, wanted);
  }
  const areAlike = (one, other) => looks(one).some((each) => looks(other).includes(each));
  for (const [one, other] of vectors.alike) holds(areAlike(one, other), "alike", one, other);
  for (const [one, other] of vectors.different) holds(!areAlike(one, other) && folded(one) !== folded(other), "different", one, other);
  for (const [one, other, , wanted] of vectors.nicks) holds(areAlike(one, other) === wanted, "nicks", one, other);
  for (const [given, wanted] of vectors.links) {
    const found = parts(rich(given)).filter((node) => node.tagName === "A").map(text);
    holds(equal(found, wanted), "links", given, found);
  }
  for (const given of vectors.large) holds(isEmoji(given), "large", given);
  for (const given of vectors.small) holds(!isEmoji(given), "small", given);
  for (const [given, query, wanted] of vectors.marked) holds(equal(parts(marked(given, query)).map(text), wanted), "marked", given, query);
  return faults;
}"""
# Whether each element is within the window, and is what a click there meets.
IN_SIGHT = """(elements) => elements.every((each) => {
  const box = each.getBoundingClientRect();
  const isWithin = box.height > 10 && box.top >= 0 && box.bottom <= innerHeight && box.left >= 0 && box.right <= innerWidth;
  return isWithin && each.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2));
})"""
# The first message below the line of the new ones, once that line is near the upper edge of the history.
FIRST_NEW = """() => {
  const line = document.querySelector(".notice.unread");
  const scroller = document.querySelector(".scroller")?.getBoundingClientRect();
  const box = line?.getBoundingClientRect();
  return line && box.top >= scroller.top && box.bottom < scroller.top + 250 && line.nextElementSibling?.querySelector(".text")?.firstChild.textContent;
}"""


# A network on which no WebSocket opens, and requests are answered.
NO_SOCKET = "window.WebSocket = class { readyState = 0; send() {} close() {} };"
SEARCH = ".side input[type=search]"


def app(body, *values):
    return asyncio.get_running_loop().run_in_executor(None, body, *values)


def must(app, method, path, body=None):
    status, made = app.call(method, path, body)
    expect(status < 300, f"{method} {path}: {status} {made}")
    return made


def fill(server):
    for friend in ("nurse", *FRIENDS):
        server.befriend("juliet", friend)
    nurse, tybalt, juliet = App(server, "nurse"), App(server, "tybalt"), App(server, "juliet", "desk")
    kitchen, street = nurse.dialog("juliet"), tybalt.dialog("juliet")
    old = nurse.say(kitchen, "Old news")
    must(juliet, "PUT", f"/v1/dialogs/{kitchen}/marker", {"read": old["id"]})
    for number in range(UNREAD):
        nurse.say(kitchen, f"New {number}")
    for number in range(UNSEEN):
        tybalt.say(street, f"Word {number}")
    mercutio = App(server, "mercutio")
    yard = mercutio.dialog("juliet")
    read = [mercutio.say(yard, f"Read {number}") for number in range(3)][-1]["id"]
    must(juliet, "PUT", f"/v1/dialogs/{yard}/marker", {"read": read})
    must(juliet, "DELETE", f"/v1/dialogs/{yard}/messages/{read}?for=me")
    for number in range(UNSEEN):
        mercutio.say(yard, f"More {number}")
    return nurse, tybalt, juliet.connect(), kitchen, street, yard, old["id"]


def unread_in(juliet, dialog):
    return must(juliet, "GET", f"/v1/dialogs/{dialog}")["me"]["unreadCount"]


def read_in(juliet, dialog, said):
    """Returns the one of these messages that the page has marked as read."""
    def fits(data):
        marker = data["marker"]
        return marker["dialogId"] == dialog and marker["userId"] == "juliet" and marker.get("read") in said
    return juliet.event("marker.updated", fits)["data"]["marker"]["read"]


async def first(page, words):
    found = await (await page.wait_for_function(FIRST_NEW)).json_value()
    expect(found == words, f"the first new message is {found}")


async def reading(checks, server, browser, page, juliet, kitchen, street, yard, old):
    async def marked(dialog, test=lambda read: read != old):
        """The page has marked something more as read there: how many are unread then."""
        await app(juliet.event, "marker.updated", lambda data: data["marker"]["dialogId"] == dialog and data["marker"]["userId"] == "juliet" and "read" in data["marker"] and test(data["marker"]["read"]))
        return await app(unread_in, juliet, dialog)

    with checks.check("web everyday: a dialog with more unread messages than a page opens at the first one, and only what was on the screen is read"):
        await page.goto(f"{server.base}/#/dialog/{kitchen}")
        await first(page, "New 0")
        left = await marked(kitchen)
        expect(UNREAD - 60 < left < UNREAD, f"{left} of {UNREAD} are unread")
        expect(await page.locator(".down").is_visible(), "there is no way to the end")
    with checks.check("web everyday: on another device it opens where one has read to"):
        other = await browser.sign_in("juliet")
        await other.goto(f"{server.base}/#/dialog/{kitchen}")
        await first(other, f"New {UNREAD - left}")
        await other.context.close()
    with checks.check("web everyday: the end is one click away, and then all of it is read"):
        last = (await app(juliet.history, kitchen))[-1]["id"]
        await page.click(".down")
        await page.locator(f".message:has-text('New {UNREAD - 1}')").wait_for()
        left = await marked(kitchen, lambda read: read == last)
        expect(left == 0, f"{left} are unread")
    with checks.check("web everyday: a dialog of which nothing has been read opens at its beginning"):
        await page.goto(f"{server.base}/#/dialog/{street}")
        await first(page, "Word 0")
        left = await marked(street)
        expect(UNSEEN - 60 < left < UNSEEN, f"{left} of {UNSEEN} are unread")
    with checks.check("web everyday: it opens there as well if the last message that was read is gone"):
        await page.goto(f"{server.base}/#/dialog/{yard}")
        await first(page, "More 0")
        # What was read is above it.
        await page.locator(".message:has-text('Read 1')").wait_for()


async def returning(checks, server, browser, page, nurse, juliet, kitchen):
    with checks.check("web everyday: a page that starts at a chat's address opens it at what came meanwhile, of which only what was on the screen is read"):
        await page.goto(f"{server.base}/#/dialog/{kitchen}")
        await page.locator(f".message:has-text('New {UNREAD - 1}')").wait_for()
        # Nothing is unread in the state that the page has stored.
        await page.locator(f".row[data-id='{kitchen}'][data-unread=false]").wait_for()
        await page.goto("about:blank")
        said = await app(lambda: [nurse.say(kitchen, f"Meanwhile {number}")["id"] for number in range(UNSEEN)])
        gate = asyncio.Event()

        async def hold(route):
            await gate.wait()
            await route.continue_()

        again = await browser.page(page.context)
        await again.add_init_script(NO_SOCKET)
        await again.route(re.compile(r"/messages\?"), hold)
        await again.goto(f"{server.base}/#/dialog/{kitchen}")
        # What is kept of the chat is shown, at its end, before the server has answered.
        await again.locator(f".message:has-text('New {UNREAD - 1}')").wait_for()
        gate.set()
        await first(again, "Meanwhile 0")
        read = await app(read_in, juliet, kitchen, said)
        left = await app(unread_in, juliet, kitchen)
        expect(read != said[-1] and UNSEEN - 60 < left < UNSEEN, f"{left} of {UNSEEN} are unread")
        await again.close()
        await page.goto(f"{server.base}/#/")


async def joining(checks, server, page, nurse, juliet):
    def gather(name, after):
        """Creates a group with messages from before and after juliet was added."""
        group = must(nurse, "POST", "/v1/dialogs", {"type": "group", "name": name})["id"]
        for number in range(5):
            nurse.say(group, f"{name} before {number}")
        must(nurse, "PUT", f"/v1/dialogs/{group}/members/juliet", {"role": "member"})
        return group, [nurse.say(group, f"{name} after {number}")["id"] for number in range(after)]

    for name, after, amount in (("Larder", 40, "no more than"), ("Cellar", UNSEEN, "more than")):
        with checks.check(f"web everyday: a group to which one was just added, with {amount} a page of unread messages, opens at the first one of them"):
            group, said = await app(gather, name, after)
            await page.goto(f"{server.base}/#/dialog/{group}")
            await first(page, f"{name} after 0")
            read = await app(read_in, juliet, group, said)
            left = await app(unread_in, juliet, group)
            expect(read != said[-1] and 0 < left < after, f"{left} of {after} are unread")
            # What was said before is above it.
            await page.locator(f".message:has-text('{name} before 4')").wait_for()


async def following(checks, server, page, juliet):
    def speak(friend, place):
        speaker = App(server, friend)
        dialog = speaker.dialog("juliet")
        return dialog, [speaker.say(dialog, f"{place} {number}")["id"] for number in range(UNSEEN)]

    with checks.check("web everyday: who follows a link into unread messages has not read those before it; at the end all are read"):
        lane, said = await app(speak, FRIENDS[0], "Lane")
        await app(must, juliet, "PUT", f"/v1/dialogs/{lane}/marker", {"read": said[30]})
        await page.goto(f"{server.base}/#/dialog/{lane}/{said[50]}")
        # The message to which a link leads is coloured for two seconds. The page has marked by then what it marks as read.
        await page.locator(".message.found:has-text('Lane 50')").wait_for()
        await page.locator(".message.found").wait_for(state="detached")
        await page.click(".down")
        await page.locator(f".message:has-text('Lane {UNSEEN - 1}')").wait_for()
        read = await app(read_in, juliet, lane, said[31:])
        left = await app(unread_in, juliet, lane)
        expect(read == said[-1] and left == 0, f"{left} are unread after message {said.index(read)}")
    with checks.check("web everyday: a link to a message that is gone opens the chat as without it, at the first unread one"):
        alley, said = await app(speak, FRIENDS[1], "Alley")
        await app(must, juliet, "DELETE", f"/v1/dialogs/{alley}/messages/{said[40]}?for=me")
        await page.goto(f"{server.base}/#/dialog/{alley}/{said[40]}")
        await first(page, "Alley 0")
        read = await app(read_in, juliet, alley, said)
        left = await app(unread_in, juliet, alley)
        expect(read != said[-1] and 0 < left < UNSEEN, f"{left} of {UNSEEN} are unread")


async def calling(checks, server, page, nurse, kitchen):
    with checks.check("web everyday: a call is a line of the history, and covers nothing"):
        await page.goto(f"{server.base}/#/dialog/{kitchen}")
        await page.click(".down")  # it opens at what is unread since the check before
        call = await app(must, nurse, "POST", "/v1/calls", {"userId": "juliet", "kind": "audio", "clientId": "call"})
        await page.locator("section.call").wait_for()
        await app(nurse.call, "DELETE", f"/v1/calls/{call['id']}")
        await page.locator("section.call").wait_for(state="detached")
        line = page.locator(".notice.call")
        await line.wait_for()
        place = await line.evaluate("""(line) => {
          const [box, scroller] = [line, document.querySelector(".scroller")].map((each) => each.getBoundingClientRect());
          return [getComputedStyle(line).position, box.top >= scroller.top && box.bottom <= scroller.bottom && line.parentElement.className];
        }""")
        expect(place == ["static", "messages"], f"the line is {place}")
        expect(await page.locator(".head .who, .head [aria-label=More]").evaluate_all(IN_SIGHT), "something lies over the head")


async def meeting(checks, server, page, nurse, tybalt, juliet):
    def gather():
        square = must(tybalt, "POST", "/v1/dialogs", {"type": "public", "name": "Market square"})["id"]
        mercutio = App(server, "mercutio")
        own = f"/v1/dialogs/{square}/members/me"
        for each, nick in ((juliet, "Juliet"), (nurse, "Angelica Nutrix")):
            must(each, "PUT", own, {"nick": nick})
        # A copy of her nick is refused, with one Cyrillic letter; a name that looks alike, with an I for an l, is not.
        status, answer = mercutio.call("PUT", own, {"nick": "Ang\u0435lica Nutrix"})
        expect((status, answer["code"]) == (409, "nick-taken"), f"{status} {answer}")
        must(mercutio, "PUT", own, {"nick": IMITATOR})
        members = must(juliet, "GET", f"/v1/dialogs/{square}/members")["items"]
        occupant = next(each["userId"] for each in members if each.get("nick") == IMITATOR).removeprefix("occupant:")
        must(nurse, "PATCH", "/v1/users/me", {"name": "Angelica Nutrix"})
        nurse.say(square, "Fish, fresh fish")
        mercutio.say(square, "I am she")
        return square, f"address hidden · \u2068{occupant[:8]}\u2069"

    with checks.check("web everyday: in a public group a contact has their name and initials, and only who looks like them is marked"):
        square, mark = await app(gather)
        await page.locator(".row .title:text-is('Angelica Nutrix')").wait_for()
        await page.goto(f"{server.base}/#/dialog/{square}")
        sender = lambda words: page.locator(f".message:has-text('{words}') .sender")
        await sender("Fish").locator("bdi:text-is('Angelica Nutrix')").wait_for()
        await sender("I am she").locator(f"bdi:text-is('{IMITATOR} ({mark})')").wait_for()
        initials = await page.locator(".message .avatar").all_inner_texts()
        expect(initials == ["AN", "AN"], f"the avatars are {initials}")
        await page.click(".who")
        member = page.locator(".panel .item:has-text('Angelica Nutrix')").first
        await member.wait_for()
        expect(await member.locator(".avatar").inner_text() == "AN", "a member has other initials")
        await page.click(".panel [aria-label=Close]")
        titles = await page.locator(".row .title").all_inner_texts()
        expect("Angelica Nutrix" in titles and not any("Angelica Nutrix (" in each for each in titles), f"{titles}")
    with checks.check("web everyday: a hit of a search has what shows its sender apart from whom they look like, and all of it"):
        await page.fill(SEARCH, "I am she")
        hit = page.locator(".side .row:has(mark:text-is('I am she'))")
        await hit.locator(f".snippet:has-text('{IMITATOR[:12]}')").wait_for()
        found = await hit.locator(".address").evaluate_all("(all) => all.map((each) => [each.textContent, each.scrollWidth > 0 && each.scrollWidth <= each.parentElement.clientWidth])")
        expect(found == [[mark, True]], f"{found}")
        await page.fill(SEARCH, "fresh fish")
        hit = page.locator(".side .row:has(mark:text-is('fresh fish'))")
        await hit.wait_for()
        expect(await hit.locator(".address").count() == 0, "who is no imitator is shown as one")
        await page.fill(SEARCH, "")
        await page.locator(".filters").first.wait_for()


async def gathering(checks, server, page):
    for width, height in ((1280, 800), (390, 844)):
        await page.set_viewport_size({"width": width, "height": height})
        await page.goto(f"{server.base}/#/")
        with checks.check(f"web everyday: a new group with many contacts: those who were chosen and the button are in sight, at {width} pixels"):
            await page.click("[aria-label='New chat']")
            await page.get_by_role("menuitem", name="New group", exact=True).click()
            await sheet(page).get_by_label("Name of the group").fill(f"Masque {width}")
            await sheet(page).locator(f".results .item:has-text('{FRIENDS[-1]}')").wait_for()
            for name in ("Friend01", "Friend03"):
                await sheet(page).locator(f".results .item:has-text('{name}')").click()
                await sheet(page).locator(f".chips button:has-text('{name}')").wait_for()
            seen = sheet(page).locator(".chips button, button.main")
            expect(await seen.count() == 3 and await seen.evaluate_all(IN_SIGHT), "they are out of sight")
            await button(sheet(page), "Create group").click()
            await page.locator(f".head:has-text('Masque {width}'):has-text('3 members')").wait_for()
        with checks.check(f"web everyday: people are added to it in the same way, at {width} pixels"):
            await page.click(".who")
            await button(page.locator(".panel"), "Add people").click()
            await sheet(page).locator(".results .item:has-text('Friend05')").click()
            seen = sheet(page).locator(".chips button, button.main")
            expect(await seen.count() == 2 and await seen.evaluate_all(IN_SIGHT), "they are out of sight")
            await button(sheet(page), "Add").click()
            await page.locator(".panel .item:has-text('Friend05')").wait_for()
            await page.click(".panel-head [aria-label=Close]")
    await page.set_viewport_size({"width": 1280, "height": 800})


async def finding(checks, page, nurse, kitchen):
    def say():
        must(nurse, "PATCH", "/v1/users/me", {"name": LONG})
        words = "It was a long way to the well, and a longer one back, before the Porridge was hot"
        nurse.say(kitchen, words, "private")
        group = must(nurse, "POST", "/v1/dialogs", {"type": "group", "name": "Supper", "memberIds": ["juliet", FRIENDS[2]]})["id"]
        pinned = nurse.say(group, "Bring spoons", "pinned")["id"]
        must(nurse, "PUT", f"/v1/dialogs/{group}/messages/{pinned}/pin")
        nurse.say(group, words, "group")

    with checks.check("web everyday: the hits of a search are in sight in their rows, whoever said it"):
        await app(say)
        await page.locator(".row:has-text('Supper')").wait_for()
        await page.fill(SEARCH, "porridge")
        await page.locator(".side .row mark").nth(1).wait_for()
        hits = await page.locator(".side .row mark").evaluate_all("""(marks) => marks.map((mark) => {
          const [box, row] = [mark, mark.closest(".snippet")].map((each) => each.getBoundingClientRect());
          return [mark.textContent, box.left >= row.left && box.right <= row.right];
        })""")
        expect(hits == [["Porridge", True], ["Porridge", True]], f"{hits}")
    with checks.check("web everyday: a search says that nothing was found when the last word is finished, and not before"):
        await page.fill(SEARCH, "xyzzyq")
        await page.locator(".side .empty:has-text('may not be finished')").wait_for()
        expect(await page.locator(".side .empty:has-text('Nothing was found')").count() == 0, "it is said too early")
        await page.fill(SEARCH, "xyzzyq ")
        await page.locator(".side .empty:has-text('Nothing was found')").wait_for()
        await page.fill(SEARCH, "")
        await page.locator(".filters").first.wait_for()
    with checks.check("web everyday: a group that a hit of a search opens has its pinned message and its members"):
        await page.fill(SEARCH, "porridge")
        await page.locator(".side .row:has-text('Supper'):has(mark)").click()
        await page.locator(".head:has-text('Supper')").wait_for()
        await page.locator(".strip:has-text('Bring spoons')").wait_for()
        await page.fill(".write", "@")
        await page.locator(f".suggestions button:has-text('{FRIENDS[2].capitalize()}')").wait_for()
        await page.fill(".write", "")
        await page.fill(SEARCH, "")
        await page.locator(".filters").first.wait_for()


async def drafting(checks, server, page, kitchen, street):
    with checks.check("web everyday: a draft from right to left is so in the list, whatever stands before it"):
        await page.goto(f"{server.base}/#/dialog/{kitchen}")
        await page.locator(f".row[data-id='{kitchen}'][aria-current=true]").wait_for()
        await page.fill(".write", "שלום!")
        await page.goto(f"{server.base}/#/dialog/{street}")
        draft = page.locator(f".row[data-id='{kitchen}'] .snippet.draft")
        await draft.wait_for()
        found = await draft.evaluate("(line) => [getComputedStyle(line).direction, line.querySelector('bdi')?.textContent, line.querySelector('bdi') && getComputedStyle(line.querySelector('bdi')).direction]")
        expect(found == ["ltr", "שלום!", "rtl"], f"{found}")


async def body(checks, server):
    nurse, tybalt, juliet, kitchen, street, yard, old = await app(fill, server)
    async with browsing(server) as browser:
        page = await browser.sign_in("juliet")
        with checks.check("web everyday: names, words, links and emoji are shown and compared by the rules that the server is held to"):
            faults = await page.evaluate(RULES, VECTORS)
            expect(not faults, f"{faults}")
        await reading(checks, server, browser, page, juliet, kitchen, street, yard, old)
        await returning(checks, server, browser, page, nurse, juliet, kitchen)
        await joining(checks, server, page, nurse, juliet)
        await following(checks, server, page, juliet)
        await calling(checks, server, page, nurse, kitchen)
        await meeting(checks, server, page, nurse, tybalt, juliet)
        await gathering(checks, server, page)
        await finding(checks, page, nurse, kitchen)
        await drafting(checks, server, page, kitchen, street)
        with checks.check("web everyday: nothing in the page failed"):
            # The page requests the last message that was read and the message to which a link leads; both are deleted.
            gone = "Failed to load resource: the server responded with a status of 404 (Not Found)"
            expect(set(browser.errors) == {gone}, f"{browser.errors}")
    await app(juliet.close)


def run(checks):
    on_server(body, checks, "romeo", "juliet", "nurse", "tybalt", "mercutio", *FRIENDS)
