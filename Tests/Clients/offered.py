"""What is offered works: discovery is walked in both protocols, and everything that it offers is used once. Tables say how, in the modules
`offers_*` of lib. What is offered and stands in no table is a failure, so that each new offer is decided there; so is what stands in a table
and is not offered. Where another test has more to say of something, the table names it, and its words must be there.
"""
import hashlib
import json
import xml.etree.ElementTree as ElementTree

from lib.component import condition, write
from lib.forms import FORM, Form, filled
from lib.harness import Server, expect, free_port
from lib.offers import BOT, COMMANDS, INFO, ITEMS, MUC, MUSIC, PUBSUB, ROOMS, SERVICE, TUNE, UPLOADS, VERONA, Fixture, all_offered, find, used
from lib.offers_app import TERMS, app
from lib.offers_commands import commands
from lib.offers_features import TRAITS, USES, enter, pubsub_features
from lib.offers_streams import Guest, streams
from lib.peers import ROSE
from lib.services import new_secret
from lib.wire import Client

CONTACTS = {kind: f"mailto:{kind}@localhost" for kind in ("abuse", "admin", "feedback", "sales", "security", "status", "support")}
CODES = {"name": "codes", "client_id": "parley", "client_secret": "a secret", "authorize_url": "https://codes.example/authorize",
         "token_url": "https://codes.example/token", "user_url": "https://codes.example/me", "subject": "id", "redirects": ["https://localhost/"]}
OUTAGE = "https://status.example.org/status.json"


# MARK: Components

def grants(fixture):
    """Each privilege that the component got behind the handshake is used once; delegation is a feature of the server."""
    bot, told = fixture.bot, fixture.bot.perms()

    def request(namespace, kind, payload):
        answer = bot.behalf("romeo@localhost", f"<iq xmlns='jabber:client' type='{kind}' id='{fixture.new('in')}'>{payload}</iq>", kind)
        expect(answer.get("type") == "result", f"{kind} of {namespace}: {condition(answer)}")

    def roster():
        found = bot.ask("romeo@localhost", "<query xmlns='jabber:iq:roster'/>", "get")
        expect(any(item.get("jid") == "juliet@localhost" for item in found.iter("{jabber:iq:roster}item")), "no contacts")
        item = f"<query xmlns='jabber:iq:roster'><item jid='moth@{BOT}' subscription='both'/></query>"
        expect(condition(bot.ask("romeo@localhost", item)) is None, "nothing is changed")
        bot.stanza(lambda s: s.get("type") == "set" and s.get("from") == "romeo@localhost", "a push")

    def message():
        bot.forward("<message xmlns='jabber:client' from='romeo@localhost' to='juliet@localhost' id='p1' type='chat'><body>by the page</body></message>")
        expect(fixture.juliet.message("by the page").get("from") == "romeo@localhost", "another sender")

    def presence():
        other = Client(fixture.server, "romeo", "street").present()
        bot.stanza(lambda s: s.get("from") == "romeo@localhost/street" and s.tag.endswith("}presence"), "who comes")
        other.close()

    def queries():
        expect(told["iq"] == {PUBSUB: "both", "urn:xmpp:ping": "get"}, f"{told['iq']}")
        request(PUBSUB, "get", f"<pubsub xmlns='{PUBSUB}'><affiliations/></pubsub>")
        request(PUBSUB, "set", f"<pubsub xmlns='{PUBSUB}'><publish node='urn:example:tune'><item id='a'>{TUNE}</item></publish></pubsub>")
        request("urn:xmpp:ping", "get", "<ping xmlns='urn:xmpp:ping'/>")

    table = {"roster": roster, "message": message, "presence": presence, "iq": queries}
    used("the privileges of a component", told, table, lambda name, use: use())
    all_offered("the privileges of a component", told, table)


# MARK: Places

def configure(fixture, more=(), **values):
    values = {f"muc#roomconfig_{name}": value for name, value in values.items()} | dict(more)
    fixture.set(f"<query xmlns='{MUC}#owner'>{filled(MUC + '#roomconfig', values)}</query>", VERONA)


