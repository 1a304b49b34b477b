"""A Firebase chat app (docs/guides/five-apps.md, FC), screen by screen: Viola registers by mail address and password, Olivia too;
Sebastian makes his account with slixmpp, sees what they do and answers.
"""
import re

from slixmpp.exceptions import IqError

from lib.harness import PASSWORD, PATIENCE, expect
from lib.peers import HASH, LARK, ROSE, Registering
from lib.stage import Services, Story, serve

VIOLA, OLIVIA = "viola@illyria.example", "olivia@illyria.example"
CLIP = b"\x00\x00\x00\x18ftypmp42" + bytes(range(256)) * 8
FILE = "{urn:xmpp:file:metadata:0}"


async def register(app, services, mail, name):
    """What the first screen does: the address is proved by a code, then there is an account."""
    await app.ask("POST", "/v1/codes", {"email": mail}, 202)
    (code,) = re.findall(r"^ +(\d{6})$", await services.mail(mail), re.M)
    return await app.ask("POST", "/v1/users", {"email": mail, "code": code, "password": PASSWORD, "name": name}, 201)


async def accounts(services, stage, story, viola, olivia):
    """Accounts: they are made, and log in."""
    sebastian = None
    with story.row(1, "accounts by mail address and password, a picture right after; slixmpp registers (XEP-0077) and sees it (XEP-0084)"):
        await viola.refused(400, "password-too-short", "POST", "/v1/users", {"email": VIOLA, "code": "1", "password": "short"}, "password")
        await viola.refused(400, "email-malformed", "POST", "/v1/codes", {"email": "viola"}, "email")
        made = await register(viola, services, VIOLA, "Viola")
        await viola.sign_in(grant="password", email=VIOLA, password=PASSWORD)
        expect(viola.id == made["id"], f"{made} {viola.user}")
        picture = await viola.ask("PUT", "/v1/users/me/avatar", data=ROSE, headers={"Content-Type": "image/png"})
        expect(picture["avatarHash"] == HASH[ROSE], f"{picture}")
        await register(olivia, services, OLIVIA, "Olivia")

        newcomer = await Registering(stage.server, "sebastian@localhost/first").arrive()
        expect(newcomer.registered, "slixmpp did not register")
        await newcomer.disconnect()
        sebastian = await stage.peer("sebastian")
        found = await sebastian["xep_0084"].retrieve_avatar(viola.jid, HASH[ROSE], timeout=PATIENCE)
        expect([item["avatar_data"]["value"] for item in found["pubsub"]["items"]] == [ROSE], f"{found}")
        card = await sebastian["xep_0054"].get_vcard(viola.jid, timeout=PATIENCE, cached=False)
        expect(card["vcard_temp"]["PHOTO"]["BINVAL"] == ROSE and card["vcard_temp"]["FN"] == "Viola", f"{card}")

    story.client_only(2, "a control for log-in or registration", "two operations: POST /v1/users and POST /v1/sessions")

    with story.row(3, "log-in by mail address and password leads to the messages; the same account logs in over XMPP (SASL)"):
        for mail in (OLIVIA, "nobody@illyria.example"):
            await olivia.refused(401, "wrong-credentials", "POST", "/v1/sessions", {"grant": "password", "email": mail, "password": "not this one"})
        await olivia.sign_in(grant="password", email=OLIVIA, password=PASSWORD)
        expect(olivia.user["name"] == "Olivia", f"{olivia.user}")
        page = await olivia.dialogs()
        expect(page["items"] == [] and page["totalUnread"] == 0, f"{page}")
        await olivia.connect(page["cursor"])
        await viola.connect()
        # Whom they are to each other an account says with either client.
        desk = await stage.peer(viola.id, "desk")
        expect(desk.boundjid.bare == viola.jid, f"{desk.boundjid}")
        await desk.leave()
    return sebastian


