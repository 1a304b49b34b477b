"""A client that acknowledges late, or not for a long time, lags: it loses neither its session nor a message (XEP-0198).
So does one that reads nothing at all, and it costs the server no memory to speak of.
"""
import pathlib
import socket
import threading

from lib.apps import App
from lib.harness import PATIENCE, Failure, Server, expect
from lib.scrape import shows
from lib.wire import SM, STANZAS, XMPP

MUC = "http://jabber.org/protocol/muc"
SAID = 1500
# DoorLimits.unacknowledgedMax, and what may be under way when it is noticed.
OWED = 512
# More than XMPPLimits.unacknowledgedItemsMax.
UNARCHIVED = 2500
# Bytes that the kernel may keep for a client: `UnsentBytes.most`, the segment that exceeds it, and what is under way.
KEPT = 512 << 10
# Contacts and the bytes of each one's item: together more than `XMPPLimits.unacknowledgedBytesMax`.
PUBLISHERS, ITEM = 30, 48_000
# Clients write here as much as the server reads, which is what a user may send (`sending`) otherwise.
FAST = dict(sending__stanzas_per_second=1_000_000, sending__bytes_per_second=1 << 30)


class Listener(XMPP):
    """Counts what it is told, as XEP-0198 4 wants it, and says so only when asked to."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.handled, self.bodies = 0, []
        # Whose items it is told (XEP-0163); the id of what the server asks it.
        self.publishers, self.asked = [], None

    def parse(self, data):
        found = super().parse(data)
        for stanza in found:
            if stanza.tag in STANZAS:
                self.handled += 1
                body = stanza.findtext("{jabber:client}body")
                if body is not None:
                    self.bodies.append(body)
                if stanza.find("{http://jabber.org/protocol/pubsub#event}event") is not None:
                    self.publishers.append(stanza.get("from"))
                if stanza.find("{http://jabber.org/protocol/disco#info}query") is not None:
                    self.asked = stanza.get("id")
        return [s for s in found if s.tag not in STANZAS or s.get("type") == "result"]

    def acknowledge(self):
        self.send(f"<a xmlns='{SM}' h='{self.handled}'/>")

    def gather(self, told, count, what):
        """Reads until so many have been told. The log is read beside the stream: an answer may come before what is older."""
        while len(told) < count:
            self.kept += self.read(PATIENCE, what)

    def in_step(self):
        """Everything that was told before now has been read: a ping comes back behind it."""
        self.send("<iq to='localhost' type='get' id='step'><ping xmlns='urn:xmpp:ping'/></iq>")
        self.stanza(lambda s: s.get("id") == "step", "the answer to a ping")


class Speakers:
    """Apps that write to juliet, each no more than a user may at once (`sending`): it is said as fast as the machine can."""
    EACH = 900

    def __init__(self, server, *names):
        self.apps = [App(server, name) for name in names]
        self.dialogs = [app.dialog("juliet") for app in self.apps]

    def say(self, number, text, client_id=None):
        self.apps[number // self.EACH].say(self.dialogs[number // self.EACH], text, client_id)


class Deaf(Listener):
    """Reads nothing for a while."""

    def fill(self, most):
        """Asks for more and more until no more can be written. The number of requests, and what of the last is left over."""
        self.socket.settimeout(1)
        asked, written = 0, 0
        while written < most:
            asked += 1
            request = f"<iq to='localhost' type='get' id='{asked}-{'x' * 1000}'><ping xmlns='urn:xmpp:ping'/></iq>".encode()
            begun = 0
            while begun < len(request):
                try:
                    begun += self.socket.send(request[begun:])
                except TimeoutError:
                    return asked, request[begun:]
            written += begun
        raise Failure(f"{written} bytes of requests were read from a client that reads no answer")

    def hear(self, rest, last):
        """Reads on; what is left of a request is sent meanwhile. The ids of the answers, up to the last."""
        connection = self.socket
        connection.settimeout(None)
        sender = threading.Thread(target=connection.sendall, args=(rest,), daemon=True)
        sender.start()
        ids = []
        while not ids or ids[-1] != last:
            ids.append(int(self.stanza(lambda s: "-xxx" in s.get("id", ""), "an answer").get("id").split("-")[0]))
        sender.join()
        return ids


def unsent(port, client):
    """Bytes that the server's socket for a client has not got rid of."""
    for name in "tcp", "tcp6":
        for line in pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]:
            _, local, remote, _, queues, *_ = line.split()
            if [int(address.split(":")[1], 16) for address in (local, remote)] == [port, client]:
                return int(queues.split(":")[0], 16)
    raise Failure(f"there is no connection from port {client}")


