"""What two users of two servers do with each other, by slixmpp. `TALKS` lists it: each talk is a coroutine of a `Meeting`, in which
Romeo is on the first server and Juliet on the second; where one is hurt or serves the room, it is Juliet's.
"""
import asyncio
import contextlib
import http.client
import ssl
import time
import urllib.parse
from xml.etree import ElementTree

from slixmpp import JID
from slixmpp.exceptions import IqError, PresenceError
from slixmpp.plugins.xep_0410 import PingStatus

from lib.harness import PATIENCE, Failure, expect
from lib.peers import HASH, ROSE, metadata_of, text
from lib.rooms import Guest, codes

AXOLOTL = "eu.siacs.conversations.axolotl.devicelist"
STANZA_ID = "{urn:xmpp:sid:0}stanza-id"
ERROR = "{jabber:client}error"
PEOPLE = ["romeo", "mercutio", "juliet", "nurse"]  # two on each server


class Person(Guest):
    """A client that can do all that is talked about here."""

    def __init__(self, server, name, resource="orchard"):
        super().__init__(server, name, resource)
        for plugin in ("xep_0060", "xep_0066", "xep_0084", "xep_0153", "xep_0163", "xep_0172", "xep_0203", "xep_0363"):
            self.register_plugin(plugin)
        self.plugin["xep_0163"].add_interest("urn:xmpp:avatar:metadata")
        self.add_event_handler("avatar_metadata_publish", lambda data: self._note("avatar_metadata_publish", data))

    @property
    def jid(self):
        return self.boundjid.bare

    async def refusal(self, answer):
        """The condition with which a request is refused."""
        try:
            await answer
        except IqError as error:
            return error.condition
        return None

    def chat(self, to, body, **attributes):
        message = self.make_message(to, body, mtype="chat")
        for name, value in attributes.items():
            message[name] = value
        message.send()
        return message["id"]


class Meeting:
    """Two servers, and the people who have come. All leave at the end."""

    def __init__(self, one, other):
        self.one, self.other = one, other
        self.people = []

    def home(self, name):
        return self.one if name in ("romeo", "mercutio") else self.other

    async def come(self, name, resource="orchard", presence=True):
        person = Person(self.home(name), name, resource)
        self.people.append(person)
        if presence:
            await person.arrive()
        else:
            await super(Guest, person).arrive()
        return person

    async def both(self):
        return await self.come("romeo"), await self.come("juliet")

    async def friends(self):
        """Both, with a subscription in both directions, and told of each other's presence."""
        romeo, juliet = await self.both()
        for person in (romeo, juliet):
            await person.get_roster(timeout=PATIENCE)
        if romeo.client_roster[juliet.jid]["subscription"] != "both":
            romeo.send_presence_subscription(juliet.jid)
            for person, other in ((romeo, juliet), (juliet, romeo)):
                await self.subscribed(person, other.jid)
        await romeo.saw("presence_available", lambda p: p["from"] == juliet.boundjid)
        await juliet.saw("presence_available", lambda p: p["from"] == romeo.boundjid)
        return romeo, juliet

    @staticmethod
    async def subscribed(person, other):
        if person.client_roster[other]["subscription"] != "both":
            await person.saw("roster_update", lambda _: person.client_roster[other]["subscription"] == "both")

    def room(self, name):
        """A room on the second server."""
        return f"{name}-{time.monotonic_ns()}@{self.other.rooms}"

    async def leave(self):
        for person in self.people:
            with contextlib.suppress(Exception):
                await person.leave()


async def message(meeting):
    """There and back, to a bare and to a full address."""
    romeo, juliet = await meeting.both()
    began = time.monotonic()
    romeo.chat(juliet.jid, "But soft")
    got = await juliet.saw("message", text("But soft", romeo.jid))
    first = time.monotonic() - began
    expect(got["from"] == romeo.boundjid and got["to"].bare == juliet.jid, f"{got}")
    began = time.monotonic()
    juliet.chat(got["from"], "Ay me")
    answer = await romeo.saw("message", text("Ay me", juliet.jid))
    expect(answer["from"] == juliet.boundjid, f"not from {juliet.boundjid}: {answer}")
    print(f"        the first took {first * 1000:.0f} ms, the answer {(time.monotonic() - began) * 1000:.0f} ms")
    expect(first < 5, f"the first message took {first:.1f} s")