async def last_activity(stage, story, viola, olivia, sebastian):
    """When somebody registered and was last here."""
    with story.row(4, "when somebody registered and was last here: for oneself, for the operator, and as last activity (XEP-0012)"):
        me = await viola.ask("GET", "/v1/users/me")
        expect(me["createdAt"] <= me["lastLoginAt"], f"{me}")
        first = me["lastLoginAt"]
        tablet = await stage.app("viola-tablet", grant="password", email=VIOLA, password=PASSWORD)
        again = await viola.ask("GET", "/v1/users/me")
        expect(again["createdAt"] == me["createdAt"] and again["lastLoginAt"] > first, f"{first} {again}")
        shown = await stage.command("user", "show", viola.jid)
        expect(re.search(r"last app login +20\d\d-", shown), shown)
        logins = (await viola.ask("GET", "/v1/sessions"))["items"]
        expect({login["id"] for login in logins} == {"viola-phone", "viola-tablet"} and all("createdAt" in login for login in logins), f"{logins}")
        await viola.ask("DELETE", "/v1/sessions/viola-tablet", status=204)
        await tablet.refused(401, "token-invalid", "GET", "/v1/users/me")
        # Last seen is for who may know it.
        try:
            await sebastian["xep_0012"].get_last_activity(viola.jid, timeout=PATIENCE)
            expect(False, "a stranger learns when Viola was last here")
        except IqError as error:
            expect(error.condition == "forbidden", f"{error}")
        await viola.ask("PATCH", "/v1/users/me", {"lastSeenVisibility": "everybody"})
        cursor = viola.cursor
        await viola.disconnect()

        async def gone():
            return "lastSeenAt" in await olivia.ask("GET", f"/v1/users/{viola.id}")

        await stage.until(gone, "Viola was last seen")
        answer = await sebastian["xep_0012"].get_last_activity(viola.jid, timeout=PATIENCE)
        expect(0 <= answer["last_activity"]["seconds"] < 3600, f"{answer}")
        await viola.connect(cursor)


async def conversations(story, viola, olivia, sebastian):
    """The list of conversations, and who may write it."""
    hello = said = dialog = None
    with story.row(5, "the messages screen: who one is, and conversations with their last message; slixmpp has roster and archive"):
        hello = sebastian.chat(viola.jid, "Were you drowned?")
        said = await viola.message("Were you drowned?")
        expect(said["senderId"] == "sebastian", f"{said}")
        page = await viola.dialogs()
        (line,) = page["items"]
        expect((line["type"], line["user"]["id"], line["lastMessage"]["id"]) == ("private", "sebastian", said["id"]), f"{line}")
        expect(line["me"]["unreadCount"] == 1 and page["totalUnread"] == 1, f"{page}")
        me = await viola.ask("GET", "/v1/users/me")
        expect((me["name"], me["avatarHash"], me["email"]) == ("Viola", HASH[ROSE], VIOLA), f"{me}")
        expect((await viola.fetch(viola.base + "/v1/users/me/avatar", Authorization=f"Bearer {viola.token}")) == ROSE, "another picture")
        await sebastian.update_roster(viola.jid, name="My sister")
        expect((await sebastian.roster_item(viola.jid))["name"] == "My sister", "not in the roster")
        expect(await sebastian.archived(viola.jid) == ["Were you drowned?"], "the archive has something else")
        await viola.ask("PUT", f"/v1/dialogs/{line['id']}/marker", {"read": said["id"]})
        expect((await viola.dialogs())["totalUnread"] == 0, "still unread")

    with story.row(6, "the server keeps who talks with whom: nobody writes another's list, nobody reads it; slixmpp's archive by partner"):
        dialog = line["id"]
        await olivia.refused(404, "dialog-unknown", "GET", f"/v1/dialogs/{dialog}")
        await olivia.refused(404, "dialog-unknown", "GET", f"/v1/dialogs/{dialog}/messages")
        await olivia.refused(404, "dialog-unknown", "POST", f"/v1/dialogs/{dialog}/messages",
                             {"clientId": "1", "content": {"type": "text", "text": "I am Viola"}, "senderId": viola.id})
        other = await olivia.dialog("sebastian")
        told = await olivia.say(other, "Go with me to my house")
        expect(told["senderId"] == olivia.id, f"{told}")
        await sebastian.hears("Go with me to my house", olivia.jid)
        sebastian.chat(olivia.jid, "Madam, I will")
        await olivia.message("Madam, I will")
        expect([d["user"]["id"] for d in (await olivia.dialogs())["items"]] == ["sebastian"], "Olivia has another list")
        expect(await sebastian.archived(olivia.jid) == ["Go with me to my house", "Madam, I will"], "another archive")
        expect(await sebastian.archived(viola.jid) == ["Were you drowned?"], "the archive mixes people")
        expect(await sebastian.archived() == ["Were you drowned?", "Go with me to my house", "Madam, I will"], "not everything in its order")
    return hello, said, dialog


