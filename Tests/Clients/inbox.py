"""Inbox (XEP-0430 0.2.0) and displayed messages (XEP-0490 1.0.1), by a client written here from the specifications alone: no
library we know speaks the first. A recount proves the numbers: what the inbox says is compared with what was sent and read.
"""
import os
import random

from lib.apps import App
from lib.harness import PASSWORD, Server, expect
from lib.wire import XMPP

INBOX = "urn:xmpp:inbox:1"
MAM = "urn:xmpp:mam:2"
RSM = "http://jabber.org/protocol/rsm"
FORWARD = "urn:xmpp:forward:0"
SID = "urn:xmpp:sid:0"
MDS = "urn:xmpp:mds:displayed:0"
PUBSUB = "http://jabber.org/protocol/pubsub"
CLIENT = "jabber:client"
PEERS = [f"peer{number}" for number in range(12)]
# The most that one answer has, with messages as clients write them.
CROWD = 1000


class Client(XMPP):
    def __init__(self, name, server):
        super().__init__(name, server.tls, trust=server.certificate)
        self.asked = 0
        self.connect()
        self.send("<presence/>")

    def ask(self, content, kind="get"):
        """The messages that came before the answer, and the answer."""
        self.asked += 1
        name = f"q{self.asked}"
        self.kept = []
        self.send(f"<iq type='{kind}' id='{name}'>{content}</iq>")
        answer = self.stanza(lambda s: s.tag == f"{{{CLIENT}}}iq" and s.get("id") == name, "an answer")
        expect(answer.get("type") == "result", f"{content} was answered with an error")
        return [s for s in self.kept if s.tag == f"{{{CLIENT}}}message"], answer

    def inbox(self, attributes="", page=""):
        """Lines as (jid, unread, id, body or None), and <fin/> with its page."""
        messages, answer = self.ask(f"<inbox xmlns='{INBOX}' {attributes}>{page}</inbox>")
        lines = []
        for message in messages:
            entry = message.find(f"{{{INBOX}}}entry")
            if entry is None:
                continue
            result = message.find(f"{{{MAM}}}result")
            body = None
            if result is not None:
                expect(result.get("queryid") == answer.get("id"), "the result names another query")
                body = result.findtext(f"{{{FORWARD}}}forwarded/{{{CLIENT}}}message/{{{CLIENT}}}body")
            lines.append((entry.get("jid").split("@")[0], int(entry.get("unread")), entry.get("id"), body))
        fin = answer.find(f"{{{INBOX}}}fin")
        expect(fin is not None, "there is no <fin/>")
        return lines, fin

    def page(self, limit, after=None):
        behind = f"<after>{after}</after>" if after else ""
        return f"<set xmlns='{RSM}'><max>{limit}</max>{behind}</set>"

    def publish(self, jid, stanza_id, by=None):
        self.ask(
            f"<pubsub xmlns='{PUBSUB}'><publish node='{MDS}'><item id='{jid}'><displayed xmlns='{MDS}'>"
            f"<stanza-id xmlns='{SID}' by='{by or self.name + '@localhost'}' id='{stanza_id}'/></displayed></item></publish>"
            "</pubsub>", "set")

    def displayed(self):
        _, answer = self.ask(f"<pubsub xmlns='{PUBSUB}'><items node='{MDS}'/></pubsub>")
        return {
            item.get("id"): item.find(f"{{{MDS}}}displayed/{{{SID}}}stanza-id").get("id")
            for item in answer.iter(f"{{{PUBSUB}}}item")}


def orders(checks, romeo, rng, unread, order, say, answer, read, compare):
    """Orders, counts and pages of the inbox."""
    with checks.check("inbox: order, last messages and counts, recounted after each of 60 steps of both protocols"):
        for peer in PEERS:
            say(peer)
        for step in range(60):
            rng.choice([say, say, answer, read, read])(rng.choice(PEERS))
            if step % 3 == 0:
                compare()
        compare()

    with checks.check("inbox: pages of all sizes give the whole in order"):
        whole, _ = romeo.inbox()
        for size in (1, 5, len(whole), 100):
            seen, after = [], None
            while True:
                lines, fin = romeo.inbox(page=romeo.page(size, after))
                if not lines:
                    break
                seen += lines
                after = fin.findtext(f"{{{RSM}}}set/{{{RSM}}}last")
            expect(seen == whole, f"pages of {size} are not the whole")

    with checks.check("inbox: unread-only, and without messages"):
        say(PEERS[0])
        lines, _ = romeo.inbox("unread-only='true' messages='false'")
        expect([line[0] for line in lines] == [peer for peer in order if unread[peer]], "others than the unread ones")
        expect(all(line[3] is None for line in lines), "messages came all the same")


