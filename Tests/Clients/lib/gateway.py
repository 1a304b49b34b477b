"""`Gateway` is a component (XEP-0114), by slixmpp."""
import asyncio

from slixmpp import ComponentXMPP
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import StanzaPath

from lib.peers import Client

DOMAIN = "gateway.localhost"
SECRET = "prospero"


class Gateway(ComponentXMPP):
    """A gateway with one user, bob, and a bot at its own address. Notes all that comes."""

    def __init__(self, port, secret=SECRET, domain=DOMAIN):
        super().__init__(domain, secret, "127.0.0.1", port)
        for plugin in ("xep_0030", "xep_0054", "xep_0184", "xep_0199", "xep_0313"):
            self.register_plugin(plugin)
        # All of it is the check's to do.
        self.remove_handler("Presence")
        self.seen, self.waiting, self.order = [], [], []
        for event in ("session_start", "disconnected", "stream_error", "connection_failed"):
            self.add_event_handler(event, lambda data, event=event: self._note(event, data))
        for kind in ("message", "presence"):
            self.register_handler(Callback(f"every {kind}", StanzaPath(kind), lambda data, kind=kind: self._note(kind, data)))

    saw = Client.saw

    def _note(self, event, data):
        self.order.append((event, data))
        Client._note(self, event, data)

    async def arrive(self):
        self.connect("127.0.0.1", self.server_port)
        await self.saw("session_start")
        return self

    async def leave(self):
        self.abort()
        await asyncio.sleep(0)

    def say(self, to, body, sender=f"bob@{DOMAIN}/irc", **more):
        message = self.make_message(mto=to, mbody=body, mtype="chat", mfrom=sender)
        for name, value in more.items():
            message[name] = value
        message.send()

    def present(self, to, kind=None, sender=f"bob@{DOMAIN}/irc", **more):
        self.make_presence(pto=to, pfrom=sender, ptype=kind, **more).send()


def condition(stanza):
    """Of an error. slixmpp looks for `<error/>` in the namespace of clients only, unless all of the process does otherwise."""
    names = [child.tag.split("}") for child in stanza.xml.iter()]
    found = [local for space, local in (name for name in names if len(name) == 2) if space.endswith(":xmpp-stanzas")]
    return found[0] if found else None
