"""Accounts of people, for `app_contract.py`: addresses, codes, resets, second factor. What the server sends arrives at a hook of
this file's own, which holds each post to Standard Webhooks. TOTP is written from RFC 6238 alone.
"""
import base64
import hashlib
import hmac
import http.server
import json
import queue
import secrets
import struct
import threading
import time

PATIENCE = 20
# What is walked through only where there is a hook.
NEEDS_HOOK = {"code.send", "me.code.send", "passwordReset.send", "passwordReset.use", "me.email.put", "me.email.delete",
              "me.phone.put", "me.phone.delete", "me.password.put", "me.secondFactor.create", "me.secondFactor.confirm",
              "me.secondFactor.delete", "session.deleteOthers"}


def new_secret():
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


class Hook:
    """The app's backend: takes letters as signed webhooks."""

    def __init__(self, port, secret):
        self.key = base64.b64decode(secret.removeprefix("whsec_"))
        self.letters = queue.Queue()
        self.refusals = []  # statuses to answer the next posts with
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = hook.refusals.pop(0) if hook.refusals else 204
                try:
                    letter = hook.opened(self.headers, body)
                    if status < 300:
                        hook.letters.put(letter)
                except Exception as error:  # it is told to whoever waits for a letter
                    hook.letters.put(error)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def opened(self, headers, body):
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        wanted = "v1," + base64.b64encode(hmac.digest(self.key, signed, "sha256")).decode()
        if not hmac.compare_digest(wanted, headers["webhook-signature"]):
            raise ValueError(f"the signature of {body} is {headers['webhook-signature']}")
        if abs(int(headers["webhook-timestamp"]) - time.time()) > 300:
            raise ValueError(f"sent at {headers['webhook-timestamp']}")
        letter = json.loads(body)
        letter["id"] = headers["webhook-id"]
        return letter

    def letter(self, type, **expected):
        letter = self.letters.get(timeout=PATIENCE)
        if isinstance(letter, Exception):
            raise letter
        data = letter["data"]
        if letter["type"] != type or any(data.get(name) != value for name, value in expected.items()):
            raise ValueError(f"{letter} is no {type} with {expected}")
        return data

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def totp(secret, later=0):
    step = int(time.time()) // 30 + later
    digest = hmac.digest(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1)
    offset = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[offset:offset + 4])[0] & 0x7fffffff) % 1_000_000:06}"


def run(Client, check, base, hook):
    port, secret = hook.split(":", 1)
    hook = Hook(int(port), secret)
    try:
        walk(Client, check, base, hook)
    finally:
        hook.close()


def walk(Client, check, base, hook):
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
    check("email" not in user and user["name"] == "Rosa", f"registered {user}")
    anybody.call("POST", "/v1/users", {"email": mail, "password": password, "code": code}, 401, "wrong-code")

    # The password, with the address in either place, however it is written; and a code alone.
    for body in [{"email": mail.upper()}, {"username": mail}, {"username": user["id"]}]:
        session = anybody.call("POST", "/v1/sessions", {"grant": "password", "password": password, "deviceId": "one", **body}, 201)
        check(session["user"]["id"] == user["id"], f"{body} is {session['user']}")
    code = code_of("email", mail)
    anybody.call("POST", "/v1/sessions", {"grant": "code", "email": mail, "code": wrong if wrong != code else "000002"}, 401, "wrong-code")
    anybody.call("POST", "/v1/sessions", {"grant": "code", "email": mail, "code": code, "phone": phone}, 400, "input-malformed")
    session = anybody.call("POST", "/v1/sessions", {"grant": "code", "email": mail, "code": code, "deviceId": "two"}, 201)
    anybody.call("POST", "/v1/sessions", {"grant": "code", "email": mail, "code": code}, 401, "wrong-code")
    me.token = session["accessToken"]
    seen = me.call("GET", "/v1/users/me")
    check(seen["email"] == mail.lower() and seen["hasPassword"] and not seen["secondFactor"] and seen["lastLoginAt"], f"me is {seen}")
    check("email" not in Client(base, me.token).call("GET", f"/v1/users/{user['id']}"), "others see the address")

    # A telephone beside it.
    me.call("POST", "/v1/users/me/codes", {"phone": phone}, 202)
    letter = hook.letter("code.requested", phone=phone.replace(" ", ""), userId=user["id"])
    me.call("PUT", "/v1/users/me/phone", {"phone": phone, "code": letter["code"]}, 400, "input-malformed")
    me.call("PUT", "/v1/users/me/phone", {"phone": phone, "code": letter["code"], "password": "x"}, 403, "wrong-password")
    me.call("PUT", "/v1/users/me/phone", {"phone": phone, "code": "x", "password": password}, 403, "wrong-code")
    seen = me.call("PUT", "/v1/users/me/phone", {"phone": phone, "code": letter["code"], "password": password})
    check(seen["phone"] == phone.replace(" ", ""), f"me is {seen}")
    me.call("DELETE", "/v1/users/me/phone", status=204)
    me.call("DELETE", "/v1/users/me/phone", status=404, code="identity-unknown")
    other = f"rosa-{suffix}@mantua.example"
    me.call("POST", "/v1/users/me/codes", {"email": other}, 202)
    letter = hook.letter("code.requested", email=other)
    seen = me.call("PUT", "/v1/users/me/email", {"email": other, "code": letter["code"], "password": password})
    check(seen["email"] == other, f"me is {seen}")

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
    second_factor(Client, check, base, hook, user["id"], password)


def second_factor(Client, check, base, hook, name, password):
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
    check(len(me.call("GET", "/v1/sessions")["items"]) == 1, "others are still logged in")
    sent_second_factor(Client, check, base, hook, me, log_in)


def sent_second_factor(Client, check, base, hook, me, log_in):
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
    check(made["method"] == "sms" and "secret" not in made and made["expiresAt"], f"made {made}")
    me.call("PUT", "/v1/users/me/second-factor", {"code": code()})
    problem = anybody.call("POST", "/v1/sessions", log_in(deviceId="two"), 401, "second-factor-required")
    check(problem["secondFactor"] == "sms", f"asked for {problem}")
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
