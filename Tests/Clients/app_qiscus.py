"""An app over a chat SDK that signs its people in by identity tokens (docs/guides/five-apps.md, QI), row by row: Viola and Feste with
the app, Orsino with slixmpp; all three have accounts at the app's own backend and nowhere else.
"""
import asyncio
import contextlib
import http.server
import threading
import time
import xml.etree.ElementTree as ElementTree

from slixmpp import JID
from slixmpp.exceptions import IqError

from lib.harness import PASSWORD, PATIENCE, expect
from lib.peers import HASH, LARK, ROSE, Client, metadata_of, nick_of
from lib.rooms import MUC, USER, codes, topic_of
from lib.services import Backend, new_secret
from lib.signins import Signer, vouch
from lib.stage import Beacon, Described, Moderator, Services, Story, agree, serve, switch

APP, SECRET = "my-app", "a secret of the backend and the server"
MAIL = "viola@illyria.example"  # what the backend calls her
EVENTS = ["message.created", "message.deleted", "marker.updated", "presence.updated", "typing.updated", "user.updated", "dialog.created",
          "dialog.updated", "dialog.deleted", "ready", "caught_up"]


@contextlib.contextmanager
def picture(data):
    """Where the backend keeps somebody's picture: its address, and how often it was asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "image/png")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/viola.png", asked
    finally:
        server.shutdown()
        server.server_close()


async def identity_token(app, prn, **claims):
    """What the app does: asks for a nonce, and its backend for a token with it."""
    nonce = (await app.ask("POST", "/v1/nonces", status=201))["nonce"]
    return vouch(nonce, prn, Signer("HS256", secret=SECRET), APP, **claims)


async def sign_in(app, prn, **claims):
    return await app.sign_in(grant="jwt", identityToken=await identity_token(app, prn, **claims))


async def refused_connection(app, token):
    """What a WebSocket is told that comes with this token, and the code it is closed with."""
    async with app.line.ws_connect(app.base.replace("http", "ws", 1) + "/v1/ws", protocols=["parley.v1"]) as socket:
        await socket.send_json({"id": "1", "type": "hello", "data": {"token": token}})
        answer = await asyncio.wait_for(socket.receive_json(), PATIENCE)
        await asyncio.wait_for(socket.receive(), PATIENCE)
        return answer, socket.close_code


async def signing_in(stage, story, described, address, viola, feste, backend_of):
    """Sign-in by a token of the backend."""
    desk = orsino_session = orsino = None
    with story.row(1, "sign-in by identity token: nonce, token of the backend, session; slixmpp by the session's token (SASL)"):
        nonce = await viola.ask("POST", "/v1/nonces", status=201)
        described.fits("openapi.yaml#/components/schemas/Nonce", nonce)
        left = time.mktime(time.strptime(nonce["expiresAt"][:19], "%Y-%m-%dT%H:%M:%S")) - time.mktime(time.gmtime())
        expect(590 <= left <= 601, f"a nonce is good for {left} s, not 10 minutes")
        token = vouch(nonce["nonce"], MAIL, backend_of, APP, name="Viola", avatar_url=address)
        session = await viola.sign_in(grant="jwt", identityToken=token)
        described.fits("openapi.yaml#/components/schemas/Session", session)
        expect(viola.user["name"] == "Viola" and "@" not in viola.id and viola.jid == viola.id + "@localhost", f"{viola.user}")
        # Once, and nothing that is not exactly so.
        await feste.refused(401, "nonce-invalid", "POST", "/v1/sessions", {"grant": "jwt", "identityToken": token})
        forged = {
            "another secret": dict(signer=Signer("HS256", secret="a secret that the server does not know of")),
            "no signature": dict(signer=Signer("none")), "ver": dict(header={"ver": "v1"}), "iss": dict(iss="another-app"),
            "a long life": dict(exp=int(time.time()) + 90_000), "nobody": dict(prn=""), "later": dict(nbf=int(time.time()) + 900),
        }
        for name, change in forged.items():
            nonce = (await feste.ask("POST", "/v1/nonces", status=201))["nonce"]
            token = vouch(**{"nonce": nonce, "prn": MAIL, "signer": backend_of, "iss": APP, **change})
            await feste.refused(401, "identity-token-invalid", "POST", "/v1/sessions", {"grant": "jwt", "identityToken": token})
        old = int(time.time()) - 600
        await feste.refused(401, "identity-token-expired", "POST", "/v1/sessions", {
            "grant": "jwt", "identityToken": await identity_token(feste, MAIL, iat=old, nbf=old, exp=old + 60)})
        # Who comes again is the same user, under the name that the backend says now.
        tablet = await stage.app("viola-tablet")
        again = await sign_in(tablet, MAIL, name="Viola of Messaline")
        expect(again["user"]["id"] == viola.id and again["user"]["name"] == "Viola of Messaline", f"{again}")
        refreshed = await tablet.sign_in(grant="refresh", refreshToken=again["refreshToken"])
        expect(refreshed["user"]["id"] == viola.id, f"{refreshed}")
        await tablet.ask("DELETE", "/v1/sessions/current", status=204)
        await sign_in(feste, "feste", name="Feste")
        expect(feste.id == "feste", f"{feste.user}")
        # Orsino's token opens XMPP too.
        desk = await stage.app("orsino-desk")
        orsino_session = await sign_in(desk, "orsino", name="Orsino")
        orsino = Moderator(stage, orsino_session, "orchard")
        stage.people.append(orsino)
        await orsino.arrive()
        expect(orsino.boundjid.bare == "orsino@localhost", f"{orsino.boundjid}")
        card = await orsino["xep_0054"].get_vcard(viola.jid, timeout=PATIENCE, cached=False)
        expect(card["vcard_temp"]["FN"] == "Viola of Messaline", f"{card}")
    return desk, orsino_session, orsino


async def connections(stage, story, described, asked, viola, orsino):
    """Connections that fail, and one that stands."""
    story.client_only(2, "colours, fonts, bubbles")

    with story.row(3, "an own interface over the core: what there is is described, and answers are as described"):
        info = await viola.ask("GET", "/v1/info")
        described.fits("openapi.yaml#/components/schemas/Info", info)
        expect("jwt" in info["grants"] and info["registration"] is False and info["webSocketUrl"].startswith("wss:"), f"{info}")
        expect("apns" in info["pushProviders"], f"{info}")
        for method, path in [("post", "/v1/nonces"), ("post", "/v1/sessions"), ("get", "/v1/sync"), ("put", "/v1/devices/{deviceId}"),
                             ("get", "/v1/dialogs/{dialogId}/messages/{messageId}/receipts"), ("get", "/v1/dialogs/{dialogId}")]:
            expect(method in described.openapi["paths"].get(path, {}), f"{method} {path} is not described")
        missing = [event for event in EVENTS if event not in described.asyncapi["components"]["messages"]]
        expect(not missing, f"these events are not described: {missing}")

    with story.row(4, "a connection that fails says why: close code, problem; slixmpp: a stream error"):
        answer, code = await refused_connection(viola, "not a token")
        expect(answer["error"]["code"] == "token-invalid" and code == 4401, f"{answer} {code}")
        described.fits("openapi.yaml#/components/schemas/Problem", answer["error"])
        stranger = await stage.app("nobody")
        stranger.token = "not a token"
        problem = await stranger.refused(401, "token-invalid", "GET", "/v1/dialogs")
        described.fits("openapi.yaml#/components/schemas/Problem", problem)
        lost = Moderator(stage, {"user": {"id": "orsino"}, "accessToken": "not a token"}, "lost")
        lost.enable_direct_tls, lost.enable_starttls, lost.enable_plaintext = False, True, False
        lost.connect("127.0.0.1", stage.server.xmpp)
        await lost.saw("failed_all_auth")
        lost.abort()
        elsewhere = Client(stage.server, "orsino@illyria.example/elsewhere")
        elsewhere.add_event_handler("stream_error", lambda data: elsewhere._note("stream_error", data))
        elsewhere.enable_direct_tls, elsewhere.enable_starttls, elsewhere.enable_plaintext = False, True, False
        elsewhere.connect("127.0.0.1", stage.server.xmpp)
        error = await elsewhere.saw("stream_error")
        expect(error["condition"] == "host-unknown", f"{error}")
        elsewhere.abort()

    with story.row(5, "a connection that stands says so: ready; slixmpp has a resource"):
        await viola.connect()
        ready = await viola.frame(lambda f: f.get("type") == "ready", "ready")
        described.fits("asyncapi.yaml#/components/messages/ready/payload", ready)
        expect((ready["data"]["user"]["id"], ready["data"]["deviceId"]) == (viola.id, "viola-phone"), f"{ready}")
        expect(str(orsino.boundjid) == "orsino@localhost/orchard", f"{orsino.boundjid}")
        # The backend's picture has come meanwhile, once, and slixmpp sees it.
        me = await viola.ask("GET", "/v1/users/me")
        if "avatarHash" not in me:
            await viola.event("user.updated", lambda d: d["user"].get("avatarHash") == HASH[ROSE])
        expect(asked == ["/viola.png"], f"{asked}")
        card = await orsino["xep_0054"].get_vcard(viola.jid, timeout=PATIENCE, cached=False)
        expect(card["vcard_temp"]["PHOTO"]["BINVAL"] == ROSE, "another picture")


async def silence(services, stage, story, viola, orsino):
    """Who is muted, and is told in silence."""
    court = room = None
    await stage.command("user", "add", "beacon@localhost", "--password-stdin", stdin=PASSWORD + "\n")
    beacon = Beacon(stage, "beacon", "push", PASSWORD)
    stage.people.append(beacon)
    await beacon.arrive()
    service = str(beacon.boundjid)
    alert = {"provider": "apns", "token": "ab12", "silent": True}
    private = await viola.dialog("orsino")

    with story.row(6, "who is muted is told in silence: a push without anything to show; slixmpp sees the setting (XEP-0492) and is told no text (XEP-0357)"):
        court = await viola.ask("POST", "/v1/dialogs", {"type": "group", "name": "The court", "memberIds": ["orsino", "feste"]}, 201)
        room = court["jid"]
        await orsino.saw("pubsub_publish", lambda m: "The court" in str(m))
        await orsino.enter(room, "Orsino")
        await viola.ask("PUT", "/v1/devices/phone", {"push": alert, "locale": "en", "platform": "ios"}, 201)
        await viola.ask("PATCH", f"/v1/dialogs/{court['id']}/me", {"notify": "never"})
        await viola.disconnect()
        orsino.say(room, "If music be the food of love, play on")
        headers, body = await services.push("a message in a muted dialog", "ab12")
        expect(headers["apns-push-type"] == "background" and body["aps"].get("content-available") == 1 and "alert" not in body["aps"], f"{headers} {body}")
        expect(body["dialogId"] == court["id"] and body["silent"] in (True, "true") and body["messageId"], f"{body}")
        # Viola's own XMPP client has the setting in its bookmark.
        made = await viola.ask("POST", "/v1/app-passwords", {"name": "slixmpp"}, 201)
        own = await stage.peer(viola.id, "desk", made["password"])
        marks = await own.pep(viola.jid, "urn:xmpp:bookmarks:1")
        expect(room in marks and marks[room].find(".//{urn:xmpp:notification-settings:1}never") is not None, f"{ElementTree.tostring(marks[room])}")
        await own.leave()
        # Orsino is away, with a push service.
        await agree(beacon, orsino)
        expect((await switch(orsino, True, service))["type"] == "result", "no registration")
        await orsino.leave()
        await viola.connect()
        await viola.say(private, "I'll do my best to woo your lady")
        fields = await beacon.push()
        expect(fields["message-count"] == "1" and "woo" not in str(fields) and "last-message-sender" not in fields, f"{fields}")
    return beacon, service, private, court, room


async def registration(services, stage, story, described, viola, feste, orsino_session, beacon, service, private, room):
    """Registrations for pushes."""
    orsino = Moderator(stage, orsino_session, "orchard")
    stage.people.append(orsino)
    await orsino.arrive()
    await orsino.enter(room, "Orsino")

    with story.row(7, "what became of the registration for pushes, app and slixmpp"):
        stored = await viola.ask("PUT", "/v1/devices/phone", {"push": {"provider": "apns", "token": "cd34"}, "locale": "en", "platform": "ios"}, 200)
        described.fits("openapi.yaml#/components/schemas/Device", stored)
        await viola.refused(400, "push-token-malformed", "PUT", "/v1/devices/x", {"push": {"provider": "apns", "token": "no hex"}})
        await viola.refused(400, "push-provider-not-served", "PUT", "/v1/devices/x", {"push": {"provider": "fcm", "token": "a"}})
        expect((await switch(orsino, True, service))["type"] == "result", "no registration")
        try:
            await switch(orsino, True, "push.elsewhere.example")
            expect(False, "a service that nobody can reach is taken")
        except IqError as error:
            expect(error.condition in ("item-not-found", "remote-server-not-found", "bad-request", "not-acceptable"), f"{error}")

    with story.row(8, "the device that is registered, as the server has it"):
        (listed,) = (await viola.ask("GET", "/v1/devices"))["items"]
        expect(listed == stored and listed["id"] == "phone" and listed["current"] and listed["push"]["kind"] == "alert", f"{listed} {stored}")
        expect("cd34" not in str(listed), "the token is told")
        expect(not (await feste.ask("GET", "/v1/devices"))["items"], "another's device is listed")

    with story.row(9, "no more of it: a device and a registration are taken away, and nobody is woken"):
        await viola.ask("DELETE", "/v1/devices/phone", status=204)
        await viola.refused(404, "device-unknown", "DELETE", "/v1/devices/phone")
        await viola.disconnect()
        await orsino.leave()
        # Nobody is woken for these.
        gone = await feste.dialog(viola.id)
        await feste.say(gone, "Not told")
        orsino = Moderator(stage, orsino_session, "orchard")
        stage.people.append(orsino)
        await orsino.arrive()
        await orsino.enter(room, "Orsino")
        expect((await switch(orsino, False, service))["type"] == "result", "no end of the registration")
        await viola.ask("PUT", "/v1/devices/phone", {"push": {"provider": "apns", "token": "cd34"}}, 201)

    with story.row(10, "what is tapped leads to its message: the push names dialog and message"):
        orsino.chat(viola.jid, "Cesario, thou know'st no less but all")
        headers, body = await services.push("the first message since", "cd34")
        expect(body["dialogId"] == private and body["aps"]["thread-id"] == private and headers["apns-push-type"] == "alert", f"{body}")
        opened = await viola.open(body["dialogId"])
        expect(opened["user"]["id"] == "orsino" and opened["lastMessage"]["id"] == body["messageId"], f"{opened}")
        expect(opened["lastMessage"]["content"]["text"] == "Cesario, thou know'st no less but all", f"{opened}")
        # Orsino was away when Feste spoke, with no registration any more for what came then: nothing came since.
        expect(not [1 for event, _ in beacon.seen if event == "push"], "slixmpp's push service was told something")
    return orsino


async def syncing(story, viola, feste, desk, orsino, private, court):
    """Where syncing begins and ends."""
    with story.row(11, "syncing begins: what was missed comes in its order, before anything else"):
        cursor = viola.cursor
        expect(cursor is not None, "there is no cursor")
        await desk.connect()
        for number in range(3):
            orsino.chat(viola.jid, f"missed {number}")
        await desk.message("missed 2")  # said: it is in the log
        await desk.disconnect()
        await feste.say(court["id"], "missed in the court")
        viola.frames.clear()
        await viola.connect(cursor)
        texts = [f["data"]["message"]["content"]["text"] for f in viola.frames if f.get("type") == "message.created"]
        wanted = ["missed 0", "missed 1", "missed 2"]
        expect([t for t in texts if t in wanted] == wanted and texts.count("missed in the court") == 1, f"{texts}")

    with story.row(12, "syncing ends: everything is told, or it says that a new start is needed; slixmpp: the archive, complete"):
        events, after = [], cursor
        while True:
            page = await viola.ask("GET", f"/v1/sync?cursor={after}&limit=2")
            events, after = events + page["events"], page["cursor"]
            if not page["events"]:
                break
        told = [f["data"]["message"]["id"] for f in viola.frames if f.get("type") == "message.created"]
        expect([e["data"]["message"]["id"] for e in events if e["type"] == "message.created"] == told, "the two ways tell different things")
        expect(after == viola.cursor, f"{after} is not {viola.cursor}")
        lost = (await viola.ask("GET", "/v1/sync?cursor=00000000000000000000000000000000"))["events"]
        expect([(e["type"], e["data"]["reason"]) for e in lost] == [("resync", "cursorUnknown")], f"{lost}")
        first = (await viola.history(private))[-1]
        iq = orsino.make_iq_set()
        iq["mam"]["queryid"], iq["mam"]["with"], iq["mam"]["after_id"] = "catch-up", viola.jid, first["id"]
        fin = (await iq.send(timeout=PATIENCE))["mam_fin"]
        expect(fin["complete"] == "true", f"{fin}")
        expect((await orsino.archived(viola.jid))[-3:] == wanted, "the archive ends otherwise")


async def deletion_and_receipts(story, viola, feste, orsino, private, court, room):
    """What is deleted, and what is delivered and read."""
    with story.row(13, "what is deleted, is for everybody, by either protocol (XEP-0424) and by a moderator (XEP-0425)"):
        name = orsino.chat(viola.jid, "I was adored once too")
        mine = await viola.message("I was adored once too")
        orsino["xep_0424"].send_retraction(viola.jid, name)
        gone = await viola.event("message.deleted", lambda d: d["messageId"] == mine["id"])
        expect((gone["by"], gone["for"]) == ("orsino", "everyone"), f"{gone}")
        hers = await viola.say(private, "My father had a daughter")
        await orsino.hears("My father had a daughter")
        await viola.ask("DELETE", f"/v1/dialogs/{private}/messages/{hers['id']}?for=everyone", status=204)
        heard = await orsino.saw("message_retract", lambda m: m["retract"]["id"] == hers["id"])
        expect(heard["from"].bare == viola.jid, f"{heard}")
        bodies = await orsino.archived(viola.jid)
        expect("I was adored once too" not in bodies and "My father had a daughter" not in bodies, f"{bodies}")
        # In the court Viola is the owner; she makes Orsino an admin, who moderates the fool.
        await viola.ask("PUT", f"/v1/dialogs/{court['id']}/members/orsino", {"role": "admin"})
        await orsino.presence(room, "Orsino", lambda p: p["muc"]["affiliation"] == "admin")
        folly = await feste.say(court["id"], "Better a witty fool")
        await orsino.message(room, "Better a witty fool")
        await orsino["xep_0425"].moderate(JID(room), folly["id"], "Enough", timeout=PATIENCE)
        gone = await viola.event("message.deleted", lambda d: d["messageId"] == folly["id"])
        expect((gone["by"], gone.get("reason")) == ("orsino", "Enough"), f"{gone}")
        orsino.say(room, "Enough, no more")
        late = (await viola.message("Enough, no more"))["id"]
        await viola.ask("DELETE", f"/v1/dialogs/{court['id']}/messages/{late}?for=everyone", status=204)
        heard = await orsino.saw("moderated_message", lambda m: m["retract"]["id"] == late)
        expect(heard["from"].bare == room, f"{heard}")

    with story.row(14, "sent, delivered, read, both ways: slixmpp acknowledges (XEP-0198), receives (XEP-0184) and reads (XEP-0333)"):
        sent = await viola.say(private, "She never told her love")
        heard = await orsino.hears("She never told her love")
        expect(heard["stanza_id"]["id"] == sent["id"], f"{heard}")
        await viola.event("marker.updated", lambda d: d["marker"]["userId"] == "orsino" and d["marker"].get("delivered") == sent["id"])
        orsino["xep_0333"].send_marker(JID(viola.jid), heard["id"], "displayed")
        await viola.event("marker.updated", lambda d: d["marker"]["userId"] == "orsino" and d["marker"].get("read") == sent["id"])
        await viola.refused(413, "text-too-long", "POST", f"/v1/dialogs/{private}/messages",
                            {"clientId": "failed", "content": {"type": "text", "text": "x" * 10_001}}, "content.text")
        # Whoever may not see one's presence is sent no receipt (XEP-0184 8): they become contacts.
        asked_for = await viola.ask("PUT", "/v1/contacts/orsino", {"name": "The Duke"})
        expect(asked_for["state"] == "pendingOut", f"{asked_for}")
        await orsino.saw("presence_subscribe", lambda p: p["from"].bare == viola.jid)
        orsino.send_presence_subscription(viola.jid, ptype="subscribed")
        orsino.send_presence_subscription(viola.jid, ptype="subscribe")
        await viola.event("contact.updated", lambda d: d["contact"]["userId"] == "orsino" and d["contact"]["state"] == "mutual")
        name = orsino.chat(viola.jid, "But died thy sister of her love?", receipt=True, markable=True)
        await orsino["xep_0199"].ping("localhost", timeout=PATIENCE)
        expect(orsino["xep_0198"].enabled_out, "slixmpp is acknowledged nothing")
        got = await viola.message("But died thy sister of her love?")
        expect((await viola.command("marker.set", {"dialogId": private, "delivered": got["id"]}))["ok"], "no marker")
        await orsino.saw("receipt_received", lambda m: m["receipt"] == name)
        expect((await viola.command("marker.set", {"dialogId": private, "read": got["id"]}))["ok"], "no marker")
        await orsino.saw("marker_displayed", lambda m: m["displayed"]["id"] == name)


async def presence(stage, story, viola, orsino_session, orsino, private, room):
    """Who is online, who types, and pictures."""
    with story.row(15, "who is online, and who was: with a subscription, as in slixmpp's presence and last activity (XEP-0012)"):
        await viola.refused(403, "presence-not-shared", "GET", "/v1/users/feste/presence")
        await viola.event("presence.updated", lambda d: d["presence"]["userId"] == "orsino" and d["presence"]["online"])
        expect((await viola.ask("GET", "/v1/users/orsino/presence"))["online"], "he is not online")
        await orsino.saw("presence_available", lambda p: str(p["from"]) == f"{viola.jid}/app-viola-phone")
        expect((await viola.command("presence", {"availability": "away", "status": "On an errand"}))["ok"], "no presence")
        await orsino.saw("presence_away", lambda p: p["from"].bare == viola.jid and p["status"] == "On an errand")
        await viola.command("presence", {"availability": "online"})
        await viola.disconnect()
        await orsino.saw("presence_unavailable", lambda p: p["from"].bare == viola.jid)
        seconds = (await orsino["xep_0012"].get_last_activity(viola.jid, timeout=PATIENCE))["last_activity"]["seconds"]
        expect(seconds < 60, f"{seconds}")
        await viola.connect(viola.cursor)
        await orsino.leave()
        left = await viola.event("presence.updated", lambda d: d["presence"]["userId"] == "orsino" and not d["presence"]["online"])
        expect("lastSeenAt" in left["presence"], f"{left}")
        orsino = Moderator(stage, orsino_session, "orchard")
        stage.people.append(orsino)
        await orsino.arrive()
        await orsino.enter(room, "Orsino")
        await viola.event("presence.updated", lambda d: d["presence"]["userId"] == "orsino" and d["presence"]["online"])

    with story.row(16, "who is typing, both ways (XEP-0085)"):
        composing = orsino.make_message(viola.jid, mtype="chat")
        composing["chat_state"] = "composing"
        composing.send()
        await viola.event("typing.updated", lambda d: d["dialogId"] == private and d["userIds"] == ["orsino"])
        paused = orsino.make_message(viola.jid, mtype="chat")
        paused["chat_state"] = "paused"
        paused.send()
        await viola.event("typing.updated", lambda d: d["dialogId"] == private and d["userIds"] == [])
        await viola.command("typing", {"dialogId": private, "on": True})
        await orsino.saw("chatstate_composing", lambda m: m["from"].bare == viola.jid)
        await viola.command("typing", {"dialogId": private, "on": False})
        await orsino.saw("chatstate_paused", lambda m: m["from"].bare == viola.jid)

    with story.row(17, "a new picture, both ways (XEP-0084)"):
        await viola.ask("PUT", "/v1/users/me/avatar", data=LARK, headers={"Content-Type": "image/png"})
        await orsino.saw("avatar_metadata_publish", metadata_of(HASH[LARK]))
        await orsino["xep_0084"].publish_avatar(ROSE, timeout=PATIENCE)
        await orsino["xep_0084"].publish_avatar_metadata(
            [{"id": HASH[ROSE], "type": "image/png", "bytes": str(len(ROSE)), "width": "3", "height": "2"}], timeout=PATIENCE)
        await viola.event("user.updated", lambda d: d["user"]["id"] == "orsino" and d["user"].get("avatarHash") == HASH[ROSE])
        got = await viola.fetch(viola.base + "/v1/users/orsino/avatar", Authorization=f"Bearer {viola.token}")
        expect(got == ROSE, "another picture")
    return orsino


async def rooms(story, viola, feste, orsino, private, court, room):
    """Rooms: new ones, their messages, their changes and their ends."""
    fresh = None
    hunt = "hunt@conference.localhost"
    with story.row(18, "a new room: slixmpp is given a bookmark or asks one in (XEP-0045), a private one begins with its first message"):
        second = await viola.ask("POST", "/v1/dialogs", {"type": "group", "name": "The garden", "memberIds": ["orsino"]}, 201)
        await viola.event("dialog.created", lambda d: d["dialog"]["id"] == second["id"])
        await orsino.saw("pubsub_publish", lambda m: "The garden" in str(m) and second["jid"] in str(m))
        await orsino.enter(second["jid"], "Orsino")
        await orsino.found(hunt, "Orsino", roomname="The hunt", membersonly=True, whois="anyone")
        await orsino.muc.set_affiliation(hunt, "member", jid=viola.jid, timeout=PATIENCE)
        new = await viola.event("member.updated", lambda d: d["dialog"].get("jid") == hunt and d["member"]["userId"] == viola.id)
        expect(new["dialog"]["name"] == "The hunt" and new["dialog"]["type"] == "group", f"{new}")
        orsino.muc.invite(hunt, viola.jid, reason="Will you go hunt?")
        asked_in = await viola.event("dialog.invited", lambda d: d["jid"] == hunt)
        expect((asked_in["inviterId"], asked_in["dialogId"]) == ("orsino", new["dialogId"]), f"{asked_in}")
        fresh = await feste.dialog("orsino")
        await feste.say(fresh, "Are you ready, sir?")
        await orsino.hears("Are you ready, sir?", feste.jid)

    with story.row(19, "a new message, both ways, in private and in rooms"):
        orsino.say(hunt, "The hart?")
        got = await viola.message("The hart?")
        expect((got["dialogId"], got["senderId"], got["senderNick"]) == (new["dialogId"], "orsino", "Orsino"), f"{got}")
        sent = await viola.say(new["dialogId"], "What, Curio?", clientId="curio-1")
        heard = await orsino.message(hunt, "What, Curio?")
        expect(heard["stanza_id"]["id"] == sent["id"], f"{heard}")
        expect((await viola.message("What, Curio?"))["clientId"] == "curio-1", "the sender cannot tell its own")
        orsino.chat(viola.jid, "O, when mine eyes did see Olivia first")
        expect((await viola.message("O, when mine eyes did see Olivia first"))["dialogId"] == private, "another dialog")

    with story.row(20, "a room changes, by either side: slixmpp sees status 104, the subject, the room's picture"):
        await viola.ask("PATCH", f"/v1/dialogs/{court['id']}", {"name": "The Duke's court", "topic": "Olivia"})
        await orsino.saw("groupchat_config_status", lambda m: m["from"].bare == room and 104 in codes(m))
        await orsino.saw("groupchat_subject", lambda m: m["from"].bare == room and topic_of(m) == "Olivia")
        identity = (await orsino["xep_0030"].get_info(jid=room, timeout=PATIENCE))["disco_info"]["identities"]
        expect("The Duke's court" in {one[3] for one in identity}, f"{identity}")
        await viola.ask("PUT", f"/v1/dialogs/{court['id']}/avatar", data=ROSE, headers={"Content-Type": "image/png"})
        await viola.event("dialog.updated", lambda d: d["dialog"].get("avatarHash") == HASH[ROSE])
        card = await orsino["xep_0054"].get_vcard(room, timeout=PATIENCE, cached=False)
        expect(card["vcard_temp"]["PHOTO"]["BINVAL"] == ROSE, "the room has another picture")
        orsino.muc.set_subject(JID(hunt), "The hart")
        await viola.event("dialog.updated", lambda d: d["dialog"]["id"] == new["dialogId"] and d["dialog"].get("topic") == "The hart")
        await orsino.configure(hunt, roomname="The great hunt")
        await viola.event("dialog.updated", lambda d: d["dialog"]["id"] == new["dialogId"] and d["dialog"].get("name") == "The great hunt")

    with story.row(21, "a room ends, by either side: slixmpp is put out of it, and its bookmark goes"):
        await orsino.muc.destroy(JID(hunt), "It is over", timeout=PATIENCE)
        await viola.event("dialog.deleted", lambda d: d["dialogId"] == new["dialogId"] and d["for"] == "everyone")
        await viola.refused(404, "dialog-unknown", "GET", f"/v1/dialogs/{new['dialogId']}")
        await viola.ask("DELETE", f"/v1/dialogs/{second['id']}?for=everyone", status=204)
        await orsino.presence(second["jid"], "Orsino", lambda p: p["muc"].xml.find(f"{{{USER}}}destroy") is not None)
        await orsino.saw("pubsub_retract", lambda m: second["jid"] in str(m))
        expect(second["jid"] not in await orsino.pep("orsino@localhost", "urn:xmpp:bookmarks:1"), "it is still there")
    return fresh


async def lists_and_names(story, viola, feste, orsino, private, court, room, fresh):
    """The order of rooms, names, forwarding and message info."""
    with story.row(22, "the order of rooms follows from the last messages and from pins"):
        await feste.say(court["id"], "I live by the church")
        await viola.message("I live by the church")
        expect([d["id"] for d in (await viola.dialogs())["items"]][0] == court["id"], "not the liveliest first")
        orsino.chat(viola.jid, "Make me a willow cabin")
        await viola.message("Make me a willow cabin")
        order = (await viola.dialogs())["items"]
        expect([d["id"] for d in order][:2] == [private, court["id"]], f"{[d['id'] for d in order]}")
        await viola.ask("PATCH", f"/v1/dialogs/{court['id']}/me", {"pinned": True})
        await viola.event("settings.updated", lambda d: d["settings"]["dialogId"] == court["id"] and d["settings"]["pinned"])
        expect([d["id"] for d in (await viola.dialogs("?pinned=true"))["items"]] == [court["id"]], "it is not pinned")

    with story.row(23, "a new name, both ways (XEP-0172), and a new nick in a room"):
        await viola.ask("PATCH", "/v1/users/me", {"name": "Cesario"})
        await orsino.saw("user_nick_publish", nick_of("Cesario"))
        await orsino["xep_0172"].publish_nick("Count Orsino", timeout=PATIENCE)
        await viola.event("user.updated", lambda d: d["user"]["id"] == "orsino" and d["user"].get("name") == "Count Orsino")
        orsino.send_presence(pto=f"{room}/The Duke")
        await orsino.presence(room, "The Duke", lambda p: 110 in codes(p))
        orsino.say(room, "Let all the rest give place")
        said = await viola.message("Let all the rest give place")
        expect((said["senderId"], said["senderNick"]) == ("orsino", "The Duke"), f"{said}")
        await viola.ask("PUT", f"/v1/dialogs/{court['id']}/members/me", {"nick": "Cesario"})
        await viola.say(court["id"], "I am not what I am")
        expect((await orsino.message(room, "I am not what I am"))["from"].resource == "Cesario", "another nick")

    with story.row(24, "forwarding: the message as it was, without a new upload; slixmpp gets an ordinary one"):
        file = await viola.upload(LARK, "lark.png", "image/png")
        shown = await viola.send(court["id"], {"type": "image", "text": "A lark", "attachments": [file["id"]]})
        copy = await viola.ask("POST", f"/v1/dialogs/{private}/messages", {
            "clientId": "forward-1", "forwardFrom": {"dialogId": court["id"], "messageId": shown["id"]}}, 201)
        expect(copy["content"]["attachments"][0]["id"] == file["id"] and copy["forwardedFrom"]["senderId"] == viola.id, f"{copy}")
        heard = await orsino.saw("any message", lambda m: m["from"].bare == viola.jid and m["oob"]["url"] == file["url"])
        expect(heard["type"] == "chat", f"{heard}")
        await feste.refused(404, "message-unknown", "POST", f"/v1/dialogs/{fresh}/messages", {
            "clientId": "forward-2", "forwardFrom": {"dialogId": private, "messageId": copy["id"]}})

    with story.row(25, "message info: whom it reached and who has read it, slixmpp among them"):
        asked_of = await viola.say(court["id"], "Prithee, what is love?")
        heard = await orsino.message(room, "Prithee, what is love?")
        marker = orsino.make_message(room, mtype="groupchat")
        marker["displayed"]["id"] = heard["stanza_id"]["id"]
        marker.send()
        await viola.event("marker.updated", lambda d: d["marker"]["userId"] == "orsino" and d["marker"].get("read") == asked_of["id"])
        await feste.ask("PUT", f"/v1/dialogs/{court['id']}/marker", {"delivered": asked_of["id"]})
        await viola.event("marker.updated", lambda d: d["marker"]["userId"] == "feste" and d["marker"].get("delivered") == asked_of["id"])
        receipts = (await viola.ask("GET", f"/v1/dialogs/{court['id']}/messages/{asked_of['id']}/receipts"))["items"]
        found = {r["userId"]: (r["delivered"], r["read"]) for r in receipts}
        expect(found == {"orsino": (True, True), "feste": (True, False)}, f"{receipts}")
        expect(all("readAt" in r for r in receipts if r["read"]), f"{receipts}")


async def screens_and_backend(services, hook, story, viola, orsino, private, fresh):
    """Screens that appear and go, and what the backend changes."""
    with story.row(26, "a screen that appears and goes: nobody is woken for what they look at; slixmpp's client state (XEP-0352) and chat states (XEP-0085)"):
        answer = await viola.command("presence", {"availability": "online", "activeDialogId": private})
        expect(answer.get("ok"), f"{answer}")
        answer = await viola.command("presence", {"availability": "online", "activeDialogId": fresh})
        expect(answer["error"]["code"] == "dialog-unknown", f"{answer}")
        orsino.chat(viola.jid, "Looked at")
        await viola.message("Looked at")
        expect((await viola.command("presence", {"availability": "away"}))["ok"], "no presence")
        orsino.chat(viola.jid, "Looked away")
        _, body = await services.push("a message to an app in the background", "cd34")
        message = await viola.message("Looked away")
        expect(body["messageId"] == message["id"] and str(body["count"]) == "1", f"{body}")
        await viola.command("presence", {"availability": "online"})
        gone = orsino.make_message(viola.jid, mtype="chat")
        gone["chat_state"] = "gone"
        gone.send()
        orsino["xep_0352"].send_inactive()
        await orsino["xep_0199"].ping("localhost", timeout=PATIENCE)
        orsino.seen.clear()
        await viola.command("typing", {"dialogId": private, "on": True})
        await viola.command("typing", {"dialogId": private, "on": False})
        await viola.say(private, "Disguise, I see thou art a wickedness")
        await orsino.hears("Disguise, I see thou art a wickedness", viola.jid)
        expect("chatstate_composing" not in [e for e, _ in orsino.seen], "who does not look is told of typing")
        orsino["xep_0352"].send_active()

    with story.row(27, "what will be posted may be changed, by the client, and for everybody by the backend; slixmpp's too"):
        changed = await viola.say(private, "A plague on him")
        expect(changed["content"]["text"] == "A blessing on him", f"{changed}")
        await orsino.hears("A blessing on him", viola.jid)
        problem = await viola.refused(403, "no-letters", "POST", f"/v1/dialogs/{private}/messages",
                                      {"clientId": "letter", "content": {"type": "text", "text": "A forged letter"}})
        expect(problem["detail"] == "Malvolio may read it.", f"{problem}")
        orsino.chat(viola.jid, "A plague on him")
        await viola.message("A blessing on him")
        name = orsino.chat(viola.jid, "A forged letter")
        # A condition that slixmpp has no name for.
        fault = await orsino.saw("any message", lambda m: m["id"] == name and m["type"] == "error")
        expect("<policy-violation" in str(fault) and "Malvolio may read it." in str(fault), f"slixmpp is told {fault}")
        hook.verify(hook.secret)


async def own_content(story, described, viola, feste, orsino, private, court, room):
    """Content of the app's own, and chats by their ids."""
    with story.row(28, "content of the app's own, with a text for who does not know it; slixmpp sees both, and says such"):
        order = {"type": "custom", "kind": "purse", "text": "A purse of gold", "payload": {"ducats": 40, "from": "Antonio"}}
        sent = await viola.send(private, order)
        expect(sent["content"] == order, f"{sent}")
        heard = await orsino.hears("A purse of gold", viola.jid)
        element = heard.xml.find("{urn:parley:content:0}custom")
        expect(element is not None and element.get("kind") == "purse", f"{heard}")
        expect('"ducats":40' in element.findtext("{urn:xmpp:json:0}json").replace(" ", ""), f"{heard}")
        back = orsino.make_message(viola.jid, "Half of it", mtype="chat")
        mine = ElementTree.SubElement(back.xml, "{urn:parley:content:0}custom", kind="purse")
        ElementTree.SubElement(mine, "{urn:xmpp:json:0}json").text = '{"ducats": 20}'
        back.send()
        got = await viola.message("Half of it")
        expect(got["content"] == {"type": "custom", "kind": "purse", "text": "Half of it", "payload": {"ducats": 20}}, f"{got}")

    with story.row(29, "a chat is opened by its id, with what was attached to it; slixmpp by its address"):
        await viola.ask("PATCH", f"/v1/dialogs/{court['id']}", {"metadata": {"contact": {"name": "Olivia", "phone": "+39045800000"}}})
        opened = await feste.open(court["id"])
        described.fits("openapi.yaml#/components/schemas/Dialog", opened)
        expect(opened["metadata"] == {"contact": {"name": "Olivia", "phone": "+39045800000"}} and opened["jid"] == room, f"{opened}")
        await feste.send(court["id"], {"type": "contact", "text": "Olivia", "name": "Olivia", "phones": ["+39045800000"]})
        await orsino.message(room, "Olivia")
        found = await orsino["xep_0030"].get_info(jid=opened["jid"], timeout=PATIENCE)
        expect(MUC in found["disco_info"]["features"], f"{found}")
        await feste.refused(404, "dialog-unknown", "GET", f"/v1/dialogs/{private}")


