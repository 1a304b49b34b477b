"""HTTP requests, a blocking client of the app protocol, and the codes of a second factor. The client is urllib and the websockets
package, which know nothing of Parley; TOTP is written from RFC 6238 alone.
"""
import base64
import hashlib
import hmac
import json
import queue
import struct
import threading
import time
import urllib.error
import urllib.request

import websockets.exceptions
import websockets.sync.client

from lib.harness import PASSWORD, PATIENCE, Failure, expect


def exchange(method, url, data=None, headers=None, context=None):
    """One HTTP request: status, header fields, bytes. An event stream has no end, and is not read."""
    request = urllib.request.Request(url, data=data, method=method, headers=headers or {})
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE, context=context) as answer:
            is_stream = answer.headers.get_content_type() == "text/event-stream"
            return answer.status, answer.headers, b"" if is_stream else answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def exchange_json(method, url, body=None, token=None, **headers):
    """The same with a JSON body: status, header fields, and the value of the answer."""
    headers["Content-Type"] = "application/json"
    if token:
        headers["Authorization"] = "Bearer " + token
    status, fields, data = exchange(method, url, None if body is None else json.dumps(body).encode(), headers)
    return status, fields, json.loads(data) if data else None


class App:
    """A client of the app protocol: REST, and a WebSocket whose frames are gathered by a thread."""

    def __init__(self, server, name, device="test"):
        self.server, self.name = server, name
        status, session = self.call(
            "POST", "/v1/sessions",
            {"grant": "password", "username": name, "password": PASSWORD, "deviceId": device}, token=None)
        expect(status == 201, f"{name} cannot log in: {status} {session}")
        self.token = session["accessToken"]
        self.socket = None
        self.frames = queue.Queue()
        self.kept = []
        self.commands = 0

    def call(self, method, path, body=None, token=True):
        status, headers, value = exchange_json(method, self.server.base + path, body, token and self.token)
        expect(status < 400 or headers.get("Content-Type") == "application/problem+json", f"{status} without a problem: {value}")
        return status, value

    def connect(self, cursor=None):
        self.socket = websockets.sync.client.connect(
            self.server.base.replace("http", "ws", 1) + "/v1/ws", subprotocols=["parley.v1"], open_timeout=PATIENCE,
            compression=None)
        threading.Thread(target=self._read, args=(self.socket,), daemon=True).start()
        hello = {"token": self.token}
        if cursor:
            hello["cursor"] = cursor
        expect(self.command("hello", hello).get("ok"), "hello was refused")
        self.event("caught_up")
        return self

    def _read(self, connection):
        try:
            for text in connection:
                self.frames.put(json.loads(text))
        except (websockets.exceptions.ConnectionClosed, OSError):
            pass  # what is missing then is told by who waits for it

    def command(self, kind, data=None):
        self.commands += 1
        name = str(self.commands)
        self.socket.send(json.dumps({"id": name, "type": kind, "data": data or {}}))
        return self.frame(lambda frame: frame.get("re") == name, f"the answer to {kind}")

    def frame(self, test, what):
        """The first frame, new or passed over before, that fits."""
        for frame in self.kept:
            if test(frame):
                self.kept.remove(frame)
                return frame
        end = time.monotonic() + PATIENCE
        while True:
            try:
                frame = self.frames.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                raise Failure(f"{self.name} did not get {what}; got {self.kept[-5:]}") from None
            if test(frame):
                return frame
            self.kept.append(frame)

    def event(self, kind, test=lambda data: True):
        return self.frame(lambda frame: frame.get("type") == kind and test(frame["data"]), kind)

    def message(self, text):
        """A message with this text."""
        return self.event("message.created", lambda data: data["message"]["content"]["text"] == text)["data"]["message"]

    def dialog(self, user):
        status, dialog = self.call("POST", "/v1/dialogs", {"type": "private", "userId": user})
        expect(status in (200, 201), f"no dialog with {user}: {status} {dialog}")
        return dialog["id"]

    def say(self, dialog, text, client_id=None):
        status, message = self.call(
            "POST", f"/v1/dialogs/{dialog}/messages",
            {"clientId": client_id or text, "content": {"type": "text", "text": text}})
        expect(status in (200, 201), f"{self.name} cannot say {text}: {status} {message}")
        return message

    def history(self, dialog):
        """All of it, oldest first."""
        items, before = [], ""
        while True:
            status, page = self.call("GET", f"/v1/dialogs/{dialog}/messages?limit=100{before}")
            expect(status == 200, f"no history: {status} {page}")
            items += page["items"]
            if "nextCursor" not in page:
                return items[::-1]
            before = "&before=" + page["nextCursor"]

    def close(self):
        if self.socket:
            self.socket.close()


def prove(challenge, target):
    """A proof of work: a text that begins with the challenge, and whose SHA-256 ends in the bits of the target."""
    value, begun, number = int(target, 16), hashlib.sha256(challenge.encode()), 0
    mask = (1 << value.bit_length()) - 1
    while True:
        digest = begun.copy()
        digest.update(str(number).encode())
        if int.from_bytes(digest.digest()[-4:], "big") & mask == value:
            return f"{challenge}{number}"
        number += 1


def totp(secret, later=0):
    step = int(time.time()) // 30 + later
    digest = hmac.digest(base64.b32decode(secret), struct.pack(">Q", step), hashlib.sha1)
    offset = digest[-1] & 15
    return f"{(struct.unpack('>I', digest[offset:offset + 4])[0] & 0x7fffffff) % 1_000_000:06}"
