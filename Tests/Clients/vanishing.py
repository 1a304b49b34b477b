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
    with Server(https__host="127.0.0.1", https__port=https) as server:
        server.start()
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        context = ssl.create_default_context(cafile=server.certificate)
        watcher = App(server, "romeo").connect()
        juliet = App(server, "juliet")
        for way, connect, end in [
            ("a WebSocket: killed", by_web_socket, killed), ("a WebSocket: reset", by_web_socket, reset),
            ("a WebSocket: half closed", by_web_socket, half_closed), ("server-sent events: killed", by_events, killed),
            ("server-sent events: reset", by_events, reset),
        ]:
            for port, security in [(server.http, None), (https, context)]:
                with checks.check(f"{way}{', over TLS without close_notify' if security else ''}: offline after five seconds"):
                    raw, line = connect(juliet, port, security)
                    watcher.event("presence.updated", lambda d: d["presence"]["userId"] == "juliet" and d["presence"]["online"])
                    began = time.monotonic()
                    end(raw, line)
                    watcher.event("presence.updated", lambda d: d["presence"]["userId"] == "juliet" and not d["presence"]["online"])
                    took = time.monotonic() - began
                    expect(4.5 < took < MOST, f"it took {took:.1f} s")
                    line.close()
        watcher.close()
