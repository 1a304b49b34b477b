"""Schemathesis, a property-based tester of APIs, against the running server.

It reads docs/openapi.yaml, and docs/openapi-admin.yaml with a key that may everything, and asks whatever they allow and much that
they do not: no answer may be a server's error, and none may be one that the document does not have. `lib/properties_hooks.py` has
most requests be about things that are there; so that this is not in vain, every operation must have succeeded, but those of
`EXCUSED`. The calls are the same at each run (one seed); PARLEY_PROPERTIES_EXAMPLES says how many there are of each operation.
"""
import json
import os
import pathlib
import subprocess
import sys
import urllib.request

import yaml

from lib.apps import App
from lib.harness import DOCS, PASSWORD, PATIENCE, Server, expect
from lib.properties import PNG, SECRET, Taker, upload
from lib.services import new_secret

HERE = pathlib.Path(__file__).resolve().parent
CHECKS = [
    "not_a_server_error", "status_code_conformance", "content_type_conformance", "response_headers_conformance",
    "response_schema_conformance", "ignored_auth"]
# A user may ask 200 times a second, and the hooks ask beside it: how fast the machine is does not decide what is refused.
RATE = "100/s"
# Has a few tries an hour, which it shares with the second factor: another user's tries.
ALONE = "me.password.put"
# Ends the caller.
LAST = "me.delete"
# What cannot succeed here, and what sees it succeed.
EXCUSED = {
    "invitation.get": "needs an invitation: app_contract.py",
    "passwordReset.use": "needs the link of a letter: app_contract.py",
    "me.email.put": "needs the code of a letter: app_contract.py",
    "me.email.delete": "needs an address: app_contract.py",
    "me.phone.put": "needs the code of a letter: app_contract.py",
    "me.phone.delete": "needs a number: app_contract.py",
    "me.secondFactor.confirm": "needs a code of a telephone: app_contract.py",
    "me.secondFactor.delete": "needs a second factor: app_contract.py",
}

# Are 501 on a server that does not federate, which is a server's error to the tester.
FEDERATING = ["federation.test", "federation.close", "federation.retry"]
EXCUSED_ADMIN = {
    "webhooks.redrive.one": "needs an event that was not taken: backend.py",
    "webhooks.forget.one": "needs an event that was not taken: backend.py",
    **{name: "needs somebody who is online: backend.py" for name in ("sessions.show", "sessions.close")},
    **{name: "needs federation: federation.py" for name in FEDERATING},
}


def group(app, name, *members, type="group"):
    status, made = app.call("POST", "/v1/dialogs", {"type": type, "name": name, "memberIds": list(members)})
    expect(status == 201, f"no {type}: {status} {made}")
    return made["id"]


def picture(app, bytes):
    request = urllib.request.Request(
        app.server.base + "/v1/users/me/avatar", data=bytes, method="PUT", headers={"Authorization": "Bearer " + app.token})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        expect(answer.status == 200, f"no picture: {answer.status}")


def scene(server):
    """Two users and what they have: what the tester is told of."""
    romeo, juliet = App(server, "romeo"), App(server, "juliet")
    dialogs = [romeo.dialog("juliet"), group(romeo, "Balcony", "juliet")]
    said = {where: romeo.say(where, "Good night, good night")["id"] for where in dialogs}
    heard = {where: juliet.say(where, "A thousand times good night")["id"] for where in dialogs}
    group(juliet, "Market", type="public")
    picture(juliet, PNG)
    status, export = romeo.call("POST", "/v1/users/me/exports")
    expect(status == 202, f"no export: {status} {export}")
    status, page = romeo.call("GET", "/v1/sync")
    expect(status == 200, f"no cursor: {status} {page}")
    status, sessions = romeo.call("GET", "/v1/sessions")
    expect(status == 200, f"no sessions: {status} {sessions}")
    return {
        "base": server.base, "token": romeo.token, "password": PASSWORD, "secret": SECRET, "dialogs": dialogs, "said": said,
        "heard": heard, "workshop": group(romeo, "Workshop", "juliet"), "attachment": upload(romeo, server),
        "export": export["id"], "cursor": page["cursor"], "sessions": [session["id"] for session in sessions["items"]]}


