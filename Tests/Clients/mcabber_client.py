"""mcabber, a console client in C over loudmouth, with an app client on the other side. Driven by keys and read from its screen."""
import os
import pathlib
import shutil

from lib.across import Across
from lib.apps import App
from lib.harness import PASSWORD, Failure
from lib.terminal import Terminal


def configure(server):
    home = pathlib.Path(server.folder, "home", ".mcabber")
    home.mkdir(mode=0o700, parents=True)
    file = home / "mcabberrc"
    # loudmouth compares the name on the certificate with that of the account, not with the address below.
    file.write_text("".join(f"set {name} = {value}\n" for name, value in {
        "jid": "romeo@localhost", "password": PASSWORD, "server": "127.0.0.1", "port": server.xmpp, "tls": 1,
        "ssl_ca": server.certificate, "carbons": 1, "autoaway": 0, "log_display_sender": 1}.items()))
    os.chmod(file, 0o600)


def converse(checks, server, mcabber):
    juliet, dialog = server.juliet, server.dialog
    with checks.check("mcabber: logs in over STARTTLS, whose certificate it verifies"):
        server.online()
        mcabber.shows("Connection established.", "Carbons enabled.", "[o] juliet@localhost")
    with checks.check("mcabber: a message to the app; its receipt is shown"):
        # It asks for receipts once it knows that they are understood: its question about that is answered before this one.
        mcabber.type("/request vcard juliet@localhost")
        mcabber.shows("Received IQ:vCard result from <juliet@localhost>")
        mcabber.type("/roster search juliet")
        mcabber.press("Enter")  # the conversation is in front
        mcabber.type("But soft, what light")
        said = server.hears("But soft, what light")
        mcabber.shows("r-> But soft, what light")  # it asks for a receipt, and waits
        juliet.command("marker.set", {"dialogId": dialog, "delivered": said["id"]})
        mcabber.shows("--> But soft, what light")
    with checks.check("mcabber: messages from the app, and its receipts"):
        heard = juliet.say(dialog, "Ay me & <all>")
        mcabber.shows("Ay me & <all>")
        juliet.event("marker.updated", lambda d: d["marker"]["userId"] == "romeo" and d["marker"].get("delivered") == heard["id"])
    with checks.check("mcabber: what its user writes elsewhere comes as a carbon copy"):
        App(server, "romeo", "desk").say(dialog, "written elsewhere")
        mcabber.shows("written elsewhere")
    with checks.check("mcabber: a status is seen by the app"):
        mcabber.type("/status away gone to the orchard")
        server.online(availability="away", status="gone to the orchard")
        mcabber.type("/status online -")
        server.online(availability="online")
    with checks.check("mcabber: a user of the app asks to be a contact, and is one"):
        paris = server.stranger_asks()
        mcabber.shows("paris@localhost")
        mcabber.type("/authorization allow paris@localhost")
        paris.event("contact.updated", lambda d: d["contact"]["state"] == "following")
        mcabber.type("/add paris@localhost Paris")
        # An app's wish is also its consent.
        paris.event("contact.updated", lambda d: d["contact"]["state"] == "mutual")
        paris.close()
    with checks.check("mcabber: enters the app's room, talks and listens"):
        mcabber.type(f"/room join {server.room_jid} Romeo")
        mcabber.shows('You have joined', f"[C] {server.room_jid}"[:20])
        mcabber.type(f"/roster search {server.room_jid}")
        mcabber.press("Enter")
        mcabber.type("Draw, if you be men")
        server.hears("Draw, if you be men", server.room)
        juliet.say(server.room, "Part, fools")
        mcabber.shows("Part, fools", "The feud")
        mcabber.type("/room names")
        mcabber.shows("Juliet", "Romeo")
        mcabber.type("/room topic Peace")
    with checks.check("mcabber: quits, and is seen to be gone"):
        mcabber.quit()
        server.online(False)


def run(checks):
    if not shutil.which("mcabber") or not shutil.which("tmux"):
        raise Failure("mcabber and tmux are needed: `make test` installs them")
    with Across() as server:
        configure(server)
        mcabber = Terminal(server.folder, "mcabber")
        try:
            converse(checks, server, mcabber)
        finally:
            mcabber.close()
