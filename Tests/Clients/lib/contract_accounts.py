"""This part of `app_contract.py` walks through accounts: logins, devices, profiles and contacts; with a hook also addresses, codes,
resets and the second factor.
"""
import base64
import hashlib
import hmac
import json
import secrets
import time
import urllib.parse
import uuid

from lib.apps import totp
from lib.contract import Client
from lib.harness import expect
from lib.services import Hook

BACKEND, SECRET = "contract", "a secret that the contract's check knows"
# What is walked through only where there is a hook.
NEEDS_HOOK = {"code.send", "me.code.send", "passwordReset.send", "passwordReset.use", "me.email.put", "me.email.delete",
              "me.phone.put", "me.phone.delete", "me.password.put", "me.secondFactor.create", "me.secondFactor.confirm",
              "me.secondFactor.delete", "session.deleteOthers"}


def accounts(base, given):
    anybody = Client(base)
    anybody.call("GET", "/healthz")
    anybody.call("GET", "/readyz")
    info = anybody.call("GET", "/v1/info")
    suffix = uuid.uuid4().hex[:8]
    if not info["registration"]:
        anybody.call("POST", "/v1/users", {"username": "x" + suffix, "password": "x"}, 403, "registration-off")
        expect(len(given) == 2, "registration is off: give two accounts as NAME:PASSWORD")
        return [tuple(account.split(":", 1)) for account in given], info, False
    pair = [("juliet-" + suffix, "Wherefore-" + suffix), ("romeo-" + suffix, "Balcony-" + suffix)]
    for name, password in pair:
        user = anybody.sign_up({"username": name, "password": password, "name": name.title()})
        expect(user["id"] == name and user["jid"] == f"{name}@{info['domain']}", f"registered {user}")
    anybody.call("POST", "/v1/users", {"username": pair[0][0], "password": "other-password"}, 409, "name-taken")
    anybody.call("POST", "/v1/users", {"username": "a b", "password": "x"}, 400, "username-malformed")
    anybody.call("POST", "/v1/users", {"username": "x" + suffix, "password": ""}, 400, "password-too-short")
    anybody.call("POST", "/v1/users", {"username": "x" + suffix, "password": "long-enough", "name": "n" * 300}, 413)
    return pair, info, True


def invited(base, token):
    anybody = Client(base)
    open_for = anybody.call("GET", f"/v1/invitations/{token}")
    expect("expiresAt" in open_for, f"{open_for}")
    name, password = "invited-" + token[:8].lower(), "By a link alone"
    anybody.call("POST", "/v1/users", {"username": name, "password": password, "invitation": token}, 201)
    anybody.call("GET", f"/v1/invitations/{token}", status=404, code="invitation-unknown")
    guest = Client(base)
    guest.log_in(name, password)
    return guest


def inviting(base, info, client, registered, guest):
    """Whoever has just registered invites nobody yet; a guest of the operator may."""
    if "invitations" not in info["features"]:
        client.call("POST", "/v1/invitations", status=403, code="invitations-off")
        return
    if registered:
        client.call("POST", "/v1/invitations", status=429, code="invitations-too-new")
        if guest is None:
            return
        client = guest
    made = client.call("POST", "/v1/invitations", status=201)
    expect(made["url"].endswith("/invite/" + made["token"]) and f"preauth={made['token']}" in made["xmppUri"], f"{made}")
    told = Client(base).call("GET", f"/v1/invitations/{made['token']}")
    expect(told["inviterId"] == client.name, f"{told}")


