"""OMEMO (XEP-0384) as slixmpp-omemo does it, in both of its generations, with an app client that can read none of it: lists and
keys of devices as nodes that strangers read, a second device that reads copies and the archive, a room, kill -9.

Messages of `urn:xmpp:omemo:2` are made by python-omemo's twomemo; slixmpp-omemo itself sends the older ones only.
"""
import asyncio
import logging

from lib.apps import App
from lib.harness import PATIENCE, expect, on_server
from lib.omemo import NEW, OLD, Device, Memory
from lib.peers import Reader
from lib.rooms import room_of

LISTS = {OLD: f"{OLD}.devicelist", NEW: f"{NEW}:devices"}
ROMEO, JULIET = "romeo@localhost", "juliet@localhost"


async def published(checks, romeo, nurse):
    async def items(node, **wishes):
        return [(item["id"], item["payload"]) for item in await nurse.items(node, **wishes)]

    with checks.check("OMEMO: lists and keys are published with options, and a stranger's to read"):
        for namespace in (OLD, NEW):
            (name, devices), = await items(LISTS[namespace])
            found = [device.get("id") for device in devices.iter(f"{{{namespace}}}device")]
            expect((name, found) == ("current", [str(romeo.id)]), f"{namespace}: {name} has {found}, not {romeo.id}")
        (_, bundle), = await items(f"{OLD}.bundles:{romeo.id}")
        keys = len(list(bundle.iter(f"{{{OLD}}}preKeyPublic")))
        expect(keys == 100, f"{keys} keys in {OLD}")
        (_, bundle), = await items(f"{NEW}:bundles", item_ids=[str(romeo.id)])
        keys = len(list(bundle.iter(f"{{{NEW}}}pk")))
        expect(keys == 100, f"{keys} keys in {NEW}")
        for node, count in ((LISTS[OLD], "1"), (f"{NEW}:bundles", None)):
            config = await romeo["xep_0060"].get_node_config(ROMEO, node, timeout=PATIENCE)
            options = config["pubsub_owner"]["configure"]["form"].get_values()
            expect(options["pubsub#access_model"] == "open", f"{node} is {options}")
            expect(count in (None, options["pubsub#max_items"]), f"{node} is {options}")


