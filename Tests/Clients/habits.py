"""A day with a phone that has the habits of Conversations (`lib/phone.py`), a desktop (slixmpp) and an app: what a user of one of
them would notice is a failure. Nothing waits for time to pass: a phone sleeps when it does not read.
"""
import base64
import hashlib
import logging

from lib.apps import App
from lib.harness import PASSWORD, Server, expect
from lib.habits_rooms import GROUP, JULIET, PARIS, ROMEO, DayInRooms, bodies, listed, nothing_wrong
from lib.peers import HASH, ROSE, put_picture
from lib.phone import OPEN, Phone
from lib.phone_shown import AVATAR, CALL, INFO, MUC, NICK, OMEMO, REACTIONS, STORE, now
from lib.rooms import Others
from lib.sasl2 import MAM, coded
from lib.wire import FORM, PUBSUB, SERVICE, XMPP, Client

XML_LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def verified(info):
    """XEP-0115 5.1: what the answer's hash is."""
    query = info[0]
    text = "".join(sorted("/".join([i.get("category"), i.get("type"), i.get(XML_LANG, ""), i.get("name") or ""]) + "<"
                          for i in query.iter(f"{{{INFO}}}identity")))
    text += "".join(sorted(f.get("var") + "<" for f in query.iter(f"{{{INFO}}}feature")))
    for x in query.iter(f"{{{FORM}}}x"):
        fields = {field.get("var"): sorted(value.text or "" for value in field) for field in x}
        text += fields.pop("FORM_TYPE")[0] + "<"
        text += "".join(name + "<" + "".join(value + "<" for value in fields[name]) for name in sorted(fields))
    return coded(hashlib.sha1(text.encode()).digest())


def register(server):
    """XEP-0077, as Conversations asks: with its address as `from`, and no `to` on the second request."""
    new = XMPP("romeo", server.tls, trust=server.certificate)
    new.dial()
    new.send("<iq type='get' id='r1' to='localhost'><query xmlns='jabber:iq:register'/></iq>")
    asked = new.stanza(lambda s: s.get("id") == "r1", "the fields")
    fields = {child.tag.rpartition("}")[2] for child in asked[0]}
    expect({"username", "password"} <= fields, f"it would give up at {fields}")
    new.send(f"<iq type='set' id='r2' from='{ROMEO}'><query xmlns='jabber:iq:register'><username>romeo</username>"
             f"<password>{PASSWORD}</password></query></iq>")
    expect(new.stanza(lambda s: s.get("id") == "r2", "an account").get("type") == "result", "no account")
    new.close()


