"""Dino, a graphical client with an XMPP library of its own, with an app client on the other side. The real program runs on a screen of
its own (Xvfb): it is opened by links, typed into, and what it has is read from its database. It takes the host and the port from the
domain, so the server listens on 5222.
"""
import hashlib
import shutil

from lib.across import Across
from lib.apps import App
from lib.dino import PROGRAMS, READ, RECEIVED, Dino
from lib.harness import Failure, expect
from lib.peers import ROSE, put_picture


def converse(checks, server, dino):
    juliet, dialog = server.juliet, server.dialog
    with checks.check("dino: logs in over STARTTLS, whose certificate it verifies; the roster"):
        dino.sign_up("romeo@localhost")
        dino.start()
        server.online()
        dino.has("contact", "SELECT jid FROM roster WHERE jid = 'juliet@localhost' AND subscription = 'both'")
    with checks.check("dino: the app's picture"):
        put_picture(juliet, ROSE)
        dino.has("picture", "SELECT hash FROM contact_avatar WHERE hash = ?", hashlib.sha1(ROSE).hexdigest())
    with checks.check("dino: a message to the app, received and read"):
        dino.open("xmpp:juliet@localhost?message")
        dino.has("conversation", "SELECT id FROM conversation WHERE active = 1")
        dino.type("But soft, what light")
        said = server.hears("But soft, what light")
        juliet.command("marker.set", {"dialogId": dialog, "delivered": said["id"]})
        dino.message("But soft, what light", marked=RECEIVED)
        juliet.command("marker.set", {"dialogId": dialog, "read": said["id"]})
        dino.message("But soft, what light", marked=READ)
    with checks.check("dino: a message from the app, which is told that it was received"):
        heard = juliet.say(dialog, "Ay me & <all>")
        dino.message("Ay me & <all>")
        juliet.event("marker.updated", lambda d: d["marker"]["userId"] == "romeo" and heard["id"] in (d["marker"].get("delivered"), d["marker"].get("read")))
    with checks.check("dino: what its user writes elsewhere comes as a carbon copy"):
        App(server, "romeo", "desk").say(dialog, "written elsewhere")
        dino.message("written elsewhere")
    with checks.check("dino: enters a group of the app by its bookmark"):
        status, group = juliet.call("POST", "/v1/dialogs", {"type": "group", "name": "Balcony", "memberIds": ["romeo"]})
        expect(status == 201, f"{status} {group}")
        juliet.say(group["id"], "Part, fools")
        dino.message("Part, fools")
    with checks.check("dino: quits, and is seen to be gone"):
        dino.quit()
        server.online(False)
    with checks.check("dino: logs in again by itself; what was said meanwhile comes from the archive"):
        juliet.say(dialog, "said while you were out")
        dino.start()
        dino.message("said while you were out")


def run(checks):
    for program in PROGRAMS:
        if not shutil.which(program):
            raise Failure(f"{program} is needed: `make test` installs it")
    with Across(ports=[5222]) as server:
        dino = Dino(server)
        try:
            converse(checks, server, dino)
        finally:
            dino.close()
