"""These senders and readers of `arrivals.py` speak XMPP."""
import asyncio
import collections
import contextlib
import random
import uuid
import xml.etree.ElementTree as ElementTree

from lib.arrivals_ledger import Tale
from lib.arrivals_wire import (
    BIND2, BODY, CARBONS, CLIENT, COPY, DELAY, FLOOD, FORWARDED, IQ, LOST, MAM, MESSAGE, MUC, OWED, OWN, PRESENCE,
    RESULT, RSM, STREAM_ERROR, Wire, logged_in)
from lib.harness import PATIENCE, Failure, expect
from lib.wire import SM, STANZAS, Gone


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
        # A server that waits already, since too much was unacknowledged, goes on when half of that is acknowledged: how many stanzas
        # are unacknowledged when it sends no more depends on when the last acknowledgement has come.
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE / 12):
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