class Day(DayInRooms):
    def __init__(self, server, checks):
        self.server, self.checks, self.others = server, checks, Others()

    def check(self, text):
        return self.checks.check(f"habits: {text}")

    def morning(self):
        server = self.server
        with self.check("an account is made on the phone, which then finds everything that it looks for"):
            register(server)
            server.befriend("romeo", "juliet")
            server.befriend("romeo", "paris")
            self.phone = phone = Phone(server, "romeo")
            expect(not phone.log_in(), "a session that there was not")
            phone.settled()
            expect(phone.token and phone.jid.startswith(f"{ROMEO}/Conversations"), f"{phone.jid}")
            wanted = {MAM, f"{PUBSUB}#publish-options", "urn:xmpp:push:0", "urn:xmpp:bookmarks-conversion:0", f"{PUBSUB}#persistent-items",
                      "urn:xmpp:sid:0"}
            expect(wanted <= phone.features[phone.account], f"the account does not say {wanted - phone.features[phone.account]}")
            wanted = {"urn:xmpp:carbons:2", "urn:xmpp:blocking", "http://jabber.org/protocol/commands"}
            expect(wanted <= phone.features[None], f"the server does not say {wanted - phone.features[None]}")
            services = {feature for found in phone.services.values() for feature in found or ()}
            expect(MUC in services, f"{phone.services}")
            expect(phone.roster == {JULIET: "both", PARIS: "both"}, f"{phone.roster}")
            phone.publish(NICK, "current", f"<nick xmlns='{NICK}'>Romeo M.</nick>")
        with self.check("the app and the desktop come, and the phone sees them"):
            self.app = App(server, "juliet").connect()
            self.dialog = self.app.dialog("romeo")
            self.desk = self.others.guest(server, "paris")
            self.service = Client(server, "bot", "push").present()
            # Whoever serves as a push service has agreed to it, here in advance.
            self.service.send("<presence type='subscribed' to='romeo@localhost'/>")
            self.service.ask("<ping xmlns='urn:xmpp:ping'/>", "get", "localhost")
            phone.until(lambda: phone.present.get(JULIET) and phone.present.get(PARIS), "its contacts")

    def chats(self):
        phone, app = self.phone, self.app
        with self.check("a message, its receipt and that it was read, in both directions; unread counts"):
            app.say(self.dialog, "Good morrow")
            phone.until(lambda: "Good morrow" in bodies(phone.talks.get(JULIET, [])), "the first message")
            line = phone.talks[JULIET][0]
            expect(phone.unread[JULIET] == 1 and line.stored, f"{line} {phone.unread}")
            app.event("marker.updated", lambda data: data["marker"].get("delivered") and data["marker"]["userId"] == "romeo")
            phone.read_all(JULIET)
            app.event("marker.updated", lambda data: data["marker"].get("read") and data["marker"]["userId"] == "romeo")
            mine = phone.say(JULIET, "Is the day so young?")
            came = app.message("Is the day so young?")
            expect(app.event("unread.updated", lambda data: data["unreadCount"] == 1), "it is not unread")
            app.call("PUT", f"/v1/dialogs/{self.dialog}/marker", {"delivered": came["id"]})
            phone.until(lambda: mine.state == "received", "a receipt")
            app.call("PUT", f"/v1/dialogs/{self.dialog}/marker", {"read": came["id"]})
            phone.until(lambda: mine.state == "displayed", "that it was read")
            app.event("unread.updated", lambda data: data["unreadCount"] == 0)
            listed(phone, app, self.dialog, JULIET)
        with self.check("typing, which nobody finds in the archive"):
            for state in ("composing", "paused"):
                phone.put(f"<message type='chat' to='{JULIET}' from='{phone.jid}'><{state} xmlns='http://jabber.org/protocol/chatstates'/>"
                          "<no-store xmlns='urn:xmpp:hints'/><no-storage xmlns='urn:xmpp:hints'/></message>")
            app.event("typing.updated")
            listed(phone, app, self.dialog, JULIET)

    def sleeps(self):
        phone, app = self.phone, self.app
        with self.check("the phone sleeps, its network goes without a word; it resumes in one round trip and shows all, once"):
            phone.wake_by(SERVICE, "phone")
            phone.settled()
            phone.send("<inactive xmlns='urn:xmpp:csi:0'/>")
            dead = phone.lose()
            texts = [f"asleep {n}" for n in range(5)]
            for text in texts:
                app.say(self.dialog, text)
            lost = phone.say(JULIET, "said into a dead network")
            before = now()
            expect(phone.log_in(), "its session was not resumed")
            phone.until(lambda: lost.state != "unsent", "its message to be taken")
            app.message("said into a dead network")
            listed(phone, app, self.dialog, JULIET)
            expect(all(line.time <= before for line in phone.talks[JULIET] if line.body in texts), "shown with the time of waking up")
            # The dead connection is ended, and what still came over it says nothing.
            try:
                dead.sendall(f"<message type='chat' to='{JULIET}'><body>from the grave</body></message>".encode())
                while dead.recv(65536):
                    pass
            except OSError:
                pass
            dead.close()
            listed(phone, app, self.dialog, JULIET)
            expect(phone.present.get(JULIET), "its contacts went")
        with self.check("a message whose acknowledgement was lost is there once"):
            # The server takes it; the phone is away before it reads so.
            said = phone.say(JULIET, "did you get it?")
            app.message("did you get it?")
            dead = phone.lose()
            expect(phone.log_in(), "its session was not resumed")
            phone.until(lambda: said.state != "unsent", "its message to be taken")
            listed(phone, app, self.dialog, JULIET)
            dead.close()
        with self.check("moves between networks: ten connections, one behind the other, each over one that nobody closed"):
            graves = []
            for turn in range(10):
                graves.append(phone.lose())
                app.say(self.dialog, f"on the way {turn}")
                phone.say(JULIET, f"from the way {turn}")
                expect(phone.log_in(), f"not resumed at turn {turn}")
            for dead in graves:
                dead.close()
            history = listed(phone, app, self.dialog, JULIET)
            expect(len(history) == len({m["id"] for m in history}), "a message twice")
            nothing_wrong(phone)

    def too_late(self):
        """The session that it would resume has gone: the server was started again."""
        phone = self.phone
        with self.check("resumed too late: what was confirmed in <failed h/> is not said again, what was missed is fetched in pages"):
            lost = phone.say(JULIET, "before the end")
            self.app.message("before the end")
            phone.lose()
            self.app.close()
            self.others(self.desk.leave())
            self.server.kill()
            self.server.start()
            self.app = app = App(self.server, "juliet").connect()
            self.desk = self.others.guest(self.server, "paris")
            self.service = Client(self.server, "bot", "push").present()
            for n in range(45):
                app.say(self.dialog, f"missed {n}")
            unheard = phone.say(JULIET, "written under ground")
            expect(not phone.log_in(), "a session was resumed that cannot be there")
            phone.until(lambda: unheard.state != "unsent" and lost.state != "unsent", "its messages to be taken")
            app.message("written under ground")
            listed(phone, app, self.dialog, JULIET)
            nothing_wrong(phone)
        with self.check("a new phone fetches everything from the end, and shows the same"):
            new = Phone(self.server, "romeo")
            new.log_in()
            pages = new.look_back(JULIET)
            expect(pages >= 3 and bodies(new.talks[JULIET]) == bodies(phone.talks[JULIET]), f"{pages} pages: {new.talks[JULIET]}")
            new.log_out()

    def tablet(self):
        """The same person on a second device, which reads what the first one is told."""
        phone, app = self.phone, self.app
        with self.check("two devices: what one sends and reads the other shows, once; a note to oneself too"):
            other = self.other = Phone(self.server, "romeo")
            other.log_in()
            other.look_back(JULIET)
            app.say(self.dialog, "which of you?")
            for one in (phone, other):
                one.until(lambda one=one: bodies(one.talks[JULIET])[-1] == "which of you?", "the message")
            phone.read_all(JULIET)
            other.until(lambda: other.unread[JULIET] == 0, "that it was read on the other device")
            other.say(JULIET, "the other one")
            phone.until(lambda: bodies(phone.talks[JULIET])[-1] == "the other one", "the copy")
            phone.say(ROMEO, "buy a rope ladder")
            other.until(lambda: ROMEO in other.talks, "the note")
            for one in (phone, other):
                one.settled()
                expect(bodies(one.talks[ROMEO]) == ["buy a rope ladder"], f"{one.talks[ROMEO]}")
                listed(one, app, self.dialog, JULIET)
        with self.check("the device that slept shows what the other one sent and what it read"):
            phone.lose()
            app.say(self.dialog, "are you there?")
            other.until(lambda: bodies(other.talks[JULIET])[-1] == "are you there?", "the message")
            other.read_all(JULIET)
            other.say(JULIET, "I am")
            other.settled()
            phone.stream, phone.queue = None, []
            phone.log_in()
            listed(phone, app, self.dialog, JULIET)
            expect(phone.unread[JULIET] == 0, f"{phone.unread}")
            expect(bodies(phone.talks[ROMEO]) == ["buy a rope ladder"], f"{phone.talks[ROMEO]}")
            other.log_out()
        with self.check("the roster by its version: nothing new, then what is new"):
            version, before = phone.version, dict(phone.roster)
            answer = phone.answer(phone.ask(f"<query xmlns='jabber:iq:roster' ver='{version}'/>"))
            expect(version and not len(answer), f"the whole roster again: {len(answer)}")
            phone.set("<query xmlns='jabber:iq:roster'><item jid='bot@localhost' name='The bot'/></query>")
            phone.until(lambda: "bot@localhost" in phone.roster and phone.version != version, "the push")
            phone.set("<query xmlns='jabber:iq:roster'><item jid='bot@localhost' subscription='remove'/></query>")
            phone.until(lambda: phone.roster["bot@localhost"] == "remove", "the push")
            del phone.roster["bot@localhost"]
            expect(phone.roster == before, f"{phone.roster}")
        with self.check("the app's name and picture, and what its presence says that it can"):
            status, _ = app.call("PATCH", "/v1/users/me", {"name": "Juliet C."})
            expect(status == 200, f"no other name: {status}")
            put_picture(app, ROSE)
            phone.until(lambda: phone.pictures.get(JULIET) == HASH[ROSE] and phone.names.get(JULIET) == "Juliet C.", "name and picture")
            card = phone.answer(phone.ask("<vCard xmlns='vcard-temp'/>", to=JULIET))
            expect(base64.b64decode(card.findtext(".//{vcard-temp}BINVAL")) == ROSE, "another picture in the vCard")
            caps = phone.seen_caps[JULIET]
            info = phone.answer(phone.ask(f"<query xmlns='{INFO}' node='{caps[1]}#{caps[2]}'/>", to=caps[0]))
            expect(verified(info) == caps[2], f"{caps} is not what it says: {verified(info)}")

    def references(self):
        phone, app = self.phone, self.app
        with self.check("corrections in both directions, also two of one message"):
            mine = phone.say(JULIET, "wherefor")
            came = app.message("wherefor")
            for text in ("whereforr", "wherefore"):
                phone.say(JULIET, text, corrects=mine)
                changed = app.event("message.updated", lambda data: data["message"]["content"]["text"] == text)["data"]["message"]
                expect(changed["id"] == came["id"], f"{changed}")
            made = app.say(self.dialog, "art thuo")
            phone.until(lambda: bodies(phone.talks[JULIET])[-1] == "art thuo", "a message")
            for text in ("art thou", "art thou Romeo"):
                app.call("PATCH", f"/v1/dialogs/{self.dialog}/messages/{made['id']}", {"text": text})
                phone.until(lambda: bodies(phone.talks[JULIET])[-1] == text, f"the corrected {text}")
            listed(phone, app, self.dialog, JULIET)
        with self.check("a reaction of the app; one of Cheogram's, which has a body for others, is no message in the app"):
            line = phone.talks[JULIET][-1]
            mine = phone.say(JULIET, "react to me")
            theirs = app.message("react to me")
            app.call("PUT", f"/v1/dialogs/{self.dialog}/messages/{theirs['id']}/reactions", {"emoji": ["🌹"]})
            phone.until(lambda: mine.reactions == ["🌹"], "a reaction")
            told = app.history(self.dialog)
            target = next(m for m in told if m["content"]["text"] == line.body)
            quote = f"> {line.body}\n"
            phone.put(
                f"<message type='chat' to='{JULIET}' from='{phone.jid}' id='reacted'><origin-id xmlns='urn:xmpp:sid:0' id='reacted'/>"
                f"<reply xmlns='urn:xmpp:reply:0' id='{line.said}' to='{JULIET}'/>"
                f"<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'><body start='0' end='{len(quote)}'/></fallback>"
                f"<fallback xmlns='urn:xmpp:fallback:0' for='{REACTIONS}'><body/></fallback>"
                f"<reactions xmlns='{REACTIONS}' id='{line.said}'><reaction>👍</reaction></reactions>{STORE}"
                f"<body>{quote.replace('>', '&gt;')}👍</body></message>")
            app.event("message.updated", lambda data: data["message"]["id"] == target["id"]
                      and data["message"].get("reactions") == {"👍": ["romeo"]})
            phone.settled()
            shown = [m["content"].get("text") for m in app.history(self.dialog)]
            expect(shown == [m["content"].get("text") for m in told], f"a reaction is shown as a message: {shown[-2:]}")

    def profile(self):
        phone, app, desk = self.phone, self.app, self.desk
        with self.check("a picture: the app has it, the phone too"):
            name = hashlib.sha1(ROSE).hexdigest()
            phone.publish(f"{AVATAR}:data", name, f"<data xmlns='{AVATAR}:data'>{coded(ROSE)}</data>", OPEN)
            phone.publish(f"{AVATAR}:metadata", name, f"<metadata xmlns='{AVATAR}:metadata'><info bytes='{len(ROSE)}' id='{name}' "
                          "height='2' width='2' type='image/png'/></metadata>", OPEN)
            app.event("user.updated", lambda data: data["user"].get("avatarHash") == name)
            phone.until(lambda: phone.pictures.get(ROMEO) == name, "its own picture")
        with self.check("a device list whose node has another access model: it is made open, and everybody reads it"):
            node = f"{OMEMO}.devicelist"
            listing = f"<list xmlns='{OMEMO}'><device id='27'/></list>"
            phone.publish(node, "current", listing, {"pubsub#access_model": "presence"})
            expect(phone.publish(node, "current", listing, OPEN), "it was as it is wanted before")
            expect(not phone.publish(f"{OMEMO}.bundles:27", "current", f"<bundle xmlns='{OMEMO}'/>", OPEN), "a new node is not as it is wanted")
            stranger = Client(self.server, "bot", "stranger")
            found = stranger.ask(f"<pubsub xmlns='{PUBSUB}'><items node='{node}'/></pubsub>", "get", ROMEO)
            expect(found.find(f".//{{{OMEMO}}}device").get("id") == "27", "nobody finds its device")
            stranger.close()
            phone.until(lambda: phone.devices.get(ROMEO) == ["27"], "its own device list")
        with self.check("blocked and unblocked, with a report"):
            phone.set(f"<block xmlns='urn:xmpp:blocking'><item jid='{PARIS}'><report xmlns='urn:xmpp:reporting:0'><spam/></report></item></block>")
            phone.until(lambda: PARIS in phone.blocked, "the push of it")
            self.others.do(lambda: desk.send_message(ROMEO, "unwanted", mtype="chat"))
            self.others(desk.saw("any message", lambda m: m["type"] == "error"))
            phone.set(f"<unblock xmlns='urn:xmpp:blocking'><item jid='{PARIS}'/></unblock>")
            phone.until(lambda: PARIS not in phone.blocked, "the push of it")
            self.others.do(lambda: desk.send_message(ROMEO, "wanted", mtype="chat"))
            phone.until(lambda: "wanted" in bodies(phone.talks.get(PARIS, [])), "the message")
            phone.settled()
            expect(bodies(phone.talks[PARIS]) == ["wanted"], f"{phone.talks[PARIS]}")

    def calls(self):
        phone, app = self.phone, self.app
        with self.check("a call of the app that the sleeping phone misses; it was woken for it"):
            phone.wake_by(SERVICE, "phone")
            phone.settled()
            # The system has ended the program; of a network that is just gone nobody knows before an acknowledgement is missing.
            phone.lose().close()
            status, made = app.call("POST", "/v1/calls", {"userId": "romeo", "kind": "audio", "clientId": "missed"})
            expect(status == 201, f"{made}")
            iq = self.service.stanza(lambda s: s.find(f"{{{PUBSUB}}}pubsub") is not None, "a push")
            self.service.send(f"<iq type='result' id='{iq.get('id')}' to='{iq.get('from')}'/>")
            app.call("DELETE", f"/v1/calls/{made['id']}")
            expect(phone.log_in(), "its session was not resumed")
            phone.until(lambda: phone.calls.get(made["id"]) == ["propose", "retract"], "the missed call")
        with self.check("a call of the phone that is taken back: the app has missed one"):
            phone.put(f"<message type='chat' to='{JULIET}' id='jm-propose-one'><propose xmlns='{CALL}' id='one'>"
                      f"<description xmlns='urn:xmpp:jingle:apps:rtp:1' media='audio'/></propose><request xmlns='urn:xmpp:receipts'/>{STORE}"
                      "</message>")
            app.event("call.updated", lambda data: data["call"]["state"] == "ringing" and data["call"]["callerId"] == "romeo")
            phone.put(f"<message type='chat' to='{JULIET}'><retract xmlns='{CALL}' id='one'>"
                      f"<description xmlns='urn:xmpp:jingle:apps:rtp:1'/></retract>{STORE}</message>")
            app.event("message.created", lambda data: data["message"]["content"].get("missed"))

    def evening(self):
        phone, app = self.phone, self.app
        with self.check("another password: the session goes on; the next connection, whose token is refused, takes the password on the same stream"):
            phone.set("<query xmlns='jabber:iq:register'><username>romeo</username><password>a new password</password></query>", "localhost")
            phone.password = "a new password"
            phone.settled()
            phone.lose()
            app.say(self.dialog, "good night")
            phone.log_in()
            phone.until(lambda: bodies(phone.talks[JULIET])[-1] == "good night", "the message")
            nothing_wrong(phone)
        with self.check("it logs out: the others see it go, and it has left the rooms"):
            phone.log_out()
            self.others(self.desk.presence(GROUP, "Montague", lambda p: p["type"] == "unavailable"))
            app.event("presence.updated", lambda data: data["presence"]["userId"] == "romeo" and not data["presence"].get("online", True))

    def run(self):
        try:
            for part in (self.morning, self.chats, self.sleeps, self.too_late, self.tablet, self.references, self.group, self.typed, self.profile,
                         self.calls, self.evening):
                part()
            self.others(self.desk.leave())
            self.app.close()
            self.service.close()
        finally:
            self.others.close()


