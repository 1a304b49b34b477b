#!/usr/bin/env python3
"""kill -9 of the server after a random number of things told, while clients of both protocols write to each other, and then
the reckoning: what any client saw acknowledged or delivered is in the archive exactly once, under the id it was seen with;
both protocols tell the same history; everybody got everything.

Usage: kill.py [--rounds N] [--seed N]

Two XMPP clients with stream management (bytes on a socket: what is resent and why is visible), two app clients on the
WebSocket and over REST. Each does what its protocol asks of a client that has lost its connection: XEP-0198 resumes or,
refused, takes `<failed h=.../>` at its word and sends the rest again under the same ids; the app repeats what was not
answered under the same clientId and goes on at its cursor.
"""
import argparse
import collections
import contextlib
import json
import random
import sys
import threading
import urllib.error
import xml.etree.ElementTree as ElementTree

import websockets.exceptions
import websockets.sync.client

from lib.apps import App
from lib.harness import PATIENCE, Checks, Failure, Server, expect
from lib.wire import SM, STANZAS, XMPP, Gone

WINDOW = 24  # messages of one client that are not acknowledged yet
TOLD_MAX = 8_000  # acknowledgements, answers and messages told, to all clients together, between two kills
BODY, STANZA_ID = "{jabber:client}body", "{urn:xmpp:sid:0}stanza-id"


class Stage:
    """What the clients and the killer share."""

    def __init__(self, server):
        self.server = server
        self.up = threading.Event()
        self.ended = threading.Event()
        self.writing = True
        self.faults = []
        # How often any client was told anything.
        self.count = 0
        self.changed = threading.Condition()

    @property
    def over(self):
        return self.ended.is_set()

    def told(self):
        with self.changed:
            self.count += 1
            self.changed.notify_all()

    def until(self, what, test):
        """Looks again whenever a client is told something."""
        with self.changed:
            if not self.changed.wait_for(test, 3 * PATIENCE):
                raise Failure(f"not within {3 * PATIENCE} s: {what}")

    def after(self, more):
        """So many times more."""
        end = self.count + more
        self.until(f"{more} things told", lambda: self.count >= end)

    def fault(self, text):
        self.faults.append(text)


class Writer:
    """One client in a thread of its own: connects, talks, and connects again when it is cut off."""

    def __init__(self, stage, name, peers):
        self.stage, self.name, self.peers = stage, name, peers
        self.count = 0
        self.sent, self.acknowledged = [], set()
        # text -> ids it came with; (text, id) -> how often it came
        self.delivered = collections.defaultdict(set)
        self.deliveries = collections.Counter()
        self.connections = collections.Counter()
        self.thread = threading.Thread(target=self.run, name=f"{type(self).__name__} {name}", daemon=True)

    def run(self):
        while not self.stage.over:
            self.stage.up.wait()
            try:
                self.live()
            except (Gone, OSError, urllib.error.URLError, websockets.exceptions.WebSocketException, EOFError):
                self.lost()
            except Exception as error:  # a fault of the server, or of this test: told either way
                self.stage.fault(f"{self.name}: {type(error).__name__}: {error}")
                return self.lost()

    def lost(self):
        """The connection is gone."""

    def text(self):
        self.count += 1
        text = f"{self.label} {self.count}"
        self.sent.append(text)
        return text, self.peers[self.count % len(self.peers)]

    @property
    def label(self):
        return self.name

    def got(self, text, number):
        self.delivered[text].add(number)
        self.deliveries[(text, number)] += 1


