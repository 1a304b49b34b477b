"""`Crowd` is people who talk in a room, and are promoted and demoted, while `rooms_slixmpp.py` kills the server."""
import asyncio
import contextlib
import random

from slixmpp.exceptions import IqError, PresenceError
from slixmpp.plugins.xep_0004 import Form

from lib.harness import PATIENCE, Failure, expect
from lib.rooms import MUC, SERVICE, Guest, codes, room_of, topic_of


def occupant_id(stanza):
    element = stanza.xml.find("{urn:xmpp:occupant-id:0}occupant-id")
    expect(element is not None and element.get("id"), f"no occupant id: {stanza}")
    return element.get("id")


def stanza_id(stanza, room):
    ids = [e.get("id") for e in stanza.xml.findall("{urn:xmpp:sid:0}stanza-id") if e.get("by") == room]
    expect(len(ids) == 1, f"{len(ids)} stanza-ids by {room}: {stanza}")
    return ids[0]


async def refused(condition, action):
    """The error's type."""
    try:
        await action
    except (IqError, PresenceError) as error:
        expect(error.condition == condition, f"{error.condition} instead of {condition}: {error}")
        return error.etype
    raise Failure(f"not refused with {condition}")


async def create(checks, romeo, juliet, paris):
    verona = room_of("verona")
    with checks.check("rooms: an instant room: 201, locked while it is configured, then open to who may (10.1.2)"):
        own, topic, others, history = await romeo.enter(verona, "Romeo")
        expect({110, 201} <= codes(own), f"{own}")
        expect((own["muc"]["affiliation"], own["muc"]["role"]) == ("owner", "moderator"), f"{own}")
        expect(not history and not topic_of(topic), f"{history} {topic}")
        await romeo.muc.get_room_config(verona, timeout=PATIENCE)
        expect(await refused("item-not-found", juliet.enter(verona, "Juliet")) == "cancel", "the type is not cancel")
        juliet.order.clear()
        await refused("item-not-found", juliet.enter(verona, "Juliet"))
        locked = juliet.order[-1]
        empty = Form()
        empty["type"] = "submit"
        await romeo.muc.set_room_config(verona, empty, timeout=PATIENCE)
        own, _, others, _ = await juliet.enter(verona, "Juliet")
        expect([p["from"].resource for p in others if p["from"].resource != "Juliet"] == ["Romeo"], f"{others}")
        expect((own["muc"]["affiliation"], own["muc"]["role"]) == ("none", "participant"), f"{own}")
        seen = await romeo.presence(verona, "Juliet")
        expect(seen["muc"]["role"] == "participant", f"{seen}")
        await juliet.exit(verona, "Juliet")
        await romeo.presence(verona, "Juliet", lambda p: p["type"] == "unavailable")
    with checks.check("rooms: a refusal to enter says that it is a room's, for clients that look for that (7.2.5 and on)"):
        expect(locked.xml.find(f"{{{MUC}}}x") is not None, f"no <x xmlns='{MUC}'/> in {locked}")
    orchard = room_of("orchard")
    with checks.check("rooms: a reserved room: the whole form back with changes, and discovery says so (10.1.3, 6.4)"):
        await romeo.enter(orchard, "Romeo")
        form = await romeo.muc.get_room_config(orchard, timeout=PATIENCE)
        fields = form.get_fields()
        for name in ("roomname", "roomdesc", "publicroom", "membersonly", "moderatedroom", "passwordprotectedroom",
                     "roomsecret", "whois", "maxusers", "changesubject", "allowinvites", "persistentroom"):
            expect(f"muc#roomconfig_{name}" in fields, f"no field {name} among {list(fields)}")
        form["type"] = "submit"
        form["values"] = {
            "muc#roomconfig_roomname": "Capulet's orchard", "muc#roomconfig_roomdesc": "Walls high and hard to climb",
            "muc#roomconfig_publicroom": True, "muc#roomconfig_membersonly": False, "muc#roomconfig_moderatedroom": True,
            "muc#roomconfig_persistentroom": True,
            "muc#roomconfig_whois": "moderators"}
        await romeo.muc.set_room_config(orchard, form, timeout=PATIENCE)
        info = (await paris.plugin["xep_0030"].get_info(orchard, timeout=PATIENCE))["disco_info"]
        wanted = {MUC, "muc_public", "muc_open", "muc_moderated", "muc_semianonymous", "muc_unsecured", "muc_persistent",
                  "urn:xmpp:mam:2", "urn:xmpp:occupant-id:0"}
        expect(wanted <= info["features"], f"missing {wanted - info['features']}")
        expect(("conference", "text", "Capulet's orchard") in {(i[0], i[1], i[3]) for i in info["identities"]}, f"{info}")
        more = Form(xml=info.xml.find("{jabber:x:data}x")).get_values()
        expect(more.get("FORM_TYPE") in (MUC + "#roominfo", [MUC + "#roominfo"]), f"{more}")
        expect(more.get("muc#roominfo_description") == "Walls high and hard to climb", f"{more}")
        items = await paris.plugin["xep_0030"].get_items(SERVICE, timeout=PATIENCE)
        names = {item[0]: item[2] for item in items["disco_items"]["items"]}
        expect(names.get(orchard) == "Capulet's orchard", f"the directory is {names}")
        expect(verona not in names, "a room that nobody listed is listed")
    with checks.check("rooms: a form that is cancelled: there never was a room (10.1.3)"):
        tomb = room_of("tomb")
        await romeo.enter(tomb, "Romeo")
        await romeo.muc.cancel_config(tomb, timeout=PATIENCE)
        own, *_ = await juliet.enter(tomb, "Juliet")
        expect(201 in codes(own), f"{own}")
        await juliet.muc.cancel_config(tomb, timeout=PATIENCE)
    with checks.check("rooms: a nick is needed, and one that is a nick (7.2.1)"):
        presence = romeo.make_presence(pto=verona)
        presence.enable("muc_join")
        presence["id"] = "nameless"
        presence.send()
        error = await romeo.saw("any presence", lambda p: p["id"] == "nameless")
        expect(error["error"]["condition"] == "jid-malformed", f"{error}")


