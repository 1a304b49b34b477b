"""The page at /admin in headless Chromium, driven by Playwright: what an admin with an app key sees and does there."""
import json

from axe_playwright_python.base import AXE_FILE_PATH

from lib.apps import App
from lib.browser import browsing
from lib.harness import ROOT, expect, on_server

ADMIN = ROOT / "clients/admin"
NASTY = "<img src=x onerror=window.hacked=1>\u202eoemoR"


def new_key(server, name, *scopes):
    return json.loads(server.command("key", "add", name, *[part for scope in scopes for part in ("--scope", scope)], "--json"))["secret"]


async def enter(page, server, key):
    await page.goto(server.base + "/admin")
    await page.fill("#key", key)
    await page.click("button[type=submit]")


async def section(page, title):
    await page.click(f"nav a:text-is('{title}')")
    await page.wait_for_selector(f"h1:text-is('{title}')")
    await page.wait_for_selector("tbody tr")


async def act(page, title, of):
    """Presses a button of a row, and says yes to the question."""
    await page.click(f"button[aria-label='{title}: {of}']")
    if await page.locator("dialog").count():
        await page.click(f"dialog button:text-is('{title}')")
    await page.wait_for_selector(".status:has-text('Done.')")


async def axe(page):
    await page.evaluate(AXE_FILE_PATH.read_text())
    found = (await page.evaluate("axe.run()"))["violations"]
    expect(not found, f"axe: {[(each['id'], [node['html'] for node in each['nodes']][:2]) for each in found]}")


async def visit(checks, server):
    romeo, juliet = App(server, "romeo").connect(), App(server, "juliet").connect()
    talk = romeo.dialog("juliet")
    _, message = romeo.call("POST", f"/v1/dialogs/{talk}/messages", {"clientId": "1", "content": {"type": "text", "text": NASTY}})
    juliet.call("POST", f"/v1/dialogs/{talk}/messages/{message['id']}/flags", {"reason": "abuse", "text": NASTY})
    _, group = juliet.call("POST", "/v1/dialogs", {"type": "group", "name": NASTY, "memberIds": ["romeo"]})
    romeo.call("PATCH", "/v1/users/me", {"name": NASTY})
    key = new_key(server, "laptop", "*")
    async with browsing(server) as browser:
        page = await browser.page()
        with checks.check("admin page: a wrong key is refused, and a right one is let in"):
            await enter(page, server, "parley_wrong")
            await page.wait_for_selector("[role=alert]:not(:empty)")
            await axe(page)
            await enter(page, server, key)
            await page.wait_for_selector("dt:text-is('Users online')")
            figures = dict(zip(await page.locator(".figures dt").all_inner_texts(), await page.locator(".figures dd").all_inner_texts()))
            expect(figures["Users"] == "3" and figures["Users online"] == "2" and figures["State"] == "ready", f"{figures}")
            await axe(page)
        browser.errors.clear()  # a refused key is an error of the network to the browser
        with checks.check("admin page: users are found, looked at, disabled and enabled"):
            await section(page, "Users")
            await page.fill("#search", "romeo")
            await page.press("#search", "Enter")
            await page.wait_for_selector("tbody tr:only-child bdi:text-is('romeo@localhost')")
            expect(NASTY in await page.inner_text("tbody"), await page.inner_text("tbody"))
            await page.click("button[aria-label='Details: romeo@localhost']")
            await page.wait_for_selector("dialog dt:text-is('sessions')")
            await axe(page)
            await page.click("dialog button")
            await act(page, "Disable", "romeo@localhost")
            expect(romeo.call("GET", "/v1/users/me")[0] == 401, "romeo is still let in")
            await act(page, "Enable", "romeo@localhost")
            expect(App(server, "romeo").call("GET", "/v1/users/me")[0] == 200, "romeo is not let in")
        with checks.check("admin page: a session is ended, a dialog looked at and ended"):
            await section(page, "Sessions")
            await page.click("button[aria-label^='End: juliet@localhost']")
            await page.wait_for_selector(".status:has-text('Done.')")
            juliet.event("goaway")
            await section(page, "Dialogs")
            await page.click("button[aria-label^='Details: <img']")
            await page.wait_for_selector("dialog dt:text-is('members')")
            await page.click("dialog button")
            await page.click("button[aria-label^='End: <img']")
            await page.click("dialog button:text-is('End')")
            await page.wait_for_selector(".status:has-text('Done.')")
            expect(juliet.call("GET", f"/v1/dialogs/{group['id']}")[0] == 404, "the group is still there")
        with checks.check("admin page: a report is read with its quote, its subject disabled"):
            await section(page, "Reports")
            await page.click("button[aria-label='Details: romeo@localhost']")
            await page.wait_for_selector("dialog dt:text-is('messages')")
            expect(await page.locator("dialog", has_text="window.hacked").count() == 1, "the quote is missing")
            await page.click("dialog button")
            await act(page, "Disable the user and dismiss", "romeo@localhost")
            await page.wait_for_selector("td:text-is('Nothing.')")
            expect('"disabled"' in server.command("user", "show", "romeo@localhost", "--json"), "romeo is not disabled")
        with checks.check("admin page: an invitation is made, and revoked"):
            await section(page, "Invitations")
            await page.click("button:text-is('Invite somebody')")
            await page.wait_for_selector("dialog dd:has-text('/invite/')")
            await page.click("dialog button")
            await act(page, "Revoke", "1")
            expect(json.loads(server.command("invite", "list", "--json")) == [], "it is still there")
        with checks.check("admin page: a webhook, and the record of all this"):
            server.command("webhook", "add", "http://127.0.0.1:9/nowhere", "--event", "message.created")
            await section(page, "Webhooks")
            await page.wait_for_selector("td:has-text('127.0.0.1:9')")
            await page.click("button[aria-label^='Test:']")
            await page.wait_for_selector("dialog")
            await page.click("dialog button")
            await section(page, "Record")
            await page.wait_for_selector("td:has-text('users.state')")
            await axe(page)
        with checks.check("admin page: the scopes of the key decide, in words; signing out forgets it"):
            await page.click("header button")
            await enter(page, server, new_key(server, "few", "users:read"))
            await page.wait_for_selector(".status.error:has-text('scope')")
            await section(page, "Users")
            browser.errors.clear()
            await page.reload()
            await page.wait_for_selector("tbody tr")
            await page.click("header button")
            await page.reload()
            await page.wait_for_selector("#key")
        with checks.check("admin page: nothing of a user ran, and the browser complained of nothing"):
            expect(await page.evaluate("window.hacked") is None, "markup of a user ran")
            expect(not browser.errors, f"{browser.errors}")
        with checks.check("admin page: its files are all in the program"):
            embedded = (ROOT / "Sources/CWebFiles/files.c").read_text()
            for path in ADMIN.iterdir():
                expect(f'ENTRY("admin/{path.name}"' in embedded, f"{path.name} is not in files.c")


def run(checks):
    on_server(visit, checks, "romeo", "juliet", "mercutio", outgoing__networks="127.0.0.0/8")
