#!/usr/bin/env python3
"""Parley federates with Prosody, with ejabberd and with another Parley on a small internet (`lib.internet`). `ROWS` is the table: what is
done, with whom. Each row begins with servers whose certificates are good, and puts back what it changes.

Usage: federation.py [PARTNER...] [ROW...]     by default `ROWS` with all partners
"""
import asyncio
import contextlib
import hashlib
import json
import sys
import time
from xml.etree import ElementTree

from slixmpp.exceptions import IqError, IqTimeout
from slixmpp.plugins.xep_0410 import PingStatus

from lib.apps import App, exchange, exchange_json
from lib.harness import PATIENCE, Checks, Failure, expect
from lib.internet import Internet, fingerprint, waits_until
from lib.partners import Ejabberd, Parley, Prosody
from lib.peers import HASH, ROSE, text
from lib.scrape import Growth, Scrape, shows
from lib.server_stream import ServerStream
from lib.talks import PEOPLE, Meeting, message, talk

KINDS = {"prosody": Prosody, "ejabberd": Ejabberd, "parley2": Parley}
GIVE_UP = 20  # seconds


class Case:
    """Parley and a partner."""

    def __init__(self, checks, parley, partner):
        self.checks, self.parley, self.partner = checks, parley, partner

    def check(self, what):
        return self.checks.check(f"federation with {self.partner.name}: {what}")

    def run(self, body):
        """`body(meeting)` with Romeo at Parley and Juliet at the partner; all leave."""
        async def meet():
            meeting = Meeting(self.parley, self.partner)
            try:
                await asyncio.wait_for(body(meeting), 2 * PATIENCE)
            finally:
                await meeting.leave()

        asyncio.run(meet())

    def operate(self, *arguments):
        return self.parley.run("federation", *arguments)

    def shown(self):
        return json.loads(self.operate("show", self.partner.domain, "--json"))

    @property
    def link(self):
        """The one between the two domains; others are those of rooms."""
        (link,) = [link for link in self.shown()["links"] if link["local"] == self.parley.domain]
        return link

    @property
    def refusal(self):
        """Why the last stream was refused, here or there."""
        return (self.shown().get("status") or {}).get("refusal") or ""

    def reset(self):
        """Both have to find each other anew."""
        self.operate("close", self.partner.domain)
        self.operate("retry", self.partner.domain)


# --- rows

def talks(case):
    """People talk in both directions, about everything that crosses servers."""
    asyncio.run(talk(case.checks, f"federation: parley to {case.partner.name}", case.parley, case.partner))
    if case.partner.name != "parley2":  # which is the same the other way round
        asyncio.run(talk(case.checks, f"federation: {case.partner.name} to parley", case.partner, case.parley))


