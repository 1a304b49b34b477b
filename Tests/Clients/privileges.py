"""What components may do for the server and for its users: privileges (XEP-0356 0.4.1), delegated namespaces (XEP-0355 0.5) and
a push service (XEP-0357), by a component written from the specifications, which must see every byte: slixmpp knows nothing
of XEP-0355.
"""
import signal
import xml.etree.ElementTree as ElementTree

from lib.apps import App
from lib.component import DELEGATION, FORWARD, PRIVILEGE, STANZAS, Component, condition, delegated, write
from lib.harness import Server, expect, free_port
from lib.wire import Client, leave

ROSTER, PUBSUB, INFO, ITEMS = "jabber:iq:roster", "http://jabber.org/protocol/pubsub", "http://jabber.org/protocol/disco#info", "http://jabber.org/protocol/disco#items"
BOT, MUSIC = "bot.localhost", "urn:example:music"
GRANTS = ["roster: both", "message: outgoing", "presence: roster", f"iq: ['{PUBSUB} both', 'urn:xmpp:ping get', '{INFO} get']"]


def rosters(checks, server, juliet, romeo):
    """The rosters of users."""
    bot = None
    with checks.check("privileges: they are told behind the handshake, and who is there"):
        bot = Component(server.settings["component__port"], BOT)
        found = bot.perms()
        expect(found == {"roster": ("both", "true"), "message": "outgoing", "presence": "roster",
                         "iq": {PUBSUB: "both", "urn:xmpp:ping": "get", INFO: "get"}}, f"{found}")
        for full in ("juliet@localhost/balcony", "romeo@localhost/orchard"):
            bot.stanza(lambda s: s.tag.endswith("}presence") and s.get("from") == full and s.get("to") == BOT and s.get("type") is None, full)
    with checks.check("privileges: rosters are read, also of who is away, and changed, and changes are pushed"):
        items = bot.ask("paris@localhost", f"<query xmlns='{ROSTER}'/>", "get")
        expect(items.get("from") == "paris@localhost" and items.find(f"{{{ROSTER}}}query") is not None, f"{items.attrib}")
        item = f"<query xmlns='{ROSTER}'><item jid='tybalt@{BOT}' name='Tybalt' subscription='both'><group>Bots</group></item></query>"
        expect(condition(bot.ask("romeo@localhost", item)) is None, "the item is refused")
        push = romeo.stanza(lambda s: s.find(f"{{{ROSTER}}}query") is not None and s.get("type") == "set", "a push")
        found = push.find(f".//{{{ROSTER}}}item")
        expect((found.get("subscription"), found.get("name")) == ("both", "Tybalt"), f"{found.attrib}")
        push = bot.stanza(lambda s: s.get("type") == "set" and s.find(f"{{{ROSTER}}}query") is not None, "a push of its own")
        expect(push.get("from") == "romeo@localhost" and push.get("to") == BOT, f"{push.attrib}")
        bot.stanza(lambda s: s.tag.endswith("}presence") and s.get("to") == f"tybalt@{BOT}" and s.get("from") == "romeo@localhost/orchard",
                   "the presence that its user may see now")
        # Of others only they themselves say how they stand.
        bot.ask("romeo@localhost", f"<query xmlns='{ROSTER}'><item jid='juliet@localhost' subscription='both'/></query>")
        push = romeo.stanza(lambda s: s.find(f"{{{ROSTER}}}query/{{{ROSTER}}}item[@jid='juliet@localhost']") is not None, "a push")
        expect(push.find(f".//{{{ROSTER}}}item").get("subscription") == "none", "a subscription was made up")
        bot.ask("romeo@localhost", f"<query xmlns='{ROSTER}'><item jid='juliet@localhost' subscription='remove'/></query>")
        romeo.stanza(lambda s: s.find(f"{{{ROSTER}}}query/{{{ROSTER}}}item[@subscription='remove']") is not None, "its end")
    with checks.check("privileges: only the component itself has them, for users of its domain"):
        expect(condition(bot.ask("romeo@localhost", f"<query xmlns='{ROSTER}'/>", "get", f"tybalt@{BOT}")) == "forbidden", "its user reads it")
        expect(condition(bot.ask("nobody@localhost", f"<query xmlns='{ROSTER}'/>", "get")) == "forbidden", "nobody has a roster")
        expect(condition(juliet.ask(f"<query xmlns='{ROSTER}'/>", "get", "romeo@localhost")) == "forbidden", "Juliet reads it")
        inner = "<iq xmlns='jabber:client' type='get' id='i'><ping xmlns='urn:xmpp:ping'/></iq>"
        expect(condition(juliet.ask(f"<privileged_iq xmlns='{PRIVILEGE}'>{inner}</privileged_iq>", "get", "romeo@localhost")) == "forbidden", "Juliet may")
    return bot


