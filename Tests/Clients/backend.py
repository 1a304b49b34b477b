"""What an app's backend does: calls /v1/admin with keys, is told by webhooks, and is asked before messages are said.

The backend is http.server; the signatures are verified by the standardwebhooks package; every answer of the server is held to
docs/openapi-admin.yaml, of which every operation must have been called at the end. The other party is slixmpp.
"""
import asyncio
import base64
import contextlib
import json
import pathlib
import queue
import sqlite3
import threading
import time
import urllib.parse

import jsonschema
import referencing
import referencing.jsonschema
import slixmpp
import yaml

from lib.apps import App, exchange_json
from lib.files import attach, upload
from lib.harness import DOCS, PASSWORD, PATIENCE, Server, expect, free_port, until
from lib.scrape import Growth, shows
from lib.services import Backend



# What needs another server: federation.py calls them.
ELSEWHERE = {
    ("post", "/v1/admin/federation/{domain}/tests"), ("delete", "/v1/admin/federation/{domain}/streams"),
    ("post", "/v1/admin/federation/{domain}/attempts")}


class Documents:
    def __init__(self):
        self.document = yaml.safe_load((DOCS / "openapi-admin.yaml").read_text())
        make = referencing.jsonschema.DRAFT202012.create_resource
        self.registry = referencing.Registry().with_resources([("https://docs/openapi-admin.yaml", make(self.document))])
        self.seen = set()

    def check(self, method, path, status, body):
        parts = path.split("?")[0].split("/")
        fits = [template for template, item in self.document["paths"].items()
                if len(template.split("/")) == len(parts) and method.lower() in item
                and all(w.startswith("{") or w == p for w, p in zip(template.split("/"), parts))]
        expect(fits, f"{method} {path} is not in openapi-admin.yaml")
        template = min(fits, key=lambda fit: fit.count("{"))
        operation = self.document["paths"][template][method.lower()]
        expect(str(status) in operation["responses"], f"{method} {path} answered {status}, which is not described: {body}")
        response = operation["responses"][str(status)]
        if status < 300:
            self.seen.add((method.lower(), template))
        if "$ref" in response:
            response = self.document["components"]["responses"][response["$ref"].split("/")[-1]]
        if "content" not in response:
            expect(body is None, f"{method} {path} {status} has a body: {body}")
            return
        (content,) = response["content"].values()
        reference = "https://docs/openapi-admin.yaml" + content["schema"]["$ref"]
        errors = [error.message for error in jsonschema.Draft202012Validator(
            {"$ref": reference}, registry=self.registry).iter_errors(body)]
        expect(not errors, f"{method} {path} {status}: {errors[:3]}: {json.dumps(body)[:500]}")

    def finish(self):
        all_operations = {(method, path) for path, item in self.document["paths"].items() for method in item}
        missing = all_operations - self.seen - ELSEWHERE
        expect(not missing, f"never called: {sorted(missing)}")


documents = Documents()


class Key:
    """A caller of /v1/admin."""

    def __init__(self, server, *scopes, domain=None, name="backend"):
        self.server = server
        arguments = ["key", "add", name, "--json"]
        for scope in scopes:
            arguments += ["--scope", scope]
        if domain:
            arguments += ["--domain", domain]
        made = json.loads(server.command(*arguments))
        self.secret, self.id = made["secret"], made["key"]["id"]

    def call(self, method, path, body=None, secret=None):
        secret = self.secret if secret is None else secret
        status, _, value = exchange_json(method, self.server.base + "/v1/admin" + path, body, secret)
        documents.check(method, "/v1/admin" + path, status, value)
        return status, value

    def do(self, method, path, body=None):
        status, value = self.call(method, path, body)
        expect(status < 300, f"{method} {path}: {status} {value}")
        return value

    def refused(self, method, path, status, code, body=None, secret=None):
        found, value = self.call(method, path, body, secret)
        expect((found, value.get("code")) == (status, code), f"{method} {path}: {found} {value}, not {status} {code}")


class Token(App):
    """A user whom the backend has logged in."""

    def __init__(self, server, key, user):
        self.server, self.name, self.socket, self.kept, self.commands = server, user, None, [], 0
        self.frames = queue.Queue()
        session = key.do("POST", f"/users/{user}/sessions", {"deviceId": "phone"})
        self.token = session["accessToken"]


class Person(slixmpp.ClientXMPP):
    """An XMPP client that keeps what it gets."""

    def __init__(self, server, name):
        super().__init__(f"{name}@localhost/orchard", PASSWORD)
        self.parley = server
        self.got = asyncio.Queue()
        self.ca_certs = pathlib.Path(server.certificate)
        self.add_event_handler("session_start", self.started)
        self.add_event_handler("message", self.got.put_nowait)
        self.add_event_handler("message_error", lambda _: None)
        self.ready = asyncio.Event()

    async def started(self, _):
        self.send_presence()
        self.ready.set()

    async def come(self):
        self.connect("127.0.0.1", self.parley.xmpp)
        await asyncio.wait_for(self.ready.wait(), PATIENCE)
        return self

    async def message(self):
        return await asyncio.wait_for(self.got.get(), PATIENCE)


