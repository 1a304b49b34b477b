"""Export and erasure: the archive read by other programs' readers of tar, JSON and XML, and compared with what was said; an erasure that
is cut off by kill -9 and goes on with the next start, without anybody asking again.
"""
import io
import json
import tarfile
import time
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, Server, expect
from lib.scrape import Growth

PIE = "urn:xmpp:pie:0"
SAID = 150


def archive(server, app):
    """The files of a new export, by name."""
    status, export = app.call("POST", "/v1/users/me/exports", {})
    expect(status == 202, f"no export: {status} {export}")
    end = time.monotonic() + PATIENCE
    while export["status"] == "pending" and time.monotonic() < end:
        status, export = app.call("GET", f"/v1/users/me/exports/{export['id']}")
    expect(export["status"] == "done", f"the export is {export}")
    parts = urllib.parse.urlsplit(export["url"])
    with urllib.request.urlopen(server.base + parts.path, timeout=PATIENCE) as answer:
        data = answer.read()
    expect(len(data) == export["size"], f"{len(data)} bytes instead of {export['size']}")
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


def lines(files, name):
    """Of all pieces of a list, in their order."""
    pieces = sorted((n for n in files if n.startswith(name + "-")), key=lambda n: int(n[len(name) + 1:].split(".")[0]))
    return [json.loads(line) for piece in pieces for line in files[piece].splitlines()]


def exports(checks, server):
    romeo, juliet, tybalt = (App(server, name) for name in ("romeo", "juliet", "tybalt"))
    dialog = romeo.dialog("juliet")
    for number in range(SAID):
        (romeo if number % 3 else juliet).say(dialog, f"line {number} ☀")
    status, group = juliet.call("POST", "/v1/dialogs", {"type": "group", "name": "Verona", "memberIds": ["romeo"]})
    romeo.say(group["id"], "in the group")
    other = juliet.dialog("tybalt")
    juliet.say(other, "not for Romeo")
    files = archive(server, romeo)
    with checks.check("export: what was said in one's dialogs, all of it, and nothing else"):
        messages = lines(files, "messages")
        wanted = romeo.history(dialog) + romeo.history(group["id"])
        by_id = {message["id"]: message for message in messages}
        expect(len(by_id) == len(messages), "a message twice")
        expect(by_id == {message["id"]: message for message in wanted}, f"{len(messages)} messages instead of {len(wanted)}")
        expect({d["id"] for d in lines(files, "dialogs")} == {dialog, group["id"]}, "other dialogs")
        expect(b"not for Romeo" not in b"".join(files.values()), "somebody else's message")
        expect("incomplete.txt" not in files, "a part of so little")
    with checks.check("export: profile, contacts and files as JSON"):
        profile = json.loads(files["profile.json"])
        expect(profile["id"] == "romeo" and profile["privateMetadata"] == {}, f"{profile}")
        contacts = [json.loads(line) for line in files["contacts.jsonl"].splitlines()]
        expect([c["userId"] for c in contacts] == ["juliet"], f"{contacts}")
    with checks.check("export: the XMPP account as XEP-0227, without its keys"):
        root = ElementTree.fromstring(files["account.xml"])
        expect(root.tag == f"{{{PIE}}}server-data", root.tag)
        host = root.find(f"{{{PIE}}}host")
        user = host.find(f"{{{PIE}}}user")
        expect((host.get("jid"), user.get("name"), user.get("password")) == ("localhost", "romeo", None), "another user")
        item = user.find("{jabber:iq:roster}query/{jabber:iq:roster}item")
        expect((item.get("jid"), item.get("subscription")) == ("juliet@localhost", "both"), f"{item.attrib}")
        expect(user.findtext("{vcard-temp}vCard/{vcard-temp}FN") == "Romeo", "no name in the vCard")
        expect("scram" not in files["account.xml"].decode(), "keys in an export")
    with checks.check("export: nobody else's, and not without end"):
        exported = romeo.call("GET", "/v1/users/me/exports")[1]["items"][0]
        expect(tybalt.call("GET", f"/v1/users/me/exports/{exported['id']}")[0] == 404, "another's export is told of")
        expect("expiresAt" in exported, f"{exported}")
        archive(server, romeo)
        growth = Growth(server)
        status, problem = romeo.call("POST", "/v1/users/me/exports", {})
        expect(status == 429 and problem["code"] == "requests-too-fast", f"{status} {problem}")
        growth.until("parley_refusals_total", 1, rate="exports")
    with checks.check("export: an operator's, by command"):
        made = json.loads(server.command("user", "export", "juliet@localhost", "--json"))
        with urllib.request.urlopen(server.base + urllib.parse.urlsplit(made["url"]).path, timeout=PATIENCE) as answer:
            with tarfile.open(fileobj=io.BytesIO(answer.read())) as tar:
                expect("profile.json" in tar.getnames(), f"{tar.getnames()}")


def erasures(checks, server):
    romeo, juliet = App(server, "romeo", "leaving"), App(server, "juliet", "staying")
    dialog = romeo.dialog("juliet")
    own = [m["id"] for m in juliet.history(dialog) if m["senderId"] == "juliet"]
    his = {m["id"] for m in juliet.history(dialog) if m["senderId"] == "romeo"}
    juliet.connect()
    with checks.check("erasure: cut off by kill -9 it goes on, and everybody is told of each message"):
        status, _ = romeo.call("DELETE", "/v1/users/me?erase=true")
        expect(status == 204, f"{status}")
        server.kill()
        server.start()
        # What was told before the end is not told again: the history says what is.
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            there = {m["id"]: m for m in juliet.history(dialog)}
            if all("deletedAt" in there[name] for name in his):
                break
        expect(all("deletedAt" in there[name] for name in his), "something that was said is still there")
        expect(all("deletedAt" not in there[name] for name in own), "what another said is gone")
        told = [m for m in there.values() if m["id"] in his and "line" in m["content"]["text"]]
        expect(not told, f"what was said is still told: {told[:1]}")
    with checks.check("erasure: the user is a stub, comes in nowhere, and is nobody's contact"):
        end = time.monotonic() + PATIENCE
        user = {}
        while "deleted" not in user and time.monotonic() < end:
            user = juliet.call("GET", "/v1/users/romeo")[1]
        expect(set(user) == {"id", "jid", "metadata", "createdAt", "deleted"}, f"{user}")
        expect(juliet.call("GET", "/v1/contacts")[1]["items"] == [], "still a contact")
        status, _ = juliet.call("POST", "/v1/sessions", {"grant": "password", "username": "romeo", "password": PASSWORD}, token=None)
        expect(status == 401, f"{status}")
    with checks.check("erasure: an operator's, by command"):
        server.command("user", "delete", "tybalt@localhost", "--erase", "--yes")
        expect(juliet.call("GET", "/v1/users/tybalt")[1].get("deleted") is True, "not deleted")
    juliet.close()


def run(checks):
    with Server() as server:
        server.start()
        server.add_users("romeo", "juliet", "tybalt")
        server.befriend("romeo", "juliet")
        exports(checks, server)
        erasures(checks, server)
