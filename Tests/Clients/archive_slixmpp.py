"""slixmpp's own XEP-0313 with what its 0.7 added (`urn:xmpp:mam:2#extended`), XEP-0334, and what refers to a message (XEP-0308,
0424, 0444, 0461), with an app client on the other side. XEP-0431 it does not know: that field is added to its form here.
"""
import asyncio
import xml.etree.ElementTree as ElementTree

from slixmpp.exceptions import IqError
from slixmpp.xmlstream.handler import Collector
from slixmpp.xmlstream.matcher import StanzaPath

from lib.apps import App
from lib.harness import PATIENCE, expect, on_server
from lib.peers import Client, text

JULIET = "juliet@localhost"
FULLTEXT = "{urn:xmpp:fulltext:0}fulltext"
EVENTS = ("message_correction", "message_retract", "reactions", "message_reply")


class Reader(Client):
    def __init__(self, server, jid):
        super().__init__(server, jid)
        for plugin in ("xep_0045", "xep_0308", "xep_0334", "xep_0424", "xep_0444", "xep_0461"):
            self.register_plugin(plugin)
        for event in EVENTS:
            self.add_event_handler(event, lambda data, event=event: self._note(event, data))

    async def ask(self, flipped=False, page=None, fulltext=None, **fields):
        """(id, body) of what one query finds, in the order in which it came, and whether that is all."""
        iq = self.make_iq_set()
        query = iq["mam"]
        query["queryid"], query["with"] = iq["id"], JULIET
        for name, value in fields.items():
            query[name] = value
        if fulltext:
            query.set_custom_field(FULLTEXT, fulltext)
        if page:
            query["rsm"]["max"] = str(page)
        if flipped:
            ElementTree.SubElement(query.xml, "{urn:xmpp:mam:2}flip-page")
        results = Collector(f"results {iq['id']}", StanzaPath("message/mam_result"))
        self.register_handler(results)
        try:
            answer = await iq.send(timeout=PATIENCE)
        finally:
            found = [message["mam_result"] for message in results.stop()]
        expect(all(result["queryid"] == iq["id"] for result in found), "a result of another query")
        return ([(str(result["id"]), str(result["forwarded"]["stanza"]["body"])) for result in found],
                answer["mam_fin"]["complete"] == "true")


async def archive(checks, romeo, said):
    def lines(*numbers):
        return [(said[number], f"line {number}") for number in numbers]

    with checks.check("archive, slixmpp: what may be asked"):
        form = await romeo["xep_0313"].get_fields(timeout=PATIENCE)
        expect({"with", "start", "end", "before-id", "after-id", "ids", FULLTEXT} <= set(form.get_fields()), f"{form}")
    with checks.check("archive, slixmpp: metadata name the first and the last message"):
        found = (await romeo["xep_0313"].get_archive_metadata(timeout=PATIENCE))["mam_metadata"]
        expect((found["start"]["id"], found["end"]["id"]) == (said[0], said[-1]), f"{found}")
        expect(found["start"]["timestamp"] <= found["end"]["timestamp"], f"{found}")
    with checks.check("archive, slixmpp: after one message and before another, by ids, and one that is not there"):
        found = await romeo.ask(after_id=said[1], before_id=said[5])
        expect(found == (lines(2, 3, 4), True), f"{found}")
        found = await romeo.ask(ids=[said[4], said[1]])
        expect(found == (lines(1, 4), True), f"{found}")
        try:
            found = await romeo.ask(after_id="nonsense")
        except IqError as error:
            found = error.condition
        expect(found == "item-not-found", f"after nothing there is {found}")
    with checks.check("archive, slixmpp: pages, and a page from its end"):
        found = await romeo.ask(page=2)
        expect(found == (lines(0, 1), False), f"{found}")
        found = await romeo.ask(page=2, flipped=True)
        expect(found == (lines(1, 0), False), f"{found}")
        newest = [str(entry["mam_result"]["id"]) async for entry in romeo["xep_0313"].iterate(
            with_jid=JULIET, reverse=True, rsm={"max": 2}, total=3)]
        expect(newest == said[:-4:-1], f"from the end there are {newest}")
    with checks.check("archive, slixmpp: words are found (XEP-0431)"):
        found = await romeo.ask(fulltext="LINE 3")
        expect(found == (lines(3), True), f"{found}")