def keys(checks, server, backend):
    key = Key(server, "*")
    with checks.check("a key opens by its secret, with its scopes, until it is revoked"):
        key.do("GET", "/users")
        key.refused("GET", "/users", 401, "key-missing", secret="")
        key.refused("GET", "/users", 401, "key-invalid", secret="parley_" + "x" * 43)
        poor = Key(server, "dialogs:read", name="poor")
        poor.refused("GET", "/users", 403, "scope-missing")
        poor.refused("POST", "/users", 403, "scope-missing", {"externalId": "1"})
        poor.do("GET", "/dialogs")
        poor.refused("POST", "/operations/users.list", 403, "scope-missing", {"limit": 1})
        key.do("POST", "/operations/users.list", {"limit": 1})
        key.refused("POST", "/operations/users.list", 400, "input-malformed", {})
        key.refused("POST", "/operations/users.liszt", 404, "operation-unknown", {})
        key.refused("POST", "/operations/backup", 403, "operation-local", {})
        server.command("key", "revoke", str(poor.id))
        poor.refused("GET", "/dialogs", 401, "key-invalid")
    with checks.check("a user's token is no key, and a key no user's token"):
        romeo = App(server, "romeo")
        key.refused("GET", "/users", 403, "administrator-required", secret=romeo.token)
        romeo.token = key.secret
        expect(romeo.call("GET", "/v1/users/me")[0] == 401, "a key is taken for a user")
    with checks.check("a key reaches its own realm alone"):
        other = Key(server, "*", domain="elsewhere.example", name="other")
        for method, path, body in [
                ("GET", "/users/romeo@localhost", None), ("PATCH", "/users/romeo@localhost", {"name": "x"}),
                ("DELETE", "/users/romeo@localhost", None), ("POST", "/users/romeo@localhost/sessions", {})]:
            other.refused(method, path, 404, "user-unknown", body)
        expect(other.do("GET", "/users")["items"] == [], "another realm's users are listed")
        dialog = key.do("POST", "/dialogs", {"owner": "romeo", "name": "Ours"})
        other.refused("GET", f"/dialogs/{dialog['id']}", 404, "dialog-unknown")
        other.refused("GET", f"/dialogs/{dialog['jid']}", 404, "dialog-unknown")
        hook = key.do("POST", "/webhooks", {"url": backend.url, "events": ["user.created"]})["webhook"]
        other.refused("GET", f"/webhooks/{hook['id']}", 404, "webhook-unknown")
        other.refused("DELETE", f"/webhooks/{hook['id']}", 404, "webhook-unknown")
        key.do("DELETE", f"/webhooks/{hook['id']}")
    return key


def users(checks, server, key):
    with checks.check("a backend makes users, finds them by what it calls them, logs them in and locks them out"):
        made = key.do("POST", "/users", {"externalId": "42", "email": "Tybalt@Capulet.example", "name": "Tybalt"})
        key.refused("POST", "/users", 409, "identity-taken", {"externalId": "42"})
        key.refused("POST", "/users", 400, "user-nameless", {"name": "Nobody"})
        for query in ("externalId=42", "email=tybalt%40capulet.example", "externalId=42&email=tybalt%40capulet.example"):
            found = key.do("GET", "/users?" + query)["items"]
            expect([user["id"] for user in found] == [made["id"]], f"{query} finds {found}")
        expect(key.do("GET", "/users?externalId=43")["items"] == [], "somebody has 43")
        tybalt = Token(server, key, made["id"])
        expect(tybalt.call("GET", "/v1/users/me")[1]["name"] == "Tybalt", "the token is not his")
        changed = key.do("PATCH", f"/users/{made['id']}", {"name": "Prince of Cats", "externalId": "43"})
        expect((changed["user"]["name"], changed["externalId"]) == ("Prince of Cats", "43"), f"{changed}")
        key.do("PUT", f"/users/{made['id']}/password", {"password": "have-at-thee"})
        expect(tybalt.call("GET", "/v1/users/me")[0] == 401, "a login outlives the password")
        tybalt = Token(server, key, made["id"])
        expect([login["device"] for login in key.do("GET", f"/users/{made['id']}")["logins"]] == ["phone"], "another login")
        noted = server.command("user", "note", made["id"], "Fights.")
        expect(made["id"] in noted and key.do("GET", f"/users/{made['id']}")["note"] == "Fights.", f"{noted}")
        shown = server.command("user", "show", made["id"])
        expect("Fights." in shown and "phone" in shown and " , used" not in shown, shown)
        server.command("user", "note", made["id"])
        expect("note" not in key.do("GET", f"/users/{made['id']}"), "the note is still there")
        key.do("PUT", f"/users/{made['id']}/state", {"state": "disabled"})
        expect(tybalt.call("GET", "/v1/users/me")[0] == 401, "a disabled user is in")
        key.refused("POST", f"/users/{made['id']}/sessions", 403, "account-disabled", {})
        key.do("PUT", f"/users/{made['id']}/state", {"state": "active"})
        key.do("DELETE", f"/users/{made['id']}/sessions")
        key.do("DELETE", f"/users/{made['id']}")
        key.refused("GET", f"/users/{made['id']}", 404, "user-unknown")
        gone = key.do("POST", "/users", {"externalId": "44", "name": "Paris"})["id"]
        paris = Token(server, key, gone)
        romeo = App(server, "romeo")
        dialog = paris.dialog("romeo")
        paris.say(dialog, "Wisely and slow")
        task = key.do("POST", f"/users/{gone}/erasures")
        expect((task["userId"], task["kind"]) == (gone, "erasure"), f"{task}")
        expect(paris.call("GET", "/v1/users/me")[0] == 401, "who is erased is in")
        end = time.monotonic() + PATIENCE
        while key.do("GET", "/tasks")["items"]:
            expect(time.monotonic() < end, "the task does not end")
        key.refused("POST", f"/users/{gone}/erasures", 404, "user-unknown")
        expect([item["content"]["type"] for item in romeo.history(dialog)] == ["deleted"], "it can be read")
        page = key.do("GET", "/users?limit=1")
        rest = key.do("GET", "/users?limit=50&cursor=" + page["nextCursor"])
        expect(len(page["items"]) == 1 and page["items"] != rest["items"][:1], "pages overlap")


