"""The Swift SDK (clients/swift): built as a package of its own, its tests against a server of this script, and the terminal chat of its
tutorial in a terminal.

The tests ask this script for what only it can do: to kill and restart the server, to open a letter, to let slixmpp arrive.
"""
import os
import shutil
import signal
import subprocess

from lib.harness import PASSWORD, PATIENCE, ROOT, Server, expect, free_port
from lib.sdk import SECRET, Control
from lib.services import Hook, new_secret
from lib.terminal import Terminal

SDK = ROOT / "clients/swift"
BUILD = ROOT / ".build/clients-swift"
BUILD_TIME = 15 * PATIENCE  # the first build compiles BoringSSL


def environment(**more):
    return {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")} | more


def build():
    done = subprocess.run(
        ["swift", "build", "--build-tests", "--package-path", SDK, "--scratch-path", BUILD],
        env=environment(PARLEY_STRICT="1"), capture_output=True, text=True, timeout=BUILD_TIME)
    expect(done.returncode == 0, f"{done.stdout[-6000:]}{done.stderr[-2000:]}")


def test(server, control):
    done = subprocess.run(
        [BUILD / "debug/ParleyClientPackageTests.xctest", "--testing-library", "swift-testing"], cwd=SDK,
        env=environment(
            PARLEY_URL=server.base, PARLEY_PASSWORD=PASSWORD, PARLEY_CONTROL=control.url,
            PARLEY_TLS_URL=server.settings["http__url"], PARLEY_CERTIFICATE=server.certificate),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=5 * PATIENCE)
    print(done.stdout[-6000:])
    expect(done.returncode == 0 and "LiveTests passed" in done.stdout, done.stdout[-8000:])  # none is skipped


def chat(server, user, other):
    """The terminal chat of a user; the login and the place in the log are in a file."""
    settings = dict(
        PARLEY_URL=server.base, PARLEY_USER=user, PARLEY_PASSWORD=PASSWORD, PARLEY_FILE=f"{server.folder}/{user}.store")
    return Terminal(
        server.folder, "env", *(f"{name}={value}" for name, value in settings.items()), BUILD / "debug/terminal-chat", other)


def chats(server):
    romeo, juliet = chat(server, "romeo", "juliet"), chat(server, "juliet", "romeo")
    try:
        romeo.shows("-- online")
        juliet.shows("-- online")
        romeo.type("It is the east")
        juliet.shows("romeo: It is the east")
        romeo.shows("romeo: It is the east [read]")
        server.kill()
        juliet.shows("-- waiting")
        juliet.type("Ay me")
        juliet.shows("juliet: Ay me [sending]")
        server.start()
        romeo.shows("juliet: Ay me")
        juliet.shows("juliet: Ay me [read]")
        expect(romeo.screen().count("juliet: Ay me") == 1, romeo.screen())
    finally:
        romeo.close()
        juliet.close()


def killed(server):
    """kill -9 of the program with an outbox full of lines: at its next start they are sent, in order and once each."""
    lines = [f"line {number}" for number in range(20)]
    romeo, juliet = chat(server, "romeo", "juliet"), None
    try:
        romeo.shows("-- online")
        server.kill()
        romeo.shows("-- waiting")
        for line in lines:
            romeo.type(line)
        romeo.type("the last")  # is taken when those before it are stored
        romeo.shows("romeo: the last [sending]")
        pane = subprocess.run(
            [*romeo.tmux, "list-panes", "-F", "#{pane_pid}"], capture_output=True, text=True, check=True).stdout
        os.kill(int(pane), signal.SIGKILL)
        romeo.close()
        server.start()
        romeo, juliet = chat(server, "romeo", "juliet"), chat(server, "juliet", "romeo")
        romeo.shows(f"romeo: {lines[-1]} [read]")
        shown = [text.removeprefix("romeo: ") for text in juliet.screen().splitlines() if text.startswith("romeo: line ")]
        expect(shown == lines[-len(shown):] and len(shown) >= 19, f"{shown}")
    finally:
        romeo.close()
        if juliet:
            juliet.close()


def run(checks):
    expect(shutil.which("swift"), "the Swift compiler is missing")
    with checks.check("sdk: the package builds"):
        build()
    expect(not checks.failed, "nothing to run")
    secret, port, https = new_secret(), free_port(), free_port()
    hook = Hook(port, secret)
    settings = dict(
        guests__domains="localhost", registration="true", identity__backends=f"app={SECRET}", signup__email="false",
        delivery__url=f"http://127.0.0.1:{port}/letters", delivery__secret=secret, https__host="127.0.0.1",
        https__port=https, http__url=f"https://localhost:{https}")
    with Server(**settings) as server:
        server.start()
        server.add_users("romeo", "juliet", "nurse", "mercutio", "benvolio", "tybalt", "paris", "rosaline")
        for one, other in [("romeo", "juliet"), ("romeo", "nurse"), ("mercutio", "benvolio"), ("rosaline", "paris")]:
            server.befriend(one, other)
        control = Control(server, hook)
        try:
            with checks.check("sdk: its tests"):
                test(server, control)
            with checks.check("sdk: the terminal chat"):
                chats(server)
            with checks.check("sdk: kill -9 of the terminal chat"):
                killed(server)
        finally:
            control.close()
            hook.close()
