"""Retention and legal holds: slixmpp's archive, an app and the commands. Time does not pass here: while the server is stopped, what was
said is made old in its database.
"""
import asyncio
import contextlib
import json
import pathlib
import sqlite3
import subprocess
import time
import urllib.parse

from slixmpp.exceptions import IqError

from lib.apps import App, exchange_json
from lib.files import ask, attach, upload
from lib.harness import PATIENCE, Server, expect
from lib.peers import Client
from lib.scrape import Growth

OLD = 24
MANY = 600
DAY = 86_400_000
JULIET = "juliet@localhost"


def age(server, days):
    """All that was said so far was said so many days earlier."""
    server.stop()
    with contextlib.closing(sqlite3.connect(pathlib.Path(server.data) / "parley.db")) as database, database:
        database.execute("UPDATE payloads SET time = time - ?", (days * DAY,))
    server.start()


def count(server):
    """The messages in the database."""
    with contextlib.closing(sqlite3.connect(pathlib.Path(server.data) / "parley.db")) as database:
        return database.execute("SELECT count(*) FROM payloads WHERE kind = 1 AND seq > 0").fetchone()[0]


def configure(server, text):
    pathlib.Path(server.configuration).write_text(text)


def status(server):
    return json.loads(server.command("retention", "status", "--json"))


def settled(server):
    """The run of the start has ended."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        shown = status(server)
        if shown.get("last") and not shown["isRunning"]:
            return shown["last"]
    expect(False, f"no run has ended: {shown}")


async def archive(server, after=None):
    """The bodies in Romeo's archive with Juliet, or the condition of the error."""
    romeo = await Client(server, "romeo@localhost/orchard").arrive()
    try:
        if after:
            iq = romeo.make_iq_set()
            iq["mam"]["queryid"] = "q"
            iq["mam"]["rsm"]["after"] = after
            await iq.send(timeout=PATIENCE)
            return None
        return [str(entry["mam_result"]["forwarded"]["stanza"]["body"]) async for entry in romeo["xep_0313"].iterate(
            with_jid=JULIET, rsm={"max": 7})]
    except IqError as error:
        return error.condition
    finally:
        await romeo.leave()


def ages(checks, server):
    romeo, juliet = App(server, "romeo"), App(server, "juliet")
    dialog = romeo.dialog("juliet")
    cursor = juliet.call("GET", "/v1/sync")[1]["cursor"]
    said = [romeo.say(dialog, f"vanishing {number}") for number in range(OLD)]
    place = f"/v1/dialogs/{dialog}/messages/"
    for code, answer in [romeo.call("PATCH", place + said[0]["id"], {"content": {"type": "text", "text": "vanishing edit"}}),
                         juliet.call("PUT", place + said[1]["id"] + "/reactions", {"emoji": ["❤"]})]:
        expect(code < 300, f"{code} {answer}")
    made = upload(server, romeo, b"vanishing bytes" * 100)
    message = attach(romeo, dialog, made, "file")
    url = message["content"]["attachments"][0]["url"]
    room = romeo.call("POST", "/v1/dialogs", {"type": "group", "name": "Verona", "memberIds": ["juliet"]})[1]["id"]
    romeo.say(room, "staying in the room")
    age(server, 10)
    for number in range(3):
        romeo.say(dialog, f"recent {number}")
    with checks.check("retention: by default nothing goes; a reload sets an age; a dry run counts"):
        expect("for ever" in server.command("retention", "status"), "something goes")
        expect("Removed 0 messages" in server.command("retention", "run"), "something went")
        configure(server, "retention:\n  private_days: 7\n")
        told = json.loads(server.command("reload", "--json"))["changes"]
        expect(told == [{"key": "retention.private_days", "effect": "now"}], f"{told}")
        text = server.command("retention", "run", "--dry-run")
        expect(f"Would remove {OLD + 1} messages of 1 dialogs" in text, text)
        expect(len(juliet.history(dialog)) == OLD + 4, "a dry run has removed something")
    with checks.check("retention: what is old is gone in both protocols, and what is not is there"):
        growth = Growth(server)
        text = server.command("retention", "run")
        expect(f"Removed {OLD + 1} messages of 1 dialogs" in text, text)
        growth.until("parley_retention_removed_total", OLD + 1, kind="messages")
        texts = [m["content"]["text"] for m in juliet.history(dialog)]
        expect(texts == [f"recent {number}" for number in range(3)], f"{texts}")
        bodies = [body for body in asyncio.run(archive(server)) if body]
        expect(bodies == texts, f"{bodies}")
        expect(any(m["content"].get("text") == "staying in the room" for m in juliet.history(room)), "the room's message is gone")
        code, found = juliet.call("GET", "/v1/messages?query=vanishing")
        expect((code, found["items"]) == (200, []), f"{found}")
        found = juliet.call("GET", "/v1/messages?query=recent")[1]["items"]
        expect(len(found) == 3, f"{found}")
    with checks.check("retention: what was unread and is gone is not unread"):
        listed = {d["id"]: d for d in juliet.call("GET", "/v1/dialogs")[1]["items"]}
        expect(listed[dialog]["me"]["unreadCount"] == 3, f"{listed[dialog]}")
        expect(listed[dialog]["lastMessage"]["content"]["text"] == "recent 2", f"{listed[dialog]}")
        code, _ = juliet.call("PUT", f"/v1/dialogs/{dialog}/marker", {"read": listed[dialog]["lastMessage"]["id"]})
        listed = {d["id"]: d for d in juliet.call("GET", "/v1/dialogs")[1]["items"]}
        expect(code == 200 and listed[dialog]["me"]["unreadCount"] == 0, f"{listed[dialog]}")
    with checks.check("retention: who asks from before it is told: resync, item-not-found, an unknown cursor"):
        events = juliet.call("GET", f"/v1/sync?cursor={cursor}")[1]["events"]
        expect([(e["type"], e["data"]["reason"]) for e in events] == [("resync", "expired")], f"{events}")
        juliet.connect(cursor)
        expect(juliet.event("resync")["data"]["reason"] == "expired", "another reason")
        romeo.say(dialog, "after the resync")
        juliet.message("after the resync")
        expect(asyncio.run(archive(server, after=said[2]["id"])) == "item-not-found", "a page after what is gone")
        code, problem = juliet.call("GET", f"/v1/dialogs/{dialog}/messages?before={said[2]['id']}")
        expect((code, problem["code"]) == (400, "cursor-unknown"), f"{problem}")
    with checks.check("retention: neither the file nor, once the server has stopped, any word of it is left"):
        code, _ = juliet.call("GET", urllib.parse.urlsplit(url).path)
        expect(code == 404, f"{code}")
        server.stop()
        data = (pathlib.Path(server.data) / "parley.db").read_bytes()
        expect(b"vanishing" not in data, "a word is in the database")
        expect(b"recent 2" in data, "the database is not where words are")
        server.start()
    juliet.close()


