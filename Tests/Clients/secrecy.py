"""What a server is told in confidence is nowhere where operators and their programs look: a day with passwords, tokens, codes and keys
of all kinds, right and wrong ones, in both doors, by HTTP and by commands; then the log at its most talkative, the metrics, the audit and
what commands list are searched for each of them, also as base 64, in hexadecimal and as in a URL.
"""
import base64
import hashlib
import json
import re
import socket
import tempfile
import urllib.parse
import uuid

from lib.apps import exchange, exchange_json, totp
from lib.harness import PASSWORD, PATIENCE, Server, expect, free_port
from lib.properties import Taker
from lib.sasl2 import SASL2, OneStep, Tokens, coded
from lib.services import MailServer, certificate, new_secret
from lib.signins import Signer, vouch

MAIL = "romeo@montague.example"
GATEWAY = "gateway.localhost"


class Told(dict):
    """What was said in confidence: secrets by a name for people."""

    def keep(self, name, text):
        expect(isinstance(text, str) and len(text) >= 8, f"{name}: {text!r} could be anything's")
        self[name] = text
        return text

    def invent(self, name):
        return self.keep(name, f"{name.replace(' ', '-')}-{uuid.uuid4().hex}")

    def found(self, text):
        """The names of those that are in a text, in whichever form."""
        def forms(secret):
            data = secret.encode()
            yield from (secret, data.hex(), urllib.parse.quote(secret, safe=""), json.dumps(secret)[1:-1])
            # At each offset within a longer text; what depends on the neighbours is cut off.
            for offset in range(3):
                yield base64.b64encode(b"-" * offset + data).decode()[4 if offset else 0:-4].rstrip("=")

        return [name for name, secret in self.items() if any(form in text for form in forms(secret))]


def call(server, method, path, body=None, token=None, status=200):
    got, _, value = exchange_json(method, server.base + path, body, token)
    expect(got == status, f"{method} {path} is answered {got}: {value}")
    return value


def log_in(server, told, name, status=201, **body):
    session = call(server, "POST", "/v1/sessions", body, status=status)
    for token in ("accessToken", "refreshToken", "challenge"):
        if token in session:
            told.keep(f"{name}: {token}", session[token])
    return session


def apps(server, told, mails):
    """The app door."""
    told.keep("password", PASSWORD)
    log_in(server, told, "wrong", 401, grant="password", username="romeo", password=told.invent("wrong password"))
    session = log_in(server, told, "romeo", grant="password", username="romeo", password=PASSWORD, deviceId="phone")
    token = log_in(server, told, "renewed", grant="refresh", refreshToken=session["refreshToken"])["accessToken"]
    log_in(server, told, "invented", 401, grant="refresh", refreshToken=told.invent("invented refresh token"))
    call(server, "GET", "/v1/users/me", token=told.invent("invented access token"), status=401)
    call(server, "PUT", "/v1/devices/phone", {"push": {"provider": "webhook", "token": told.invent("push token")}}, token, 201)
    told.keep("app password", call(server, "POST", "/v1/app-passwords", {"name": "slixmpp"}, token, 201)["password"])
    relay = next(each for each in call(server, "GET", "/v1/ice-servers", token=token)["items"] if "credential" in each)
    told.keep("credential of a relay", relay["credential"])
    signer = Signer("HS256", secret=told["secret of a backend"])
    for name, status, by in [("paris", 201, signer), ("rosaline", 401, Signer("HS256", secret=told.invent("another backend")))]:
        vouched = told.keep(f"token for {name}", vouch(call(server, "POST", "/v1/nonces", status=201)["nonce"], name, by))
        log_in(server, told, name, status, grant="jwt", identityToken=vouched)
    server.command("user", "email", "romeo@localhost", MAIL)
    call(server, "POST", "/v1/password-resets", {"email": MAIL}, status=202)
    (reset,) = re.findall(r"https://app\.example/r\?t=(\S+)", mails.mail(MAIL)[2])
    told.keep("token of a reset", reset)
    changed = told.invent("reset password")
    for link, status in [(reset, 204), (reset, 404), (told.invent("invented reset"), 404)]:
        call(server, "PUT", f"/v1/password-resets/{link}", {"password": changed}, status=status)
    token = log_in(server, told, "after the reset", grant="password", username="romeo", password=changed)["accessToken"]
    last = told.invent("last password")
    call(server, "PUT", "/v1/users/me/password", {"current": changed, "password": last}, token, 204)
    factor = told.keep("second factor", call(server, "POST", "/v1/users/me/second-factor", {"password": last}, token, 201)["secret"])
    codes = call(server, "PUT", "/v1/users/me/second-factor", {"code": totp(factor)}, token)["recoveryCodes"]
    for number, code in enumerate(codes):
        told.keep(f"recovery code {number}", code)
    challenge = log_in(server, told, "challenged", 401, grant="password", username="romeo", password=last)["challenge"]
    log_in(server, told, "by a recovery code", grant="second-factor", challenge=challenge, recoveryCode=codes[0])


def clients(server, told):
    """The XMPP door, and a component's."""
    juliet = Tokens("juliet", server).connect()
    juliet.first()
    told.keep("token of XEP-0484", juliet.token)
    juliet.close()
    again = Tokens("juliet", server).connect()
    again.again(juliet.token)
    again.close()
    wrong = OneStep("juliet", server).connect()
    message = coded(f"\0juliet\0{told.invent('wrong password of XMPP')}".encode())
    wrong.send(f"<authenticate xmlns='{SASL2}' mechanism='PLAIN'><initial-response>{message}</initial-response></authenticate>")
    wrong.stanza(lambda s: s.tag == f"{{{SASL2}}}failure", "a refusal")
    wrong.close()
    with socket.create_connection(("127.0.0.1", int(server.settings["component__port"])), timeout=PATIENCE) as component:
        component.sendall(f"<stream:stream xmlns='jabber:component:accept' xmlns:stream='http://etherx.jabber.org/streams' to='{GATEWAY}'>".encode())
        stream = ""
        while not (found := re.search(r" id=['\"]([^'\"]+)", stream)):
            stream += component.recv(4096).decode()
        proof = hashlib.sha1((found[1] + told["secret of a component"]).encode()).hexdigest()
        component.sendall(f"<handshake>{told.keep('handshake', proof)}</handshake>".encode())
        while "<handshake" not in stream:
            stream += component.recv(4096).decode()


