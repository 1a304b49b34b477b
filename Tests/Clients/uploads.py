"""Files (XEP-0363, POST /v1/attachments): slixmpp uploads over TLS with the certificate verified and an app downloads, and the
other way round; what HTTP says of parts, conditions and what may not be run; slots that are filled twice, wrongly, at once, or
half when the server is killed; files that go with their messages.
"""
import asyncio
import contextlib
import hashlib
import http.client
import io
import os
import random
import socket
import ssl
import urllib.parse
import xml.etree.ElementTree as ElementTree

from lib.apps import App
from lib.files import PIECE, Put, ask, attach, delete, slot, upload
from lib.harness import PATIENCE, Server, expect, free_port
from lib.peers import Client, text


def status_of(server, made):
    return ask(server, made["url"], "HEAD")[0]


async def converse(checks, server):
    loop = asyncio.get_running_loop()

    async def app(body, *arguments):
        return await loop.run_in_executor(None, body, *arguments)

    juliet = await app(lambda: App(server, "juliet", "phone").connect())
    romeo = Client(server, "romeo@localhost/orchard")
    for plugin in ("xep_0066", "xep_0363", "xep_0446", "xep_0447"):
        romeo.register_plugin(plugin)
    await romeo.arrive()
    romeo.send_presence()
    # What begins as a JPEG does; more of it than that is not looked at here.
    data = b"\xff\xd8\xff" + random.Random(1).randbytes(3 * PIECE + 4)
    trust = ssl.create_default_context(cafile=server.certificate)

    with checks.check("uploads: slixmpp finds the service and uploads over TLS; an app sees a file and downloads it"):
        url = await romeo["xep_0363"].upload_file(
            "très cool.jpg", size=len(data), content_type="image/jpeg", input_file=io.BytesIO(data), timeout=PATIENCE)
        expect(url.endswith("/tr%C3%A8s%20cool.jpg"), url)
        message = romeo.make_message("juliet@localhost", url, mtype="chat")
        message["oob"]["url"] = url
        message.send()
        content = (await app(lambda: juliet.event("message.created")))["data"]["message"]["content"]
        file = content["attachments"][0]
        expect(content["type"] == "image" and content["text"] == "" and file["url"] == url, f"{content}")
        expect((file["name"], file["mediaType"], file["size"]) == ("très cool.jpg", "image/jpeg", len(data)), f"{file}")
        expect(file["sha256"] == hashlib.sha256(data).hexdigest(), "another hash")

        def download():
            parts = urllib.parse.urlsplit(url)
            with contextlib.closing(http.client.HTTPSConnection(
                    "localhost", parts.port, context=trust, timeout=PATIENCE)) as connection:
                connection.request("GET", parts.path)
                return connection.getresponse().read()

        expect(await app(download) == data, "other bytes came back")
        status, known = await app(lambda: juliet.call("GET", "/v1/attachments/" + file["id"]))
        expect(status == 200 and known["url"] == url and known["purpose"] == "message", f"{known}")

    with checks.check("uploads: what an app sends is a file to slixmpp, and its caption is there"):
        made = await app(lambda: upload(server, juliet, data, "rose.jpg", "image/jpeg"))
        dialog = await app(lambda: juliet.dialog("romeo"))
        await app(lambda: attach(juliet, dialog, made, "c1", "A rose"))
        got = await romeo.saw("message", text("A rose\n" + made["url"]))
        expect(got["oob"]["url"] == made["url"], f"{got}")
        sharing = got.xml.find("{urn:xmpp:sfs:0}file-sharing")
        metadata = "{urn:xmpp:file:metadata:0}"
        known = {child.tag.removeprefix(metadata): child.text for child in sharing.find(metadata + "file")}
        expect((known["name"], known["media-type"], known["size"]) == ("rose.jpg", "image/jpeg", str(len(data))), f"{known}")
        target = sharing.find("{urn:xmpp:sfs:0}sources/{http://jabber.org/protocol/url-data}url-data").get("target")
        expect(target == made["url"], target)
        part = got.xml.find("{urn:xmpp:fallback:0}fallback/{urn:xmpp:fallback:0}body")
        body = str(got["body"])
        expect(body[int(part.get("start")):int(part.get("end"))] == made["url"], f"{part.attrib} of {body}")
        await app(lambda: attach(juliet, dialog, made, "c2"))
        await romeo.saw("message", text(made["url"]))

    with checks.check("uploads: a message of several files is one to an app, and to slixmpp a stanza for each and one for the text"):
        album = [await app(lambda n=n: upload(server, juliet, bytes([n]) * 9, f"{n}.png", "image/png")) for n in range(3)]
        body = {"clientId": "album", "content": {"type": "image", "text": "Three roses", "attachments": [m["id"] for m in album]}}
        path = f"/v1/dialogs/{dialog}/messages"
        status, message = await app(lambda: juliet.call("POST", path, body))
        expect(status == 201 and [a["name"] for a in message["content"]["attachments"]] == ["0.png", "1.png", "2.png"], f"{message}")
        status, repeat = await app(lambda: juliet.call("POST", path, body))
        expect((status, repeat) == (200, message), f"{status} {repeat}")
        first = await romeo.saw("message", text(album[0]["url"]))
        expect(first["id"] == message["id"], f"{first}")
        for made in album[1:]:
            expect((await romeo.saw("message", text(made["url"])))["oob"]["url"] == made["url"], "no file")
        caption = await romeo.saw("message", text("Three roses"))
        status, edited = await app(lambda: juliet.call("PATCH", f"{path}/{message['id']}", {"text": "Three red roses"}))
        expect(status == 200 and edited["content"]["text"] == "Three red roses" and len(edited["content"]["attachments"]) == 3, f"{edited}")
        correction = await romeo.saw("message", text("Three red roses"))
        replaced = correction.xml.find("{urn:xmpp:message-correct:0}replace").get("id")
        expect(replaced == caption["id"], f"{replaced} is not {caption['id']}")
        await app(lambda: delete(juliet, dialog, message))
        expect([await app(lambda made=made: status_of(server, made)) for made in album] == [404] * 3, "a file is still there")
        expect((await app(lambda: juliet.call("GET", path + "?limit=1")))[1]["items"][0]["id"] == message["id"], "another message")

    with checks.check("uploads: what is retracted by XMPP takes its file with it"):
        mine = await romeo["xep_0363"].upload_file("secret.txt", size=6, content_type="text/plain", input_file=io.BytesIO(b"secret"))
        said = romeo.make_message("juliet@localhost", mine, mtype="chat")
        said["id"] = "secret"
        said.send()
        created = await app(lambda: juliet.event("message.created", lambda d: d["message"]["content"].get("attachments", [{}])[0].get("url") == mine))
        expect((await app(lambda: ask(server, mine)))[2] == b"secret", "not there")
        retraction = romeo.make_message("juliet@localhost", mtype="chat")
        retraction.append(ElementTree.Element("{urn:xmpp:message-retract:1}retract", id="secret"))
        retraction.append(ElementTree.Element("{urn:xmpp:hints}store"))
        retraction.send()
        await app(lambda: juliet.event("message.deleted", lambda d: d["messageId"] == created["data"]["message"]["id"]))
        expect((await app(lambda: ask(server, mine)))[0] == 404, "still there")
    await romeo.leave()
    await app(juliet.close)


