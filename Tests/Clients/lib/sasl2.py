"""This client logs in in one step (XEP-0388 1.0.4, XEP-0386 1.1.0). It is written from the specifications alone: slixmpp and
profanity speak neither.
"""
import base64
import hashlib
import hmac
import secrets
import socket
import ssl

from lib.harness import PASSWORD, PATIENCE, expect
from lib.wire import SM, XMPP, Gone

SASL2 = "urn:xmpp:sasl:2"
BIND2 = "urn:xmpp:bind:0"
FAST = "urn:xmpp:fast:0"
CARBONS = "urn:xmpp:carbons:2"
MAM = "urn:xmpp:mam:2"
STARTTLS = "urn:ietf:params:xml:ns:xmpp-tls"
AGENT = "d4565fa7-4d72-4749-b3d3-740edbf87770"


def coded(data):
    return base64.b64encode(data).decode()


class OneStep(XMPP):
    """`flights` is how often it has written since the features came: round trips, as it reads in between."""

    def __init__(self, name, server):
        super().__init__(name, server.tls)
        self.server = server
        self.flights = 0

    def connect(self, starttls=False):
        port = self.server.xmpp if starttls else self.server.tls
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        context = ssl.create_default_context(cafile=self.server.certificate)
        if starttls:
            self.open()
            self.send(f"<starttls xmlns='{STARTTLS}'/>")
            self.stanza(lambda s: s.tag == f"{{{STARTTLS}}}proceed", "leave to start TLS")
        else:
            context.set_alpn_protocols(["xmpp-client"])
        self.socket = context.wrap_socket(self.socket, server_hostname="localhost")
        self.open()
        return self

    def open(self):
        """As the other, but the features stay to be looked at."""
        super().open()
        self.flights = 0

    def stanza(self, test, what, patience=PATIENCE):
        found = super().stanza(test, what, patience)
        if found.tag.endswith("}features"):
            self.features = found
        return found

    def send(self, text):
        self.flights += 1
        super().send(text)

    def plain(self, wishes="", behind=""):
        """Asks for all of it at once; what is `behind` goes in the same write."""
        message = coded(f"\0{self.name}\0{PASSWORD}".encode())
        self.send(f"<authenticate xmlns='{SASL2}' mechanism='PLAIN'><initial-response>{message}</initial-response>"
                  f"{wishes}</authenticate>{behind}")

    def success(self, patience=PATIENCE):
        found = self.stanza(
            lambda s: s.tag in (f"{{{SASL2}}}success", f"{{{SASL2}}}failure") or s.tag.endswith("}error"), "success",
            patience)
        expect(found.tag.endswith("}success"), f"{self.name} got {found.tag}: {[c.tag for c in found]}")
        self.jid = found.findtext(f"{{{SASL2}}}authorization-identifier")
        return found

    def scram(self, wishes, password=PASSWORD):
        """RFC 5802 and 7677, no channel binding."""
        first = f"n={self.name},r={secrets.token_hex(16)}"
        self.send(f"<authenticate xmlns='{SASL2}' mechanism='SCRAM-SHA-256'>"
                  f"<initial-response>{coded(b'n,,' + first.encode())}</initial-response>{wishes}</authenticate>")
        challenge = base64.b64decode(self.stanza(lambda s: s.tag == f"{{{SASL2}}}challenge", "a challenge").text).decode()
        said = dict(part.split("=", 1) for part in challenge.split(","))
        salted = hashlib.pbkdf2_hmac("sha256", password.encode(), base64.b64decode(said["s"]), int(said["i"]))

        def keyed(key, text):
            return hmac.new(key, text, hashlib.sha256).digest()

        last = f"c=biws,r={said['r']}"
        everything = f"{first},{challenge},{last}".encode()
        key = keyed(salted, b"Client Key")
        signature = keyed(hashlib.sha256(key).digest(), everything)
        proof = coded(bytes(a ^ b for a, b in zip(key, signature)))
        self.send(f"<response xmlns='{SASL2}'>{coded(f'{last},p={proof}'.encode())}</response>")
        success = self.success()
        data = base64.b64decode(success.findtext(f"{{{SASL2}}}additional-data"))
        expect(data == b"v=" + base64.b64encode(keyed(keyed(salted, b"Server Key"), everything)),
               "the server does not prove that it knows the password")
        return success

    def ping(self, name="ping", patience=PATIENCE):
        self.send(f"<iq type='get' id='{name}' to='localhost'><ping xmlns='urn:xmpp:ping'/></iq>")
        answer = self.stanza(lambda s: s.get("id") == name or s.tag.endswith("}error"), "the answer to a ping", patience)
        if answer.get("id") != name:
            raise Gone(f"{self.name}: {[c.tag for c in answer]}")


