"""Inputs that nobody has thought of: the stanzas of `Tests/Plays`, requests and commands, changed by chance, to XMPP before and behind a login, to the
HTTP port and to the WebSocket of the app protocol. The server neither ends nor fails at any of them. Each run has new ones, by a seed that it prints;
`mutations.py --count N --seed N` sends more of them, or the same again.
"""
import argparse
import errno
import json
import random
import re
import socket
import sys
import xml.etree.ElementTree as ElementTree

import websockets.exceptions
import websockets.sync.client

from lib.apps import App
from lib.harness import PATIENCE, ROOT, Checks, Server, expect
from lib.wire import HEADER, Client, Gone

COUNT = 1_200
TEXTS = [
    "", " ", "0", "-1", "1", "255", "256", "65536", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "18446744073709551616", "1e400", "NaN", "0x10", "٣", "true", "x" * 5_000, "é" * 1_000, "\u202e", "\u0301" * 200, "👩‍👩‍👧‍👦",
    "\ufffd", "\U0010ffff", "@", "/", "a@b/c", "juliet@localhost", "juliet@localhost/wire", "romeo@localhost", "conference.localhost", "x@conference.localhost/y", "pubsub.localhost",
    "2026-02-30T25:61:61Z", "-0001-01-01T00:00:00Z", "9999-12-31T23:59:60.999999999+14:00", "1970-01-01T00:00:00Z", "P1Y", "====", "AAAA", "..", "%00"]
NUMBERS = [0, -1, 1, 255, 2**31, 2**32, 2**53, 2**63 - 1, 2**63, 2**64, -2**63, 0.5, 1e308, -0.0]
ElementTree.register_namespace("", "jabber:client")
# These would end the account that sends them, or give it another password.
ENDING = ("jabber:iq:register", "in-band-registration", "#change-password")


def seeds():
    """The stanzas that clients send in plays."""
    found = []
    for path in sorted((ROOT / "Tests" / "Plays").rglob("*.play")):
        for text in re.findall(r"^\w+ sends:((?:.*\n)(?:  (?!->).*\n)*)", path.read_text(), re.M):
            try:
                parsed = ElementTree.fromstring(f"<stanzas xmlns='jabber:client' xmlns:play='urn:play'>{text}</stanzas>")
            except ElementTree.ParseError:
                continue
            for stanza in parsed:
                stanza.tail = None
                if stanza.tag.startswith("{jabber:client}") and not any(name in text for name in ENDING):
                    found.append(ElementTree.tostring(stanza, encoding="unicode"))
    return found


def changed(chance, seed, others):
    """A stanza with one to four changes."""
    stanza = ElementTree.fromstring(seed)
    for _ in range(chance.randint(1, 4)):
        elements = list(stanza.iter())
        element = chance.choice(elements)
        kind = chance.randrange(8)
        if kind == 0 and element.attrib:
            element.set(chance.choice(list(element.attrib)), chance.choice(TEXTS))
        elif kind == 1:
            element.text = chance.choice(TEXTS)
        elif kind == 2 and len(element):
            element.remove(chance.choice(list(element)))
        elif kind == 3 and len(element):
            child = chance.choice(list(element))
            for _ in range(chance.choice((1, 2, 40))):
                element.append(child)
        elif kind == 4 and element is not stanza:
            element.tag = chance.choice(elements).tag
        elif kind == 5:
            other = ElementTree.fromstring(chance.choice(others))
            element.extend(list(other))
        elif kind == 6:
            element.set(chance.choice(("node", "id", "type", "to", "max", "stamp", "var", "{http://www.w3.org/XML/1998/namespace}lang")), chance.choice(TEXTS))
        elif kind == 7 and element.attrib:
            del element.attrib[chance.choice(list(element.attrib))]
    return ElementTree.tostring(stanza, encoding="unicode")


