"""slixmpp, a Python XMPP library with its own implementation of everything, against Parley, with an app client on the other
side: STARTTLS with the server's own certificate verified, roster, presence, messages, receipts, carbons, stream management,
archive after reconnecting.
"""
import asyncio

from lib.apps import App
from lib.harness import PATIENCE, expect, on_server
from lib.peers import Client, text


async def logging_in(checks, server, juliet, app, romeo):
    """Login, roster, presence and discovery."""
    with checks.check("slixmpp: logs in over STARTTLS, certificate verified"):
        await romeo.arrive()
        expect(str(romeo.boundjid) == "romeo@localhost/orchard", f"bound {romeo.boundjid}")
        expect(romeo.transport.get_extra_info("ssl_object") is not None, "the connection is not encrypted")
    with checks.check("slixmpp: a wrong password is refused"):
        wrong = Client(server, "romeo@localhost/wrong")
        wrong.credentials["password"] = "not-the-password"
        wrong.connect("127.0.0.1", server.xmpp)
        await wrong.saw("failed_all_auth")
        wrong.abort()
    with checks.check("slixmpp: roster"):
        await romeo.get_roster()
        items = {jid: romeo.client_roster[jid]["subscription"] for jid in romeo.client_roster.keys() if "@" in jid}
        expect(items.get("juliet@localhost") == "both", f"the roster is {items}")
    with checks.check("slixmpp: a roster set is pushed back, and the app sees it"):
        await romeo.update_roster("paris@localhost", name="The County", groups=["Rivals"])
        expect(romeo.client_roster["paris@localhost"]["name"] == "The County", "no push")
        mine = await app(lambda: App(server, "romeo", "desk"))
        _, contacts = await app(lambda: mine.call("GET", "/v1/contacts"))
        names = {item["userId"]: item.get("name") for item in contacts["items"]}
        expect(names.get("paris") == "The County", f"contacts {names}")
    with checks.check("slixmpp: presence both ways"):
        romeo.send_presence(pstatus="courting")
        await romeo.saw("presence_available", lambda p: str(p["from"]) == "juliet@localhost/app-phone")
        await app(lambda: juliet.event("presence.updated", lambda d: d["presence"]["userId"] == "romeo" and d["presence"].get("status") == "courting"))
        await app(lambda: juliet.command("presence", {"availability": "away"}))
        await romeo.saw("presence_away", lambda p: str(p["from"]) == "juliet@localhost/app-phone")
    with checks.check("slixmpp: service discovery, version, ping, time (XEP-0030, 0092, 0199, 0202)"):
        info = await romeo["xep_0030"].get_info(jid="localhost", timeout=PATIENCE)
        expect("urn:xmpp:carbons:2" in info["disco_info"]["features"], f"{info}")
        info = await romeo["xep_0030"].get_info(jid="romeo@localhost", timeout=PATIENCE)
        expect("urn:xmpp:mam:2" in info["disco_info"]["features"], f"{info}")
        await romeo["xep_0199"].ping("localhost", timeout=PATIENCE)
        version = await romeo["xep_0092"].get_version("localhost", timeout=PATIENCE)
        expect(version["software_version"]["name"] == "Parley", f"{version}")
        time = await romeo["xep_0202"].get_entity_time("localhost", timeout=PATIENCE)
        # Its text: slixmpp 1.17 itself reads only times without the Z that XEP-0082 3.2 asks for.
        expect(time.xml.findtext(".//{urn:xmpp:time}utc", "").endswith("Z"), f"{time}")
        # Asked of the app session, the server answers for it.
        await romeo["xep_0199"].ping("juliet@localhost/app-phone", timeout=PATIENCE)


