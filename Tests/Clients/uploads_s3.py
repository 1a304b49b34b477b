"""Files in a bucket: Parley on moto's S3, which knows nothing of Parley. What is sent is read, in parts too; what goes is gone
there; kill -9 between the bucket and the database leaves nothing that is not found again; a bucket that is away is an error
for whoever asks, and no more.
"""
import contextlib
import hashlib
import json
import os
import random
import tempfile
import threading

from lib.apps import App
from lib.bucket import Bucket
from lib.files import PIECE, Put, ask, attach, delete, known, part, png, progress, slot, upload, want
from lib.harness import PATIENCE, Failure, Server, expect


def left(server):
    """What the server's own disk still has of files."""
    blobs = os.path.join(server.data, "blobs")
    return sorted(name for folder in ("new", "parts") for name in os.listdir(os.path.join(blobs, folder)))


def objects(checks, bucket, server, juliet, dialog, data):
    """What is uploaded is an object."""
    with checks.check("s3: what is uploaded is an object, and is read, in parts too"):
        made = upload(server, juliet, data)
        expect("parley/" + made["id"] in bucket.objects(), f"{bucket.objects()}")
        expect(ask(server, made["url"])[2] == data, "other bytes")
        for wish, wanted in [("bytes=0-9", data[:10]), ("bytes=-5", data[-5:]), (f"bytes={2 * PIECE}-{2 * PIECE + 999_999}", data[2 * PIECE:2 * PIECE + 1_000_000])]:
            status, _, body = ask(server, made["url"], headers={"Range": wish})
            expect(status == 206 and body == wanted, f"{wish}: {status}, {len(body)} bytes")
        expect(known(juliet, made)["sha256"] == hashlib.sha256(data).hexdigest(), "another hash")
        expect(left(server) == [], f"{left(server)} is left on the disk")

    with checks.check("s3: a picture and its small one are two objects, and go together"):
        made = upload(server, juliet, png(640, 480), "a.png", "image/png")
        small = known(juliet, made)["thumbnail"]["url"]
        names = {"parley/" + made["id"], f"parley/{made['id']}-thumbnail"}
        expect(names <= bucket.objects() and ask(server, small)[0] == 200, f"{bucket.objects()}")
        delete(juliet, dialog, attach(juliet, dialog, made, "s1"))
        expect(ask(server, made["url"])[0] == 404, "still given out")
        server.stop()  # the sweeper begins with a round
        server.start()
        server.log.until("the file is swept", lambda text: "files removed" in text)
        expect(not names & bucket.objects(), "an object is left")


def kills(checks, bucket, server, data):
    """Uploads that are killed, and given up."""
    juliet = None
    with checks.check("s3: in parts, and killed in between"):
        juliet = App(server, "juliet")
        made = want(juliet, data)
        expect(part(server, made, 0, data[:PIECE], False) == (204, PIECE), "not taken")
        server.kill()
        server.start()
        expect(progress(server, made)[0] == PIECE, "lost")
        expect(part(server, made, PIECE, data[PIECE:]) == (201, len(data)), "not taken")
        expect(ask(server, made["url"])[2] == data and left(server) == [], f"{left(server)}")

    with checks.check("s3: kill -9 between the bucket and the database: the slot is still there, and so is the object"):
        for parts in (False, True):
            made = want(juliet, data) if parts else slot(juliet, len(data))
            bucket.held, bucket.let = threading.Event(), threading.Event()
            sender = threading.Thread(target=lambda: _quiet(lambda: part(server, made, 0, data) if parts else Put(server, made["uploadUrl"], len(data)).send(data).answer()))
            sender.start()
            expect(bucket.held.wait(PATIENCE), "nothing was put")
            server.kill()
            bucket.held = None
            bucket.let.set()
            sender.join()
            expect("parley/" + made["id"] in bucket.objects(), "the object is not there")
            server.start()
            expect(ask(server, made["url"])[0] == 404, "given out before it was told")
            if parts:
                expect(progress(server, made)[0] == len(data), "the parts are lost")
                expect(part(server, made, len(data), b"") == (201, len(data)), "not taken")
            else:
                expect(Put(server, made["uploadUrl"], len(data)).send(data).answer() == (201, None), "not taken")
            expect(ask(server, made["url"])[2] == data and left(server) == [], f"{left(server)}")

    with checks.check("s3: a slot that is given up takes its object along"):
        made = want(juliet, data)
        bucket.held, bucket.let = threading.Event(), threading.Event()
        sender = threading.Thread(target=lambda: _quiet(lambda: part(server, made, 0, data)))
        sender.start()
        expect(bucket.held.wait(PATIENCE), "nothing was put")
        server.kill()
        bucket.held = None
        bucket.let.set()
        sender.join()
        server.start()
        expect(ask(server, made["uploadUrl"], "DELETE")[0] == 204, "not given up")
        expect("parley/" + made["id"] not in bucket.objects(), "an orphan")
    return juliet


def faults(checks, bucket, server, juliet, data):
    """A bucket that refuses, is away, or is not there."""
    with checks.check("s3: what the bucket answers is in the log, and users are not told of it"):
        kept, made = upload(server, juliet, data), slot(juliet, 10)
        for refused, said in [(403, "answers with 403"), (307, "redirects to https://other-region.example/")]:
            bucket.refuses = lambda command, path, status=refused: status
            expect(Put(server, made["uploadUrl"], 10).send(b"0123456789").answer() == (500, "blob-failed"), "it was taken")
            status, _, body = ask(server, kept["url"])
            detail = json.loads(body)["detail"]
            named = [word for word in ("parley/", kept["id"], "bucket", "127.0.0.1", str(refused)) if word in detail]
            expect(status == 500 and named == [], f"{status} {detail} names {named}")
            bucket.refuses = None
            server.log.until(f"the reason of {refused}", lambda text: said in text)
        expect(Put(server, made["uploadUrl"], 10).send(b"0123456789").answer() == (201, None), "not taken")

    with checks.check("s3: a bucket that is away for a while"):
        kept = upload(server, juliet, data)
        bucket.is_away = True
        made = slot(juliet, 10)
        status, code = Put(server, made["uploadUrl"], 10).send(b"0123456789").answer()
        expect(status >= 500 and ask(server, kept["url"])[0] >= 500, f"{status} {code}")
        bucket.is_away = False
        expect(Put(server, made["uploadUrl"], 10).send(b"0123456789").answer() == (201, None), "not taken")
        expect(ask(server, kept["url"])[2] == data, "other bytes")

    with checks.check("s3: every request was signed, with its body's hash"):
        expect(bucket.mistakes == [], "\n".join(bucket.mistakes[:3]))

    with checks.check("s3: a server whose bucket is not there says so and does not start"):
        with Server(**{**bucket.settings, "uploads__s3__bucket": "nowhere"}) as other:
            try:
                other.start()
            except Failure as error:
                expect("there is no such bucket" in str(error), f"{error}")
            else:
                raise Failure("it started")


def run(checks):
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Bucket(folder)) as bucket, Server(**bucket.settings) as server:
        server.start()
        server.add_users("juliet", "romeo")
        server.befriend("juliet", "romeo")
        juliet = App(server, "juliet")
        dialog = juliet.dialog("romeo")
        data = random.Random(4).randbytes(3 * PIECE + 5)

        objects(checks, bucket, server, juliet, dialog, data)
        juliet = kills(checks, bucket, server, data)
        faults(checks, bucket, server, juliet, data)


def _quiet(body):
    with contextlib.suppress(Exception):  # its server was killed
        body()
