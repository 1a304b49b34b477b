"""`Component` is the other end of XEP-0114, with the requests of XEP-0355 and XEP-0356, of which slixmpp knows nothing."""
import hashlib
import itertools
import pathlib
import socket
import xml.etree.ElementTree as ElementTree

from lib.harness import PATIENCE, expect
from lib.wire import XMPP

SECRET = "prospero"
PRIVILEGE, DELEGATION, FORWARD = "urn:xmpp:privilege:2", "urn:xmpp:delegation:2", "urn:xmpp:forward:0"
STANZAS = "urn:ietf:params:xml:ns:xmpp-stanzas"


def condition(stanza):
    """Of an error, its own; None: it is none."""
    if stanza.get("type") != "error":
        return None
    for child in stanza:
        if child.tag.endswith("}error"):
            return next(c.tag.split("}")[1] for c in child if c.tag.startswith(f"{{{STANZAS}}}"))
    raise AssertionError("an error without one")


class Component(XMPP):
    """The other end of XEP-0114."""

    def __init__(self, port, domain):
        super().__init__(domain, port)
        self.numbers = itertools.count(1)
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        self.parser = ElementTree.XMLPullParser(["start", "end"])
        self.depth, self.root = 0, None
        self.send(f"<stream:stream xmlns='jabber:component:accept' xmlns:stream='http://etherx.jabber.org/streams' to='{domain}'>")
        while self.root is None:
            self.read(PATIENCE, "a header")
        proof = hashlib.sha1((self.root.get("id") + SECRET).encode()).hexdigest()
        self.send(f"<handshake>{proof}</handshake>")
        self.stanza(lambda s: s.tag.endswith("}handshake"), "a handshake")

    def ask(self, to, payload, kind="set", sender=None):
        number = f"c{next(self.numbers)}"
        self.send(f"<iq type='{kind}' id='{number}' from='{sender or self.name}' to='{to}'>{payload}</iq>")
        return self.stanza(lambda s: s.get("id") == number, f"the answer to {payload[:120]}")

    def behalf(self, user, inner, kind="set"):
        return self.ask(user, f"<privileged_iq xmlns='{PRIVILEGE}'>{inner}</privileged_iq>", kind)

    def forward(self, message, number=None):
        number = number or f"f{next(self.numbers)}"
        self.send(f"<message from='{self.name}' to='localhost' id='{number}'><privilege xmlns='{PRIVILEGE}'>"
                  f"<forwarded xmlns='{FORWARD}'>{message}</forwarded></privilege></message>")
        return number

    def refused(self, number):
        return condition(self.stanza(lambda s: s.get("id") == number and s.get("type") == "error", "a refusal"))

    def perms(self):
        message = self.stanza(lambda s: s.find(f"{{{PRIVILEGE}}}privilege") is not None, "privileges")
        expect(message.get("from") == "localhost" and message.get("to") == self.name, f"{message.attrib}")
        found = {}
        for perm in message.iter(f"{{{PRIVILEGE}}}perm"):
            names = {n.get("ns"): n.get("type") for n in perm}
            found[perm.get("access")] = names or (perm.get("type"), perm.get("push")) if perm.get("access") in ("roster", "iq") else perm.get("type")
        return found

    def settled(self):
        """All it has sent so far is done."""
        expect(self.ask("localhost", "<ping xmlns='urn:xmpp:ping'/>", "get").get("type") == "result", "no answer to a ping")


def write(server, *components):
    """The configuration of a server with these components, each with its grants."""
    lines = ["components:"]
    for name, grants in components:
        lines += [f"  - name: {name}", f"    secret: {SECRET}", *("    " + line for line in grants)]
    pathlib.Path(server.configuration).write_text("\n".join(lines) + "\n")


def delegated(component, what):
    """The next request that was passed on, and how to answer it."""
    iq = component.stanza(lambda s: s.find(f"{{{DELEGATION}}}delegation/{{{FORWARD}}}forwarded") is not None, what)
    expect(iq.get("type") == "set" and iq.get("from") == "localhost" and iq.get("to") == component.name, f"{iq.attrib}")
    inner = iq.find(f"{{{DELEGATION}}}delegation/{{{FORWARD}}}forwarded/{{jabber:client}}iq")

    def answer(content, **changed):
        said = dict(to=inner.get("from"), id=inner.get("id"), type="result")
        said.update(changed)
        attributes = "".join(f" {name}='{value}'" for name, value in said.items())
        component.send(f"<iq type='result' id='{iq.get('id')}' from='{component.name}' to='localhost'><delegation xmlns='{DELEGATION}'>"
                       f"<forwarded xmlns='{FORWARD}'><iq xmlns='jabber:client'{attributes}>{content}</iq></forwarded></delegation></iq>")

    return inner, answer, iq
