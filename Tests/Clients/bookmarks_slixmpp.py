"""slixmpp's own XEP-0402, 0048 and 0049 against Parley: one list of bookmarks for clients of three ages (XEP-0411), each told of
what the others write; a room that the app puts into it; and private XML of any other kind.
"""
import asyncio

from slixmpp.plugins.xep_0048 import Bookmarks
from slixmpp.plugins.xep_0402 import stanza as native
from slixmpp.xmlstream import ElementBase

from lib.apps import App
from lib.harness import PATIENCE, expect, on_server
from lib.peers import Client

NODE = "urn:xmpp:bookmarks:1"
GARDEN, HALL = "garden@conference.localhost", "hall@conference.localhost"


class Delimiter(ElementBase):
    """What Psi and others keep in private storage (XEP-0083)."""

    name, namespace, plugin_attrib, interfaces = "roster", "roster:delimiter", "delimiter", set()


async def arrive(server, jid, interest):
    client = Client(server, jid)
    for plugin in ("xep_0048", "xep_0049", "xep_0060", "xep_0163", "xep_0223", "xep_0402"):
        client.register_plugin(plugin)
    client["xep_0049"].register(Delimiter)
    # Each hears of what it knows: `xep_0048` has said that it knows its own node.
    for node in {NODE, "storage:bookmarks"} - {interest}:
        client["xep_0163"].remove_interest(node)
    client["xep_0163"].add_interest(interest)
    for event in ("pubsub_publish", "pubsub_retract"):
        client.add_event_handler(event, lambda data, event=event: client._note(event, data))
    await client.arrive()
    await client["xep_0115"].update_caps()
    client.send_presence()
    return client


def listed(bookmarks):
    return {str(one["jid"]): (one["name"], one["nick"], one["autojoin"]) for one in bookmarks["conferences"]}


async def converse(checks, server):
    loop = asyncio.get_running_loop()

    async def app(body):
        return await loop.run_in_executor(None, body)

    new = await arrive(server, "romeo@localhost/new", NODE)
    old = await arrive(server, "romeo@localhost/old", "storage:bookmarks")

    async def items():
        answer = await new["xep_0060"].get_items("romeo@localhost", NODE, timeout=PATIENCE)
        found = {item["id"]: item["conference"] for item in answer["pubsub"]["items"]}
        return {jid: (one["name"], one["nick"], one["autojoin"]) for jid, one in found.items()}

    async def lists():
        """In private storage and in the old node."""
        private = await old["xep_0048"].get_bookmarks(timeout=PATIENCE)
        node = await old["xep_0060"].get_items("romeo@localhost", "storage:bookmarks", timeout=PATIENCE)
        return listed(private["private"]["bookmarks"]), listed(list(node["pubsub"]["items"])[0]["bookmarks"])

    def told(client, node, room, event="pubsub_publish"):
        return client.saw(event, lambda m: m["pubsub_event"]["items"]["node"] == node and room in str(m))

    with checks.check("bookmarks, slixmpp: the account says that it converts (XEP-0402 6, XEP-0411 2)"):
        info = await new["xep_0030"].get_info(jid="romeo@localhost", timeout=PATIENCE)
        wanted = {f"{NODE}#compat", f"{NODE}#compat-pep", "urn:xmpp:bookmarks-conversion:0"}
        expect(wanted <= set(info["disco_info"]["features"]), f"{info}")
    with checks.check("bookmarks, slixmpp: a list in private storage (XEP-0048, XEP-0049) is items (XEP-0402), and their client is told"):
        bookmarks = Bookmarks()
        bookmarks.add_conference(GARDEN, "Romeo", name="The garden", autojoin=True)
        await old["xep_0048"].set_bookmarks(bookmarks, timeout=PATIENCE)
        await told(new, NODE, GARDEN)
        expect(await items() == {GARDEN: ("The garden", "Romeo", True)}, f"{await items()}")
    with checks.check("bookmarks, slixmpp: an item is in the list, in both of its places, and its client is told"):
        bookmark = native.Conference()
        bookmark["name"], bookmark["nick"], bookmark["autojoin"] = "The hall", "Montague", False
        await new["xep_0223"].store(bookmark, node=NODE, id=HALL, timeout=PATIENCE)
        await told(old, "storage:bookmarks", HALL)
        both = {GARDEN: ("The garden", "Romeo", True), HALL: ("The hall", "Montague", False)}
        expect(await lists() == (both, both), f"{await lists()}")
    with checks.check("bookmarks, slixmpp: a list in the old node (XEP-0048 3.1) replaces them all"):
        bookmarks = Bookmarks()
        bookmarks.add_conference(HALL, "Montague", name="The hall", autojoin=True)
        await old["xep_0048"].set_bookmarks(bookmarks, method="xep_0223", node="storage:bookmarks", id="current", timeout=PATIENCE)
        await told(new, NODE, HALL)
        await told(new, NODE, GARDEN, "pubsub_retract")
        expect(await items() == {HALL: ("The hall", "Montague", True)}, f"{await items()}")
    with checks.check("bookmarks, slixmpp: a group of the app's is a bookmark, and who is removed has it no more"):
        juliet = await app(lambda: App(server, "juliet", "phone"))
        status, group = await app(lambda: juliet.call(
            "POST", "/v1/dialogs", {"type": "group", "name": "Mantua", "memberIds": ["romeo"]}))
        expect(status == 201, f"no group: {status} {group}")
        heard = await new.saw("pubsub_publish", lambda m: "Mantua" in str(m))
        room = heard["pubsub_event"]["items"]["item"]["id"]
        expect((await items())[room][0] == "Mantua" and room in (await lists())[0], f"{room}: {await lists()}")
        status, _ = await app(lambda: juliet.call("DELETE", f"/v1/dialogs/{group['id']}/members/romeo"))
        expect(status == 204, f"removing is answered {status}")
        await told(new, NODE, room, "pubsub_retract")
        expect(room not in await items() and room not in (await lists())[1], f"it is still there: {await lists()}")
    with checks.check("private XML, slixmpp: what one client keeps another finds (XEP-0049)"):
        kept = Delimiter()
        kept.xml.text = "::"
        await old["xep_0049"].store(kept, timeout=PATIENCE)
        found = await new["xep_0049"].retrieve("delimiter", timeout=PATIENCE)
        expect(found["private"]["delimiter"].xml.text == "::", f"{found}")
        expect(await lists() == ({HALL: ("The hall", "Montague", True)},) * 2, f"it is in the way: {await lists()}")
    with checks.check("bookmarks, slixmpp: a list of hundreds is there as a whole when it is answered"):
        bookmarks, wanted = Bookmarks(), {f"r{number}@conference.localhost": (f"Room {number}", "Romeo", False) for number in range(250)}
        for jid, (name, nick, autojoin) in wanted.items():
            bookmarks.add_conference(jid, nick, name=name, autojoin=autojoin)
        await old["xep_0048"].set_bookmarks(bookmarks, timeout=PATIENCE)
        both = await lists()
        expect(both == (wanted, wanted), f"{len(both[0])} and {len(both[1])} of them are there")
    for client in (new, old):
        await client.leave()


def run(checks):
    on_server(converse, checks, "romeo", "juliet", friends=False)