def errors(case):
    """Nobody there is told at once; a server that does not answer keeps the message until it is given up, and requests not so long."""
    with case.check("unknown users are told as such, there and here"):
        async def unknown(meeting):
            romeo, juliet = await meeting.both()
            for person, server in ((romeo, case.partner), (juliet, case.parley)):
                name = person.chat(server.address("nobody"), "hello?")
                error = await person.saw("any message", lambda m: m["id"] == name and m["type"] == "error")
                expect(error["error"]["condition"] == "service-unavailable", f"{error}")
        case.run(unknown)
    if case.partner.name != "prosody":
        return  # The rest is Parley's alone.
    growth = Growth(case.parley)
    for domain in ("nowhere.test", "dot.test"):
        with case.check(f"{domain} is told as not found within a second"):
            async def absent(meeting):
                romeo = await meeting.come("romeo")
                began = time.monotonic()
                name = romeo.chat(f"juliet@{domain}", "hello?")
                error = await romeo.saw("any message", lambda m: m["id"] == name and m["type"] == "error")
                expect(error["error"]["condition"] == "remote-server-not-found", f"{error}")
                expect(time.monotonic() - began < 5, f"it took {time.monotonic() - began:.1f} s")
            case.run(absent)
    with case.check("attempts that fail, and what is returned for it, are counted"):
        growth.until("parley_federation_connects_total", result="failed")
        growth.until("parley_federation_bounced_total", 2, condition="remote-server-not-found")
    with case.check("a dead server, a silent one and a bogus name: a request is answered, a message is kept and then returned"), \
            case.parley.configured(federation__give_up_seconds=GIVE_UP):
        async def silent(meeting):
            romeo = await meeting.come("romeo")
            domains = ["dead.test", "hole.test", "bogus.example"]
            began = time.monotonic()
            growth = await asyncio.to_thread(Growth, case.parley)
            names = {romeo.chat(f"juliet@{domain}", "hello?"): domain for domain in domains}
            await asyncio.to_thread(shows, case.parley, "what waits", lambda scrape: scrape("parley_federation_outbox_rows") == len(domains)
                                    and scrape("parley_federation_outbox_oldest_seconds") > 0)

            async def ask(domain):
                try:
                    await romeo["xep_0030"].get_info(jid=domain, timeout=GIVE_UP + 10)
                except IqError as error:
                    return error.condition
                except IqTimeout:
                    raise Failure(f"a request to {domain} is never answered") from None

            answers = await asyncio.gather(*map(ask, domains))
            expect(set(answers) <= {"remote-server-timeout", "remote-server-not-found"}, f"{answers}")
            for name, domain in names.items():
                error = await romeo.saw("any message", lambda m: m["id"] == name and m["type"] == "error")
                expect(error["error"]["condition"] == "remote-server-timeout", f"{domain}: {error}")
                expect(time.monotonic() - began > GIVE_UP - 1, f"{domain} was given up after {time.monotonic() - began:.1f} s")
            await asyncio.to_thread(growth.until, "parley_federation_bounced_total", len(domains), condition="remote-server-timeout")
        case.run(silent)


def reconnects(case):
    """An operator closes the streams: the two find each other anew at once, even if both begin at the same moment."""
    with case.check("messages cross at once after the streams were closed"):
        async def cross(meeting):
            romeo, juliet = await meeting.both()
            for number in range(3):
                await asyncio.to_thread(case.reset)
                began = time.monotonic()
                romeo.chat(juliet.jid, f"there {number}")
                juliet.chat(romeo.jid, f"and back {number}")
                await juliet.saw("message", text(f"there {number}"))
                await romeo.saw("message", text(f"and back {number}"))
                took = time.monotonic() - began
                print(f"        both took {took * 1000:.0f} ms")
                expect(took < 3, f"they took {took:.1f} s: the next attempt after a failure comes later than that")
        case.run(cross)


def good_certificate(case):
    """What there is to be seen of a stream that works."""
    async def anew(meeting):
        # Both people are there before: as they come, both servers have something to send, and may begin at the same moment.
        await meeting.both()
        await asyncio.to_thread(case.reset)
        await message(meeting)
    case.run(anew)
    with case.check("the operator sees a verified stream, and that nothing waits"):
        waits_until("the partner has taken everything", lambda: case.link["waiting"] == 0, GIVE_UP)
        link = case.link
        streams = link["streams"]
        expect(streams and all(stream["verified"] == "pkix" and stream["tls"].startswith("TLSv1.") for stream in streams), f"{link}")
        expect(link["state"] == "open" and not case.refusal, f"{link}")
        scrape = Scrape(case.parley)
        for stream in streams:
            expect(scrape("parley_federation_streams", direction=stream["direction"], auth="pkix") > 0, f"{stream}")
        expect(scrape("parley_federation_outbox_rows") == scrape("parley_federation_outbox_oldest_seconds") == 0, "something waits")
    if case.partner.name == "prosody":
        with case.check("one socket carries both directions (XEP-0288), and is acknowledged (XEP-0198)"):
            expect(case.parley.sockets(case.partner) == 1, f"{case.parley.sockets(case.partner)} sockets")
            expect([stream["direction"] for stream in streams] == ["both"] and streams[0]["acknowledges"], f"{streams}")


