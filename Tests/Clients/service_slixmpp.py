"""What the server does for its users beside messages, by slixmpp's own XEP-0050, 0055, 0133, 0353, 0377 and 0494, with an
app client on the other side. XEP-0215 it does not know: those two requests are stanzas of this file's own.
"""
import asyncio
import base64
import hashlib
import hmac
import xml.etree.ElementTree as ElementTree

from slixmpp.exceptions import IqError
from slixmpp.plugins.xep_0004 import Form

from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, expect, on_server
from lib.peers import Client, arrive

ADMIN = "http://jabber.org/protocol/admin#"
SERVICES = "urn:xmpp:extdisco:2"
SECRET = "prospero"


async def administer(client, command, **values):
    """A command of XEP-0133 through slixmpp's workflow: its form is filled in, where it has one. The last answer."""
    done = asyncio.get_running_loop().create_future()

    def end(iq, session):
        done.set_result(iq)

    def fill(iq, session):
        if iq["command"]["status"] == "completed":
            return end(iq, session)
        offered = iq["command"]["form"].get_fields()
        expect(set(values) <= set(offered), f"{command} asks for {list(offered)}")
        form = client["xep_0004"].make_form(ftype="submit")
        for name, value in values.items():
            form.add_field(var=name, value=value)
        session["payload"], session["next"] = form, end
        client["xep_0050"].complete_command(session)

    getattr(client["xep_0133"], command)(session={"next": fill, "error": end})
    return await asyncio.wait_for(done, PATIENCE)


async def found(checks, romeo):
    with checks.check("services, slixmpp: whom to write to (XEP-0157), and the form is part of the features"):
        info = await romeo["xep_0030"].get_info(jid="localhost", timeout=PATIENCE)
        forms = [Form(xml=element).get_values() for element in info["disco_info"].xml.findall("{jabber:x:data}x")]
        expect({"FORM_TYPE": ["http://jabber.org/network/serverinfo"], "abuse-addresses": ["mailto:abuse@localhost"]} in forms,
               f"{forms}")
    with checks.check("services, slixmpp: users are found by their names (XEP-0055)"):
        iq = romeo["xep_0055"].make_search_iq(ito="localhost")
        iq["search"]["form"].add_field(var="nick", value="jul")
        items = (await iq.send(timeout=PATIENCE))["search"]["form"].get_items()
        expect([item["jid"] for item in items] == ["juliet@localhost"], f"{items}")


async def reported(checks, server, juliet):
    with checks.check("services, slixmpp: a block with a report, which the operator reads (XEP-0191, XEP-0377)"):
        await juliet["xep_0377"].report("paris@localhost", reason="spam", timeout=PATIENCE)
        blocked = await juliet["xep_0191"].get_blocked(timeout=PATIENCE)
        expect({str(item["jid"]) for item in blocked["blocklist"]} == {"paris@localhost"}, f"{blocked}")
        listed = await asyncio.to_thread(server.command, "report", "list")
        expect("paris@localhost" in listed and "juliet@localhost" in listed, listed)


async def administered(checks, server, romeo, juliet):
    with checks.check("services, slixmpp: an admin is shown commands (XEP-0133), others are not, nor may they"):
        async def nodes(client):
            items = await client["xep_0133"].get_commands(timeout=PATIENCE)
            return {item[1] for item in items["disco_items"]["items"]}

        expect({ADMIN + "add-user", ADMIN + "user-stats"} <= await nodes(romeo), f"{await nodes(romeo)}")
        expect(not [node for node in await nodes(juliet) if node.startswith(ADMIN)], f"{await nodes(juliet)}")
        try:
            answer = await juliet["xep_0050"].send_command("localhost", ADMIN + "get-registered-users-num", timeout=PATIENCE)
        except IqError as error:
            answer = error.condition
        expect(answer == "forbidden", f"{answer}")
    mercutio = None
    with checks.check("services, slixmpp: an admin counts users, adds one, who logs in, and ends their session and account"):
        async def count():
            answer = await administer(romeo, "get_registered_users_num")
            return answer["command"]["form"].get_values()["registeredusersnum"]

        expect(await count() == "3", f"{await count()} users")
        answer = await administer(romeo, "add_user", accountjid="mercutio@localhost",
                                  password="wherefore-art-thou", **{"password-verify": "wherefore-art-thou"})
        expect(answer["command"]["status"] == "completed", f"{answer}")
        mercutio = await Client(server, "mercutio@localhost/street").arrive()
        expect(await count() == "4", f"{await count()} users")
        answer = await administer(romeo, "delete_user", accountjids="mercutio@localhost")
        expect(answer["command"]["status"] == "completed", f"{answer}")
        await mercutio.saw("disconnected")
        expect(await count() == "3", f"{await count()} users")
        return mercutio


