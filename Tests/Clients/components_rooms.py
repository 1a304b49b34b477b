"""People of a component (XEP-0114) in rooms here (XEP-0045): they enter, talk, whisper, read history and archive, get
affiliations, are kicked and banned, make no rooms, and leave no ghosts, neither when their client is gone (17.3) nor when their
server is (11.1).
"""
import asyncio
import logging
from xml.etree import ElementTree

from slixmpp.exceptions import IqError

from lib.gateway import DOMAIN, SECRET, Gateway, condition
from lib.harness import PATIENCE, Failure, Server, expect, free_port
from lib.peers import text
from lib.rooms import MUC, SERVICE, USER, Guest, codes, room_of

BOB, BOBBY, EVE = f"bob@{DOMAIN}/irc", f"bob@{DOMAIN}/phone", f"eve@{DOMAIN}/irc"
VERONA, CELL = room_of("verona"), room_of("cell")


def told(stanza):
    """The status codes of a presence; slixmpp's component reads none."""
    return {int(status.get("code")) for status in stanza.xml.iter(f"{{{USER}}}status")}


def item(stanza):
    found = stanza.xml.find(f"{{{USER}}}x/{{{USER}}}item")
    return {} if found is None else found.attrib


class House(Gateway):
    def enter(self, who, room, nick, password=None, join=True):
        presence = self.make_presence(pto=f"{room}/{nick}", pfrom=who)
        if join:
            x = ElementTree.Element(f"{{{MUC}}}x")
            ElementTree.SubElement(x, f"{{{MUC}}}history", maxstanzas="20")
            if password:
                ElementTree.SubElement(x, f"{{{MUC}}}password").text = password
            presence.append(x)
        presence.send()

    async def presence(self, to, room, nick, test=lambda p: True):
        return await self.saw("presence", lambda p: str(p["to"]) == to and str(p["from"]) == f"{room}/{nick}" and test(p))

    async def inside(self, who, room, nick):
        """Enters, and waits for the topic, which comes last. What came before is forgotten."""
        self.seen = [(event, data) for event, data in self.seen if data is None or str(data["to"]) != who]
        self.enter(who, room, nick)
        own = await self.presence(who, room, nick, lambda p: 110 in told(p))
        await self.saw("message", lambda m: str(m["to"]) == who and m["from"].bare == room and m.xml.find("{*}subject") is not None)
        return own

    async def refused(self, who, room, nick):
        error = await self.saw("presence", lambda p: p["type"] == "error" and str(p["to"]) == who and p["from"].bare == room)
        expect(error.xml.find(f"{{{MUC}}}x") is not None, f"clients take it for no room's error: {error}")
        return condition(error)

    def tell(self, who, room, body, mtype="groupchat", **more):
        message = self.make_message(mto=room, mbody=body, mtype=mtype, mfrom=who)
        for name, value in more.items():
            message[name] = value
        message.send()

    async def heard(self, who, body):
        return await self.saw("message", lambda m: str(m["to"]) == who and str(m["body"]) == body)

    async def ask(self, who, to, payload, kind="get"):
        iq = (self.make_iq_get if kind == "get" else self.make_iq_set)(ito=to, ifrom=who)
        iq.append(payload)
        return await iq.send(timeout=PATIENCE)

    def bounce(self, who, to, name):
        """What a server answers for a client that is gone."""
        error = self.make_message(mto=to, mfrom=who, mtype="error")
        fault = ElementTree.SubElement(error.xml, "{jabber:component:accept}error", type="cancel")
        ElementTree.SubElement(fault, f"{{urn:ietf:params:xml:ns:xmpp-stanzas}}{name}")
        error.send()


def bounce(client, to, name):
    """What a local client answers that calls itself gone."""
    error = client.make_message(mto=to, mtype="error")
    error.append(ElementTree.fromstring(
        f"<error xmlns='jabber:client' type='cancel'><{name} xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error>"))
    error.send()


