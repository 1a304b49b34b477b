"""Accounts of people, with the mail they get: aiosmtpd is the operator's mail server, with TLS and a password, slixmpp the XMPP
client of the same user. Codes, password resets, second factors; certificates that are not trusted, servers without TLS.
"""
import asyncio
import json
import pathlib
import re
import tempfile

from lib.apps import exchange_json, totp
from lib.harness import PASSWORD, PATIENCE, Failure, Server, expect, free_port
from lib.peers import Client
from lib.scrape import Growth
from lib.services import Hook, MailServer, certificate, new_secret

MAIL = "romeo@montague.example"


def call(server, method, path, body=None, token=None, status=200):
    got, _, value = exchange_json(method, server.base + path, body, token)
    expect(got == status, f"{method} {path} is answered {got}: {value}")
    return value


def log_in(server, status=201, **body):
    return call(server, "POST", "/v1/sessions", body, status=status)


def sign_ups(checks, server, mails):
    with checks.check("mail: a code comes over TLS, from who it says, and makes a user"):
        call(server, "POST", "/v1/codes", {"email": "Benvolio@Montague.EXAMPLE"}, status=202)
        envelope, message, text = mails.mail("benvolio@montague.example")
        expect(envelope.mail_from == "chat@localhost.example" and message["From"] == "Verona, the chat <chat@localhost.example>", str(message))
        expect(message["Auto-Submitted"] == "auto-generated" and message["Date"].datetime and message["Message-ID"], str(message))
        (code,) = re.findall(r"^ +(\d{6})$", text, re.M)
        expect(code in message["Subject"] and "localhost" in message["Subject"], str(message["Subject"]))
        session = log_in(server, grant="code", email="benvolio@montague.example", code=code, name="Benvolio")
        me = call(server, "GET", "/v1/users/me", token=session["accessToken"])
        expect(me["email"] == "benvolio@montague.example" and me["name"] == "Benvolio" and me["hasPassword"] is False, str(me))
        log_in(server, grant="code", email="benvolio@montague.example", code=code, status=401)

    with checks.check("mail: who has no password gets an app password, and XMPP by it"):
        made = call(server, "POST", "/v1/app-passwords", {"name": "slixmpp"}, session["accessToken"], 201)
        asyncio.run(in_and_out(server, f"{me['id']}@localhost/x", made["password"]))
        asyncio.run(refused(server, f"{me['id']}@localhost/x", "anything"))

    with checks.check("mail: another language, and another subject"):
        server.command("user", "email", "romeo@localhost", MAIL)
        shown = server.command("user", "show", "romeo@localhost")
        expect(f"email {MAIL}" in shown and "second factor" in shown, shown)
        call(server, "POST", "/v1/password-resets", {"email": MAIL}, status=202)
        _, message, text = mails.mail(MAIL)
        expect(message["Subject"] == "Ein neues Paßwort für romeo, «localhost» – und so weiter, damit der Betreff länger wird", str(message["Subject"]))
        expect("https://app.example/r?t=" in text and "Grüße" in text, text)


class Reached(Client):
    def __init__(self, server, jid, password):
        super().__init__(server, jid)
        self.credentials["password"] = password


async def in_and_out(server, jid, password):
    client = Reached(server, jid, password)
    await client.arrive()
    await client.disconnect()


async def refused(server, jid, password):
    client = Reached(server, jid, password)
    client.enable_direct_tls, client.enable_starttls, client.enable_plaintext = False, True, False
    client.connect("127.0.0.1", server.xmpp)
    await client.saw("failed_all_auth")
    client.abort()


async def reset(checks, server, mails):
    with checks.check("mail: a reset's link sets a password once, and ends the XMPP session and the app's"):
        session = await asyncio.to_thread(log_in, server, grant="password", email=MAIL, password=PASSWORD)
        romeo = await Client(server, "romeo@localhost/orchard").arrive()
        await asyncio.to_thread(call, server, "POST", "/v1/password-resets", {"email": MAIL}, status=202)
        _, _, text = await asyncio.to_thread(mails.mail, MAIL)
        (token,) = re.findall(r"https://app\.example/r\?t=(\S+)", text)
        reset = f"/v1/password-resets/{token}"
        await asyncio.to_thread(call, server, "PUT", reset, {"password": "short"}, status=400)
        await asyncio.to_thread(call, server, "PUT", reset, {"password": "Thou art thyself"}, status=204)
        await romeo.saw("disconnected")
        await asyncio.to_thread(call, server, "PUT", reset, {"password": "Thou art thyself"}, status=404)
        await asyncio.to_thread(call, server, "GET", "/v1/users/me", token=session["accessToken"], status=401)
        romeo.abort()
    with checks.check("mail: then the old password is wrong over XMPP, and the new one right"):
        await refused(server, "romeo@localhost/orchard", PASSWORD)
        await in_and_out(server, "romeo@localhost/orchard", "Thou art thyself")
    with checks.check("mail: nobody is written to who is not known, and nobody is buried in mail"):
        before, growth = len(mails.seen), Growth(server)
        call(server, "POST", "/v1/password-resets", {"email": "nobody@montague.example"}, status=202)
        answers = []
        for _ in range(4):
            try:
                call(server, "POST", "/v1/password-resets", {"email": MAIL}, status=202)
                answers.append(202)
            except Failure:
                answers.append(429)
        expect(answers == [202, 202, 429, 429], f"answers: {answers}")
        growth.until("parley_refusals_total", 2, rate="codes-to-address-hour")
        for _ in range(2):
            await asyncio.to_thread(mails.mail, MAIL)
        expect(mails.seen[before:] == [[MAIL]] * 2, f"mails: {mails.seen[before:]}")


