#!/usr/bin/env python3
"""Parley and the servers it federates with are killed, cut off, and both, on a small internet (`lib.internet`) while users of all write.

Usage: federation_faults.py [--rounds N] [--seed N] [PARTNER...]

Without --rounds each fault once, towards all partners at once, with short waits. With it N rounds of one random fault of one random
partner, or of Parley, at a random moment, and a random time away.

In each conversation Romeo writes by XMPP and Mercutio by the app protocol to Juliet at the partner, and she writes to Romeo. A client
whose stream ends says what was not acknowledged (XEP-0198) once more on the next one, under the same id; an app repeats its request under
the same `clientId`. When the last fault is over, archives on both sides are read, and `Conversation.reckon` compares them with what was said.

What Parley promises is that a message that it has acknowledged to its user arrives, is not returned while its receiver's server is away
for less than `federation.give_up_seconds`, keeps its place among its author's, and is there twice only if the other server took it and was
prevented from saying so; then both have the id under which it was said. What the other server's users write is another matter until Parley
has acknowledged it (`<a/>`) or shown it to anybody: Prosody returns at once what it cannot hand over, ejabberd has no XEP-0198 between
servers and loses what is on the way, both without a fault of Parley. So of what comes from them no more is asked than that it stands once in
Romeo's archive, in its order, and that all he was shown is there; and of Prosody, as long as nobody has killed it, that it either arrived or
was returned: what it drops silently is what Parley has acknowledged.

What Parley handed over has arrived when it is in Juliet's archive or was shown by her client. Both count, because ejabberd's archive does not
outlive a SIGKILL: what it took a moment before (`FORGETS`) may be neither there nor shown, and nobody can be asked for it again.
"""
import argparse
import asyncio
import collections
import contextlib
import datetime
import itertools
import random
import sys
import time

from slixmpp.xmlstream.xmlstream import NotConnectedError

from lib.apps import App
from lib.harness import PATIENCE, Checks, Failure, expect
from lib.internet import Internet, listens
from lib.partners import XMPP, Ejabberd, Parley, Prosody
from lib.talks import Person

KINDS = {"prosody": Prosody, "ejabberd": Ejabberd, "parley2": Parley}
# The seconds before a SIGKILL in which a server may have taken something and lost it: ejabberd answers a ping while it still hands over
# messages within itself, and writes its files (dets) up to three seconds later.
FORGETS = {"ejabberd": 5}
# Seconds after which Parley has reached a server that is back: it was away for up to ten, so the third pause is the longest.
RETURNS = 30
# Seconds before a SIGKILL that cuts a cable: what was said then may be in the kernel still, which sends it when the cable is mended,
# behind what the next process says.
LATE = 15
# What Prosody, which finds no repetitions, may have twice of one stream that broke: `FederationLimits.rowsUntakenMax`.
UNTAKEN = 1_024


class Writer:
    """Says numbered things, over whatever happens to its server."""

    def __init__(self, server, name, to, mark, pause):
        self.server, self.name, self.to, self.mark, self.pause = server, name, to, mark, pause
        self.said = {}  # when, by what
        self.writing = True

    def next(self):
        text = f"{self.mark}-{len(self.said)}"
        self.said[text] = time.monotonic()
        return text


class XMPPWriter(Writer):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.client, self.streams = None, 0
        self.unacknowledged, self.returned, self.heard = {}, {}, []

    async def write(self):
        while self.writing or self.unacknowledged:
            if self.client is None:
                await self._connect()
                continue
            if self.writing:
                text = self.next()
                self.unacknowledged[text] = True
                self._say(text)
            else:
                with contextlib.suppress(NotConnectedError):  # a connection is lost some time before its event
                    self.client.plugin["xep_0198"].request_ack()
            await asyncio.sleep(self.pause)
        await self.leave()

    async def leave(self):
        if self.client:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(self.client.disconnect(), 5)

    async def _connect(self):
        if not await asyncio.to_thread(listens, self.server.host, XMPP):
            return await asyncio.sleep(0.2)
        self.streams += 1
        client = Person(self.server, self.name, f"{self.mark}-{self.streams}")
        client.plugin["xep_0198"].allow_resume = False  # the repetitions are to be seen
        client.add_event_handler("stanza_acked", lambda stanza: self.unacknowledged.pop(stanza["id"], None))
        client.add_event_handler("message_error", self._returned)
        client.add_event_handler("message", lambda message: self.heard.append(str(message["body"])))
        client.add_event_handler("disconnected", lambda _: self._disconnected(client))
        try:
            await asyncio.wait_for(client.arrive(), 15)
        except (Failure, asyncio.TimeoutError):
            client.abort()
            return
        self.client = client
        for text in list(self.unacknowledged):
            self._say(text)

    def _disconnected(self, client):
        client.cancel_connection_attempt()
        if self.client is client:
            self.client = None

    def _returned(self, message):
        if str(message["id"]).startswith(f"{self.mark}-"):
            self.returned[str(message["id"])] = message["error"]["condition"]

    def _say(self, text):
        message = self.client.make_message(self.to, text, mtype="chat")
        message["id"] = text
        message["origin_id"]["id"] = text
        message.send()


