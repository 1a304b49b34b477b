"""How each feature is used that discovery offers (XEP-0030), at whichever address: `USES`, with all fields and options of its forms."""
import base64
import hashlib
import json
import re
import ssl
import time
import xml.etree.ElementTree as ElementTree

from lib.apps import App, exchange
from lib.component import DELEGATION, delegated
from lib.forms import FORM, Form, filled
from lib.harness import DOCS, PASSWORD, expect
from lib.offers import (
    CAPS, COMMANDS, INFO, ITEMS, MAM, MUC, PUBSUB, RETRACT, ROOMS, SEARCH, SERVICE, TUNE, UPLOADS, VCARD, VCARD4, VERONA, MUSIC, By, all_offered, find,
    play, script, used)
from lib.peers import ROSE
from lib.wire import Client


def capabilities(fixture, to):
    """XEP-0115 5.1: the hash is of what the node has. A server that delegates names no node in its stream features, as its features may
    change (6.3); it reads those of clients."""
    if to == "localhost" and fixture.stream.find(f"{{{CAPS}}}c") is None:
        return play("pep", "http://jabber.org/protocol/caps").check()
    said = find(fixture.stream if to == "localhost" else fixture.shown, f"{{{CAPS}}}c")
    info = fixture.info(to, f"{said.get('node')}#{said.get('ver')}").find(f"{{{INFO}}}query")
    text = "".join(sorted(
        "/".join([i.get("category"), i.get("type"), i.get("{http://www.w3.org/XML/1998/namespace}lang", ""), i.get("name", "")]) + "<"
        for i in info.findall(f"{{{INFO}}}identity")))
    text += "".join(var + "<" for var in sorted(f.get("var") for f in info.findall(f"{{{INFO}}}feature")))
    forms = []
    for form in info.findall(f"{{{FORM}}}x"):
        read = Form(form)
        forms.append((read.type, "".join(
            name + "<" + "".join(value + "<" for value in sorted(field.values)) for name, field in sorted(read.fields.items()))))
    text += "".join(kind + "<" + fields for kind, fields in sorted(forms))
    expect(base64.b64encode(hashlib.sha1(text.encode()).digest()).decode() == said.get("ver"), f"another hash of {text}")


def registration(fixture, to):
    """XEP-0077 3.3; in a room its form (XEP-0045 7.10)."""
    answer = fixture.ask("<query xmlns='jabber:iq:register'/>", "get", to, fixture.romeo if to == VERONA else None)
    if to == VERONA:
        form = Form(answer)
        expect(set(form.fields) == {"muc#register_roomnick"}, f"{form.fields}")
        fixture.set(f"<query xmlns='jabber:iq:register'>{form.filled(**{'muc#register_roomnick': 'Montague'})}</query>", to, fixture.romeo)
        expect(fixture.ask("<query xmlns='jabber:iq:register'/>", "get", to, fixture.romeo).find(".//{jabber:iq:register}registered") is not None, "no member")
        return fixture.set("<query xmlns='jabber:iq:register'><remove/></query>", to, fixture.romeo)
    fields = {child.tag.partition("}")[2] for child in answer[0]} - {"registered", "instructions"}
    expect(fields == {"username", "password"}, f"{fields}")
    fixture.set(f"<query xmlns='jabber:iq:register'><username>juliet</username><password>{PASSWORD}</password></query>", to)


def users(fixture, to):
    """XEP-0055: by each field, in both ways."""
    answer = fixture.ask("<query xmlns='jabber:iq:search'/>", "get", to)
    known = {"first": "Paris", "last": "Paris", "nick": "paris", "email": "paris@localhost"}
    form = Form(answer)
    fields = {child.tag.partition("}")[2] for child in answer[0]} - {"instructions", "x"}
    expect(fields == set(form.fields) == set(known), f"{fields} {set(form.fields)}")
    for name, value in known.items():
        for asked in (f"<{name}>{value}</{name}>", form.filled(**{name: value})):
            found = fixture.set(f"<query xmlns='jabber:iq:search'>{asked}</query>", to)
            expect(b"paris@localhost" in ElementTree.tostring(found), f"{asked} finds nobody")


def access(fixture, to):
    clients = fixture.ask("<list xmlns='urn:xmpp:cam:0'/>", "get")
    expect(any(client.get("id") == "session-balcony" for client in clients.iter("{urn:xmpp:cam:0}client")), "one's own client is not there")
    App(fixture.server, "juliet", "lost")
    fixture.set("<revoke xmlns='urn:xmpp:cam:0' id='login-lost'/>")


def blocking(fixture, to):
    fixture.set("<block xmlns='urn:xmpp:blocking'><item jid='tybalt@localhost'/></block>")
    found = fixture.ask("<blocklist xmlns='urn:xmpp:blocking'/>")
    expect([item.get("jid") for item in found.iter("{urn:xmpp:blocking}item")] == ["tybalt@localhost"], "nobody is blocked")
    fixture.set("<unblock xmlns='urn:xmpp:blocking'><item jid='tybalt@localhost'/></unblock>")


