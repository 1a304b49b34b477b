"""Attacks by which other servers and libraries were broken (docs/guides/security.md, the second table), where no other test sends them: text that is
a part of a query of the database, secrets that can be guessed, renegotiation of TLS, paths that lead out of the files, forms of other pages,
names that are kept for ever, and connections that leave before their login.
"""
import base64
import contextlib
import json
import os
import pathlib
import re
import socket
import ssl
import subprocess
import urllib.parse
from xml.sax.saxutils import escape

import yaml

from lib.apps import App, exchange, exchange_json
from lib.files import upload
from lib.harness import DOCS, PASSWORD, PATIENCE, Server, expect, until
from lib.wire import HEADER, SM, Client

# Operators of SQL, of LIKE and of FTS5, and what ends a text.
TEXTS = ["' OR '1'='1", '" OR ""="', "');--", "%", "_", "*", "x* NEAR y", "NOT x", '"', "^x", "{a b} : x", "\\"]
RSM = "http://jabber.org/protocol/rsm"
DATA = "jabber:x:data"
MIB = 1 << 20
# Makes a name too long for the bytes of a Swift String itself, so that it takes memory of its own.
TAIL = "x" * 12


def fields(namespace, **values):
    rows = "".join(f"<field var='{name}'><value>{escape(value)}</value></field>" for name, value in values.items())
    return f"<x xmlns='{DATA}' type='submit'><field var='FORM_TYPE' type='hidden'><value>{namespace}</value></field>{rows}</x>"


def queries(text):
    """Requests with this text wherever the server looks something up by it: kind, receiver, payload."""
    page = f"<set xmlns='{RSM}'><max>10</max><after>{escape(text)}</after></set>"
    mam, items, search = "urn:xmpp:mam:2", "http://jabber.org/protocol/disco#items", "urn:xmpp:channel-search:0:search"
    pubsub = "http://jabber.org/protocol/pubsub"
    quoted = escape(text, {"'": "&apos;"})
    return [
        ("get", None, f"<pubsub xmlns='{pubsub}'><items node='{quoted}'/></pubsub>"),
        ("get", None, f"<pubsub xmlns='{pubsub}'><items node='urn:example:roses'/>{page}</pubsub>"),
        ("get", None, f"<pubsub xmlns='{pubsub}'><items node='urn:example:roses'><item id='{quoted}'/></items></pubsub>"),
        ("get", "pubsub.localhost", f"<query xmlns='{items}' node='{quoted}'/>"),
        ("get", "pubsub.localhost", f"<query xmlns='{items}'>{page}</query>"),
        ("get", "conference.localhost", f"<query xmlns='{items}'>{page}</query>"),
        ("set", None, f"<query xmlns='{mam}'>{fields(mam)}{page}</query>"),
        ("set", None, f"<query xmlns='{mam}'>{fields(mam, **{'{urn:xmpp:fulltext:0}fulltext': text})}</query>"),
        ("get", None, f"<inbox xmlns='urn:xmpp:inbox:1'>{page}</inbox>"),
        ("set", "localhost", f"<query xmlns='jabber:iq:search'><nick>{escape(text)}</nick></query>"),
        ("get", "conference.localhost", f"<search xmlns='{search}'>{fields(search + '-params', q=text)}</search>"),
    ]


