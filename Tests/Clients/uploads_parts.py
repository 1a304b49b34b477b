"""Files that come in parts: HEAD, PATCH and DELETE at the address of a slot. Connections that are lost, offsets that are
wrong, a server that is killed between parts and at the end; two at once; what is announced and is another file.
"""
import hashlib
import os
import random

from lib.apps import App
from lib.files import PIECE, Part, Put, ask, part, progress, slot, want
from lib.harness import Server, expect


def left(server, made):
    """Whether the server's disk still has parts of it."""
    path = os.path.join(server.data, "blobs", "parts", made["id"])
    return os.path.exists(path) and os.path.getsize(path) > 0


def parts(checks, data, server, juliet):
    """Parts, good and bad ones."""
    with checks.check("uploads: in three parts, and how far it is in between"):
        made = want(juliet, data, sha256=hashlib.sha256(data).hexdigest())
        expect(made["sha256"] == hashlib.sha256(data).hexdigest() and "uploadUntil" in made, f"{made}")
        expect(progress(server, made) == (0, "?0", len(data)), "not at the beginning")
        expect(part(server, made, 0, data[:100], False) == (204, 100), "the first was not taken")
        expect(progress(server, made) == (100, "?0", len(data)), "not behind the first")
        expect(part(server, made, 100, data[100:], False) == (204, len(data)), "the second was not taken")
        expect(ask(server, made["url"])[0] == 404, "there before its end was told")
        status, code, headers = Part(server, made, len(data), 0).answer()
        expect((status, code, headers["Location"], headers["Upload-Complete"]) == (201, None, made["url"], "?1"), f"{status} {code} {headers}")
        expect(ask(server, made["url"])[2] == data, "other bytes")
        expect(progress(server, made) == (len(data), "?1", len(data)), "not whole")
        expect(part(server, made, len(data), b"") == (409, "upload-taken"), "filled twice")
        expect(juliet.call("GET", "/v1/attachments/" + made["id"])[1]["sha256"] == made["sha256"], "another hash")

    with checks.check("uploads: what is wrong with a part is said, and loses nothing"):
        made = want(juliet, data)
        expect(part(server, made, 0, data[:7], False) == (204, 7), "not taken")
        status, code, headers = Part(server, made, 6, 1).send(b"x").answer()
        expect((status, code, headers["Upload-Offset"]) == (409, "upload-offset-mismatch", "7"), f"{status} {code} {headers}")
        for refused, arguments in [
                ((415, "media-type-mismatch"), dict(kind="video/mp4")),
                ((400, "upload-offset-malformed"), dict(offset="-1")), ((400, "upload-offset-malformed"), dict(offset=None)),
                ((400, "upload-complete-malformed"), {"Upload-Complete": None})]:
            options = {"offset": 7, "length": 1, **arguments}
            got = Part(server, made, options.pop("offset"), options.pop("length"), **options).send(b"x").answer()[:2]
            expect(got == refused, f"{got} instead of {refused}")
        expect(part(server, made, 7, data[7:9]) == (400, "length-mismatch"), "half of it was whole")
        expect(progress(server, made)[0] == 9, "what was well sent is lost")
        expect(part(server, made, 9, data[9:]) == (201, len(data)), "not taken")
        plain = slot(juliet, 4)
        expect(ask(server, plain["uploadUrl"], "HEAD")[0] == 409, "a slot for PUT can be asked")
        other = dict(made, uploadUrl=made["uploadUrl"][:-1] + ("0" if made["uploadUrl"][-1] != "0" else "1"))
        expect(part(server, other, 0, b"x") == (403, "upload-key-wrong"), "another key")

    with checks.check("uploads: too much is refused, and the slot is not what it was asked for"):
        made = want(juliet, b"12345")
        try:
            got = part(server, made, 0, b"123456789")
        except (BrokenPipeError, ConnectionResetError):  # refused before all was sent
            got = (400, "length-mismatch")
        expect(got == (400, "length-mismatch"), f"{got}")


