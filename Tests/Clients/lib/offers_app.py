"""What the app protocol offers: the features, grants and limits of `GET /v1/info`, the operations of the documents, the page at / and host-meta."""
import base64
import json
import re
import ssl
import urllib.parse

from lib.apps import App, exchange, exchange_json
from lib.harness import DOCS, PASSWORD, expect
from lib.offers import By, all_offered, script, used

TERMS = "https://verona.example/terms"
CONTRACT = By("Clients/app_contract.py", "expect(not missing, f\"never seen: {missing}\")")
CONTENT = {"location": {"lat": 45.43, "lng": 10.99}, "contact": {"name": "The nurse"}, "sticker": {"pack": "roses", "sticker": "1"},
           "custom": {"kind": "dance", "payload": {"steps": 2}}}
# The operations of docs/openapi.yaml that make up a feature. The test of the contract calls all operations of the document.
FEATURES = {
    "contacts": ["contact.list", "contact.put", "contact.delete"], "blocks": ["block.list", "block.put", "block.delete"],
    "groups": ["dialog.open", "member.list", "member.put", "member.delete"], "markers": ["marker.set"], "typing": ["typing"], "presence": ["user.presence"],
    "sync": ["sync"], "edits": ["message.edit", "edit.list"], "deletions": ["message.delete"], "reactions": ["reactions.set"], "replies": ["message.send"],
    "avatars": ["me.avatar.put", "user.avatar"], "second-factor": ["me.secondFactor.create", "me.secondFactor.confirm", "me.secondFactor.delete"],
    "search": ["message.search"], "drafts": ["draft.put", "draft.get", "draft.delete"], "scheduled": ["scheduled.create", "scheduled.cancel"],
    "custom": ["custom"], "events": ["events"], "nearby": ["me.location.put", "user.list"], "contactMatches": ["contactMatch.salt", "contactMatch.create"],
    "calls": ["call.start", "call.signal", "call.end", "iceServer.list"], "attachments": ["attachment.create", "attachment.get"],
    "exports": ["export.create", "export.list", "export.get"], "devices": ["device.put", "device.list", "device.delete"],
    "registration": ["user.register"], "invitations": ["invitation.create", "invitation.get"], "codes.email": ["code.send", "me.email.put"],
    "codes.phone": ["code.send", "me.phone.put"],
    **{f"content.{kind}": ["message.send"] for kind in CONTENT},
}


def features(checks, info, client, dialog):
    """The features that are named."""
    with checks.check("offered: each feature that the app protocol names is operations of the document, which its test calls"):
        operations = set(re.findall(r"operationId: (\S+)", (DOCS / "openapi.yaml").read_text()))

        def use(name, of):
            expect(set(of) <= operations, f"{set(of) - operations} are in no document")
            kind = name.partition("content.")[2]
            if kind:
                content = {"type": kind, "text": f"A {kind}", **CONTENT[kind]}
                status, sent = client.call("POST", f"/v1/dialogs/{dialog}/messages", {"clientId": name, "content": content})
                expect(status == 201 and CONTENT[kind].items() <= sent["content"].items(), f"{status} {sent}")

        used("features", info["features"], FEATURES, use)
        all_offered("features", info["features"], FEATURES)
        CONTRACT.check()
        By("Clients/backend.py", "every operation of openapi-admin.yaml was called").check()


def sign_ins(checks, base, info):
    """The grants."""
    def signs_in(name, body):
        status, _, session = exchange_json("POST", base + "/v1/sessions", {"grant": name, "deviceId": name, **body})
        expect(status == 201, f"{status} {session}")
        return session

    with checks.check("offered: each grant signs in"):
        def refresh(name):
            first = signs_in("password", {"username": "juliet", "password": PASSWORD})
            signs_in(name, {"refreshToken": first["refreshToken"]})

        table = {
            "password": lambda name: signs_in(name, {"username": "juliet", "password": PASSWORD}), "refresh": refresh,
            "guest": lambda name: signs_in(name, {}), "second-factor": script("accounts_mail", "second factor: SCRAM with the password is refused"),
            "code": script("accounts_mail", "mail: a code comes over TLS, from who it says, and makes a user"),
            "jwt": script("signin_tokens", "tokens: a backend's user comes in, again and again, as one user"),
            "provider": script("signin_oauth", "codes: whoever comes by a code is one user, each time"),
        }
        used("grants", info["grants"], table, lambda name, use: use(name))
        all_offered("grants", info["grants"], table)