def resident(server):
    """Bytes of memory that the server has."""
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return 1024 * int(status.split("VmRSS:")[1].split()[0])


def last_items(checks, server):
    """Last items of contacts (XEP-0163 4.3.4), together more than stream management holds: they come as they are taken."""
    names = [f"friend{number}" for number in range(PUBLISHERS)]
    server.add_users("paris", *names)
    for name in names:
        server.befriend("paris", name)
        friend = XMPP(name, server.xmpp)
        friend.connect()
        friend.send("<iq type='set' id='p'><pubsub xmlns='http://jabber.org/protocol/pubsub'><publish node='urn:example:news'>"
                    f"<item id='i'><news xmlns='urn:example:news'>{'x' * ITEM}</news></item></publish></pubsub></iq>")
        friend.stanza(lambda s: s.get("id") == "p" and s.get("type") == "result", "the publication")
        friend.close()
    paris = Listener("paris", server.xmpp)
    paris.connect()
    paris.send(f"<enable xmlns='{SM}' resume='true'/>")
    paris.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "enabled")
    paris.handled = 0
    with checks.check("lag: last items of contacts wait for who does not acknowledge, and come when it does"):
        paris.send("<presence><c xmlns='http://jabber.org/protocol/caps' hash='sha-1' node='urn:lag' ver='lag'/></presence>")
        paris.in_step()
        paris.send(f"<iq type='result' id='{paris.asked}' to='localhost'><query xmlns='http://jabber.org/protocol/disco#info'>"
                   "<feature var='urn:example:news+notify'/></query></iq>")
        for _ in range(5):
            paris.in_step()
        expect(len(paris.publishers) < PUBLISHERS, "all came at once, more than may be unacknowledged")

        while len(paris.publishers) < PUBLISHERS:
            paris.acknowledge()
            paris.gather(paris.publishers, len(paris.publishers) + 1, "what there is room for")
        expect(sorted(paris.publishers) == sorted(f"{name}@localhost" for name in names), f"{paris.publishers}")
    paris.close()


def unarchived(checks, server):
    """Offline messages that no archive has (XEP-0334 4.3), more than may be unacknowledged, for a client that reads its archive."""
    server.add_users("tybalt", "paris_elder")
    server.befriend("tybalt", "paris_elder")
    tybalt = Listener("tybalt", server.xmpp)
    tybalt.connect()
    expected = [f"unarchived {number}" for number in range(UNARCHIVED)]
    for text in expected:
        tybalt.send(f"<message type='chat' to='paris_elder@localhost'><body>{text}</body>"
                    "<no-permanent-store xmlns='urn:xmpp:hints'/></message>")
    tybalt.in_step()
    tybalt.close()
    reader = Listener("paris_elder", server.xmpp)
    reader.connect()
    reader.send(f"<enable xmlns='{SM}' resume='true'/><iq type='set' id='archive'><query xmlns='urn:xmpp:mam:2'/></iq>")
    reader.stanza(lambda s: s.get("id") == "archive", "the end of the archive")
    # The answer is the only stanza since stream management was enabled.
    reader.handled, reader.bodies = 1, []
    with checks.check("lag: what no archive has comes as it is acknowledged, and ends no session"):
        reader.send("<presence/>")
        reader.gather(reader.bodies, 1, "the first of them")
        for _ in range(5):
            reader.in_step()
        expect(len(reader.bodies) < UNARCHIVED, "all came at once, more than may be unacknowledged")
        while len(reader.bodies) < UNARCHIVED:
            reader.acknowledge()
            reader.gather(reader.bodies, len(reader.bodies) + 1, "what there is room for")
        reader.acknowledge()
        reader.in_step()
        expect(reader.bodies == expected, f"{len(reader.bodies)} messages, not in order or not once")
    reader.close()


