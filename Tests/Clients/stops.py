"""What a stop stores of sessions that can be resumed (XEP-0198), and what their clients get from the next process: many clients read what
they are sent and acknowledge nothing. The stop stores places of the log, not bytes; a start that fails loses nothing; stanzas are read when
their client comes back, without what was deleted; kill -9 at any time leaves what can be read.
"""
import contextlib
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile

from lib.apps import App
from lib.harness import BINARY, PATIENCE, Server, expect
from lib.scrape import Scrape
from lib.wire import BODY, SM, STANZAS, XMPP

USERS, EACH = ("juliet", "nurse", "paris", "benvolio"), 8
# Messages to each user, and their size: together less than a session may be sent again (DoorLimits.archivedResentBytesMax, 768 KiB).
SAID, SIZE = 40, 8_000
# Together more, and less than a session takes without an acknowledgement (DoorLimits.unacknowledgedEntryBytesMax, 1 MiB).
SAID_LARGE, SIZE_LARGE = 18, 48_000
# The bytes that one of these sessions may store: a place takes 18, the state of a session a kilobyte or two.
STORED_MAX = 4_096
# Clients write here as much as the server reads, which is what a user may send (`sending`) otherwise.
FAST = dict(sending__stanzas_per_second=1_000_000, sending__bytes_per_second=1 << 30)
STORES, NOT_STORED = "stores sessions for the next start", "sessions are not stored"


class Deaf(XMPP):
    """Counts what it is sent, as XEP-0198 4 wants it, and acknowledges nothing by itself. `said` has the numbers of messages, in order, and
    what became of them; `counts` the stanzas up to each."""

    def __init__(self, server, name, resource):
        super().__init__(name, server.xmpp, resource)
        self.handled, self.confirmed, self.said, self.counts, self.steps = 0, 0, [], [], 0
        self.connect()
        self.manage()

    def manage(self):
        self.send(f"<enable xmlns='{SM}' resume='true'/>")
        self.session = self.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "enabled").get("id")
        self.handled = 0
        self.send("<presence/>")
        return self.in_step()

    def parse(self, data):
        found = super().parse(data)
        for stanza in found:
            if stanza.tag not in STANZAS:
                continue
            self.handled += 1
            children = {child.tag.split("}")[-1] for child in stanza}
            number = (stanza.findtext(BODY) or "").split(" ")[0]
            said = next((name for name in ("retract", "retracted") if name in children), number if number.isdigit() else None)
            if said:
                self.said.append(said)
                self.counts.append(self.handled)
        return [s for s in found if s.tag not in STANZAS or s.get("type") == "result"]

    def in_step(self):
        # An answer of before may be sent again by a resumption.
        self.steps += 1
        step = f"step{self.steps}"
        self.send(f"<iq to='localhost' type='get' id='{step}'><ping xmlns='urn:xmpp:ping'/></iq>")
        self.stanza(lambda s: s.get("id") == step, "the answer to a ping")
        return self

    def acknowledge(self):
        self.confirmed = self.handled
        self.send(f"<a xmlns='{SM}' h='{self.handled}'/>")
        return self.in_step()

    def gather(self, count):
        while len(self.said) < count:
            self.kept += self.read(PATIENCE, f"{count} messages, but {len(self.said)}")
        self.in_step()
        return self.said

    def resume(self, handled):
        """Whether the session is resumed by a client that has so many stanzas."""
        self.close()
        self.kept, self.said, self.counts, self.handled = [], [], [], handled
        self.connect(bind=False)
        self.send(f"<resume xmlns='{SM}' previd='{self.session}' h='{handled}'/>")
        answer = self.stanza(lambda s: s.tag in (f"{{{SM}}}resumed", f"{{{SM}}}failed"), "an answer to resume")
        return answer.tag.endswith("}resumed")

    def log_in_anew(self):
        """What it is sent then: the messages that no client of the user has acknowledged."""
        self.bind()
        return self.manage()