OWN = "urn:parley:account:0#"


async def execute(client, node, *forms):
    """A command through slixmpp's workflow (XEP-0050): a form of values is submitted at each stage. The last answer."""
    done = asyncio.get_running_loop().create_future()
    left = list(forms)

    def end(iq, session):
        if not done.done():
            done.set_result(iq)

    def next_stage(iq, session):
        if iq["command"]["status"] != "executing":
            return end(iq, session)
        form = client["xep_0004"].make_form(ftype="submit")
        for name, value in left.pop(0).items():
            form.add_field(var=name, value=value)
        session["payload"], session["next"] = form, next_stage
        if "complete" in iq["command"]["actions"]:
            client["xep_0050"].complete_command(session)
        else:
            client["xep_0050"].continue_command(session)

    client["xep_0050"].start_command("localhost", node, {"next": next_stage, "error": end})
    return await asyncio.wait_for(done, PATIENCE)


def notes(iq):
    return " ".join(text for _, text in iq["command"]["notes"])


async def served(checks, server, juliet):
    with checks.check("commands, slixmpp: a user is shown their own (XEP-0050), and ping answers"):
        items = await juliet["xep_0050"].get_commands("localhost", timeout=PATIENCE)
        nodes = {item[1] for item in items["disco_items"]["items"]}
        own = {OWN + name for name in ("sessions", "change-password", "app-passwords", "message-age", "export")}
        expect(nodes == {"ping"} | own, f"{nodes}")
        answer = await execute(juliet, "ping")
        expect(answer["command"]["status"] == "completed" and notes(answer) == "Pong", f"{answer}")
    other = None
    with checks.check("commands, slixmpp: an app password, with which a client logs in until it is ended, by two stages"):
        made = await execute(juliet, OWN + "app-passwords", {"name": "borrowed"})
        other = Client(server, "juliet@localhost/borrowed")
        other.credentials["password"] = made["command"]["form"].get_values()["password"]
        await other.arrive()
        shown = await juliet["xep_0050"].send_command("localhost", OWN + "sessions", timeout=PATIENCE)
        field = shown["command"]["form"].get_fields()["sessions"]
        choices = {option["label"]: option["value"] for option in field["options"]}
        chosen = [value for label, value in choices.items() if "borrowed" in label]
        expect(len(chosen) == 1, f"{choices}")
        ended = await execute(juliet, OWN + "sessions", {"sessions": chosen}, {})
        expect("ended" in notes(ended), f"{ended}")
        await other.saw("disconnected")
    with checks.check("commands, slixmpp: an archive of one's data, begun and fetched"):
        begun = await execute(juliet, OWN + "export")
        expect("archive" in notes(begun), f"{begun}")
    with checks.check("commands, slixmpp: another password, with which the next login works"):
        changed = await execute(
            juliet, OWN + "change-password", {"password": "sweet sorrow 7", "password-verify": "sweet sorrow 7"})
        expect(changed["command"]["status"] == "completed", f"{changed}")
        again = Client(server, "juliet@localhost/again")
        again.credentials["password"] = "sweet sorrow 7"
        await again.arrive()
        await again.leave()
        back = await execute(juliet, OWN + "change-password", {"password": PASSWORD, "password-verify": PASSWORD})
        expect(back["command"]["status"] == "completed", f"{back}")
    return other


async def accessed(checks, server, app, juliet):
    phone = await app(lambda: App(server, "juliet", "phone").connect())

    async def clients():
        return {client["id"]: client for client in await juliet["xep_0494"].get_clients(timeout=PATIENCE)}

    with checks.check("services, slixmpp: who has access to the account, of both protocols, and one less (XEP-0494)"):
        listed = await clients()
        expect("login-phone" in listed and "session-balcony" in listed, f"{list(listed)}")
        expect(listed["session-balcony"]["connected"] and listed["session-balcony"]["auth"]["password"], f"{listed}")
        # slixmpp 1.17 revokes with a `get`; XEP-0494 4.2 wants a `set`.
        iq = juliet.make_iq_set()
        iq["revoke"]["id"] = "login-phone"
        await iq.send(timeout=PATIENCE)
        await app(lambda: phone.event("session.revoked"))
        status, _ = await app(lambda: phone.call("GET", "/v1/users/me"))
        expect(status == 401, f"its token is answered {status}")
        expect("login-phone" not in await clients(), "it is still in the list")


