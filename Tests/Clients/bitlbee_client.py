"""bitlbee, a gateway that is an IRC server to its user and an XMPP client of its own to the server, with an app client on the
other side. It is driven by a bare IRC client.
"""
import os
import pathlib
import shutil
import socket
import subprocess

from lib.across import Across
from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, Failure
from lib.irc import Irc


def start(server):
    """Starts it for one connection, as inetd does, and returns it with that connection."""
    folder = pathlib.Path(server.folder, "bitlbee")
    folder.mkdir()
    configuration = folder / "bitlbee.conf"
    configuration.write_text(f"[settings]\nCAfile = {server.certificate}\n")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname(), PATIENCE)
        theirs, _ = listener.accept()
    with theirs:
        process = subprocess.Popen(
            [shutil.which("bitlbee"), "-I", "-d", str(folder), "-c", str(configuration)], stdin=theirs, stdout=theirs, cwd=folder,
            env={**os.environ, "HOME": str(folder)})
    return process, ours


def converse(checks, server, link):
    juliet, dialog = server.juliet, server.dialog
    romeo = Irc(link, "romeo")

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
    # It takes no other ports for XMPP.
    with Across(ports=range(5220, 5230)) as server:
        bitlbee, link = start(server)
        with link:
            try:
                converse(checks, server, link)
            finally:
                bitlbee.terminate()
                bitlbee.wait(PATIENCE)