def parts_and_slots(checks, server, juliet, data):
    """Parts of a file, conditions, and slots."""
    status = None
    with checks.check("uploads: parts, conditions, and nothing that runs"):
        made = upload(server, juliet, data, "a.html", "text/html")
        status, headers, body = ask(server, made["url"])
        expect(status == 200 and body == data, f"{status}")
        expect(headers["Content-Type"] == "application/octet-stream" and headers["X-Content-Type-Options"] == "nosniff"
               and headers["Content-Disposition"].startswith("attachment") and "sandbox" in headers["Content-Security-Policy"]
               and headers["Access-Control-Allow-Origin"] == "*", f"{headers}")
        tag = headers["ETag"]
        status, headers, body = ask(server, made["url"], "HEAD")
        expect((status, headers["Content-Length"], body) == (200, str(len(data)), b""), f"{status} {headers}")
        for wish, status, part in [("bytes=0-9", 206, data[:10]), ("bytes=-5", 206, data[-5:]), ("bytes=2550-", 206, data[2550:]),
                                   ("bytes=2560-", 416, None), ("bytes=0-1,5-6", 200, data)]:
            got, headers, body = ask(server, made["url"], headers={"Range": wish})
            expect(got == status and (part is None or body == part), f"{wish}: {got}, {len(body)} bytes")
        expect(ask(server, made["url"], headers={"Range": "bytes=0-1", "If-Range": '"other"'})[0] == 200, "a part of another file")
        expect(ask(server, made["url"], headers={"Range": "bytes=0-1", "If-Range": tag})[0] == 206, "not the part")
        expect(ask(server, made["url"], headers={"If-None-Match": tag})[0] == 304, "sent again")
        expect(ask(server, made["url"] + "x")[0] == 404, "another name is the same file")
        status, headers, _ = ask(server, made["uploadUrl"], "OPTIONS", {"Origin": "https://web.example", "Access-Control-Request-Method": "PUT"})
        expect(status == 204 and "PUT" in headers["Access-Control-Allow-Methods"], f"{status} {headers}")

    with checks.check("uploads: a slot takes one upload, and only the right one"):
        made = slot(juliet, 10)
        put = made["uploadUrl"]
        for refused, url, length, kind in [
                ((400, "length-mismatch"), put, 9, None), ((411, "length-required"), put, None, None),
                ((415, "media-type-mismatch"), put, 10, "image/png"), ((403, "upload-key-wrong"), made["url"] + "?key=" + "0" * 32, 10, None),
                ((403, "upload-key-wrong"), made["url"], 10, None), ((404, "upload-unknown"), put.replace("file.bin", "file.exe"), 10, None)]:
            expect(Put(server, url, length, kind).answer() == refused, f"not refused: {refused}")
        expect(status_of(server, made) == 404, "a file before its bytes")
        first = Put(server, put, 10).send(b"12345")
        expect(Put(server, put, 10).send(b"abcdefghij").answer() in [(201, None), (409, "upload-taken")], "neither taken nor refused")
        won = status_of(server, made) == 200
        got = first.send(b"67890").answer()
        expect(got == ((409, "upload-taken") if won else (201, None)), f"{got} beside another upload")
        expect(ask(server, made["url"])[2] == (b"abcdefghij" if won else b"1234567890"), "a mixture")
        expect(Put(server, put, 10).send(b"0123456789").answer() == (409, "upload-taken"), "filled twice")
    return status


