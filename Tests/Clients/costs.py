"""The instructions and allocations that a message costs the server, from one socket to the other, between XMPP clients and between
apps, stay below bounds.

Both are counts, which do not depend on the machine's speed or load: valgrind counts the instructions of all threads, and a preloaded
library (`lib/counting.c`) the allocations. A message's cost is the difference of two runs of the same server, with and without
`SAID` messages more, divided by `SAID`.

So do the allocations, and their bytes, that the server keeps for an idle session: the least of three groups of `IDLE` sessions, behind
one that fills caches, since what is opened meanwhile for all (a connection to the database) counts with a group.

`costs.py BINARY...` prints the counts of other binaries, such as a release and the one before it.
"""
import argparse
import json
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess

from lib.apps import App
from lib.harness import BINARY, PATIENCE, Failure, Server, expect
from lib.wire import BODY, XMPP

SHIM = pathlib.Path(__file__).parent / "lib" / "counting.c"
# Messages of a run, and how many of them are under way together. An app may send 1,000 at once and 200 a second; a server under
# valgrind is slower than that.
SAID, TOGETHER = 1_200, 20
# Messages of each run that both doors send before those that count: they fill caches and open dialogs.
WARMING = 40
# The most that a message may cost the debug build, which this check measures. On 30 November 2026 it was 872,000 instructions by XMPP and
# 1,259,000 by the app protocol. On a busy machine runs took up to 3.5 % more, and versions of SQLite and of the C library differ, too. Who
# raises a bound says in the commit what the cost buys.
BOUNDS = {
    ("XMPP", "instructions"): 905_000, ("XMPP", "allocations"): 84,
    ("app", "instructions"): 1_305_000, ("app", "allocations"): 134}
# Sessions of users of their own, and the most that one may keep, some more than in November 2026. Most of it is the same in a release,
# whose resident memory `make bench` measures.
IDLE, GROUPS = 30, 4
KEPT = {("XMPP", "allocations"): 56, ("XMPP", "bytes"): 9_500, ("app", "allocations"): 88, ("app", "bytes"): 10_000}


def preload(folder):
    """Returns the command that lets the allocations of another be counted."""
    counter = folder / "counting.so"
    subprocess.run([shutil.which("cc") or "clang", "-O2", "-shared", "-fPIC", "-o", counter, SHIM], check=True)
    return ["env", f"LD_PRELOAD={counter}"]


class Meter:
    """The command that counts: valgrind with the library, on a copy of the binary without debug information, since valgrind cannot read
    Swift's."""

    def __init__(self, binary, folder):
        self.binary = folder / "parley"
        subprocess.run(["strip", "-o", self.binary, binary], check=True)
        self.wrapper = preload(folder) + [
            "valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null",
            "--trace-children=yes"]


class Run:
    """One run of the server, which ends with its counts. Two users are logged in by XMPP, and two by the app protocol."""

    def __init__(self, server):
        self.server = server.start(5 * PATIENCE)
        self.said = 0
        self.xmpp = [XMPP(name, server.xmpp) for name in ("romeo", "juliet")]
        for client in self.xmpp:
            client.connect()
            client.send("<presence/>")
            client.stanza(lambda s: s.tag.endswith("}presence") and s.get("from", "").startswith(client.name), "own presence")
        self.apps = [App(server, name).connect() for name in ("nurse", "peter")]
        self.dialog = self.apps[0].dialog("peter")
        self.by_xmpp(WARMING)
        self.by_app(WARMING)

    def texts(self, count):
        for _ in range(0, count, TOGETHER):
            yield [f"It is the east, and Juliet is the sun. Arise, fair sun. {self.said + number:08}" for number in range(TOGETHER)]
            self.said += TOGETHER

    def by_xmpp(self, count):
        romeo, juliet = self.xmpp
        for texts in self.texts(count):
            romeo.send("".join(
                f"<message type='chat' to='juliet@localhost' id='{text[-8:]}'><body>{text}</body>"
                f"<origin-id xmlns='urn:xmpp:sid:0' id='{text[-8:]}'/></message>" for text in texts))
            for text in texts:
                juliet.stanza(lambda s: s.findtext(BODY) == text, f"the message {text}")

    def by_app(self, count):
        nurse, peter = self.apps
        for texts in self.texts(count):
            # In one packet, as those of the XMPP client are: how many are committed together changes what each costs.
            connection = nurse.socket.socket
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
            for text in texts:
                nurse.socket.send(json.dumps({"id": text[-8:], "type": "message.send", "data": {
                    "dialogId": self.dialog, "clientId": text[-8:], "content": {"type": "text", "text": text}}}))
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 0)
            for text in texts:
                expect(nurse.frame(lambda frame: frame.get("re") == text[-8:], "an answer").get("ok"), "a message was refused")
                nurse.message(text)
                peter.message(text)

    def end(self):
        for client in self.xmpp + self.apps:
            client.close()
        self.server.stop()
        self.server.log.until("the counts", lambda text: "I   refs:" in text)
        return {
            "instructions": int(re.search(r"I +refs: +([\d,]+)", self.server.log.text)[1].replace(",", "")),
            "allocations": int(re.findall(r"allocations: (\d+)", self.server.log.text)[-1])}