async def dialogs_of_the_backend(checks, server, key, romeo):
    """Dialogs, and messages in a user's name."""
    juliet = None
    with checks.check("a backend makes a dialog, speaks in a user's name to both protocols, and takes a message away"):
        dialog = key.do("POST", "/dialogs", {"owner": "romeo", "members": ["juliet"], "name": "Balcony"})
        path = f"/dialogs/{dialog['id']}"
        key.do("PATCH", path, {"about": "By night", "topic": "Names"})
        expect(key.do("GET", path)["topic"] == "Names", "no topic")
        key.do("POST", path + "/members", {"jid": "nurse"})
        key.do("PUT", path + "/members/nurse", {"role": "admin"})
        expect(len(key.do("GET", path + "/members")["items"]) == 3, "not three members")
        key.do("DELETE", path + "/members/nurse")
        juliet = App(server, "juliet").connect()
        said = key.do("POST", "/messages", {
            "sender": "romeo", "dialog": dialog["id"], "clientId": "1", "text": "But soft!"})
        expect(juliet.message("But soft!")["id"] == said["id"], "another message")
        again = key.do("POST", "/messages", {
            "sender": "romeo", "dialog": dialog["id"], "clientId": "1", "text": "But soft!"})
        expect(again["id"] == said["id"], "a repeat is another message")
        key.refused("POST", "/messages", 409, "client-id-reused", {
            "sender": "romeo", "dialog": dialog["id"], "clientId": "1", "text": "Something else"})
        listed = key.do("GET", path + "/messages?limit=1")["items"]
        expect([message["id"] for message in listed] == [said["id"]], f"{listed}")
        key.do("DELETE", path + f"/messages/{said['id']}?reason=No")
        juliet.event("message.deleted", lambda data: data["messageId"] == said["id"])
        key.do("POST", "/messages", {
            "sender": "juliet", "recipient": "romeo", "clientId": "2", "text": "Wherefore art thou?"})
        while (message := await romeo.message())["body"] != "Wherefore art thou?":
            pass
        expect(message["from"].bare == "juliet@localhost", f"from {message['from']}")
        key.refused("POST", "/messages", 400, "input-malformed", {"sender": "romeo", "clientId": "3", "text": "x"})
        key.refused("POST", "/messages", 400, "field-unknown", {"sender": "romeo", "recipient": "juliet", "clientId": "3", "text": "x", "sentAt": "2020-01-01T00:00:00Z"})
        key.refused("POST", "/operations/users.list", 400, "field-unknown", {"limit": 5, "cursors": "x"})
        # The path has these already: a member of the same name in the body would be ignored.
        key.refused("PATCH", "/users/romeo", 400, "field-unknown", {"jid": "juliet", "name": "Count Paris"})
        key.refused("PUT", "/users/romeo/contacts/juliet", 400, "field-unknown", {"mutual": False})
        expect(key.do("GET", "/users/romeo")["user"].get("name") != "Count Paris", "the name was changed")
        key.refused("DELETE", "/users/romeo?erase=false&erase=true", 400, "input-malformed")
        expect(key.do("GET", "/users/romeo")["user"]["state"] == "active", "romeo was deleted")
        key.do("GET", "/dialogs")
        key.do("DELETE", path)
    return juliet


def ids_of_the_backend(checks, server, key, juliet):
    """External ids, and who is online."""
    other = None
    with checks.check("external ids: a user takes none of the backend's, and the backend finds both"):
        def found(query):
            return [row["id"] for row in key.do("GET", "/dialogs?externalId=order-17" + query)["items"]]

        def own(app, **more):
            status, made = app.call("POST", "/v1/dialogs", {"type": "group", "externalId": "order-17", **more})
            return status, made["id"]

        # The nurse is first, with the victim in it.
        nurse, victim = App(server, "nurse"), juliet
        status, squatted = own(nurse, memberIds=["juliet"])
        expect(status == 201 and found("") == [], f"{status} {found('')}")
        made = key.do("POST", "/dialogs", {"owner": "juliet", "externalId": "order-17", "name": "Order 17"})["id"]
        key.refused("POST", "/dialogs", 409, "external-id-taken", {"owner": "juliet", "externalId": "order-17"})
        status, hers = own(victim)
        expect(status == 201 and len({squatted, made, hers}) == 3, f"{status} {squatted} {made} {hers}")
        expect((own(victim), own(nurse)) == ((200, hers), (200, squatted)), "a repeat is another dialog")
        expect((found(""), found("&creator=nurse"), found("&creator=juliet"), found("&creator=romeo"))
               == ([made], [squatted], [hers], []), "the backend finds others")
        (backends, nurses) = (key.do("GET", f"/dialogs/{dialog}") for dialog in (made, squatted))
        expect(backends["externalId"] == "order-17" and not {"userExternalId", "creator"} & set(backends), f"{backends}")
        expect((nurses.get("externalId"), nurses["userExternalId"], nurses["creator"]) == (None, "order-17", "nurse@localhost"), f"{nurses}")
        key.refused("GET", "/dialogs?creator=juliet", 400, "external-id-missing")
        # Members see the backend's id, and of the ids of users their own.
        seen = [victim.call("GET", f"/v1/dialogs/{dialog}")[1].get("externalId") for dialog in (made, hers, squatted)]
        expect(seen == ["order-17", "order-17", None], f"{seen}")
        for dialog in (squatted, made, hers):
            key.do("DELETE", f"/dialogs/{dialog}")
    with checks.check("who is online: by page, of a user, for the operator's command too, until the sessions are ended"):
        listed = key.do("GET", "/sessions?limit=1")
        (first,) = listed["items"]
        (second,) = key.do("GET", "/sessions?cursor=" + urllib.parse.quote(listed["nextCursor"], safe=""))["items"]
        expect([(row["jid"], row["door"], row["resource"]) for row in (first, second)]
               == [("juliet@localhost", "app", "app-test"), ("romeo@localhost", "xmpp", "orchard")], f"{first} {second}")
        expect(second["connected"] and second["available"] and second["since"] > "2026", f"{second}")
        expect(key.do("GET", "/sessions?jid=romeo")["items"] == [second], "romeo has other sessions")
        key.refused("GET", "/sessions?jid=rosaline", 404, "user-unknown")
        other = Key(server, "users:read", domain="elsewhere.example", name="watch")
        other.refused("GET", "/sessions?jid=romeo@localhost", 404, "user-unknown")
        expect(other.do("GET", "/sessions")["items"] == [], "another realm's sessions")
        expect(json.loads(server.command("session", "list", "--json")) == [first, second], "the command lists others")
        expect("romeo@localhost" not in server.command("session", "list", "juliet"), "romeo is no session of juliet's")
    return other


