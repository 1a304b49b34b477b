"""What an operator looks after: who did what (audit) by each surface, the log's level and a reload, of which a bad one changes nothing;
the line of the log to which the id in a user's error leads.
"""
import asyncio
import json
import os
import pathlib
import signal
import subprocess
import uuid

import slixmpp

from lib.apps import App, exchange_json
from lib.harness import PASSWORD, PATIENCE, Failure, Server, expect, until
from lib.wire import XMPP


def run(checks):
    with Server(admins="romeo@localhost") as server:
        server.prepare().command("user", "add", "romeo@localhost", "--password-stdin", stdin=PASSWORD + "\n")
        server.start()
        audit(checks, server)
        reload(checks, server)
    with Server(log__format="json", http__trusted_proxies="10.0.0.0/8") as server:
        server.start()
        server.add_users("romeo")
        lines(checks, server)


def listed(server, *arguments):
    return json.loads(server.command("audit", "--json", *arguments))


class Admin(slixmpp.ClientXMPP):
    def __init__(self, server, name="romeo", password=PASSWORD):
        super().__init__(f"{name}@localhost/orchard", password)
        self.ca_certs = pathlib.Path(server.certificate)
        self.register_plugin("xep_0050")
        self.ready = asyncio.Event()
        self.add_event_handler("session_start", lambda _: self.ready.set())

    async def add_user(self, name, password):
        session = await self["xep_0050"].send_command(
            "localhost", "http://jabber.org/protocol/admin#add-user", action="execute")
        form = self["xep_0004"].make_form(ftype="submit")
        form.add_field(var="FORM_TYPE", ftype="hidden", value="http://jabber.org/protocol/admin")
        for var, value in [("accountjid", f"{name}@localhost"), ("password", password), ("password-verify", password)]:
            form.add_field(var=var, value=value)
        return await self["xep_0050"].send_command(
            "localhost", session["command"]["node"], action="complete", sessionid=session["command"]["sessionid"], payload=form)


async def by_xmpp(server, secret):
    admin = Admin(server)
    admin.connect("127.0.0.1", server.xmpp)
    await asyncio.wait_for(admin.ready.wait(), PATIENCE)
    answer = await admin.add_user("benvolio", secret)
    expect(answer["command"]["status"] == "completed", f"{answer}")
    await admin.disconnect()


async def by_role(server, secret):
    """juliet is made an administrator, and is one no more, while her client is online."""
    juliet = Admin(server, "juliet", secret)
    juliet.connect("127.0.0.1", server.xmpp)
    await asyncio.wait_for(juliet.ready.wait(), PATIENCE)
    for role, outcome in [("user", "forbidden"), ("admin", "completed"), ("user", "forbidden")]:
        server.command("user", "role", "juliet", role)
        try:
            answer = (await juliet.add_user(f"peter-{role}", secret))["command"]["status"]
        except slixmpp.exceptions.IqError as error:
            answer = error.condition
        expect(answer == outcome, f"{role}: {answer}")
    await juliet.disconnect()


def audit(checks, server):
    secret = "s3cret-" + uuid.uuid4().hex
    with checks.check("audit: an act is listed by whichever surface it was done"):
        server.command("user", "add", "juliet@localhost", "--password-stdin", stdin=secret + "\n")
        key = json.loads(server.command("key", "add", "backend", "--scope", "users:write", "--json"))
        status, _, _ = exchange_json(
            "POST", server.base + "/v1/admin/users", {"jid": "nurse", "password": secret}, key["secret"])
        expect(status == 201, f"{status}")
        asyncio.run(by_xmpp(server, secret))
        rows = [row for row in listed(server) if row["operation"] == "users.add"]
        expect([(row["surface"], row["object"]) for row in rows] == [
            ("xmpp", "benvolio@localhost"), ("http", "nurse"), ("socket", "juliet@localhost"), ("folder", "romeo@localhost")], f"{rows}")
        xmpp, http, socket, folder = rows
        expect((xmpp["actor"], xmpp["origin"]) == ("romeo@localhost", "orchard"), f"{xmpp}")
        expect(http["actor"] == "backend" and key["secret"].startswith(http["keyPrefix"]) and http["origin"] == "127.0.0.1", f"{http}")
        for row in (socket, folder):
            expect(row["actor"] == f"uid {os.getuid()}" and row["origin"].startswith("process ") and row["status"] == 200, f"{row}")
    with checks.check("roles: an administrator's XMPP client has the commands from the next one on, and no longer than the role"):
        asyncio.run(by_role(server, secret))
        expect("by the key admins" in fails(server, "user", "role", "romeo", "user"), "romeo was demoted")
    with checks.check("audit: what was refused is listed with its code; what only reads is not"):
        try:
            server.command("user", "add", "juliet@localhost", "--password-stdin", stdin=secret + "\n")
            raise Failure("juliet was added twice")
        except Failure as refusal:
            expect("status 1" in str(refusal), f"{refusal}")
        server.command("user", "list")
        newest = listed(server, "--limit", "1")
        expect([(row["operation"], row["status"], row["code"]) for row in newest] == [("users.add", 409, "name-taken")], f"{newest}")
    with checks.check("audit: a key, a text or a domain selects"):
        expect({row["actor"] for row in listed(server, "--key", "backend")} == {"backend"}, "others' acts")
        expect({row["actor"] for row in listed(server, "--key", key["secret"][:12])} == {"backend"}, "others' acts")
        expect([row["object"] for row in listed(server, "--matching", "BENVOLIO")] == ["benvolio@localhost"], "others' acts")
        expect({row["surface"] for row in listed(server, "--domain", "localhost")} == {"http"}, "operators' acts")
    with checks.check("audit: it outlasts kill -9, and no secret is in it, in the log or in the database"):
        before = listed(server)
        server.kill()
        server.start()
        expect(listed(server) == before, "the audit has changed")
        for text in [secret, key["secret"]]:
            expect(text not in server.command("audit", "--limit", "500") and text not in server.log.text, "a secret is shown")
            for file in pathlib.Path(server.data).glob("parley.db*"):
                expect(text.encode() not in file.read_bytes(), f"a secret is in {file}")