def server_certificate(case):
    """Certificates without the client's purpose, as public CAs issue them, are fine: here, there, and on both sides."""
    for holder in (case.partner, case.parley):
        with case.check(f"{holder.name}'s certificate is for servers alone"):
            holder.give_certificate("server")
            case.reset()
            case.run(message)
            holder.give_certificate("good")


def bad_certificate(case):
    """The partner's certificate is not good: nothing goes either way, the operator is told why, and what waited comes when it is good."""
    for kind, word in (("expired", "expired"), ("wrong", "for somebody-else.test"), ("selfsigned", "self-signed")):
        with case.check(f"its certificate is {kind}: refused, with a reason, and good again"):
            case.partner.give_certificate(kind)
            growth = Growth(case.parley)
            try:
                refuses(case, kind, word)
                growth.until("parley_federation_refused_total", reason="uncertified")
            finally:
                case.partner.give_certificate("good")
            arrives_late(case, kind)


def refuses(case, kind, word):
    async def silence(meeting):
        romeo, juliet = await meeting.both()
        await asyncio.to_thread(case.reset)
        romeo.chat(juliet.jid, f"kept while {kind}")
        juliet.chat(romeo.jid, f"unheard while {kind}")
        await asyncio.to_thread(waits_until, "the reason of the refusal", lambda: word in (case.link.get("reason") or ""), GIVE_UP)
        heard = [str(data["body"]) for person in (romeo, juliet) for event, data in person.seen
                 if event == "message" and str(data["body"]).endswith(f"while {kind}") and data["type"] != "error"]
        expect(not heard, f"{heard} was heard")

    case.run(silence)
    expect(word in case.refusal, f"the operator is told of no refusal: {case.shown()}")


def arrives_late(case, kind):
    """Juliet is there first: with ejabberd a message that comes just before her presence waits for the next one."""
    async def late(meeting):
        juliet = await meeting.come("juliet")
        await asyncio.to_thread(case.reset)
        await juliet.saw("message", text(f"kept while {kind}"))

    case.run(late)


def own_bad_certificate(case):
    """The partner refuses Parley's bad certificate; when it is good again, without a restart, everything goes on."""
    with case.check("Parley's certificate is expired, is refused, and is renewed without a restart"):
        case.parley.give_certificate("expired")
        try:
            case.operate("close", case.partner.domain)

            async def silence(meeting):
                romeo = await meeting.come("romeo")
                romeo.chat(case.partner.address("juliet"), "kept while expired")
                await asyncio.to_thread(waits_until, "a reason", lambda: case.link.get("reason"), GIVE_UP)
            case.run(silence)
            print(f"        {case.link['reason']}")
        finally:
            case.parley.give_certificate("good")
        arrives_late(case, "expired")


def dialback(case):
    """Neither server has a certificate that the other believes, and both say that dialback will do."""
    parley, partner = case.parley, case.partner
    case.run(message)
    partner.secure = False
    with contextlib.ExitStack() as restoring:
        for server in (partner, parley):
            restoring.callback(server.give_certificate, "good")
            server.give_certificate("selfsigned")
        if partner.name == "parley2":
            restoring.enter_context(partner.configured(federation__verify="dialback", data=partner.folder / "unmet"))
        restoring.callback(setattr, partner, "secure", True)
        with case.check("a domain that had a good certificate lately is not believed without one"), \
                parley.configured(federation__verify="dialback"):
            refuses(case, "downgraded", "self-signed")
        with parley.configured(federation__verify="dialback", data=parley.folder / f"unmet-{partner.name}"):
            with case.check("dialback where both sides say that it is enough"):
                if partner.name == "ejabberd":
                    partner.restart()  # It returns at once what is said within a second of a refusal.
                case.run(message)
                expect({stream["verified"] for stream in case.link["streams"]} == {"dialback"}, f"{case.link}")
                # With a second Parley both use the one stream (XEP-0288) that Parley opened, whose key is for the other to verify.
                if partner.name != "parley2":
                    shows(case.parley, "a valid key", lambda now: now("parley_federation_dialback_total", result="valid") > 0)
            with case.check("forged keys are refused, and questions about the stream on which they are asked"):
                growth = Growth(case.parley)
                forges(case)
                growth.until("parley_federation_dialback_total", result="invalid")
    with case.check("a stream that shows no certificate is refused with the reason, where certificates decide"):
        condition, reason = ServerStream(parley, partner.domain, parley.domain).refusal()
        expect(condition == "policy-violation" and "certificate" in reason, f"{condition}: {reason}")
    arrives_late(case, "downgraded")


