"""Calls (docs/app-protocol.md, "Calls") between two app clients, and between them and slixmpp with its own XEP-0353; VoIP pushes come
to a push service that stands here and speaks Apple's protocol. The last server is killed while it rings.
"""
import asyncio
import uuid

from lib.apps import App
from lib.harness import PATIENCE, Server, expect
from lib.peers import arrive
from lib.pushes import World, register
from lib.services import Backend

AUDIO = [("urn:xmpp:jingle:apps:rtp:1", "audio")]


def call(app, user, kind="audio", client_id=None, status=201):
    answered, body = app.call(
        "POST", "/v1/calls", {"userId": user, "kind": kind, "clientId": client_id or str(uuid.uuid4())})
    expect(answered == status, f"{app.name} cannot call {user}: {answered} {body}")
    return body


def signal(app, call_id, status=200, **what):
    answered, body = app.call("POST", f"/v1/calls/{call_id}/signals", what)
    expect(answered == status, f"{app.name} {what}: {answered} {body}")
    return body


def updated(app, call_id, state):
    return app.event("call.updated", lambda data: data["call"]["id"] == call_id and data["call"]["state"] == state)["data"]["call"]


def logged(app, call_id):
    return app.event("message.created", lambda data: data["message"]["content"].get("callId") == call_id)["data"]["message"]


def between_apps(romeo, juliet, tablet):
    made = call(romeo, "juliet", "video")
    for app in (juliet, tablet):
        expect(updated(app, made["id"], "ringing")["callerId"] == "romeo", "another call rings")
    expect(juliet.command("call.signal", {"callId": made["id"], "action": "accept"}).get("ok"), "it cannot be answered")
    elsewhere = updated(tablet, made["id"], "accepted")
    expect(elsewhere["participants"][1]["deviceId"] == "phone", f"answered by {elsewhere}")
    updated(romeo, made["id"], "accepted")
    # What RTCPeerConnection makes on either side is carried as it is, in order.
    offer = {"callId": made["id"], "action": "offer", "sdp": "v=0\r\no=- 46117 2 IN IP4 127.0.0.1\r\ns=-\r\n" + "a=x\r\n" * 2000}
    expect(romeo.command("call.signal", offer).get("ok"), "no offer")
    candidates = [{"candidate": f"candidate:{n} 1 UDP 1 192.0.2.{n} 9 typ host", "sdpMid": "0"} for n in range(1, 30)]
    for candidate in candidates:
        expect(romeo.command("call.signal", {"callId": made["id"], "action": "candidate", "candidate": candidate}).get("ok"), "no candidate")
    expect(juliet.event("call.signal")["data"]["sdp"] == offer["sdp"], "another offer")
    expect([juliet.event("call.signal")["data"]["candidate"] for _ in candidates] == candidates, "other candidates, or in another order")
    expect(juliet.command("call.signal", {"callId": made["id"], "action": "answer", "sdp": "v=0"}).get("ok"), "no answer")
    expect(romeo.event("call.signal")["data"]["sdp"] == "v=0", "another answer")
    expect(juliet.call("DELETE", f"/v1/calls/{made['id']}")[0] == 204, "nobody can hang up")
    expect(updated(romeo, made["id"], "ended")["reason"] == "ended", "another end")
    entry = logged(romeo, made["id"])
    expect(not entry["content"]["missed"] and entry["senderId"] == "romeo" and entry["content"]["kind"] == "video", f"{entry}")


