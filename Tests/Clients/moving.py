"""Users move in from other servers: real ones, filled by slixmpp, imported, and then slixmpp logs in with the old passwords and finds
what it had. What Parley exports in the portable format (XEP-0227) and another Parley imports is exported there again as it was.
"""
import asyncio
import base64
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import urllib.error
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

from slixmpp import JID
from slixmpp.exceptions import IqError, PresenceError
from slixmpp.xmlstream.handler import Collector
from slixmpp.xmlstream.matcher import StanzaPath

from lib.apps import App
from lib.files import attach, delete, upload
from lib.former import DOMAIN, ROOMS, UPLOADS, Ejabberd, Prosody
from lib.harness import BINARY, PASSWORD, PATIENCE, Checks, Failure, Server, expect
from lib.peers import ROSE, Client, text

ROMEO, JULIET, NURSE = "romeo@localhost", "juliet@localhost", "nurse@localhost"
OMEMO, NOTES = "eu.siacs.conversations.axolotl.devicelist", "urn:example:notes"
BOOKMARKS = "urn:xmpp:bookmarks:1"
ORCHARD, SQUARE = f"orchard@{ROOMS}", f"square@{ROOMS}"
MUC = "http://jabber.org/protocol/muc"
PRIVATE = "<exodus xmlns='exodus:prefs'><defaultnick>Romeo &amp; Co</defaultnick></exodus>"


class Person(Client):
    def __init__(self, server, jid):
        super().__init__(server, jid)
        for plugin in ("xep_0004", "xep_0045", "xep_0049", "xep_0054", "xep_0060", "xep_0084", "xep_0163", "xep_0191"):
            self.register_plugin(plugin)

    async def arrive(self, presence=True):
        await super().arrive()
        await self.get_roster(timeout=PATIENCE)
        if presence:
            self.send_presence()
        return self

    async def ask(self, kind, payload, to=None):
        iq = self.make_iq(ito=to, itype=kind)
        iq.append(ElementTree.fromstring(payload))
        return (await iq.send(timeout=PATIENCE)).xml

    async def publish(self, node, item, payload, access="whitelist"):
        await self.ask("set", f"""<pubsub xmlns='http://jabber.org/protocol/pubsub'>
          <publish node='{node}'><item id='{item}'>{payload}</item></publish>
          <publish-options><x xmlns='jabber:x:data' type='submit'>
            <field var='FORM_TYPE' type='hidden'><value>http://jabber.org/protocol/pubsub#publish-options</value></field>
            <field var='pubsub#persist_items'><value>true</value></field>
            <field var='pubsub#access_model'><value>{access}</value></field></x></publish-options></pubsub>""")

    async def items(self, node, of=None):
        answer = await self.ask(
            "get", f"<pubsub xmlns='http://jabber.org/protocol/pubsub'><items node='{node}'/></pubsub>", of)
        return {item.get("id"): item for item in answer.iter("{http://jabber.org/protocol/pubsub}item")}

    async def archive(self, to=None):
        """(author, body, time) of each message, the oldest first."""
        iq = self.make_iq_set(ito=to)
        query = iq["mam"]
        query["queryid"] = iq["id"]
        results = Collector(f"results {iq['id']}", StanzaPath("message/mam_result"))
        self.register_handler(results)
        try:
            await iq.send(timeout=PATIENCE)
        finally:
            found = [message["mam_result"]["forwarded"] for message in results.stop()]
        return [(str(each["stanza"]["from"].resource if to else each["stanza"]["from"].bare), str(each["stanza"]["body"]),
                 str(each["delay"]["stamp"])) for each in found]

    async def enter(self, room, nick, password=None):
        await self.plugin["xep_0045"].join_muc_wait(JID(room), nick, password=password, maxstanzas=0, timeout=PATIENCE)

    async def say(self, room, body):
        self.send_message(room, body, mtype="groupchat")
        await self.saw("message", text(body))

    async def upload(self, name, data):
        """The URL of a new file (XEP-0363)."""
        answer = await self.ask("get", f"""<request xmlns='urn:xmpp:http:upload:0' filename='{name}' size='{len(data)}'
            content-type='image/png'/>""", UPLOADS)
        put = answer.find(".//{urn:xmpp:http:upload:0}put")
        headers = {each.get("name"): each.text for each in put} | {"Content-Type": "image/png"}
        # The names of the upload hosts are in no DNS.
        url = urllib.parse.urlsplit(put.get("url"))._replace(netloc=f"127.0.0.1:{urllib.parse.urlsplit(put.get('url')).port}")
        request = urllib.request.Request(url.geturl(), data=data, method="PUT", headers=headers)
        await asyncio.to_thread(lambda: urllib.request.urlopen(request, timeout=PATIENCE).close())
        return answer.find(".//{urn:xmpp:http:upload:0}get").get("url")

    async def share(self, to, url, kind="chat"):
        message = self.make_message(to, url, mtype=kind)
        message.append(ElementTree.fromstring(f"<x xmlns='jabber:x:oob'><url>{url}</url></x>"))
        message.send()

    async def configure(self, room, **fields):
        lines = "".join(f"<field var='muc#roomconfig_{name}'><value>{value}</value></field>" for name, value in fields.items())
        await self.ask("set", f"""<query xmlns='{MUC}#owner'><x xmlns='jabber:x:data' type='submit'>
          <field var='FORM_TYPE'><value>{MUC}#roomconfig</value></field>{lines}</x></query>""", room)

    async def affiliate(self, room, **people):
        for name, affiliation in people.items():
            await self.ask("set", f"""<query xmlns='{MUC}#admin'>
              <item jid='{name}@localhost' affiliation='{affiliation}'><reason>so be it</reason></item></query>""", room)

    async def affiliated(self, room):
        found = {}
        for affiliation in ("owner", "admin", "member", "outcast"):
            answer = await self.ask("get", f"<query xmlns='{MUC}#admin'><item affiliation='{affiliation}'/></query>", room)
            found.update({item.get("jid"): affiliation for item in answer.iter(f"{{{MUC}#admin}}item")})
        return found


