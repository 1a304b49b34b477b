"""Small pictures beside pictures: made of what an app and slixmpp upload, the right way up, without the camera's metadata,
seen by both; pictures that lie, that are cut off, that are bombs; avatars of large pictures.
"""
import asyncio
import contextlib
import http.client
import io
import os
import shutil
import ssl
import struct
import subprocess
import tempfile
import zlib

import aiohttp.connector

from lib.apps import App
from lib.files import Put, ask, attach, known, png, upload
from lib.harness import PATIENCE, Server, expect, free_port, without_privileges
from lib.peers import Client, text


def size(data):
    """Of a JPEG or a PNG."""
    if data.startswith(b"\x89PNG"):
        return struct.unpack(">II", data[16:24])
    place = 2
    while True:
        marker, length = data[place + 1], struct.unpack(">H", data[place + 2:place + 4])[0]
        if marker in (0xC0, 0xC1, 0xC2):
            height, width = struct.unpack(">HH", data[place + 5:place + 9])
            return width, height
        place += 2 + length


def upright(jpeg):
    """As a camera held upright writes it: orientation 6 and, beside it, where it was (TIFF 6.0, Exif 2.3)."""
    tiff = b"II*\0\x08\0\0\0" + struct.pack("<H", 2) + struct.pack("<HHII", 0x0112, 3, 1, 6) + struct.pack("<HHI4s", 0x010F, 2, 4, b"CAM\0") + b"\0\0\0\0"
    body = b"Exif\0\0" + tiff
    return jpeg[:2] + b"\xff\xe1" + struct.pack(">H", len(body) + 2) + body + jpeg[2:]


def jpeg(width, height):
    with tempfile.TemporaryDirectory() as folder:
        with open(folder + "/a.png", "wb") as file:
            file.write(png(width, height))
        subprocess.run(["vips", "copy", folder + "/a.png", folder + "/a.jpg"], check=True)
        with open(folder + "/a.jpg", "rb") as file:
            return file.read()


def put_picture(app, path, data):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", app.server.http, timeout=PATIENCE)) as connection:
        connection.request("PUT", path, body=data, headers={"Authorization": "Bearer " + app.token})
        response = connection.getresponse()
        return response.status, response.read()


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

    with checks.check("pictures: what slixmpp uploads has a small picture for the app"):
        data = jpeg(800, 600)
        url = await romeo["xep_0363"].upload_file(
            "view.jpg", size=len(data), content_type="image/jpeg", input_file=io.BytesIO(data), timeout=PATIENCE)
        message = romeo.make_message("juliet@localhost", url, mtype="chat")
        message["oob"]["url"] = url
        message.send()
        file = (await app(lambda: juliet.event("message.created")))["data"]["message"]["content"]["attachments"][0]
        expect((file["width"], file["height"]) == (800, 600), f"{file}")
        small = file["thumbnail"]
        expect((small["width"], small["height"], small["mediaType"]) == (320, 240, "image/jpeg"), f"{small}")
        status, headers, body = await app(lambda: ask(server, small["url"]))
        expect(status == 200 and headers["Content-Type"] == "image/jpeg" and size(body) == (320, 240), f"{status} {headers}")

    with checks.check("pictures: what an app sends has one for slixmpp (XEP-0264 in XEP-0446)"):
        made = await app(lambda: upload(server, juliet, png(640, 480), "rose.png", "image/png"))
        dialog = await app(lambda: juliet.dialog("romeo"))
        await app(lambda: attach(juliet, dialog, made, "p1"))
        got = await romeo.saw("message", text(made["url"]))
        small = got.xml.find("{urn:xmpp:sfs:0}file-sharing/{urn:xmpp:file:metadata:0}file/{urn:xmpp:thumbs:1}thumbnail")
        expect(small.get("uri") == made["url"] + "/thumbnail.jpg" and small.get("media-type") == "image/jpeg"
               and (small.get("width"), small.get("height")) == ("320", "240"), f"{small.attrib}")
    await romeo.leave()
    await app(juliet.close)


