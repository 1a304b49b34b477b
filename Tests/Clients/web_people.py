"""Groups, people and the account in the web client, in headless Chromium driven by Playwright; slixmpp and an app are the others. The
pictures of QR codes are read by zbar, as a phone would read them.
"""
import asyncio
import io
import json
import pathlib
import subprocess
import tarfile
import tempfile
import urllib.parse

from slixmpp.exceptions import PresenceError

from lib.apps import App, totp
from lib.browser import DRAWN, KEPT, browsing, button, keeps_nothing, kept, sheet
from lib.harness import PASSWORD, PATIENCE, Failure, expect, free_port, on_server
from lib.peers import ROSE, text
from lib.rooms import Guest, codes
from lib.services import Hook, new_secret

MAIL = "juliet@capulet.example"


class Person(Guest):
    """Answers a request to be seen only when the test says so."""

    def __init__(self, server, name, resource="orchard"):
        super().__init__(server, name, resource)
        self.auto_authorize, self.auto_subscribe = None, False
        for event in ("presence_subscribed", "presence_unsubscribed", "presence_dnd"):
            self.add_event_handler(event, lambda data, event=event: self._note(event, data))


def app(body, *arguments):
    return asyncio.get_running_loop().run_in_executor(None, body, *arguments)


# MARK: Hands


def panel(page):
    return page.locator(".panel")


def row(page, words):
    return page.locator(f".side .row:has-text({json.dumps(words)})").first


def message(page, words):
    return page.locator(f".message:has-text({json.dumps(words)})").last


async def choose(page, opener, entry):
    """Opens a menu, and chooses in it."""
    await opener.click()
    await page.get_by_role("menuitem", name=entry, exact=True).click()


async def begin(page, entry):
    await choose(page, page.locator("[aria-label='New chat']"), entry)


async def say(page, words):
    await page.fill(".write", words)
    await page.keyboard.press("Enter")
    await message(page, words).locator(".status .icon:not(.sending)").wait_for()


async def answer(page, words, save="Save"):
    """Fills in the one field of a sheet."""
    await sheet(page).locator(".field .input").fill(words)
    await button(sheet(page), save).click()
    await sheet(page).wait_for(state="detached")


async def agree(page, yes):
    await sheet(page).locator(".sheet-foot").get_by_role("button", name=yes, exact=True).click()


async def find(page, words, name):
    """Finds somebody in the open sheet, and chooses them."""
    await sheet(page).get_by_label("Name or address").fill(words)
    await sheet(page).locator(f".results .item:has-text({json.dumps(name)})").click()


async def change_picture(page, place):
    async with page.expect_file_chooser() as chooser:
        await button(place, "Change picture").click()
    await (await chooser.value).set_files({"name": "rose.png", "mimeType": "image/png", "buffer": ROSE})


async def settings(page):
    """Opens the settings, and waits until they are those of the server."""
    await page.click(".side-head .me")
    await page.locator(".side .section:has-text('Privacy')").wait_for()
    return page.locator(".side")


async def leave_settings(page):
    await page.click(".side-head [aria-label='Back']")
    await page.wait_for_selector(".side .dialogs")


async def keeps_unsent(page, user):
    """Expects the browser to keep the device's id and whose login ended, for messages that wait, and nothing else."""
    found = json.loads(await kept(page))
    expect(set(found) == {"state"} and len(found["state"]) == 2 and found["state"][1] == user, f"the browser keeps {found}")


async def scanned(place):
    """What is in a QR code on the screen."""
    with tempfile.TemporaryDirectory() as folder:
        picture = pathlib.Path(folder, "code.png")
        await place.screenshot(path=str(picture))
        done = await app(lambda: subprocess.run(["zbarimg", "--quiet", "--raw", "--oneshot", str(picture)], capture_output=True, text=True, timeout=PATIENCE))
    expect(done.returncode == 0, f"no QR code is found: {done.stderr}")
    return done.stdout.rstrip("\n")


async def card_of(client, jid):
    """The picture and the name of a vCard."""
    card = (await client["xep_0054"].get_vcard(jid, timeout=PATIENCE))["vcard_temp"]
    return card["PHOTO"]["BINVAL"], card.xml.findtext("{vcard-temp}FN")


# MARK: Stories


