"""go-sendxmpp, a command in Go (its stanzas are go-xmpp's, as those of several bots and bridges), against Parley, with an app
client on the other side. Its library ends `<auth/>` with a line break, which the restarted stream begins with.
"""
import os
import shutil
import subprocess

from lib.apps import App
from lib.harness import PASSWORD, PATIENCE, Failure, Log, Server, expect


def command(server, name, *options, direct=False):
    """The command line of a user. The certificate is the test's own."""
    port = server.tls if direct else server.xmpp
    return ["go-sendxmpp", "-n", "-u", f"{name}@localhost", "-p", PASSWORD, "-j", f"127.0.0.1:{port}",
            *(["-t"] if direct else []), *options]


def environment(server):
    return {"HOME": server.folder, "PATH": os.environ["PATH"]}


def send(server, text, direct=False):
    done = subprocess.run(
        command(server, "romeo", "juliet@localhost", direct=direct), input=text, capture_output=True, text=True,
        timeout=PATIENCE, env=environment(server))
    expect(done.returncode == 0, f"status {done.returncode}: {done.stdout}{done.stderr}")


def converse(checks, server):
    juliet = App(server, "juliet", "phone").connect()
    try:
        with checks.check("go-sendxmpp: logs in over STARTTLS and sends a message"):
            send(server, "But soft, what light")
            expect(juliet.message("But soft, what light")["senderId"] == "romeo", "of somebody else")
        with checks.check("go-sendxmpp: and over direct TLS"):
            send(server, "It is the east", direct=True)
            juliet.message("It is the east")
        with checks.check("go-sendxmpp: receives what the app has said, confirms it, and receives more"):
            dialog = juliet.dialog("romeo")
            juliet.say(dialog, "Ay me")
            listener = subprocess.Popen(
                command(server, "romeo", "-l", "-d"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, env=environment(server))
            try:
                log = Log(listener.stdout)
                # Version 0.5.6 ends at a ping (docs/clients.md).
                log.until("the request behind the message", lambda shown: "juliet@localhost: Ay me" in shown and
                          "jabber:iq:version" in shown)
                juliet.say(dialog, "O Romeo, Romeo")
                log.until("the next message", lambda shown: "juliet@localhost: O Romeo, Romeo" in shown)
            finally:
                listener.kill()
                listener.wait()
    finally:
        juliet.close()


def run(checks):
    if not shutil.which("go-sendxmpp"):
        raise Failure("go-sendxmpp is needed: `make test` installs it")
    with Server() as server:
        server.start()
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        converse(checks, server)
