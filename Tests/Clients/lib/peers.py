"""`Client` is slixmpp, with a list of everything it is told. The functions ask such a client, or an app, for things that several
scripts need.
"""
import asyncio
import base64
import hashlib
import pathlib
import ssl
import urllib.request

import slixmpp
from slixmpp.exceptions import IqError
from slixmpp.plugins.xep_0059.stanza import Set
from slixmpp.plugins.xep_0060.stanza import Pubsub
from slixmpp.xmlstream import register_stanza_plugin

from lib.harness import PASSWORD, PATIENCE, Failure, expect

PLUGINS = ["xep_0030", "xep_0054", "xep_0085", "xep_0092", "xep_0115", "xep_0184", "xep_0191", "xep_0198", "xep_0199",
           "xep_0202", "xep_0280", "xep_0313", "xep_0333", "xep_0352", "xep_0359"]
ROMEO = "romeo@localhost"
EVENTS = ("pubsub_publish", "pubsub_retract", "pubsub_delete", "pubsub_purge", "pubsub_subscription")
ROSE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAMAAAACCAIAAAASFvFNAAAAEElEQVR42mM4wcAAQQxwFgAzpASxhX+UXwAAAABJRU5ErkJggg==")
LARK = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAIAAAAmkwkpAAAAD0lEQVR42mNgSDmBQMRxANtDEsFV82pOAAAAAElFTkSuQmCC")
HASH = {ROSE: hashlib.sha1(ROSE).hexdigest(), LARK: hashlib.sha1(LARK).hexdigest()}
# slixmpp knows pages of discovery and of archives only.
register_stanza_plugin(Pubsub, Set)


def trust(client, server):
    """The client believes the server's authority. Without one it takes any certificate: how servers judge each other is another matter."""
    if server.certificate:
        client.ca_certs = pathlib.Path(server.certificate)
    else:
        client.ssl_context.check_hostname = False
        client.ssl_context.verify_mode = ssl.CERT_NONE


class Client(slixmpp.ClientXMPP):
    """Gathers what it is told."""

    def __init__(self, server, jid, direct=False):
        super().__init__(jid, PASSWORD)
        self.house, self.direct = server, direct
        for plugin in PLUGINS:
            self.register_plugin(plugin)
        trust(self, server)
        self.auto_authorize = self.auto_subscribe = True
        self.waiting = []
        self.seen = []
        for event in ("session_start", "session_resumed", "message", "presence_available", "presence_away",
                      "presence_unavailable", "presence_subscribe", "roster_update", "receipt_received", "carbon_sent", "carbon_received",
                      "chatstate_composing", "marker_displayed", "failed_all_auth", "sm_enabled", "disconnected"):
            self.add_event_handler(event, lambda data, event=event: self._note(event, data))

    def displays(self, to, message):
        """Tells somebody that their message is read (XEP-0333)."""
        marker = self.make_message(to, mtype="chat")
        marker["displayed"]["id"] = message
        marker.send()

    def _note(self, event, data):
        self.seen.append((event, data))
        for waiter in list(self.waiting):
            if waiter[0] == event and not waiter[2].done() and waiter[1](data):
                waiter[2].set_result(data)

    async def saw(self, name, test=lambda data: True):
        """The first of its kind, come already or still to come."""
        for index, (event, data) in enumerate(self.seen):
            if event == name and test(data):
                del self.seen[index]
                return data
        future = asyncio.get_running_loop().create_future()
        waiter = (name, test, future)
        self.waiting.append(waiter)
        try:
            data = await asyncio.wait_for(future, PATIENCE)
        except asyncio.TimeoutError:
            raise Failure(f"{self.boundjid} did not see {name}; saw {[event for event, _ in self.seen]}") from None
        finally:
            self.waiting.remove(waiter)
        self.seen = [item for item in self.seen if item[1] is not data]
        return data

    async def arrive(self):
        self.enable_direct_tls, self.enable_starttls = self.direct, not self.direct
        self.enable_plaintext = False
        self.connect(self.house.host, self.house.tls if self.direct else self.house.xmpp)
        await self.saw("session_start")
        return self

    async def leave(self):
        await asyncio.wait_for(self.disconnect(), PATIENCE)


