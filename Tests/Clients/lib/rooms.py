"""`Guest` is a slixmpp client in rooms (XEP-0045). `Others` runs several guests beside a blocking test."""
import asyncio
import threading

from slixmpp import JID
from slixmpp.exceptions import PresenceError
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import StanzaPath

from lib.harness import PATIENCE, expect
from lib.peers import Client

SERVICE = "conference.localhost"
MUC = "http://jabber.org/protocol/muc"
USER, CONFIG, REGISTER = MUC + "#user", MUC + "#roomconfig", MUC + "#register"


class Guest(Client):
    """A client that goes to rooms, and notes every message and presence by itself too: slixmpp raises no event for some."""

    everybody = []  # kept to the end: slixmpp's tasks hold on to nobody, and complain when they are swept away

    def __init__(self, server, name, resource="orchard"):
        super().__init__(server, f"{name}@{server.domain}/{resource}")
        for plugin in ("xep_0004", "xep_0045", "xep_0059", "xep_0077", "xep_0249", "xep_0410", "xep_0421"):
            self.register_plugin(plugin)
        self.order = []  # what came, in its order: of a message and a presence no event tells which was first
        for event in ("groupchat_message", "groupchat_subject", "groupchat_invite", "groupchat_direct_invite",
                      "groupchat_config_status"):
            self.add_event_handler(event, lambda data, event=event: self._note(event, data))
        for kind in ("message", "presence"):
            self.register_handler(Callback(f"every {kind}", StanzaPath(kind), lambda data, kind=kind: self._each(kind, data)))
        self.muc = self.plugin["xep_0045"]
        self.everybody.append(self)

    def _each(self, kind, data):
        self.order.append(data)
        self._note(f"any {kind}", data)

    async def arrive(self):
        await super().arrive()
        self.send_presence()
        await self.saw("any presence", lambda p: p["from"] == self.boundjid)
        return self

    async def enter(self, room, nick, **wishes):
        """Self-presence, topic, others, history. Without wishes, no history.

        slixmpp takes an error for a room's only when `<x/>` stands in it (7.2.5 and on show it so); one without it ends the
        wait here too, or everything that follows would wait for its end. That it is there is a check of its own."""
        joining = asyncio.ensure_future(self.muc.join_muc_wait(
            JID(room), nick, **(wishes or {"maxstanzas": 0}), timeout=PATIENCE))
        error = asyncio.ensure_future(self.saw("any presence", lambda p: p["type"] == "error" and p["from"].bare == room))
        try:
            await asyncio.wait([joining, error], return_when=asyncio.FIRST_COMPLETED)
            if error.done() and not error.exception():
                raise PresenceError(error.result())
            return await joining
        except (PresenceError, asyncio.TimeoutError):
            self.muc.rooms[None].pop(JID(room), None)
            raise
        finally:
            for task in (joining, error):
                task.cancel()
            await asyncio.gather(joining, error, return_exceptions=True)

    async def exit(self, room, nick):
        self.muc.leave_muc(JID(room), nick)
        return await self.presence(room, nick, lambda p: p["type"] == "unavailable" and 110 in codes(p))

    async def presence(self, room, nick, test=lambda p: True):
        return await self.saw("any presence", lambda p: str(p["from"]) == f"{room}/{nick}" and test(p))

    async def message(self, room, body):
        """What was said in the room, its author too."""
        return await self.saw("groupchat_message", lambda m: m["from"].bare == room and str(m["body"]) == body)

    def say(self, room, body, name=None):
        message = self.make_message(room, body, mtype="groupchat")
        if name:
            message["id"] = name
        message.send()
        return message["id"]

    async def fault(self, name):
        """The error a message of this id came back with."""
        error = await self.saw("any message", lambda m: m["id"] == name and m["type"] == "error")
        return error["error"]["condition"]

    async def configure(self, room, **settings):
        """Only these fields, without `muc#roomconfig_`."""
        form = self.plugin["xep_0004"].make_form(ftype="submit")
        form.add_field(var="FORM_TYPE", ftype="hidden", value=CONFIG)
        for name, value in settings.items():
            form.add_field(var=f"muc#roomconfig_{name}", value=value)
        await self.muc.set_room_config(room, form, timeout=PATIENCE)

    async def found(self, room, nick, **settings):
        """A room of one's own, which stays when everybody has left."""
        own, *_ = await self.enter(room, nick)
        expect(201 in codes(own), f"{room} was there: {own}")
        await self.configure(room, **{"persistentroom": True, **settings})

    async def list(self, room, affiliation):
        return sorted(str(jid) for jid in await self.muc.get_affiliation_list(room, affiliation, timeout=PATIENCE))

    async def nicks(self, room, role):
        return sorted(await self.muc.get_roles_list(room, role, timeout=PATIENCE))

    async def archive(self, room, **query):
        """(id, author's nick, body) of each."""
        entries = []
        async for entry in self.plugin["xep_0313"].iterate(jid=JID(room), rsm={"max": query.pop("page", 50)}, **query):
            result = entry["mam_result"]
            stanza = result["forwarded"]["stanza"]
            expect(entry["from"] == room, f"a page of {room}'s archive comes from {entry['from']}")
            entries.append((str(result["id"]), stanza["from"].resource, str(stanza["body"])))
        return entries

    def ping_room(self, room, nick):
        return self.plugin["xep_0410"].send_self_ping(JID(f"{room}/{nick}"), self.boundjid, timeout=PATIENCE)


def topic_of(stanza):
    return stanza.xml.findtext("{jabber:client}subject") or ""


def codes(stanza):
    return stanza["muc"]["status_codes"]


def room_of(name):
    return f"{name}@{SERVICE}"


class Others:
    """slixmpp's loop in a thread: the keys and the screen of profanity are waited for in this one."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def __call__(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(3 * PATIENCE)

    def guest(self, server, name):
        async def arrive():
            return await Guest(server, name).arrive()

        return self(arrive())

    def do(self, action, *arguments, **named):
        """What slixmpp does without waiting, in its own thread."""
        async def act():
            return action(*arguments, **named)

        return self(act())

    def close(self):
        async def cancel():
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        self(cancel())
        self.loop.call_soon_threadsafe(self.loop.stop)