async def fill(server):
    """Romeo and Juliet are contacts and have talked; Romeo has everything; Nurse is away and has a message; Tybalt has asked."""
    romeo, juliet = await Person(server, ROMEO).arrive(), await Person(server, JULIET).arrive()
    romeo.send_presence_subscription(JULIET)
    await romeo.saw("roster_update", lambda iq: iq["roster"]["items"].get(JULIET, {}).get("subscription") == "both")
    await romeo.update_roster(JULIET, name="Juliet, my love", groups=["Verona", "Loves"])
    tybalt = await Person(server, "tybalt@localhost").arrive()
    tybalt.send_presence_subscription(NURSE)

    bodies = ["But soft, what light", "through yonder window <breaks>? & so on", "O Romeo, Romeo!", "again", "again"]
    for number, body in enumerate(bodies):
        one, other, to = (juliet, romeo, ROMEO) if number == 2 else (romeo, juliet, JULIET)
        one.send_message(to, body, mtype="chat")
        await other.saw("message", text(body))
    picture = await romeo.upload("die Rose.png", ROSE)
    await romeo.share(JULIET, picture)
    await juliet.saw("message", text(picture))
    romeo.send_message(NURSE, "Bid her be patient", mtype="chat")

    await romeo.ask("set", f"<query xmlns='jabber:iq:private'>{PRIVATE}</query>")
    await romeo.ask("set", "<vCard xmlns='vcard-temp'><FN>Romeo Montague</FN><URL>http://verona.example/</URL></vCard>")
    hash = hashlib.sha1(ROSE).hexdigest()
    await romeo.publish("urn:xmpp:avatar:data", hash,
                        f"<data xmlns='urn:xmpp:avatar:data'>{base64.b64encode(ROSE).decode()}</data>", "presence")
    await romeo.publish("urn:xmpp:avatar:metadata", hash, f"""<metadata xmlns='urn:xmpp:avatar:metadata'>
        <info bytes='{len(ROSE)}' id='{hash}' type='image/png'/></metadata>""", "presence")
    await romeo.publish(BOOKMARKS, "orchard@conference.localhost",
                        f"<conference xmlns='{BOOKMARKS}' name='The orchard' autojoin='true'><nick>Romy</nick></conference>")
    await romeo.publish(OMEMO, "current", "<list xmlns='eu.siacs.conversations.axolotl'><device id='4223'/></list>", "open")
    await romeo.publish(NOTES, "secret", f"<note xmlns='{NOTES}'>for me alone</note>")
    await romeo.ask("set", "<block xmlns='urn:xmpp:blocking'><item jid='paris@localhost'/><item jid='spam.example'/></block>")
    for person in (romeo, juliet, tybalt):
        await person.ask("get", "<ping xmlns='urn:xmpp:ping'/>")  # what was sent before is stored
    archives = {"file": picture, ROMEO: await romeo.archive(), JULIET: await juliet.archive(), **await fill_rooms(romeo, juliet, tybalt)}
    for person in (romeo, juliet, tybalt):
        await person.leave()
    return archives


