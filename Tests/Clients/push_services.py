"""Devices of apps (docs/app-protocol.md, "Pushes") towards push providers that stand here and speak their protocols: Apple's over
HTTP/2 with TLS (`h2`), Google's with its token endpoint, a browser's push service that decrypts what it gets (`http_ece`), and a
gateway that verifies signatures (`standardwebhooks`). Tokens are verified with PyJWT. None of these libraries knows anything of
Parley.
"""
import json
import socket
import time
import uuid

from lib.apps import App
from lib.harness import Failure, Server, expect, until
from lib.pushes import TOPIC, World, register
from lib.scrape import Growth, shows


def drop(app, device):
    status, body = app.call("DELETE", f"/v1/devices/{device}")
    expect(status == 204, f"{device} cannot be taken away: {status} {body}")


def say(romeo, dialog, text):
    """The same text more than once is more than one message."""
    return romeo.say(dialog, text, str(uuid.uuid4()))


def registering(server, world):
    juliet, nurse = App(server, "juliet", "phone"), App(server, "nurse", "phone")
    _, info = juliet.call("GET", "/v1/info")
    expect(info["pushProviders"] == ["apns", "fcm", "unifiedpush", "webhook", "webpush"] and "devices" in info["features"], f"{info}")
    apns = {"provider": "apns", "token": "AB12", "environment": "sandbox"}
    device = register(juliet, "ios", apns, platform="ios", locale="it-IT")
    expect(device["push"] == {"provider": "apns", "kind": "alert", "environment": "sandbox", "appId": TOPIC, "silent": False}
           and device["current"], f"{device}")
    register(juliet, "ios", apns, status=200)
    register(nurse, "ios", apns)
    _, page = juliet.call("GET", "/v1/devices")
    expect([d["id"] for d in page["items"]] == ["ios"] and "ab12" not in json.dumps(page).lower(), f"{page}")
    for wrong in [{"provider": "pigeon", "token": "a"}, {"provider": "apns", "token": "../x"}, {"provider": "apns"},
                  {"provider": "apns", "token": "ab", "appId": "org.example.other"}, {"provider": "fcm", "token": ""},
                  {"provider": "webpush", "subscription": {"endpoint": "http://127.0.0.1/", "keys": {"p256dh": "", "auth": ""}}},
                  {"provider": "fcm", "token": "a", "kind": "telegram"}]:
        register(juliet, "wrong", wrong, status=400)
    for provider in ("webpush", "unifiedpush"):
        private = world.browser.subscription("/a") | {"endpoint": "https://10.0.0.1/a"}
        problem = register(juliet, "wrong", {"provider": provider, "subscription": private}, status=400)
        expect(problem["code"] == "push-endpoint-malformed", f"{problem}")
    status, _ = juliet.call("DELETE", "/v1/devices/nobody")
    expect(status == 404, f"a device that is not there: {status}")
    drop(juliet, "ios")
    status, page = nurse.call("GET", "/v1/devices")
    expect(len(page["items"]) == 1, "one account's device went with another's")
    # It ends with its login.
    expect(nurse.call("DELETE", "/v1/sessions/current")[0] == 204, "no logout")
    _, page = App(server, "nurse", "phone").call("GET", "/v1/devices")
    expect(page["items"] == [], f"a device outlived its login: {page}")