async def second_factor(checks, server):
    with checks.check("second factor: SCRAM with the password is refused, an app password is let in"):
        await in_and_out(server, "juliet@localhost/a", PASSWORD)
        token = log_in(server, grant="password", username="juliet", password=PASSWORD, deviceId="a")["accessToken"]
        lent = call(server, "POST", "/v1/app-passwords", {"name": "slixmpp"}, token, 201)["password"]
        there = await Client(server, "juliet@localhost/there").arrive()
        by_lent = await Reached(server, "juliet@localhost/lent", lent).arrive()
        secret = call(server, "POST", "/v1/users/me/second-factor", {"password": PASSWORD}, token, 201)["secret"]
        codes = call(server, "PUT", "/v1/users/me/second-factor", {"code": totp(secret)}, token)["recoveryCodes"]
        await there.saw("disconnected")
        there.abort()
        await refused(server, "juliet@localhost/a", PASSWORD)
        await in_and_out(server, "juliet@localhost/b", lent)
        await by_lent.plugin["xep_0199"].ping("localhost", timeout=PATIENCE)
    with checks.check("second factor: kill -9 takes nothing of it back"):
        challenge = log_in(server, grant="password", username="juliet", password=PASSWORD, status=401)["challenge"]
        log_in(server, grant="second-factor", challenge=challenge, recoveryCode=codes[0])
        by_lent.abort()
        server.kill()
        server.start()
        log_in(server, grant="second-factor", challenge=challenge, recoveryCode=codes[0], status=401)
        log_in(server, grant="second-factor", challenge=challenge, recoveryCode=codes[1])
        await refused(server, "juliet@localhost/a", PASSWORD)
        await in_and_out(server, "juliet@localhost/b", lent)
    with checks.check("second factor: a lost key is reported by check, the start and health, until its copy is back"):
        key = pathlib.Path(server.data, "accounts.key")
        copy = key.read_bytes()
        key.unlink()
        expect("accounts.key is missing in the data folder" in server.command("check"), "the running server's folder lacks the file")
        server.stop()
        said = server.command("check")
        expect("of 1 user does not work, and logins end with wrong-code: accounts.key is missing" in said, said)
        server.command("user", "list")
        expect(not key.exists(), "a command that reads has created a key")
        server.start()
        expect("accounts.key was missing in the data folder, and this start has created another" in server.log.text, server.log.text)
        found = json.loads(server.command("health", "--json"))
        expect("at its start is not the one" in found["lostSecondFactors"], f"{found}")
        expect("warning" in server.command("health") and "at its start is not the one" in server.command("check"), "not reported")
        challenge = log_in(server, grant="password", username="juliet", password=PASSWORD, status=401)["challenge"]
        log_in(server, grant="second-factor", challenge=challenge, recoveryCode=codes[2], status=401)
        key.write_bytes(copy)
        said = server.command("check")
        expect("does not read a copy that has been put there since" in said and "is not the key" not in said, said)
        server.stop()
        expect("wrong-code" not in server.command("check"), "the copy does not fit")
        server.start()
        expect("lostSecondFactors" not in json.loads(server.command("health", "--json")), "still reported")
        challenge = log_in(server, grant="password", username="juliet", password=PASSWORD, status=401)["challenge"]
        log_in(server, grant="second-factor", challenge=challenge, recoveryCode=codes[2])
    with checks.check("second factor: the secret is not in the database, and an operator turns it off"):
        import base64
        stored = b"".join(path.read_bytes() for path in pathlib.Path(server.data).glob("parley.db*"))
        expect(base64.b32decode(secret) not in stored and secret.encode() not in stored, "it is")
        expect("no second factor any more" in server.command("user", "second-factor", "off", "juliet"), "it is still on")
        expect("had none" in server.command("user", "second-factor", "off", "juliet"), "it was not off")
        await in_and_out(server, "juliet@localhost/a", PASSWORD)


