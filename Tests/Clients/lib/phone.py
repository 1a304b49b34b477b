"""`Phone` is a client with the habits of Conversations 2.12.8 (docs/clients.md says what was read): the same payloads in the same
order, the same tolerance, and the same rules for what its user sees. It is blocking, and sleeps when nobody waits for it.
"""
import socket
import ssl
import uuid
import xml.etree.ElementTree as ElementTree
from xml.sax.saxutils import escape, quoteattr

from lib.harness import PASSWORD, PATIENCE, Failure, expect
from lib.phone_shown import (
    ADMIN, BOOKMARKS, CAPS, INFO, ITEMS, MARKERS, MUC, OWNER, RECEIPTS, RSM, SID, STORE, USER, VERSION, Line, Room, Shown, condition)
from lib.sasl2 import BIND2, CARBONS, FAST, MAM, SASL2, Tokens
from lib.wire import FORM, PUBSUB, PUSH, SM, Gone

# 20 at a time and not 50: paging is what is to be seen.
PAGE = 20
OPEN = {"pubsub#access_model": "open"}
PRIVATE = {"pubsub#persist_items": "true", "pubsub#access_model": "whitelist"}
# What it asks of a group, and of a room whose name was typed.
GROUP = {"persistentroom": "1", "membersonly": "1", "publicroom": "0", "whois": "anyone", "changesubject": "0", "allowinvites": "0",
         "enablearchiving": "1", "mam": "1"}
CHANNEL = {"persistentroom": "1", "membersonly": "0", "publicroom": "1", "whois": "moderators", "changesubject": "0",
           "enablearchiving": "1", "mam": "1"}


def form(values, kind=None):
    first = f"<field var='FORM_TYPE' type='hidden'><value>{kind}</value></field>" if kind else ""
    return f"<x xmlns='{FORM}' type='submit'>{first}" + "".join(
        f"<field var='{name}'><value>{escape(value)}</value></field>" for name, value in values.items()) + "</x>"