def others(checks, server):
    """What others send and nothing stores, more than may be unacknowledged."""
    server.add_users("iago", "emilia")
    iago, emilia = Listener("iago", server.xmpp), Listener("emilia", server.xmpp)
    for client in iago, emilia:
        client.connect()
    emilia.send(f"<enable xmlns='{SM}' resume='true'/>")
    emilia.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "enabled")
    emilia.handled = 0
    emilia.send("<presence/>")
    emilia.in_step()
    emilia.acknowledge()
    with checks.check("lag: headlines of a quarter of a megabyte end nobody's session, and what is said comes when they are acknowledged"):
        for _ in range(3):
            emilia.bodies.clear()
            iago.send(f"<message type='headline' to='emilia@localhost'><body>{'y' * 250_000}</body></message>" * 5
                      + "<message type='chat' to='emilia@localhost'><body>said</body></message>")
            iago.in_step()
            emilia.in_step()
            expect([len(body) for body in emilia.bodies] == [250_000] * 4, f"{[len(body) for body in emilia.bodies]}")
            emilia.acknowledge()
            emilia.gather(emilia.bodies, 5, "what was said")
            expect(emilia.bodies[4] == "said", f"{emilia.bodies[4][:80]}")
            emilia.acknowledge()
    for client in iago, emilia:
        client.close()


def deaf(checks):
    with Server(xmpp__plaintext="true", **FAST).start() as server:
        server.add_users("romeo", "juliet", "nurse", "paris")
        for name in "romeo", "nurse", "paris":
            server.befriend(name, "juliet")
        speakers = Speakers(server, "romeo", "nurse", "paris")
        juliet = Deaf("juliet", server.xmpp)
        juliet.connect()
        # Little is to be on its way in the system's buffers; less than a few segments, and nobody tells the server at once that
        # there is room again.
        juliet.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 18)
        juliet.send("<presence/>")
        juliet.in_step()
        with checks.check("lag: who reads no answers is asked for no more requests"):
            asked, rest = juliet.fill(48 << 20)
            shows(server, "that she lags", lambda scrape: scrape("parley_sessions_lagging", door="xmpp") == 1)
        with checks.check("lag: the system keeps little of what she does not read"):
            waiting = unsent(server.xmpp, juliet.socket.getsockname()[1])
            expect(0 < waiting < KEPT, f"{waiting} bytes wait in the server's socket")
        said = [f"{number} {'x' * 9000}" for number in range(3 * Speakers.EACH)]
        with checks.check("lag: nothing is queued for who reads nothing"):
            for number, text in enumerate(said[:1000]):  # more than the store keeps of its pages in memory
                speakers.say(number, text, str(number))
            before = resident(server)
            for number, text in enumerate(said[1000:], 1000):
                speakers.say(number, text, str(number))
            grown = resident(server) - before
            expect(grown < 8 << 20, f"{grown} bytes more for {sum(map(len, said[1000:]))} bytes of messages")
        with checks.check("lag: who reads again gets every answer and every message once and in order"):
            ids = juliet.hear(rest, asked)
            expect(ids == list(range(1, asked + 1)), f"{len(ids)} answers to {asked} requests, or not in order")
            juliet.gather(juliet.bodies, len(said), "every message")
            juliet.in_step()
            expect(juliet.bodies == said, f"{len(juliet.bodies)} messages, not in order or not once")
            shows(server, "that she lags no more", lambda scrape: scrape("parley_sessions_lagging") == 0)
        with checks.check("lag: who asks for a hundred pages of the archive at once gets them as it reads, and costs a few"):
            asker = Listener("juliet", server.xmpp, "asker")
            asker.connect()
            before = resident(server)
            asker.send("".join(
                f"<iq type='set' id='page{number}'><query xmlns='urn:xmpp:mam:2'><set xmlns='http://jabber.org/protocol/rsm'>"
                "<max>100</max></set></query></iq>" for number in range(100)))
            # Time enough for the server to do as much as it is going to.
            for _ in range(2000):
                juliet.in_step()
            grown = resident(server) - before
            for number in range(100):
                asker.stanza(lambda s: s.get("id") == f"page{number}", f"page {number}")
            expect(grown < 16 << 20, f"{grown} bytes for pages that nobody reads")
            asker.close()
        juliet.close()