def reporting(fixture, to):
    for reason in ("spam", "abuse"):
        fixture.set("<block xmlns='urn:xmpp:blocking'><item jid='tybalt@localhost'>"
                  f"<report xmlns='urn:xmpp:reporting:1' reason='urn:xmpp:reporting:{reason}'/></item></block>")
        fixture.set("<unblock xmlns='urn:xmpp:blocking'><item jid='tybalt@localhost'/></unblock>")
    reasons = {report["reason"] for report in json.loads(fixture.server.command("report", "list", "--json"))}
    expect(reasons >= {"spam", "abuse"}, f"{reasons}")


def vcard(fixture, to):
    """The fields of the example in XEP-0054 3.1, and a picture; a room has a picture alone (XEP-0486)."""
    if to == VERONA:
        picture = f"<PHOTO><TYPE>image/png</TYPE><BINVAL>{base64.b64encode(ROSE).decode()}</BINVAL></PHOTO>"
        fixture.set(f"<vCard xmlns='{VCARD}'>{picture}</vCard>", to)
        card = fixture.ask(f"<vCard xmlns='{VCARD}'/>", "get", to)
        expect(card.findtext(f".//{{{VCARD}}}BINVAL"), "the room has no picture")
        return
    fields = {
        "FN": "Juliet Capulet", "N": "<FAMILY>Capulet</FAMILY><GIVEN>Juliet</GIVEN><MIDDLE/>", "NICKNAME": "Jule", "URL": "https://verona.example/",
        "BDAY": "1583-07-31", "ORG": "<ORGNAME>Capulet</ORGNAME><ORGUNIT>Garden</ORGUNIT>", "TITLE": "Daughter", "ROLE": "Heroine",
        "TEL": "<HOME/><VOICE/><NUMBER>303-555-1212</NUMBER>", "ADR": "<HOME/><LOCALITY>Verona</LOCALITY><CTRY>Italy</CTRY>",
        "EMAIL": "<INTERNET/><PREF/><USERID>juliet@verona.example</USERID>", "JABBERID": "juliet@localhost", "DESC": "At the balcony.",
        "PHOTO": f"<TYPE>image/png</TYPE><BINVAL>{base64.b64encode(ROSE).decode()}</BINVAL>",
    }
    fixture.set(f"<vCard xmlns='{VCARD}'>" + "".join(f"<{name}>{value}</{name}>" for name, value in fields.items()) + "</vCard>")
    for card in (fixture.ask(f"<vCard xmlns='{VCARD}'/>"), fixture.ask(f"<vCard xmlns='{VCARD}'/>", "get", "juliet@localhost", fixture.romeo)):
        told = {child.tag.partition("}")[2]: child for child in find(card, f"{{{VCARD}}}vCard")}
        for name, value in fields.items():
            wanted = ElementTree.fromstring(f"<{name} xmlns='{VCARD}'>{value}</{name}>")
            expect(name in told and "".join(told[name].itertext()) == "".join(wanted.itertext()), f"{name} of {sorted(told)}")


def vcard4(fixture, to):
    card = (f"<vcard xmlns='{VCARD4}'><fn><text>Juliet Capulet</text></fn><nickname><text>Jule</text></nickname>"
            "<note><text>At the balcony.</text></note></vcard>")
    fixture.set(f"<pubsub xmlns='{PUBSUB}'><publish node='urn:xmpp:vcard4'><item id='current'>{card}</item></publish></pubsub>")
    read = fixture.ask(f"<pubsub xmlns='{PUBSUB}'><items node='urn:xmpp:vcard4'/></pubsub>", "get", "juliet@localhost", fixture.romeo)
    expect(read.findtext(f".//{{{VCARD4}}}note/{{{VCARD4}}}text") == "At the balcony.", "another card")


def carbons(fixture, to):
    fixture.set("<enable xmlns='urn:xmpp:carbons:2'/>")
    other = Client(fixture.server, "juliet", "garden").present()
    name = fixture.new("c")
    other.send(f"<message type='chat' to='romeo@localhost' id='{name}'><body>good night</body></message>")
    fixture.juliet.stanza(lambda s: any(sent.find(f".//*[@id='{name}']") is not None for sent in s.iter("{urn:xmpp:carbons:2}sent")), "a carbon")
    other.close()
    fixture.set("<disable xmlns='urn:xmpp:carbons:2'/>")


def private(fixture, to):
    fixture.set("<query xmlns='jabber:iq:private'><note xmlns='urn:example:note'>kept</note></query>")
    found = fixture.ask("<query xmlns='jabber:iq:private'><note xmlns='urn:example:note'/></query>")
    expect(found.findtext(".//{urn:example:note}note") == "kept", "it is not kept")