async def walk(checks, services, hook, avatar, stage):
    story = Story(checks, "QI", 29)
    described = Described()
    address, asked = avatar
    viola, feste = await stage.app("viola-phone"), await stage.app("feste-phone")
    backend_of = Signer("HS256", secret=SECRET)

    desk, orsino_session, orsino = await signing_in(stage, story, described, address, viola, feste, backend_of)
    await connections(stage, story, described, asked, viola, orsino)
    beacon, service, private, court, room = await silence(services, stage, story, viola, orsino)
    orsino = await registration(services, stage, story, described, viola, feste, orsino_session, beacon,
        service, private, room)
    await syncing(story, viola, feste, desk, orsino, private, court)
    await deletion_and_receipts(story, viola, feste, orsino, private, court, room)
    orsino = await presence(stage, story, viola, orsino_session, orsino, private, room)
    fresh = await rooms(story, viola, feste, orsino, private, court, room)
    await lists_and_names(story, viola, feste, orsino, private, court, room, fresh)
    await screens_and_backend(services, hook, story, viola, orsino, private, fresh)
    await own_content(story, described, viola, feste, orsino, private, court, room)

    story.end()


def run(checks):
    secret = new_secret()
    said = {"A plague on him": {"action": "change", "text": "A blessing on him"},
            "A forged letter": {"action": "refuse", "code": "no-letters", "text": "Malvolio may read it."}}
    with Services() as services, Backend() as hook, picture(ROSE) as avatar:
        hook.secret = secret
        hook.answer = lambda event: (200, said.get(event["data"]["content"]["text"], {"action": "allow"}))
        serve(lambda stage: walk(checks, services, hook, avatar, stage), checks,
              identity={"backends": [{"name": APP, "secrets": [SECRET]}]}, services=services,
              before_send__url=hook.url, before_send__secret=secret)