async def talking(checks, juliet, app, romeo):
    """Messages to and from the app, and typing."""
    dialog = await app(lambda: juliet.dialog("romeo"))
    with checks.check("slixmpp: a message to the app, and its receipt and marker"):
        message = romeo.make_message("juliet@localhost", "But soft", mtype="chat")
        message["request_receipt"] = True
        message.enable("markable")
        message["id"] = "soft-1"
        message.send()
        got = await app(lambda: juliet.message("But soft"))
        expect(got["senderId"] == "romeo" and got["dialogId"] == dialog, f"{got}")
        await app(lambda: juliet.command("marker.set", {"dialogId": dialog, "delivered": got["id"]}))
        await romeo.saw("receipt_received", lambda m: m["receipt"] == "soft-1")
        await app(lambda: juliet.command("marker.set", {"dialogId": dialog, "read": got["id"]}))
        await romeo.saw("marker_displayed", lambda m: m["displayed"]["id"] == "soft-1")
    with checks.check("slixmpp: a message from the app, and its receipt by itself"):
        said = await app(lambda: juliet.say(dialog, "Ay me"))
        got = await romeo.saw("message", text("Ay me"))
        expect(str(got["from"]).split("/")[0] == "juliet@localhost", f"{got}")
        expect(got["stanza_id"]["id"] == said["id"], f"stanza-id {got['stanza_id']['id']}, not {said['id']}")
        # slixmpp answers <request/> on its own.
        await app(lambda: juliet.event("marker.updated", lambda d: d["marker"]["userId"] == "romeo" and d["marker"].get("delivered") == said["id"]))
    with checks.check("slixmpp: typing both ways"):
        composing = romeo.make_message("juliet@localhost", mtype="chat")
        composing["chat_state"] = "composing"
        composing.send()
        await app(lambda: juliet.event("typing.updated", lambda d: d["userIds"] == ["romeo"]))
        await app(lambda: juliet.command("typing", {"dialogId": dialog, "on": True}))
        await romeo.saw("chatstate_composing")
    with checks.check("slixmpp: while nobody looks, of presence the last comes, and with a message (XEP-0352)"):
        romeo["xep_0352"].send_inactive()
        await romeo["xep_0199"].ping("localhost", timeout=PATIENCE)
        romeo.seen.clear()
        for availability in ("away", "online", "away", "online"):
            await app(lambda: juliet.command("presence", {"availability": availability}))
        await app(lambda: juliet.say(dialog, "Hist"))
        await romeo.saw("message", text("Hist"))
        heard = [event for event, data in romeo.seen if event.startswith("presence_") and "juliet" in str(data["from"])]
        expect(heard == ["presence_available"], f"it heard {heard}")
        romeo["xep_0352"].send_active()
    return dialog


async def devices(checks, server, juliet, app, romeo, dialog):
    """Carbons, blocks and resumption."""
    paris = other = None
    desk = Client(server, "romeo@localhost/desk", direct=True)
    with checks.check("slixmpp: direct TLS, and carbons of what is sent and received"):
        await desk.arrive()
        desk.send_presence()
        await desk["xep_0280"].enable(timeout=PATIENCE)
        await romeo["xep_0280"].enable(timeout=PATIENCE)
        await romeo.saw("presence_available", lambda p: str(p["from"]) == "romeo@localhost/desk")
        romeo.send_message("juliet@localhost", "copied", mtype="chat")
        copy = await desk.saw("carbon_sent", lambda m: str(m["carbon_sent"]["body"]) == "copied")
        expect(str(copy["carbon_sent"]["to"]) == "juliet@localhost", f"{copy}")
        paris = await app(lambda: App(server, "paris", "phone").connect())
        other = await app(lambda: paris.dialog("romeo"))
        await app(lambda: paris.say(other, "to both"))
        await desk.saw("message", text("to both"))
        await romeo.saw("message", text("to both"))
        nurse = Client(server, "nurse@localhost/kitchen")
        await nurse.arrive()
        nurse.send_presence()
        nurse.send_message("romeo@localhost/orchard", "to one", mtype="chat")
        await romeo.saw("message", text("to one"))
        await desk.saw("carbon_received", lambda m: str(m["carbon_received"]["body"]) == "to one")
        await nurse.leave()
    with checks.check("slixmpp: blocking hides, unblocking shows"):
        await romeo["xep_0191"].block("juliet@localhost", timeout=PATIENCE)
        await app(lambda: juliet.event("presence.updated", lambda d: d["presence"]["userId"] == "romeo" and not d["presence"]["online"]))
        status, _ = await app(lambda: juliet.call(
            "POST", f"/v1/dialogs/{dialog}/messages", {"clientId": "b", "content": {"type": "text", "text": "blocked"}}))
        expect(status == 404, f"a blocked author is answered {status}")
        await romeo["xep_0191"].unblock("juliet@localhost", timeout=PATIENCE)
        await app(lambda: juliet.event("presence.updated", lambda d: d["presence"]["userId"] == "romeo" and d["presence"]["online"]))
    with checks.check("slixmpp: a lost connection is resumed, what was missed comes once"):
        expect(romeo["xep_0198"].enabled_in and romeo["xep_0198"].enabled_out, "stream management is not enabled")
        romeo.transport.abort()
        await romeo.saw("disconnected")
        await app(lambda: juliet.say(dialog, "while away"))
        romeo.connect("127.0.0.1", server.xmpp)
        await romeo.saw("session_resumed")
        await romeo.saw("message", text("while away"))
        await romeo["xep_0199"].ping("localhost", timeout=PATIENCE)
        again = [data for event, data in romeo.seen if event == "message" and str(data["body"]) == "while away"]
        expect(not again, "it came twice")
    return desk, paris, other