def forges(case):
    """Somebody who is neither opens streams in the partner's name."""
    def asks(step, key, **attributes):
        stream = ServerStream(case.parley, case.partner.domain, case.parley.domain)
        stream.dial()
        try:
            return stream.dialback(step, key, **attributes) if step == "result" else stream.dialback(
                step, key, id=stream.root.get("id"), **attributes)
        finally:
            stream.close()

    for expected, found in (
        (("invalid", None), asks("result", "a" * 64)),
        (("error", "item-not-found"), asks("result", "a" * 64, to="nobody.test")),
        (("error", "not-acceptable"), asks("verify", "a" * 64)),
    ):
        expect(found == expected, f"{found} in place of {expected}")
    condition, _ = ServerStream(case.parley, case.partner.domain, "nobody.test").refusal()
    expect(condition == "host-unknown", f"{condition}")


def dane(case):
    """A key that the signed DNS vouches for is in without a CA; another key than that is out with the best certificate."""
    dns, name = case.partner.internet.dns, case.partner.name
    try:
        with case.check("DANE: a self-signed certificate with its TLSA record is in"):
            dns.pins[name] = fingerprint(case.partner.machine.chain)
            case.partner.give_certificate("selfsigned")
            case.reset()

            async def there(meeting):
                romeo, juliet = await meeting.both()
                romeo.chat(juliet.jid, "by DANE")
                await juliet.saw("message", text("by DANE"))
            case.run(there)
            expect({stream["verified"] for stream in case.link["streams"]} == {"dane"}, f"{case.link}")
        with case.check("DANE: a good certificate with the TLSA record of another key is out"):
            dns.pins[name] = fingerprint(case.parley.machine.chain)
            case.partner.give_certificate("good")
            refuses(case, "wrongly pinned", "TLSA")
    finally:
        dns.pins.pop(name, None)
        case.partner.give_certificate("good")
    arrives_late(case, "wrongly pinned")


def rules(case):
    """The operator refuses a domain while the server runs, and admits it again."""
    keeps = case.partner.name == "parley2"  # what others would return at once
    with case.check("a denied domain is refused both ways, and admitted again"):
        case.run(message)
        case.operate("deny", case.partner.domain, "--note", "for a test")
        # Its rooms are another domain, whose streams stay.
        waits_until("the streams are closed", lambda: not any(link["streams"] for link in case.shown()["links"]), 10)

        async def refused(meeting):
            romeo, juliet = await meeting.both()
            name = romeo.chat(juliet.jid, "denied")
            error = await romeo.saw("any message", lambda m: m["id"] == name and m["type"] == "error")
            expect(error["error"]["condition"] in ("not-allowed", "policy-violation", "remote-server-not-found"), f"{error}")
            juliet.chat(romeo.jid, "denied too")
            if keeps:
                await asyncio.to_thread(waits_until, "a refusal", lambda: "does not communicate" in case.refusal, GIVE_UP)
            else:
                await juliet.saw("any message", lambda m: m["type"] == "error")
            expect(not [m for event, m in romeo.seen if event == "message" and str(m["body"]) == "denied too"], "it was heard")
        growth = Growth(case.parley)
        case.run(refused)
        growth.until("parley_federation_refused_total", reason="denied")
        case.operate("forget", case.partner.domain)
        if case.partner.name == "ejabberd":
            case.partner.restart()  # For a while it tries no domain again that has refused it.

        async def admitted(meeting):
            await message(meeting)
            if keeps:
                await meeting.people[0].saw("message", text("denied too"))
        case.run(admitted)


