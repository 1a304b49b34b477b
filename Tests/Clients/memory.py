"""What is not logged in takes little memory each, and a bounded amount in all: 127.0.0.2 holds unfinished stanzas and bodies, more than
there is room for; others log in at every door meanwhile, and afterwards nothing is held. Likewise what sessions do not read, and messages
over WebSockets that they do not complete.
"""
import base64
import concurrent.futures
import contextlib
import http.client
import random
import resource
import socket
import struct
import xml.etree.ElementTree as ElementTree

import websockets.exceptions
import websockets.sync.client

from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, Server, expect, until
from lib.scrape import Growth, Scrape
from lib.wire import HEADER, XMPP

# The memory that the server may use, and what it makes of it (docs/operations.md, "Size of the machine").
MEMORY = 512 << 20
LIMITED = ["prlimit", f"--data={MEMORY}"]
BOUND, UNFINISHED, SHARE = MEMORY // 8, MEMORY // 64, 16_384
# The shares of a request beside its body.
REQUEST = 6
# The limit counts the whole stack of each thread, 8 MiB: a machine of many cores must not use it up with threads.
THREADS = 2
# The sessions that one user may have, and users enough that all memory for what their sessions do not read is taken.
SESSIONS, USERS = 32, 8
ATTACKER = "127.0.0.2"
# The users whose sessions begin messages and never end them, and the sessions of each, as many as one begins at once: of apps and of XMPP.
HALVES, APPS, SOCKETS = ["half0", "half1"], 4, 14
FRAMING, BODY, XBOSH = "urn:ietf:params:xml:ns:xmpp-framing", "http://jabber.org/protocol/httpbind", "urn:xmpp:xbosh"
SASL, BIND = "urn:ietf:params:xml:ns:xmpp-sasl", "urn:ietf:params:xml:ns:xmpp-bind"


class Attack:
    """Connections that begin something and never end it."""

    def __init__(self, port, count, text):
        self.connections = [socket.create_connection(("127.0.0.1", port), PATIENCE, (ATTACKER, 0)) for _ in range(count)]
        self.answers = [b""] * count
        for connection in self.connections:
            # One that was closed already takes nothing.
            with contextlib.suppress(OSError):
                connection.sendall(text.encode())

    @property
    def held(self):
        """The number of those that the server has not closed."""
        return sum(self.is_open(number) for number in range(len(self.connections)))

    def is_open(self, number):
        self.connections[number].setblocking(False)
        try:
            while data := self.connections[number].recv(65_536):
                self.answers[number] += data
        except BlockingIOError:
            return True
        except OSError:
            pass
        return False

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for connection in self.connections:
            connection.close()


def held(server, kind="before-login"):
    return Scrape(server)("parley_held_bytes", kind=kind)


def token(name):
    return base64.b64encode(f"\0{name}\0{PASSWORD}".encode()).decode()


def auth(name):
    return f"<auth xmlns='{SASL}' mechanism='PLAIN'>{token(name)}</auth>"


def ping(size):
    """A request with so many bytes in it."""
    return f"<iq xmlns='jabber:client' type='get' id='large'><ping xmlns='urn:xmpp:ping'>{'x' * size}</ping></iq>"


BINDING = f"<iq xmlns='jabber:client' type='set' id='bind'><bind xmlns='{BIND}'/></iq>"


class Socket:
    """XMPP over a WebSocket."""

    def __init__(self, server):
        self.socket = websockets.sync.client.connect(
            f"ws://127.0.0.1:{server.http}/xmpp-websocket", subprotocols=["xmpp"], compression=None, open_timeout=PATIENCE)

    def ask(self, text, what):
        self.socket.send(text)
        while what not in (answer := self.socket.recv(timeout=PATIENCE)):
            expect("error" not in answer, answer)

    def login(self, name):
        opening = f"<open xmlns='{FRAMING}' to='localhost' version='1.0'/>"
        for text, what in ((opening, "features"), (auth(name), "<success"), (opening, "features"), (BINDING, "<jid>")):
            self.ask(text, what)
        return self


