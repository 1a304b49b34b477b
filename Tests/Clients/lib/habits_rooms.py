"""The rooms of `habits.py`'s day: a private group made on the phone, one whose name was typed, and all that phones do to them."""
import base64
import uuid

from lib.harness import expect
from lib.peers import ROSE
from lib.phone import Phone
from lib.phone_shown import MUC, SID, STORE, USER
from lib.rooms import codes, room_of
from lib.sasl2 import MAM, coded
from lib.wire import FORM

ROMEO, JULIET, PARIS = "romeo@localhost", "juliet@localhost", "paris@localhost"
GROUP, TEA = room_of("abode"), room_of("tea")
# What Monal 6 asks of a group, as far as the form has it.
MONAL = {"persistentroom": "1", "membersonly": "1", "whois": "anyone", "enablelogging": "0", "changesubject": "0",
         "allowinvites": "0", "getmemberlist": "participant", "publicroom": "0", "moderatedroom": "0"}


def bodies(lines):
    return [line.body for line in lines]


def listed(phone, app, dialog, who):
    """The phone, the app and the archive show the same conversation, each line once, in one order."""
    # What the phone has sent is there before it is counted.
    phone.settled()
    history = app.history(dialog)
    texts = [m["content"].get("text") for m in history if m["content"]["type"] == "text"]
    phone.until(lambda: len(phone.talks[who]) >= len(texts), f"all of {texts}; it has {phone.talks.get(who)}")
    phone.settled()
    expect(bodies(phone.talks[who]) == texts, f"the phone shows {phone.talks[who]}, the app {texts}")
    return history


def nothing_wrong(phone):
    expect(not phone.errors, f"errors that the phone shows: {phone.errors}")
    failed = [line for lines in phone.talks.values() for line in lines if line.state == "failed"]
    expect(not failed, f"not sent: {failed}")