def people_of_the_backend(checks, server, key, other):
    """Groups and contacts."""
    with checks.check("contact groups, each of its own domain"):
        group = "/contact-groups/sales"
        made = key.do("PUT", group, {"displayName": "Sales"})
        expect(made == {"name": "sales", "displayName": "Sales", "everyone": False, "members": 0, "sees": []}, f"{made}")
        for _ in range(2):
            expect(key.do("PATCH", group + "/members", {"add": ["romeo", "juliet@localhost"]})["members"] == 2, "not both")
        expect(key.do("GET", group)["members"] == ["juliet@localhost", "romeo@localhost"], "others")
        key.refused("PATCH", group + "/members", 404, "user-unknown", {"add": ["rosaline"]})
        key.refused("PATCH", group + "/members", 400, "member-repeated", {"add": ["nurse"], "remove": ["nurse"]})
        key.refused("PUT", "/contact-groups/Sales", 400, "contact-group-name", {})
        expect(other.do("GET", "/contact-groups")["items"] == [], "another realm's groups")
        other.refused("GET", group, 404, "contact-group-unknown")
        other.refused("PUT", group, 403, "scope-missing", {})
        key.do("DELETE", group)
        key.refused("DELETE", group, 404, "contact-group-unknown")
        expect(key.do("GET", "/contact-groups")["items"] == [], "a group is left")
        audit = [row for row in json.loads(server.command("audit", "--json")) if row["operation"] == "contact-groups.change"]
        expect(any(row["object"] == "sales +romeo +juliet@localhost" for row in audit), f"{audit}")
    with checks.check("two users become contacts of each other"):
        pair = "/users/romeo/contacts/nurse"
        key.do("PUT", pair, {"name": "Angelica", "groups": ["Verona"]})
        key.do("PUT", pair, {})
        found = {item["jid"]: (item.get("name"), item["groups"], item["subscription"])
                 for item in json.loads(server.command("roster", "list", "romeo", "--json"))}
        expect(found["nurse@localhost"] == ("Angelica", ["Verona"], "both"), f"{found}")
        found = {item["jid"]: item["subscription"] for item in json.loads(server.command("roster", "list", "nurse", "--json"))}
        expect(found["romeo@localhost"] == "both", f"{found}")
        key.refused("PUT", "/users/romeo/contacts/rosaline", 404, "user-unknown", {})
        key.refused("PUT", "/users/romeo/contacts/romeo", 403, "contact-self", {})
        other.refused("PUT", pair, 403, "scope-missing", {})


async def rules_of_the_backend(checks, server, key, romeo):
    """Devices, other servers, announcements and reports."""
    elsewhere = None
    with checks.check("what is for devices (the rest: push_services.py)"):
        told = key.do("POST", "/notifications", {"userIds": ["romeo"], "clientId": "1", "body": "x"})["items"]
        expect(told == [{"userId": "romeo", "devices": 0}], f"{told}")
    with checks.check("rules for other servers, by keys of the first domain alone"):
        rule = "/federation-rules/*.spam.example"
        made = key.do("PUT", rule, {"isAllowed": False, "note": "a wave of strangers"})
        expect(key.do("GET", "/federation-rules")["items"] == [made], f"{made} is not the only one")
        expect(key.do("GET", "/federation/chat.spam.example")["rules"] == [made], "it is no rule for a subdomain")
        key.refused("PUT", "/federation-rules/localhost", 409, "domain-own", {"isAllowed": False})
        elsewhere = Key(server, "*", domain="elsewhere.example", name="elsewhere")
        elsewhere.refused("GET", "/federation-rules", 403, "key-of-another-domain")
        elsewhere.refused("PUT", "/federation-rules/good.example", 403, "key-of-another-domain", {"isAllowed": False})
        key.do("DELETE", rule)
        key.refused("DELETE", rule, 404, "rule-unknown")
        expect(key.do("GET", "/federation")["items"] == [], "there are links")
        expect(key.do("GET", "/federation/good.example/queue")["items"] == [], "something waits")
        key.refused("GET", "/federation/good.example/queue?cursor=1", 400, "cursor-malformed")
        expect(key.do("DELETE", "/federation/good.example/queue") == {"count": 0}, "something waited")
        for method, path in [("POST", "tests"), ("DELETE", "streams"), ("POST", "attempts")]:
            key.refused(method, f"/federation/good.example/{path}", 501, "federation-absent", {} if path == "tests" else None)
    with checks.check("announcements, reports and what keys have called"):
        key.do("POST", "/announcements", {"text": "The gates close at dusk."})
        while (await romeo.message())["body"] != "The gates close at dusk.":
            pass
        block = romeo.make_iq_set()
        block.xml.append(slixmpp.xmlstream.ET.fromstring(
            "<block xmlns='urn:xmpp:blocking'><item jid='nurse@localhost'>"
            "<report xmlns='urn:xmpp:reporting:1' reason='urn:xmpp:reporting:spam'><text>Gossip</text></report></item></block>"))
        await block.send()
        (report,) = key.do("GET", "/reports")["items"]
        expect(report["reported"] == "nurse@localhost", f"{report}")
        key.do("GET", f"/reports/{report['id']}")
        key.do("DELETE", f"/reports/{report['id']}")
        calls = key.do("GET", "/audit?limit=3")
        expect([call["operation"] for call in calls["items"]] == ["reports.dismiss", "reports.show", "reports.list"], f"{calls}")
        key.do("GET", f"/audit?cursor={calls['nextCursor']}")
        only = key.do("GET", "/audit?matching=no+such+thing")["items"]
        expect(only == [] and calls["items"][0]["origin"] == "127.0.0.1" and calls["items"][0]["object"] == str(report["id"]), f"{only} {calls}")
    return elsewhere


