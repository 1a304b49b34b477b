"""Personal eventing (XEP-0163, XEP-0060) as slixmpp sees it: nodes with options, subscriptions, affiliations, pages of
items, the nodes of OMEMO's clients, read by a stranger with their owner away and after kill -9; and nodes of the service.
"""
import xml.etree.ElementTree as ET

from slixmpp.plugins.xep_0004 import Form
from slixmpp.xmlstream import ElementBase

from lib.harness import PATIENCE, expect, on_server
from lib.peers import ROMEO, Reader

PUBSUB = "http://jabber.org/protocol/pubsub"
SERVICE = "pubsub.localhost"


class Note(ElementBase):
    name, namespace, plugin_attrib, interfaces = "note", "urn:example:note", "note", set()


def form(kind, **fields):
    options = Form()
    options["type"] = "submit"
    options.add_field(var="FORM_TYPE", ftype="hidden", value=f"{PUBSUB}#{kind}")
    for name, value in fields.items():
        options.add_field(var=f"pubsub#{name}", value=value)
    return options


def payload(namespace, name="entry"):
    return ET.Element(f"{{{namespace}}}{name}")


async def publish(client, node, item, namespace="urn:example", **options):
    return await client.nodes.publish(
        ROMEO, node, id=item, payload=payload(namespace), options=form("publish-options", **options) if options else None,
        timeout=PATIENCE)


