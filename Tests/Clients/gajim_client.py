"""Gajim, a graphical client, against Parley, with app clients on the other side. The real program runs on a screen of
its own (Xvfb); a plugin (`gajim_plugin`) reads what its windows show, presses their buttons and fills in their fields.
Nothing is read from Gajim's database or the wire: what is waited for stands on the screen, or is what the app is told.
"""
import contextlib
import hashlib
import json
import os
import pathlib
import queue
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import threading
import time
import urllib.request
import zlib

from lib.apps import App
from lib.files import ask, attach, upload
from lib.harness import PASSWORD, PATIENCE, Failure, Server, expect, free_port
from lib.peers import put_picture
from lib.rooms import Others, room_of

PLUGIN = pathlib.Path(__file__).resolve().parent / "gajim_plugin"
NOBODY = 65534  # Gajim refuses to run as root
RED, GREEN, BLUE, GOLD, PURPLE = "#c01c28", "#26a269", "#1a5fb4", "#e5a50a", "#613583"
MENU = "icon feather-more-horizontal-symbolic"  # each message in a conversation has one
RECEIVED, CORRECTED = "icon feather-check-symbolic", "icon document-edit-symbolic"
SETTINGS = {
    # Nobody else's service is asked; a password needs no keyring; a tick says that a message was received.
    "check_for_update": False, "plugins_update_check": False, "use_keyring": False, "sounds_on": False,
    "show_notifications": False, "show_trayicon": False, "autoaway": False, "autoxa": False, "positive_184_ack": True}