def stable(fixture, to):
    """XEP-0359: who asks the archive finds it under the id that it came with."""
    if to == VERONA:
        _, name = fixture.say(VERONA, "by which name", kind="groupchat")
        return expect(name in [found for found, _ in fixture.archived(VERONA)], "another id")
    body = fixture.new("by any other name ")
    fixture.romeo.say("juliet", body)
    message = fixture.juliet.message(body)
    named = find(message, "{urn:xmpp:sid:0}stanza-id")
    expect(named.get("by") == "juliet@localhost" and named.get("id") in [found for found, _ in fixture.archived()], f"{named.attrib}")


def delay(fixture, to):
    fixture.juliet.say("nurse", "where are you")
    nurse = Client(fixture.server, "nurse", "hall").present()
    find(nurse.message("where are you"), "{urn:xmpp:delay}delay")
    nurse.close()


def retraction(fixture, to):
    kind, target = ("groupchat", VERONA) if to == VERONA else ("chat", "romeo@localhost")
    name, stored = fixture.say(target, "I take it back", kind=kind)
    of = stored if kind == "groupchat" else name
    fixture.juliet.send(f"<message type='{kind}' to='{target}' id='{fixture.new('r')}'><retract xmlns='{RETRACT}' id='{of}'/>"
                      f"<store xmlns='urn:xmpp:hints'/></message>")
    fixture.ask("<ping xmlns='urn:xmpp:ping'/>", "get", "localhost")
    left = dict(fixture.archived(VERONA if to == VERONA else None))[stored]
    expect(left.find(f"{{{RETRACT}}}retracted") is not None and left.find("{jabber:client}body") is None, ElementTree.tostring(left))


def relays(fixture, to):
    listed = fixture.ask("<services xmlns='urn:xmpp:extdisco:2'/>", "get", "localhost")
    services = [service.attrib for service in listed.iter("{urn:xmpp:extdisco:2}service")]
    expect([service["type"] for service in services] == ["stun", "turn"], f"{services}")
    asked = f"<credentials xmlns='urn:xmpp:extdisco:2'><service host='{services[1]['host']}' type='turn'/></credentials>"
    expect(find(fixture.ask(asked, "get", "localhost"), ".//{urn:xmpp:extdisco:2}service").get("password"), "no password")


def delegates(fixture, to):
    fixture.juliet.send(f"<iq type='get' id='d1' to='localhost'><query xmlns='{MUSIC}'/></iq>")
    _, answer, _ = delegated(fixture.bot, "a request")
    answer(f"<song xmlns='{MUSIC}'/>")
    fixture.juliet.stanza(lambda s: s.get("id") == "d1" and s.get("type") == "result", "what the component answers")


def affiliation(fixture, to):
    told = find(fixture.ask("<query xmlns='urn:xmpp:raa:0'/>", "get", "romeo@localhost"), "{urn:xmpp:raa:0}info")
    expect(told.get("affiliation") == "registered", f"{told.attrib}")


def archive(fixture, to):
    """Each field of the form finds what it says (XEP-0313 4.1, XEP-0431)."""
    target, kind = (VERONA, "groupchat") if to == VERONA else ("romeo@localhost", "chat")
    first, second, third = [fixture.say(target, f"{word} of {fixture.new('line')}", kind=kind)[1] for word in ("nightingale", "lark", "envious")]
    form = Form(fixture.ask(f"<query xmlns='{MAM}'/>", "get", to if to == VERONA else None))
    everything = fixture.archived(to if to == VERONA else None)
    stamps = {name: index for index, (name, _) in enumerate(everything)}
    expect({first, second, third} <= set(stamps), "what was said is not there")
    uses = {
        "with": ("romeo@localhost", {first, second, third}), "start": ("2020-01-01T00:00:00Z", {first, second, third}),
        "end": ("2100-01-01T00:00:00Z", {first, second, third}), "after-id": (first, {second, third}), "before-id": (second, {first}),
        "ids": ([second], {second}), "include-groupchat": ("1", {first, second, third}), "{urn:xmpp:fulltext:0}fulltext": ("lark", {second}),
    }

    def use(name, value):
        found = {stored for stored, _ in fixture.archived(to if to == VERONA else None, **{name: value[0]})}
        expect(value[1] <= found and (name not in ("ids", "before-id") or third not in found), f"{name}={value[0]} finds {len(found)}")

    used(f"the form of the archive of {to or 'the account'}", form.fields, uses, use)
    if to != VERONA:
        all_offered("the form of the archive", form.fields, uses)
    metadata = fixture.ask(f"<metadata xmlns='{MAM}'/>", "get", to if to == VERONA else None)
    find(metadata, f".//{{{MAM}}}end")


def inbox(fixture, to):
    fixture.say("romeo@localhost", "at the top of the list")
    name = fixture.new("i")
    fixture.juliet.send(f"<iq type='get' id='{name}'><inbox xmlns='urn:xmpp:inbox:1'/></iq>")
    fixture.juliet.stanza(lambda s: s.find("{urn:xmpp:inbox:1}entry") is not None, "an entry")
    fixture.juliet.stanza(lambda s: s.get("id") == name and s.get("type") == "result", "the end")


