"""Components (XEP-0114): slixmpp's ComponentXMPP beside clients of both protocols: handshake, conflict, messages both ways with
carbons, archive and unread numbers, subscriptions and presence, IQs with their answers, disco, blocks, and what is told when
the component goes.
"""
import asyncio
import logging
import socket
from xml.etree import ElementTree

from slixmpp import JID
from slixmpp.exceptions import IqError

from lib.apps import App
from lib.gateway import DOMAIN, SECRET, Gateway, condition
from lib.harness import PATIENCE, Failure, Server, expect, free_port
from lib.peers import HASH, ROSE, Client, text

def raw(port, *lines):
    """What a stream of these bytes is answered, to its end."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as link:
        link.settimeout(PATIENCE)
        for line in lines:
            link.sendall(line.encode())
        answer = b""
        while data := link.recv(65_536):
            answer += data
        return answer.decode()


HEADER = ("<stream:stream xmlns='jabber:component:accept' xmlns:stream='http://etherx.jabber.org/streams' to='%s'>" % DOMAIN)


async def doors(checks, port):
    loop = asyncio.get_running_loop()

    async def answer(*lines):
        return await loop.run_in_executor(None, lambda: raw(port, *lines))

    with checks.check("component: an unknown name is refused behind a header"):
        told = await answer(HEADER.replace(DOMAIN, "other.localhost"))
        expect("<stream:stream " in told and "<host-unknown" in told, told)
    with checks.check("component: another namespace is refused"):
        expect("<invalid-namespace" in await answer(HEADER.replace("component:accept", "client")), "it was taken")
    with checks.check("component: a wrong secret is refused"):
        told = await answer(HEADER, "<handshake>0000000000000000000000000000000000000000</handshake>")
        expect("<not-authorized" in told and "<handshake/>" not in told, told)
    with checks.check("component: a stanza before the handshake ends the stream"):
        expect("<not-authorized" in await answer(HEADER, "<presence/>"), "it was taken")


async def connecting(checks, port, romeo):
    """The component connects once, and the server lists it."""
    gateway = None
    with checks.check("component: nobody is there before it connects"):
        romeo.send_message(mto=f"bob@{DOMAIN}", mbody="are you there?", mtype="chat")
        bounce = await romeo.saw("message_error", lambda m: m["from"].bare == f"bob@{DOMAIN}")
        expect(condition(bounce) == "service-unavailable", str(bounce))
    with checks.check("component: slixmpp connects"):
        gateway = await Gateway(port).arrive()
    with checks.check("component: a second one of the name is refused, the first stays"):
        second = Gateway(port)
        second.connect("127.0.0.1", port)
        error = await second.saw("stream_error")
        expect(error["condition"] == "conflict", str(error))
        second.abort()
    with checks.check("component: the server lists it"):
        items = await romeo.plugin["xep_0030"].get_items(jid="localhost")
        expect(DOMAIN in {str(item[0]) for item in items["disco_items"]["items"]}, str(items))
    return gateway


async def talking(checks, server, app, romeo, other, gateway):
    """A user's messages to it, by both protocols."""
    with checks.check("component: a message to it comes with its resource, in order, and to one's other device"):
        for number in range(20):
            romeo.send_message(mto=f"bob@{DOMAIN}/irc", mbody=f"hi {number}", mtype="chat")
            romeo.make_presence(pto=f"bob@{DOMAIN}", pstatus=f"p {number}").send()
        await gateway.saw("presence", lambda p: str(p["status"]) == "p 19")
        order = []
        for event, stanza in gateway.order:
            if event == "message":
                expect(str(stanza["from"]) == "romeo@localhost/orchard" and str(stanza["to"]) == f"bob@{DOMAIN}/irc", str(stanza))
                expect(stanza.xml.find("{urn:xmpp:sid:0}stanza-id") is None, f"it has our id: {stanza}")
                order.append(str(stanza["body"]))
            elif event == "presence":
                order.append(str(stanza["status"]))
        # Nothing overtakes what was said before it; a presence may stand behind messages that are on their way.
        expect([line for line in order if line.startswith("hi")] == [f"hi {n}" for n in range(20)], f"the order is {order}")
        expect([line for line in order if line.startswith("p")] == [f"p {n}" for n in range(20)], f"the order is {order}")
        expect(all(order.index(f"hi {n}") < order.index(f"p {n}") for n in range(20)), f"the order is {order}")
        copy = await other.saw("carbon_sent", lambda m: str(m["carbon_sent"]["body"]) == "hi 19")
        expect(str(copy["carbon_sent"]["to"]) == f"bob@{DOMAIN}/irc", str(copy))

    phone = await app(lambda: App(server, "romeo", "phone").connect())
    with checks.check("component: its user's message reaches clients, carbons and the app"):
        gateway.say("romeo@localhost/orchard", "hello from afar")
        heard = await romeo.saw("message", text("hello from afar"))
        expect(str(heard["from"]) == f"bob@{DOMAIN}/irc", str(heard))
        await other.saw("carbon_received", lambda m: str(m["carbon_received"]["body"]) == "hello from afar")
        message = await app(lambda: phone.message("hello from afar"))
        expect(message["senderId"] == f"bob@{DOMAIN}", f"the sender is {message}")
    with checks.check("component: the app sees the dialog, counts it, and answers in it"):
        status, page = await app(lambda: phone.call("GET", "/v1/dialogs"))
        dialog = next(item for item in page["items"] if item.get("user", {}).get("id") == f"bob@{DOMAIN}")
        expect(dialog["me"]["unreadCount"] == 1, f"the dialog is {dialog}")
        expect(sorted(dialog["memberIds"]) == sorted(["romeo", f"bob@{DOMAIN}"]), f"members are {dialog['memberIds']}")
        said = await app(lambda: phone.say(dialog["id"], "from the app"))
        at_bob = await gateway.saw("message", text("from the app"))
        expect(str(at_bob["to"]) == f"bob@{DOMAIN}" and at_bob["id"] == said["id"], str(at_bob))
        again = await app(lambda: phone.dialog(f"bob@{DOMAIN}"))
        expect(again == dialog["id"], "another dialog was opened")
    with checks.check("component: the archive has the conversation"):
        results = await romeo.plugin["xep_0313"].retrieve(with_jid=JID(f"bob@{DOMAIN}"), rsm={"max": 50})
        bodies = [str(r["mam_result"]["forwarded"]["stanza"]["body"]) for r in results["mam"]["results"]]
        expect(bodies == [f"hi {n}" for n in range(20)] + ["hello from afar", "from the app"], f"it has {bodies}")
    return phone


