"""A chat framework that another app embeds (docs/guides/five-apps.md, MT), row by row: the embedding app says who its people are and
which channel they open. Viola and Olivia have the app, Toby slixmpp.
"""
import json
import urllib.parse
import uuid

from slixmpp import JID
from slixmpp.exceptions import IqError

from lib.harness import PASSWORD, PATIENCE, expect
from lib.peers import HASH, LARK, ROSE
from lib.rooms import MUC
from lib.signins import Signer, vouch
from lib.stage import Services, Story, serve

BACKEND, SECRET = "embedding-app", "a secret of the embedding app and the server"
CHANNEL = "hockey"


async def sign_in(app, own_id, name):
    """The embedding app says `senderId` and `senderDisplayName`, and vouches for them."""
    nonce = (await app.ask("POST", "/v1/nonces", status=201))["nonce"]
    return await app.sign_in(
        grant="jwt", identityToken=vouch(nonce, own_id, Signer("HS256", secret=SECRET), BACKEND, name=name))


async def channel_of(stage, channel, owner):
    """What the embedding app's backend knows its channel by. It creates the channel when the first one asks for it; an id that users
    give is nobody else's."""
    known = json.loads(await stage.command("dialog", "list", "--external-id", channel, "--json"))
    if known:
        return known[0]["id"]
    made = await stage.command(
        "dialog", "create", "--public", "--external-id", channel, "--name", channel.title(), "--owner", owner.jid, "--json")
    return json.loads(made)["id"]


async def open_channel(stage, app, channel):
    """The channel of this id, which everybody joins."""
    dialog = await app.ask("GET", f"/v1/dialogs/{await channel_of(stage, channel, app)}")
    if "me" not in dialog:
        await app.ask("PUT", f"/v1/dialogs/{dialog['id']}/members/me")
    return await app.open(dialog["id"])


def state(peer, room, value):
    """A chat state in a room (XEP-0085 5.5)."""
    message = peer.make_message(room, mtype="groupchat")
    message["chat_state"] = value
    message.send()


async def talking(story, viola, olivia, toby, channel, room):
    """Typing and photos."""
    with story.row(1, "everybody who types, as one list that ends by itself; slixmpp types in the room (XEP-0085) and sees who does"):
        def typing(*users):
            return viola.event("typing.updated", lambda d: d["dialogId"] == channel and sorted(d["userIds"]) == sorted(users))

        state(toby, room, "composing")
        await typing("toby")
        await olivia.command("typing", {"dialogId": channel, "on": True})
        await typing("toby", olivia.id)
        await toby.saw("any message", lambda m: m["from"] == f"{room}/Olivia" and m["chat_state"] == "composing")
        state(toby, room, "paused")
        await typing(olivia.id)
        # Olivia says nothing more, not even that she has stopped.
        await typing()
        state(toby, room, "composing")
        await typing("toby")
        toby.say(room, "What a plague means my niece?")
        await typing()

    with story.row(2, "photos both ways: an address and who sent it; slixmpp gets the link (XEP-0066) and uploads (XEP-0363)"):
        photo = await olivia.upload(LARK, "1502985644.png", "image/png")
        sent = await olivia.send(channel, {"type": "image", "attachments": [photo["id"]]})
        seen = await viola.event("message.created", lambda d: d["message"]["id"] == sent["id"])
        (file,) = seen["message"]["content"]["attachments"]
        expect((seen["message"]["senderId"], file["url"], file["width"]) == (olivia.id, photo["url"], 4), f"{seen}")
        heard = await toby.message(room, photo["url"])
        expect(heard["oob"]["url"] == photo["url"] and heard["from"].resource == "Olivia", f"{heard}")
        expect(await viola.fetch(heard["oob"]["url"]) == LARK, "other bytes")
        url = await toby.upload(ROSE, "rose.png", "image/png")
        message = toby.make_message(room, url, mtype="groupchat")
        message["oob"]["url"] = url
        message.send()
        seen = await viola.event("message.created", lambda d: d["message"]["content"]["type"] == "image" and d["message"]["senderId"] == "toby")
        expect([a["url"] for a in seen["message"]["content"]["attachments"]] == [url] and await olivia.fetch(url) == ROSE, f"{seen}")