def devices(client):
    """Where nobody is woken: it goes before anybody says anything. The keys are those of RFC 8291 5."""
    keys = {"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
            "auth": "BTBZMqHH6r4Tts7J_aSIgg"}
    push = {"provider": "webpush", "subscription": {"endpoint": "https://push.example.org/a", "keys": keys}}
    for status, padding in (201, ""), (200, "=="):  # browsers write none, some libraries do
        keys["auth"] = keys["auth"] + padding
        device = client.call("PUT", "/v1/devices/browser", {"push": push, "platform": "web", "locale": "it"}, status)
        expect(device["current"] and device["locale"] == "it", f"{device}")
    expect([d["id"] for d in client.call("GET", "/v1/devices")["items"]] == ["browser"], "the device is not listed")
    client.call("DELETE", "/v1/devices/browser", status=204)
    client.call("DELETE", "/v1/devices/browser", status=404, code="device-unknown")
    client.call("PUT", "/v1/devices/a", {"push": {"provider": "apns", "token": "ab"}}, 400, "push-provider-not-served")
    push["subscription"]["keys"] = {"p256dh": "AA", "auth": "AA"}
    client.call("PUT", "/v1/devices/a", {"push": push}, 400, "push-keys-malformed")


def sessions(base, name, password):
    client = Client(base)
    first = client.log_in(name, password, "contract-1")
    expect(first["deviceId"] == "contract-1", f"the device is {first['deviceId']}")
    second = client.call("POST", "/v1/sessions", {"grant": "refresh", "refreshToken": first["refreshToken"]}, 201)
    client.call("GET", "/v1/users/me", status=401, code="token-invalid")
    client.token = second["accessToken"]
    client.call("GET", "/v1/users/me")
    expect(client.call("GET", "/v1/ice-servers")["items"] == [], "there are STUN and TURN servers that nobody configured")
    listed = client.call("GET", "/v1/sessions")["items"]
    expect([item["current"] for item in listed if item["id"] == "contract-1"] == [True], f"sessions are {listed}")
    # A refresh token that comes twice was stolen: the login ends.
    Client(base).call("POST", "/v1/sessions", {"grant": "refresh", "refreshToken": first["refreshToken"]}, 401)
    client.call("GET", "/v1/users/me", status=401)
    client.log_in(name, password, "contract-1")
    made = client.call("POST", "/v1/app-passwords", {"name": "contract"}, 201)
    client.call("POST", "/v1/app-passwords", {"name": "contract"}, 409, "name-taken")
    client.call("POST", "/v1/app-passwords", {"name": ""}, 400)
    expect([p["id"] for p in client.call("GET", "/v1/app-passwords")["items"]] == [made["id"]], "the list of app passwords")
    client.call("DELETE", f"/v1/app-passwords/{made['id']}", status=204)
    client.call("DELETE", "/v1/app-passwords/none", status=404, code="app-password-unknown")
    client.call("DELETE", "/v1/sessions/none", status=404, code="session-unknown")
    client.call("DELETE", "/v1/sessions/current", status=204)
    client.call("GET", "/v1/users/me", status=401)


def profiles(juliet, romeo):
    me = juliet.call("PATCH", "/v1/users/me", {"status": "on the balcony", "metadata": {"tea": [1, 2.50]}})
    expect(me["status"] == "on the balcony" and me["metadata"] == {"tea": [1, 2.5]}, f"me is {me}")
    me = juliet.call("PATCH", "/v1/users/me", {"status": None})
    expect("status" not in me and me["metadata"] == {"tea": [1, 2.5]}, f"me is {me}")
    juliet.call("PATCH", "/v1/users/me", {"metadata": []}, 400)
    juliet.call("PATCH", "/v1/users/me", {"status": "x" * 2_000}, 413)
    expect(romeo.call("GET", f"/v1/users/{juliet.name}")["id"] == juliet.name, "romeo does not see juliet")
    found = romeo.call("GET", f"/v1/users?query={juliet.name}&limit=1")
    expect([user["id"] for user in found["items"]] == [juliet.name], f"found {found}")
    page = romeo.call("GET", "/v1/users?limit=1")
    expect("nextCursor" in page, "two users fit on a page of one")
    rest = romeo.call("GET", "/v1/users?limit=100&cursor=" + urllib.parse.quote(page["nextCursor"]))
    expect(page["items"][0]["id"] not in [user["id"] for user in rest["items"]], "pages overlap")
    named = romeo.call("GET", f"/v1/users?ids={romeo.name},nobody-at-all,{juliet.name}")
    expect([user["id"] for user in named["items"]] == [romeo.name, juliet.name], f"named {named}")
    romeo.call("GET", "/v1/users?ids=" + ",".join(f"u{i}" for i in range(101)), status=400, code="too-many-ids")
    romeo.call("GET", "/v1/users?query=x&field=shoe", status=400, code="field-unknown")