async def groups(checks, server, page, romeo, nurse):
    """Returns the address of the group."""
    with checks.check("web people: a group is made, and an XMPP client is invited, enters and talks"):
        await begin(page, "New group")
        await sheet(page).get_by_label("Name of the group").fill("Balcony")
        await find(page, "rom", "Romeo")
        await button(sheet(page), "Create group").click()
        await page.locator(".head:has-text('Balcony'):has-text('2 members')").wait_for()
        room = str((await romeo.saw("groupchat_invite"))["from"].bare)
        await romeo.enter(room, "Romeo")
        await say(page, "Who is below?")
        await romeo.message(room, "Who is below?")
        romeo.say(room, "By a name I know not")
        await message(page, "By a name I know not").wait_for()
    with checks.check("web people: its name, description and picture are those that XMPP clients see"):
        await page.click(".who")
        await button(panel(page), "Rename group").click()
        await answer(page, "The orchard")
        await page.locator(".head:has-text('The orchard')").wait_for()
        await page.locator(".notice:has-text('named the group')").wait_for()
        await button(panel(page), "Description").click()
        await answer(page, "High and hard to climb")
        await panel(page).locator(".card:has-text('High and hard to climb')").wait_for()
        await change_picture(page, panel(page))
        await page.locator(".head .avatar img").wait_for()
        info = (await romeo["xep_0030"].get_info(jid=room, timeout=PATIENCE))["disco_info"]
        expect("The orchard" in {each[3] for each in info["identities"]} and "High and hard to climb" in str(info), f"{info}")
        expect((await card_of(romeo, room))[0] == ROSE, "another picture, or none")
    member = lambda name: panel(page).locator(f".item:has-text({json.dumps(name)})")
    with checks.check("web people: an owner makes an admin, and a member again"):
        await choose(page, member("Romeo"), "Make admin")
        await romeo.presence(room, "Romeo", lambda p: p["muc"]["affiliation"] == "admin")
        await member("Romeo").locator(".tail:has-text('Admin')").wait_for()
        await choose(page, member("Romeo"), "Make member")
        await romeo.presence(room, "Romeo", lambda p: p["muc"]["affiliation"] == "member")
    with checks.check("web people: who is banned stays out until the ban is lifted"):
        await choose(page, member("Romeo"), "Ban")
        await romeo.presence(room, "Romeo", lambda p: p["type"] == "unavailable" and 301 in codes(p))
        await member("Romeo").wait_for(state="detached")
        try:
            await romeo.enter(room, "Romeo")
            raise Failure("a banned user enters")
        except PresenceError as error:
            expect(error.condition == "forbidden", f"{error.condition}")
        await button(panel(page), "Banned people").click()
        await sheet(page).locator(".item:has-text('Romeo')").wait_for()
        await button(sheet(page), "Lift ban").click()
        await sheet(page).locator(".empty:has-text('Nobody is banned')").wait_for()
        await page.keyboard.press("Escape")
        await button(panel(page), "Add people").click()
        await find(page, "rom", "Romeo")
        await button(sheet(page), "Add").click()
        await romeo.saw("groupchat_invite")
        await romeo.enter(room, "Romeo")
    with checks.check("web people: who is removed is out, and reads nothing more"):
        await choose(page, member("Romeo"), "Remove from group")
        await romeo.presence(room, "Romeo", lambda p: p["type"] == "unavailable" and 321 in codes(p))
        await say(page, "Without him")
        await member("Romeo").wait_for(state="detached")
        await romeo["xep_0199"].ping("localhost", timeout=PATIENCE)
        expect(not any("Without him" in str(each) for each in romeo.order), "he has read it")
    with checks.check("web people: somebody who is no contact is found and added; the last owner cannot leave, one of two can"):
        await button(panel(page), "Add people").click()
        await find(page, "nur", "Nurse")
        await button(sheet(page), "Add").click()
        await member("Nurse").wait_for()
        dialog = page.url.split("/")[-1]
        await button(panel(page), "Leave group").click()
        await agree(page, "Leave group")
        await page.locator(".toast:has-text('last owner')").wait_for()
        await choose(page, member("Nurse"), "Make owner")
        await member("Nurse").locator(".tail:has-text('Owner')").wait_for()
        await button(panel(page), "Leave group").click()
        await agree(page, "Leave group")
        await row(page, "The orchard").wait_for(state="detached")
        _, members = await app(nurse.call, "GET", f"/v1/dialogs/{dialog}/members")
        expect([(each["userId"], each["role"]) for each in members["items"]] == [("nurse", "owner")], f"{members}")
    with checks.check("web people: a public group is found by a part of its name, and joined"):
        square = (await app(nurse.call, "POST", "/v1/dialogs", {"type": "public", "name": "Market square", "about": "Fish"}))[1]["id"]
        await app(nurse.call, "POST", "/v1/dialogs", {"type": "group", "name": "Secret market"})
        await begin(page, "Find public groups")
        await sheet(page).get_by_label("Search").fill("market")
        await sheet(page).locator(".item:has-text('Market square')").wait_for()
        expect(await sheet(page).locator(".item").count() == 1, "a group that is not public is found")
        await sheet(page).locator(".item:has-text('Fish')").click()
        await page.locator(".head:has-text('Market square'):has-text('2 members')").wait_for()
        await say(page, "Is there fish?")
        said = await app(nurse.history, square)
        expect(said[-1]["content"]["text"] == "Is there fish?" and said[-1]["senderId"] == "juliet", f"{said[-1]}")
    with checks.check("web people: who may only read is told so while the group is open, and writes again once they may"):
        await app(nurse.call, "PUT", f"/v1/dialogs/{square}/members/juliet", {"role": "watcher"})
        await page.locator(".composer:has-text('You can read here, but not write')").wait_for()
        expect(await page.locator(".write").is_hidden(), "one can write still")
        await app(nurse.call, "PUT", f"/v1/dialogs/{square}/members/juliet", {"role": "member"})
        await say(page, "And bread?")