def push(fixture, to):
    expect(fixture.juliet.enable(service="romeo@localhost/orchard").get("type") == "result", "no registration")
    fixture.set("<disable xmlns='urn:xmpp:push:0' jid='romeo@localhost/orchard'/>")


def nickname(fixture, to):
    item = "<item id='current'><nick xmlns='http://jabber.org/protocol/nick'>Jule</nick></item>"
    fixture.set(f"<pubsub xmlns='{PUBSUB}'><publish node='http://jabber.org/protocol/nick'>{item}</publish></pubsub>")
    card = fixture.ask(f"<vCard xmlns='{VCARD}'/>")
    expect(card.findtext(f".//{{{VCARD}}}NICKNAME") == "Jule", "the vCard has another")


def assist(fixture, to):
    """XEP-0490 5.1: a message says what it has displayed."""
    fixture.romeo.say("juliet", "read me")
    stored = find(fixture.juliet.message("read me"), "{urn:xmpp:sid:0}stanza-id").get("id")
    shown = f"<displayed xmlns='urn:xmpp:mds:displayed:0'><stanza-id xmlns='urn:xmpp:sid:0' by='juliet@localhost' id='{stored}'/></displayed>"
    marker = "<displayed xmlns='urn:xmpp:chat-markers:0' id='read me'/>"
    fixture.juliet.send(f"<message type='chat' to='romeo@localhost' id='{fixture.new('d')}'>{shown}{marker}</message>")
    fixture.ask("<ping xmlns='urn:xmpp:ping'/>", "get", "localhost")
    item = fixture.ask(f"<pubsub xmlns='{PUBSUB}'><items node='urn:xmpp:mds:displayed:0'><item id='romeo@localhost'/></items></pubsub>")
    expect(find(item, ".//{urn:xmpp:sid:0}stanza-id").get("id") == stored, "the node says something else")


# MARK: Features of rooms

def create(fixture, to):
    room = f"{fixture.new('room')}@{ROOMS}"
    enter(fixture.juliet, room, "Juliet")
    fixture.set(f"<query xmlns='{MUC}#owner'>{filled(MUC + '#roomconfig', {})}</query>", room)
    fixture.juliet.send(f"<presence type='unavailable' to='{room}/Juliet'/>")


def enter(client, room, nick):
    client.send(f"<presence to='{room}/{nick}'><x xmlns='{MUC}'><history maxstanzas='0'/></x></presence>")
    return client.stanza(lambda s: s.get("from") == f"{room}/{nick}" and s.tag.endswith("}presence"), f"{nick} in the room")


def stable_id(fixture, to):
    fixture.say(VERONA, "under my own id", kind="groupchat")  # waits for it by that id


def unique(fixture, to):
    expect(find(fixture.ask(f"<unique xmlns='{MUC}#unique'/>", "get", to), f"{{{MUC}#unique}}unique").text, "no name")


def channels(fixture, to):
    """XEP-0433: each field of the form, and each of its options."""
    form = Form(fixture.ask(f"<search xmlns='{SEARCH}'/>", "get", ROOMS))
    uses = {"q": ["verona"], "all": ["1"], "sinname": ["0", "1"], "sindescription": ["0", "1"], "sinaddr": ["1", "0"], "min_users": ["1", "0"],
            "types": ["xep-0045"], "key": ["{urn:xmpp:channel-search:0:order}nusers", "{urn:xmpp:channel-search:0:order}address"]}

    def use(name, values):
        expect(set(form.fields[name].offers) - {"0", "1"} <= set(values), f"{form.fields[name].offers}")
        for value in values:
            asked = {name: value} if name in ("q", "all") else {"q": "verona", name: value}
            found = fixture.ask(f"<search xmlns='{SEARCH}'>{form.filled(**asked)}</search>", "get", ROOMS)
            addresses = [item.get("address") for item in found.iter(f"{{{SEARCH}}}item")]
            # Its name has the word as well, its description has not.
            expect(addresses == [VERONA], f"{asked} finds {addresses}")

    used("the form of a search for rooms", form.fields, uses, use)
    all_offered("the form of a search for rooms", form.fields, uses)