async def order(meeting, count=500):
    romeo, juliet = await meeting.both()
    began = time.monotonic()
    for number in range(count):
        romeo.chat(juliet.jid, f"number {number}")
    await juliet.saw("any message", text(f"number {count - 1}"))
    heard = [str(m["body"]) for m in juliet.order if str(m["body"]).startswith("number ")]
    expect(heard == [f"number {number}" for number in range(count)], f"{len(heard)} came, as {heard[:3]} ... {heard[-3:]}")
    print(f"        {count} took {time.monotonic() - began:.1f} s")


async def unicode(meeting):
    romeo, juliet = await meeting.both()
    for body in ("Ωραία 🌹👩‍👩‍👧‍👦 é é", "שלום <&>\"'", "line one\nline two\ttab", "𝔎𝔢𝔦𝔫 𝔖𝔭𝔦𝔢𝔩"):
        romeo.chat(juliet.jid, body)
        await juliet.saw("message", text(body))


async def subscription(meeting):
    """Both rosters say `both`; status, end, and probe of who comes back are seen."""
    romeo, juliet = await meeting.friends()
    for person, other in ((romeo, juliet), (juliet, romeo)):
        await person.get_roster(timeout=PATIENCE)
        state = person.client_roster[other.jid]["subscription"]
        expect(state == "both", f"{person.jid} has {other.jid} as {state}")
    romeo.send_presence(pshow="away", pstatus="courting")
    await juliet.saw("presence_away", lambda p: p["status"] == "courting" and p["from"] == romeo.boundjid)
    await romeo.leave()
    await juliet.saw("presence_unavailable", lambda p: p["from"] == romeo.boundjid)
    again = await meeting.come("romeo", "balcony")
    await again.saw("presence_available", lambda p: p["from"] == juliet.boundjid)


async def services(meeting):
    """Disco, ping, version and time of the other's domain; ping of the other's client."""
    romeo, juliet = await meeting.friends()
    for person, domain in ((romeo, meeting.other.domain), (juliet, meeting.one.domain)):
        info = await person["xep_0030"].get_info(jid=domain, timeout=PATIENCE)
        expect("http://jabber.org/protocol/disco#info" in info["disco_info"]["features"], f"{info}")
        items = await person["xep_0030"].get_items(jid=domain, timeout=PATIENCE)
        found = [str(item[0]) for item in items["disco_items"]["items"]]
        expect(f"conference.{domain}" in found, f"{domain} has {found}")
        await person["xep_0199"].ping(domain, timeout=PATIENCE)
        version = await person["xep_0092"].get_version(domain, timeout=PATIENCE)
        expect(version["software_version"]["name"], f"{version}")
    await romeo["xep_0199"].ping(juliet.boundjid, timeout=PATIENCE)
    await juliet["xep_0199"].ping(romeo.boundjid, timeout=PATIENCE)


async def vcard(meeting):
    romeo, juliet = await meeting.both()
    card = juliet["xep_0054"].make_vcard()
    card["FN"] = "Juliet Capulet"
    await juliet["xep_0054"].publish_vcard(vcard=card, timeout=PATIENCE)
    read = await romeo["xep_0054"].get_vcard(juliet.jid, timeout=PATIENCE, cached=False)
    expect(read["vcard_temp"]["FN"] == "Juliet Capulet", f"{read}")