class DayInRooms:
    def group(self):
        phone, app, desk = self.phone, self.app, self.desk
        with self.check("a private group is made on the phone, with the app and the desktop in it; all have the names they chose"):
            # It is told of its other devices and invites those too.
            room = phone.make_group(GROUP, "The abode", [JULIET, PARIS], "Romeo")
            expect({"muc_membersonly", "muc_nonanonymous", "muc_persistent", "muc_hidden", MAM} <= room.features, f"{room.features}")
            expect(room.name == "The abode", room.name)
            created = app.event("dialog.invited", lambda data: data["jid"] == GROUP)["data"]
            self.abode = created["dialogId"]
            self.others(desk.saw("any message", lambda m: GROUP in str(m)))
            self.others(desk.enter(GROUP, "County"))
            phone.until(lambda: "County" in room.people, "the desktop in the room")
            expect(room.people["County"][0].startswith(PARIS), f"{room.people}")
            phone.fetch_members(GROUP)
            expect(room.members == {ROMEO: "owner", JULIET: "member", PARIS: "member"}, f"{room.members}")
        with self.check("the group's messages, each once for each, under the right names, read marks and unread counts"):
            phone.say(GROUP, "from the phone")
            app.message("from the phone")
            app.event("unread.updated", lambda data: data["dialogId"] == self.abode and data["unreadCount"] == 1)
            app.say(self.abode, "from the app")
            self.others(desk.message(GROUP, "from the app"))
            self.others.do(desk.say, GROUP, "from the desktop")
            phone.until(lambda: len(phone.talks[GROUP]) == 3, "three messages")
            history = listed(phone, app, self.abode, GROUP)
            expect([line.sender.partition("/")[2] for line in phone.talks[GROUP]] == ["Romeo", "Juliet C.", "County"],
                   f"{phone.talks[GROUP]}")
            expect([m["senderId"] for m in history if m["content"]["type"] == "text"] == ["romeo", "juliet", "paris"], f"{history}")
            expect([m.get("senderNick") for m in history if m["content"]["type"] == "text"] == ["Romeo", "Juliet C.", "County"], f"{history}")
            phone.read_all(GROUP)
            app.event("marker.updated", lambda data: data["marker"]["dialogId"] == self.abode and data["marker"]["userId"] == "romeo"
                      and data["marker"].get("read"))
        with self.check("its bookmark, by which the other device enters, and which the app's own group is in"):
            other = Phone(self.server, "romeo")
            other.log_in()
            other.until(lambda: GROUP in other.bookmarks, "the bookmark")
            expect(other.bookmarks[GROUP] == ("The abode", True), f"{other.bookmarks}")
            other.enter(GROUP, "Romeo")
            expect(bodies(other.talks[GROUP]) == bodies(phone.talks[GROUP]), f"{other.talks[GROUP]}")
            status, made = app.call("POST", "/v1/dialogs", {"type": "group", "name": "Balcony", "memberIds": ["romeo"]})
            expect(status == 201, f"{made}")
            for one in (phone, other):
                one.until(lambda: made["jid"] in one.bookmarks, "the bookmark of the app's group")
                expect(GROUP in one.bookmarks and not one.invitations, f"{one.bookmarks}; also invited: {one.invitations}")
            other.log_out()
        with self.check("a nick changes, a subject, a correction in the group"):
            phone.rename(GROUP, "Montague")
            self.others(desk.presence(GROUP, "Montague"))
            app.event("member.updated", lambda data: data["member"].get("nick") == "Montague")
            mine = phone.say(GROUP, "a rse")
            came = app.message("a rse")
            phone.until(lambda: mine.stored, "its own message from the room")
            expect(came["senderNick"] == "Montague", f"{came}")
            phone.say(GROUP, "a rose", corrects=mine)
            app.event("message.updated", lambda data: data["message"]["content"]["text"] == "a rose")
            phone.put(f"<message type='groupchat' to='{GROUP}' from='{ROMEO}'><subject>Of roses</subject></message>")
            phone.until(lambda: phone.rooms[GROUP].subject == "Of roses", "the subject")
            app.event("dialog.updated", lambda data: data["dialog"].get("topic") == "Of roses")
            app.call("PUT", f"/v1/dialogs/{self.abode}/messages/{came['id']}/reactions", {"emoji": ["🌹"]})
            phone.until(lambda: mine.reactions == ["🌹"], "a reaction in the room")
            listed(phone, app, self.abode, GROUP)
            nothing_wrong(phone)
        with self.check("a group by Monal's form: the fields without which it gives up are there, and its wishes are taken"):
            vault = room_of("vault")
            room = phone.enter(vault, "Romeo", created=True)
            asked = phone.answer(phone.ask(f"<query xmlns='{MUC}#owner'/>", to=vault))
            there = {field.get("var") for field in asked.iter(f"{{{FORM}}}field")}
            needed = {f"muc#roomconfig_{name}" for name in ("persistentroom", "membersonly", "whois")}
            expect(needed <= there, f"it would give up without {needed - there}")
            phone.configure(vault, MONAL)
            expect({"muc_membersonly", "muc_nonanonymous", "muc_persistent", "muc_hidden"} <= room.features, f"{room.features}")
            phone.until(lambda: room.online, "to be in it")
            phone.set(f"<query xmlns='{MUC}#owner'><destroy><reason>Groupchat got destroyed</reason></destroy></query>", vault)
            phone.until(lambda: room.error == ["destroyed"], "its end")
            del phone.rooms[vault]
        with self.check("taken back as Cheogram does it, with a body for others: gone in the app, and nothing in its place"):
            for where, dialog in ((JULIET, self.dialog), (GROUP, self.abode)):
                told = [m["id"] for m in app.history(dialog)]
                line = phone.say(where, "too much")
                gone = app.message("too much")["id"]
                kind, name = "groupchat" if where == GROUP else "chat", str(uuid.uuid4())
                phone.put(f"<message type='{kind}' to='{where}' from='{phone.jid}' id='{name}'><origin-id xmlns='{SID}' id='{name}'/>"
                          f"<apply-to xmlns='urn:xmpp:fasten:0' id='{line.said}'><retract xmlns='urn:xmpp:message-retract:0'/></apply-to>"
                          f"<fallback xmlns='urn:xmpp:fallback:0'/>{STORE}<body>This person attempted to retract a previous message, "
                          "but it's unsupported by your client.</body></message>")
                app.event("message.deleted", lambda data: data["messageId"] == gone)
                phone.settled()
                expect([m["id"] for m in app.history(dialog)] == [*told, gone], f"{app.history(dialog)[-2:]}")

    def typed(self):
        phone, desk, others = self.phone, self.desk, self.others
        with self.check("a room is made by typing a name: nothing is asked, it can be used at once"):
            room = phone.enter(TEA, "Romeo")
            expect({"201", "110"} <= room.codes and {"muc_open", "muc_persistent", "muc_public", MAM} <= room.features, f"{room.features}")
            phone.bookmark(TEA, None)
            others(desk.enter(TEA, "Paris"))
            phone.say(TEA, "tea?")
            others(desk.message(TEA, "tea?"))
        with self.check("left and entered again, quickly, ten times, and entered where it already is: no message twice, nobody left over"):
            for turn in range(10):
                if turn % 2:
                    phone.leave(TEA)
                phone.enter(TEA, "Romeo")
                expect(set(phone.rooms[TEA].people) == {"Romeo", "Paris"}, f"{phone.rooms[TEA].people}")
                others.do(desk.say, TEA, f"cup {turn}")
                phone.until(lambda: bodies(phone.talks[TEA])[-1] == f"cup {turn}", f"cup {turn}")
            phone.settled()
            expect(bodies(phone.talks[TEA]) == ["tea?"] + [f"cup {n}" for n in range(10)], f"{phone.talks[TEA]}")
            expect(phone.still_there(TEA), "a ping that says no")
        with self.check("away while 50 things are said: the archive in pages, without a gap; new where the server thinks that it is there"):
            phone.lose()
            for n in range(50):
                others.do(desk.say, TEA, f"drop {n}")
            others(desk.message(TEA, "drop 49"))
            # The phone was restarted: it has no session to resume, and the old one is still in the room.
            phone.stream, phone.queue = None, []
            phone.log_in()
            phone.settled()
            expect(bodies(phone.talks[TEA])[-50:] == [f"drop {n}" for n in range(50)] and len(phone.talks[TEA]) == 61, f"{phone.talks[TEA]}")
            expect(phone.rooms[TEA].nick == "Romeo" and set(phone.rooms[TEA].people) == {"Romeo", "Paris"}, f"{phone.rooms[TEA].people}")
            expect(phone.rooms[GROUP].nick == "Montague", f"{phone.rooms[GROUP].nick}")
            said = phone.say(TEA, "still me")
            phone.until(lambda: said.stored, "its own message from the room")
            others(desk.message(TEA, "still me"))
        with self.check("kicked, it learns so, and from a ping that it is not there; it enters again"):
            phone.set(f"<query xmlns='{MUC}#admin'><item nick='Paris' role='none'/></query>", TEA)
            others(desk.presence(TEA, "Paris", lambda p: p["type"] == "unavailable" and 307 in codes(p)))
            others(desk.enter(TEA, "Paris"))
            phone.leave(TEA)
            phone.settled()
            expect(not phone.still_there(TEA), "a ping that says that it is there")
            nothing_wrong(phone)
        with self.check("the network goes while it is in a room: it is still there after it resumed, and has all that was said"):
            phone.send("<inactive xmlns='urn:xmpp:csi:0'/>")
            phone.settled()
            dead = phone.lose()
            for n in range(25):
                others.do(desk.say, TEA, f"rain {n}")
            others(desk.message(TEA, "rain 24"))
            mine = phone.say(TEA, "a storm")
            expect(phone.log_in(), "its session was not resumed")
            phone.until(lambda: mine.stored, "its own message from the room")
            phone.settled()
            expect(bodies(phone.talks[TEA])[-26:] == [f"rain {n}" for n in range(25)] + ["a storm"], f"{phone.talks[TEA]}")
            others(desk.message(TEA, "a storm"))
            expect(phone.still_there(TEA), "it is not there")
            dead.close()
        with self.check("whispers in the room, both ways, once, and not among what the room said"):
            count = len(phone.talks[TEA])
            phone.put(f"<message type='chat' to='{TEA}/Paris' from='{phone.jid}' id='w1'><x xmlns='{USER}'/><body>psst</body></message>")
            got = others(desk.saw("any message", lambda m: str(m["body"]) == "psst"))
            expect(str(got["from"]) == f"{TEA}/Romeo", f"{got}")
            others.do(lambda: desk.make_message(f"{TEA}/Romeo", "yes?", mtype="chat").send())
            phone.until(lambda: "yes?" in bodies(phone.talks[TEA]), "the whisper")
            phone.settled()
            expect(bodies(phone.talks[TEA])[count:] == ["yes?"], f"{phone.talks[TEA][count:]}")
            phone.talks[TEA].pop()
        with self.check("said to a room that it is not in: an error that lets it enter again"):
            phone.leave(TEA)
            lost = phone.say(TEA, "am I there?")
            phone.until(lambda: lost.state == "failed", "an error")
            expect(phone.errors.pop()[2][0] == "not-acceptable", "no reason to look whether it is there")
            phone.talks[TEA].remove(lost)
            expect(not phone.still_there(TEA), "a ping that says that it is there")
        with self.check("the room gets a picture"):
            phone.answer(phone.ask("<vCard xmlns='vcard-temp'/>", to=TEA), but=["item-not-found"])
            phone.set(f"<vCard xmlns='vcard-temp'><PHOTO><TYPE>image/png</TYPE><BINVAL>{coded(ROSE)}</BINVAL></PHOTO></vCard>", TEA)
            card = phone.answer(phone.ask("<vCard xmlns='vcard-temp'/>", to=TEA))
            expect(base64.b64decode(card.findtext(".//{vcard-temp}BINVAL")) == ROSE, "another picture")
        with self.check("invited by the desktop: to a group by its bookmark alone, since the phone follows bookmarks; directly by an invitation"):
            den = room_of("den")
            others(desk.found(den, "Paris", membersonly=True, whois="anyone"))
            others.do(lambda: desk.muc.invite(den, ROMEO, reason="Come"))
            phone.until(lambda: phone.bookmarks.get(den, (None, False))[1], "the bookmark")
            phone.settled()
            expect(not phone.invitations, f"also invited: {phone.invitations}")
            phone.enter(den, "Romeo")
            phone.fetch_members(den)
            expect(phone.rooms[den].members == {PARIS: "owner", ROMEO: "member"}, f"{phone.rooms[den].members}")
            others.do(lambda: desk.plugin["xep_0249"].send_invitation(ROMEO, room_of("tea")))
            phone.until(lambda: phone.invitations == [(room_of("tea"), f"{PARIS}/orchard")], "the direct invitation")
        with self.check("taken out of the group: it learns so, is out, and finds nothing of it later"):
            others(desk.muc.set_affiliation(den, "none", jid=ROMEO))
            phone.until(lambda: phone.rooms[den].error == ["321"], f"its removal; {phone.rooms[den].error}")
            del phone.rooms[den]
        with self.check("the room is ended, and the phone told so"):
            phone.set(f"<query xmlns='{MUC}#owner'><destroy/></query>", TEA)
            phone.until(lambda: phone.rooms[TEA].error == ["destroyed"], "the end of the room")
            del phone.rooms[TEA]