class XMPPWriter(Writer):
    def __init__(self, stage, name, peers):
        super().__init__(stage, name, peers)
        self.stream = None
        self.session = None  # the id for resumption
        self.received = 0
        self.handled = 0  # of ours, by the server
        self.pending = collections.deque()  # (text or None, stanza), behind `handled`

    @property
    def idle(self):
        return not any(text for text, _ in self.pending)

    def live(self):
        self.stream = XMPP(self.name, self.stage.server.xmpp, "kill")
        self.stream.connect(bind=False)
        if self.session is not None:
            self.stream.send(f"<resume xmlns='{SM}' previd='{self.session}' h='{self.received}'/>")
            answer = self.stream.stanza(lambda s: s.tag in (f"{{{SM}}}resumed", f"{{{SM}}}failed"), "an answer to resume")
            if answer.get("h") is not None:
                self.acknowledge(int(answer.get("h")))
            if answer.tag.endswith("resumed"):
                self.connections["resumed"] += 1
                for _, stanza in self.pending:
                    self.stream.send(stanza)
                return self.talk()
            self.connections["failed with h" if answer.get("h") is not None else "failed without h"] += 1
        self.begin()
        self.talk()

    def begin(self):
        """A new session; what the last one did not get acknowledged goes again, as it was."""
        self.session = None
        again = [(text, stanza) for text, stanza in self.pending if text]
        self.stream.bind()
        self.stream.send(f"<enable xmlns='{SM}' resume='true'/>")
        enabled = self.stream.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "enabled")
        self.session, self.received, self.handled = enabled.get("id"), 0, 0
        self.pending = collections.deque()
        self.connections["new"] += 1
        self.send(None, "<presence/>")
        for text, stanza in again:
            self.send(text, stanza)

    def send(self, text, stanza):
        self.pending.append((text, stanza))
        self.stream.send(stanza)

    def talk(self):
        kept, self.stream.kept = self.stream.kept, []
        for stanza in kept:
            self.take(stanza)
            self.stage.told()
        while not self.stage.over:
            if self.stage.writing and len(self.pending) < WINDOW:
                text, peer = self.text()
                name = text.replace(" ", "-")
                self.send(text, f"<message to='{peer}@localhost' type='chat' id='{name}'><body>{text}</body>"
                                f"<origin-id xmlns='urn:xmpp:sid:0' id='{name}'/></message>")
                if self.count % 8 == 0:
                    self.stream.send(f"<r xmlns='{SM}'/>")
            elif self.pending:
                self.stream.send(f"<r xmlns='{SM}'/>")
            try:
                for stanza in self.stream.read(0.02, "anything"):
                    self.take(stanza)
                    self.stage.told()
            except Gone:
                raise
            except Failure:
                pass  # nothing came in that time

    def take(self, stanza):
        if stanza.tag == f"{{{SM}}}a":
            self.acknowledge(int(stanza.get("h")))
        elif stanza.tag == f"{{{SM}}}r":
            self.stream.send(f"<a xmlns='{SM}' h='{self.received}'/>")
        elif stanza.tag in STANZAS:
            self.received += 1
            body = stanza.find(BODY)
            if stanza.get("type") == "error":
                self.stage.fault(f"{self.name} got {ElementTree.tostring(stanza)}")
            elif body is not None:
                ids = [i.get("id") for i in stanza.findall(STANZA_ID) if i.get("by") == f"{self.name}@localhost"]
                if len(ids) != 1:
                    self.stage.fault(f"{self.name} got {ElementTree.tostring(stanza)} with {len(ids)} stanza-ids")
                else:
                    self.got(body.text, ids[0])
        elif "streams}error" in stanza.tag or stanza.tag.endswith("/streams}error"):
            raise Gone("stream error")

    def acknowledge(self, handled):
        if handled - self.handled > len(self.pending):
            self.stage.fault(f"{self.name}: {handled} acknowledged, {self.handled + len(self.pending)} sent")
            return
        while self.handled < handled:
            text, _ = self.pending.popleft()
            self.handled += 1
            if text:
                self.acknowledged.add(text)

    def lost(self):
        if self.stream:
            self.stream.close()


class AppWriter(Writer):
    """On the WebSocket."""

    def __init__(self, stage, name, peers):
        super().__init__(stage, name, peers)
        self.app = App(stage.server, name, "socket")
        self.dialogs = {peer: self.app.dialog(peer) for peer in peers}
        # From here on it misses nothing.
        self.cursor = self.app.call("GET", "/v1/sync")[1]["cursor"]
        self.pending = {}  # clientId -> frame
        self.refused = []  # of those, what was too much at the time
        self.socket = None
        self.sequences = {}  # dialog -> seq of the last message told

    @property
    def idle(self):
        return not self.pending

    def live(self):
        self.socket = websockets.sync.client.connect(
            self.stage.server.base.replace("http", "ws", 1) + "/v1/ws", subprotocols=["parley.v1"], compression=None,
            open_timeout=PATIENCE, close_timeout=0.1)
        self.say("hello", "hello", {"token": self.app.token, "cursor": self.cursor})
        self.connections["times"] += 1
        self.refused = []
        for frame in self.pending.values():
            self.socket.send(frame)
        told = 0
        while not self.stage.over:
            if self.stage.writing and len(self.pending) < WINDOW:
                text, peer = self.text()
                self.pending[text] = json.dumps({"id": text, "type": "message.send", "data": {
                    "dialogId": self.dialogs[peer], "clientId": text, "content": {"type": "text", "text": text}}})
                self.socket.send(self.pending[text])
            try:
                self.take(json.loads(self.socket.recv(timeout=0.02)))
            except TimeoutError:
                # Nothing is on its way: room, perhaps, for what was refused.
                while self.refused:
                    self.socket.send(self.pending[self.refused.pop()])
                continue
            self.stage.told()
            told += 1
            if told % 10 == 0:
                self.say("ack", "ack", {"cursor": self.cursor})

    def say(self, name, kind, data):
        self.socket.send(json.dumps({"id": name, "type": kind, "data": data}))

    def take(self, frame):
        if "re" in frame:
            if frame.get("ok"):
                if frame["re"] in self.pending:
                    del self.pending[frame["re"]]
                    self.acknowledged.add(frame["re"])
                    self.delivered[frame["re"]].add(frame["data"]["id"])
            elif frame["error"]["status"] in (429, 503) and frame["re"] in self.pending:
                self.refused.append(frame["re"])
            else:
                self.stage.fault(f"{self.name}: {frame}")
            return
        if frame["type"] == "resync":
            self.stage.fault(f"{self.name} was told to resync: {frame}")
        if frame["type"] in ("caught_up", "resync"):
            self.cursor = frame["data"]["cursor"]
        if "cursor" not in frame:
            return
        if frame["prevCursor"] != self.cursor:
            self.stage.fault(f"{self.name}: a gap before {frame}: the cursor is {self.cursor}")
        self.cursor = frame["cursor"]
        if frame["type"] == "message.created":
            message = frame["data"]["message"]
            self.got(message["content"]["text"], message["id"])
            before = self.sequences.get(message["dialogId"])
            if before is not None and message["seq"] != before + 1:
                self.stage.fault(f"{self.name}: seq {message['seq']} behind {before}")
            self.sequences[message["dialogId"]] = message["seq"]

    def lost(self):
        if self.socket:
            self.socket.close()


