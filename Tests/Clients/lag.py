"""A client that acknowledges late, or not for a long time, lags: it loses neither its session nor a message (XEP-0198)."""
from harness import App, Server, expect
from wire import SM, STANZAS, XMPP

MUC = "http://jabber.org/protocol/muc"
SAID = 1500
# DoorLimits.unacknowledgedMax, and what may be under way when it is noticed.
OWED = 512


class Listener(XMPP):
    """Counts what it is told, as XEP-0198 4 wants it, and says so only when asked to."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.handled, self.bodies = 0, []

    def parse(self, data):
        found = super().parse(data)
        for stanza in found:
            if stanza.tag in STANZAS:
                self.handled += 1
                body = stanza.findtext("{jabber:client}body")
                if body is not None:
                    self.bodies.append(body)
        return [s for s in found if s.tag not in STANZAS or s.get("type") == "result"]

    def acknowledge(self):
        self.send(f"<a xmlns='{SM}' h='{self.handled}'/>")

    def in_step(self):
        """Everything that was told before now has been read: a ping comes back behind it."""
        self.send("<iq to='localhost' type='get' id='step'><ping xmlns='urn:xmpp:ping'/></iq>")
        self.stanza(lambda s: s.get("id") == "step", "the answer to a ping")


def run(checks):
    with Server(xmpp__plaintext="true").start() as server:
        server.add_users("romeo", "juliet", "nurse")
        server.befriend("romeo", "juliet")
        romeo = App(server, "romeo")
        dialog = romeo.dialog("juliet")
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
            for text in expected[:1000]:
                romeo.say(dialog, text)
            juliet.in_step()
            expect(len(juliet.bodies) <= OWED, f"{len(juliet.bodies)} messages were told to a client that acknowledges none")
            expect(juliet.bodies == expected[:len(juliet.bodies)], f"not in order: {juliet.bodies}")
        with checks.check("lag: it comes back on a new stream, and still owes"):
            juliet.close()
            for text in expected[1000:]:
                romeo.say(dialog, text)
            juliet.connect(bind=False)
            juliet.send(f"<resume xmlns='{SM}' previd='{resumption}' h='{juliet.handled}'/>")
            juliet.stanza(lambda s: s.tag == f"{{{SM}}}resumed", "resumed")
        with checks.check("lag: what it acknowledges makes room, and it gets everything once and in order"):
            while len(juliet.bodies) < SAID:
                before = len(juliet.bodies)
                juliet.acknowledge()
                juliet.in_step()
                expect(len(juliet.bodies) > before, f"nothing comes behind {before} messages")
            juliet.acknowledge()
            juliet.in_step()
            expect(juliet.bodies == expected, f"{len(juliet.bodies)} messages, not in order or not once")
        with checks.check("lag: afterwards it is told at once, as anybody"):
            romeo.say(dialog, "at last")
            juliet.in_step()
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
            romeo.say(dialog, "aloud")
            juliet.in_step()
            expect(len(juliet.bodies) <= OWED, f"{len(juliet.bodies)} were told to a client that acknowledges none")
            while len(juliet.bodies) < len(whispered) + 1:
                before = len(juliet.bodies)
                juliet.acknowledge()
                juliet.in_step()
                expect(len(juliet.bodies) > before, f"nothing comes behind {before} whispers")
            juliet.acknowledge()
            juliet.in_step()
            expect(juliet.bodies == whispered + ["aloud"], f"{len(juliet.bodies)} messages, not in order or not once")
            nurse.close()
        juliet.close()
