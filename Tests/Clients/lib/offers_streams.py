"""How each stream feature is used (RFC 6120 4.3.2), in each phase of a stream: `STREAMS`."""
import socket
import xml.etree.ElementTree as ElementTree

import websockets.sync.client

from lib.component import condition
from lib.harness import PASSWORD, PATIENCE, expect
from lib.offers import CAPS, By, all_offered, find, play, script, used
from lib.offers_features import capabilities
from lib.sasl2 import BIND2, FAST, SASL2, OneStep
from lib.wire import SM, XMPP, Client

SASL = "urn:ietf:params:xml:ns:xmpp-sasl"


class Guest(Client):
    """A user without an account (XEP-0175)."""

    def __init__(self, fixture):
        XMPP.__init__(self, "guest", fixture.server.tls, "guest", fixture.server.certificate)
        self.dial()
        self.send(f"<auth xmlns='{SASL}' mechanism='ANONYMOUS'/>")
        self.stanza(lambda s: s.tag == f"{{{SASL}}}success", "success")
        self.open()
        self.bind()


def leaves(features):
    """What stream features offer, each by its own name; what only holds others is left out."""
    for feature in features:
        space, _, local = feature.tag[1:].partition("}")
        if (space, local) == (SASL, "mechanisms"):
            yield from (f"SASL {mechanism.text}" for mechanism in feature)
        elif (space, local) == (SASL2, "authentication"):
            yield from (f"SASL2 {child.text}" for child in feature if child.tag.endswith("}mechanism"))
            yield from (f"upgrade {child.text}" for child in feature if child.tag.endswith("}upgrade"))
            for child in find(feature, f"{{{SASL2}}}inline"):
                if child.tag == f"{{{FAST}}}fast":
                    yield from (f"FAST {mechanism.text}" for mechanism in child)
                elif child.tag == f"{{{BIND2}}}bind":
                    yield from (f"bind {inline.get('var')}" for inline in child.iter(f"{{{BIND2}}}feature"))
                else:
                    yield f"inline {child.tag}"
            expect({child.tag for child in feature} <= {f"{{{SASL2}}}mechanism", f"{{{SASL2}}}inline", "{urn:xmpp:sasl:upgrade:0}upgrade"}, f"{feature[:]}")
        elif space == "urn:xmpp:sasl-cb:0":
            yield from (f"binding {child.get('type')}" for child in feature)
        else:
            yield feature.tag


def offered_by(client):
    """The features of a stream, which this client reads and does not use."""
    kept = []
    read = client.stanza
    client.stanza = lambda *asked: kept.append(read(*asked)) or kept[-1]
    client.open()
    client.stanza = read
    return next(stanza for stanza in kept if stanza.tag.endswith("}features"))


def secured(server, name="juliet"):
    client = OneStep(name, server)
    return client.connect()


def register(fixture, name):
    client, guest = secured(fixture.server), fixture.new("guest")
    for number, (kind, payload) in enumerate([("get", ""), ("set", f"<username>{guest}</username><password>{PASSWORD}</password>")]):
        client.send(f"<iq type='{kind}' id='r{number}'><query xmlns='jabber:iq:register'>{payload}</query></iq>")
        answer = client.stanza(lambda s: s.get("id") == f"r{number}", "an answer")
        expect(answer.get("type") == "result", f"{condition(answer)}")
        fields = {child.tag.partition("}")[2] for child in answer.iter()} - {"iq", "query", "instructions"}
        expect(kind == "set" or fields == {"username", "password"}, f"{fields}")
    client.close()
    XMPP(guest, fixture.server.tls, trust=fixture.server.certificate).connect()


def one_step(fixture, name):
    client = secured(fixture.server)
    client.plain("")
    client.success()
    client.close()


def bound(fixture, name):
    client = secured(fixture.server)
    client.plain(f"<bind xmlns='{BIND2}'><enable xmlns='urn:xmpp:carbons:2'/><inactive xmlns='urn:xmpp:csi:0'/><enable xmlns='{SM}' resume='true'/></bind>")
    inside = find(client.success(), f"{{{BIND2}}}bound")
    find(inside, f"{{{SM}}}enabled")
    client.close()


def management(fixture, name):
    client = Client(fixture.server, "juliet", fixture.new("managed"))
    client.send(f"<enable xmlns='{SM}' resume='true'/><r xmlns='{SM}'/>")
    client.stanza(lambda s: s.tag == f"{{{SM}}}enabled" and s.get("resume") == "true", "stream management")
    client.stanza(lambda s: s.tag == f"{{{SM}}}a", "an acknowledgement")
    client.close()


def versions(fixture, name):
    roster = find(fixture.ask("<query xmlns='jabber:iq:roster' ver=''/>"), "{jabber:iq:roster}query")
    again = fixture.ask(f"<query xmlns='jabber:iq:roster' ver='{roster.get('ver')}'/>")
    expect(roster.get("ver") and again.find("{jabber:iq:roster}query") is None, "it is sent again")


def pre_approval(fixture, name):
    fixture.juliet.send("<presence type='subscribed' to='tybalt@localhost'/>")
    fixture.juliet.stanza(lambda s: any(item.get("approved") == "true" for item in s.iter("{jabber:iq:roster}item")), "a push")