async def avatar(meeting):
    """A picture is told as it is published (`+notify`), and to who comes later; its data is read."""
    romeo, juliet = await meeting.friends()
    await juliet["xep_0084"].publish_avatar(ROSE, timeout=PATIENCE)
    await juliet["xep_0084"].publish_avatar_metadata(
        [{"id": HASH[ROSE], "type": "image/png", "bytes": len(ROSE)}], timeout=PATIENCE)
    await romeo.saw("avatar_metadata_publish", lambda m: m["from"].bare == juliet.jid and metadata_of(HASH[ROSE])(m))
    data = await romeo["xep_0084"].retrieve_avatar(juliet.jid, HASH[ROSE], timeout=PATIENCE)
    items = list(data["pubsub"]["items"])
    expect(items and items[0]["avatar_data"]["value"] == ROSE, f"{data}")
    later = await meeting.come("romeo", "balcony")
    await later.saw("avatar_metadata_publish", lambda m: m["from"].bare == juliet.jid and metadata_of(HASH[ROSE])(m))


async def omemo(meeting):
    """A stranger reads an open node: the list of devices."""
    mercutio, nurse = await meeting.come("mercutio"), await meeting.come("nurse")
    form = nurse["xep_0004"].make_form(ftype="submit")
    form.add_field(var="FORM_TYPE", ftype="hidden", value="http://jabber.org/protocol/pubsub#publish-options")
    form.add_field(var="pubsub#access_model", value="open")
    devices = ElementTree.fromstring("<list xmlns='eu.siacs.conversations.axolotl'><device id='4711'/></list>")
    await nurse["xep_0060"].publish(nurse.jid, AXOLOTL, id="current", payload=devices, options=form, timeout=PATIENCE)
    read = await mercutio["xep_0060"].get_items(nurse.jid, AXOLOTL, timeout=PATIENCE)
    device = read.xml.find(".//{eu.siacs.conversations.axolotl}device")
    expect(device is not None and device.get("id") == "4711", f"{read}")


async def room(meeting):
    """Romeo in Juliet's room: its history, 100 messages in order, a ping of himself."""
    romeo, juliet = await meeting.both()
    place = meeting.room("garden")
    await juliet.found(place, "juliet")
    juliet.say(place, "before")
    await juliet.message(place, "before")
    own, _, _, history = await romeo.enter(place, "romeo", maxstanzas=10)
    expect(110 in codes(own), f"{own}")
    expect("before" in [str(m["body"]) for m in history], f"the history is {history}")
    await juliet.presence(place, "romeo", lambda p: p["type"] != "unavailable")
    for number in range(100):
        romeo.say(place, f"rose {number}")
    for person in (romeo, juliet):
        await person.message(place, "rose 99")
        heard = [str(m["body"]) for m in person.order if m["type"] == "groupchat" and str(m["body"]).startswith("rose ")]
        expect(heard == [f"rose {number}" for number in range(100)], f"{person.jid} heard {len(heard)}: {heard[:3]}")
    expect(await romeo.ping_room(place, "romeo") == PingStatus.JOINED, "the room does not know him")


async def room_archive(meeting):
    """The room's archive, read from elsewhere, has what was said under the ids that were told."""
    romeo, juliet = await meeting.both()
    place = meeting.room("archive")
    await juliet.found(place, "juliet", **({"enablearchiving": True} if meeting.other.name == "prosody" else {}))
    await romeo.enter(place, "romeo")
    told = {}
    for number in range(5):
        romeo.say(place, f"leaf {number}")
        got = await romeo.message(place, f"leaf {number}")
        ids = [e.get("id") for e in got.xml.findall(STANZA_ID) if e.get("by") == place]
        expect(len(ids) == 1, f"{got}")
        told[ids[0]] = f"leaf {number}"
    found = {name: body for name, _, body in await romeo.archive(place) if body in told.values()}
    expect(found == told, f"the archive has {found}, told were {told}")


