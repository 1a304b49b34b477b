"""Login in one step over TLS (XEP-0388 1.0.4, XEP-0386 1.1.0), by a client written here from the specifications alone: slixmpp
and profanity speak neither. What it proves is what goes over the wire and when, not that somebody else read them alike.
"""
import base64
import json
import threading

from lib.apps import App
from lib.harness import Failure, Server, expect
from lib.sasl2 import BIND2, CARBONS, SASL2, OneStep, behind, coded, whole, wishes
from lib.wire import SM, Gone

CSI = "urn:xmpp:csi:0"
LIMITS = "urn:xmpp:stream-limits:0"
# Logins of one installation at the same moment.
ROUNDS = 25


def plain(server):
    client = OneStep("romeo", server).connect()
    offer = client.features.find(f"{{{SASL2}}}authentication/{{{SASL2}}}inline")
    expect(offer is not None, "there is no offer of SASL2")
    inline = {f.get("var") for f in offer.findall(f"{{{BIND2}}}bind/{{{BIND2}}}inline/{{{BIND2}}}feature")}
    expect(inline == {CARBONS, CSI, SM} and offer.find(f"{{{SM}}}sm") is not None, f"offered inline: {inline}")
    client.plain(wishes())
    whole(client, client.success())
    expect(client.flights == 1, f"{client.flights} round trips")
    client.ping()
    client.close()


def scram(server):
    client = OneStep("romeo", server).connect(starttls=True)
    whole(client, client.scram(wishes()))
    # The mechanism has two messages of the client's.
    expect(client.flights == 2, f"{client.flights} round trips")
    client.ping()
    client.close()


def resumed(server, app):
    client = OneStep("romeo", server).connect()
    client.plain(wishes(), "<presence/>")
    name = whole(client, client.success())
    jid = client.jid
    client.stanza(lambda s: s.tag.endswith("}presence") and s.get("from") == jid, "its presence")
    client.close()
    dialog = app.dialog("romeo")
    app.say(dialog, "Wherefore?")
    again = OneStep("romeo", server).connect()
    again.plain(wishes(resume=f"<resume xmlns='{SM}' previd='{name}' h='1'/>"))
    success = again.success()
    expect(success.find(f"{{{SM}}}resumed").get("h") == "1", "the presence is not counted")
    expect(success.find(f"{{{BIND2}}}bound") is None and again.jid == jid, "a resource was bound beside the old one")
    again.stanza(lambda s: s.findtext("{jabber:client}body") == "Wherefore?", "what was said meanwhile")
    expect(again.flights == 1, f"{again.flights} round trips")
    again.close()


def not_resumed(server):
    client = OneStep("romeo", server).connect()
    client.plain(wishes(resume=f"<resume xmlns='{SM}' previd='{'0' * 32}' h='0'/>"))
    success = client.success()
    failed = success.find(f"{{{SM}}}failed")
    expect(failed is not None and failed[0].tag.endswith("}item-not-found"), "why it is not resumed is not said")
    whole(client, success)
    client.ping()
    client.close()


def malformed(server):
    """XEP-0386 3.2: <bound/> says what became of stream management, also where nothing did."""
    client = OneStep("romeo", server).connect()
    client.plain(wishes(management="<enable xmlns='urn:xmpp:sm:3' resume='perhaps'/>"))
    failed = client.success().find(f"{{{BIND2}}}bound/{{{SM}}}failed")
    expect(failed is not None, "a request that is none has no answer")
    client.ping()
    client.close()