def configuration(fixture, to):
    """XEP-0045 10: each field is set to each of its values, and read back."""
    def shown():
        return Form(fixture.ask(f"<query xmlns='{MUC}#owner'/>", "get", VERONA))

    def configure(**values):
        fixture.set(f"<query xmlns='{MUC}#owner'>{filled(MUC + '#roomconfig', values)}</query>", VERONA)

    flags = {
        "publicroom": ("muc_public", "muc_hidden"), "persistentroom": ("muc_persistent", "muc_temporary"), "membersonly": ("muc_membersonly", "muc_open"),
        "moderatedroom": ("muc_moderated", "muc_unmoderated"), "passwordprotectedroom": ("muc_passwordprotected", "muc_unsecured"),
        "whois": {"anyone": "muc_nonanonymous", "moderators": "muc_semianonymous"},
    }
    offered, seen = ["0", "1"], set()
    uses = {f"muc#roomconfig_{name}": values for name, values in {
        "roomname": ["Fair Verona", ""], "roomdesc": ["Where we lay our scene", ""], "lang": ["it", ""], "publicroom": offered,
        "persistentroom": offered, "membersonly": offered, "moderatedroom": offered, "roomsecret": ["cypress", ""], "passwordprotectedroom": offered,
        "whois": ["anyone", "moderators"], "maxusers": ["10", "20", "30", "50", "100", "200", "500", "1000", "none"],
        "allowpm": ["participants", "moderators", "none", "anyone"], "allowinvites": offered, "changesubject": offered,
        "slow_mode_duration": ["86400", "0"], "roomadmins": [["romeo@localhost"], []],
        "roomowners": [["juliet@localhost", "romeo@localhost"], ["juliet@localhost"]],
    }.items()} | {"muc#maxhistoryfetch": ["0", "100"], "parley#history": ["since-join", "all"], "parley#retention": ["1", "36500", ""],
                  "parley#acceptremote": offered, "parley#readonly": offered}
    form = shown()

    def use(name, values):
        expect(set(form.fields[name].offers) <= {value for value in values if isinstance(value, str)}, f"{form.fields[name].offers} and not {values}")
        before = form[name]
        for value in values:
            more = {"muc#roomconfig_roomsecret": "cypress"} if name.endswith("passwordprotectedroom") and value == "1" else {}
            configure(**{name: value}, **more)
            wanted = value if isinstance(value, list) else [value] if value else []
            expect(sorted(shown()[name]) == sorted(wanted), f"{value} was set, and {shown()[name]} is read")
            features = fixture.features(VERONA)
            pair = flags.get(name.removeprefix("muc#roomconfig_"))
            if pair:
                flag = pair[value] if isinstance(pair, dict) else pair[value == "0"]
                expect(flag in features, f"{value} does not make it {flag}")
                seen.add(flag)
        configure(**{name: before})

    used("the configuration of a room", form.fields, uses, use)
    all_offered("the configuration of a room", form.fields, uses)
    expect(len(seen) == 12, f"{seen}")
    fixture.traits = seen


def voice(fixture, to):
    """XEP-0045 7.13, 8.6: by the form that the moderator gets, with each of its fields."""
    room = f"{fixture.new('room')}@{ROOMS}"
    enter(fixture.juliet, room, "Juliet")
    fixture.set(f"<query xmlns='{MUC}#owner'>{filled(MUC + '#roomconfig', {'muc#roomconfig_moderatedroom': '1'})}</query>", room)
    enter(fixture.romeo, room, "Romeo")
    fixture.romeo.send(f"<message to='{room}'>{filled(MUC + '#request', {'muc#role': 'participant'})}</message>")
    form = Form(fixture.juliet.stanza(lambda s: s.get("from") == room and s.find(f"{{{FORM}}}x") is not None, "a request for voice"))
    expect(set(form.fields) == {"muc#role", "muc#jid", "muc#roomnick", "muc#request_allow"} and form.type == MUC + "#request", f"{form.fields}")
    expect(form.fields["muc#role"].offers == ["participant"], f"{form.fields}")
    answers = {name: field.values for name, field in form.fields.items()}
    for allow in ("0", "1"):
        fixture.juliet.send(f"<message to='{room}'>{form.filled(**answers | {'muc#request_allow': allow})}</message>")
    fixture.romeo.stanza(lambda s: s.get("from") == f"{room}/Romeo" and any(i.get("role") == "participant" for i in s.iter(f"{{{MUC}#user}}item")), "voice")


def moderation(fixture, to):
    _, stored = fixture.say(VERONA, "by a moderator", kind="groupchat")
    fixture.set(f"<moderate xmlns='urn:xmpp:message-moderate:1' id='{stored}'><retract xmlns='{RETRACT}'/><reason>no</reason></moderate>", VERONA)
    left = dict(fixture.archived(VERONA))[stored]
    expect(left.find("{jabber:client}body") is None, ElementTree.tostring(left))


def occupant(fixture, to):
    name = fixture.new("o")
    fixture.juliet.send(f"<message type='groupchat' to='{VERONA}' id='{name}'><body>who am I</body></message>")
    back = fixture.juliet.stanza(lambda s: s.get("id") == name, "it from the room")
    expect(find(back, "{urn:xmpp:occupant-id:0}occupant-id").get("id"), "no id")


def self_ping(fixture, to):
    fixture.ask("<ping xmlns='urn:xmpp:ping'/>", "get", f"{VERONA}/Juliet")


# MARK: Files

