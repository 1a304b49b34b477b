"""`Wire` is XMPP over a socket, and `Stage` is what the clients of `arrivals.py` share."""
import asyncio
import base64
import collections
import contextlib
import hashlib
import hmac
import secrets
import socket
import struct
import time
import xml.etree.ElementTree as ElementTree

import aiohttp
import websockets.exceptions

from lib.harness import PASSWORD, PATIENCE, Failure, expect
from lib.wire import HEADER, Gone

# Who there is. Talkers are the senders that are in a room.
SENDERS, APP_SENDERS, READERS, APP_READERS, ROOMS, TALKERS = 10, 2, 20, 5, 2, 3
OWED = 100  # messages on their way to one reader; then it is sent no more
FLOOD = 600  # messages that make a client lag: more than a server tells to who acknowledges none (as in lag.py)
FIRST_LOGINS = 10  # under way at a time: who has not been here yet is a stranger
CLIENT, SASL, SASL2, BIND2 = "{jabber:client}", "urn:ietf:params:xml:ns:xmpp-sasl", "urn:xmpp:sasl:2", "urn:xmpp:bind:0"
CARBONS, MUC, DELAY = "urn:xmpp:carbons:2", "http://jabber.org/protocol/muc", "{urn:xmpp:delay}delay"
MESSAGE, PRESENCE, IQ, BODY = CLIENT + "message", CLIENT + "presence", CLIENT + "iq", CLIENT + "body"
MAM, RSM = "urn:xmpp:mam:2", "http://jabber.org/protocol/rsm"
RESULT, FORWARDED = f"{{{MAM}}}result", f"{{urn:xmpp:forward:0}}forwarded/{MESSAGE}"
OWN = f"{{{MUC}#user}}x/{{{MUC}#user}}status[@code='110']"
COPY = f"{{{CARBONS}}}received/{{urn:xmpp:forward:0}}forwarded/{MESSAGE}"
STREAM_ERROR = "{http://etherx.jabber.org/streams}error"
LOST = (Gone, OSError, websockets.exceptions.WebSocketException, aiohttp.ClientError)


