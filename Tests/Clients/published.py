"""docs/openapi.yaml, docs/openapi-admin.yaml and docs/asyncapi.yaml as programs of others read them.

Readers of YAML 1.1 (PyYAML) and of YAML 1.2 (ruamel.yaml) find the same in each. Both OpenAPI files are valid by
openapi-spec-validator, each without the other, and openapi-python-client generates a client from each in which no operation is
missing; the clients then talk to a server. No package of PyPI has AsyncAPI's own schema; so asyncapi.yaml is held to asyncapi3, an
object model of AsyncAPI 3.0, and its schemas to that of JSON Schema. asyncapi3 refuses dots in the names of messages, which AsyncAPI's
schema allows (components.json: ^[\\w\\d\\.\\-_]+$), and follows no reference; the names are given to it with hyphens, and the
references are followed here.
"""
import compileall
import importlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import jsonschema
import yaml
from openapi_spec_validator import OpenAPIV31SpecValidator
from ruamel.yaml import YAML

from lib.files import png
from lib.harness import DOCS, PASSWORD, Server, expect

OPENAPI = {"app": "openapi.yaml", "admin": "openapi-admin.yaml"}
METHODS = {"get", "put", "post", "delete", "patch"}


def read(name):
    return yaml.safe_load((DOCS / name).read_text())


def walk(value, *path):
    """Each value in a document, with its path."""
    yield path, value
    if isinstance(value, (dict, list)):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from walk(item, *path, key)


def read_alike(name):
    older, newer = read(name), YAML(typ="safe", pure=True).load((DOCS / name).read_text())
    expect(older == newer, f"{name}: readers of YAML 1.1 and 1.2 find different things")
    for path, value in walk(older):
        if isinstance(value, dict):
            # A key without a value is the rest of a text with a comma; another type is a word of YAML 1.1, such as `on`, or a date.
            broken = [key for key, item in value.items() if not isinstance(key, str) or item is None]
            expect(not broken, f"{name}: {path} has {broken}, which must be quoted")
    json.dumps(older)


def wrong_in_openapi(document):
    return [f"{list(error.absolute_path)}: {error.message}" for error in OpenAPIV31SpecValidator(document).iter_errors()]


def target(document, pointer):
    for part in filter(None, pointer.split("/")):
        document = document[part.replace("~1", "/").replace("~0", "~")]
    return document


def with_hyphens(value):
    if isinstance(value, dict):
        return {key.replace(".", "-"): with_hyphens(item) for key, item in value.items()}
    if isinstance(value, list):
        return [with_hyphens(item) for item in value]
    return value.replace(".", "-") if isinstance(value, str) and value.startswith("#/") else value


def wrong_in_asyncapi(document):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the classes of asyncapi3
        from asyncapi3 import AsyncAPI3
    errors = []
    try:
        AsyncAPI3.model_validate(with_hyphens(document))
    except ValueError as error:
        errors.append(str(error))
    for path, value in walk(document):
        if isinstance(value, dict) and isinstance(value.get("$ref"), str):
            name, _, pointer = value["$ref"].partition("#")
            try:
                target(read(name) if name else document, pointer)
            except (KeyError, TypeError, OSError):
                errors.append(f"{path}: {value['$ref']} leads nowhere")
        if path and path[-1] == "payload" or path[-2:-1] == ("schemas",):
            try:
                jsonschema.Draft7Validator.check_schema(value)
            except jsonschema.SchemaError as error:
                errors.append(f"{path}: {error.message}")
    return errors


def same_components():
    """The admin file has copies of what both use, so that it can be read alone."""
    app, admin = (read(name) for name in OPENAPI.values())
    left = [f"/components/headers/{name}" for name in admin["components"]["headers"]] + [
        "/components/schemas/Problem", "/components/schemas/Message"]
    seen = set()
    while left:
        pointer = left.pop()
        if pointer not in seen:
            seen.add(pointer)
            described = target(app, pointer)
            expect(target(admin, pointer) == described, f"{pointer} differs between the two files")
            left += [value["$ref"].removeprefix("#") for _, value in walk(described) if isinstance(value, dict) and "$ref" in value]
    expect(len(seen) > 10, f"only {seen} were compared")