def backend(case):
    """The operator's own program does over /v1/admin what an operator does at the command line."""
    with case.check("a backend tests the partner, denies and admits it, and closes its streams"):
        secret = json.loads(case.parley.run("key", "add", "backend", "--scope", "federation:read", "--scope", "federation:write", "--json"))["secret"]

        def do(method, path, body=None):
            status, _, value = exchange_json(method, f"{case.parley.base}/v1/admin{path}", body, secret)
            expect(status < 300, f"{method} {path}: {status} {value}")
            return value

        domain = case.partner.domain
        steps = do("POST", f"/federation/{domain}/tests", {})["steps"]
        expect([step["step"] for step in steps] == ["dns", "stream", "ping"] and all(step["hasPassed"] for step in steps), f"{steps}")
        case.run(message)
        (link,) = [link for link in do("GET", f"/federation/{domain}")["links"] if link["local"] == case.parley.domain]
        expect(link["state"] == "open" and link in do("GET", "/federation")["items"], f"{link}")
        do("PUT", f"/federation-rules/{domain}", {"isAllowed": False})
        waits_until("the streams are closed", lambda: not any(link["streams"] for link in case.shown()["links"]), 10)
        expect(not do("GET", f"/federation/{domain}")["status"]["isAllowed"], "it is still admitted")
        do("DELETE", f"/federation-rules/{domain}")
        do("POST", f"/federation/{domain}/attempts")
        case.run(message)
        expect(do("DELETE", f"/federation/{domain}/streams")["count"] > 0, "nothing was closed")


def app(case):
    """A user of the app protocol and one of the partner: contact by address, messages, receipts."""
    with case.check("an app user and Juliet talk, and each sees what the other did"):
        mercutio = App(case.parley, "mercutio").connect()

        async def converse(meeting):
            juliet = await meeting.come("juliet")

            async def ask(body):
                return await asyncio.to_thread(body)

            status, _ = await ask(lambda: mercutio.call("PUT", f"/v1/contacts/{juliet.jid}", {}))
            expect(status in (200, 201), f"the contact is answered {status}")
            dialog = await ask(lambda: mercutio.dialog(juliet.jid))
            said = await ask(lambda: mercutio.say(dialog, "from the app"))
            got = await juliet.saw("message", text("from the app"))
            expect(got["from"].bare == case.parley.address("mercutio"), f"{got}")
            await ask(lambda: mercutio.event(
                "marker.updated", lambda d: d["marker"]["userId"] == juliet.jid and d["marker"].get("delivered") == said["id"]))
            juliet.chat(got["from"], "to the app")
            heard = await ask(lambda: mercutio.message("to the app"))
            expect(heard["senderId"] == juliet.jid, f"{heard}")
        case.run(converse)
    with case.check("an app shows the name and the picture that Juliet publishes, also after it was away"):
        def shown(field, value):
            return lambda data: data["user"]["id"] == case.partner.address("juliet") and data["user"].get(field) == value

        async def publish(meeting):
            mercutio = await asyncio.to_thread(App(case.parley, "mercutio", "tablet").connect)
            juliet = await meeting.come("juliet")
            await juliet["xep_0172"].publish_nick("Jule", timeout=PATIENCE)
            await asyncio.to_thread(mercutio.event, "user.updated", shown("name", "Jule"))
            await juliet["xep_0084"].publish_avatar(ROSE, timeout=PATIENCE)
            await juliet["xep_0084"].publish_avatar_metadata(
                [{"id": HASH[ROSE], "type": "image/png", "bytes": len(ROSE)}], timeout=PATIENCE)
            await asyncio.to_thread(mercutio.event, "user.updated", shown("avatarHash", HASH[ROSE]))
            status, _, picture = await asyncio.to_thread(
                exchange, "GET", f"{case.parley.base}/v1/users/{juliet.jid}/avatar",
                headers={"Authorization": f"Bearer {mercutio.token}"})
            expect((status, picture) == (200, ROSE), f"{status}, {len(picture)} bytes")
            again = await asyncio.to_thread(App(case.parley, "mercutio", "phone").connect)
            await asyncio.to_thread(again.event, "user.updated", shown("avatarHash", HASH[ROSE]))
        case.run(publish)


    with case.check("an app shows the name of Nurse, who only has a vCard"):
        async def present(meeting):
            nurse = await meeting.come("nurse")
            card = nurse["xep_0054"].make_vcard()
            card["FN"] = "Angelica"
            await nurse["xep_0054"].publish_vcard(vcard=card, timeout=PATIENCE)
            mercutio = await asyncio.to_thread(App(case.parley, "mercutio", "desk").connect)
            status, _ = await asyncio.to_thread(mercutio.call, "PUT", f"/v1/contacts/{nurse.jid}", {})
            expect(status in (200, 201), f"the contact is answered {status}")
            await asyncio.to_thread(
                mercutio.event, "user.updated", lambda d: (d["user"]["id"], d["user"].get("name")) == (nurse.jid, "Angelica"))
        case.run(present)


