#!/usr/bin/env python3
"""Clients that come, go, move and lag while others write to them and both cores are busy: each is told everything, once and in
order. What is said is numbered and acknowledged, so that it is known what everybody must have been told.

Usage: arrivals.py [--seconds N | --arrivals N] [--seed N] [--trace FILE]

--arrivals counts arrivals and resumptions; FILE gets everything that was acknowledged to somebody and told to anybody.

Written from the specifications alone: XMPP over a socket (RFC 6120, XEP-0198, XEP-0386, XEP-0388, SCRAM of RFC 5802 with the
keys kept, as its section 3 allows), the app protocol over a WebSocket and `GET /v1/sync`. The same seed makes each client choose
alike; when it comes to what is the machine's affair. `Ledger` says what counts as wrong.
"""
import argparse
import asyncio
import base64
import collections
import contextlib
import hashlib
import hmac
import itertools
import json
import os
import random
import secrets
import socket
import struct
import subprocess
import sys
import time
import urllib.parse
import uuid
import xml.etree.ElementTree as ElementTree

import aiohttp
import websockets.asyncio.client
import websockets.exceptions

from harness import PASSWORD, PATIENCE, Checks, Failure, Server, expect
from wire import HEADER, SM, STANZAS, Gone

# Who there is. Talkers are the senders that are in a room.
SENDERS, APP_SENDERS, READERS, APP_READERS, ROOMS, TALKERS = 10, 2, 20, 5, 2, 3
SECONDS = 25  # of the short run
OWED = 100  # messages on their way to one reader; then it is sent no more
FLOOD = 600  # messages that make a client lag: more than a server tells to who acknowledges none (as in lag.py)
AT_ONCE = 200  # logins at one instant
FIRST_LOGINS = 10  # under way at a time: who has not been here yet is a stranger
EVIDENCE = 5  # of each kind of defect that is told
CLIENT, SASL, SASL2, BIND2 = "{jabber:client}", "urn:ietf:params:xml:ns:xmpp-sasl", "urn:xmpp:sasl:2", "urn:xmpp:bind:0"
CARBONS, MUC, DELAY = "urn:xmpp:carbons:2", "http://jabber.org/protocol/muc", "{urn:xmpp:delay}delay"
MESSAGE, PRESENCE, IQ, BODY = CLIENT + "message", CLIENT + "presence", CLIENT + "iq", CLIENT + "body"
MAM, RSM = "urn:xmpp:mam:2", "http://jabber.org/protocol/rsm"
RESULT, FORWARDED = f"{{{MAM}}}result", f"{{urn:xmpp:forward:0}}forwarded/{MESSAGE}"
OWN = f"{{{MUC}#user}}x/{{{MUC}#user}}status[@code='110']"
COPY = f"{{{CARBONS}}}received/{{urn:xmpp:forward:0}}forwarded/{MESSAGE}"
STREAM_ERROR = "{http://etherx.jabber.org/streams}error"
LOST = (Gone, OSError, websockets.exceptions.WebSocketException, aiohttp.ClientError)
# Keeps a core busy until its parent is gone.
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"


class Numbers:
    """What one author said in one conversation, as a stream tells it: ascending, without a repeat and without a hole."""

    def __init__(self):
        self.first = self.last = None
        self.skipped = set()

    def take(self, number):
        """What is wrong with that, or None."""
        if self.last is None:
            self.first = self.last = number
        elif number > self.last:
            self.skipped.update(range(self.last + 1, number))
            self.last = number
        elif number in self.skipped:
            self.skipped.discard(number)
            return "out of order"
        elif number < self.first:
            self.skipped.update(range(number + 1, self.first))
            self.first = number
            return "out of order"
        else:
            return "twice"
        return None


class Tale:
    """What one client is told in one stream. Over XMPP a stream goes on where it is resumed (XEP-0198 5), and ends with its
    session: what a client has not confirmed may be told again in the next. An app's goes on as long as it keeps its cursor."""
    streams = itertools.count(1)

    def __init__(self, ledger, reader):
        self.ledger, self.reader, self.number = ledger, reader, next(self.streams)
        self.numbers = collections.defaultdict(Numbers)
        self.addressed = {}  # (author, reader) -> the last that was no copy: a copy confirms nothing (XEP-0280)
        self.visits = {}  # room -> "history" or "live"; where it is absent the client is not in that room
        self.resent = set()  # rooms in which nothing was said live since the stream was resumed
        self.archived = None  # author -> the last number that the archive had when the session began, where that was asked for
        self.last = collections.deque(maxlen=8)
        self.count = 0

    def note(self, text):
        self.last.append(text)
        self.ledger.trace(f"{self.reader} (stream {self.number}): {text}")

    def told(self, body, how):
        author, target, number = body.split(" ")[:3]
        number = int(number)
        self.count += 1
        self.ledger.count["messages told"] += 1
        self.note(f"{author}>{target} {number} {how}")
        wrong = self.numbers[author, target].take(number)
        if wrong:
            self.defect(wrong if target == self.reader else f"in a room {wrong}", f"{author}>{target} {number} {how}")
        if target == self.reader:
            if how != "copy":
                self.addressed[author, target] = number
            if how == "late" and number <= self.ledger.settled[author, target]:
                self.defect("told again", f"{author} {number}, confirmed in a session that ended in order")
            self.ledger.heard(author, target, number)

    def in_room(self, room, body, is_history):
        """XEP-0045 7.1: presence of everybody, one's own last, history, the subject, and only then what is said."""
        how, stage = "history" if is_history else "live", self.visits.get(room)
        self.told(body, how)
        # What was not acknowledged when a stream was lost is sent again with a delay (XEP-0198 5, XEP-0203).
        if stage != how and not (is_history and stage == "live" and room in self.resent):
            self.defect("in a room at the wrong time", f"{body} as {how} while in {stage}")
        if not is_history:
            self.resent.discard(room)

    def resumed(self, handled):
        self.note(f"resumed at {handled}")
        self.resent.update(self.ledger.rooms.values())

    def entered(self, room):
        self.note(f"entered {room}")
        self.visits[room] = "history"
        self.ledger.count["room entries"] += 1

    def subject(self, room):
        self.note(f"subject {room}")
        if room not in self.visits:
            self.defect("in a room at the wrong time", f"the subject of {room}")
            return
        self.visits[room] = "live"

    def left(self, room):
        self.note(f"left {room}")
        if self.visits.pop(room, None) is None:
            self.defect("left where it was not", room)
        self.over(room)

    def over(self, room=None):
        """The end of the stream, or of a visit to a room: what was passed over does not come any more."""
        for author, target in list(self.numbers):
            if room is None or target == room:
                numbers = self.numbers.pop((author, target))
                if self.archived is not None and target == self.reader and numbers.first != (had := self.archived[author]) + 1:
                    self.defect("in archive and stream" if numbers.first <= had else "a hole behind the archive",
                                f"{author} {had} by the archive when it came, and then {numbers.first}")
                missing = sorted(numbers.skipped - self.ledger.refused[author, target])
                if missing:
                    self.defect("a hole" if target == self.reader else "a hole in a room",
                                f"{author}>{target} without {missing[:8]} ({len(missing)})")

    def defect(self, kind, what):
        self.ledger.defect(kind, f"{self.reader} was told {what}; last: {', '.join(self.last)}")