def apple(server, world, romeo):
    juliet, dialog = App(server, "juliet", "phone"), romeo.dialog("juliet")
    register(juliet, "ios", {"provider": "apns", "token": "ab12"})
    message = say(romeo, dialog, "Apple")
    headers, body = world.apple.push("a message", "ab12")
    expect(headers["apns-topic"] == TOPIC and headers["apns-push-type"] == "alert" and headers["apns-priority"] == "10", f"{headers}")
    expect(int(headers["apns-expiration"]) > time.time(), f"{headers}")
    expect(body["aps"]["alert"] == {"title-loc-key": "parley_from", "title-loc-args": ["Romeo"], "body": "Apple"}, f"{body}")
    expect(body["messageId"] == message["id"] and body["dialogId"] == dialog and body["userId"] == "juliet", f"{body}")
    expect(body["aps"]["thread-id"] == dialog and body["aps"]["badge"] >= 1 and body["aps"]["mutable-content"] == 1, f"{body}")
    badge, proof = body["aps"]["badge"], world.apple.proof
    say(romeo, dialog, "a second")
    again, body = world.apple.push("a second message", "ab12")
    expect(again["apns-collapse-id"] == headers["apns-collapse-id"] and again["apns-id"] != headers["apns-id"], f"{again}")
    expect(body["aps"]["badge"] == badge + 1 and world.apple.proof == proof, "one more, by the same proof")
    expect(world.apple.connections == 1, f"{world.apple.connections} connections")
    # The provider has too much to do: the same again, to the id.
    world.apple.answer(429, {"reason": "TooManyRequests"})
    say(romeo, dialog, "later")
    first, _ = world.apple.push("what it does not take", "ab12", status=429)
    second, body = world.apple.push("the same again", "ab12")
    expect(first["apns-id"] == second["apns-id"] and body["aps"]["alert"]["body"] == "later", f"{first} {second}")
    # Whoever looks is not woken.
    juliet.connect()
    say(romeo, dialog, "seen")
    juliet.message("seen")
    # In the background the app says so, and is.
    expect(juliet.command("presence", {"availability": "away"}).get("ok"), "no presence")
    say(romeo, dialog, "in the background")
    _, body = world.apple.push("a message to an app in the background", "ab12")
    expect(body["aps"]["alert"]["body"] == "in the background", f"{body}")
    # Away, with one dialog on the screen: of that one nobody is alerted, of others still.
    nurse = App(server, "nurse", "away")
    shown = juliet.command("presence", {"availability": "away", "activeDialogId": dialog})
    expect(shown.get("ok"), f"no presence: {shown}")
    say(romeo, dialog, "on the screen")
    say(nurse, nurse.dialog("juliet"), "elsewhere")
    _, body = world.apple.push("a message elsewhere", "ab12")
    expect(body["aps"]["alert"]["body"] == "elsewhere", f"{body}")
    # The screen goes with the connection.
    juliet.close()
    world.apple.took_nothing()
    say(romeo, dialog, "no screen")
    _, body = world.apple.push("a message that nobody sees", "ab12")
    expect(body["aps"]["alert"]["body"] == "no screen", f"{body}")
    world.apple.took_nothing()
    # The token is nobody's any more.
    world.apple.answer(410, {"reason": "Unregistered", "timestamp": int(time.time() * 1000) + 60_000})
    say(romeo, dialog, "gone")
    world.apple.push("a message to a phone that is gone", "ab12", status=410)
    until("the device of a phone that is gone", lambda: juliet.call("GET", "/v1/devices")[1]["items"] == [])
    # One that came back behind that time stays.
    register(juliet, "ios", {"provider": "apns", "token": "ab12"})
    world.apple.answer(410, {"reason": "Unregistered", "timestamp": 1_000})
    say(romeo, dialog, "back")
    world.apple.push("a message that it does not take", "ab12", status=410)
    _, body = world.apple.push("the same again", "ab12")
    expect(body["aps"]["alert"]["body"] == "back", f"{body}")
    drop(juliet, "ios")