async def fill_rooms(romeo, juliet, tybalt):
    """A members-only room that shows addresses, and an open one behind a password that hides them."""
    await romeo.enter(ORCHARD, "Romy")
    await romeo.configure(ORCHARD, roomname="The orchard", roomdesc="Of Capulet", persistentroom=1, publicroom=0, membersonly=1,
                          moderatedroom=0, whois="anyone")
    await romeo.affiliate(ORCHARD, juliet="member", nurse="admin", paris="outcast")
    await juliet.enter(ORCHARD, "Jule")
    await tybalt.enter(SQUARE, "Prince of Cats")
    await tybalt.configure(SQUARE, roomname="The square", persistentroom=1, publicroom=1, membersonly=0, moderatedroom=0,
                           whois="moderators", passwordprotectedroom=1, roomsecret="Verona", changesubject=0)
    await romeo.enter(SQUARE, "A Montague", "Verona")
    await romeo.say(ORCHARD, "It is the east")
    await tybalt.say(SQUARE, "What, drawn, and talk of <peace>?")
    await juliet.say(ORCHARD, "Ay me")
    await romeo.say(SQUARE, "I do protest")
    romeo.plugin["xep_0045"].set_subject(ORCHARD, "Night & stars")
    await romeo.say(ORCHARD, "She speaks")
    return {ORCHARD: await romeo.archive(ORCHARD), SQUARE: await romeo.archive(SQUARE)}


def nothing_lost(before, after):
    """Servers store the two copies of a message within seconds, and it becomes one."""
    expect([line[:2] for line in before] == [line[:2] for line in after], f"{before}\n{after}")
    for (_, _, then), (_, _, now) in zip(before, after):
        apart = datetime.datetime.fromisoformat(now) - datetime.datetime.fromisoformat(then)
        expect(abs(apart.total_seconds()) <= 5, f"said at {then}, and now at {now}")


async def look_at_nodes(checks, where, romeo, juliet):
    with checks.check(f"{where}: bookmarks, keys of OMEMO and a node of one's own are there"):
        bookmark = (await romeo.items(BOOKMARKS))["orchard@conference.localhost"]
        expect(bookmark[0].get("name") == "The orchard" and bookmark[0].get("autojoin") in ("true", "1"), "another bookmark")
        expect("4223" in ElementTree.tostring((await romeo.items(OMEMO))["current"], "unicode"), "no device")
        expect("for me alone" in ElementTree.tostring((await romeo.items(NOTES))["secret"], "unicode"), "no note")
    with checks.check(f"{where}: who could not read a node still cannot"):
        expect("4223" in ElementTree.tostring((await juliet.items(OMEMO, ROMEO))["current"], "unicode"), "no device")
        try:
            seen = await juliet.items(NOTES, ROMEO)
        except IqError:
            seen = None
        expect(seen is None, f"Juliet reads {seen}")