def hang_ups(checks, server, juliet, status):
    """Who asks first, and who hangs up."""
    with checks.check("uploads: who asks before it sends is told to (RFC 9110 10.1.1)"):
        made = slot(juliet, 4)
        parts = urllib.parse.urlsplit(made["uploadUrl"])
        with socket.create_connection(("127.0.0.1", server.http), timeout=PATIENCE) as bare:
            answers = bare.makefile("rb")
            bare.sendall(f"PUT {parts.path}?{parts.query} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
                         "Expect: 100-continue\r\n\r\n".encode())
            expect(b" 100 " in answers.readline() and answers.readline() == b"\r\n", "not told to go on")
            bare.sendall(b"soon")
            expect(b" 201 " in answers.readline(), "not stored")

    with checks.check("uploads: who hangs up leaves nothing, and may try again"):
        made = slot(juliet, 16 * PIECE)
        half = Put(server, made["uploadUrl"], 16 * PIECE)
        for _ in range(12):
            half.send(bytes(PIECE))
        half.connection.close()
        whole = random.Random(2).randbytes(16 * PIECE)
        while True:  # until the server has seen it
            try:
                status, code = Put(server, made["uploadUrl"], len(whole)).send(whole).answer()
            except (BrokenPipeError, ConnectionResetError):  # refused before all was sent
                continue
            if status == 201:
                break
            expect((status, code) == (409, "upload-taken"), f"{status} {code}")
        expect(ask(server, made["url"])[2] == whole, "other bytes")


