"""Clients that use what is offered (`Fixture`), the comparison of offers with a table of uses (`used`), and other tests in such a table (`By`)."""
import dataclasses
import xml.etree.ElementTree as ElementTree

from lib.apps import App
from lib.component import Component, condition
from lib.forms import filled
from lib.harness import ROOT, expect
from lib.wire import Client

INFO, ITEMS = "http://jabber.org/protocol/disco#info", "http://jabber.org/protocol/disco#items"
CAPS, MAM, MUC = "http://jabber.org/protocol/caps", "urn:xmpp:mam:2", "http://jabber.org/protocol/muc"
PUBSUB, COMMANDS, ADMIN = "http://jabber.org/protocol/pubsub", "http://jabber.org/protocol/commands", "http://jabber.org/protocol/admin"
SEARCH, RETRACT = "urn:xmpp:channel-search:0:search", "urn:xmpp:message-retract:1"
VCARD, VCARD4 = "vcard-temp", "urn:ietf:params:xml:ns:vcard-4.0"
ROOMS, VERONA, UPLOADS, SERVICE = "conference.localhost", "verona@conference.localhost", "upload.localhost", "pubsub.localhost"
TUNE, MUSIC = "<tune xmlns='urn:example:tune'/>", "urn:example:music"
BOT = "bot.localhost"


@dataclasses.dataclass(frozen=True)
class By:
    """Another test that uses it: its path and words of it."""
    path: str
    words: str

    def check(self):
        file = ROOT / "Tests" / self.path
        expect(file.exists() and self.words in file.read_text(), f"Tests/{self.path} has no {self.words!r}")


def script(name, words):
    return By(f"Clients/{name}.py", words)


def play(name, words):
    return By(f"Plays/{name}.play", words)


def used(what, offered, table, use):
    """Uses all that is offered by the table, and fails with all that is wrong."""
    faults = [f"nothing uses {name}" for name in sorted(set(offered) - set(table))]
    for name in [name for name in table if name in offered]:  # in the order of the table
        try:
            table[name].check() if isinstance(table[name], By) else use(name, table[name])
        except Exception as error:  # one failure names all faults
            faults.append(f"{name}: {type(error).__name__} {error}")
    expect(not faults, f"{what}: " + "; ".join(faults))


def all_offered(what, offered, table):
    """For tables that fit one place."""
    missing = sorted(set(table) - set(offered))
    expect(not missing, f"{what}: nobody offers {missing}")


def find(stanza, path):
    found = stanza.find(path)
    expect(found is not None, f"there is no {path} in {ElementTree.tostring(stanza)[:600]}")
    return found


class Fixture:
    """A server, two users, a component, and an app of one of the users."""

    def __init__(self, server):
        self.server = server
        self.romeo, self.juliet = Client(server, "romeo", "orchard").present(), Client(server, "juliet", "balcony").present()
        self.bot = Component(server.settings["component__port"], BOT)
        self.phone = App(server, "romeo", "phone").connect()
        self.count = 0

    def ask(self, payload, kind="get", to=None, by=None):
        answer = (by or self.juliet).ask(payload, kind, to)
        expect(answer.get("type") == "result", f"{condition(answer)} {answer.findtext('.//{urn:ietf:params:xml:ns:xmpp-stanzas}text')} to {payload[:200]}")
        return answer

    def set(self, payload, to=None, by=None):
        return self.ask(payload, "set", to, by)

    def info(self, to=None, node=None, by=None):
        return self.ask(f"<query xmlns='{INFO}'" + (f" node='{node}'" if node else "") + "/>", "get", to, by)

    def features(self, to=None, by=None):
        return {feature.get("var") for feature in self.info(to, by=by).iter(f"{{{INFO}}}feature")}

    def items(self, to=None, node=None, by=None):
        answer = self.ask(f"<query xmlns='{ITEMS}'" + (f" node='{node}'" if node else "") + "/>", "get", to, by)
        return [(item.get("jid"), item.get("node")) for item in answer.iter(f"{{{ITEMS}}}item")]

    def new(self, name="n"):
        self.count += 1
        return f"{name}{self.count}"

    def say(self, to, body, by=None, kind="chat", more=""):
        """A message, and its id in the archive of the room, or of who said it."""
        by, name = by or self.juliet, self.new("m")
        by.send(f"<message type='{kind}' to='{to}' id='{name}'><body>{body}</body>{more}</message>")
        if kind == "groupchat":
            back = by.stanza(lambda s: s.get("id") == name and s.tag.endswith("}message"), f"{body} from the room")
            return name, find(back, "{urn:xmpp:sid:0}stanza-id").get("id")
        self.ask("<ping xmlns='urn:xmpp:ping'/>", "get", "localhost", by)
        return name, self.archived(by=by)[-1][0]

    def archived(self, to=None, by=None, **fields):
        """What the end of the archive has: ids and stanzas."""
        by, name = by or self.juliet, self.new("q")
        self.set(f"<query xmlns='{MAM}' queryid='{name}'>" + (filled(MAM, fields) if fields else "")
                 + "<set xmlns='http://jabber.org/protocol/rsm'><max>100</max><before/></set></query>", to, by)
        found = [s.find(f"{{{MAM}}}result") for s in by.kept if s.find(f"{{{MAM}}}result") is not None]
        by.kept = [s for s in by.kept if s.find(f"{{{MAM}}}result") is None]
        return [(result.get("id"), result.find(".//{jabber:client}message")) for result in found if result.get("queryid") == name]

    def close(self):
        for client in (self.romeo, self.juliet, self.bot, self.phone):
            client.close()