def admin_scene(server, known, url):
    """A key that may everything, and what it finds: a webhook, and reports enough for all that ask for one."""
    secret = json.loads(server.command("key", "add", "properties", "--scope", "*", "--json"))["secret"]
    romeo, nobody, juliet = (App(server, name, "scene") for name in ("romeo", "nurse", "juliet"))
    nobody.token = secret
    status, made = nobody.call("POST", "/v1/admin/webhooks", {"url": url, "events": ["user.created"]})
    expect(status == 201, f"no webhook: {status} {made}")
    for number in range(20):
        said = romeo.say(known["workshop"], f"Gossip {number}")
        status, problem = juliet.call(
            "POST", f"/v1/dialogs/{known['workshop']}/messages/{said['id']}/flags", {"reason": "spam"})
        expect(status == 204, f"no report: {status} {problem}")
    return dict(known, token=secret, url=url, webhook=made["webhook"]["id"],
                spoken=romeo.say(known["workshop"], "Who is there?")["id"])


def ask(server, document, known, seen, *which, token=None, hooks="lib.properties_hooks"):
    """Runs the tester; puts into `seen` how often each operation was answered with which status."""
    told = os.path.join(server.folder, "seen.json")
    environment = dict(os.environ, PARLEY_PROPERTIES=json.dumps(dict(known, seen=told)), SCHEMATHESIS_HOOKS=hooks,
                       PYTHONPATH=str(HERE))
    command = [
        str(pathlib.Path(sys.executable).parent / "schemathesis"), "run", str(DOCS / document),
        "--url", server.base, "--header", f"Authorization: Bearer {token or known['token']}", "--checks", ",".join(CHECKS),
        "--phases", "examples,coverage,fuzzing", "--max-examples", os.environ.get("PARLEY_PROPERTIES_EXAMPLES", "10"),
        "--seed", "1", "--rate-limit", RATE, "--warnings", "off", "--suppress-health-check", "all", "--no-color",
        "--continue-on-failure", "--generation-database", "none", *which]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, env=environment, cwd=server.folder)
    with open(told) as file:
        seen.update({name: statuses for name, statuses in json.load(file).items() if statuses})
    expect(done.returncode == 0, (done.stdout + done.stderr)[-20000:])
    print([line for line in done.stdout.splitlines() if "passed" in line][-1:], flush=True)


def succeeded(document, seen, excused):
    """Every operation has, or is excused; who is excused for nothing is told too."""
    paths = yaml.safe_load((DOCS / document).read_text())["paths"]
    names = {operation["operationId"] for item in paths.values() for operation in item.values()}
    done = {name for name in names if any(status.startswith("2") for status in seen.get(name, {}))}
    print(f"{document}: {len(done)} of {len(names)} operations have succeeded; {len(names & set(excused))} cannot here", flush=True)
    expect(not set(excused) - names, f"no operations: {sorted(set(excused) - names)}")
    failed = {name: seen.get(name, {}) for name in sorted(names - done - set(excused))}
    expect(not failed, f"never succeeded, but answered: {json.dumps(failed, indent=1)}")


def run(checks):
    # The tester makes up accounts by the hundred, and computes nothing.
    settings = dict(
        registration="true", signup__proof="false", signup__network_hour_max=100_000, invitations="true", outgoing__networks="127.0.0.0/8",
        identity__backends=f"properties={SECRET}")
    with Taker() as taker:
        for kind in "delivery", "push__webhook":
            settings.update({f"{kind}__url": taker.url, f"{kind}__secret": new_secret()})
        with Server(**settings) as server:
            server.start()
            server.add_users("romeo", "juliet", "nurse", "tybalt")
            server.befriend("romeo", "juliet")
            known, seen = scene(server), {}
            with checks.check("properties: no server error, nothing that the document does not have"):
                ask(server, "openapi.yaml", known, seen, *(f"--exclude-operation-id={name}" for name in (ALONE, LAST)))
            with checks.check("properties: nor where a password is changed"):
                caller = App(server, "tybalt", "alone")
                ask(server, "openapi.yaml", known, seen, f"--include-operation-id={ALONE}", token=caller.token)
            with checks.check("properties: nor where somebody goes for good"):
                caller = App(server, "tybalt", "properties")
                ask(server, "openapi.yaml", known, seen, f"--include-operation-id={LAST}", token=caller.token)
            with checks.check("properties: every operation has succeeded"):
                succeeded("openapi.yaml", seen, EXCUSED)
            with checks.check("properties: the same of what backends call, with a key that may everything"):
                known = admin_scene(server, known, taker.url)
                ask(server, "openapi-admin.yaml", known, seen, *(f"--exclude-operation-id={name}" for name in FEDERATING),
                    hooks="lib.admin_properties_hooks")
            with checks.check("properties: every operation of theirs has succeeded"):
                succeeded("openapi-admin.yaml", seen, EXCUSED_ADMIN)
            with checks.check("properties: the server goes on and has nothing to complain of"):
                expect(server.process.poll() is None, "the server is gone:\n" + server.tail())
                expect("request failed" not in server.log.text, server.tail())
                App(server, "romeo", "after").history(known["dialogs"][0])
