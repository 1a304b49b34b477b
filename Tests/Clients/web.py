"""XMPP through the HTTP port: WebSocket (RFC 7395), BOSH (XEP-0124 1.11.2, XEP-0206 1.4) and where they are (XEP-0156 1.4.0).

First a client written here from the specifications alone, for what must be seen frame by frame; then Strophe.js in a browser of
another origin, over both.
"""
import base64
import contextlib
import http.client
import http.server
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import ssl
import subprocess
import threading
import urllib.request
import uuid
import xml.etree.ElementTree as ElementTree

import websockets.exceptions
import websockets.sync.client

from lib.harness import PASSWORD, PATIENCE, Failure, Server, expect, free_port
from lib.wire import SM, XMPP

FRAMING = "urn:ietf:params:xml:ns:xmpp-framing"
STREAMS = "http://etherx.jabber.org/streams"
SASL = "urn:ietf:params:xml:ns:xmpp-sasl"
SASL2 = "urn:xmpp:sasl:2"
BIND2 = "urn:xmpp:bind:0"
BODY = "http://jabber.org/protocol/httpbind"
XBOSH = "urn:xmpp:xbosh"
STROPHE = pathlib.Path("/usr/share/javascript/strophe/strophe.js")
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
ERROR = f"{{{STREAMS}}}error"


def token(name):
    return base64.b64encode(f"\0{name}\0{PASSWORD}".encode()).decode()


class WebServer(Server):
    def __init__(self, **settings):
        self.https = free_port()
        super().__init__(
            https__host="127.0.0.1", https__port=self.https, **settings)

    def context(self):
        return ssl.create_default_context(cafile=self.certificate)


def message(to, text):
    return f"<message xmlns='jabber:client' to='{to}@localhost' type='chat'><body>{text}</body></message>"


def body_of(element):
    return element.findtext("{jabber:client}body")


# MARK: WebSocket