def oneself(juliet, romeo):
    """Settings, terms, places, phonebooks, exports; and answers that are not sent twice."""
    me = juliet.call("PATCH", "/v1/users/me", {
        "avatarUrl": "https://elsewhere.example/j.png", "contactsMetadata": {"floor": 2}, "privateMetadata": {"theme": "dark"},
        "lastSeenVisibility": "nobody", "searchable": False, "matchable": True})
    expect(me["privateMetadata"] == {"theme": "dark"} and me["lastSeenVisibility"] == "nobody" and me["matchable"], f"me is {me}")
    seen = romeo.call("GET", f"/v1/users/{juliet.name}")
    expect("lastSeenAt" not in seen and "contactsMetadata" not in seen and seen["avatarUrl"] == me["avatarUrl"], f"romeo sees {seen}")
    expect(romeo.call("GET", f"/v1/users?query={juliet.name}")["items"] == [], "who is not to be searched for is found")
    juliet.call("PATCH", "/v1/users/me", {"lastSeenVisibility": "contacts", "searchable": True, "avatarUrl": None})
    juliet.call("PATCH", "/v1/users/me", {"avatarUrl": "file:///etc/passwd"}, 400, "url-malformed")
    juliet.call("PATCH", "/v1/users/me", {"privateMetadata": {"x": "y" * 5_000}}, 413, "metadata-too-long")
    terms = juliet.call("PUT", "/v1/users/me/terms", {"version": "1"})["terms"]
    expect(juliet.call("PUT", "/v1/users/me/terms", {"version": "1"})["terms"] == terms, "accepted twice")
    juliet.call("PUT", "/v1/users/me/terms", {"version": "x" * 129}, 413, "version-too-long")

    romeo.call("GET", "/v1/users?near=45.44,10.99", status=403, code="location-not-shared")
    for client in (juliet, romeo):
        client.call("PUT", "/v1/users/me/location", {"latitude": 45.4386, "longitude": 10.9928, "ttl": 600})
    near = romeo.call("GET", "/v1/users?near=45.44,10.99&radius=2")["items"]
    expect([(user["id"], user["distance"]) for user in near] == [(juliet.name, 2)], f"near is {near}")
    juliet.call("PUT", "/v1/users/me/location", {"latitude": 1e300, "longitude": 0}, 400, "coordinate-malformed")
    juliet.call("DELETE", "/v1/users/me/location", status=204)
    expect(romeo.call("GET", "/v1/users?near=45.44,10.99")["items"] == [], "who shares no place any more is near")

    salt = romeo.call("GET", "/v1/contact-matches")["salt"]
    number = hashlib.sha256((salt + "+39045800000").encode()).hexdigest()
    expect(romeo.call("POST", "/v1/contact-matches", {"hashes": [number]})["items"] == [], "nobody has this number")
    romeo.call("POST", "/v1/contact-matches", {"hashes": [number] * 501}, 413, "too-many-hashes")
    romeo.call("POST", "/v1/contact-matches", {"hashes": ["x"]}, 400, "hash-malformed")

    export = juliet.call("POST", "/v1/users/me/exports", {}, 202)
    expect(export["id"] in [each["id"] for each in juliet.call("GET", "/v1/users/me/exports")["items"]], "the export is not listed")
    juliet.call("GET", f"/v1/users/me/exports/{export['id']}")
    romeo.call("GET", f"/v1/users/me/exports/{export['id']}", status=404, code="export-unknown")

    for client, path in ((juliet, "/v1/users/me"), (romeo, f"/v1/users/{juliet.name}"), (juliet, "/v1/contacts"), (juliet, "/v1/dialogs")):
        status, fields, _ = client.raw("GET", path)
        expect(status == 200 and fields["ETag"] and fields["Cache-Control"] == "private, no-cache", f"{path}: {status} {fields}")
        client.call("GET", path, status=304, headers={"If-None-Match": fields["ETag"]})
        client.call("GET", path, headers={"If-None-Match": '"x"'})