async def messages(story, viola, olivia, sebastian, hello, said, dialog):
    """Messages, images and videos."""
    new = image = clip = file = url = None
    with story.row(7, "a new message opens the dialog that there is, a retry is no second message; slixmpp gets type chat and answers"):
        expect(await viola.dialog("sebastian") == dialog, "a second dialog of two people")
        body = {"clientId": "reply-1", "content": {"type": "text", "text": "A spirit I am indeed"}, "replyTo": said["id"]}
        sent = await viola.ask("POST", f"/v1/dialogs/{dialog}/messages", body, 201)
        expect(await viola.ask("POST", f"/v1/dialogs/{dialog}/messages", body, 200) == sent, "a repeat is another message")
        heard = await sebastian.saw("any message", lambda m: "A spirit I am indeed" in str(m["body"]))
        expect((heard["type"], heard["from"].bare, heard["stanza_id"]["id"]) == ("chat", viola.jid, sent["id"]), f"{heard}")
        reply = heard.xml.find("{urn:xmpp:reply:0}reply")
        expect(reply is not None and reply.get("id") == hello, f"what it answers is not told: {heard}")
        # Olivia and Viola have never spoken: the first message makes the dialog in both lists.
        new = await viola.dialog(olivia.id)
        await viola.say(new, "My lady")
        expect((await olivia.message("My lady"))["dialogId"] == new, "another dialog")
        sebastian.chat(viola.jid, "Thrice welcome, drowned Viola!")
        answer = await viola.message("Thrice welcome, drowned Viola!")
        expect(answer["dialogId"] == dialog, f"{answer}")
        order = [m["content"]["text"] for m in await viola.history(dialog)][::-1]
        expect(order == ["Were you drowned?", "A spirit I am indeed", "Thrice welcome, drowned Viola!"], f"{order}")

    with story.row(8, "images and videos both ways: slixmpp gets the link (XEP-0066) with what is known (XEP-0446), and uploads (XEP-0363)"):
        image = await viola.upload(LARK, "lark.png", "image/png")
        clip = await viola.upload(CLIP, "song.mp4", "video/mp4", width=640, height=480, durationMs=2500)
        for slot, kind, name in ((image, "image", "lark.png"), (clip, "video", "song.mp4")):
            await viola.send(dialog, {"type": kind, "attachments": [slot["id"]]})
            got = await sebastian.hears(slot["url"], viola.jid)
            expect(got["oob"]["url"] == slot["url"], f"no link: {got}")
            file = got.xml.find(f"{{urn:xmpp:sfs:0}}file-sharing/{FILE}file")
            expect(file is not None and file.findtext(FILE + "name") == name, f"{got}")
        expect((file.findtext(FILE + "width"), file.findtext(FILE + "length")) == ("640", "2500"), f"{got}")
        expect(await viola.fetch(image["url"]) == LARK and await viola.fetch(clip["url"], Range="bytes=4-7") == b"ftyp", "other bytes")
        url = await sebastian.upload(ROSE, "rose.png", "image/png")
        message = sebastian.make_message(viola.jid, url, mtype="chat")
        message["oob"]["url"] = url
        message.send()
        seen = await viola.event("message.created", lambda d: d["message"]["content"]["type"] == "image" and d["message"]["senderId"] == "sebastian")
        (file,) = seen["message"]["content"]["attachments"]
        expect((file["url"], file["mediaType"], file["width"], file["height"]) == (url, "image/png", 3, 2), f"{file}")
        expect(await viola.fetch(file["url"]) == ROSE, "other bytes")
    return new, image, clip, file, url


