"""XMPP behind proxies that pass TCP on and name their clients (the PROXY protocol): headers written by hand, then HAProxy and nginx with the
lines of docs/operations.md. The proxies are programs of this machine, which are trusted.
"""
import json
import os
import pathlib
import re
import shutil
import socket
import ssl
import struct
import subprocess
import tempfile

from lib.harness import BINARY, DOCS, PATIENCE, Failure, Server, expect, free_port, until
from lib.services import Program
from lib.wire import HEADER, XMPP, leave

SIGNATURE = b"\r\n\r\n\0\r\nQUIT\n"
LOCAL = SIGNATURE + b"\x20\0\0\0"
ADMIN = "/usr/sbin"  # which is not in everybody's path
STREAM_MODULE = "/usr/lib/nginx/modules/ngx_stream_module.so"


def binary(client, extensions=b""):
    """A header of version 2 from this client."""
    family, byte, server = (socket.AF_INET6, 0x21, "::1") if ":" in client else (socket.AF_INET, 0x11, "127.0.0.1")
    rest = socket.inet_pton(family, client) + socket.inet_pton(family, server) + struct.pack("!HH", 4711, 5222) + extensions
    return SIGNATURE + bytes([0x21, byte]) + struct.pack("!H", len(rest)) + rest


def line(client):
    """A header of version 1."""
    return f"PROXY TCP4 {client} 127.0.0.1 4711 5222\r\n".encode()


class Proxied(XMPP):
    """A client whose connection begins with what the proxy sends."""

    def __init__(self, name, port, before=b"", source="127.0.0.1", trust=None):
        super().__init__(name, port, f"r{os.urandom(4).hex()}", trust)
        self.before, self.source = before, source

    def dial(self):
        self.socket = socket.create_connection(("127.0.0.1", self.port), PATIENCE, (self.source, 0))
        self.socket.sendall(self.before)
        if self.trust:
            self.socket = ssl.create_default_context(cafile=self.trust).wrap_socket(self.socket, server_hostname="localhost")
        self.open()


def seen(server, *arguments, **more):
    """The address that a session is listed with."""
    client = Proxied("juliet", *arguments, **more)
    client.connect()
    rows = json.loads(server.command("session", "list", "--json"))
    (address,) = [row["address"] for row in rows if row["resource"] == client.resource]
    leave(client)
    return address


def end(server, sent):
    """What the server says to these bytes before it closes the connection."""
    with socket.create_connection(("127.0.0.1", server.xmpp), PATIENCE) as connection:
        connection.sendall(sent)
        said = b""
        try:
            while piece := connection.recv(4_096):
                said += piece
        except ConnectionResetError:
            pass
        return said


def by_hand(checks, server):
    with checks.check("proxies: a client is known by the address that its proxy names, in both versions, over STARTTLS's port and direct TLS"):
        for header, address in [
                (binary("198.51.100.7"), "198.51.100.7"), (line("198.51.100.8"), "198.51.100.8"),
                (binary("2001:db8:0:a0::7", b"\x04\0\x02ab\x05\0\x01c"), "2001:db8:0:a0"), (LOCAL, "127.0.0.1")]:
            for port, trust in [(server.xmpp, None), (server.tls, server.certificate)]:
                found = seen(server, port, before=header, trust=trust)
                expect(found == address, f"{header} at {port}: {found}")
    with checks.check("proxies: a proxy's connection without a complete header is closed before anything is said, and the log says why"):
        for sent, code in [
                (HEADER.encode(), "proxy-header-missing"), (b"\x16\x03\x01\x02\x00\x01", "proxy-header-missing"),
                (b"PROXY TCP4 verona 127.0.0.1 1 2\r\n" + HEADER.encode(), "proxy-header-malformed"),
                (SIGNATURE + b"\x21\x11\xff\xff", "proxy-header-too-long"), (binary("198.51.100.7")[:20], "proxy-header-late")]:
            said = end(server, sent)
            expect(said == b"", f"{sent}: {said}")
            server.log.until(code, lambda text, code=code: any(
                "a connection was refused" in entry and code in entry and "127.0.0.1" in entry for entry in text.splitlines()))
    with checks.check("proxies: the check of the features of a running server goes on"):
        done = subprocess.run(
            [str(BINARY), "check", "--compliance", "--json", "--config", server.configuration], env=server.environment(),
            capture_output=True, text=True, timeout=PATIENCE)
        met = {row["feature"]: row["isMet"] for row in json.loads(done.stdout)}
        expect(met["TLS"] and met["Direct TLS"], f"{met} {done.stderr}")


def block(start):
    """The block of docs/operations.md that begins so."""
    return re.search(rf"```\n({re.escape(start)}.*?)```", (DOCS / "operations.md").read_text(), re.DOTALL)[1]


def adapted(text, *pairs):
    for old, new in pairs:
        expect(text.count(old) == 1, f"{old!r} is not once in the lines of the documents")
        text = text.replace(old, new)
    return text


def listening(port):
    def test():
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0
    return lambda _: until("the proxy listens", test)


def behind(checks, server, name, port, program, source):
    """A client at 127.0.0.x, which reaches the server by the proxy alone."""
    try:
        with checks.check(f"proxies: {name} with the lines of the documents names its clients"):
            for _ in range(3):
                found = seen(server, port, source=source)
                expect(found == source, f"{found}\n{program.log.text[-2000:]}")
    finally:
        program.stop()


def haproxy(checks, server, folder, path):
    port, configuration = free_port(), pathlib.Path(folder, "haproxy.cfg")
    configuration.write_text(adapted(
        block("listen xmpp\n"), ("bind :5222\n", f"bind 127.0.0.1:{port}\n"), ("10.0.0.5:5222", f"127.0.0.1:{server.xmpp}")))
    program = Program(folder, path, "-db", "-f", str(configuration), ready=listening(port))
    behind(checks, server, "HAProxy", port, program, "127.0.0.2")


def nginx(checks, server, folder, path):
    port, configuration = free_port(), pathlib.Path(folder, "nginx.conf")
    configuration.write_text(
        f"load_module {STREAM_MODULE};\ndaemon off;\nworker_processes 1;\npid {folder}/nginx.pid;\nerror_log stderr notice;\nevents {{}}\n"
        + adapted(block("stream {\n"), ("listen 5222;", f"listen 127.0.0.1:{port};"), ("10.0.0.5:5222", f"127.0.0.1:{server.xmpp}")))
    program = Program(folder, path, "-e", "stderr", "-p", folder, "-c", str(configuration), ready=listening(port))
    behind(checks, server, "nginx", port, program, "127.0.0.3")


def run(checks):
    programs = {name: shutil.which(name) or shutil.which(name, path=ADMIN) for name in ("haproxy", "nginx")}
    missing = [name for name, path in programs.items() if not path] + [name for name in [STREAM_MODULE] if not os.path.exists(name)]
    if missing:
        raise Failure(f"{', '.join(missing)} are needed: `make test` installs them")
    with Server(xmpp__proxy_protocol="true", xmpp__plaintext="true") as server, tempfile.TemporaryDirectory(
            prefix="parley-proxies-") as folder:
        server.start()
        server.add_users("juliet")
        by_hand(checks, server)
        haproxy(checks, server, folder, programs["haproxy"])
        nginx(checks, server, folder, programs["nginx"])
