"""What comes to a `Phone`, and what its user sees of it: Conversations' rules, by which a message is one that was there already,
replaces another, or is the own one come back from a room.
"""
import base64
import datetime
import hashlib
import xml.etree.ElementTree as ElementTree
from xml.sax.saxutils import quoteattr

from lib.harness import Failure, expect
from lib.sasl2 import CARBONS, MAM, SASL2
from lib.wire import PUBSUB, SM, STANZAS

MUC = "http://jabber.org/protocol/muc"
USER, ADMIN, OWNER = f"{MUC}#user", f"{MUC}#admin", f"{MUC}#owner"
INFO, ITEMS = "http://jabber.org/protocol/disco#info", "http://jabber.org/protocol/disco#items"
DELAY, CAPS, RSM, SID = "urn:xmpp:delay", "http://jabber.org/protocol/caps", "http://jabber.org/protocol/rsm", "urn:xmpp:sid:0"
MARKERS, RECEIPTS, CALL = "urn:xmpp:chat-markers:0", "urn:xmpp:receipts", "urn:xmpp:jingle-message:0"
AVATAR, NICK, BOOKMARKS = "urn:xmpp:avatar", "http://jabber.org/protocol/nick", "storage:bookmarks"
OMEMO = "eu.siacs.conversations.axolotl"
REACTIONS = "urn:xmpp:reactions:0"
STORE = "<store xmlns='urn:xmpp:hints'/>"
# In the order of their code points, as their hash wants it.
FEATURES = sorted([
    "http://jabber.org/protocol/caps", "http://jabber.org/protocol/chatstates", INFO, MUC, f"{NICK}+notify", "jabber:iq:version",
    "jabber:x:conference", "jabber:x:oob", f"{BOOKMARKS}+notify", f"{OMEMO}.devicelist+notify", f"{AVATAR}:metadata+notify",
    MARKERS, CALL, "urn:xmpp:jingle:1", "urn:xmpp:jingle:apps:rtp:1", "urn:xmpp:jingle:apps:rtp:audio",
    "urn:xmpp:jingle:transports:ice-udp:1", "urn:xmpp:message-correct:0", "urn:xmpp:ping", RECEIPTS, "urn:xmpp:time"])
VERSION = base64.b64encode(
    hashlib.sha1(("client/phone//Conversations<" + "<".join(FEATURES) + "<").encode()).digest()).decode()


def bare(jid):
    return jid.partition("/")[0]


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def condition(stanza):
    error = stanza.find("{jabber:client}error")
    return [child.tag.rpartition("}")[2] for child in error] if error is not None else []


class Line:
    """A message as its user sees it. `said` is its own id, `stored` that of the archive."""

    def __init__(self, sender, body, said, stored, mine, time=None):
        self.sender, self.body, self.said, self.stored, self.mine = sender, body, said, stored, mine
        self.state, self.edited, self.reactions, self.time = "received", False, [], time or now()
        self.former = set()  # its ids before it was corrected

    def __repr__(self):
        return f"{self.sender}: {self.body}"

    def like(self, other):
        """Whether it counts as the same one."""
        if self.stored and other.stored:
            return self.stored == other.stored
        return self.said == other.said and self.sender == other.sender and self.body == other.body


class Room:
    def __init__(self, nick):
        self.nick, self.online, self.error, self.subject, self.name = nick, False, None, None, None
        self.features, self.people, self.members, self.codes, self.renamed = set(), {}, {}, set(), None