def google(server, world, romeo):
    juliet, dialog = App(server, "juliet", "android"), romeo.dialog("juliet")
    register(juliet, "android", {"provider": "fcm", "token": "fcm:1", "silent": True})
    say(romeo, dialog, "Google")
    message = world.google.push("a message", "fcm:1")
    android = message["android"]
    expect(android["priority"] == "HIGH" and android["collapse_key"] == android["notification"]["tag"], f"{android}")
    expect(android["notification"]["title_loc_key"] == "parley_from" and android["notification"]["body"] == "Google", f"{android}")
    expect(message["data"]["dialogId"] == dialog and message["data"]["type"] == "message", f"{message}")
    # Muted, and told without showing it.
    status, _ = juliet.call("PATCH", f"/v1/dialogs/{dialog}/me", {"notify": "never"})
    expect(status == 200, "the dialog cannot be muted")
    say(romeo, dialog, "hush")
    message = world.google.push("what is silent", "fcm:1")
    expect(message["data"]["silent"] == "true" and "notification" not in message["android"], f"{message}")
    juliet.call("PATCH", f"/v1/dialogs/{dialog}/me", {"notify": "always"})
    expect(len(world.google.given) == 1, f"{len(world.google.given)} access tokens")
    # An access token that counts no more is asked for anew.
    world.google.answer(401, {"error": {"status": "UNAUTHENTICATED"}})
    say(romeo, dialog, "anew")
    world.google.push("what is not taken", "fcm:1", status=401)
    world.google.push("the same by another token", "fcm:1")
    expect(len(world.google.given) == 2, f"{len(world.google.given)} access tokens")
    world.google.answer(404, {"error": {"status": "NOT_FOUND", "details": [
        {"@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": "UNREGISTERED"}]}})
    say(romeo, dialog, "gone")
    world.google.push("a message to a phone that is gone", "fcm:1", status=404)
    until("the device of a phone that is gone", lambda: juliet.call("GET", "/v1/devices")[1]["items"] == [])


def browser(server, world, romeo):
    juliet, dialog = App(server, "juliet", "web"), romeo.dialog("juliet")
    _, info = juliet.call("GET", "/v1/info")
    register(juliet, "web", {"provider": "webpush", "subscription": world.browser.subscription("/a")})
    say(romeo, dialog, "browser")
    headers, notice = world.browser.push("a message", "/a", info["webPushKey"])
    expect(notice["title"] == {"key": "parley_from", "args": ["Romeo"]} and notice["body"] == {"text": "browser"}, f"{notice}")
    say(romeo, dialog, "topic")
    again, _ = world.browser.push("a second message", "/a", info["webPushKey"])
    expect(again["topic"] == headers["topic"] and again["urgency"] == "normal", f"{again}")
    world.browser.answer(429, headers=[("Retry-After", "1")])
    say(romeo, dialog, "later")
    world.browser.push("what is not taken", "/a", info["webPushKey"], status=429)
    world.browser.push("the same again", "/a", info["webPushKey"])
    register(juliet, "up", {"provider": "unifiedpush", "subscription": world.browser.subscription("/up")})
    world.browser.answer(410)
    drop(juliet, "up")
    say(romeo, dialog, "gone")
    world.browser.push("a message that nobody takes", "/a", info["webPushKey"], status=410)
    until("a subscription that is gone", lambda: juliet.call("GET", "/v1/devices")[1]["items"] == [])
    register(juliet, "up", {"provider": "unifiedpush", "subscription": world.browser.subscription("/up")})
    say(romeo, dialog, "UnifiedPush")
    _, notice = world.browser.push("a message", "/up", info["webPushKey"])
    expect(notice["body"] == {"text": "UnifiedPush"}, f"{notice}")
    drop(juliet, "up")


def gateway(server, world, romeo):
    juliet, dialog = App(server, "juliet", "phone"), romeo.dialog("juliet")
    push = {"provider": "webhook", "token": "anything", "kind": "alert"}
    register(juliet, "own", push, locale="it")
    growth = Growth(server)
    world.gateway.answer(503)
    say(romeo, dialog, "gateway")
    world.gateway.push("a message", status=503)
    first = world.gateway.id
    said = world.gateway.push("the same again")
    expect(world.gateway.id == first, "another id of the same push")
    expect(said["type"] == "push" and said["data"]["device"]["token"] == "anything" and said["data"]["device"]["locale"] == "it",
           f"{said}")
    expect(said["data"]["notice"]["body"] == {"text": "gateway"}, f"{said}")
    for result in ("failed", "sent"):
        growth.until("parley_pushes_total", 1, provider="webhook", result=result)
    drop(juliet, "own")