async def offered(checks, romeo):
    """XEP-0313 4.1.5: an archive supports the fields of its form."""
    values = {"with": JULIET, "start": "2020-01-01T00:00:00Z", "end": "2040-01-01T00:00:00Z", "include-groupchat": "true", FULLTEXT: "line"}
    room = "offers@conference.localhost"
    for archive in (None, room):
        with checks.check(f"archive, slixmpp: each field that the archive of a {'room' if archive else 'user'} offers can be used"):
            if archive:
                await romeo["xep_0045"].join_muc_wait(room, "Romeo", timeout=PATIENCE)
                # A room without settings of its own (XEP-0045 10.1.2).
                instant = romeo.make_iq_set(ito=room)
                owner = ElementTree.SubElement(instant.xml, "{http://jabber.org/protocol/muc#owner}query")
                ElementTree.SubElement(owner, "{jabber:x:data}x", type="submit")
                await instant.send(timeout=PATIENCE)
                romeo.send_message(room, "a line for all", mtype="groupchat")
                await romeo.saw("message", text("a line for all"))
            (entry,) = [entry async for entry in romeo["xep_0313"].iterate(jid=archive, rsm={"max": 1}, reverse=True, total=1)]
            made = {name: str(entry["mam_result"]["id"]) for name in ("before-id", "after-id", "ids")}
            form = await romeo["xep_0313"].get_fields(jid=archive, timeout=PATIENCE)
            names = set(form.get_fields()) - {"FORM_TYPE"}
            expect({"start", "end", "before-id", "after-id", "ids", FULLTEXT} <= names <= set(values | made), f"{names}")
            for name in names:
                iq = romeo.make_iq_set(ito=archive)
                query = ElementTree.SubElement(iq.xml, "{urn:xmpp:mam:2}query")
                asked = ElementTree.SubElement(query, "{jabber:x:data}x", type="submit")
                for field, value in [("FORM_TYPE", "urn:xmpp:mam:2"), (name, (values | made)[name])]:
                    ElementTree.SubElement(ElementTree.SubElement(asked, "{jabber:x:data}field", var=field), "{jabber:x:data}value").text = value
                answer = await iq.send(timeout=PATIENCE)
                expect(answer["type"] == "result", f"{name}: {answer}")


async def hints(checks, romeo, other):
    with checks.check("hints, slixmpp: what is not to be stored is told and not archived, what is stored needs no body"):
        burnt = romeo.make_message(JULIET, "burn this", mtype="chat")
        burnt.enable("no-store")
        burnt.send()
        await other.saw("message", text("burn this"))
        kept = romeo.make_message(JULIET, mtype="chat")
        kept.append(ElementTree.Element("{urn:example}only"))
        kept.enable("store")
        kept.send()
        last = romeo.make_message(JULIET, "and this is kept", mtype="chat")
        last.send()
        await other.saw("message", text("and this is kept"))
        stanzas = [entry["mam_result"]["forwarded"]["stanza"] async for entry in romeo["xep_0313"].iterate(
            with_jid=JULIET, reverse=True, rsm={"max": 3}, total=2)]
        expect([stanza["id"] for stanza in stanzas] == [last["id"], kept["id"]], f"the archive ends with {stanzas}")
        expect(stanzas[1].xml.find("{urn:example}only") is not None, f"{stanzas[1]}")


