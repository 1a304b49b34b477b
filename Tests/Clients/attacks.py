"""One account, one network or one room cannot harm the others: each attack is sent, in bounded form, to a server with the limits of a small machine
(1,024 open files, 1 GiB), from a network of its own, while witnesses in another network log in and write by both doors. What is counted are
connections, refusals and bytes; no time is. Attacks by downloads alone, by what one account sends and by connections on one machine are in
`downloads`, `sending` and `networks`; those by names that paths use, and by nicks in other letters, are in `Tests/Plays`.
"""
import collections
import contextlib
import json
import random
import re
import ssl
import threading
import urllib.parse

import websockets.exceptions
import websockets.sync.client

from lib.apps import exchange_json
from lib.files import PIECE, ask, upload
from lib.harness import PASSWORD, PATIENCE, expect, until
from lib.internet import Internet
from lib.partners import DIRECT, XMPP
from lib.scrape import Growth, Scrape
from lib.wire import BODY, HEADER, SM, is_open
from lib.witnesses import FILES, HTTP, HTTPS, MEMORY, MIB, Scene, held

# What the server makes of its open files (docs/operations.md, "Size of the machine").
WITHOUT_LOGIN, DOWNLOADS = FILES // 4, FILES // 16
# A part of a stanza that is large for what comes before a login, and takes many times its bytes in memory.
HALF = "<message>" + "<a/>" * 3_800
PING = "<ping xmlns='urn:xmpp:ping'/>"
MUC = "http://jabber.org/protocol/muc"
COURT = "court@conference.localhost"
DELAYED = "parley_tls_handshakes_delayed_total"


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
            expect(server.memory - before < 64 * MIB, f"{(server.memory - before) // MIB} MiB for downloads that nobody reads")


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
        text = f"<message type='chat' to='emilia@localhost'><body>{'x' * 1_000}</body></message>".encode() * 10_000
        with contextlib.ExitStack() as floods:
            for number in range(2):
                floods.enter_context(flood(scene.client("iago", f"flood{number}"), text))
            growth.until("parley_sending_pauses_total")
            with scene.attacker.here():
                app = scene.app("iago")
                dialog, status = app.dialog("emilia"), 201
                for number in range(2_000):
                    status, answer = app.call("POST", f"/v1/dialogs/{dialog}/messages", {
                        "clientId": f"flood{number}", "content": {"type": "text", "text": "I am not what I am"}})
                    if status != 201:
                        break
            expect((status, answer.get("code")) == (429, "messages-too-fast"), f"{status} {answer}")
            scene.prove()


def silent(checks, scene):
    server = scene.server
    with checks.check("attacks: silent connections of one network to all ports keep nobody of another out"):
        growth = Growth(server)
        with held([scene.dial(port) for port in (XMPP, DIRECT, HTTP, HTTPS) for _ in range(WITHOUT_LOGIN)]) as attack:
            scene.prove()
            until("the end of half of the attack", lambda: sum(map(is_open, attack)) <= 2 * WITHOUT_LOGIN)
            expect(server.open_files < FILES - 40, f"{server.open_files} of {FILES} files are open")
            scene.prove()
        growth.until("parley_refusals_total", rate="connections")
        expect(Scrape(server)("parley_accept_pauses_total") == 0, "the descriptors were used up")


def client_hello():
    """The first message of a handshake of TLS."""
    sent = ssl.MemoryBIO()
    secured = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        secured.do_handshake()
    return sent.read()


def handshakes(checks, scene):
    server, hello = scene.server, client_hello()
    with checks.check("attacks: of one network's handshakes without end some wait, and those of others do not"):
        before = Scrape(server)(DELAYED)
        for _ in range(40):
            for _ in range(500):
                with scene.dial(DIRECT) as connection:
                    connection.sendall(hello)
            if Scrape(server)(DELAYED) > before:
                break
        delayed = Scrape(server)(DELAYED)
        expect(delayed > before, "20,000 handshakes and none has waited")
        with held([scene.dial(DIRECT) for _ in range(50)]) as waiting:
            for connection in waiting:
                connection.sendall(hello)
            scene.prove()
        text = server.said()
        expect("TLS handshakes of a network wait" in text and scene.attacker_address in text, server.tail())
        expect(not re.search(rf"TLS handshakes of a network wait.*{re.escape(scene.home_address)}\b", text), "those of the witnesses wait")


