"""These clients of the app protocol hold every answer and every frame to docs/openapi.yaml and docs/asyncapi.yaml."""
import contextlib
import json
import socket
import ssl
import urllib.error
import urllib.parse
import urllib.request

import jsonschema
import referencing
import referencing.jsonschema
import websockets.exceptions
import websockets.sync.client
import yaml

from lib.apps import exchange, prove
from lib.harness import DOCS, PATIENCE, expect

INSECURE = ssl.create_default_context()
INSECURE.check_hostname = False
INSECURE.verify_mode = ssl.CERT_NONE  # the server's certificate is its own


class Documents:
    def __init__(self):
        self.openapi = yaml.safe_load((DOCS / "openapi.yaml").read_text())
        self.asyncapi = yaml.safe_load((DOCS / "asyncapi.yaml").read_text())
        make = referencing.jsonschema.DRAFT202012.create_resource
        self.registry = referencing.Registry().with_resources(
            [("https://docs/openapi.yaml", make(self.openapi)), ("https://docs/asyncapi.yaml", make(self.asyncapi))])
        self.validators = {}
        self.seen_statuses = set()
        self.seen_frames = set()

    def validator(self, reference):
        if reference not in self.validators:
            self.validators[reference] = jsonschema.Draft202012Validator({"$ref": reference}, registry=self.registry)
        return self.validators[reference]

    def validate(self, value, reference, what):
        errors = [f"{'.'.join(map(str, e.absolute_path))}: {e.message}" for e in self.validator(reference).iter_errors(value)]
        expect(not errors, f"{what} does not fit {reference}: {errors[:3]}: {json.dumps(value)[:500]}")

    def operation(self, method, path):
        best = None
        for template, item in self.openapi["paths"].items():
            parts, wanted = path.split("/"), template.split("/")
            if len(parts) == len(wanted) and method.lower() in item:
                if all(w.startswith("{") or w == p for p, w in zip(parts, wanted)):
                    if best is None or template.count("{") < best.count("{"):
                        best = template
        return best

    def answer(self, method, path, status, kind, body, headers):
        template = self.operation(method, path)
        expect(template, f"{method} {path} is not in openapi.yaml")
        described = self.openapi["paths"][template][method.lower()]
        pointer = "https://docs/openapi.yaml#/paths/" + template.replace("~", "~0").replace("/", "~1") + "/" + method.lower()
        expect(str(status) in described["responses"], f"{method} {path} answered {status}, which is not described: {body[:300]}")
        response = described["responses"][str(status)]
        pointer += f"/responses/{status}"
        if "$ref" in response:
            pointer = "https://docs/openapi.yaml" + response["$ref"]
            response = self.openapi["components"]["responses"][response["$ref"].split("/")[-1]]
        self.seen_statuses.add((described["operationId"], status))
        for header in response.get("headers", {}):
            if header in ("Retry-After", "RateLimit") or status == 401:
                expect(header.lower() in headers, f"{method} {path} {status} has no {header}")
        if "ratelimit" in headers:
            expect("RateLimit" in response.get("headers", {}), f"{method} {path} {status}: RateLimit is not described")
        if "content" not in response:
            expect(body == b"", f"{method} {path} {status} has a body: {body[:100]}")
            return None
        (expected, _), = response["content"].items()
        if expected == "*/*":
            expect("etag" in headers and "x-content-type-options" in headers, f"{method} {path} has {sorted(headers)}")
            return body
        expect(kind == expected, f"{method} {path} {status} is {kind}, not {expected}")
        value = json.loads(body)
        self.validate(value, pointer + "/content/" + expected.replace("/", "~1") + "/schema", f"{method} {path} {status}")
        if status >= 400:
            expect(value["status"] == status, f"{method} {path}: the problem says {value['status']}, the answer {status}")
        if template == "/v1/sync" and status == 200:
            for event in value["events"]:
                self.frame(event)
        return value

    def frame(self, frame):
        name = "reply" if "re" in frame else frame.get("type")
        if name in ("custom", "call.signal") and "id" in frame:
            name += ".command"  # the event has the same type
        expect(name in self.asyncapi["components"]["messages"], f"{name} is not in asyncapi.yaml")
        self.validate(frame, f"https://docs/asyncapi.yaml#/components/messages/{name}/payload", f"frame {name}")
        self.seen_frames.add(name)


documents = Documents()


