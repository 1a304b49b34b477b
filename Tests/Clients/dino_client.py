"""Dino, a graphical client with an XMPP library of its own, with an app client on the other side. The real program runs on a screen of
its own (Xvfb): it is opened by links, typed into, and what it has is read from its database. It takes the host and the port from the
domain, so the server listens on 5222.
"""
import contextlib
import hashlib
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import time

from lib.across import Across
from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, Failure, Log, expect
from lib.peers import ROSE, put_picture

CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
RECEIVED, READ = 1, 2  # of `message.marked`


class Dino:
    def __init__(self, server):
        self.home = pathlib.Path(server.folder, "home")
        self.home.mkdir()
        self.trusted = self.home / "trusted.pem"
        self.trusted.write_bytes(pathlib.Path(CERTIFICATES).read_bytes() + b"\n" + pathlib.Path(server.certificate).read_bytes())
        self.data = self.home / "data" / "dino" / "dino.db"
        reading, writing = os.pipe()
        self.screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x900x24", "-nolisten", "tcp", "-ac"], pass_fds=[writing],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(writing)
        with open(reading) as pipe:
            display = pipe.readline().strip()  # written when it is ready, or closed
        expect(display, "no screen")
        home = str(self.home)
        self.environment = {
            "HOME": home, "XDG_RUNTIME_DIR": home, "XDG_DATA_HOME": home + "/data", "XDG_CONFIG_HOME": home + "/config",
            "XDG_CACHE_HOME": home + "/cache", "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
            "DISPLAY": f":{display}", "GDK_BACKEND": "x11", "GSK_RENDERER": "cairo", "GSETTINGS_BACKEND": "memory",
            "GTK_A11Y": "none", "ADW_DISABLE_PORTAL": "1"}
        self.process = None

    def start(self):
        """Dino believes what the machine believes, and here the server's certificate with it, in a mount namespace."""
        alone = ["unshare", "--mount"] if os.geteuid() == 0 else ["unshare", "--mount", "--map-root-user"]
        self.process = subprocess.Popen(
            [*alone, "sh", "-ec", f"mount --bind '{self.trusted}' {CERTIFICATES}; exec dbus-run-session -- sh -c "
             "'echo $DBUS_SESSION_BUS_ADDRESS >bus; exec dino-im --print-xmpp=all'"],
            env=self.environment, cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, errors="replace", start_new_session=True)
        self.log = Log(self.process.stdout)
        return self

    def stop(self):
        if self.process:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGTERM)
            self.process.wait(PATIENCE)
            self.process = None

    def has(self, what, query, *values):
        """Waits for a row of its database, and gives the first. Looks whenever it logs anything, and else now and then, since it writes
        some rows without logging."""
        end = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(sqlite3.OperationalError), contextlib.closing(sqlite3.connect(f"file:{self.data}?mode=ro", uri=True)) as data:
                if row := data.execute(query, values).fetchone():
                    return row
            expect(time.monotonic() < end and self.process.poll() is None, f"no {what}:\n{self.log.text[-2000:]}")
            with self.log.changed:
                self.log.changed.wait(0.05)

    def message(self, text, *, marked=None):
        self.has(f"message {text}", "SELECT id FROM message WHERE body = ? AND (? IS NULL OR marked = ?)", text, marked, marked)

    def sign_up(self, address):
        """Writes the account into the settings, which the first start has made."""
        self.start()
        self.has("database", "SELECT name FROM sqlite_master WHERE name = 'settings'")
        self.window()
        self.stop()
        with contextlib.closing(sqlite3.connect(self.data)) as data:
            data.execute(
                "INSERT INTO account (bare_jid, resourcepart, password, alias, enabled) VALUES (?, 'dino', ?, '', 1)", (address, PASSWORD))
            data.commit()

    def tool(self, *command):
        done = subprocess.run(["xdotool", *command], env=self.environment, capture_output=True, text=True, timeout=PATIENCE)
        expect(done.returncode == 0, f"xdotool {command}: {done.stderr}")
        return done.stdout.split()

    def window(self):
        return self.tool("search", "--sync", "--onlyvisible", "--name", "Dino")[-1]

    def open(self, link):
        """As if the link were clicked in another program."""
        bus = (self.home / "bus").read_text().strip()
        done = subprocess.run(
            ["dino-im", link], env={**self.environment, "DBUS_SESSION_BUS_ADDRESS": bus}, capture_output=True, text=True, timeout=PATIENCE)
        expect(done.returncode == 0, done.stderr)

    def type(self, text):
        self.tool("windowfocus", "--sync", self.window())
        self.tool("type", "--delay", "5", text)
        self.tool("key", "Return")

    def quit(self):
        self.tool("windowfocus", "--sync", self.window())
        self.tool("key", "ctrl+q")
        self.process.wait(PATIENCE)

    def close(self):
        self.stop()
        self.screen.terminate()
        self.screen.wait()


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
    for program in ("dino-im", "xdotool", "Xvfb", "dbus-run-session"):
        if not shutil.which(program):
            raise Failure(f"{program} is needed: `make test` installs it")
    with Across(ports=[5222]) as server:
        dino = Dino(server)
        try:
            converse(checks, server, dino)
        finally:
            dino.close()
