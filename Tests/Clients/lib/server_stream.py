"""`ServerStream` says to a server what no honest server says."""
import socket
import ssl

from lib.harness import PATIENCE, expect
from lib.partners import SERVERS_DIRECT
from lib.wire import XMPP, Gone

DIALBACK, STANZAS, STREAMS = "jabber:server:dialback", "urn:ietf:params:xml:ns:xmpp-stanzas", "urn:ietf:params:xml:ns:xmpp-streams"


class ServerStream(XMPP):
    """A stream from `sender` to `target` as another server opens it (RFC 6120, XEP-0368), which shows no certificate."""

    def __init__(self, server, sender, target):
        super().__init__(f"{sender} to {target}", SERVERS_DIRECT)
        self.server, self.sender, self.target = server, sender, target
        self.header = (f"<?xml version='1.0'?><stream:stream from='{sender}' to='{target}' version='1.0' xmlns='jabber:server' "
                       f"xmlns:db='{DIALBACK}' xmlns:stream='http://etherx.jabber.org/streams'>")

    def dial(self):
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["xmpp-server"])
        connection = socket.create_connection((self.server.host, self.port), timeout=PATIENCE)
        self.socket = context.wrap_socket(connection, server_hostname=self.target)
        self.open()

    def refusal(self):
        """The condition of the stream error and its text, in place of features."""
        try:
            self.dial()
        except Gone:
            (error,) = [element for element in self.kept if element.tag.endswith("}error")]
            (condition,) = [child.tag.partition("}")[2] for child in error if not child.tag.endswith("}text")]
            return condition, error.findtext(f"{{{STREAMS}}}text")
        finally:
            self.close()
        return None

    def dialback(self, step, key, **attributes):
        """The answer to a dialback element (XEP-0220): its type, and the condition if that is an error."""
        attributes = {"from": self.sender, "to": self.target, **attributes}
        written = " ".join(f"{name}='{value}'" for name, value in attributes.items())
        self.send(f"<db:{step} {written}>{key}</db:{step}>")
        answer = self.stanza(lambda s: s.tag == f"{{{DIALBACK}}}{step}", f"an answer to {step}")
        conditions = [child.tag.partition("}")[2] for child in answer.iter() if child.tag.startswith(f"{{{STANZAS}}}")]
        expect(answer.get("from") == attributes["to"], f"{answer.attrib}")
        return answer.get("type"), conditions[0] if conditions else None