def upload(fixture, purpose=""):
    tomorrow = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
    end = f" expire-before='{tomorrow}'" if purpose == "ephemeral" else ""
    kind = purpose and f"<{purpose} xmlns='urn:xmpp:http:upload:purpose:0'{end}/>"
    slot = fixture.ask(f"<request xmlns='urn:xmpp:http:upload:0' filename='rose.png' size='{len(ROSE)}' content-type='image/png'>{kind}</request>", "get", UPLOADS)
    trust = ssl.create_default_context(cafile=fixture.server.certificate)
    put, get = (find(slot, f".//{{urn:xmpp:http:upload:0}}{name}").get("url") for name in ("put", "get"))
    expect(exchange("PUT", put, ROSE, {"Content-Type": "image/png"}, trust)[0] == 201, "it is not taken")
    status, _, data = exchange("GET", get, context=trust)
    expect((status, data) == (200, ROSE), f"{status}")


def greatest(fixture, to):
    form = Form(fixture.info(UPLOADS))
    size = int(form["max-file-size"][0])
    for more, kind in [(0, "result"), (1, "error")]:
        answer = fixture.juliet.ask(f"<request xmlns='urn:xmpp:http:upload:0' filename='f' size='{size + more}'/>", "get", UPLOADS)
        expect(answer.get("type") == kind, f"{size + more} bytes: {answer.get('type')}")


# MARK: Publish-subscribe

CONFIG = PUBSUB + "#node_config"


def node_values(to):
    """What each field of a node's form is set to: all options, and texts. A service has no contacts and no presence."""
    offered = ["0", "1"]
    values = {
        "access_model": ["open", "whitelist", "authorize"] + ([] if to else ["presence", "roster"]), "persist_items": offered, "max_items": ["7", "max"],
        "publish_node_full": ["reject", "discard-oldest", "retract-oldest"],
        "send_last_published_item": ["never", "on_sub"] + ([] if to else ["on_sub_and_presence"]), "deliver_notifications": offered,
        "deliver_payloads": offered, "notify_retract": offered, "notify_delete": offered, "notify_config": offered, "title": ["Tunes", ""],
        "description": ["What is heard", ""], "type": ["urn:example:tune", ""], "publish_model": ["subscribers", "open", "publishers"],
        "itemreply": ["publisher", "none"], "node_type": ["leaf"], "notification_type": ["headline"], "max_payload_size": ["196608"],
    } | ({} if to else {"roster_groups_allowed": [["Friends"], []]})
    return {f"pubsub#{name}": value for name, value in values.items()}


def configured(fixture, node, to):
    return Form(fixture.ask(f"<pubsub xmlns='{PUBSUB}#owner'><configure node='{node}'/></pubsub>", "get", to))


def nodes(fixture, to):
    """XEP-0060 8.1, 8.2, 8.3, 7.1.5: each field with each of its values, in a configuration, when a node is created, and as an option of a
    publication; and what the defaults offer is that."""
    values, node = node_values(to), fixture.new("node")
    if not to:
        fixture.set("<query xmlns='jabber:iq:roster'><item jid='romeo@localhost'><group>Friends</group></item></query>")
    fixture.set(f"<pubsub xmlns='{PUBSUB}'><create node='{node}'/></pubsub>", to)
    form = configured(fixture, node, to)
    defaults = Form(fixture.ask(f"<pubsub xmlns='{PUBSUB}#owner'><default/></pubsub>", "get", to))
    offers = [{name: field.offers for name, field in each.fields.items()} for each in (form, defaults)]
    expect(offers[0] == offers[1], f"the defaults offer {offers[1]}, and a node {offers[0]}")

    def use(name, choices):
        field = form.fields[name]
        flat = {option for value in choices for option in ([value] if isinstance(value, str) else value)}
        expect(set(field.offers) <= flat, f"{field.offers} and not {flat}")
        for value in choices:
            wanted = sorted(value if isinstance(value, list) else [value] if value else [])
            fixture.set(f"<pubsub xmlns='{PUBSUB}#owner'><configure node='{node}'>{filled(CONFIG, {name: value})}</configure></pubsub>", to)
            expect(sorted(configured(fixture, node, to)[name]) == wanted, f"{value} was set, and {configured(fixture, node, to)[name]} is read")
            made = fixture.new("node")
            fixture.set(f"<pubsub xmlns='{PUBSUB}'><create node='{made}'/><configure>{filled(CONFIG, {name: value})}</configure></pubsub>", to)
            expect(sorted(configured(fixture, made, to)[name]) == wanted, f"created with {value}, and {configured(fixture, made, to)[name]} is read")
            # The account creates the node; at the service the option is a condition of the node that was created.
            target = made if to else fixture.new("node")
            options = filled(PUBSUB + "#publish-options", {name: value})
            fixture.set(f"<pubsub xmlns='{PUBSUB}'><publish node='{target}'><item id='a'>{TUNE}</item></publish>"
                      f"<publish-options>{options}</publish-options></pubsub>", to)
            expect(sorted(configured(fixture, target, to)[name]) == wanted, f"published with {value}, and {configured(fixture, target, to)[name]} is read")
            for each in {made, target}:
                fixture.set(f"<pubsub xmlns='{PUBSUB}#owner'><delete node='{each}'/></pubsub>", to)

    used(f"a node's form at {to or 'the account'}", form.fields, values, use)
    all_offered(f"a node's form at {to or 'the account'}", form.fields, values)
    metadata = Form(fixture.info(to, node))
    expect(set(metadata.fields) <= {f"pubsub#{name}" for name in (
        "creator", "owner", "creation_date", "access_model", "publish_model", "num_subscribers", "max_items", "title", "description", "type")},
        f"{set(metadata.fields)}")
    expect(metadata["pubsub#owner"] == ["juliet@localhost"], f"{metadata.fields}")