def leaving(base, name, password):
    """An account that goes; the name is never given out again."""
    client = Client(base)
    client.log_in(name, password)
    client.call("DELETE", "/v1/users/me?erase=perhaps", status=400)
    client.call("DELETE", "/v1/users/me?erase=true", status=204)
    client.call("GET", "/v1/users/me", status=401, code="token-invalid")
    # Disabled until all is done, and then nobody.
    status, _, answer = client.raw("POST", "/v1/sessions", json.dumps({"grant": "password", "username": name, "password": password}).encode())
    expect((status, json.loads(answer)["code"]) in [(403, "account-disabled"), (401, "wrong-credentials")], f"{status} {answer}")


def contacts(juliet, romeo, js, rs):
    romeo.call("GET", f"/v1/users/{juliet.name}/presence", status=403, code="presence-not-shared")
    juliet.call("PUT", f"/v1/contacts/{juliet.name}", {}, 403, "contact-self")
    juliet.call("PUT", "/v1/contacts/nobody-at-all", {}, 404, "user-unreachable")
    juliet.call("PUT", "/v1/contacts/x@elsewhere.example", {}, 422, "domain-not-served")
    juliet.call("DELETE", f"/v1/contacts/{romeo.name}", status=404, code="contact-unknown")
    asked = juliet.call("PUT", f"/v1/contacts/{romeo.name}", {"name": "Romeo"})
    expect(asked["state"] == "pendingOut" and asked["name"] == "Romeo", f"asking made {asked}")
    request = rs.event("contact.updated", lambda data: data["contact"]["userId"] == juliet.name)
    expect(request["data"]["contact"]["state"] == "pendingIn", f"the request came as {request}")
    expect(romeo.call("GET", "/v1/contacts")["items"][0]["state"] == "pendingIn", "the request is not listed")
    expect(romeo.call("PUT", f"/v1/contacts/{juliet.name}")["state"] == "mutual", "accepting makes no mutual contact")
    js.event("contact.updated", lambda data: data["contact"]["state"] == "mutual")
    here = js.event("presence.updated", lambda data: data["presence"]["userId"] == romeo.name)
    expect(here["data"]["presence"]["online"], f"romeo is {here}")
    rs.command("presence", {"availability": "away", "status": "in the garden"})
    away = js.event("presence.updated", lambda data: data["presence"]["availability"] == "away")
    expect(away["data"]["presence"]["status"] == "in the garden", f"romeo is {away}")
    expect(juliet.call("GET", f"/v1/users/{romeo.name}/presence")["availability"] == "away", "REST knows another presence")
    rs.command("presence", {"availability": "online"})
    rs.command("presence", {"availability": "asleep"}, "input-malformed")
    romeo.call("PATCH", "/v1/users/me", {"status": "in love"})
    js.event("user.updated", lambda data: data["user"]["id"] == romeo.name)
    own = rs.event("user.updated", lambda data: data["user"]["id"] == romeo.name)
    expect("cursor" in own, "one's own profile is not durable")


