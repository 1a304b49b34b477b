"""The page at /admin, in a browser: an administrator signs in with a second factor, looks, acts, and is one no more; the same with an
app key. What is done is seen by apps, by an XMPP client, by the command line and by a webhook's receiver, which refuses at first."""
import asyncio
import http.server
import json
import pathlib
import queue
import sqlite3
import threading
import time

import slixmpp
from axe_playwright_python.base import AXE_FILE_PATH

from lib.apps import App, exchange_json, totp
from lib.browser import browsing
from lib.harness import PASSWORD, PATIENCE, expect, on_server

NASTY = "<img src=x onerror=window.hacked=1>\u202eoemoR"


class Receiver(http.server.ThreadingHTTPServer):
    """A backend that answers 500 until it is told to accept. What came is in `got`, as the delivery's id and the answer."""

    def __init__(self):
        self.accepts, self.got = False, queue.Queue()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                status = 204 if receiver.accepts else 500
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()
                receiver.got.put((self.headers["webhook-id"], status))

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    async def next(self):
        return await asyncio.to_thread(self.got.get, timeout=PATIENCE)


class Watcher(slixmpp.ClientXMPP):
    """An XMPP client that keeps what is retracted."""

    def __init__(self, server, name):
        super().__init__(f"{name}@localhost/orchard", PASSWORD)
        self.ca_certs = pathlib.Path(server.certificate)
        self.register_plugin("xep_0424")
        self.ready, self.retracted = asyncio.Event(), asyncio.Queue()
        self.add_event_handler("session_start", self.started)
        self.add_event_handler("message_retract", lambda message: self.retracted.put_nowait(message["retract"]["id"]))
        self.connect("127.0.0.1", server.xmpp)

    async def started(self, _):
        self.send_presence()
        await self.get_roster()
        self.ready.set()


def new_key(server, name, *scopes):
    return json.loads(server.command("key", "add", name, *[part for scope in scopes for part in ("--scope", scope)], "--json"))["secret"]


async def open_page(page, server):
    await page.goto(server.base + "/admin")
    await page.wait_for_selector("form.sign-in")


async def sign_in(page, name, password=PASSWORD):
    await page.fill("#username", name)
    await page.fill("#password", password)
    await page.click("button[type=submit]")


async def enter(page, key):
    await page.click("button:text-is('Use an app key')")
    await page.fill("#key", key)
    await page.click("button[type=submit]")


async def section(page, title):
    await page.click(f"nav a:text-is('{title}')")
    await page.wait_for_selector(f"h1:text-is('{title}')")
    await page.wait_for_selector("tbody tr")


async def act(page, title, of, within="main"):
    """Presses a button of a row, and says yes to the question."""
    await page.click(f"{within} button[aria-label='{title}: {of}']")
    question = page.locator(f"dialog button.main:text-is('{title}')")
    status = page.locator("dialog .status, body > .status", has_text=f"{title}: {of}. Done.")
    await question.or_(status).first.wait_for()
    if await question.count():
        await question.click()
    await status.first.wait_for()


async def axe(page):
    """No violation, in either theme, and where a row is a card."""
    await page.evaluate(AXE_FILE_PATH.read_text())
    for theme, width in [("light", 390), ("light", 1280), ("dark", 1280)]:
        await page.emulate_media(color_scheme=theme)
        await page.set_viewport_size({"width": width, "height": 800})
        found = (await page.evaluate("axe.run()"))["violations"]
        expect(not found, f"axe, {theme}, {width}: {[(each['id'], [node['html'] for node in each['nodes']][:2]) for each in found]}")