def subscriptions(fixture, to):
    """XEP-0060 6.3, 8.6: the options of a subscription, and the form by which an owner decides."""
    host, node = to or "juliet@localhost", fixture.new("node")
    fixture.set(f"<pubsub xmlns='{PUBSUB}'><create node='{node}'/><configure>{filled(CONFIG, {'pubsub#access_model': 'authorize'})}</configure></pubsub>", to)
    fixture.set(f"<pubsub xmlns='{PUBSUB}'><subscribe node='{node}' jid='romeo@localhost'/></pubsub>", host, fixture.romeo)
    asked = fixture.juliet.stanza(lambda s: s.tag.endswith("}message") and s.find(f"{{{FORM}}}x") is not None and node in "".join(s.itertext()), "a request")
    form = Form(asked)
    expect(set(form.fields) == {"pubsub#node", "pubsub#subscriber_jid", "pubsub#allow"}, f"{set(form.fields)}")
    answers = {name: field.values for name, field in form.fields.items()} | {"pubsub#allow": "1"}
    fixture.juliet.send(f"<message to='{asked.get('from')}'>{form.filled(**answers)}</message>")
    fixture.romeo.stanza(lambda s: any(each.get("subscription") == "subscribed" and each.get("node") == node for each in s.iter(f"{{{PUBSUB}#event}}subscription")),
                       "that it is allowed")
    options = f"<pubsub xmlns='{PUBSUB}'><options node='{node}' jid='romeo@localhost'>%s</options></pubsub>"
    form = Form(fixture.ask(options % "", "get", host, fixture.romeo))
    default = Form(fixture.ask(f"<pubsub xmlns='{PUBSUB}'><default node='{node}'/></pubsub>", "get", host, fixture.romeo))
    expect(set(form.fields) == set(default.fields) == {"pubsub#deliver"}, f"{set(form.fields)} {set(default.fields)}")
    for value in form.fields["pubsub#deliver"].offers:
        fixture.set(options % form.filled(**{"pubsub#deliver": value}), host, fixture.romeo)
        expect(Form(fixture.ask(options % "", "get", host, fixture.romeo))["pubsub#deliver"] == [value], f"{value} is not kept")


def pubsub(fixture, to):
    """The server offers what it does for accounts."""
    to = SERVICE if to == SERVICE else None
    nodes(fixture, to)
    subscriptions(fixture, to)


def pubsub_features(title):
    """Those of XEP-0060 10 have a scene of a play each, which docs/xep-0060.md names, and a unit test looks for."""
    page = (DOCS / "xep-0060.md").read_text()
    section = page.split(f"\n## {title}\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([\w-]+)` \| `([\w-]+)`(?:: (.+?))? \|$", section, re.M)
    return {f"{PUBSUB}#{name}": play(file, f"scene: {scene}" if scene else "cast:") for name, file, scene in rows}


