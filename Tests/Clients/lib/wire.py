"""A bare XMPP client over a socket, with direct TLS or without, for tests that must know which bytes went when. Blocking, one
thread."""
import base64
import socket
import ssl
import time
import xml.etree.ElementTree as ElementTree

from lib.harness import PASSWORD, PATIENCE, Failure, expect

HEADER = ("<?xml version='1.0'?><stream:stream to='localhost' version='1.0' xmlns='jabber:client' "
          "xmlns:stream='http://etherx.jabber.org/streams'>")
SM = "urn:xmpp:sm:3"
STANZAS = {f"{{jabber:client}}{name}" for name in ("message", "presence", "iq")}
PUSH, PUBSUB, FORM = "urn:xmpp:push:0", "http://jabber.org/protocol/pubsub", "jabber:x:data"
BODY = "{jabber:client}body"
SERVICE = "bot@localhost/push"


class Gone(Failure):
    """The connection is lost."""


class XMPP:
    """`trust` is the certificate to believe, where the port wants TLS from the start."""

    header, host = HEADER, "127.0.0.1"

    def __init__(self, name, port, resource="wire", trust=None):
        self.name, self.port, self.resource, self.trust = name, port, resource, trust
        self.socket = None
        self.kept = []

    def dial(self):
        self.socket = socket.create_connection((self.host, self.port), timeout=PATIENCE)
        if self.trust:
            context = ssl.create_default_context(cafile=self.trust)
            self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.open()

    def connect(self, bind=True):
        self.dial()
        token = base64.b64encode(f"\0{self.name}\0{PASSWORD}".encode()).decode()
        self.send(f"<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>{token}</auth>")
        self.stanza(lambda s: s.tag.endswith("}success"), "success")
        self.open()
        if bind:
            self.bind()

    def bind(self):
        self.send("<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>"
                  f"<resource>{self.resource}</resource></bind></iq>")
        self.stanza(lambda s: s.get("id") == "bind", "a resource")

    def open(self):
        self.parser = ElementTree.XMLPullParser(["start", "end"])
        self.depth, self.root = 0, None
        self.send(self.header)
        self.stanza(lambda s: s.tag.endswith("}features"), "features")

    def send(self, text):
        try:
            self.socket.sendall(text.encode())
        except OSError as error:
            raise Gone(f"{self.name}: {error}") from None

    def stanza(self, test, what, patience=PATIENCE):
        """The first top-level element that fits; others are kept."""
        for stanza in self.kept:
            if test(stanza):
                self.kept.remove(stanza)
                return stanza
        end = time.monotonic() + patience
        while True:
            for stanza in self.read(end - time.monotonic(), what):
                self.kept.append(stanza)
            for stanza in self.kept:
                if test(stanza):
                    self.kept.remove(stanza)
                    return stanza

    def read(self, patience, what):
        self.socket.settimeout(max(0.01, patience))
        try:
            data = self.socket.recv(65536)
        except TimeoutError:
            raise Failure(f"{self.name} did not get {what}; got {[ElementTree.tostring(s)[:300] for s in self.kept[-5:]]}") from None
        except OSError as error:
            raise Gone(f"{self.name}: {error}") from None
        if not data:
            raise Gone(f"{self.name}: the server closed the connection")
        return self.parse(data)

    def parse(self, data):
        found = []
        self.parser.feed(data)
        for event, element in self.parser.read_events():
            if event == "start":
                self.depth += 1
                if self.depth == 1:
                    self.root = element
            else:
                self.depth -= 1
                if self.depth == 1:
                    found.append(element)
                    self.root.remove(element)
        return found

    def close(self):
        if self.socket:
            self.socket.close()


class Client(XMPP):
    def __init__(self, server, name, resource):
        super().__init__(name, server.tls, resource, server.certificate)
        self.host = server.host
        self.connect()

    def present(self, show=""):
        self.send(f"<presence>{show}</presence>")
        self.stanza(lambda s: s.tag.endswith("}presence") and s.get("from", "").endswith("/" + self.resource), "own presence")
        return self

    def ask(self, payload, kind="set", to=None):
        self.asked = getattr(self, "asked", 0) + 1
        to = f" to='{to}'" if to else ""
        self.send(f"<iq type='{kind}' id='q{self.asked}'{to}>{payload}</iq>")
        return self.stanza(lambda s: s.get("id") == f"q{self.asked}", "an answer")

    def enable(self, node="n", service=SERVICE, options=""):
        return self.ask(f"<enable xmlns='{PUSH}' jid='{service}' node='{node}'>{options}</enable>")

    def say(self, to, text, more=""):
        self.send(f"<message type='chat' to='{to}@localhost' id='{text}'><body>{text}</body>{more}</message>")
        # Behind it, so that it is committed.
        expect(self.ask("<ping xmlns='urn:xmpp:ping'/>", "get", "localhost").get("type") == "result", "no answer to a ping")

    def message(self, text):
        return self.stanza(lambda s: s.findtext(BODY) == text, f"the message {text}")


def leave(client):
    """Ends the stream, and returns when the server has ended it as well: before that it takes the client to be there."""
    client.send("</stream:stream>")
    while client.depth:
        client.read(PATIENCE, "the end of the stream")
    client.close()