def generate(name, package, folder):
    """A client, generated as a developer does it. What the generator leaves out, it says: it knows no type of a picture, so that a
    picture is sent as application/octet-stream, and read from the answer's bytes."""
    programs = pathlib.Path(sys.executable).parent  # it runs ruff, which is there as well
    done = subprocess.run(
        [programs / "openapi-python-client", "generate", "--path", DOCS / name, "--output-path", f"{folder}/{package}", "--meta", "none"],
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}, capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    expect(done.returncode == 0, f"{name}: {said[-2000:]}")
    left_out = [line for line in said.splitlines() if re.match(r"WARNING|ERROR|Unable to|ruff failed", line)]
    expect(all(re.match(r"WARNING parsing (GET|PUT) /v1/[^ ]*/avatar within", line) for line in left_out), f"{name}: {left_out}")
    warned = re.findall(r"^error: .*", said, re.MULTILINE)
    expect(not warned, f"{name}: {warned}")
    expect(compileall.compile_dir(f"{folder}/{package}", quiet=1), f"{name}: the client does not compile")
    client = importlib.import_module(package)
    for path, item in read(name)["paths"].items():
        for method in METHODS & item.keys():
            operation = item[method]
            module = re.sub(r"(?<=[a-z])(?=[A-Z])|[.-]", "_", operation["operationId"]).lower()
            importlib.import_module(f"{package}.api.{operation['tags'][0]}.{module}")
    return client


def call(package, module, client, *arguments, status, **named):
    """What an operation of a generated client returns, which has the type that is described for this status."""
    answer = importlib.import_module(f"{package}.api.{module}").sync_detailed(*arguments, client=client, **named)
    expect(answer.status_code == status, f"{module}: {answer.status_code} {answer.content[:300]}")
    return answer.parsed


def talk(server, app, admin):
    models, types = importlib.import_module("app.models"), importlib.import_module("app.types")
    login = models.LogInInput(grant=models.LogInInputGrant.PASSWORD, username="romeo", password=PASSWORD)
    session = call("app", "sessions.session_create", app.Client(base_url=server.base), body=login, status=201)
    romeo = app.AuthenticatedClient(base_url=server.base, token=session.access_token)
    picture = types.File(payload=io.BytesIO(png(8, 8)))
    user = call("app", "users.me_avatar_put", romeo, body=picture, status=200)
    expect(user.id == "romeo" and user.avatar_hash, f"{user}")
    opening = models.OpenPrivateDialogInput(type_="private", user_id="juliet")
    dialog = call("app", "dialogs.dialog_open", romeo, body=opening, status=201)
    call("app", "dialogs.typing", romeo, dialog.id, body=models.TypingInput(on=True), status=204)

    secret = json.loads(server.command("key", "add", "backend", "--scope", "*", "--json"))["secret"]
    backend, models = admin.AuthenticatedClient(base_url=server.base, token=secret), importlib.import_module("admin.models")
    order = models.NewMessage(sender="juliet", recipient="romeo", client_id="order-1", text="Good night")
    message = call("admin", "admin.messages_post", backend, body=order, status=201)
    expect(message.dialog_id == dialog.id and message.content.text == "Good night", f"{message}")
    state = call("admin", "admin.users_state", backend, "juliet", body=models.NewUserState(state=models.NewUserStateState.DISABLED), status=200)
    expect(state.state == "disabled", f"{state}")


def run(checks):
    for name in (*OPENAPI.values(), "asyncapi.yaml"):
        with checks.check(f"{name}: readers of YAML 1.1 and of YAML 1.2 find the same, and no text is cut at a comma"):
            read_alike(name)
    for name in OPENAPI.values():
        with checks.check(f"{name}: a valid description of OpenAPI 3.1, without any other file"):
            expect(not (wrong := wrong_in_openapi(read(name))), f"{wrong}")
    with checks.check("openapi-admin.yaml: what it has in common with openapi.yaml is the same there"):
        same_components()
    with checks.check("asyncapi.yaml: a valid description of AsyncAPI 3.0, whose references lead to something"):
        expect(not (wrong := wrong_in_asyncapi(read("asyncapi.yaml"))), f"{wrong}")
    with tempfile.TemporaryDirectory(prefix="parley-published-") as folder:
        sys.path.insert(0, folder)
        clients = {}
        for package, name in OPENAPI.items():
            with checks.check(f"{name}: a generated client has every operation"):
                clients[package] = generate(name, package, folder)
        with checks.check("generated clients: they log in, set a picture, open a dialog, type, and write and lock out as a backend"):
            with Server() as server:
                server.start()
                server.add_users("romeo", "juliet")
                server.befriend("romeo", "juliet")
                talk(server, clients["app"], clients["admin"])