def injections(checks, server, romeo):
    document = yaml.safe_load((DOCS / "openapi.yaml").read_text())
    references = document["components"]["parameters"]
    headers = {"Authorization": "Bearer " + romeo.token}
    asked = 0
    for path, item in document["paths"].items():
        parameters = [references[each["$ref"].split("/")[-1]] if "$ref" in each else each for each in item.get("get", {}).get("parameters", [])]
        names = [each["name"] for each in parameters if each["in"] == "query" and each["schema"].get("type") == "string" and "enum" not in each["schema"]]
        if not names:
            continue
        name = item["get"]["operationId"]
        with checks.check(f"vulnerabilities: {name} takes quotes and operators for text"):
            for parameter in names:
                for text in TEXTS:
                    url = re.sub(r"{\w+}", "1", path) + "?" + urllib.parse.urlencode({parameter: text})
                    status, _, data = exchange("GET", server.base + url, headers=headers)
                    asked += 1
                    expect(status < 500, f"{parameter}={text}: {status} {data[:300]}")
                    found = json.loads(data).get("items", []) if status == 200 and parameter == "query" else []
                    expect(not found, f"{parameter}={text} finds {found}")
    expect(asked > 10 * len(TEXTS), f"{asked} questions")
    client = Client(server, "romeo", "wire")
    for text in TEXTS:
        with checks.check(f"vulnerabilities: {text} is text in pages and searches of XMPP"):
            for kind, to, payload in queries(text):
                answer = client.ask(payload, kind, to)
                expect(answer.get("type") in ("result", "error"), f"{payload}: {answer.attrib}")
                found = [each for each in answer.iter() if each.tag.endswith("}item")]
                # An asterisk at the end of a name to search for (XEP-0055) is one that clients put there.
                expect(not found or "set xmlns" in payload or (text, to) == ("*", "localhost"), f"{payload} finds {len(found)}")
                condition = [each.tag.rpartition("}")[2] for each in answer.iter() if "xmpp-stanzas" in each.tag]
                expect("internal-server-error" not in condition, f"{payload}: {condition}")
            expect(not [each for each in client.kept if each.find("{urn:xmpp:mam:2}result") is not None], f"{text} finds messages")
            client.kept = []
    client.close()


def unlike(values):
    """Fails if the places in which values of one kind differ have less than 128 bits, were each of them chosen from 64 signs."""
    values = list(values)
    expect(len(set(values)) == len(values), f"one of {len(values)} comes twice")
    length = min(map(len, values))
    # Of twenty signs by chance from 16 or more, eight differ.
    places = sum(len({value[place] for value in values}) >= 8 for place in range(length))
    expect(places >= 22, f"{places} places of {length} differ: {values[:3]}")


def secrets(checks, server, romeo):
    with checks.check("vulnerabilities: twenty secrets of a kind have nothing in common that would let one be guessed"):
        sessions = []
        for number in range(20):
            status, _, session = exchange_json("POST", server.base + "/v1/sessions", {
                "grant": "password", "username": "juliet", "password": PASSWORD, "deviceId": f"d{number}"})
            expect(status == 201, f"{status} {session}")
            sessions.append(session)
        unlike(session["accessToken"] for session in sessions)
        unlike(session["refreshToken"] for session in sessions)
        slots = [romeo.call("POST", "/v1/attachments", {"name": "a", "mediaType": "text/plain", "size": 1})[1] for _ in range(20)]
        unlike(urllib.parse.urlsplit(slot["url"]).path.split("/")[-2] for slot in slots)
        unlike(slot["uploadUrl"].rpartition("?")[2].rpartition("=")[2] for slot in slots)
        ids = []
        for number in range(20):
            client = Client(server, "mercutio", f"d{number}")
            client.send(f"<enable xmlns='{SM}' resume='true'/>")
            ids.append(client.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "enabled").get("id"))
            client.close()
        unlike(ids)


def renegotiation(checks, server):
    with checks.check("vulnerabilities: who asks for another handshake on a TLS connection is disconnected"):
        client = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{server.tls}", "-tls1_2", "-CAfile", server.certificate],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            # A program that has its input open goes on until the server ends the connection.
            text = ""
            while "Verify return code" not in text:
                line = client.stdout.readline()
                expect(line, f"no connection: {text}")
                text += line
            client.stdin.write("R\n")
            client.stdin.flush()
            client.wait(PATIENCE / 2)
            text += client.stdout.read()
            expect("RENEGOTIATING" in text, f"it was not asked for: {text[-500:]}")
        finally:
            client.kill()
            client.wait()
            client.stdin.close()
            client.stdout.close()


def answer(server, request):
    with socket.create_connection((server.host, server.http), timeout=PATIENCE) as connection:
        connection.sendall(request)
        data = b""
        with contextlib.suppress(ConnectionResetError):
            while more := connection.recv(65_536):
                data += more
    return data