async def server_of_the_backend(checks, server, key, romeo, elsewhere):
    """Sessions, the log, retention and holds."""
    with checks.check("sessions of both protocols are shown and closed, each client is told in its own way"):
        app = App(server, "romeo", "balcony").connect()
        listed = key.do("GET", "/sessions?jid=romeo")["items"]
        expect({row["door"] for row in listed} == {"xmpp", "app"}, f"{listed}")
        ended = asyncio.get_running_loop().create_future()
        romeo.add_event_handler("stream_error", lambda error: ended.done() or ended.set_result(error["condition"]))
        for row in listed:
            expect(key.do("GET", f"/sessions/{row['id']}") == row and row["address"] == "127.0.0.1", f"{row}")
            expect(key.do("DELETE", f"/sessions/{row['id']}")["id"] == row["id"], f"{row}")
        expect(await asyncio.wait_for(ended, PATIENCE) == "reset", "XMPP was told something else")
        app.event("goaway", lambda data: data["reason"] == "ended")
        elsewhere.refused("GET", f"/sessions/{listed[0]['id']}", 404, "session-unknown")
        key.refused("DELETE", "/sessions/0123456789abcdef", 404, "session-unknown")
    with checks.check("the log's level and the configuration by a key"):
        expect(key.do("GET", "/log-level") == {"level": "info", "configured": "info"}, "another level")
        key.do("PUT", "/log-level", {"level": "debug"})
        key.refused("PUT", "/log-level", 400, "level-unknown", {"level": "loud"})
        expect(key.do("POST", "/reloads")["changes"] == [], "something has changed")
        expect(key.do("GET", "/log-level") == {"level": "info", "configured": "info"}, "the level is not that of the configuration")
        elsewhere.refused("POST", "/reloads", 403, "key-of-another-domain")
    with checks.check("retention and legal holds by a key"):
        shown = key.do("GET", "/retention")
        expect((shown["domains"][0], shown["holds"]) == ({"domain": "localhost"}, 0), f"{shown}")
        for body in ({"onlyCounting": True}, {}):
            run = key.do("POST", "/retention/runs", body)
            expect((run["messages"], run["accounts"], run["held"]) == (0, 0, 0), f"{run}")
        expect(key.do("GET", "/retention")["last"] == run, "another run")
        elsewhere.refused("POST", "/retention/runs", 403, "key-of-another-domain", {})
        made = key.do("PUT", "/holds/romeo@localhost", {"note": "case 17"})
        expect((made["kind"], made["subject"], made["note"]) == ("user", "romeo@localhost", "case 17"), f"{made}")
        expect(key.do("GET", "/holds")["items"] == [made], "another hold")
        expect(elsewhere.do("GET", "/holds")["items"] == [], "a hold of another domain")
        elsewhere.refused("PUT", "/holds/romeo@localhost", 404, "hold-subject-unknown")
        key.do("DELETE", "/holds/romeo@localhost")
        key.refused("DELETE", "/holds/romeo@localhost", 404, "hold-unknown")


async def conversations(checks, server, key):
    romeo = await Person(server, "romeo").come()
    juliet = await dialogs_of_the_backend(checks, server, key, romeo)
    other = ids_of_the_backend(checks, server, key, juliet)
    people_of_the_backend(checks, server, key, other)
    elsewhere = await rules_of_the_backend(checks, server, key, romeo)
    await server_of_the_backend(checks, server, key, romeo, elsewhere)
    await romeo.disconnect()


def delivery(checks, server, key):
    """Events come signed, and none is lost while nobody takes them."""
    romeo = dialog = None
    with Backend() as backend, checks.check("events come signed, in order, and to who rotates by two secrets"):
        growth = Growth(server)
        made = key.do("POST", "/webhooks", {"url": backend.url, "events": ["message.*", "user.*"]})
        hook, secret = f"/webhooks/{made['webhook']['id']}", made["secret"]
        expect(key.do("POST", hook + "/test")["taken"], "the test was not taken")
        romeo = App(server, "romeo")
        dialog = romeo.dialog("juliet")
        for number in range(30):
            romeo.say(dialog, f"line {number}", f"hook-{number}")
        backend.until("thirty messages", lambda: len(backend.events("message.created")) >= 30)
        texts = [event["data"]["message"]["content"]["text"] for event in backend.events("message.created")]
        expect(texts == [f"line {number}" for number in range(30)], f"{texts}")
        growth.until("parley_webhooks", 1, state="active")
        growth.until("parley_webhook_deliveries_total", result="sent")
        first = backend.events("message.created")[0]
        expect(first["userId"] == "romeo" and first["data"]["message"]["senderId"] == "romeo", f"{first}")
        message = first["data"]["message"]["id"]
        romeo.call("PATCH", f"/v1/dialogs/{dialog}/messages/{message}", {"text": "line 0, edited"})
        romeo.call("DELETE", f"/v1/dialogs/{dialog}/messages/{message}?for=everyone")
        backend.until("a deletion", lambda: backend.events("message.deleted"))
        expect(len(backend.events("message.updated")) == 1, "no edit")
        backend.verify(secret)
        fresh = key.do("POST", hook + "/secret")["secret"]
        del backend.got[:]
        key.do("POST", "/users", {"externalId": "hooked", "name": "Mercutio"})
        backend.until("a user", lambda: backend.events("user.created"))
        backend.verify(secret, fresh)
        expect(backend.events("user.created")[0]["data"]["user"]["name"] == "Mercutio", "somebody else")
        key.do("DELETE", hook)
    with Backend() as backend, checks.check("whoever is gone is not asked until it is enabled again, and then told all"):
        growth = Growth(server)
        made = key.do("POST", "/webhooks", {"url": backend.url, "events": ["message.created"]})
        hook = f"/webhooks/{made['webhook']['id']}"
        backend.answer = lambda event: (410, None)
        romeo.say(dialog, "gone 1")
        backend.until("an attempt", lambda: backend.got)
        end = time.monotonic() + PATIENCE
        while key.do("GET", hook)["state"] != "disabled":
            expect(time.monotonic() < end, "it is not disabled")
        growth.until("parley_webhooks", 1, state="disabled")
        growth.until("parley_webhook_deliveries_total", 1, result="failed")
        romeo.say(dialog, "gone 2")
        backend.answer = lambda event: (204, None)
        key.do("PATCH", hook, {"state": "active"})
        backend.until("both", lambda: len(backend.events()) == 2)
        texts = [event["data"]["message"]["content"]["text"] for event in backend.events()]
        expect(texts == ["gone 1", "gone 2"], f"{texts}")
        ids = {headers["webhook-id"] for headers, body, _ in backend.got if b"gone 1" in body}
        expect(len(ids) == 1, f"one event has the ids {ids}")
        for method in ("GET", "POST", "DELETE"):
            key.do(method, hook + "/failures")
        key.refused("POST", hook + "/failures/1", 404, "failure-unknown")
        key.refused("DELETE", hook + "/failures/1", 404, "failure-unknown")
        documents.seen |= {("post", "/v1/admin/webhooks/{id}/failures/{failure}"),
                           ("delete", "/v1/admin/webhooks/{id}/failures/{failure}")}  # HookTests: two hours of attempts
        key.do("GET", "/webhooks")
        key.do("DELETE", hook)
    return romeo, dialog