def queued(case):
    """An app is told that its message waits for a server that is away, and that it was taken."""
    with case.check("a message is queued while the other server is away, and not any more when it is back"):
        mercutio = App(case.parley, "mercutio", "terrace").connect()
        dialog = mercutio.dialog(case.partner.address("juliet"))
        case.partner.kill()
        said = mercutio.say(dialog, "is anybody there?")

        def state(wanted):
            return lambda d: d["message"]["id"] == said["id"] and d["message"].get("delivery", {}).get("state") == wanted

        mercutio.event("message.updated", state("queued"))
        case.partner.start()
        case.operate("retry", case.partner.domain)
        mercutio.event("message.updated", state(None))


def blocklist(case):
    """A list that the partner's pubsub service serves is followed: who is on it is refused, and heard again when taken off it."""
    service, node = f"pubsub.{case.partner.domain}", "muc_bans_sha256"
    item = hashlib.sha256(case.partner.address("nurse").encode()).hexdigest()

    def publish(juliet):
        reason = ElementTree.fromstring("<report xmlns='urn:xmpp:reporting:1' reason='urn:xmpp:reporting:spam'/>")
        return juliet["xep_0060"].publish(service, node, id=item, payload=reason, timeout=PATIENCE)

    async def found(meeting):
        juliet = await meeting.come("juliet")
        await juliet["xep_0060"].create_node(service, node, timeout=PATIENCE)
        await publish(juliet)

    async def follow(meeting):
        romeo, juliet, nurse = await meeting.come("romeo"), await meeting.come("juliet"), await meeting.come("nurse")

        async def outcome(body):
            name = nurse.chat(romeo.jid, body)
            told = {
                asyncio.ensure_future(nurse.saw("any message", lambda m: m["id"] == name and m["type"] == "error")): "refused",
                asyncio.ensure_future(romeo.saw("message", text(body))): "heard"}
            done, rest = await asyncio.wait(told, return_when=asyncio.FIRST_COMPLETED)
            for task in rest:
                task.cancel()
            return told[done.pop()]

        async def until(wanted):
            number = 0
            while await outcome(f"{wanted} {number}") != wanted:
                number += 1

        await until("refused")
        await juliet["xep_0060"].retract(service, node, item, notify=True, timeout=PATIENCE)
        await until("heard")
        await publish(juliet)
        await until("refused")
        await juliet["xep_0060"].delete_node(service, node, timeout=PATIENCE)

    with case.check("whoever is on the partner's list is refused"):
        case.run(found)
        with case.parley.configured(data=case.parley.folder / "listed", federation__blocklists=f"{service}/{node}"):
            case.run(follow)


