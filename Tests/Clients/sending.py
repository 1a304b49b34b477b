"""One account takes no more of the server than it may, over however many sessions: beyond that its sessions are read more slowly, and
nothing is lost. What others send to it arrives meanwhile, and so do the server's acknowledgements.
"""
import base64
import concurrent.futures
import json
import socket

import websockets.sync.client

from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, Server, expect
from lib.scrape import Growth
from lib.wire import BODY, SM, Client

# `sending.stanzas_per_second` and `Limits.sendingStanzasBurstSeconds`; the same of bytes.
STANZAS, BYTES = 50, 65_536
BURST, BYTES_BURST = 5 * STANZAS, 8 * BYTES
CONDITIONS = "urn:ietf:params:xml:ns:xmpp-stanzas"
IBB = "http://jabber.org/protocol/ibb"
SEARCH = "urn:xmpp:channel-search:0:search"
# Requests at once, and more blocks than stanzas that are free.
DEVICES, BLOCKS = 600, 1_200
PAUSES = "parley_sending_pauses_total"
PING = "<iq type='get' id='{}' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>"


def said(number, to="juliet", more=""):
    return f"<message type='chat' to='{to}@localhost'><body>{number}{more}</body></message>"


def gather(client, count):
    """The bodies of so many messages, in the order in which they come."""
    found = []
    while len(found) < count:
        stanza = client.stanza(lambda s: s.findtext(BODY) is not None, "the next message")
        found.append(stanza.findtext(BODY))
    return found


def until(client, test, what):
    """The elements that come up to the one that is meant, in their order."""
    found, client.kept = client.kept, []
    while not any(map(test, found)):
        found += client.read(PATIENCE, what)
    return found


def stanzas(checks, server, romeo, juliet):
    growth, count = Growth(server), BURST + 2 * STANZAS
    romeo.send(f"<enable xmlns='{SM}'/>")
    romeo.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "enabled")
    romeo.send("".join(said(number) for number in range(count)) + PING.format("behind"))
    first = gather(juliet, 1)
    juliet.send(said("I hear you", "romeo"))
    with checks.check("sending: stanzas beyond what one user may send arrive later, each once and in order"):
        found = first + gather(juliet, count - 1)
        expect(found == [f"{number}" for number in range(count)], f"{len(found)} messages, not in order or not once")
    arrived = until(romeo, lambda s: s.get("id") == "behind", "the answer to a ping behind all that was sent")
    with checks.check("sending: a session that is read more slowly gets what others send"):
        expect("I hear you" in [s.findtext(BODY) for s in arrived], "the message came after what was sent long before it")
    with checks.check("sending: the server acknowledges what it has handled while the rest waits"):
        handled = [int(s.get("h")) for s in arrived if s.tag == f"{{{SM}}}a"]
        expect(any(0 < number < count for number in handled), f"acknowledged: {handled}")
    with checks.check("sending: a pause is counted, and the log names the account once"):
        growth.until(PAUSES, bound="stanzas")
        growth.until(PAUSES, 0, bound="bytes")
        listed = json.loads(server.command("sending", "--json"))
        expect([(row["account"], row["kind"], row["bound"]) for row in listed] == [("romeo@localhost", "user", "stanzas")], f"{listed}")
        server.log.until("a line about romeo", lambda text: "sends more than it may" in text and "romeo@localhost" in text)
        expect(server.log.text.count("sends more than it may") == 1, server.tail())


def sessions(checks, server):
    phone, desktop = (Client(server, "nurse", resource) for resource in ("phone", "desktop"))
    growth = Growth(server)
    with checks.check("sending: the sessions of a user share what the user may send"):
        phone.send("".join(said(number, "nurse") for number in range(BURST - 10)) + PING.format("phone"))
        phone.stanza(lambda s: s.get("id") == "phone", "the answer")
        growth.until(PAUSES, 0)
        desktop.send("".join(said(number, "nurse") for number in range(2 * STANZAS)) + PING.format("desktop"))
        desktop.stanza(lambda s: s.get("id") == "desktop", "the answer")
        growth.until(PAUSES, bound="stanzas")
    for client in (phone, desktop):
        client.close()


def unbound(checks, server):
    bot = Client(server, "bot", "wire")
    growth = Growth(server)
    with checks.check("sending: who is exempted by the configuration is not paused"):
        bot.send("".join(said(number, "bot") for number in range(BURST + 10 * STANZAS)) + PING.format("bot"))
        bot.stanza(lambda s: s.get("id") == "bot", "the answer")
        growth.until(PAUSES, 0)
    bot.close()