async def texts_and_pictures(stage, story, viola, olivia, toby, channel, room):
    """Texts with their authors, and pictures."""
    with story.row(3, "texts with who said them, which the server says and nobody else; slixmpp hears and answers, and cannot be another"):
        sent = await olivia.ask("POST", f"/v1/dialogs/{channel}/messages", {
            "clientId": "forged-1", "senderId": "user1", "senderName": "Viola",
            "content": {"type": "text", "text": "I am Viola", "senderId": "user1", "senderName": "Viola"}}, 201)
        expect((sent["senderId"], sent["senderNick"]) == (olivia.id, "Olivia") and "senderName" not in sent["content"], f"{sent}")
        got = await viola.message("I am Viola")
        expect((got["senderId"], got["senderNick"]) == (olivia.id, "Olivia"), f"{got}")
        expect((await toby.message(room, "I am Viola"))["from"] == f"{room}/Olivia", "slixmpp is told another name")
        toby.say(room, "Your niece is a coward")
        got = await viola.message("Your niece is a coward")
        expect((got["senderId"], got["senderNick"]) == ("toby", "Toby"), f"{got}")
        forger = await stage.peer("toby", "cellar")
        forged = forger.make_message(room, "I am Olivia", mtype="groupchat", mfrom=olivia.jid)
        forged.send()
        error = await forger.saw("stream_error")
        expect(error["condition"] == "invalid-from", f"{error}")

    with story.row(4, "pictures as data or as addresses: slixmpp sees what is here (XEP-0084, XEP-0153), and its own is seen"):
        await viola.ask("PUT", "/v1/users/me/avatar", data=ROSE, headers={"Content-Type": "image/png"})
        elsewhere = "https://cdn.illyria.example/olivia.jpg"
        await olivia.ask("PATCH", "/v1/users/me", {"avatarUrl": elsewhere})
        await olivia.refused(400, "url-malformed", "PATCH", "/v1/users/me", {"avatarUrl": "javascript:alert(1)"}, "avatarUrl")
        people = {u["id"]: u for u in (await viola.ask("GET", f"/v1/users?ids={viola.id},{olivia.id}"))["items"]}
        expect(people[viola.id]["avatarHash"] == HASH[ROSE] and people[olivia.id]["avatarUrl"] == elsewhere, f"{people}")
        data = await toby["xep_0084"].retrieve_avatar(viola.jid, HASH[ROSE], timeout=PATIENCE)
        expect([item["avatar_data"]["value"] for item in data["pubsub"]["items"]] == [ROSE], f"{data}")
        await toby["xep_0153"].set_avatar(avatar=LARK, mtype="image/png", timeout=PATIENCE)
        expect(await viola.fetch(viola.base + "/v1/users/toby/avatar", Authorization=f"Bearer {viola.token}") == LARK, "another picture")


async def channels(stage, story, viola, olivia, toby, channel, room):
    """Channels and their messages."""
    with story.row(5, "a channel and a sender by the embedding app's ids, whatever is in them; to XMPP they are addresses as others"):
        again = await open_channel(stage, olivia, CHANNEL)
        expect((again["id"], again["name"], again["externalId"]) == (channel, "Hockey", CHANNEL), f"{again}")
        # Nobody gets or takes the backend's channel by its id.
        other = await olivia.ask("POST", "/v1/dialogs", {"type": "group", "externalId": CHANNEL, "name": "Another"}, 201)
        expect(other["id"] != channel and other["externalId"] == CHANNEL, f"{other}")
        expect(await channel_of(stage, CHANNEL, olivia) == channel, "a user has taken the channel's id")
        # Who is no member is shown it, and is not in it by that.
        feste = await stage.app("feste-phone")
        await sign_in(feste, 'user"3/@clown', "Feste")
        seen = await feste.ask("GET", f"/v1/dialogs/{await channel_of(stage, CHANNEL, feste)}")
        expect(seen["id"] == channel and not {"me", "lastMessage", "externalId"} & set(seen), f"{seen}")
        await feste.refused(403, "dialog-not-joined", "GET", f"/v1/dialogs/{channel}/messages")
        closed = await viola.ask("POST", "/v1/dialogs", {"type": "group", "externalId": "captains", "memberIds": [olivia.id]}, 201)
        own = await feste.ask("POST", "/v1/dialogs", {"type": "group", "externalId": "captains"}, 201)
        expect(own["id"] != closed["id"] and own["memberCount"] == 1, f"{own}")
        for own_id, app in (("user2", olivia), ('user"3/@clown', feste)):
            found = (await viola.ask("GET", "/v1/users?externalId=" + urllib.parse.quote(own_id, safe="")))["items"]
            expect([u["id"] for u in found] == [app.id], f"{own_id} is {found}")
            expect(not set(app.id) & set("\"&'/:<>@ "), f"{app.id} is no localpart")
        expect(JID(room).local and JID(room).domain == "conference.localhost", room)
        info = await toby["xep_0030"].get_info(jid=room, timeout=PATIENCE)
        expect(MUC in info["disco_info"]["features"] and "Hockey" in {one[3] for one in info["disco_info"]["identities"]}, f"{info}")
        expect((await toby["xep_0054"].get_vcard(feste.jid, timeout=PATIENCE, cached=False))["vcard_temp"]["FN"] == "Feste", "he is not found")

    with story.row(6, "channels, their messages, and each new one as it comes; slixmpp: rooms of the service, and the room's archive (XEP-0313)"):
        second = (await open_channel(stage, viola, "bowls"))["id"]
        listed = {d["externalId"]: d["id"] for d in (await viola.dialogs())["items"] if d["type"] == "public"}
        expect(listed == {CHANNEL: channel, "bowls": second}, f"{listed}")
        everybody = {d["name"]: d["id"] for d in (await feste.dialogs("?scope=public"))["items"]}
        expect(everybody == {"Hockey": channel, "Bowls": second}, f"{everybody}")
        toby.say(room, "She shall be")
        got = await viola.message("She shall be")
        history = await viola.history(channel)
        expect(history[0]["id"] == got["id"] and [m["seq"] for m in history] == list(range(len(history), 0, -1)), f"{history}")
        sent = await viola.say(channel, "What country, friends, is this?")
        heard = await toby.message(room, "What country, friends, is this?")
        expect(heard["stanza_id"]["id"] == sent["id"], f"{heard}")
        items = (await toby["xep_0030"].get_items(jid="conference.localhost", timeout=PATIENCE))["disco_items"]["items"]
        expect({item[0] for item in items} >= {room} and closed["jid"] not in {item[0] for item in items}, f"{items}")
        archive = [(number, body) for number, _, body in await toby.archive(room) if body]
        said = [m for m in (await viola.history(channel))[::-1] if m["content"]["type"] != "system"]
        expect([number for number, _ in archive] == [m["id"] for m in said], f"{archive} {said}")