async def across(checks, server, romeo, tablet):
    """Romeo has the app; Juliet two XMPP clients and the tablet."""
    loop = asyncio.get_running_loop()

    async def app(body, *arguments):
        return await loop.run_in_executor(None, lambda: body(*arguments))

    phone, desk = await arrive(server, "juliet@localhost/phone"), await arrive(server, "juliet@localhost/desk")
    with checks.check("calls, slixmpp: an app calls, all of XMPP's devices ring, one answers, the others hear of it"):
        made = await app(call, romeo, "juliet")
        for device in (phone, desk):
            rings = await device.saw("jingle_message_propose", lambda m: m["jingle_propose"]["id"] == made["id"])
            expect(rings["jingle_propose"]["descriptions"] == AUDIO and rings["type"] == "chat", f"{rings}")
        desk["xep_0353"].proceed(rings["from"], made["id"])
        answered = await app(updated, romeo, made["id"], "accepted")
        expect(answered["media"] == "jingle" and "deviceId" not in answered["participants"][1], f"{answered}")
        copy = await phone.saw("carbon_sent", lambda m: m["carbon_sent"]["jingle_proceed"]["id"] == made["id"])
        expect(copy["carbon_sent"]["from"] == desk.boundjid, f"{copy}")
        await app(updated, tablet, made["id"], "accepted")
        # What is no session description cannot be translated (calls_jingle has those that can).
        await app(lambda: signal(romeo, made["id"], action="offer", sdp="v=0"))
        told = (await app(romeo.event, "call.signal"))["data"]["info"]
        expect(told["error"]["code"] == "media-missing", f"{told}")
        expect((await app(updated, tablet, made["id"], "ended"))["reason"] == "incompatible", "another end")
    with checks.check("calls, slixmpp: rejected, and taken back"):
        made = await app(call, romeo, "juliet")
        rings = await phone.saw("jingle_message_propose", lambda m: m["jingle_propose"]["id"] == made["id"])
        phone["xep_0353"].reject(rings["from"], made["id"])
        ended = await app(updated, romeo, made["id"], "ended")
        expect(ended["reason"] == "rejected", f"{ended}")
        made = await app(call, romeo, "juliet")
        await app(lambda: romeo.call("DELETE", f"/v1/calls/{made['id']}"))
        for device in (phone, desk):
            await device.saw("jingle_message_retract", lambda m: m["jingle_retract"]["id"] == made["id"])
            await device.saw("message", lambda m: str(m["body"]) == "Missed audio call")
    with checks.check("calls, slixmpp: XMPP calls, the app answers, rejects, and is told that it was taken back"):
        phone["xep_0353"].propose("romeo@localhost", "one", AUDIO)
        rings = (await app(romeo.event, "call.updated", lambda data: data["call"]["callerId"] == "juliet"))["data"]["call"]
        expect(rings["media"] == "jingle" and rings["state"] == "ringing", f"{rings}")
        await app(lambda: signal(romeo, rings["id"], action="accept"))
        answered = await phone.saw("jingle_message_proceed", lambda m: m["jingle_proceed"]["id"] == "one")
        expect(str(answered["from"]) == "romeo@localhost/app-phone", f"{answered}")
        await app(lambda: signal(romeo, rings["id"], action="end"))
        await app(updated, romeo, rings["id"], "ended")
        phone["xep_0353"].propose("romeo@localhost", "two", AUDIO)
        rings = (await app(romeo.event, "call.updated", lambda data: data["call"]["state"] == "ringing" and data["call"]["callerId"] == "juliet"))["data"]["call"]
        await app(lambda: signal(romeo, rings["id"], action="reject", reason="busy"))
        rejected = await phone.saw("jingle_message_reject", lambda m: m["jingle_reject"]["id"] == "two")
        expect(rejected.xml.find(".//{urn:xmpp:jingle:1}busy") is not None, f"{rejected}")
        await app(updated, romeo, rings["id"], "ended")
        phone["xep_0353"].propose("romeo@localhost", "three", AUDIO)
        phone["xep_0353"].retract("romeo@localhost", "three")
        rings = (await app(romeo.event, "call.updated", lambda data: data["call"]["state"] == "ringing" and data["call"]["callerId"] == "juliet"))["data"]["call"]
        expect((await app(updated, romeo, rings["id"], "ended"))["reason"] == "cancelled", "another end")
        expect((await app(logged, romeo, rings["id"]))["content"]["missed"], "not missed")
    for client in (phone, desk):
        await client.leave()