def say(server, user, count, size):
    romeo = XMPP("romeo", server.xmpp, "window")
    romeo.connect()
    for number in range(count):
        romeo.send(f"<message to='{user}@localhost' type='chat' id='{user}{number}'><body>{number} {'x' * size}</body></message>")
    romeo.send("<iq to='localhost' type='get' id='said'><ping xmlns='urn:xmpp:ping'/></iq>")
    romeo.stanza(lambda s: s.get("id") == "said", "the answer to a ping")
    romeo.close()


def numbers(count):
    return [str(number) for number in range(count)]


def kept(server):
    """The sessions of the database with their bytes, and the streams with stanzas and theirs."""
    with tempfile.TemporaryDirectory() as folder:
        for name in "parley.db", "parley.db-wal":
            if os.path.exists(os.path.join(server.data, name)):
                shutil.copy(os.path.join(server.data, name), folder)
        with contextlib.closing(sqlite3.connect(os.path.join(folder, "parley.db"))) as database:
            found = []
            for table, count, column in ("suspended", "*", "state"), ("suspended_stanzas", "DISTINCT high", "stanzas"):
                found += database.execute(f"SELECT count({count}), coalesce(sum(length({column})), 0) FROM {table}").fetchone()
                texts = database.execute(f"SELECT count(*) FROM {table} WHERE instr({column}, ?)", (b"x" * 100,)).fetchone()[0]
                expect(texts == 0, f"{table}: {texts} rows have the text of messages")
            return tuple(found)


def fails_to_start(server):
    """The port of XMPP is in use."""
    with contextlib.closing(socket.socket()) as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", server.xmpp))
        holder.listen()
        done = subprocess.run(
            [str(BINARY), "serve", "--config", server.configuration], env=server.environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60)
    expect(done.returncode == 1 and "in use" in done.stderr, f"{done.returncode}: {done.stderr}")


def run(checks):
    with Server(xmpp__plaintext="true", **FAST) as server:
        server.add_users("romeo", "tybalt", *USERS)
        server.start()
        for user in ("tybalt", *USERS):
            server.befriend("romeo", user)
        clients = {user: [Deaf(server, user, f"r{number}") for number in range(EACH)] for user in USERS}
        large = [Deaf(server, "tybalt", f"r{number}") for number in range(2)]
        everybody = [client for each in clients.values() for client in each]
        for client in everybody + large:
            client.acknowledge()
        for user in USERS:
            say(server, user, SAID, SIZE)
        say(server, "tybalt", SAID_LARGE, SIZE_LARGE)
        for client in everybody:
            expect(client.gather(SAID) == numbers(SAID), f"{client.said}")
        for client in large:
            expect(client.gather(SAID_LARGE) == numbers(SAID_LARGE), f"{client.said}")
        stored = stops(checks, server, everybody)
        with checks.check("stops: a start that fails stores nothing anew, and loses nothing"):
            fails_to_start(server)
            expect(kept(server) == stored, f"{kept(server)} were {stored}")
        deleted = deletes(server)
        server.start()
        resumes(checks, server, clients, deleted)
        dropped(checks, large)
        killed(checks, server, everybody, clients)
        killed_while_stopping(checks, server, clients["paris"][0])


def stops(checks, server, everybody):
    with checks.check("stops: many clients that acknowledge nothing make the stop store some kilobytes each, and no text"):
        server.stop()
        stored = kept(server)
        sessions, state, streams, stanzas = stored
        expect((sessions, streams) == (len(everybody), len(everybody)), f"{stored}")
        # Each of them has SAID messages.
        expect(stanzas >= len(everybody) * SAID * 18, f"{stanzas} bytes are too few for all messages")
        expect(state + stanzas <= len(everybody) * STORED_MAX, f"{state + stanzas} bytes of {len(everybody)} sessions")
    with checks.check("stops: a session whose client would be sent too much again is not stored, and the log says so"):
        lines = [line for line in server.log.lines if NOT_STORED in line]
        expect(len(lines) == 1 and "tooLarge=2" in lines[0] and "withoutRoom=0" in lines[0], server.tail())
        expect(sum(STORES in line for line in server.log.lines) == 1, server.tail())
    return stored