async def contacts(checks, server, page, tybalt, paris):
    async def asked():
        tybalt.send_presence_subscription("juliet@localhost", ptype="subscribe")
        await row(page, "Contact requests").click()
        await sheet(page).locator(".item:has-text('tybalt@localhost')").wait_for()

    with checks.check("web people: a request of an XMPP client is declined, and another one accepted"):
        await asked()
        await button(sheet(page), "Decline").click()
        await tybalt.saw("presence_unsubscribed")
        await sheet(page).locator(".empty:has-text('No requests')").wait_for()
        await button(sheet(page).locator(".sheet-foot"), "Close").click()
        await row(page, "Contact requests").wait_for(state="detached")
        await asked()
        await button(sheet(page), "Accept").click()
        await tybalt.saw("presence_subscribed")
        # Whoever accepts asks back.
        await tybalt.saw("presence_subscribe", lambda p: p["from"].bare == "juliet@localhost")
        tybalt.send_presence_subscription("juliet@localhost", ptype="subscribed")
        await tybalt.saw("presence_available", lambda p: p["from"].bare == "juliet@localhost")
        await button(sheet(page).locator(".sheet-foot"), "Close").click()
    with checks.check("web people: a stranger is found by name and asked; who has declined can be asked again"):
        await begin(page, "New chat")
        await find(page, "Par", "Paris")
        await page.locator(".head:has-text('Paris')").wait_for()
        await page.click(".who")
        await button(panel(page), "Add to contacts").click()
        await paris.saw("presence_subscribe")
        await panel(page).locator(".item:has-text('Request sent')").wait_for()
        paris.send_presence_subscription("juliet@localhost", ptype="unsubscribed")
        await panel(page).locator(".item:has-text('Request sent')").wait_for(state="detached")
        await button(panel(page), "Add to contacts").click()
        await paris.saw("presence_subscribe")
        paris.send_presence_subscription("juliet@localhost", ptype="subscribed")
        await panel(page).locator(".card:has-text('Online')").wait_for()
        expect(await button(panel(page), "Add to contacts").count() == 0, "a contact can be added")
    with checks.check("web people: a contact has another name in one's own list, and is removed"):
        await button(panel(page), "Name in your list").click()
        await answer(page, "The County")
        await row(page, "The County").wait_for()
        await button(panel(page), "Remove from contacts").click()
        await agree(page, "Remove")
        await paris.saw("any presence", lambda p: p["type"] == "unsubscribe")
        await button(panel(page), "Add to contacts").wait_for()
        await row(page, "Paris").wait_for()