async def look_at_rooms(checks, where, server, romeo, juliet, archives):
    with checks.check(f"{where}: rooms have their configuration, their subject and their people"):
        await romeo.enter(ORCHARD, "Romy")
        info = await romeo.ask("get", "<query xmlns='http://jabber.org/protocol/disco#info'/>", ORCHARD)
        features = {each.get("var") for each in info.iter("{http://jabber.org/protocol/disco#info}feature")}
        expect({"muc_membersonly", "muc_hidden", "muc_nonanonymous", "muc_persistent", "muc_unsecured"} <= features, f"{features}")
        fields = {each.get("var"): each.findtext("{jabber:x:data}value") for each in info.iter("{jabber:x:data}field")}
        told = [fields.get(f"muc#{name}") for name in ("roomconfig_roomname", "roominfo_description", "roominfo_subject")]
        expect(told == ["The orchard", "Of Capulet", "Night & stars"], f"{told}")
        people = await romeo.affiliated(ORCHARD)
        expect(people == {ROMEO: "owner", NURSE: "admin", JULIET: "member", "paris@localhost": "outcast"}, f"{people}")
    with checks.check(f"{where}: the password of a room is the same"):
        try:
            await juliet.enter(SQUARE, "Jule", "Mantua")
            raise Failure("a wrong password opens the room")
        except PresenceError as error:
            expect(error.condition == "not-authorized", f"{error.condition}")
        await juliet.enter(SQUARE, "Jule", "Verona")
    with checks.check(f"{where}: members page the rooms' history, and an app shows it"):
        said = {room: [line for line in archives[room] if line[1]] for room in (ORCHARD, SQUARE)}
        nothing_lost(said[ORCHARD], [line for line in await romeo.archive(ORCHARD) if line[1]])
        nothing_lost(said[SQUARE], [line for line in await juliet.archive(SQUARE) if line[1]])
        for name, title, room in ("romeo", "The orchard", ORCHARD), ("tybalt", "The square", SQUARE):
            shown, authors = await asyncio.to_thread(shown_by_app, server, name, title)
            expect(shown == [line[1] for line in said[room]], f"{shown}")
            # Also where a room hides addresses, everybody's words are their own.
            expect(authors == {ORCHARD: ["romeo", "juliet", "romeo"], SQUARE: ["tybalt", "romeo"]}[room], f"{authors}")


def shown_by_app(server, name, title):
    app = App(server, name)
    dialogs = app.call("GET", "/v1/dialogs")[1]["items"]
    dialog = next(each for each in dialogs if each.get("name") == title)
    messages = app.call("GET", f"/v1/dialogs/{dialog['id']}/messages")[1]["items"]
    said = [each for each in sorted(messages, key=lambda each: each["seq"]) if each["content"]["type"] == "text"]
    return [each["content"]["text"] for each in said], [each["senderId"] for each in said]


def look_at_file(checks, where, server, url):
    with checks.check(f"{where}: the link to a file leads to it at the path that it had, and an app has it as its own"):
        path = urllib.parse.urlsplit(url).path
        with fetch(server, path) as answer:
            expect(answer.read() == ROSE, "other bytes")
            expect("sandbox" in answer.headers["Content-Security-Policy"], f"{answer.headers}")
        for other in ("/file_share/0123456789abcdef/x.png", path + "x", "/nothing"):
            try:
                fetch(server, other).close()
                raise Failure(f"{other} is there")
            except urllib.error.HTTPError as error:
                expect(error.code == 404 and json.load(error)["code"] == "path-unknown", f"{other}: {error.code}")
        app = App(server, "juliet")
        dialog = next(each for each in app.call("GET", "/v1/dialogs")[1]["items"] if each.get("user", {}).get("id") == "romeo")
        said = app.call("GET", f"/v1/dialogs/{dialog['id']}/messages")[1]["items"]
        (file,) = [each["content"]["attachments"][0] for each in said if each["content"]["type"] == "image"]
        expect(file["size"] == len(ROSE) and file["name"].endswith("Rose.png") and "/uploads/" in file["url"], f"{file}")
        with fetch(server, urllib.parse.urlsplit(file["url"]).path) as answer:
            expect(answer.read() == ROSE, "other bytes")
        use = App(server, "romeo").call("GET", "/v1/users/me/storage")[1]
        expect(use["bytes"] == len(ROSE), f"{use}")