async def subscriptions(checks, server, app, romeo, gateway, phone):
    """Subscriptions and presence."""
    with checks.check("component: subscribes, and is subscribed to"):
        romeo.send_presence_subscription(pto=f"bob@{DOMAIN}", ptype="subscribe")
        asked = await gateway.saw("presence", lambda p: p["type"] == "subscribe")
        expect(str(asked["from"]) == "romeo@localhost" and str(asked["to"]) == f"bob@{DOMAIN}", str(asked))
        gateway.present("romeo@localhost", "subscribed", f"bob@{DOMAIN}")
        gateway.present("romeo@localhost", sender=f"bob@{DOMAIN}/irc", pshow="away", pstatus="at sea")
        came = await romeo.saw("presence_away", lambda p: p["from"].bare == f"bob@{DOMAIN}")
        expect(str(came["status"]) == "at sea", str(came))
        expect(romeo.client_roster[f"bob@{DOMAIN}"]["subscription"] in ("to", "both"), "the roster does not have it")
        gateway.present("romeo@localhost", "subscribe", f"bob@{DOMAIN}")
        # slixmpp approves by itself.
        await gateway.saw("presence", lambda p: p["type"] == "subscribed")
        await gateway.saw("presence", lambda p: p["type"] == "available" and str(p["from"]) == "romeo@localhost/orchard"
                          and not str(p["status"]))
    with checks.check("component: the app sees the contact and its presence"):
        status, contacts = await app(lambda: phone.call("GET", "/v1/contacts"))
        bob = next(item for item in contacts["items"] if item["jid"] == f"bob@{DOMAIN}")
        expect(bob["state"] == "mutual" and bob["userId"] == f"bob@{DOMAIN}", f"the contact is {bob}")
        gateway.present("romeo@localhost", sender=f"bob@{DOMAIN}/irc", pshow="dnd")
        await app(lambda: phone.event(
            "presence.updated", lambda data: data["presence"]["userId"] == f"bob@{DOMAIN}" and data["presence"]["availability"] == "doNotDisturb"))
    with checks.check("component: the app shows the vCard of somebody who publishes nothing else"):
        card = gateway.plugin["xep_0054"].make_vcard()
        card["FN"] = "Bob"
        card["PHOTO"]["TYPE"], card["PHOTO"]["BINVAL"] = "image/png", ROSE
        await gateway.plugin["xep_0054"].publish_vcard(vcard=card, jid=JID(f"bob@{DOMAIN}"))
        presence = gateway.make_presence(pto="romeo@localhost", pfrom=f"bob@{DOMAIN}/irc")
        presence.append(ElementTree.fromstring(f"<x xmlns='vcard-temp:x:update'><photo>{HASH[ROSE]}</photo></x>"))
        presence.send()
        shown = {"id": f"bob@{DOMAIN}", "name": "Bob", "avatarHash": HASH[ROSE]}
        await app(lambda: phone.event("user.updated", lambda data: shown.items() <= data["user"].items()))
    with checks.check("component: who comes online is probed for, and shown"):
        late = Client(server, "romeo@localhost/late")
        await late.arrive()
        late.send_presence()
        await gateway.saw("presence", lambda p: p["type"] == "probe" and str(p["to"]) == f"bob@{DOMAIN}")
        await gateway.saw("presence", lambda p: str(p["from"]) == "romeo@localhost/late" and p["type"] == "available")
        await late.leave()
        await gateway.saw("presence", lambda p: str(p["from"]) == "romeo@localhost/late" and p["type"] == "unavailable")
    with checks.check("component: a probe of its own is answered"):
        gateway.present("romeo@localhost", "probe", f"bob@{DOMAIN}")
        await gateway.saw("presence", lambda p: str(p["from"]) == "romeo@localhost/tablet" and p["type"] == "available")