def fails(server, *arguments, status=1):
    done = subprocess.run(
        [str(server.binary), *arguments, "--config", server.configuration], env=server.environment(), capture_output=True,
        text=True, timeout=PATIENCE)
    expect(done.returncode == status, f"status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stderr


def reload(checks, server):
    file = pathlib.Path(server.configuration)
    with checks.check("log level: shown, changed, and that of the configuration again after a reload"):
        expect(server.command("log", "level") == "info\n", "another level")
        expect(server.command("log", "level", "debug") == "debug (log.level: info)\n", "not changed")
        expect("There is no level loud" in fails(server, "log", "level", "loud"), "loud is a level")
        expect("Nothing has changed." in server.command("reload"), "something has changed")
        expect(server.command("log", "level") == "info\n", "the level is not the configured one")
    with checks.check("reload: what takes effect, and what needs a restart; secrets are noticed and not shown"):
        file.write_text("federation:\n  deny: [bad.example]\nturn:\n  servers: [turn:turn.example]\n  secret: one\n")
        told = {row["key"]: row["effect"] for row in json.loads(server.command("reload", "--json"))["changes"]}
        expect(told == {"federation.deny": "now", "turn.servers": "restart", "turn.secret": "restart"}, f"{told}")
        file.write_text("federation:\n  deny: [bad.example]\nturn:\n  servers: [turn:turn.example]\n  secret: two-secrets\n")
        told = server.command("reload")
        expect("turn.secret has changed: restart the server to apply it." in told and "deny" not in told and "two" not in told, told)
    with checks.check("reload: a bad file changes nothing, and the command says file, line and key"):
        file.write_text("registration: true\nresume:\n  seconds: long\n")
        # The command reads the file, too, and says it before it asks the server; a certificate is the server's.
        text = fails(server, "reload", status=2)
        expect("parley.yaml:3" in text and "resume.seconds" in text and "long" in text, text)
        file.write_text("tls:\n  certificate: /no/such.pem\n  key: /no/such.key\nfederation:\n  deny: []\n")
        expect("/no/such.pem" in fails(server, "reload"), "a certificate that is missing is no error")
        expect(server.command("log", "level") == "info\n", "the level has changed")
        newest = listed(server, "--limit", "1")
        expect((newest[0]["operation"], newest[0]["code"]) == ("server.reload", "configuration-refused"), f"{newest}")
    with checks.check("reload: over HTTP a bad file is refused without its name, and the log has it"):
        key = json.loads(server.command("key", "add", "reloads", "--json", "--scope", "server"))["secret"]
        status, _, problem = exchange_json("POST", server.base + "/v1/admin/reloads", {}, token=key)
        expect((status, problem["code"]) == (409, "configuration-refused"), f"{status} {problem}")
        expect("not reloaded" in problem["detail"] and "/no/such" not in json.dumps(problem), f"{problem}")
        server.log.until("the reason", lambda text: "not reloaded: " in text and "/no/such.pem" in text)
    with checks.check("audit: a reload by SIGHUP is the system's act, also one that is refused"):
        for text, code in [(file.read_text(), "configuration-refused"), ("federation:\n  deny: []\n", None)]:
            file.write_text(text)
            [before] = listed(server, "--limit", "1")
            server.process.send_signal(signal.SIGHUP)
            [act] = until("an act", lambda: [row for row in listed(server, "--limit", "1") if row["id"] > before["id"]])
            found = act["surface"], act["actor"], act["origin"], act["operation"], act.get("code")
            expect(found == ("signal", "system", "SIGHUP", "server.reload", code), f"{act}")
    with checks.check("log level and reload: without a server there is nothing to change"):
        server.stop()
        file.write_text("# Nothing.\n")
        expect("no server is running" in fails(server, "reload"), "something was reloaded")


# Lines of one code at level info in a minute (Limits.refusalLinesOfCodeMax).
LINES_OF_CODE = 20


def lines(checks, server):
    """Every line of the log is an object; what is refused here is found by its id."""
    secret = "s3cret-" + uuid.uuid4().hex
    romeo, juliet = App(server, "romeo").connect(), XMPP("romeo", server.tls, trust=server.certificate)
    juliet.connect()

    def parsed():
        return [json.loads(line) for line in server.log.text.splitlines()]

    def logged(**metadata):
        """The one line with these metadata."""
        def found():
            return [line for line in parsed() if metadata.items() <= line["metadata"].items()]
        server.log.until(f"a line with {metadata}", lambda _: found())
        [line] = found()
        expect(set(line) == {"time", "level", "logger", "message", "metadata"} and line["logger"] == "parley", f"{line}")
        return line

    with checks.check("log: the id in an app's error leads to its line, with code and route"):
        content = {"clientId": "c", "content": {"type": "text", "text": secret}}
        for method, path, body, status, code, route in [
                ("POST", f"/v1/dialogs/{secret}/messages", content, 404, "dialog-unknown", "POST /v1/dialogs/{dialogId}/messages"),
                ("GET", f"/v1/{secret}?token={secret}", None, 404, "path-unknown", "GET NotFound")]:
            answer, problem = romeo.call(method, path, body)
            expect((answer, problem["code"]) == (status, code), f"{answer} {problem}")
            line = logged(request=problem["requestId"])
            expect((line["level"], line["message"]) == ("info", "a request was refused"), f"{line}")
            told = {"request": problem["requestId"], "code": code, "route": route, "status": str(status), "peer": "127.0.0.1"}
            expect(line["metadata"] == told, f"{line}")
    with checks.check("log: the peer of a request is the client's address, behind proxies that are trusted"):
        for fields, peer in [
                ({"X-Forwarded-For": "6.6.6.6, 203.0.113.20:4711, 10.0.0.2"}, "203.0.113.20"),
                ({"Forwarded": 'for="203.0.113.21:2";proto=https, for=10.0.0.2'}, "203.0.113.21"),
                ({"X-Forwarded-For": "6.6.6.6, unknown"}, "unknown")]:
            _, _, problem = exchange_json("GET", server.base + "/v1/dialogs/none", token=romeo.token, **fields)
            expect(logged(request=problem["requestId"])["metadata"]["peer"] == peer, f"{fields}: {problem}")
    with checks.check("log: a command on a WebSocket is found by its id and its user"):
        answer = romeo.command("message.send", {"dialogId": secret, **content})
        line = logged(command=answer["re"], user="romeo@localhost")
        expect(line["level"] == "info" and line["metadata"]["code"] == answer["error"]["code"], f"{line} {answer}")
    with checks.check("log: a stanza's id leads to its line, in rooms too; what a client only asks for is at level debug"):
        place = "verona@conference.localhost"
        for name, stanza in [("to-nobody", "<message to='nobody@localhost' type='chat' id='to-nobody'><body>%s</body></message>"),
                             ("not-in", f"<message to='{place}' type='groupchat' id='not-in'><body>%s</body></message>"),
                             ("set", "<iq type='set' id='set' to='localhost'><query xmlns='urn:example:%s'/></iq>")]:
            juliet.send(stanza % secret)
            error = juliet.stanza(lambda s: s.get("id") == name and s.get("type") == "error", f"the error of {name}")
            line = logged(stanza=name)
            expect((line["level"], line["message"]) == ("info", "a stanza was refused"), f"{line}")
            expect(line["metadata"]["session"] == "romeo@localhost/wire" and error.find("{jabber:client}error") is not None, f"{line}")
        long = "long-" + "x" * 10_000
        juliet.send(f"<message to='nobody@localhost' type='chat' id='{long}'><body>x</body></message>")
        juliet.stanza(lambda s: s.get("id") == long, "the error of a long id")
        logged(stanza=long[:128])
        juliet.send("<iq type='get' id='asked' to='localhost'><query xmlns='urn:example:unknown'/></iq>")
        juliet.stanza(lambda s: s.get("id") == "asked", "an error")
    with checks.check("log: so many lines of one code at level info, and all of them at level debug"):
        def refused():
            return romeo.call("GET", f"/v1/users/{secret}")[1]["requestId"]
        ids = [refused() for _ in range(3 * LINES_OF_CODE)]
        server.command("log", "level", "debug")
        logged(level="debug")
        expect(not any(line["metadata"].get("stanza") == "asked" for line in parsed()), "what was asked for is logged")
        told = {line["metadata"].get("request") for line in parsed()} & set(ids)
        # A minute may have ended amid them.
        expect(LINES_OF_CODE <= len(told) <= 2 * LINES_OF_CODE, f"{len(told)} lines of {len(ids)}")
        for _ in range(2 * LINES_OF_CODE):
            logged(request=refused())
        juliet.send("<iq type='get' id='asked-again' to='localhost'><query xmlns='urn:example:unknown'/></iq>")
        expect(logged(stanza="asked-again")["level"] == "debug", "another level")
    with checks.check("log: no line has what was said, a path, a token or a password"):
        for word in (secret, romeo.token, PASSWORD):
            expect(word not in server.log.text, f"{word} is in the log")
    romeo.close()
    juliet.close()