def night(server, checks):
    """Sessions end after a second here, and that is seen."""
    phone, app = Phone(server, "romeo"), App(server, "juliet").connect()
    with checks.check("habits: asleep for longer than a session is kept: others see it go, and nothing is missing or twice in the morning"):
        phone.log_in()
        phone.settled()
        app.event("presence.updated", lambda data: data["presence"]["online"])
        dialog = app.dialog("romeo")
        app.say(dialog, "sleep well")
        phone.until(lambda: "sleep well" in bodies(phone.talks.get(JULIET, [])), "a message")
        said = phone.say(JULIET, "you too")
        app.message("you too")
        phone.lose().close()
        app.event("presence.updated", lambda data: not data["presence"]["online"])
        for n in range(30):
            app.say(dialog, f"dream {n}")
        expect(not phone.log_in(), "a session was resumed that cannot be there")
        phone.until(lambda: said.state != "unsent", "its message to be taken")
        listed(phone, app, dialog, JULIET)
        app.event("presence.updated", lambda data: data["presence"]["online"])
        phone.log_out()
        app.close()


def run(checks):
    logging.getLogger("slixmpp").addHandler(logging.NullHandler())
    # Conversations gives no proof of work.
    with Server(registration="true", signup__proof="false") as server:
        server.start()
        server.add_users("juliet", "paris", "bot")
        Day(server, checks).run()
    with Server(resume__seconds="1", push__resume_seconds="1") as server:
        server.start()
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        night(server, checks)
