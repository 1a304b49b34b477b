"""These functions upload and download files, in one piece or in parts, over bare HTTP connections."""
import contextlib
import http.client
import json
import struct
import urllib.parse
import zlib

from lib.harness import PATIENCE, expect

PIECE = 1 << 20  # more than the buffers of a socket hold is sent in pieces of this


class Put:
    """A PUT whose body is sent bit by bit, over the plain port: files are at the same path there."""

    def __init__(self, server, url, length, kind="application/octet-stream"):
        parts = urllib.parse.urlsplit(url)
        self.connection = http.client.HTTPConnection(server.host, server.http, timeout=PATIENCE)
        self.connection.putrequest("PUT", parts.path + "?" + parts.query)
        if length is not None:
            self.connection.putheader("Content-Length", str(length))
        if kind:
            self.connection.putheader("Content-Type", kind)
        self.connection.endheaders()

    def send(self, data):
        self.connection.send(data)
        return self

    def answer(self):
        with contextlib.closing(self.connection):
            response = self.connection.getresponse()
            data = response.read()
            return response.status, json.loads(data)["code"] if data else None


def ask(server, url, method="GET", headers=None):
    parts = urllib.parse.urlsplit(url)
    with contextlib.closing(http.client.HTTPConnection(server.host, server.http, timeout=PATIENCE)) as connection:
        connection.request(method, parts.path + ("?" + parts.query if parts.query else ""), headers=headers or {})
        response = connection.getresponse()
        return response.status, response.headers, response.read()


def slot(app, size, name="file.bin", kind="application/octet-stream"):
    status, made = app.call("POST", "/v1/attachments", {"name": name, "mediaType": kind, "size": size})
    expect(status == 201, f"no slot: {status} {made}")
    return made


def upload(server, app, data, name="file.bin", kind="application/octet-stream"):
    made = slot(app, len(data), name, kind)
    status, code = Put(server, made["uploadUrl"], len(data), kind).send(data).answer()
    expect(status == 201, f"not stored: {status} {code}")
    return made


def attach(app, dialog, made, name, text=""):
    status, message = app.call("POST", f"/v1/dialogs/{dialog}/messages", {
        "clientId": name, "content": {"type": "image", "text": text, "attachments": [made["id"]]}})
    expect(status == 201, f"not sent: {status} {message}")
    return message


def delete(app, dialog, message):
    status, answer = app.call("DELETE", f"/v1/dialogs/{dialog}/messages/{message['id']}?for=everyone")
    expect(status in (200, 204), f"not deleted: {status} {answer}")


def want(app, data, **more):
    status, made = app.call("POST", "/v1/attachments", {
        "name": "film.mp4", "mediaType": "video/mp4", "size": len(data), "resumable": True, **more})
    expect(status == 201, f"no slot: {status} {made}")
    return made


class Part:
    """A PATCH whose body is sent bit by bit."""

    def __init__(self, server, made, offset, length, last=True, kind="application/partial-upload", **headers):
        parts = urllib.parse.urlsplit(made["uploadUrl"])
        self.connection = http.client.HTTPConnection(server.host, server.http, timeout=PATIENCE)
        self.connection.putrequest("PATCH", parts.path + "?" + parts.query)
        fields = {"Content-Length": length, "Content-Type": kind, "Upload-Offset": offset,
                  "Upload-Complete": "?1" if last else "?0", **headers}
        for name, value in fields.items():
            if value is not None:
                self.connection.putheader(name.replace("_", "-"), str(value))
        self.connection.endheaders()

    def send(self, data):
        self.connection.send(data)
        return self

    def answer(self):
        with contextlib.closing(self.connection):
            response = self.connection.getresponse()
            data = response.read()
            return response.status, json.loads(data)["code"] if data else None, response.headers


def part(server, made, offset, data, last=True):
    status, code, headers = Part(server, made, offset, len(data), last).send(data).answer()
    return (status, code) if code else (status, int(headers["Upload-Offset"]))


def progress(server, made):
    status, headers, _ = ask(server, made["uploadUrl"], "HEAD")
    expect(status == 204, f"no progress: {status}")
    expect(headers["Cache-Control"] == "no-store", f"{headers}")
    return int(headers["Upload-Offset"]), headers["Upload-Complete"], int(headers["Upload-Length"])


def png(width, height, rows=None):
    """Colours that change from side to side; with `rows` so many of them are there, whatever the header says."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    line = b"\0" + b"".join(bytes((x * 255 // width, 90, 255 - x * 255 // width)) for x in range(width))
    packed = zlib.compressobj(9)
    data = b"".join(packed.compress(line) for _ in range(height if rows is None else rows)) + packed.flush()
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", data) + chunk(b"IEND", b""))


def known(app, made):
    status, body = app.call("GET", "/v1/attachments/" + made["id"])
    expect(status == 200, f"{status} {body}")
    return body
