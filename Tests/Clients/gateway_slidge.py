"""slidge, a gateway written by others, attached as a privileged component (XEP-0114, XEP-0356), with a network of this check behind
it (`slidge_tavern.py`): a slixmpp client registers there (XEP-0077), finds the contacts in its roster without asking for
them, and talks with one; what it says in the tavern itself is a message of its own everywhere: carbons, archive, app.
"""
import asyncio
import contextlib
import importlib.util
import json
import logging
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading

from slixmpp import JID

from lib.apps import App
from lib.harness import PATIENCE, Failure, Server, expect, free_port
from lib.peers import Client, text
from lib.services import Program

HERE = pathlib.Path(__file__).resolve().parent
DOMAIN, SECRET = "tavern.localhost", "prospero"
TYBALT = f"tybalt@{DOMAIN}"


class Tavern:
    """The network: who comes in is a user of slidge."""

    def __init__(self):
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        self.lines = queue.Queue()
        self.link = None
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                self.link, _ = self.door.accept()
                for line in self.link.makefile("r", encoding="utf-8"):
                    self.lines.put(json.loads(line))
            except OSError:
                return  # what is missing then is told by who waits for it

    def say(self, who, text, carbon=False):
        self.link.sendall(json.dumps(dict(who=who, text=text, carbon=carbon)).encode() + b"\n")

    def hears(self, **what):
        while True:
            try:
                line = self.lines.get(timeout=PATIENCE)
            except queue.Empty:
                raise Failure(f"the tavern did not hear {what}") from None
            if line == what:
                return


def start_slidge(folder, port, tavern):
    os.environ["TAVERN_PORT"] = str(tavern.port)
    os.environ["PYTHONPATH"] = str(HERE)
    return Program(
        folder, sys.executable, "-m", "slidge", "--legacy-module", "slidge_tavern", "--jid", DOMAIN, "--secret", SECRET, "--server",
        "127.0.0.1", "--port", str(port), "--home-dir", os.path.join(folder, "slidge"), "--admins", "admin@localhost",
        ready=lambda log: log.until("slidge has started", lambda text: "Slidge has successfully started" in text, 3 * PATIENCE))


def stop(slidge):
    # SIGTERM is an exception there that a stanza which is being handled swallows, and at times so is SIGINT.
    try:
        for _ in range(6):
            slidge.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                slidge.process.wait(PATIENCE / 6)
                break
        expect(slidge.process.poll() is not None, "slidge does not end")
    finally:
        slidge.stop()


async def arrive(server, resource):
    client = Client(server, f"romeo@localhost/{resource}")
    client.register_plugin("xep_0077")
    client.register_plugin("xep_0402")
    await client.arrive()
    client.send_presence()
    await client.get_roster()
    await client.plugin["xep_0280"].enable()
    return client