def client_state(fixture, name):
    fixture.juliet.send("<inactive xmlns='urn:xmpp:csi:0'/><active xmlns='urn:xmpp:csi:0'/>")
    fixture.ask("<ping xmlns='urn:xmpp:ping'/>")


def starttls(fixture, name):
    secured_later = OneStep("juliet", fixture.server)
    secured_later.connect(starttls=True)
    secured_later.plain("")
    secured_later.success()
    secured_later.close()


HASHES = ("SCRAM-SHA-1", "SCRAM-SHA-256", "SCRAM-SHA-512")
EVERY_BINDING = script("scram", "scram: bound to TLS 1.3 by what OpenSSL exports or to the certificate, direct and by STARTTLS, with every hash")
UNBOUND = script("scram", "scram: as ever without channel binding; the offer's hash is of what was offered")
LIMITS = script("sasl2", "stream limits: the largest stanza is taken, one byte more is not")
STREAMS = {
    "before TLS": {"{urn:ietf:params:xml:ns:xmpp-tls}starttls": starttls, "{urn:xmpp:stream-limits:0}limits": LIMITS},
    "before login": {
        "SASL PLAIN": lambda fixture, name: Client(fixture.server, "juliet", "plain").close(), "SASL ANONYMOUS": lambda fixture, name: Guest(fixture).close(),
        **{f"{profile} {name}": UNBOUND for profile in ("SASL", "SASL2") for name in HASHES},
        "SASL2 PLAIN": one_step,
        **{f"SASL2 {name}-PLUS": EVERY_BINDING for name in HASHES},
        "SASL2 OAUTHBEARER": script("sasl2", "sasl2: OAUTHBEARER with an app's access token, until its login ends"),
        "SASL2 ANONYMOUS": play("login-anonymous", "<authenticate xmlns='urn:xmpp:sasl:2' mechanism='ANONYMOUS'>"),
        **{f"upgrade UPGR-{name}": script("scram", "scram: an account with keys of SHA-1 gets those of SHA-512 and SHA-256, durably") for name in HASHES[1:]},
        "FAST HT-SHA-256-NONE": script("fast", "fast: from a token to a new session in one round trip"),
        "FAST HT-SHA-256-ENDP": script("fast", "fast: a token bound to the server's certificate"),
        "FAST HT-SHA-256-EXPR": By("XMPPTests/TokenTests.swift", "HT-SHA-256-EXPR"),
        "bind urn:xmpp:carbons:2": bound, "bind urn:xmpp:csi:0": bound, f"bind {SM}": bound,
        f"inline {{{SM}}}sm": script("sasl2", "sasl2: a session is resumed in one round trip"),
        "{http://jabber.org/features/iq-register}register": register,
        "{urn:xmpp:ibr-token:0}register": script("accounts", "accounts: XEP-0445 by a client of its own; the token opens once"),
        "{urn:xmpp:stream-limits:0}limits": LIMITS, "binding tls-exporter": EVERY_BINDING, "binding tls-server-end-point": EVERY_BINDING,
    },
    "behind login": {
        "{urn:ietf:params:xml:ns:xmpp-bind}bind": lambda fixture, name: Client(fixture.server, "juliet", "bound").close(),
        "{urn:ietf:params:xml:ns:xmpp-session}session": lambda fixture, name: fixture.set("<session xmlns='urn:ietf:params:xml:ns:xmpp-session'/>"),
        f"{{{SM}}}sm": management, "{urn:xmpp:features:rosterver}ver": versions, "{urn:xmpp:features:pre-approval}sub": pre_approval,
        "{urn:xmpp:csi:0}csi": client_state, "{urn:xmpp:stream-limits:0}limits": LIMITS,
        f"{{{CAPS}}}c": lambda fixture, name: capabilities(fixture, "localhost"),
    },
}


def streams(checks, fixture):
    plain = XMPP("juliet", fixture.server.xmpp)
    plain.socket = socket.create_connection(("127.0.0.1", fixture.server.xmpp), PATIENCE)
    client = secured(fixture.server)
    offers = {"before TLS": offered_by(plain), "before login": client.features}
    client.plain("")
    client.success()
    offers["behind login"] = client.stanza(lambda s: s.tag.endswith("}features"), "features behind the login")
    fixture.stream = offers["behind login"]
    for phase, table in STREAMS.items():
        with checks.check(f"offered: each stream feature {phase} is used"):
            found = set(leaves(offers[phase]))
            used(phase, found, table, lambda name, use: use(fixture, name))
            all_offered(phase, found, table)
    plain.close()
    client.close()
    with checks.check("offered: a stream over WebSocket offers nothing else"):
        with websockets.sync.client.connect(fixture.server.base.replace("http", "ws", 1) + "/xmpp-websocket", subprotocols=["xmpp"]) as link:
            link.send("<open xmlns='urn:ietf:params:xml:ns:xmpp-framing' to='localhost' version='1.0'/>")
            link.recv(timeout=PATIENCE)
            found = set(leaves(ElementTree.fromstring(link.recv(timeout=PATIENCE))))
        expect("SASL2 PLAIN" in found and found <= set(STREAMS["before login"]), f"{found - set(STREAMS['before login'])}")
