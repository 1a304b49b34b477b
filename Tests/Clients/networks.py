"""One network cannot keep others out: 127.0.0.2 opens connections that say nothing, as many as the limit of open files lets it have and
as many again, at the ports of XMPP and HTTP; others log in, and who is logged in stays. Then no descriptor is left at all. Programs of the
server's machine have no pace of handshakes, so those come from machines of a small internet, which needs root.
"""
import base64
import contextlib
import itertools
import json
import os
import resource
import socket
import ssl
import struct
import subprocess
import threading

import websockets.sync.client

from lib.apps import App
from lib.harness import BINARY, PASSWORD, PATIENCE, Server, expect, until
from lib.internet import Internet
from lib.scrape import Growth, Scrape
from lib.wire import HEADER, XMPP

# The limit of open files of the server, and what it makes of it (docs/operations.md, "Size of the machine").
FILES, ALL, WITHOUT_LOGIN = 320, 240, 80
LIMITED = ["prlimit", f"--nofile={FILES}:{FILES}"]
ATTACKER = "127.0.0.2"
WAITS = "a connection waits, since it cannot be accepted"
# `HTTPLimits.handshakesAtOnce`, all of which a server with so many files has places for; and how many of them log in here.
PEOPLE, LOGINS = 2_000, 25
MANY_FILES = ["prlimit", "--nofile=16384:16384"]
DELAYED = "parley_tls_handshakes_delayed_total"
CLEAR_DELAYED = "parley_xmpp_connections_delayed_total"
HTTP_DELAYED = "parley_http_connections_delayed_total"


def dial(port):
    return socket.create_connection(("127.0.0.1", port), PATIENCE, (ATTACKER, 0))


def is_open(connection):
    connection.setblocking(False)
    try:
        return connection.recv(1) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


class Attack:
    """Connections that say nothing."""

    def __init__(self, port, count):
        self.connections = [dial(port) for _ in range(count)]

    @property
    def held(self):
        """The number of those that the server has not closed."""
        return sum(is_open(connection) for connection in self.connections)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()


class Neighbour(App):
    """An app in the attacker's network."""

    def connect(self, cursor=None):
        self.socket = websockets.sync.client.connect(
            self.server.base.replace("http", "ws", 1) + "/v1/ws", sock=dial(self.server.http), subprotocols=["parley.v1"],
            open_timeout=PATIENCE, compression=None)
        threading.Thread(target=self._read, args=(self.socket,), daemon=True).start()
        expect(self.command("hello", {"token": self.token}).get("ok"), "hello was refused")
        return self


def run(checks):
    with Server(wrapper=LIMITED, xmpp__plaintext="true") as server:
        server.start()
        server.add_users("romeo", "juliet")
        said(checks, server)
        together(checks, server)
        neighbour = Neighbour(server, "romeo").connect()
        streams(checks, server)
        requests(checks, server, neighbour)
        both(checks, server, neighbour)
        without_descriptors(checks, server, neighbour)
    with Internet("verona", "school", "padua") as internet, Elsewhere(internet.machines["verona"]) as server:
        server.start()
        server.add_users("juliet")
        with descriptors(2 * PEOPLE):
            restart(checks, server, internet.machines["school"])
            flood(checks, server, internet.machines["school"], internet.machines["padua"])
        # The school has no handshakes left that begin at once.
        handshakes(checks, server, internet.machines["school"], internet.machines["padua"])
        clear(checks, server, internet.machines["school"], internet.machines["padua"])
        resets(checks, server, internet.machines["school"])


def said(checks, server):
    with checks.check("networks: the check and the log say how many connections a low limit of open files allows"):
        done = subprocess.run(
            [*LIMITED, str(BINARY), "check", "--config", server.configuration], env=server.environment(), capture_output=True, text=True,
            timeout=PATIENCE)
        words = f"The limit of open files is {FILES}, which allows {ALL} connections"
        expect(done.returncode == 0 and words in done.stdout.splitlines()[0], f"{done}")
        expect(any(line.startswith(f"warning: {words}") and "LimitNOFILE" in line for line in done.stdout.splitlines()), done.stdout)
        expect(words in server.log.text, server.tail())


