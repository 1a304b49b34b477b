"""Q-municate (docs/guides/five-apps.md, QM), screen by screen. Orsino comes by his telephone number, Viola by Facebook, Olivia has an
account with a mail address and a password of older times; nobody gets an account by a password any more. Viola and Toby use
slixmpp: they see what Orsino does in the app, and answer.
"""
import asyncio
import datetime
import json
import re
import time
import uuid
import xml.etree.ElementTree as ElementTree

from slixmpp.exceptions import IqError
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

from lib.harness import PASSWORD, PATIENCE, expect
from lib.peers import HASH, LARK, ROSE, Registering, metadata_of, nick_of
from lib.rooms import codes, room_of
from lib.stage import Peer, Services, Story, serve

PHONE, MAIL, NEW_MAIL, TERMS = "+390458000000", "olivia@illyria.example", "orsino@illyria.example", "2026-11"
LONG = "If music be the food of love, play on; give me excess of it, that, surfeiting, the appetite may sicken, and so die"
BOOKMARKS, VCARD4 = "urn:xmpp:bookmarks:1", "{urn:ietf:params:xml:ns:vcard-4.0}"
SHARING = "{urn:xmpp:sfs:0}file-sharing/{urn:xmpp:file:metadata:0}file/{urn:xmpp:file:metadata:0}"
RTP, JMI = "urn:xmpp:jingle:apps:rtp:1", "urn:xmpp:jingle-message:0"
VIDEO, AUDIO = b"\x00\x00\x00\x18ftypmp42" + bytes(2000), b"OggS\x00\x02" + bytes(900)
SETTINGS = dict(
    terms__version=TERMS, terms__url="https://www.example.org/terms", push__content="body",
    turn__servers="turn:relay.example.org:3478?transport=udp", turn__secret="prospero")


def proof(services, subject, **claims):
    """What Firebase gives an app that has proved a number."""
    return services.token("firebase", subject, phone_number=PHONE, name=None, firebase={"sign_in_provider": "phone"}, **claims)


