"""`Ledger` keeps what everybody was told in `arrivals.py`, and says what of it is wrong."""
import asyncio
import collections
import itertools
import sys
import time

from lib.harness import PATIENCE, Failure

EVIDENCE = 5  # of each kind of defect that is told


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
