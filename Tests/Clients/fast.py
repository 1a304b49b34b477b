"""Tokens (XEP-0484 0.2.0) over TLS, by a client written here from the specifications alone (sasl2.py says why): round trips are
counted, both sides prove the token, one token is used many times at the same moment, and a token is good after kill -9 and a
restart as soon as it has been told.
"""
import threading

from lib.apps import App
from lib.harness import Failure, Server, expect
from lib.sasl2 import AGENT, CARBONS, SASL2, OneStep, Tokens, whole, wishes
from lib.wire import SM, Gone

FAST = "urn:xmpp:fast:0"
# Uses of one token with one count at the same moment.
AT_ONCE = 16


def one_round_trip(server):
    """From a token to the former session, with what was said meanwhile."""
    client = Tokens("romeo", server).connect()
    expect("HT-SHA-256-NONE" in client.offered(), f"offered: {client.offered()}")
    name = whole(client, client.first())
    client.send("<presence/>")
    client.stanza(lambda s: s.tag.endswith("}presence") and s.get("from") == client.jid, "its presence")
    client.close()
    app = App(server, "juliet")
    app.say(app.dialog("romeo"), "Wherefore?")
    again = Tokens("romeo", server).connect()
    resume = f"<resume xmlns='{SM}' previd='{name}' h='1'/>"
    success = again.again(client.token, wishes(agent=AGENT, resume=resume), " count='1'")
    expect(success.find(f"{{{SM}}}resumed") is not None and again.jid == client.jid, "the session was not resumed")
    again.stanza(lambda s: s.findtext("{jabber:client}body") == "Wherefore?", "what was said meanwhile")
    other = OneStep("romeo", server).connect()
    other.plain(wishes(tag="Other"))
    other.success()
    other.send("<message to='juliet@localhost' type='chat' id='c1'><body>Here</body></message>")
    again.stanza(lambda s: s.find(f"{{{CARBONS}}}sent") is not None, "a carbon")
    expect(again.flights == 1, f"{again.flights} round trips")
    for one in (again, other):
        one.close()


def bound(server):
    """Where there is nothing to resume: a resource, carbons and stream management, in one round trip too."""
    client = Tokens("romeo", server).connect()
    client.first()
    client.close()
    again = Tokens("romeo", server).connect()
    whole(again, again.again(client.token))
    expect(again.flights == 1, f"{again.flights} round trips")
    again.ping()
    again.close()


def by_certificate(server):
    """HT-SHA-256-ENDP: the certificate's hash is in what both sides say; and the token is good for nothing else."""
    client = Tokens("romeo", server).connect()
    expect(client.offered() == ["HT-SHA-256-EXPR", "HT-SHA-256-ENDP", "HT-SHA-256-NONE"], f"offered: {client.offered()}")
    client.mechanism = "HT-SHA-256-ENDP"
    client.first()
    client.close()
    again = Tokens("romeo", server).connect()
    again.refused(client.token, "not-authorized")
    again.mechanism = "HT-SHA-256-ENDP"
    again.again(client.token)
    again.close()


def rotated(server):
    """Two tokens are good until the new one is used."""
    client = Tokens("romeo", server).connect()
    client.first()
    old = client.token
    client.close()
    second = Tokens("romeo", server).connect()
    second.again(old, wishes(agent=AGENT) + f"<request-token xmlns='{FAST}' mechanism='HT-SHA-256-NONE'/>")
    new = second.token
    expect(new != old, "the same token again")
    second.close()
    for token in (old, new):
        third = Tokens("romeo", server).connect()
        third.again(token)
        third.close()
    last = Tokens("romeo", server).connect()
    last.refused(old, "not-authorized")
    last.again(new, attributes=" invalidate='true'")
    expect(last.token == new, "a token was given to who logs out")
    last.close()
    gone = Tokens("romeo", server).connect()
    gone.refused(new, "not-authorized")
    gone.close()


def replayed(server):
    """One count is good once, also at the same moment."""
    client = Tokens("romeo", server).connect()
    client.first()
    client.close()
    clients = [Tokens("romeo", server).connect() for _ in range(AT_ONCE)]
    gate = threading.Barrier(AT_ONCE)
    won, wrong = [], []

    def use(one):
        try:
            gate.wait()
            one.ask(client.token, f"<user-agent id='{AGENT}'/>", " count='5'")
            answer = one.stanza(lambda s: s.tag in (f"{{{SASL2}}}success", f"{{{SASL2}}}failure"), "an answer")
            if answer.tag.endswith("}success"):
                won.append(one)
        except (Failure, Gone) as error:
            wrong.append(error)

    threads = [threading.Thread(target=use, args=(one,)) for one in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in clients:
        one.close()
    expect(not wrong and len(won) == 1, f"{len(won)} came in by one count; {wrong}")


def durable(server):
    """Told is stored: kill -9 right behind the answer, and the token is good."""
    for turn in range(5):
        client = Tokens("romeo", server).connect()
        client.first()
        server.kill()
        client.close()
        server.start()
        again = Tokens("romeo", server).connect()
        again.again(client.token)
        again.close()
        expect(again.jid, f"round {turn}: not let in")


def app_password(server):
    """By SCRAM, under the user's own name; taking it away ends the session, and the password."""
    app = App(server, "juliet")
    status, made = app.call("POST", "/v1/app-passwords", {"name": "by SCRAM"})
    expect(status == 201, f"{status} {made}")
    client = OneStep("juliet", server).connect()
    client.scram(wishes(), made["password"])
    client.ping()
    status, _ = app.call("DELETE", f"/v1/app-passwords/{made['id']}")
    expect(status == 204, f"{status}")
    client.stanza(lambda s: s.tag.endswith("}error") and s[0].tag.endswith("}not-authorized"), "the end of its session")
    again = OneStep("juliet", server).connect()
    try:
        again.scram(wishes(), made["password"])
    except Failure as error:
        expect("not-authorized" in str(error), f"{error}")
    else:
        raise Failure("an app password that was taken away lets in")
    own = OneStep("juliet", server).connect()
    own.scram(wishes())
    for one in (client, again, own):
        one.close()


def password_changed(server):
    client = Tokens("romeo", server).connect()
    client.first()
    client.close()
    server.command("user", "password", "romeo@localhost", "--password-stdin", stdin="wherefore-art-thou")
    again = Tokens("romeo", server).connect()
    again.refused(client.token, "not-authorized")
    again.close()


def run(checks):
    with Server() as server:
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        server.start()
        with checks.check("fast: from a token to the former session in one round trip, over TLS"):
            one_round_trip(server)
        with checks.check("fast: from a token to a new session in one round trip"):
            bound(server)
        with checks.check("fast: the old token is good until the new one is used; a log out ends it"):
            rotated(server)
        with checks.check("fast: a token bound to the server's certificate"):
            by_certificate(server)
        with checks.check(f"fast: one count at the same moment, {AT_ONCE} times: one comes in"):
            replayed(server)
        with checks.check("fast: a token that was told is good after kill -9"):
            durable(server)
        with checks.check("fast: an app password by SCRAM, until it is taken away"):
            app_password(server)
        with checks.check("fast: another password ends all tokens"):
            password_changed(server)