class Wire:
    """One connection, one XML stream after the other."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.found = collections.deque()

    @classmethod
    async def dial(cls, port, small=False):
        """`small`: with little room for what is not read."""
        bare = socket.socket()
        bare.setblocking(False)
        if small:
            bare.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        async with asyncio.timeout(PATIENCE):
            await asyncio.get_running_loop().sock_connect(bare, ("127.0.0.1", port))
            wire = cls(*await asyncio.open_connection(sock=bare, limit=4096 if small else 65536))
        await wire.open()
        return wire

    async def open(self):
        self.parser = ElementTree.XMLPullParser(["start", "end"])
        self.depth, self.root = 0, None
        self.found.clear()
        self.write(HEADER)
        await self.until("{http://etherx.jabber.org/streams}features")

    def write(self, text):
        self.writer.write(text.encode())

    async def next(self):
        """The next element of the stream."""
        while not self.found:
            try:
                async with asyncio.timeout(PATIENCE):
                    data = await self.reader.read(65536)
            except TimeoutError:
                raise Failure(f"nothing came within {PATIENCE} s") from None
            if not data:
                raise Gone("the server closed the connection")
            self.parser.feed(data)
            for event, element in self.parser.read_events():
                self.depth += 1 if event == "start" else -1
                if event == "start" and self.depth == 1:
                    self.root = element
                elif event == "end" and self.depth == 1:
                    self.found.append(element)
                    self.root.remove(element)
        return self.found.popleft()

    async def until(self, *tags, passing=None):
        """The first element with such a tag; what comes before it goes to `passing`."""
        while True:
            element = await self.next()
            if element.tag in tags:
                return element
            if passing is None or element.tag == STREAM_ERROR:
                raise Gone(f"got {ElementTree.tostring(element)[:300]} in place of {tags}")
            passing(element)

    def cut(self):
        """The connection is lost: nothing is flushed, and the other side is told by RST."""
        reset(self.writer.transport)

    async def ended(self):
        """Takes in nothing more until the server has closed it."""
        try:
            async with asyncio.timeout(PATIENCE):
                while await self.reader.read(65536):
                    pass
        except TimeoutError:
            raise Failure(f"a connection whose session was resumed elsewhere is open {PATIENCE} s later") from None
        except OSError:
            pass
        finally:
            self.cut()


def reset(transport):
    with contextlib.suppress(OSError):
        transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()


def coded(data):
    return base64.b64encode(data).decode()


class Scram:
    """RFC 5802 and 7677. The keys of a name, a salt and a count of rounds are kept."""
    kept = {}

    def __init__(self, name):
        self.name, self.first = name, f"n={name},r={secrets.token_hex(12)}"

    def begin(self):
        return coded(b"n,," + self.first.encode())

    def answer(self, challenge):
        said = dict(part.split("=", 1) for part in challenge.split(","))
        place = self.name, said["s"], said["i"]
        if place not in self.kept:
            salted = hashlib.pbkdf2_hmac("sha256", PASSWORD.encode(), base64.b64decode(said["s"]), int(said["i"]))
            self.kept[place] = [hmac.digest(salted, which, "sha256") for which in (b"Client Key", b"Server Key")]
        key, server_key = self.kept[place]
        last = f"c=biws,r={said['r']}"
        everything = f"{self.first},{challenge},{last}".encode()
        signature = hmac.digest(hashlib.sha256(key).digest(), everything, "sha256")
        self.proved = coded(b"v=" + base64.b64encode(hmac.digest(server_key, everything, "sha256")))
        return coded(f"{last},p={coded(bytes(a ^ b for a, b in zip(key, signature)))}".encode())


async def logged_in(wire, name, plain=False, wishes=None):
    """SASL; in one step (XEP-0388) where there are `wishes`. What says success."""
    namespace = SASL if wishes is None else SASL2
    scram = Scram(name)
    mechanism = "PLAIN" if plain else "SCRAM-SHA-256"
    initial = coded(f"\0{name}\0{PASSWORD}".encode()) if plain else scram.begin()
    if wishes is None:
        wire.write(f"<auth xmlns='{SASL}' mechanism='{mechanism}'>{initial}</auth>")
    else:
        wire.write(f"<authenticate xmlns='{SASL2}' mechanism='{mechanism}'><initial-response>{initial}</initial-response>"
                   f"{wishes}</authenticate>")
    outcomes = f"{{{namespace}}}success", f"{{{namespace}}}failure"
    if not plain:
        challenge = await wire.until(f"{{{namespace}}}challenge", *outcomes)
        expect(challenge.tag.endswith("challenge"), f"{name} is not let in: {ElementTree.tostring(challenge)}")
        wire.write(f"<response xmlns='{namespace}'>{scram.answer(base64.b64decode(challenge.text).decode())}</response>")
    success = await wire.until(*outcomes)
    expect(success.tag.endswith("success"), f"{name} is not let in: {ElementTree.tostring(success)}")
    if not plain:
        data = success.text if wishes is None else success.findtext(f"{{{SASL2}}}additional-data")
        expect(data == scram.proved, "the server does not prove that it knows the password")
    if wishes is None:
        await wire.open()
    return success


class Stage:
    """What the clients share."""

    def __init__(self, server, seed, seconds, arrivals):
        self.server, self.seed, self.seconds, self.arrivals = server, seed, seconds, arrivals
        self.senders = [f"s{number:02}" for number in range(SENDERS)]
        self.app_senders = [f"w{number:02}" for number in range(APP_SENDERS)]
        self.readers = [f"r{number:02}" for number in range(READERS)]
        self.app_readers = [f"v{number:02}" for number in range(APP_READERS)]
        self.rooms = {}  # name -> (address, id of its dialog)
        self.ledger = None
        self.floods = collections.deque()  # readers that want one
        self.gate = asyncio.Semaphore(FIRST_LOGINS)
        self.known = set()
        self.quiet = False
        self.http = None

    @property
    def everybody(self):
        return self.senders + self.app_senders + self.readers + self.app_readers

    @property
    def over(self):
        ledger = self.ledger
        if self.server.process.poll() is not None or sum(ledger.defects.values()) > 20_000:
            return True
        return ledger.came >= self.arrivals if self.arrivals else time.monotonic() - ledger.began > self.seconds

    @contextlib.asynccontextmanager
    async def first_login(self, name):
        if name in self.known:
            yield
        else:
            async with self.gate:
                yield
            self.known.add(name)

    async def flood(self, reader):
        """Somebody says very much to this reader. True when it has been said, and acknowledged."""
        asked = [reader, FLOOD]
        self.floods.append(asked)
        self.ledger.changed()
        await self.ledger.until(lambda: asked[1] == 0, f"a flood for {reader}")

    async def request(self, method, path, token=None, body=None):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with self.http.request(method, self.server.base + path, json=body, headers=headers) as answer:
            said = await answer.json() if answer.content_type.endswith("json") else None
            expect(answer.status < 300, f"{method} {path}: {answer.status} {said}")
            return said