class RESTWriter(Writer):
    """One request after the other, each until it is answered."""

    def __init__(self, stage, name, peers):
        super().__init__(stage, name, peers)
        self.app = App(stage.server, name, "rest")
        self.dialogs = {peer: self.app.dialog(peer) for peer in peers}
        self.pending = None

    @property
    def label(self):
        return self.name + " (REST)"

    @property
    def idle(self):
        return self.pending is None

    def live(self):
        while not self.stage.over:
            if self.pending is None:
                if not self.stage.writing:
                    self.stage.ended.wait()
                    return
                self.pending = self.text()
            text, peer = self.pending
            status, answer = self.app.call(
                "POST", f"/v1/dialogs/{self.dialogs[peer]}/messages",
                {"clientId": text, "content": {"type": "text", "text": text}})
            if status in (200, 201):
                self.acknowledged.add(text)
                self.delivered[text].add(answer["id"])
                self.connections["repeats" if status == 200 else "first"] += 1
                self.pending = None
            elif status not in (429, 503):  # those: once more
                raise Failure(f"{status} {answer}")
            self.stage.told()


def archive(server, name):
    """The personal archive: (id, from, to, text), oldest first."""
    stream = XMPP(name, server.xmpp, "reckoning")
    stream.connect()
    entries, after, page = [], "", 0
    while True:
        page += 1
        stream.send(f"<iq type='set' id='page{page}'><query xmlns='urn:xmpp:mam:2'><set xmlns='http://jabber.org/protocol/rsm'>"
                    f"<max>100</max>{after}</set></query></iq>")
        finished = stream.stanza(lambda s: s.get("id") == f"page{page}", "the end of a page")
        expect(finished.get("type") == "result", f"no archive: {ElementTree.tostring(finished)}")
        results = [s for s in stream.kept if s.find("{urn:xmpp:mam:2}result") is not None]
        stream.kept = []
        for stanza in results:
            result = stanza.find("{urn:xmpp:mam:2}result")
            message = result.find("{urn:xmpp:forward:0}forwarded/{jabber:client}message")
            text = message.findtext(BODY)
            if text is not None:
                entries.append((result.get("id"), message.get("from").split("/")[0], message.get("to").split("/")[0], text))
        fin = finished.find("{urn:xmpp:mam:2}fin")
        if fin.get("complete") == "true":
            stream.close()
            return entries
        after = f"<after>{fin.findtext('.//{http://jabber.org/protocol/rsm}last')}</after>"


def untold(writer, archives):
    """What is in the archive for this client, and did not come to it."""
    mine = {text for _, author, to, text in archives[writer.name]
            if to == f"{writer.name}@localhost" or (isinstance(writer, AppWriter) and author == f"{writer.name}@localhost")}
    return mine - set(writer.delivered)