async def unwanted(checks, server, page, romeo, paris):
    with checks.check("web people: what a blocked person writes does not arrive; who is unblocked can write again"):
        romeo.send_message("juliet@localhost", "First words", mtype="chat")
        await row(page, "First words").click()
        await page.click(".who")
        await button(panel(page), "Block").click()
        await agree(page, "Block")
        await page.locator(".strip:has-text('You have blocked this person')").wait_for()
        romeo.send_message("juliet@localhost", "Blocked words", mtype="chat")
        await romeo.saw("any message", lambda m: m["type"] == "error" and m["from"].bare == "juliet@localhost")
        await button(page.locator(".strip"), "Unblock").click()
        await page.locator(".strip:has-text('You have blocked')").wait_for(state="detached")
        romeo.send_message("juliet@localhost", "Free words", mtype="chat")
        await message(page, "Free words").wait_for()
        expect(await message(page, "Blocked words").count() == 0, "it has arrived")
        await page.reload()
        await message(page, "Free words").wait_for()
        expect(await message(page, "Blocked words").count() == 0, "it is in the history")
    with checks.check("web people: a report is read by the operator, and the reported person is blocked with it"):
        paris.send_message("juliet@localhost", "Buy my horses", mtype="chat")
        await row(page, "Paris").click()
        await message(page, "Buy my horses").locator(".bubble").click(button="right")
        await page.get_by_role("menuitem", name="Report", exact=True).click()
        await sheet(page).get_by_label("Abuse").check()
        await sheet(page).get_by_label("What is wrong?").fill("He does not stop")
        await sheet(page).get_by_label("Also block this person").check()
        await button(sheet(page), "Report").click()
        await page.locator(".toast:has-text('The operators have your report')").wait_for()
        listed, = json.loads(await app(lambda: server.command("report", "list", "--json")))
        shown = await app(lambda: server.command("report", "show", str(listed["id"])))
        for part in ("paris@localhost", "juliet@localhost", "abuse", "He does not stop", "Buy my horses"):
            expect(part in shown, f"{part} is not in the report: {shown}")
        await page.locator(".strip:has-text('You have blocked this person')").wait_for()
        await settings(page)
        await page.locator(".side .item:has-text('Blocked people')").click()
        await sheet(page).locator(".item:has-text('Paris')").wait_for()
        await button(sheet(page), "Unblock").click()
        await sheet(page).locator(".empty:has-text('nobody')").wait_for()
        await page.keyboard.press("Escape")
        paris.send_message("juliet@localhost", "Only a question", mtype="chat")
        await leave_settings(page)
        await message(page, "Only a question").wait_for()