class Shown:
    """The half of `Phone` that only takes."""

    def parse(self, data):
        return [stanza for stanza in super().parse(data) if not self.take(stanza)]

    def take(self, stanza):
        if stanza.tag in STANZAS:
            self.received += 1
            {"message": self.take_message, "presence": self.take_presence, "iq": self.take_iq}[stanza.tag.rpartition("}")[2]](stanza)
        elif stanza.tag == f"{{{SM}}}r":
            self.send(f"<a xmlns='{SM}' h='{self.received}'/>")
        elif stanza.tag == f"{{{SM}}}a":
            self.confirmed(int(stanza.get("h")))
        elif stanza.tag == f"{{{SASL2}}}success":
            self.taken(stanza)
            return False
        elif stanza.tag.endswith("}error"):
            self.ended = [child.tag.rpartition("}")[2] for child in stanza]
            return False
        else:
            return False
        return True

    def take_iq(self, iq):
        if iq.get("type") in ("result", "error"):
            self.answers[iq.get("id")] = iq
            return
        payload = iq[0] if len(iq) else None
        to = f" to={quoteattr(iq.get('from'))}" if iq.get("from") else ""
        if payload is not None and payload.tag == f"{{{INFO}}}query":
            node = payload.get("node")
            found = "".join(f"<feature var={quoteattr(feature)}/>" for feature in FEATURES)
            inner = (f"<query xmlns='{INFO}'{f' node={quoteattr(node)}' if node else ''}>"
                     f"<identity category='client' type='phone' name='Conversations'/>{found}</query>")
        elif payload is not None and payload.tag == "{jabber:iq:roster}query":
            self.take_roster(iq)
            inner = ""
        elif payload is not None and payload.tag in ("{urn:xmpp:blocking}block", "{urn:xmpp:blocking}unblock"):
            jids = {item.get("jid") for item in payload}
            self.blocked = self.blocked | jids if payload.tag.endswith("}block") else self.blocked - jids
            inner = ""
        elif payload is not None and payload.tag == "{urn:xmpp:ping}ping":
            inner = ""
        else:
            self.put(f"<iq type='error' id={quoteattr(iq.get('id'))}{to}><error type='cancel'>"
                     "<feature-not-implemented xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>")
            return
        self.put(f"<iq type='result' id={quoteattr(iq.get('id'))}{to}>{inner}</iq>")

    def take_roster(self, iq):
        query = iq.find("{jabber:iq:roster}query")
        if query is None:
            return
        self.version = query.get("ver") or self.version
        for item in query:
            self.roster[item.get("jid")] = item.get("subscription")

    def take_presence(self, presence):
        sender, kind = presence.get("from", ""), presence.get("type")
        x, room = presence.find(f"{{{USER}}}x"), self.rooms.get(bare(sender))
        if room is None:
            where = self.present.setdefault(bare(sender), set())
            caps = presence.find(f"{{{CAPS}}}c")
            if caps is not None:
                self.seen_caps[bare(sender)] = (sender, caps.get("node"), caps.get("ver"))
            if kind is None and sender != self.jid:
                where.add(sender.partition("/")[2])
            elif kind == "unavailable":
                where.discard(sender.partition("/")[2])
            return
        nick = sender.partition("/")[2]
        if kind == "error":
            room.error = condition(presence)
            return
        item = None if x is None else x.find(f"{{{USER}}}item")
        codes = set() if x is None else {status.get("code") for status in x.iter(f"{{{USER}}}status")}
        if kind is None:
            room.people[nick] = (item.get("jid") or "", item.get("affiliation"), item.get("role"))
            if "110" in codes:
                room.online, room.nick, room.codes, room.error = True, nick, room.codes | codes, None
        else:
            room.people.pop(nick, None)
            if x.find(f"{{{USER}}}destroy") is not None and nick == room.nick:
                room.online, room.error = False, ["destroyed"]
            elif "110" in codes and "303" not in codes and room.online:
                room.online, room.error = False, sorted(codes - {"110"}) or ["unknown"]

    def take_message(self, stanza):
        if stanza.get("type") == "error":
            return self.failed(stanza)
        result = stanza.find(f"{{{MAM}}}result")
        room, earlier, stored, inner, carbon = None, False, None, stanza, False
        if result is not None:
            if result.get("queryid") not in self.queries:
                raise Failure(f"a page of the archive that nobody asked for: {ElementTree.tostring(stanza)}")
            room, earlier = self.queries[result.get("queryid")]
            expect(stanza.get("from", self.account) == (room or self.account), f"a page of {room} comes from {stanza.get('from')}")
            stored, inner = result.get("id"), result.find("{urn:xmpp:forward:0}forwarded/{jabber:client}message")
            if inner.get("type") == "error":
                return self.failed(inner)
        elif stanza.get("from") in (None, self.account):
            for way in ("received", "sent"):
                forwarded = stanza.find(f"{{{CARBONS}}}{way}/{{urn:xmpp:forward:0}}forwarded/{{jabber:client}}message")
                if forwarded is not None:
                    inner, carbon = forwarded, True
        self.show(stanza, inner, stored, result is not None, earlier, carbon)

    def show(self, outer, message, stored, archived, earlier, carbon):
        sender, to, groupchat = message.get("from") or self.account, message.get("to") or "", message.get("type") == "groupchat"
        expect(not (archived and groupchat and bare(sender) not in self.rooms), f"a room's message in the own archive: {sender}")
        own = bare(sender) == self.account
        chat = bare(to) if own else bare(sender)
        origin = message.find(f"{{{SID}}}origin-id")
        said = origin.get("id") if origin is not None and origin.get("id") else message.get("id")
        body, x = message.findtext("{jabber:client}body"), message.find(f"{{{USER}}}x")
        by = chat if groupchat else self.account
        stored = stored or next((one.get("id") for one in message.iter(f"{{{SID}}}stanza-id") if one.get("by") == by), None)
        if not groupchat and self.invited(message, x, sender):
            return
        if body is not None:
            mine = own or (groupchat and chat in self.rooms and sender == f"{chat}/{self.rooms[chat].nick}")
            delay = next((one for one in (outer.find(f".//{{urn:xmpp:forward:0}}forwarded/{{{DELAY}}}delay"), message.find(f"{{{DELAY}}}delay"), outer.find(f"{{{DELAY}}}delay")) if one is not None), None)
            line = Line(sender if not own else self.account, body, said, stored, mine, None if delay is None else delay.get("stamp"))
            self.show_line(chat, line, message, archived, earlier)
            if not mine and not groupchat and not carbon and not archived:
                self.confirm(message, said)
        elif groupchat and message.find("{jabber:client}subject") is not None and chat in self.rooms:
            self.rooms[chat].subject = message.findtext("{jabber:client}subject") or ""
        self.take_signals(outer, message, own, chat, groupchat, archived)

    def show_line(self, chat, line, message, archived, earlier):
        lines = self.talks.setdefault(chat, [])
        replaces = message.find("{urn:xmpp:message-correct:0}replace")
        if replaces is not None:
            # Of the newest one of the same sender only.
            last = next((one for one in reversed(lines) if one.sender == line.sender), None)
            if last and replaces.get("id") in (last.said, *last.former):
                last.former |= {last.said, last.stored}
                last.body, last.edited, last.said, last.stored = line.body, True, line.said, line.stored or last.stored
                return
        known = next((one for one in lines if one.like(line) or (one.mine and line.mine and one.said == line.said)), None)
        if known is None and any(line.said in one.former and one.sender == line.sender for one in lines):
            return
        if known is not None:
            known.stored = known.stored or line.stored
            known.state = "sent" if known.state == "unsent" else known.state
            return
        if earlier:
            self.earlier.append((chat, line))
        else:
            lines.append(line)
            # What came in the millisecond in which its user wrote was there before that.
            lines.sort(key=lambda one: (one.time, one.mine and not one.stored))
            self.unread[chat] = 0 if line.mine else self.unread.get(chat, 0) + 1

    def confirm(self, message, said):
        wanted = "".join(f"<received xmlns='{space}' id='{said}'/>" for space, name in ((MARKERS, "markable"), (RECEIPTS, "request"))
                         if message.find(f"{{{space}}}{name}") is not None)
        if wanted:
            self.put(f"<message type='chat' to={quoteattr(message.get('from'))} from='{self.jid}'>{wanted}{STORE}</message>")

    def invited(self, message, x, sender):
        invite = None if x is None else x.find(f"{{{USER}}}invite")
        direct = message.find("{jabber:x:conference}x")
        if invite is None and (direct is None or x is not None):
            return False
        jid = bare(sender) if invite is not None else direct.get("jid")
        self.invitations.append((jid, invite.get("from") if invite is not None else sender))
        return True

    def take_signals(self, outer, message, own, chat, groupchat, archived):
        for space in (MARKERS, RECEIPTS):
            for name in ("received", "displayed"):
                signal = message.find(f"{{{space}}}{name}")
                if signal is None:
                    continue
                if own and name == "displayed":
                    self.unread[chat] = 0
                for line in () if own else (line for line in self.talks.get(chat, []) if line.mine):
                    if signal.get("id") in (line.said, line.stored if groupchat else None) and line.state != "displayed":
                        line.state = name
        reactions = message.find(f"{{{REACTIONS}}}reactions")
        if reactions is not None:
            for line in self.talks.get(chat, []):
                if reactions.get("id") in ((line.stored, *line.former) if groupchat else (line.said, *line.former)):
                    line.reactions = [one.text for one in reactions]
        for child in message:
            if child.tag.startswith(f"{{{CALL}}}"):
                self.calls.setdefault(child.get("id"), []).append(child.tag.rpartition("}")[2])
                if child.tag.endswith("}propose") and not own and not archived and message.get("id"):
                    self.put(f"<message type='chat' to={quoteattr(message.get('from'))}>"
                             f"<received xmlns='{RECEIPTS}' id={quoteattr(message.get('id'))}/>{STORE}</message>")
        items = outer.find(f"{{{PUBSUB}#event}}event/{{{PUBSUB}#event}}items")
        if items is not None and len(items):
            self.take_items(outer.get("from"), items.get("node"), items[0])

    def take_items(self, who, node, item):
        if node == f"{AVATAR}:metadata":
            info = item.find(f".//{{{AVATAR}:metadata}}info")
            self.pictures[who] = info.get("id") if info is not None else None
        elif node == NICK:
            self.names[who] = item.findtext(f"{{{NICK}}}nick")
        elif node == f"{OMEMO}.devicelist":
            self.devices[who] = [device.get("id") for device in item.iter(f"{{{OMEMO}}}device")]
        elif node == BOOKMARKS and who == self.account:
            self.bookmarks = {one.get("jid"): (one.get("name"), one.get("autojoin") == "true")
                              for one in item.iter(f"{{{BOOKMARKS}}}conference")}

    def failed(self, stanza):
        self.errors.append((stanza.get("from"), stanza.get("id"), condition(stanza)))
        for line in (line for lines in self.talks.values() for line in lines if line.said == stanza.get("id")):
            line.state = "failed"