async def administrator(checks, server, page, escalus, romeo):
    """Signs in as escalus; returns the secret of the second factor."""
    secret = escalus.call("POST", "/v1/users/me/second-factor", {"password": PASSWORD})[1]["secret"]
    expect(escalus.call("PUT", "/v1/users/me/second-factor", {"code": totp(secret)})[0] == 200, "no second factor")
    with checks.check("admin page: a wrong password and a user without the role are refused, and the login of the latter has ended"):
        await open_page(page, server)
        await axe(page)
        await sign_in(page, "romeo", "wrong")
        await page.wait_for_selector("[role=alert]:not(:empty)")
        await sign_in(page, "romeo@localhost")
        await page.wait_for_selector("[role=alert]:has-text('is not an administrator')")
        devices = [each["client"] for each in romeo.call("GET", "/v1/sessions")[1]["items"] if "client" in each]
        expect("Administration" not in devices, f"{devices}")
    with checks.check("admin page: an administrator signs in with the second factor"):
        expect("is an administrator" in server.command("user", "role", "escalus", "admin"), "no role")
        expect(["escalus@localhost"] == [user["jid"] for user in json.loads(server.command("user", "list", "--role", "admin", "--json"))], "another")
        await sign_in(page, "escalus")
        await page.wait_for_selector("h1:text-is('Second factor')")
        await axe(page)
        await page.fill("#code", "000000")
        await page.click("button[type=submit]")
        await page.wait_for_selector("[role=alert]:not(:empty)")
        await page.fill("#code", totp(secret, 1))
        await page.click("button[type=submit]")
        await page.wait_for_selector("dt:text-is('Users online')")
        figures = dict(zip(await page.locator(".figures dt").all_inner_texts(), await page.locator(".figures dd").all_inner_texts()))
        expect(figures["Users"] == "4" and figures["Users online"] == "2" and figures["State"] == "ready", f"{figures}")
        await axe(page)
        stored = await page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")
        expect(stored == [0, 1, ""], f"{stored}")


async def expiry(checks, page):
    with checks.check("admin page: an access token that has expired is renewed, once, and the call is made again"):
        before = await page.evaluate("sessionStorage['parley-admin']")
        async def expired(route):
            await route.fulfill(status=401, content_type="application/problem+json", body=json.dumps(
                {"code": "token-expired", "detail": "It has expired.", "status": 401}))
        await page.route("**/v1/admin/users*", expired, times=1)
        await section(page, "Users")
        expect(await page.evaluate("sessionStorage['parley-admin']") != before, "the tokens are the same")


async def people(checks, server, page, romeo):
    with checks.check("admin page: users are found, looked at, disabled and enabled"):
        await section(page, "Users")
        await page.fill("#search", "romeo")
        await page.press("#search", "Enter")
        await page.wait_for_selector("tbody tr:only-child bdi:text-is('romeo@localhost')")
        expect(NASTY in await page.inner_text("tbody"), await page.inner_text("tbody"))
        await page.click("button[aria-label='Details: romeo@localhost']")
        await page.wait_for_selector("dialog dt:text-is('sessions')")
        await axe(page)
        await page.click("dialog .close")
        await act(page, "Disable", "romeo@localhost")
        expect(romeo.call("GET", "/v1/users/me")[0] == 401, "romeo is still let in")
        await act(page, "Enable", "romeo@localhost")
        expect(App(server, "romeo").call("GET", "/v1/users/me")[0] == 200, "romeo is not let in")


async def dialogs(checks, page, juliet, group):
    with checks.check("admin page: a name that turns its direction turns nothing in a question"):
        await section(page, "Dialogs")
        await page.click("button[aria-label^='End: <img']")
        question = await page.locator("dialog > p").first.inner_text()
        expect("\u202e" not in question and question.endswith("oemoR for all its members? Its messages are deleted."), f"{question!r}")
        await page.click("dialog button:text-is('Cancel')")
        await page.locator("dialog").wait_for(state="detached")
    with checks.check("admin page: a session is ended, a dialog looked at and ended"):
        await section(page, "Sessions")
        await page.click("tr:has-text('app') button[aria-label^='End: juliet@localhost']")
        await page.wait_for_selector(".status:has-text('Done.')")
        juliet.event("goaway")
        await section(page, "Dialogs")
        await axe(page)
        await page.click("button[aria-label^='Details: <img']")
        await page.wait_for_selector("dialog dt:text-is('members')")
        await page.click("dialog .close")
        await page.click("button[aria-label^='End: <img']")
        await page.click("dialog button:text-is('End')")
        await page.wait_for_selector(".status:has-text('Done.')")
        expect(juliet.call("GET", f"/v1/dialogs/{group['id']}")[0] == 404, "the group is still there")