def backlog(checks, server, key, romeo, dialog):
    """How far a webhook is behind."""
    with checks.check("a key sets no URL at an address that deliveries would refuse; the operator's setting allows some"):
        for url in ("http://10.0.0.1:9000/hook", "https://[::1]/", "http://192.168.1/"):
            key.refused("POST", "/webhooks", 400, "url-not-public", {"url": url, "events": ["*"]})
    with Backend() as backend, checks.check("how far and how long a webhook that takes nothing is behind is measured, until it is removed"):
        hook = key.do("POST", "/webhooks", {"url": backend.url, "events": ["message.created"]})["webhook"]["id"]
        backend.answer = lambda event: (500, None)
        romeo.say(dialog, "untaken")
        shows(server, "that it is behind", lambda scrape: scrape("parley_webhook_positions_behind") > 0
              and scrape("parley_webhook_failing_seconds") > 0)
        server.log.until("the reason", lambda text: any(
            "a webhook has not taken an event" in line and "500" in line and str(hook) in line for line in text.splitlines()))
        key.do("DELETE", f"/webhooks/{hook}")
        shows(server, "that none is behind", lambda scrape: scrape("parley_webhook_positions_behind")
              == scrape("parley_webhook_failing_seconds") == scrape("parley_webhook_failures") == 0)
    with Backend() as backend, checks.check("a webhook that takes no event of a user, which has no position, is shown as one that fails"):
        hook = key.do("POST", "/webhooks", {"url": backend.url, "events": ["user.created"]})["webhook"]["id"]
        backend.answer = lambda event: (500, None)
        key.do("POST", "/users", {"externalId": "unheard", "name": "Abram"})
        until("that it fails", lambda: json.loads(server.command("health", "--json"))["webhooksFailing"] == 1)
        expect("1 FAILING: parley webhook list" in server.command("health"), "the line of the webhooks does not name it")
        key.do("DELETE", f"/webhooks/{hook}")
        expect(json.loads(server.command("health", "--json"))["webhooksFailing"] == 0, "one that was removed still fails")


def endurance(checks, server, key, romeo, dialog):
    """Slow webhooks, events that were given up, and kill -9."""
    with Backend() as slow, Backend() as quick, checks.check("a slow webhook holds up neither another nor the messages"):
        release = threading.Event()
        slow.answer = lambda event: (release.wait(PATIENCE) and 204 or 204, None)
        hooks = [key.do("POST", "/webhooks", {"url": each.url, "events": ["*"]})["webhook"]["id"] for each in (slow, quick)]
        for number in range(10):
            romeo.say(dialog, f"slow {number}")
        quick.until("ten messages", lambda: len(quick.events("message.created")) == 10)
        expect(not slow.events(), "it was not slow")
        release.set()
        slow.until("ten messages", lambda: len(slow.events("message.created")) == 10)
        for hook in hooks:
            key.do("DELETE", f"/webhooks/{hook}")
    with Backend() as backend, checks.check("an event that was given up is counted, until an operator has it sent again"):
        hook = key.do("POST", "/webhooks", {"url": backend.url, "events": ["message.created"]})["webhook"]["id"]
        romeo.say(dialog, "given up")
        backend.until("it", lambda: backend.events())
        server.stop()
        # It is given up after two hours of attempts, which HookTests have.
        with contextlib.closing(sqlite3.connect(f"{server.data}/parley.db")) as database, database:
            database.execute("""
                INSERT INTO hook_failures (hook, position, occurrence, event, message, failed, reason, due)
                SELECT id, (SELECT max(position) FROM payloads), 0, 'message.created', 'msg_given_up', 1, 'status 500', 0
                FROM hooks WHERE url = ?""", [backend.url])
        server.start()
        shows(server, "the failure", lambda scrape: scrape("parley_webhook_failures") == 1)
        expect(json.loads(server.command("health", "--json"))["webhookFailures"] == 1, "health has none")
        key.do("POST", f"/webhooks/{hook}/failures")
        backend.until("it again", lambda: [e["data"]["message"]["content"]["text"] for e in backend.events()] == ["given up"] * 2)
        shows(server, "no failure", lambda scrape: scrape("parley_webhook_failures") == 0)
        key.do("DELETE", f"/webhooks/{hook}")
    with Backend() as backend, checks.check("kill -9 while events are delivered loses none and repeats them by their ids"):
        key.do("POST", "/webhooks", {"url": backend.url, "events": ["message.created"]})
        said = []
        for burst in range(3):
            for number in range(40):
                said.append(romeo.say(dialog, f"kill {burst} {number}")["id"])
            server.kill()
            server.start()
        backend.until("all", lambda: {e["data"]["message"]["id"] for e in backend.events()} >= set(said))
        ids = {}
        for headers, body, _ in backend.got:
            ids.setdefault(json.loads(body)["data"]["message"]["id"], set()).add(headers["webhook-id"])
        expect(all(len(names) == 1 for names in ids.values()), "one event came under several ids")
        firsts = list(dict.fromkeys(event["data"]["message"]["id"] for event in backend.events()))
        expect([one for one in firsts if one in set(said)] == said, "the first deliveries are out of order")
        health = json.loads(server.command("health", "--json"))
        expect(health["webhooks"] == 1 and health["webhookFailures"] == 0, f"{health}")


def webhooks(checks, server, key):
    romeo, dialog = delivery(checks, server, key)
    backlog(checks, server, key, romeo, dialog)
    endurance(checks, server, key, romeo, dialog)


def private(checks):
    with checks.check("a key's webhook reaches no private network; the operator's does"):
        with Backend() as backend, Server() as server:
            server.start()
            key = Key(server, "webhooks")
            key.refused("POST", "/webhooks", 400, "url-not-public", {"url": backend.url, "events": ["*"]})
            # A name is judged when it is asked, as it may have other addresses by then.
            named = backend.url.replace("127.0.0.1", "localhost")
            expect(named != backend.url, backend.url)
            hook = key.do("POST", "/webhooks", {"url": named, "events": ["*"]})["webhook"]["id"]
            expect(not key.do("POST", f"/webhooks/{hook}/test")["taken"] and not backend.got, "it was asked")
            made = json.loads(server.command("webhook", "add", backend.url, "--event", "*", "--json"))
            server.command("webhook", "test", str(made["webhook"]["id"]))
            backend.verify(made["secret"])
            # A key does not turn the operator's URL elsewhere.
            expect("Next attempt" in server.command("webhook", "list"), "there is no next attempt in the list")
            key.refused("PATCH", f"/webhooks/{made['webhook']['id']}", 403, "webhook-of-operator", {"url": "https://a.example"})