def identities(base, info, juliet):
    """What lets juliet in besides her password. False: this server has no backend for it."""
    if "jwt" not in info["grants"]:
        juliet.call("POST", "/v1/users/me/identities", {"identityToken": "a.b.c"}, 403, "grant-off")
        return False
    anybody = Client(base)

    def vouch(principal):
        nonce, now = anybody.call("POST", "/v1/nonces", status=201)["nonce"], int(time.time())
        claims = {"iss": BACKEND, "iat": now, "nbf": now, "exp": now + 60, "nce": nonce, "prn": principal}
        parts = [{"alg": "HS256", "typ": "JWT", "ver": "v2"}, claims]
        encode = lambda data: base64.urlsafe_b64encode(data).rstrip(b"=")
        body = b".".join(encode(json.dumps(part).encode()) for part in parts)
        return (body + b"." + encode(hmac.digest(SECRET.encode(), body, "sha256"))).decode()

    one, other = uuid.uuid4().hex, uuid.uuid4().hex
    token = vouch(other)
    session = anybody.call("POST", "/v1/sessions", {"grant": "jwt", "identityToken": token}, 201)
    anybody.call("POST", "/v1/sessions", {"grant": "jwt", "identityToken": token}, 401, "nonce-invalid")
    anybody.call("POST", "/v1/sessions", {"grant": "jwt", "identityToken": "a.b.c"}, 401, "identity-token-invalid")
    anybody.call("POST", "/v1/sessions", {"grant": "provider", "provider": "x", "idToken": "a.b.c"}, 400, "provider-unknown")
    anybody.call("POST", "/v1/sessions", {"grant": "guest"}, 403, "guests-off")
    made = juliet.call("POST", "/v1/users/me/identities", {"identityToken": vouch(one)}, 201)
    expect(made["subject"] == one, f"linked {made}")
    juliet.call("POST", "/v1/users/me/identities", {"identityToken": vouch(one)}, 200)
    juliet.call("POST", "/v1/users/me/identities", {"identityToken": vouch(other)}, 409, "identity-taken")
    juliet.call("POST", "/v1/users/me/identities", {"identityToken": "a.b.c"}, 403, "identity-token-invalid")
    juliet.call("POST", "/v1/users/me/identities", {}, 400, "input-malformed")
    expect(made in juliet.call("GET", "/v1/users/me/identities")["items"], "what was linked is not in the list")
    juliet.call("DELETE", f"/v1/users/me/identities/{made['id']}", status=204)
    juliet.call("DELETE", f"/v1/users/me/identities/{made['id']}", status=404, code="identity-unknown")
    newcomer = Client(base, session["accessToken"])
    (only,) = newcomer.call("GET", "/v1/users/me/identities")["items"]
    newcomer.call("DELETE", f"/v1/users/me/identities/{only['id']}", status=409, code="last-sign-in")
    return True


def with_hook(base, hook):
    port, secret = hook.split(":", 1)
    hook = Hook(int(port), secret)
    try:
        walk(base, hook)
    finally:
        hook.close()