def undelivered(checks, folder, trusted):
    with checks.check("mail: over STARTTLS; what a server takes later is brought again, what it never takes is not"):
        with MailServer(trusted, implicit=False) as mails, Server(**settings(mails, folder, trusted, "smtp")) as server:
            server.start()
            growth = Growth(server)
            mails.answers += ["451 4.7.1 later", "550 5.1.1 nobody"]
            call(server, "POST", "/v1/codes", {"email": "later@montague.example"}, status=202)
            server.log.until("it is tried again", lambda text: "(451)" in text)
            call(server, "POST", "/v1/codes", {"email": "never@montague.example"}, status=202)
            server.log.until("it is given up", lambda text: "(550)" in text and "again=false" in text)
            mails.mail("later@montague.example")
            expect(mails.seen.count(["never@montague.example"]) == 1, f"mails: {mails.seen}")
            for result in ("sent", "failed", "refused"):
                growth.until("parley_code_deliveries_total", 1, transport="mail", result=result)
            code = "later@montague.example"
            expect(code not in server.log.text and "never@" not in server.log.text, "the log says to whom mails are")
    with checks.check("mail: nothing goes to a server with another's certificate, nor to one without TLS"):
        other = certificate(folder, "other")
        for mails, scheme in [(MailServer(other), "smtps"), (MailServer(), "smtp")]:
            with mails, Server(**settings(mails, folder, trusted, scheme)) as server:
                server.start()
                call(server, "POST", "/v1/codes", {"email": "somebody@montague.example"}, status=202)
                server.log.until("it is not delivered", lambda text: "a code was not delivered" in text)
                expect(mails.seen == [], f"mails: {mails.seen}")
    with checks.check("mail: to a server without TLS only where that is allowed"):
        with MailServer() as mails:
            options = settings(mails, folder, trusted, "smtp")
            del options["mail__user"], options["mail__password"]
            with Server(**options, mail__plaintext="true") as server:
                server.start()
                call(server, "POST", "/v1/codes", {"email": "open@b\u00fccher.example"}, status=202)
                mails.mail("open@xn--bcher-kva.example")


def hooks(checks):
    port, secret = free_port(), new_secret()
    hook = Hook(port, secret)
    try:
        with checks.check("hook: a text message's code makes a user; the post is signed, and repeated with one id"), Server(
                signup__phone="true", delivery__url=f"http://127.0.0.1:{port}/x", delivery__secret=secret) as server:
            server.start()
            hook.refusals.append(500)
            call(server, "POST", "/v1/codes", {"phone": "+39 045 800 0000"}, status=202)
            letter = hook.letter("code.requested", phone="+390458000000", domain="localhost")
            expect("userId" not in letter and re.fullmatch(r"\d{6}", letter["code"]), str(letter))
            session = log_in(server, grant="code", phone="+390458000000", code=letter["code"])
            call(server, "POST", "/v1/codes", {"email": MAIL}, status=202)
            call(server, "POST", "/v1/codes", {"phone": "+390458000000"}, status=202)
            letter = hook.letter("code.requested", phone="+390458000000", userId=session["user"]["id"])
            # By mail nobody becomes a user here, so there was no letter before.
            expect(log_in(server, grant="code", phone="+390458000000", code=letter["code"])["user"] == session["user"], "another user")
    finally:
        hook.close()


def settings(mails, folder, trusted, scheme):
    return dict(
        mail__server=f"{scheme}://localhost:{mails.port}", mail__user="parley", mail__password="a:b c",
        mail__from="Verona, the chat <chat@localhost.example>", outgoing__authorities=trusted[0], signup__email="true")


def run(checks):
    with tempfile.TemporaryDirectory() as folder:
        trusted = certificate(folder, "trusted")
        templates = pathlib.Path(folder, "templates")
        templates.mkdir()
        (templates / "password-reset.txt").write_text(
            "Ein neues Paßwort für {user}, «{domain}» – und so weiter, damit der Betreff länger wird\n\n{link}\n\nGrüße {unknown}\n")
        with MailServer(trusted) as mails:
            options = settings(mails, folder, trusted, "smtps")
            with Server(**options, mail__templates=templates, mail__reset_url="https://app.example/r?t={token}") as server:
                server.start()
                server.add_users("romeo", "juliet")
                sign_ups(checks, server, mails)
                asyncio.run(reset(checks, server, mails))
                asyncio.run(second_factor(checks, server))
        undelivered(checks, folder, trusted)
    hooks(checks)
