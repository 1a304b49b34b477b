"""The same as `properties_hooks.py` for docs/openapi-admin.yaml: users that are deleted or locked out, dialogs that are ended and
webhooks that are removed are made for it.
"""
import time
import uuid

from lib import properties_hooks as hooks
from lib.properties_hooks import SCENE, ask, made, path


def user():
    return made(ask("POST", "/v1/admin/users", {"jid": "spent-" + uuid.uuid4().hex[:12]}))


def dialog():
    return made(ask("POST", "/v1/admin/dialogs", {"owner": "romeo", "members": ["juliet"], "name": "For one thing"}))


def webhook():
    answer = ask("POST", "/v1/admin/webhooks", {"url": SCENE["url"], "events": ["user.created"]}) or {}
    return made(answer.get("webhook"))


def message():
    return made(ask("POST", "/v1/admin/messages", {
        "sender": "romeo", "dialog": SCENE["workshop"], "clientId": str(uuid.uuid4()), "text": "Good night"}))


def member(turn):
    ask("POST", f"/v1/admin/dialogs/{SCENE['workshop']}/members", {"jid": "nurse"})
    return path(dialog=SCENE["workshop"], jid="nurse")


def report():
    listed = (ask("GET", "/v1/admin/reports") or {}).get("items", [])
    return path(id=listed[0]["id"] if listed else 0)


def rule():
    domain = uuid.uuid4().hex[:12] + ".example"
    made(ask("PUT", f"/v1/admin/federation-rules/{domain}", {"isAllowed": False}), "domain")
    return domain


def group():
    return made(ask("PUT", f"/v1/admin/contact-groups/{uuid.uuid4().hex[:12]}", {}), "name")


def held():
    address = f"{user()}@localhost"
    ask("PUT", f"/v1/admin/holds/{address}", {})
    return path(subject=address)


def usual(turn, names):
    known = {"group": "standing", "domain": "elsewhere.example", "jid": "nurse", "contact": "juliet", "dialog": SCENE["workshop"], "message": SCENE["spoken"], "id": SCENE["webhook"]}
    return path(**{name: value for name, value in known.items() if name in names})


hooks.usual = usual
hooks.KNOWN = {
    "users.add": lambda turn: {"whole": {"externalId": str(uuid.uuid4()), "name": "Somebody"}},
    "users.update": lambda turn: {"path": {"jid": "nurse"}, "body": {
        "externalId": str(uuid.uuid4()), "email": f"nurse{turn}{time.time()}@capulet.example"}},
    "users.state": lambda turn: path(jid=user()),
    "users.state.delete": lambda turn: path(jid=user()),
    "users.erase": lambda turn: path(jid=user()),
    "users.password": lambda turn: path(jid=user()),
    "dialogs.create": lambda turn: {"body": {
        "owner": "romeo", "members": ["juliet"], "dialog": "made-" + uuid.uuid4().hex[:12], "externalId": str(uuid.uuid4())}},
    "dialogs.delete": lambda turn: path(dialog=dialog()),
    "dialogs.add": lambda turn: {"path": {"dialog": dialog()}, "body": {"jid": "nurse"}},
    "dialogs.role": member,
    "dialogs.remove": member,
    "messages.delete": lambda turn: path(dialog=SCENE["workshop"], message=message()),
    "messages.post": lambda turn: {"whole": {
        "sender": "romeo", "dialog": SCENE["workshop"], "clientId": str(uuid.uuid4()), "text": "Good night"}},
    "operations.call": lambda turn: {"path": {"operation": "users.show"}, "whole": {"jid": "nurse"}},
    "reports.show": lambda turn: report(),
    "reports.dismiss": lambda turn: report(),
    "contact-groups.show": lambda turn: path(group=group()),
    "contact-groups.put": lambda turn: {"path": {"group": "made-" + uuid.uuid4().hex[:12]}, "whole": {"displayName": "Made"}},
    "contact-groups.change": lambda turn: {"path": {"group": group()}, "whole": {"add": ["nurse"], "remove": ["juliet"]}},
    "contact-groups.delete": lambda turn: path(group=group()),
    "holds.add": lambda turn: {"path": {"subject": "nurse@localhost"}, "whole": {"note": "A case"}},
    "holds.remove": lambda turn: held(),
    "federation.forget": lambda turn: path(domain=rule()),
    "webhooks.add": lambda turn: {"body": {"url": SCENE["url"], "events": ["message.*"]}},
    "webhooks.update": lambda turn: {"path": {"id": SCENE["webhook"]}, "body": {"url": SCENE["url"], "events": ["message.*"]}},
    "webhooks.remove": lambda turn: path(id=webhook()),
}