def ends(connection):
    """What comes until the connection ends."""
    connection.settimeout(PATIENCE)
    data = b""
    with contextlib.suppress(ConnectionResetError, ssl.SSLEOFError):
        while more := connection.recv(65_536):
            data += more
    return data


def large(checks, scene):
    """A stanza of 20,000 bytes: 16 KiB are enough for every login."""
    context = ssl.create_default_context(cafile=scene.server.certificate)
    children = "<a/>" * 5_000
    stanza = f"<message xmlns='jabber:client'>{children}</message>"
    with checks.check("attacks: what is larger than a login ends a stream over TCP, before it is whole"):
        with scene.secured() as connection:
            connection.sendall((HEADER + "<message>" + children).encode())
            expect(b"policy-violation" in (data := ends(connection)), f"{data[-300:]}")
    with checks.check("attacks: what is larger than a login ends a stream over a WebSocket"):
        socket = websockets.sync.client.connect(
            "wss://localhost/xmpp-websocket", sock=scene.dial(HTTPS), ssl=context, subprotocols=["xmpp"], compression=None, open_timeout=PATIENCE)
        socket.send("<open xmlns='urn:ietf:params:xml:ns:xmpp-framing' to='localhost' version='1.0'/>")
        frames, code = [], None
        try:
            while "features" not in "".join(frames):
                frames.append(socket.recv(timeout=PATIENCE))
            socket.send(stanza)
            while True:
                frames.append(socket.recv(timeout=PATIENCE))
        except websockets.exceptions.ConnectionClosed as closed:
            code = closed.rcvd and closed.rcvd.code
        expect(code == 1009 or "policy-violation" in "".join(frames), f"{code}: {frames}")
    with checks.check("attacks: what is larger than a login ends a session over BOSH"):
        def post(attributes, payload=""):
            body = f"<body xmlns='http://jabber.org/protocol/httpbind' xmlns:xmpp='urn:xmpp:xbosh' {attributes}>{payload}</body>".encode()
            with scene.secured(HTTPS) as connection:
                connection.sendall(b"POST /http-bind HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: text/xml\r\n"
                                   b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
                return ends(connection).decode()
        made = post("to='localhost' rid='1000' wait='60' hold='1' ver='1.6' xmpp:version='1.0'")
        found = re.search(r" sid=['\"]([^'\"]+)", made)
        expect(found, f"no session: {made}")
        answer = post(f"sid='{found[1]}' rid='1001'", stanza)
        expect(answer.startswith("HTTP/1.1 413") or "policy-violation" in answer, answer)


def halves(checks, scene):
    """2,000 streams of 15 KiB each, which take some 290 MiB in memory where nothing bounds their sum."""
    with scene.configured(files=8_192):
        server = scene.server
        before = server.memory
        with checks.check("attacks: half elements before login take an eighth of the memory at most, in all, and it is given back"):
            with held([scene.dial(XMPP) for _ in range(2_000)]) as attack:
                for connection in attack:
                    in_part(connection, HEADER + HALF)
                scene.prove()
                taken = server.memory - before
                expect(taken < (128 + 32) * MIB, f"{taken // MIB} MiB for what is said before login")
            until("the memory to be given back", lambda: server.memory - before < 64 * MIB)
            scene.prove()


def in_part(connection, text):
    """Sends this; the server may have ended the stream meanwhile."""
    with contextlib.suppress(OSError):
        connection.sendall(text.encode())


def enter(client, nick, room=COURT):
    client.send(f"<presence to='{room}/{nick}'><x xmlns='{MUC}'><history maxstanzas='0'/></x></presence>")
    return client.stanza(
        lambda s: s.tag.endswith("}presence") and (s.get("type") == "error" or s.get("from", "").startswith(room) and any(
            each.get("code") == "110" for each in s.iter(f"{{{MUC}#user}}status"))), f"own presence in {room}")


def found(scene, name, room=COURT):
    """The owner of a new room, who is in it."""
    owner = scene.client(name, "throne")
    expect(enter(owner, name, room).get("type") is None, f"{name} cannot enter")
    answer = owner.ask(f"<query xmlns='{MUC}#owner'><x xmlns='jabber:x:data' type='submit'/></query>", to=room)
    expect(answer.get("type") == "result", f"{room} is not made")
    return owner


def read_all(client):
    client.socket.settimeout(None)
    with contextlib.suppress(OSError, ValueError):
        while client.socket.recv(65_536):
            pass


def rooms(checks, scene):
    """One occupant of a room changes the nick as often as one can, another enters and leaves, and a third sends as much as one may."""
    # More sessions than a small room has (`Limits.fanOutMin`), and more than a user may enter at once.
    server, changes = scene.server, 150
    owner, crowd = found(scene, "othello"), scene.crowd(70)
    observer, talker = (scene.client("emilia", resource) for resource in ("observer", "talker"))
    masked, guest = scene.client("iago", "masked"), scene.client("cassio", "guest")
    with held([owner, observer, talker, masked, guest, *crowd]):
        for client in (observer, masked, *crowd):
            expect(enter(client, client.name).get("type") is None, f"{client.name} cannot enter")
        for client in crowd:
            in_background(read_all, client)
        with checks.check("attacks: changes of nick and entrances in a room are paced, and people outside go on"):
            masked.send("".join(f"<presence to='{COURT}/iago{number}'/>" for number in range(changes)))
            guest.send("".join(
                f"<presence to='{COURT}/cassio'><x xmlns='{MUC}'/></presence><presence type='unavailable' to='{COURT}/cassio'/>"
                for number in range(changes)))
            scene.prove()
            for client in (masked, guest):
                expect(client.ask(PING, "get", "localhost").get("type") == "result", "no answer behind the changes")
            refused = sum(stanza.tag.endswith("}presence") and stanza.get("type") == "error" for stanza in masked.kept)
            owner.send(f"<message type='groupchat' to='{COURT}'><body>now</body></message>")
            seen, arrived = collections.Counter(), observer.kept
            while not seen["now"]:
                for stanza in arrived:
                    seen["now"] += stanza.findtext(BODY) == "now"
                    seen["changes"] += any(each.get("code") == "303" for each in stanza.iter(f"{{{MUC}#user}}status"))
                    seen["entrances"] += stanza.get("from") == f"{COURT}/cassio" and stanza.get("type") is None
                arrived = [] if seen["now"] else observer.read(PATIENCE, "the end")
            expect(0 < seen["changes"] < changes and seen["changes"] + refused == changes, f"{refused} of {changes} refused: {seen}")
            expect(0 < seen["entrances"] < changes, f"{seen}")
        with checks.check("attacks: who floods a room takes nothing from people outside"):
            expect(enter(talker, "emilia").get("type") is None, "she cannot enter")
            growth = Growth(server)
            with flood(talker, f"<message type='groupchat' to='{COURT}'><body>{'x' * 200}</body></message>".encode() * 5_000):
                growth.until("parley_sending_pauses_total")
                scene.prove()


def deaf(checks, scene):
    """Sessions that read nothing, in a room in which statuses of 4 kB change: up to 4 MiB of each, if nothing bounds their sum."""
    server, room = scene.server, "feast@conference.localhost"
    owner, crowd = found(scene, "othello", room), scene.crowd(120)
    with held([owner, *crowd]), checks.check("attacks: sessions that read nothing take no more than a quarter of the memory, in all"):
        for client in crowd:
            expect(enter(client, client.name, room).get("type") is None, f"{client.name} cannot enter")
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


def stop(checks, scene):
    """30 sessions that acknowledge nothing, in a room with 100 messages of 40 kB: 120 MB where a stop stores what they were sent."""
    server, room, count = scene.server, "tower@conference.localhost", 100
    owner, crowd, ids = found(scene, "othello", room), scene.crowd(30), []
    for client in crowd:
        enter(client, client.name, room)
        client.send(f"<enable xmlns='{SM}' resume='true'/>")
        ids.append(client.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "enabled").get("id"))
    for number in range(count):
        owner.send(f"<message type='groupchat' to='{room}'><body>{number} {'x' * 40_000}</body></message>")
        owner.stanza(lambda s: (s.findtext(BODY) or "").startswith(f"{number} "), f"message {number}")
    with checks.check("attacks: a stop stores where sessions are, and not what they have not acknowledged"):
        before = server.stored
        server.stop()
        expect(server.process.returncode == 0, f"status {server.process.returncode}")
        grown = server.stored - before
        expect(grown < 8 * MIB, f"the stop has written {grown // MIB} MiB")
    scene.leave()
    server.start()
    scene.arrive()
    with held([owner, *crowd]), checks.check("attacks: behind the stop they are resumed with all that they have not acknowledged"):
        scene.prove()
        client = crowd[-1]
        client.close()
        client.kept = []
        with scene.attacker.here():
            client.connect(bind=False)
        client.send(f"<resume xmlns='{SM}' previd='{ids[-1]}' h='0'/>")
        client.stanza(lambda s: s.tag == f"{{{SM}}}resumed", "a resumption")
        for number in range(count):
            client.stanza(lambda s: (s.findtext(BODY) or "").startswith(f"{number} "), f"message {number}")