def text(body, sender=None):
    """Of this account, if one is given: what somebody else said is delivered again to who left without confirming it."""
    return lambda stanza: str(stanza["body"]) == body and (sender is None or stanza["from"].bare == sender)


class Registering(slixmpp.ClientXMPP):
    """Makes its account when the server asks for one."""

    def __init__(self, server, jid):
        super().__init__(jid, PASSWORD)
        self.house = server
        for plugin in ("xep_0004", "xep_0030", "xep_0050", "xep_0066", "xep_0077"):
            self.register_plugin(plugin)
        self.plugin["xep_0077"].force_registration = True
        trust(self, server)
        self.enable_plaintext = False
        self.begun = asyncio.get_running_loop().create_future()
        self.ended = asyncio.get_running_loop().create_future()
        self.registered = False
        self.add_event_handler("register", self.register)
        self.add_event_handler("session_start", lambda _: self.begun.done() or self.begun.set_result(True))
        self.add_event_handler("disconnected", lambda _: self.ended.done() or self.ended.set_result(True))

    async def register(self, _):
        request = self.Iq()
        request["type"] = "set"
        request["register"]["username"] = self.boundjid.user
        request["register"]["password"] = self.password
        await request.send(timeout=PATIENCE)
        self.registered = True

    async def arrive(self):
        self.connect("127.0.0.1", self.house.xmpp)
        await asyncio.wait_for(self.begun, PATIENCE)
        return self


class Reader(Client):
    def __init__(self, server, name):
        super().__init__(server, f"{name}@localhost/here")
        for plugin in ("xep_0004", "xep_0059", "xep_0060", "xep_0163", "xep_0222", "xep_0223"):
            self.register_plugin(plugin)
        for event in EVENTS:
            self.add_event_handler(event, lambda data, event=event: self._note(event, data))
        self.nodes = self.plugin["xep_0060"]

    async def arrive(self):
        await super().arrive()
        self.send_presence()
        return self

    async def items(self, node, **wishes):
        answer = await self.nodes.get_items(ROMEO, node, timeout=PATIENCE, **wishes)
        return list(answer["pubsub"]["items"])

    async def refused(self, asked):
        """What the request is refused with: the condition and the pubsub condition."""
        try:
            await asked
        except IqError as error:
            found = [child.tag.rpartition("}")[2] for child in error.iq.xml.find("{jabber:client}error")]
            return [name for name in found if name != "text"]
        return None


def metadata_of(hash):
    def test(message):
        info = message.xml.find(".//{urn:xmpp:avatar:metadata}info")
        return (info is not None and info.get("id")) == (hash or False)
    return test


def nick_of(name):
    return lambda message: message.xml.findtext(".//{http://jabber.org/protocol/nick}nick") == name


def put_picture(app, picture):
    request = urllib.request.Request(
        f"{app.server.base}/v1/users/me/avatar", data=picture, method="PUT",
        headers={"Authorization": f"Bearer {app.token}", "Content-Type": "image/png"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        expect(answer.status == 200, f"{answer.status}")


async def arrive(server, jid):
    client = Client(server, jid)
    client.register_plugin("xep_0055", {"provide_search": False})
    for plugin in ("xep_0004", "xep_0050", "xep_0133", "xep_0353", "xep_0377", "xep_0494"):
        client.register_plugin(plugin)
    for event in ("propose", "proceed", "retract", "reject", "accept"):
        event = f"jingle_message_{event}"
        client.add_event_handler(event, lambda data, event=event: client._note(event, data))
    await client.arrive()
    client.send_presence()
    await client["xep_0280"].enable(timeout=PATIENCE)
    return client
