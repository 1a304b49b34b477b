"""Finch, Pidgin without windows: libpurple in a terminal, with an app client on the other side. Driven by keys and read from its
screen.
"""
import pathlib
import shutil

from lib.across import Across
from lib.harness import PASSWORD, Failure
from lib.terminal import Terminal

ACCOUNTS = """<?xml version='1.0' encoding='UTF-8'?>
<account version='1.0'><account><protocol>prpl-jabber</protocol><name>romeo@localhost/finch</name><password>{password}</password>
<settings><setting name='port' type='int'>{port}</setting>
<setting name='connection_security' type='string'>require_tls</setting></settings>
<settings ui='gnt-purple'><setting name='auto-login' type='bool'>1</setting></settings></account></account>"""
# A room in the buddy list, entered at the login.
LIST = """<?xml version='1.0' encoding='UTF-8'?>
<purple version='1.0'><blist><group name='Rooms'><chat proto='prpl-jabber' account='romeo@localhost/finch'><alias>Verona</alias>
<component name='handle'>Romeo</component><component name='room'>{room}</component><component name='server'>{service}</component>
<setting name='gnt-autojoin' type='bool'>1</setting></chat></group></blist></purple>"""


def configure(server):
    home = pathlib.Path(server.folder, "home", ".purple")
    trusted = home / "certificates" / "x509" / "tls_peers"
    trusted.mkdir(parents=True)
    (trusted / "localhost").write_bytes(pathlib.Path(server.certificate).read_bytes())
    (home / "accounts.xml").write_text(ACCOUNTS.format(password=PASSWORD, port=server.xmpp))
    room, service = server.room_jid.split("@")
    (home / "blist.xml").write_text(LIST.format(room=room, service=service))


def converse(checks, server, finch):
    juliet, dialog = server.juliet, server.dialog
    with checks.check("finch: logs in over STARTTLS, whose certificate is pinned; the roster, and who is online"):
        server.online()
        finch.shows("Juliet")
    with checks.check("finch: enters the app's room, talks and listens"):
        finch.shows("The feud")
        finch.press("M-n")
        finch.type("Draw, if you be men")
        server.hears("Draw, if you be men", server.room)
        juliet.say(server.room, "Part, fools")
        finch.shows("Juliet: Part, fools")
    with checks.check("finch: messages in both directions"):
        juliet.say(dialog, "Ay me & <all>")
        finch.shows("Juliet (romeo@localhost")
        finch.press("M-n")
        finch.shows("Juliet: Ay me & <all>")
        finch.type("But soft, what light")
        server.hears("But soft, what light")
    with checks.check("finch: a user of the app asks to be a contact, and is one"):
        paris = server.stranger_asks()
        finch.shows("paris@localhost", "Authorize")
        finch.press("M-n", "Enter")
        paris.event("contact.updated", lambda d: d["contact"]["state"] == "following")
        paris.close()
    with checks.check("finch: quits, and is seen to be gone"):
        finch.press("M-q")
        server.online(False)


def run(checks):
    if not shutil.which("finch") or not shutil.which("tmux"):
        raise Failure("finch and tmux are needed: `make test` installs them")
    with Across() as server:
        configure(server)
        finch = Terminal(server.folder, "finch")
        try:
            converse(checks, server, finch)
        finally:
            finch.close()
