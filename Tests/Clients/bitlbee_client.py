"""bitlbee, a gateway that is an IRC server to its user and an XMPP client of its own to the server, with an app client on the
other side. It is driven by a bare IRC client.
"""
import contextlib
import pathlib
import shutil
import socket
import time

from lib.across import Across
from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, Failure, expect, free_port
from lib.irc import Irc
from lib.services import Program


def until_open(port):
    """bitlbee says nothing once it listens."""
    end = time.monotonic() + PATIENCE
    while True:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        expect(time.monotonic() < end, "it does not listen")
        time.sleep(0.02)


def start(server, port):
    folder = pathlib.Path(server.folder, "bitlbee")
    folder.mkdir()
    configuration = folder / "bitlbee.conf"
    configuration.write_text(f"[settings]\nCAfile = {server.certificate}\n")
    return Program(
        server.folder, shutil.which("bitlbee"), "-n", "-D", "-v", "-i", "127.0.0.1", "-p", str(port), "-d", str(folder), "-c",
        str(configuration), ready=lambda log: until_open(port))


def converse(checks, server, port):
    juliet, dialog = server.juliet, server.dialog
    romeo = Irc(port, "romeo")

    def tell(*commands):
        romeo.say(*(f"PRIVMSG &bitlbee :{command}" for command in commands))

    with checks.check("bitlbee: logs in over STARTTLS, whose certificate it verifies"):
        tell(f"account add jabber romeo@localhost {PASSWORD}", "account jabber set server localhost",
             f"account jabber set port {server.xmpp}", "account jabber set tls true", "account jabber set tls_verify true",
             "set typing_notice true", "account jabber on")
        romeo.hears("jabber - Logging in: Logged in")
        server.online()
        romeo.hears("jabber - Carbons enabled")
    with checks.check("bitlbee: the roster, with who is online"):
        romeo.hears("MODE &bitlbee +v juliet")
    with checks.check("bitlbee: messages in both directions"):
        romeo.say("PRIVMSG juliet :But soft, what light")
        server.hears("But soft, what light")
        juliet.say(dialog, "Ay me & <all>")
        romeo.hears(":juliet!juliet@localhost PRIVMSG romeo :Ay me & <all>")
    with checks.check("bitlbee: what its user writes elsewhere comes as a carbon copy"):
        App(server, "romeo", "desk").say(dialog, "written elsewhere")
        romeo.hears("written elsewhere")
    with checks.check("bitlbee: typing in both directions"):
        juliet.command("typing", {"dialogId": dialog, "on": True})
        romeo.hears("\x01TYPING 1\x01")
        romeo.say("PRIVMSG juliet :\x01TYPING 1\x01")
        juliet.event("typing.updated", lambda d: d["dialogId"] == dialog and d["userIds"] == ["romeo"])
    with checks.check("bitlbee: a status is seen by the app"):
        romeo.say("AWAY :gone to the orchard")
        server.online(availability="away", status="gone to the orchard")
        romeo.say("AWAY")
        server.online(availability="online")
    with checks.check("bitlbee: a user of the app asks to be a contact, and is one"):
        paris = server.stranger_asks()
        romeo.hears("paris@localhost")
        tell("yes")  # to the question
        paris.event("contact.updated", lambda d: d["contact"]["state"] == "following")
        tell("add jabber paris@localhost")
        paris.event("contact.updated", lambda d: d["contact"]["state"] == "mutual")
        paris.close()
    with checks.check("bitlbee: enters the app's room, talks and listens"):
        tell(f"chat add jabber {server.room_jid} #verona")
        romeo.hears("Chatroom successfully added")
        romeo.say("JOIN #verona")
        romeo.hears("TOPIC #verona :The feud")
        romeo.say("PRIVMSG #verona :Draw, if you be men")
        server.hears("Draw, if you be men", server.room)
        juliet.say(server.room, "Part, fools")
        romeo.hears("PRIVMSG #verona :Part, fools")
    with checks.check("bitlbee: logs out, and is seen to be gone"):
        tell("account jabber off")
        server.online(False)


def run(checks):
    if not shutil.which("bitlbee"):
        raise Failure("bitlbee is needed: `make test` installs it")
    port = free_port()
    # It takes no other ports for XMPP.
    with Across(ports=range(5220, 5230)) as server:
        bitlbee = start(server, port)
        try:
            converse(checks, server, port)
        finally:
            bitlbee.stop()