def woken(world, romeo, nurse):
    """A telephone whose app sleeps."""
    register(nurse, "voip", {"provider": "apns", "token": "ab12", "kind": "voip"})
    register(nurse, "ios", {"provider": "apns", "token": "cd34"})
    made = call(romeo, "nurse", "video")
    headers, body = world.apple.push("a call", "ab12")
    expect(headers["apns-push-type"] == "voip" and headers["apns-topic"].endswith(".voip") and headers["apns-priority"] == "10", f"{headers}")
    expect(body["type"] == "call" and body["callId"] == made["id"] and body["callKind"] == "video" and body["senderId"] == "romeo", f"{body}")
    # Without a WebSocket: what rings, and an answer.
    status, page = nurse.call("GET", "/v1/calls")
    expect(status == 200 and [c["id"] for c in page["items"]] == [made["id"]], f"{page}")
    expect(signal(nurse, made["id"], action="accept")["state"] == "accepted", "not answered")
    updated(romeo, made["id"], "accepted")
    signal(romeo, made["id"], 409, action="offer", sdp="v=0")
    # The push for the end goes to the telephone that rang, where somebody answered, be it this one.
    _, body = world.apple.push("that it rings no more", "ab12")
    expect(body["type"] == "call.end" and body["callId"] == made["id"], f"{body}")
    signal(romeo, made["id"], action="end")
    made = call(romeo, "nurse")
    world.apple.push("another call", "ab12")
    expect(romeo.call("DELETE", f"/v1/calls/{made['id']}")[0] == 204, "it cannot be taken back")
    pushes = {}
    for _ in range(2):
        headers, body, _ = world.apple.take("the end of it, and that it was missed", 3 * PATIENCE)
        pushes[headers[":path"].rsplit("/")[-1]] = body
    expect(pushes["ab12"]["type"] == "call.end" and pushes["ab12"]["callId"] == made["id"], f"{pushes}")
    expect(pushes["cd34"]["type"] == "message" and "missed_call" in str(pushes["cd34"]) or "Missed" in str(pushes["cd34"]), f"{pushes}")


def killed(server, romeo, juliet):
    made = call(romeo, "juliet", client_id="killed")
    updated(juliet, made["id"], "ringing")
    cursor = juliet.call("GET", "/v1/sync")[1]["cursor"]
    server.kill()
    server.start()
    expect(call(romeo, "juliet", client_id="killed", status=200)["id"] == made["id"], "the call is another, or gone")
    juliet.connect(cursor)
    ended = updated(juliet, made["id"], "ended")
    expect(ended["reason"] == "timeout", f"{ended}")
    expect(logged(juliet, made["id"])["content"]["missed"], "not missed")
    # Once.
    events = juliet.call("GET", f"/v1/sync?cursor={cursor}")[1]["events"]
    expect([e["type"] for e in events if e["type"] in ("call.updated", "message.created")] == ["call.updated", "message.created"],
           f"{[e['type'] for e in events]}")


def run(checks):
    with Server(push__content="sender", calls__ring_seconds=5) as server:
        world = World(server.folder)
        server.settings.update(world.settings)
        server.start()
        server.add_users("romeo", "juliet", "nurse")
        server.befriend("romeo", "juliet")
        server.befriend("romeo", "nurse")
        romeo = App(server, "romeo", "phone").connect()
        juliet, tablet = App(server, "juliet", "phone").connect(), App(server, "juliet", "tablet").connect()
        with checks.check("calls: between apps, answered on one device, with what the two devices tell each other; a webhook follows"), \
                Backend() as backend:
            server.command("webhook", "add", backend.url, "--event", "call.*")
            between_apps(romeo, juliet, tablet)
            told = [("romeo", "ringing"), ("juliet", "accepted"), ("juliet", "ended")]
            backend.until("the call", lambda: [
                (event["userId"], event["data"]["call"]["state"]) for event in backend.events("call.updated")] == told)
            expect(len(backend.events()) == len(told), f"what is said in a call: {backend.events()}")
        juliet.close()
        asyncio.run(across(checks, server, romeo, tablet))
        with checks.check("calls: a telephone that sleeps is woken by a VoIP push, answers without a WebSocket, and is told of the end"):
            woken(world, romeo, App(server, "nurse", "phone"))
        with checks.check("calls: one that rang when the server was killed ends once, in its time"):
            killed(server, romeo, App(server, "juliet", "phone").connect())