def interruptions(checks, data, server, juliet):
    """Another file, lost connections and kill -9."""
    with checks.check("uploads: another file than was announced is refused, and can be sent again"):
        made = want(juliet, data, sha256=hashlib.sha256(b"other").hexdigest())
        expect(part(server, made, 0, data) == (422, "hash-mismatch"), "taken")
        expect(progress(server, made)[0] == 0 and ask(server, made["url"])[0] == 404, "something of it is left")

    with checks.check("uploads: a lost connection goes on where it was, and a hanging one is taken over from"):
        made = want(juliet, data)
        hanging = Part(server, made, 0, len(data)).send(data[:3 * PIECE])
        while not left(server, made):  # until the server has begun with it
            pass
        offset = progress(server, made)[0]
        expect(0 <= offset <= 3 * PIECE, f"{offset} bytes of {3 * PIECE}")
        got = part(server, made, offset, data[offset:])
        expect(got == (201, len(data)), f"{got} from {offset} on")
        hanging.connection.close()
        expect(ask(server, made["url"])[2] == data, "a mixture")

    with checks.check("uploads: kill -9 between parts and behind the last loses nothing that was told"):
        made, done = want(juliet, data), want(juliet, data)
        expect(part(server, made, 0, data[:2 * PIECE], False) == (204, 2 * PIECE), "not taken")
        expect(part(server, done, 0, data) == (201, len(data)), "not taken")
        server.kill()
        server.start()
        expect(progress(server, made) == (2 * PIECE, "?0", len(data)), "lost")
        expect(ask(server, done["url"])[2] == data, "what was told is gone")
        expect(part(server, made, 2 * PIECE, data[2 * PIECE:]) == (201, len(data)), "not taken")
        expect(ask(server, made["url"])[2] == data, "other bytes")
        expect(not left(server, made) and not left(server, done), "parts are left")


def slots(checks, data, server):
    """Slots, and web pages."""
    with checks.check("uploads: who gives a slot up has it no more, and PUT fills one for parts too"):
        juliet = App(server, "juliet")
        made = want(juliet, data)
        expect(part(server, made, 0, data[:5], False) == (204, 5), "not taken")
        expect(ask(server, made["uploadUrl"], "DELETE")[0] == 204, "not given up")
        expect(ask(server, made["uploadUrl"], "HEAD")[0] == 404, "still there")
        expect(not left(server, made), "parts are left")
        made = want(juliet, data)
        expect(part(server, made, 0, data[:5], False) == (204, 5), "not taken")
        expect(Put(server, made["uploadUrl"], len(data), "video/mp4").send(data).answer() == (201, None), "not taken")
        expect(ask(server, made["url"])[2] == data, "other bytes")

    with checks.check("uploads: slots for parts are few, and what is used is told"):
        status, used = juliet.call("GET", "/v1/users/me/storage")
        expect(status == 200 and used["bytes"] >= 3 * len(data) and used["dayBytes"] > used["bytes"] and used["slots"] >= 1, f"{used}")
        while True:
            status, answer = juliet.call("POST", "/v1/attachments", {"name": "a", "mediaType": "text/plain", "size": 1, "resumable": True})
            if status != 201:
                break
        expect((status, answer["code"]) == (429, "slots-too-many"), f"{status} {answer}")
        expect(juliet.call("GET", "/v1/users/me/storage")[1]["slots"] >= 10, "not counted")
        slot(juliet, 1)  # those for PUT are counted by themselves

    with checks.check("uploads: web pages may send parts"):
        status, headers, _ = ask(server, made["uploadUrl"], "OPTIONS", {"Origin": "https://web.example", "Access-Control-Request-Method": "PATCH"})
        expect(status == 204 and "PATCH" in headers["Access-Control-Allow-Methods"] and "Upload-Offset" in headers["Access-Control-Allow-Headers"]
               and headers["Accept-Patch"] == "application/partial-upload" and "max-size=" in headers["Upload-Limit"], f"{headers}")


def run(checks):
    data = random.Random(3).randbytes(5 * PIECE + 11)
    with Server() as server:
        server.start()
        server.add_users("juliet")
        juliet = App(server, "juliet")

        parts(checks, data, server, juliet)
        interruptions(checks, data, server, juliet)
        slots(checks, data, server)
