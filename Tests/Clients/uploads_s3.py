"""Files in a bucket: Parley on moto's S3, which knows nothing of Parley. What is sent is read, in parts too; what goes is gone
there; kill -9 between the bucket and the database leaves nothing that is not found again; a bucket that is away is an error
for whoever asks, and no more.
"""
import contextlib
import hashlib
import hmac
import http.server
import os
import random
import re
import subprocess
import sys
import tempfile
import threading
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree

from lib.apps import App
from lib.files import PIECE, Put, ask, attach, delete, known, part, png, progress, slot, upload, want
from lib.harness import PATIENCE, Failure, Log, Server, expect, free_port

BUCKET = "files"


KEY, SECRET = "AKIAVERONA", "wherefore"


def mistake(request, body):
    """What is wrong with a request's signature (AWS Signature Version 4, made here once more); None: nothing. moto believes
    every signature."""
    def hashed(key, text):
        return hmac.new(key, text.encode(), hashlib.sha256).digest()
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d+)/([^/]+)/s3/aws4_request, SignedHeaders=([a-z0-9;-]+), "
                         r"Signature=([0-9a-f]{64})", request.headers.get("Authorization", ""))
    if not found or found[1] != KEY:
        return f"signed with {request.headers.get('Authorization')}"
    _, day, region, names, signature = found.groups()
    claimed = request.headers.get("x-amz-content-sha256")
    if claimed != hashlib.sha256(body).hexdigest():
        return f"the body's hash is said to be {claimed}"
    missing = {name.lower() for name in request.headers if name.lower().startswith("x-amz-") or name.lower() == "host"} - set(names.split(";"))
    if missing or any(name not in request.headers for name in names.split(";")):
        return f"signed are {names} of {list(request.headers)}"
    path, _, query = request.path.partition("?")
    headers = "".join(f"{name}:{' '.join(request.headers[name].split())}\n" for name in names.split(";"))
    canonical = "\n".join([request.command, path, query, headers, names, claimed])
    scope = f"{day}/{region}/s3/aws4_request"
    text = "\n".join(["AWS4-HMAC-SHA256", request.headers["x-amz-date"], scope, hashlib.sha256(canonical.encode()).hexdigest()])
    key = hashed(hashed(hashed(hashed(("AWS4" + SECRET).encode(), day), region), "s3"), "aws4_request")
    return None if hashed(key, text).hex() == signature else f"the signature is not that of\n{canonical}"


class Bucket:
    """moto's server, and a proxy before it that can be told to hold a request, or to be away."""

    def __init__(self, folder):
        self.port = free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)], cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.log = Log(self.process.stdout)
        self.log.until("the bucket's server runs", lambda text: "Running on" in text, 60)
        self.direct("PUT", "/" + BUCKET)
        self.is_away = False
        self.mistakes = []
        self.held = None  # set: the next PUT that has been stored is told so only when `let` is
        self.let = threading.Event()
        bucket = self

        class Proxy(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def forward(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                wrong = mistake(self, body)
                if wrong:
                    bucket.mistakes.append(f"{self.command} {self.path}: {wrong}")
                if bucket.is_away:
                    self.send_response(503)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                status, headers, data = bucket.direct(self.command, self.path, body, self.headers)
                if self.command == "PUT" and bucket.held:
                    bucket.held.set()
                    bucket.let.wait(PATIENCE)
                with contextlib.suppress(OSError):  # it may be dead by now
                    self.send_response(status)
                    for name in ("Content-Range", "ETag"):
                        if headers.get(name):
                            self.send_header(name, headers[name])
                    self.send_header("Content-Length", headers.get("Content-Length", "0") if self.command == "HEAD" else str(len(data)))
                    self.end_headers()
                    if self.command != "HEAD":
                        self.wfile.write(data)

            do_GET = do_PUT = do_HEAD = do_DELETE = forward

            def log_message(self, *_):
                pass

        self.proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        self.proxy.daemon_threads = True
        threading.Thread(target=self.proxy.serve_forever, daemon=True).start()

    def direct(self, method, path, body=None, headers=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", method=method, data=body or None)
        for name, value in (headers or {}).items():
            if name.lower() in ("range", "authorization", "x-amz-date", "x-amz-content-sha256"):
                request.add_header(name, value)
        if method == "PUT":
            request.data = body or b""
            request.add_header("Content-Type", "binary/octet-stream")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def objects(self):
        _, _, data = self.direct("GET", f"/{BUCKET}?list-type=2")
        return {key.text for key in ElementTree.fromstring(data).iter("{http://s3.amazonaws.com/doc/2006-03-01/}Key")}

    @property
    def settings(self):
        return dict(
            uploads__store="s3", uploads__s3__endpoint=f"http://127.0.0.1:{self.proxy.server_port}", uploads__s3__bucket=BUCKET,
            uploads__s3__key=KEY, uploads__s3__secret=SECRET, uploads__s3__prefix="parley/")

    def close(self):
        self.proxy.shutdown()
        self.process.terminate()
        self.process.wait(PATIENCE)


def left(server):
    """What the server's own disk still has of files."""
    blobs = os.path.join(server.data, "blobs")
    return sorted(name for folder in ("new", "parts") for name in os.listdir(os.path.join(blobs, folder)))


def run(checks):
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Bucket(folder)) as bucket, Server(**bucket.settings) as server:
        server.start()
        server.add_users("juliet", "romeo")
        server.befriend("juliet", "romeo")
        juliet = App(server, "juliet")
        dialog = juliet.dialog("romeo")
        data = random.Random(4).randbytes(3 * PIECE + 5)

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


def _quiet(body):
    with contextlib.suppress(Exception):  # its server was killed
        body()
