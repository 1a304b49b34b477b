"""Backups in a bucket: the machine is lost and comes back from moto's S3 alone. What breaks on the way, a refused part, kill -9, a
full disk, leaves no backup that is half of one and nothing that the next one does not remove.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import threading

from lib.apps import App
from lib.bucket import DROP, SECRET, Bucket
from lib.files import ask, attach, delete, upload
from lib.harness import PATIENCE, Failure, Server, expect, small_disk
from lib.scrape import Scrape, shows

LETTER = b"My bounty is as boundless as the sea, my love as deep. " * 4000
PART = 8 << 20


def run(checks):
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Bucket(folder)) as bucket:
        with Server(**bucket.backup_settings) as server:
            server.add_users("romeo", "juliet")
            server.befriend("romeo", "juliet")
            ballast(server)
            server.start()
            lost(checks, server, bucket)
            broken(checks, server, bucket)
            damaged(checks, server, bucket)
        full_disk(checks, bucket)
        scheduled(checks, bucket)
        continued(checks, bucket)
        with checks.check("backups in a bucket: every request was signed, with its body's hash"):
            expect(bucket.mistakes == [], "\n".join(bucket.mistakes[:3]))


def ballast(server):
    """More than a part, so that the database is a multipart upload."""
    with contextlib.closing(sqlite3.connect(os.path.join(server.data, "parley.db"))) as database, database:
        database.execute("CREATE TABLE ballast AS SELECT randomblob(?) AS bytes", [3 * PART])


def fails(server, *arguments):
    done = subprocess.run(
        [str(server.binary), *arguments, "--config", server.configuration], env=server.environment(), capture_output=True,
        text=True, timeout=PATIENCE)
    expect(done.returncode == 1, f"status {done.returncode}: {done.stdout}{done.stderr}")
    expect(SECRET not in done.stderr + done.stdout, "the secret is told")
    return done.stderr


def made(server, *more):
    return json.loads(server.command("backup", "--s3", "--json", *more))


def listed(server):
    return json.loads(server.command("backup", "--list", "--s3", "--json"))


def texts(app, dialog):
    return {message["content"]["text"]: message["id"] for message in app.history(dialog) if message["content"]["type"] == "text"}


def blobs(bucket):
    return {key.rsplit("/", 1)[1] for key in bucket.objects() if key.startswith("backups/blobs/")}


def lost(checks, server, bucket):
    romeo = App(server, "romeo")
    dialog = romeo.dialog("juliet")
    with checks.check("backups in a bucket: the database in parts, and files once"):
        romeo.say(dialog, "before")
        first, second = upload(server, romeo, LETTER), upload(server, romeo, LETTER[::-1])
        message = attach(romeo, dialog, second, "a1")
        one = made(server, "--keep", "2")
        expect(one["bytes"] > 3 * PART and one["files"]["copied"] == 2, f"{one}")
        expect(sum("partNumber" in path for _, path in bucket.requests) >= 4, "the database did not go in parts")
        two = made(server, "--keep", "2")
        expect(two["files"]["copied"] == 0 and two["path"] > one["path"], f"{two}")
        expect([row["files"] for row in listed(server)] == [2, 2] and bucket.uploads() == [], f"{listed(server)}")
        expect(not os.path.exists(os.path.join(server.data, "backup.db.part")), "the copy is left")
    with checks.check("backups in a bucket: what no backup names any more is removed with the oldest ones"):
        delete(romeo, dialog, message)
        server.stop()  # the sweeper begins with a round
        server.start()
        server.log.until("the file is swept", lambda text: "files removed" in text)
        three = made(server, "--keep", "2")
        expect(three["files"]["removedDatabases"] == 1 and blobs(bucket) == {first["id"], second["id"]}, f"{three}")
        four = made(server)
        expect(four["files"]["removedDatabases"] == 2 and four["files"]["removed"] == 1 and blobs(bucket) == {first["id"]}, f"{four}")
        expect(len(listed(server)) == 1 and len([key for key in bucket.objects() if key.startswith("backups/parley-")]) == 3, "more is left")
    with checks.check("backups in a bucket: the machine's folder is gone and comes back with all ids and files"):
        romeo = App(server, "romeo")
        before = texts(romeo, dialog)
        romeo.say(dialog, "lost")
        server.kill()
        shutil.rmtree(server.data)
        told = server.command("restore", "--s3")
        expect("2 users of localhost" in told and "1 copied" in told, told)
        server.start()
        romeo = App(server, "romeo")
        expect(texts(romeo, dialog) == before, "other messages or ids")
        expect(ask(server, first["url"])[2] == LETTER, "another letter")


def broken(checks, server, bucket):
    with checks.check("backups in a bucket: a refused part is told with its key, and leaves nothing of the upload"):
        before = listed(server)
        bucket.refuses = lambda command, path: 403 if "partNumber=2" in path else None
        told = fails(server, "backup", "--s3")
        bucket.refuses = None
        expect("403" in told and "backups/parley-" in told and "files at http" in told, told)
        expect(bucket.uploads() == [] and listed(server) == before, f"{bucket.uploads()} {listed(server)}")
    with checks.check("backups in a bucket: a service that is overloaded for a moment is asked again"):
        bucket.requests.clear()
        busy = iter([503, 503])
        bucket.refuses = lambda command, path: next(busy, None) if "partNumber=2" in path else None
        made(server)
        bucket.refuses = None
        expect(sum("partNumber=2&" in path for _, path in bucket.requests) == 3, "not asked again")
    with checks.check("backups in a bucket: a connection that breaks at a part is made again, for that part alone"):
        bucket.requests.clear()
        broken_ones = iter([DROP, DROP])
        bucket.refuses = lambda command, path: next(broken_ones, None) if "partNumber=3" in path else None
        made(server)
        bucket.refuses = None
        asked = [sum(f"partNumber={number}&" in path for _, path in bucket.requests) for number in (1, 2, 3)]
        expect(asked == [1, 1, 3] and bucket.uploads() == [], f"{asked} {bucket.uploads()}")
    with checks.check("backups in a bucket: kill -9 amid an upload leaves no backup, and the next one removes the parts"):
        before = listed(server)
        stage = threading.Event()

        def hold(command, path):
            if "partNumber=2" in path:
                stage.set()
                bucket.let.wait(PATIENCE)
            return None
        bucket.let.clear()
        bucket.refuses = hold
        asking = threading.Thread(target=lambda: _quiet(lambda: made(server)))
        asking.start()
        expect(stage.wait(PATIENCE), "no second part")
        server.kill()
        bucket.refuses = None
        bucket.let.set()
        asking.join()
        expect(len(bucket.uploads()) == 1 and listed(server) == before, f"{bucket.uploads()} {listed(server)}")
        stray = [key for key in bucket.objects() if key.endswith(".files")]
        expect(len(stray) == 2, f"{stray}")
        server.start()
        made(server)
        expect(bucket.uploads() == [] and len([key for key in bucket.objects() if key.endswith(".files")]) == 1, "something is left")


def damaged(checks, server, bucket):
    with checks.check("restore: what is damaged in the bucket, or not there, is refused, and nothing is changed"):
        server.stop()
        before = state(server)
        name = listed(server)[0]["name"]
        key = f"backups/{name}.db"
        data = bucket.get(key)
        bucket.put(key, data[:-4096] + bytes(4096))
        expect("is damaged" in fails(server, "restore", "--s3", "--replace"), "it was restored")
        bucket.put(key, data)
        expect("there is no backup" in fails(server, "restore", "--s3", "parley-20200101T000000000Z", "--replace"), "it was found")
        bucket.refuses = lambda command, path: 403 if ".db" in path and command == "GET" else None
        expect(f"answers with 403 to GET {key}" in fails(server, "restore", "--s3", "--replace"), "it was restored")
        bucket.refuses = None
        expect(state(server) == before, "the data folder has changed")
        expect("2 users" in server.command("restore", "--s3", name, "--replace"), "it is not restored")
        expect("no bucket for backups" in not_configured(server), "a bucket was found")


def not_configured(server):
    done = subprocess.run(
        [str(server.binary), "backup", "--list", "--s3", "--config", server.configuration],
        env={name: value for name, value in server.environment().items() if not name.startswith("PARLEY_BACKUP")},
        capture_output=True, text=True, timeout=PATIENCE)
    return done.stderr


def state(server):
    """The hashes of the data folder's files, but the lock, which names the last process."""
    return {
        str(path.relative_to(server.data)): hashlib.sha256(path.read_bytes()).digest() for path in pathlib.Path(server.data).rglob("*")
        if path.is_file() and path.name != "lock"}