def messages(checks, juliet, tablet, phone, bot):
    """Messages in a user's name."""
    body = None
    with checks.check("privileges: a message in a user's name is theirs: carbons, app, archive, once"):
        body = "<message xmlns='jabber:client' from='romeo@localhost' to='juliet@localhost' id='c1' type='chat'><body>but soft</body></message>"
        bot.forward(body)
        heard = juliet.message("but soft")
        expect(heard.get("from") == "romeo@localhost" and heard.get("id") == "c1", f"{heard.attrib}")
        tablet.stanza(lambda s: s.find("{urn:xmpp:carbons:2}sent") is not None, "a carbon")
        message = phone.message("but soft")
        expect(message["senderId"] == "romeo", f"{message}")
        bot.forward(body)
        # As some libraries write it: in the namespace of their stream.
        bot.forward("<message xmlns='jabber:component:accept' from='romeo@localhost' to='juliet@localhost' id='c2' type='chat'><body>what light</body></message>")
        juliet.message("what light")
        status, page = phone.call("GET", f"/v1/dialogs/{message['dialogId']}/messages")
        texts = [m["content"]["text"] for m in page["items"]]
        expect(sorted(texts) == ["but soft", "what light"], f"the history is {texts}")
        # An event (5.3), and one of the server.
        bot.forward(f"<message xmlns='jabber:client' from='romeo@localhost' to='juliet@localhost/balcony' id='e1'><event xmlns='{PUBSUB}#event'/></message>")
        event = juliet.stanza(lambda s: s.find(f"{{{PUBSUB}#event}}event") is not None, "an event")
        expect(event.get("from") == "romeo@localhost", f"{event.attrib}")
        bot.forward("<message xmlns='jabber:client' from='localhost' to='juliet@localhost' id='s1'><body>of the server</body></message>")
        expect(juliet.message("of the server").get("from") == "localhost", "another sender")
    with checks.check("privileges: a message in another name is refused"):
        for sender in ("romeo@localhost/orchard", "romeo@elsewhere.example", "nobody@localhost", f"tybalt@{BOT}"):
            number = bot.forward(f"<message xmlns='jabber:client' from='{sender}' to='juliet@localhost' type='chat'><body>no</body></message>")
            expect(bot.refused(number) == "forbidden", f"{sender} was taken")
    return body


