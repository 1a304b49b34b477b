"""These services stand beside a server: a mail server, an app's backend, a hook for letters, and programs of others."""
import base64
import contextlib
import email
import email.policy
import hmac
import http.server
import json
import os
import pathlib
import queue
import secrets
import ssl
import subprocess
import threading
import time

import aiosmtpd.controller
import aiosmtpd.smtp
import standardwebhooks

from lib.harness import PATIENCE, Failure, Log, expect, free_port


class MailServer:
    """Takes what is for anybody, from who has the password."""

    def __init__(self, certificate=None, implicit=True):
        self.mails, self.answers, self.seen = queue.Queue(), [], []
        self.port = free_port()
        options = {}
        if certificate:
            context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            context.load_cert_chain(*certificate)
            options = dict(authenticator=self.authenticate, auth_required=True, auth_require_tls=not implicit)
            if implicit:
                options["ssl_context"] = context
            else:
                options.update(tls_context=context, require_starttls=True)
        self.controller = aiosmtpd.controller.Controller(self, hostname="127.0.0.1", port=self.port, **options)
        self.controller.ready_timeout = PATIENCE

    def authenticate(self, server, session, envelope, mechanism, data):
        right = isinstance(data, aiosmtpd.smtp.LoginPassword) and (data.login, data.password) == (b"parley", b"a:b c")
        return aiosmtpd.smtp.AuthResult(success=right, handled=right)

    async def handle_DATA(self, server, session, envelope):
        self.seen.append(envelope.rcpt_tos)
        if self.answers:
            return self.answers.pop(0)
        self.mails.put((envelope, email.message_from_bytes(envelope.content, policy=email.policy.default)))
        return "250 OK"

    def mail(self, to):
        envelope, message = self.mails.get(timeout=PATIENCE)
        expect(envelope.rcpt_tos == [to] and message["To"] == to, f"it is for {envelope.rcpt_tos}, {message['To']}")
        return envelope, message, message.get_content().replace("\r\n", "\n")

    def __enter__(self):
        self.controller.start()
        return self

    def __exit__(self, *_):
        with contextlib.suppress(Exception):
            self.controller.stop()


def certificate(folder, name):
    files = pathlib.Path(folder) / f"{name}.pem", pathlib.Path(folder) / f"{name}.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=localhost",
         "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-days", "60", "-out", files[0], "-keyout", files[1]],
        check=True, capture_output=True)
    return files


def new_secret():
    return "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()


class Hook:
    """The app's backend: takes letters as signed webhooks."""

    def __init__(self, port, secret):
        self.key = base64.b64decode(secret.removeprefix("whsec_"))
        self.letters = queue.Queue()
        self.refusals = []  # statuses to answer the next posts with
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = hook.refusals.pop(0) if hook.refusals else 204
                try:
                    letter = hook.opened(self.headers, body)
                    if status < 300:
                        hook.letters.put(letter)
                except Exception as error:  # it is told to whoever waits for a letter
                    hook.letters.put(error)
                self.send_response(status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def opened(self, headers, body):
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        wanted = "v1," + base64.b64encode(hmac.digest(self.key, signed, "sha256")).decode()
        if not hmac.compare_digest(wanted, headers["webhook-signature"]):
            raise ValueError(f"the signature of {body} is {headers['webhook-signature']}")
        if abs(int(headers["webhook-timestamp"]) - time.time()) > 300:
            raise ValueError(f"sent at {headers['webhook-timestamp']}")
        letter = json.loads(body)
        letter["id"] = headers["webhook-id"]
        return letter

    def letter(self, type, **expected):
        letter = self.letters.get(timeout=PATIENCE)
        if isinstance(letter, Exception):
            raise letter
        data = letter["data"]
        if letter["type"] != type or any(data.get(name) != value for name, value in expected.items()):
            raise ValueError(f"{letter} is no {type} with {expected}")
        return data

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Backend:
    """A server of somebody's own, which keeps what it is told. `answer` decides: a status, and what to say."""

    def __init__(self):
        self.port = free_port()
        self.changed = threading.Condition()
        self.got = []  # (headers, body)
        self.answer = lambda event: (204, None)
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status, said = backend.answer(json.loads(body))
                with backend.changed:
                    backend.got.append((dict(self.headers), body, status))
                    backend.changed.notify_all()
                data = b"" if said is None else json.dumps(said).encode()
                with contextlib.suppress(OSError):
                    self.send_response(status)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}/hook"

    def events(self, kind=None):
        """What was taken, in the order it came."""
        with self.changed:
            found = [json.loads(body) for _, body, status in self.got if 200 <= status < 300]
        return [event for event in found if kind is None or event["type"] == kind]

    def until(self, what, test):
        with self.changed:
            expect(self.changed.wait_for(test, PATIENCE), f"not within {PATIENCE} s: {what}; got {self.got[-3:]}")

    def verify(self, *secrets):
        """Every request, by each of these secrets."""
        with self.changed:
            got = list(self.got)
        for headers, body, _ in got:
            lower = {name.lower(): value for name, value in headers.items()}
            for secret in secrets:
                standardwebhooks.Webhook(secret).verify(body, lower)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Program:
    """One of the two, in a folder of its own."""

    def __init__(self, folder, *command, ready):
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            errors="replace", env={**os.environ, "HOME": folder})
        self.log = Log(self.process.stdout)
        try:
            ready(self.log)
        except Failure as error:
            self.stop()
            raise Failure(f"{command[0]}: {error}:\n{self.log.text[-3000:]}") from None

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
