"""`Terminal` runs a program in a terminal: keys go in, and the screen is read."""
import os
import pathlib
import select
import subprocess
import time
import uuid

from lib.harness import PATIENCE, expect


class Terminal:
    """A program in a terminal of tmux, on a socket of its own, with a home of its own. All that is written to the terminal
    comes through a pipe too, and wakes who waits for something on the screen."""

    def __init__(self, folder, *command):
        self.name = command[0]
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
            [*self.tmux, "-f", "/dev/null", "new-session", "-d", "-s", "p", "-x", "200", "-y", "60", *command,
             ";", "pipe-pane", "-t", "p", f"exec cat >'{name}.pipe'"],
            env=clean, capture_output=True, text=True)
        expect(done.returncode == 0, f"tmux: {done.stderr}")

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
        """Whether anything is written before that time. Nothing more is when the program has ended."""
        ready, _, _ = select.select([self.written], [], [], max(0, end - time.monotonic()))
        return bool(ready) and bool(os.read(self.written, 1 << 20))

    def type(self, text):
        subprocess.run([*self.tmux, "send-keys", "-t", "p", "-l", text], check=True)
        self.press("Enter")

    def press(self, *keys):
        """Keys by tmux's names: `Enter`, `M-n`."""
        subprocess.run([*self.tmux, "send-keys", "-t", "p", *keys], check=True)

    def quit(self):
        self.type("/quit")
        end = time.monotonic() + PATIENCE
        while self.writes(end):
            pass  # its last words
        expect(time.monotonic() < end, f"{self.name} does not end; the screen is\n{self.screen()}")

    def close(self):
        subprocess.run([*self.tmux, "kill-server"], capture_output=True)
        os.close(self.written)
