"""Notifications of the web client as a desktop shows them: Firefox on a screen of its own (Xvfb), which tells them to a server of
org.freedesktop.Notifications, as it does everywhere on Linux. Web Push goes the whole way, too: Parley encrypts it, Mozilla's push service
(ours) hands it on, Firefox decrypts it, and the service worker shows it.
"""
import asyncio
import tempfile

from lib.apps import App
from lib.engines import FirefoxPage, Screen, firefox, sign_in
from lib.harness import expect, on_server
from lib.notices import Notices, PushService
from lib.pushes import World

# The user has allowed notifications. WebDriver would have each window believe that it has the focus.
PREFERENCES = {"permissions.default.desktop-notification": 1, "remote.prefs.recommended": False, "focusmanager.testmode": False}


async def focused(page, is_focused):
    await page.page.wait_for_function("(wanted) => document.hasFocus() === wanted", arg=is_focused)


async def showing(checks, server, page, notices, friends):
    call = lambda body, *values: asyncio.get_running_loop().run_in_executor(None, body, *values)
    romeo, nurse = friends
    with_juliet = {each: await call(each.dialog, "juliet") for each in friends}
    say = lambda who, words: call(who.say, with_juliet[who], words)
    with checks.check("web notifications: a message shows its sender and its text, unless its dialog is open in a window that has the focus"):
        await sign_in(page, "juliet")
        await page.click(".side-head .me")
        # They are drawn again once they are there.
        await page.see("[aria-label='Who may write to me']")
        await page.click(".item:has(input)", "Notifications")
        await page.click(".side-head .tool")
        await page.click(".row", "Nurse")
        await page.see(".message", "Madam")
        await focused(page, True)
        await say(nurse, "Seen at once")
        await say(romeo, "But soft, <b>what</b> light & so on")
        number = await notices.notice("Romeo", "But soft, <b>what</b> light & so on")
        await page.see(".message", "Seen at once")
    with checks.check("web notifications: pressing it opens its dialog, and it goes"):
        await notices.press(number)
        await page.see(".message", "But soft")
        await notices.until("the notification goes", lambda shown: not shown)
    with checks.check("web notifications: another window has the focus: a message of the open dialog, and one of a group with its name"):
        other = await page.page.context.new_page()
        await focused(page, False)
        await say(romeo, "Art thou gone?")
        number = await notices.notice("Romeo", "Art thou gone?")
        await say(romeo, "So soon?")
        await notices.notice("Romeo", "So soon?")
        expect(len(notices.shown) == 1, f"a dialog has one notification: {notices.shown}")
        status, group = await call(romeo.call, "POST", "/v1/dialogs", {"type": "group", "name": "Balcony", "memberIds": ["juliet"]})
        expect(status == 201, f"{status} {group}")
        await call(romeo.say, group["id"], "Here below")
        await notices.notice("Romeo · Balcony", "Here below")
        await other.close()
        await page.page.bring_to_front()
        await focused(page, True)
    with checks.check("web notifications: a muted dialog shows none"):
        desk = await call(App, server, "juliet", "desk")
        dialog = with_juliet[nurse]
        await call(desk.call, "PATCH", f"/v1/dialogs/{dialog}/me", {"notify": "never"})
        kitchen = (await call(nurse.call, "POST", "/v1/dialogs", {"type": "group", "name": "Kitchen", "memberIds": ["juliet"]}))[1]["id"]
        await say(nurse, "Muted")
        await call(nurse.say, kitchen, "Loud")
        await notices.notice("Nurse · Kitchen", "Loud")
        # All that were shown until now: none twice, and none of those that should not be.
        bodies = [body for _, body in notices.all]
        expect(bodies == ["But soft, <b>what</b> light & so on", "Art thou gone?", "So soon?", "Here below", "Loud"], f"{notices.all}")
    with checks.check("web notifications: a public dialog shows what answers or mentions one, and nothing else, until one chooses all of it"):
        square = (await call(nurse.call, "POST", "/v1/dialogs", {"type": "public", "name": "Square", "memberIds": ["juliet"]}))[1]["id"]
        path = f"/v1/dialogs/{square}/messages"
        await call(nurse.call, "PUT", f"/v1/dialogs/{square}/members/me", {"nick": "Nurse"})
        asked = await call(desk.say, square, "Who sells fish?")
        await call(nurse.say, square, "Fresh bread")
        await call(nurse.call, "POST", path, {"clientId": "answer", "content": {"type": "text", "text": "I do"}, "replyTo": asked["id"]})
        await notices.notice("Nurse · Square", "I do")
        await call(nurse.call, "POST", path, {
            "clientId": "mention", "content": {"type": "text", "text": "@Juliet, come"}, "mentions": [{"userId": "juliet", "begin": 0, "end": 7}]})
        await notices.notice("Nurse · Square", "@Juliet, come")
        await call(nurse.say, square, "Warm cake")
        await call(desk.call, "PATCH", f"/v1/dialogs/{square}/me", {"notify": "always"})
        await call(nurse.say, square, "All is sold")
        await notices.notice("Nurse · Square", "All is sold")
        bodies = [body for _, body in notices.all]
        expect(bodies[5:] == ["I do", "@Juliet, come", "All is sold"], f"{notices.all}")


async def pushing(checks, server, page, notices, service, romeo):
    call = lambda body, *values: asyncio.get_running_loop().run_in_executor(None, body, *values)
    dialog = await call(romeo.dialog, "juliet")
    with checks.check("web notifications: no tab is open: Firefox decrypts what the server pushes, and the service worker shows it; pressing opens the dialog"):
        context = page.page.context
        await page.page.goto("about:blank")
        await call(romeo.say, dialog, "Sleep dwell upon thine eyes")
        await service.forward("a message")
        number = await notices.notice("Romeo", "Sleep dwell upon thine eyes")
        async with context.expect_page() as opened:
            await notices.press(number)
        client = await opened.value
        await client.locator(".message", has_text="Sleep dwell upon thine eyes").wait_for()


async def walk(checks, server, world):
    call = lambda body, *values: asyncio.get_running_loop().run_in_executor(None, body, *values)
    friends = [await call(App, server, name) for name in ("romeo", "nurse")]
    for each, words in zip(friends, ("Good morrow", "Madam!")):
        await call(each.say, await call(each.dialog, "juliet"), words)
    with Screen() as screen:
        async with Notices(screen.bus) as notices, PushService(world.browser) as service, firefox(server, screen, **PREFERENCES, **service.preferences) as browser:
            page = FirefoxPage(browser, await browser.page())
            await showing(checks, server, page, notices, friends)
            await pushing(checks, server, page, notices, service, friends[0])
            with checks.check("web notifications: nothing in the page failed"):
                expect(not browser.errors, f"{browser.errors}")


def run(checks):
    with tempfile.TemporaryDirectory() as folder:
        world = World(folder)
        on_server(lambda checks, server: walk(checks, server, world), checks, "romeo", "juliet", "nurse", push__content="body", **world.settings)