class Socket:
    """Each frame is one whole element, or the test fails."""

    def __init__(self, server, plain=False, headers=None):
        scheme, port = ("ws", server.http) if plain else ("wss", server.https)
        self.socket = websockets.sync.client.connect(
            f"{scheme}://localhost:{port}/xmpp-websocket", subprotocols=["xmpp"], ssl=None if plain else server.context(),
            compression=None, open_timeout=PATIENCE, close_timeout=PATIENCE, additional_headers=headers)
        expect(self.socket.subprotocol == "xmpp", f"the subprotocol is {self.socket.subprotocol}")
        self.jid = None

    def send(self, text):
        self.socket.send(text)

    def next(self):
        data = self.socket.recv(timeout=PATIENCE)
        expect(isinstance(data, str) and data.startswith("<") and not data.startswith("<?"), f"a frame begins with {data[:5]!r}")
        return ElementTree.fromstring(data)

    def until(self, test, what):
        seen = []
        while True:
            try:
                found = self.next()
            except (TimeoutError, websockets.exceptions.ConnectionClosed) as error:
                raise Failure(f"no {what} ({error!r}); got {[ElementTree.tostring(e)[:200] for e in seen[-4:]]}") from None
            if test(found):
                return found
            seen.append(found)

    def tag(self, tag):
        return self.until(lambda e: e.tag == tag, tag)

    def open(self):
        self.send(f"<open xmlns='{FRAMING}' to='localhost' version='1.0'/>")
        opened = self.next()
        expect(opened.tag == f"{{{FRAMING}}}open" and opened.get("from") == "localhost" and opened.get("version") == "1.0",
               f"the header is {ElementTree.tostring(opened)}")
        self.features = self.next()
        expect(self.features.tag == f"{{{STREAMS}}}features", f"{self.features.tag} behind the header")
        expect("starttls" not in ElementTree.tostring(self.features).decode(), "STARTTLS is offered (RFC 7395 3.9)")

    def login(self, name, resume=None):
        """XEP-0388 and XEP-0386."""
        wish = resume or (f"<bind xmlns='{BIND2}'><tag>Web</tag><enable xmlns='{SM}' resume='true'/></bind>")
        self.open()
        self.send(f"<authenticate xmlns='{SASL2}' mechanism='PLAIN'><initial-response>{token(name)}</initial-response>"
                  f"{wish}</authenticate>")
        success = self.tag(f"{{{SASL2}}}success")
        self.jid = success.findtext(f"{{{SASL2}}}authorization-identifier")
        return success

    def classic(self, name):
        """RFC 6120 6 and 7, where the stream restarts."""
        self.open()
        self.send(f"<auth xmlns='{SASL}' mechanism='PLAIN'>{token(name)}</auth>")
        self.tag(f"{{{SASL}}}success")
        self.open()
        self.send("<iq xmlns='jabber:client' type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
        self.until(lambda e: e.get("id") == "b", "a resource")

    def present(self):
        self.send("<presence xmlns='jabber:client'/>")
        self.until(lambda e: e.tag == "{jabber:client}presence", "its own presence")


def sockets(server):
    romeo = Socket(server)
    romeo.classic("romeo")
    romeo.present()
    juliet = XMPP("juliet", server.tls, trust=server.certificate)
    juliet.connect()
    juliet.send("<presence/>")
    juliet.stanza(lambda s: s.tag.endswith("presence"), "presence")
    # One entry, two framings.
    juliet.send("<message to='romeo@localhost' type='chat' id='1'><body>Romeo &amp; I</body></message>")
    expect(body_of(romeo.tag("{jabber:client}message")) == "Romeo & I", "the text differs")
    # A name of another namespace is declared within.
    juliet.send("<message to='romeo@localhost' type='chat' id='2'><body>b</body><x xmlns='http://etherx.jabber.org/streams'/></message>")
    found = romeo.tag("{jabber:client}message")
    expect(found.find(f"{{{STREAMS}}}x") is not None, "an element of the streams' namespace was lost")
    romeo.send(message("juliet", "over a socket"))
    juliet.stanza(lambda s: s.findtext("{jabber:client}body") == "over a socket", "the message")
    # Fragments, and a ping of the WebSocket.
    romeo.socket.send(iter([message("juliet", "in")[:20], message("juliet", "in")[20:60], message("juliet", "in")[60:]]))
    juliet.stanza(lambda s: s.findtext("{jabber:client}body") == "in", "the message in pieces")
    expect(romeo.socket.ping().wait(PATIENCE), "no pong")
    # RFC 7395 3.6.
    romeo.send(f"<close xmlns='{FRAMING}'/>")
    romeo.tag(f"{{{FRAMING}}}close")
    with contextlib.suppress(websockets.exceptions.ConnectionClosedOK):
        romeo.socket.recv(timeout=PATIENCE)
        raise Failure("something behind <close/>")
    expect(romeo.socket.protocol.close_code == 1000, f"closed with {romeo.socket.protocol.close_code}")


def spaces(server):
    """Line breaks in front of a header and its XML declaration, of the first stream and of the restarted one."""
    header = f"\n<?xml version='1.0'?>\r\n<open xmlns='{FRAMING}' to='localhost' version='1.0'/>"
    socket = Socket(server)
    for proof in [f"<auth xmlns='{SASL}' mechanism='PLAIN'>{token('romeo')}</auth>", None]:
        socket.send(header)
        socket.tag(f"{{{STREAMS}}}features")
        if proof:
            socket.send(proof)
            socket.tag(f"{{{SASL}}}success")
    socket.socket.close()
    requests = Requests(server)
    requests.prolog = "\n<?xml version='1.0'?>\r\n"
    requests.login("romeo").request(attributes="type='terminate'")


def resumption(server):
    """An unclean close leaves a session to resume, over TCP too."""
    romeo = Socket(server)
    success = romeo.login("romeo")
    stream = success.find(f"{{{BIND2}}}bound/{{{SM}}}enabled").get("id")
    romeo.tag(f"{{{STREAMS}}}features")
    romeo.present()
    handled = 1
    romeo.socket.socket.shutdown(socket.SHUT_RDWR)
    juliet = Socket(server, plain=True)
    juliet.login("juliet")
    juliet.send(message("romeo", "while away"))
    romeo = Socket(server)
    success = romeo.login("romeo", f"<resume xmlns='{SM}' previd='{stream}' h='{handled}'/>")
    expect(success.find(f"{{{SM}}}resumed") is not None, f"not resumed: {ElementTree.tostring(success)}")
    romeo.until(lambda e: body_of(e) == "while away", "what came meanwhile")
    # The WebSocket's close without the stream's: the session waits again.
    romeo.socket.close()
    juliet.send(message("romeo", "again"))
    wire = XMPP("romeo", server.tls, trust=server.certificate)
    wire.connect(bind=False)
    wire.send(f"<resume xmlns='{SM}' previd='{stream}' h='{handled}'/>")
    wire.stanza(lambda s: s.tag == f"{{{SM}}}resumed", "resumption over TCP")
    wire.stanza(lambda s: s.findtext("{jabber:client}body") == "again", "what came meanwhile")


def refusals(server):
    def refused(first, condition, login=False):
        client = Socket(server)
        if login:
            client.login("romeo")
        client.socket.send(iter(first) if isinstance(first, list) else first)
        error = client.until(lambda e: e.tag == ERROR, f"{condition} for {first[:40]!r}")
        names = [child.tag.split("}")[1] for child in error]
        expect(condition in names, f"{first[:60]!r} got {names}")
        client.tag(f"{{{FRAMING}}}close")
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            client.socket.recv(timeout=PATIENCE)
            raise Failure("something behind <close/>")

    refused("<open xmlns='urn:other' to='localhost' version='1.0'/>", "invalid-namespace")
    refused(f"<open xmlns='{FRAMING}' to='elsewhere.example' version='1.0'/>", "host-unknown")
    refused(" ", "not-well-formed")
    refused("<presence/>", "unsupported-stanza-type", login=True)
    refused("<presence xmlns='jabber:client'/><presence xmlns='jabber:client'/>", "not-well-formed", login=True)
    refused("<presence xmlns='jabber:client'>", "not-well-formed", login=True)
    refused(b"<presence xmlns='jabber:client'/>", "bad-format", login=True)
    half = "x" * 140_000
    refused(["<message xmlns='jabber:client'><body>" + half, half + "</body></message>"], "policy-violation", login=True)
    for headers, plain, status in [
            ({"X-Forwarded-Proto": "http"}, True, 403), ({"X-Forwarded-Proto": "https"}, True, 101)]:
        try:
            Socket(server, plain=plain, headers=headers).open()
            found = 101
        except websockets.exceptions.InvalidStatus as error:
            found = error.response.status_code
        expect(found == status, f"{headers} got {found}")


def bare_socket(server):
    """A WebSocket whose frames are bytes. A client's are masked, here with zeros."""
    bare = socket.socket()
    bare.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    bare.settimeout(2 * PATIENCE)
    bare.connect(("127.0.0.1", server.http))
    bare.sendall(b"GET /xmpp-websocket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                 b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
                 b"Sec-WebSocket-Protocol: xmpp\r\n\r\n")
    stream = bare.makefile("rb")
    expect(b" 101 " in stream.readline(), "no WebSocket")
    while stream.readline() not in (b"\r\n", b""):
        pass
    return bare, stream


def frames(server):
    """What RFC 6455 has a server refuse: no mask (5.1), a bit without a meaning (5.2), a continuation of nothing (5.4)."""
    for data, answer in [(b"\x81\x02hi", b"\x88\x02\x03\xea"), (b"\xc1\x80\0\0\0\0", b"\x88\x02\x03\xea"),
                         (b"\x80\x80\0\0\0\0", b"\x81\x7e")]:
        bare, stream = bare_socket(server)
        bare.sendall(data)
        expect(stream.read(len(answer)) == answer, f"{data} was taken")
        if answer[0] == 0x88:
            expect(stream.read(1) == b"", f"something behind the end: {data}")
        bare.close()


def pings(server):
    """Pings before a login are answered (RFC 6455 5.5.3) up to a number, and with one more the stream ends."""
    most = 64
    bare, stream = bare_socket(server)
    bare.sendall(b"".join(b"\x89\xfd\0\0\0\0" + str(number).encode().rjust(125) for number in range(most + 1)))
    answer = stream.read()
    pongs = [int(number) for number in re.findall(rb"\x8a\x7d +(\d+)", answer)]
    expect(pongs == list(range(most + 1)), f"{pongs}")
    expect(b"policy-violation" in answer, f"{answer[-300:]}")
    bare.close()


# MARK: BOSH


class Requests:
    """A session over requests, each on a connection of its own."""

    def __init__(self, server):
        self.server = server
        self.rid = random.randrange(1, 1 << 50)
        self.sid = None
        self.kept = []
        self.prolog = ""

    def post(self, xml):
        connection = http.client.HTTPSConnection(
            "localhost", self.server.https, timeout=60 + PATIENCE, context=self.server.context())
        connection.request("POST", "/http-bind", xml.encode(), {
            "Content-Type": "text/xml; charset=utf-8", "Origin": "https://elsewhere.example"})
        answer = connection.getresponse()
        data = answer.read()
        expect(answer.status == 200, f"{answer.status}: {data}")
        expect(answer.headers["Access-Control-Allow-Origin"] == "*", "other origins are not allowed")
        expect(answer.headers["Content-Type"] == "text/xml; charset=utf-8", answer.headers["Content-Type"])
        connection.close()
        return ElementTree.fromstring(data)

    def request(self, payload="", attributes="", rid=None):
        if rid is None:
            self.rid += 1
            rid = self.rid
        sid = f"sid='{self.sid}'" if self.sid else ""
        return self.post(
            f"{self.prolog}<body xmlns='{BODY}' xmlns:xmpp='{XBOSH}' rid='{rid}' {sid} {attributes}>{payload}</body>")

    def ask(self, payload, tag, attributes=""):
        """Asks, and asks on until it is there."""
        answer = self.request(payload, attributes)
        while True:
            expect(answer.get("type") is None, f"no {tag}: {ElementTree.tostring(answer)}")
            self.kept += list(answer)
            for element in self.kept:
                if element.tag == tag:
                    self.kept.remove(element)
                    return element
            answer = self.request()

    def begin(self, wait=60, hold=1):
        made = self.request(attributes=f"to='localhost' wait='{wait}' hold='{hold}' ver='1.6' xmpp:version='1.0' xml:lang='en'")
        self.sid = made.get("sid")
        expect(self.sid and made.get(f"{{{XBOSH}}}restartlogic") == "true" and int(made.get("requests")) > hold,
               f"made: {ElementTree.tostring(made)}")
        expect(made.find(f"{{{STREAMS}}}features") is not None, "no features with the session")
        return self

    def login(self, name, resource=""):
        self.begin()
        self.ask(f"<auth xmlns='{SASL}' mechanism='PLAIN'>{token(name)}</auth>", f"{{{SASL}}}success")
        self.ask("", f"{{{STREAMS}}}features", "to='localhost' xmpp:restart='true'")
        wish = f"<resource>{resource}</resource>" if resource else ""
        self.ask(f"<iq xmlns='jabber:client' type='set' id='b'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'>{wish}</bind></iq>",
                 "{jabber:client}iq")
        self.ask("<presence xmlns='jabber:client'/>", "{jabber:client}presence")
        return self


def requests(server):
    romeo = Requests(server).login("benvolio")
    juliet = Socket(server)
    juliet.login("nurse")
    juliet.present()
    # Held until there is something to say.
    answers = []
    asking = threading.Thread(target=lambda: answers.append(romeo.request()), daemon=True)
    asking.start()
    juliet.send(message("benvolio", "to whom it holds"))
    asking.join(PATIENCE)
    expect(answers and [body_of(e) for e in answers[0]] == ["to whom it holds"], f"got {answers}")
    # The response was lost: the same again, and the message is not sent twice.
    again = romeo.request(rid=romeo.rid)
    expect(ElementTree.tostring(again) == ElementTree.tostring(answers[0]), "not the same response")
    first = threading.Thread(target=lambda: romeo.request(message("nurse", "once")), daemon=True)
    first.start()
    juliet.until(lambda e: body_of(e) == "once", "the message")
    held = romeo.rid
    repeated = threading.Thread(target=lambda: answers.append(romeo.request(message("nurse", "once"), rid=held)), daemon=True)
    repeated.start()
    first.join(PATIENCE)
    expect(not first.is_alive(), "the request that was repeated is not answered")
    romeo.request(message("nurse", "twice"), "pause='30'")
    repeated.join(PATIENCE)
    found = juliet.tag("{jabber:client}message")
    expect(body_of(found) in ("twice",) or found.get("type") == "error", f"a repetition was delivered: {body_of(found)}")
    # The end: what is in it counts.
    ended = romeo.request(message("nurse", "farewell"), "type='terminate'")
    expect(ended.get("type") == "terminate" and ended.get("condition") is None, ElementTree.tostring(ended))
    juliet.until(lambda e: body_of(e) == "farewell", "what came with the end")
    gone = romeo.request()
    expect(gone.get("type") == "terminate" and gone.get("condition") == "item-not-found", ElementTree.tostring(gone))


def abandoned(server):
    """A request whose connection the client has closed is no longer held: not for output, and not for the bounds of XEP-0124 11 and 12."""
    benvolio = Requests(server).login("benvolio")
    # Two within the two seconds of 11: of requests that are held the second one would be too soon, or one too many.
    for _ in range(2):
        benvolio.rid += 1
        body = f"<body xmlns='{BODY}' rid='{benvolio.rid}' sid='{benvolio.sid}'/>".encode()
        # Shorter than the 60 s for which the server may hold a request.
        with socket.create_connection(("127.0.0.1", server.http), timeout=PATIENCE / 2) as connection:
            connection.sendall(b"POST /http-bind HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
            # The server's own end shows that it has seen this one.
            connection.shutdown(socket.SHUT_WR)
            while connection.recv(65_536):
                pass
    answer = benvolio.request("<iq xmlns='jabber:client' type='get' id='after'><ping xmlns='urn:xmpp:ping'/></iq>")
    expect([(e.get("id"), e.get("type")) for e in answer] == [("after", "result")], f"{ElementTree.tostring(answer)}")
    again = benvolio.request(rid=benvolio.rid - 1)
    expect(again.get("type") is None and not len(again), f"14.3: {ElementTree.tostring(again)}")
    benvolio.request(attributes="type='terminate'")


def replacement(server):
    """XEP-0206 6: a session that another one has replaced ends by `terminate`, which names the error (node-xmpp-bosh 29)."""
    former = Requests(server).login("mercutio", "piazza")
    answers = []
    asking = threading.Thread(target=lambda: answers.append(former.request()), daemon=True)
    asking.start()
    Requests(server).login("mercutio", "piazza").request(attributes="type='terminate'")
    asking.join(PATIENCE)
    expect(answers and answers[0].get("type") == "terminate" and answers[0].get("condition") == "remote-stream-error"
           and answers[0].find(f"{ERROR}/*").tag.endswith("conflict"), f"{[ElementTree.tostring(a) for a in answers]}")


def misuse(server):
    client = Requests(server)
    for xml in ["<body", "<body/>", f"<body xmlns='{BODY}'/>", f"<body xmlns='{BODY}' rid='x'/>"]:
        answer = client.post(xml)
        expect(answer.get("condition") == "bad-request", f"{xml}: {ElementTree.tostring(answer)}")
    answer = client.request(attributes="sid='nobody'")
    expect(answer.get("condition") == "item-not-found", ElementTree.tostring(answer))
    ahead = Requests(server).begin()
    answer = ahead.request(rid=ahead.rid + 9)
    expect(answer.get("condition") == "item-not-found", ElementTree.tostring(answer))
    stranger = Requests(server)
    answer = stranger.request(attributes="to='elsewhere.example' wait='60' hold='1'")
    expect(answer.get("condition") == "remote-stream-error" and answer.find(f"{ERROR}/*").tag.endswith("host-unknown"),
           ElementTree.tostring(answer))
    large = Requests(server).begin()
    answer = large.request(f"<auth xmlns='{SASL}' mechanism='PLAIN'>{'x' * 12_000}</auth>")
    expect(answer.find(f"{{{SASL}}}failure/{{{SASL}}}malformed-request") is not None, f"a large element: {ElementTree.tostring(answer)}")
    try:
        Requests(server).begin().request(f"<auth xmlns='{SASL}' mechanism='PLAIN'>{'x' * 60_000}</auth>")
    except Failure as refusal:
        expect("body-too-large" in str(refusal), f"{refusal}")
    else:
        expect(False, "a large request before the login was taken")


def stops(server):
    """A server that stops answers what it holds, and keeps what can be resumed."""
    romeo = Requests(server).login("tybalt")
    web = Socket(server)
    stream = web.login("tybalt").find(f"{{{BIND2}}}bound/{{{SM}}}enabled").get("id")
    answers = []
    asking = threading.Thread(target=lambda: answers.append(romeo.request()), daemon=True)
    asking.start()
    juliet = Requests(server).login("paris")
    juliet.request(attributes="type='terminate'")
    expect(server.stop() == 0, "the server did not stop well")
    asking.join(PATIENCE)
    expect(answers and answers[0].get("type") == "terminate", f"held: {[ElementTree.tostring(a) for a in answers]}")
    web.until(lambda e: e.tag == ERROR, "system-shutdown")
    with contextlib.suppress(websockets.exceptions.ConnectionClosed):
        web.socket.recv(timeout=PATIENCE)  # <close/>
        web.socket.recv(timeout=PATIENCE)
    expect(web.socket.protocol.close_code == 1000, f"closed with {web.socket.protocol.close_code}")
    expect("already shut down" not in server.log.text, "something was still there when the server ended:\n" + server.tail())
    server.start()
    web = Socket(server)
    success = web.login("tybalt", f"<resume xmlns='{SM}' previd='{stream}' h='0'/>")
    expect(success.find(f"{{{SM}}}resumed") is not None, f"not resumed: {ElementTree.tostring(success)}")


# MARK: Where they are


def host_meta(server):
    for name, kind in [("host-meta", "application/xrd+xml"), ("host-meta.json", "application/json")]:
        request = urllib.request.Request(f"https://localhost:{server.https}/.well-known/{name}")
        with urllib.request.urlopen(request, context=server.context(), timeout=PATIENCE) as answer:
            expect(answer.headers["Access-Control-Allow-Origin"] == "*", "other origins are not allowed")
            expect(answer.headers["Content-Type"] == kind, answer.headers["Content-Type"])
            data = answer.read()
        if name.endswith("json"):
            links = {link["rel"]: link["href"] for link in json.loads(data)["links"]}
        else:
            links = {link.get("rel"): link.get("href") for link in ElementTree.fromstring(data)}
        expect(links == {
            "urn:xmpp:alt-connections:websocket": f"wss://localhost:{server.https}/xmpp-websocket",
            "urn:xmpp:alt-connections:xbosh": f"https://localhost:{server.https}/http-bind"}, f"{name}: {links}")


# MARK: Strophe


PAGE = """<!doctype html><meta charset="utf-8"><script src="/strophe.js"></script><script>
// One report after the other: over several connections a later one could come first.
let said = Promise.resolve();
function say(text) { return said = said.catch(() => {}).then(() => fetch("/said", {method: "POST", body: text})); }
window.onerror = function (text) { say("error: " + text); };
const meta = %s;
fetch(meta.base + "/.well-known/host-meta.json").then((r) => r.json()).then((found) => {
  const service = found.links.find((l) => l.rel === "urn:xmpp:alt-connections:" + meta.kind).href;
  const connection = new Strophe.Connection(service);
  const names = Object.fromEntries(Object.entries(Strophe.Status).map(([name, number]) => [number, name]));
  connection.connect(meta.user ? meta.user + "@localhost/strophe" : "localhost", meta.password, (status, condition) => {
    if (status === Strophe.Status.CONNECTED && meta.room) {
      connection.addHandler((stanza) => {
        if (stanza.getAttribute("from") === meta.room + "/Visitor") {
          connection.send($msg({to: meta.room, type: "groupchat"}).c("body").t("Here is a guest"));
        }
        return true;
      }, null, "presence");
      connection.addHandler((stanza) => {
        const body = stanza.getElementsByTagName("body")[0];
        if (body) { say("heard: " + stanza.getAttribute("from") + " " + Strophe.getText(body)).then(() => {
          if (Strophe.getText(body) === "enough") { connection.disconnect("bye"); } }); }
        return true;
      }, null, "message");
      say("bound: " + connection.jid);
      connection.send($pres());
      connection.send($pres({to: meta.room + "/Visitor"}).c("x", {xmlns: "http://jabber.org/protocol/muc"}));
    } else if (status === Strophe.Status.CONNECTED) {
      connection.addHandler((stanza) => {
        const text = Strophe.getText(stanza.getElementsByTagName("body")[0]);
        say("heard: " + Strophe.xmlunescape(text)).then(() => { if (text === "enough") { connection.disconnect("bye"); } });
        return true;
      }, null, "message");
      connection.send($pres());
      connection.sendIQ($iq({type: "get"}).c("query", {xmlns: "jabber:iq:roster"}), () => {
        connection.send($msg({to: "juliet@localhost", type: "chat"}).c("body").t("Here is Strophe < & >"));
      }, () => say("no roster"));
    }
    say("status: " + names[status] + (condition ? " " + condition : ""));
  }, 20);
}).catch((error) => say("failed: " + error));
</script>"""


class Browser:
    """A browser with one page, of an origin of its own; what the page says is in `said`."""

    def __init__(self, page, folder):
        program = next((found for found in map(shutil.which, BROWSERS) if found), None)
        expect(program and STROPHE.exists(), "a browser and Strophe.js are missing: apt install chromium-headless-shell libjs-strophe")
        self.said = []
        self.changed = threading.Condition()
        browser = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                known = {"/": ("text/html", page.encode()), "/strophe.js": ("text/javascript", STROPHE.read_bytes())}
                kind, data = known.get(self.path, ("text/plain", b""))
                self.send_response(200 if data else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_POST(self):
                text = self.rfile.read(int(self.headers["Content-Length"])).decode()
                with browser.changed:
                    browser.said.append(text)
                    browser.changed.notify_all()
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.site.serve_forever, daemon=True).start()
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--ignore-certificate-errors", "--remote-debugging-port=0",
             f"--user-data-dir={os.path.join(folder, uuid.uuid4().hex)}", f"http://127.0.0.1:{self.site.server_port}/"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def until(self, text):
        with self.changed:
            self.changed.wait_for(lambda: any(text in said for said in self.said), 2 * PATIENCE)
            expect(any(text in said for said in self.said), f"the page did not say {text!r}, but {self.said}")

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.site.shutdown()


def strophe(server, kind, user):
    juliet = XMPP("juliet", server.tls, trust=server.certificate)
    juliet.connect()
    juliet.send("<presence/>")
    page = PAGE % json.dumps({"base": f"https://localhost:{server.https}", "kind": kind, "password": PASSWORD, "user": user})
    browser = Browser(page, server.folder)
    try:
        browser.until("status: CONNECTED")
        juliet.stanza(lambda s: s.findtext("{jabber:client}body") == "Here is Strophe < & >", "the browser's message")
        for text in ["one &lt;", "two", "enough"]:
            juliet.send(f"<message to='{user}@localhost' type='chat'><body>{text}</body></message>")
        browser.until("heard: one <")
        browser.until("heard: enough")
        browser.until("status: DISCONNECTED")
        heard = [said for said in browser.said if said.startswith("heard")]
        expect(len(heard) == 3, f"heard {heard}")
    finally:
        browser.close()


def anonymous(server, kind):
    """Who gives no name is a guest (XEP-0175): in a room, with somebody on TCP, and gone with the page."""
    room = f"hall-{kind}@conference.localhost"
    juliet = XMPP("juliet", server.tls, trust=server.certificate)
    juliet.connect()
    juliet.send(f"<presence to='{room}/Juliet'><x xmlns='http://jabber.org/protocol/muc'/></presence>")
    juliet.stanza(lambda s: s.get("from") == f"{room}/Juliet", "her own presence")
    juliet.send(f"<iq type='set' to='{room}' id='c'><query xmlns='http://jabber.org/protocol/muc#owner'>"
                "<x xmlns='jabber:x:data' type='submit'/></query></iq>")
    juliet.stanza(lambda s: s.get("id") == "c" and s.get("type") == "result", "an open room")
    page = PAGE % json.dumps(
        {"base": f"https://localhost:{server.https}", "kind": kind, "password": None, "user": "", "room": room})
    browser = Browser(page, server.folder)
    try:
        browser.until("status: CONNECTED")
        juliet.stanza(lambda s: s.findtext("{jabber:client}body") == "Here is a guest"
                      and s.get("from") == f"{room}/Visitor", "the guest's message")
        juliet.send(f"<message to='{room}' type='groupchat'><body>enough</body></message>")
        browser.until(f"heard: {room}/Juliet enough")
        browser.until("status: DISCONNECTED")
        juliet.stanza(lambda s: s.get("from") == f"{room}/Visitor" and s.get("type") == "unavailable", "the guest's end")
        jid = next(said for said in browser.said if said.startswith("bound: ")).removeprefix("bound: ").split("/")[0]
        expect(uuid.UUID(jid.split("@")[0]).version == 4, f"the guest is called {jid}")
    finally:
        browser.close()
    expect(jid not in server.command("user", "list", "--json"), "the guest is in the list of users")


# MARK: Pages of other origins

API_PAGE = """<!DOCTYPE html><title>API</title><script>
"use strict";
function say(text) { return fetch("/said", {method: "POST", body: text}); }
const {api, password} = %s;
(async () => {
  const headers = {"Content-Type": "application/json"};
  const body = JSON.stringify({grant: "password", username: "rosaline", password});
  const session = await (await fetch(api + "/sessions", {method: "POST", headers, body})).json();
  headers.Authorization = "Bearer " + session.accessToken;
  const profile = await fetch(api + "/users/me", {method: "PATCH", headers, body: JSON.stringify({name: "Rosaline"})});
  const refused = await fetch(api + "/users/nobody", {headers});
  await say(`api: ${(await profile.json()).name}, ${(await refused.json()).code}`);
  const socket = new WebSocket(api.replace("http", "ws") + "/ws", "parley.v1");
  socket.onopen = () => say("api: the WebSocket is open");
  socket.onerror = () => say("api: the WebSocket is refused");
})().catch((error) => say("api: " + error));
</script>"""


def other_origins(server, lasting):
    browser = Browser(API_PAGE % json.dumps({"api": f"https://localhost:{server.https}/v1", "password": PASSWORD}), server.folder)
    try:
        for text in lasting:
            browser.until(text)
    finally:
        browser.close()


def listed_origins(server):
    """Of a server with `http.origins`: what the listed ones are answered, and others are not."""
    address = ("127.0.0.1", server.http)
    for origin, is_listed in [("https://app.example", True), ("https://evil.example", False)]:
        for method, path, more in [
                ("OPTIONS", "/v1/users/me", {"Access-Control-Request-Method": "PATCH", "Access-Control-Request-Headers": "authorization"}),
                ("GET", "/v1/users/me", {}), ("GET", "/http-bind", {})]:
            connection = http.client.HTTPConnection(*address, timeout=PATIENCE)
            connection.request(method, path, headers={"Origin": origin, **more})
            answer = connection.getresponse()
            answer.read()
            allowed = (answer.headers["Access-Control-Allow-Origin"], answer.headers["Vary"])
            expect(allowed == ((origin, "Origin") if is_listed else (None, None)), f"{origin} {method} {path}: {answer.headers}")
            if method == "OPTIONS":
                expect(answer.status == (204 if is_listed else 405), f"{origin}: {answer.status}")
                expect(("PATCH" in (answer.headers["Access-Control-Allow-Methods"] or "")) == is_listed, f"{answer.headers}")
                expect((answer.headers["Access-Control-Allow-Headers"] == "authorization") == is_listed, f"{answer.headers}")
            connection.close()
        if not is_listed:
            def refused(text):
                return [line for line in text.splitlines() if "method-not-allowed" in line and "OPTIONS" in line]
            server.log.until("the refusal of a page that is not listed", refused)
            # The announcement of the page that is listed was answered.
            expect(len(refused(server.log.text)) == 1, f"{refused(server.log.text)}")
        for path, subprotocol in [("/v1/ws", "parley.v1"), ("/xmpp-websocket", "xmpp")]:
            try:
                with websockets.sync.client.connect(
                        f"ws://127.0.0.1:{server.http}{path}", subprotocols=[subprotocol], origin=origin, open_timeout=PATIENCE):
                    expect(is_listed, f"{origin} has a WebSocket at {path}")
            except websockets.exceptions.InvalidStatus as error:
                expect(not is_listed and error.response.status_code == 403 and b"origin-refused" in error.response.body,
                       f"{origin} {path}: {error}")


def run(checks):
    with WebServer(http__origins="https://app.example") as server:
        server.start()
        server.add_users("rosaline")
        with checks.check("web: pages of the origins that are listed, and no others"):
            listed_origins(server)
        with checks.check("web: a page in a browser that is not listed"):
            other_origins(server, ["api: TypeError"])
    with WebServer(guests__domains="localhost") as server:
        server.start()
        server.add_users("romeo", "juliet", "benvolio", "nurse", "tybalt", "mercutio", "paris", "rosaline", "balthasar")
        for name, test in [
                ("where they are", host_meta), ("a WebSocket talks with TCP", sockets), ("an unclean close is resumed", resumption),
                ("line breaks in front of headers", spaces),
                ("what a WebSocket refuses", refusals), ("frames that are none", frames), ("more pings than are answered before a login", pings), ("BOSH talks, repeats, pauses and ends", requests),
                ("what BOSH refuses", misuse), ("BOSH tells who was replaced", replacement),
                ("BOSH holds no request whose connection is gone", abandoned),
                ("Strophe.js in a browser over WebSocket", lambda server: strophe(server, "websocket", "rosaline")),
                ("Strophe.js in a browser over BOSH", lambda server: strophe(server, "xbosh", "balthasar")),
                ("Strophe.js in a browser as a guest over WebSocket", lambda server: anonymous(server, "websocket")),
                ("Strophe.js in a browser as a guest over BOSH", lambda server: anonymous(server, "xbosh")),
                ("a page of another origin uses the API", lambda server: other_origins(
                    server, ["api: Rosaline, user-unknown", "api: the WebSocket is open"])),
                ("a server that stops", stops)]:
            with checks.check(f"web: {name}"):
                test(server)