async def oneself(checks, server, page, romeo, nurse):
    with checks.check("web people: an entry of the settings that is drawn anew while it is pressed opens"):
        asked, told = asyncio.Event(), asyncio.Event()

        async def hold(route):
            asked.set()
            await told.wait()
            await route.continue_()
        await page.route("**/v1/info", hold)
        me = await settings(page)
        await asked.wait()
        entry = me.locator(".item:has-text('Name')")
        box = await entry.bounding_box()
        await page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        await page.mouse.down()
        async with page.expect_response("**/v1/info") as answer_of_server:
            told.set()
        await (await answer_of_server.value).finished()
        await page.evaluate(DRAWN)
        await page.mouse.up()
        await sheet(page).locator(".field .input").wait_for()
        await page.keyboard.press("Escape")
        await page.unroute("**/v1/info")
    with checks.check("web people: one's name, picture, status and availability are those that others see"):
        await me.locator(".item:has-text('Name')").click()
        await answer(page, "Juliet of the orchard")
        await me.locator(".card h3:has-text('Juliet of the orchard')").wait_for()
        await me.locator(".item:has-text('Status')").click()
        await answer(page, "Sighing")
        await me.locator(".card:has-text('Sighing')").wait_for()
        await change_picture(page, me)
        await me.locator(".card .avatar img").wait_for()
        picture, name = await card_of(romeo, "juliet@localhost")
        expect(picture == ROSE and name == "Juliet of the orchard", f"{name}, {len(picture)} bytes")
        _, seen = await app(nurse.call, "GET", "/v1/users/juliet")
        expect((seen["name"], seen["status"]) == ("Juliet of the orchard", "Sighing"), f"{seen}")
        await me.get_by_label("Availability").select_option("doNotDisturb")
        await romeo.saw("presence_dnd", lambda p: p["from"].bare == "juliet@localhost")
        await me.get_by_label("Availability").select_option("online")
        await button(me, "Remove picture").click()
        await me.locator(".card .avatar img").wait_for(state="detached")
        expect("avatarHash" not in (await app(nurse.call, "GET", "/v1/users/juliet"))[1], "the picture is still there")
    with checks.check("web people: privacy: who may write, call, find, and see when one was here"):
        async def select(label, value):
            async with page.expect_response(lambda response: response.url.endswith("/v1/users/me") and response.request.method == "PATCH") as done:
                await me.get_by_label(label).select_option(value)
            expect((await done.value).status == 200, f"{label}: {(await done.value).status}")

        async def switch(label):
            async with page.expect_response(lambda response: response.url.endswith("/v1/users/me") and response.request.method == "PATCH") as done:
                await me.locator(f".item:has-text('{label}') input").click()
            return await (await done.value).json()

        dialog = await app(nurse.dialog, "juliet")
        write = lambda words: app(nurse.call, "POST", f"/v1/dialogs/{dialog}/messages", {"clientId": words, "content": {"type": "text", "text": words}})
        ring = lambda: app(nurse.call, "POST", "/v1/calls", {"userId": "juliet", "kind": "audio", "clientId": "ring"})
        found = lambda: app(lambda: [each["id"] for each in nurse.call("GET", "/v1/users?query=juliet")[1]["items"]])
        await select("Who may write to me", "contacts")
        status, problem = await write("May I?")
        expect((status, problem["code"]) == (403, "not-a-contact"), f"{status} {problem}")
        await select("Who may write to me", "everybody")
        expect((await write("I may"))[0] == 201, "it is refused still")
        await select("Who may call me", "nobody")
        status, problem = await ring()
        expect(status == 403, f"{status} {problem}")
        await select("Who may call me", "contacts")
        expect(await found() == ["juliet"], "she is not found")
        await switch("People can find me")
        expect(await found() == [], "she is found still")
        await switch("People can find me")
        expect((await switch("Others find me by my number"))["matchable"] is True, "she cannot be found by her number")
        expect((await switch("Others find me by my number"))["matchable"] is False, "she can be found still")
        await select("Who sees when I was here", "everybody")
        expect("lastSeenAt" in (await app(nurse.call, "GET", "/v1/users/juliet"))[1], "everybody does not see it")
        await select("Who sees when I was here", "nobody")
        expect("lastSeenAt" not in (await app(nurse.call, "GET", "/v1/users/juliet"))[1], "somebody sees it")
    await leave_settings(page)


async def devices(checks, server, browser, page):
    with checks.check("web people: a session ended from another device is at its sign-in, and its browser keeps nothing of the account"):
        other = await browser.sign_in("juliet")
        await row(other, "Free words").click()
        await message(other, "Free words").wait_for()
        await other.wait_for_function(f"async () => {{ const kept = await ({KEPT})(); return kept.includes('refreshToken') && kept.includes('Free words'); }}")
        await settings(page)
        await page.locator(".side .item:has-text('Devices')").click()
        await sheet(page).locator(".item:has-text('This device')").wait_for()
        expect(await button(sheet(page), "Sign out").count() == 1, "other sessions than the two")
        await button(sheet(page), "Sign out").click()
        await other.wait_for_selector("[name=password]")
        await other.locator(".error:has-text('You were signed out')").wait_for()
        await keeps_unsent(other, "juliet")
        await button(sheet(page), "Sign out").wait_for(state="detached")
        await page.keyboard.press("Escape")
        await leave_settings(page)
        await other.context.close()


async def other_apps(checks, server, page):
    def phone_of(login):
        client = Guest(server, "juliet", "phone")
        client.credentials["password"] = login["password"]
        # It would be a guest otherwise, where a password fails.
        client["feature_mechanisms"].use_mechs = {"SCRAM-SHA-256"}
        return client

    with checks.check("web people: an app password, with its address in a QR code, with which an XMPP client logs in"):
        me = await settings(page)
        await me.locator(".item:has-text('Connect another app')").click()
        await sheet(page).get_by_label("Name of the app").fill("Conversations")
        await button(sheet(page), "Create password").click()
        login = json.loads(await scanned(sheet(page).locator(".qr")))
        shown = await sheet(page).locator("code.secret").all_text_contents()
        expect(login == {"protocol": "xmpp", "address": "juliet@localhost", "password": shown[1]} and shown[0] == "juliet@localhost", f"{login} and {shown}")
        phone = await phone_of(login).arrive()
        await button(sheet(page), "Done").click()
    with checks.check("web people: an app password that is taken back ends what it began, and logs nobody in"):
        await sheet(page).locator(".item:has-text('Conversations')").wait_for()
        expect(login["password"] not in await sheet(page).inner_text(), "the password is shown again")
        await button(sheet(page), "Remove").click()
        await phone.saw("disconnected")
        phone.abort()
        await sheet(page).locator(".item:has-text('Conversations')").wait_for(state="detached")
        again = phone_of(login)
        again.connect(server.host, server.xmpp)
        await again.saw("failed_all_auth")
        again.abort()
        await page.keyboard.press("Escape")
        await leave_settings(page)