async def reports(checks, server, page, juliet, flagged):
    """`flagged` is a message each of a private and a group dialog, of which juliet has made reports."""
    watcher = Watcher(server, "juliet")
    await asyncio.wait_for(watcher.ready.wait(), PATIENCE)
    with checks.check("admin page: a report has its quote, its dialog and its message, which goes in both doors"):
        await section(page, "Reports")
        expect(await page.locator("blockquote", has_text="window.hacked").count() == 2, "a quote is missing")
        await axe(page)
        await page.click("tbody tr:last-child button[aria-label='Details: romeo@localhost']")
        await page.wait_for_selector("dialog bdi:text-is('private')")
        await axe(page)
        private = flagged[0]
        expect(private["id"] in await page.inner_text("dialog"), "the message's id is missing")
        await page.click("dialog button[aria-label^='Delete:']")
        await page.click("dialog button.main:text-is('Delete')")
        await page.wait_for_selector("dialog bdi:text-is('deleted')")
        await page.click("dialog .close")
        expect(await asyncio.wait_for(watcher.retracted.get(), PATIENCE) == private["id"], "another is retracted")
        await act(page, "Delete messages", "romeo@localhost", within="tbody tr:first-child")
        for message in flagged:
            _, now = juliet.call("GET", f"/v1/dialogs/{message['dialogId']}/messages/{message['id']}")
            expect("deletedAt" in now, f"{now}")
        number = json.loads(server.command("report", "list", "--json"))[0]["id"]
        told = json.loads(server.command("report", "show", str(number), "--json"))["messages"]
        expect([(each["deleted"], each["dialogType"], each["text"]) for each in told] == [(True, "group", NASTY)], f"{told}")
        again = server.command("dialog", "delete-message", told[0]["dialog"], told[0]["id"])
        expect("is deleted" in again, again)
    with checks.check("admin page: the reported user is disabled, and the reports are dismissed"):
        await act(page, "Disable user", "romeo@localhost", within="tbody tr:first-child")
        expect('"disabled"' in server.command("user", "show", "romeo@localhost", "--json"), "romeo is not disabled")
        for _ in flagged:
            await act(page, "Dismiss", "romeo@localhost", within="tbody tr:first-child")
        await page.wait_for_selector("td:text-is('Nothing.')")
        expect(json.loads(server.command("report", "list", "--json")) == [], "a report is left")
        server.command("user", "enable", "romeo@localhost")
    await watcher.disconnect()


async def invitations(checks, server, page):
    with checks.check("admin page: an invitation is made, and revoked"):
        await section(page, "Invitations")
        await page.click("button:text-is('Invite somebody')")
        await page.wait_for_selector("dialog dd:has-text('/invite/')")
        await axe(page)
        await page.click("dialog .close")
        await act(page, "Revoke", "1")
        expect(json.loads(server.command("invite", "list", "--json")) == [], "it is still there")


def failed(server, webhook):
    return json.loads(server.command("webhook", "failures", webhook, "--json"))


def until(test):
    """Asks the command line again and again, and returns what is true in the end."""
    patience = time.monotonic() + PATIENCE
    while not (found := test()):
        expect(time.monotonic() < patience, "it did not come to that")
    return found


async def webhooks(checks, server, page, talk):
    receiver = Receiver()
    url = f"http://127.0.0.1:{receiver.server_port}/hook"
    with checks.check("admin page: what a webhook has refused is sent again, by the command line and by a button"):
        number = str(json.loads(server.command("webhook", "add", url, "--event", "message.created", "--json"))["webhook"]["id"])
        _, made = App(server, "romeo").call("POST", f"/v1/dialogs/{talk}/messages", {"clientId": "9", "content": {"type": "text", "text": "Hark"}})
        delivery, status = await receiver.next()
        expect(status == 500 and made["id"], f"{status}")
        await section(page, "Webhooks")
        await page.wait_for_selector("td:has-text('The answer had status 500.')")
        await axe(page)
        # The twelfth attempt is the last. Two hours have passed.
        server.stop()
        with sqlite3.connect(pathlib.Path(server.data) / "parley.db") as database:
            database.execute("UPDATE hooks SET attempts = 11, next = NULL")
        database.close()
        server.start()
        expect(await receiver.next() == (delivery, 500), "another attempt")
        failures = until(lambda: failed(server, number))
        expect([(each["reason"], each["webhookId"]) for each in failures] == [("The answer had status 500.", delivery)], f"{failures}")
        expect("1 events will be sent again." in server.command("webhook", "failures", number, "--again", "--failure", str(failures[0]["id"])), "not sent")
        expect(await receiver.next() == (delivery, 500), "another delivery")
        until(lambda: not failed(server, number)[0]["due"])
        await section(page, "Users")
        await section(page, "Webhooks")
        await page.click(f"button[aria-label='Details: {url}']")
        await page.wait_for_selector(f"dialog bdi:text-is('{delivery}')")
        await axe(page)
        receiver.accepts = True
        await act(page, "Send again", delivery, within="dialog")
        expect(await receiver.next() == (delivery, 204), "another delivery")
        await page.click("dialog > .close")
        until(lambda: not failed(server, number))
    with checks.check("admin page: a webhook is tested"):
        await page.click("main button[aria-label^='Test:']")
        await page.wait_for_selector("dialog dd:has-text('yes')")
        await page.click("dialog .close")
    receiver.shutdown()


