"""Who may what, operation by operation: both documents are walked, so that a new operation is asked about or the check fails.

Everything of a server with two domains: without a token or key an operation is 401, unless it is for everybody; about what is
somebody else's it answers a stranger exactly as about what there is not (status, code, text, header fields), and a user of the
other domain too. The same over the WebSocket, command by command. At the end the attacks that docs/guides/security.md lists: each
has a test that is still there.
"""
import base64
import hmac
import json
import queue
import re
import socket
import ssl
import struct
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import websockets.exceptions
import websockets.sync.client
import yaml

from lib.apps import App, exchange
from lib.harness import DOCS, ROOT, PASSWORD, PATIENCE, Server, expect
from lib.properties import PNG, SECRET, Taker, upload
from lib.scrape import Growth
from lib.services import new_secret
from lib.wire import HEADER

OTHER = "other.example"
# What differs between two answers that say the same.
VOLATILE = {"date", "content-length", "connection", "keep-alive"}

# Parameters of paths that are no ids of anybody's things, and why.
NOBODYS = {
    "token": "the link of a letter, which is a secret by itself: accounts_mail.py",
}
# Operations that may tell a stranger of the same domain of what they ask for, and why.
SHARED = {
    "user.get": "users see users of their domain",
    "user.avatar": "the same; who hides a picture is tested in profiles_slixmpp.py",
    "contact.put": "anybody may ask to be a contact",
    "block.put": "anybody may be blocked",
    "user.presence": "403 where it is not shared",
    "attachment.get": "whoever knows the id may ask: it cannot be guessed",
}


def operations(document):
    for path, item in yaml.safe_load((DOCS / document).read_text())["paths"].items():
        for method, operation in item.items():
            yield operation["operationId"], method.upper(), path, operation


def raw(server, method, path, body=None, headers=None):
    return exchange(method, server.base + path, body, headers)


def said(answer, *ids):
    """What an answer says, without what is the request's own: its number, its ids, the time."""
    status, headers, data = answer
    fields = {name.lower(): value for name, value in headers.items() if name.lower() not in VOLATILE}
    text = data.decode(errors="replace")
    for each in ids:
        text = text.replace(each, "ID")
    text = re.sub(r'"requestId":"[^"]*"', '"requestId":"-"', text)
    text = re.sub(r'"\d{4}-\d\d-\d\dT[^"]*Z"', '"TIME"', text)
    fields = {name: "-" if name == "etag" else value for name, value in fields.items() if not name.startswith("ratelimit")}
    return status, fields, text


def unknown(known):
    """As long and of the same signs, and nobody's."""
    if known.isdigit():
        return str(int(known) + 7_777)
    at = len(known) // 2
    return known[:at] + ("x" if known[at] != "x" else "y") + known[at + 1:]


class User(App):
    """A user of either domain."""

    def __init__(self, server, name, domain="localhost"):
        status, _, data = raw(
            server, "POST", "/v1/sessions",
            json.dumps({"grant": "password", "username": name, "password": PASSWORD, "deviceId": f"of-{name}"}).encode(),
            {"Content-Type": "application/json", "Host": domain})
        expect(status == 201, f"{name} cannot log in: {status} {data}")
        self.given = json.loads(data)
        self.server, self.name, self.domain, self.token = server, name, domain, self.given["accessToken"]
        self.socket, self.frames, self.kept, self.commands = None, queue.Queue(), [], 0

    def ask(self, method, path, body=None, kind="application/json"):
        headers = {"Authorization": "Bearer " + self.token}
        if body is not None:
            headers["Content-Type"] = kind
            body = body if isinstance(body, bytes) else json.dumps(body).encode()
        return raw(self.server, method, path, body, headers)

    def make(self, method, path, body=None):
        status, answer = self.call(method, path, body)
        expect(status in (200, 201, 202), f"{self.name}: {method} {path}: {status} {answer}")
        return answer


def tomorrow():
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 86_400))


def text(words="Good night"):
    return {"type": "text", "text": words}


# What an operation is asked with so that nothing but the id can be wrong. `{}` where it is not named.
BODIES = {
    "device.put": lambda: {"push": {"provider": "webhook", "token": str(uuid.uuid4())}},
    "dialog.update": lambda: {"name": "Mine now"},
    "settings.update": lambda: {"pinned": True},
    "member.put": lambda: {"role": "member"},
    "message.send": lambda: {"clientId": str(uuid.uuid4()), "content": text()},
    "message.edit": lambda: {"text": "Good morning"},
    "message.flag": lambda: {"reason": "spam"},
    "reactions.set": lambda: {"emoji": ["👍"]},
    "marker.set": lambda: {"private": True},
    "typing": lambda: {"on": True},
    "call.signal": lambda: {"action": "ringing"},
    "custom": lambda: {"kind": "knock"},
    "draft.put": lambda: {"text": "O Romeo"},
    "scheduled.create": lambda: {"clientId": str(uuid.uuid4()), "sendAt": tomorrow(), "content": text()},
    "scheduled.update": lambda: {"sendAt": tomorrow()},
    "avatar.put": lambda: PNG,
    "passwordReset.use": lambda: {"password": PASSWORD},
}
QUERIES = {"dialog.delete": "?for=me", "dialog.clear": "?for=me", "message.delete": "?for=me"}