def queries(checks, juliet, romeo, bot):
    """IQs in a user's name."""
    publish = None
    with checks.check("privileges: IQs in a user's name, answered in the XEP's wrapping"):
        publish = ("<iq xmlns='jabber:client' type='set' id='in1'><pubsub xmlns='%s'><publish node='urn:example:tune'><item id='t'>"
                   "<tune xmlns='urn:example:tune'/></item></publish></pubsub></iq>" % PUBSUB)
        answer = bot.behalf("romeo@localhost", publish)
        inner = answer.find(f"{{{PRIVILEGE}}}privilege/{{{FORWARD}}}forwarded/{{jabber:client}}iq")
        expect(answer.get("type") == "result" and inner.get("type") == "result" and inner.get("id") == "in1"
               and inner.get("to") == "romeo@localhost", ElementTree.tostring(answer))
        own = romeo.ask(f"<pubsub xmlns='{PUBSUB}'><items node='urn:example:tune'/></pubsub>", "get")
        expect(own.find(f".//{{{PUBSUB}}}item[@id='t']") is not None, "nothing was published")
        # Refused by the server: what it says stands in it, and the whole is an error.
        answer = bot.behalf("romeo@localhost", publish.replace("type='set'", "type='get'").replace("<publish", "<items").replace("</publish", "</items")
                            .replace("urn:example:tune'><item", "urn:example:none'><item"), "get")
        inner = answer.find(f"{{{PRIVILEGE}}}privilege/{{{FORWARD}}}forwarded/{{jabber:client}}iq")
        expect(condition(answer) == condition(inner) == "item-not-found", ElementTree.tostring(answer))
        # To a client, which answers itself; and of who is away.
        info = f"<iq xmlns='jabber:client' type='get' id='in2' to='juliet@localhost/balcony'><query xmlns='{INFO}'/></iq>"
        bot.send(f"<iq type='get' id='relay' from='{BOT}' to='paris@localhost'><privileged_iq xmlns='{PRIVILEGE}'>{info}</privileged_iq></iq>")
        asked = juliet.stanza(lambda s: s.find(f"{{{INFO}}}query") is not None and s.get("from") == "paris@localhost", "a question")
        juliet.send(f"<iq type='result' id='{asked.get('id')}' to='paris@localhost'><query xmlns='{INFO}'><feature var='urn:example:f'/></query></iq>")
        answer = bot.stanza(lambda s: s.get("id") == "relay", "the answer")
        inner = answer.find(f"{{{PRIVILEGE}}}privilege/{{{FORWARD}}}forwarded/{{jabber:client}}iq")
        expect(inner.get("id") == "in2" and inner.get("from") == "juliet@localhost/balcony"
               and inner.find(f".//{{{INFO}}}feature").get("var") == "urn:example:f", ElementTree.tostring(answer))
    with checks.check("privileges: IQs that break a rule are forbidden"):
        for inner, kind, why in [
            (publish.replace("jabber:client", "jabber:server"), "set", "another namespace"),
            (publish, "get", "another type"),
            (publish.replace("id='in1'", "id='in1' from='juliet@localhost'"), "set", "another sender"),
            (publish.replace("id='in1'", "id='in1' from='romeo@localhost/orchard'"), "set", "a full address"),
            ("<iq xmlns='jabber:client' type='get' id='x'><query xmlns='jabber:iq:private'/></iq>", "get", "no grant"),
            ("<iq xmlns='jabber:client' type='set' id='x'><ping xmlns='urn:xmpp:ping'/></iq>", "set", "a grant to read"),
            (publish + publish, "set", "two of them"),
        ]:
            expect(condition(bot.behalf("romeo@localhost", inner, kind)) == "forbidden", why)
        expect(condition(bot.behalf("romeo@localhost/orchard", publish)) == "forbidden", "a full address")
        expect(condition(bot.behalf("localhost", publish)) == "forbidden", "no user")
        expect(condition(bot.behalf("nobody@localhost", publish)) == "forbidden", "nobody")
    return publish


def news(checks, server, bot, body, publish):
    """What is told of services and people, and what is taken away."""
    with checks.check("privileges: what the services of the domain are is told, and which rooms there are"):
        info = bot.ask("conference.localhost", f"<query xmlns='{INFO}'/>", "get")
        expect(any(f.get("var") == "http://jabber.org/protocol/muc" for f in info.iter(f"{{{INFO}}}feature")), "no rooms")
        rooms = bot.ask("conference.localhost", f"<query xmlns='{ITEMS}'/>", "get")
        expect(rooms.get("type") == "result", "its people may enter rooms, and find none")
    with checks.check("privileges: who comes and goes is told"):
        bot.settled()
        bot.kept = []
        paris = Client(server, "paris", "hall").present()
        bot.stanza(lambda s: s.get("from") == "paris@localhost/hall" and s.get("type") is None, "Paris")
        # Nobody sees Paris: that he is away now is no news.
        paris.present("<show>away</show>")
        leave(paris)
        gone = bot.stanza(lambda s: s.get("from") == "paris@localhost/hall", "that he goes")
        expect(gone.get("type") == "unavailable", ElementTree.tostring(gone))
    with checks.check("privileges: what is taken away counts at once, also for who is connected"):
        write(server, (BOT, ["message: none", "presence: managed_entity", f"iq: ['{PUBSUB} get']"]))
        server.process.send_signal(signal.SIGHUP)
        found = bot.perms()
        expect(found == {"roster": ("none", "false"), "message": "none", "presence": "managed_entity",
                         "iq": {PUBSUB: "get", "urn:xmpp:ping": "none", INFO: "none"}}, f"{found}")
        expect(bot.refused(bot.forward(body)) == "forbidden", "it still speaks")
        expect(condition(bot.ask("romeo@localhost", f"<query xmlns='{ROSTER}'/>", "get")) == "forbidden", "it still reads")
        expect(condition(bot.behalf("romeo@localhost", publish)) == "forbidden", "it still writes")


