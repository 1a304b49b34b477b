"""The terms of use in the web client, in headless Chromium: they are agreed to before anything else is usable, by guests too, and again when
their version has changed."""
import asyncio

from lib.browser import accessible, browsing, button, keeps_nothing, sheet
from lib.harness import PASSWORD, expect, on_server

URL = "https://www.example.org/terms"


async def agree(page):
    await sheet(page).locator("a").wait_for()
    await button(sheet(page), "I agree").click()
    await sheet(page).wait_for(state="detached")
    await page.wait_for_selector(".side .dialogs")


async def come(page, server):
    await page.goto(server.base + "/")
    await page.fill("[name=username]", "juliet")
    await page.fill("[name=password]", PASSWORD)
    await page.click("form button[type=submit]")


async def body(checks, server):
    run = lambda work, *arguments: asyncio.get_running_loop().run_in_executor(None, work, *arguments)

    def restart(version):
        server.stop()
        server.settings["terms__version"] = version
        server.start()

    async with browsing(server) as browser:
        page = await browser.page()
        with checks.check("web terms: who has signed in agrees first; there is a link to what there is to read, in a tab of its own"):
            await come(page, server)
            await sheet(page).locator("p", has_text="localhost").filter(has_text="version \u20681\u2069").wait_for()
            link = sheet(page).locator("a")
            await link.wait_for()
            told = [await link.get_attribute(name) for name in ("href", "target", "rel")]
            expect(told == [URL, "_blank", "noopener noreferrer"], f"{told}")
            for _ in range(3):
                await page.keyboard.press("Escape")
            expect(await sheet(page).count() == 1 and await page.locator(".side").count() == 0, "one can go on without agreeing")
            await accessible(page, "the terms")
            await agree(page)
            shown = await run(server.command, "user", "show", "juliet")
            expect("1, accepted" in shown, shown)
        with checks.check("web terms: who has agreed is not asked again, with a network and without one"):
            async with page.expect_response(lambda response: response.url.endswith("/v1/users/me")):
                await page.reload()
            await page.wait_for_selector(".side .dialogs")
            await page.wait_for_function("() => navigator.serviceWorker.controller")
            await page.context.set_offline(True)
            await page.reload()
            await page.wait_for_selector(".side .dialogs")
            expect(await sheet(page).count() == 0, "they are asked again")
            await page.context.set_offline(False)
        with checks.check("web terms: a new version is asked for at the next start, and without a network from then on"):
            await run(restart, "2")
            await page.reload()
            await sheet(page).locator("a").wait_for()
            expect(await page.locator(".side").count() == 0, "one can go on without agreeing")
            await page.context.set_offline(True)
            await page.reload()
            await sheet(page).locator(".error:has-text('cannot be reached')").wait_for()
            expect(await page.locator(".side").count() == 0, "one can go on without agreeing")
            await page.context.set_offline(False)
            await button(sheet(page), "Try again").click()
            await agree(page)
        with checks.check("web terms: who does not agree signs out, and nothing is left"):
            await run(restart, "3")
            await page.reload()
            await button(sheet(page), "I agree").wait_for()
            expect(await sheet(page).locator("a").count() == 1, "there is no link to the terms")
            await button(sheet(page), "Sign out").click()
            await page.wait_for_selector("[name=password]")
            await keeps_nothing(page)
            await page.context.close()
        with checks.check("web terms: a guest agrees as well, once"):
            await run(restart, "3")
            page = await browser.page(locale="ar", color_scheme="dark", viewport={"width": 320, "height": 640})
            await page.goto(server.base + "/")
            await button(page, "المتابعة كضيف").click()
            await page.click("form button[type=submit]")
            await sheet(page).locator("a").wait_for()
            await accessible(page, "the terms, in Arabic, on a dark phone")
            expect(await page.evaluate("() => document.querySelector('dialog').scrollWidth <= document.querySelector('dialog').clientWidth"), "it scrolls sideways")
            await page.click("dialog .button.main")
            await page.wait_for_selector(".side .dialogs")
            async with page.expect_response(lambda response: response.url.endswith("/v1/users/me")):
                await page.reload()
            await page.wait_for_selector(".side .dialogs")
            expect(await sheet(page).count() == 0, "the guest is asked again")
            await page.context.close()
        with checks.check("web terms: nothing in the pages failed"):
            expect(not [error for error in browser.errors if "net::ERR_" not in error], f"{browser.errors}")


def run(checks):
    on_server(body, checks, "romeo", "juliet", guests__domains="localhost", terms__version="1", terms__url=URL)