def walk(base, hook):
    anybody, me = Client(base), Client(base)
    suffix = secrets.token_hex(4)
    mail, phone, password = f"Rosa+{suffix}@Verona.example", "+39 045 " + str(8_000_000 + int(suffix, 16) % 999_999), "Wherefore-" + suffix

    def code_of(kind, value):
        anybody.call("POST", "/v1/codes", {kind: value}, 202)
        return hook.letter("code.requested", domain="localhost")["code"]

    # An account with a mail address, which a code proves.
    code = code_of("email", mail)
    wrong = "000000" if code != "000000" else "000001"
    anybody.call("POST", "/v1/users", {"email": mail, "password": password}, 400, "input-malformed")
    anybody.call("POST", "/v1/users", {"email": mail, "password": password, "code": wrong}, 401, "wrong-code")
    anybody.call("POST", "/v1/users", {"email": mail, "password": "short", "code": code}, 400, "password-too-short")
    user = anybody.call("POST", "/v1/users", {"email": mail, "password": password, "code": code, "name": "Rosa"}, 201)
    expect("email" not in user and user["name"] == "Rosa", f"registered {user}")
    anybody.call("POST", "/v1/users", {"email": mail, "password": password, "code": code}, 401, "wrong-code")

    # The password, with the address in either place, however it is written; and a code alone.
    for body in [{"email": mail.upper()}, {"username": mail}, {"username": user["id"]}]:
        session = anybody.call("POST", "/v1/sessions", {"grant": "password", "password": password, "deviceId": "one", **body}, 201)
        expect(session["user"]["id"] == user["id"], f"{body} is {session['user']}")
    code = code_of("email", mail)
    anybody.call("POST", "/v1/sessions", {"grant": "code", "email": mail, "code": wrong if wrong != code else "000002"}, 401, "wrong-code")
    anybody.call("POST", "/v1/sessions", {"grant": "code", "email": mail, "code": code, "phone": phone}, 400, "input-malformed")
    problem = anybody.call("POST", "/v1/sessions", {"grant": "code", "username": user["id"]}, 400, "input-malformed")
    expect((problem["field"], problem["detail"]) == ("password", "password is missing."), f"{problem}")
    session = anybody.call("POST", "/v1/sessions", {"grant": "code", "email": mail, "code": code, "deviceId": "two"}, 201)
    anybody.call("POST", "/v1/sessions", {"grant": "code", "email": mail, "code": code}, 401, "wrong-code")
    me.token = session["accessToken"]
    seen = me.call("GET", "/v1/users/me")
    expect(seen["email"] == mail.lower() and seen["hasPassword"] and not seen["secondFactor"] and seen["lastLoginAt"], f"me is {seen}")
    expect("email" not in Client(base, me.token).call("GET", f"/v1/users/{user['id']}"), "others see the address")

    # A telephone beside it.
    me.call("POST", "/v1/users/me/codes", {"phone": phone}, 202)
    letter = hook.letter("code.requested", phone=phone.replace(" ", ""), userId=user["id"])
    me.call("PUT", "/v1/users/me/phone", {"phone": phone, "code": letter["code"]}, 400, "input-malformed")
    me.call("PUT", "/v1/users/me/phone", {"phone": phone, "code": letter["code"], "password": "x"}, 403, "wrong-password")
    me.call("PUT", "/v1/users/me/phone", {"phone": phone, "code": "x", "password": password}, 403, "wrong-code")
    seen = me.call("PUT", "/v1/users/me/phone", {"phone": phone, "code": letter["code"], "password": password})
    expect(seen["phone"] == phone.replace(" ", ""), f"me is {seen}")
    me.call("DELETE", "/v1/users/me/phone", status=204)
    me.call("DELETE", "/v1/users/me/phone", status=404, code="identity-unknown")
    other = f"rosa-{suffix}@mantua.example"
    me.call("POST", "/v1/users/me/codes", {"email": other}, 202)
    letter = hook.letter("code.requested", email=other)
    seen = me.call("PUT", "/v1/users/me/email", {"email": other, "code": letter["code"], "password": password})
    expect(seen["email"] == other, f"me is {seen}")

    # Passwords.
    me.call("PUT", "/v1/users/me/password", {"current": password, "password": password + "!"}, 204)
    me.call("GET", "/v1/users/me")
    anybody.call("POST", "/v1/password-resets", {"email": f"nobody-{suffix}@verona.example"}, 202)
    anybody.call("POST", "/v1/password-resets", {"email": other}, 202)
    letter = hook.letter("password-reset.requested", email=other, userId=user["id"])
    anybody.call("PUT", "/v1/password-resets/made-up", {"password": password}, 404, "reset-unknown")
    anybody.call("PUT", f"/v1/password-resets/{letter['token']}", {"password": "short"}, 400, "password-too-short")
    anybody.call("PUT", f"/v1/password-resets/{letter['token']}", {"password": password}, 204)
    anybody.call("PUT", f"/v1/password-resets/{letter['token']}", {"password": password}, 404, "reset-unknown")
    me.call("GET", "/v1/users/me", status=401)
    me.call("DELETE", "/v1/users/me/email", status=401)
    me.token = anybody.call("POST", "/v1/sessions", {"grant": "password", "email": other, "password": password, "deviceId": "one"}, 201)["accessToken"]

    # A refused letter is brought once more.
    hook.refusals.append(503)
    code_of("email", other)
    me.call("DELETE", "/v1/users/me/email", status=204)
    second_factor(base, hook, user["id"], password)


