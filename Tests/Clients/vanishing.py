"""Apps whose connection ends without a word: a process that is killed (the system sends FIN), a reset, an end of TLS without
`close_notify`, over the WebSocket and over server-sent events. Others are told five seconds later, as the documentation promises,
and the server's next ping does not matter. By bare sockets, since libraries close properly.
"""
import base64
import json
import os
import socket
import ssl
import struct
import time

from lib.apps import App
from lib.harness import PATIENCE, Server, expect, free_port

# Five seconds, and what a busy machine adds. The next ping comes after thirty.
MOST = 15


def connection(port, context=None):
    raw = socket.create_connection(("127.0.0.1", port), PATIENCE)
    return raw, context.wrap_socket(raw, server_hostname="localhost") if context else raw


def head(line, token=None):
    fields = [line, "Host: localhost"]
    if token:
        fields.append(f"Authorization: Bearer {token}")
    else:
        fields += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Protocol: parley.v1",
                   "Sec-WebSocket-Key: " + base64.b64encode(os.urandom(16)).decode()]
    return ("\r\n".join(fields) + "\r\n\r\n").encode()


def frame(text):
    """A masked text frame (RFC 6455 5.2), whose mask changes nothing."""
    data = text.encode()
    expect(len(data) < 65_536, "a longer frame than this client makes")
    return bytes([0x81]) + (bytes([0x80 | len(data)]) if len(data) < 126 else b"\xfe" + struct.pack(">H", len(data))) + bytes(4) + data


def read_until(line, text):
    got = b""
    while text not in got:
        part = line.recv(65_536)
        expect(part, f"the end came before {text}: {got[-500:]}")
        got += part


def by_web_socket(app, port, context=None):
    raw, line = connection(port, context)
    line.sendall(head("GET /v1/ws HTTP/1.1"))
    read_until(line, b"\r\n\r\n")
    line.sendall(frame(json.dumps({"id": "1", "type": "hello", "data": {"token": app.token}})))
    read_until(line, b"caught_up")
    return raw, line


def by_events(app, port, context=None):
    raw, line = connection(port, context)
    line.sendall(head("GET /v1/events HTTP/1.1", app.token))
    read_until(line, b"caught_up")
    return raw, line


def killed(raw, line):
    # The descriptor alone: `SSLSocket.close` would not say `close_notify` either, and a process that dies says nothing.
    os.close(line.detach() if line is not raw else raw.detach())


def reset(raw, line):
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    killed(raw, line)


def half_closed(raw, line):
    socket.socket.shutdown(line, socket.SHUT_WR)


def run(checks):
    https = free_port()
    ends = [
        ("a WebSocket: killed", by_web_socket, killed), ("a WebSocket: reset", by_web_socket, reset),
        ("a WebSocket: half closed", by_web_socket, half_closed), ("server-sent events: killed", by_events, killed),
        ("server-sent events: reset", by_events, reset),
    ]
    with Server(https__host="127.0.0.1", https__port=https) as server:
        server.start()
        context = ssl.create_default_context(cafile=server.certificate)
        # Each way has its own user, and all of them end at one time.
        cases = {f"user{number}": (way, connect, end, security) for number, (way, connect, end, security)
                 in enumerate((*case, security) for case in ends for security in (None, context))}
        server.add_users("romeo", *cases)
        for user in cases:
            server.befriend("romeo", user)
        watcher = App(server, "romeo").connect()
        lines, began, took = {}, {}, {}
        for user, (_, connect, _, security) in cases.items():
            lines[user] = connect(App(server, user), https if security else server.http, security)
            watcher.event("presence.updated", lambda d: d["presence"]["userId"] == user and d["presence"]["online"])
        for user, (_, _, end, _) in cases.items():
            began[user] = time.monotonic()
            end(*lines[user])
        with checks.check("who has gone without a word is told to be offline, each of them"):
            while len(took) < len(cases):
                user = watcher.event("presence.updated", lambda d: not d["presence"]["online"])["data"]["presence"]["userId"]
                expect(user in began and user not in took, f"{user} is offline once more, or never went")
                took[user] = time.monotonic() - began[user]
        for user, (way, _, _, security) in cases.items():
            with checks.check(f"{way}{', over TLS without close_notify' if security else ''}: offline after five seconds"):
                expect(user in took and 4.5 < took[user] < MOST, f"it took {took.get(user)} s")
        for _, line in lines.values():
            line.close()
        watcher.close()