class AppWriter(Writer):
    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.app = self.dialog = None

    def _say(self, text):
        try:
            if self.app is None:
                self.app = App(self.server, self.name, self.mark)
                self.dialog = self.app.dialog(self.to)
            status, answer = self.app.call(
                "POST", f"/v1/dialogs/{self.dialog}/messages", {"clientId": text, "content": {"type": "text", "text": text}})
        except (OSError, Failure, ValueError):  # the server is down, in one of its many ways
            return False
        expect(status in (200, 201, 503), f"{text} is answered {status}: {answer}")
        return status != 503

    async def write(self):
        while self.writing:
            text = self.next()
            while not await asyncio.to_thread(self._say, text):
                await asyncio.sleep(0.2)
            await asyncio.sleep(self.pause)

    @property
    def returned(self):
        return {item["content"]["text"]: item["delivery"] for item in self.app.history(self.dialog)
                if (item.get("delivery") or {}).get("state") == "failed"}


class Conversation:
    """Of Parley's users with one partner's, and what was done to the two servers meanwhile."""

    def __init__(self, parley, partner, pause):
        self.parley, self.partner = parley, partner
        self.began = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=5)
        self.kills, self.starts, self.faults = [], [], 0
        mark = f"{partner.name}{random.randrange(1 << 30)}"
        romeo, juliet = parley.address("romeo"), partner.address("juliet")
        self.romeo = XMPPWriter(parley, "romeo", juliet, f"{mark}x", pause)
        self.mercutio = AppWriter(parley, "mercutio", juliet, f"{mark}a", pause)
        self.juliet = XMPPWriter(partner, "juliet", romeo, f"{mark}j", pause)
        self.writers = [self.romeo, self.mercutio, self.juliet]
        self.tasks = []

    def begin(self):
        self.tasks = [asyncio.ensure_future(writer.write()) for writer in self.writers]

    async def end(self):
        for writer in self.writers:
            writer.writing = False
        await asyncio.wait_for(asyncio.gather(*self.tasks), PATIENCE)

    async def archive(self, server, name, writers):
        """What this user's archive has of what these said, each as often as it stands there."""
        reader = await Person(server, name, f"reader{random.randrange(1 << 30)}").arrive()
        found = {writer: [] for writer in writers}
        async for entry in reader.plugin["xep_0313"].iterate(start=self.began, rsm={"max": 200}):
            message = entry["mam_result"]["forwarded"]["stanza"]
            for writer in writers:
                if (text := str(message["body"])).startswith(f"{writer.mark}-"):
                    found[writer].append(text)
                    expect(writer is self.mercutio or message["id"] == text, f"{text} came as {message['id']}")
        await reader.leave()
        return found

    async def complete(self):
        """The archive of Juliet when all that Parley owes her is there, or nothing more comes."""
        mine = [self.romeo, self.mercutio]
        for _ in range(PATIENCE):
            found = await self.archive(self.partner, "juliet", mine)
            if not any(self.lost(writer, found[writer]) for writer in mine):
                break
            await asyncio.sleep(1)
        return found

    def lost(self, writer, found):
        """What of this writer's neither is in the archive nor was shown, and why not is not known."""
        missing = set(writer.said) - set(found) - set(self.juliet.heard)
        return [text for text, when in writer.said.items() if text in missing and not self.is_forgotten(when)]

    def is_forgotten(self, said):
        """Whether this was handed over shortly before a SIGKILL: when it was said, or when Parley had reached the partner again that was
        away, or had just come back, when it was said."""
        forgets = FORGETS.get(self.partner.name)
        starts = [start for start in self.starts if start >= said][:1] + [start for start in self.starts if start < said][-1:]
        return forgets is not None and any(
            said <= kill <= said + forgets or said <= kill and any(start <= kill <= start + RETURNS + forgets for start in starts)
            for kill in self.kills)

    def is_late(self, text):
        """Whether what Juliet said may come behind what she said later."""
        return any(kill - LATE <= self.juliet.said[text] <= kill for kill in self.kills)

    async def reckon(self):
        there = await self.complete()
        for writer, door in ((self.romeo, "by XMPP"), (self.mercutio, "by the app")):
            self.owed(writer, door, there[writer])
        here = (await self.archive(self.parley, "romeo", [self.juliet]))[self.juliet]
        returned, counted = self.juliet.returned, collections.Counter(here)
        silent = [text for text in self.juliet.said if text not in counted and text not in returned]
        print(f"        from {self.partner.name}: {len(self.juliet.said)} said, {len(counted)} arrived, {len(returned)} returned, "
              f"{len(silent)} lost in silence", flush=True)
        expect(len(here) == len(counted), f"twice in the archive here: {[text for text, n in counted.items() if n > 1][:5]}")
        # After a fault Prosody has two streams: its own, which it opens for what has waited, and Parley's, which it uses in both
        # directions (XEP-0288). What comes by the latter may overtake what has waited.
        is_prosody = self.partner.name == "prosody"
        in_order(self.juliet, here, late=self.is_late if is_prosody else lambda text: False, overtakings=2 * self.faults * is_prosody)
        shown = {text for text in self.romeo.heard if text.startswith(self.juliet.mark)}
        expect(shown <= set(here), f"shown, and not in the archive: {sorted(shown - set(here))[:5]}")
        if self.partner.name == "parley2":
            expect(not silent and not returned, f"lost: {silent[:5]}, returned: {list(returned.items())[:5]}")
        if self.partner.name == "prosody" and not self.kills:
            expect(not silent, f"acknowledged, and not in the archive: {silent[:5]}")

    def owed(self, writer, door, found):
        counted, returned = collections.Counter(found), writer.returned
        shown = set(self.juliet.heard)
        arrived = {text for text in writer.said if text in counted or text in shown}
        lost = self.lost(writer, found)
        doubled = [text for text, count in counted.items() if count > 1]
        print(f"        to {self.partner.name} {door}: {len(writer.said)} said, {len(arrived)} arrived, {len(returned)} returned, "
              f"{len(doubled)} twice, {len(writer.said) - len(arrived) - len(lost)} forgotten by {self.partner.name}", flush=True)
        expect(not lost, f"{len(lost)} of {len(writer.said)} are lost {door}: {lost[:3]} ... {lost[-3:]}")
        expect(not returned, f"{len(returned)} were returned {door}: {list(returned.items())[:3]}")
        bound = 0 if self.partner.name == "parley2" else UNTAKEN * self.faults
        expect(len(doubled) <= bound, f"{len(doubled)} are there twice: {doubled[:5]}")
        in_order(writer, found)