def theirs(server):
    """What is romeo's, and juliet's with him: by parameter of a path, each with several ids. Where a path has several parameters
    they belong together by their place."""
    romeo, juliet = User(server, "romeo"), User(server, "juliet")
    private = romeo.dialog("juliet")
    closed = romeo.make("POST", "/v1/dialogs", {"type": "group", "name": "Balcony", "memberIds": ["juliet"]})["id"]
    messages = [juliet.say(where, "Wherefore art thou?")["id"] for where in (private, closed)]
    for where in private, closed:
        romeo.make("PUT", f"/v1/dialogs/{where}/draft", {"text": "But soft"})
    status, _, _ = romeo.ask("PUT", f"/v1/dialogs/{closed}/avatar", PNG, "image/png")
    expect(status == 200, f"no picture: {status}")
    romeo.make("PUT", "/v1/devices/phone-of-romeo", {"push": {"provider": "webhook", "token": "romeo"}})
    scheduled = romeo.make("POST", f"/v1/dialogs/{private}/scheduled-messages", {
        "clientId": "later", "sendAt": tomorrow(), "content": text()})
    juliet.make("PATCH", "/v1/users/me", {"callsFrom": "everybody"})
    return romeo, juliet, {
        "callId": [romeo.make("POST", "/v1/calls", {"clientId": "call", "userId": "juliet", "kind": "audio"})["id"]],
        "dialogId": [private, closed], "messageId": messages, "userId": ["juliet", "juliet"],
        "sessionId": [romeo.make("GET", "/v1/sessions")["items"][0]["id"]],
        "deviceId": ["phone-of-romeo"],
        "appPasswordId": [romeo.make("POST", "/v1/app-passwords", {"name": "profanity"})["id"]],
        "identityId": [romeo.make("POST", "/v1/users/me/identities", vouch(server))["id"]],
        "exportId": [romeo.make("POST", "/v1/users/me/exports")["id"]],
        "attachmentId": [upload(romeo, server)],
        "scheduledMessageId": [scheduled["id"]]}


def vouch(server):
    nonce, now = json.loads(raw(server, "POST", "/v1/nonces")[2])["nonce"], int(time.time())
    claims = {"iss": "properties", "iat": now, "nbf": now, "exp": now + 60, "nce": nonce, "prn": str(uuid.uuid4())}
    encode = lambda part: base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
    signed = encode({"alg": "HS256", "typ": "JWT", "ver": "v2"}) + b"." + encode(claims)
    return {"identityToken": (signed + b"." + base64.urlsafe_b64encode(
        hmac.digest(SECRET.encode(), signed, "sha256")).rstrip(b"=")).decode()}


def fill(path, ids):
    for name, value in ids.items():
        path = path.replace("{" + name + "}", urllib.parse.quote(value, safe=""))
    return path


def same(caller, name, method, path, known, body=None):
    """A stranger is answered the same about what is known and what is not; and it is a refusal, unless the id is for the caller to
    give (a device's)."""
    parts = re.findall(r"{(\w+)}", path)
    none = {part: unknown(known[part]) for part in parts}
    kind = "image/png" if isinstance(body, bytes) else "application/json"
    bodies = [BODIES[name]() if name in BODIES else body for _ in range(2)]
    query = QUERIES.get(name, "")
    real = said(caller.ask(method, fill(path, known) + query, bodies[0], kind), *known.values())
    made_up = said(caller.ask(method, fill(path, none) + query, bodies[1], kind), *none.values())
    expect(real == made_up, f"{caller.name}: {name} tells: {real} about {known}, but {made_up} about {none}")
    expect(real[0] >= 400 or name in OWN, f"{caller.name}: {name} of somebody else's succeeds: {real}")
    expect(real[0] < 500, f"{caller.name}: {name}: {real}")
    return real[0]


# The caller gives the id, or there need be nothing: the answer is about the caller's own.
OWN = {"device.put", "device.delete", "contact.delete", "block.put", "block.delete", "contact.put"}


def strangers(checks, server, romeo, stranger, foreigner, things):
    asked = 0
    for name, method, path, _ in operations("openapi.yaml"):
        parts = re.findall(r"{(\w+)}", path)
        if not parts or set(parts) & set(NOBODYS):
            continue
        if set(parts) - set(things):
            with checks.check(f"security: {name} is asked about"):
                expect(False, f"theirs() has no {sorted(set(parts) - set(things))}: make one, as romeo's")
            continue
        for number in range(max(len(things[part]) for part in parts)):
            known = {part: things[part][min(number, len(things[part]) - 1)] for part in parts}
            with checks.check(f"security: {name} tells nothing of what is not the caller's ({number + 1})"):
                if name not in SHARED:
                    # Of a user's things the owner is one whom everybody may know; what they share is asked of one whom nobody knows.
                    same(stranger, name, method, path, known)
                same(foreigner, name, method, path, known)
            asked += 1
    print(f"{asked} questions about what is somebody else's", flush=True)