def fetch(server, path):
    return urllib.request.urlopen(f"http://127.0.0.1:{server.http}{path}", timeout=PATIENCE)


async def look(checks, where, server, archives=None):
    with checks.check(f"{where}: slixmpp logs in with its old password, and finds its contacts"):
        romeo = await Person(server, ROMEO).arrive()
        item = romeo.client_roster[JULIET]
        expect(item["subscription"] == "both" and item["name"] == "Juliet, my love", f"{item['subscription']} {item['name']}")
        expect(set(item["groups"]) == {"Verona", "Loves"}, f"{item['groups']}")
    with checks.check(f"{where}: vCard, picture and private data are there"):
        card = await romeo.ask("get", "<vCard xmlns='vcard-temp'/>")
        expect(card.findtext(".//{vcard-temp}FN") == "Romeo Montague", ElementTree.tostring(card, "unicode"))
        picture = card.findtext(".//{vcard-temp}BINVAL")
        expect(not archives or picture and base64.b64decode(picture) == ROSE, f"{picture}")
        kept = await romeo.ask("get", "<query xmlns='jabber:iq:private'><exodus xmlns='exodus:prefs'/></query>")
        expect(kept.findtext(".//{exodus:prefs}defaultnick") == "Romeo & Co", ElementTree.tostring(kept, "unicode"))
    juliet = await Person(server, JULIET).arrive()
    if archives:
        await look_at_nodes(checks, where, romeo, juliet)
        with checks.check(f"{where}: the whole history is there, at its time, once"):
            nothing_lost(archives[ROMEO], await romeo.archive())
            nothing_lost(archives[JULIET], await juliet.archive())
        await look_at_rooms(checks, where, server, romeo, juliet, archives)
        if archives.get("file"):
            await asyncio.to_thread(look_at_file, checks, where, server, archives["file"])
    with checks.check(f"{where}: blocks are in force"):
        blocked = await romeo.ask("get", "<blocklist xmlns='urn:xmpp:blocking'/>")
        jids = {item.get("jid") for item in blocked.iter("{urn:xmpp:blocking}item")}
        expect(jids == {"paris@localhost", "spam.example"}, f"{jids}")
    with checks.check(f"{where}: who was away gets the message that waited, and the request"):
        nurse = Person(server, NURSE)
        nurse.auto_authorize = nurse.auto_subscribe = None
        await nurse.arrive()
        await nurse.saw("message", text("Bid her be patient"))
        await nurse.saw("presence_subscribe", lambda presence: presence["from"].bare == "tybalt@localhost")
    for person in (romeo, juliet, nurse):
        await person.leave()