def privileges(checks, server):
    juliet, romeo = Client(server, "juliet", "balcony").present(), Client(server, "romeo", "orchard").present()
    romeo.ask(f"<query xmlns='{ROSTER}'/>", "get")
    tablet = Client(server, "romeo", "tablet").present()
    tablet.ask("<enable xmlns='urn:xmpp:carbons:2'/>")
    phone = App(server, "romeo", "phone").connect()
    bot = rosters(checks, server, juliet, romeo)
    body = messages(checks, juliet, tablet, phone, bot)
    publish = queries(checks, juliet, romeo, bot)
    news(checks, server, bot, body, publish)
    bot.close()
    for client in (juliet, romeo, tablet, phone):
        client.close()


def discover(component, features):
    """What it says of its namespace, for the server and for accounts."""
    for node, said in features:
        iq = component.stanza(lambda s: s.find(f"{{{INFO}}}query[@node='{node}']") is not None, f"a question for {node}")
        component.send(f"<iq type='result' id='{iq.get('id')}' from='{component.name}' to='localhost'><query xmlns='{INFO}' node='{node}'>{said}</query></iq>")
    component.settled()


def features(client, to):
    return {f.get("var") for f in client.ask(f"<query xmlns='{INFO}'/>", "get", to).iter(f"{{{INFO}}}feature")}


