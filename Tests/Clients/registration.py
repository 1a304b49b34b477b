"""Registration that is open to everybody, at both doors and in the web client: what one network may create, at 127.0.0.2, while 127.0.0.3
goes on; and the proof of work, which this script, the web client and the code of docs/app-protocol.md compute.
"""
import asyncio
import hashlib
import http.client
import json
import re
import socket

from lib.apps import App, exchange_json, prove
from lib.browser import browsing
from lib.component import condition
from lib.forms import Form, filled
from lib.harness import DOCS, PASSWORD, PATIENCE, Server, expect
from lib.scrape import Growth
from lib.wire import XMPP

HOME, NEIGHBOUR = "127.0.0.2", "127.0.0.3"
REGISTER, DATA, STANZAS = "jabber:iq:register", "jabber:x:data", "urn:ietf:params:xml:ns:xmpp-stanzas"
REQUIRED = "registration-proof-required"
# Keeps what the form of the page says while it is sent.
WATCHING = """() => {
    const state = document.querySelector("form [role=status]");
    window.shown = [];
    new MutationObserver(() => state.hidden || shown.push(state.textContent)).observe(state, {attributes: true});
}"""


def post(server, network, body):
    """A registration from a network: the status, the answer, and the seconds to wait."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http, timeout=PATIENCE, source_address=(network, 0))
    try:
        connection.request("POST", "/v1/users", json.dumps({"password": PASSWORD, **body}), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read()), answer.getheader("Retry-After")
    finally:
        connection.close()


def challenge(server, network, name):
    status, problem, _ = post(server, network, {"username": name})
    expect((status, problem["code"], problem["field"]) == (403, REQUIRED, "proof"), f"{status} {problem}")
    expect(problem["challenge"].startswith("localhost") and 1 << 17 <= int(problem["target"], 16) < 1 << 18, f"{problem}")
    return problem["challenge"], problem["target"]


def created(server, network, name):
    proof = prove(*challenge(server, network, name))
    status, user, _ = post(server, network, {"username": name, "proof": proof})
    expect(status == 201 and user["id"] == name, f"{status} {user}")
    return proof


class Stranger(XMPP):
    """A client without an account, from a network."""

    def __init__(self, server, network):
        super().__init__("stranger", server.xmpp)
        self.count = 0
        self.socket = socket.create_connection(("127.0.0.1", server.xmpp), PATIENCE, (network, 0))
        self.open()

    def ask(self, kind, payload):
        self.count += 1
        self.send(f"<iq type='{kind}' id='r{self.count}' to='localhost'><query xmlns='{REGISTER}'>{payload}</query></iq>")
        return self.stanza(lambda s: s.get("id") == f"r{self.count}", "an answer")

    def submit(self, **values):
        return self.ask("set", filled(REGISTER, {"password": PASSWORD, **values}))


def solved(stranger, name):
    """What a client that knows XEP-0158 makes of the form: the values of its hidden fields, and the proof."""
    answer = stranger.submit(username=name)
    expect(condition(answer) == "not-acceptable", f"without a proof: {condition(answer)}")
    form = Form(answer)
    label = answer.find(f".//{{{DATA}}}field[@var='SHA-256']").get("label")
    (identity,), (sid,) = form["challenge"], form["sid"]
    expect(sid == answer.get("id"), f"the form is for {sid}")
    return {"challenge": identity, "sid": sid, "SHA-256": prove("localhost" + identity, label)}


def app(checks, server):
    with checks.check("registration: an app proves work: once, for its own network, as the document says"):
        code = re.search(r"^```python\n(.*?)^```$", (DOCS / "app-protocol.md").read_text(), re.S | re.M)[1]
        scope = {"hashlib": hashlib}
        exec(code, scope)
        growth = Growth(server)
        proof = scope["prove"](*challenge(server, HOME, "romeo"))
        for network, wrong in (NEIGHBOUR, proof), (HOME, proof[:-1]), (HOME, "localhost"):
            status, problem, _ = post(server, network, {"username": "romeo", "proof": wrong})
            expect((status, problem["code"]) == (403, REQUIRED), f"{network} with {wrong}: {status} {problem}")
        status, user, _ = post(server, HOME, {"username": "romeo", "proof": proof})
        expect(status == 201, f"{status} {user}")
        status, problem, _ = post(server, HOME, {"username": "juliet", "proof": proof})
        expect((status, problem["code"]) == (403, REQUIRED), f"it is good twice: {status} {problem}")
        growth.until("parley_refusals_total", 4, rate="registration-proofs")
        App(server, "romeo")
    with checks.check("registration: nobody computes for a name that is taken, and it does not use a proof up"):
        status, problem, _ = post(server, HOME, {"username": "romeo"})
        expect((status, problem["code"]) == (409, "name-taken"), f"{status} {problem}")
        proof = prove(*challenge(server, HOME, "juliet"))
        status, problem, _ = post(server, HOME, {"username": "romeo", "proof": proof})
        expect((status, problem["code"]) == (409, "name-taken"), f"{status} {problem}")
        status, user, _ = post(server, HOME, {"username": "juliet", "proof": proof})
        expect(status == 201, f"{status} {user}")


def bounds(checks, server):
    with checks.check("registration: one network creates five accounts at once, and another goes on"):
        growth = Growth(server)
        for number in 3, 4, 5:
            created(server, HOME, f"home{number}")
        status, problem, wait = post(server, HOME, {"username": "home6"})
        expect((status, problem["code"]) == (429, "registrations-too-fast"), f"{status} {problem}")
        expect(wait and 0 < int(wait) <= 360, f"Retry-After is {wait}")
        created(server, NEIGHBOUR, "neighbour")
        growth.until("parley_refusals_total", 1, rate="new-accounts")
        server.log.until("the line", lambda text: any(
            "a request was refused" in line and "registrations-too-fast" in line for line in text.splitlines()))
    with checks.check("registration: thirty people of one network with invitations are created at once"):
        key = json.loads(server.command("key", "add", "school", "--json", "--scope", "users:write"))["secret"]
        for number in range(30):
            status, _, links = exchange_json("POST", server.base + "/v1/admin/operations/invites.create", {}, token=key)
            expect(status == 200, f"{status} {links}")
            token = re.search(r"preauth=(\w+)", json.dumps(links))[1]
            status, user, _ = post(server, HOME, {"username": f"pupil{number}", "invitation": token})
            expect(status == 201, f"{status} {user}")


def stream(checks, server):
    """Returns the address of the sign-up page."""
    with checks.check("registration: an XMPP client proves work by XEP-0158, and logs in"):
        stranger = Stranger(server, NEIGHBOUR)
        values = solved(stranger, "tybalt")
        wrong = stranger.submit(username="tybalt", **{**values, "SHA-256": values["SHA-256"][:-1]})
        expect(condition(wrong) == "not-acceptable", f"a wrong proof: {condition(wrong)}")
        expect(stranger.submit(username="tybalt", **values).get("type") == "result", "no account")
        again = Stranger(server, NEIGHBOUR)
        used = again.submit(username="paris", **values)
        expect(condition(used) == "not-acceptable", f"a used proof: {condition(used)}")
        again.close()
        stranger.close()
        tybalt = XMPP("tybalt", server.xmpp)
        tybalt.connect()
        tybalt.close()
    with checks.check("registration: an XMPP client that knows no proof is told the page, by URL and in words"):
        stranger = Stranger(server, NEIGHBOUR)
        answer = stranger.ask("get", "")
        (page,) = [element.text for element in answer.iter("{jabber:x:oob}url")]
        expect(page == f"http://localhost:{server.http}/#/register", page)
        (shown,) = [element.text for element in answer.iter(f"{{{REGISTER}}}instructions")]
        # Gajim and Conversations show the page only if there is neither a form nor a field.
        others = {element.tag for element in answer[0]} - {f"{{{REGISTER}}}instructions", "{jabber:x:oob}x"}
        expect(page in shown and not others, f"{shown} {others}")
        plain = stranger.ask("set", f"<username>paris</username><password>{PASSWORD}</password>")
        text = plain.find(f".//{{{STANZAS}}}text").text
        expect(condition(plain) == "not-acceptable" and page in text, f"{condition(plain)}: {text}")
        stranger.close()
    with checks.check("registration: a network has one number for both doors"):
        stranger = Stranger(server, HOME)
        answer = stranger.submit(username="paris")
        expect(condition(answer) == "policy-violation", f"{condition(answer)}")
        stranger.close()
    return page


async def browser(checks, server, page):
    async with browsing(server) as program:
        with checks.check("registration: the sign-up page of the web client computes the proof, while it goes on"):
            tab = await program.page()
            await tab.goto(page)
            await tab.fill("[name=username]", "rosaline")
            await tab.fill("[name=password]", PASSWORD)
            await tab.evaluate(WATCHING)
            await tab.click("form button[type=submit]")
            await tab.wait_for_selector(".side .dialogs")
            expect(await tab.evaluate("shown") == ["Creating the account. This can take some seconds…"], "the page does not say that it computes")
            expect("register" not in tab.url, f"it is at {tab.url}")
            App(server, "rosaline")
            # The browser reports the refusal that has the challenge.
            told = [error for error in program.errors if "403" not in error]
            expect(not told, f"{told}")


def restart(checks, server):
    with checks.check("registration: a proof for a challenge of the process before is refused, and the next is accepted"):
        proof = prove(*challenge(server, NEIGHBOUR, "mercutio"))
        server.stop()
        server.start()
        status, problem, _ = post(server, NEIGHBOUR, {"username": "mercutio", "proof": proof})
        expect((status, problem["code"]) == (403, REQUIRED), f"{status} {problem}")
        proof = prove(problem["challenge"], problem["target"])
        status, user, _ = post(server, NEIGHBOUR, {"username": "mercutio", "proof": proof})
        expect(status == 201, f"{status} {user}")


def run(checks):
    with Server(registration="true", xmpp__plaintext="true") as server:
        server.start()
        app(checks, server)
        bounds(checks, server)
        page = stream(checks, server)
        asyncio.run(browser(checks, server, page))
        restart(checks, server)
    with Server(registration="true", signup__proof="false", limits__by_network="false") as server:
        server.start()
        with checks.check("registration: without proof and bounds by network everybody registers, and the log warns"):
            for number in range(12):
                status, user, _ = post(server, HOME, {"username": f"a{number}"})
                expect(status == 201, f"{status} {user}")
            expect("signup.proof is false" in server.log.text and "nothing bounds the accounts" in server.log.text, server.tail())