async def proofs(checks, server, browser, page, hook):
    with checks.check("web people: a mail address is proved by a code, and one signs in by a code sent there"):
        me = await settings(page)
        await me.locator(".item:has-text('Mail address')").click()
        await sheet(page).get_by_label("Mail address").fill(MAIL)
        await button(sheet(page), "Send code").click()
        await sheet(page).get_by_label("Code", exact=True).fill((await app(lambda: hook.letter("code.requested", email=MAIL)))["code"])
        await sheet(page).get_by_label("Current password").fill(PASSWORD)
        await button(sheet(page), "Save").click()
        await me.locator(f".item:has-text('{MAIL}')").wait_for()
        await leave_settings(page)
        other = await browser.page()
        await other.goto(server.base + "/")
        await button(other, "Sign in with a code").click()
        await other.fill("[name=address]", MAIL)
        await button(other, "Send code").click()
        code = (await app(lambda: hook.letter("code.requested", email=MAIL, userId="juliet")))["code"]
        await other.fill("[name=code]", f"{(int(code) + 1) % 1_000_000:06}")
        await button(other, "Sign in").click()
        await other.locator(".error:has-text('wrong')").wait_for()
        await other.fill("[name=code]", code)
        await button(other, "Sign in").click()
        await row(other, "Romeo").wait_for()
        await other.context.close()
    with checks.check("web people: a forgotten password is set anew by the link, which ends what the old one began, in each tab"):
        tab = await browser.page(page.context)
        await tab.goto(server.base + "/")
        await row(tab, "Romeo").wait_for()
        other = await browser.page()
        await other.goto(server.base + "/")
        await button(other, "Forgot password?").click()
        await other.fill("[name=address]", MAIL)
        await other.click("form button[type=submit]")
        await other.locator(".error:has-text('link is on its way')").wait_for()
        letter = await app(lambda: hook.letter("password-reset.requested", userId="juliet"))
        await other.goto(f"{server.base}/#/reset/{letter['token']}")
        await other.reload()
        await other.fill("[name=password]", "A new one altogether")
        await button(other, "Save").click()
        await other.locator(".error:has-text('password is changed')").wait_for()
        for each in (page, tab):
            await each.wait_for_selector("[name=password]")
        await keeps_unsent(page, "juliet")
        for password, seen in ((PASSWORD, ".error:has-text('is wrong')"), ("A new one altogether", ".side .dialogs")):
            await other.fill("[name=username]", "juliet")
            await other.fill("[name=password]", password)
            await button(other, "Sign in").click()
            await other.wait_for_selector(seen)
        await other.context.close()