class Phone(Shown, Tokens):
    mechanism = "HT-SHA-256-ENDP"

    def __init__(self, server, name, password=PASSWORD):
        super().__init__(name, server)
        self.account, self.password, self.agent = f"{name}@localhost", password, str(uuid.uuid4())
        self.stream, self.jid, self.asked, self.errors = None, None, 0, []
        self.sent, self.received, self.queue, self.counting = 0, 0, [], False
        self.answers, self.queries, self.talks, self.rooms = {}, {}, {}, {}
        self.roster, self.version, self.services, self.features = {}, "", {}, {}
        self.bookmarks, self.pictures, self.names, self.devices, self.blocked = {}, {}, {}, {}, set()
        self.present, self.seen_caps, self.calls, self.invitations, self.unread = {}, {}, {}, [], {}
        self.unsent, self.ended = [], None

    # The connection

    def log_in(self):
        """One round trip with a token, whose request goes out before the features have come; what the answer is."""
        self.dial()
        wished = self.wishes()
        if self.token:
            self.open(self.authenticate(self.token, wished))
            answer = self.success_or_failure()
            if answer.tag.endswith("}failure"):
                # On the same stream, with the password.
                self.token = None
                self.stanza(lambda s: s.tag.endswith("}features"), "the features of before")
                self.by_password(wished)
        else:
            self.open()
            self.stanza(lambda s: s.tag.endswith("}features"), "features")
            self.by_password(wished)
        resumed = self.counting == "resumed"
        if not resumed:
            self.begin()
        return resumed

    def dial(self):
        raw = socket.create_connection(("127.0.0.1", self.server.tls), timeout=PATIENCE)
        context = ssl.create_default_context(cafile=self.server.certificate)
        context.set_alpn_protocols(["xmpp-client"])
        self.socket = context.wrap_socket(raw, server_hostname="localhost")
        self.kept, self.counting, self.ended = [], False, None

    def open(self, behind=""):
        self.parser = ElementTree.XMLPullParser(["start", "end"])
        self.depth, self.root = 0, None
        self.send(f"<?xml version='1.0'?><stream:stream to='localhost' from='{self.account}' version='1.0' xml:lang='en' "
                   f"xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams'>{behind}")

    def wishes(self):
        resume = f"<resume xmlns='{SM}' previd='{self.stream}' h='{self.received}'/>" if self.stream else ""
        return (f"<user-agent id='{self.agent}'><software>Conversations</software><device>A phone</device></user-agent>"
                f"<bind xmlns='{BIND2}'><tag>Conversations</tag><enable xmlns='{CARBONS}'/>"
                f"<enable xmlns='{SM}' resume='true'/></bind>{resume}")

    def by_password(self, wished):
        self.scram(wished + f"<request-token xmlns='{FAST}' mechanism='{self.mechanism}'/>", self.password)

    def success_or_failure(self):
        return self.stanza(lambda s: s.tag in (f"{{{SASL2}}}success", f"{{{SASL2}}}failure"), "an answer to its token")

    def taken(self, success):
        super().taken(success)
        self.jid = success.findtext(f"{{{SASL2}}}authorization-identifier")
        resumed, failed = success.find(f"{{{SM}}}resumed"), success.find(f"{{{SM}}}failed")
        bound = success.find(f"{{{BIND2}}}bound")
        expect((resumed is None) != (bound is None), "both a session that goes on and a new one, or neither")
        if resumed is not None:
            self.counting = "resumed"
            self.confirmed(int(resumed.get("h")))
            again, self.queue, self.sent = [stanza for _, stanza in self.queue], [], int(resumed.get("h"))
            for stanza in again:
                self.put(stanza)
            return
        if failed is not None and failed.get("h"):
            self.confirmed(int(failed.get("h")))
        enabled = bound.find(f"{{{SM}}}enabled")
        expect(enabled is not None and enabled.get("resume") == "true", "stream management is not enabled")
        self.stream, self.counting, self.received = enabled.get("id"), "bound", 0
        # Requests are forgotten, messages come again with the same id.
        self.unsent = [stanza for _, stanza in self.queue if stanza.startswith("<message")]
        self.sent, self.queue, self.answers = 0, [], {}
        for room in self.rooms.values():
            room.online = False

    def confirmed(self, count):
        for number, stanza in self.queue:
            if number <= count:
                for line in (line for lines in self.talks.values() for line in lines if line.mine and line.state == "unsent"):
                    if f"id='{line.said}'" in stanza:
                        line.state = "sent"
        self.queue = [(number, stanza) for number, stanza in self.queue if number > count]

    def begin(self):
        """What it asks behind a new session, in its order."""
        self.stanza(lambda s: s.tag.endswith("}features"), "features right behind success")
        items = self.ask(f"<query xmlns='{ITEMS}'/>", to="localhost")
        server = self.ask(f"<query xmlns='{INFO}'/>", to="localhost")
        preferences = self.ask(f"<prefs xmlns='{MAM}'/>")
        account = self.ask(f"<query xmlns='{INFO}'/>", to=self.account)
        for item in self.answer(items).iter(f"{{{ITEMS}}}item"):
            self.services[item.get("jid")] = self.ask(f"<query xmlns='{INFO}'/>", to=item.get("jid"))
        self.features = {who: self.learned(asked) for who, asked in ((None, server), (self.account, account))}
        self.services = {who: self.learned(asked) if asked else None for who, asked in self.services.items()}
        self.answer(preferences)
        blocked = self.answer(self.ask("<blocklist xmlns='urn:xmpp:blocking'/>"))
        self.blocked = {item.get("jid") for item in blocked.iter("{urn:xmpp:blocking}item")}
        self.catch_up()
        self.answer(self.ask(f"<query xmlns='{ITEMS}' node='http://jabber.org/protocol/commands'/>", to="localhost"))
        self.take_roster(self.answer(self.ask(f"<query xmlns='jabber:iq:roster' ver={quoteattr(self.version)}/>")))
        self.put(f"<presence>{self.caps()}</presence>")
        for jid, room in list(self.rooms.items()):
            self.enter(jid, room.nick)
        for stanza in self.unsent:
            self.put(stanza)
        self.unsent = []

    def learned(self, asked):
        answer = self.answer(asked)
        return {feature.get("var") for feature in answer.iter(f"{{{INFO}}}feature")}

    @staticmethod
    def caps():
        return f"<c xmlns='{CAPS}' hash='sha-1' node='http://conversations.im' ver='{VERSION}'/>"

    def lose(self):
        """The network is gone, which only the phone knows: nothing is closed. The dead connection."""
        dead, self.socket = self.socket, None
        return dead

    def log_out(self):
        for jid, room in self.rooms.items():
            if room.online:
                self.leave(jid)
        self.put(f"<presence from='{self.jid}' type='unavailable'/>")
        self.send("</stream:stream>")
        while True:
            try:
                self.read(PATIENCE, "the end of the stream")
            except Gone:
                break
        self.close()
        self.stream = None

    # What goes out

    def put(self, stanza, reaches=True):
        """Sends a stanza of the session: counted, kept until it is confirmed, and every message asks for that."""
        self.sent += 1
        self.queue.append((self.sent, stanza))
        if self.socket and reaches:
            self.send(stanza + (f"<r xmlns='{SM}'/>" if stanza.startswith("<message") else ""))

    def ask(self, payload, kind="get", to=None):
        self.asked += 1
        to = f" to={quoteattr(to)}" if to else ""
        self.put(f"<iq from='{self.jid}' type='{kind}'{to} id='c{self.asked}'>{payload}</iq>")
        return f"c{self.asked}"

    def answer(self, asked, but=()):
        """The answer; an error that is not one of these is what its user would report."""
        self.until(lambda: asked in self.answers, f"the answer to {asked}")
        stanza = self.answers.pop(asked)
        if stanza.get("type") == "error" and not set(condition(stanza)) & set(but):
            raise Failure(f"{self.name} is answered {ElementTree.tostring(stanza)}")
        return stanza

    def set(self, payload, to=None, but=()):
        return self.answer(self.ask(payload, "set", to), but)

    def settled(self):
        """Everything that was caused before has come."""
        self.answer(self.ask("<ping xmlns='urn:xmpp:ping'/>", to="localhost"))

    def until(self, test, what):
        while not test():
            self.read(PATIENCE, what)

    def say(self, to, body, more="", reaches=True, corrects=None):
        """In a private talk, or in a room."""
        room = self.rooms.get(to)
        line = Line(f"{to}/{room.nick}" if room else self.account, body, str(uuid.uuid4()), None, True)
        line.state = "unsent"
        if corrects:
            more += f"<replace xmlns='urn:xmpp:message-correct:0' id='{corrects.said}'/>"
            corrects.body, corrects.edited = body, True
        else:
            self.talks.setdefault(to, []).append(line)
        kind = "groupchat" if room else "chat"
        receipt = "" if room else f"<request xmlns='{RECEIPTS}'/>"
        markable = f"<markable xmlns='{MARKERS}'/>" if not room or {"muc_membersonly", "muc_nonanonymous"} <= room.features else ""
        origin = "" if room and f"{MUC}#stable_id" in room.features else f"<origin-id xmlns='{SID}' id='{line.said}'/>"
        self.put(f"<message to={quoteattr(to)} type='{kind}' from='{self.jid}' id='{line.said}'>{receipt}{markable}{origin}{more}"
                 f"<body>{escape(body)}</body></message>", reaches)
        return line

    def read_all(self, who):
        """Its user looks at a talk: the newest message is marked as displayed."""
        self.unread[who] = 0
        line = next(line for line in reversed(self.talks[who]) if not line.mine)
        if who in self.rooms:
            self.put(f"<message type='groupchat' to='{who}'><displayed xmlns='{MARKERS}' id='{line.stored}'/>{STORE}</message>")
        else:
            self.put(f"<message type='chat' to='{line.sender}'><displayed xmlns='{MARKERS}' id='{line.said}'/>{STORE}</message>")

    def publish(self, node, item, payload, options=None):
        """With what the node must be; where it is otherwise, it is made so, and the publication comes again (XEP-0060 7.1.5)."""
        wanted = f"<publish-options>{form(options, f'{PUBSUB}#publish-options')}</publish-options>" if options else ""
        stanza = f"<pubsub xmlns='{PUBSUB}'><publish node='{node}'><item id='{item}'>{payload}</item></publish>{wanted}</pubsub>"
        answer = self.set(stanza, but=["precondition-not-met"])
        if answer.get("type") == "result":
            return False
        owner = f"{PUBSUB}#owner"
        asked = self.answer(self.ask(f"<pubsub xmlns='{owner}'><configure node='{node}'/></pubsub>", to=self.account))
        filled = self.filled(asked.find(f".//{{{FORM}}}x"), options)
        self.set(f"<pubsub xmlns='{owner}'><configure node='{node}'>{filled}</configure></pubsub>", to=self.account)
        self.set(stanza)
        return True

    @staticmethod
    def filled(x, values):
        """The form as it came, with these values where it has such a field, and without what only explains."""
        x.set("type", "submit")
        for child in list(x):
            if not child.tag.endswith(("}field", "}title")):
                x.remove(child)
                continue
            value = values.get(child.get("var"))
            for inner in list(child):
                if not inner.tag.endswith("}value") or value is not None:
                    child.remove(inner)
            if value is not None:
                ElementTree.SubElement(child, f"{{{FORM}}}value").text = value
        return ElementTree.tostring(x, encoding="unicode")

    # Rooms

    def enter(self, jid, nick, created=False):
        """What the room is, then the way in, then the archive: nothing waits for presence."""
        room = self.rooms[jid] = Room(nick)
        info = self.answer(self.ask(f"<query xmlns='{INFO}'/>", to=jid), but=[
            "item-not-found", "registration-required", "forbidden"])
        failed = info.get("type") == "error"
        self.configured(room, info)
        archived = MAM in room.features
        history = "maxchars='0'" if archived else "since='1970-01-01T00:00:00.000Z'"
        self.put(f"<presence to={quoteattr(f'{jid}/{nick}')}>{self.caps()}<x xmlns='{MUC}'><history {history}/></x></presence>")
        if created:
            return room
        if archived:
            self.catch_up(jid)
        if {"muc_membersonly", "muc_nonanonymous"} <= room.features:
            self.fetch_members(jid)
        if failed:
            self.configured(room, self.answer(self.ask(f"<query xmlns='{INFO}'/>", to=jid), but=["item-not-found"]))
        self.until(lambda: room.online or room.error, f"to be in {jid}")
        expect(not room.error, f"{jid} is answered {room.error}")
        if "201" in room.codes:
            self.configure(jid, CHANNEL)
        return room

    @staticmethod
    def configured(room, info):
        if info.get("type") == "result":
            room.features = {feature.get("var") for feature in info.iter(f"{{{INFO}}}feature")}
            first = info.find(f".//{{{FORM}}}x")
            fields = {} if first is None else {field.get("var"): field.findtext(f"{{{FORM}}}value") for field in first}
            room.name = fields.get("muc#roomconfig_roomname") or info.find(f".//{{{INFO}}}identity").get("name")

    def configure(self, jid, wishes):
        asked = self.answer(self.ask(f"<query xmlns='{OWNER}'/>", to=jid))
        values = {f"muc#roomconfig_{name}": value for name, value in wishes.items()} | {"mam": "1"}
        self.set(f"<query xmlns='{OWNER}'>{self.filled(asked.find(f'.//{{{FORM}}}x'), values)}</query>", to=jid)
        self.configured(self.rooms[jid], self.answer(self.ask(f"<query xmlns='{INFO}'/>", to=jid)))

    def make_group(self, jid, name, people, nick):
        """The form is asked for right behind the presence that makes the room."""
        room = self.enter(jid, nick, created=True)
        self.configure(jid, {**GROUP, "roomname": name})
        for person in people:
            self.set(f"<query xmlns='{ADMIN}'><item jid='{person}' affiliation='none'/></query>", to=jid)
            self.put(f"<message to='{jid}' from='{self.jid}'><x xmlns='{USER}'><invite to='{person}'/></x></message>")
        for other in self.present.get(self.account, ()):
            self.put(f"<message to='{self.account}/{other}' from='{self.jid}'><x xmlns='jabber:x:conference' jid='{jid}'/>"
                     "<no-store xmlns='urn:xmpp:hints'/><no-copy xmlns='urn:xmpp:hints'/></message>")
        self.bookmark(jid, name)
        self.until(lambda: room.online, f"to be in {jid}")
        return room

    def bookmark(self, jid, name):
        self.bookmarks[jid] = (name, True)
        stored = "".join(f"<conference jid={quoteattr(one)} name={quoteattr(title or '')} autojoin='{str(auto).lower()}'/>"
                         for one, (title, auto) in self.bookmarks.items())
        return self.publish(BOOKMARKS, "current", f"<storage xmlns='{BOOKMARKS}'>{stored}</storage>", PRIVATE)

    def fetch_members(self, jid):
        for affiliation in ("member", "admin", "owner"):
            answer = self.answer(self.ask(f"<query xmlns='{ADMIN}'><item affiliation='{affiliation}'/></query>", to=jid))
            for item in answer.iter(f"{{{ADMIN}}}item"):
                self.rooms[jid].members[item.get("jid")] = item.get("affiliation")

    def leave(self, jid):
        room = self.rooms[jid]
        self.put(f"<presence to={quoteattr(f'{jid}/{room.nick}')} from='{self.jid}' type='unavailable'/>")
        room.online = False

    def rename(self, jid, nick):
        self.put(f"<presence to={quoteattr(f'{jid}/{nick}')}>{self.caps()}</presence>")
        self.until(lambda: self.rooms[jid].nick == nick or self.rooms[jid].error, f"to be {nick}")

    def still_there(self, jid):
        """XEP-0410, with the answers that it takes for a yes."""
        answer = self.answer(self.ask("<ping xmlns='urn:xmpp:ping'/>", to=f"{jid}/{self.rooms[jid].nick}"), but=[
            "not-acceptable", "service-unavailable", "feature-not-implemented", "item-not-found"])
        if answer.get("type") == "error" and not set(condition(answer)) & {
                "service-unavailable", "feature-not-implemented", "item-not-found"}:
            self.enter(jid, self.rooms[jid].nick)
            return False
        return True

    # The archive

    def catch_up(self, room=None):
        """Behind the last message that has an id of the archive: its own, or a room's."""
        lines = self.talks.get(room, []) if room else [
            line for who, lines in self.talks.items() if who not in self.rooms for line in lines]
        stored = [line.stored for line in lines if line.stored]
        if room and not stored:
            return self.query("<before/>", room)
        return self.pages(max(stored), room) if stored else 0

    def pages(self, after, room=None):
        pages = 0
        while True:
            fin = self.query(f"<after>{after}</after>", room)
            pages, last = pages + 1, fin.findtext(f"{{{RSM}}}set/{{{RSM}}}last")
            if fin.get("complete") == "true" or not last:
                return pages
            after = last

    def query(self, page, room=None, who=None):
        name = uuid.uuid4().hex[:10]
        fields = {"with": who} if who else {}
        self.queries[name] = (room, page.startswith("<before"))
        self.earlier = []
        asked = self.ask(f"<query xmlns='{MAM}' queryid='{name}'>{form(fields, MAM)}<set xmlns='{RSM}'>{page}<max>{PAGE}</max></set>"
                         "</query>", "set", room)
        fin = self.answer(asked, but=["item-not-found", "forbidden"]).find(f"{{{MAM}}}fin")
        for chat, line in reversed(self.earlier):
            self.talks.setdefault(chat, []).insert(0, line)
        return fin if fin is not None else ElementTree.Element("fin", complete="true")

    def look_back(self, who):
        """Its user scrolls up to the first message: pages from the end."""
        page, pages = "<before/>", 0
        while True:
            fin = self.query(page, who if who in self.rooms else None, None if who in self.rooms else who)
            pages, first = pages + 1, fin.findtext(f"{{{RSM}}}set/{{{RSM}}}first")
            if fin.get("complete") == "true" or not first:
                return pages
            page = f"<before>{first}</before>"

    # Its push service, which only takes this from it

    def wake_by(self, service, node):
        secret = form({"secret": "a secret"}, f"{PUBSUB}#publish-options")
        self.set(f"<enable xmlns='{PUSH}' jid='{service}' node='{node}'>{secret}</enable>")