class Crowd:
    """People who talk in one room while one of them is promoted and demoted, over several lives of the server."""

    ROOM = room_of("fray")
    VARIED = ("paris", "nurse", "tybalt")  # whose affiliation changes; paris is there, the others are not
    WINDOW = 12  # of one's own words that have not come back

    def __init__(self, server, dice):
        self.server, self.dice = server, dice
        self.sent = {}  # text -> id
        self.told = {}  # text -> stanza-ids it was seen with, by anybody
        self.affiliation = {name: "none" for name in self.VARIED}  # as last answered or told
        self.pending = None  # a change that was not answered: (name, affiliation)
        self.changes = self.count = 0
        self.limit = None  # how many things told until the end of this life
        self.ended, self.more = asyncio.Event(), asyncio.Event()
        self.guests = {}
        self.ids = {}
        self.faults = []

    def hear(self, message):
        body = str(message["body"])
        self.told.setdefault(body, set()).add(stanza_id(message, self.ROOM))
        self.tick()

    def tick(self):
        self.count += 1
        self.more.set()
        if self.limit is not None and self.count >= self.limit:
            self.ended.set()

    def see(self, presence):
        """An affiliation that anybody was told of must hold after the crash."""
        if presence["from"] == f"{self.ROOM}/paris" and presence["type"] != "error" and self.pending:
            name, wanted = self.pending
            if name == "paris" and presence["muc"]["affiliation"] == wanted:
                self.affiliation[name], self.pending = wanted, None
        self.tick()

    async def come(self, name, create=False):
        guest = await Guest(self.server, name, "fray").arrive()
        guest.add_event_handler(f"muc::{self.ROOM}::message", self.hear)
        guest.add_event_handler(f"muc::{self.ROOM}::presence", self.see)
        if create:
            await guest.found(self.ROOM, name, membersonly=False)
            own = await guest.presence(self.ROOM, name, lambda p: 110 in codes(p))
            others = []
        else:
            own, _, others, _ = await guest.enter(self.ROOM, name)
        self.guests[name] = guest
        return own, [p["from"].resource for p in others if p["from"].resource != name]

    async def talk(self, name):
        guest = self.guests[name]
        mine = [text for text in self.sent if text.startswith(name + " ")]
        number = len(mine)
        while not self.ended.is_set():
            waiting = [text for text in mine if text not in self.told]
            if len(waiting) >= self.WINDOW:
                await self.next()
                continue
            number += 1
            text = f"{name} {number}"
            mine.append(text)
            self.sent[text] = guest.say(self.ROOM, text, text.replace(" ", "-"))
            await asyncio.sleep(0)  # the loop writes

    async def next(self):
        """Until anything more was told, or this life is over."""
        self.more.clear()
        await self.more.wait()

    async def rule(self):
        owner = self.guests["romeo"]
        while not self.ended.is_set():
            name = self.dice.choice(self.VARIED)
            wanted = self.dice.choice(["none", "member", "admin", "owner"])
            self.pending = (name, wanted)
            try:
                await owner.muc.set_affiliation(self.ROOM, wanted, jid=f"{name}@localhost", timeout=PATIENCE)
            except IqError as error:
                self.faults.append(f"{self.pending}: {error}")
                return
            self.affiliation[name] = wanted
            self.pending = None
            self.changes += 1
            self.tick()
            role = self.dice.choice(["visitor", "participant"])
            # Not of who is admin now: roles follow affiliations, and what is not allowed is answered so.
            with contextlib.suppress(IqError):
                await owner.muc.set_role(self.ROOM, "paris", role, timeout=PATIENCE)

    async def live(self, told):
        """Until so many things more were told; then the server is killed, wherever everybody is."""
        self.ended.clear()
        self.limit = self.count + told
        tasks = [asyncio.ensure_future(self.talk(name)) for name in ("romeo", "juliet")]
        tasks.append(asyncio.ensure_future(self.rule()))
        try:
            await asyncio.wait_for(self.ended.wait(), 6 * PATIENCE)
        except asyncio.TimeoutError:
            raise Failure(f"only {self.count} of {self.limit} things were told; {self.server.tail()}") from None
        self.server.kill()
        self.ended.set()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for guest in self.guests.values():
            guest.abort()
        self.guests.clear()
        await asyncio.get_running_loop().run_in_executor(None, self.server.start)

    async def reckon(self, checks, number):
        """The first who comes after a kill."""
        with checks.check(f"rooms: after kill {number}: nobody is there but who came since"):
            own, others = await self.come("romeo")
            expect(not others, f"ghosts: {others}")
            expect((own["muc"]["affiliation"], own["muc"]["role"]) == ("owner", "moderator"), f"{own}")
            romeo = self.guests["romeo"]
            there = [nick for role in ("moderator", "participant", "visitor") for nick in await romeo.nicks(self.ROOM, role)]
            expect(there == ["romeo"], f"{there}")
            expect(self.ids.setdefault("romeo", occupant_id(own)) == occupant_id(own), "another occupant id")
        romeo = self.guests["romeo"]
        with checks.check(f"rooms: after kill {number}: what was heard is in the archive once, under that id ({len(self.told)})"):
            entries = [e for e in await romeo.archive(self.ROOM) if e[2]]
            bodies = [e[2] for e in entries]
            twice = {body for body in bodies if bodies.count(body) > 1} if len(set(bodies)) != len(bodies) else set()
            expect(not twice, f"{len(twice)} are there twice: {sorted(twice)[:5]}")
            kept = {body: number for number, _, body in entries}
            lost = [body for body, ids in self.told.items() if {kept.get(body)} != ids]
            expect(not lost, f"{len(lost)} of {len(self.told)}: {[(b, self.told[b], kept.get(b)) for b in lost[:3]]}")
            expect(set(kept) <= set(self.sent), f"{sorted(set(kept) - set(self.sent))[:5]} was never said")
            for name in ("romeo", "juliet"):
                numbers = [int(body.split()[1]) for body in bodies if body.startswith(name)]
                expect(numbers == list(range(1, len(numbers) + 1)), f"{name}'s words are not in their order, or some lack")
        with checks.check(f"rooms: after kill {number}: each affiliation is what was last told ({self.changes} changes)"):
            lists = {kind: await romeo.list(self.ROOM, kind) for kind in ("owner", "admin", "member", "outcast")}
            for name in self.VARIED:
                found = [kind for kind, people in lists.items() if f"{name}@localhost" in people]
                expect(len(found) <= 1, f"{name} is {found}")
                now = found[0] if found else "none"
                allowed = {self.affiliation[name]}
                if self.pending and self.pending[0] == name:
                    allowed.add(self.pending[1])
                expect(now in allowed, f"{name} is {now}, and was {allowed}")
                self.affiliation[name] = now
            self.pending = None
            expect("romeo@localhost" in lists["owner"], f"{lists}")
            own, _ = await self.come("paris")
            expect(own["muc"]["affiliation"] == self.affiliation["paris"], f"{own}: the list says {self.affiliation['paris']}")
            expect(self.ids.setdefault("paris", occupant_id(own)) == occupant_id(own), "another occupant id")
        with checks.check(f"rooms: after kill {number}: said again under its id, what nobody heard is there once"):
            await self.come("juliet")
            for text in [text for text in self.sent if text not in self.told]:
                self.guests[text.split()[0]].say(self.ROOM, text, self.sent[text])
            for name in ("romeo", "juliet"):  # behind these, all of it is in the log
                guest, end = self.guests[name], f"{name} {1 + sum(t.startswith(name + ' ') for t in self.sent)}"
                self.sent[end] = guest.say(self.ROOM, end, end.replace(" ", "-"))
                await guest.message(self.ROOM, end)
            bodies = [e[2] for e in await romeo.archive(self.ROOM) if e[2]]
            expect(sorted(bodies) == sorted(self.sent), f"{len(bodies)} entries, {len(self.sent)} said: "
                   f"{sorted(set(bodies) ^ set(self.sent))[:5]}, twice {[b for b in set(bodies) if bodies.count(b) > 1][:5]}")
            for number, _, body in await romeo.archive(self.ROOM):
                if body:
                    self.told.setdefault(body, {number})


async def crash(checks, server, rounds, seed):
    print(f"seed {seed}", flush=True)
    crowd = Crowd(server, random.Random(seed))
    with checks.check("rooms: a room to be killed in"):
        await crowd.come("romeo", create=True)
        await crowd.come("juliet")
        await crowd.come("paris")
    for number in range(1, rounds + 1):
        await crowd.live(crowd.dice.randrange(1, 1_500))
        await crowd.reckon(checks, number)
    with checks.check("rooms: nobody met anything that they should not"):
        expect(not crowd.faults, f"{crowd.faults[:3]}")
    print(f"{len(crowd.sent)} said, {crowd.changes} changes of affiliation, {rounds} kills")
    for guest in crowd.guests.values():
        await guest.leave()