class Requests:
    """XMPP over requests."""

    def __init__(self, server):
        self.server, self.rid, self.sid = server, random.randrange(1 << 40), ""

    def post(self, payload, attributes=""):
        """Returns status and text."""
        self.rid += 1
        text = f"<body xmlns='{BODY}' xmlns:xmpp='{XBOSH}' rid='{self.rid}' {self.sid} {attributes}>{payload}</body>"
        connection = http.client.HTTPConnection("127.0.0.1", self.server.http, timeout=PATIENCE)
        connection.request("POST", "/http-bind", text.encode(), {"Content-Type": "text/xml"})
        answer = connection.getresponse()
        data = answer.read().decode()
        connection.close()
        return answer.status, data

    def ask(self, payload, what, attributes=""):
        status, text = self.post(payload, attributes)
        while what not in text:
            expect(status == 200 and "terminate" not in text, f"{status} {text}")
            status, text = self.post("")
        return text

    def begin(self):
        made = ElementTree.fromstring(self.ask("", "features", "to='localhost' wait='10' hold='1' ver='1.6' xmpp:version='1.0'"))
        self.sid = f"sid='{made.get('sid')}'"
        return self

    def login(self, name):
        self.begin()
        self.ask(auth(name), "<success")
        self.ask("", "features", "to='localhost' xmpp:restart='true'")
        self.ask(BINDING, "<jid>")
        return self


def everywhere(server):
    """Somebody logs in at every door."""
    juliet = XMPP("juliet", server.xmpp)
    juliet.connect()
    juliet.close()
    Socket(server).login("juliet").socket.close()
    Requests(server).login("juliet").post("", "type='terminate'")
    juliet = App(server, "juliet").connect()
    expect(juliet.command("ping").get("ok"), "the app is not answered")
    juliet.socket.close()


def run(checks):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with Server(wrapper=LIMITED, xmpp__plaintext="true", threads=THREADS) as server:
        server.start()
        server.add_users("juliet", *HALVES)
        small(checks, server)
        streams(checks, server)
        bodies(checks, server)
        messages(checks, server)
    unread(checks)
    pages(checks)


def small(checks, server):
    with checks.check("memory: before the login a stanza is small on every transport, and afterwards it need not be"):
        # 3,900 children in 16 KiB took 143 KiB.
        romeo = XMPP("romeo", server.xmpp)
        romeo.dial()
        romeo.send("<iq type='set' id='x'><query xmlns='jabber:iq:register'>" + "<x/>" * 300)
        error = romeo.stanza(lambda s: s.tag.endswith("}error"), "the end of a stream")
        expect(any(child.tag.endswith("}policy-violation") for child in error), f"{ElementTree.tostring(error)}")
        romeo.close()
        romeo = Socket(server)
        romeo.ask(f"<open xmlns='{FRAMING}' to='localhost' version='1.0'/>", "features")
        romeo.socket.send(ping(20_000))
        try:
            while True:
                romeo.socket.recv(timeout=PATIENCE)
        except websockets.exceptions.ConnectionClosed as end:
            expect(end.rcvd and end.rcvd.code == 1009, f"{end}")
        status, text = Requests(server).begin().post(ping(20_000))
        expect(status == 413, f"{status} {text}")
        romeo = Socket(server).login("juliet")
        romeo.ask(ping(200_000), "large")
        romeo.socket.close()
        romeo = Requests(server).login("juliet")
        romeo.ask(ping(200_000), "large")
        romeo.post("", "type='terminate'")