async def references(checks, app, romeo, phone, dialog):
    def state(test):
        return app(lambda: phone.event("message.updated", lambda data: test(data["message"])))

    with checks.check("references, slixmpp: it corrects, the app has the new text; and the other way"):
        first = romeo.make_message(JULIET, "But soft", mtype="chat")
        first.send()
        made = await app(lambda: phone.message("But soft"))
        romeo["xep_0308"].correct_message(first, "But soft!")
        await state(lambda m: m["id"] == made["id"] and m["content"]["text"] == "But soft!")
        said = await app(lambda: phone.say(dialog, "Ay me"))
        await romeo.saw("message", text("Ay me"))
        status, _ = await app(lambda: phone.call(
            "PATCH", f"/v1/dialogs/{dialog}/messages/{said['id']}", {"content": {"type": "text", "text": "Ay me!"}}))
        expect(status == 200, f"the edit is answered {status}")
        heard = await romeo.saw("message_correction", text("Ay me!"))
        expect(heard["replace"]["id"] == said["id"], f"{heard}")
    with checks.check("references, slixmpp: reactions both ways, and taken back"):
        romeo["xep_0444"].send_reactions(JULIET, said["id"], ["🌹", "👍"])
        await state(lambda m: m["id"] == said["id"] and m.get("reactions") == {"🌹": ["romeo"], "👍": ["romeo"]})
        romeo["xep_0444"].send_reactions(JULIET, said["id"], [])
        await state(lambda m: m["id"] == said["id"] and not m.get("reactions"))
        status, _ = await app(lambda: phone.call(
            "PUT", f"/v1/dialogs/{dialog}/messages/{made['id']}/reactions", {"emoji": ["👋"]}))
        expect(status in (200, 204), f"the reaction is answered {status}")
        heard = await romeo.saw("reactions")
        expect(heard["reactions"]["id"] == first["id"], f"{heard}")
        expect([one["value"] for one in heard["reactions"]] == ["👋"], f"{heard}")
    with checks.check("references, slixmpp: replies both ways; the app is not shown the quote"):
        reply = romeo["xep_0461"].make_reply(JULIET, said["id"], "Ay me!", mto=JULIET, mbody="She speaks", mtype="chat")
        reply.send()
        answer = await app(lambda: phone.message("She speaks"))
        expect(answer["replyTo"] == said["id"], f"{answer}")
        status, _ = await app(lambda: phone.call("POST", f"/v1/dialogs/{dialog}/messages", {
            "clientId": "speak", "content": {"type": "text", "text": "O Romeo"}, "replyTo": answer["id"]}))
        expect(status == 201, f"the reply is answered {status}")
        heard = await romeo.saw("message_reply", text("O Romeo"))
        expect((heard["reply"]["id"], heard["reply"]["to"]) == (reply["id"], "romeo@localhost"), f"{heard}")
    with checks.check("references, slixmpp: taken back both ways, and nothing of it is left in the archive"):
        romeo["xep_0424"].send_retraction(JULIET, first["id"])
        await app(lambda: phone.event("message.deleted", lambda data: data["messageId"] == made["id"]))
        status, _ = await app(lambda: phone.call("DELETE", f"/v1/dialogs/{dialog}/messages/{said['id']}?for=everyone"))
        expect(status == 204, f"deleting is answered {status}")
        heard = await romeo.saw("message_retract")
        expect(heard["retract"]["id"] == said["id"], f"{heard}")
        stanzas = [entry["mam_result"]["forwarded"]["stanza"] async for entry in romeo["xep_0313"].iterate(
            with_jid=JULIET, rsm={"max": 50})]
        expect(not [stanza for stanza in stanzas if str(stanza["body"]) in ("But soft", "But soft!", "Ay me", "Ay me!")],
               f"the archive says {stanzas}")
        graves = [stanza for stanza in stanzas if stanza.xml.find("{urn:xmpp:message-retract:1}retracted") is not None]
        expect({stanza["id"] for stanza in graves} >= {first["id"], said["id"]}, f"tombstones are {graves}")


async def converse(checks, server):
    loop = asyncio.get_running_loop()

    async def app(body):
        return await loop.run_in_executor(None, body)

    phone = await app(lambda: App(server, "juliet", "phone").connect())
    dialog = await app(lambda: phone.dialog("romeo"))
    said = [(await app(lambda n=n: phone.say(dialog, f"line {n}")))["id"] for n in range(6)]
    romeo = await Reader(server, "romeo@localhost/orchard").arrive()
    other = await Reader(server, "juliet@localhost/balcony").arrive()
    await archive(checks, romeo, said)
    for client in (romeo, other):
        client.send_presence()
        # What is not stored reaches who is there.
        await client.saw("presence_available", lambda p, client=client: p["from"] == client.boundjid)
    await hints(checks, romeo, other)
    await offered(checks, romeo)
    await references(checks, app, romeo, phone, dialog)
    for client in (romeo, other):
        await client.leave()
    await app(phone.close)


def run(checks):
    on_server(converse, checks, "romeo", "juliet")
