"""The machine is lost and comes back from a backup: clients of both protocols log in, ids of what is in the backup are as they
were, and only who has seen more than it is told to read anew. What is no backup of this server is refused, and a full disk
leaves the data as it was.
"""
import asyncio
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import time

import slixmpp

from lib.apps import App, exchange, exchange_json
from lib.files import ask, upload
from lib.harness import PASSWORD, PATIENCE, Failure, Server, expect, small_disk

LETTER = b"Good night, good night! Parting is such sweet sorrow. " * 4000


def run(checks):
    with Server() as server:
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        server.start()
        lost(checks, server)
        refused(checks, server)
    full_disk(checks)
    full_backups(checks)
    scheduled(checks)


def fails(server, *arguments):
    done = subprocess.run(
        [str(server.binary), *arguments, "--config", server.configuration], env=server.environment(), capture_output=True,
        text=True, timeout=PATIENCE)
    expect(done.returncode == 1, f"status {done.returncode}: {done.stdout}{done.stderr}")
    return done.stderr


def cursor_of(app):
    status, body = app.call("GET", "/v1/sync")
    expect(status == 200, f"{status} {body}")
    return body["cursor"]


def synced(app, cursor):
    status, body = app.call("GET", f"/v1/sync?cursor={cursor}")
    expect(status == 200, f"{status} {body}")
    return [event["type"] for event in body["events"]]


async def archive(server, name):
    """The stanza ids of a user's archive, by an XMPP client."""
    client = slixmpp.ClientXMPP(f"{name}@localhost/orchard", PASSWORD)
    client.ca_certs = pathlib.Path(server.certificate)
    client.register_plugin("xep_0313")
    ready = asyncio.Event()
    client.add_event_handler("session_start", lambda _: ready.set())
    client.connect("127.0.0.1", server.xmpp)
    await asyncio.wait_for(ready.wait(), PATIENCE)
    answer = await client["xep_0313"].retrieve(rsm={"max": 50})
    ids = {message["mam_result"]["forwarded"]["stanza"]["body"]: message["mam_result"]["id"] for message in answer["mam"]["results"]}
    await client.disconnect()
    return ids


def texts(app, dialog):
    return {message["content"]["text"]: message["id"] for message in app.history(dialog) if message["content"]["type"] == "text"}


def lost(checks, server):
    romeo = App(server, "romeo")
    backups = os.path.join(server.folder, "backups")
    with checks.check("restore: the machine's folder is gone and comes back with all ids of the backup"):
        dialog = romeo.dialog("juliet")
        for number in range(5):
            romeo.say(dialog, f"before {number}")
        file = upload(server, romeo, LETTER, "letter.txt", "text/plain")
        early = cursor_of(romeo)
        before, stanzas = texts(romeo, dialog), asyncio.run(archive(server, "juliet"))
        made = json.loads(server.command("backup", "--files", backups, "--json"))
        expect(made["files"]["copied"] == 1, f"{made}")
        again = json.loads(server.command("backup", "--files", backups + "2", "--json"))
        expect(again["files"]["copied"] == 1, f"{again}")
        for number in range(5):
            romeo.say(dialog, f"lost {number}")
        late, gone = cursor_of(romeo), texts(romeo, dialog)["lost 4"]
        server.kill()
        shutil.rmtree(server.data)
        told = server.command("restore", backups)
        expect("2 users of localhost" in told and "1 copied" in told and "accounts.key is missing" in told and "webpush.key is missing" in told, told)
        server.start()
        back = App(server, "romeo")
        expect(texts(back, dialog) == before, "other messages or ids")
        expect(asyncio.run(archive(server, "juliet")) == stanzas, "the archive has other messages or ids")
        expect(ask(server, file["url"])[2] == LETTER, "another letter")
    with checks.check("restore: who has seen no more than the backup goes on; who has, reads anew; nothing new has a lost id"):
        expect(synced(back, early) == [], "there is something new")
        expect(synced(back, late) == ["resync"], f"{synced(back, late)}")
        status, problem = back.call("GET", f"/v1/dialogs/{dialog}/messages/{gone}")
        expect(status == 404, f"a lost message is {status} {problem}")
        for number in range(8):
            back.say(dialog, f"after {number}")
        now = texts(back, dialog)
        expect(gone not in now.values() and {text: now[text] for text in before} == before, "ids are used again")
        expect(synced(back, early)[-1:] == ["message.created"] and synced(back, late) == ["resync"], "events are wrong")
    with checks.check("restore: a second one replaces what is there, and keeps it aside"):
        server.stop()
        told = json.loads(server.command("restore", backups, "--replace", "--json"))
        expect(told["files"]["copied"] == 1 and os.path.exists(told["replaced"] + "/parley.db"), f"{told}")
        server.start()
        third = App(server, "romeo")
        expect(texts(third, dialog) == before, "other messages or ids")
        expect(synced(third, early) == [] and synced(third, late) == ["resync"], "cursors are wrong")
        status, _ = third.call("GET", f"/v1/dialogs/{dialog}/messages/{now['after 7']}")
        expect(status == 404, "a message of the lost time is known")
        newest = json.loads(server.command("audit", "--matching", "restore", "--json"))[0]
        expect(newest["operation"] == "restore" and newest["surface"] == "folder", f"{newest}")