def run(checks):
    deaf(checks)
    with Server(xmpp__plaintext="true", **FAST).start() as server:
        server.add_users("romeo", "juliet", "nurse")
        for name in "romeo", "nurse":
            server.befriend(name, "juliet")
        speakers = Speakers(server, "romeo", "nurse")
        expected = [f"{number}" for number in range(SAID)]
        juliet = Listener("juliet", server.xmpp)
        juliet.connect()
        juliet.send(f"<enable xmlns='{SM}' resume='true'/>")
        resumption = juliet.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "enabled").get("id")
        juliet.handled = 0
        juliet.send("<presence/>")
        juliet.in_step()
        juliet.acknowledge()
        with checks.check("lag: a client that does not acknowledge is told so much and no more"):
            for number in range(1000):
                speakers.say(number, expected[number])
            juliet.in_step()
            # What she sends is read in pieces (DoorLimits.elementsAtOnce). No pause in between makes room for more.
            for _ in range(3):
                juliet.send(f"<r xmlns='{SM}'/>" * 1000)
                juliet.in_step()
            expect(len(juliet.bodies) <= OWED, f"{len(juliet.bodies)} messages were told to a client that acknowledges none")
            expect(juliet.bodies == expected[:len(juliet.bodies)], f"not in order: {juliet.bodies}")
        with checks.check("lag: it comes back on a new stream, and still owes"):
            juliet.close()
            for number in range(1000, SAID):
                speakers.say(number, expected[number])
            juliet.connect(bind=False)
            juliet.send(f"<resume xmlns='{SM}' previd='{resumption}' h='{juliet.handled}'/>")
            juliet.stanza(lambda s: s.tag == f"{{{SM}}}resumed", "resumed")
        with checks.check("lag: what it acknowledges makes room, and it gets everything once and in order"):
            while len(juliet.bodies) < SAID:
                juliet.acknowledge()
                juliet.gather(juliet.bodies, len(juliet.bodies) + 1, "what there is room for")
            juliet.acknowledge()
            juliet.in_step()
            expect(juliet.bodies == expected, f"{len(juliet.bodies)} messages, not in order or not once")
        with checks.check("lag: afterwards it is told at once, as anybody"):
            speakers.say(0, "at last")
            juliet.gather(juliet.bodies, len(juliet.bodies) + 1, "what is told at once")
            expect(juliet.bodies[-1] == "at last", f"{juliet.bodies[-1]}")
        with checks.check("lag: what is whispered in a room meanwhile (XEP-0045 7.5) comes as late, once and in order"):
            room = "verona@conference.localhost"
            nurse = Listener("nurse", server.xmpp)
            nurse.connect()
            nurse.send(f"<presence to='{room}/Nurse'><x xmlns='{MUC}'/></presence><iq type='set' id='found' to='{room}'>"
                       f"<query xmlns='{MUC}#owner'><x xmlns='jabber:x:data' type='submit'/></query></iq>")
            nurse.stanza(lambda s: s.get("id") == "found", "a room")
            juliet.send(f"<presence to='{room}/Juliet'><x xmlns='{MUC}'/></presence>")
            juliet.in_step()
            juliet.acknowledge()
            juliet.bodies.clear()
            whispered = [f"psst {number}" for number in range(OWED + 300)]
            for text in whispered:
                nurse.send(f"<message type='chat' to='{room}/Juliet'><body>{text}</body></message>")
            nurse.in_step()
            speakers.say(0, "aloud")
            juliet.in_step()
            expect(len(juliet.bodies) <= OWED, f"{len(juliet.bodies)} were told to a client that acknowledges none")
            while len(juliet.bodies) < len(whispered) + 1:
                juliet.acknowledge()
                juliet.gather(juliet.bodies, len(juliet.bodies) + 1, "what there is room for")
            juliet.acknowledge()
            juliet.in_step()
            expect(juliet.bodies == whispered + ["aloud"], f"{len(juliet.bodies)} messages, not in order or not once")
            nurse.close()
        juliet.close()
        last_items(checks, server)
        unarchived(checks, server)
        others(checks, server)
