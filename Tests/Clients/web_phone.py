"""What a phone has that the web client uses, in headless Chromium with a phone's screen: where it is, to find people nearby, and
what other apps share with the installed client. Apps of a test are the others."""
import asyncio
import json

from lib.apps import App, exchange
from lib.browser import accessible, browsing, button, keeps_nothing, sheet
from lib.harness import expect, on_server
from lib.peers import ROSE

VERONA = {"latitude": 45.4386, "longitude": 10.9928}
PHONE = dict(viewport={"width": 360, "height": 720}, has_touch=True, is_mobile=True)


async def look_around(page):
    """Opens the sheet of people nearby."""
    await page.click("[aria-label='New chat']")
    await page.get_by_role("menuitem", name="People nearby", exact=True).click()
    await sheet(page).locator("h2:has-text('People nearby')").wait_for()


async def nearby(checks, server, browser, run):
    call = lambda app, *arguments: run(app.call, *arguments)
    romeo, nurse = await run(App, server, "romeo"), await run(App, server, "nurse")
    page = await browser.page(**PHONE)
    await browser.sign_in("juliet", page)
    with checks.check("web phone: nothing is shared before the user says so, and what the browser refuses is told"):
        await call(romeo, "PUT", "/v1/users/me/location", {"latitude": 45.4401, "longitude": 10.9950})
        await look_around(page)
        await sheet(page).locator("[role=status]:has-text('shared for an hour')").wait_for()
        expect(not await button(sheet(page), "Stop sharing").is_visible(), "there is something to stop")
        await accessible(page, "people nearby", "dialog[open]")
        # Nobody has given the permission.
        await button(sheet(page), "Share my place").click()
        await sheet(page).locator(".error:has-text('does not tell this page where you are')").wait_for()
        status, answer = await call(romeo, "GET", "/v1/users?near=45.44,10.99")
        expect((status, answer["items"]) == (200, []), f"{status} {answer}")
    with checks.check("web phone: people nearby, the nearest first, with their distance; a chat with one"):
        await page.context.grant_permissions(["geolocation"])
        await page.context.set_geolocation(VERONA)
        await call(nurse, "PUT", "/v1/users/me/location", {"latitude": 45.60, "longitude": 11.10})
        await button(sheet(page), "Share my place").click()
        await sheet(page).locator("[role=status]:has-text('is shared until')").wait_for()
        found = sheet(page).locator(".results .item")
        await found.nth(1).wait_for()
        expect([(await each.text_content()).replace("\u2068", "").replace("\u2069", "") for each in await found.all()] == ["RRomeowithin 2 km", "NNursewithin 21 km"], f"{await found.all_text_contents()}")
        await accessible(page, "who is nearby", "dialog[open]")
        expect([user["id"] for user in (await call(romeo, "GET", "/v1/users?near=45.44,10.99"))[1]["items"]] == ["juliet"], "she is not found")
        await found.first.click()
        await page.locator(".head:has-text('Romeo')").wait_for()
    with checks.check("web phone: that a place is shared is known after a reload, and can be ended"):
        await page.goto(server.base + "/#/")
        await page.reload()
        await page.wait_for_selector(".side .dialogs")
        await look_around(page)
        await sheet(page).locator("[role=status]:has-text('is shared until')").wait_for()
        await button(sheet(page), "Look again").click()
        await sheet(page).locator(".results .item:has-text('Romeo')").wait_for()
        await button(sheet(page), "Stop sharing").click()
        await sheet(page).locator("[role=status]:has-text('shared for an hour')").wait_for()
        expect(await sheet(page).locator(".results .item").count() == 0, "people are still shown")
        expect((await call(romeo, "GET", "/v1/users?near=45.44,10.99"))[1]["items"] == [], "she is still found")
        await page.keyboard.press("Escape")
    with checks.check("web phone: a guest is not offered people nearby"):
        guest = await browser.page(**PHONE)
        await guest.goto(server.base + "/")
        await button(guest, "Continue as a guest").click()
        await button(guest, "Enter").click()
        await guest.wait_for_selector(".side .dialogs")
        await guest.click("[aria-label='New chat']")
        entries = await guest.get_by_role("menuitem").all_text_contents()
        expect("New chat" in entries and "People nearby" not in entries, f"{entries}")
        await guest.context.close()
    await page.context.close()


# What the system does when the user shares with the installed client: a form that is posted from nowhere.
FORM = """<form method=post enctype=multipart/form-data action="%s/share">
<input name=title><textarea name=text></textarea><input name=url><input name=files type=file multiple><button>Share</button></form>"""


async def share(page, server, files=(), **words):
    await page.goto("about:blank")
    await page.set_content(FORM % server.base)
    for name, value in words.items():
        await page.fill(f"[name={name}]", value)
    await page.set_input_files("[name=files]", [{"name": name, "mimeType": kind, "buffer": data} for name, kind, data in files])
    await page.click("button")
    await page.wait_for_url(server.base + "/")