def together(checks, server):
    """The twin of the attacks: the places of one network are there for its people."""
    with checks.check("networks: as many people as there are places log in at the same time behind one address"):
        growth = Growth(server)
        people = [XMPP("juliet", server.xmpp) for _ in range(WITHOUT_LOGIN)]
        for person in people:
            person.dial()
        token = base64.b64encode(f"\0juliet\0{PASSWORD}".encode()).decode()
        for person in people:
            person.send(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{token}</auth>")
        for person in people:
            person.stanza(lambda s: s.tag.endswith("}success"), "success")
        for person in people:
            person.close()
        growth.until("parley_logins_total", len(people), door="xmpp", result="success")
        expect(Scrape(server)("parley_refusals_total", rate="connections") == 0, "somebody was refused")


def streams(checks, server):
    with checks.check("networks: one network has all XMPP connections before login, and another logs in"):
        growth = Growth(server)
        with Attack(server.xmpp, 2 * WITHOUT_LOGIN) as attack:
            until("the end of half of the attack", lambda: attack.held == WITHOUT_LOGIN)
            juliet = XMPP("juliet", server.xmpp)
            juliet.connect()
            until("the end of one for her", lambda: attack.held == WITHOUT_LOGIN - 1)
            # Her login has made room for one, who takes nothing from her.
            with Attack(server.xmpp, 2) as more:
                until("the end of one more", lambda: attack.held + more.held == WITHOUT_LOGIN)
                juliet.send("<iq type='get' id='still'><ping xmlns='urn:xmpp:ping'/></iq>")
                juliet.stanza(lambda s: s.get("id") == "still", "an answer")
            juliet.close()
        growth.until("parley_refusals_total", WITHOUT_LOGIN + 2, rate="connections")
        server.log.until(
            "the line", lambda text: any("a connection was refused" in line and ATTACKER in line and "streams-before-login" in line
                                         for line in text.splitlines()))


def requests(checks, server, neighbour):
    with checks.check("networks: one network has all HTTP connections without a login, and others log in; a WebSocket of its own stays"):
        growth = Growth(server)
        with Attack(server.http, 2 * WITHOUT_LOGIN) as attack:
            until("the end of half of the attack", lambda: attack.held <= WITHOUT_LOGIN)
            juliet = App(server, "juliet").connect()
            # Each of her connections has taken one place at most.
            until("the end of one for her", lambda: attack.held < WITHOUT_LOGIN)
            expect(WITHOUT_LOGIN - 8 <= attack.held, f"{attack.held} of the attack are open")
            for app in (juliet, neighbour):
                expect(app.command("ping").get("ok"), f"{app.name} is not answered")
            juliet.socket.close()
        growth.until("parley_refusals_total", rate="connections")


def both(checks, server, neighbour):
    with checks.check("networks: attacks at both ports leave descriptors for the store, commands and newcomers"):
        with Attack(server.xmpp, 2 * WITHOUT_LOGIN) as one, Attack(server.http, 2 * WITHOUT_LOGIN) as other:
            until("the end of half of them", lambda: one.held <= WITHOUT_LOGIN and other.held <= WITHOUT_LOGIN)
            used = Scrape(server)("process_open_fds")
            expect(2 * WITHOUT_LOGIN <= used < FILES - 40, f"{used} of {FILES} files are open")
            expect("juliet@localhost" in server.command("user", "list"), "a command is not answered")
            juliet = XMPP("juliet", server.xmpp)
            juliet.connect()
            juliet.close()
            status, dialog = neighbour.call("POST", "/v1/dialogs", {"type": "group", "name": "Still here", "memberIds": ["juliet"]})
            expect(status == 201, f"{status} {json.dumps(dialog)}")
        expect(Scrape(server)("parley_accept_pauses_total") == 0, "the descriptors were used up")


def without_descriptors(checks, server, neighbour):
    with checks.check("networks: a port without descriptors says why, serves who is there, and goes on when there are some"):
        process = server.process.pid
        # The limit is of numbers and not of their count: the attacks before have left free ones below the highest.
        used = {int(number) for number in os.listdir(f"/proc/{process}/fd")}
        free = next(number for number in itertools.count() if number not in used)
        resource.prlimit(process, resource.RLIMIT_NOFILE, (free, FILES))
        try:
            with Attack(server.xmpp, 40), socket.create_connection(("127.0.0.1", server.xmpp), PATIENCE) as juliet:
                juliet.sendall(HEADER.encode())
                server.log.until("the reason", lambda text: WAITS in text)
                line = next(line for line in server.log.lines if WAITS in line)
                expect("LimitNOFILE" in line and str(server.xmpp) in line, line)
                expect(neighbour.command("ping").get("ok"), "who is logged in is not answered")
                resource.prlimit(process, resource.RLIMIT_NOFILE, (FILES, FILES))
                answer = b""
                while b"</stream:features>" not in answer:
                    piece = juliet.recv(4_096)
                    expect(piece, f"the end came behind {answer}")
                    answer += piece
        finally:
            resource.prlimit(process, resource.RLIMIT_NOFILE, (FILES, FILES))
        expect(Scrape(server)("parley_accept_pauses_total") >= 1, "no pause was counted")
        expect(server.log.text.count(WAITS) == 1, server.tail())


class Elsewhere(Server):
    """A server on a machine of the small internet."""

    def __init__(self, machine):
        self.host = machine.address
        super().__init__(
            wrapper=[*MANY_FILES, *machine.space.enter()], xmpp__host=machine.address, http__host=machine.address,
            metrics__host=machine.address)

    @property
    def base(self):
        return f"http://{self.host}:{self.http}"


@contextlib.contextmanager
def descriptors(count):
    """This process may have so many."""
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before, min(count, most)), most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def calls(machine, server, count):
    """Connections from this machine to the port of direct TLS."""
    with machine.space.here():
        for _ in range(count):
            yield socket.create_connection((server.host, server.tls), PATIENCE)


