"""slixmpp's own XEP-0084, 0153, 0054, 0172 and 0292 against Parley, with an app client on the other side: one profile, whichever
of them writes it.
"""
import asyncio

from lib.apps import App
from lib.harness import PATIENCE, expect, on_server
from lib.peers import HASH, LARK, ROSE, Client, metadata_of, nick_of, put_picture

EVENTS = ["avatar_metadata_publish", "vcard_avatar_update", "user_nick_publish"]


async def arrive(server, jid):
    client = Client(server, jid)
    for plugin in ["xep_0060", "xep_0163", "xep_0084", "xep_0153", "xep_0172", "xep_0292"]:
        client.register_plugin(plugin)
    for event in EVENTS:
        client.add_event_handler(event, lambda data, event=event: client._note(event, data))
    # Its `+notify` goes out with the first presence.
    for node in ["urn:xmpp:avatar:metadata", "http://jabber.org/protocol/nick"]:
        client["xep_0163"].add_interest(node)
    await client.arrive()
    await client["xep_0115"].update_caps()
    client.send_presence()
    return client


async def converse(checks, server):
    loop = asyncio.get_running_loop()

    async def app(body):
        return await loop.run_in_executor(None, body)

    phone = await app(lambda: App(server, "juliet", "phone").connect())
    desk = await app(lambda: App(server, "romeo", "desk").connect())
    romeo = await arrive(server, "romeo@localhost/orchard")
    juliet = await arrive(server, "juliet@localhost/balcony")
    await juliet.saw("presence_available", lambda p: str(p["from"]).startswith("romeo@localhost/orchard"))

    async def shown(picture):
        await juliet.saw("avatar_metadata_publish", metadata_of(HASH.get(picture)))
        wanted = HASH.get(picture)
        await app(lambda: phone.event("user.updated", lambda d: d["user"]["id"] == "romeo" and d["user"].get("avatarHash") == wanted))
        card = await juliet["xep_0054"].get_vcard("romeo@localhost", timeout=PATIENCE, cached=False)
        photo = card["vcard_temp"]["PHOTO"]["BINVAL"]
        expect((photo or None) == picture, "the vCard has another picture")
        if picture:
            data = await juliet["xep_0084"].retrieve_avatar("romeo@localhost", HASH[picture], timeout=PATIENCE)
            items = list(data["pubsub"]["items"])
            expect(items and items[0]["avatar_data"]["value"] == picture, "the data node has another picture")

    with checks.check("slixmpp: the account converts (XEP-0398)"):
        info = await romeo["xep_0030"].get_info(jid="romeo@localhost", timeout=PATIENCE)
        expect("urn:xmpp:pep-vcard-conversion:0" in info["disco_info"]["features"], f"{info}")
    with checks.check("slixmpp: XEP-0084 publishes; vCard and app have it"):
        await romeo["xep_0084"].publish_avatar(ROSE, timeout=PATIENCE)
        await romeo["xep_0084"].publish_avatar_metadata(
            [{"id": HASH[ROSE], "type": "image/png", "bytes": str(len(ROSE)), "width": "3", "height": "2"}], timeout=PATIENCE)
        await shown(ROSE)
    with checks.check("slixmpp: the hash is in the presence of who set none (XEP-0153)"):
        # slixmpp's XEP-0153 says itself what it has; this one knows nothing of pictures.
        plain = await Client(server, "romeo@localhost/plain").arrive()
        plain.send_presence()
        await juliet.saw(
            "presence_available",
            lambda p: str(p["from"]) == "romeo@localhost/plain"
            and p.xml.findtext("{vcard-temp:x:update}x/{vcard-temp:x:update}photo") == HASH[ROSE])
        await plain.leave()
    with checks.check("slixmpp: XEP-0153 sets another; XEP-0084 and app have it"):
        await romeo["xep_0153"].set_avatar(avatar=LARK, mtype="image/png", timeout=PATIENCE)
        await shown(LARK)
    with checks.check("slixmpp: the app sets one; vCard and XEP-0084 have it"):
        await app(lambda: put_picture(desk, ROSE))
        await shown(ROSE)
    with checks.check("slixmpp: XEP-0084 stops; gone everywhere"):
        await romeo["xep_0084"].stop(timeout=PATIENCE)
        await shown(None)
    with checks.check("slixmpp: XEP-0172 publishes; vCard and app have it"):
        await romeo["xep_0172"].publish_nick("Monty", timeout=PATIENCE)
        await juliet.saw("user_nick_publish", nick_of("Monty"))
        await app(lambda: phone.event("user.updated", lambda d: d["user"].get("name") == "Monty"))
        card = await juliet["xep_0054"].get_vcard("romeo@localhost", timeout=PATIENCE, cached=False)
        names = [card["vcard_temp"].xml.findtext("{vcard-temp}" + name) for name in ["FN", "NICKNAME"]]
        expect("Monty" in names, f"the vCard says {names}")
    with checks.check("slixmpp: the app's name is a nickname"):
        status, _ = await app(lambda: desk.call("PATCH", "/v1/users/me", {"name": "Romeo"}))
        expect(status == 200, f"{status}")
        await juliet.saw("user_nick_publish", nick_of("Romeo"))
    with checks.check("slixmpp: XEP-0292 publishes; nickname, vCard and app have the names"):
        from slixmpp.plugins.xep_0292.stanza import VCard4
        card = VCard4()
        card["full_name"] = "Romeo Montague"
        await romeo["xep_0163"].publish(card, node="urn:xmpp:vcard4", timeout=PATIENCE)
        await app(lambda: phone.event("user.updated", lambda d: d["user"].get("name") == "Romeo Montague"))
        await juliet.saw("user_nick_publish", nick_of("Romeo Montague"))
        read = await juliet["xep_0060"].get_items("romeo@localhost", "urn:xmpp:vcard4", timeout=PATIENCE)
        name = read.xml.findtext(".//{urn:ietf:params:xml:ns:vcard-4.0}fn/{urn:ietf:params:xml:ns:vcard-4.0}text")
        expect(name == "Romeo Montague", f"the vCard4 says {name}")
    await romeo.leave()
    await juliet.leave()
    phone.close()
    desk.close()


def run(checks):
    on_server(converse, checks, "romeo", "juliet")