def operators(server, told, taker):
    """Commands, app keys, invitations, webhooks; what a key does by HTTP is in the audit."""
    key = told.keep("app key", json.loads(server.command("key", "add", "backend", "--scope", "*", "--json"))["secret"])
    call(server, "GET", "/v1/admin/users", token="ply_" + told.invent("invented key"), status=401)
    call(server, "POST", "/v1/admin/users", {"jid": "nurse", "password": told.invent("password of a key's user")}, key, 201)
    call(server, "PUT", "/v1/admin/users/nurse@localhost/password", {"password": told.invent("password by a key")}, key)
    lent = call(server, "POST", "/v1/admin/users/nurse@localhost/sessions", {}, key, 201)
    for name in ("accessToken", "refreshToken"):
        told.keep(f"of a key: {name}", lent[name])
    hook = call(server, "POST", "/v1/admin/webhooks", {"url": "https://127.0.0.1:9/hook", "events": ["message.created"]}, key, 201)
    told.keep("secret of a webhook", hook["secret"])
    told.keep("its next secret", call(server, "POST", f"/v1/admin/webhooks/{hook['webhook']['id']}/secret", {}, key)["secret"])
    made = json.loads(server.command("webhook", "add", taker.url, "--event", "message.created", "--json"))
    told.keep("secret of an operator's webhook", made["secret"])
    server.command("user", "password", "juliet@localhost", "--password-stdin", stdin=told.invent("password of a command") + "\n")
    invitation = told.keep("invitation", re.search(r"preauth=(\w+)", server.command("invite", "create"))[1])
    call(server, "GET", f"/v1/invitations/{invitation}")
    exchange("GET", f"{server.base}/invite/{invitation}")
    call(server, "POST", "/v1/users", {"username": "peter", "password": told.invent("password of a guest"), "invitation": invitation},
         status=201)
    call(server, "GET", f"/v1/invitations/{told.invent('invented invitation')}", status=404)


def run(checks):
    told = Told()
    with tempfile.TemporaryDirectory() as folder, Taker() as taker:
        trusted = certificate(folder, "trusted")
        with MailServer(trusted) as mails, Server(
                log__level="trace", identity__backends=f"my-app={told.invent('secret of a backend')}", invitations="true",
                components=f"{GATEWAY}={told.invent('secret of a component')}", component__port=free_port(),
                turn__servers="turn:relay.example", turn__secret=told.invent("secret of the relays"),
                push__webhook__url=taker.url, push__webhook__secret=told.keep("secret of the push hook", new_secret()),
                before_send__url=taker.url, before_send__secret=told.keep("secret of the hook before sending", new_secret()),
                delivery__url=taker.url, delivery__secret=told.keep("secret of the delivery", new_secret()),
                mail__server=f"smtps://localhost:{mails.port}", mail__user="parley", mail__password="a:b c",
                mail__from="chat@localhost.example", mail__reset_url="https://app.example/r?t={token}",
                outgoing__authorities=trusted[0], outgoing__networks="127.0.0.0/8") as server:
            server.start()
            server.add_users("romeo", "juliet")
            with checks.check("secrecy: a day with secrets of all kinds, right and wrong ones"):
                apps(server, told, mails)
                clients(server, told)
                operators(server, told, taker)
            searched(checks, server, told)


def searched(checks, server, told):
    metrics = exchange("GET", f"http://127.0.0.1:{server.metrics}/metrics")[2].decode()
    audit = server.command("audit", "--limit", "500", "--json")
    # What an operator reads or sends to others.
    places = {
        "the metrics": metrics, "the audit": audit, "the audit for people": server.command("audit", "--limit", "500"),
        "parley stats": server.command("stats"), "the log": None,
        "parley check --print": server.command("check", "--print"), "parley key list": server.command("key", "list", "--json"),
        "parley webhook list": server.command("webhook", "list", "--json"),
        "parley session list": server.command("session", "list", "romeo@localhost", "--json"),
        "parley user show": server.command("user", "show", "romeo@localhost"), "parley reload": server.command("reload", "--json"),
    }
    server.stop()
    server.log.until("its last line", lambda _: server.log.ended)
    places["the log"] = server.log.text
    with checks.check(f"secrecy: what is searched is what was said: {len(told)} secrets are found where one puts them"):
        for name, secret in told.items():
            for text in (secret, coded(f"\0romeo\0{secret}".encode()), secret.encode().hex(), f"/x/{urllib.parse.quote(secret, safe='')}?y"):
                expect(name in told.found(text), f"{name}: not found in {text}")
        operations = {row["operation"] for row in json.loads(audit)}
        expect({"users.add", "users.password", "keys.add", "webhooks.add", "webhooks.rotate", "sessions.create"} <= operations, f"{operations}")
        expect("parley_" in metrics and 10 < len(server.log.lines) < 2_000, f"{len(server.log.lines)} lines, {metrics[:200]}")
    for place, text in places.items():
        with checks.check(f"secrecy: {place} has none of them"):
            expect(not (found := told.found(text)), f"{found}: {text}")