def call(machine, server):
    (connection,) = calls(machine, server, 1)
    return connection


class Visitor(XMPP):
    """A client on another machine."""

    def __init__(self, server, connection, resource="wire"):
        super().__init__("juliet", server.tls, resource, server.certificate)
        self.connection = connection

    def dial(self):
        self.connection.settimeout(PATIENCE)
        self.socket = ssl.create_default_context(cafile=self.trust).wrap_socket(self.connection, server_hostname="localhost")
        self.open()


def restart(checks, server, school):
    """The twin of the handshakes. The first bytes of a handshake are the client's; what is bounded by network is counted before them."""
    with checks.check(f"networks: {PEOPLE:,} connections of one address at once, behind a restart, wait for nothing, and log in"):
        server.stop()
        server.start()
        growth, people = Growth(server), []
        try:
            people += calls(school, server, PEOPLE)
            until("all are accepted", lambda: Scrape(server)("process_open_fds") > PEOPLE)
            expect(all(map(is_open, people)), "some were closed")
            visitors = [Visitor(server, connection, f"pupil{number}") for number, connection in enumerate(people[:LOGINS])]
            for visitor in visitors:
                visitor.connect()
            growth.until("parley_logins_total", LOGINS, result="success")
            expect(all(map(is_open, people[LOGINS:])), "some were closed for others of their network")
            growth.until(DELAYED, 0)
            growth.until("parley_refusals_total", 0, rate="connections")
            for visitor in visitors:
                visitor.close()
        finally:
            for connection in people:
                connection.close()


def hello():
    """The first bytes of a client of TLS."""
    sent = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return sent.read()


def handshakes(checks, server, attacker, witness):
    growth, first, held = Growth(server), hello(), []

    def delayed():
        return Scrape(server)(DELAYED) - growth.before(DELAYED)

    def begin():
        for connection in list(calls(attacker, server, 100)):
            with contextlib.suppress(OSError):
                connection.sendall(first)
            yield connection

    try:
        with checks.check("networks: handshakes that one network begins and leaves by the hundred have to wait, and another one logs in meanwhile"):
            for _ in range(100):
                if delayed() >= 100:
                    break
                for connection in begin():
                    connection.close()
            expect(delayed() >= 100, f"of 10,000 handshakes {delayed()} had to wait")
            held += begin()
            person = Visitor(server, call(witness, server))
            person.connect()
            person.close()
            server.log.until("the line", lambda text: any(
                "TLS handshakes of a network wait" in line and attacker.address in line for line in text.splitlines()))
            expect(witness.address not in server.log.text, server.tail())
        with checks.check("networks: a login from the network whose handshakes wait is not refused"):
            person = Visitor(server, call(attacker, server))
            person.connect()
            person.close()
            growth.until("parley_logins_total", 2, result="success")
            growth.until("parley_refusals_total", 0, rate="connections")
    finally:
        for connection in held:
            connection.close()