def delegation(checks, server):
    port = server.settings["component__port"]
    romeo, juliet = Client(server, "romeo", "orchard").present(), Client(server, "juliet", "balcony").present()
    ask = f"<query xmlns='{MUSIC}'/>"
    with checks.check("delegation: nobody answers while the managing entity is away"):
        expect(condition(romeo.ask(ask, "get", "localhost")) == "service-unavailable", "somebody answered")
        expect(DELEGATION in features(romeo, "localhost"), "the server does not say that it delegates")
        expect(PUBSUB not in features(romeo, "localhost"), "it says what it has given away")
    with checks.check("delegation: what it manages is told, and what it says of it is nested"):
        music = Component(port, BOT)
        told = music.stanza(lambda s: s.find(f"{{{DELEGATION}}}delegation") is not None, "delegations")
        found = {d.get("namespace"): [a.get("name") for a in d] for d in told.iter(f"{{{DELEGATION}}}delegated")}
        expect(found == {MUSIC: [], "urn:example:filtered": ["node"], PUBSUB: [], f"{DELEGATION}:bare:disco#info:*": [],
                         f"{DELEGATION}:bare:disco#items:*": []}, f"{found}")
        discover(music, [(f"{DELEGATION}::{MUSIC}", "<feature var='urn:example:music#server'/>"),
                         (f"{DELEGATION}:bare:{MUSIC}", "<identity category='x' type='music'/><feature var='urn:example:music#bare'/>"),
                         (f"{DELEGATION}::urn:example:filtered", ""), (f"{DELEGATION}:bare:urn:example:filtered", ""),
                         (f"{DELEGATION}::{PUBSUB}", f"<feature var='{PUBSUB}#publish'/>"), (f"{DELEGATION}:bare:{PUBSUB}", "")])
        mine = features(romeo, "localhost")
        expect({"urn:example:music#server", f"{PUBSUB}#publish"} <= mine and f"{PUBSUB}#auto-create" not in mine and PUBSUB not in mine, f"{mine}")
        expect("urn:example:music#bare" in features(romeo, "romeo@localhost"), "the account does not say it")
    with checks.check("delegation: requests are passed on, and answered as if by the server"):
        for to, kind in [("localhost", "get"), ("romeo@localhost", "set"), ("juliet@localhost", "get"), (None, "set")]:
            if to == "juliet@localhost":
                server.befriend("romeo", "juliet")
            target = f" to='{to}'" if to else ""
            romeo.send(f"<iq type='{kind}' id='d1'{target}>{ask}</iq>")
            inner, answer, _ = delegated(music, f"a request to {to}")
            expect((inner.get("from"), inner.get("to"), inner.get("id"), inner.get("type")) == ("romeo@localhost/orchard", to, "d1", kind), f"{inner.attrib}")
            expect(inner.find(f"{{{MUSIC}}}query") is not None, "another payload")
            answer("<song xmlns='urn:example:music'/>")
            got = romeo.stanza(lambda s: s.get("id") == "d1", "the answer")
            expect(got.get("type") == "result" and got.get("from") == to and got.find(f"{{{MUSIC}}}song") is not None, ElementTree.tostring(got))
    with checks.check("delegation: a wrong answer, and an error, is service-unavailable"):
        for changed in [dict(to="juliet@localhost/balcony"), dict(id="other"), dict(type="error"), {"from": "juliet@localhost"}]:
            romeo.send(f"<iq type='get' id='d2' to='localhost'>{ask}</iq>")
            _, answer, _ = delegated(music, "a request")
            answer("<song xmlns='urn:example:music'/>", **changed)
            expect(condition(romeo.stanza(lambda s: s.get("id") == "d2", "an answer")) == "service-unavailable", f"{changed} was taken")
        romeo.send(f"<iq type='get' id='d3' to='localhost'>{ask}</iq>")
        _, _, iq = delegated(music, "a request")
        music.send(f"<iq type='error' id='{iq.get('id')}' from='{BOT}' to='localhost'><error type='cancel'><gone xmlns='{STANZAS}'/></error></iq>")
        expect(condition(romeo.stanza(lambda s: s.get("id") == "d3", "an answer")) == "service-unavailable", "another error")
    with checks.check("delegation: an attribute that is not there leaves it to the server"):
        expect(condition(romeo.ask("<query xmlns='urn:example:filtered'/>", "get", "localhost")) == "service-unavailable", "no answer")
        romeo.send("<iq type='get' id='d4' to='localhost'><query xmlns='urn:example:filtered' node='n'/></iq>")
        inner, answer, _ = delegated(music, "a request with a node")
        expect(inner[0].get("node") == "n", "it was the other one")
        answer("")
        romeo.stanza(lambda s: s.get("id") == "d4" and s.get("type") == "result", "its answer")
    with checks.check("delegation: what it asks itself is the server's"):
        publish = ("<iq xmlns='jabber:client' type='set' id='own'><pubsub xmlns='%s'><publish node='urn:example:tune'><item id='t'>"
                   "<tune xmlns='urn:example:tune'/></item></publish></pubsub></iq>" % PUBSUB)
        expect(condition(music.behalf("romeo@localhost", publish)) is None, "the server does not answer")
        expect(condition(music.ask("localhost", ask, "get")) == "service-unavailable", "it was asked itself")
    with checks.check("delegation: nodes of accounts that the server does not have"):
        for namespace, node in [(INFO, "urn:example:blog"), (ITEMS, "urn:example:blog"), (ITEMS, None)]:
            named = f" node='{node}'" if node else ""
            romeo.send(f"<iq type='get' id='d5' to='romeo@localhost'><query xmlns='{namespace}'{named}/></iq>")
            inner, answer, _ = delegated(music, f"a request for {node}")
            expect(inner[0].get("node") == node, "another node")
            answer(f"<query xmlns='{namespace}'{named}/>")
            got = romeo.stanza(lambda s: s.get("id") == "d5", "the answer")
            expect(got.get("type") == "result" and got.find(f"{{{namespace}}}query") is not None, ElementTree.tostring(got))
    with checks.check("delegation: strangers and the blocked reach nobody, as without it"):
        expect(condition(romeo.ask(ask, "get", "nobody@localhost")) == "service-unavailable", "nobody answered")
        juliet.ask("<block xmlns='urn:xmpp:blocking'><item jid='romeo@localhost'/></block>")
        expect(condition(romeo.ask(ask, "get", "juliet@localhost")) == "service-unavailable", "it was asked")
        music.settled()
        expect(not any(s.find(f"{{{DELEGATION}}}delegation") is not None for s in music.kept), "it was asked")
    with checks.check("delegation: it goes while somebody waits"):
        romeo.send(f"<iq type='get' id='d6' to='localhost'>{ask}</iq>")
        delegated(music, "a request")
        music.close()
        expect(condition(romeo.stanza(lambda s: s.get("id") == "d6", "an answer")) == "service-unavailable", "something else")
        expect("urn:example:music#server" not in features(romeo, "localhost"), "it is still there")
    romeo.close()
    juliet.close()