def full_disk(checks, bucket):
    with small_disk(96) as disk, checks.check("backups in a bucket: a full disk leaves the old data whole, and the old backups"):
        if disk is None:
            raise Failure("no file system could be mounted: this test needs root")
        with Server(data=os.path.join(disk, "data"), **bucket.backup_settings, backup__s3__prefix="full/") as server:
            server.data = os.path.join(disk, "data")
            server.add_users("romeo", "juliet")
            made(server)
            there = listed(server)
            ballast = os.path.join(disk, "ballast")
            with open(ballast, "wb") as file:
                free = os.statvfs(disk)
                file.write(b"\0" * (free.f_bavail * free.f_frsize - 100_000))
            before = state(server)
            expect("disk is full" in fails(server, "restore", "--s3", "--replace"), "the disk is not full")
            expect(state(server) == before, "the data folder has changed")
            told = fails(server, "backup", "--s3")
            expect("full" in told or "space" in told, told)
            os.unlink(ballast)
            expect(listed(server) == there and not os.path.exists(os.path.join(server.data, "backup.db.part")), "something has changed")
            expect("2 users" in server.command("restore", "--s3", "--replace"), "it is not restored")


def scheduled(checks, bucket):
    with checks.check("backups in a bucket: the server makes them by itself when they are due, and says if it cannot"):
        with Server(backup__every="1d", backup__store="s3", **bucket.backup_settings, backup__s3__prefix="own/") as server:
            bucket.refuses = lambda command, path: 403
            server.start()
            server.log.until("a failure", lambda text: "no backup could be made" in text)
            bucket.refuses = None
            health = json.loads(server.command("health", "--json"))
            expect("answers with 403" in health["backupFailure"], f"{health}")
            shows(server, "the failure's age", lambda scrape: scrape("parley_backup_failing_seconds") > 0)
            server.stop()
            server.start()
            server.log.until("a backup", lambda text: "parley: backup " in text)
            health = json.loads(server.command("health", "--json"))
            expect("lastBackupAt" in health and "backupFailure" not in health, f"{health}")
            expect(Scrape(server)("parley_backup_failing_seconds") == 0, "the failure has an age")
            server.stop()
            # It is young enough: the next start makes none.
            server.start()
            server.command("health")
            server.stop()
            expect("parley: backup " not in server.log.text and len(listed(server)) == 1, f"{listed(server)}")