async def enter(checks, house, romeo):
    with checks.check("components' people: enter a room, and are seen with their address"):
        own = await house.inside(BOB, VERONA, "Bob")
        expect(item(own)["role"] == "participant", str(own))
        seen = await romeo.presence(VERONA, "Bob")
        expect(seen["muc"]["jid"] == BOB and seen["muc"]["affiliation"] == "none", str(seen))
        other = await house.presence(BOB, VERONA, "Romeo")
        expect(item(other)["affiliation"] == "owner", str(other))
    with checks.check("components' people: are told the history when they enter"):
        romeo.say(VERONA, "before Eve")
        await house.heard(BOB, "before Eve")
        await house.inside(EVE, VERONA, "Eve")
        old = await house.heard(EVE, "before Eve")
        expect(old.xml.find("{urn:xmpp:delay}delay") is not None, str(old))
    with checks.check("components' people: a second client of one person shares the nick"):
        await house.inside(BOBBY, VERONA, "Bob")
        house.tell(BOBBY, VERONA, "from the phone")
        await asyncio.gather(house.heard(BOB, "from the phone"), house.heard(BOBBY, "from the phone"))
        house.present(f"{VERONA}/Bob", "unavailable", BOBBY)
        await house.presence(BOBBY, VERONA, "Bob", lambda p: p["type"] == "unavailable" and 110 in told(p))
    with checks.check("components' people: somebody else's nick is refused"):
        house.enter(f"adam@{DOMAIN}/irc", VERONA, "Romeo")
        expect(await house.refused(f"adam@{DOMAIN}/irc", VERONA, "Romeo") == "conflict", "it was another error")
    with checks.check("components' people: they make no rooms"):
        house.enter(BOB, room_of("nowhere"), "Bob")
        refused = await house.refused(BOB, room_of("nowhere"), "Bob")
        expect(refused == "not-allowed", f"the error is {refused}")
    with checks.check("components' people: who takes themselves for an occupant is told that they are none"):
        house.enter(f"adam@{DOMAIN}/irc", VERONA, "Adam", join=False)
        gone = await house.presence(f"adam@{DOMAIN}/irc", VERONA, "Adam")
        expect(gone["type"] == "unavailable" and told(gone) == {110, 307, 333}, str(gone))
        house.tell(f"adam@{DOMAIN}/irc", VERONA, "unheard", id="outside")
        error = await house.saw("message", lambda m: m["id"] == "outside" and m["type"] == "error")
        expect(condition(error) == "not-acceptable", str(error))


async def talk(checks, house, romeo):
    with checks.check("components' people: what they say everybody hears, in order, with the archive's id and no forged one"):
        for number in range(20):
            house.tell(BOB, VERONA, f"line {number}")
        for number in range(20):
            await romeo.message(VERONA, f"line {number}")
            mine, hers = await asyncio.gather(house.heard(BOB, f"line {number}"), house.heard(EVE, f"line {number}"))
            expect(str(mine["from"]) == f"{VERONA}/Bob" and mine["type"] == "groupchat", str(mine))
            ids = [one.get("id") for one in hers.xml.iter("{urn:xmpp:sid:0}stanza-id")]
            expect(len(ids) == 1, str(hers))
        forged = house.make_message(mto=VERONA, mbody="forged", mtype="groupchat", mfrom=BOB)
        for by in (VERONA, "romeo@localhost"):
            ElementTree.SubElement(forged.xml, "{urn:xmpp:sid:0}stanza-id", by=by, id="forged")
        forged.send()
        came = await romeo.message(VERONA, "forged")
        expect("forged" not in {one.get("id") for one in came.xml.iter("{urn:xmpp:sid:0}stanza-id")}, str(came))
    with checks.check("components' people: private messages go both ways"):
        romeo.send_message(mto=f"{VERONA}/Bob", mbody="psst", mtype="chat")
        whisper = await house.heard(BOB, "psst")
        expect(str(whisper["from"]) == f"{VERONA}/Romeo", str(whisper))
        house.tell(BOB, f"{VERONA}/Romeo", "hm?", mtype="chat")
        answer = await romeo.saw("message", text("hm?"))
        expect(str(answer["from"]) == f"{VERONA}/Bob", str(answer))
    with checks.check("components' people: self-ping, discovery, and requests between occupants"):
        await house.ask(BOB, f"{VERONA}/Bob", ElementTree.Element("{urn:xmpp:ping}ping"))
        info = await house.ask(BOB, VERONA, ElementTree.Element("{http://jabber.org/protocol/disco#info}query"))
        expect(info.xml.find(".//{*}identity[@category='conference']") is not None, str(info))
        info = await house.ask(DOMAIN, SERVICE, ElementTree.Element("{http://jabber.org/protocol/disco#info}query"))
        expect(info.xml.find(".//{*}identity[@category='conference']") is not None, str(info))
        version = await house.ask(BOB, f"{VERONA}/Romeo", ElementTree.Element("{jabber:iq:version}query"))
        expect(version.xml.findtext(".//{jabber:iq:version}name") == "Slixmpp", str(version))
        try:
            await house.ask(f"adam@{DOMAIN}/irc", f"{VERONA}/Adam", ElementTree.Element("{urn:xmpp:ping}ping"))
        except IqError as error:
            expect(condition(error.iq) == "not-acceptable", str(error.iq))
        else:
            raise Failure("a ping was answered for somebody who is not there")
    with checks.check("components' people: read the room's archive"):
        query = ElementTree.Element("{urn:xmpp:mam:2}query", queryid="q1")
        limit = ElementTree.SubElement(query, "{http://jabber.org/protocol/rsm}set")
        ElementTree.SubElement(limit, "{http://jabber.org/protocol/rsm}max").text = "5"
        ElementTree.SubElement(limit, "{http://jabber.org/protocol/rsm}before")
        await house.ask(BOB, VERONA, query, "set")
        results = [m for e, m in house.seen if e == "message" and m.xml.find("{urn:xmpp:mam:2}result") is not None]
        expect(len(results) == 5 and all(str(m["to"]) == BOB for m in results), f"{results}")
    with checks.check("components' people: change their nick"):
        house.enter(BOB, VERONA, "Robert", join=False)
        await romeo.presence(VERONA, "Bob", lambda p: p["type"] == "unavailable" and 303 in codes(p))
        await house.presence(BOB, VERONA, "Robert", lambda p: 110 in told(p))
        house.enter(BOB, VERONA, "Bob", join=False)
        await house.presence(BOB, VERONA, "Bob", lambda p: 110 in told(p))


