"""What a phone has that the web client uses, in headless Chromium with a phone's screen: where it is, to find people nearby. Apps are the others."""
import asyncio

from lib.apps import App
from lib.browser import accessible, browsing, button, keeps_nothing, sheet
from lib.harness import PASSWORD, expect, on_server

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
        await found.nth(1).click()
        await page.locator(".head:has-text('Nurse')").wait_for()
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


async def body(checks, server):
    run = lambda work, *arguments: asyncio.get_running_loop().run_in_executor(None, work, *arguments)
    async with browsing(server) as browser:
        await nearby(checks, server, browser, run)
        with checks.check("web phone: nothing in the pages failed"):
            expect(not browser.errors, f"{browser.errors}")


def run(checks):
    on_server(body, checks, "romeo", "juliet", "nurse", guests__domains="localhost")