def refused(checks, server):
    backup = os.path.join(server.folder, "one.db")
    server.command("backup", backup)
    with checks.check("restore: a running server's folder and one that is not empty are left alone"):
        expect("in use" in fails(server, "restore", backup, "--replace"), "it was restored under a running server")
        server.stop()
        expect("is not empty" in fails(server, "restore", backup), "it was restored over the data")
    for what, change, says in [
        ("is no database", lambda path: pathlib.Path(path).write_text("Dear Juliet\n" * 500), "is no backup"),
        ("is cut off", lambda path: os.truncate(path, os.path.getsize(path) // 2), "damaged"),
        ("is of a newer release", newer, "newer release"),
        ("is of another domain", other_domain, "is of elsewhere.example"),
    ]:
        with checks.check(f"restore: a backup that {what} is refused, and nothing is changed"):
            path = os.path.join(server.folder, "wrong.db")
            shutil.copy(backup, path)
            change(path)
            before = state(server)
            told = fails(server, "restore", path, "--replace")
            expect(says in told and len(told.splitlines()) == 1, told)
            expect(state(server) == before, "the data folder has changed")


def newer(path):
    with sqlite3.connect(path) as database:
        database.execute("INSERT INTO migrations VALUES ('9999-future')")


def other_domain(path):
    with sqlite3.connect(path) as database:
        database.execute("UPDATE realms SET domain = 'elsewhere.example' WHERE domain = 'localhost'")


def state(server):
    """The files of the data folder, but the lock, which names the last process."""
    return {
        str(path.relative_to(server.data)): path.read_bytes() for path in pathlib.Path(server.data).rglob("*")
        if path.is_file() and path.name != "lock"}


def full_disk(checks):
    with small_disk(96) as disk, checks.check("restore: a full disk leaves the old data whole, and a backup none"):
        if disk is None:
            raise Failure("no file system could be mounted: this test needs root")
        with Server(data=os.path.join(disk, "data")) as server:
            server.data = os.path.join(disk, "data")
            server.add_users("romeo", "juliet")
            backup = os.path.join(server.folder, "backups")
            server.start()
            romeo = App(server, "romeo")
            for number in range(4):
                upload(server, romeo, LETTER, f"{number}.txt", "text/plain")
            server.command("backup", "--files", backup)
            server.stop()
            expect(server.command("user", "list"), "no users")
            before = state(server)
            ballast = os.path.join(disk, "ballast")
            with open(ballast, "wb") as file:
                free = os.statvfs(disk)
                file.write(b"\0" * (free.f_bavail * free.f_frsize - 600_000))
            expect("disk is full" in fails(server, "restore", backup, "--replace"), "the disk is not full")
            expect(state(server) == before, "the data folder has changed")
            told = fails(server, "backup", os.path.join(disk, "copy.db"))
            expect("full" in told or "space" in told, told)
            expect(not list(pathlib.Path(disk).glob("copy.db*")), "a part of a backup was left")
            os.unlink(ballast)
            expect("4 copied" in server.command("restore", backup, "--replace"), "it is not restored")
            server.start()
            App(server, "romeo")


def held(folder):
    """The files below a folder of backups, but its lock."""
    return {
        str(path.relative_to(folder)): path.read_bytes() for path in pathlib.Path(folder).rglob("*")
        if path.is_file() and path.name != "lock"}


def full_backups(checks):
    """The disk of the backups is full, and not that of the data."""
    with small_disk(24) as disk, Server(backup__every="1d") as server:
        if disk is None:
            raise Failure("no file system could be mounted: this test needs root")
        folder, ballast = os.path.join(disk, "backups"), os.path.join(disk, "ballast")
        server.settings["backup__folder"] = folder
        server.add_users("romeo", "juliet")
        server.start()
        server.log.until("a backup", lambda text: "parley: backup " in text)
        romeo = App(server, "romeo")
        for number in range(3):
            upload(server, romeo, LETTER, f"early {number}.txt", "text/plain")
        made = json.loads(server.command("backup", "--files", folder, "--json"))
        expect(made["files"]["copied"] == 3, f"{made}")
        before = held(folder)
        for number in range(4):
            upload(server, romeo, os.urandom(1 << 20), f"late {number}", "application/octet-stream")
        size = os.path.getsize(sorted(pathlib.Path(folder).glob("*.db"))[-1])

        def leave(free):
            pathlib.Path(ballast).unlink(missing_ok=True)
            there = os.statvfs(disk)
            pathlib.Path(ballast).write_bytes(b"\0" * (there.f_bavail * there.f_frsize - free))

        def whole(files):
            """What was there is there, and besides it so many complete files of users."""
            now = held(folder)
            more = {name: data for name, data in now.items() if name not in before}
            expect(before == {name: now.get(name) for name in before}, f"a backup has changed: {now.keys()}")
            expect(len(more) in files and all(name.startswith("blobs/") and len(data) == 1 << 20 for name, data in more.items()),
                   f"left: {[(name, len(data)) for name, data in more.items()]}")

        for what, free, says, files in [
            ("the database", size // 2, "no space is left for the database", range(1)),
            ("all files", size + (5 << 19), "the disk is full", range(1, 4)),
        ]:
            with checks.check(f"backup --files: a disk without the space for {what} is told, and leaves the earlier backups whole"):
                leave(free)
                told = fails(server, "backup", "--files", folder)
                expect(says in told and len(told.splitlines()) == 1, told)
                whole(files)
        with checks.check("backup: the server cannot make one when it is due, says so in three places, and serves on"):
            server.stop()
            newest = sorted(pathlib.Path(folder).glob("*.db"))[-1]
            os.utime(newest, (time.time() - 90_000, time.time() - 90_000))
            leave(size // 2)
            server.start()
            server.log.until("a failure", lambda text: "no backup could be made" in text and "no space is left" in text)
            health = json.loads(server.command("health", "--json"))
            expect("no space is left" in health["backupFailure"], f"{health}")
            key = json.loads(server.command("key", "add", "figures", "--json", "--scope", "server"))["secret"]
            status, _, told = exchange_json("POST", server.base + "/v1/admin/operations/server.status", {}, token=key)
            expect(status == 200 and "no backup could be made" in told["backupFailure"], f"{status} {told}")
            expect(folder not in json.dumps(told), f"a path is told over HTTP: {told}")
            metrics = exchange("GET", f"http://127.0.0.1:{server.metrics}/metrics")[2].decode()
            expect(float(re.search(r"^parley_backup_failing_seconds (\S+)$", metrics, re.M)[1]) > 0, "the metrics say nothing")
            whole(range(1, 4))
            romeo = App(server, "romeo")
            romeo.say(romeo.dialog("juliet"), "It is the east")
        with checks.check("backup: what was made before the disk was full is restored from it"), Server() as other:
            told = other.command("restore", folder)
            expect("2 users of localhost" in told and "3 copied" in told, told)
        with checks.check("backup: with space again it is made at the next start, of all that it lacked"):
            server.stop()
            os.unlink(ballast)
            server.start()
            server.log.until("a backup", lambda text: "parley: backup " in text)
            expect("backupFailure" not in json.loads(server.command("health", "--json")), "health still tells a failure")
            blobs = [name for name in held(folder) if name.startswith("blobs/")]
            expect(len(blobs) == 7 and not [name for name in held(folder) if name.endswith(".part")], f"{blobs}")
            server.stop()


def scheduled(checks):
    with checks.check("backup: the server makes them by itself when they are due, and says if it cannot"):
        with Server(backup__every="1d", backup__keep=2) as server:
            def made():
                return sorted(path.name for path in pathlib.Path(server.data, "backups").glob("parley-*Z.db"))

            def due():
                server.log.until("a backup", lambda text: "parley: backup " in text)

            server.start()
            due()
            health = json.loads(server.command("health", "--json"))
            expect("lastBackupAt" in health and "backupFailure" not in health, f"{health}")
            server.stop()
            (first,) = made()
            # It is young enough: the next start makes none, and then it is too old.
            server.start()
            server.command("health")
            server.stop()
            expect(made() == [first] and "parley: backup " not in server.log.text, f"{made()}")
            old = pathlib.Path(server.data, "backups", "parley-20260101T000000Z.db")
            pathlib.Path(server.data, "backups", first).rename(old)
            os.utime(old, (time.time() - 90_000, time.time() - 90_000))
            server.start()
            due()
            server.stop()
            expect(len(made()) == 2 and made()[0] == old.name, f"{made()}")
            blocked = os.path.join(server.folder, "blocked")
            pathlib.Path(blocked).write_text("a file")
            server.settings["backup__folder"] = blocked
            server.start()
            server.log.until("a failure", lambda text: "no backup could be made" in text)
            health = json.loads(server.command("health", "--json"))
            expect(blocked in health["backupFailure"], f"{health}")
            expect("FAILED" in server.command("health"), "health says nothing")