async def converse(checks, server):
    romeo = await Reader(server, "romeo").arrive()
    juliet = await Reader(server, "juliet").arrive()
    paris = await Reader(server, "paris").arrive()

    with checks.check("pubsub, slixmpp: options make a node, and are held to"):
        await publish(romeo, "diary", "1", access_model="whitelist", max_items="max")
        expect(await romeo.refused(publish(romeo, "diary", "2", access_model="open")) == ["conflict", "precondition-not-met"],
               "another access model was taken")
        for number in range(2, 8):
            await publish(romeo, "diary", str(number))
        expect([item["id"] for item in await romeo.items("diary")] == [str(n) for n in range(1, 8)], "items are missing")
        expect([item["id"] for item in await romeo.items("diary", max_items=2)] == ["6", "7"], "not the newest")
    with checks.check("pubsub, slixmpp: a white list, and who is put on it"):
        for client in (juliet, paris):
            expect(await client.refused(client.items("diary")) == ["not-allowed", "closed-node"], "somebody read")
        await romeo.nodes.modify_affiliations(ROMEO, "diary", [("paris@localhost", "member")], timeout=PATIENCE)
        expect(len(await paris.items("diary")) == 7, "a member reads nothing")
        expect(await juliet.refused(juliet.items("diary")) == ["not-allowed", "closed-node"], "a contact read")
        answer = await romeo.nodes.get_node_affiliations(ROMEO, "diary", timeout=PATIENCE)
        found = {str(one["jid"]): one["affiliation"] for one in answer["pubsub_owner"]["affiliations"]}
        expect(found == {ROMEO: "owner", "paris@localhost": "member"}, f"affiliations are {found}")
        mine = await paris.nodes.get_affiliations(ROMEO, timeout=PATIENCE)
        expect([one["affiliation"] for one in mine["pubsub"]["affiliations"]] == ["member"], "a member is not told so")
    with checks.check("pubsub, slixmpp: pages of items"):
        asked = paris.Iq(sto=ROMEO, stype="get")
        asked["pubsub"]["items"]["node"] = "diary"
        pages = [[item["id"] for item in page["pubsub"]["items"]]
                 async for page in paris.plugin["xep_0059"].iterate(asked, "pubsub", amount=3)]
        expect(pages == [["1", "2", "3"], ["4", "5", "6"], ["7"]], f"pages are {pages}")
    with checks.check("pubsub, slixmpp: who subscribes is told, until they end it"):
        await paris.nodes.subscribe(ROMEO, "diary", timeout=PATIENCE)
        await paris.saw("pubsub_publish", lambda m: m["pubsub_event"]["items"]["item"]["id"] == "7")
        await publish(romeo, "diary", "8")
        told = await paris.saw("pubsub_publish", lambda m: m["pubsub_event"]["items"]["item"]["id"] == "8")
        expect(str(told["from"]) == ROMEO, f"it comes from {told['from']}")
        await romeo.nodes.retract(ROMEO, "diary", "8", notify=True, timeout=PATIENCE)
        await paris.saw("pubsub_retract")
        await paris.nodes.unsubscribe(ROMEO, "diary", timeout=PATIENCE)
        expect(await paris.refused(paris.nodes.unsubscribe(ROMEO, "diary", timeout=PATIENCE))
               == ["unexpected-request", "not-subscribed"], "unsubscribed twice")
    with checks.check("pubsub, slixmpp: who is shut out is told, and reads nothing"):
        await paris.nodes.subscribe(ROMEO, "diary", timeout=PATIENCE)
        await romeo.nodes.modify_affiliations(ROMEO, "diary", [("paris@localhost", "outcast")], timeout=PATIENCE)
        await paris.saw("pubsub_subscription", lambda m: m["pubsub_event"]["subscription"]["subscription"] == "none")
        expect(await paris.refused(paris.items("diary")) == ["forbidden"], "an outcast read")

    with checks.check("pubsub, slixmpp: data that contacts read, and data that nobody else does (XEP-0222, XEP-0223)"):
        await romeo["xep_0222"].store(Note(), node="urn:example:public", id="1", timeout=PATIENCE)
        await romeo["xep_0223"].store(Note(), node="urn:example:private", id="1", timeout=PATIENCE)
        expect([item["id"] for item in await juliet.items("urn:example:public")] == ["1"], "a contact reads nothing public")
        expect(await juliet.refused(juliet.items("urn:example:private")) == ["not-allowed", "closed-node"], "a contact read")
        expect([item["id"] for item in await romeo.items("urn:example:private")] == ["1"], "its owner reads nothing")

    keys = {"eu.siacs.conversations.axolotl.devicelist": "current", "eu.siacs.conversations.axolotl.bundles:1": "current",
            "urn:xmpp:omemo:2:devices": "current", "urn:xmpp:omemo:2:bundles": "1"}
    with checks.check("pubsub, slixmpp: OMEMO's nodes are a stranger's to read, the owner there, away, and after kill -9"):
        for node, item in keys.items():
            await publish(romeo, node, item, node, access_model="open", persist_items="true", max_items="max")

        async def read(client):
            for node, item in keys.items():
                found = await client.items(node, item_ids=[item])
                expect([one["id"] for one in found] == [item], f"{node} has {found}")
                expect(found[0]["payload"].tag == f"{{{node}}}entry", f"{node} is {found[0]}")

        await read(paris)
        await romeo.leave()
        await read(paris)
        server.kill()
        server.start()
        again = await Reader(server, "nurse").arrive()
        await read(again)
        await again.leave()