# What names something of somebody else's in a body or a query: how to ask of `id`, with the rest right. `mine` is the caller's own.
def references(name, mine):
    where = mine["dialogId"]
    return {
        "a message of another dialog as the one that is answered": ("message", lambda id: (
            "POST", f"/v1/dialogs/{where}/messages", {**BODIES["message.send"](), "replyTo": id})),
        "a message to say again, of another dialog": ("pair", lambda dialog, id: (
            "POST", f"/v1/dialogs/{where}/messages", {
                "clientId": str(uuid.uuid4()), "forwardFrom": {"dialogId": dialog, "messageId": id}})),
        "another dialog's message by one's own": ("message", lambda id: (
            "PATCH", f"/v1/dialogs/{where}/messages/{id}", BODIES["message.edit"]())),
        "another dialog's message, to take it back": ("message", lambda id: (
            "DELETE", f"/v1/dialogs/{where}/messages/{id}?for=everyone", None)),
        "another dialog's message, to take it from the caller": ("message", lambda id: (
            "DELETE", f"/v1/dialogs/{where}/messages/{id}?for=me", None)),
        "another dialog's message, to react": ("message", lambda id: (
            "PUT", f"/v1/dialogs/{where}/messages/{id}/reactions", BODIES["reactions.set"]())),
        "another dialog's message, to star it": ("message", lambda id: (
            "PUT", f"/v1/dialogs/{where}/messages/{id}/star", {})),
        "another dialog's message, to pin it": ("message", lambda id: (
            "PUT", f"/v1/dialogs/{where}/messages/{id}/pin", {})),
        "another dialog's message, to report it": ("message", lambda id: (
            "POST", f"/v1/dialogs/{where}/messages/{id}/flags", BODIES["message.flag"]())),
        "another dialog's message as its receipts": ("message", lambda id: (
            "GET", f"/v1/dialogs/{where}/messages/{id}/receipts", None)),
        "another dialog's message as its edits": ("message", lambda id: (
            "GET", f"/v1/dialogs/{where}/messages/{id}/edits", None)),
        "a marker at another dialog's message": ("message", lambda id: (
            "PUT", f"/v1/dialogs/{where}/marker", {"read": id})),
        "a delivery at another dialog's message": ("message", lambda id: (
            "PUT", f"/v1/dialogs/{where}/marker", {"delivered": id})),
        "a draft that answers another dialog's message": ("message", lambda id: (
            "PUT", f"/v1/dialogs/{where}/draft", {"text": "O", "replyTo": id})),
        "a message for later that answers another dialog's": ("message", lambda id: (
            "POST", f"/v1/dialogs/{where}/scheduled-messages", {**BODIES["scheduled.create"](), "replyTo": id})),
        "history before another dialog's message": ("message", lambda id: (
            "GET", f"/v1/dialogs/{where}/messages?before={id}", None)),
        "history after another dialog's message": ("message", lambda id: (
            "GET", f"/v1/dialogs/{where}/messages?after={id}", None)),
        "search in another's dialog": ("dialog", lambda id: (
            "GET", f"/v1/messages?query=night&dialogId={id}", None)),
        "another's cursor of events": ("cursor", lambda id: ("GET", f"/v1/sync?cursor={id}", None)),
        "another's cursor of a stream": ("cursor", lambda id: ("GET", f"/v1/events?cursor={id}", None)),
        "another's page of dialogs": ("page", lambda id: ("GET", f"/v1/dialogs?cursor={id}", None)),
        "another's page of stars": ("page", lambda id: ("GET", f"/v1/stars?cursor={id}", None)),
    }


def kept(checks, romeo, things):
    """Whatever the others were answered, it was about their own."""
    with checks.check("security: nothing of what is romeo's has gone or changed by it"):
        for path, name in (("/v1/sessions", "sessionId"), ("/v1/devices", "deviceId"), ("/v1/app-passwords", "appPasswordId"),
                           ("/v1/users/me/identities", "identityId"), ("/v1/scheduled-messages", "scheduledMessageId"),
                           ("/v1/users/me/exports", "exportId"), ("/v1/dialogs", "dialogId")):
            listed = [item["id"] for item in romeo.make("GET", path)["items"]]
            expect(set(things[name]) <= set(listed), f"{path}: {things[name]} are not all of {listed}")
        for dialog, message in zip(things["dialogId"], things["messageId"]):
            expect(romeo.make("GET", f"/v1/dialogs/{dialog}/draft")["text"] == "But soft", "another draft")
            found = [item for item in romeo.history(dialog) if item["id"] == message]
            expect(found and found[0]["content"]["text"] == "Wherefore art thou?" and "reactions" not in found[0], f"{found}")
        expect(len(romeo.make("GET", f"/v1/dialogs/{things['dialogId'][1]}/members")["items"]) == 2, "other members")


def described(checks, server, caller, mine, things):
    """References in bodies and queries."""
    romeos = {"message": things["messageId"], "dialog": things["dialogId"], "cursor": [things["cursor"]], "page": [things["page"]]}
    romeos["pair"] = list(zip(things["dialogId"], things["messageId"]))
    for what, (kind, question) in references(caller.name, mine).items():
        # A cursor is a place in the log of its domain and names nothing of anybody's: behind it are the caller's own events.
        if kind in ("cursor", "page") and caller.domain == "localhost":
            continue
        with checks.check(f"security: {caller.name} learns nothing by {what}"):
            for known in romeos[kind]:
                known = known if isinstance(known, tuple) else (known,)
                none = tuple(unknown(each) for each in known)
                real = said(caller.ask(*question(*known)), *known)
                made_up = said(caller.ask(*question(*none)), *none)
                expect(real == made_up, f"{real} about {known}, but {made_up} about {none}")
                expect(kind in ("cursor", "page") or 400 <= real[0] < 500, f"{real}")