def run(checks):
    expect(shutil.which("vips"), "libvips-tools is missing: `make test` installs it")
    port = free_port()
    with Server(https__host="127.0.0.1", https__port=port, http__url=f"https://localhost:{port}") as server:
        server.start()
        server.add_users("juliet", "romeo")
        server.befriend("juliet", "romeo")
        # slixmpp uploads with aiohttp, which makes its context once: another check may have been before this one.
        aiohttp.connector._SSL_CONTEXT_VERIFIED = ssl.create_default_context(cafile=server.certificate)
        asyncio.run(converse(checks, server))
        juliet = App(server, "juliet")

        with checks.check("pictures: a camera's is the right way up, and says nothing of the camera"):
            photo = upright(jpeg(900, 600))
            file = known(juliet, upload(server, juliet, photo, "a.jpg", "image/jpeg"))
            expect((file["width"], file["height"]) == (600, 900), f"{file}")
            small = ask(server, file["thumbnail"]["url"])[2]
            expect(size(small) == (file["thumbnail"]["width"], file["thumbnail"]["height"]) == (213, 320), f"{size(small)} {file}")
            expect(b"Exif" not in small and b"CAM" not in small, "the camera is named")
            expect(ask(server, file["url"])[2] == photo, "the picture itself was changed")

        with checks.check("pictures: what it is its bytes say, whatever was announced"):
            picture = png(400, 300)
            status, made = juliet.call("POST", "/v1/attachments", {
                "name": "a.jpg", "mediaType": "image/jpeg", "size": len(picture), "width": 9, "height": 9, "durationMs": 5})
            expect(status == 201 and made["width"] == 9, f"{made}")
            expect(Put(server, made["uploadUrl"], len(picture), "image/jpeg").send(picture).answer() == (201, None), "not stored")
            file = known(juliet, made)
            expect((file["mediaType"], file["width"], file["height"], file["durationMs"]) == ("image/png", 400, 300, 5), f"{file}")
            page = b"<html><script>alert(1)</script></html>"
            file = known(juliet, upload(server, juliet, page, "a.png", "image/png"))
            expect(file["mediaType"] == "application/octet-stream" and "thumbnail" not in file, f"{file}")
            headers = ask(server, file["url"])[1]
            expect(headers["Content-Type"] == "application/octet-stream" and headers["Content-Disposition"].startswith("attachment"), f"{headers}")

        with checks.check("pictures: bombs and broken ones are files without a small picture, and nothing falls"):
            bomb = png(60_000, 50, rows=50)
            bomb = bomb[:20] + struct.pack(">I", 60_000) + bomb[24:]  # 60,000 x 60,000, it says
            bomb = bomb[:29] + struct.pack(">I", zlib.crc32(bomb[12:29])) + bomb[33:]
            half = jpeg(2000, 1500)[:5000]
            for name, data in [("bomb.png", bomb), ("none.png", b"\x89PNG\r\n\x1a\n" + bytes(50_000)), ("gif.gif", b"GIF89a" + b"\xff" * 50_000)]:
                file = known(juliet, upload(server, juliet, data, name, "image/" + name[-3:]))
                expect("thumbnail" not in file, f"{name}: {file}")
                expect(ask(server, file["url"])[2] == data, f"{name}: other bytes")
                expect(ask(server, file["url"] + "/thumbnail.jpg")[0] == 404, f"{name}: there is one")
            known(juliet, upload(server, juliet, half, "half.jpg", "image/jpeg"))  # some of it may be shown

        with checks.check("pictures: a small one needs none, and one goes with its file"):
            file = known(juliet, upload(server, juliet, png(100, 80), "s.png", "image/png"))
            expect("thumbnail" not in file and (file["width"], file["height"]) == (100, 80), f"{file}")
            made = upload(server, juliet, png(700, 700), "l.png", "image/png")
            small = known(juliet, made)["thumbnail"]["url"]
            dialog = juliet.dialog("romeo")
            message = attach(juliet, dialog, made, "gone")
            sent = message["content"]["attachments"][0]["thumbnail"]
            expect(sent["url"] == small and (sent["width"], sent["height"]) == (320, 320), f"{sent}")
            status, headers, _ = ask(server, small)
            expect(status == 200 and ask(server, small, headers={"If-None-Match": headers["ETag"]})[0] == 304, "sent again")
            juliet.call("DELETE", f"/v1/dialogs/{dialog}/messages/{message['id']}?for=everyone")
            expect(ask(server, small)[0] == 404 and ask(server, made["url"])[0] == 404, "still there")

        with checks.check("pictures: an avatar of a large picture is a small PNG"):
            expect(put_picture(juliet, "/v1/users/me/avatar", jpeg(1200, 900))[0] == 200, "not taken")
            status, headers, body = ask(server, server.base + "/v1/users/me/avatar", headers={"Authorization": "Bearer " + juliet.token})
            expect(status == 200 and headers["Content-Type"] == "image/png" and size(body) == (192, 144), f"{status} {headers}")
            expect(len(body) <= 98_304, f"{len(body)} bytes")
            exact = png(60, 50)
            expect(put_picture(juliet, "/v1/users/me/avatar", exact)[0] == 200, "not taken")
            expect(ask(server, server.base + "/v1/users/me/avatar", headers={"Authorization": "Bearer " + juliet.token})[2] == exact, "a small one was changed")
            expect(put_picture(juliet, "/v1/users/me/avatar", b"\x89PNG\r\n\x1a\n" + bytes(200_000))[0] == 413, "what is no picture was taken")

    with checks.check("pictures: without the program files are files, and the check says what is missing"):
        with Server(uploads__thumbnails="true") as server:
            with tempfile.TemporaryDirectory() as empty:
                path, os.environ["PATH"] = os.environ["PATH"], empty
                try:
                    expect("vipsthumbnail is not installed" in server.command("check"), "it says nothing")
                finally:
                    os.environ["PATH"] = path
            server.wrapper = [shutil.which("env"), "PATH=/nowhere"]
            prefix = without_privileges()
            if prefix:
                prefix[0] = shutil.which(prefix[0]) or prefix[0]
            server.start()
            server.add_users("juliet")
            juliet = App(server, "juliet")
            file = known(juliet, upload(server, juliet, png(640, 480), "rose.png", "image/png"))
            expect("thumbnail" not in file and (file["width"], file["height"]) == (640, 480), f"{file}")
            expect(put_picture(juliet, "/v1/users/me/avatar", jpeg(640, 480))[0] == 200, "an avatar of few bytes was not taken")
