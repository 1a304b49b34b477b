#!/usr/bin/env python3
"""Holds a running server to docs/openapi.yaml and docs/asyncapi.yaml.

Usage: app_contract.py http://127.0.0.1:8080 [--hook=PORT:SECRET] [--invitation=TOKEN] [NAME:PASSWORD NAME:PASSWORD]

Every answer is checked: its status must be one that the document lists for the operation, its body must be what the document
says, and nothing more. Every WebSocket frame, in either direction, is checked the same way. At the end every operation, every
status of success, every command and every event (but those that only a stopping or overtaxed server sends) must have been
seen; those around codes and links where `--hook` says to which port of this machine the server posts them, signed with which
secret; an invitation where `--invitation` gives one; identities where the server has the backend that BACKEND names (`identity.backends`). Two accounts are registered, or
given where registration is off. The server must let one user send 12 MB at once (`sending.bytes_per_second`: 2 MB or more). Needs
websockets, jsonschema, PyYAML.
"""
import contextlib
import http.client
import json
import re
import socket
import sys
import threading
import urllib.parse
import urllib.request

import websockets.exceptions

from lib.contract import INSECURE, Client, Socket, documents
from lib.contract_accounts import (
    NEEDS_HOOK, accounts, contacts, devices, identities, invited, inviting, leaving, oneself, profiles, sessions, with_hook)
from lib.contract_dialogs import blocks, calls, conversation, groups, messages, drafts_and_scheduled_messages
from lib.harness import PATIENCE, Failure, expect

SIGNALS = {"presence.updated", "typing.updated", "unread.updated"}  # may come at any time


