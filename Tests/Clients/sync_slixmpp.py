"""slixmpp's own XEP-0441, XEP-0490, XEP-0402 with XEP-0469 and XEP-0492, against Parley, with an app client on the other side."""
import asyncio

from slixmpp.plugins.xep_0402 import stanza as bookmarks

from lib.apps import App
from lib.harness import Server, expect
from lib.peers import PLUGINS, Client


PLUGINS += ["xep_0441", "xep_0490", "xep_0402", "xep_0469", "xep_0492"]


async def converse(checks, server):
    loop = asyncio.get_running_loop()

    async def app(body):
        return await loop.run_in_executor(None, body)

    juliet = await app(lambda: App(server, "juliet", "phone"))
    phone = await app(lambda: App(server, "romeo", "phone").connect())
    romeo = Client(server, "romeo@localhost/orchard")
    other = Client(server, "romeo@localhost/attic")
    for client in (romeo, other):
        client.add_event_handler(
            "message_displayed_synchronization_publish",
            lambda message, client=client: client._note("displayed", message))
        await client.arrive()
        client.send_presence()
    dialog = await app(lambda: juliet.dialog("romeo"))
    said = [(await app(lambda n=n: juliet.say(dialog, f"number {n}")))["id"] for n in range(3)]

    def of(message_id):
        return lambda message: message_id in str(message)

    with checks.check("slixmpp: archive preferences, set and read back"):
        await romeo["xep_0441"].set_preferences("roster", ["juliet@localhost"], ["nurse@localhost"])
        default, always, never = await romeo["xep_0441"].get_preferences()
        expect(default == "roster", f"default is {default}")
        expect(set(map(str, always)) == {"juliet@localhost"} and set(map(str, never)) == {"nurse@localhost"},
               f"the lists are {always}, {never}")

    with checks.check("slixmpp: what it flags as displayed moves the app's marker, and its other client hears of it"):
        await romeo["xep_0490"].flag_chat("juliet@localhost", said[0])
        await other.saw("displayed", of(said[0]))
        await app(lambda: phone.event("marker.updated", lambda data: data["marker"].get("read") == said[0]))
        _, state = await app(lambda: phone.call("GET", f"/v1/dialogs/{dialog}"))
        expect(state["me"]["unreadCount"] == 2, f"unread is {state['me']}")

    with checks.check("slixmpp: what the app reads is told and found"):
        status, _ = await app(lambda: phone.call("PUT", f"/v1/dialogs/{dialog}/marker", {"read": said[2]}))
        expect(status == 200, f"the marker was answered with {status}")
        await romeo.saw("displayed", of(said[2]))
        await other.saw("displayed", of(said[2]))
        items = (await other["xep_0490"].catch_up())["pubsub"]["items"]
        found = {item["id"]: item["displayed"]["stanza_id"]["id"] for item in items}
        expect(found == {"juliet@localhost": said[2]}, f"found {found}")

    with checks.check("slixmpp: a bookmark's pin and notification setting stand as they were written"):
        bookmark = bookmarks.Conference()
        bookmark["name"] = "Orchard"
        bookmark["extensions"].enable("pinned")
        bookmark["extensions"]["notify"].configure("never")
        bookmark["extensions"]["notify"].configure("on-mention", client_type="phone")
        await romeo["xep_0223"].store(bookmark, node="urn:xmpp:bookmarks:1", id="orchard@conference.localhost")
        items = (await other["xep_0060"].get_items("romeo@localhost", "urn:xmpp:bookmarks:1"))["pubsub"]["items"]
        read = [item["conference"] for item in items]
        expect(len(read) == 1 and "<pinned xmlns=\"urn:xmpp:bookmarks-pinning:0\"" in str(read[0]), f"it is not pinned: {items}")
        expect(read[0]["extensions"]["notify"].get_config() == "never", f"it says {items}")
        expect(read[0]["extensions"]["notify"].get_config("phone") == "on-mention", f"it says {items}")
    for client in (romeo, other):
        await client.leave()
    await app(phone.close)


def run(checks):
    with Server() as server:
        server.start()
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        asyncio.run(converse(checks, server))
