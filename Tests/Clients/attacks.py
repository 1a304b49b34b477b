"""One account, one network or one room cannot harm the others: each attack is sent, in bounded form, to a server with the limits of a small machine
(1,024 open files, 1 GiB), from a network of its own, while witnesses in another network log in and write by both doors. What is counted are
connections, refusals and bytes; no time is. The bounds one by one are in `downloads`, `networks`, `sending`, `memory`, `registration` and `stops`,
names that are used against others in `Tests/Plays`.
"""
import collections
import contextlib
import random
import re
import struct
import threading
import urllib.parse

from lib.files import PIECE, ask, upload
from lib.harness import PATIENCE, expect, until
from lib.internet import Internet
from lib.partners import DIRECT, XMPP
from lib.scrape import Growth, Scrape
from lib.wire import HEADER, SM
from lib.witnesses import FILES, HTTP, HTTPS, MEMORY, MIB, Scene, held, is_open

# What the server makes of its open files, and the share of the memory that it gives to what is not logged in (docs/operations.md, "Size of the
# machine").
WITHOUT_LOGIN, DOWNLOADS, BOUND = FILES // 4, FILES // 16, MEMORY // 8
PING = "<ping xmlns='urn:xmpp:ping'/>"
MUC = "http://jabber.org/protocol/muc"


def downloads(checks, scene):
    server = scene.server
    with checks.check("attacks: downloads that one network does not read leave places and memory for all others"):
        data = random.Random(37).randbytes(4 * PIECE)
        url = upload(server, scene.juliet, data)["url"]
        request = f"GET {urllib.parse.urlsplit(url).path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
        before = server.memory
        with held([scene.dial(HTTP) for _ in range(2 * DOWNLOADS)]) as unread:
            for connection in unread:
                connection.sendall(request)
            statuses = collections.Counter(connection.recv(12) for connection in unread)
            expect(statuses == {b"HTTP/1.1 200": DOWNLOADS, b"HTTP/1.1 429": DOWNLOADS}, f"{statuses}")
            scene.prove()
            with scene.home.here():
                expect(ask(server, url)[2] == data, "other bytes")
            expect(server.memory - before < BOUND, f"{(server.memory - before) // MIB} MiB for downloads that nobody reads")


def send(connection, data):
    """Sends as much as the server reads, until the connection ends."""
    connection.settimeout(None)
    with contextlib.suppress(OSError, ValueError):
        connection.sendall(data)


def in_background(function, *arguments):
    threading.Thread(target=function, args=arguments, daemon=True).start()


@contextlib.contextmanager
def flood(client, data):
    """This client sends what the server reads of it, and reads nothing."""
    in_background(send, client.socket, data)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            client.socket.shutdown(2)


def floods(checks, scene):
    server = scene.server
    with checks.check("attacks: an account that sends as much as it can by both doors takes nothing from others"):
        growth = Growth(server)
        with scene.attacker.here():
            app = scene.app("iago")
            dialog, status = app.dialog("emilia"), 201
        text = f"<message type='chat' to='emilia@localhost'><body>{'x' * 1_000}</body></message>".encode() * 10_000
        with contextlib.ExitStack() as floods:
            for number in range(2):
                floods.enter_context(flood(scene.client("iago", f"flood{number}"), text))
            growth.until("parley_sending_pauses_total")
            with scene.attacker.here():
                for number in range(2_000):
                    status, answer = app.call("POST", f"/v1/dialogs/{dialog}/messages", {
                        "clientId": f"flood{number}", "content": {"type": "text", "text": "I am not what I am"}})
                    if status != 201:
                        break
            expect((status, answer.get("code")) == (429, "messages-too-fast"), f"{status} {answer}")
            scene.prove()