class Ledger:
    """What was said and acknowledged, what was told, and what of that is wrong."""

    def __init__(self):
        self.rooms = {}  # address -> name
        self.said = collections.Counter()  # (author, target) -> its last number
        self.acknowledged = collections.Counter()  # (author, target) -> the last number that was
        self.refused = collections.defaultdict(set)  # (author, target) -> numbers that were not taken
        self.through = collections.Counter()  # (author, reader) -> everything up to here was told
        self.beyond = collections.defaultdict(set)  # and this
        self.settled = collections.Counter()  # (author, reader) -> confirmed up to here, in a session that ended in order
        self.owed = collections.Counter()  # reader -> messages that it has not been told
        self.taken_for = collections.Counter()  # reader or room -> messages that were acknowledged
        self.count = collections.Counter()
        self.defects = collections.Counter()
        self.evidence = collections.defaultdict(list)
        self.file = None  # where everything is written
        self.waiting = []  # (a test, who waits for it)
        self.began = time.monotonic()

    def trace(self, text):
        if self.file:
            print(f"{time.monotonic() - self.began:.3f} {text}", file=self.file)

    async def until(self, test, what):
        """Looks again whenever something is acknowledged, told or counted."""
        if test():
            return
        waiter = asyncio.get_running_loop().create_future()
        self.waiting.append((test, waiter))
        try:
            async with asyncio.timeout(PATIENCE):
                await waiter
        except TimeoutError:
            raise Failure(f"not within {PATIENCE} s: {what}") from None

    def changed(self):
        for entry in self.waiting[:]:
            if entry[1].done() or entry[0]():
                self.waiting.remove(entry)
                if not entry[1].done():
                    entry[1].set_result(None)

    def say(self, author, target):
        self.said[author, target] += 1
        self.owed[target] += 1
        return f"{author} {target} {self.said[author, target]}"

    def taken(self, body):
        author, target, number = body.split(" ")[:3]
        self.acknowledged[author, target] = int(number)
        self.count["messages acknowledged"] += 1
        self.taken_for[target] += 1
        self.trace(f"acknowledged to {author}: {target} {number}")
        self.changed()

    def refuse(self, body):
        author, target, number = body.split(" ")[:3]
        self.refused[author, target].add(int(number))
        self.owed[target] -= 1
        self.count["messages refused"] += 1

    def heard(self, author, reader, number):
        through, beyond = self.through, self.beyond[author, reader]
        if number <= through[author, reader] or number in beyond:
            return
        beyond.add(number)
        self.owed[reader] -= 1
        while (following := through[author, reader] + 1) in beyond or following in self.refused[author, reader]:
            beyond.discard(following)
            through[author, reader] = following
        self.changed()

    def missing(self, reader):
        """What was acknowledged, and has never been told to this reader."""
        return {author: [number for number in range(self.through[author, target] + 1, last + 1)
                         if number not in self.beyond[author, target] | self.refused[author, target]]
                for (author, target), last in self.acknowledged.items()
                if target == reader and last > self.through[author, target]}

    def defect(self, kind, text):
        self.defects[kind] += 1
        if len(self.evidence[kind]) < EVIDENCE:
            self.evidence[kind].append(f"after {time.monotonic() - self.began:.1f} s: {text}")
        self.changed()

    def add(self, what):
        self.count[what] += 1
        if sys.stdout.isatty() and self.came % 20 == 0:
            print(f"\r{self}", end="", flush=True)
        self.changed()

    @property
    def came(self):
        return self.count["arrivals"] + self.count["app arrivals"] + self.count["resumptions"]

    def __str__(self):
        counts = ", ".join(f"{number:,} {what}" for what, number in sorted(self.count.items()))
        return f"{time.monotonic() - self.began:.0f} s: {counts}; {sum(self.defects.values())} defects "