def streams(checks, server):
    with checks.check("memory: half stanzas of one network take all memory before login, and others log in at every door"):
        growth = Growth(server)
        half = HEADER + "<iq type='set' id='x'><query xmlns='jabber:iq:register'>" + "<x/>" * 150 + "<name>" + "x" * 9_000
        # Each takes two shares or more.
        room = BOUND // SHARE // 2
        with Attack(server.xmpp, room + 50, half) as attack:
            until("the end of some", lambda: attack.held <= room)
            expect(attack.held > room // 4, f"{attack.held} are left")
            expect(BOUND // 2 < held(server) <= BOUND, f"{held(server)} bytes are held")
            everywhere(server)
            expect(held(server) <= BOUND, f"{held(server)} bytes are held")
            expect(any(b"<resource-constraint" in answer for answer in attack.answers), "no answer has the reason")
        until("all is given up", lambda: held(server) == 0)
        growth.until("parley_refusals_total", rate="memory")
        server.log.until(
            "the line", lambda text: any("a connection was refused" in line and ATTACKER in line and "memory-before-login" in line
                                         for line in text.splitlines()))


def bodies(checks, server):
    with checks.check("memory: half bodies of one network take all memory before login, and others log in at every door"):
        growth = Growth(server)
        # A request without a login has at most 20 KiB.
        size = 15_000
        room = BOUND // SHARE // (REQUEST + -(-size // SHARE))
        text = ("POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Content-Length: {size + 1_000}\r\n\r\n" + "x" * size)
        with Attack(server.http, room + 50, text) as attack:
            until("the end of some", lambda: attack.held <= room)
            expect(attack.held > room // 2, f"{attack.held} are left")
            expect(held(server) <= BOUND, f"{held(server)} bytes are held")
            everywhere(server)
            answers = [answer.lower() for answer in attack.answers if answer]
            expect(answers and all(answer.startswith(b"http/1.1 503") and b"retry-after: 5" in answer for answer in answers), f"{answers[:3]}")
        until("all is given up", lambda: held(server) == 0)
        growth.until("parley_refusals_total", rate="memory")
    with checks.check("memory: requests whose bodies never come take memory, too, and others log in at every door"):
        room = BOUND // SHARE // REQUEST
        with Attack(server.http, room + 50, "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 15000\r\n\r\n") as attack:
            until("the end of some", lambda: attack.held <= room)
            expect(attack.held > room // 2, f"{attack.held} are left")
            everywhere(server)
            expect(BOUND // 2 < held(server) <= BOUND, f"{held(server)} bytes are held")
        until("all is given up", lambda: held(server) == 0)
    refused(checks, server)


def refused(checks, server):
    """Requests without a token, to which the server answers before it reads their bodies."""
    head = "PATCH /v1/users/me HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    room = BOUND // SHARE // REQUEST
    with checks.check("memory: refused requests whose bodies come in part take memory, too, and others log in at every door"):
        with Attack(server.http, room + 50, f"{head}Content-Length: 61000\r\n\r\n{'x' * 60_000}") as attack:
            until("the end of some", lambda: attack.held <= room)
            expect(attack.held > room // 4, f"{attack.held} are left")
            everywhere(server)
            expect(held(server) <= BOUND, f"{held(server)} bytes are held")
            answers = {answer[:12].lower() for answer in attack.answers if answer}
            expect(b"http/1.1 401" in answers and answers <= {b"http/1.1 401", b"http/1.1 429", b"http/1.1 503"}, f"{answers}")
        until("all is given up", lambda: held(server) == 0)
    with checks.check("memory: a request that is refused long before the end of its body ends its connection"):
        with Attack(server.http, room + 50, f"{head}Content-Length: 200000\r\n\r\n{'x' * 60_000}") as attack:
            until("the end of all", lambda: attack.held == 0)
            answers = [answer.lower() for answer in attack.answers if answer]
            expect(answers and all(b"\r\nconnection: close\r\n" in answer for answer in answers), f"{answers[:3]}")
            expect({answer[:12] for answer in answers} <= {b"http/1.1 401", b"http/1.1 429", b"http/1.1 503"}, f"{answers[:3]}")
            expect(held(server) <= BOUND, f"{held(server)} bytes are held")
            everywhere(server)
        until("all is given up", lambda: held(server) == 0)
    with checks.check("memory: a client that sends its body behind its head keeps its connection, although the refusal comes between"):
        connection = http.client.HTTPConnection("127.0.0.1", server.http, timeout=PATIENCE)
        connection.connect()
        first = connection.sock
        for _ in range(2):
            connection.putrequest("PATCH", "/v1/users/me")
            connection.putheader("Content-Type", "application/json")
            connection.putheader("Content-Length", "2")
            connection.endheaders()
            answer = connection.getresponse()
            expect(answer.status in (401, 429) and answer.getheader("Connection") is None, f"{answer.status} {answer.getheaders()}")
            answer.read()
            first.sendall(b"{}")
        expect(connection.sock is first, "the connection was closed")
        connection.close()
    with checks.check("memory: a client that sends a whole body before it reads gets the refusal"):
        connection = http.client.HTTPConnection("127.0.0.1", server.http, timeout=PATIENCE)
        connection.request("PATCH", "/v1/users/me", b" " * (4 << 20), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        expect(answer.status in (401, 429) and answer.getheader("Connection") == "close", f"{answer.status} {answer.getheaders()}")
        answer.read()
        connection.close()


def half(connection, count, length):
    """Sends so many bytes of a text message that says it has more."""
    # One that was closed already takes nothing.
    with contextlib.suppress(OSError):
        connection.socket.sendall(b"\x81\xff" + struct.pack("!Q", length) + bytes(4) + b"<" * count)


def until_closed(connection):
    """All that comes until the end."""
    text = ""
    try:
        while True:
            text += connection.recv()
    except websockets.exceptions.ConnectionClosed:
        return text


def messages(checks, server):
    with checks.check("memory: half messages over WebSockets take all memory for unfinished input, and nobody else is disconnected"):
        growth = Growth(server)
        other = Socket(server).login("juliet")
        apps = [App(server, name, device=f"device{number}").connect() for number in range(APPS) for name in HALVES]
        sockets = [Socket(server).login(name) for _ in range(SOCKETS) for name in HALVES]
        # What came counts twice: 8 shares of an app, 25 of XMPP.
        expect((8 * APPS + 25 * SOCKETS) * len(HALVES) * SHARE > UNFINISHED, "there is room for all")
        expect(held(server, "unfinished") == 0, f"{held(server, 'unfinished')} bytes are held before")
        with concurrent.futures.ThreadPoolExecutor(len(sockets)) as threads:
            ends = [threads.submit(until_closed, connection.socket) for connection in sockets]
            for app in apps:
                half(app.socket, 60_000, 65_000)
            until("the bytes of the apps count", lambda: held(server, "unfinished") == 8 * SHARE * len(apps))
            for connection in sockets:
                half(connection.socket, 200_000, 250_000)
            growth.until("parley_refusals_total", rate="memory")
            until("the end of some", lambda: any(end.done() for end in ends))
            until("the end of an app's", lambda: any(app.socket.protocol.close_code == 1013 for app in apps))
            expect(held(server, "unfinished") <= UNFINISHED, f"{held(server, 'unfinished')} bytes are held")
            other.ask(ping(200_000), "large")
            everywhere(server)
            for connection in [*apps, *sockets]:
                with contextlib.suppress(OSError):
                    connection.socket.socket.shutdown(socket.SHUT_RDWR)
            texts = [end.result(PATIENCE) for end in ends]
        expect(any("resource-constraint" in text for text in texts), f"no stream has the reason: {texts[:3]}")
        reasons = {app.socket.protocol.close_reason for app in apps if app.socket.protocol.close_code == 1013}
        expect(reasons and all(reason.endswith("overloaded") for reason in reasons), f"{reasons}")
        other.socket.close()
        until("all is given up", lambda: held(server, "unfinished") == 0)
        server.log.until("the line", lambda text: "memory-unfinished" in text)
    with checks.check("memory: a message over a WebSocket has at most 64 fragments"):
        romeo = Socket(server).login("juliet")
        with concurrent.futures.ThreadPoolExecutor(1) as threads:
            end = threads.submit(until_closed, romeo.socket)
            with contextlib.suppress(websockets.exceptions.ConnectionClosed):
                romeo.socket.send(iter("<" * 65))
            expect("policy-violation" in end.result(PATIENCE), "no stream error")
        app = App(server, "juliet").connect()
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            app.socket.send(iter("{" * 65))
        until("the end", lambda: app.socket.protocol.close_code == 1009)


def unread(checks):
    """A session that reads nothing has 256 KiB unread, and what was asked for before that."""
    memory = 320 << 20
    names = [f"deaf{number}" for number in range(USERS)]
    with Server(wrapper=["prlimit", f"--data={memory}"], xmpp__plaintext="true", threads=THREADS) as server:
        server.start()
        server.add_users("juliet", *names)
        with checks.check("memory: sessions that read nothing are disconnected when all memory for unread output is taken, and nobody else is"):
            growth = Growth(server)
            juliet = XMPP("juliet", server.xmpp)
            juliet.connect()
            # In turn, as one user begins twenty sessions at once and then one a second.
            deaf = [XMPP(name, server.xmpp, resource=f"{number}") for number in range(SESSIONS) for name in names]
            node = "<pubsub xmlns='http://jabber.org/protocol/pubsub'>"
            for client in deaf:
                client.dial()
                client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
                client.send(auth(client.name))
                client.stanza(lambda s: s.tag.endswith("}success"), "success")
                client.open()
                client.bind()
                if client.resource == "0":
                    client.send(f"<iq type='set' id='item'>{node}<publish node='urn:example:large'><item id='1'>"
                                f"<x xmlns='urn:example:large'>{'x' * 100_000}</x></item></publish></pubsub></iq>")
                    client.stanza(lambda s: s.get("id") == "item", "the item")
                for number in range(8):
                    client.send(f"<iq type='get' id='{number}'>{node}<items node='urn:example:large'/></pubsub></iq>")
            growth.until("parley_refusals_total", rate="memory")
            expect(held(server, "unread") <= memory // 16, f"{held(server, 'unread')} bytes are unread")
            juliet.send("<iq type='get' id='still'><ping xmlns='urn:xmpp:ping'/></iq>")
            juliet.stanza(lambda s: s.get("id") == "still", "an answer")
            for client in deaf:
                client.close()
            until("nothing is unread", lambda: held(server, "unread") == 0)
            juliet.close()
            expect(any("memory-unread" in line for line in server.log.lines), server.tail())


def pages(checks):
    """Long messages of one account, which it reads in as large pages as there are, and many at once."""
    count, size, requests = 60, 190_000, 100
    with Server(wrapper=["prlimit", f"--data={320 << 20}"], xmpp__plaintext="true", threads=THREADS,
                sending__bytes_per_second=1 << 30) as server:
        server.start()
        server.add_users("juliet", "romeo")
        client = XMPP("romeo", server.xmpp)
        client.connect()
        for number in range(count):
            client.send(f"<message type='chat' to='romeo@localhost' id='{number}'><body>{number} {'x' * size}</body></message>")
        romeo = App(server, "romeo")

        def dialog():
            """The dialog of romeo with himself, as soon as all is stored."""
            items = romeo.call("GET", "/v1/dialogs")[1]["items"]
            return items[0]["id"] if items and items[0]["lastMessage"]["seq"] == count else None
        path = f"/v1/dialogs/{until('all messages are stored', dialog)}/messages?limit=100"
        with checks.check("memory: a page of long messages ends at a mebibyte, and each message is on one page"):
            found, cursor = [], ""
            while cursor is not None:
                status, page = romeo.call("GET", path + cursor)
                expect(status == 200 and page["items"], f"{status} {page}")
                texts = [item["content"]["text"] for item in page["items"]]
                expect(sum(map(len, texts)) < (1 << 20) + size + 100, f"{len(texts)} messages on a page")
                found += [int(text.split()[0]) for text in texts]
                cursor = f"&before={page['nextCursor']}" if "nextCursor" in page else None
            expect(found == list(reversed(range(count))), f"{found}")
        with checks.check("memory: many requests of one account for pages of long messages end no server, and others are served"):
            with concurrent.futures.ThreadPoolExecutor(requests) as threads:
                answers = [threads.submit(romeo.call, "GET", path) for _ in range(requests)]
                juliet = App(server, "juliet")
                expect(juliet.call("GET", "/v1/users/me")[0] == 200, "juliet is not served")
                statuses = {answer.result()[0] for answer in answers}
            expect(200 in statuses and statuses <= {200, 429}, f"{statuses}")
            everywhere(server)
        client.close()
