"""`Profanity` runs profanity in a terminal: keys go in, and the screen is read."""
import os
import pathlib
import select
import subprocess
import time
import uuid

from lib.harness import PASSWORD, PATIENCE, expect


class Profanity:
    """profanity in a terminal of tmux, on a socket of its own, with a home of its own. All that is written to the terminal
    comes through a pipe too, and wakes who waits for something on the screen."""

    def __init__(self, folder):
        name = os.path.join(folder, f"tmux-{uuid.uuid4().hex[:8]}")
        self.tmux = ["tmux", "-S", name]
        os.mkfifo(f"{name}.pipe")
        self.written = os.open(f"{name}.pipe", os.O_RDONLY | os.O_NONBLOCK)
        home = pathlib.Path(folder) / "home"
        home.mkdir(exist_ok=True)
        clean = {
            "HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"), "XDG_DATA_HOME": str(home / "data"),
            "PATH": os.environ["PATH"], "TERM": "screen", "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8"}
        done = subprocess.run(
            [*self.tmux, "-f", "/dev/null", "new-session", "-d", "-s", "p", "-x", "200", "-y", "60", "profanity", "-l", "DEBUG",
             ";", "pipe-pane", "-t", "p", f"exec cat >'{name}.pipe'"],
            env=clean, capture_output=True, text=True)
        expect(done.returncode == 0, f"tmux: {done.stderr}")
        self.shows("Type '/help' to show")

    def screen(self):
        done = subprocess.run([*self.tmux, "capture-pane", "-p", "-t", "p"], capture_output=True, text=True)
        return done.stdout

    def shows(self, *texts):
        """Waits until all of these are on the screen at once."""
        self.until(f"{texts} on the screen", lambda screen: all(text in screen for text in texts))

    def showed_soon(self, text, patience=5):
        """Whether this came on the screen within so many seconds."""
        end = time.monotonic() + patience
        while text not in self.screen():
            if not self.writes(end):
                return False
        return True

    def until(self, what, test):
        """Looks whenever something is written to the terminal."""
        end = time.monotonic() + PATIENCE
        while not test(screen := self.screen()):
            expect(self.writes(end), f"not within {PATIENCE} s: {what}; the screen is\n{screen}")

    def writes(self, end):
        """Whether anything is written before that time. Nothing more is when profanity has ended."""
        ready, _, _ = select.select([self.written], [], [], max(0, end - time.monotonic()))
        return bool(ready) and bool(os.read(self.written, 1 << 20))

    def type(self, text):
        subprocess.run([*self.tmux, "send-keys", "-t", "p", "-l", text], check=True)
        subprocess.run([*self.tmux, "send-keys", "-t", "p", "Enter"], check=True)

    def quit(self):
        self.type("/quit")
        end = time.monotonic() + PATIENCE
        while self.writes(end):
            pass  # its last words
        expect(time.monotonic() < end, f"profanity does not end; the screen is\n{self.screen()}")

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True)
        os.close(self.written)


def log_in(profanity, server, user, password=PASSWORD):
    profanity.type(f"/connect {user}@localhost server 127.0.0.1 port {server.xmpp} tls trust")
    profanity.shows("password")
    profanity.type(password)
    profanity.shows(f"{user}@localhost", "logged in successfully")


def at_home(server, name):
    """One of several, with a home of its own."""
    home = os.path.join(server.folder, name)
    os.makedirs(home, exist_ok=True)
    return Profanity(home)


def discover(profanity):
    """After a login profanity asks what there is and what that can do, and does not say when it has learned it. These are the
    same two questions, asked behind it."""
    profanity.type("/win 1")
    profanity.type("/disco items localhost")
    profanity.shows("upload.localhost")
    profanity.type("/clear")
    profanity.type("/disco info upload.localhost")
    profanity.shows("urn:xmpp:http:upload:0")
    profanity.type("/clear")