async def queries(checks, server, romeo, other, gateway):
    """IQs, and what is kept from it."""
    with checks.check("component: IQs go both ways, with their answers"):
        await romeo.plugin["xep_0199"].send_ping(JID(f"bob@{DOMAIN}"), timeout=PATIENCE)
        await romeo.plugin["xep_0199"].send_ping(JID(DOMAIN), timeout=PATIENCE)
        info = await gateway.plugin["xep_0030"].get_info(
            jid="romeo@localhost/orchard", ifrom=f"bob@{DOMAIN}/irc", local=False, cached=False, timeout=PATIENCE)
        expect(str(info["from"]) == "romeo@localhost/orchard" and str(info["to"]) == f"bob@{DOMAIN}/irc", str(info))
        info = await gateway.plugin["xep_0030"].get_info(jid="localhost", ifrom=DOMAIN, local=False, cached=False, timeout=PATIENCE)
        expect(("server", "im") in {(i[0], i[1]) for i in info["disco_info"]["identities"]}, str(info))
        info = await gateway.plugin["xep_0030"].get_info(
            jid="romeo@localhost", ifrom=f"bob@{DOMAIN}", local=False, cached=False, timeout=PATIENCE)
        expect("urn:xmpp:mam:2" in info["disco_info"]["features"], str(info))
    with checks.check("component: what is the users' own is kept from it"):
        for to, payload in (("localhost", "services"), ("juliet@localhost", "info")):
            try:
                if payload == "info":
                    await gateway.plugin["xep_0030"].get_info(
                        jid=to, ifrom=f"bob@{DOMAIN}", local=False, cached=False, timeout=PATIENCE)
                else:
                    iq = gateway.make_iq_get(ito=to, ifrom=DOMAIN)
                    iq.append(ElementTree.Element("{urn:xmpp:extdisco:2}services"))
                    await iq.send(timeout=PATIENCE)
            except IqError as error:
                expect(condition(error.iq) == "service-unavailable", f"{to}: {error.iq}")
            else:
                raise Failure(f"{to} told it")
    with checks.check("component: a message to nobody comes back"):
        gateway.say("nobody@localhost", "hello?", id="lost")
        bounce = await gateway.saw("message", lambda m: m["type"] == "error" and m["id"] == "lost")
        expect(condition(bounce) == "service-unavailable", str(bounce))
        server.log.until("the line of the refusal", lambda log: any(
            "a stanza was refused" in line and "stanza=lost" in line and f"from=bob@{DOMAIN}/irc" in line
            for line in log.splitlines()))
    with checks.check("component: a room elsewhere is passed on, to who is meant"):
        gateway.present("romeo@localhost/orchard", sender=f"#verona@{DOMAIN}/tybalt")
        await romeo.saw("presence_available", lambda p: str(p["from"]) == f"#verona@{DOMAIN}/tybalt")
        room = gateway.make_message(mto="romeo@localhost/orchard", mbody="in the room", mtype="groupchat", mfrom=f"#verona@{DOMAIN}/tybalt")
        room.send()
        await romeo.saw("message", text("in the room"))
        romeo.send_message(mto=f"#verona@{DOMAIN}", mbody="to the room", mtype="groupchat")
        said = await gateway.saw("message", text("to the room"))
        expect(said["type"] == "groupchat", str(said))
        expect(not any(e == "message" and str(d["body"]) == "in the room" for e, d in other.seen), "a copy was made")