USES = {
    INFO: lambda fixture, to: fixture.info(to), ITEMS: lambda fixture, to: fixture.items(to), CAPS: capabilities,
    "jabber:iq:version": lambda fixture, to: find(fixture.ask("<query xmlns='jabber:iq:version'/>", "get", to), ".//{jabber:iq:version}version"),
    "urn:xmpp:time": lambda fixture, to: find(fixture.ask("<time xmlns='urn:xmpp:time'/>", "get", to), ".//{urn:xmpp:time}utc"),
    "urn:xmpp:ping": lambda fixture, to: fixture.ask("<ping xmlns='urn:xmpp:ping'/>", "get", to),
    "jabber:iq:last": lambda fixture, to: find(fixture.ask("<query xmlns='jabber:iq:last'/>", "get", to), "{jabber:iq:last}query").attrib["seconds"],
    COMMANDS: lambda fixture, to: fixture.items(to, COMMANDS), "jabber:iq:register": registration, "jabber:iq:search": users, "urn:xmpp:cam:0": access,
    "jabber:iq:roster": lambda fixture, to: find(fixture.ask("<query xmlns='jabber:iq:roster'/>"), "{jabber:iq:roster}query"), "urn:xmpp:blocking": blocking,
    "urn:xmpp:reporting:1": reporting, "urn:xmpp:raa:0": affiliation, "urn:xmpp:raa:0#embed-message": play("federation-strangers", "urn:xmpp:raa:0"),
    "urn:xmpp:raa:0#embed-presence-sub": play("federation-strangers", "urn:xmpp:raa:0"), VCARD: vcard, VCARD4: vcard4, MAM: archive,
    f"{MAM}#extended": archive, f"{MAM}#groupchat-field": archive, "urn:xmpp:fulltext:0": archive, "urn:xmpp:carbons:2": carbons,
    "jabber:iq:private": private, "urn:xmpp:sid:0": stable, "urn:xmpp:delay": delay, RETRACT: retraction, f"{RETRACT}#tombstone": retraction,
    "urn:xmpp:extdisco:2": relays, DELEGATION: delegates, "urn:xmpp:inbox:1": inbox, "urn:xmpp:push:0": push, "http://jabber.org/protocol/nick": nickname,
    "urn:xmpp:pep-vcard-conversion:0": script("profiles_slixmpp", "slixmpp: XEP-0084 publishes; vCard and app have it"),
    "urn:xmpp:bookmarks:1#compat": script("bookmarks_slixmpp", "bookmarks, slixmpp: a list in private storage"),
    "urn:xmpp:bookmarks:1#compat-pep": script("bookmarks_slixmpp", "bookmarks, slixmpp: a list in the old node"),
    "urn:xmpp:bookmarks-conversion:0": script("bookmarks_slixmpp", "bookmarks, slixmpp: an item is in the list, in both of its places"),
    "urn:xmpp:mds:server-assist:0": assist, PUBSUB: pubsub,
    f"{PUBSUB}#pubsub-on-a-jid": lambda fixture, to: fixture.ask(f"<pubsub xmlns='{PUBSUB}'><affiliations/></pubsub>", "get", to),
    # Rooms
    MUC: create, f"{MUC}#stable_id": stable_id, f"{MUC}#unique": unique, SEARCH: channels, f"{MUC}#roomconfig": configuration, f"{MUC}#register": registration,
    f"{MUC}#request": voice, "urn:xmpp:occupant-id:0": occupant, "urn:xmpp:hats:0": By("XMPPDoorTests/RoomsPresenceTests.swift", "XEP-0317 3.1"),
    f"{MUC}#self-ping-optimization": self_ping, "urn:xmpp:muc:affiliations:1": play("rooms-versions", "urn:xmpp:muc:affiliations:1"),
    "urn:xmpp:message-moderate:1": moderation,
    # Files
    "urn:xmpp:http:upload:0": lambda fixture, to: (upload(fixture), greatest(fixture, to)),
    **{f"urn:xmpp:http:upload:purpose:0#{purpose}": lambda fixture, to, purpose=purpose: upload(fixture, purpose) for purpose in ("message", "profile", "ephemeral")},
    # A session of an app: the server answers for it, and writes what a client with these features would.
    "http://jabber.org/protocol/chatstates": play("typing", "chatstates"), "urn:xmpp:receipts": play("archive-kinds", "urn:xmpp:receipts"),
    "urn:xmpp:chat-markers:0": play("markers", "urn:xmpp:chat-markers:0"), "urn:xmpp:reference:0": play("mentions", "urn:xmpp:reference:0"),
    "jabber:x:conference": script("rooms_slixmpp", "rooms: a direct invitation goes from one to the other (XEP-0249)"),
    "http://jabber.org/protocol/nick+notify": script("profiles_slixmpp", "slixmpp: XEP-0172 publishes; vCard and app have it"),
    "urn:xmpp:avatar:metadata+notify": script("profiles_slixmpp", "slixmpp: XEP-0084 publishes; vCard and app have it"),
    **{name: script("calls_jingle", "calls, Jingle: XMPP calls, both hear each other") for name in (
        "urn:xmpp:jingle:1", "urn:xmpp:jingle-message:0", "urn:xmpp:jingle:apps:rtp:1", "urn:xmpp:jingle:apps:rtp:audio", "urn:xmpp:jingle:apps:dtls:0",
        "urn:xmpp:jingle:apps:grouping:0", "urn:xmpp:jingle:transports:ice-udp:1", "urn:xmpp:jingle:apps:rtp:ssma:0")},
    "urn:xmpp:jingle:apps:rtp:video": script("calls_jingle", "calls, Jingle: the web client calls by video, and both hear and see each other"),
    "urn:xmpp:jingle:apps:rtp:rtcp-fb:0": By("JingleTests/SessionDescriptionTests.swift", "rtcp-fb"),
    "urn:xmpp:jingle:apps:rtp:rtp-hdrext:0": By("JingleTests/SessionDescriptionTests.swift", "rtp-hdrext"),
}
# What the configuration of a room decides: `configuration` has set each.
TRAITS = {name: lambda fixture, to, name=name: expect(name in fixture.traits, "the configuration does not decide it") for name in (
    "muc_public", "muc_hidden", "muc_persistent", "muc_temporary", "muc_membersonly", "muc_open", "muc_moderated", "muc_unmoderated",
    "muc_passwordprotected", "muc_unsecured", "muc_nonanonymous", "muc_semianonymous")}