def reading(checks, romeo, app, apps, dialogs, unread, read):
    """What has been read, by both protocols."""
    with checks.check("displayed: after reading in both protocols the node says what the app says"):
        for peer in PEERS:
            if unread[peer]:
                read(peer)
        items = romeo.displayed()
        for peer in PEERS:
            _, dialog = app.call("GET", f"/v1/dialogs/{dialogs[peer]}")
            expect(items.get(f"{peer}@localhost") == dialog["me"].get("readMessageId"), f"{peer}: {items} and {dialog['me']}")

    with checks.check("displayed, and inbox: of a room, in both directions"):
        status, room = apps[PEERS[0]].call("POST", "/v1/dialogs", {"type": "group", "name": "Orchard", "memberIds": ["romeo"]})
        expect(status == 201, f"no room: {status} {room}")
        texts = [apps[PEERS[0]].say(room["id"], f"in the room {number}")["id"] for number in range(3)]

        def state():
            _, dialog = app.call("GET", f"/v1/dialogs/{room['id']}")
            line = romeo.inbox()[0][0]
            expect(line[0] == room["jid"].split("@")[0] and line[2] == texts[2], f"the room is not in front: {line}")
            expect(line[3] == "in the room 2", f"its last message is {line[3]}")
            expect(line[1] == dialog["me"]["unreadCount"], f"the inbox says {line[1]}, the app {dialog['me']}")
            return line[1], dialog["me"].get("readMessageId"), romeo.displayed().get(room["jid"])

        expect(state() == (3, None, None), f"unread: {state()}")
        romeo.publish(room["jid"], texts[0], by=room["jid"])
        expect(state() == (2, texts[0], texts[0]), f"after publishing: {state()}")
        status, _ = app.call("PUT", f"/v1/dialogs/{room['id']}/marker", {"read": texts[1]})
        expect(status == 200 and state() == (1, texts[1], texts[1]), f"after the app's marker: {state()}")
        romeo.publish(room["jid"], texts[0], by=room["jid"])
        expect(state() == (1, texts[1], texts[1]), f"what is older has moved it: {state()}")


def crowds(checks, server, romeo):
    """Many conversations, and kill -9."""
    with checks.check(f"inbox: {CROWD} conversations in one answer"):
        crowd = [f"face{number}" for number in range(CROWD)]
        path = os.path.join(server.folder, "crowd.csv")
        with open(path, "w") as file:
            file.write("jid,password,name\n")
            file.writelines(f"{name}@localhost,{PASSWORD},{name}\n" for name in ["speaker", *crowd])
        server.command("user", "import", path)
        speaker = Client("speaker", server)
        for number, name in enumerate(crowd):
            speaker.send(
                f"<message to='{name}@localhost' type='chat' id='8f3c1a52-7a47-4a31-9d5c-{number:012}'>"
                "<body>It is the east, and Juliet is the sun. Arise, fair sun.</body>"
                f"<origin-id xmlns='{SID}' id='8f3c1a52-7a47-4a31-9d5c-{number:012}'/>"
                "<request xmlns='urn:xmpp:receipts'/><markable xmlns='urn:xmpp:chat-markers:0'/></message>")
        lines, fin = speaker.inbox()
        expect([line[0] for line in lines] == crowd[::-1], f"{len(lines)} conversations")
        expect(all(line[3] for line in lines) and int(fin.get("total")) == CROWD, "not all have their message")
        speaker.close()

    with checks.check("inbox and displayed: the same over kill -9"):
        before = romeo.inbox()[0], romeo.displayed()
        server.kill()
        server.start()
        romeo = Client("romeo", server)
        expect((romeo.inbox()[0], romeo.displayed()) == before, "something has changed")
    return romeo


def run(checks):
    with Server() as server:
        server.start()
        server.add_users("romeo", *PEERS)
        for peer in PEERS:
            server.befriend("romeo", peer)
        romeo = Client("romeo", server)
        app = App(server, "romeo")
        apps = {peer: App(server, peer) for peer in PEERS}
        dialogs = {peer: apps[peer].dialog("romeo") for peer in PEERS}
        rng = random.Random(430)
        # By peer: what they said that is unread, with ids, and what came last.
        unread = {peer: [] for peer in PEERS}
        last, order = {}, []

        def say(peer):
            text = f"{peer} {rng.random()}"
            unread[peer].append(apps[peer].say(dialogs[peer], text)["id"])
            settle(peer, text)

        def answer(peer):
            text = f"romeo {rng.random()}"
            app.say(dialogs[peer], text)
            settle(peer, text)

        def settle(peer, text):
            last[peer] = text
            if peer in order:
                order.remove(peer)
            order.insert(0, peer)

        def read(peer):
            if not unread[peer]:
                return
            upto = rng.randrange(len(unread[peer]))
            target = unread[peer][upto]
            if rng.random() < 0.5:
                romeo.publish(f"{peer}@localhost", target)
            else:
                status, _ = app.call("PUT", f"/v1/dialogs/{dialogs[peer]}/marker", {"read": target})
                expect(status == 200, f"a marker was answered with {status}")
            del unread[peer][: upto + 1]

        def compare():
            lines, fin = romeo.inbox()
            expect([line[0] for line in lines] == order, f"the order is {[line[0] for line in lines]}, not {order}")
            expect([line[3] for line in lines] == [last[peer] for peer in order], "these are not the last messages")
            counts = {line[0]: line[1] for line in lines}
            expect(counts == {peer: len(unread[peer]) for peer in order}, f"unread is {counts}")
            expect(int(fin.get("total")) == len(order), "the total is wrong")
            expect(int(fin.get("unread")) == sum(1 for peer in order if unread[peer]), "unread conversations are wrong")
            expect(int(fin.get("all-unread")) == sum(map(len, unread.values())), "all-unread is wrong")

        orders(checks, romeo, rng, unread, order, say, answer, read, compare)
        reading(checks, romeo, app, apps, dialogs, unread, read)
        romeo = crowds(checks, server, romeo)
        romeo.close()