def counted(growth):
    """What the three were told, and which of it they took; a phone or a subscription that is gone is refused."""
    for provider in ("apns", "fcm", "webpush"):
        growth.until("parley_pushes_total", provider=provider, result="sent")
        growth.until("parley_pushes_total", provider=provider, result="failed")
        growth.until("parley_pushes_total", 1, provider=provider, result="refused")
    growth.until("parley_pushes_total", 1, provider="unifiedpush", result="sent")


def accounts(server, world, romeo):
    """One phone, two accounts: each is told, and which one it is for."""
    both = [App(server, "juliet", "phone"), App(server, "nurse", "phone")]
    for app in both:
        register(app, "ios", {"provider": "apns", "token": "cd34"})
    collapse = set()
    for app in both:
        say(romeo, romeo.dialog(app.name), f"for {app.name}")
        headers, body = world.apple.push("a message", "cd34")
        expect(body["userId"] == app.name and body["aps"]["alert"]["body"] == f"for {app.name}", f"{body}")
        collapse.add(headers["apns-collapse-id"])
    expect(len(collapse) == 2, "one account's push takes the place of the other's")
    for app in both:
        drop(app, "ios")


def lost(server, world, romeo):
    """An app whose connection breaks has perhaps heard nothing of what it was told and has not acknowledged."""
    juliet, dialog = App(server, "juliet", "phone"), romeo.dialog("juliet")
    register(juliet, "ios", {"provider": "apns", "token": "aa11"})
    juliet.connect()
    say(romeo, dialog, "acknowledged")
    juliet.message("acknowledged")
    event = say(romeo, dialog, "told")
    frame = juliet.event("message.created", lambda data: data["message"]["id"] == event["id"])
    expect(juliet.command("ack", {"cursor": frame["prevCursor"]}).get("ok"), "no acknowledgement")
    juliet.socket.socket.shutdown(socket.SHUT_RDWR)
    _, body = world.apple.push("what was told and not acknowledged", "aa11")
    expect(body["aps"]["alert"]["body"] == "told" and body["count"] == 1, f"{body}")
    # One that says good-bye has heard it.
    juliet = App(server, "juliet", "phone").connect()
    register(juliet, "ios", {"provider": "apns", "token": "aa11"})
    say(romeo, dialog, "heard")
    juliet.message("heard")
    juliet.close()
    say(romeo, dialog, "next")
    _, body = world.apple.push("the next message", "aa11")
    expect(body["aps"]["alert"]["body"] == "next" and body["count"] == 1, f"{body}")
    drop(juliet, "ios")