def at_once(server):
    """One installation, twice at the same moment: one session is left, and whose it is not knows that."""
    for turn in range(ROUNDS):
        clients = [OneStep("romeo", server).connect() for _ in range(2)]
        alive, wrong = [], []
        gate, middle = threading.Barrier(2), threading.Barrier(2)

        def log_in(client):
            try:
                gate.wait()
                client.plain(wishes(agent="d4565fa7-4d72-4749-b3d3-740edbf87770"))
                try:
                    client.success(5)
                finally:
                    middle.wait()
                # Who is replaced is told on a way of its own, which a request may overtake.
                for _ in range(20):
                    client.ping(patience=5)
                alive.append(client)
            except Gone:
                pass
            except Failure as error:
                # Refused before its success is as good.
                if "error" not in str(error):
                    wrong.append(error)

        threads = [threading.Thread(target=log_in, args=(client,)) for client in clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for client in clients:
            client.close()
        expect(not wrong, f"round {turn}: a session that is none: {wrong}")
        expect(len(alive) == 1, f"round {turn}: {len(alive)} sessions live")


def bearer(server):
    """RFC 7628: an access token of the app protocol, as long as its login lasts."""
    app = App(server, "romeo")
    message = f"n,a=romeo@localhost,\x01host=localhost\x01port={server.tls}\x01auth=Bearer {app.token}\x01\x01"

    def ask():
        client = OneStep("romeo", server).connect()
        offered = {m.text for m in client.features.findall(f"{{{SASL2}}}authentication/{{{SASL2}}}mechanism")}
        expect("OAUTHBEARER" in offered, f"offered are {offered}")
        client.send(f"<authenticate xmlns='{SASL2}' mechanism='OAUTHBEARER'>"
                    f"<initial-response>{coded(message.encode())}</initial-response>{wishes()}</authenticate>")
        return client

    client = ask()
    whole(client, client.success())
    expect(client.flights == 1, f"{client.flights} round trips")
    status, _ = app.call("DELETE", "/v1/sessions/current")
    expect(status == 204, f"logging out is answered {status}")
    client.stanza(lambda s: s.tag.endswith("}error"), "the end of a stream whose login has ended")
    client.close()
    late = ask()
    # Why is a challenge; the failure is behind its answer (3.2.2, 3.2.3).
    why = json.loads(base64.b64decode(late.stanza(lambda s: s.tag == f"{{{SASL2}}}challenge", "why it is refused").text))
    expect(why["status"] == "invalid_token", f"{why}")
    late.send(f"<response xmlns='{SASL2}'>{coded(bytes([1]))}</response>")
    late.stanza(lambda s: s.tag == f"{{{SASL2}}}failure", "a failure")
    late.close()


def limits(server):
    """XEP-0478: what is announced is taken to the byte, and one byte more is not."""
    def announced(client):
        return int(client.features.findtext(f"{{{LIMITS}}}limits/{{{LIMITS}}}max-bytes"))

    client = OneStep("romeo", server).connect()
    before = announced(client)
    client.plain(wishes())
    whole(client, client.success())
    most = announced(client)
    expect(before < most, f"{before} before the login, {most} behind it")
    shell = "<message to='romeo@localhost' type='headline' id='big'><body></body></message>"
    stanza = shell.replace("<body>", "<body>" + "x" * (most - len(shell)))
    client.send(stanza)
    client.ping()
    client.send(stanza.replace("<body>", "<body>x"))
    error = client.stanza(lambda s: s.tag.endswith("}error"), "the end of a stream with a stanza too large")
    expect(error[0].tag.endswith("}policy-violation"), f"{[c.tag for c in error]}")
    client.close()


def run(checks):
    with Server() as server:
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        server.start()
        with checks.check("sasl2: all in one round trip behind the features, over TLS"):
            plain(server)
        with checks.check("sasl2: SCRAM proves both sides and binds in the same dialogue, over STARTTLS"):
            scram(server)
        with checks.check("sasl2: what is written behind the request counts in order"):
            behind(server)
        with checks.check("sasl2: a session is resumed in one round trip"):
            resumed(server, App(server, "juliet"))
        with checks.check("sasl2: where it is not resumed a resource is bound"):
            not_resumed(server)
        with checks.check("sasl2: stream management that is asked for in vain"):
            malformed(server)
        with checks.check("sasl2: OAUTHBEARER with an app's access token, until its login ends"):
            bearer(server)
        with checks.check("stream limits: the largest stanza is taken, one byte more is not"):
            limits(server)
        with checks.check(f"sasl2: one installation logs in twice at the same moment, {ROUNDS} times"):
            at_once(server)