def external_ids(checks, scene):
    server = scene.server
    with checks.check("attacks: a group by an external id is in nobody's way who uses the same id, neither a user's nor the backend's"):
        def group(call, external, **more):
            return call("POST", "/v1/dialogs", {"type": "group", "name": external, "externalId": external, **more})
        with scene.attacker.here():
            iago = scene.app("iago")
            status, theirs = group(iago.call, "order-17", memberIds=["juliet"])
            expect(status == 201, f"{status} {theirs}")
        status, own = group(scene.juliet.call, "order-17")
        expect(status == 201 and own["id"] != theirs["id"], f"{status}: the victim's request is answered with {own}")
        status, again = group(scene.juliet.call, "order-17")
        expect((status, again["id"]) == (200, own["id"]), f"{status}: a repeat is another dialog: {again}")
        key = json.loads(server.run("key", "add", "backend", "--scope", "*", "--json"))["secret"]
        order = {"owner": "romeo", "externalId": "order-17", "name": "Order 17"}
        status, _, made = exchange_json("POST", server.base + "/v1/admin/dialogs", order, key)
        expect(status == 201 and made["id"] not in (own["id"], theirs["id"]), f"{status}: the backend is answered {made}")


def by_http(server, name):
    status, _, answer = exchange_json("POST", server.base + "/v1/users", {"username": name, "password": PASSWORD})
    return status, answer