async def live(checks, server, tavern):
    loop = asyncio.get_running_loop()

    async def aside(body):
        return await loop.run_in_executor(None, body)

    romeo, tablet = await arrive(server, "orchard"), await arrive(server, "tablet")
    phone = await aside(lambda: App(server, "romeo", "phone").connect())
    with checks.check("slidge: is listed, and says what it is"):
        items = await romeo.plugin["xep_0030"].get_items(jid="localhost")
        expect(DOMAIN in {str(item[0]) for item in items["disco_items"]["items"]}, str(items))
        info = await romeo.plugin["xep_0030"].get_info(jid=DOMAIN, timeout=PATIENCE)
        expect(("gateway", "tavern") in {(i[0], i[1]) for i in info["disco_info"]["identities"]}, str(info))
    with checks.check("slidge: a user registers, and it stands in their roster"):
        form = await romeo.plugin["xep_0077"].get_registration(jid=DOMAIN, timeout=PATIENCE)
        expect("username" in str(form), str(form))
        iq = romeo.make_iq_set(ito=DOMAIN)
        iq["register"]["username"], iq["register"]["password"] = "montague", "secret"
        await iq.send(timeout=PATIENCE)
        await aside(lambda: tavern.hears(ready="romeo@localhost"))
        await romeo.saw("roster_update", lambda iq: DOMAIN in iq["roster"]["items"])
        expect(romeo.client_roster[DOMAIN]["subscription"] == "both", f"{romeo.client_roster[DOMAIN]}")
    with checks.check("slidge: the contacts of the network are in the roster, in both protocols, and there"):
        for name in ("tybalt", "mercutio"):
            await romeo.saw("roster_update", lambda iq: f"{name}@{DOMAIN}" in iq["roster"]["items"])
        for name in ("tybalt", "mercutio"):
            item = romeo.client_roster[f"{name}@{DOMAIN}"]
            expect((item["subscription"], item["name"], item["groups"]) == ("both", name.capitalize(), ["Tavern"]), f"{item}")
        await romeo.saw("presence_available", lambda p: p["from"].bare == TYBALT and str(p["status"]) == "drinking")
        _, contacts = await aside(lambda: phone.call("GET", "/v1/contacts"))
        found = {item["jid"]: item for item in contacts["items"]}
        expect(found[TYBALT]["state"] == "mutual" and found[TYBALT]["name"] == "Tybalt", f"{found}")
    with checks.check("slidge: what a contact says arrives, and what is answered"):
        tavern.say("tybalt", "what, drawn, and talk of peace?")
        heard = await romeo.saw("message", text("what, drawn, and talk of peace?"))
        expect(heard["from"].bare == TYBALT, str(heard))
        await aside(lambda: phone.message("what, drawn, and talk of peace?"))
        romeo.send_message(mto=heard["from"], mbody="I do protest", mtype="chat")
        await aside(lambda: tavern.hears(to="tybalt", text="I do protest"))
        dialog = await aside(lambda: phone.dialog(TYBALT))
        await aside(lambda: phone.say(dialog, "from the app"))
        await aside(lambda: tavern.hears(to="tybalt", text="from the app"))
    with checks.check("slidge: what the user says in the network is theirs everywhere"):
        tavern.say("tybalt", "I never injured thee", carbon=True)
        for client in (romeo, tablet):
            copy = await client.saw("carbon_sent", lambda m: str(m["carbon_sent"]["body"]) == "I never injured thee")
            inner = copy["carbon_sent"]
            expect(inner["from"].bare == "romeo@localhost" and inner["to"].bare == TYBALT, str(copy))
        message = await aside(lambda: phone.message("I never injured thee"))
        expect(message["senderId"] == "romeo" and message["dialogId"] == dialog, f"{message}")
        results = await romeo.plugin["xep_0313"].retrieve(with_jid=JID(TYBALT), rsm={"max": 20})
        said = [(r["mam_result"]["forwarded"]["stanza"]["from"].bare, str(r["mam_result"]["forwarded"]["stanza"]["body"]))
                for r in results["mam"]["results"]]
        expect([line for line in said if line[1]] == [
            (TYBALT, "what, drawn, and talk of peace?"), ("romeo@localhost", "I do protest"), ("romeo@localhost", "from the app"),
            ("romeo@localhost", "I never injured thee")], f"the archive has {said}")
        # It was not said twice: slidge knows it for its own.
        tavern.say("tybalt", "thou shalt not stir one foot")
        await romeo.saw("message", text("thou shalt not stir one foot"))
        expect(not any(line.get("text") == "I never injured thee" for line in list(tavern.lines.queue)), "it came back")
    with checks.check("slidge: who is away finds all of it"):
        await romeo.leave()
        await tablet.leave()
        tavern.say("mercutio", "I am hurt")
        tavern.say("mercutio", "courage, man", carbon=True)
        await aside(lambda: phone.message("courage, man"))
        romeo = await arrive(server, "orchard")
        results = await romeo.plugin["xep_0313"].retrieve(with_jid=JID(f"mercutio@{DOMAIN}"), rsm={"max": 20})
        bodies = [str(r["mam_result"]["forwarded"]["stanza"]["body"]) for r in results["mam"]["results"]]
        expect(bodies == ["I am hurt", "courage, man"], f"the archive has {bodies}")
    return romeo


async def again(checks, romeo, tavern):
    """slidge has come back: it has kept its users."""
    loop = asyncio.get_running_loop()
    with checks.check("slidge: comes back, and so do its contacts"):
        await loop.run_in_executor(None, lambda: tavern.hears(ready="romeo@localhost"))
        tavern.say("tybalt", "turn thee")
        await romeo.saw("message", text("turn thee"))
        expect(romeo.client_roster[TYBALT]["subscription"] == "both", f"{romeo.client_roster[TYBALT]}")
    await romeo.leave()


def configure(server, roster="both"):
    pathlib.Path(server.configuration).write_text(
        f"components:\n  - name: {DOMAIN}\n    secret: {SECRET}\n    roster: {roster}\n    message: outgoing\n"
        "    presence: managed_entity\n    iq:\n      - http://jabber.org/protocol/pubsub both\n"
        "      - http://jabber.org/protocol/pubsub#owner set\n      - urn:xmpp:http:upload:0 get\n")


def run(checks):
    # Not imported: it changes slixmpp under the clients of other checks.
    if importlib.util.find_spec("slidge") is None:
        raise Failure("slidge is needed: `make clients` installs it")
    logging.getLogger("slixmpp").setLevel(logging.CRITICAL)
    port, tavern = free_port(), Tavern()
    with tempfile.TemporaryDirectory(prefix="parley-slidge-") as folder, Server(component__port=port) as server:
        configure(server)
        server.start()
        server.add_users("romeo")
        gateway = start_slidge(folder, port, tavern)

        async def play():
            nonlocal gateway
            romeo = await live(checks, server, tavern)
            stop(gateway)
            gateway = await asyncio.get_running_loop().run_in_executor(None, lambda: start_slidge(folder, port, tavern))
            await again(checks, romeo, tavern)

        try:
            asyncio.run(play())
        finally:
            stop(gateway)
