#!/usr/bin/env python3
"""Clients that come, go, move and lag while others write to them and both cores are busy: each is told everything, once and in
order. What is said is numbered and acknowledged, so that it is known what everybody must have been told.

Usage: arrivals.py [--seconds N | --arrivals N] [--seed N] [--trace FILE]

--arrivals counts arrivals and resumptions; FILE gets everything that was acknowledged to somebody and told to anybody.

Written from the specifications alone: XMPP over a socket (RFC 6120, XEP-0045, XEP-0198, XEP-0203, XEP-0280, XEP-0386, XEP-0388,
SCRAM of RFC 5802 with the keys kept, as its section 3 allows), the app protocol over a WebSocket and `GET /v1/sync`. The same seed
makes each client choose alike; when it comes to what is the machine's affair. `Ledger` says what counts as wrong.
"""
import argparse
import asyncio
import itertools
import os
import random
import subprocess
import sys
import time

import aiohttp

from lib.arrivals_app import App, AppReader, AppSender
from lib.arrivals_ledger import Ledger
from lib.arrivals_wire import ROOMS, TALKERS, Stage, Wire, logged_in
from lib.arrivals_xmpp import Reader, Sender
from lib.harness import PASSWORD, PATIENCE, Checks, Server, expect

SECONDS = 25  # of the short run
AT_ONCE = 200  # logins at one instant
# Keeps a core busy until its parent is gone.
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"


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
    with open(trace or os.devnull, "w") as file, Server(
            xmpp__plaintext="true", log__level="notice", sending__stanzas_per_second=1_000_000).start() as server:
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