def paths(checks, server, romeo):
    data = b"a rose"
    public = urllib.parse.urlsplit(upload(server, romeo, data)["url"]).path
    folder = public.rpartition("/")[0]
    with checks.check("vulnerabilities: no path leads out of the pages or the files"):
        for base in ("/client", "/admin", folder, ""):
            for up in ("..", "%2e%2e", ".%2e", "%252e%252e", "..%2f", "..\\", "....//"):
                for target in ("etc/passwd", "parley.db", "tls/self-signed.pem"):
                    path = f"{base}/{'/'.join([up] * 8)}/{target}"
                    found = answer(server, f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
                    expect(re.match(rb"HTTP/1\.1 4\d\d ", found), f"{path}: {found[:200]}")
                    expect(not any(sign in found for sign in (b"root:", b"SQLite format", b"BEGIN ")), f"{path}: {found[:500]}")


def forms(checks, server, romeo):
    """What a page of somebody else makes a browser send: a form of an allowed type, with the cookies of the server."""
    with checks.check("vulnerabilities: a form of another page has no power: there are no cookies, and none counts"):
        body = json.dumps({"grant": "password", "username": "romeo", "password": PASSWORD, "deviceId": "form"}).encode()
        status, fields, _ = exchange("POST", server.base + "/v1/sessions", body, {"Content-Type": "application/json"})
        expect(status == 201 and fields.get_all("Set-Cookie") is None, f"{status} {fields}")
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
            for name in ("token", "access_token", "session", "Authorization"):
                status, fields, data = exchange("POST", server.base + "/v1/dialogs", b'{"type":"group","name":"Forged"}', {
                    "Content-Type": kind, "Origin": "https://elsewhere.example", "Cookie": f"{name}={romeo.token}"})
                expect(status == 401 and fields.get_all("Set-Cookie") is None, f"{kind} {name}: {status} {data}")
        expect("Forged" not in json.dumps(romeo.call("GET", "/v1/dialogs")[1]), "the group was made")


def memory(server):
    status = pathlib.Path(f"/proc/{server.process.pid}/status").read_text()
    return int(re.search(r"^VmRSS:\s+(\d+) kB$", status, re.M)[1]) << 10


def names(checks, server):
    """225,000 names of elements and attributes, each of which comes once: kept, they would take 20 MB."""
    client = Client(server, "mercutio", "names")

    def say(stanzas):
        for number in stanzas:
            children = "".join(f"<n{number:x}e{child:x}{TAIL} a{number:x}e{child:x}{TAIL}=''/>" for child in range(150))
            answer = client.ask(f"<query xmlns='urn:example:names'>{children}</query>", "get", "localhost")
            expect(answer.get("type") == "error", f"{answer.attrib}")

    with checks.check("vulnerabilities: names of elements and attributes are not kept"):
        say(range(150))
        before = memory(server)
        say(range(150, 900))
        grown = memory(server) - before
        expect(grown < 12 * MIB, f"{grown // MIB} MiB for 225,000 names")
    client.close()


def leavers(checks, server):
    """Connections that leave amid what comes before a login: nothing of them stays open."""
    files = lambda: len(os.listdir(f"/proc/{server.process.pid}/fd"))
    context = ssl.create_default_context(cafile=server.certificate)
    with checks.check("vulnerabilities: of clients that leave before their login nothing stays"):
        before = files()
        for _ in range(20):
            connections = [socket.create_connection((server.host, port), PATIENCE) for port in (server.xmpp, server.xmpp, server.tls, server.http, server.http)]
            connections[1].sendall(HEADER.encode())
            connections[2] = context.wrap_socket(connections[2], server_hostname="localhost")
            connections[2].sendall((HEADER + "<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>"
                                    + base64.b64encode(b"\0romeo\0").decode()).encode())
            connections[3].sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
            connections[4].sendall(b"GET /xmpp-websocket HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                                   b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: xmpp\r\n\r\n")
            for connection in connections:
                connection.close()
        # The database opens and closes some by itself.
        until("the end of all connections", lambda: files() <= before + 8)


def run(checks):
    # Names are sent faster than one user may.
    with Server(sending__stanzas_per_second=100_000, sending__bytes_per_second=1 << 30) as server:
        server.start()
        server.add_users("romeo", "juliet", "mercutio")
        romeo = App(server, "romeo")
        romeo.say(romeo.dialog("juliet"), "What's in a name?")
        injections(checks, server, romeo)
        renegotiation(checks, server)
        paths(checks, server, romeo)
        # Behind the last upload: these slots are all that a user may have.
        secrets(checks, server, romeo)
        forms(checks, server, romeo)
        names(checks, server)
        leavers(checks, server)
        with checks.check("vulnerabilities: the server goes on and has nothing to complain of"):
            expect(server.process.poll() is None, "the server is gone:\n" + server.tail())
            expect("request failed" not in server.log.text, server.tail())
