"""Pushes (XEP-0357 0.4.1) towards a push service that is an XMPP client of the same server, written here from the
specification: slixmpp has no such service, and what is to be proved is when which bytes come.
"""
import xml.etree.ElementTree as ElementTree

from lib.harness import PATIENCE, Server, expect
from lib.wire import BODY, FORM, PUBSUB, PUSH, SERVICE, SM, XMPP, Client, leave

SUMMARY, OPTIONS = "urn:xmpp:push:summary", f"{PUBSUB}#publish-options"
BOOKMARKS, NOTIFY = "urn:xmpp:bookmarks:1", "urn:xmpp:notification-settings:1"


class Service(Client):
    """What a push service must do of XEP-0060: take publications."""

    def __init__(self, server):
        super().__init__(server, "bot", "push")
        self.present()

    def published(self, text, answer="<iq type='result' id='{id}' to='{to}'/>", patience=PATIENCE):
        """The next publication, which stands for one message and says this of it."""
        iq = self.stanza(lambda s: s.find(f"{{{PUBSUB}}}pubsub") is not None, f"a publication of {text}", patience)
        expect(iq.get("type") == "set" and iq.get("from") == "localhost" and iq.get("to") == SERVICE, f"{iq.attrib}")
        if answer:
            self.send(answer.format(id=iq.get("id"), to=iq.get("from")))
        form = iq.find(f".//{{{PUSH}}}notification/{{{FORM}}}x")
        self.fields = {f.get("var"): f.findtext(f"{{{FORM}}}value") for f in form}
        expect(self.fields.get("FORM_TYPE") == SUMMARY, f"another form: {ElementTree.tostring(form)}")
        expect(self.fields.get("message-count") == "1" and self.fields.get("last-message-body") == text,
               f"{text} is to be told, and nothing else: {self.fields}")
        return iq


def error(condition, kind):
    return (f"<iq type='error' id='{{id}}' to='{{to}}'><error type='{kind}'>"
            f"<{condition} xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error></iq>")


def registering(server):
    juliet = Client(server, "juliet", "phone").present()
    info = juliet.ask("<query xmlns='http://jabber.org/protocol/disco#info'/>", "get", "juliet@localhost")
    expect(any(f.get("var") == PUSH for f in info.iter()), "the account does not say that it can push")
    for payload, why in [
        (f"<enable xmlns='{PUSH}' node='n'/>", "without a service"),
        (f"<enable xmlns='{PUSH}' jid='a@@b' node='n'/>", "at no address"),
        (f"<enable xmlns='{PUSH}' jid='push.elsewhere.example' node='n'/>", "where nobody can be reached"),
        (f"<enable xmlns='{PUSH}' jid='nurse@localhost/hall' node='n'/>", "at somebody's who has not agreed"),
        (f"<enable xmlns='{PUSH}' jid='{SERVICE}'><x xmlns='{FORM}' type='submit'/></enable>", "with a form of no type"),
    ]:
        expect(juliet.ask(payload).get("type") == "error", f"a registration {why} is taken")
    expect(juliet.ask(f"<disable xmlns='{PUSH}' jid='{SERVICE}'/>").get("type") == "result", "nothing cannot be disabled")
    juliet.close()


def away(server, romeo, service):
    options = (f"<x xmlns='{FORM}' type='submit'><field var='FORM_TYPE'><value>{OPTIONS}</value></field>"
               "<field var='secret'><value>&lt;eruio&amp;</value></field></x>")
    juliet = Client(server, "juliet", "phone").present()
    expect(juliet.enable(options=options).get("type") == "result", "no registration")
    romeo.say("juliet", "here")
    juliet.message("here")
    leave(juliet)
    romeo.say("juliet", "away")
    iq = service.published("away")
    expect(service.fields["last-message-sender"] == "romeo@localhost", f"{service.fields}")
    expect(iq.find(f".//{{{PUBSUB}}}publish").get("node") == "n", "another node")
    values = [f.findtext(f"{{{FORM}}}value") for f in iq.find(f".//{{{PUBSUB}}}publish-options/{{{FORM}}}x")]
    expect(values == [OPTIONS, "<eruio&"], f"publish options: {values}")
    # What is nothing to read: a chat state, a marker, a reaction, the end of a call.
    for stanza in ["<composing xmlns='http://jabber.org/protocol/chatstates'/>",
                   "<displayed xmlns='urn:xmpp:chat-markers:0' id='x'/><store xmlns='urn:xmpp:hints'/>",
                   "<reactions xmlns='urn:xmpp:reactions:0' id='away'><reaction>+</reaction></reactions>",
                   "<retract xmlns='urn:xmpp:jingle-message:0' id='call'/>"]:
        romeo.send(f"<message type='chat' to='juliet@localhost' id='s'>{stanza}</message>")
    romeo.send("<message type='chat' to='juliet@localhost' id='c'><propose xmlns='urn:xmpp:jingle-message:0' id='call'>"
               "<description xmlns='urn:xmpp:jingle:apps:rtp:1' media='audio'/></propose></message>")
    service.published("Incoming call")
    back = Client(server, "juliet", "phone").present()
    back.message("away")
    leave(back)