class Wire:
    """One connection, one XML stream after the other."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.found = collections.deque()

    @classmethod
    async def dial(cls, port, small=False):
        """`small`: with little room for what is not read."""
        bare = socket.socket()
        bare.setblocking(False)
        if small:
            bare.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        async with asyncio.timeout(PATIENCE):
            await asyncio.get_running_loop().sock_connect(bare, ("127.0.0.1", port))
            wire = cls(*await asyncio.open_connection(sock=bare, limit=4096 if small else 65536))
        await wire.open()
        return wire

    async def open(self):
        self.parser = ElementTree.XMLPullParser(["start", "end"])
        self.depth, self.root = 0, None
        self.found.clear()
        self.write(HEADER)
        await self.until("{http://etherx.jabber.org/streams}features")

    def write(self, text):
        self.writer.write(text.encode())

    async def next(self):
        """The next element of the stream."""
        while not self.found:
            try:
                async with asyncio.timeout(PATIENCE):
                    data = await self.reader.read(65536)
            except TimeoutError:
                raise Failure(f"nothing came within {PATIENCE} s") from None
            if not data:
                raise Gone("the server closed the connection")
            self.parser.feed(data)
            for event, element in self.parser.read_events():
                self.depth += 1 if event == "start" else -1
                if event == "start" and self.depth == 1:
                    self.root = element
                elif event == "end" and self.depth == 1:
                    self.found.append(element)
                    self.root.remove(element)
        return self.found.popleft()

    async def until(self, *tags, passing=None):
        """The first element with such a tag; what comes before it goes to `passing`."""
        while True:
            element = await self.next()
            if element.tag in tags:
                return element
            if passing is None or element.tag == STREAM_ERROR:
                raise Gone(f"got {ElementTree.tostring(element)[:300]} in place of {tags}")
            passing(element)

    def cut(self):
        """The connection is lost: nothing is flushed, and the other side is told by RST."""
        reset(self.writer.transport)

    async def ended(self):
        """Takes in nothing more until the server has closed it."""
        try:
            async with asyncio.timeout(PATIENCE):
                while await self.reader.read(65536):
                    pass
        except TimeoutError:
            raise Failure(f"a connection whose session was resumed elsewhere is open {PATIENCE} s later") from None
        except OSError:
            pass
        finally:
            self.cut()


def reset(transport):
    with contextlib.suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def coded(data):
    return base64.b64encode(data).decode()


class Scram:
    """RFC 5802 and 7677. The keys of a name, a salt and a count of rounds are kept."""
    kept = {}

    def __init__(self, name):
        self.name, self.first = name, f"n={name},r={secrets.token_hex(12)}"

    def begin(self):
        return coded(b"n,," + self.first.encode())

    def answer(self, challenge):
        said = dict(part.split("=", 1) for part in challenge.split(","))
        place = self.name, said["s"], said["i"]
        if place not in self.kept:
            salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), base64.b64decode(said["s"]), int(said["i"]))
            self.kept[place] = [hmac.digest(salted, which, "sha256") for which in (b"Client Key", b"Server Key")]
        key, server_key = self.kept[place]
        last = f"c=biws,r={said['r']}"
        everything = f"{self.first},{challenge},{last}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), everything, "sha256")
        self.proved = coded(b"v=" + base64.b64encode(hmac.digest(server_key, everything, "sha256")))
        return coded(f"{last},p={coded(bytes(a ^ b for a, b in zip(key, signature)))}".encode())


async def logged_in(wire, name, plain=False, wishes=None):
    """SASL; in one step (XEP-0388) where there are `wishes`. What says success."""
    namespace = SASL if wishes is None else SASL2
    scram = Scram(name)
    mechanism = "PLAIN" if plain else "SCRAM-SHA-256"
    initial = coded(f"\0{name}\0{PASSWORD}".encode()) if plain else scram.begin()
    if wishes is None:
        wire.write(f"<auth xmlns='{SASL}' mechanism='{mechanism}'>{initial}</auth>")
    else:
        wire.write(f"<authenticate xmlns='{SASL2}' mechanism='{mechanism}'><initial-response>{initial}</initial-response>"
                   f"{wishes}</authenticate>")
    outcomes = f"{{{namespace}}}success", f"{{{namespace}}}failure"
    if not plain:
        challenge = await wire.until(f"{{{namespace}}}challenge", *outcomes)
        expect(challenge.tag.endswith("challenge"), f"{name} is not let in: {ElementTree.tostring(challenge)}")
        wire.write(f"<response xmlns='{namespace}'>{scram.answer(base64.b64decode(challenge.text).decode())}</response>")
    success = await wire.until(*outcomes)
    expect(success.tag.endswith("success"), f"{name} is not let in: {ElementTree.tostring(success)}")
    if not plain:
        data = success.text if wishes is None else success.findtext(f"{{{SASL2}}}additional-data")
        expect(data == scram.proved, "the server does not prove that it knows the password")
    if wishes is None:
        await wire.open()
    return success


class Stage:
    """What the clients share."""

    def __init__(self, server, seed, seconds, arrivals):
        self.server, self.seed, self.seconds, self.arrivals = server, seed, seconds, arrivals
        self.senders = [f"s{number:02}" for number in range(SENDERS)]
        self.app_senders = [f"w{number:02}" for number in range(APP_SENDERS)]
        self.readers = [f"r{number:02}" for number in range(READERS)]
        self.app_readers = [f"v{number:02}" for number in range(APP_READERS)]
        self.rooms = {}  # name -> (address, id of its dialog)
        self.ledger = None
        self.floods = collections.deque()  # readers that want one
        self.gate = asyncio.Semaphore(FIRST_LOGINS)
        self.known = set()
        self.quiet = False
        self.http = None

    @property
    def everybody(self):
        return self.senders + self.app_senders + self.readers + self.app_readers

    @property
    def over(self):
        ledger = self.ledger
        if self.server.process.poll() is not None or sum(ledger.defects.values()) > 20_000:
            return True
        return ledger.came >= self.arrivals if self.arrivals else time.monotonic() - ledger.began > self.seconds

    @contextlib.asynccontextmanager
    async def first_login(self, name):
        if name in self.known:
            yield
        else:
            async with self.gate:
                yield
            self.known.add(name)

    async def flood(self, reader):
        """Somebody says very much to this reader. True when it has been said, and acknowledged."""
        asked = [reader, FLOOD]
        self.floods.append(asked)
        self.ledger.changed()
        await self.ledger.until(lambda: asked[1] == 0, f"a flood for {reader}")

    async def request(self, method, path, token=None, body=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with self.http.request(method, self.server.base + path, json=body, headers=headers) as answer:
            said = await answer.json() if answer.content_type.endswith("json") else None
            expect(answer.status < 300, f"{method} {path}: {answer.status} {said}")
            return said


class Client:
    """One that speaks XMPP: one session at a time, over one connection after the other."""

    def __init__(self, stage, name):
        self.stage, self.ledger, self.name = stage, stage.ledger, name
        self.dice = random.Random(f"{stage.seed} {name}")
        self.agents = {letter: uuid.UUID(int=self.dice.getrandbits(128), version=4) for letter in "abc"}
        self.wire = self.tale = None
        self.archive, self.place = Tale(stage.ledger, name), ""  # what the archive told it, and up to which id
        self.forget()

    def forget(self):
        self.session = None  # the id for resumption
        self.managed = self.silent = False
        self.handled = self.told = self.confirmed = 0  # of theirs by us and as they know, of ours by them
        self.pending = collections.deque()  # stanzas of ours behind `confirmed`

    async def begin(self, managed=True, one_step=False, letter="a"):
        """A new session that is available: XEP-0198 with resumption, carbons, presence. The old connection is left as it is."""
        wire = await Wire.dial(self.stage.server.xmpp, small=self.dice.random() < 0.1)
        enable = f"<enable xmlns='{SM}' resume='true'/>" if managed else ""
        wishes = None
        if one_step:
            wishes = (f"<user-agent id='{self.agents[letter]}'/><bind xmlns='{BIND2}'><tag>{letter}</tag>"
                      f"<enable xmlns='{CARBONS}'/>{enable}</bind>")
        async with self.stage.first_login(self.name):
            success = await logged_in(wire, self.name, self.dice.random() < 0.03, wishes)
        self.forget()
        self.wire, self.managed, self.letter = wire, managed, letter
        if one_step:
            self.tale = Tale(self.ledger, self.name)
            if managed:
                self.enabled(success.find(f"{{{BIND2}}}bound/{{{SM}}}enabled"))
            self.say("<presence/>")
            await self.read_archive(success.find(f"{{{BIND2}}}bound/{{{MAM}}}metadata/{{{MAM}}}end"))
        else:
            wire.write("<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>"
                       f"<resource>{letter}</resource></bind></iq>")
            await wire.until(IQ)
            self.tale = Tale(self.ledger, self.name)
            wire.write(enable)
            self.say(f"<iq type='set' id='carbons'><enable xmlns='{CARBONS}'/></iq><presence/>", 2)
            if managed:
                self.enabled(await wire.until(f"{{{SM}}}enabled", passing=self.take))
        self.tale.note(f"came as {letter}{' managed' * managed}{' in one step' * one_step}")
        self.ledger.add("arrivals")

    async def read_archive(self, end):
        """Who binds in one step is told no offline messages, but where the archive ends at that moment (XEP-0386 3.2)."""
        self.end = None if end is None else end.get("id")
        if self.end in (None, self.place):
            self.begun()
        while self.end is not None:
            name = f"page{self.dice.getrandbits(32)}"
            after = f"<after>{self.place}</after>" if self.place else ""
            self.say(f"<iq type='set' id='{name}'><query xmlns='{MAM}'><set xmlns='{RSM}'><max>100</max>{after}</set></query>"
                     "</iq>")
            fin = (await self.answer(name)).find(f"{{{MAM}}}fin")
            self.place = fin.findtext(f"{{{RSM}}}set/{{{RSM}}}last") or self.place
            expect(self.end is None or fin.get("complete") != "true", f"{self.name}: {self.end} is not in the archive")

    def begun(self):
        """What comes now has come while the session was there."""
        self.end = None
        self.tale.archived = collections.Counter({author: numbers.last for (author, _), numbers in self.archive.numbers.items()})

    async def answer(self, name):
        """Everything that was told before now has been read: an answer comes behind it."""
        while True:
            element = await self.wire.next()
            self.take(element)
            if element.get("id") == name and element.tag == IQ:
                expect(element.get("type") == "result", f"{self.name}: {ElementTree.tostring(element)[:300]}")
                return element

    def enabled(self, element):
        expect(element is not None and element.get("id"), f"{self.name}: stream management is not enabled")
        self.session, self.handled, self.told = element.get("id"), 0, 0

    async def resume(self, one_step):
        """On a new connection; the old one is not read any more."""
        old, self.wire = self.wire, None
        wire = await Wire.dial(self.stage.server.xmpp)
        outcomes = f"{{{SM}}}resumed", f"{{{SM}}}failed"
        request = f"<resume xmlns='{SM}' previd='{self.session}' h='{self.handled}'/>"
        if one_step:
            success = await logged_in(wire, self.name, wishes=request)
            answer = next((child for child in success if child.tag in outcomes), None)
        else:
            await logged_in(wire, self.name)
            wire.write(request)
            answer = await wire.until(*outcomes)
        if answer is None or answer.tag.endswith("failed"):
            wire.cut()
            raise Failure(f"what it has just lost is not resumed: {'' if answer is None else ElementTree.tostring(answer)}")
        self.tale.resumed(self.handled)
        self.wire = wire
        self.acknowledged(int(answer.get("h")))
        for stanza in self.pending:
            wire.write(stanza)
        self.ledger.add("resumptions")
        return old

    def say(self, stanzas, count=1):
        """XEP-0198 5: what the server has not handled when the connection is lost is sent again."""
        if self.managed:
            self.pending.extend([""] * (count - 1) + [stanzas])
        self.wire.write(stanzas)

    def acknowledged(self, handled):
        expect(0 <= handled - self.confirmed <= len(self.pending),
               f"{self.name}: {handled} acknowledged, {self.confirmed + len(self.pending)} sent")
        while self.confirmed < handled:
            self.pending.popleft()
            self.confirmed += 1

    def acknowledge(self):
        if self.session:
            self.ledger.trace(f"{self.name} (stream {self.tale.number}): acknowledges {self.handled}")
            self.told = self.handled
            self.wire.write(f"<a xmlns='{SM}' h='{self.handled}'/>")

    def take(self, element):
        tag = element.tag
        if tag in STANZAS:
            self.handled += 1
            if self.handled - self.told > 100 and not self.silent:
                self.acknowledge()
            if tag == MESSAGE:
                self.message(element)
            elif tag == PRESENCE:
                self.presence(element)
            elif element.get("type") == "get":
                self.say(f"<iq type='result' id='{element.get('id')}' to='{element.get('from')}'/>")
        elif tag == f"{{{SM}}}r":
            if not self.silent:
                self.acknowledge()
        elif tag == f"{{{SM}}}a":
            self.acknowledged(int(element.get("h")))
        elif tag == STREAM_ERROR:
            raise Gone(f"stream error {[child.tag for child in element]}")

    def message(self, stanza):
        room = self.ledger.rooms.get(stanza.get("from", "").split("/")[0])
        copy, result = stanza.find(COPY), stanza.find(RESULT)
        body = (stanza if copy is None else copy).findtext(BODY)
        if stanza.get("type") == "error":
            self.error(stanza, body)
        elif result is not None:
            said = result.find(FORWARDED).findtext(BODY)
            if said is not None and said.split(" ")[1] == self.name:
                self.archive.told(said, "archive")
            if result.get("id") == self.end:
                self.begun()
        elif room:
            if body is not None:
                delay = stanza.find(DELAY)
                # What stream management sends again may have a delay too, which is not of the room (XEP-0045 7.2.13).
                address = stanza.get("from").split("/")[0]
                self.tale.in_room(room, body, delay is not None and delay.get("from") == address)
            elif stanza.find(CLIENT + "subject") is not None:
                self.tale.subject(room)
        elif body is not None:
            self.tale.told(body, "copy" if copy is not None else "live" if stanza.find(DELAY) is None else "late")

    def error(self, stanza, body):
        self.ledger.defect("refused", f"{self.name}: {ElementTree.tostring(stanza)[:400]}")

    def presence(self, stanza):
        room = self.ledger.rooms.get(stanza.get("from", "").split("/")[0])
        if room is None:
            return
        if stanza.get("type") == "error":
            self.error(stanza, None)
        elif stanza.find(OWN) is not None:
            if stanza.get("type") == "unavailable":
                self.tale.left(room)
            elif room not in self.tale.visits:  # else it is of another session of one's own, which has the same nick
                self.tale.entered(room)

    def enter(self, room, history=""):
        return f"<presence to='{self.stage.rooms[room][0]}/{self.name}'><x xmlns='{MUC}'>{history}</x></presence>"

    def leave(self, room):
        return f"<presence type='unavailable' to='{self.stage.rooms[room][0]}/{self.name}'/>"


class Sender(Client):
    """Says one to four things at a time, and waits until they are acknowledged. What it is told in rooms is judged as well."""
    floods = True

    def __init__(self, stage, name, rooms):
        super().__init__(stage, name)
        self.talks = rooms
        self.flooding = None
        self.bodies = collections.deque()  # of `pending`

    async def connect(self):
        await self.begin()
        for room in self.talks:
            self.say(self.enter(room, "<history maxstanzas='0'/>"))
        while len(self.tale.visits) < len(self.talks):
            self.take(await self.wire.next())

    async def run(self):
        try:
            async with asyncio.TaskGroup() as group:
                listening = group.create_task(self.listen())
                while batch := await self.batch():
                    self.send(batch)
                    await self.ledger.until(lambda: not self.unanswered(), f"acknowledgements for {self.name}")
                listening.cancel()
        except* (*LOST, Failure) as errors:
            self.ledger.defect("a sender failed", f"{self.name}: {errors.exceptions}")

    def unanswered(self):
        return any(self.pending)

    async def listen(self):
        while True:
            self.take(await self.wire.next())

    async def batch(self):
        """Things to say, to one reader or to a room; none at the end."""
        ledger, stage = self.ledger, self.stage

        def places():
            return [name for name in stage.readers + stage.app_readers if ledger.owed[name] < OWED]

        while not (stage.quiet or self.flooding or self.floods and stage.floods or places()):
            await ledger.until(lambda: stage.quiet or self.floods and stage.floods or places(), "a reader that is told things")
        if stage.quiet:
            return []
        if self.floods and self.flooding is None and stage.floods:
            self.flooding = stage.floods.popleft()
        if self.flooding is not None:
            count = min(40, self.flooding[1])
            return [ledger.say(self.name, self.flooding[0]) for _ in range(count)]
        target = self.dice.choice(self.talks if self.talks and self.dice.random() < 0.15 else places())
        return [ledger.say(self.name, target) for _ in range(self.dice.randint(1, 4))]

    def said(self, body):
        """It is acknowledged."""
        if self.flooding is not None and body.split(" ")[1] == self.flooding[0]:
            self.flooding[1] -= 1
            if self.flooding[1] == 0:
                self.flooding = None
        self.ledger.taken(body)

    def send(self, batch):
        stanzas = []
        for body in batch:
            target = body.split(" ")[1]
            to, kind = f"{target}@localhost", "chat"
            if target in self.stage.rooms:
                to, kind = self.stage.rooms[target][0], "groupchat"
            stanzas.append(f"<message to='{to}' type='{kind}' id='{body.replace(' ', '-')}'><body>{body}</body></message>")
            self.bodies.append((self.confirmed + len(self.pending) + 1, body))
            self.pending.append(stanzas[-1])
        self.wire.write("".join(stanzas) + f"<r xmlns='{SM}'/>")

    def acknowledged(self, handled):
        super().acknowledged(handled)
        while self.bodies and self.bodies[0][0] <= handled:
            self.said(self.bodies.popleft()[1])
        self.ledger.changed()

    def error(self, stanza, body):
        super().error(stanza, body)
        name = stanza.get("id", "").replace("-", " ")
        if name.count(" ") == 2:
            self.ledger.refuse(name)


class Reader(Client):
    """Comes, reads a little, moves, lags, goes; again and again."""

    async def run(self):
        while not self.stage.over:
            try:
                await self.visit()
            except (*LOST, Failure) as error:
                (self.tale or self.archive).defect("a session failed", f"{type(error).__name__} {error}")
                self.gone()

    def gone(self):
        if self.wire:
            self.wire.cut()
        self.wire = None
        if self.tale:
            self.tale.over()
        self.tale = None

    async def visit(self):
        dice, former, tale = self.dice, self.wire, self.tale
        # Some never ask the archive: what they miss in a stream, nobody else tells them.
        one_step = self.name[-1] in "13579" and dice.random() < 0.6
        await self.begin(dice.random() < 0.85, one_step, getattr(self, "same", None) or dice.choice("abc"))
        # It was left open, and the server has replaced its session or will find it silent.
        if former:
            former.cut()
            tale.over()
        for _ in range(0 if self.stage.over else dice.randrange(5)):
            await dice.choices(
                [self.read, self.rooms, self.read_late, self.resume_later, self.move, self.acknowledge_late, self.away],
                [30, 25, 0.2, 30, 15, 0.2, 0.2] if self.session else [30, 25, 0.2, 0, 0, 0, 0])[0]()
        self.same = None  # of the session that is to be replaced
        await dice.choices([self.close, self.abandon, self.be_replaced], [50, 30, 20])[0]()

    async def read(self, count=None):
        """So many messages, or what is there already; and mostly says so."""
        count = self.dice.choice((0, 0, 1, 2, 4)) if count is None else count
        end = self.tale.count + count
        while self.tale.count < end or self.wire.found:
            self.take(await self.wire.next())
        if self.dice.random() < 0.6:
            self.acknowledge()

    async def step(self):
        """Everything that was told before now has been read: a ping comes back behind it."""
        name = f"step{self.dice.getrandbits(32)}"
        self.say(f"<iq to='localhost' type='get' id='{name}'><ping xmlns='urn:xmpp:ping'/></iq>")
        await self.answer(name)

    async def resume_later(self):
        """The connection is lost; perhaps something is said meanwhile."""
        self.wire.cut()
        if self.dice.random() < 0.3:
            ledger, end = self.ledger, self.ledger.taken_for[self.name] + self.dice.randint(1, 6)
            await ledger.until(lambda: ledger.taken_for[self.name] >= end or ledger.owed[self.name] >= OWED, "messages")
        await self.resume(self.dice.random() < 0.4)
        await self.read()

    async def move(self):
        """Resumes while the old connection is open: the server closes that (XEP-0198 5)."""
        old = await self.resume(self.dice.random() < 0.4)
        await asyncio.gather(self.read(), old.ended())

    async def rooms(self):
        """Enters, leaves and enters at once, leaves; often without waiting for anything."""
        room = self.dice.choice(list(self.stage.rooms))
        history = self.dice.choice(("", "", "<history maxstanzas='5'/>", "<history maxstanzas='0'/>", "<history maxchars='0'/>"))
        if room not in self.inside:
            self.inside.add(room)
            self.say(self.enter(room, history))
        elif self.dice.random() < 0.75:
            self.say(self.leave(room) + self.enter(room, history), 2)
        else:
            self.inside.discard(room)
            self.say(self.leave(room))
        await self.read()
        if self.dice.random() < 0.3:
            await self.step()

    async def acknowledge_late(self):
        """It reads, and acknowledges nothing until the server tells it no more."""
        self.silent = True
        flood = asyncio.ensure_future(self.stage.flood(self.name))
        await self.read_until(lambda: self.handled - self.told > FLOOD * 3 // 4)
        if self.dice.random() < 0.5:
            self.wire.cut()
            await self.resume(False)
        self.silent = False
        self.acknowledge()
        await self.caught_up(flood)

    async def read_late(self):
        """It reads nothing for a while."""
        await self.stage.flood(self.name)
        await self.caught_up()

    async def away(self):
        """It is lost for long, and resumes."""
        self.wire.cut()
        await self.stage.flood(self.name)
        await self.resume(self.dice.random() < 0.4)
        await self.caught_up()

    async def caught_up(self, flood=None):
        self.ledger.add("lags")
        await self.read_until(lambda: (flood is None or flood.done()) and self.ledger.owed[self.name] < OWED / 2)
        if flood:
            await flood

    async def read_until(self, test):
        while not test():
            self.take(await self.wire.next())

    async def close(self):
        settled = {}
        if self.session and self.dice.random() < 0.5:
            self.acknowledge()
            settled = dict(self.tale.addressed)
        self.wire.write("</stream:stream>")
        # RFC 6120 4.4: nothing is sent behind it, and what comes is read on.
        self.wire.write = lambda text: None
        with contextlib.suppress(Gone, ConnectionError):
            while True:
                self.take(await self.wire.next())
        self.ledger.settled.update({key: last - self.ledger.settled[key] for key, last in settled.items()})
        self.gone()

    async def abandon(self):
        """It is lost and never comes back."""
        self.gone()

    async def be_replaced(self):
        """The next session has the same name (RFC 6120 7.7.2.2), and this one is not ended."""
        self.same = self.letter

    async def begin(self, *arguments, **named):
        await super().begin(*arguments, **named)
        self.inside = set()

    async def last_visit(self):
        """Reads what is left."""
        if self.wire:
            self.gone()
        with contextlib.suppress(*LOST, Failure):
            await self.begin(one_step=self.name[-1] in "13579")
            await self.step()
            async with asyncio.timeout(PATIENCE / 3):
                await self.read_until(lambda: not any(self.ledger.missing(self.name).values()))
            self.acknowledge()
        self.gone()


class App:
    """A client of the app protocol. Its one tale goes on for as long as it has its cursor."""

    def __init__(self, stage, name):
        self.stage, self.ledger, self.name = stage, stage.ledger, name
        self.dice = random.Random(f"{stage.seed} {name}")
        self.socket = None
        self.tale = Tale(stage.ledger, name)
        self.commands = itertools.count(1)

    async def sign_in(self):
        async with self.stage.first_login(self.name):
            self.token = (await self.stage.request("POST", "/v1/sessions", body={
                "grant": "password", "username": self.name, "password": PASSWORD, "deviceId": "arrivals"}))["accessToken"]
        self.signed_in = time.monotonic()

    async def request(self, method, path, body=None):
        return await self.stage.request(method, path, self.token, body)

    async def begin(self):
        if time.monotonic() - self.signed_in > 1_800:  # the token is good for an hour
            await self.sign_in()
        self.socket = await websockets.asyncio.client.connect(
            self.stage.server.base.replace("http", "ws", 1) + "/v1/ws", subprotocols=["parley.v1"], compression=None,
            open_timeout=PATIENCE, close_timeout=PATIENCE, ping_interval=None, proxy=None)
        name = await self.say("hello", {"token": self.token, "cursor": self.cursor})
        answer = await self.next()
        expect(answer.get("re") == name and answer.get("ok"), f"{self.name}: hello is answered {answer}")
        self.tale.note("hello")

    async def say(self, kind, data):
        name = str(next(self.commands))
        await self.socket.send(json.dumps({"id": name, "type": kind, "data": data}))
        return name

    async def close(self):
        """What comes until it is closed is read."""
        closing = asyncio.ensure_future(self.socket.close())
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            while True:
                self.take(await self.next())
        await closing

    async def next(self):
        try:
            async with asyncio.timeout(PATIENCE):
                return json.loads(await self.socket.recv())
        except TimeoutError:
            raise Failure(f"nothing came within {PATIENCE} s") from None

    def take(self, frame):
        if frame.get("type") == "resync":
            self.tale.defect("an app lost its place", str(frame)[:300])
        if "re" not in frame and frame["type"] in ("caught_up", "resync"):
            self.cursor = frame["data"]["cursor"]
        if "cursor" not in frame:
            return
        if frame["prevCursor"] != self.cursor:
            self.tale.defect("a gap before an app's event", str(frame)[:300])
        self.cursor = frame["cursor"]
        if frame["type"] == "message.created":
            content = frame["data"]["message"]["content"]
            if content["type"] == "text" and not content["text"].startswith(self.name):
                self.tale.told(content["text"], "event")


class AppSender(App):
    """Says one to four things at a time, and waits for the answers."""
    batch, said = Sender.batch, Sender.said
    floods = False  # an app says no more than 200 things a second

    def __init__(self, stage, name, rooms):
        super().__init__(stage, name)
        self.talks, self.flooding = rooms, None
        self.unanswered = {}  # the id of a command -> body

    async def connect(self):
        self.dialogs = {name: dialog for name, (_, dialog) in self.stage.rooms.items()}
        for name in self.stage.readers + self.stage.app_readers:
            self.dialogs[name] = (await self.request("POST", "/v1/dialogs", {"type": "private", "userId": name}))["id"]
        self.cursor = (await self.request("GET", "/v1/sync"))["cursor"]
        await self.begin()

    async def run(self):
        try:
            async with asyncio.TaskGroup() as group:
                listening = group.create_task(self.listen())
                while batch := await self.batch():
                    for body in batch:
                        self.unanswered[await self.say("message.send", {
                            "dialogId": self.dialogs[body.split(" ")[1]], "clientId": body,
                            "content": {"type": "text", "text": body}})] = body
                    await self.ledger.until(lambda: not self.unanswered, f"answers for {self.name}")
                listening.cancel()
        except* (*LOST, Failure) as errors:
            self.ledger.defect("a sender failed", f"{self.name}: {errors.exceptions}")
        reset(self.socket.transport)

    async def listen(self):
        while True:
            frame = await self.next()
            body = self.unanswered.get(frame.get("re"))
            if body is None:
                self.take(frame)
                continue
            if frame.get("ok"):
                self.said(body)
            else:
                # What was said behind it was taken perhaps: this number is said by nobody.
                self.ledger.refuse(body)
                expect(frame["error"]["status"] in (429, 503), f"{self.name}: {frame}")
                await asyncio.sleep(frame["error"].get("retryAfter", 1))
            del self.unanswered[frame["re"]]
            self.ledger.changed()


class AppReader(App):
    """Comes with its cursor, over the WebSocket or by requests, reads, goes."""

    async def connect(self):
        self.cursor = (await self.request("GET", "/v1/sync"))["cursor"]

    async def run(self):
        while not self.stage.over:
            try:
                await self.dice.choices([self.visit, self.sync], [80, 20])[0]()
            except (*LOST, Failure) as error:
                self.tale.defect("an app failed", f"{type(error).__name__} {error}")
                self.socket = None

    async def visit(self):
        former, self.socket = self.socket, None
        await self.begin()
        self.ledger.add("app arrivals")
        if former:
            # The new one has replaced it (4409). What it had not read comes on the new one.
            with contextlib.suppress(websockets.exceptions.ConnectionClosed):
                while True:
                    async with asyncio.timeout(PATIENCE):
                        await former.recv()
        if self.dice.random() < 0.01:
            await self.stage.flood(self.name)  # nothing is read meanwhile
        for _ in range(self.dice.randrange(3)):
            end = self.tale.count + self.dice.choice((0, 1, 3, 6))
            while self.tale.count < end:
                self.take(await self.next())
            if self.dice.random() < 0.3:
                await self.say("ack", {"cursor": self.cursor})
        while self.ledger.owed[self.name] > OWED:
            self.take(await self.next())
        how = self.dice.random()
        if how < 0.4:
            await self.close()
        elif how < 0.8:
            reset(self.socket.transport)
        else:
            return  # the next takes its place
        self.socket = None

    async def sync(self):
        """A page or two by requests, waiting for it where there is nothing."""
        self.ledger.add("app arrivals")
        for _ in range(self.dice.randint(1, 3)):
            limit, wait = self.dice.choice((1, 3, 200)), self.dice.choice((0, 0, 5))
            page = await self.request("GET", f"/v1/sync?cursor={urllib.parse.quote(self.cursor)}&limit={limit}&wait={wait}")
            for frame in page["events"]:
                self.take(frame)
            self.cursor = page["cursor"]

    async def last_visit(self):
        if self.socket:
            reset(self.socket.transport)
        with contextlib.suppress(*LOST, Failure, TimeoutError):
            await self.begin()
            async with asyncio.timeout(PATIENCE / 3):
                while any(self.ledger.missing(self.name).values()):
                    self.take(await self.next())
            await self.close()
        self.tale.over()


async def crowd(stage):
    """Right logins at one instant, from one address, of people who have not been here yet: half by PLAIN, half by SCRAM."""
    wires = await asyncio.gather(*(Wire.dial(stage.server.xmpp) for _ in range(AT_ONCE)))
    names = itertools.cycle(stage.everybody)
    outcomes = await asyncio.gather(
        *(logged_in(wire, next(names), plain=number % 2 == 0) for number, wire in enumerate(wires)), return_exceptions=True)
    for wire in wires:
        wire.cut()
    refused = [outcome for outcome in outcomes if isinstance(outcome, BaseException)]
    expect(not refused, f"{len(refused)} of {AT_ONCE} were not let in: {refused[:2]}")


async def prepare(stage):
    """Rooms that everybody may enter, made by an app; apps are members, XMPP clients come and go."""
    owner = App(stage, stage.app_senders[0])
    await owner.sign_in()
    for number in range(ROOMS):
        dialog = await owner.request("POST", "/v1/dialogs", {"type": "public", "name": f"Room {number}"})
        stage.rooms[f"room{number}"] = dialog["jid"], dialog["id"]
        stage.ledger.rooms[dialog["jid"]] = f"room{number}"
    senders = [Sender(stage, name, [list(stage.rooms)[number % ROOMS]] if number < ROOMS * TALKERS else [])
               for number, name in enumerate(stage.senders)]
    app_senders = [AppSender(stage, name, list(stage.rooms)) for name in stage.app_senders]
    readers = [Reader(stage, name) for name in stage.readers]
    app_readers = [AppReader(stage, name) for name in stage.app_readers]
    for app in app_senders + app_readers:
        await app.sign_in()
        if app.name != owner.name:
            for _, dialog in stage.rooms.values():
                await app.request("PUT", f"/v1/dialogs/{dialog}/members/me")
    for one in senders + app_senders + app_readers:
        await one.connect()
    return senders + app_senders, readers + app_readers


async def play(checks, stage):
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(PATIENCE)) as stage.http:
        with checks.check(f"arrivals: {AT_ONCE} right logins at one instant from one address are all let in"):
            await crowd(stage)
        senders, readers = await prepare(stage)
        stage.ledger.began = time.monotonic()
        sending = [asyncio.ensure_future(sender.run()) for sender in senders]
        await asyncio.gather(*(reader.run() for reader in readers))
        took = time.monotonic() - stage.ledger.began
        stage.quiet = True
        stage.ledger.changed()
        await asyncio.gather(*sending)
        print(f"\n{stage.ledger}\n{stage.ledger.came / took:.1f} arrivals and resumptions a second", flush=True)
        await asyncio.gather(*(reader.last_visit() for reader in readers))
        for sender in senders:
            sender.tale.over()


KINDS = {
    "nothing is told twice in one stream": ["twice"],
    "nothing is told again that was confirmed": ["told again"],
    "nothing is out of order": ["out of order"],
    "a stream has no hole": ["a hole", "a hole behind the archive"],
    "what the archive had when a session began does not come live": ["in archive and stream"],
    "in a room all is told once and in order, in each visit": [
        "in a room twice", "in a room out of order", "a hole in a room", "in a room at the wrong time",
        "left where it was not"],
    "an app never loses its place": ["a gap before an app's event", "an app lost its place"],
}


def judge(checks, stage):
    ledger = stage.ledger
    for kind, number in ledger.defects.items():
        print(f"{number} times {kind}:\n  " + "\n  ".join(ledger.evidence[kind]), flush=True)
    others = set(ledger.defects) - {kind for kinds in KINDS.values() for kind in kinds}
    for name, kinds in [*KINDS.items(), ("nothing else is wrong", sorted(others))]:
        with checks.check(f"arrivals: {name}"):
            found = {kind: ledger.defects[kind] for kind in kinds if ledger.defects[kind]}
            expect(not found, "; ".join(f"{number} times {kind}: {ledger.evidence[kind][0]}" for kind, number in found.items()))
    with checks.check(f"arrivals: whatever was acknowledged has been told ({ledger.count['messages acknowledged']:,})"):
        missing = {f"{author}>{reader}": numbers for reader in stage.readers + stage.app_readers
                   for author, numbers in ledger.missing(reader).items() if numbers}
        expect(not missing, f"{sum(map(len, missing.values()))} missing: {list(missing.items())[:5]}")
    with checks.check("arrivals: the server is there"):
        expect(stage.server.process.poll() is None, stage.server.tail())


def run(checks, seconds=SECONDS, arrivals=None, seed=None, trace=None):
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"seed {seed}", flush=True)
    with open(trace or os.devnull, "w") as file, Server(xmpp__plaintext="true", log__level="notice").start() as server:
        stage = Stage(server, seed, seconds, arrivals)
        stage.ledger = Ledger()
        stage.ledger.file = file if trace else None
        server.command("user", "import", "-", stdin="jid,password,name\n" + "".join(
            f"{name}@localhost,{PASSWORD},{name}\n" for name in stage.everybody))
        busy = subprocess.Popen([sys.executable, "-c", BUSY])
        try:
            asyncio.run(play(checks, stage))
        finally:
            busy.kill()
            busy.wait()
        judge(checks, stage)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--arrivals", type=int)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--trace")
    arguments = parser.parse_args()
    outcome = Checks()
    run(outcome, arguments.seconds, arguments.arrivals, arguments.seed, arguments.trace)
    print(f"{outcome.passed} passed, {len(outcome.failed)} failed")
    sys.exit(1 if outcome.failed else 0)