def bad_input(base, juliet):
    anybody = Client(base)
    for data, code in [(b"{", "json-malformed"), (b"[]", "input-malformed"), (b'{"a":1,"a":2}', "json-malformed"),
                       (b"\xff", "json-malformed"), (b"", "input-malformed"), (b'{"grant":"x"}', "grant-unknown"),
                       (b'{"grant":"password"}', "input-malformed"), (b'{"grant":1}', "input-malformed")]:
        anybody.call("POST", "/v1/sessions", status=400, code=code, data=data)
    anybody.call("POST", "/v1/sessions", {"grant": "password", "username": juliet.name, "password": "wrong"}, 401, "wrong-credentials")
    anybody.call("POST", "/v1/sessions", {"grant": "password", "username": "nobody", "password": "wrong"}, 401, "wrong-credentials")
    anybody.call("POST", "/v1/sessions", {"grant": "refresh", "refreshToken": "wrong"}, 401, "refresh-token-invalid")
    anybody.call("POST", "/v1/sessions", data=b" " * 70_000, status=413, code="body-too-large")
    refused = juliet.call("GET", "/v1/dialogs?limit=1&limit=2", status=400, code="input-malformed")
    expect(refused["field"] == "limit", f"{refused}")
    anybody.call("GET", "/v1/users/me", status=401, code="token-missing")
    Client(base, "wrong").call("GET", "/v1/dialogs", status=401, code="token-invalid")
    for method, path, status in [("GET", "/nowhere", 404), ("GET", "/v1/nowhere", 404), ("DELETE", "/v1/info", 405),
                                 ("PATCH", "/v1/dialogs", 405), ("GET", "/v1/ws", 426)]:
        got, fields, body = anybody.raw(method, path)
        expect(got == status, f"{method} {path} answered {got}, not {status}")
        expect(fields.get_content_type() == "application/problem+json", f"{method} {path} is {fields.get_content_type()}")
        documents.validate(json.loads(body), "https://docs/openapi.yaml#/components/schemas/Problem", f"{method} {path}")
    # RFC 9110 9.3.2: as GET, and nothing behind it. Python's client would not read what stands there, so the bytes are looked at.
    address = urllib.parse.urlsplit(base)
    for path, status in [("/v1/info", 200), ("/v1/nowhere", 404), ("/v1/users/me", 401)]:
        with contextlib.closing(socket.create_connection((address.hostname, address.port), timeout=20)) as plain:
            if address.scheme == "https":
                plain = INSECURE.wrap_socket(plain)
            plain.sendall(f"HEAD {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            head, _, body = b"".join(iter(lambda: plain.recv(65536), b"")).partition(b"\r\n\r\n")
        expect(head.split()[1] == str(status).encode() and not body, f"HEAD {path} is answered {head} {body}")
    got, _, body = anybody.raw("GET", "/v1/ws", headers={
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
    expect(got == 400 and json.loads(body)["code"] == "subprotocol-missing", f"an upgrade without subprotocol answered {got} {body}")
    # As a client with a pool of connections asks: on one that requests have used.
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    options = {"context": INSECURE} if address.scheme == "https" else {}
    with contextlib.closing(kind(address.hostname, address.port, timeout=20, **options)) as pooled:
        pooled.request("GET", "/v1/info")
        pooled.getresponse().read()
        pooled.request("GET", "/v1/ws", headers={
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "parley.v1"})
        answer = pooled.getresponse()
        problem = json.loads(answer.read())
    expect((answer.status, problem["code"]) == (400, "upgrade-late"), f"a late upgrade answered {answer.status} {problem}")
    juliet.call("GET", "/v1/users?limit=0", status=400, code="limit-out-of-range")
    juliet.call("GET", "/v1/users?limit=x", status=400, code="input-malformed")
    juliet.call("GET", "/v1/dialogs?cursor=x", status=400, code="cursor-unknown")
    juliet.call("GET", "/v1/dialogs/none", status=404, code="dialog-unknown")
    juliet.call("GET", "/v1/users/%zz", status=400, code="path-malformed")
    juliet.call("GET", "/v1/users/nobody-at-all", status=404, code="user-unknown")
    juliet.call("GET", "/v1/sync?cursor=x&wait=31", status=400, code="wait-out-of-range")


def rates(base, client):
    """Every rate is told before it refuses; the tightest of those that a request draws on."""
    def told(fields):
        limit = re.fullmatch(r'"([a-z-]+)";r=(\d+)(?:;t=(\d+))?', fields["RateLimit"])
        policy = re.fullmatch(r'"([a-z-]+)";q=(\d+);w=(\d+)', fields["RateLimit-Policy"])
        expect(limit and policy and limit[1] == policy[1], f"{fields['RateLimit']} and {fields['RateLimit-Policy']}")
        return limit[1], int(limit[2]), int(limit[3] or 0), int(policy[2])

    _, fields, _ = client.raw("GET", "/v1/users/me")
    name, left, wait, quota = told(fields)
    expect(name == "requests" and 0 < left < quota == 1_000 and wait >= 1, f"a request: {fields['RateLimit']}")
    _, fields, _ = Client(base).raw("GET", "/v1/info")
    expect(told(fields)[0] == "address", f"who is nobody: {fields['RateLimit']}")
    _, fields, _ = Client(base, "made-up").raw("GET", "/v1/users/me")
    expect(told(fields)[0] == "address", f"a token that is none: {fields['RateLimit']}")
    wrong = json.dumps({"grant": "password", "username": "nobody-at-all", "password": "wrong"}).encode()
    _, fields, _ = Client(base).raw("POST", "/v1/sessions", wrong)
    # What is left of logins would tell who has logged in from here, and which names are one user's.
    expect(told(fields)[0] == "address", f"a wrong password: {fields['RateLimit']}")
    # One comes back each second: so many are refused on any machine.
    told_before = None
    for _ in range(200):
        status, fields, body = client.raw("GET", "/v1/users?query=rates")
        name, left, wait, quota = told(fields)
        expect(name == "searches" and quota == 20, f"a search: {fields['RateLimit']}")
        if status == 429:
            break
        told_before = left
    expect(status == 429 and told_before == 0 and left == 0, f"{status} after {told_before} left")
    expect(int(fields["Retry-After"]) >= wait >= 1, f"{fields['Retry-After']} and {wait}")
    client.call("GET", "/v1/users?query=rates", status=429, code="requests-too-fast")
    # A page of a search is one, wherever it begins; searches among dialogs have a pace of their own.
    for path in ("/v1/users?query=rates&cursor=a", "/v1/dialogs?scope=public&query=rates&cursor=a"):
        for _ in range(200):
            status, fields, body = client.raw("GET", path)
            if status == 429:
                break
        expect(status == 429 and b"requests-too-fast" in body, f"{path}: {status}")


def following(base, juliet, romeo, js, dialog):
    """Replay, sync and resync tell the same as what came live."""
    path = f"/v1/dialogs/{dialog['id']}/messages"
    juliet.call("GET", "/v1/sync")
    start = juliet.call("GET", "/v1/sync")["cursor"]
    js.settled()
    for number in range(150):
        romeo.call("POST", path, {"clientId": f"f{number}", "content": {"type": "text", "text": f"line {number}"}}, 201)
    live = []
    while not live or live[-1]["data"]["message"].get("clientId") != "f149":
        live.append(js.event("message.created"))
    expect([e["data"]["message"]["clientId"] for e in live] == [f"f{n}" for n in range(150)], "live events out of order")

    synced, cursor = [], start
    while True:
        page = juliet.call("GET", f"/v1/sync?cursor={cursor}&limit=40")
        expect(page["events"] == [] or page["events"][0]["prevCursor"] == cursor, "sync has a gap")
        synced += page["events"]
        cursor = page["cursor"]
        if not page["events"]:
            break
    messages = [e["data"] for e in synced if e["type"] == "message.created"]
    expect(messages == [e["data"] for e in live], "sync and live differ")

    again = Socket(juliet, cursor=start)
    replayed = [e["data"] for e in again.missed if e["type"] == "message.created"]
    expect(replayed == messages, "replay and live differ")
    js.closed(4409)  # the same device
    again.command("ack", {"cursor": again.held})
    again.command("ack", {"cursor": "x"}, "cursor-unknown")

    # A reader that falls behind is told everything, in order, when it reads on: more than any buffer between holds.
    again.close()
    again = Socket(juliet, cursor=again.held, buffer=32_768)
    for number in range(300):
        big = {"clientId": f"g{number}", "content": {"type": "text", "text": "\U0001f339" * 10_000}}
        romeo.call("POST", path, data=json.dumps(big, ensure_ascii=False).encode(), status=201)
    late = [again.event("message.created")["data"]["message"]["clientId"] for _ in range(300)]
    expect(late == [f"g{n}" for n in range(300)], f"a slow reader was told {late}")
    again.settled()

    # Long poll: answered by what comes, not by the clock.
    end = cursor
    while (page := juliet.call("GET", f"/v1/sync?cursor={end}&limit=200"))["events"]:
        end = page["cursor"]
    answers = []
    waiter = threading.Thread(target=lambda: answers.append(juliet.call("GET", f"/v1/sync?cursor={end}&wait=30")))
    waiter.start()
    romeo.call("POST", path, {"clientId": "wake", "content": {"type": "text", "text": "wake"}}, 201)
    waiter.join()
    expect([e["type"] for e in answers[0]["events"]] == ["message.created"], f"the long poll answered {answers}")
    expect(juliet.call("GET", f"/v1/sync?cursor={answers[0]['cursor']}&wait=1")["events"] == [], "an empty poll has events")

    # A long poll is over when its client is: its session would be online for nobody. The client's half alone is closed here,
    # so that the answer shows it; over TLS the end does.
    address = urllib.parse.urlsplit(base)
    end = answers[0]["cursor"]
    # Shorter than the 30 s for which the poll may wait.
    with contextlib.closing(socket.create_connection((address.hostname, address.port), timeout=15)) as plain:
        if address.scheme == "https":
            plain = INSECURE.wrap_socket(plain)
        plain.sendall((f"GET /v1/sync?cursor={end}&wait=30 HTTP/1.1\r\nHost: x\r\n"
                       f"Authorization: Bearer {juliet.token}\r\n\r\n").encode())
        plain.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: plain.recv(65536), b""))
    expect(address.scheme == "https" or answer.startswith(b"HTTP/1.1 200 "), f"the poll of a client that is gone: {answer}")

    unknown = "0" * 32
    resynced = juliet.call("GET", f"/v1/sync?cursor={unknown}")
    expect([e["type"] for e in resynced["events"]] == ["resync"], f"a foreign cursor answered {resynced}")
    lost = Socket(juliet, cursor=unknown)
    expect([e["type"] for e in lost.missed if e["type"] not in SIGNALS] == ["resync"], f"a foreign cursor was answered {lost.missed}")
    again.closed(4409)
    return lost


def bad_sockets(base, juliet):
    ws = Socket(juliet, hello=False)
    ws.command("ping", code="hello-first")
    ws.closed(4401)
    ws = Socket(juliet, hello=False)
    ws.command("hello", {"token": "wrong"}, "token-invalid")
    ws.closed(4401)
    ws = Socket(juliet, hello=False)
    for _ in range(17):
        ws.socket.send('{"id":"u","type":"no.such"}')
    ws.closed(4401)
    for bad in ["{", "[]", '{"type":"ping"}', b"\x00"]:
        ws = Socket(juliet, hello=False)
        ws.socket.send(bad)
        ws.closed(4400)
    ws = Socket(juliet, hello=False)
    ws.socket.send('{"id":"1","type":"ping","data":"' + "x" * 70_000 + '"}')
    ws.closed(1009)
    ws = Socket(juliet, hello=False)
    with contextlib.suppress(websockets.exceptions.ConnectionClosed):  # the server need not wait for the end
        ws.socket.send(iter(['{"id":"1","type":"ping","data":"', "x" * 40_000, "x" * 40_000, '"}']))
    ws.closed(1009)
    ws = Socket(juliet)
    ws.socket.send('{"id":"u","type":"no.such"}')
    expect(ws.reply("u")["error"]["code"] == "command-unknown", "an unknown command was not refused")
    ws.command("hello", {"token": juliet.token}, "hello-twice")
    ws.socket.send(iter(['{"id":"frag",', '"type":', '"ping"}']))
    expect(ws.reply("frag") == {"re": "frag", "ok": True}, "a fragmented message was not understood")
    ws.socket.ping().wait(PATIENCE)
    return ws


def streaming(juliet):
    """Server-sent events, in place of the device's WebSocket."""
    request = urllib.request.Request(juliet.base + "/v1/events", headers={"Authorization": "Bearer " + juliet.token})
    with urllib.request.urlopen(request, timeout=PATIENCE, context=INSECURE) as answer:
        expect(answer.headers.get_content_type() == "text/event-stream", f"{answer.headers}")
        line = next(line for line in answer if line.startswith(b"data: "))
        documents.frame(json.loads(line[6:]))
        expect(json.loads(line[6:])["type"] == "ready", f"the stream begins with {line}")
    documents.seen_statuses.add(("events", 200))


def main():
    base, given = sys.argv[1].rstrip("/"), [argument for argument in sys.argv[2:] if not argument.startswith("--")]
    hook = next((argument[7:] for argument in sys.argv[2:] if argument.startswith("--hook=")), None)
    invitation = next((argument[13:] for argument in sys.argv[2:] if argument.startswith("--invitation=")), None)
    guest = invited(base, invitation) if invitation else None
    pair, info, registered = accounts(base, given)
    juliet, romeo = Client(base), Client(base)
    juliet.log_in(*pair[0])
    romeo.log_in(*pair[1])
    bad_input(base, juliet)
    sessions(base, *pair[0])
    vouched = identities(base, info, juliet)
    devices(juliet)
    inviting(base, info, juliet, registered, guest)
    if hook:
        with_hook(base, hook)
    js, rs = Socket(juliet), Socket(romeo)
    profiles(juliet, romeo)
    oneself(juliet, romeo)
    contacts(juliet, romeo, js, rs)
    dialog, last = conversation(juliet, romeo, js, rs)
    drafts_and_scheduled_messages(juliet, romeo, js, rs, dialog)
    calls(juliet, romeo, js, rs, dialog)
    groups(juliet, romeo, js, rs)
    blocks(juliet, romeo, js, rs, dialog)
    js = following(base, juliet, romeo, js, dialog)
    messages(juliet, romeo, js, rs)
    js.close()
    streaming(juliet)
    js = bad_sockets(base, juliet)
    romeo.call("DELETE", f"/v1/contacts/{juliet.name}", status=204)
    removed = rs.event("contact.updated", lambda data: data["removed"])
    expect(removed["data"]["contact"]["userId"] == juliet.name, f"removed {removed}")
    juliet.call("DELETE", f"/v1/sessions/{juliet.session['deviceId']}", status=204)
    js.closed(4401)
    rs.close()
    rates(base, romeo)
    leaving(base, *pair[1])

    missing = []
    for path, item in documents.openapi["paths"].items():
        for method, operation in item.items():
            for status in operation["responses"]:
                if int(status) < 300 and (operation["operationId"], int(status)) not in documents.seen_statuses:
                    name = operation["operationId"]
                    unreachable = (set() if hook else NEEDS_HOOK) | (set() if invitation else {"invitation.get"})
                    unreachable |= set() if "invitations" in info["features"] and (guest or not registered) else {"invitation.create"}
                    if name not in unreachable | (set() if registered else {"user.register"}) and (
                            vouched or not name.startswith(("identity.", "nonce."))):
                        missing.append(f"{operation['operationId']} {status}")
    # A stopping server says this, and one whose operator changes contact groups; other tests make them.
    rare = {"goaway", "contacts.changed"}
    missing += sorted(set(documents.asyncapi["components"]["messages"]) - documents.seen_frames - rare)
    expect(not missing, f"never seen: {missing}")
    refusals = sorted(f"{name} {status}" for name, status in documents.seen_statuses if status >= 400)
    print(f"app contract: {len(documents.seen_statuses)} answers ({len(refusals)} refusals) and {len(documents.seen_frames)} frames of both documents seen, all as described")


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        print(f"app contract: {str(failure)[:1_000]}", file=sys.stderr)
        sys.exit(1)