def ghosts(case):
    """People of a server that is away for a moment keep their seats in rooms here and miss nothing. Those of one that was killed and
    stays away are gone, though nobody has said anything to them."""
    with case.check("seats outlive a short break and not a long one, and contacts are offline then"), \
            case.parley.configured(federation__absent_seconds=10):
        async def breaks(meeting):
            romeo, juliet = await meeting.friends()
            place = f"ghosts-{time.monotonic_ns()}@{case.parley.rooms}"
            await romeo.found(place, "romeo")
            await juliet.enter(place, "juliet")
            await romeo.presence(place, "juliet", lambda p: p["type"] == "available")
            await asyncio.to_thread(shows, case.parley, "who is here", lambda scrape: scrape("parley_federation_residents") == 1)
            case.partner.machine.cut()
            romeo.say(place, "said meanwhile")
            await romeo.message(place, "said meanwhile")
            case.partner.machine.mend()
            await juliet.message(place, "said meanwhile")
            expect(not any(p["type"] == "unavailable" and p["from"] == f"{place}/juliet" for p in romeo.order), "she lost her seat")
            case.partner.kill()
            await romeo.presence(place, "juliet", lambda p: p["type"] == "unavailable")
            await romeo.saw("any presence", lambda p: p["type"] == "unavailable" and p["from"].bare == juliet.jid)
            await asyncio.to_thread(shows, case.parley, "that nobody is here", lambda scrape: scrape("parley_federation_residents") == 0)
            await asyncio.to_thread(case.partner.start)
            juliet = await meeting.come("juliet")
            # Back again, she is seen, and learns that she has to enter anew (XEP-0410 3.2).
            await romeo.saw("any presence", lambda p: p["type"] == "available" and p["from"].bare == juliet.jid)
            expect(await juliet.ping_room(place, "juliet") == PingStatus.DISCONNECTED, "she is still in the room")
            await juliet.enter(place, "juliet")
            juliet.say(place, "back again")
            await romeo.message(place, "back again")
        case.run(breaks)


PEERS = ["prosody", "ejabberd"]
ALL = PEERS + ["parley2"]
ROWS = [
    # what, with whom
    (talks, ALL),
    (errors, PEERS),
    (good_certificate, ALL),
    (reconnects, ALL),
    (server_certificate, PEERS),
    (bad_certificate, ALL),
    (own_bad_certificate, ["prosody", "parley2"]),
    (dialback, ALL),
    (dane, ["prosody"]),
    (rules, ALL),
    (backend, ["parley2"]),
    (app, PEERS),
    (queued, PEERS),
    (blocklist, ["prosody"]),
    (ghosts, PEERS),
]


def run(checks, partners=ALL, rows=None):
    with Internet("parley", *partners) as internet:
        parley = Parley(internet.machines["parley"])
        servers = {name: KINDS[name](internet.machines[name]) for name in partners}
        for server in (parley, *servers.values()):
            server.start()
            for name in PEOPLE:
                server.add_user(name)
        for name, partner in servers.items():
            case = Case(checks, parley, partner)
            for row, whom in ROWS:
                if name in whom and (not rows or row.__name__ in rows):
                    failed = len(checks.failed)
                    with case.check(row.__name__):
                        row(case)
                    if len(checks.failed) > failed:
                        print(f"-- the end of Parley's log:\n{parley.tail()}")


def main():
    known = {row.__name__ for row, _ in ROWS}
    unknown = set(sys.argv[1:]) - set(ALL) - known
    if unknown:
        sys.exit(f"{', '.join(unknown)}? There are {', '.join(ALL)} and {', '.join(sorted(known))}")
    checks = Checks()
    run(checks, [name for name in sys.argv[1:] if name in ALL] or ALL, [name for name in sys.argv[1:] if name in known])
    print(f"{checks.passed} passed, {len(checks.failed)} failed")
    sys.exit(bool(checks.failed))


if __name__ == "__main__":
    main()