def greeted(machine, server):
    """A new stream in the clear, when the server has answered its header."""
    with machine.space.here():
        connection = socket.create_connection((server.host, server.xmpp), PATIENCE)
    connection.sendall(HEADER.encode())
    answer = b""
    while b"</stream:features>" not in answer:
        piece = connection.recv(4_096)
        expect(piece, f"the end came behind {answer}")
        answer += piece
    return connection


def clear(checks, server, attacker, witness):
    """The twin of the handshakes, at the port where streams begin in the clear."""
    growth = Growth(server)

    def delayed():
        return Scrape(server)(CLEAR_DELAYED) - growth.before(CLEAR_DELAYED)

    with checks.check("networks: XMPP connections that one network opens and leaves by the hundred have to wait, and nobody is refused"):
        for _ in range(100):
            if delayed() >= 100:
                break
            with attacker.space.here():
                opened = [socket.create_connection((server.host, server.xmpp), PATIENCE) for _ in range(100)]
            for connection in opened:
                connection.sendall(HEADER.encode())
            for connection in opened:
                connection.close()
        expect(delayed() >= 100, f"of 10,000 connections {delayed()} had to wait")
        for machine in (witness, attacker):
            greeted(machine, server).close()
        server.log.until("the line", lambda text: any(
            "XMPP connections of a network wait" in line and attacker.address in line for line in text.splitlines()))
        expect(witness.address not in server.log.text, server.tail())
        growth.until("parley_refusals_total", 0, rate="connections")


def flood(checks, server, attacker, witness):
    """The twin of the handshakes, at the port of HTTP, where requests begin at once."""
    beginning = b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 65000\r\n\r\n"
    growth, held = Growth(server), []

    def delayed():
        return Scrape(server)(HTTP_DELAYED) - growth.before(HTTP_DELAYED)

    try:
        with checks.check("networks: HTTP connections that one network opens by the hundred have to wait, and another one logs in meanwhile"):
            while delayed() < 100 and len(held) < PEOPLE:
                with attacker.space.here():
                    for _ in range(100):
                        held.append(socket.create_connection((server.host, server.http), PATIENCE))
                        held[-1].sendall(beginning)
            expect(delayed() >= 100, f"of {len(held)} connections {delayed()} had to wait")
            with witness.space.here():
                App(server, "juliet")
            server.log.until("the line", lambda text: any(
                "HTTP connections of a network wait" in line and attacker.address in line for line in text.splitlines()))
            expect(witness.address not in server.log.text, server.tail())
        with checks.check("networks: a login from the network whose HTTP connections wait is not refused"):
            with attacker.space.here():
                App(server, "juliet")
            growth.until("parley_logins_total", 2, door="app", result="success")
            growth.until("parley_refusals_total", 0, rate="connections")
    finally:
        for connection in held:
            connection.close()


def resets(checks, server, attacker):
    """The address of a connection that has been reset is not known any more, while its request may still be read."""
    with checks.check("networks: who resets the connection behind a request cannot name another address"):
        victim = "203.0.113.9"
        request = f"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nX-Forwarded-For: {victim}\r\nContent-Length: 0\r\n\r\n".encode()
        for _ in range(10):
            with attacker.space.here(), socket.create_connection((server.host, server.http), PATIENCE) as connection:
                connection.sendall(request)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        server.log.until("a refusal", lambda text: "path-unknown" in text)
        # One that stays has its own address.
        with attacker.space.here(), socket.create_connection((server.host, server.http), PATIENCE) as connection:
            connection.sendall(request)
            expect(connection.recv(4_096).startswith(b"HTTP/1.1 404"), "no answer")
        server.log.until("its address", lambda text: any(
            "path-unknown" in line and attacker.address in line for line in text.splitlines()))
        expect(victim not in server.log.text, server.tail())