async def room_power(meeting):
    """Kick, ban, what Romeo may not, and a closed room."""
    romeo, juliet = await meeting.both()
    mercutio = await meeting.come("mercutio")
    place = meeting.room("power")
    await juliet.found(place, "juliet")
    await romeo.enter(place, "romeo")
    refused = await romeo.refusal(romeo.muc.set_role(place, "juliet", "none", timeout=PATIENCE))
    expect(refused in ("forbidden", "not-allowed"), f"his kick is answered {refused}")
    await juliet.muc.set_role(place, "romeo", "none", timeout=PATIENCE)
    await romeo.presence(place, "romeo", lambda p: p["type"] == "unavailable" and 307 in codes(p))
    romeo.muc.rooms[None].pop(JID(place), None)
    await romeo.enter(place, "romeo")
    await juliet.muc.set_affiliation(place, "outcast", jid=romeo.jid, timeout=PATIENCE)
    await romeo.presence(place, "romeo", lambda p: p["type"] == "unavailable" and 301 in codes(p))
    romeo.muc.rooms[None].pop(JID(place), None)
    expect(await entering(romeo, place, "romeo") == "forbidden", "the banned may enter")
    closed = meeting.room("closed")
    await juliet.found(closed, "juliet", membersonly=True)
    expect(await entering(romeo, closed, "romeo") == "registration-required", "a stranger may enter a closed room")
    await juliet.muc.set_affiliation(closed, "member", jid=mercutio.jid, timeout=PATIENCE)
    expect(await entering(mercutio, closed, "mercutio") is None, "a member may not enter")


async def entering(person, place, nick):
    """The condition with which the door is shut."""
    try:
        await person.enter(place, nick)
    except PresenceError as error:
        return error.condition
    return None


async def room_leave(meeting):
    """Who goes offline is gone; nobody stays as a ghost."""
    romeo, juliet = await meeting.both()
    place = meeting.room("leave")
    await juliet.found(place, "juliet")
    await romeo.enter(place, "romeo")
    await juliet.presence(place, "romeo", lambda p: p["type"] != "unavailable")
    await romeo.leave()
    await juliet.presence(place, "romeo", lambda p: p["type"] == "unavailable")


def fetch(server, url, data=None, headers=None):
    """An HTTP request to a name of this internet, which the machine's own resolver does not know."""
    parts = urllib.parse.urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    connection = http.client.HTTPConnection(server.host, port, timeout=PATIENCE)
    if parts.scheme == "https":
        context = ssl.create_default_context(cafile=str(server.certificate))
        connection.connect()
        connection.sock = context.wrap_socket(connection.sock, server_hostname=parts.hostname)
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    connection.request("GET" if data is None else "PUT", path, data, {"Host": parts.netloc, **(headers or {})})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    expect(answer.status in (200, 201), f"{url}: {answer.status} {body[:200]}")
    return body


async def file(meeting):
    """A file lies on Romeo's server; Juliet gets its address, and with it the file."""
    romeo, juliet = await meeting.both()
    slot = await romeo["xep_0363"].request_slot(
        JID(f"upload.{meeting.one.domain}"), "rose.png", len(ROSE), "image/png", timeout=PATIENCE)
    put = slot["http_upload_slot"]["put"]
    headers = {header["name"]: header["value"] for header in put["headers"]}
    address = slot["http_upload_slot"]["get"]["url"]
    await asyncio.to_thread(fetch, meeting.one, put["url"], ROSE, {"Content-Type": "image/png", **headers})
    message = romeo.make_message(juliet.jid, address, mtype="chat")
    message["oob"]["url"] = address
    message.send()
    got = await juliet.saw("message", text(address))
    expect(got["oob"]["url"] == address, f"{got}")
    expect(await asyncio.to_thread(fetch, meeting.one, got["oob"]["url"]) == ROSE, "another file")


async def carbons(meeting):
    """Juliet's other client sees what comes to the first, and what she answers."""
    romeo, juliet = await meeting.both()
    desk = await meeting.come("juliet", "desk")
    for client in (juliet, desk):
        await client["xep_0280"].enable(timeout=PATIENCE)
    romeo.chat(juliet.boundjid, "to one")
    await juliet.saw("message", text("to one"))
    await desk.saw("carbon_received", lambda m: str(m["carbon_received"]["body"]) == "to one")
    juliet.chat(romeo.boundjid, "from one")
    await romeo.saw("message", text("from one"))
    await desk.saw("carbon_sent", lambda m: str(m["carbon_sent"]["body"]) == "from one")