async def lists_and_files(stage, story, viola, olivia, sebastian, dialog, new, image, clip, file, url):
    """What is read by its id and followed, and the store of files."""
    with story.row(9, "users, messages and the list of a user's messages are read by id, and followed: what came while one was away comes once"):
        people = (await viola.ask("GET", "/v1/users?query=oliv"))["items"]
        expect([(p["id"], p["name"]) for p in people] == [(olivia.id, "Olivia")] and "email" not in people[0], f"{people}")
        both = (await viola.ask("GET", f"/v1/users?ids={olivia.id},sebastian"))["items"]
        expect([p["id"] for p in both] == [olivia.id, "sebastian"], f"{both}")
        ids = [m["id"] for m in await viola.history(dialog)]
        expect(len(set(ids)) == len(ids) == 6, f"{ids}")
        cursor = viola.cursor
        await viola.disconnect()
        sebastian.chat(viola.jid, "Do I stand there?")

        async def arrived():
            return (await viola.history(dialog, 1))[0]["content"]["text"] == "Do I stand there?"

        await stage.until(arrived, "what Sebastian said is there")
        await olivia.say(new, "Stay")
        await viola.connect(cursor)
        missed = [f["data"]["message"]["content"]["text"] for f in viola.frames if f.get("type") == "message.created"]
        expect(missed[-2:] == ["Do I stand there?", "Stay"] and missed.count("Stay") == 1, f"{missed}")
        # A new picture is everybody's at once.
        await viola.ask("PUT", "/v1/users/me/avatar", data=LARK, headers={"Content-Type": "image/png"})
        card = await sebastian["xep_0054"].get_vcard(viola.jid, timeout=PATIENCE, cached=False)
        expect(card["vcard_temp"]["PHOTO"]["BINVAL"] == LARK, "the old picture")

    with story.row(10, "one store for images, videos and profile pictures, and one upload service for slixmpp"):
        for slot in (image, clip):
            known = await viola.ask("GET", f"/v1/attachments/{slot['id']}")
            expect(known["purpose"] == "message" and known["url"] == slot["url"], f"{known}")
        # What slixmpp has uploaded is in it too, for whom it was sent to; what was not sent to one is not there.
        known = await viola.ask("GET", f"/v1/attachments/{file['id']}")
        expect(known["url"] == url and known["purpose"] == "message", f"{known}")
        used = await viola.ask("GET", "/v1/users/me/storage")
        expect(used["files"] == 2 and used["bytes"] == len(LARK) + len(CLIP), f"{used}")
        await viola.refused(400, "purpose-unknown", "POST", "/v1/attachments",
                            {"name": "a.png", "mediaType": "image/png", "size": 3, "purpose": "folder"})
        services_found = await sebastian["xep_0030"].get_info_from_domain("localhost", timeout=PATIENCE)
        stores = [str(info["from"]) for info in services_found
                  if ("store", "file") in {i[:2] for i in info["disco_info"]["identities"]}]
        expect(stores == ["upload.localhost"], f"{stores}")


async def walk(checks, services, stage):
    story = Story(checks, "FC", 10)
    viola, olivia = await stage.app("viola-phone"), await stage.app("olivia-phone")

    sebastian = await accounts(services, stage, story, viola, olivia)
    await last_activity(stage, story, viola, olivia, sebastian)
    hello, said, dialog = await conversations(story, viola, olivia, sebastian)
    new, image, clip, file, url = await messages(story, viola, olivia, sebastian, hello, said, dialog)
    await lists_and_files(stage, story, viola, olivia, sebastian, dialog, new, image, clip, file, url)

    story.end()


def run(checks):
    with Services() as services:
        serve(lambda stage: walk(checks, services, stage), checks, services=services, registration="true", signup__proof="false")
