"""profanity, a console XMPP client in C (its own stanzas over libstrophe), against Parley, with an app client on the other
side. It is driven through a terminal like by a person: keys in, screen out.
"""
import os
import pathlib
import select
import shutil
import subprocess
import time
import uuid

from harness import PASSWORD, PATIENCE, App, Failure, Server, expect


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


def run(checks):
    if not shutil.which("profanity") or not shutil.which("tmux"):
        raise Failure("profanity and tmux are needed: `make test` installs them")
    with Server() as server:
        server.start()
        server.add_users("romeo", "juliet", "paris")
        server.befriend("romeo", "juliet")
        juliet = App(server, "juliet", "phone").connect()
        dialog = juliet.dialog("romeo")
        profanity = Profanity(server.folder)
        try:
            converse(checks, server, profanity, juliet, dialog)
        finally:
            profanity.close()
            juliet.close()


def converse(checks, server, profanity, juliet, dialog):
    with checks.check("profanity: logs in over STARTTLS"):
        profanity.type("/carbons on")
        profanity.type("/receipts send on")
        profanity.type("/receipts request on")
        profanity.type("/history on")
        log_in(profanity, server, "romeo")
        juliet.event("presence.updated", lambda d: d["userId"] == "romeo" and d["online"])
    with checks.check("profanity: roster, with who is online"):
        profanity.type("/roster")
        profanity.shows("Roster: jid (nick)", "juliet@localhost - both")
        profanity.type("/who")
        profanity.shows("All contacts:", "juliet@localhost is online")
    with checks.check("profanity: status is seen by the app"):
        profanity.type('/status set away "gone to the orchard"')
        juliet.event("presence.updated", lambda d: d.get("availability") == "away" and d.get("status") == "gone to the orchard")
        profanity.type("/status set online")
        juliet.event("presence.updated", lambda d: d["userId"] == "romeo" and d["availability"] == "online")
    with checks.check("profanity: a message to the app"):
        profanity.type("/msg juliet@localhost But soft, what light")
        message = juliet.message("But soft, what light")
        expect(message["senderId"] == "romeo" and message["dialogId"] == dialog, f"{message}")
        juliet.command("marker.set", {"dialogId": dialog, "delivered": message["id"]})
    with checks.check("profanity: a message from the app, and its receipt"):
        # By the WebSocket, so from a full JID: profanity 0.13 addresses receipts to nobody where a message came from a bare one.
        said = juliet.command("message.send", {
            "dialogId": dialog, "clientId": "ay", "content": {"type": "text", "text": "Ay me & <all>"}})["data"]
        profanity.shows("But soft, what light", "Ay me & <all>")
        juliet.event("marker.updated", lambda d: d["userId"] == "romeo" and d.get("delivered") == said["id"])
    with checks.check("profanity: a new contact asks, the app accepts"):
        paris = App(server, "paris", "phone").connect()
        profanity.type("/sub request paris@localhost")
        paris.event("contact.updated", lambda d: d["contact"]["userId"] == "romeo" and d["contact"]["state"] == "pendingIn")
        status, _ = paris.call("PUT", "/v1/contacts/romeo", {})
        expect(status == 200, f"accepting was answered {status}")
        profanity.type("/win 1")
        profanity.type("/sub allow paris@localhost")
        paris.event("contact.updated", lambda d: d["contact"]["state"] == "mutual")
        paris.close()
    with checks.check("profanity: the archive after a new login has what was said, and what was said elsewhere"):
        profanity.quit()
        juliet.event("presence.updated", lambda d: d["userId"] == "romeo" and not d["online"])
        other = App(server, "romeo", "desk")
        other.say(other.dialog("juliet"), "written elsewhere")
        # With the archive on, profanity asks it when a conversation is opened, and shows nothing of its own history.
        again = Profanity(server.folder)
        try:
            again.type("/mam on")
            log_in(again, server, "romeo")
            # Asked before profanity has heard what the account can do, it asks for nothing: then the conversation is opened anew.
            again.type("/msg juliet@localhost")
            if not again.showed_soon("Ay me & <all>"):
                again.type("/close")
                again.type("/msg juliet@localhost")
            # What it said itself profanity 0.13 leaves out, and it asks for the one page twice, for its <after/> stands
            # beside <set/> and not in it.
            again.shows("Ay me & <all>", "written elsewhere")
            again.quit()
        finally:
            again.close()
    with checks.check("profanity: what was said meanwhile comes with the next login"):
        juliet.say(dialog, "said while you were out")
        later = Profanity(server.folder)
        try:
            log_in(later, server, "romeo")
            later.type("/msg juliet@localhost")
            later.shows("said while you were out")
            later.quit()
        finally:
            later.close()