async def sharing(checks, server, browser, run):
    romeo = await run(App, server, "romeo")
    dialog = await run(romeo.dialog, "juliet")
    await run(romeo.say, dialog, "What man art thou")
    page = await browser.page(**PHONE)
    with checks.check("web phone: the manifest says what the installed client takes from other apps"):
        manifest = json.loads(exchange("GET", server.base + "/manifest.webmanifest")[2])["share_target"]
        expect((manifest["action"], manifest["method"], manifest["enctype"]) == ("/share", "POST", "multipart/form-data"), f"{manifest}")
        names = [manifest["params"][name] for name in ("title", "text", "url")] + [each["name"] for each in manifest["params"]["files"]]
        expect(names == ["title", "text", "url", "files"], f"{manifest}")
    with checks.check("web phone: what is shared before the sign-in is offered after it, and goes to no dialog by itself"):
        await page.goto(server.base + "/")
        await page.wait_for_function("() => navigator.serviceWorker.controller")
        await share(page, server, title="A page", text="What's in a name?", url="https://example.org/rose")
        await page.wait_for_selector("[name=password]")
        await browser.sign_in("juliet", page)
        await sheet(page).locator("p:has-text('https://example.org/rose')").wait_for()
        await accessible(page, "sharing", "dialog[open]")
        await page.keyboard.press("Escape")
        await sheet(page).wait_for(state="detached")
        await page.reload()
        await page.wait_for_selector(".row:has-text('Romeo')")
        await page.wait_for_function("async () => !(await caches.has('shared'))")
        expect(await sheet(page).count() == 0, "it is offered again")
    with checks.check("web phone: a text and files are put into the composer of a dialog, behind its draft, and sent when the user says so"):
        await page.click(".row:has-text('Romeo')")
        await page.fill(".write", "Look:")
        await page.evaluate("() => { history.pushState(null, '', '/'); }")
        await share(page, server, [("rose.png", "image/png", ROSE), ("a \u202erose.txt", "text/plain", b"by any other name")], text="A rose https://example.org/rose", url="https://example.org/rose")
        await sheet(page).locator("p:has-text('rose.png')").wait_for()
        await sheet(page).locator(".results .item:has-text('Romeo')").click()
        await page.locator(".tray-item").nth(1).wait_for()
        expect(await page.input_value(".write") == "Look:\nA rose https://example.org/rose", await page.input_value(".write"))
        expect((await run(romeo.history, dialog))[-1]["content"]["text"] == "What man art thou", "it was sent by itself")
        await page.wait_for_function("async () => !(await caches.has('shared'))")
        await page.click("[aria-label='Send']")
        await page.locator(".message:has-text('Look:') .status .icon.sent, .message:has-text('Look:') .status .icon.delivered").first.wait_for()
        sent = (await run(romeo.history, dialog))[-1]
        found = [await run(lambda each=each: romeo.call("GET", f"/v1/attachments/{each['id']}")[1]) for each in sent["content"]["attachments"]]
        expect([(each["name"], each["size"]) for each in found][0] == ("rose.png", len(ROSE)) and found[1]["size"] == 17, f"{found}")
    with checks.check("web phone: a contact with whom there is no dialog yet is offered, too; of many files ten are taken"):
        await share(page, server, [(f"{number}.txt", "text/plain", b"petal") for number in range(12)])
        await page.locator(".toast:has-text('2 files could not be taken')").wait_for()
        await sheet(page).get_by_label("Search").fill("nur")
        await sheet(page).locator(".results .item:has-text('Nurse')").click()
        await page.locator(".head:has-text('Nurse')").wait_for()
        await page.locator(".tray-item").nth(9).wait_for()
    with checks.check("web phone: what was shared is gone when the user signs out, here in another tab"):
        other = await browser.page(page.context)
        await other.goto(server.base + "/")
        await other.wait_for_selector(".side .dialogs")
        await share(page, server, text="Parting is such sweet sorrow")
        await sheet(page).locator("p:has-text('sweet sorrow')").wait_for()
        await other.click(".side-head .me")
        await button(other, "Sign out").click()
        for each in (other, page):
            await each.wait_for_selector("[name=password]")
        await keeps_nothing(page)
    await page.context.close()


async def body(checks, server):
    run = lambda work, *arguments: asyncio.get_running_loop().run_in_executor(None, work, *arguments)
    async with browsing(server) as browser:
        await nearby(checks, server, browser, run)
        await run(server.befriend, "juliet", "nurse")
        await sharing(checks, server, browser, run)
        with checks.check("web phone: nothing in the pages failed"):
            # A request that was under way when the other tab signed out is refused, which the browser reports itself.
            expect(not [error for error in browser.errors if "401 (Unauthorized)" not in error], f"{browser.errors}")


def run(checks):
    on_server(body, checks, "romeo", "juliet", "nurse", guests__domains="localhost")
