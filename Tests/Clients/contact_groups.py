"""Contact groups with slixmpp: an operator at the command line makes contacts of users who never met, and ends it. What slixmpp keeps
of presences, pushes and rosters is its own.
"""
import asyncio
import json

from slixmpp.exceptions import IqError

from lib.apps import App
from lib.harness import PATIENCE, expect, on_server
from lib.peers import ROSE, Client, text

GROUP = "contact-group"


def of(name):
    return lambda presence: presence["from"].bare == f"{name}@localhost"


class Member(Client):
    """A client with its roster, which keeps what the server pushes."""

    async def come(self):
        await self.arrive()
        await self.get_roster()
        self.send_presence()
        return self

    def items(self):
        """Contacts by name: subscription and groups."""
        roster = self.client_roster
        return {jid.split("@")[0]: (roster[jid]["subscription"], sorted(roster[jid]["groups"])) for jid in roster.keys()
                if jid != self.boundjid.bare and roster[jid]["subscription"] not in ("remove", "none")}

    async def pushed(self, name, subscription):
        def holds(_):
            return self.items().get(name, ("remove", []))[0] == subscription
        if not holds(None):
            await self.saw("roster_update", holds)

    async def named(self, contact, name):
        def holds(_):
            return self.client_roster[f"{contact}@localhost"]["name"] == name
        if not holds(None):
            await self.saw("roster_update", holds)


async def converse(checks, server):
    loop = asyncio.get_running_loop()

    async def command(*words):
        return await loop.run_in_executor(None, lambda: server.command(GROUP, *words))

    romeo, juliet = await asyncio.gather(*(Member(server, f"{name}@localhost/orchard").come() for name in ("romeo", "juliet")))
    with checks.check("contact groups: two who never met see each other online, by one command"):
        await command("create", "sales", "--display-name", "Sales")
        await command("add", "sales", "romeo@localhost", "juliet@localhost")
        await romeo.saw("presence_available", of("juliet"))
        await juliet.saw("presence_available", of("romeo"))
        await romeo.pushed("juliet", "both")
        expect(romeo.items() == {"juliet": ("both", ["Sales"])}, f"{romeo.items()}")
    with checks.check("contact groups: they talk, and each sees what the other is doing"):
        romeo.send_message("juliet@localhost", "Two of Sales", mtype="chat")
        await juliet.saw("message", text("Two of Sales"))
        juliet.send_presence(pshow="away")
        await romeo.saw("presence_away", of("juliet"))
    with checks.check("contact groups: a user can neither remove the contact nor end its subscription"):
        try:
            await romeo.del_roster_item("juliet@localhost")
            expect(False, "it was removed")
        except IqError as error:
            expect(error.condition == "not-allowed" and "Sales" in error.text, f"{error.condition}: {error.text}")
        romeo.send_presence_subscription(pto="juliet@localhost", ptype="unsubscribe")
        romeo.send_message("juliet@localhost", "Still here", mtype="chat")
        await juliet.saw("message", text("Still here"))
        expect(juliet.items() == {"romeo": ("both", ["Sales"])}, f"{juliet.items()}")
    with checks.check("contact groups: a picture published before is seen by who joins"):
        for client in (romeo, juliet):
            client.register_plugin("xep_0060")
            client.register_plugin("xep_0163")
        nurse = Member(server, "nurse@localhost/kitchen")
        for plugin in ("xep_0084", "xep_0163"):
            nurse.register_plugin(plugin)
        nurse.add_event_handler("avatar_metadata_publish", lambda data: nurse._note("avatar", data))
        nurse.plugin["xep_0163"].add_interest("urn:xmpp:avatar:metadata")
        await nurse.come()
        romeo.register_plugin("xep_0084")
        await romeo["xep_0084"].publish_avatar(ROSE)
        await romeo["xep_0084"].publish_avatar_metadata(
            [{"id": romeo["xep_0084"].generate_id(ROSE), "type": "image/png", "bytes": len(ROSE)}])
        await command("add", "sales", "nurse@localhost")
        await nurse.saw("presence_available", of("romeo"))
        await nurse.saw("avatar", lambda message: message["from"].bare == "romeo@localhost")
        await romeo.saw("presence_available", of("nurse"))
        shown = json.loads(await command("show", "sales", "--json"))
        expect(shown["members"] == ["juliet@localhost", "nurse@localhost", "romeo@localhost"], f"{shown}")
    with checks.check("contact groups: an app sees the same contacts"):
        app = await loop.run_in_executor(None, lambda: App(server, "juliet", "phone"))
        _, contacts = await loop.run_in_executor(None, lambda: app.call("GET", "/v1/contacts"))
        found = {item["userId"]: (item["state"], item["shared"], item["groups"]) for item in contacts["items"]}
        expect(found == {name: ("mutual", True, ["Sales"]) for name in ("romeo", "nurse")}, f"{found}")
    with checks.check("contact groups: a contact has the name of its profile, and the next one without asking"):
        for name in ("Juliet Capulet", "Juliet"):
            status, _ = await loop.run_in_executor(None, app.call, "PATCH", "/v1/users/me", {"name": name})
            expect(status == 200, f"the name is refused: {status}")
            await romeo.named("juliet", name)
            await nurse.named("juliet", name)
    with checks.check("contact groups: two commands at once, both take effect"):
        await asyncio.gather(command("add", "sales", "paris@localhost"), command("add", "sales", "tybalt@localhost", "paris@localhost"))
        await romeo.pushed("paris", "both")
        await romeo.pushed("tybalt", "both")
        await command("remove", "sales", "paris@localhost", "tybalt@localhost")
        await romeo.pushed("paris", "remove")
        await romeo.pushed("tybalt", "remove")
    with checks.check("contact groups: who is taken out goes at once, and stays away over kill -9"):
        await command("remove", "sales", "nurse@localhost")
        await romeo.saw("presence_unavailable", of("nurse"))
        await nurse.saw("presence_unavailable", of("romeo"))
        await nurse.pushed("romeo", "remove")
        expect(nurse.items() == {}, f"{nurse.items()}")
        for client in (romeo, juliet, nurse):
            await client.leave()
        await loop.run_in_executor(None, lambda: (server.kill(), server.start()))
        romeo, juliet, nurse = await asyncio.gather(
            *(Member(server, f"{name}@localhost/back").come() for name in ("romeo", "juliet", "nurse")))
        await romeo.saw("presence_available", of("juliet"))
        expect(romeo.items() == {"juliet": ("both", ["Sales"])} and nurse.items() == {}, f"{romeo.items()} {nurse.items()}")
    with checks.check("contact groups: the group goes, and so do they"):
        await command("delete", "sales", "--yes")
        await romeo.saw("presence_unavailable", of("juliet"))
        await romeo.pushed("juliet", "remove")
        expect(json.loads(await command("list", "--json")) == [], "a group is left")
    for client in (romeo, juliet, nurse):
        await asyncio.wait_for(client.leave(), PATIENCE)


def run(checks):
    on_server(converse, checks, "romeo", "juliet", "nurse", "paris", "tybalt", friends=False)