def in_order(writer, found, late=lambda text: False, overtakings=0):
    """What is there twice counts where it stands first; what may be late does not count."""
    first = [text for text in dict.fromkeys(found) if not late(text)]
    place = {text: number for number, text in enumerate(writer.said)}
    wrong = [(one, other) for one, other in itertools.pairwise(first) if place[one] > place[other]]
    if len(wrong) > overtakings:
        at = found.index(wrong[0][0])
        near = [(text, round(writer.said[text], 1), text in writer.returned) for text in found[max(0, at - 3):at + 12]]
        raise Failure(f"{writer.name}'s are not in order: {wrong}; what stands there, when it was said, whether it was returned: {near}")


# --- faults: each a coroutine that does it, and puts right again

async def off_loop(body):
    return await asyncio.to_thread(body)


def killed(server, conversations):
    server.kill()
    for conversation in conversations:
        if conversation.partner is server:
            conversation.kills.append(time.monotonic())


async def started(server, conversations):
    await off_loop(server.start)
    for conversation in conversations:
        if conversation.partner is server:
            conversation.starts.append(time.monotonic())


async def crash_receiver(parley, partner, conversations, away):
    killed(partner, conversations)
    await asyncio.sleep(away)
    await started(partner, conversations)


async def cut(parley, partner, conversations, away):
    partner.machine.cut()
    await asyncio.sleep(away)
    partner.machine.mend()