def commands(checks, server, caller, things):
    """The same over the WebSocket, for every command that names something."""
    names = [name.removesuffix(".command") for name in
             (each["$ref"].split("/")[-1] for each in yaml.safe_load((DOCS / "asyncapi.yaml").read_text())["operations"]["command"]["messages"])]
    # How it is asked, with `id` as the dialog, or as the cursor.
    asked = {
        "message.send": lambda id: {"dialogId": id, **BODIES["message.send"]()},
        "marker.set": lambda id: {"dialogId": id, "read": things["messageId"][0]},
        "typing": lambda id: {"dialogId": id, "on": True},
        "custom": lambda id: {"dialogId": id, "kind": "knock"},
        "call.signal": lambda id: {"callId": id, "action": "ringing"},
        "presence": lambda id: {"availability": "online", "activeDialogId": id},
        "ack": lambda id: {"cursor": id},
    }
    with checks.check(f"security: {caller.name} may ask of every command"):
        missing = set(names) - set(asked) - {"hello", "ping"}
        expect(not missing, f"commands that nobody asked about: {sorted(missing)}")
    with checks.check(f"security: before hello no command is carried out, for {caller.name}"):
        for name in names:
            if name == "hello":
                continue
            address = server.base.replace("http", "ws", 1) + "/v1/ws"
            with websockets.sync.client.connect(address, subprotocols=["parley.v1"], proxy=None) as bare:
                bare.send(json.dumps({"id": "1", "type": name, "data": asked.get(name, lambda id: {})(things["dialogId"][0])}))
                try:
                    answer = json.loads(bare.recv(timeout=PATIENCE))
                    expect("error" in answer and "ok" not in answer, f"{name} before hello: {answer}")
                except websockets.exceptions.ConnectionClosed as closed:
                    expect(closed.rcvd.code in (4400, 4401), f"{name} before hello: {closed}")
    caller.connect()
    if caller.domain == "localhost":
        asked.pop("ack")  # as above, of cursors
    for name, data in asked.items():
        with checks.check(f"security: the command {name} tells {caller.name} nothing"):
            for known in {"ack": [things["cursor"]], "call.signal": things["callId"]}.get(name, things["dialogId"]):
                none = unknown(known)
                answers = []
                for id in known, none:
                    reply = caller.command(name, data(id))
                    reply.pop("re")
                    answers.append(re.sub(r'"requestId": "[^"]*"', "", json.dumps(reply).replace(id, "ID")))
                expect(answers[0] == answers[1], f"{answers}")
                expect("error" in answers[0] or name == "presence", f"{answers}")
    caller.close()


def doors(checks, server, romeo, key):
    """Who has nothing to show."""
    some = "0123456789abcdef0123456789abcdef"
    ways = {"none": {}, "no scheme": {"Authorization": romeo.token}, "another scheme": {"Authorization": "Basic cm9tZW86cm9tZW8="},
            "a made-up token": {"Authorization": "Bearer " + some}, "an empty one": {"Authorization": "Bearer "}}
    for document, mine, others in (("openapi.yaml", romeo.token, key), ("openapi-admin.yaml", key, romeo.token)):
        public, asked = 0, 0
        for name, method, path, operation in operations(document):
            url = re.sub(r"{\w+}", "1", path)
            if operation.get("security") == []:
                public += 1
                continue
            with checks.check(f"security: {name} is for who shows who they are"):
                for way, headers in {**ways, "what opens the other door": {"Authorization": "Bearer " + others}}.items():
                    # Who has no key may ask so often from one address, and a proxy on this machine says whose it is.
                    asked += 1
                    headers = {**headers, "X-Forwarded-For": f"198.51.{asked // 200}.{asked % 200 + 1}"}
                    status, fields, data = raw(server, method, url, b"{}" if method in ("POST", "PUT", "PATCH") else None, headers)
                    if way.startswith("what opens") and others == romeo.token:
                        # Who it is is known: no administrator.
                        expect(status == 403 and b"administrator-required" in data, f"{way}: {status} {data[:300]}")
                    else:
                        expect(status == 401 and fields.get("WWW-Authenticate"), f"{way}: {status} {data[:300]}")
        print(f"{document}: {public} operations are for everybody", flush=True)


