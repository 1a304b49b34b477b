"""Data of other servers that the tests write themselves: as large as they want it, and as damaged."""
import base64
import os
import pty
import re
import subprocess
import time

from lib.former import DOMAIN
from lib.harness import BINARY, PATIENCE, expect

SALT, KEY = base64.b64encode(b"s" * 16).decode(), base64.b64encode(b"k" * 20).decode()
SCRAM = (f"<scram-credentials xmlns='urn:xmpp:pie:0#scram' mechanism='SCRAM-SHA-1'><iter-count>4096</iter-count><salt>{SALT}</salt>"
         f"<server-key>{KEY}</server-key><stored-key>{KEY}</stored-key></scram-credentials>")
WORDS = "It was the lark, the herald of the morn, no nightingale. "


def result(number, sender, to, body):
    """A message in an archive, a second after the one with the number before."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_600_000_000 + number))
    return (f"<result xmlns='urn:xmpp:mam:2' id='{number}'><forwarded xmlns='urn:xmpp:forward:0'><delay xmlns='urn:xmpp:delay' stamp='{stamp}'/>"
            f"<message xmlns='jabber:client' from='{sender}@{DOMAIN}/x' to='{to}@{DOMAIN}' type='chat' id='m{number}'>"
            f"<body>{body}</body></message></forwarded></result>")


def portable(path, users, contacts, messages, size):
    """Writes users with mutual contacts and with messages of so many bytes, each in the archives of both, as XEP-0227 has it; the
    number of users is even, so that nobody writes to themselves."""
    own = [[] for _ in range(users)]
    for number in range(messages):
        for user in (number, number * 7 + 1):
            own[user % users].append(number)
    body = WORDS * (size // len(WORDS))
    with path.open("w") as out:
        out.write(f"<?xml version='1.0' encoding='UTF-8'?>\n<server-data xmlns='urn:xmpp:pie:0'><host jid='{DOMAIN}'>\n")
        for user in range(users):
            out.write(f"<user name='u{user}'>{SCRAM}<query xmlns='jabber:iq:roster'>")
            for step in range(1, contacts // 2 + 1):
                for other in (user - step, user + step):
                    out.write(f"<item jid='u{other % users}@{DOMAIN}' subscription='both'/>")
            out.write("</query><archive xmlns='urn:xmpp:pie:0#mam'>\n")
            for number in own[user]:
                out.write(result(number, f"u{number % users}", f"u{(number * 7 + 1) % users}", f"{body}{number}") + "\n")
            out.write("</archive></user>\n")
        out.write("</host></server-data>\n")
    return path


def peak(process):
    """The most memory that a process has had, in megabytes; nil of one that has ended."""
    try:
        with open(f"/proc/{process.pid}/status") as status:
            return int(re.search(r"VmHWM:\s*(\d+)", status.read()).group(1)) / 1024
    except (OSError, AttributeError):
        return None


class Import:
    """`parley import` whose standard error is a terminal, on which it draws its progress."""

    def __init__(self, server, *arguments, **variables):
        self.terminal, other = pty.openpty()
        self.process = subprocess.Popen(
            [str(BINARY), "import", *map(str, arguments), "--json", "--config", server.configuration],
            env=server.environment() | variables, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=other, text=True)
        os.close(other)

    def drawings(self):
        """What it draws, piece by piece, until it ends."""
        while True:
            try:
                piece = os.read(self.terminal, 65_536)
            except OSError:  # the other end is closed
                piece = b""
            if not piece:
                return
            yield piece.decode(errors="replace")

    def until(self, noun, percent):
        """Waits until so much of one kind of things has come, but not all."""
        said = ""
        for piece in self.drawings():
            said = (said + piece)[-4_000:]
            bars = re.findall(r"(\d+) % +[\d,]+ (\w+) ", said)
            if any(found == noun and percent <= int(share) < 100 for share, found in bars):
                return
        expect(False, f"it never was within the {noun}: {said}")

    def kill(self):
        """kill -9."""
        self.process.kill()
        self.end()

    def end(self):
        """Its output and its exit status."""
        for _ in self.drawings():
            pass
        output = self.process.communicate(timeout=PATIENCE)[0]
        os.close(self.terminal)
        return output, self.process.returncode