async def files_and_loading(story, viola, olivia, toby, channel):
    """Files, and a chat that loads."""
    with story.row(7, "files belong to who uploaded them, and their names tell nobody where they are; slixmpp's slots as well"):
        slots = [await olivia.upload(LARK, "1502985644.png", "image/png") for _ in range(2)]
        addresses = [slot["url"] for slot in slots] + [await toby.upload(ROSE, "1502985644.png", "image/png")]
        # What is left of each address when its name is taken away is long, random and its own.
        secrets = [address.rsplit("/", 1)[0].rsplit("/", 1)[-1] for address in addresses]
        expect(len(set(secrets)) == 3 and all(len(secret) >= 22 for secret in secrets), f"{addresses}")
        expect(slots[0]["id"] != slots[1]["id"] and slots[0]["name"] == "1502985644.png", f"{slots}")
        guessed = slots[0]["url"].replace(secrets[0], secrets[0][:-1] + ("A" if secrets[0][-1] != "A" else "B"))
        status, _, _ = await viola.answer("GET", guessed, headers={"Authorization": ""})
        expect(status == 404, f"a guess is answered {status}")
        await viola.refused(404, "attachment-unknown", "GET", f"/v1/attachments/{uuid.uuid4().hex}")
        expect((await olivia.ask("GET", f"/v1/attachments/{slots[0]['id']}"))["url"] == slots[0]["url"], "not hers")
        used = {app.id: (await app.ask("GET", "/v1/users/me/storage"))["files"] for app in (viola, olivia)}
        expect(used == {viola.id: 0, olivia.id: 3}, f"{used}")
        try:
            await toby["xep_0363"].request_slot("upload.localhost", "huge.bin", 1 << 40, "application/octet-stream", timeout=PATIENCE)
            expect(False, "a file of a terabyte is taken")
        except IqError as error:
            expect(error.condition == "not-acceptable", f"{error}")

    with story.row(8, "a chat that has loaded, and one that cannot: the first page, and a problem that says why"):
        page = await viola.ask("GET", f"/v1/dialogs/{channel}/messages?limit=3")
        expect(len(page["items"]) == 3 and page["nextCursor"], f"{page}")
        older = await viola.ask("GET", f"/v1/dialogs/{channel}/messages?limit=100&before={page['nextCursor']}")
        ids = [m["id"] for m in page["items"] + older["items"]]
        expect(ids == [m["id"] for m in await viola.history(channel)], "the pages are not the history")
        problem = await viola.refused(404, "dialog-unknown", "GET", f"/v1/dialogs/{uuid.uuid4().hex}/messages")
        expect(problem["type"] == "urn:parley:problem:dialog-unknown" and problem["title"] and problem["detail"], f"{problem}")
        status, headers, problem = await viola.answer("POST", f"/v1/dialogs/{channel}/messages", data=b"{")
        expect((status, problem["code"], headers["Content-Type"]) == (400, "json-malformed", "application/problem+json"), f"{json.dumps(problem)}")


async def walk(checks, stage):
    story = Story(checks, "MT", 9)
    viola, olivia = await stage.app("viola-phone"), await stage.app("olivia-phone")
    await sign_in(viola, "user1", "Viola")
    await sign_in(olivia, "user2", "Olivia")
    await stage.command("user", "add", "toby@localhost", "--password-stdin", "--name", "Sir Toby", stdin=PASSWORD + "\n")
    toby = await stage.peer("toby")
    channel = (await open_channel(stage, viola, CHANNEL))["id"]
    room = (await open_channel(stage, olivia, CHANNEL))["jid"]
    await viola.connect()
    await olivia.connect()
    await toby.enter(room, "Toby")

    await talking(story, viola, olivia, toby, channel, room)
    await texts_and_pictures(stage, story, viola, olivia, toby, channel, room)
    await channels(stage, story, viola, olivia, toby, channel, room)
    await files_and_loading(story, viola, olivia, toby, channel)

    story.client_only(9, "embedding and subclassing", "documented operations, which need no library of ours")
    story.end()


def run(checks):
    with Services() as services:
        serve(lambda stage: walk(checks, stage), checks, identity={"backends": [{"name": BACKEND, "secrets": [SECRET]}]}, services=services)