def deletes(server):
    """Starts the server for what happens before the clients are back: the first message to juliet is retracted, she deletes the second for
    herself. The stop after it stores the sessions again, and none of their stanzas."""
    before = kept(server)
    server.start()
    romeo, juliet = App(server, "romeo"), App(server, "juliet")
    dialog = romeo.dialog("juliet")
    first, second = romeo.history(dialog)[:2]
    status, _ = romeo.call("DELETE", f"/v1/dialogs/{dialog}/messages/{first['id']}?for=everyone")
    expect(status == 204, f"{status}")
    status, _ = juliet.call("DELETE", f"/v1/dialogs/{dialog}/messages/{second['id']}?for=me")
    expect(status == 204, f"{status}")
    server.stop()
    return before


def resumes(checks, server, clients, before):
    with checks.check("stops: over two restarts, everything unacknowledged is sent again, once and in order"):
        nurse = clients["nurse"][0]
        expect(nurse.resume(nurse.confirmed), "the session was not resumed")
        expect(nurse.gather(SAID) == numbers(SAID), f"{nurse.said}")
    with checks.check("stops: a client that had some of it is sent the rest"):
        nurse = clients["nurse"][1]
        expect(nurse.resume(nurse.counts[9]), "the session was not resumed")
        expect(nurse.gather(SAID - 10) == numbers(SAID)[10:], f"{nurse.said}")
    with checks.check("stops: what was retracted or deleted meanwhile does not come back, and the counts of both sides agree"):
        juliet = clients["juliet"][0]
        expect(juliet.resume(juliet.confirmed), "the session was not resumed")
        wanted = ["retracted"] + numbers(SAID)[2:] + ["retract"]
        expect(juliet.gather(len(wanted)) == wanted, f"{juliet.said}")
        juliet.acknowledge()
        told = juliet.handled
        expect(juliet.resume(told), "the session was not resumed")
        juliet.in_step()
        # The answer to the ping alone: whoever counts more would send the last stanza again.
        expect(juliet.handled == told + 1, f"{juliet.handled - told - 1} stanzas were sent again although they were acknowledged")
    with checks.check("stops: the metric counts sessions that were restored, and those that were resumed"):
        scrape = Scrape(server)
        found = {result: scrape("parley_sessions_archived_total", result=result) for result in ("restored", "resumed", "unreadable")}
        expect(found == {"restored": before[0], "resumed": 3, "unreadable": 0}, f"{found}")


def dropped(checks, large):
    with checks.check("stops: who cannot resume is sent what nobody has acknowledged, at the next login"):
        expect(not large[0].resume(large[0].confirmed), "a session was resumed that was not stored")
        large[0].log_in_anew()
        # What waits is sent while less than half of what a session takes is unacknowledged.
        large[0].gather(SAID_LARGE // 2)
        large[0].acknowledge()
        expect(large[0].gather(SAID_LARGE) == numbers(SAID_LARGE), f"{large[0].said}")


def killed(checks, server, everybody, clients):
    with checks.check("stops: after kill -9 no session comes back, and no message is lost"):
        server.kill()
        sessions, _, streams, _ = kept(server)
        # Three were resumed.
        expect((sessions, streams) == (0, len(everybody) - 3), f"{sessions} sessions, stanzas of {streams}")
        server.start()
        paris = clients["paris"][0]
        expect(not paris.resume(paris.confirmed), "a session was resumed after a crash")
        paris.log_in_anew()
        expect(paris.gather(SAID) == numbers(SAID), f"{paris.said}")


def killed_while_stopping(checks, server, paris):
    with checks.check("stops: kill -9 while a stop stores sessions leaves a database that the next start reads"):
        server.process.send_signal(signal.SIGTERM)
        server.log.until("it stores sessions", lambda text: STORES in text)
        server.kill()
        server.start()
        if not paris.resume(0):
            paris.log_in_anew()
        expect(paris.gather(SAID) == numbers(SAID), f"{paris.said}")