async def power_loss(parley, partner, conversations, away):
    partner.machine.cut()
    killed(partner, conversations)
    await asyncio.sleep(away)
    partner.machine.mend()
    await started(partner, conversations)


async def crash_parley(parley, partner, conversations, away):
    """It sends and receives, so this is both roles."""
    killed(parley, conversations)
    await asyncio.sleep(min(away, 2))
    await started(parley, conversations)


async def crash_both(parley, partner, conversations, away):
    killed(parley, conversations)
    killed(partner, conversations)
    await asyncio.sleep(min(away, 2))
    await asyncio.gather(started(parley, conversations), started(partner, conversations))


FAULTS = [crash_receiver, cut, power_loss, crash_parley, crash_both]


def note(conversations, partner):
    for conversation in conversations:
        conversation.faults += partner is None or conversation.partner is partner


async def each_once(parley, partners, conversations, away=3):
    """All partners are hurt at once."""
    for fault in (crash_receiver, cut, power_loss):
        await asyncio.sleep(1)
        note(conversations, None)
        await asyncio.gather(*(fault(parley, partner, conversations, away) for partner in partners))
    for _ in range(2):
        await asyncio.sleep(1)
        note(conversations, None)
        await crash_parley(parley, None, conversations, 0)


async def at_random(parley, partners, conversations, rounds, choice):
    for number in range(rounds):
        await asyncio.sleep(choice.uniform(0, 3))
        fault, partner, away = choice.choice(FAULTS), choice.choice(partners), choice.uniform(1, 10)
        print(f"        round {number}: {fault.__name__}, {partner.name}, {away:.1f} s", flush=True)
        note(conversations, None if fault in (crash_parley, crash_both) else partner)
        await fault(parley, partner, conversations, away)


async def converse(checks, parley, partners, rounds, choice):
    conversations = [Conversation(parley, partner, 0.3 if rounds else 0.1) for partner in partners]
    what = f"{rounds} random faults" if rounds else "each fault"
    try:
        for conversation in conversations:
            conversation.begin()
        while not all(writer.said for conversation in conversations for writer in conversation.writers):
            await asyncio.sleep(0.1)
        if rounds:
            await at_random(parley, partners, conversations, rounds, choice)
        else:
            await each_once(parley, partners, conversations)
        await asyncio.sleep(2)
        for conversation in conversations:
            for server, other in ((parley, conversation.partner), (conversation.partner, parley)):
                if isinstance(server, Parley):
                    await off_loop(lambda: server.run("federation", "retry", other.domain))
            with checks.check(f"federation: {what}, everybody writes to the end with {conversation.partner.name}"):
                await conversation.end()
        for conversation in conversations:
            with checks.check(f"federation: {what}, nothing acknowledged is lost or returned with {conversation.partner.name}"):
                await conversation.reckon()
    finally:
        for conversation in conversations:
            for task in conversation.tasks:
                task.cancel()
            await asyncio.gather(*conversation.tasks, return_exceptions=True)
            for writer in (conversation.romeo, conversation.juliet):
                await writer.leave()


def run(checks, partners=tuple(KINDS), rounds=0, seed=None):
    choice = random.Random(seed)
    open_house = {"federation__strangers": "allow"}
    with Internet("parley", *partners) as internet:
        parley = Parley(internet.machines["parley"], **open_house)
        servers = [KINDS[name](internet.machines[name], **(open_house if name == "parley2" else {})) for name in partners]
        for server in (parley, *servers):
            server.start()
            for name in ("romeo", "mercutio", "juliet"):
                server.add_user(name)
            if isinstance(server, Ejabberd):
                server.restart()  # A SIGKILL soon after would take its accounts.
        failed = len(checks.failed)
        asyncio.run(converse(checks, parley, servers, rounds, choice))
        if len(checks.failed) > failed:
            print(f"-- the end of Parley's log:\n{parley.tail()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("partners", nargs="*", choices=[[], *KINDS], default=[])
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    checks = Checks()
    run(checks, options.partners or list(KINDS), options.rounds, options.seed)
    print(f"{checks.passed} passed, {len(checks.failed)} failed")
    sys.exit(bool(checks.failed))


if __name__ == "__main__":
    main()
