"""The JavaScript SDK (clients/js) in Node and in a browser: its own tests, each file against a server of this script.

The tests ask this script for what only it can do: to kill and restart the server, to open a letter, to let slixmpp arrive. The
examples and the README's code run here too.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile

from lib.harness import PASSWORD, PATIENCE, ROOT, expect
from lib.sdk import never_done, site

SDK = ROOT / "clients/js"
MESSAGES = int(os.environ.get("SDK_MESSAGES", "10000"))  # of the test of memory
BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]


def install(app):
    """The package as `npm pack` makes it, in the folder of an app; npm itself is not needed for it. The app is the example's."""
    manifest = json.loads((SDK / "package.json").read_text())
    for pattern in ["package.json", *manifest["files"]]:
        found = list(SDK.glob(pattern))
        expect(found, f"package.json has the files {pattern}, of which there are none")
        for path in found:
            for file in [each for each in path.rglob("*") if each.is_file()] or [path]:
                place = app / "node_modules" / manifest["name"] / file.relative_to(SDK)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(file, place)
    (app / "package.json").write_text('{"type": "module"}')
    shutil.copy(SDK / "examples/bot.js", app)


def node(arguments, server, control, **more):
    """Runs Node, and tells what it printed if it fails."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PARLEY_")} | {
        "PARLEY_URL": server.base, "PARLEY_PASSWORD": PASSWORD, "PARLEY_CONTROL": control.url,
        "PARLEY_MESSAGES": str(MESSAGES), "PARLEY_BROWSER": next(filter(None, map(shutil.which, BROWSERS)), ""), **more}
    with tempfile.TemporaryFile("w+") as output:
        # A session of its own, so that what a test has started ends with it.
        process = subprocess.Popen(
            ["node", *arguments], cwd=SDK, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, start_new_session=True)
        try:
            status = process.wait(2 * PATIENCE)
        except subprocess.TimeoutExpired:
            status = f"not within {2 * PATIENCE} s: the end"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        output.seek(0)
        printed = output.read()
    expect(status == 0, f"{status}: {printed[-8000:]}")
    return printed


def run(checks):
    for program, package in [("node", "nodejs"), ("tsc", "node-typescript"), ("esbuild", "esbuild")]:
        expect(shutil.which(program), f"{program} is missing: apt install {package}")
    failed = len(checks.failed)
    typescript = pathlib.Path(shutil.which("tsc")).resolve().parents[1] / "lib/typescript.js"
    with site("bot") as (server, control), tempfile.TemporaryDirectory() as folder:
        app, log = pathlib.Path(folder, "app"), pathlib.Path(folder, "requests")
        with checks.check("sdk: the package has what it needs, and the license of the whole"):
            install(app)
            # A package is packed from its own folder, and a link out of it would be left out.
            expect((SDK / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes(), "clients/js/LICENSE is not LICENSE")
        with checks.check("sdk: the bot reads no variable that a server or command started beside it refuses"):
            refused = re.findall(r"\bPARLEY_\w+", (SDK / "examples/bot.js").read_text() + (SDK / "README.md").read_text())
            expect(not refused, f"{refused}")
        tests = sorted((SDK / "test").glob(os.environ.get("SDK_TEST", "*") + ".test.js"))
        for test in tests:
            with checks.check(f"sdk: {test.name.removesuffix('.test.js')}"):
                print(node(
                    ["--test", *(["--expose-gc"] if "memory" in test.name else []), str(test)], server, control,
                    PARLEY_APP=str(app), PARLEY_REQUESTS=str(log), PARLEY_TYPESCRIPT=str(typescript)))
        # Tests that did not end have not done all that they do.
        if "SDK_TEST" not in os.environ and len(checks.failed) == failed:
            with checks.check("sdk: the tests have had every operation done that an app needs"):
                # A profile is one of a list here.
                left = never_done(log, but=["user.get"])
                expect(not left, f"{left}")