async def demotion(checks, server, page, escalus):
    with checks.check("admin page: the record names the administrator, from where, and nothing that only showed figures"):
        await section(page, "Record")
        await page.wait_for_selector("td:has-text('users.state')")
        await axe(page)
        acts = json.loads(server.command("audit", "--matching", "escalus@localhost", "--limit", "500", "--json"))
        named = [act for act in acts if (act["actor"], act["surface"], act["origin"]) == ("escalus@localhost", "http", "127.0.0.1")]
        expect({"users.state", "messages.delete", "reports.dismiss", "webhooks.redrive"} <= {act["operation"] for act in named}, f"{acts}")
        expect("server.stats" not in {act["operation"] for act in named}, "the figures are recorded")
    with checks.check("admin page: who is an administrator no more is refused at the next request, on the page as well"):
        users = server.base + "/v1/admin/users"
        guest = exchange_json("POST", server.base + "/v1/sessions", {"grant": "guest"})[2]["accessToken"]
        expect(exchange_json("GET", users, token=escalus.token)[0] == 200, "not let in")
        server.command("user", "role", "escalus", "user")
        for token in (escalus.token, guest):
            status, _, problem = exchange_json("GET", users, token=token)
            expect((status, problem["code"]) == (403, "administrator-required"), f"{status} {problem}")
        await page.click("nav a:text-is('Users')")
        await page.wait_for_selector("[role=alert]:has-text('is not an administrator')")
        expect(await page.evaluate("sessionStorage.length") == 0, "something is kept")
        server.command("user", "role", "escalus", "admin")
        server.command("user", "disable", "escalus")
        status, _, problem = exchange_json("GET", users, token=escalus.token)
        expect((status, problem["code"]) == (401, "token-invalid"), f"{status} {problem}")


async def keys(checks, server, page, browser):
    with checks.check("admin page: a wrong key is refused; the scopes of a right one decide, in words; signing out forgets it"):
        await open_page(page, server)
        await enter(page, "parley_wrong")
        await page.wait_for_selector("[role=alert]:not(:empty)")
        await axe(page)
        await page.fill("#key", new_key(server, "few", "users:read"))
        await page.click("button[type=submit]")
        await page.wait_for_selector(".status.error:has-text('scope')")
        await section(page, "Users")
        browser.errors.clear()
        await page.reload()
        await page.wait_for_selector("tbody tr")
        await page.click("header button")
        await page.reload()
        await page.wait_for_selector("#username")
        expect(await page.evaluate("sessionStorage.length") == 0, "something is kept")


async def visit(checks, server):
    romeo, juliet, escalus = App(server, "romeo").connect(), App(server, "juliet").connect(), App(server, "escalus")
    talk = romeo.dialog("juliet")
    _, group = juliet.call("POST", "/v1/dialogs", {"type": "group", "name": NASTY, "memberIds": ["romeo"]})
    _, court = juliet.call("POST", "/v1/dialogs", {"type": "group", "name": "Court", "memberIds": ["romeo"]})
    flagged = []
    for dialog in (talk, court["id"]):
        _, message = romeo.call("POST", f"/v1/dialogs/{dialog}/messages", {"clientId": dialog, "content": {"type": "text", "text": NASTY}})
        juliet.call("POST", f"/v1/dialogs/{dialog}/messages/{message['id']}/flags", {"reason": "abuse", "text": NASTY})
        flagged.append({**message, "dialogId": dialog})
    romeo.call("PATCH", "/v1/users/me", {"name": NASTY})
    async with browsing(server) as browser:
        page = await browser.page()
        await administrator(checks, server, page, escalus, romeo)
        browser.errors.clear()  # what is refused is an error of the network to the browser
        await expiry(checks, page)
        browser.errors.clear()
        await people(checks, server, page, romeo)
        await reports(checks, server, page, juliet, flagged)
        await dialogs(checks, page, juliet, group)
        await invitations(checks, server, page)
        with checks.check("admin page: nothing of a user ran, and the browser complained of nothing"):
            expect(await page.evaluate("window.hacked") is None, "markup of a user ran")
            expect(not browser.errors, f"{browser.errors}")
        await webhooks(checks, server, page, talk)
        await demotion(checks, server, page, escalus)
        await keys(checks, server, page, browser)


def run(checks):
    on_server(
        visit, checks, "romeo", "juliet", "mercutio", "escalus", outgoing__networks="127.0.0.0/8", guests__domains="localhost")