async def absence(checks, server, juliet, app, romeo, dialog, desk, paris, other):
    """What a client finds after an absence."""
    with checks.check("slixmpp: the archive after a new login has all of it, in order"):
        await romeo.leave()
        await desk.leave()
        later = await Client(server, "romeo@localhost/later").arrive()
        bodies, ids = [], []
        async for entry in later["xep_0313"].iterate(with_jid="juliet@localhost", rsm={"max": 3}):
            result = entry["mam_result"]
            ids.append(str(result["id"]))
            bodies.append(str(result["forwarded"]["stanza"]["body"]))
        wanted = ["But soft", "Ay me", "Hist", "copied", "while away"]
        expect([body for body in bodies if body] == wanted, f"the archive says {bodies}")
        history = await app(lambda: juliet.history(dialog))
        expect([m["content"]["text"] for m in history] == wanted, f"the app's history says {history}")
        shown = [number for number, body in zip(ids, bodies) if body]
        expect([m["id"] for m in history] == shown, "the ids differ between archive and app")
        await later.leave()
    with checks.check("slixmpp: what was sent to nobody there comes with the first presence"):
        await app(lambda: juliet.say(dialog, "good night"))
        morning = await Client(server, "romeo@localhost/morning").arrive()
        morning.send_presence()
        got = await morning.saw("message", text("good night"))
        expect(got.xml.find("{urn:xmpp:delay}delay") is not None, "it has no time of its own")
        await morning.leave()
    with checks.check("slixmpp: a long absence: more than one page of offline messages, each once, in order"):
        count = 1_100  # Limits.replayMax and some more

        def say_all():
            for number in range(count):  # by two, since it is more than one user may say at once
                speaker, where = [(juliet, dialog), (paris, other)][number % 2]
                speaker.say(where, f"page {number}")

        await app(say_all)
        back = await Client(server, "romeo@localhost/back").arrive()
        back.send_presence()
        await back.saw("message", text(f"page {count - 1}"))
        bodies = [str(data["body"]) for event, data in back.seen if event == "message"]
        expect(bodies == [f"page {number}" for number in range(count - 1)], f"{len(bodies)}, from {bodies[:2]} to {bodies[-2:]}")
        await back.leave()


async def converse(checks, server):
    loop = asyncio.get_running_loop()
    juliet = await loop.run_in_executor(None, lambda: App(server, "juliet", "phone").connect())

    async def app(body):
        return await loop.run_in_executor(None, body)

    romeo = Client(server, "romeo@localhost/orchard")
    await logging_in(checks, server, juliet, app, romeo)
    dialog = await talking(checks, juliet, app, romeo)
    desk, paris, other = await devices(checks, server, juliet, app, romeo, dialog)
    await absence(checks, server, juliet, app, romeo, dialog, desk, paris, other)
    juliet.close()


def run(checks):
    on_server(converse, checks, "romeo", "juliet", "nurse", "paris")
