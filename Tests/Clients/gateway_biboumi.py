"""biboumi, a gateway to IRC written by others, attached as a component (XEP-0114), with ngircd behind it: a slixmpp client enters
an IRC channel as if it were a room, and talks there with a bare IRC client; then privately, both ways, with the archive.

Both programs are Debian's.
"""
import asyncio
import logging
import pathlib
import shutil
import tempfile

from slixmpp import JID

from lib.harness import PATIENCE, Failure, Server, expect, free_port
from lib.irc import Irc
from lib.peers import text
from lib.rooms import Guest
from lib.services import Program

DOMAIN, SECRET = "irc.localhost", "prospero"
IRC_PORT = 6667  # that of RFC 1459: an address that names another has a colon, which no localpart may have


def start_irc(folder, port):
    path = pathlib.Path(folder, "ngircd.conf")
    path.write_text(
        f"[Global]\nName = irc.test.example\nInfo = test\nListen = 127.0.0.1\nPorts = {port}\n[Options]\nDNS = no\nIdent = no\n"
        "PAM = no\n[Limits]\nMaxConnections = 20\nMaxConnectionsIP = 20\nMaxJoins = 10\n")
    return Program(
        folder, shutil.which("ngircd"), "-n", "-f", str(path), ready=lambda log: log.until("it listens", lambda text: "listening" in text.lower()))


def start_biboumi(folder, server, port):
    path = pathlib.Path(folder, "biboumi.cfg")
    path.write_text(
        f"hostname={DOMAIN}\npassword={SECRET}\nxmpp_server_ip=127.0.0.1\nport={port}\ndb_name={folder}/biboumi.sqlite\nlog_level=1\n"
        f"admin=\nidentd_port=0\npersistent_by_default=false\npolicy_directory={folder}\n")
    return Program(
        folder, shutil.which("biboumi"), str(path),
        ready=lambda log: server.log.until("biboumi is connected", lambda text: "component connected" in text))


async def talk(checks, server, irc_port):
    loop = asyncio.get_running_loop()
    channel = f"#verona%127.0.0.1@{DOMAIN}"
    tybalt = await loop.run_in_executor(None, lambda: Irc(irc_port, "tybalt"))
    tybalt.say("JOIN #verona")
    romeo = await Guest(server, "romeo").arrive()
    with checks.check("biboumi: is listed, and says what it is"):
        items = await romeo.plugin["xep_0030"].get_items(jid="localhost")
        expect(DOMAIN in {str(item[0]) for item in items["disco_items"]["items"]}, str(items))
        info = await romeo.plugin["xep_0030"].get_info(jid=DOMAIN, timeout=PATIENCE)
        expect(("conference", "irc") in {(i[0], i[1]) for i in info["disco_info"]["identities"]}, str(info))
    with checks.check("biboumi: an IRC channel is entered like a room"):
        await romeo.enter(channel, "romeo", maxstanzas=0)
        expect("tybalt" in romeo.muc.get_roster(channel), f"there are {romeo.muc.get_roster(channel)}")
        await loop.run_in_executor(None, lambda: tybalt.hears(":romeo!"))
    with checks.check("biboumi: what is said there goes both ways"):
        romeo.send_message(mto=channel, mbody="but soft", mtype="groupchat")
        await loop.run_in_executor(None, lambda: tybalt.hears("PRIVMSG #verona :but soft"))
        tybalt.say("PRIVMSG #verona :what light")
        said = await romeo.saw("groupchat_message", text("what light"))
        expect(str(said["from"]) == f"{channel}/tybalt", str(said))
    with checks.check("biboumi: private talk is in the archive, of both"):
        person = f"tybalt%127.0.0.1@{DOMAIN}"
        romeo.send_message(mto=person, mbody="a word", mtype="chat")
        await loop.run_in_executor(None, lambda: tybalt.hears("PRIVMSG tybalt :a word"))
        tybalt.say("PRIVMSG romeo :and a blow")
        heard = await romeo.saw("message", text("and a blow"))
        expect(heard["from"].domain == DOMAIN, str(heard))
        results = await romeo.plugin["xep_0313"].retrieve(with_jid=JID(person), rsm={"max": 10})
        bodies = [str(r["mam_result"]["forwarded"]["stanza"]["body"]) for r in results["mam"]["results"]]
        expect(bodies[:1] == ["a word"], f"it has {bodies}")
    with checks.check("biboumi: who leaves is gone on IRC"):
        await romeo.leave()
        await loop.run_in_executor(None, lambda: tybalt.log.until(
            "that Romeo went", lambda text: any(":romeo!" in line and (" PART " in line or " QUIT " in line) for line in text.splitlines())))


def run(checks):
    if not shutil.which("biboumi") or not shutil.which("ngircd"):
        raise Failure("biboumi and ngircd are needed: `make test` installs them")
    logging.getLogger("slixmpp").setLevel(logging.CRITICAL)
    port, irc_port = free_port(), IRC_PORT
    with tempfile.TemporaryDirectory(prefix="parley-biboumi-") as folder, Server(
            components=f"{DOMAIN}={SECRET}", component__port=port) as server:
        server.start()
        server.add_users("romeo")
        irc = start_irc(folder, irc_port)
        try:
            gateway = start_biboumi(folder, server, port)
            try:
                asyncio.run(talk(checks, server, irc_port))
            finally:
                gateway.stop()
        finally:
            irc.stop()