async def ends(checks, server, port, romeo, other, gateway):
    """Blocks, the names of others, and its end."""
    with checks.check("component: who is blocked is not heard"):
        await romeo.plugin["xep_0191"].block([f"bob@{DOMAIN}"])
        await gateway.saw("presence", lambda p: str(p["from"]) == "romeo@localhost/orchard" and p["type"] == "unavailable")
        gateway.say("romeo@localhost", "let me in", id="blocked")
        bounce = await gateway.saw("message", lambda m: m["type"] == "error" and m["id"] == "blocked")
        expect(condition(bounce) == "service-unavailable", str(bounce))
        await romeo.plugin["xep_0191"].unblock([f"bob@{DOMAIN}"])
        await gateway.saw("presence", lambda p: str(p["from"]) == "romeo@localhost/orchard" and p["type"] == "available")
    with checks.check("component: it may not speak for others"):
        gateway.say("romeo@localhost", "I am Juliet", sender="juliet@localhost/balcony")
        error = await gateway.saw("stream_error")
        expect(error["condition"] == "invalid-from", str(error))
        expect(not any(e == "message" and str(d["body"]) == "I am Juliet" for e, d in romeo.seen), "Romeo believed it")
    with checks.check("component: when it goes its users are gone"):
        await romeo.saw("presence_unavailable", lambda p: p["from"].bare == f"bob@{DOMAIN}")
        try:
            await romeo.plugin["xep_0199"].send_ping(JID(f"bob@{DOMAIN}"), timeout=PATIENCE)
        except IqError as error:
            expect(error.condition == "service-unavailable", error.condition)
        else:
            raise Failure("an answer came from nowhere")
        gateway.abort()
    with checks.check("component: it comes back, and offline users read what it said"):
        await romeo.leave()
        await other.leave()
        gateway = await Gateway(port).arrive()
        gateway.say("juliet@localhost", "while you were out")
        juliet = Client(server, "juliet@localhost/balcony")
        await juliet.arrive()
        juliet.send_presence()
        await juliet.saw("message", text("while you were out"))
        await juliet.leave()
        await gateway.leave()


async def converse(checks, server, port):
    loop = asyncio.get_running_loop()

    async def app(body):
        return await loop.run_in_executor(None, body)

    romeo, other = Client(server, "romeo@localhost/orchard"), Client(server, "romeo@localhost/tablet")
    for client in (romeo, other):
        client.add_event_handler("message_error", lambda data, client=client: client._note("message_error", data))
        await client.arrive()
        client.send_presence()
        await client.get_roster()
        await client.plugin["xep_0280"].enable()
    gateway = await connecting(checks, port, romeo)
    phone = await talking(checks, server, app, romeo, other, gateway)
    await subscriptions(checks, server, app, romeo, gateway, phone)
    await queries(checks, server, romeo, other, gateway)
    await ends(checks, server, port, romeo, other, gateway)
    await app(phone.close)


def run(checks):
    logging.getLogger("slixmpp").setLevel(logging.CRITICAL)
    port = free_port()
    with Server(components=f"{DOMAIN}={SECRET}", component__port=port) as server:
        server.start()
        server.add_users("romeo", "juliet")

        async def all_of_it():
            await doors(checks, port)
            await converse(checks, server, port)

        asyncio.run(all_of_it())