def ends_of_files(checks, server, juliet, romeo, dialog, data):
    """When a file goes, and what kill -9 leaves."""
    with checks.check("uploads: a file goes with its owner's last message, and with nobody else's"):
        made = upload(server, juliet, data)
        one, two = attach(juliet, dialog, made, "g1"), attach(juliet, dialog, made, "g2")
        delete(juliet, dialog, one)
        expect(status_of(server, made) == 200, "another message has it")
        delete(juliet, dialog, two)
        expect(status_of(server, made) == 404, "nobody has it")
        expect(juliet.call("GET", "/v1/attachments/" + made["id"])[0] == 404, "it is still known")
        made = upload(server, juliet, data)
        foreign = romeo.say(dialog, "look at " + made["url"])
        delete(romeo, dialog, foreign)
        expect(status_of(server, made) == 200, "somebody else's message took it away")
        mine = attach(juliet, dialog, made, "g3")
        romeo.say(dialog, "again: " + made["url"])
        delete(juliet, dialog, mine)
        expect(status_of(server, made) == 200, "a text that names it has it")

    with checks.check("uploads: kill -9 in the middle leaves nothing half, and what was told is there"):
        kept = upload(server, juliet, data)
        made = slot(juliet, 16 * PIECE)
        half = Put(server, made["uploadUrl"], 16 * PIECE)
        for _ in range(12):
            half.send(bytes(PIECE))
        blobs = os.path.join(server.data, "blobs")
        expect(os.listdir(os.path.join(blobs, "new")), "nothing is being written")
        server.kill()
        half.connection.close()
        server.start()
        expect(os.listdir(os.path.join(blobs, "new")) == [], "half of it is still there")
        expect(not os.path.exists(os.path.join(blobs, made["id"][:2], made["id"])), "it is there")
        expect(status_of(server, made) == 404, "it is given out")
        expect(ask(server, kept["url"])[2] == data, "what was told is gone")
        expect(Put(server, made["uploadUrl"], 16 * PIECE).send(bytes(16 * PIECE)).answer() == (201, None), "the slot is lost")

    with checks.check("uploads: who is disabled fills no slot"):
        juliet = App(server, "juliet")
        made = slot(juliet, 10)
        server.command("user", "disable", "juliet@localhost")
        expect(Put(server, made["uploadUrl"], 10).send(bytes(10)).answer() == (404, "upload-unknown"), "it was taken")
        server.command("user", "enable", "juliet@localhost")
        expect(Put(server, made["uploadUrl"], 10).send(bytes(10)).answer() == (201, None), "it was not taken")


def over_http(checks, server):
    juliet, romeo = App(server, "juliet"), App(server, "romeo")
    dialog = juliet.dialog("romeo")
    data = bytes(range(256)) * 10

    status = parts_and_slots(checks, server, juliet, data)
    hang_ups(checks, server, juliet, status)
    ends_of_files(checks, server, juliet, romeo, dialog, data)


def run(checks):
    port = free_port()
    with Server(https__host="127.0.0.1", https__port=port, http__url=f"https://localhost:{port}") as server:
        server.start()
        server.add_users("juliet", "romeo")
        server.befriend("juliet", "romeo")
        # Before aiohttp is imported, which slixmpp uploads with: it reads once whom it trusts.
        os.environ["SSL_CERT_FILE"] = server.certificate
        asyncio.run(converse(checks, server))
        over_http(checks, server)