async def second_factor(checks, server, browser):
    """Returns a page whose user has signed in by it."""
    with checks.check("web people: a second factor is set up by a QR code, and asked for at the sign-in"):
        page = await browser.sign_in("mercutio")
        me = await settings(page)
        await me.locator(".item:has-text('Second factor'):has-text('Off')").click()
        await sheet(page).get_by_label("Current password").fill(PASSWORD)
        await button(sheet(page), "Continue").click()
        uri = urllib.parse.urlsplit(await scanned(sheet(page).locator(".qr")))
        secret = urllib.parse.parse_qs(uri.query)["secret"][0]
        expect((uri.scheme, uri.netloc) == ("otpauth", "totp") and "mercutio" in uri.path and secret == await sheet(page).locator("code.secret").text_content(), f"{uri}")
        await sheet(page).get_by_label("Code", exact=True).fill(totp(secret))
        await button(sheet(page), "Turn on").click()
        await sheet(page).locator("p:has-text('recovery codes')").wait_for()
        recovery = (await sheet(page).locator("code.secret").text_content()).split("\n")
        expect(len(recovery) == 10, f"{len(recovery)} recovery codes")
        await button(sheet(page), "Done").click()
        await me.locator(".item:has-text('Second factor'):has-text('On')").wait_for()
        await button(me, "Sign out").click()
        await page.fill("[name=username]", "mercutio")
        await page.fill("[name=password]", PASSWORD)
        await button(page, "Sign in").click()
        await page.fill("[name=code]", f"{(int(totp(secret, 1)) + 1) % 1_000_000:06}")
        await button(page, "Sign in").click()
        await page.locator(".error:not([hidden])").wait_for()
        await page.fill("[name=code]", totp(secret, 1))
        await button(page, "Sign in").click()
        await page.wait_for_selector(".side .dialogs")
    with checks.check("web people: a recovery code in place of the second factor, and another one to turn it off"):
        me = await settings(page)
        await button(me, "Sign out").click()
        await page.wait_for_selector("[name=password]")
        await keeps_nothing(page)
        await page.fill("[name=username]", "mercutio@localhost")
        await page.fill("[name=password]", PASSWORD)
        await button(page, "Sign in").click()
        await page.wait_for_selector("[name=code]")
        await button(page, "Use a recovery code").click()
        await page.fill("[name=code]", recovery[0])
        await button(page, "Sign in").click()
        await page.wait_for_selector(".side .dialogs")
        me = await settings(page)
        await me.locator(".item:has-text('Second factor'):has-text('On')").click()
        await sheet(page).get_by_label("Code", exact=True).fill(recovery[1])
        await button(sheet(page), "Turn off").click()
        await me.locator(".item:has-text('Second factor'):has-text('Off')").wait_for()
        await leave_settings(page)
    return page


async def inviting(checks, server, browser, page):
    with checks.check("web people: somebody without an account is invited by a link, once, and is a contact at once"):
        await begin(page, "New chat")
        await sheet(page).locator("button.item:has-text('Invite somebody')").click()
        link = await scanned(sheet(page).locator(".qr"))
        shown = await sheet(page).locator("code.secret").text_content()
        expect(shown == link and "/invite/" in link, f"{shown}, and the picture has {link}")
        await button(sheet(page), "Done").click()
        guest = await browser.page()
        await guest.goto(server.base + urllib.parse.urlsplit(link).path)
        await guest.click("a:has-text('Chat in this browser')")
        await guest.locator("h2:has-text('Juliet'):has-text('invites you')").wait_for()
        await guest.fill("[name=username]", "rosaline")
        await guest.fill("[name=password]", "By a link of Juliet's")
        await guest.click("form button[type=submit]")
        await guest.wait_for_selector(".side .dialogs")
        await guest.context.close()
        roster = await app(server.command, "roster", "list", "rosaline")
        expect("juliet@localhost" in roster and "both" in roster, roster)
        late = await browser.page()
        await late.goto(server.base + urllib.parse.urlsplit(link).path)
        await late.locator("text=Already used").first.wait_for()
        await late.context.close()


async def guests(checks, server, browser, nurse):
    with checks.check("web people: a guest comes without an account, finds a public group, and writes there"):
        page = await browser.page()
        await page.goto(server.base + "/")
        await button(page, "Continue as a guest").click()
        await button(page, "Enter").click()
        await page.wait_for_selector(".side .dialogs")
        await begin(page, "Find public groups")
        await sheet(page).locator(".item:has-text('Market square')").click()
        await page.locator(".head:has-text('Market square')").wait_for()
        await say(page, "Only passing through")
        square = page.url.split("/")[-1]
        said = (await app(nurse.history, square))[-1]
        guest = (await app(nurse.call, "GET", f"/v1/users/{said['senderId']}"))[1]
        expect(said["content"]["text"] == "Only passing through" and guest["guest"] is True, f"{said} {guest}")
    with checks.check("web people: a guest is offered nothing that guests are refused, and is told why"):
        refused = []
        page.on("response", lambda answer: refused.append(answer.url) if answer.status == 403 else None)

        async def offered(opener, *wanted):
            """The entries of a menu, which is closed again."""
            await opener
            entries = await page.get_by_role("menuitem").all_text_contents()
            expect(set(wanted) <= set(entries), f"{wanted} are not among {entries}")
            await page.keyboard.press("Escape")
            expect(not {"Report", "Send later", "Scheduled messages", "Pin", "Mute", "Archive", "Mark as unread", "Contact requests"} & set(entries), f"{entries}")

        await app(nurse.say, square, "Who goes there?")
        await offered(message(page, "Who goes there?").locator(".bubble").click(button="right"), "Star", "Reply")
        await offered(page.click("[aria-label='Attach']"), "File")
        await offered(page.click(".head [aria-label='More']"), "Details", "Clear history")
        await offered(page.click("[aria-label='New chat']"), "Find public groups")
        await row(page, "Market square").click(button="right")
        await page.click(".head .who")
        await panel(page).locator(".item:has-text('You are a guest here')").wait_for()
        expect(await panel(page).locator("select, .switch").count() == 0, "there are settings of the dialog")
        await page.keyboard.press("Escape")
        me = await settings(page)
        await me.locator(".item:has-text('You are a guest here')").wait_for()
        for name in ("Name", "Change picture", "Export my data", "Set a password"):
            expect(await button(me, name).count() == 0, f"{name} is offered")
        await leave_settings(page)
        await page.fill(".write", "I shall not")
        await page.fill(".write", "")
        await say(page, "But I may write")
        expect(not refused, f"{refused}")
        await page.context.close()