def pushes(checks, server):
    """A push service that is a component: what it says counts as with any other."""
    port = server.settings["component__port"]
    PUSH = "urn:xmpp:push:0"
    service, romeo = Component(port, BOT), Client(server, "romeo", "desk").present()

    def published(answer):
        iq = service.stanza(lambda s: s.find(f"{{{PUBSUB}}}pubsub") is not None, "a publication")
        expect(iq.get("type") == "set" and iq.get("from") == "localhost" and iq.get("to") == BOT, f"{iq.attrib}")
        expect(iq.find(f".//{{{PUBSUB}}}publish").get("node") == "n" and iq.find(f".//{{{PUSH}}}notification") is not None, "no notification")
        service.send(answer.format(id=iq.get("id")))

    def enable():
        juliet = Client(server, "juliet", "phone").present()
        expect(juliet.enable(service=BOT).get("type") == "result", "no registration")
        leave(juliet)

    result = f"<iq type='result' id='{{id}}' from='{BOT}' to='localhost'/>"
    error = "<iq type='error' id='{id}' from='%s' to='localhost'><error type='%s'><%s xmlns='%s'/></error></iq>"
    with checks.check("push: a component is told, and what it refuses for good is disabled"):
        enable()
        romeo.say("juliet", "first")
        published(result)
        romeo.say("juliet", "busy")
        published(error.replace("%s", "{}").replace("{id}", "{{id}}").format(BOT, "wait", "resource-constraint", STANZAS))
        published(result)
        for why in ("gone", "item-not-found"):
            romeo.say("juliet", f"until {why}")
            published(error.replace("%s", "{}").replace("{id}", "{{id}}").format(BOT, "cancel", why, STANZAS))
            # Behind the error that it has sent.
            service.settled()
            romeo.say("juliet", f"after {why}")
            service.settled()
            expect(not any(s.find(f"{{{PUBSUB}}}pubsub") is not None for s in service.kept), f"it is told after {why}")
            enable()
            romeo.say("juliet", f"anew after {why}")
            published(result)
    service.close()
    romeo.close()


def run(checks):
    for grants, play in [
        (GRANTS, privileges),
        ([f"iq: ['{PUBSUB} set']", f"delegate: ['{MUSIC}', 'urn:example:filtered node', '{PUBSUB}', '{DELEGATION}:bare:disco#info:*', "
          f"'{DELEGATION}:bare:disco#items:*']"], delegation),
        ([], pushes),
    ]:
        with Server(xmpp__plaintext="true", component__port=free_port()) as server:
            write(server, (BOT, grants))
            server.start()
            server.add_users("romeo", "juliet", "paris")
            with checks.check(f"{play.__name__}: ran to its end"):
                play(checks, server)