def limits(checks, base, info, client, dialog):
    """The limits."""
    with checks.check("offered: each limit holds: as much is taken, and more is not"):
        def text(most):
            return [client.call("POST", f"/v1/dialogs/{dialog}/messages", {
                "clientId": f"t{more}", "content": {"type": "text", "text": "x" * (most + more)}})[0] for more in (0, 1)]

        def metadata(most):
            empty = len(json.dumps({"m": ""}, separators=(",", ":")))
            return [client.call("PATCH", "/v1/users/me", {"metadata": {"m": "x" * (most - empty + more)}})[0] for more in (0, 1)]

        def body(most):
            """The body of a request, whatever is in it."""
            start = b'{"clientId":"b","content":{"type":"text","text":"b"}'
            return [exchange("POST", base + f"/v1/dialogs/{dialog}/messages", start + b" " * (most + more - len(start) - 1) + b"}", {
                "Content-Type": "application/json", "Authorization": "Bearer " + client.token})[0] for more in (0, 1)]

        def page(path):
            return lambda most: [client.call("GET", f"{path}{most + more}")[0] for more in (0, 1)]

        table = {
            "textCharacters": (text, [201, 413]), "metadataBytes": (metadata, [200, 413]), "messageBytes": (body, [201, 413]),
            "pageItems": (page(f"/v1/dialogs/{dialog}/messages?limit="), [200, 400]), "syncEvents": (page("/v1/sync?limit="), [200, 400]),
            "syncWaitSeconds": (lambda most: [client.call("GET", f"/v1/sync?wait={most + more}")[0] for more in (0, 1)], [200, 400]),
            "attachmentBytes": (lambda most: [client.call("POST", "/v1/attachments", {"name": "f", "mediaType": "image/png", "size": most + more})[0]
                                              for more in (0, 1)], [201, 413]),
        }

        def holds(name, use):
            found = use[0](info["limits"][name])
            expect(found == use[1], f"{info['limits'][name]} and one more: {found}")

        used("limits", info["limits"], table, holds)
        all_offered("limits", info["limits"], table)


def the_rest(checks, fixture, base, info):
    """What else is named, and what pages lead to."""
    with checks.check("offered: what else GET /v1/info names is there"):
        def devices(providers):
            expect(set(providers) == {"unifiedpush", "webpush"}, f"{providers}")
            By("Clients/push_services.py", "push services: devices are taken, replaced and listed, and end with their login").check()

        table = {
            "server": lambda value: expect(value == "parley", value), "version": lambda value: expect(value in fixture.server.command("--version"), value),
            "protocols": lambda value: expect(value == ["v1"], value), "domain": lambda value: expect(value == "localhost", value),
            "features": None, "grants": None, "limits": None, "providers": lambda value: expect(value == ["codes"], value),
            "authorizationEndpoints": lambda value: expect([each["provider"] for each in value] == ["codes"], value),
            "registration": lambda value: expect(value is True, value),
            "webSocketUrl": lambda value: expect(urllib.parse.urlsplit(value).path == "/v1/ws", value), "pushProviders": devices,
            "webPushKey": lambda value: expect(len(base64.urlsafe_b64decode(value + "=")) == 65, value), "termsUrl": lambda value: expect(value == TERMS, value),
        }
        used("GET /v1/info", info, table, lambda name, use: use and use(info[name]))
        all_offered("GET /v1/info", info, table)

    with checks.check("offered: what the page at / and host-meta lead to is there"):
        trust = ssl.create_default_context(cafile=fixture.server.certificate)
        secure = f"https://localhost:{fixture.server.settings['https__port']}"
        status, fields, page = exchange("GET", secure + "/", context=trust)
        expect(status == 200 and fields.get_content_type() == "text/html", f"{status} {fields}")
        for path in sorted(set(re.findall(r"(?:href|src)=\"([^\"#]+)\"", page.decode()))):
            expect(exchange("GET", urllib.parse.urljoin(secure + "/", path), context=trust)[0] == 200, f"there is no {path}")
        links = {}
        for link in exchange_json("GET", base + "/.well-known/host-meta.json")[2]["links"]:
            links[link["rel"]] = link["href"]
        relations = {"urn:xmpp:alt-connections:websocket": ("wss", script("web", "a WebSocket talks with TCP")),
                     "urn:xmpp:alt-connections:xbosh": ("https", script("web", "BOSH talks, repeats, pauses and ends"))}

        def leads(name, use):
            parts = urllib.parse.urlsplit(links[name])
            expect(parts.scheme == use[0], links[name])
            use[1].check()

        used("host-meta", links, relations, leads)
        all_offered("host-meta", links, relations)


def app(checks, fixture):
    base = fixture.server.base
    status, _, info = exchange_json("GET", base + "/v1/info")
    expect(status == 200, f"{status}")
    client = App(fixture.server, "juliet", "tablet")
    dialog = client.dialog("romeo")

    features(checks, info, client, dialog)
    sign_ins(checks, base, info)
    limits(checks, base, info, client, dialog)
    the_rest(checks, fixture, base, info)