def walk(checks, fixture):
    fixture.stream = ElementTree.Element("features")  # a server that delegates names no capabilities
    fixture.shown = fixture.juliet.stanza(
        lambda s: s.tag.endswith("}presence") and s.get("type") is None and s.get("from", "").startswith("romeo@localhost/")
        and s.get("from") != "romeo@localhost/orchard", "the presence of the app")
    enter(fixture.juliet, VERONA, "Juliet")
    configure(fixture, roomname="Verona", publicroom="1", persistentroom="1")
    places = {"the account": None, "the server": "localhost", "rooms": ROOMS, "a room": VERONA, "uploads": UPLOADS, "the service of nodes": SERVICE,
              "a session of an app": fixture.shown.get("from")}
    common = USES | TRAITS
    seen = set()
    for what, to in places.items():
        with checks.check(f"offered: each feature of {what} is used"):
            offered = fixture.features(to)
            seen |= offered
            table = common | pubsub_features("Features of the service" if to == SERVICE else "Features of accounts")
            used(what, offered, table, lambda name, use: use(fixture, to))
    with checks.check("offered: no use is of a feature that nobody offers"):
        all_offered("all places", seen | fixture.traits, common | pubsub_features("Features of accounts") | pubsub_features("Features of the service"))
    with checks.check("offered: each identity has the feature that it stands for"):
        identities = {
            ("account", "registered"): INFO, ("pubsub", "pep"): PUBSUB, ("server", "im"): INFO, ("conference", "text"): MUC,
            ("store", "file"): "urn:xmpp:http:upload:0", ("pubsub", "service"): PUBSUB, ("client", "phone"): "urn:xmpp:receipts",
        }
        found = set()
        for what, to in places.items():
            for identity in fixture.info(to).iter(f"{{{INFO}}}identity"):
                found.add((identity.get("category"), identity.get("type")))
                feature = identities.get((identity.get("category"), identity.get("type")))
                expect(feature in fixture.features(to), f"{what} is {identity.attrib} and has no {feature}")
        all_offered("identities", found, identities)
    with checks.check("offered: a guest's account has what it says, and each command of a guest is executed"):
        guests(fixture)
    with checks.check("offered: each item that is listed can be asked"):
        expect({jid for jid, _ in fixture.items("localhost")} == {ROOMS, UPLOADS, SERVICE, BOT}, f"{fixture.items('localhost')}")
        expect((VERONA, None) in fixture.items(ROOMS), "the room is not listed")
        expect((f"{VERONA}/Juliet", None) in fixture.items(VERONA), "who is there is not listed")
        for to in (None, ROOMS, SERVICE):
            for jid, node in fixture.items(to):
                if "/" not in jid:  # a client answers for itself
                    fixture.info(jid, node)
                    fixture.items(jid, node)
    with checks.check("offered: the information of the server and of a room is what is configured"):
        forms = {}
        for form in fixture.info("localhost").iter(f"{{{FORM}}}x"):
            read = Form(form)
            forms[read.type] = {name: field.values for name, field in read.fields.items()}
        expect(forms == {"http://jabber.org/network/serverinfo": {f"{kind}-addresses": [value] for kind, value in CONTACTS.items()},
                         "urn:xmpp:sos:0": {"external-status-addresses": [OUTAGE]}}, f"{forms}")
        configure(fixture, {"muc#maxhistoryfetch": "20", "parley#retention": "30"}, roomname="Fair Verona", roomdesc="The scene", lang="it",
                  changesubject="1", allowinvites="1", allowpm="none", slow_mode_duration="7")
        fixture.juliet.send(f"<message type='groupchat' to='{VERONA}'><subject>A feud</subject></message>")
        fixture.juliet.stanza(lambda s: s.findtext("{jabber:client}subject") == "A feud", "the subject")
        found = {name: field.values for name, field in Form(fixture.info(VERONA)).fields.items()}
        wanted = {
            "muc#roomconfig_roomname": ["Fair Verona"], "muc#roominfo_description": ["The scene"], "muc#roominfo_lang": ["it"],
            "muc#roominfo_occupants": [str(len(fixture.items(VERONA)))], "muc#roominfo_subject": ["A feud"],
            "muc#roominfo_contactjid": ["juliet@localhost"], "muc#roominfo_subjectmod": ["1"], "muc#roomconfig_changesubject": ["1"],
            "muc#roomconfig_allowinvites": ["1"], "muc#roomconfig_allowpm": ["none"], "muc#maxhistoryfetch": ["20"],
            "muc#roominfo_slow_mode_duration": ["7"], "parley#retention": ["30"], "muc#roominfo_avatarhash": [hashlib.sha1(ROSE).hexdigest()],
        }
        activity = found.pop("{urn:xmpp:muc-activity}message-activity", None)
        expect(found == wanted and (activity is None or float(activity[0]) > 0), f"{found} {activity}")


def guests(fixture):
    guest = Guest(fixture)
    for feature in fixture.features(None, guest):
        {INFO: fixture.info, ITEMS: fixture.items}[feature](None, None, guest)
    for _, node in fixture.items("localhost", COMMANDS, guest):
        answer = fixture.set(f"<command xmlns='{COMMANDS}' node='{node}'/>", "localhost", guest)
        expect(find(answer, f"{{{COMMANDS}}}command").get("status") == "completed", f"{node} is not executed at once")
    guest.close()


def run(checks):
    settings = dict(
        admins="romeo@localhost", registration="true", signup__proof="false", invitations="true", guests__domains="localhost", federation__enabled="true",
        federation__host="127.0.0.1", federation__port=free_port(), https__host="127.0.0.1", https__port=free_port(), component__port=free_port(),
        turn__secret="prospero", turn__servers="stun:relay.example.org,turn:relay.example.org", outage__addresses=OUTAGE, terms__version="1",
        terms__url=TERMS, identity__backends="contract=a secret that nobody else than this test knows", delivery__url="http://127.0.0.1:9/letters",
        delivery__secret=new_secret(), **{f"contact__{kind}": address for kind, address in CONTACTS.items()})
    granted = ["roster: both", "message: outgoing", "presence: roster", f"iq: ['{PUBSUB} both', 'urn:xmpp:ping get']"]
    with Server(**settings) as server:
        write(server, (BOT, granted))
        server.start()
        server.add_users("romeo", "juliet", "tybalt")
        server.befriend("romeo", "juliet")
        fixture = Fixture(server)
        streams(checks, fixture)
        with checks.check("offered: each privilege of a component is used"):
            grants(fixture)
        fixture.close()
    with Server(**settings) as server:
        write(server, (BOT, [*granted, f"delegate: ['{MUSIC}']"]))
        with open(server.configuration, "a") as file:
            file.write(f"identity: {json.dumps({'codes': [CODES]})}\n")
        server.start()
        server.add_users("romeo", "juliet", "paris", "tybalt", "nurse")
        server.befriend("romeo", "juliet")
        fixture = Fixture(server)
        walk(checks, fixture)
        for by, who in (fixture.juliet, "a user"), (fixture.romeo, "an administrator"):
            with checks.check(f"offered: each command is executed, with each field and each option, by {who}"):
                commands(fixture, by)
        app(checks, fixture)
        fixture.close()