async def let_in(checks, server, app):
    """A password for this client alone, which the app makes and takes away."""
    with checks.check("services, slixmpp: logs in with an app password, until the app takes it away"):
        phone = await app(lambda: App(server, "juliet", "tablet"))
        status, made = await app(lambda: phone.call("POST", "/v1/app-passwords", {"name": "slixmpp"}))
        expect(status == 201, f"no app password: {status} {made}")
        client = Client(server, "juliet@localhost/borrowed")
        client.credentials["password"] = made["password"]
        await client.arrive()
        status, _ = await app(lambda: phone.call("DELETE", f"/v1/app-passwords/{made['id']}"))
        expect(status == 204, f"taking it away is answered {status}")
        await client.saw("disconnected")
        again = Client(server, "juliet@localhost/borrowed")
        again.credentials["password"] = made["password"]
        again.connect("127.0.0.1", server.xmpp)
        await again.saw("failed_all_auth")
        again.abort()
        return client, again


async def called(checks, server, app, romeo, juliet, desk):
    with checks.check("calls, slixmpp: all devices ring, one answers, the others hear of that; the archive has it (XEP-0353)"):
        audio = [("urn:xmpp:jingle:apps:rtp:1", "audio")]
        romeo["xep_0353"].propose("juliet@localhost", "call", audio)
        for device in (juliet, desk):
            rings = await device.saw("jingle_message_propose", lambda m: m["jingle_propose"]["id"] == "call")
            expect(rings["jingle_propose"]["descriptions"] == audio, f"{rings}")
        desk["xep_0353"].proceed(romeo.boundjid, "call")
        answered = await romeo.saw("jingle_message_proceed")
        expect(answered["from"] == desk.boundjid, f"{answered}")
        copy = await juliet.saw("carbon_sent")
        expect(copy["carbon_sent"]["jingle_proceed"]["id"] == "call", f"{copy}")
        names = [next(iter(entry["mam_result"]["forwarded"]["stanza"].xml)).tag.rpartition("}")[2]
                 async for entry in romeo["xep_0313"].iterate(with_jid="juliet@localhost", rsm={"max": 10})]
        expect(names == ["propose", "proceed"], f"the archive has {names}")
    with checks.check("calls: relays, with credentials that hold (XEP-0215, by requests of our own), as the app has them"):
        iq = romeo.make_iq_get(ito="localhost")
        iq.append(ElementTree.Element(f"{{{SERVICES}}}services"))
        services = list((await iq.send(timeout=PATIENCE)).xml.iter(f"{{{SERVICES}}}service"))
        expect([service.get("type") for service in services] == ["stun", "turn"], f"{services}")
        relay = services[1]

        def password(name):
            return base64.b64encode(hmac.new(SECRET.encode(), name.encode(), hashlib.sha1).digest()).decode()

        expect(relay.get("password") == password(relay.get("username")), "a TURN server would not take this password")
        iq = romeo.make_iq_get(ito="localhost")
        wanted = ElementTree.SubElement(ElementTree.Element("x"), f"{{{SERVICES}}}credentials")
        ElementTree.SubElement(wanted, f"{{{SERVICES}}}service", host="relay.example.org", type="turn")
        iq.append(wanted)
        again = next((await iq.send(timeout=PATIENCE)).xml.iter(f"{{{SERVICES}}}service"))
        expect(again.get("password") == password(again.get("username")), "nor this one")
        status, listed = await app(lambda: App(server, "juliet", "tablet").call("GET", "/v1/ice-servers"))
        expect(status == 200 and listed["items"][1]["urls"] == ["turn:relay.example.org:3478?transport=udp"], f"{listed}")
        expect(listed["items"][1]["credential"] == password(listed["items"][1]["username"]), "nor the app's")


async def converse(checks, server):
    loop = asyncio.get_running_loop()

    async def app(body):
        return await loop.run_in_executor(None, body)

    romeo = await arrive(server, "romeo@localhost/orchard")
    juliet = await arrive(server, "juliet@localhost/balcony")
    await found(checks, romeo)
    await reported(checks, server, juliet)
    # Whose stream has ended is held on to: slixmpp's tasks are not, and complain when they are swept away.
    kept = [await administered(checks, server, romeo, juliet)]
    await accessed(checks, server, app, juliet)
    kept.append(await let_in(checks, server, app))
    kept.append(await served(checks, server, juliet))
    desk = await arrive(server, "juliet@localhost/desk")
    # From strangers nothing rings.
    await app(lambda: server.befriend("romeo", "juliet"))
    await called(checks, server, app, romeo, juliet, desk)
    for client in (romeo, juliet, desk):
        await client.leave()
    kept.clear()


def run(checks):
    on_server(
        converse, checks, "romeo", "juliet", "paris", friends=False, admins="romeo@localhost",
        contact__abuse="mailto:abuse@localhost", turn__secret=SECRET,
        turn__servers="stun:relay.example.org,turn:relay.example.org")