def asleep(server, romeo, service):
    """A suspended session stays, and is woken for what it had not confirmed, and for what comes."""
    juliet = Client(server, "juliet", "phone").present()
    expect(juliet.enable().get("type") == "result", "no registration")
    juliet.send(f"<enable xmlns='{SM}' resume='true'/>")
    enabled = juliet.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "stream management")
    romeo.say("juliet", "unconfirmed")
    juliet.message("unconfirmed")
    juliet.close()
    service.published("unconfirmed")
    romeo.say("juliet", "sleeping")
    service.published("sleeping")
    back = XMPP("juliet", server.tls, "phone", server.certificate)
    back.connect(bind=False)
    back.send(f"<resume xmlns='{SM}' h='0' previd='{enabled.get('id')}'/>")
    back.stanza(lambda s: s.tag == f"{{{SM}}}resumed", "its session")
    for text in ["unconfirmed", "sleeping"]:
        back.stanza(lambda s: s.findtext(BODY) == text, f"the message {text}")
    # Its device does not answer, though its connection stands.
    romeo.say("juliet", "deaf")
    service.published("deaf", patience=3 * PATIENCE)
    leave(back)


def refused(server, romeo, service):
    romeo.say("juliet", "later")
    service.published("later", error("resource-constraint", "wait"))
    # After a while the same again.
    service.published("later")
    romeo.say("juliet", "no more")
    service.published("no more", error("item-not-found", "cancel"))
    # Behind the error that the service has sent.
    service.ask("<ping xmlns='urn:xmpp:ping'/>", "get", "localhost")
    romeo.say("juliet", "nobody is told")
    juliet = Client(server, "juliet", "phone").present()
    juliet.enable()
    leave(juliet)
    romeo.say("juliet", "anew")
    service.published("anew")


def muted(server, romeo, service):
    """XEP-0492 in a bookmark (XEP-0402): pushes go by what is there for phones."""
    # Bound and without presence: nobody who looks.
    desk = Client(server, "juliet", "desk")

    def notify(rules, chat="romeo@localhost"):
        answer = desk.ask(
            f"<pubsub xmlns='{PUBSUB}'><publish node='{BOOKMARKS}'><item id='{chat}'><conference xmlns='{BOOKMARKS}'><extensions>"
            f"<notify xmlns='{NOTIFY}'>{rules}</notify></extensions></conference></item></publish></pubsub>")
        expect(answer.get("type") == "result", f"{chat} cannot be bookmarked")

    notify("<never/>")
    romeo.say("juliet", "quiet")
    notify("<always/><on-mention identity-category='client'/><never identity-category='client' identity-type='pc'/>")
    romeo.say("juliet", "nobody in particular")
    begin = "<reference xmlns='urn:xmpp:reference:0' type='mention' begin='0' end='6' uri='xmpp:juliet@localhost'/>"
    romeo.say("juliet", "Juliet", begin)
    # One message alone: nothing was owed before it.
    service.published("Juliet")
    notify("<never identity-category='client' identity-type='pc'/>")
    romeo.say("juliet", "as usual")
    service.published("as usual")
    leave(desk)


def killed(server):
    """What was committed is owed, also by the next process, and what was told is not told again."""
    service, romeo = Service(server), Client(server, "romeo", "desk")
    romeo.say("juliet", "told")
    service.published("told")
    romeo.say("juliet", "owed")
    # It came, and nobody said that it was taken.
    service.published("owed", answer=None)
    server.kill()
    server.start()
    service, romeo = Service(server), Client(server, "romeo", "desk")
    service.published("owed")
    romeo.say("juliet", "next")
    service.published("next")
    back = Client(server, "juliet", "phone").present()
    back.message("owed")


def silent(server):
    service, romeo = Service(server), Client(server, "romeo", "desk")
    juliet = Client(server, "juliet", "phone").present()
    juliet.enable()
    leave(juliet)
    romeo.say("juliet", "wherefore")
    service.published("New message")
    expect("last-message-sender" not in service.fields, f"{service.fields}")


def run(checks):
    with Server(push__content="body") as server:
        server.start()
        server.add_users("romeo", "juliet", "bot", "nurse")
        server.befriend("romeo", "juliet")
        server.befriend("juliet", "bot")
        service, romeo = Service(server), Client(server, "romeo", "desk")
        with checks.check("push: registrations, and what is refused"):
            registering(server)
        with checks.check("push: who is away is woken, for messages and calls and nothing else, and finds them"):
            away(server, romeo, service)
        with checks.check("push: who sleeps is woken for what they had not confirmed, and goes on where they were"):
            asleep(server, romeo, service)
        with checks.check("push: a service that is busy is asked again, one that refuses is not"):
            refused(server, romeo, service)
        with checks.check("push: of a chat that is muted in a bookmark nothing is told, but what was asked for"):
            muted(server, romeo, service)
        with checks.check("push: what is owed is told after kill -9"):
            killed(server)
    with checks.check("push: nothing of what is said, unless the operator says so"), Server() as server:
        server.start()
        server.add_users("romeo", "juliet", "bot")
        server.befriend("juliet", "bot")
        silent(server)
