"""Schemathesis, a property-based tester of APIs, against the running server.

It reads docs/openapi.yaml and nothing else, and asks whatever that allows and much that it does not: no answer may be a server's
error, and none may be one that the document does not have. The ids in it are real ones for the most part, so that more is
reached than a 404. The calls are the same at each run (one seed); PARLEY_PROPERTIES_EXAMPLES says how many there are of each
operation.
"""
import json
import os
import pathlib
import subprocess
import sys

import harness
from harness import App, expect

HERE = pathlib.Path(__file__).resolve().parent
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "ignored_auth"]
# What ends the caller's own login, so that little else could be asked behind it.
LAST = ["session.delete", "session.deleteOthers", "me.delete", "me.password.put", "session.create"]


def scene(server):
    """Two users and what they have: the ids that the tester is given."""
    romeo, juliet = App(server, "romeo"), App(server, "juliet")
    private = romeo.dialog("juliet")
    said = romeo.say(private, "Good night")
    status, group = romeo.call("POST", "/v1/dialogs", {"type": "group", "name": "Balcony", "memberIds": ["juliet"]})
    expect(status == 201, f"no group: {status} {group}")
    status, square = juliet.call("POST", "/v1/dialogs", {"type": "public", "name": "Market"})
    expect(status == 201, f"no public dialog: {status} {square}")
    theirs = juliet.say(private, "Good night")
    return romeo, {
        "dialogId": [private, group["id"], square["id"]], "messageId": [said["id"], theirs["id"]],
        "userId": ["juliet", "romeo"], "sessionId": ["current"]}


def ask(server, caller, ids, *which):
    known = dict(os.environ, PARLEY_PROPERTIES=json.dumps(ids), SCHEMATHESIS_HOOKS="app_properties_hooks",
                 PYTHONPATH=str(HERE))
    command = [
        str(pathlib.Path(sys.executable).parent / "schemathesis"), "run", str(HERE.parents[1] / "docs" / "openapi.yaml"),
        "--url", server.base, "--header", f"Authorization: Bearer {caller.token}", "--checks", ",".join(CHECKS),
        "--phases", "examples,coverage,fuzzing", "--max-examples", os.environ.get("PARLEY_PROPERTIES_EXAMPLES", "10"),
        "--seed", "1", "--warnings", "off", "--suppress-health-check", "all", "--no-color",
        "--continue-on-failure", "--generation-database", "none", *which]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=known, cwd=server.folder)
    expect(done.returncode == 0, (done.stdout + done.stderr)[-20000:])
    print([line for line in done.stdout.splitlines() if "passed" in line][-1:], flush=True)


def run(checks):
    with harness.Server(registration="true") as server:
        server.start()
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        romeo, ids = scene(server)
        with checks.check("properties: no server error, nothing that the document does not have"):
            ask(server, romeo, ids, *(f"--exclude-operation-id={name}" for name in LAST))
        with checks.check("properties: nor where logins begin and end"):
            caller = App(server, "juliet", "properties")
            ask(server, caller, ids, *(f"--include-operation-id={name}" for name in LAST))
        with checks.check("properties: the server goes on and has nothing to complain of"):
            expect(server.process.poll() is None, "the server is gone:\n" + server.tail())
            expect("a request failed" not in server.log.text, server.tail())
            App(server, "romeo", "after").history(ids["dialogId"][0])