def holds(checks, server):
    romeo, juliet = App(server, "romeo"), App(server, "juliet")
    dialog = romeo.dialog("juliet")
    for number in range(MANY):
        romeo.say(dialog, f"evidence {number}")
    with checks.check("hold: nothing of a held user or dialog goes, over kill -9 and any run"):
        server.command("hold", "add", JULIET, "--note", "case 17")
        server.command("hold", "add", dialog)
        age(server, 10)
        server.kill()
        server.start()
        expect(settled(server)["messages"] == 0, "something went at the start")
        text = server.command("retention", "run")
        expect("Removed 0 messages" in text and "Held: 1." in text, text)
        listed = json.loads(server.command("hold", "list", "--json"))
        expect([(h["kind"], h["subject"], h.get("note")) for h in listed] == [("user", JULIET, "case 17"), ("dialog", dialog, None)], f"{listed}")
        code, _ = juliet.call("DELETE", "/v1/users/me?erase=true")
        expect(code == 204, f"{code}")
        expect([task["kind"] for task in tasks(server)] == ["erasure"], "the erasure does not wait")
        expect(count(server) >= MANY, "something went")
        newest = json.loads(server.command("audit", "--json", "--matching", "holds.add"))
        expect({row["object"] for row in newest} == {JULIET, dialog}, f"{newest}")
    with checks.check("retention: cut off by kill -9 in the middle, the next start goes on"):
        server.command("user", "enable", JULIET)
        server.command("hold", "remove", dialog)
        server.command("hold", "remove", JULIET.partition("@")[0])
        before = count(server)
        run = subprocess.Popen(
            [str(server.binary), "retention", "run", "--config", server.configuration], env=server.environment(),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + PATIENCE
        while count(server) == before and time.monotonic() < end:
            pass
        server.kill()
        run.wait(timeout=PATIENCE)
        left = count(server)
        expect(0 < before - left < MANY, f"{left} of {before} are left")
        server.start()
        settled(server)
        expect("Removed 0 messages" in server.command("retention", "run"), "there is more to remove")
        expect(all("evidence" not in m["content"]["text"] for m in romeo.history(dialog)), "something is still there")
        romeo.say(dialog, "a new beginning")
        expect([m["content"]["text"] for m in romeo.history(dialog)][-1:] == ["a new beginning"], "it does not go on")


def files(checks, server):
    with checks.check("retention: beyond the bytes of a domain the oldest files go, whoever's they are, and nobody's picture"):
        romeo, juliet = App(server, "romeo"), App(server, "juliet")
        dialog = romeo.dialog("juliet")
        said = [attach(app, dialog, upload(server, app, bytes([65 + number]) * 1000), f"file {number}")
                for number, app in enumerate([romeo, juliet, romeo, juliet])]
        urls = [message["content"]["attachments"][0]["url"] for message in said]
        configure(server, "retention:\n  private_days: 7\n  file_bytes: 2500\n")
        server.command("reload")
        expect("2500 bytes" in server.command("retention", "status"), "the bound is not shown")
        expect("2 files" in server.command("retention", "run", "--dry-run"), "it counts otherwise")
        growth = Growth(server)
        expect("Removed 0 messages of 0 dialogs, 2 files" in server.command("retention", "run"), "it removes otherwise")
        growth.until("parley_retention_removed_total", 2, kind="files")
        expect([ask(server, url)[0] for url in urls] == [404, 404, 200, 200], "others are gone")
        expect([m["id"] for m in juliet.history(dialog)][-4:] == [m["id"] for m in said], "a message is gone")
        expect("0 files" in server.command("retention", "run"), "there is more to remove")


def tasks(server):
    key = json.loads(server.command("key", "add", "tasks", "--scope", "users:read", "--json"))
    return exchange_json("GET", server.base + "/v1/admin/tasks", token=key["secret"])[2]["items"]


def run(checks):
    with Server() as server:
        server.start()
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        ages(checks, server)
        files(checks, server)
        holds(checks, server)