async def serve(checks, server):
    romeo = await Reader(server, "romeo").arrive()
    juliet = await Reader(server, "juliet").arrive()

    async def items(client, node, **wishes):
        answer = await client.nodes.get_items(SERVICE, node, timeout=PATIENCE, **wishes)
        return [(item["id"], item.xml.get("publisher")) for item in answer["pubsub"]["items"]]

    async def post(client, item):
        return await client.nodes.publish(SERVICE, "gazette", id=item, payload=payload("urn:example"), timeout=PATIENCE)

    with checks.check("pubsub service, slixmpp: it is found, and says what it can"):
        found = await romeo["xep_0030"].get_items(jid="localhost", timeout=PATIENCE)
        expect(SERVICE in {str(item[0]) for item in found["disco_items"]["items"]}, "the server does not list it")
        info = (await romeo["xep_0030"].get_info(jid=SERVICE, timeout=PATIENCE))["disco_info"]
        expect(("pubsub", "service") in {one[:2] for one in info["identities"]}, f"it is {info['identities']}")
        expect({f"{PUBSUB}#create-nodes", f"{PUBSUB}#publish"} <= set(info["features"]), "features are missing")
    with checks.check("pubsub service, slixmpp: a node is created, configured and listed"):
        await romeo.nodes.create_node(SERVICE, "gazette", config=form("node_config", title="Gazette"), timeout=PATIENCE)
        expect(await juliet.refused(juliet.nodes.create_node(SERVICE, "gazette", timeout=PATIENCE)) == ["conflict"], "taken")
        made = await romeo.nodes.create_node(SERVICE, None, timeout=PATIENCE)
        expect(made["pubsub"]["create"]["node"], "an instant node has no name")
        await romeo.nodes.delete_node(SERVICE, made["pubsub"]["create"]["node"], timeout=PATIENCE)
        asked = await romeo.nodes.get_node_config(SERVICE, "gazette", timeout=PATIENCE)
        values = asked["pubsub_owner"]["configure"]["form"].get_values()
        expect(values["pubsub#title"] == "Gazette" and values["pubsub#access_model"] == "open", f"it has {values}")
        await romeo.nodes.set_node_config(SERVICE, "gazette", form("node_config", notify_retract="1"), timeout=PATIENCE)
        nodes = (await juliet.nodes.get_nodes(SERVICE, timeout=PATIENCE))["disco_items"]["items"]
        expect([item[1:] for item in nodes] == [("gazette", "Gazette")], f"listed are {nodes}")
    with checks.check("pubsub service, slixmpp: who subscribes is told what owners and publishers publish"):
        await juliet.nodes.subscribe(SERVICE, "gazette", timeout=PATIENCE)
        await post(romeo, "1")
        told = await juliet.saw("pubsub_publish", lambda m: m["pubsub_event"]["items"]["item"]["id"] == "1")
        expect(str(told["from"]) == SERVICE, f"it comes from {told['from']}")
        expect(await juliet.refused(post(juliet, "2")) == ["forbidden"], "a subscriber published")
        await romeo.nodes.modify_affiliations(SERVICE, "gazette", [("juliet@localhost", "publisher")], timeout=PATIENCE)
        await post(juliet, "2")
        expect(await items(juliet, "gazette") == [("1", "romeo@localhost"), ("2", "juliet@localhost")], "other items")
        expect([one for one, _ in await items(romeo, "gazette", max_items=1)] == ["2"], "not the newest")
        await romeo.nodes.retract(SERVICE, "gazette", "2", timeout=PATIENCE)
        await juliet.saw("pubsub_retract")
        mine = await juliet.nodes.get_subscriptions(SERVICE, timeout=PATIENCE)
        expect([one["node"] for one in mine["pubsub"]["subscriptions"]] == ["gazette"], "a subscription is missing")
        answer = await romeo.nodes.get_node_affiliations(SERVICE, "gazette", timeout=PATIENCE)
        found = {str(one["jid"]): one["affiliation"] for one in answer["pubsub_owner"]["affiliations"]}
        expect(found == {ROMEO: "owner", "juliet@localhost": "publisher"}, f"affiliations are {found}")
    with checks.check("pubsub service, slixmpp: it is all there after kill -9, until it is purged and deleted"):
        server.kill()
        server.start()
        romeo = await Reader(server, "romeo").arrive()
        juliet = await Reader(server, "juliet").arrive()
        expect(await items(juliet, "gazette") == [("1", "romeo@localhost")], "the items are others")
        await romeo.nodes.purge(SERVICE, "gazette", timeout=PATIENCE)
        await juliet.saw("pubsub_purge")
        await romeo.nodes.delete_node(SERVICE, "gazette", timeout=PATIENCE)
        await juliet.saw("pubsub_delete")
        expect(await juliet.refused(juliet.nodes.get_items(SERVICE, "gazette", timeout=PATIENCE)) == ["item-not-found"], "there")
        await romeo.leave()
        await juliet.leave()


def run(checks):
    on_server(converse, checks, "romeo", "juliet", "nurse", "paris")
    on_server(serve, checks, "romeo", "juliet")