def admin(checks, server, keys, romeo, things):
    """A key of one domain, about users, dialogs, messages, reports and webhooks of the other: as of none."""
    ours, theirs = keys

    def call(secret, method, path, body=None):
        return raw(server, method, path, None if body is None else json.dumps(body).encode(), {
            "Authorization": "Bearer " + secret, "Content-Type": "application/json"})

    status, _, data = call(ours, "POST", "/v1/admin/webhooks", {"url": things["url"], "events": ["user.created"]})
    expect(status == 201, f"no webhook: {status} {data}")
    webhook = json.loads(data)["webhook"]["id"]
    said_there = things["messageId"][1]
    status, _, data = romeo.ask("POST", f"/v1/dialogs/{things['dialogId'][1]}/messages/{said_there}/flags", {"reason": "spam"})
    expect(status == 204, f"no report: {status} {data}")
    report = json.loads(call(ours, "GET", "/v1/admin/reports")[2])["items"][0]["id"]
    group = "/v1/admin/contact-groups/montagues"
    status, _, data = call(ours, "PUT", group, {"displayName": "The Montagues"})
    expect(status == 200, f"no contact group: {status} {data}")
    bodies = {
        "users.update": {"name": "x"}, "users.state": {"state": "disabled"}, "users.password": {"password": PASSWORD},
        "sessions.create": {}, "dialogs.update": {"name": "x"}, "dialogs.add": {"jid": "iago"}, "dialogs.role": {"role": "admin"},
        "webhooks.update": {"state": "disabled"}}
    for name, method, path, _ in operations("openapi-admin.yaml"):
        parts = re.findall(r"{(\w+)}", path)
        # The name of a new contact group is for the caller to give: see below.
        if not parts or name == "contact-groups.put":
            continue
        known = {"jid": "romeo@localhost", "subject": "romeo@localhost", "dialog": things["dialogId"][1], "message": said_there,
                 "id": str(report if "/reports/" in path else webhook), "failure": "1", "group": "montagues"}
        known = {part: value for part, value in known.items() if part in parts}
        none = {part: "remeo@localhost" if value == "romeo@localhost" else unknown(value) for part, value in known.items()}
        with checks.check(f"security: {name} tells the key of another domain nothing"):
            body = bodies.get(name, {}) if method in ("POST", "PUT", "PATCH") else None
            real = said(call(theirs, method, fill(path, known), body), *known.values())
            made_up = said(call(theirs, method, fill(path, none), body), *none.values())
            expect(real == made_up, f"{real} about {known}, but {made_up} about {none}")
            expect(400 <= real[0] < 500, f"{real}")
    with checks.check("security: a contact group of the same name in another domain is another one"):
        status, _, data = call(theirs, "PUT", group, {"displayName": "Others"})
        expect(status == 200, f"{status} {data}")
        shown = json.loads(call(ours, "GET", group)[2])
        expect("The Montagues" in json.dumps(shown) and "Others" not in json.dumps(shown), f"{shown}")
    with checks.check("security: what such a key puts into bodies reaches no other domain"):
        for method, path, make in [
                ("POST", "/v1/admin/messages", lambda jid, dialog: {"sender": jid, "recipient": "iago", "clientId": "x", "text": "x"}),
                ("POST", "/v1/admin/messages", lambda jid, dialog: {"sender": "iago", "recipient": jid, "clientId": "x", "text": "x"}),
                ("POST", "/v1/admin/messages", lambda jid, dialog: {"sender": "iago", "dialog": dialog, "clientId": "x", "text": "x"}),
                ("POST", "/v1/admin/dialogs", lambda jid, dialog: {"owner": jid}),
                ("POST", "/v1/admin/dialogs", lambda jid, dialog: {"owner": "iago", "members": [jid], "name": "x"})]:
            answers = []
            for jid, dialog in (("romeo@localhost", things["dialogId"][1]), ("remeo@localhost", unknown(things["dialogId"][1]))):
                answers.append(said(call(theirs, method, path, make(jid, dialog)), jid, dialog))
            expect(answers[0] == answers[1] and answers[0][0] >= 400, f"{path}: {answers}")


# What is not settled yet: there are no releases, and no address for reports.
OPEN = "ejabberd 4601: a fix that nobody hears of"


def attacks(checks):
    """The tables of docs/guides/security.md: each row names a file and the words of a test in it, or of several, which must be there."""
    first, second = (re.findall(r"^\| (?!---)(.*) \|$", part, re.M)[1:] for part in
                     (DOCS / "guides" / "security.md").read_text().split("## Vulnerabilities of other servers and libraries"))
    with checks.check(f"security: the {len(first) + len(second)} attacks of docs/guides/security.md have their tests"):
        expect(len(first) > 60 and len(second) > 55, f"{len(first)} and {len(second)} rows")
        for row in first + second:
            cell = row.rpartition(" | ")[2]
            named = [(file, words) for file, names in re.findall(r"`(Tests/[^`]+)`: ((?:`[^`]+`(?:, (?=`))?)+)", cell) for words in re.findall(r"`([^`]+)`", names)]
            for file, words in named:
                path = ROOT / file
                expect(path.exists() and words in path.read_text(), f"{row}: there is no {words!r} in {file}")
            expect(named or " | n/a | " in row or row.startswith(OPEN), f"{row}: it names no test")
    with checks.check("security: each vulnerability of others is resisted, has no feature here, or is left by choice"):
        for row in second:
            verdict = row.split(" | ")[1].partition(":")[0]
            expect(verdict in ("yes", "n/a", "by choice") or row.startswith(OPEN), f"{row}: {verdict}")