def continued(checks, bucket):
    with Server(backup__every="1d", backup__store="s3", **bucket.backup_settings, backup__s3__prefix="on/") as server:
        server.add_users("romeo", "juliet")
        ballast(server)

        def unsent():
            return [name for name in os.listdir(server.data) if name.startswith(("unsent-", "backup.db"))]
        with checks.check("backups in a bucket: a refused part fails the run, which keeps what it needs to go on"):
            bucket.refuses = lambda command, path: 403 if "partNumber=3" in path else None
            server.start()
            server.log.until("a failure", lambda text: "no backup could be made" in text)
            server.stop()
            expect(len(unsent()) == 1 and len(bucket.uploads()) == 1 and listed(server) == [], f"{unsent()} {bucket.uploads()}")
        with checks.check("backups in a bucket: the next run sends the rest, and a stop of the server amid a part ends it"):
            bucket.requests.clear()
            stage = threading.Event()

            def hold(command, path):
                if "partNumber=3" in path:
                    stage.set()
                    bucket.let.wait(PATIENCE)
                return None
            bucket.let.clear()
            bucket.refuses = hold
            server.start()
            expect(stage.wait(PATIENCE), "no third part")
            server.stop()
            bucket.refuses = None
            expect(not bucket.let.is_set() and "no backup could be made" not in server.log.text, server.log.text)
            bucket.let.set()
            expect(len(unsent()) == 1 and len(bucket.uploads()) == 1, f"{unsent()} {bucket.uploads()}")
            server.start()
            server.log.until("a backup", lambda text: "parley: backup " in text)
            server.stop()
            asked = [sum(f"partNumber={number}&" in path for _, path in bucket.requests) for number in (1, 2, 3)]
            expect(asked[:2] == [0, 0] and asked[2] >= 1, f"{asked}")
            expect(unsent() == [] and bucket.uploads() == [] and len(listed(server)) == 1, f"{unsent()} {bucket.uploads()}")
            expect("2 users" in server.command("restore", "--s3", "--replace"), "it is not restored")
        with checks.check("backups in a bucket: one that somebody asks for is of the present, and removes what was begun"):
            bucket.refuses = lambda command, path: 403 if "partNumber=2" in path else None
            server.start()
            fails(server, "backup", "--s3")
            bucket.refuses = None
            expect(unsent() == [] and bucket.uploads() == [], f"{unsent()} {bucket.uploads()}")


def _quiet(body):
    with contextlib.suppress(Exception):  # its server was killed
        body()