async def converse(checks, server):
    loop = asyncio.get_running_loop()

    async def app(body):
        return await loop.run_in_executor(None, body)

    memories = {name: Memory() for name in ("orchard", "attic", "balcony", "kitchen")}
    phone = await app(lambda: App(server, "juliet", "phone").connect())
    nurse = await Reader(server, "nurse").arrive()
    romeo = await Device(server, "romeo", "orchard", memories["orchard"]).arrive()
    juliet = await Device(server, "juliet", "balcony", memories["balcony"]).arrive()
    await published(checks, romeo, nurse)
    await nurse.leave()

    dialog = await app(lambda: phone.dialog("romeo"))
    sent = []
    with checks.check("OMEMO: two who know nothing of each other talk; the app is told that it is encrypted, and no more"):
        sent.append(await romeo.whisper(JULIET, "With love's light wings"))
        expect(await juliet.read(await juliet.heard(sent[-1])) == "With love's light wings", "another text")
        sent.append(await juliet.whisper(ROMEO, "By whose direction"))
        expect(await romeo.read(await romeo.heard(sent[-1])) == "By whose direction", "another text")
        for _ in sent:
            content = (await app(lambda: phone.event("message.created")))["data"]["message"]["content"]
            expect((content["type"], content["text"]) == ("encrypted", "This message is OMEMO encrypted."), f"{content}")

    attic = Device(server, "romeo", "attic", memories["attic"])
    with checks.check("OMEMO: a second device is told to who has subscribed to the list, and reads copies"):
        await attic.arrive()
        for namespace in (OLD, NEW):
            await romeo.told_of(attic, namespace)
            await juliet.told_of(attic, namespace)
        sent.append(await juliet.whisper(ROMEO, "Dost thou love me"))
        for device in (romeo, attic):
            expect(await device.read(await device.heard(sent[-1])) == "Dost thou love me", "another text")
        sent.append(await romeo.whisper(JULIET, "Lady, by yonder moon"))
        expect(await juliet.read(await juliet.heard(sent[-1])) == "Lady, by yonder moon", "another text")
        expect(await attic.read(await attic.copied(sent[-1])) == "Lady, by yonder moon", "another text in the copy")
        sent.append(await attic.whisper(JULIET, "What shall I swear by"))
        expect(await juliet.read(await juliet.heard(sent[-1])) == "What shall I swear by", "another text")
        expect(await romeo.read(await romeo.copied(sent[-1])) == "What shall I swear by", "another text in the copy")
    with checks.check("OMEMO: what was said with a device away it reads in the archive"):
        await attic.leave()
        sent.append(await juliet.whisper(ROMEO, "Do not swear at all"))
        await romeo.heard(sent[-1])
        sent.append(await romeo.whisper(JULIET, "If my heart's dear love"))
        await juliet.heard(sent[-1])
        attic = await Device(server, "romeo", "attic", memories["attic"]).arrive()
        archived = {}
        async for entry in attic["xep_0313"].iterate(with_jid=JULIET, rsm={"max": 4}):
            stanza = entry["mam_result"]["forwarded"]["stanza"]
            archived[stanza["id"]] = stanza
        expect([name for name in archived if name in sent] == sent, f"the archive has {list(archived)}, not {sent}")
        expect(len(archived) > len(sent), "it has nothing of what only carries keys")
        expect(await attic.read(archived[sent[-2]]) == "Do not swear at all", "another text")
        expect(await attic.read(archived[sent[-1]]) == "If my heart's dear love", "another text")
    with checks.check("OMEMO: the generation of 2020 is kept, copied and told to the app, too"):
        sent.append(await romeo.whisper_anew(JULIET, "Sweet, good night"))
        expect(await juliet.read_anew(await juliet.heard(sent[-1])) == "Sweet, good night", "another text")
        expect(await attic.read_anew(await attic.copied(sent[-1])) == "Sweet, good night", "another text in the copy")
        sent.append(await juliet.whisper_anew(ROMEO, "Anon, good Nurse"))
        for device in (romeo, attic):
            expect(await device.read_anew(await device.heard(sent[-1])) == "Anon, good Nurse", "another text")
    with checks.check("OMEMO: the app's history has each message once, and nothing of what only carries keys"):
        history = await app(lambda: phone.history(dialog))
        expect([m["content"]["type"] for m in history] == ["encrypted"] * len(sent), f"{len(sent)} were sent, there are {history}")
        expect(not any("love" in str(m) or "night" in str(m) for m in history), "the app can read")
    with checks.check("OMEMO: in a room of members, who see each other's addresses"):
        garden = room_of("garden")
        await romeo.found(garden, "Romeo", membersonly=True, whois="anyone")
        await romeo.muc.set_affiliation(garden, "member", jid=JULIET, timeout=PATIENCE)
        await juliet.enter(garden, "Juliet")
        await romeo.presence(garden, "Juliet")
        name = await juliet.whisper(garden, "Romeo", "groupchat", [ROMEO])
        heard = await romeo.saw("any message", lambda m: m["id"] == name and m["type"] == "groupchat")
        expect(await romeo.read(heard) == "Romeo", "another text")
        back = await juliet.saw("any message", lambda m: m["id"] == name and m["type"] == "groupchat")
        expect(await juliet.read(back) == "Romeo", "its own words came back as others")
    for client in (romeo, attic, juliet):
        await client.leave()
    with checks.check("OMEMO: after kill -9 a stranger writes to who is away, and is read"):
        server.kill()
        server.start()
        nurse = await Device(server, "nurse", "kitchen", memories["kitchen"]).arrive()
        name = await nurse.whisper(ROMEO, "I am the drudge")
        romeo = await Device(server, "romeo", "orchard", memories["orchard"]).arrive()
        expect(await romeo.read(await romeo.heard(name)) == "I am the drudge", "another text")
        name = await romeo.whisper("nurse@localhost", "Commend me to thy lady")
        expect(await nurse.read(await nurse.heard(name)) == "Commend me to thy lady", "another text")
        for client in (romeo, nurse):
            await client.leave()
    await app(phone.close)


def run(checks):
    for name in ("slixmpp", "omemo.core"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    on_server(converse, checks, "romeo", "juliet", "nurse", friends=False)