def in_band(scene, name):
    """The condition of the error that registration over XMPP (XEP-0077) is answered with; nil for an account."""
    with scene.secured() as connection:
        connection.sendall((
            HEADER + f"<iq type='set' id='r'><query xmlns='jabber:iq:register'><username>{name}</username><password>{PASSWORD}</password></query></iq>"
            "</stream:stream>").encode())
        data = ends(connection).decode()
    found = re.search(r"<iq [^>]*type=['\"](\w+)['\"]", data)
    expect(found, f"no answer: {data}")
    return None if found[1] == "result" else data


def registrations(checks, scene):
    """As many as one network can, where anybody may register: half of an hour's ten at once, over both doors together."""
    with scene.configured(registration="true", signup__proof="false"):
        server = scene.server
        with checks.check("attacks: one network registers a few accounts, over both doors together, and another network goes on"):
            growth = Growth(server)
            created = sum(in_band(scene, f"clone{number}") is None for number in range(3))
            with scene.attacker.here():
                answers = [by_http(server, f"robot{number}") for number in range(30)]
            created += sum(status == 201 for status, _ in answers)
            status, problem = answers[-1]
            expect((status, problem.get("code")) == (429, "registrations-too-fast") and problem["retryAfter"] > 0, f"{status} {problem}")
            expect(in_band(scene, "clone3") is not None, "and one over XMPP")
            expect(created == 5, f"{created} accounts")
            growth.until("parley_refusals_total", rate="new-accounts")
            with scene.home.here():
                status, answer = by_http(server, "rosaline")
            expect(status == 201, f"{status} {answer}")
            scene.prove()
    with scene.configured(registration="true"):
        with checks.check("attacks: a program without a proof of work registers nobody, over either door"):
            with scene.attacker.here():
                answers = [by_http(scene.server, f"drone{number}") for number in range(20)]
            expect({(status, answer.get("code")) for status, answer in answers} == {(403, "registration-proof-required")}, f"{answers}")
            expect(all(in_band(scene, f"drone{number}") is not None for number in range(20, 25)), "one over XMPP")
            expect("drone" not in scene.server.run("user", "list"), "there is one")
            scene.prove()


ATTACKS = [
    downloads, floods, silent, handshakes, large, rooms, deaf, stop, external_ids, halves, registrations,
]


def run(checks):
    with Internet("parley", "attacker", "witness") as internet:
        scene = Scene(internet)
        for attack in ATTACKS:
            attack(checks, scene)
        with checks.check("attacks: the server goes on and has nothing to complain of"):
            expect(scene.server.process.poll() is None, "the server is gone")
            expect("request failed" not in scene.server.said(), scene.server.tail())