def picture(colour, size=64):
    """A PNG of one colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    row = b"\0" + bytes.fromhex(colour[1:]) * size
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(row * size)) + chunk(b"IEND", b""))


def first_pixel(png):
    """Of a PNG without an alpha channel or with one. No filter changes the first pixel of the first row."""
    at, data = 8, b""
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        data += png[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += length + 12
    return f"#{zlib.decompress(data)[1:4].hex()}"


def picture_of(app, user):
    request = urllib.request.Request(
        f"{app.server.base}/v1/users/{user}/avatar", headers={"Authorization": f"Bearer {app.token}"})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        return answer.read()


def texts(items):
    """All that stands in a window, without its lists."""
    for item in items:
        if isinstance(item, list):
            yield from texts(item)
        else:
            yield item


def rows(items, *wanted):
    """The rows of lists in which all of these stand."""
    return [item for item in items if isinstance(item, list) and all(text in item for text in wanted)]


class Gajim:
    """Gajim with a profile of its own, on a screen and a session bus of its own."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.profile = self.folder / "profile"
        shutil.copytree(PLUGIN, self.profile / "plugins" / "driver", ignore=shutil.ignore_patterns("__pycache__"))
        self.prefix = []
        if os.geteuid() == 0:
            self.prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--inh-caps=-all"]
            for path in [self.folder, *self.folder.rglob("*")]:
                os.chown(path, NOBODY, NOBODY)
        self.screen, self.process, self.connection = None, None, None
        self.last = None

    def start(self):
        self.answers, self.commands = queue.Queue(), 0
        log = open(self.folder / "log", "a")
        reading, writing = os.pipe()
        self.screen = subprocess.Popen(
            [*self.prefix, "Xvfb", "-displayfd", str(writing), "-screen", "0", "1280x900x24", "-nolisten", "tcp",
             "-ac"],
            pass_fds=[writing], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        os.close(writing)
        with open(reading) as pipe:
            display = pipe.readline().strip()  # written when it is ready, or closed
        expect(display, f"no screen: {self.tail()}")
        path = str(self.folder / "driver")
        pathlib.Path(path).unlink(missing_ok=True)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(path)
        os.chmod(path, 0o777)
        listener.listen(1)
        listener.settimeout(3 * PATIENCE)  # Gajim takes its time to start
        home = str(self.folder)
        clean = {
            "HOME": home, "XDG_RUNTIME_DIR": home, "XDG_CONFIG_HOME": home + "/config",
            "XDG_CACHE_HOME": home + "/cache", "XDG_DATA_HOME": home + "/data", "TMPDIR": home,
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8", "DISPLAY": f":{display}",
            "GDK_BACKEND": "x11", "NO_AT_BRIDGE": "1", "GSETTINGS_BACKEND": "memory", "GTK_USE_PORTAL": "0",
            "GAJIM_SOCKET": path, "GAJIM_SETTINGS": json.dumps(SETTINGS)}
        self.process = subprocess.Popen(
            [*self.prefix, "dbus-run-session", "--", "gajim", "--config-path", str(self.profile), "--verbose"],
            env=clean, cwd=home, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        with listener, log:
            try:
                self.connection, _ = listener.accept()
            except TimeoutError:
                raise Failure(f"Gajim does not start: {self.tail()}") from None
        self.connection.settimeout(None)
        threading.Thread(target=self._read, args=(self.connection, self.answers), daemon=True).start()
        return self

    def tail(self):
        return (self.folder / "log").read_text(errors="replace")[-2000:]

    def _read(self, connection, answers):
        with contextlib.suppress(OSError), connection.makefile("r") as lines:
            for line in lines:
                answers.put(json.loads(line))
        answers.put({"re": None})

    def tell(self, patience=PATIENCE, **command):
        """What was answered; None after that time."""
        self.commands += 1
        self.connection.sendall(json.dumps({"id": self.commands, **command}).encode() + b"\n")
        end = time.monotonic() + patience
        while True:
            try:
                answer = self.answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                return None
            expect(answer["re"], f"Gajim has ended: {self.tail()}")
            if answer["re"] == self.commands:
                expect("ok" in answer, answer.get("error"))
                return answer["ok"]

    def do(self, **command):
        expect(self.tell(**command), f"Gajim does not do {command} within {PATIENCE} s")

    def until(self, what, test):
        """Waits for a screen of which this is true, and gives what the test gave. Each time it is painted is a look."""
        end = time.monotonic() + PATIENCE
        seen = self.tell(see="")
        while True:
            expect(seen, f"not within {PATIENCE} s: {what}; the windows show {self.last}")
            self.last = seen
            windows = json.loads(seen)
            expect("ExceptionDialog" not in windows, f"Gajim has failed: {windows.get('ExceptionDialog')}")
            found = test(windows)
            if found:
                return found
            seen = self.tell(see=seen, patience=end - time.monotonic())

    def window(self, name, *wanted):
        """Waits for a window in which all of these stand."""
        return self.until(f"{wanted} in {name}", lambda windows: set(wanted) <= set(texts(windows.get(name, []))))

    def row(self, *wanted, window="MainWindow", without=()):
        """Waits for a row of a list in which all of these stand, and none of those."""
        return self.until(f"a row with {wanted} and without {without}", lambda windows: [
            row for row in rows(windows.get(window, []), *wanted) if not set(without) & set(texts(row))])[0]

    def message(self, text, *wanted, without=()):
        """Waits for a message in the conversation that is shown."""
        return self.row(MENU, text, *wanted, without=without)

    @contextlib.contextmanager
    def check(self, checks, name):
        """A check that leaves a picture of the screen when it fails."""
        with checks.check("gajim: " + name):
            try:
                yield
            except Exception:
                with contextlib.suppress(Failure, OSError):
                    self.do(photograph=str(self.folder / f"failed-{len(checks.failed)}.png"))
                raise

    def press(self, name):
        self.do(press=name)

    def write(self, field, text):
        self.do(write=[field, text])

    def act(self, action, target=""):
        self.do(act=[action, target])

    def say(self, text):
        self.write("", text)
        self.act("win.send-message")

    def file(self, name, data):
        """A file that Gajim may read."""
        path = self.folder / name
        path.write_bytes(data)
        return path

    def quit(self):
        self.act("app.quit")
        try:
            expect(self.process.wait(PATIENCE) == 0, f"Gajim ended with {self.process.returncode}")
        except subprocess.TimeoutExpired:
            raise Failure(f"Gajim does not end; the windows show {self.last}") from None
        finally:
            self.close()

    def close(self):
        for process in (self.process, self.screen):
            if process is not None and process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
                try:
                    process.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()
        if self.connection is not None:
            self.connection.close()


def run(checks):
    for program in ("gajim", "Xvfb", "dbus-run-session"):
        if not shutil.which(program):
            raise Failure(f"{program} is needed: `make test` installs it")
    port = free_port()
    with Server(https__host="127.0.0.1", https__port=port, http__url=f"https://localhost:{port}") as server:
        server.start()
        server.add_users("romeo", "juliet", "paris", "tybalt", "mercutio")
        folder = tempfile.mkdtemp(prefix="parley-gajim-")
        failed = len(checks.failed)
        gajim, others = Gajim(folder), Others()
        try:
            converse(checks, server, gajim, others)
        finally:
            gajim.close()
            others.close()
            if len(checks.failed) == failed:
                shutil.rmtree(folder, ignore_errors=True)
            else:
                print(f"the screen when each check failed, and what Gajim said, are in {folder}", flush=True)


def contact(app, state):
    """Waits until romeo is this to the app's user."""
    app.event(
        "contact.updated", lambda d: d["contact"]["userId"] == "romeo" and d["contact"]["state"] == state)


def contacts(checks, server, gajim, juliet, paris):
    """It logs in, and gets contacts."""
    with gajim.check(checks, "logs in over STARTTLS by its wizard, which asks whether to trust the certificate"):
        gajim.start()
        gajim.window("AccountWizard", "Log In", "Advanced Settings")
        gajim.write("log_in_address_entry", "romeo@localhost")
        gajim.write("log_in_password_entry", PASSWORD)
        gajim.press("login_advanced_checkbutton")
        gajim.press("log_in_button")
        gajim.window("AccountWizard", "START TLS")
        gajim.write("custom_host_entry", "127.0.0.1")
        gajim.write("custom_port_entry", str(server.xmpp))
        gajim.press("Log In")
        gajim.window("AccountWizard", "The signing certificate authority is not known")
        gajim.press("trust_cert_checkbutton")
        gajim.press("Log In")
        gajim.window("AccountWizard", "Account has been added successfully")
        gajim.press("Connect")
        gajim.row("Balcony")
        gajim.do(select="Account: romeo@localhost")
        gajim.window("MainWindow", "romeo@localhost", "Available")
    with gajim.check(checks, "the app asks for a contact, Gajim accepts and asks back, the app accepts"):
        status, _ = juliet.call("PUT", "/v1/contacts/romeo", {})
        expect(status in (200, 201), f"{status}")
        gajim.row("Accept")
        gajim.press("Accept")
        gajim.window("AddContact", "Next")
        gajim.press("Next")
        gajim.window("AddContact", "Add Contact")
        gajim.press("Add Contact")
        contact(juliet, "mutual")
        gajim.row("juliet@localhost", RED)
    with gajim.check(checks, "asks for a contact, the app accepts and asks back"):
        gajim.act("app.localhost-add-contact", "['localhost', 'paris@localhost']")
        gajim.window("AddContact", "Next")
        gajim.press("Next")
        gajim.window("AddContact", "Add Contact")
        gajim.press("Add Contact")
        contact(paris, "pendingIn")
        status, _ = paris.call("PUT", "/v1/contacts/romeo", {})
        expect(status == 200, f"{status}")
        contact(paris, "mutual")
        gajim.row("paris@localhost")


def profiles(checks, gajim, juliet, paris):
    """Names and pictures, both ways."""
    with gajim.check(checks, "another name and another picture of the app user are shown"):
        put_picture(juliet, picture(GREEN))
        gajim.row("juliet@localhost", GREEN)
        gajim.do(select="paris@localhost")
        gajim.window("MainWindow", "Paris")
        status, _ = paris.call("PATCH", "/v1/users/me", {"name": "Count Paris"})
        expect(status == 200, f"{status}")
        gajim.window("MainWindow", "Count Paris")
    with gajim.check(checks, "its profile window sets name and picture; the app has both"):
        gajim.act("app.localhost-profile", "'localhost'")
        gajim.window("ProfileWindow", "Romeo")
        gajim.press("edit_button")
        gajim.write("nickname_entry", "Romeo Montague")
        gajim.file("romeo.png", picture(BLUE))
        gajim.press("edit_avatar_button")
        gajim.row("romeo.png", window="GtkAvatarChooserDialog")
        gajim.do(select="romeo.png")
        gajim.until("no file dialog", lambda windows: "GtkAvatarChooserDialog" not in windows)
        gajim.press("avatar_update_button")
        gajim.window("ProfileWindow", BLUE)
        gajim.press("save_button")
        gajim.window("ProfileWindow", "Edit")
        gajim.do(close="ProfileWindow")
        juliet.event(
            "user.updated", lambda d: d["user"]["id"] == "romeo" and d["user"].get("name") == "Romeo Montague")
        told = juliet.event("user.updated", lambda d: d["user"]["id"] == "romeo" and d["user"].get("avatarHash"))
        data = picture_of(juliet, "romeo")
        expect(hashlib.sha1(data).hexdigest() == told["data"]["user"]["avatarHash"], "the picture is another")
        expect(first_pixel(data) == BLUE, f"the picture is {first_pixel(data)}")


def messages(checks, server, gajim, juliet, dialog):
    """Messages, receipts, corrections and files."""
    with gajim.check(checks, "typing and a message to the app; received and read are shown"):
        gajim.do(focus=True)
        gajim.do(select="Account: romeo@localhost")
        gajim.do(select="juliet@localhost")
        gajim.write("", "But soft")
        juliet.event("typing.updated", lambda d: d["dialogId"] == dialog and d["userIds"] == ["romeo"])
        gajim.say("But soft, what light")
        said = juliet.message("But soft, what light")
        expect(said["senderId"] == "romeo" and said["dialogId"] == dialog, f"{said}")
        gajim.message("But soft, what light", without=[RECEIVED])
        juliet.command("marker.set", {"dialogId": dialog, "delivered": said["id"]})
        gajim.message("But soft, what light", RECEIVED)
        juliet.command("marker.set", {"dialogId": dialog, "read": said["id"]})
        gajim.row("Juliet has read up to this point")
    with gajim.check(checks, "a message from the app, which is told that it was received and read"):
        # What comes while its conversation is looked at, Gajim 1.7 reports as read with the next that does not.
        gajim.do(select="Count Paris")
        heard = juliet.say(dialog, "Ay me & <all>")
        gajim.row("Juliet", "Ay me & <all>", "1")
        juliet.event("marker.updated", lambda d: d["marker"]["userId"] == "romeo" and d["marker"].get("delivered") == heard["id"])
        gajim.do(select="Juliet")
        gajim.message("Ay me & <all>", "Juliet")
        juliet.event("marker.updated", lambda d: d["marker"]["userId"] == "romeo" and d["marker"].get("read") == heard["id"])
    with gajim.check(checks, "corrections both ways"):
        gajim.act("win.correct-message")
        gajim.say("But soft, what light through yonder window breaks")
        changed = juliet.event("message.updated", lambda d: d["message"]["id"] == said["id"])["data"]["message"]
        expect(changed["content"]["text"] == "But soft, what light through yonder window breaks", f"{changed}")
        gajim.message("But soft, what light through yonder window breaks", CORRECTED)
        status, _ = juliet.call("PATCH", f"/v1/dialogs/{dialog}/messages/{heard['id']}", {"text": "Ay me!"})
        expect(status == 200, f"{status}")
        gajim.message("Ay me!", CORRECTED)
        gajim.until("the text before is gone", lambda windows: not rows(windows["MainWindow"], "Ay me & <all>"))
    with gajim.check(checks, "uploads a file; the app downloads it"):
        gajim.do(trust=str(gajim.file("trusted.pem", pathlib.Path(server.certificate).read_bytes())))
        data = picture(PURPLE, 200)
        path = gajim.file("très cool.png", data)
        gajim.act("win.send-file-httpupload", f"[{json.dumps(path.as_uri())}]")
        gajim.window("MainWindow", "Send Files", path.name)
        gajim.press("Send Files")
        told = juliet.event("message.created", lambda d: d["message"]["content"].get("attachments"))
        content = told["data"]["message"]["content"]
        file = content["attachments"][0]
        expect(content["type"] == "image" and file["name"] == path.name and file["size"] == len(data), f"{content}")
        expect(ask(server, file["url"])[2] == data, "other bytes came")
        gajim.message(path.name, PURPLE)
    with gajim.check(checks, "shows a picture that the app sends"):
        made = upload(server, juliet, picture(GOLD, 200), "sun.png", "image/png")
        attach(juliet, dialog, made, "sun")
        gajim.message("sun.png", GOLD)


def rooms(checks, gajim, others, juliet, tybalt, mercutio, group, first):
    """Groups of the app and of XMPP."""
    with gajim.check(checks, "a group of the app, entered by its bookmark, with what was said before"):
        gajim.do(select="Balcony")
        gajim.message("said before anybody came", "Juliet")
        juliet.event("marker.updated", lambda d: d["marker"]["userId"] == "romeo" and d["marker"].get("read") == first["id"])
        gajim.say("said in Gajim")
        said = juliet.message("said in Gajim")
        expect(said["senderId"] == "romeo" and said["dialogId"] == group["id"], f"{said}")
        gajim.message("said in Gajim")
        juliet.say(group["id"], "said in the app")
        gajim.message("said in the app")
    with gajim.check(checks, "a private group of XMPP clients: everybody has the name they chose"):
        tour = room_of("tour")
        others(tybalt.found(tour, "Tyb", membersonly=True, publicroom=False, persistentroom=True, whois="anyone"))
        for name in ("romeo", "mercutio"):
            others(tybalt.muc.set_affiliation(tour, "member", jid=f"{name}@localhost", timeout=PATIENCE))
        # Gajim enters by the bookmark that being added brings, under its own name.
        others(tybalt.presence(tour, "Romeo Montague"))
        own, *_ = others(mercutio.enter(tour, "Merc"))
        expect(str(own["from"]) == f"{tour}/Merc", f"{own}")
        others.do(mercutio.say, tour, "a plague o' both your houses")
        gajim.do(select="tour")
        gajim.message("a plague o' both your houses", "Merc")
        gajim.say("courage, man")
        heard = others(mercutio.message(tour, "courage, man"))
        expect(heard["from"] == f"{tour}/Romeo Montague", f"{heard}")


def again(checks, server, gajim, juliet, group, dialog):
    """It quits and comes again."""
    with gajim.check(checks, "quits, and is seen to be gone"):
        gajim.quit()
        juliet.event("presence.updated", lambda d: d["presence"]["userId"] == "romeo" and not d["presence"]["online"])
    with gajim.check(checks, "logs in again by itself; what was said meanwhile comes from the archive"):
        juliet.say(dialog, "said while you were out")
        other = App(server, "romeo", "desk")
        other.say(other.dialog("juliet"), "written elsewhere")
        other.say(group["id"], "written elsewhere too")
        gajim.start()
        gajim.row("Balcony")
        gajim.do(focus=True)
        gajim.do(select="Juliet")
        gajim.message("said while you were out")
        gajim.message("written elsewhere")
        gajim.do(select="Balcony")
        gajim.message("written elsewhere too")
        gajim.quit()


def converse(checks, server, gajim, others):
    juliet = App(server, "juliet", "phone").connect()
    paris = App(server, "paris", "phone").connect()
    tybalt, mercutio = others.guest(server, "tybalt"), others.guest(server, "mercutio")
    put_picture(juliet, picture(RED))
    status, group = juliet.call("POST", "/v1/dialogs", {"type": "group", "name": "Balcony", "memberIds": ["romeo"]})
    expect(status == 201, f"no group: {status} {group}")
    first = juliet.say(group["id"], "said before anybody came")
    dialog = juliet.dialog("romeo")
    contacts(checks, server, gajim, juliet, paris)
    profiles(checks, gajim, juliet, paris)
    messages(checks, server, gajim, juliet, dialog)
    rooms(checks, gajim, others, juliet, tybalt, mercutio, group, first)
    again(checks, server, gajim, juliet, group, dialog)
    juliet.close()
    paris.close()
    for guest in (tybalt, mercutio):
        others(guest.leave())