def forged(checks, server, romeo, juliet, things):
    """Who somebody says to be in what they send."""
    where = things["dialogId"][1]
    with checks.check("security: a sender, a time, an id or a number in what is sent count for nothing"):
        body = {**BODIES["message.send"](), "senderId": "juliet", "from": "juliet@localhost", "sentAt": "2001-01-01T00:00:00.000Z",
                "id": things["messageId"][0], "seq": 1, "deletedAt": "2001-01-01T00:00:00.000Z", "dialogId": things["dialogId"][0],
                "forwardedFrom": {"senderId": "juliet", "sentAt": "2001-01-01T00:00:00.000Z"}}
        made = romeo.make("POST", f"/v1/dialogs/{where}/messages", body)
        expect(made["senderId"] == "romeo" and made["dialogId"] == where and "forwardedFrom" not in made, f"{made}")
        expect(made["id"] != body["id"] and not made["sentAt"].startswith("2001") and "deletedAt" not in made, f"{made}")
        romeo.connect()
        reply = romeo.command("message.send", {**BODIES["message.send"](), "dialogId": where, "senderId": "juliet"})
        expect(reply["data"]["senderId"] == "romeo", f"{reply}")
        romeo.close()
    with checks.check("security: what only the server says cannot be said"):
        for kind in "system", "call", "deleted", "encrypted":
            status, answer = romeo.call("POST", f"/v1/dialogs/{where}/messages", {
                "clientId": str(uuid.uuid4()), "content": {"type": kind, "text": "Juliet has left", "kind": "left", "userId": "juliet"}})
            expect((status, answer["code"]) == (403, "content-type-reserved"), f"{kind}: {status} {answer}")
    with checks.check("security: nobody edits, and nobody takes back for all, what another has said"):
        for number, dialog in enumerate(things["dialogId"]):
            path = f"/v1/dialogs/{dialog}/messages/{things['messageId'][number]}"
            expect(romeo.call("PATCH", path, {"text": "I hate you"})[0] == 403, "edited")
            if number == 0:
                expect(romeo.call("DELETE", path + "?for=everyone")[0] == 403, "deleted")