def parley(server, *arguments, status=0):
    done = subprocess.run(
        [str(BINARY), *map(str, arguments), "--config", server.configuration], env=server.environment(), capture_output=True,
        text=True, timeout=120)
    expect(done.returncode == status, f"parley {arguments}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def imported(checks, where, server, *source):
    """Imports into the data folder: first on trial, then again, then once more."""
    with checks.check(f"{where}: a dry run changes nothing"):
        trial = json.loads(parley(server, "import", *source, "--dry-run", "--json"))
        expect(trial["accounts"]["imported"] >= 3 and trial["accounts"]["failed"] == 0, f"{trial}")
        expect(not pathlib.Path(server.data).exists(), "there is a data folder")
    with checks.check(f"{where}: everything is imported, and a repeat finds it there"):
        said = json.loads(parley(server, "import", *source, "--json"))
        kinds = ("accounts", "files", "rooms", "messages", "records")
        links = 0 if where.startswith("XEP-0227") else said["links"]
        expect(sum(said[kind]["failed"] for kind in kinds) + said["unreadable"] + links == 0, f"{said}")
        expect(said == trial, f"the dry run said {trial}, and the import {said}")
        again = json.loads(parley(server, "import", *source, "--json"))
        expect(all(again[kind]["failed"] == 0 for kind in kinds), f"{again}")
        expect(all(again[kind]["imported"] == 0 for kind in kinds[:4]), f"{again}")
        expect(again["messages"]["present"] == said["messages"]["imported"], f"{said} {again}")


def blanked(export):
    """An export without the ids of archives, which are each server's own."""
    return re.sub(r"(<result [^>]*id=['\"])[^'\"]*", r"\1", export)


async def from_prosody(checks, storage):
    where = f"Prosody, {storage}"
    with Prosody(storage) as prosody, Server() as server:
        prosody.add_users("romeo", "juliet", "nurse", "tybalt")
        prosody.start()
        archives = await fill(prosody)
        prosody.stop()
        source = prosody.data if storage == "internal" else prosody.data / "prosody.sqlite"
        imported(checks, where, server, "prosody", source)
        exported = parley(server, "export", "xep0227")
        server.start()
        await look(checks, where, server, archives)
    return exported


async def from_ejabberd(checks):
    """All of its own database; and what ejabberd itself writes in the portable format, without nodes, archives and rooms."""
    with Ejabberd() as ejabberd:
        archives = await fill_ejabberd(ejabberd)
        dump = ejabberd.folder / "dump.txt"
        ejabberd.call("dump", file=str(dump))
        ejabberd.call("export_piefxis_host", dir=str(ejabberd.folder), host=DOMAIN)
        ejabberd.stop()
        (host,) = ejabberd.folder.glob(f"*_{DOMAIN}.xml")
        portable = host.with_name(host.name.replace(f"_{DOMAIN}", ""))
        await look_after_import(checks, "ejabberd", archives, "ejabberd", dump, "--uploads", ejabberd.uploads)
        await look_after_import(checks, "ejabberd, XEP-0227", None, "xep0227", portable)


async def from_ejabberd_sql(checks, storage):
    where = f"ejabberd, {storage}"
    with Ejabberd(storage) as ejabberd:
        archives = await fill_ejabberd(ejabberd)
        if storage == "sqlite":
            source = ejabberd.database
        else:
            source = ejabberd.folder / "dump.sql"
            source.write_text(ejabberd.sql.dump())
        ejabberd.stop()
        await look_after_import(checks, where, archives, "ejabberd", source, "--domain", DOMAIN, "--uploads", ejabberd.uploads)


async def fill_ejabberd(ejabberd):
    ejabberd.start().add_users("romeo", "juliet", "nurse", "tybalt")
    ejabberd.call("srg_create", group="sales", host=DOMAIN, label="Sales", description="", display="sales")
    for user in ("nurse", "juliet"):
        ejabberd.call("srg_user_add", user=user, host=DOMAIN, group="sales", grouphost=DOMAIN)
    return await fill(ejabberd)


async def look_after_import(checks, where, archives, *source):
    with Server() as server:
        imported(checks, where, server, *source)
        if archives:
            with checks.check(f"{where}: a shared roster group is a contact group"):
                shown = json.loads(parley(server, "contact-group", "show", "sales", "--json"))
                expect(shown["group"]["displayName"] == "Sales" and set(shown["members"]) == {JULIET, NURSE}, f"{shown}")
        server.start()
        await look(checks, where, server, archives)


async def round_trip(checks, exported):
    with Server() as server:
        file = pathlib.Path(server.folder) / "export.xml"
        file.write_text(exported)
        imported(checks, "XEP-0227", server, "xep0227", file)
        with checks.check("XEP-0227: what was exported and imported is exported again as it was"):
            again = parley(server, "export", "xep0227")
            one, other = blanked(exported), blanked(again)
            expect(one == other, next(
                (f"{a}\n{b}" for a, b in zip(one.replace("><", ">\n<").split("\n"), other.replace("><", ">\n<").split("\n")) if a != b),
                f"{len(one)} and {len(other)} characters"))


def native_round_trip(checks):
    """What an app has written is an app's again at another Parley, and what the format does not carry is missing there."""
    with Server() as server, Server() as other:
        server.start()
        server.add_users("romeo", "juliet", "tybalt")
        server.befriend("romeo", "juliet")
        romeo, juliet = App(server, "romeo"), App(server, "juliet")
        dialog = romeo.dialog("juliet")
        path = f"/v1/dialogs/{dialog}/messages"

        def change(app, method, message, more="", body=None):
            status, answer = app.call(method, f"{path}/{message['id']}{more}", body)
            expect(status < 300, f"{method} {more}: {status} {answer}")

        first, second, third = (romeo.say(dialog, text) for text in ("But soft", "what ligth", "that I had never said"))
        change(romeo, "PATCH", second, body={"text": "what light"})
        for message in first, third:
            change(juliet, "PUT", message, "/reactions", {"emoji": ["🌙", "👍"]})
        change(romeo, "PATCH", third, body={"text": "that I had ever said"})
        delete(romeo, dialog, third)
        for message in (
                {"clientId": "reply", "content": {"type": "text", "text": "Ay me"}, "replyTo": first["id"]},
                {"clientId": "place", "content": {"type": "location", "lat": 45.4, "lng": 10.9}},
                {"clientId": "own", "content": {"type": "custom", "kind": "balcony", "text": "A balcony", "payload": {"height": 3}}}):
            status, answer = juliet.call("POST", path, message)
            expect(status == 201, f"{status} {answer}")
        attach(romeo, dialog, upload(server, romeo, ROSE, "rose.png", "image/png"), "picture")
        status, group = juliet.call("POST", "/v1/dialogs", {"type": "group", "name": "Verona", "memberIds": ["romeo"]})
        juliet.say(group["id"], "in the group")
        juliet.call("PUT", f"/v1/dialogs/{dialog}/marker", {"read": first["id"]})
        server.command("user", "disable", "tybalt@localhost")
        before = [shown(romeo, dialog), shown(juliet, dialog)]
        file = pathlib.Path(server.folder) / "native.xml"
        file.write_text(parley(server, "export", "xep0227"))
        imported(checks, "XEP-0227, native", other, "xep0227", file)
        other.start()
        with checks.check("XEP-0227, native: edits, reactions, replies and contents of apps are as they were; what was deleted is gone"):
            romeo, juliet = App(other, "romeo"), App(other, "juliet")
            dialog = romeo.dialog("juliet")
            expect([shown(romeo, dialog), shown(juliet, dialog)] == before, f"{before}\n{shown(romeo, dialog)}")
        with checks.check("XEP-0227, native: a disabled account is disabled, and has its password when it is enabled"):
            state = {user["jid"]: user["state"] for user in json.loads(other.command("user", "list", "--json"))}
            expect(state["tybalt@localhost"] == "disabled", f"{state}")
            status, _ = romeo.call(
                "POST", "/v1/sessions", {"grant": "password", "username": "tybalt", "password": PASSWORD}, token=None)
            expect(status in (401, 403), f"{status}")
            other.command("user", "enable", "tybalt@localhost")
            App(other, "tybalt")
        with checks.check("XEP-0227, native: groups, and what was read, stay behind"):
            dialogs = juliet.call("GET", "/v1/dialogs")[1]["items"]
            expect([each["id"] for each in dialogs] == [dialog], f"{dialogs}")


def shown(app, dialog):
    """What an app shows of a dialog but what was deleted; messages are called by their places."""
    history = [message for message in app.history(dialog) if message["content"]["type"] != "deleted"]
    for message in history:
        for file in message["content"].get("attachments", []):
            file.pop("id", None)  # it is the link to a file that another server has
    places = {message["id"]: place for place, message in enumerate(history)}
    return [(
        message["senderId"], message["sentAt"], message["content"], message.get("editedAt"), message.get("reactions"),
        places.get(message.get("replyTo"))) for message in history]


async def scenario(checks):
    await from_prosody(checks, "sql")
    exported = await from_prosody(checks, "internal")
    await from_ejabberd(checks)
    for storage in ("sqlite", "pgsql", "mysql"):
        await from_ejabberd_sql(checks, storage)
    await round_trip(checks, exported)
    native_round_trip(checks)


def run(checks):
    asyncio.run(scenario(checks))


if __name__ == "__main__":
    checks = Checks()
    run(checks)