class Tokens(OneStep):
    """The same with tokens (XEP-0484 0.2.0); `token` is the newest it was told."""

    token = None
    mechanism = "HT-SHA-256-NONE"

    def offered(self):
        inline = self.features.find(f"{{{SASL2}}}authentication/{{{SASL2}}}inline")
        return [m.text for m in inline.findall(f"{{{FAST}}}fast/{{{FAST}}}mechanism")]

    def taken(self, success):
        told = success.find(f"{{{FAST}}}token")
        if told is not None:
            self.token = told.get("token")
        return told

    def first(self, agent=AGENT):
        self.plain(wishes(agent=agent) + f"<request-token xmlns='{FAST}' mechanism='{self.mechanism}'/>")
        success = self.success()
        expect(self.taken(success) is not None, "no token was given")
        return success

    def binding(self):
        if self.mechanism == "HT-SHA-256-NONE":
            return b""
        expect(self.mechanism == "HT-SHA-256-ENDP", self.mechanism)
        return hashlib.sha256(self.socket.getpeercert(True)).digest()

    def hashed(self, side, token):
        return hmac.new(token.encode(), side.encode() + self.binding(), hashlib.sha256).digest()

    def authenticate(self, token, inner="", attributes="", agent=AGENT):
        message = coded(self.name.encode() + b"\0" + self.hashed("Initiator", token))
        return (f"<authenticate xmlns='{SASL2}' mechanism='{self.mechanism}'><initial-response>{message}</initial-response>"
                f"<fast xmlns='{FAST}'{attributes}/>{inner or wishes(agent=agent)}</authenticate>")

    def ask(self, token, inner="", attributes="", agent=AGENT):
        self.send(self.authenticate(token, inner, attributes, agent))

    def again(self, token, inner="", attributes="", agent=AGENT):
        self.ask(token, inner, attributes, agent)
        success = self.success()
        data = base64.b64decode(success.findtext(f"{{{SASL2}}}additional-data"))
        expect(data == self.hashed("Responder", token), "the server does not prove that it knows the token")
        self.token = token
        self.taken(success)
        return success

    def refused(self, token, condition, attributes=""):
        self.ask(token, attributes=attributes)
        answer = self.stanza(lambda s: s.tag in (f"{{{SASL2}}}success", f"{{{SASL2}}}failure"), "an answer")
        expect(answer.tag.endswith("}failure") and answer[0].tag.endswith("}" + condition), f"{answer.tag}: {answer[:]}")


def wishes(agent=None, tag="OneStep", management="<enable xmlns='urn:xmpp:sm:3' resume='true'/>", resume=""):
    who = f"<user-agent id='{agent}'><software>OneStep</software><device>A test</device></user-agent>" if agent else ""
    return (f"{who}{resume}<bind xmlns='{BIND2}'><tag>{tag}</tag><enable xmlns='{CARBONS}'/>{management}</bind>")


def whole(client, success):
    """Everything that was asked for is in the answer, and what may come next behind it."""
    expect(client.jid.startswith(f"{client.name}@localhost/OneStep/"), f"bound as {client.jid}")
    bound = success.find(f"{{{BIND2}}}bound")
    expect(bound is not None, "there is no <bound/>")
    enabled = bound.find(f"{{{SM}}}enabled")
    expect(enabled is not None and enabled.get("resume") == "true", "stream management is not enabled")
    expect(bound.find(f"{{{MAM}}}metadata") is not None, "nothing is told of the archive")
    client.features = None
    client.stanza(lambda s: s.tag.endswith("}features"), "features behind success")
    names = {feature.tag for feature in client.features}
    expect(f"{{{SASL2}}}authentication" not in names and "{urn:ietf:params:xml:ns:xmpp-bind}bind" not in names,
           f"features of a stream that has them all: {names}")
    return enabled.get("id")


def behind(server):
    """What is written behind the request counts once there is a session, in order."""
    client = OneStep("romeo", server).connect()
    client.plain(
        wishes(), "<presence/><iq type='get' id='r'><query xmlns='jabber:iq:roster'/></iq><r xmlns='urn:xmpp:sm:3'/>")
    client.success()
    client.stanza(lambda s: s.get("id") == "r" and s.get("type") == "result", "the roster")
    answer = client.stanza(lambda s: s.tag == f"{{{SM}}}a" and s.get("h") == "2", "two stanzas counted")
    expect(answer is not None and client.flights == 1, f"{client.flights} round trips")
    client.close()