def measured(binary, runs=1):
    """Returns the counts of a message by door and kind, one for each of so many runs."""
    # Under valgrind each message takes so long that a release charges it to its author as many.
    with Server(xmpp__plaintext="true", sending__stanzas_per_second="1000000") as server:
        server.start()
        server.add_users("romeo", "juliet", "nurse", "peter")
        server.stop()
        meter = Meter(binary, pathlib.Path(server.folder))
        server.binary, server.wrapper = meter.binary, meter.wrapper

        shutil.copytree(server.data, server.data + ".first")

        def counts(by_xmpp=0, by_app=0):
            shutil.rmtree(server.data)
            shutil.copytree(server.data + ".first", server.data)
            run = Run(server)
            run.by_xmpp(by_xmpp)
            run.by_app(by_app)
            return run.end()

        found = {}
        for _ in range(runs):
            none = counts()
            for door, some in (("XMPP", counts(by_xmpp=SAID)), ("app", counts(by_app=SAID))):
                for what in none:
                    found.setdefault((door, what), []).append(round((some[what] - none[what]) / SAID))
        return found


def kept(binary):
    """Returns what the server keeps for an idle session, by door and kind."""
    with Server(xmpp__plaintext="true") as server:
        server.start()
        server.add_users(*(f"user{number}" for number in range(GROUPS * IDLE)))
        server.stop()
        server.binary, server.wrapper = binary, preload(pathlib.Path(server.folder))
        server.start()

        def counts():
            """Returns what is allocated when nothing is under way any more."""
            found = [None]
            while len(found) < 4 or len(set(found[-3:])) > 1:
                seen = len(re.findall("kept: ", server.log.text))
                server.process.send_signal(signal.SIGUSR2)
                server.log.until("what is kept", lambda text: len(re.findall("kept: .*\n", text)) > seen)
                found.append(re.findall(r"kept: (\d+) allocations, (\d+) bytes\n", server.log.text)[-1])
                expect(len(found) < 1_000, "what is allocated changes all the time")
            return [int(number) for number in found[-1]]

        def by_xmpp(name):
            client = XMPP(name, server.xmpp)
            client.connect()
            client.send("<presence/>")
            client.stanza(lambda s: s.tag.endswith("}presence") and s.get("from", "").startswith(f"{name}@"), "own presence")
            return client

        found = {}
        for door, connect in (("XMPP", by_xmpp), ("app", lambda name: App(server, name).connect())):
            clients, sums = [], []
            for group in range(GROUPS):
                clients += [connect(f"user{number}") for number in range(group * IDLE, (group + 1) * IDLE)]
                sums.append(counts())
            for index, what in enumerate(("allocations", "bytes")):
                found[door, what] = round(min(b[index] - a[index] for a, b in zip(sums, sums[1:])) / IDLE)
            for client in clients:
                client.close()
        return found


def run(checks):
    for (door, what), found in kept(BINARY).items():
        with checks.check(f"costs: {what} kept for an idle session, {door}"):
            print(f"        {found} of at most {KEPT[door, what]}")
            expect(found <= KEPT[door, what], f"{found}, which is more than {KEPT[door, what]}")
    for program in ("valgrind", "strip"):
        if not shutil.which(program):
            raise Failure(f"{program} is needed: `make test` installs it")
    for (door, what), found in measured(BINARY).items():
        with checks.check(f"costs: {what} of a message, {door}"):
            print(f"        {found[0]} of at most {BOUNDS[door, what]}")
            expect(found[0] <= BOUNDS[door, what], f"{found[0]}, which is more than {BOUNDS[door, what]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", nargs="+")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    for binary in arguments.binaries:
        print(binary)
        for (door, what), found in measured(binary, arguments.runs).items():
            print(f"  {door}, {what} of a message: {statistics.median(found):.0f}, of {sorted(found)}", flush=True)
        for (door, what), found in kept(binary).items():
            print(f"  {door}, {what} kept for an idle session: {found}", flush=True)