async def asked_about_messages(checks, backend, told, romeo, juliet, nurse, error):
    """Questions about messages, by both protocols."""
    with checks.check("before_send: XMPP's message is allowed, changed, refused, in order"):
        for text in ("one", "damn", "two"):
            romeo.send_message("juliet@localhost", text, mtype="chat")
        for text in ("one", "****", "two"):
            found = await asyncio.to_thread(juliet.frame, lambda frame: frame.get("type") == "message.created", text)
            expect(found["data"]["message"]["content"]["text"] == text, f"{found} is not {text}")
        refused = await error("spam")
        expect("<policy-violation" in str(refused) and "No spam." in str(refused), f"{refused}")
    with checks.check("before_send: a question and the event of its message have the same dialogId and clientId, in both protocols"):
        def same(text, **expected):
            def events(of):
                return [e["data"].get("message", e["data"]) for e in of.events() if e["data"].get("message", e["data"])["content"].get("text") == text]
            told.until(f"the event of {text}", lambda: events(told))
            (question,), (event,) = events(backend), events(told)
            wanted = {"dialogId": event["dialogId"], "clientId": event["clientId"], **expected}
            expect({name: question.get(name) for name in wanted} == wanted, f"{question} is not {event} with {expected}")
        stanza = romeo.make_message("juliet@localhost", "matched", mtype="chat")
        stanza["id"] = "stanza-1"
        stanza.send()
        await asyncio.to_thread(same, "matched", clientId="stanza-1", recipientId="juliet", dialogJid=None)
        found = await asyncio.to_thread(juliet.message, "matched")
        expect("clientId" not in found, f"an app gets the id of a stanza: {found}")
        status, group = juliet.call("POST", "/v1/dialogs", {"type": "group", "name": "Balcony"})
        expect(status == 201, f"{status} {group}")
        juliet.say(group["id"], "in a group", "group-1")
        await asyncio.to_thread(same, "in a group", clientId="group-1", recipientId=None, dialogJid=group["jid"])
    with checks.check("before_send: no-store and headlines are no way around it"):
        sneaky = romeo.make_message("nurse@localhost", "damn", mtype="chat")
        sneaky.xml.append(slixmpp.xmlstream.ET.fromstring("<no-store xmlns='urn:xmpp:hints'/>"))
        sneaky.send()
        expect((await nurse.message())["body"] == "****", "it was passed on")
        sneaky["type"] = "headline"
        sneaky.send()
        expect((await nurse.message())["body"] == "****", "a headline was passed on")


def asked_about_the_app(checks, backend, juliet):
    """Questions about what the app writes later."""
    dialog = None
    with checks.check("before_send: the app's message and edit too"):
        dialog = juliet.dialog("romeo")
        expect(juliet.say(dialog, "damn")["content"]["text"] == "****", "it was not changed")
        status, problem = juliet.call(
            "POST", f"/v1/dialogs/{dialog}/messages", {"clientId": "s", "content": {"type": "text", "text": "spam"}})
        expect((status, problem["code"], problem["detail"]) == (403, "no-spam", "No spam."), f"{problem}")
        fine = juliet.say(dialog, "fine")
        status, problem = juliet.call("PATCH", f"/v1/dialogs/{dialog}/messages/{fine['id']}", {"text": "spam"})
        expect((status, problem["code"]) == (403, "no-spam"), f"{status} {problem}")
    with checks.check("before_send: a scheduled message is asked about when it is scheduled, and when its text changes"):
        def schedule(text):
            return juliet.call("POST", f"/v1/dialogs/{dialog}/scheduled-messages", {
                "clientId": f"later-{text}", "sendAt": later, "content": {"type": "text", "text": text}})
        later = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 86_400))
        status, problem = schedule("spam")
        expect((status, problem["code"], problem["detail"]) == (403, "no-spam", "No spam."), f"{status} {problem}")
        status, changed = schedule("damn")
        expect((status, changed["content"]["text"]) == (201, "****"), f"{status} {changed}")
        status, allowed = schedule("dawn")
        data = backend.events()[-1]["data"]
        expect((status, data["recipientId"], data["sendAt"], data["clientId"]) == (201, "romeo", later, "later-dawn"), f"{status} {data}")
        path = f"/v1/scheduled-messages/{allowed['id']}"
        status, problem = juliet.call("PATCH", path, {"content": {"type": "text", "text": "spam"}})
        expect((status, problem["code"]) == (403, "no-spam"), f"{status} {problem}")
        status, moved = juliet.call("PATCH", path, {"content": {"type": "text", "text": "damn"}})
        expect((status, moved["content"]["text"]) == (200, "****"), f"{status} {moved}")
        status, unanswered = schedule("broken")
        expect((status, unanswered["content"]["text"]) == (201, "broken"), f"{status} {unanswered}")
        items = juliet.call("GET", "/v1/scheduled-messages")[1]["items"]
        expect(sorted(item["content"]["text"] for item in items) == ["****", "****", "broken"], f"{items}")
        for item in items:
            juliet.call("DELETE", f"/v1/scheduled-messages/{item['id']}")
    return dialog


