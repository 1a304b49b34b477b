"""A trace of the system calls proves the order: a message's bytes go to the write-ahead log, the log is synced, and only then
does the first byte leave that tells anybody, its author or its reader. One message each way.
"""
import os
import pathlib
import re
import shutil
import signal

from lib.apps import App
from lib.harness import Failure, Server, expect
from lib.wire import SM, XMPP

CALLS = "fdatasync,fsync,pwrite64,pwritev,write,writev,sendto,sendmsg,sendmmsg"
LINE = re.compile(r"^(\d+)\s+(\S+)\s+(.*)$")
BEGUN = re.compile(r"^(\w+)\((.*)$", re.S)
# What ends a line that another thread's interrupted; the rest of the call follows in a line of its own.
UNFINISHED = " <unfinished ...>"
RESUMED = re.compile(r"^<\.\.\. (\w+) resumed>(.*)$", re.S)


class Call:
    """One system call: where its trace begins and ends, by lines."""

    def __init__(self, name, text, begun):
        self.name, self.text, self.begun, self.ended = name, text, begun, None

    @property
    def file(self):
        """What strace -yy says of the descriptor: a path, or a socket."""
        found = re.match(r"\d+<(.*?)>(?=[,)]|$)", self.text)
        return found.group(1) if found else ""


def read(path):
    """The calls in the order in which they began."""
    calls, open_calls = [], {}
    for number, line in enumerate(pathlib.Path(path).read_text(errors="replace").splitlines()):
        matched = LINE.match(line)
        if not matched:
            continue
        thread, _, text = matched.groups()
        resumed = RESUMED.match(text)
        if resumed:
            call = open_calls.pop(thread, None)
            if call:
                call.text += resumed.group(2)
                call.ended = number
            continue
        begun = BEGUN.match(text)
        if not begun:
            continue
        arguments = begun.group(2).removesuffix(UNFINISHED)
        call = Call(begun.group(1), arguments, number)
        calls.append(call)
        if arguments != begun.group(2):
            open_calls[thread] = call
        else:
            call.ended = number
    return calls


def prove(calls, written, told):
    """`written` marks the message in the log, `told` are texts any of which tells somebody."""
    def is_log(call):
        return call.file.endswith(".db-wal") or call.file.endswith(".db")

    log = [c for c in calls if c.name.startswith("pwrite") and is_log(c) and written in c.text]
    expect(log, f"no write of \"{written}\" to the log in the trace")
    tells = [c for c in calls if not is_log(c) and ("TCP" in c.file or "socket" in c.file)
             and any(text in c.text for text in told)]
    expect(tells, f"no byte of {told} on a socket in the trace")
    first = tells[0]
    before = [c for c in log if c.begun < first.begun]
    expect(before, "it was told before it was written")
    syncs = [c for c in calls if c.name in ("fdatasync", "fsync") and is_log(c)
             and c.begun > before[0].ended and c.ended is not None and c.ended < first.begun and "= 0" in c.text]
    expect(syncs, f"no sync between the write (line {before[0].begun}) and the telling (line {first.begun}): {first.text[:200]}")
    return before[0].begun, syncs[0].ended, first.begun


def run(checks):
    if not shutil.which("strace"):
        raise Failure("strace is needed: `make test` installs it")
    with Server(xmpp__plaintext="true") as server:
        trace = os.path.join(server.folder, "trace")
        server.start()
        server.add_users("romeo", "juliet")
        server.stop()
        # -s: whole pages of the database; -yy: what a descriptor stands for.
        server.wrapper = ["strace", "-f", "-tt", "-yy", "-s", "70000", "-e", f"trace={CALLS}", "-o", trace]
        server.start()
        try:
            one, two = converse(server)
        finally:
            end(server)  # and with it the trace, which is then whole
        calls = read(trace)
        for name, message, told in [
            # The acknowledgement: `<a ... h='1'/>` with either quote, which strace escapes.
            ("XMPP to app: synced before acknowledged and before told", one, ["trace-one", "h='1'", 'h=\\"1\\"']),
            ("app to XMPP: synced before answered and before told", two, ["trace-two"]),
        ]:
            with checks.check("trace: " + name):
                lines = prove(calls, told[0], told)
                print(f"        {message['id']}: written, synced and told at lines {lines} of the trace")


def converse(server):
    """One message each way, told and acknowledged."""
    juliet = App(server, "juliet").connect()
    dialog = juliet.dialog("romeo")
    romeo = XMPP("romeo", server.xmpp)
    romeo.connect()
    romeo.send(f"<presence/><enable xmlns='{SM}'/>")
    romeo.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "enabled")
    romeo.send("<message to='juliet@localhost' type='chat' id='traced-1'><body>trace-one</body></message>")
    one = juliet.message("trace-one")
    romeo.stanza(lambda s: s.tag == f"{{{SM}}}a" and s.get("h") == "1", "an acknowledgement")
    two = juliet.say(dialog, "trace-two")
    romeo.stanza(lambda s: s.findtext("{jabber:client}body") == "trace-two", "the message")
    juliet.close()
    romeo.close()
    return one, two


def end(server):
    """strace passes no signal on: the server is its only child."""
    tasks = pathlib.Path(f"/proc/{server.process.pid}/task")
    for task in tasks.iterdir():
        for child in (task / "children").read_text().split():
            os.kill(int(child), signal.SIGTERM)
    server.process.wait()
