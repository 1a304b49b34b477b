"""An S3 bucket on this machine: moto's, behind a proxy that verifies what Parley signs."""
import contextlib
import hashlib
import hmac
import http.server
import re
import socket
import subprocess
import sys
import threading
import urllib.error
import urllib.request
import xml.etree.ElementTree as ElementTree

from lib.harness import PATIENCE, Log, expect, free_port

BUCKET = "files"
DROP = "drop"  # in place of a status: the connection breaks without an answer
KEY, SECRET = "AKIAVERONA", "wherefore"
# What moto takes for a signature.
BELIEVED = {"Authorization": f"AWS4-HMAC-SHA256 Credential={KEY}/20200101/us-east-1/s3/aws4_request, SignedHeaders=host, Signature=0"}


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
    """moto's server, and a proxy before it that can be told to hold a request, to refuse some, or to be away."""

    def __init__(self, folder):
        self.port = free_port()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)], cwd=folder,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.log = Log(self.process.stdout)
        self.log.until("the bucket's server runs", lambda text: "Running on" in text, 60)
        self.direct("PUT", "/" + BUCKET)
        self.is_away = False
        self.refuses = None  # of the command and the path of a request: a status, DROP, or None
        self.mistakes = []
        self.requests = []  # their commands and paths
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
                bucket.requests.append((self.command, self.path))
                refused = 503 if bucket.is_away else bucket.refuses and bucket.refuses(self.command, self.path)
                if refused == DROP:
                    self.close_connection = True
                    self.connection.shutdown(socket.SHUT_RDWR)
                    return
                if refused:
                    self.send_response(refused)
                    if 300 <= refused < 400:
                        self.send_header("Location", "https://other-region.example/")
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

            do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = forward

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
        if method in ("PUT", "POST"):
            request.data = body or b""
            request.add_header("Content-Type", "binary/octet-stream")
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
                return answer.status, answer.headers, answer.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def get(self, key):
        return self.direct("GET", f"/{BUCKET}/{key}", headers=BELIEVED)[2]

    def put(self, key, data):
        expect(self.direct("PUT", f"/{BUCKET}/{key}", data, BELIEVED)[0] == 200, f"{key} is not put")

    def listed(self, query, element):
        _, _, data = self.direct("GET", f"/{BUCKET}?{query}")
        return [found.text for found in ElementTree.fromstring(data).iter("{http://s3.amazonaws.com/doc/2006-03-01/}" + element)]

    def objects(self):
        return set(self.listed("list-type=2", "Key"))

    def uploads(self):
        """The multipart uploads that are under way."""
        return self.listed("uploads=", "UploadId")

    @property
    def settings(self):
        return dict(
            uploads__store="s3", uploads__s3__endpoint=f"http://127.0.0.1:{self.proxy.server_port}", uploads__s3__bucket=BUCKET,
            uploads__s3__key=KEY, uploads__s3__secret=SECRET, uploads__s3__prefix="parley/")

    @property
    def backup_settings(self):
        """Those of backups alone; files stay in the data folder."""
        return dict(
            backup__s3__endpoint=f"http://127.0.0.1:{self.proxy.server_port}", backup__s3__bucket=BUCKET,
            backup__s3__key=KEY, backup__s3__secret=SECRET)

    def close(self):
        self.proxy.shutdown()
        self.process.terminate()
        self.process.wait(PATIENCE)