async def rule(checks, house, romeo):
    with checks.check("components' people: get an affiliation by address, and keep it"):
        await romeo.muc.set_affiliation(VERONA, jid=f"bob@{DOMAIN}", affiliation="member", timeout=PATIENCE)
        await house.presence(BOB, VERONA, "Bob", lambda p: item(p).get("affiliation") == "member")
        expect(f"bob@{DOMAIN}" in await romeo.list(VERONA, "member"), "he is not in the list")
        house.present(f"{VERONA}/Bob", "unavailable", BOB)
        await house.presence(BOB, VERONA, "Bob", lambda p: p["type"] == "unavailable")
        own = await house.inside(BOB, VERONA, "Bob")
        expect(item(own)["affiliation"] == "member", str(own))
    with checks.check("components' people: a closed room lets the member in, and not the stranger"):
        await romeo.found(CELL, "Romeo", membersonly=True)
        house.enter(EVE, CELL, "Eve")
        expect(await house.refused(EVE, CELL, "Eve") == "registration-required", "it was another error")
        await romeo.muc.set_affiliation(CELL, jid=f"bob@{DOMAIN}", affiliation="member", timeout=PATIENCE)
        await house.inside(BOB, CELL, "Bob")
        house.present(f"{CELL}/Bob", "unavailable", BOB)
        await house.presence(BOB, CELL, "Bob", lambda p: p["type"] == "unavailable")
    with checks.check("components' people: are kicked and banned"):
        await romeo.muc.set_role(VERONA, "Eve", "none", timeout=PATIENCE)
        await house.presence(EVE, VERONA, "Eve", lambda p: {110, 307} <= told(p))
        await house.inside(EVE, VERONA, "Eve")
        await romeo.muc.set_affiliation(VERONA, jid=f"eve@{DOMAIN}", affiliation="outcast", timeout=PATIENCE)
        await house.presence(EVE, VERONA, "Eve", lambda p: {110, 301} <= told(p))
        house.enter(EVE, VERONA, "Eve")
        expect(await house.refused(EVE, VERONA, "Eve") == "forbidden", "it was another error")


async def vanish(checks, house, romeo, port):
    with checks.check("components' people: an error that says nothing of the client removes nobody"):
        house.bounce(BOB, f"{VERONA}/Romeo", "not-acceptable")
        house.tell(BOB, VERONA, "still here")
        await romeo.message(VERONA, "still here")
    with checks.check("components' people: an error of delivery removes them, with status 333"):
        house.bounce(BOB, f"{VERONA}/Romeo", "recipient-unavailable")
        await romeo.presence(VERONA, "Bob", lambda p: p["type"] == "unavailable" and codes(p) == {333})
        await house.presence(BOB, VERONA, "Bob", lambda p: told(p) == {110, 333})
    with checks.check("components' people: an error of a local client removes nobody"):
        # One that does not say that the client is gone.
        bounce(romeo, f"{VERONA}/Romeo", "not-acceptable")
        romeo.say(VERONA, "it is I")
        await romeo.message(VERONA, "it is I")
    with checks.check("components' people: an error of delivery removes a local client, too"):
        bounce(romeo, f"{VERONA}/Romeo", "gone")
        await romeo.presence(VERONA, "Romeo", lambda p: p["type"] == "unavailable" and codes(p) == {110, 333})
        await romeo.enter(VERONA, "Romeo")
    with checks.check("components' people: when their server goes they leave the rooms, and come back with it"):
        await house.inside(BOB, VERONA, "Bob")
        await house.leave()
        await romeo.presence(VERONA, "Bob", lambda p: p["type"] == "unavailable" and codes(p) == {333})
        house = await House(port).arrive()
        own = await house.inside(BOB, VERONA, "Bob")
        expect(item(own)["affiliation"] == "member", str(own))
        romeo.say(VERONA, "welcome back")
        await house.heard(BOB, "welcome back")
    await house.leave()


def run(checks):
    logging.getLogger("slixmpp").setLevel(logging.CRITICAL)
    port = free_port()
    with Server(components=f"{DOMAIN}={SECRET}", component__port=port) as server:
        server.start()
        server.add_users("romeo")

        async def all_of_it():
            romeo = await Guest(server, "romeo").arrive()
            await romeo.found(VERONA, "Romeo", whois="anyone")
            house = await House(port).arrive()
            await enter(checks, house, romeo)
            await talk(checks, house, romeo)
            await rule(checks, house, romeo)
            await vanish(checks, house, romeo, port)
            await romeo.leave()

        asyncio.run(all_of_it())