def second_factor(base, hook, name, password):
    me, anybody = Client(base), Client(base)

    def log_in(**more):
        return {"grant": "password", "username": name, "password": password, **more}

    me.token = anybody.call("POST", "/v1/sessions", log_in(deviceId="one"), 201)["accessToken"]
    made = me.call("POST", "/v1/users/me/second-factor", {"password": password}, 201)
    codes = me.call("PUT", "/v1/users/me/second-factor", {"code": totp(made["secret"])})["recoveryCodes"]
    me.call("POST", "/v1/users/me/second-factor", {"password": password}, 409, "second-factor-on")
    challenge = anybody.call("POST", "/v1/sessions", log_in(deviceId="two"), 401, "second-factor-required")["challenge"]
    code = totp(made["secret"], 1)
    answer = {"grant": "second-factor", "challenge": challenge, "deviceId": "two"}
    anybody.call("POST", "/v1/sessions", {**answer, "code": code, "recoveryCode": codes[0]}, 400, "input-malformed")
    anybody.call("POST", "/v1/sessions", {**answer, "code": code}, 201)
    anybody.call("POST", "/v1/sessions", {**answer, "code": code}, 401, "wrong-code")  # it was used
    anybody.call("POST", "/v1/sessions", {**answer, "recoveryCode": codes[0]}, 201)
    me.call("DELETE", f"/v1/users/me/second-factor?recoveryCode={codes[0]}", status=403, code="wrong-code")
    me.call("DELETE", f"/v1/users/me/second-factor?recoveryCode={codes[1]}", status=204)
    me.call("DELETE", "/v1/sessions", status=204)
    expect(len(me.call("GET", "/v1/sessions")["items"]) == 1, "others are still logged in")
    sent_second_factor(base, hook, me, log_in)


def sent_second_factor(base, hook, me, log_in):
    """Codes that are sent, in the place of a program's."""
    anybody, number = Client(base), "+3904590" + str(secrets.randbelow(90_000) + 10_000)
    password = log_in()["password"]

    def code():
        return hook.letter("code.requested", phone=number)["code"]

    me.call("POST", "/v1/users/me/second-factor", {"password": password, "method": "fax"}, 400, "method-unknown")
    me.call("POST", "/v1/users/me/second-factor", {"password": password, "method": "sms"}, 409, "phone-missing")
    me.call("POST", "/v1/users/me/codes", {"phone": number}, 202)
    me.call("PUT", "/v1/users/me/phone", {"phone": number, "code": code(), "password": password})
    made = me.call("POST", "/v1/users/me/second-factor", {"password": password, "method": "sms"}, 201)
    expect(made["method"] == "sms" and "secret" not in made and made["expiresAt"], f"made {made}")
    me.call("PUT", "/v1/users/me/second-factor", {"code": code()})
    problem = anybody.call("POST", "/v1/sessions", log_in(deviceId="two"), 401, "second-factor-required")
    expect(problem["secondFactor"] == "sms", f"asked for {problem}")
    challenge = problem["challenge"]
    anybody.call("POST", "/v1/codes", {"challenge": "made-up"}, 401, "challenge-invalid")
    anybody.call("POST", "/v1/codes", {"challenge": challenge, "phone": number}, 400, "input-malformed")
    anybody.call("POST", "/v1/codes", {"challenge": challenge}, 202)
    answer = {"grant": "second-factor", "challenge": challenge, "code": code(), "deviceId": "two"}
    anybody.call("POST", "/v1/sessions", answer, 201)
    anybody.call("POST", "/v1/sessions", answer, 401, "wrong-code")  # it was used
    me.call("DELETE", "/v1/users/me/phone", status=409, code="second-factor-on")
    me.call("POST", "/v1/users/me/codes", {"secondFactor": True}, 202)
    me.call("DELETE", f"/v1/users/me/second-factor?code={code()}", status=204)
    me.call("POST", "/v1/users/me/codes", {"secondFactor": True}, 404, "second-factor-missing")