async def leaving(checks, server, page, tybalt):
    with checks.check("web people: an export is made, and the file that is downloaded has the messages"):
        await begin(page, "New chat")
        await find(page, "tyb", "Tybalt")
        await say(page, "A plague on both your houses")
        await tybalt.saw("message", text("A plague on both your houses"))
        me = await settings(page)
        await me.locator(".item:has-text('Export my data')").click()
        await button(sheet(page), "New export").click()
        await sheet(page).locator(".item:has-text('Ready')").wait_for()
        async with page.expect_download() as download:
            await sheet(page).locator(".item a:has-text('Download')").click()
        data = pathlib.Path(await (await download.value).path()).read_bytes()
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            files = {member.name: tar.extractfile(member).read() for member in tar}
        messages = [json.loads(line) for name, lines in files.items() if name.startswith("messages-") for line in lines.splitlines()]
        expect([each["content"]["text"] for each in messages] == ["A plague on both your houses"], f"{messages}")
        expect(json.loads(files["profile.json"])["id"] == "mercutio", "another profile")
        await page.keyboard.press("Escape")
    with checks.check("web people: an account is deleted only by its name; then it is gone, here and from the browser"):
        await button(me, "Delete account").click()
        await agree(page, "Delete account")
        await answer(page, "romeo")
        await button(me, "Delete account").click()
        await agree(page, "Delete account")
        await answer(page, "mercutio")
        await page.wait_for_selector("[name=password]")
        await keeps_nothing(page)
        await page.fill("[name=username]", "mercutio")
        await page.fill("[name=password]", PASSWORD)
        await button(page, "Sign in").click()
        await page.locator(".error:has-text('is wrong')").wait_for()
        listed = json.loads(await app(lambda: server.command("user", "list", "--json")))
        expect("mercutio" not in json.dumps(listed) and "juliet" in json.dumps(listed), f"{listed}")


async def visit(checks, server, hook):
    nurse = await app(App, server, "nurse")
    romeo, tybalt, paris = people = [Person(server, name) for name in ("romeo", "tybalt", "paris")]
    for person in people:
        await person.arrive()
    async with browsing(server) as browser:
        page = await browser.sign_in("juliet")
        await groups(checks, server, page, romeo, nurse)
        await contacts(checks, server, page, tybalt, paris)
        await unwanted(checks, server, page, romeo, paris)
        await oneself(checks, server, page, romeo, nurse)
        await devices(checks, server, browser, page)
        await other_apps(checks, server, page)
        await inviting(checks, server, browser, page)
        await guests(checks, server, browser, nurse)
        await leaving(checks, server, await second_factor(checks, server, browser), tybalt)
        await proofs(checks, server, browser, page, hook)
        with checks.check("web people: nothing in the pages failed"):
            # Chromium tells of each answer that is an error, which the checks above have asked for.
            expect(not [error for error in browser.errors if "the server responded with a status of 4" not in error], f"{browser.errors}")
    for person in people:
        await person.leave()


def run(checks):
    port, secret = free_port(), new_secret()
    hook = Hook(port, secret)
    try:
        on_server(
            lambda checks, server: visit(checks, server, hook), checks, "romeo", "juliet", "nurse", "tybalt", "paris", "mercutio",
            guests__domains="localhost", guests__may="memberships", invitations="true", delivery__url=f"http://127.0.0.1:{port}/letters", delivery__secret=secret)
    finally:
        hook.close()