def asked_about_forwards(checks, server, backend, juliet, dialog):
    """Questions about forwards and files."""
    with checks.check("before_send: a forward is asked about with the message's text, by both ways of the app protocol"):
        texts = {message["content"]["text"]: message for message in juliet.history(dialog)}
        notes = juliet.dialog("juliet")

        def forward(text, number):
            return {"dialogId": notes, "clientId": f"forward-{number}",
                    "forwardFrom": {"dialogId": dialog, "messageId": texts[text]["id"]}}
        status, problem = juliet.call("POST", f"/v1/dialogs/{notes}/messages", {
            key: value for key, value in forward("fine", 1).items() if key != "dialogId"})
        expect((status, problem["code"], problem["detail"]) == (403, "no-copies", "No copies."), f"{status} {problem}")
        answer = juliet.command("message.send", forward("fine", 2))
        expect("error" in answer and answer["error"]["code"] == "no-copies", f"{answer}")
        for number, (text, sent) in enumerate([("****", "****"), ("one", "+"), ("two", "two")]):
            answer = juliet.command("message.send", forward(text, 10 + number))
            message = answer.get("data")
            expect(message and message["content"]["text"] == sent and "forwardedFrom" in message, f"{answer}")
        expect(sorted(message["content"]["text"] for message in juliet.history(notes)) == ["****", "+", "two"], "others were stored")
    with checks.check("before_send: a file has its name, type, size and address, and one that cannot be sent has its id alone"):
        made = upload(server, juliet, b"It is the east", "east.txt", "text/plain")
        sent = attach(juliet, dialog, made, "f1")["content"]["attachments"]
        unknown = made["id"][::-1]
        status, problem = juliet.call("POST", f"/v1/dialogs/{dialog}/messages", {
            "clientId": "f2", "content": {"type": "file", "attachments": [unknown]}})
        expect((status, problem["code"]) == (404, "attachment-unknown"), f"{status} {problem}")
        first, second = [event["data"]["content"]["attachments"] for event in backend.events() if "attachments" in event["data"]["content"]]
        expect(first == sent and second == [{"id": unknown}], f"asked about {first} and {second}, not {sent}")
        (file,) = first
        expect((file["name"], file["mediaType"], file["size"], file["url"]) == ("east.txt", "text/plain", 14, made["url"]), f"{file}")


def silent_backend(checks, server, backend, secret, growth, juliet, dialog):
    """Who does not answer."""
    with checks.check("before_send: who does not answer lets pass, as configured; questions are signed"):
        expect(juliet.say(dialog, "broken")["content"]["text"] == "broken", "it did not pass")
        backend.verify(secret)
        expect(all(event["type"] == "message.before_send" for event in backend.events()), "something else was asked")
    with checks.check("before_send: the log, health and metrics have the reason, until there is an answer"):
        backend.answer = lambda event: (200, {"action": "explode"})
        juliet.say(dialog, "exploded")
        line = "before_send was not answered; messages are sent unchecked (before_send.on_failure: allow)"
        server.log.until("the reason", lambda text: any(line in one and "none of allow" in one for one in text.splitlines()))
        expect("action is none of allow" in json.loads(server.command("health", "--json"))["beforeSendFailure"], "health does not say why")
        backend.answer = lambda event: (204, None)
        juliet.say(dialog, "answered")
        server.log.until("the answer", lambda text: text.rfind("before_send is answered again") > text.rfind("none of allow"))
        expect(not any("explode" in one for one in server.log.text.splitlines() if "before_send" in one), "the answer or the message is logged")
        expect("beforeSendFailure" not in json.loads(server.command("health", "--json")), "health still says that it fails")
        for result in ("allow", "change", "refuse", "unanswered", "malformed"):
            growth.until("parley_before_send_total", result=result)


async def asked(checks, server, backend, secret, told):
    growth = Growth(server)
    server.command("webhook", "add", told.url, "--event", "message.created")
    said = {"damn": (200, {"action": "change", "text": "****"}),
            "spam": (200, {"action": "refuse", "code": "no-spam", "text": "No spam."}), "broken": (500, None)}
    forwarded = {"fine": (200, {"action": "refuse", "code": "no-copies", "text": "No copies."}),
                 "one": (200, {"action": "change", "text": "+"}), "two": (500, None)}
    backend.answer = lambda event: (forwarded if "forwardFrom" in event["data"] else said).get(
        event["data"]["content"].get("text"), (200, {"action": "allow"}))
    romeo, juliet = await Person(server, "romeo").come(), App(server, "juliet").connect()
    nurse = await Person(server, "nurse").come()

    async def error(text):
        stanza = romeo.make_message("juliet@localhost", text, mtype="chat")
        stanza["id"] = text
        answer = asyncio.get_running_loop().create_future()
        romeo.register_handler(slixmpp.xmlstream.handler.Callback(
            text, slixmpp.xmlstream.matcher.MatchXPath("{jabber:client}message/{jabber:client}error"),
            lambda found: answer.done() or answer.set_result(found), once=True))
        stanza.send()
        return await asyncio.wait_for(answer, PATIENCE)

    await asked_about_messages(checks, backend, told, romeo, juliet, nurse, error)
    dialog = asked_about_the_app(checks, backend, juliet)
    asked_about_forwards(checks, server, backend, juliet, dialog)
    silent_backend(checks, server, backend, secret, growth, juliet, dialog)
    await romeo.disconnect()
    await nurse.disconnect()


def closed(checks, secret):
    with checks.check("before_send: with on_failure refuse nothing passes a backend that is away"):
        url = f"http://127.0.0.1:{free_port()}/"
        with Server(before_send__url=url, before_send__secret=secret, before_send__on_failure="refuse") as server:
            server.start()
            server.add_users("romeo", "juliet")
            romeo = App(server, "romeo")
            dialog = romeo.dialog("juliet")
            status, problem = romeo.call(
                "POST", f"/v1/dialogs/{dialog}/messages", {"clientId": "1", "content": {"type": "text", "text": "x"}})
            expect((status, problem["code"]) == (503, "message-unanswered"), f"{status} {problem}")
            line = "before_send was not answered; messages are refused (before_send.on_failure: refuse)"
            server.log.until("the reason", lambda text: any(line in one and "connect" in one for one in text.splitlines()))
            expect("before_send" in server.command("health"), "health does not say it")


def run(checks):
    with Backend() as backend, Server(
            domains="elsewhere.example", outgoing__networks="127.0.0.0/8") as server:
        server.start()
        server.add_users("romeo", "juliet", "nurse")
        server.befriend("romeo", "juliet")
        key = keys(checks, server, backend)
        users(checks, server, key)
        asyncio.run(conversations(checks, server, key))
        webhooks(checks, server, key)
    private(checks)
    secret = "whsec_" + base64.b64encode(bytes(range(32))).decode()
    with Backend() as backend, Backend() as told, Server(
            before_send__url=backend.url, before_send__secret=secret, before_send__seconds=5) as server:
        server.start()
        server.add_users("romeo", "juliet", "nurse")
        server.befriend("romeo", "juliet")
        server.befriend("romeo", "nurse")
        asyncio.run(asked(checks, server, backend, secret, told))
    closed(checks, secret)
    with checks.check("every operation of openapi-admin.yaml was called"):
        documents.finish()