def stanzas(checks, server, chance, count):
    with checks.check(f"mutations: {count} stanzas behind the login"):
        known, client, streams = seeds(), None, 0
        expect(len(known) > 1_000, f"{len(known)} seeds")
        for _ in range(count // 10):
            if client is None:
                client, streams = Client(server, "romeo", "wire"), streams + 1
                client.send("<presence/>")
            sent = [changed(chance, chance.choice(known), known) for _ in range(10)]
            try:
                for text in sent:
                    client.send(text)
                # An id that no seed has.
                client.ask("<ping xmlns='urn:xmpp:ping'/>", "get", "localhost")
                client.kept = []
            except (Gone, ElementTree.ParseError):
                expect(server.process.poll() is None, f"the server is gone behind one of {sent}")
                client.close()
                client = None
        expect(streams < count // 10 * 3 // 4, f"{streams} streams: most of what was sent has ended one")
        if client:
            client.close()


def cut(chance, data):
    """Bytes with one to four changes."""
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at, length = chance.randrange(len(data) + 1), chance.choice((1, 1, 2, 8, 64))
        kind = chance.randrange(4)
        if kind == 0:
            data[at:at + length] = b""
        elif kind == 1:
            data[at:at] = chance.randbytes(length)
        elif kind == 2:
            data[at:at + length] = chance.choice(TEXTS).encode()
        else:
            data[at:at] = data[at:at + length] * chance.choice((1, 3, 100))
    return bytes(data)


def exchange(port, data):
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        answer = b""
        try:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            while more := connection.recv(65_536):
                answer += more
        except OSError as error:
            # The server has ended the connection at what came before.
            if error.errno not in (errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN):
                raise
    return answer


def octets(checks, server, chance, count, token):
    auth = "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='SCRAM-SHA-256'>biwsbj1yb21lbyxyPXJPcHJOR2Z3RWJlUldnYk5Fa3FP</auth>"
    with checks.check(f"mutations: {count} streams before the login"):
        for _ in range(count):
            data = cut(chance, (HEADER + auth + "</stream:stream>").encode())
            exchange(server.xmpp, data)
            expect(server.process.poll() is None, f"the server is gone behind {data}")
    body = json.dumps({"type": "group", "name": "Verona", "memberIds": ["juliet"], "metadata": {"a": [1, 2.5, None, True]}})
    requests = [
        f"POST /v1/dialogs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}",
        f"GET /v1/messages?query=night&limit=10 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: close\r\n\r\n",
        "GET /uploads/0123456789abcdef0123456789abcdef/a.bin HTTP/1.1\r\nHost: localhost\r\nRange: bytes=0-10,20-30\r\nConnection: close\r\n\r\n",
        "GET /v1/ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Protocol: parley.v1\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n\x01\x02\x03\x04",
        "POST /http-bind HTTP/1.1\r\nHost: localhost\r\nContent-Length: 150\r\nConnection: close\r\n\r\n"
        "<body xmlns='http://jabber.org/protocol/httpbind' rid='1000' to='localhost' wait='1' hold='1' ver='1.6' xmlns:xmpp='urn:xmpp:xbosh' "
        "xmpp:version='1.0'/>",
    ]
    with checks.check(f"mutations: {count} requests"):
        for _ in range(count):
            data = cut(chance, chance.choice(requests).encode())
            answer = exchange(server.http, data)
            expect(server.process.poll() is None, f"the server is gone behind {data}")
            failures = [status for status in re.findall(rb"HTTP/1\.1 (5\d\d)", answer) if status not in (b"501", b"503", b"505")]
            expect(not failures, f"{failures} to {data}")


def varied(chance, value):
    """A value of JSON in which about every fourth part is another one."""
    if chance.random() < 0.25:
        return chance.choice([None, True, [], {}, [[]] * 30, chance.choice(TEXTS), chance.choice(NUMBERS)])
    if isinstance(value, dict):
        return {(chance.choice(TEXTS) if chance.random() < 0.05 else key): varied(chance, each) for key, each in value.items()}
    return [varied(chance, each) for each in value] if isinstance(value, list) else value


def commands(checks, server, chance, count):
    app = App(server, "juliet")
    dialog = app.dialog("romeo")
    message = app.say(dialog, "Ay me!")["id"]
    asked = [
        {"id": "1", "type": "message.send", "data": {
            "dialogId": dialog, "clientId": "c", "replyTo": message, "content": {
                "type": "text", "text": "Good night", "mentions": [{"userId": "romeo", "start": 0, "length": 4}]}}},
        {"id": "2", "type": "message.send", "data": {
            "dialogId": dialog, "clientId": "c2", "content": {"type": "location", "latitude": 45.4, "longitude": 10.9}}},
        {"id": "3", "type": "marker.set", "data": {"dialogId": dialog, "read": message}},
        {"id": "4", "type": "typing", "data": {"dialogId": dialog, "on": True}},
        {"id": "5", "type": "custom", "data": {"dialogId": dialog, "kind": "knock", "data": {"a": [1]}}},
        {"id": "6", "type": "call.signal", "data": {"callId": "1", "action": "ringing", "data": {"sdp": "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\n"}}},
        {"id": "7", "type": "presence", "data": {"availability": "online", "activeDialogId": dialog}},
        {"id": "8", "type": "ack", "data": {"cursor": "x"}},
    ]
    with checks.check(f"mutations: {count} commands"):
        socket, sockets = None, 0
        for _ in range(count):
            try:
                if socket is None:
                    socket, sockets = websockets.sync.client.connect(
                        server.base.replace("http", "ws", 1) + "/v1/ws", subprotocols=["parley.v1"], compression=None, open_timeout=PATIENCE), sockets + 1
                    socket.send(json.dumps({"id": "hello", "type": "hello", "data": {"token": app.token}}))
                text = json.dumps({key: varied(chance, value) for key, value in chance.choice(asked).items()})
                socket.send(text if chance.random() < 0.9 else cut(chance, text.encode()).decode(errors="replace"))
                socket.send(json.dumps({"id": "ping", "type": "ping", "data": {}}))
                while json.loads(socket.recv(timeout=PATIENCE)).get("re") != "ping":
                    pass
            except (websockets.exceptions.ConnectionClosed, OSError):
                expect(server.process.poll() is None, f"the server is gone behind {text}")
                socket = None
        expect(sockets < count * 3 // 4, f"{sockets} sockets: most of what was sent has closed one")
        if socket:
            socket.close()


def run(checks, count=COUNT, seed=None):
    seed = random.randrange(1 << 32) if seed is None else seed
    print(f"seed {seed}", flush=True)
    chance = random.Random(seed)
    with Server(sending__unlimited="localhost", xmpp__plaintext="true") as server:
        server.start()
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        stanzas(checks, server, chance, count)
        octets(checks, server, chance, count // 6, App(server, "romeo").token)
        commands(checks, server, chance, count // 6)
        with checks.check(f"mutations: the server goes on and has failed at none (seed {seed})"):
            expect(server.process.poll() is None, "the server is gone:\n" + server.tail())
            expect("request failed" not in server.log.text, server.tail())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    checks = Checks()
    run(checks, options.count, options.seed)
    sys.exit(bool(checks.failed))