def answers(checks, scene):
    """One read of the socket has a hundred requests whose answers have two megabytes each, from an account that may send anything."""
    server, count = scene.server, 100
    client = scene.client("othello", "reader")
    with held([client]), checks.check("attacks: a hundred requests for a large roster in one piece are answered in order, as they are read"):
        groups = "".join(f"<group>{number:02}{'&amp;' * 198}</group>" for number in range(32))
        for number in range(60):
            item = f"<item jid='c{number}@elsewhere.example'>{groups}</item>"
            expect(client.ask(f"<query xmlns='jabber:iq:roster'>{item}</query>").get("type") == "result", f"contact {number} is refused")
        before, numbers, rest = server.memory, [], b""
        client.send("".join(f"<iq type='get' id='large{number}'><query xmlns='jabber:iq:roster'/></iq>" for number in range(count)))
        scene.prove()
        taken = server.memory - before
        expect(taken < BOUND // 2, f"{taken // MIB} MiB for answers that nobody reads")
        client.socket.settimeout(PATIENCE)
        while len(numbers) < count:
            piece = client.socket.recv(1 << 20)
            expect(piece, f"the stream ends behind {len(numbers)} answers")
            rest += piece
            end = 0
            for match in re.finditer(rb" id='large(\d+)'", rest):
                numbers.append(int(match[1]))
                end = match.end()
            # The next id may be cut.
            rest = rest[max(end, len(rest) - 32):]
        expect(numbers == list(range(count)), f"{numbers}")
        scene.prove()


def elements(checks, scene):
    server, count = scene.server, 64
    with checks.check("attacks: an account's elements that are no stanzas, and commands that there are not, take nothing from others"):
        growth = Growth(server)
        text = f"<r xmlns='{SM}'/><active xmlns='urn:xmpp:csi:0'/>".encode() * 20_000
        with flood(scene.client("iago", "elements"), text):
            growth.until("parley_sending_pauses_total", bound="stanzas")
            scene.prove()
        growth = Growth(server)
        with scene.attacker.here():
            app = scene.app("cassio").connect()
        # Five seconds' stanzas, and what others make of the time that it takes.
        for _ in range(1_500):
            app.socket.send('{"id":"none","type":"no.such"}')
        growth.until("parley_sending_pauses_total", bound="stanzas")
        scene.prove()
        app.socket.socket.shutdown(2)
    with checks.check("attacks: a client sends few elements before it has logged in"):
        with held([scene.dial(XMPP)]) as (connection,):
            connection.sendall(HEADER.encode())
            said = b""
            while b"</stream:features>" not in said:
                said += connection.recv(65_536)
            connection.sendall(f"<enable xmlns='{SM}'/>".encode() * (count + 1))
            said = b""
            while data := connection.recv(65_536):
                said += data
            expect(said.count(b"<failed") == count and b"<policy-violation" in said, f"{said[-300:]}")


def upgrade(path, subprotocol):
    return (f"GET {path} HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: {subprotocol}\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n").encode()


def begun(length, text):
    """The beginning of a frame of so many bytes, with a mask that changes nothing (RFC 6455 5.2)."""
    return b"\x81\xfe" + struct.pack(">H", length) + bytes(4) + text


def posted(path, length, text):
    return f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode() + text


# What a client may begin before its login, and never ends.
BEGINNINGS = [
    (XMPP, False, b""), (DIRECT, False, b""), (HTTP, False, b""), (HTTPS, False, b""),
    (XMPP, False, f"{HEADER}<message>{'<a/>' * 150}{'x' * 9_000}".encode()),
    (DIRECT, True, f"{HEADER}<message>{'<a/>' * 150}{'x' * 9_000}".encode()),
    (HTTPS, True, upgrade("/xmpp-websocket", "xmpp") + begun(10_000, b"<message xmlns='jabber:client'>" + b"x" * 9_000)),
    (HTTPS, True, upgrade("/v1/ws", "parley.v1") + begun(60_000, b'{"id":"' + b"x" * 50_000)),
    (HTTPS, True, posted("/http-bind", 12_000, b"<body xmlns='http://jabber.org/protocol/httpbind'>" + b"x" * 9_000)),
    (HTTP, False, posted("/v1/sessions", 65_000, b" " * 64_000)), (HTTP, False, posted("/v1/nothing", 65_000, b" " * 64_000)),
]


def before_login(checks, scene):
    """One network begins everything that can be begun without a login, each as often as there are places."""
    server = scene.server
    with checks.check("attacks: what one network begins before a login, at all ports and in all ways together, keeps nobody of another out"):
        growth, before = Growth(server), server.memory
        with held([]) as attack:
            for port, is_secured, text in BEGINNINGS:
                # In all as many as the server may have files.
                for _ in range(WITHOUT_LOGIN // (4 if is_secured else 2)):
                    # The server may have ended it already.
                    with contextlib.suppress(OSError):
                        connection = scene.secured(port) if is_secured else scene.dial(port)
                        attack.append(connection)
                        connection.sendall(text)
                scene.prove()
            until("the end of all but as many as there are places", lambda: sum(map(is_open, attack)) <= 2 * WITHOUT_LOGIN)
            expect(server.open_files < FILES - 40, f"{server.open_files} of {FILES} files are open")
            taken = server.memory - before
            expect(taken < BOUND, f"{taken // MIB} MiB for what nobody has logged in for")
            scene.prove()
        growth.until("parley_refusals_total", rate="connections")
        expect(Scrape(server)("parley_accept_pauses_total") == 0, "the descriptors were used up")


def enter(client, room):
    nick = f"{room}/{client.name}"
    client.send(f"<presence to='{nick}'><x xmlns='{MUC}'><history maxstanzas='0'/></x></presence>")
    answer = client.stanza(lambda s: s.tag.endswith("}presence") and s.get("from") == nick, f"an answer from {room}")
    expect(answer.get("type") is None, f"{client.name} cannot enter {room}: {answer.attrib}")


def found(scene, name, room):
    """The owner of a new room, who is in it."""
    owner = scene.client(name, "throne")
    enter(owner, room)
    answer = owner.ask(f"<query xmlns='{MUC}#owner'><x xmlns='jabber:x:data' type='submit'/></query>", to=room)
    expect(answer.get("type") == "result", f"{room} is not made")
    return owner


def read_all(client):
    client.socket.settimeout(None)
    with contextlib.suppress(OSError, ValueError):
        while client.socket.recv(65_536):
            pass


def rooms(checks, scene):
    """In a room with more sessions than a small one has, an occupant changes the nick, another enters and leaves, and a third sends, each as much
    as one can."""
    server, room, changes = scene.server, "court@conference.localhost", 100
    owner, crowd = found(scene, "othello", room), scene.crowd(62)
    masked, guest, talker = (scene.client(name, "attack") for name in ("iago", "cassio", "emilia"))
    with held([owner, masked, guest, talker, *crowd]):
        for client in (masked, guest, talker, *crowd):
            enter(client, room)
        for client in crowd:
            in_background(read_all, client)
        with checks.check("attacks: who changes the nick, enters and leaves in a room without end takes nothing from people outside"):
            masked.send("".join(f"<presence to='{room}/iago{number}'/>" for number in range(changes)))
            guest.send("".join(
                f"<presence type='unavailable' to='{room}/cassio'/><presence to='{room}/cassio'><x xmlns='{MUC}'/></presence>"
                for number in range(changes)))
            scene.prove()
            for client in (masked, guest):
                client.stanza(lambda s: s.tag.endswith("}presence") and s.get("type") == "error", f"a refusal for {client.name}")
                # Those before it are not refused.
                expect(any(stanza.get("type") is None and (stanza.get("from") or "").startswith(f"{room}/{client.name}")
                           for stanza in client.kept), f"all changes of {client.name} are refused")
                expect(client.ask(PING, "get", "localhost").get("type") == "result", "no answer behind the changes")
        with checks.check("attacks: who floods a room takes nothing from people outside"):
            growth = Growth(server)
            with flood(talker, f"<message type='groupchat' to='{room}'><body>{'x' * 200}</body></message>".encode() * 5_000):
                growth.until("parley_sending_pauses_total")
                scene.prove()


def deaf(checks, scene):
    """Sessions that read nothing, in a room in which statuses of 4 kB change: up to 4 MiB of each, if nothing bounds their sum."""
    server, room = scene.server, "feast@conference.localhost"
    owner, crowd = found(scene, "othello", room), scene.crowd(120)
    with held([owner, *crowd]), checks.check("attacks: sessions that read nothing take no more than a quarter of the memory, in all"):
        for client in crowd:
            enter(client, room)
        before = server.memory
        status = f"<presence to='{room}/othello'><status>{'x' * 4_000}</status></presence>"
        for _ in range(45):
            owner.send(status * 20)
            expect(owner.ask(PING, "get", "localhost").get("type") == "result", "no answer behind the statuses")
            owner.kept = []
        scene.prove()
        taken = server.memory - before
        expect(taken < MEMORY // 4, f"{taken // MIB} MiB for what nobody reads")
    with checks.check("attacks: none of them has made the server take more than half of the memory that it may"):
        expect(server.peak < MEMORY // 2, f"{server.peak // MIB} MiB")


def requests(checks, scene):
    server = scene.server
    with checks.check("attacks: thousands of HTTP requests that one network sends at once on each connection take no memory"):
        before = server.memory
        many = b"GET /v1/info HTTP/1.1\r\nHost: a\r\n\r\n" * 1_800
        with held([scene.dial(HTTP) for _ in range(WITHOUT_LOGIN * 3 // 4)]) as attack:
            for connection in attack:
                connection.sendall(many)
            for connection in attack:
                expect(connection.recv(1), "a connection was closed")
            taken = server.memory - before
            # Decoded, they were a megabyte for each connection.
            expect(taken < BOUND, f"{taken // MIB} MiB for requests that nobody has answered yet")
        scene.prove()
    with checks.check("attacks: paths that are not there are looked up at a rate"):
        count, data = 1_500, b""
        with held([scene.dial(HTTP)]) as [connection]:
            connection.sendall(b"".join(b"GET /nothing/%d HTTP/1.1\r\nHost: a\r\n\r\n" % number for number in range(count)))
            while (statuses := collections.Counter(re.findall(rb"HTTP/1\.1 (\d+) ", data))).total() < count:
                more = connection.recv(1 << 20)
                expect(more, f"the connection ended behind {statuses}")
                data += more
        expect(set(statuses) == {b"404", b"429"} and statuses[b"404"] >= 500, f"{statuses}")


ATTACKS = [downloads, floods, answers, elements, before_login, requests, rooms, deaf]


def run(checks):
    with Internet("parley", "attacker", "witness") as internet:
        scene = Scene(internet)
        for attack in ATTACKS:
            attack(checks, scene)
        with checks.check("attacks: the server goes on and has nothing to complain of"):
            expect(scene.server.process.poll() is None, "the server is gone")
            expect("request failed" not in scene.server.said(), scene.server.tail())