def notifications(server, world, romeo):
    """What a backend tells its users' devices (POST /v1/admin/notifications)."""
    juliet, nurse = App(server, "juliet", "phone"), App(server, "nurse", "tablet")
    key = App(server, "romeo", "key")
    key.token = json.loads(server.command("key", "add", "backend", "--scope", "notifications", "--json"))["secret"]

    def tell(client_id, users, expected=202, **more):
        status, answer = key.call("POST", "/v1/admin/notifications", {"clientId": client_id, "userIds": users, **more})
        expect(status == expected, f"{status} {answer}")
        return {each["userId"]: each["devices"] for each in answer["items"]} if status == 202 else answer["code"]

    register(juliet, "ios", {"provider": "apns", "token": "0017"})
    register(nurse, "android", {"provider": "fcm", "token": "fcm:17"})
    # Also to who looks, and to nobody twice.
    juliet.connect()
    words = {"title": "The shop", "bodyLocKey": "order_sent", "bodyLocArgs": ["17"], "data": {"order": 17, "vip": True}}
    told = tell("order-17", ["juliet", "nurse@localhost", "juliet", "romeo"], **words)
    expect(told == {"juliet": 1, "nurse": 1, "romeo": 0}, f"{told}")
    first, body = world.apple.push("a notification", "0017")
    expect(first["apns-push-type"] == "alert" and first["apns-priority"] == "10", f"{first}")
    expect(body["aps"]["alert"] == {"title": "The shop", "loc-key": "order_sent", "loc-args": ["17"]}, f"{body}")
    expect(body["type"] == "notification" and body["notificationId"] == "order-17" and body["data"] == words["data"], f"{body}")
    expect("dialogId" not in body and body["userId"] == "juliet" and body["aps"]["category"] == "NOTIFICATION", f"{body}")
    message = world.google.push("a notification", "fcm:17")
    shown = message["android"]["notification"]
    expect(shown["title"] == "The shop" and shown["body_loc_key"] == "order_sent" and shown["body_loc_args"] == ["17"], f"{shown}")
    expect(json.loads(message["data"]["data"]) == words["data"] and message["data"]["type"] == "notification", f"{message}")
    # A repeat is none, and something else of the same name is refused.
    expect(tell("order-17", ["juliet", "nurse"], **words) == {"juliet": 1, "nurse": 1}, "a repeat")
    expect(tell("order-17", ["juliet"], 409, body="Something else") == "client-id-reused", "another of the same name")
    # For the app alone; and what a provider does not take is told by the next process.
    world.apple.answer(503)
    tell("order-18", ["juliet"], data={"order": 18})
    headers, body = world.apple.push("what is not shown", "0017", status=503)
    expect(headers["apns-push-type"] == "background" and body["aps"] == {"content-available": 1}, f"{headers} {body}")
    server.kill()
    server.start()
    again, body = world.apple.push("the same by the next process", "0017")
    expect(again["apns-id"] == headers["apns-id"] and body["data"] == {"order": 18}, f"{again} {body}")
    expect(tell("order-18", ["juliet"], data={"order": 18}) == {"juliet": 1}, "a repeat behind a crash")
    tell("order-19", ["juliet"], body="The last")
    _, body = world.apple.push("what follows, and no repeat", "0017")
    expect(body["notificationId"] == "order-19" and body["aps"]["alert"] == {"body": "The last"}, f"{body}")
    world.apple.took_nothing()
    world.google.took_nothing()
    # Nobody is told where somebody is not known, or where it is too much.
    expect(tell("x", ["juliet", "nobody"], 404, body="x") == "user-unknown", "an unknown user")
    expect(tell("x", [], 400, body="x") == "input-malformed", "nobody")
    expect(tell("x", ["juliet"], 400) == "body-missing", "nothing")
    expect(tell("x", ["juliet"], 400, title="x", data={}) == "body-missing", "a title alone")
    expect(tell("x", ["juliet"], 400, body="x", bodyLocKey="y") == "notification-malformed", "two bodies")
    expect(tell("x", ["juliet"], 400, body="x", bodyLocArgs=["y"]) == "notification-malformed", "values of no key")
    expect(tell("x", ["juliet"], 413, body="x" * 2_048) == "notification-too-large", "too long")
    expect(tell("x", ["juliet"], 413, body="x", data={"x": '"' * 700}) == "notification-too-large", "too long once it is written")
    expect(tell("x", [f"user{number}" for number in range(101)], 413, body="x") == "too-many-users", "too many")
    _, page = juliet.call("GET", "/v1/sync?cursor=" + romeo.call("GET", "/v1/sync")[1]["cursor"])
    expect(page["events"] == [], f"a session is told: {page}")
    drop(juliet, "ios")
    drop(nurse, "android")


def inside(server, world):
    """A URL of a user's that leads to where only neighbours are."""
    juliet, romeo = App(server, "juliet", "web"), App(server, "romeo")
    subscription = world.browser.subscription("/a")
    # An address is refused at once, and a name where it is called.
    refused = register(juliet, "web", {"provider": "webpush", "subscription": subscription}, status=400)
    expect(refused["code"] == "push-endpoint-malformed", f"{refused}")
    subscription["endpoint"] = subscription["endpoint"].replace("127.0.0.1", "localhost")
    register(juliet, "web", {"provider": "webpush", "subscription": subscription})
    say(romeo, romeo.dialog("juliet"), "inside")
    until("a subscription that leads inside is forgotten", lambda: juliet.call("GET", "/v1/devices")[1]["items"] == [])
    world.browser.took_nothing()
    register(juliet, "ios", {"provider": "apns", "token": "ab"}, status=400)