class Walk:
    """The story; each part is some screens of the app."""

    def __init__(self, checks, services, stage):
        self.story = Story(checks, "QM", 36)
        self.services, self.stage = services, stage

    async def run(self):
        for part in (self.doors, self.password, self.lists, self.talk, self.groups, self.contacts, self.settings, self.calls, self.extensions):
            await part()
        self.story.end()

    # 1 to 7

    async def doors(self):
        row, stage, services = self.story.row, self.stage, self.services
        self.orsino, self.olivia, viola = await stage.app("orsino-phone"), await stage.app("olivia-phone"), await stage.app("viola-phone")
        self.toby = await stage.peer("toby", bookmarks=False)
        self.kitchen = await stage.peer("olivia", "kitchen")

        self.story.client_only(1, "landscape and portrait")

        with row(2, "problems are codes, an XMPP error is a condition, and a stanza keeps its language"):
            problem = await self.orsino.refused(
                401, "wrong-credentials", "POST", "/v1/sessions", {"grant": "password", "email": MAIL, "password": "wrong password"})
            expect(problem["type"] == "urn:parley:problem:wrong-credentials" and problem["detail"], f"{problem}")
            said = self.toby.make_message("olivia@localhost", "Was soll das Fest?", mtype="chat")
            said["lang"] = "de"
            said.send()
            heard = await self.kitchen.hears("Was soll das Fest?", "toby@localhost")
            expect(heard["lang"] == "de", f"{heard}")
            nobody = self.toby.chat("nobody@localhost", "Hello?")
            error = await self.toby.saw("any message", lambda m: m["id"] == nobody and m["type"] == "error")
            expect((error["error"]["condition"], error["error"]["type"]) == ("service-unavailable", "cancel"), f"{error}")

        with row(3, "by telephone, with Firebase's ID token: a new user, the same one again, and nobody else's token; slixmpp comes in by either credential"):
            info = await self.orsino.ask("GET", "/v1/info")
            expect(info["providers"] == ["firebase", "facebook"] and "provider" in info["grants"], f"{info}")
            for token, code in ((proof(services, "fb-1", iat=1, exp=3600), "identity-token-expired"),
                                (services.providers["firebase"].token("fb-1", aud="another-app"), "identity-token-invalid"),
                                (services.token("facebook", "fb-1"), "identity-token-invalid")):
                await self.orsino.refused(401, code, "POST", "/v1/sessions", {"grant": "provider", "provider": "firebase", "idToken": token})
            self.welcome = await self.orsino.sign_in(grant="provider", provider="firebase", idToken=proof(services, "fb-1"))
            me = await self.orsino.ask("GET", "/v1/users/me")
            expect((me["phone"], me["hasPassword"]) == (PHONE, False), f"{me}")
            self.tablet = await stage.app("orsino-tablet", grant="provider", provider="firebase", idToken=proof(services, "fb-1"))
            expect(self.tablet.id == self.orsino.id, "a second login made a second user")
            made = await self.orsino.ask("POST", "/v1/app-passwords", {"name": "slixmpp"}, 201)
            self.lent = made["password"]
            for credential in ({"token": self.orsino.token}, {"password": self.lent}):
                desk = await stage.peer(self.orsino.id, "desk", **credential)
                expect(desk.boundjid.bare == self.orsino.jid, f"{desk.boundjid}")
                await desk.leave()

        with row(4, "by Facebook; a second way in leads to the same user; slixmpp comes in by what the app got"):
            session = await viola.sign_in(grant="provider", provider="facebook", idToken=services.token("facebook", "viola-1", name="Viola"))
            expect(session["user"]["name"] == "Viola", f"{session}")
            made = await viola.ask("POST", "/v1/app-passwords", {"name": "slixmpp"}, 201)
            self.viola = await stage.peer(viola.id, password=made["password"])
            self.viola_app = viola
            linked = services.token("facebook", "orsino-1")
            await self.orsino.ask("POST", "/v1/users/me/identities", {"provider": "facebook", "idToken": linked}, 201)
            again = await stage.app("orsino-watch", grant="provider", provider="facebook", idToken=linked)
            expect(again.id == self.orsino.id, "Facebook leads to another user")
            await again.ask("DELETE", "/v1/sessions/current", status=204)
            await self.orsino.refused(409, "identity-taken", "POST", "/v1/users/me/identities",
                                      {"provider": "facebook", "idToken": services.token("facebook", "viola-1")})

        with row(5, "by mail address and password, for who has an account; no new ones, in either protocol (XEP-0077)"):
            info = await self.olivia.ask("GET", "/v1/info")
            expect(info["registration"] is False and not {"signup.email", "signup.phone"} & set(info["features"]), f"{info}")
            await self.olivia.refused(403, "registration-off", "POST", "/v1/users", {"username": "malvolio", "password": PASSWORD})
            await self.olivia.sign_in(grant="password", email=MAIL.title(), password=PASSWORD)
            expect(self.olivia.id == "olivia" and self.kitchen.boundjid.bare == self.olivia.jid, f"{self.olivia.user}")
            malvolio = Registering(stage.server, "malvolio@localhost/letter")
            malvolio.plugin["xep_0077"].force_registration = False  # it makes an account where that is offered
            refused = asyncio.get_running_loop().create_future()
            malvolio.add_event_handler("failed_all_auth", lambda _: refused.set_result(True))
            malvolio.connect("127.0.0.1", stage.server.xmpp)
            await asyncio.wait_for(refused, PATIENCE)
            malvolio.abort()
            expect(not malvolio.registered and "malvolio" not in await stage.command("user", "list"), "an account was made")
            self.kept = malvolio

        with row(6, "the user agreement: which version is to be accepted, and when it was, for the user and for the operator"):
            expect(self.welcome["termsRequired"] == TERMS, f"{self.welcome}")
            expect((await self.orsino.ask("GET", "/v1/users/me"))["termsRequired"] == TERMS, "it is not required any more")
            await self.orsino.ask("PUT", "/v1/users/me/terms", {"version": TERMS})
            me = await self.orsino.ask("GET", "/v1/users/me")
            expect(me["terms"]["version"] == TERMS and me["terms"]["acceptedAt"] >= me["createdAt"] and "termsRequired" not in me, f"{me}")
            expect(TERMS in await stage.command("user", "show", self.orsino.jid), "the operator does not see it")
            session = await self.tablet.sign_in(grant="provider", provider="firebase", idToken=proof(services, "fb-1"))
            expect("termsRequired" not in session, f"{session}")

        with row(7, "behind the login are the dialogs, one request away; slixmpp has roster and bookmarks"):
            page = await self.viola_app.dialogs()
            expect(page["items"] == [] and page["totalUnread"] == 0, f"{page}")
            for app in (self.orsino, self.olivia, self.tablet):
                await app.connect((await app.dialogs())["cursor"])
            roster = await self.viola.get_roster(timeout=PATIENCE)
            expect(not roster["roster"]["items"], f"{roster}")
            expect(await self.bookmarks(self.viola) == {}, "bookmarks of nowhere")

    async def bookmarks(self, peer):
        try:
            return await peer.pep(peer.boundjid.bare, BOOKMARKS)
        except IqError as error:
            expect(error.condition == "item-not-found", f"{error}")
            return {}

    # 8 and 9

    async def password(self):
        row, stage = self.story.row, self.stage

        with row(8, "what is missing is named, what is wrong does not say which; slixmpp: not-authorized"):
            await self.olivia.refused(400, "input-malformed", "POST", "/v1/sessions", {"grant": "password", "email": MAIL}, "password")
            await self.olivia.refused(400, "input-malformed", "POST", "/v1/sessions", {"grant": "password", "password": PASSWORD}, "username")
            told = []
            await self.olivia.refused(400, "email-malformed", "POST", "/v1/sessions", {"grant": "password", "email": "ab", "password": "12345678"}, "email")
            for mail in (MAIL, "nobody@illyria.example"):
                told.append(await self.olivia.refused(
                    401, "wrong-credentials", "POST", "/v1/sessions", {"grant": "password", "email": mail, "password": "12345678"}))
            expect(len({json.dumps({**t, "requestId": ""}) for t in told}) == 1, f"{told}")
            wrong = Peer(stage, "olivia", "wrong", "12345678")
            wrong.enable_plaintext = False
            wrong.connect("127.0.0.1", stage.server.xmpp)
            failure = await wrong.saw("failed_auth")
            expect(failure["condition"] == "not-authorized", f"{failure}")
            await wrong.saw("failed_all_auth")
            wrong.abort()

        with row(9, "a forgotten password: a mail to who has the address, the same answer to who has not; every session ends, slixmpp's too"):
            answers = [await self.orsino.ask("POST", "/v1/password-resets", {"email": mail}, 202) for mail in (MAIL, "nobody@illyria.example")]
            expect(all(set(answer) == {"expiresAt"} for answer in answers), f"{answers}")
            (token,) = re.findall(r"https://app\.example/r\?t=(\S+)", await self.services.mail(MAIL))
            await self.orsino.refused(400, "password-too-short", "PUT", f"/v1/password-resets/{token}", {"password": "short"}, "password")
            # 40 characters are no bound of a server's.
            await self.orsino.ask("PUT", f"/v1/password-resets/{token}", {"password": LONG}, 204)
            error = await self.kitchen.saw("stream_error")
            expect(error["condition"] == "reset", f"{error}")
            await self.kitchen.saw("disconnected")
            await self.olivia.event("session.revoked")
            expect(await self.olivia.closed() == 4401, f"closed with {self.olivia.socket.close_code}")
            await self.olivia.refused(401, "token-invalid", "GET", "/v1/users/me")
            await self.olivia.refused(401, "wrong-credentials", "POST", "/v1/sessions", {"grant": "password", "email": MAIL, "password": PASSWORD})
            await self.orsino.refused(404, "reset-unknown", "PUT", f"/v1/password-resets/{token}", {"password": LONG})
            await self.olivia.sign_in(grant="password", email=MAIL, password=LONG)
            await self.olivia.connect()
            self.kitchen = await stage.peer("olivia", "kitchen", password=LONG)
            expect(self.services.mails.seen == [[MAIL]], f"mails went to {self.services.mails.seen}")

    # 10 to 14

    async def lists(self):
        row, orsino, viola, toby = self.story.row, self.orsino, self.viola, self.toby

        self.story.client_only(10, "the tab bar")

        with row(11, "dialogs, private and group, with their history; the same account's slixmpp has bookmarks and archive"):
            self.desk = await self.stage.peer(orsino.id, "desk", password=self.lent)
            viola.chat(orsino.jid, "My lord, I am at your service")
            first = await orsino.message("My lord, I am at your service")
            self.with_viola = first["dialogId"]
            self.revels = room_of("revels")
            await toby.found(self.revels, "Toby", membersonly=True, roomname="Revels", whois="anyone")
            await toby.muc.set_affiliation(self.revels, "member", jid=orsino.jid, timeout=PATIENCE)
            added = await orsino.event("member.updated", lambda d: d["member"]["userId"] == orsino.id)
            toby.say(self.revels, "Shall we set about some revels?")
            last = await orsino.message("Shall we set about some revels?")
            page = await orsino.dialogs()
            expect([(d["type"], d["lastMessage"]["id"], d["me"]["unreadCount"]) for d in page["items"]]
                   == [("group", last["id"], 1), ("private", first["id"], 1)], f"{page['items']}")
            group, private = page["items"]
            self.in_revels = group["id"]
            expect((group["name"], group["jid"], added["dialogId"]) == ("Revels", self.revels, group["id"]), f"{group}")
            expect(private["user"]["name"] == "Viola" and page["totalUnread"] == 2, f"{page}")
            expect([m["senderId"] for m in await orsino.history(self.with_viola)] == [self.viola.boundjid.user], "another history")
            expect(self.revels in await self.bookmarks(self.desk), "no bookmark of the group")
            expect(await self.desk.archived(viola.boundjid.bare) == ["My lord, I am at your service"], "another archive")

        with row(12, "pulling to refresh costs nothing where nothing is new: dialogs, contacts, users, the log; slixmpp: roster versions, archive"):
            paths = ("/v1/dialogs", "/v1/contacts", "/v1/users/me", f"/v1/users/{viola.boundjid.user}")
            tags = {}
            for path in paths:
                _, headers, _ = await orsino.answer("GET", path)
                tags[path] = headers["ETag"]
                status, _, body = await orsino.answer("GET", path, headers={"If-None-Match": tags[path]})
                expect((status, body) == (304, b""), f"{path} is answered {status} {body}")
            cursor = (await orsino.ask("GET", "/v1/sync"))["cursor"]
            expect((await orsino.ask("GET", f"/v1/sync?cursor={cursor}"))["events"] == [], "there is something new")
            version = self.desk.client_roster.version
            query = self.desk.make_iq_get()
            query["roster"]["ver"] = version
            answer = await query.send(timeout=PATIENCE)
            expect(version and answer.xml.find("{jabber:iq:roster}query") is None, f"the whole roster again: {answer}")
            latest = [str(entry["mam_result"]["id"]) async for entry in self.desk["xep_0313"].iterate(rsm={"max": 10})][-1]
            viola.chat(orsino.jid, "What else may hap, to time I will commit")
            await orsino.message("What else may hap, to time I will commit")
            status, _, _ = await orsino.answer("GET", "/v1/dialogs", headers={"If-None-Match": tags["/v1/dialogs"]})
            expect(status == 200, f"something new is answered {status}")
            (event,) = [e for e in (await orsino.ask("GET", f"/v1/sync?cursor={cursor}"))["events"] if e["type"] == "message.created"]
            expect(event["data"]["message"]["content"]["text"] == "What else may hap, to time I will commit", f"{event}")
            expect(await self.desk.archived(rsm={"max": 10, "after": latest}) == ["What else may hap, to time I will commit"], "not the new one alone")

        with row(13, "one contact opens the dialog that there is, several make a group; slixmpp: plain chat, a bookmark or an invitation"):
            expect(await orsino.dialog(viola.boundjid.user) == self.with_viola, "a second dialog with Viola")
            body = {"type": "private", "userId": "toby"}
            self.with_toby = (await orsino.ask("POST", "/v1/dialogs", body, 201))["id"]
            expect((await orsino.ask("POST", "/v1/dialogs", body, 200))["id"] == self.with_toby, "a second dialog with Toby")
            await orsino.say(self.with_toby, "Good Sir Toby")
            expect((await toby.hears("Good Sir Toby", orsino.jid))["type"] == "chat", "no chat")
            group = {"type": "group", "name": "The court", "memberIds": [viola.boundjid.user, "toby"]}
            made = await orsino.ask("POST", "/v1/dialogs", group, 201)
            other = await orsino.ask("POST", "/v1/dialogs", {**group, "name": "Another"}, 201)
            expect(made["id"] != other["id"] and made["me"]["role"] == "owner" and made["memberCount"] == 3, f"{made} {other}")
            self.group, self.court, self.other, self.another = made["id"], made["jid"], other["id"], other["jid"]
            for room in (self.court, self.another):
                await viola.saw("pubsub_publish", lambda m: room in str(m))
                invitation = await toby.saw("groupchat_invite", lambda m: m["from"] == room)
                expect(invitation["muc"]["invite"]["from"].bare == orsino.jid, f"{invitation}")
            bookmark = (await self.bookmarks(viola))[self.court]
            expect((bookmark.get("name"), bookmark.get("autojoin")) == ("The court", "true"), ElementTree.tostring(bookmark))
            for peer, nick in ((viola, "Viola"), (toby, "Toby")):
                for room in (self.court, self.another):
                    own, *_ = await peer.enter(room, nick)
                    expect(own["muc"]["affiliation"] == "member", f"{own}")

        with row(14, "a group is seen, changed, left and ended, a private dialog taken from the list; slixmpp: configuration, affiliation, the end"):
            seen = await orsino.open(self.in_revels)
            expect(seen["me"]["role"] == "member" and seen["ownerId"] == "toby", f"{seen}")
            await orsino.refused(403, "not-admin", "PATCH", f"/v1/dialogs/{self.in_revels}", {"name": "Orsino's"})
            await orsino.ask("DELETE", f"/v1/dialogs/{self.in_revels}/members/me", status=204)
            expect(await toby.list(self.revels, "member") == [], "Orsino is still a member")
            await orsino.refused(404, "dialog-unknown", "GET", f"/v1/dialogs/{self.in_revels}")
            await self.desk.saw("pubsub_retract", lambda m: self.revels in str(m))
            changed = await orsino.ask("PATCH", f"/v1/dialogs/{self.other}", {"about": "To be ended"})
            expect(changed["about"] == "To be ended", f"{changed}")
            await viola.saw("groupchat_config_status", lambda m: m["from"].bare == self.another)
            info = await viola["xep_0030"].get_info(self.another, timeout=PATIENCE)
            expect("To be ended" in str(info), f"{info}")
            await orsino.ask("DELETE", f"/v1/dialogs/{self.other}?for=everyone", status=204)
            gone = await viola.presence(self.another, "Viola", lambda p: p["type"] == "unavailable")
            expect(gone["muc"].xml.find("{http://jabber.org/protocol/muc#user}destroy") is not None, f"{gone}")
            await viola.saw("pubsub_retract", lambda m: self.another in str(m))
            await orsino.ask("DELETE", f"/v1/dialogs/{self.with_toby}?for=me", status=204)
            ids = [d["id"] for d in (await orsino.dialogs())["items"]]
            expect(self.with_toby not in ids and self.group in ids and self.other not in ids, f"{ids}")
            expect(await toby.archived(orsino.jid) == ["Good Sir Toby"], "Toby lost what he was told")

    # 15 to 20

    async def talk(self):
        row, orsino, viola, toby = self.story.row, self.orsino, self.viola, self.toby

        with row(15, "texts, alone and in a group, both ways; slixmpp: the body"):
            said = await orsino.say(self.with_viola, "O, then unfold the passion of my love 🌹")
            heard = await viola.hears("O, then unfold the passion of my love 🌹", orsino.jid)
            expect(heard["stanza_id"]["id"] == said["id"], f"{heard}")
            viola.chat(orsino.jid, "I'll do my best")
            expect((await orsino.message("I'll do my best"))["dialogId"] == self.with_viola, "another dialog")
            await orsino.say(self.group, "Stand you awhile aloof")
            for peer in (viola, toby):
                heard = await peer.message(self.court, "Stand you awhile aloof")
            viola.say(self.court, "Here, at your service")
            heard = await orsino.message("Here, at your service")
            expect((heard["dialogId"], heard["senderId"]) == (self.group, viola.boundjid.user), f"{heard}")

        with row(16, "images, videos and audio both ways; slixmpp: a link (XEP-0066) with what is known of the file (XEP-0447, XEP-0446), and an upload (XEP-0363)"):
            self.sent = {}
            for kind, data, name, media, more in (
                    ("image", ROSE, "rose.png", "image/png", {}), ("video", VIDEO, "sea.mp4", "video/mp4", dict(width=640, height=360, durationMs=4000)),
                    ("audio", AUDIO, "song.ogg", "audio/ogg", dict(durationMs=1500))):
                slot = await orsino.upload(data, name, media, **more)
                self.sent[kind] = await orsino.send(self.with_viola, {"type": kind, "attachments": [slot["id"]]})
                heard = await viola.hears(slot["url"], orsino.jid)
                expect(heard["oob"]["url"] == slot["url"], f"{heard}")
                known = {part: heard.xml.findtext(SHARING + part) for part in ("name", "media-type", "size", "width", "length")}
                wanted = {"name": name, "media-type": media, "size": str(len(data)), "width": {"image": "3", "video": "640"}.get(kind),
                          "length": {"video": "4000", "audio": "1500"}.get(kind)}
                expect(known == wanted, f"{known}, not {wanted}")
                (file,) = self.sent[kind]["content"]["attachments"]
                expect(await self.olivia.fetch(file["url"]) == data, "other bytes")
            url = await viola.upload(LARK, "lark.png", "image/png")
            message = viola.make_message(orsino.jid, url, mtype="chat")
            message["oob"]["url"] = url
            message.send()
            content = (await orsino.event("message.created", lambda d: d["message"]["senderId"] == viola.boundjid.user
                                          and d["message"]["content"]["type"] == "image"))["message"]["content"]
            self.lark = content["attachments"][0]
            expect((self.lark["url"], self.lark["width"], self.lark["height"]) == (url, 4, 4), f"{content}")
            expect(await orsino.fetch(url) == LARK, "other bytes")

        with row(17, "forwarding says what was said again, with its file and without another upload; slixmpp: a message like others"):
            before = (await orsino.ask("GET", "/v1/users/me/storage"))["files"]
            again = await orsino.ask("POST", f"/v1/dialogs/{self.group}/messages", {
                "clientId": "forward-1", "forwardFrom": {"dialogId": self.with_viola, "messageId": self.sent["image"]["id"]}}, 201)
            (file,) = again["content"]["attachments"]
            (first,) = self.sent["image"]["content"]["attachments"]
            expect((file["id"], file["url"]) == (first["id"], first["url"]) and again["forwardedFrom"]["sentAt"] == self.sent["image"]["sentAt"], f"{again}")
            heard = await viola.message(self.court, first["url"])
            expect(heard.xml.find("{urn:xmpp:forward:0}forwarded") is None and heard["oob"]["url"] == first["url"], f"{heard}")
            # What somebody else has sent may be sent on too: Viola's file, by its id.
            await orsino.send(self.group, {"type": "image", "attachments": [self.lark["id"]]})
            await toby.message(self.court, self.lark["url"])
            expect((await orsino.ask("GET", "/v1/users/me/storage"))["files"] == before, "a file was stored again")
            await self.olivia.refused(404, "dialog-unknown", "POST", f"/v1/dialogs/{self.group}/messages", {
                "clientId": "forward-2", "forwardFrom": {"dialogId": self.with_viola, "messageId": self.sent["image"]["id"]}})

        self.story.client_only(18, "copying text and images")

        with row(19, "only contacts are called, in either direction; slixmpp: a <propose/> from who is none is refused (XEP-0353)"):
            expect((await orsino.ask("GET", "/v1/users/me"))["callsFrom"] == "contacts", "strangers may call")
            await orsino.refused(403, "not-a-contact", "POST", "/v1/calls", {"clientId": "call-0", "userId": viola.boundjid.user, "kind": "audio"})
            proposal = self.propose("stranger")
            error = await viola.saw("any message", lambda m: m["id"] == proposal and m["type"] == "error")
            expect((error["error"]["type"], error["error"]["condition"]) == ("auth", "forbidden"), f"{error}")
            expect(await orsino.settled("call.updated") == [], "it has rung")
            # Calling is with relays, whose credentials end.
            servers = (await orsino.ask("GET", "/v1/ice-servers"))["items"]
            expect(servers[0]["urls"] == ["turn:relay.example.org:3478?transport=udp"] and servers[0]["credential"], f"{servers}")

        with row(20, "the other's profile from the title, senders of a group all at once; slixmpp: vCard (XEP-0054, XEP-0292) and avatar (XEP-0084)"):
            await viola["xep_0153"].set_avatar(avatar=LARK, mtype="image/png", timeout=PATIENCE)
            profile = await orsino.ask("GET", f"/v1/users/{viola.boundjid.user}")
            expect((profile["name"], profile["avatarHash"], profile["jid"]) == ("Viola", HASH[LARK], viola.boundjid.bare), f"{profile}")
            expect("phone" not in profile and "email" not in profile, f"{profile}")
            picture = await orsino.fetch(f"{orsino.base}/v1/users/{viola.boundjid.user}/avatar", Authorization=f"Bearer {orsino.token}")
            expect(picture == LARK, "another picture")
            toby.say(self.court, "I am sure care's an enemy to life")
            await orsino.message("I am sure care's an enemy to life")
            senders = {m["senderId"] for m in await orsino.history(self.group)}
            expect(senders == {orsino.id, viola.boundjid.user, "toby"}, f"{senders}")
            people = (await orsino.ask("GET", f"/v1/users?ids={','.join(sorted(senders))}"))["items"]
            expect({p["id"] for p in people} == senders, f"{people}")
            await orsino.ask("PATCH", "/v1/users/me", {"name": "Orsino"})
            card = await viola["xep_0054"].get_vcard(orsino.jid, timeout=PATIENCE, cached=False)
            newer = await viola.pep(orsino.jid, "urn:xmpp:vcard4")
            expect(card["vcard_temp"]["FN"] == "Orsino", f"{card}")
            expect([c.findtext(f"{VCARD4}fn/{VCARD4}text") for c in newer.values()] == ["Orsino"], f"{newer}")

    # 21

    async def groups(self):
        row, orsino, viola, toby = self.story.row, self.orsino, self.viola, self.toby

        with row(21, "a group's picture, name and members; slixmpp: status 104, the room's name and vCard, affiliations, who is put out"):
            for peer in (viola, toby):
                peer.seen.clear()
            hash = (await orsino.ask("PUT", f"/v1/dialogs/{self.group}/avatar", data=ROSE, headers={"Content-Type": "image/png"}))["avatarHash"]
            expect(hash == HASH[ROSE], hash)
            await viola.saw("groupchat_config_status", lambda m: m["from"].bare == self.court)
            card = await viola["xep_0054"].get_vcard(self.court, timeout=PATIENCE, cached=False)
            expect(card["vcard_temp"]["PHOTO"]["BINVAL"] == ROSE, f"{card}")
            await orsino.ask("PATCH", f"/v1/dialogs/{self.group}", {"name": "The Duke's palace"})
            told = await viola.saw("groupchat_config_status", lambda m: m["from"].bare == self.court and 104 in codes(m))
            info = await viola["xep_0030"].get_info(self.court, timeout=PATIENCE)
            expect("The Duke's palace" in {identity[3] for identity in info["disco_info"]["identities"]}, f"{info} {told}")
            await orsino.ask("PUT", f"/v1/dialogs/{self.group}/members/olivia", {"role": "member"})
            added = await self.olivia.event("member.updated", lambda d: d["dialogId"] == self.group)
            expect(added["dialog"]["name"] == "The Duke's palace", f"{added}")
            members = (await orsino.ask("GET", f"/v1/dialogs/{self.group}/members"))["items"]
            expect({m["userId"]: m["role"] for m in members} == {
                orsino.id: "owner", viola.boundjid.user: "member", "toby": "member", "olivia": "member"}, f"{members}")
            expect(await viola.list(self.court, "member") == sorted([viola.boundjid.bare, "toby@localhost", "olivia@localhost"]), "another list")
            await orsino.ask("DELETE", f"/v1/dialogs/{self.group}/members/toby", status=204)
            out = await toby.presence(self.court, "Toby", lambda p: p["type"] == "unavailable")
            expect(321 in codes(out) and out["muc"]["affiliation"] == "none", f"{out}")
            await self.olivia.ask("DELETE", f"/v1/dialogs/{self.group}/members/me", status=204)
            kinds = [m["content"].get("kind") for m in await orsino.history(self.group, 4)][::-1]
            expect(kinds == ["named", "added", "removed", "left"], f"the notices are {kinds}")
            expect([m["senderId"] for m in await orsino.history(self.group, 2)] == ["olivia", orsino.id], "notices are somebody else's")

    # 22 to 24

    async def contacts(self):
        row, orsino, viola, toby = self.story.row, self.orsino, self.viola, self.toby

        with row(22, "contacts are searched in one's own list and among all, but for who does not want it; slixmpp: user search (XEP-0055)"):
            await self.stage.command("roster", "add", orsino.jid, "toby@localhost", "--mutual")
            mine = (await orsino.ask("GET", "/v1/contacts"))["items"]
            expect([(c["userId"], c["state"]) for c in mine] == [("toby", "mutual")], f"{mine}")
            await self.olivia.ask("PATCH", "/v1/users/me", {"name": "Viola's mistress"})

            async def found():
                people = {p["id"] for p in (await orsino.ask("GET", "/v1/users?query=VIOLA&limit=10"))["items"]}
                search = toby["xep_0055"].make_search_iq(ito="localhost")
                search["search"]["form"].add_field(var="nick", value="viola")
                jids = {item["jid"] for item in (await search.send(timeout=PATIENCE))["search"]["form"].get_items()}
                expect(jids == {f"{id}@localhost" for id in people}, f"the app finds {people}, slixmpp {jids}")
                return people

            expect(await found() == {viola.boundjid.user, "olivia"}, "others are found")
            await self.olivia.ask("PATCH", "/v1/users/me", {"searchable": False})
            expect(await found() == {viola.boundjid.user}, "who does not want to be found is")

        with row(23, "contact and chat removed by two calls; slixmpp: the roster's line goes, subscriptions both ways"):
            await self.desk.roster_item("toby@localhost", lambda item: item["subscription"] == "both")
            await orsino.say(self.with_toby, "Farewell, Sir Toby")
            await toby.hears("Farewell, Sir Toby", orsino.jid)
            await orsino.ask("DELETE", "/v1/contacts/toby", status=204)
            await orsino.ask("DELETE", f"/v1/dialogs/{self.with_toby}?for=me", status=204)
            await toby.roster_item(orsino.jid, lambda item: item["subscription"] == "none")
            await self.desk.saw("roster_update", lambda iq: iq["roster"]["items"].get("toby@localhost", {}).get("subscription") == "remove")
            expect((await orsino.ask("GET", "/v1/contacts"))["items"] == [], "still a contact")
            expect(self.with_toby not in {d["id"] for d in (await orsino.dialogs())["items"]}, "still in the list")

        with row(24, "a request sent, and one accepted, and one declined; slixmpp: subscribe, subscribed, unsubscribed, roster pushes"):
            asked = await orsino.ask("PUT", f"/v1/contacts/{viola.boundjid.user}", {"name": "Cesario"})
            expect((asked["state"], asked["name"]) == ("pendingOut", "Cesario"), f"{asked}")
            await viola.saw("presence_subscribe", lambda p: p["from"].bare == orsino.jid)
            viola.send_presence(pto=orsino.jid, ptype="subscribed")
            await orsino.event("contact.updated", lambda d: d["contact"]["userId"] == viola.boundjid.user and d["contact"]["state"] == "following")
            # Whoever has asked in the app has agreed to be asked back.
            viola.send_presence(pto=orsino.jid, ptype="subscribe")
            await orsino.event("contact.updated", lambda d: d["contact"]["userId"] == viola.boundjid.user and d["contact"]["state"] == "mutual")
            await viola.roster_item(orsino.jid, lambda item: item["subscription"] == "both")
            await viola.saw("presence_available", lambda p: p["from"].full == f"{orsino.jid}/app-orsino-phone")
            await orsino.event("presence.updated", lambda d: d["presence"]["userId"] == viola.boundjid.user and d["presence"]["online"])
            # The other way round.
            self.kitchen.send_presence(pto=orsino.jid, ptype="subscribe")
            await orsino.event("contact.updated", lambda d: d["contact"]["userId"] == "olivia" and d["contact"]["state"] == "pendingIn")
            await orsino.ask("PUT", "/v1/contacts/olivia")
            await self.kitchen.saw("presence_subscribed", lambda p: p["from"].bare == orsino.jid)
            # Whoever accepts asks back.
            await self.kitchen.saw("presence_subscribe", lambda p: p["from"].bare == orsino.jid)
            self.kitchen.send_presence(pto=orsino.jid, ptype="subscribed")
            await orsino.event("contact.updated", lambda d: d["contact"]["userId"] == "olivia" and d["contact"]["state"] == "mutual")
            await self.kitchen.roster_item(orsino.jid, lambda item: item["subscription"] == "both")
            toby.send_presence(pto=orsino.jid, ptype="subscribe")
            await orsino.event("contact.updated", lambda d: d["contact"]["userId"] == "toby" and d["contact"]["state"] == "pendingIn")
            await orsino.ask("DELETE", "/v1/contacts/toby", status=204)
            await toby.saw("presence_unsubscribed", lambda p: p["from"].bare == orsino.jid)

    # 25 to 29

    async def settings(self):
        row, stage, orsino, viola = self.story.row, self.stage, self.orsino, self.viola

        with row(25, "full name, status, mail address and picture; slixmpp: nickname (XEP-0172), vCard4, status, avatar (XEP-0084, XEP-0153)"):
            await orsino.ask("PATCH", "/v1/users/me", {"name": "Duke Orsino", "status": "Enough; no more"})
            await viola.saw("user_nick_publish", nick_of("Duke Orsino"))
            newer = await viola.pep(orsino.jid, "urn:xmpp:vcard4")
            expect([c.findtext(f"{VCARD4}fn/{VCARD4}text") for c in newer.values()] == ["Duke Orsino"], f"{newer}")
            await viola.saw("presence_available", lambda p: p["from"].resource == "app-orsino-phone" and p["status"] == "Enough; no more")
            await orsino.ask("POST", "/v1/users/me/codes", {"email": NEW_MAIL}, 202)
            (code,) = re.findall(r"^ +(\d{6})$", await self.services.mail(NEW_MAIL), re.M)
            await orsino.ask("PUT", "/v1/users/me/email", {"email": NEW_MAIL, "code": code})
            await orsino.ask("PUT", "/v1/users/me/avatar", data=ROSE, headers={"Content-Type": "image/png"})
            await viola.saw("avatar_metadata_publish", metadata_of(HASH[ROSE]))
            await viola.saw("any presence", lambda p: p["from"].resource == "app-orsino-phone" and p.xml.findtext(
                "{vcard-temp:x:update}x/{vcard-temp:x:update}photo") == HASH[ROSE])
            me = await orsino.ask("GET", "/v1/users/me")
            expect((me["name"], me["status"], me["email"], me["avatarHash"]) == ("Duke Orsino", "Enough; no more", NEW_MAIL, HASH[ROSE]), f"{me}")
            # And Viola's own client: what it says of itself the app is told.
            await viola["xep_0172"].publish_nick("Cesario", timeout=PATIENCE)
            await orsino.event("user.updated", lambda d: d["user"]["id"] == viola.boundjid.user and d["user"].get("name") == "Cesario")

        with row(26, "pushes on and off, and for one dialog, with keys in place of words; slixmpp: XEP-0357 on and off, XEP-0492 in a bookmark"):
            await self.desk.leave()
            await self.tablet.disconnect()
            await orsino.ask("PUT", "/v1/devices/orsino-phone", {"platform": "ios", "locale": "it", "push": {"provider": "apns", "token": "ab12"}}, 201)
            expect((await orsino.command("presence", {"availability": "away"})).get("ok"), "no presence")
            viola.chat(orsino.jid, "Here comes the Countess")
            headers, body = await self.services.push("a message", "ab12")
            expect(body["aps"]["alert"] == {"title-loc-key": "parley_from", "title-loc-args": ["Cesario"], "body": "Here comes the Countess"}, f"{body}")
            expect((body["dialogId"], headers["apns-push-type"]) == (self.with_viola, "alert"), f"{body}")
            viola.say(self.court, "Now heaven walks on earth")
            _, body = await self.services.push("a message in the group", "ab12")
            expect(body["aps"]["alert"]["title-loc-key"] == "parley_from_in" and body["dialogId"] == self.group, f"{body}")
            await orsino.ask("PATCH", f"/v1/dialogs/{self.group}/me", {"notify": "never"})
            viola.say(self.court, "Muted")
            await orsino.message("Muted")
            viola.chat(orsino.jid, "Not muted")
            _, body = await self.services.push("what is not muted", "ab12")
            expect(body["aps"]["alert"]["body"] == "Not muted", f"{body}")
            await orsino.ask("DELETE", "/v1/devices/orsino-phone", status=204)
            viola.chat(orsino.jid, "Off")
            await orsino.message("Off")
            await orsino.command("presence", {"availability": "online"})
            expect((await orsino.ask("GET", "/v1/devices"))["items"] == [], "still a device")
            self.desk = await stage.peer(orsino.id, "desk", password=self.lent)
            bookmark = (await self.bookmarks(self.desk))[self.court]
            notify = bookmark.find(f"{{{BOOKMARKS}}}extensions/{{urn:xmpp:notification-settings:1}}notify")
            expect(notify is not None and "never" in ElementTree.tostring(notify).decode(), ElementTree.tostring(bookmark))
            await self.notified()
            self.services.apple.took_nothing()

        self.story.client_only(27, "telling a friend, feedback by mail", "an invitation's link by `POST /v1/invitations`, XEP-0401 or `parley invite create`, addresses of the operator by XEP-0157")

        with row(28, "logging out ends the login, its device and its connection; slixmpp: the stream ends, and each sees the other go"):
            await self.tablet.connect()
            await viola.saw("presence_available", lambda p: p["from"].full == f"{orsino.jid}/app-orsino-tablet")
            await self.tablet.ask("PUT", "/v1/devices/orsino-tablet", {"push": {"provider": "apns", "token": "cd34"}}, 201)
            await self.tablet.ask("DELETE", "/v1/sessions/current", status=204)
            expect(await self.tablet.closed() == 4401, f"closed with {self.tablet.socket.close_code}")
            await viola.saw("presence_unavailable", lambda p: p["from"].full == f"{orsino.jid}/app-orsino-tablet")
            await self.tablet.refused(401, "token-invalid", "GET", "/v1/users/me")
            await self.tablet.refused(401, "refresh-token-invalid", "POST", "/v1/sessions", {"grant": "refresh", "refreshToken": self.tablet.refresh})
            expect((await orsino.ask("GET", "/v1/devices"))["items"] == [], "a device outlived its login")
            await self.olivia.disconnect()
            await self.kitchen.leave()
            await orsino.event("presence.updated", lambda d: d["presence"]["userId"] == "olivia" and not d["presence"]["online"])

        with row(29, "other users' profiles; slixmpp: the vCard"):
            profile = await orsino.ask("GET", "/v1/users/olivia")
            expect((profile["id"], profile["name"]) == ("olivia", "Viola's mistress") and "email" not in profile, f"{profile}")
            card = await viola["xep_0054"].get_vcard(orsino.jid, timeout=PATIENCE, cached=False)
            expect((card["vcard_temp"]["FN"], card["vcard_temp"]["PHOTO"]["BINVAL"]) == ("Duke Orsino", ROSE), f"{card}")
            await orsino.refused(404, "user-unknown", "GET", "/v1/users/malvolio")

    async def notified(self):
        """XEP-0357: Viola's client has a push service, whose part Toby's plays; what slixmpp has no plugin for is written out."""
        viola, toby, push = self.viola, self.toby, "urn:xmpp:push:0"
        told = asyncio.Queue()

        def tell(iq):
            iq.reply().send()
            told.put_nowait(iq)

        toby.register_handler(Callback("pushes", MatchXPath("{jabber:client}iq/{http://jabber.org/protocol/pubsub}pubsub"), tell))

        async def switch(name, **more):
            iq = viola.make_iq_set()
            iq.append(ElementTree.Element(f"{{{push}}}{name}", jid=str(toby.boundjid), node="viola-phone", **more))
            await iq.send(timeout=PATIENCE)

        async def away(text):
            """Says something while Viola's client does not look."""
            viola.send_presence(ptype="unavailable")
            await self.orsino.event("presence.updated", lambda d: d["presence"]["userId"] == viola.boundjid.user and not d["presence"]["online"])
            await self.orsino.say(self.with_viola, text)
            await viola.saw("carbon_received", lambda m: str(m["carbon_received"]["body"]) == text)

        async def back():
            viola.send_presence()
            await self.orsino.event("presence.updated", lambda d: d["presence"]["userId"] == viola.boundjid.user and d["presence"]["online"])

        # Another user's client may be the service if that user shares presence with Viola.
        await self.stage.command("roster", "add", viola.boundjid.bare, "toby@localhost", "--mutual")
        await switch("enable")
        await away("Come away, come away, death")
        iq = await asyncio.wait_for(told.get(), PATIENCE)
        expect("urn:xmpp:push:summary" in str(iq) and 'node="viola-phone"' in str(iq), f"{iq}")
        await back()
        await switch("disable")
        await away("I am slain by a fair cruel maid")
        await back()
        expect(told.empty(), "a push that was switched off")

    # 30 to 33

    def propose(self, name, video=False):
        """Viola's client calls Orsino: the stanza's id. slixmpp gives it none."""
        message = self.viola.make_message(self.orsino.jid, mtype="chat")
        message["id"] = f"propose-{name}"
        message["jingle_propose"]["id"] = name
        message["jingle_propose"]["descriptions"] = [(RTP, "audio"), *([(RTP, "video")] if video else [])]
        message.enable("store")
        message.send()
        return message["id"]

    async def ring(self, app, kind="audio"):
        """Viola is called: the call, and what her client is told."""
        made = await app.ask("POST", "/v1/calls", {"clientId": str(uuid.uuid4()), "userId": self.viola.boundjid.user, "kind": kind}, 201)
        return made, await self.viola.saw("jingle_message_propose", lambda m: m["jingle_propose"]["id"] == made["id"])

    def tell(self, name, to, call, reason=None):
        """What slixmpp has no word for."""
        message = self.viola.make_message(to, mtype="chat")
        element = ElementTree.Element(f"{{{JMI}}}{name}", id=call)
        if reason:
            ElementTree.SubElement(ElementTree.SubElement(element, "{urn:xmpp:jingle:1}reason"), f"{{urn:xmpp:jingle:1}}{reason}")
        message.append(element)
        message.enable("store")
        message.send()

    async def told(self, name, call):
        """That of XEP-0353 which Viola's client is told."""
        return await self.viola.saw("any message", lambda m: any(e.tag == f"{{{JMI}}}{name}" and e.get("id") == call for e in m.xml))

    async def becomes(self, app, call, state, test=lambda call: True):
        return (await app.event("call.updated", lambda d: d["call"]["id"] == call and d["call"]["state"] == state and test(d["call"])))["call"]

    async def called(self, app):
        """The call of Viola's that rings on this device."""
        return (await app.event("call.updated", lambda d: (d["call"]["callerId"], d["call"]["state"]) == (self.viola.boundjid.user, "ringing")))["call"]

    async def signal(self, app, call, action, **more):
        answer = await app.command("call.signal", {"callId": call, "action": action, **more})
        expect(answer.get("ok"), f"{action} is answered {answer}")

    async def calls(self):
        row, orsino, olivia, viola = self.story.row, self.orsino, self.olivia, self.viola
        tablet = self.tablet
        await tablet.sign_in(grant="provider", provider="firebase", idToken=proof(self.services, "fb-1"))
        await tablet.connect()
        await olivia.connect()

        with row(30, "calls with sound or pictures, how they stand told to all devices; slixmpp: <propose/>, <ringing/>, <proceed/>, <finish/>"):
            # Between apps the two devices tell each other what their programs need, once somebody has answered.
            body = {"clientId": "call-1", "userId": "olivia", "kind": "video"}
            made = await orsino.ask("POST", "/v1/calls", body, 201)
            expect((await orsino.ask("POST", "/v1/calls", body, 200))["id"] == made["id"], "asked again, another call")
            rings = await self.becomes(olivia, made["id"], "ringing")
            expect((rings["kind"], rings["callerId"]) == ("video", orsino.id), f"{rings}")
            await orsino.refused(409, "call-not-accepted", "POST", f"/v1/calls/{made['id']}/signals", {"action": "offer", "sdp": "v=0"})
            await self.signal(olivia, made["id"], "accept")
            accepted = await self.becomes(orsino, made["id"], "accepted")
            expect((accepted["media"], accepted["participants"][1]["deviceId"]) == ("sdp", "olivia-phone"), f"{accepted}")
            await self.signal(orsino, made["id"], "offer", sdp="v=0")
            offer = await olivia.event("call.signal")
            expect((offer["action"], offer["sdp"], offer["senderId"]) == ("offer", "v=0", orsino.id), f"{offer}")
            await self.signal(orsino, made["id"], "end")
            for app in (olivia, tablet):
                expect((await self.becomes(app, made["id"], "ended"))["reason"] == "ended", "another end")
            # Viola's client rings, answers, and is told of the end.
            made, rings = await self.ring(orsino, "video")
            expect(rings["jingle_propose"]["descriptions"] == [(RTP, "audio"), (RTP, "video")] and rings["from"].resource == "app-orsino-phone", f"{rings}")
            self.tell("ringing", rings["from"], made["id"])
            await self.becomes(orsino, made["id"], "ringing", lambda call: "ringingAt" in call)
            viola["xep_0353"].proceed(rings["from"], made["id"])
            for app in (orsino, tablet):
                expect((await self.becomes(app, made["id"], "accepted"))["media"] == "jingle", "what is said in it is not Jingle's")
            await orsino.ask("DELETE", f"/v1/calls/{made['id']}", status=204)
            await self.told("finish", made["id"])

        with row(31, "declined, taken back, accepted, hung up, by either; slixmpp: <reject/>, <retract/>, <proceed/>, <finish/>"):
            made, rings = await self.ring(orsino)
            viola["xep_0353"].reject(rings["from"], made["id"])
            expect((await self.becomes(orsino, made["id"], "ended"))["reason"] == "rejected", "another end")
            made, _ = await self.ring(orsino)
            await orsino.ask("DELETE", f"/v1/calls/{made['id']}", status=204)
            await viola.saw("jingle_message_retract", lambda m: m["jingle_retract"]["id"] == made["id"])
            await viola.hears("Missed audio call", orsino.jid)
            # Called from XMPP: one device accepts, the other hears of it, Viola hangs up.
            self.propose("one", video=True)
            call = await self.called(orsino)
            expect((await self.called(tablet))["id"] == call["id"] and call["kind"] == "video", f"{call}")
            await self.signal(tablet, call["id"], "accept")
            answered = await viola.saw("jingle_message_proceed", lambda m: m["jingle_proceed"]["id"] == "one")
            expect(answered["from"] == f"{orsino.jid}/app-orsino-tablet", f"{answered}")
            elsewhere = await self.becomes(orsino, call["id"], "accepted")
            expect(elsewhere["participants"][1]["deviceId"] == "orsino-tablet", f"{elsewhere}")
            self.tell("finish", answered["from"], "one", "success")
            for app in (orsino, tablet):
                expect((await self.becomes(app, call["id"], "ended"))["reason"] == "ended", "another end")
            self.propose("two")
            call = await self.called(orsino)
            await self.signal(orsino, call["id"], "reject")
            await viola.saw("jingle_message_reject", lambda m: m["jingle_reject"]["id"] == "two")
            await self.becomes(tablet, call["id"], "ended")
            log = [m["content"] for m in await orsino.history(self.with_viola) if m["content"]["type"] == "call"]
            expect([entry["reason"] for entry in log[:4]] == ["rejected", "ended", "cancelled", "rejected"], f"{log}")

        with row(32, "what one switches off during a call the other's device is told; slixmpp: <mute/> of XEP-0167 from client to client"):
            made = await orsino.ask("POST", "/v1/calls", {"clientId": "call-2", "userId": "olivia", "kind": "audio"}, 201)
            await self.becomes(olivia, made["id"], "ringing")
            await self.signal(olivia, made["id"], "accept")
            await self.becomes(orsino, made["id"], "accepted")
            await self.signal(olivia, made["id"], "info", info={"muted": True})
            told = await orsino.event("call.signal", lambda d: d["action"] == "info")
            expect(told["info"] == {"muted": True}, f"{told}")
            expect(await tablet.settled("call.signal") == [], "a device is told that is in no call")
            await self.signal(orsino, made["id"], "end")
            await self.becomes(olivia, made["id"], "ended")
            muted = asyncio.get_running_loop().create_future()
            self.desk.register_handler(Callback("mute", MatchXPath("{jabber:client}iq/{urn:xmpp:jingle:1}jingle"), muted.set_result))
            iq = viola.make_iq_set(ito=self.desk.boundjid)
            jingle = ElementTree.Element("{urn:xmpp:jingle:1}jingle", action="session-info", sid="a73sjjvkla37jfea")
            ElementTree.SubElement(jingle, "{urn:xmpp:jingle:apps:rtp:info:1}mute", creator="responder", name="voice")
            iq.append(jingle)
            iq.send(timeout=PATIENCE).cancel()
            got = await asyncio.wait_for(muted, PATIENCE)
            expect(got["from"] == viola.boundjid and got.xml.find(".//{urn:xmpp:jingle:apps:rtp:info:1}mute") is not None, f"{got}")

        with row(33, "a telephone that sleeps is woken to ring, and told when it rings no more; slixmpp calls it"):
            await orsino.ask("PUT", "/v1/devices/orsino-voip", {"push": {"provider": "apns", "token": "ef56", "kind": "voip"}}, 201)
            await orsino.disconnect()
            await tablet.disconnect()
            self.propose("three")
            headers, body = await self.services.push("a call", "ef56")
            expect((headers["apns-push-type"], headers["apns-topic"]) == ("voip", Services.TOPIC + ".voip"), f"{headers}")
            expect((body["type"], body["callKind"], body["senderId"]) == ("call", "audio", viola.boundjid.user) and "sdp" not in body, f"{body}")
            (call,) = (await orsino.ask("GET", "/v1/calls"))["items"]
            expect((call["id"], call["state"]) == (body["callId"], "ringing"), f"{call}")
            viola["xep_0353"].retract(orsino.jid, "three")
            _, body = await self.services.push("that it rings no more", "ef56")
            expect((body["type"], body["callId"]) == ("call.end", call["id"]), f"{body}")
            await orsino.ask("DELETE", "/v1/devices/orsino-voip", status=204)
            await orsino.connect()

    # 34 to 36

    async def extensions(self):
        row, orsino, viola = self.story.row, self.orsino, self.viola

        with row(34, "what another program shares: a place, a link, a file, once however often it is tried; slixmpp: geo URI (RFC 5870), XEP-0080, URL"):
            # The extension has the token, and no WebSocket; it is ended in the middle and starts again.
            share = await self.stage.app("orsino-phone")
            share.token, share.user = orsino.token, orsino.user
            path = f"/v1/dialogs/{self.with_viola}/messages"
            place = {"clientId": "share-1", "content": {"type": "location", "lat": 45.4384, "lng": 10.9917, "name": "Verona"}}
            first = await share.ask("POST", path, place, 201)
            expect(await share.ask("POST", path, place, 200) == first, "a retry is another message")
            heard = await viola.saw("any message", lambda m: "geo:45.4384,10.9917" in str(m["body"]) and m["from"].bare == orsino.jid)
            geoloc = heard.xml.find("{http://jabber.org/protocol/geoloc}geoloc")
            expect(geoloc is not None and geoloc.findtext("{http://jabber.org/protocol/geoloc}lat") == "45.4384", f"{heard}")
            await share.say(self.with_viola, "https://illyria.example/sea")
            await viola.hears("https://illyria.example/sea", orsino.jid)
            slot = await share.ask("POST", "/v1/attachments", {
                "name": "sea.mp4", "mediaType": "video/mp4", "size": len(VIDEO), "resumable": True}, 201)
            part = {"Content-Type": "application/partial-upload", "Authorization": ""}
            status, _, value = await share.answer("PATCH", slot["uploadUrl"], data=VIDEO[:700], headers={**part, "Upload-Offset": "0", "Upload-Complete": "?0"})
            expect(status == 204, f"{status} {value}")
            await share.leave()
            share = await self.stage.app("orsino-phone")
            share.token, share.user = orsino.token, orsino.user
            _, headers, _ = await share.answer("HEAD", slot["uploadUrl"], headers={"Authorization": ""})
            offset = int(headers["Upload-Offset"])
            expect(offset == 700, f"{offset} bytes are there")
            status, _, value = await share.answer("PATCH", slot["uploadUrl"], data=VIDEO[offset:], headers={
                **part, "Upload-Offset": str(offset), "Upload-Complete": "?1"})
            expect(status == 201, f"{status} {value}")
            body = {"clientId": "share-2", "content": {"type": "video", "attachments": [slot["id"]]}}
            sent = await share.ask("POST", path, body, 201)
            expect(await share.ask("POST", path, body, 200) == sent, "a retry is another message")
            await viola.hears(slot["url"], orsino.jid)
            expect(await share.fetch(slot["url"]) == VIDEO, "other bytes")
            # The token ends within the hour.
            left = datetime.datetime.fromisoformat(self.welcome["expiresAt"]).timestamp() - time.time()
            expect(0 < left <= 3600, f"{left} s")

        with row(35, "a message by voice: somebody found and written to by requests alone; slixmpp: a plain message"):
            await orsino.disconnect()
            (one,) = (await orsino.ask("GET", "/v1/users?query=cesario&field=name"))["items"]
            dialog = await orsino.dialog(one["id"])
            await orsino.say(dialog, "Cesario, come")
            heard = await viola.hears("Cesario, come", orsino.jid)
            expect(heard["type"] == "chat" and heard["from"].resource == "", f"{heard}")
            viola.chat(orsino.jid, "For so you shall be, while you are a man")
            await self.desk.hears("For so you shall be, while you are a man", viola.boundjid.bare)
            (last,) = await orsino.history(dialog, 1)
            expect(last["content"]["text"] == "For so you shall be, while you are a man", f"{last}")

        self.story.client_only(36, "storyboards, libraries, licence, build guide")


def run(checks):
    with Services("firebase", "facebook") as services:

        async def scenario(stage):
            await stage.command("user", "add", "olivia@localhost", "--password-stdin", "--name", "Olivia", stdin=PASSWORD + "\n")
            await stage.command("user", "email", "olivia@localhost", MAIL)
            await stage.command("user", "add", "toby@localhost", "--password-stdin", "--name", "Toby", stdin=PASSWORD + "\n")
            await Walk(checks, services, stage).run()

        serve(scenario, checks, services=services, **SETTINGS)