def answers(checks, server, juliet):
    bot, count = Client(server, "bot", "asker").present(), BURST + 2 * STANZAS
    growth = Growth(server)
    with checks.check("sending: who asks a client as much as it can does not use up what its user may send"):
        bot.send("".join(
            f"<iq type='get' id='a{number}' to='juliet@localhost/wire'><query xmlns='jabber:iq:version'/></iq>" for number in range(count)))
        for number in range(count):
            juliet.stanza(lambda s: s.get("id") == f"a{number}", f"request {number}")
        juliet.send("".join(f"<iq type='result' id='a{number}' to='bot@localhost/asker'/>" for number in range(count)))
        bot.stanza(lambda s: s.get("id") == f"a{count - 1}" and s.get("type") == "result", "the last answer")
        growth.until(PAUSES, 0)
    with checks.check("sending: answers that nobody has asked for count"):
        juliet.send("".join(
            f"<iq type='result' id='b{number}' to='bot@localhost/asker'/>" for number in range(count)) + PING.format("counted"))
        juliet.stanza(lambda s: s.get("id") == "counted", "the answer")
        growth.until(PAUSES, bound="stanzas")
    bot.close()


class Socket:
    """A stream over a WebSocket (RFC 7395), logged in and bound."""

    def __init__(self, server, name):
        self.socket = websockets.sync.client.connect(
            server.base.replace("http", "ws", 1) + "/xmpp-websocket", subprotocols=["xmpp"], open_timeout=PATIENCE, compression=None)
        token = base64.b64encode(f"\0{name}\0{PASSWORD}".encode()).decode()
        opening = "<open xmlns='urn:ietf:params:xml:ns:xmpp-framing' to='localhost' version='1.0'/>"
        for text, end in [
                (opening, "features"),
                (f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{token}</auth>", "success"),
                (opening, "features"),
                ("<iq xmlns='jabber:client' type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>", "'bind'")]:
            self.ask(text, end)

    def ask(self, text, end):
        self.socket.send(text)
        while end not in self.socket.recv(timeout=PATIENCE).replace('"', "'"):
            pass


def pings(checks, server):
    app, stream = App(server, "mercutio").connect(), Socket(server, "nurse")
    behind = "<iq xmlns='jabber:client' type='get' id='behind' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>"
    for which, connection, goes_on in [
            ("app protocol", app.socket, lambda: expect(app.command("ping").get("ok"), "no answer to a ping")),
            ("XMPP", stream.socket, lambda: stream.ask(behind, "'behind'"))]:
        growth = Growth(server)
        with checks.check(f"sending: pings of a WebSocket ({which}) count as stanzas, and what stands behind them is read"):
            for number in range(BURST + 4 * STANZAS):
                connection.ping(f"{number}")
            goes_on()
            growth.until(PAUSES, bound="stanzas")
    # The server reads a farewell behind the pings, when the user may send again.
    for each in (app, stream):
        each.socket.socket.shutdown(socket.SHUT_RDWR)


def large(checks, server, juliet):
    mercutio = Client(server, "mercutio", "wire")
    growth, size, count = Growth(server), BYTES_BURST // 4, 5
    with checks.check("sending: bytes beyond what one user may send arrive later as well"):
        mercutio.send("".join(said(number, more="x" * size) for number in range(count)))
        found = gather(juliet, count)
        expect(found == [f"{number}" + "x" * size for number in range(count)], f"{[len(body) for body in found]} bytes")
        growth.until(PAUSES, bound="bytes")
        growth.until(PAUSES, 0, bound="stanzas")
    mercutio.close()


def doors(checks, server):
    """What is sent by XMPP leaves nothing for the app: some tokens come and go between two pauses, and soon one finds none."""
    app, client = App(server, "benvolio"), Client(server, "benvolio", "wire")
    dialog, growth = app.dialog("juliet"), Growth(server)
    client.send("".join(said(number, "benvolio") for number in range(BURST + 20 * STANZAS)))
    growth.until(PAUSES, bound="stanzas")
    with checks.check("sending: both doors share what a user may send"):
        answers = []
        while not any(status == 429 for status, _ in answers) and len(answers) < BURST:
            answers.append(app.call("POST", f"/v1/dialogs/{dialog}/messages", {
                "clientId": f"c{len(answers)}", "content": {"type": "text", "text": "Part, fools!"}}))
        status, problem = answers[-1]
        expect((status, problem["code"]) == (429, "messages-too-fast") and problem["retryAfter"] >= 1, f"{answers[-3:]}")
        growth.until("parley_refusals_total", 1, rate="messages")
        expect(all(status == 201 for status, _ in answers[:-1]), f"{answers}")
    client.close()


def searches(checks, server):
    """Searches among rooms (XEP-0433), by somebody whose stanzas are not bound."""
    bot, count = Client(server, "bot", "searching"), 40

    def answers(order):
        form = (f"<x xmlns='jabber:x:data' type='submit'><field var='FORM_TYPE'><value>{SEARCH}-params</value></field>"
                f"<field var='all'><value>true</value></field><field var='key'><value>{{urn:xmpp:channel-search:0:order}}{order}</value>"
                "</field></x>")
        bot.send("".join(f"<iq type='get' id='{order}{number}' to='conference.localhost'><search xmlns='{SEARCH}'>{form}</search></iq>"
                         for number in range(count)))
        return [bot.stanza(lambda s, number=number: s.get("id") == f"{order}{number}", "an answer") for number in range(count)]

    with checks.check("sending: searches among rooms have a pace, and whoever reads the list of rooms by address has none"):
        growth = Growth(server)
        found = answers("nusers")
        errors = [each.find("{jabber:client}error") for each in found if each.get("type") == "error"]
        expect(all(each.get("type") == "result" for each in found[:20]), f"{[each.get('type') for each in found]}")
        expect(0 < len(errors) <= count - 20 and all(error.get("type") == "wait" for error in errors), f"{len(errors)} were refused")
        growth.until("parley_refusals_total", len(errors), rate="searches")
        listed = answers("address")
        expect(all(each.get("type") == "result" for each in listed), f"{[each.get('type') for each in listed]}")
    bot.close()


def day(checks):
    """Three messages of 174,000 bytes, each stored as a text and as the client wrote it, leave less than 4,000 bytes of a day's."""
    with Server(sending__day_bytes=1 << 20).start() as server:
        server.add_users("romeo", "juliet")
        romeo, juliet = (Client(server, name, "wire").present() for name in ("romeo", "juliet"))
        growth = Growth(server)
        with checks.check("sending: who has stored as much as one may in a day is told when the next begins"):
            romeo.send("".join(
                f"<message type='chat' to='juliet@localhost' id='m{number}'><body>{'x' * 174_000}</body></message>" for number in range(4)))
            refused = romeo.stanza(lambda s: s.get("type") == "error", "an error")
            error = refused.find("{jabber:client}error")
            text = error.findtext(f"{{{CONDITIONS}}}text")
            expect((refused.get("id"), error.get("type")) == ("m3", "wait"), f"{refused.attrib} {error.attrib}")
            expect(error.find(f"{{{CONDITIONS}}}resource-constraint") is not None and "seconds" in text, f"{text}")
            expect(len(gather(juliet, 3)) == 3, "the messages before it did not arrive")
        with checks.check("sending: the app is told the same"):
            app = App(server, "romeo")
            status, problem = app.call("POST", f"/v1/dialogs/{app.dialog('juliet')}/messages", {
                "clientId": "c1", "content": {"type": "text", "text": "x" * 4_000}})
            expect((status, problem["code"]) == (429, "messages-day-quota"), f"{status} {problem}")
            expect(1 <= problem["retryAfter"] <= 86_400, f"{problem}")
            growth.until("parley_refusals_total", 2, rate="day-bytes")
        with checks.check("sending: the operator sees who has stored as much as one may"):
            table = server.command("sending").splitlines()
            expect(len(table) == 2 and table[1].split()[:3] == ["romeo@localhost", "user", "day"], f"{table}")
        with checks.check("sending: what others send to one who has stored so much still arrives"):
            juliet.send(said("good night", "romeo"))
            romeo.message("good night")
        with checks.check("sending: contacts count for the day as messages do, and whoever has so many still blocks somebody"):
            server.add_users("paris")
            paris = Client(server, "paris", "wire").present()
            groups = "".join(f"<group>{number:02}{'x' * 1_000}</group>" for number in range(30))
            paris.send("".join(
                f"<iq type='set' id='c{number}'><query xmlns='jabber:iq:roster'><item jid='c{number}@localhost'>{groups}</item></query></iq>"
                for number in range(40)))
            error = paris.stanza(lambda s: s.get("type") == "error", "an error").find("{jabber:client}error")
            expect(error.get("type") == "wait" and error.find(f"{{{CONDITIONS}}}resource-constraint") is not None, f"{error.attrib}")
            paris.send("<iq type='set' id='b'><block xmlns='urn:xmpp:blocking'><item jid='romeo@localhost'/></block></iq>")
            answer = paris.stanza(lambda s: s.get("id") == "b", "the answer to the block")
            expect(answer.get("type") == "result", f"{answer.attrib}")


def good(checks):
    """What clients of good will do, with the bounds that a server has by default."""
    with Server().start() as server:
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        romeo, juliet = (Client(server, name, "wire").present() for name in ("romeo", "juliet"))
        growth = Growth(server)
        with checks.check("sending: who asks for the keys of 600 devices (OMEMO) at once is not paused"):
            romeo.send("".join(
                f"<iq type='get' id='k{number}' to='juliet@localhost'><pubsub xmlns='http://jabber.org/protocol/pubsub'>"
                f"<items node='eu.siacs.conversations.axolotl.bundles:{number}'/></pubsub></iq>" for number in range(DEVICES)))
            for number in range(DEVICES):
                romeo.stanza(lambda s: s.get("id") == f"k{number}", f"the keys of device {number}")
            growth.until(PAUSES, 0)
        with checks.check("sending: a file in blocks (XEP-0047) arrives whole, however long it takes"):
            def asks(number, payload):
                romeo.send(f"<iq type='set' id='b{number}' to='juliet@localhost/wire'>{payload}</iq>")
                asked = juliet.stanza(lambda s: s.get("id") == f"b{number}", f"block {number}")
                juliet.send(f"<iq type='result' id='b{number}' to='romeo@localhost/wire'/>")
                answer = romeo.stanza(lambda s: s.get("id") == f"b{number}", f"the answer to block {number}")
                expect(answer.get("type") == "result", f"{answer.attrib}")
                return asked.findtext(f"{{{IBB}}}data")
            asks("open", f"<open xmlns='{IBB}' block-size='4096' sid='s'/>")
            for number in range(BLOCKS):
                block = base64.b64encode(number.to_bytes(2, "big") * 2048).decode()
                found = asks(number, f"<data xmlns='{IBB}' seq='{number}' sid='s'>{block}</data>")
                expect(found == block, f"block {number} is another one")


MUC, HALL = "http://jabber.org/protocol/muc", "hall@conference.localhost"
# Users in the room, and sessions of each; messages whose deliveries are more than what is free at once by three seconds, while the
# messages themselves are not; changes of nick, of which `Limits.entranceRate` lets 64 through at once and one a second. As each is two presences
# to everybody, some three a second come as far as that.
PEOPLE, DEVICES_IN, FLOOD, NICKS = 25, 16, 45, 150


def enter(client, nick):
    client.send(f"<presence to='{HALL}/{nick}'><x xmlns='{MUC}'><history maxstanzas='0'/></x></presence>")
    return client.stanza(lambda s: s.get("from") == f"{HALL}/{nick}", "own presence")


def is_change(stanza):
    """An occupant's own change of nick, or what is said instead."""
    codes = {status.get("code") for status in stanza.iter(f"{{{MUC}#user}}status")}
    return stanza.get("type") == "error" or {"110", "303"} <= codes


def rooms(checks):
    """With 10 stanzas a second and 50 at once, 10,000 deliveries at once and 2,500 a second. A message to so many sessions is more of the latter than
    of the former; rooms have no share, which the messages would use up. Nobody begins more sessions than one user does at once."""
    people = [f"lord{number}" for number in range(PEOPLE)]
    with Server(sending__stanzas_per_second=10, sending__unlimited="conference.localhost").start() as server:
        server.add_users("romeo", "juliet", "paris", *people)
        romeo, paris = Client(server, "romeo", "wire"), Client(server, "paris", "wire")
        enter(romeo, "romeo")
        expect(romeo.ask(f"<query xmlns='{MUC}#owner'><x xmlns='jabber:x:data' type='submit'/></query>", to=HALL).get("type") == "result",
               "the room was not made")
        crowd = [Client(server, name, f"device{number}") for name in people for number in range(DEVICES_IN)]
        for client in crowd + [paris]:
            enter(client, client.name)
        app = App(server, "romeo")
        dialog, growth, answers, count = app.dialog("juliet"), Growth(server), [], 0

        def says():
            answers.append(app.call("POST", f"/v1/dialogs/{dialog}/messages", {
                "clientId": f"c{len(answers)}", "content": {"type": "text", "text": "But soft"}}))

        def floods(more):
            romeo.send("".join(f"<message type='groupchat' to='{HALL}'><body>{count + number}</body></message>" for number in range(more)))
            return count + more
        with checks.check("sending: what everybody in a large room is told of is charged to its author, and the app is told when to go on"):
            says()
            count = floods(FLOOD)
            # All are charged when the first arrives, or soon: three seconds are to be made up for, which a busy machine may use up by the last one.
            early = gather(paris, 1)
            says()
            early += gather(paris, FLOOD - 1)
            (first, _), (status, problem) = answers
            expect(first == 201, f"{answers}")
            expect((status, problem["code"]) == (429, "deliveries-too-fast") and problem["retryAfter"] >= 1, f"{answers}")
            growth.until("parley_refusals_total", 1, rate="deliveries")
        with checks.check("sending: who has told a large room too much is read more slowly, and everybody hears it once and in order"):
            count = floods(3)
            for client in [paris, romeo] + crowd:
                found = early + gather(client, count - len(early))
                early = []
                expect(found == [str(number) for number in range(count)], f"{client.name}/{client.resource}: {found}")
            growth.until(PAUSES, bound="deliveries")
            growth.until(PAUSES, 0, bound="stanzas")
            listed = json.loads(server.command("sending", "--json"))
            # The last to enter a room of hundreds may have reached it as well.
            expect({row["bound"] for row in listed} == {"deliveries"} and "romeo@localhost" in [row["account"] for row in listed], f"{listed}")
        with checks.check("sending: changes of nick in a large room have a pace"):
            growth = Growth(server)
            paris.send("".join(f"<presence to='{HALL}/paris{number}'/>" for number in range(NICKS)))
            seen = [paris.stanza(is_change, f"change {number}") for number in range(NICKS)]
            errors = [stanza.find("{jabber:client}error") for stanza in seen if stanza.get("type") == "error"]
            # The entrance was one.
            expect(0 < len(errors) <= NICKS - 63, f"{len(errors)} of {NICKS} were refused")
            expect(all(error.get("type") == "wait" for error in errors), f"{[error.attrib for error in errors]}")
            growth.until("parley_refusals_total", len(errors), rate="entrances")
        with checks.check("sending: an app waits while its user owes stanzas, for reads, too, and may still sign out"):
            growth, cell = Growth(server), "cell@conference.localhost"
            romeo.send(f"<presence to='{cell}/romeo'><x xmlns='{MUC}'/></presence>")
            # One stanza that counts as 100, of which 50 come at once.
            outcasts = "".join(f"<item affiliation='outcast' jid='stranger{number}@localhost'/>" for number in range(100))
            for query in (f"<query xmlns='{MUC}#owner'><x xmlns='jabber:x:data' type='submit'/></query>",
                          f"<query xmlns='{MUC}#admin'>{outcasts}</query>"):
                expect(romeo.ask(query, to=cell).get("type") == "result", query)
            status, problem = app.call("GET", "/v1/users/me")
            expect((status, problem["code"]) == (429, "requests-too-fast") and problem["retryAfter"] >= 1, f"{status} {problem}")
            growth.until("parley_refusals_total", 1, rate="messages")
            status, _ = app.call("DELETE", "/v1/sessions/current")
            expect(status == 204, f"signing out: {status}")
        for client in [romeo, paris] + crowd:
            client.close()


def run(checks):
    # Much of each part is waiting for what a user may send again.
    with concurrent.futures.ThreadPoolExecutor() as beside:
        others = beside.submit(rooms, checks)
        good(checks)
        day(checks)
        paces(checks)
        others.result()


def paces(checks):
    with Server(
            sending__stanzas_per_second=STANZAS, sending__bytes_per_second=BYTES, sending__unlimited="bot@localhost").start() as server:
        server.add_users("romeo", "juliet", "nurse", "mercutio", "benvolio", "bot")
        server.befriend("bot", "juliet")
        romeo, juliet = (Client(server, name, "wire").present() for name in ("romeo", "juliet"))
        stanzas(checks, server, romeo, juliet)
        sessions(checks, server)
        unbound(checks, server)
        answers(checks, server, juliet)
        large(checks, server, juliet)
        pings(checks, server)
        doors(checks, server)
        searches(checks, server)