def killed(server, world, romeo):
    """What was committed is owed, also by the next process; what was taken is not told again."""
    juliet, dialog = App(server, "juliet", "phone"), romeo.dialog("juliet")
    register(juliet, "ios", {"provider": "apns", "token": "ef56"})
    say(romeo, dialog, "taken")
    world.apple.push("a message", "ef56")
    world.apple.answer(503)
    say(romeo, dialog, "owed")
    world.apple.push("a message that is not taken", "ef56", status=503)
    shows(server, "that one user's pushes wait", lambda scrape: scrape("parley_pushes_owed_users") == 1
          and scrape("parley_pushes_oldest_seconds") > 0)
    server.kill()
    server.start()
    headers, body = world.apple.push("what was owed when the server died", "ef56")
    expect(body["aps"]["alert"]["body"] == "owed" and body["count"] == 1, f"{body}")
    shows(server, "that none waits", lambda scrape: scrape("parley_pushes_owed_users") == scrape("parley_pushes_oldest_seconds") == 0)
    world.apple.took_nothing()


def checked(server, world):
    expect("good" in server.command("check"), "the configuration is not good")
    good = server.settings["push__apns__key"]
    server.settings["push__apns__key"] = server.settings["push__fcm__account"]
    try:
        server.command("check")
    except Failure as error:
        expect("push.apns.key" in str(error) and "no private key" in str(error), f"{error}")
    else:
        raise Failure("a key that is none is found good")
    finally:
        server.settings["push__apns__key"] = good


def untrusted(server, world):
    romeo, juliet = App(server, "romeo"), App(server, "juliet", "phone")
    dialog = romeo.dialog("juliet")
    register(juliet, "ios", {"provider": "apns", "token": "ab12"})
    register(juliet, "web", {"provider": "webpush", "subscription": world.browser.subscription("/a")})
    say(romeo, dialog, "Who is there?")
    for provider in ("apns", "webpush"):
        server.log.until(f"a line about {provider}", lambda text: any(
            "pushes are not taken" in line and provider in line and "certificate" in line for line in text.splitlines()))
    say(romeo, dialog, "Nobody?")
    say(romeo, dialog, "Nobody.")
    expect(sum("pushes are not taken" in line for line in server.log.text.splitlines()) == 2, "a line for each push")


def run(checks):
    with Server(push__content="body") as server:
        world = World(server.folder)
        server.settings.update(world.settings)
        with checks.check("push services: `parley check` tries the keys"):
            checked(server, world)
        server.start()
        server.add_users("romeo", "juliet", "nurse")
        romeo = App(server, "romeo")
        growth = Growth(server)
        with checks.check("push services: devices are taken, replaced and listed, and end with their login"):
            registering(server, world)
        for name, body in [
            ("Apple's, over HTTP/2: what is said, what is repeated, who is gone", apple),
            ("Google's: by a token of the account's, silently too", google),
            ("a browser's and UnifiedPush: encrypted for it alone, by the key that it knows", browser),
            ("a gateway of one's own: signed, and again under the same id", gateway),
            ("two accounts on one phone", accounts), ("an app that is gone without a word", lost),
            ("what is owed is told after kill -9", killed),
            ("what a backend tells: words, keys and data, once, also behind kill -9", notifications),
        ]:
            with checks.check("push services: " + name):
                body(server, world, romeo)
            if body is browser:
                with checks.check("push services: what was sent, failed and refused by whom is counted"):
                    counted(growth)
        with checks.check("push services: a provider without a trusted certificate is told of in the log, not for every push"):
            trusting = {name: value for name, value in world.settings.items() if name != "outgoing__authorities"}
            with Server(push__content="body", **trusting) as careful:
                careful.start()
                careful.add_users("romeo", "juliet")
                untrusted(careful, world)
        with checks.check("push services: what users name is no way to neighbours"):
            with Server(outgoing__authorities=world.settings["outgoing__authorities"]) as closed:
                closed.start()
                closed.add_users("romeo", "juliet")
                inside(closed, world)
