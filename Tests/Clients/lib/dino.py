"""`Dino` is the real program, on a screen and a session bus of its own."""
import contextlib
import os
import pathlib
import signal
import sqlite3
import subprocess
import time

from lib.harness import PASSWORD, PATIENCE, Failure, Log, expect

PROGRAMS = ["dino-im", "xdotool", "Xvfb", "dbus-run-session"]
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
RECEIVED, READ = 1, 2  # of `message.marked`


class Dino:
    def __init__(self, server, **environment):
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
            "GTK_A11Y": "none", "ADW_DISABLE_PORTAL": "1", **environment}
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

    def has(self, what, query, *values, patience=PATIENCE):
        """Waits for a row of its database, and gives the first. Looks whenever it logs anything, and else now and then, since it writes
        some rows without logging."""
        end = time.monotonic() + patience
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

    def on_its_bus(self, *command):
        bus = (self.home / "bus").read_text().strip()
        done = subprocess.run(
            command, env={**self.environment, "DBUS_SESSION_BUS_ADDRESS": bus}, capture_output=True, text=True, timeout=PATIENCE)
        expect(done.returncode == 0, f"{command}: {done.stderr}")
        return done.stdout

    def open(self, link):
        """As if the link were clicked in another program."""
        self.on_its_bus("dino-im", link)

    def act(self, action, *parameter):
        """As if the button of a notification were pressed."""
        self.on_its_bus("gapplication", "action", "im.dino.Dino", action, *parameter)

    def type(self, text):
        self.tool("windowfocus", "--sync", self.window())
        self.tool("type", "--delay", "5", text)
        self.tool("key", "Return")

    def click(self, x, y):
        self.tool("mousemove", str(x), str(y), "click", "1")

    def call(self):
        """Calls whom it shows, by the first entry of the menu, which is there as soon as Dino knows that they can be called."""
        query = "SELECT max(id) FROM call WHERE direction = 1 HAVING max(id) > ?"
        (before,) = self.has("table", "SELECT coalesce(max(id), 0) FROM call")
        for _ in range(PATIENCE // 2):
            self.tool("windowfocus", "--sync", self.window(), "key", "Escape")
            self.click(978, 28)
            self.tool("key", "Return")
            with contextlib.suppress(Failure):
                return self.has("call", query, before, patience=2)
        raise Failure("Dino cannot call")

    def hang_up(self):
        """By the button of its call's window, which is the only other one."""
        self.click(421, 476)

    def quit(self):
        self.tool("windowfocus", "--sync", self.window())
        self.tool("key", "ctrl+q")
        self.process.wait(PATIENCE)

    def close(self):
        self.stop()
        self.screen.terminate()
        self.screen.wait()