def limits(checks, server, romeo, key, things):
    """Lists, bodies and rates have an end, whatever the operation."""
    ids = {name: values[-1] for name, values in things.items() if isinstance(values, list)}
    lists, bodies = 0, 0
    for document, token in (("openapi.yaml", romeo.token), ("openapi-admin.yaml", key)):
        described = yaml.safe_load((DOCS / document).read_text())
        for name, method, path, operation in operations(document):
            headers = {"Authorization": "Bearer " + token, "Content-Type": "application/json"}
            parameters = [described["components"]["parameters"][each["$ref"].split("/")[-1]] if "$ref" in each else each
                          for each in operation.get("parameters", [])]
            known = {each["name"]: each["schema"]["enum"][0] for each in parameters if "enum" in each["schema"]} | ids
            url = re.sub(r"{(\w+)}", lambda found: known.get(found[1], "1"), path)
            limit = next((each["schema"] for each in parameters if each["name"] == "limit"), None)
            if limit and document == "openapi.yaml":
                lists += 1
                with checks.check(f"security: {name} gives no more than so many at a time"):
                    for wrong in (0, -1, limit["maximum"] + 1, "x", 1 << 70):
                        status, _, data = raw(server, method, f"{url}?limit={wrong}&query=night", headers=headers)
                        expect(status == 400 and json.loads(data)["field"] == "limit", f"{wrong}: {status} {data}")
            content = operation.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                bodies += 1
                with checks.check(f"security: {name} takes no body without an end"):
                    if name == "operations.call":  # takes an import's batch: of a longer body the length is enough
                        with bare(server) as connection:
                            connection.sendall(f"POST {url} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                               f"Authorization: Bearer {token}\r\nContent-Length: 5000000\r\n\r\n".encode())
                            expect(connection.recv(12) == b"HTTP/1.1 413", "no 413")
                        continue
                    status, _, data = raw(server, method, url, b'{"x":"' + b"x" * 140_000 + b'"}', headers)
                    expect((status, json.loads(data)["code"]) == (413, "body-too-large"), f"{status} {data[:300]}")
    print(f"{lists} lists and {bodies} bodies have an end", flush=True)
    with checks.check("security: who asks too often waits, and is told how long"):
        growth = Growth(server)
        for _ in range(1_000):
            status, fields, data = romeo.ask("POST", f"/v1/dialogs/{things['dialogId'][1]}/events", {"kind": "knock"})
            if status == 429:
                break
        expect(status == 429 and int(fields["Retry-After"]) >= 1 and json.loads(data)["retryAfter"] == int(fields["Retry-After"]),
               f"{status} {data}")
        growth.until("parley_refusals_total", 1, rate="events")


def tokens(checks, server):
    """Refresh tokens are good once, and their second use ends what came of the first."""
    with checks.check("security: a refresh token that is used again ends the login, for thief and owner"):
        owner = User(server, "nurse")
        status, _, data = raw(server, "POST", "/v1/sessions", json.dumps({
            "grant": "refresh", "refreshToken": owner.given["refreshToken"]}).encode(), {"Content-Type": "application/json"})
        expect(status == 201, f"{status} {data}")
        fresh = json.loads(data)
        owner.token = fresh["accessToken"]
        expect(owner.call("GET", "/v1/users/me")[0] == 200, "the new token is worth nothing")
        status, _, data = raw(server, "POST", "/v1/sessions", json.dumps({
            "grant": "refresh", "refreshToken": owner.given["refreshToken"]}).encode(), {"Content-Type": "application/json"})
        expect(status == 401 and json.loads(data)["code"] == "refresh-token-invalid", f"{status} {data}")
        expect(owner.call("GET", "/v1/users/me")[0] == 401, "the login goes on")
        status, _, _ = raw(server, "POST", "/v1/sessions", json.dumps({
            "grant": "refresh", "refreshToken": fresh["refreshToken"]}).encode(), {"Content-Type": "application/json"})
        expect(status == 401, "the thief's token is good")


def bare(server):
    connection = socket.create_connection(("127.0.0.1", server.http), timeout=PATIENCE)
    return connection


def until_end(connection):
    data = b""
    while chunk := connection.recv(65_536):
        data += chunk
    return data


def wire(checks, server, romeo):
    """What is wrong below the operations."""
    with checks.check("security: a frame that is too large closes the WebSocket with 1009, whatever it says of its length"):
        for length in (70_000, 1 << 40):
            with bare(server) as connection:
                connection.sendall(
                    b"GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                    b"Sec-WebSocket-Protocol: parley.v1\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n")
                expect(connection.recv(12) == b"HTTP/1.1 101", "no upgrade")
                connection.sendall(b"\x81\xff" + struct.pack(">Q", length) + b"mask")
                expect(b"\x03\xf1" in until_end(connection), f"{length} bytes: no 1009")
    with checks.check("security: a body that is too large is refused before it is read, and in pieces too"):
        for headers, body in ((b"Content-Length: 99999999\r\n", b""),
                              (b"Transfer-Encoding: chunked\r\n", b"11000\r\n" + b" " * 0x11000 + b"\r\n")):
            with bare(server) as connection:
                connection.sendall(b"PATCH /v1/users/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer "
                                   + romeo.token.encode() + b"\r\n" + headers + b"\r\n" + body)
                expect(connection.recv(12) == b"HTTP/1.1 413", f"{headers}: no 413")
    with checks.check("security: a body has one length: two of them, or a length and pieces, are refused"):
        for headers in (b"Content-Length: 2\r\nContent-Length: 3\r\n", b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
                        b"Content-Length: -2\r\n", b"Transfer-Encoding: chunked, identity\r\n"):
            with bare(server) as connection:
                connection.sendall(b"PATCH /v1/users/me HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + romeo.token.encode()
                                   + b"\r\n" + headers + b"\r\n{}\r\n0\r\n\r\n")
                expect(connection.recv(12) == b"HTTP/1.1 400", f"{headers}: no 400")
    with checks.check("security: a request of HTTP/1.0 comes in one piece: one that has Transfer-Encoding is refused, and nothing behind it is read"):
        for field in (b"", b"Connection: keep-alive\r\n", b"Content-Length: 12\r\n"):
            with bare(server) as connection:
                connection.sendall(b"POST /v1/sessions HTTP/1.0\r\nHost: localhost\r\n" + field + b"Transfer-Encoding: chunked\r\n\r\n"
                                   b"2\r\n{}\r\n0\r\n\r\nGET /v1/info HTTP/1.0\r\n\r\n")
                data = until_end(connection)
                expect(re.findall(rb"HTTP/1\.1 (\d+)", data) == [b"400"], f"{field}: {data[:300]}")
    with checks.check("security: what is no request has one answer, behind those of the requests before it"):
        pieces = b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        info = b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n\r\n"
        for what, sent, statuses in (("no version", b"GET /v1/info\r\n\r\n", [b"400"]), ("a bad size", pieces + b"zz\r\n", [b"400"]),
                                     ("behind another", info + b"GET /v1/info\r\n\r\n", [b"200", b"400"])):
            with bare(server) as connection:
                connection.sendall(sent)
                data = until_end(connection)
                expect(re.findall(rb"HTTP/1\.1 (\d+)", data) == statuses, f"{what}: {data[:600]}")
    with checks.check("security: a connection that ends for what it sent leaves a line in the log"):
        with Server().start() as fresh:  # the lines of a minute are bounded, and the checks before have used them up
            with bare(fresh) as connection:
                connection.sendall(b"GET /v1/info\r\n\r\n")
                until_end(connection)
            fresh.log.until(
                "the line", lambda text: re.search(r"a connection was refused .*code=request-malformed peer=127\.0\.0\.1", text))
    with checks.check("security: fields of proxies that are too long, too many or no fields are refused, and their connection ends"):
        for what, fields in (("a megabyte", b"X-Forwarded-For: " + b"6.6.6.6, " * 120_000 + b"\r\n"),
                             ("a thousand lines", b"X-Forwarded-For: 6.6.6.6\r\n" * 1_000),
                             ("NUL", b"X-Forwarded-For: 6.6.6.6\0\r\n"), ("CR", b"X-Forwarded-For: 6.6.6.6\rX: y\r\n"),
                             ("a folded line", b"X-Forwarded-For: 6.6.6.6\r\n 9.9.9.9\r\n"),
                             ("a space", b"X-Forwarded-For : 6.6.6.6\r\n")):
            with bare(server) as connection:
                # A connection without a request is closed after a minute.
                connection.settimeout(PATIENCE / 2)
                connection.sendall(b"GET /v1/info HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n")
                data = until_end(connection)
                expect(data.startswith(b"HTTP/1.1 400"), f"{what}: {data[:300]}")
    with checks.check("security: a request of HTTP/1.1 has one Host (RFC 9112 3.2)"):
        for hosts in (b"", b"Host: localhost\r\nHost: localhost\r\n", b"Host: a/b\r\n", b"Host:\r\n"):
            with bare(server) as connection:
                connection.sendall(b"GET /v1/info HTTP/1.1\r\n" + hosts + b"Connection: close\r\n\r\n")
                data = until_end(connection)
                expect(data.startswith(b"HTTP/1.1 400") and b"host-malformed" in data, f"{hosts}: {data[:300]}")
        with bare(server) as connection:
            connection.sendall(b"GET /v1/info HTTP/1.0\r\n\r\n")
            expect(b" 200 " in connection.recv(15), "HTTP/1.0 needs none")
    with checks.check("security: other methods of a path are 405 and say which there are (RFC 9110 15.5.6)"):
        for method in ("TRACE", "QUERY", "PROPFIND", "DELETE", "OPTIONS"):
            status, fields, data = raw(server, method, "/v1/info")
            expect((status, fields.get("Allow")) == (405, "GET"), f"{method}: {status} {fields.get('Allow')} {data}")
            expect(b"This path supports GET only." in data, f"{method}: {data}")
        data = raw(server, "PUT", "/v1/dialogs")[2]
        expect(b"This path supports GET and POST only." in data, f"PUT: {data}")
        expect(raw(server, "TRACE", "/v1/nothing")[0] == 404, "TRACE of nothing")


def read_to(connection, end):
    """What is read up to these bytes."""
    data = b""
    while end not in data:
        more = connection.recv(65_536)
        expect(more, f"the end came before {end}: {data[-500:]}")
        data += more
    return data


def injected(checks, server):
    """STARTTLS at the port of XMPP clients, with more behind it: somebody in between could have put it there."""
    login = base64.b64encode(f"\0romeo\0{PASSWORD}".encode()).decode()
    auth = f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{login}</auth>"
    bind = "<iq type='set' id='b1'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>"
    context = ssl.create_default_context(cafile=server.certificate)
    with checks.check("security: what comes in the clear behind <starttls/> counts for nothing (RFC 6120 5.4.3.3)"):
        for what, behind in (("a login", HEADER + auth + HEADER + bind), ("a part of one", HEADER + auth[:-10]), ("no XML", "<<&")):
            with socket.create_connection((server.host, server.xmpp), timeout=PATIENCE) as plain:
                plain.sendall(HEADER.encode())
                read_to(plain, b"</stream:features>")
                plain.sendall(("<starttls xmlns='urn:ietf:params:xml:ns:xmpp-tls'/>" + behind).encode())
                answer = read_to(plain, b"<proceed")
                expect(b"<success" not in answer, f"{what}: {answer}")
                with context.wrap_socket(plain, server_hostname="localhost") as secured:
                    secured.sendall(HEADER.encode())
                    features = read_to(secured, b"</stream:features>")
                    expect(features.count(b"<stream:stream") == 1 and b"PLAIN" in features and b"xmpp-bind" not in features, f"{what}: {features}")
                    secured.sendall(auth.encode())
                    expect(b"<success" in read_to(secured, b">"), f"{what}: no login over TLS")


def run(checks):
    settings = dict(
        domains=OTHER, identity__backends=f"properties={SECRET}", outgoing__networks="127.0.0.0/8")
    with Taker() as taker:
        settings.update(push__webhook__url=taker.url, push__webhook__secret=new_secret())
        with Server(**settings) as server:
            server.start()
            server.add_users("romeo", "juliet", "mercutio", "nurse")
            server.command("user", "add", f"iago@{OTHER}", "--password-stdin", stdin=PASSWORD + "\n")
            server.command("user", "add", f"emilia@{OTHER}", "--password-stdin", stdin=PASSWORD + "\n")
            server.befriend("romeo", "juliet")
            keys = [json.loads(server.command("key", "add", f"of-{domain}", "--scope", "*", "--domain", domain, "--json"))["secret"]
                    for domain in ("localhost", OTHER)]
            romeo, juliet, things = theirs(server)
            things.update(
                url=taker.url, cursor=romeo.make("GET", "/v1/sync")["cursor"],
                page=romeo.make("GET", "/v1/dialogs?limit=1")["nextCursor"])
            stranger, foreigner = User(server, "mercutio"), User(server, "iago", OTHER)
            doors(checks, server, romeo, keys[0])
            strangers(checks, server, romeo, stranger, foreigner, things)
            for caller, friend in ((stranger, "nurse"), (foreigner, "emilia")):
                mine = {"dialogId": caller.make("POST", "/v1/dialogs", {"type": "group", "name": "Own", "memberIds": [friend]})["id"]}
                described(checks, server, caller, mine, things)
                commands(checks, server, caller, things)
            kept(checks, romeo, things)
            admin(checks, server, keys, romeo, things)
            forged(checks, server, romeo, juliet, things)
            tokens(checks, server)
            limits(checks, server, romeo, keys[0], things)
            wire(checks, server, romeo)
            injected(checks, server)
            with checks.check("security: the server goes on and has nothing to complain of"):
                expect(server.process.poll() is None, "the server is gone:\n" + server.tail())
                expect("request failed" not in server.log.text, server.tail())
    attacks(checks)