class Client:
    """One user of the app, over REST."""

    def __init__(self, base, token=None):
        self.base, self.token = base, token

    def raw(self, method, path, body=None, headers=None):
        headers = dict(headers or {})
        if self.token and "Authorization" not in headers:
            headers["Authorization"] = "Bearer " + self.token
        if body is not None:
            headers.setdefault("Content-Type", "application/json")
        return exchange(method, self.base + path, body, headers, INSECURE)

    def answered(self, method, path, body=None, data=None, headers=None):
        payload = data if data is not None else None if body is None else json.dumps(body).encode()
        got, fields, answer = self.raw(method, path, payload, headers)
        names = {name.lower() for name in fields.keys()}
        return got, documents.answer(method, path.split("?")[0], got, fields.get_content_type(), answer, names)

    def call(self, method, path, body=None, status=200, code=None, data=None, headers=None):
        got, value = self.answered(method, path, body, data, headers)
        expect(got == status, f"{method} {path} answered {got}, not {status}: {str(value)[:300]}")
        if code is not None:
            expect(value["code"] == code, f"{method} {path} answered {value['code']}, not {code}")
        return value

    def sign_up(self, body):
        """The user of a new account. A server may ask for a proof of work."""
        got, value = self.answered("POST", "/v1/users", body)
        if got == 403 and value["code"] == "registration-proof-required":
            got, value = self.answered("POST", "/v1/users", {**body, "proof": prove(value["challenge"], value["target"])})
        expect(got == 201, f"POST /v1/users answered {got}, not 201: {value}")
        return value

    def log_in(self, name, password, device=None):
        body = {"grant": "password", "username": name, "password": password, "client": "app_contract"}
        if device:
            body["deviceId"] = device
        session = self.call("POST", "/v1/sessions", body, 201)
        self.token, self.session, self.name = session["accessToken"], session, name
        return session


class Socket:
    """One WebSocket session."""

    def __init__(self, client, cursor=None, hello=True, buffer=None):
        address = client.base.replace("http", "ws", 1) + "/v1/ws"
        options = {"ssl": INSECURE} if address.startswith("wss") else {}
        if buffer:
            # How much the kernel takes before the server feels that nobody reads.
            parts = urllib.parse.urlsplit(address)
            options["sock"] = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            options["sock"].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            options["sock"].connect((parts.hostname, parts.port))
        self.stack = contextlib.ExitStack()
        self.socket = self.stack.enter_context(
            # It takes no pong while many frames wait that the script has not asked for yet.
            websockets.sync.client.connect(
                address, subprotocols=["parley.v1"], max_size=None, proxy=None, ping_interval=None, **options))
        expect(self.socket.subprotocol == "parley.v1", "the subprotocol was not agreed")
        self.count, self.waiting, self.client = 0, [], client
        if hello:
            data = {"token": client.token}
            if cursor:
                data["cursor"] = cursor
            expect(self.command("hello", data)["ok"], "hello was refused")
            self.ready = self.event("ready")
            self.held = cursor or self.ready["data"]["cursor"]
            self.missed = []
            while True:
                frame = self.receive()
                if frame["type"] == "caught_up":
                    self.held = frame["data"]["cursor"]
                    break
                self.missed.append(frame)
                self.follow(frame)

    def follow(self, frame):
        if frame["type"] == "resync":
            self.held = frame["data"]["cursor"]
        if "cursor" in frame:
            expect(frame["prevCursor"] == self.held, f"a gap before {frame}")
            self.held = frame["cursor"]

    def send(self, type, data=None, right=True):
        self.count += 1
        frame = {"id": str(self.count), "type": type}
        if data is not None:
            frame["data"] = data
        if right:
            documents.frame(frame)
        self.socket.send(json.dumps(frame))
        return frame["id"]

    def receive(self):
        frame = json.loads(self.socket.recv(timeout=PATIENCE))
        documents.frame(frame)
        return frame

    def command(self, type, data=None, code=None):
        """Sends a command and returns its reply; events that come meanwhile wait."""
        frame = self.reply(self.send(type, data, code is None))
        expect(("error" in frame) == (code is not None), f"{type} was answered {frame}")
        if code:
            expect(frame["error"]["code"] == code, f"{type} was answered {frame}")
        return frame

    def reply(self, id):
        while True:
            frame = self.receive()
            if frame.get("re") == id:
                return frame
            self.note(frame)

    def note(self, frame):
        if hasattr(self, "held"):
            self.follow(frame)
        self.waiting.append(frame)

    def event(self, type, matching=lambda data: True):
        """The first event of this type that nobody has asked for yet; others go on waiting."""
        seen = 0
        while True:
            for index in range(seen, len(self.waiting)):
                if self.waiting[index]["type"] == type and matching(self.waiting[index]["data"]):
                    return self.waiting.pop(index)
            seen = len(self.waiting)
            self.note(self.receive())

    def settled(self):
        """Everything that was caused before this call and is for this session has come: what waits now."""
        self.command("ping")
        frames, self.waiting = self.waiting, []
        return frames

    def closed(self, code):
        try:
            while True:
                documents.frame(json.loads(self.socket.recv(timeout=PATIENCE)))
        except websockets.exceptions.ConnectionClosed as end:
            expect(end.rcvd is not None and end.rcvd.code == code, f"closed with {end}, not {code}")
            if code >= 4400:
                expect(end.rcvd.reason.startswith("urn:parley:problem:"), f"closed for the reason {end.rcvd.reason}")

    def close(self):
        self.stack.close()