async def offline(meeting):
    """What is said while Juliet is away is there when she comes, with its time."""
    romeo = await meeting.come("romeo")
    address = meeting.other.address("juliet")
    romeo.chat(address, "while you slept")
    romeo.chat(address, "and dreamt")
    await asyncio.sleep(0.5)  # that it comes after her would be no test
    juliet = await meeting.come("juliet")
    for body in ("while you slept", "and dreamt"):
        got = await juliet.saw("message", text(body))
        expect(got.xml.find("{urn:xmpp:delay}delay") is not None, f"without a time: {got}")


async def receipts(meeting):
    """Receipts, markers and typing, both ways."""
    romeo, juliet = await meeting.friends()
    for one, other, body in ((romeo, juliet, "heard?"), (juliet, romeo, "and you?")):
        message = one.make_message(other.boundjid, body, mtype="chat")
        message["request_receipt"] = True
        message.enable("markable")
        message["id"] = f"id-{body}"
        message["chat_state"] = "active"
        message.send()
        await other.saw("message", text(body))
        await one.saw("receipt_received", lambda m: m["receipt"] == f"id-{body}")
        marker = other.make_message(one.boundjid, mtype="chat")
        marker["displayed"]["id"] = f"id-{body}"
        marker.send()
        await one.saw("marker_displayed", lambda m: m["displayed"]["id"] == f"id-{body}")
        typing = other.make_message(one.boundjid, mtype="chat")
        typing["chat_state"] = "composing"
        typing.send()
        await one.saw("chatstate_composing")


async def archive(meeting):
    """Both archives have the conversation, in its order."""
    romeo, juliet = await meeting.both()
    mark = f"{time.monotonic_ns()}"
    for number in range(3):
        romeo.chat(juliet.jid, f"{mark} to {number}")
        await juliet.saw("message", text(f"{mark} to {number}"))
        juliet.chat(romeo.jid, f"{mark} back {number}")
        await romeo.saw("message", text(f"{mark} back {number}"))
    wanted = [f"{mark} {way} {number}" for number in range(3) for way in ("to", "back")]
    for person, other in ((romeo, juliet), (juliet, romeo)):
        found = []
        async for entry in person["xep_0313"].iterate(with_jid=other.jid, rsm={"max": 200}):
            body = str(entry["mam_result"]["forwarded"]["stanza"]["body"])
            found += [body] if body.startswith(mark) else []
        expect(found == wanted, f"{person.jid}'s archive has {found}")


async def blocking(meeting):
    """The blocked is told `service-unavailable`, and later is heard again."""
    romeo, juliet = await meeting.both()
    await juliet["xep_0191"].block(romeo.jid, timeout=PATIENCE)
    name = romeo.chat(juliet.jid, "blocked")
    error = await romeo.saw("any message", lambda m: m["id"] == name and m["type"] == "error")
    expect(error["error"]["condition"] in ("service-unavailable", "not-acceptable"), f"{error}")
    await juliet["xep_0191"].unblock(romeo.jid, timeout=PATIENCE)
    romeo.chat(juliet.jid, "heard again")
    await juliet.saw("message", text("heard again"))
    expect(not [m for event, m in juliet.seen if event == "message" and str(m["body"]) == "blocked"], "she heard it")


TALKS = [message, order, unicode, subscription, services, vcard, avatar, omemo, room, room_archive, room_power, room_leave, file,
         carbons, offline, receipts, archive, blocking]


async def talk(checks, prefix, one, other, talks=TALKS):
    """Each talk is a check of its own, and whoever came has left after it."""
    for body in talks:
        meeting = Meeting(one, other)
        with checks.check(f"{prefix}: {body.__name__}"):
            try:
                await asyncio.wait_for(body(meeting), 2 * PATIENCE)
            except asyncio.TimeoutError:
                raise Failure("the talk does not end") from None
            finally:
                await meeting.leave()