def reckon(checks, stage, xmpp, app, rest, archives):
    writers = xmpp + app + rest
    by_text = collections.defaultdict(set)
    for name, entries in archives.items():
        texts = collections.Counter(text for _, _, _, text in entries)
        with checks.check(f"kill: {name}'s archive has nothing twice ({len(entries)} messages)"):
            twice = [text for text, count in texts.items() if count > 1]
            expect(not twice, f"{len(twice)} texts: {twice[:5]}")
        for number, _, _, text in entries:
            by_text[text].add(number)
    with checks.check("kill: a message has one id in both its archives"):
        several = {text: ids for text, ids in by_text.items() if len(ids) != 1}
        expect(not several, f"{list(several.items())[:3]}")
    for writer in writers:
        with checks.check(f"kill: all that {writer.label} saw acknowledged is in the archive ({len(writer.acknowledged)})"):
            lost = [text for text in writer.acknowledged if text not in by_text]
            expect(not lost, f"{len(lost)} lost: {lost[:5]}")
            expect(set(writer.sent) == writer.acknowledged, f"not all of {len(writer.sent)} was acknowledged in the end")
        with checks.check(f"kill: all that {writer.label} was told is in the archive, under that one id ({len(writer.delivered)})"):
            wrong = {text: ids for text, ids in writer.delivered.items() if ids != by_text.get(text)}
            expect(not wrong, f"{len(wrong)}: {[(t, i, by_text.get(t)) for t, i in list(wrong.items())[:3]]}")
    with checks.check("kill: nothing is in the archive that nobody sent"):
        sent = {text for writer in writers for text in writer.sent}
        expect(set(by_text) == sent, f"{list(set(by_text) ^ sent)[:5]}")
    for writer in xmpp + app:
        with checks.check(f"kill: {writer.label} was told everything that is for them"):
            missing = untold(writer, archives)
            expect(not missing, f"{len(missing)} missing: {sorted(missing)[:5]}")
    for writer in app:
        with checks.check(f"kill: {writer.label}'s feed told nothing twice"):
            twice = [key for key, count in writer.deliveries.items() if count > 1]
            expect(not twice, f"{len(twice)}: {twice[:3]}")
        for peer, dialog in writer.dialogs.items():
            with checks.check(f"kill: {writer.name}'s history with {peer} is {peer}'s archive with {writer.name}"):
                history = writer.app.history(dialog)
                other = [(i, t) for i, author, to, t in archives[peer] if f"{writer.name}@localhost" in (author, to)]
                expect([(m["id"], m["content"]["text"]) for m in history] == other, f"{len(history)} and {len(other)} differ")
                expect([m["seq"] for m in history] == list(range(1, len(history) + 1)), "the seqs are not dense")
    with checks.check("kill: no client met anything that it should not"):
        expect(not stage.faults, f"{len(stage.faults)}: {stage.faults[:5]}")


def run(checks, rounds=20, seed=None):
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"seed {seed}", flush=True)
    dice = random.Random(seed)
    with Server(xmpp__plaintext="true", log__level="notice") as server:
        server.start()
        server.add_users("romeo", "juliet", "nurse", "paris")
        stage = Stage(server)
        xmpp = [XMPPWriter(stage, "romeo", ["juliet", "nurse", "paris"]), XMPPWriter(stage, "nurse", ["romeo", "juliet"])]
        app = [AppWriter(stage, "juliet", ["romeo", "paris", "nurse"]), AppWriter(stage, "paris", ["romeo", "juliet"])]
        rest = [RESTWriter(stage, "juliet", ["nurse", "romeo"]), RESTWriter(stage, "paris", ["juliet", "romeo"])]
        writers = xmpp + app + rest
        for writer in writers:
            writer.thread.start()
        stage.up.set()
        for number in range(rounds):
            # A number, not a time: the same seed strikes alike on any machine, and wherever the others then are.
            stage.after(dice.randrange(1, TOLD_MAX))
            stage.up.clear()
            server.kill()
            print(f"killed {number + 1} of {rounds}; acknowledged {sum(len(w.acknowledged) for w in writers)}", flush=True)
            server.start()
            stage.up.set()
        stage.after(dice.randrange(1, TOLD_MAX))
        stage.writing = False
        with contextlib.suppress(Failure):  # who waits is told below
            stage.until("the last acknowledgements", lambda: all(writer.idle for writer in writers))
        with checks.check("kill: everybody's last message is acknowledged"):
            expect(all(w.idle for w in writers), f"{[w.label for w in writers if not w.idle]} wait; {server.tail()}")
        archives = {name: archive(server, name) for name in ("juliet", "nurse", "paris", "romeo")}
        with contextlib.suppress(Failure):  # what does not come is told below
            stage.until("the last messages", lambda: not any(untold(w, archives) for w in xmpp + app))
        stage.ended.set()
        for writer in writers:
            writer.thread.join(PATIENCE)
        reckon(checks, stage, xmpp, app, rest, archives)
        for writer in writers:
            print(f"{type(writer).__name__} {writer.label}: {len(writer.sent)} sent, {len(writer.delivered)} texts told, "
                  f"{dict(writer.connections)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    outcome = Checks()
    run(outcome, arguments.rounds, arguments.seed)
    print(f"{outcome.passed} passed, {len(outcome.failed)} failed")
    sys.exit(1 if outcome.failed else 0)
