"""Read by Schemathesis: has three of four requests be about things that are there, and counts what is answered.

What an operation needs is made for it where asking spends it (a dialog that is ended, a message that is deleted), and else taken
from the scene of `app_properties.py`. The fourth request is sent as Schemathesis made it up, ids and all, unless that names what
the scene stands on.
"""
import atexit
import base64
import collections
import hmac
import itertools
import json
import os
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

import schemathesis

SCENE = json.loads(os.environ["PARLEY_PROPERTIES"])
addresses = itertools.count()
turns = collections.defaultdict(itertools.count)
seen = collections.defaultdict(collections.Counter)
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")


def words(scene):
    if isinstance(scene, dict):
        return set().union(*map(words, scene.values()))
    return set().union(*map(words, scene)) if isinstance(scene, list) else {str(scene)}


# What the scene stands on. Schemathesis learns names and ids from answers: one that it tries by itself may end none of these.
PEOPLE = {"romeo", "juliet", "nurse", "tybalt"}
STANDING = words(SCENE) | PEOPLE | {f"{name}@localhost" for name in PEOPLE}


def ask(method, path, body=None, token=None):
    """Something of the server besides what Schemathesis asks; what it refuses is of no use, and the request goes without."""
    request = urllib.request.Request(SCENE["base"] + path, method=method)
    request.add_header("Authorization", "Bearer " + (token or SCENE["token"]))
    if isinstance(body, bytes):
        request.data = body
    elif body is not None:
        request.data = json.dumps(body).encode()
        request.add_header("Content-Type", "application/json")
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            data = answer.read()
            return json.loads(data) if data else {}
    except urllib.error.HTTPError as error:
        error.close()
        return None


def made(answer, name="id"):
    return (answer or {}).get(name, "nothing")


def path(**ids):
    return {"path": ids}


# What an operation is asked about: `path` and `query` by name, `body` as the members to put in the place of those that are
# there, `whole` in the place of all.

def dialog(turn):
    return SCENE["dialogs"][turn % len(SCENE["dialogs"])]


def say(where, text="Good night", token=None):
    return made(ask("POST", f"/v1/dialogs/{where}/messages", {
        "clientId": str(uuid.uuid4()), "content": {"type": "text", "text": text}}, token))


def group():
    return made(ask("POST", "/v1/dialogs", {"type": "group", "name": "For one thing", "memberIds": ["juliet"]}))


def in_dialog(turn):
    return path(dialogId=dialog(turn))


def in_own_group(turn):
    return path(dialogId=SCENE["workshop"])


def in_new_group(turn):
    return path(dialogId=group())


def own_message(turn):
    where = dialog(turn)
    return path(dialogId=where, messageId=SCENE["said"][where])


def new_message(turn):
    where = dialog(turn)
    return path(dialogId=where, messageId=say(where))


def others_message(turn):
    where = dialog(turn)
    return path(dialogId=where, messageId=SCENE["heard"][where])


def saying(turn):
    where = dialog(turn)
    return {"path": {"dialogId": where}, "body": {
        "clientId": str(uuid.uuid4()), "replyTo": SCENE["heard"][where], "attachments": [SCENE["attachment"]],
        "forwardFrom": {"dialogId": SCENE["dialogs"][0], "messageId": SCENE["heard"][SCENE["dialogs"][0]]},
        "sendAt": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 86_400)), "mentioned": "juliet"}}


def scheduled(turn):
    known = saying(turn)
    one = ask("POST", f"/v1/dialogs/{dialog(turn)}/scheduled-messages", {
        "clientId": str(uuid.uuid4()), "sendAt": known["body"]["sendAt"], "content": {"type": "text", "text": "It is the lark"}})
    known["path"] = {"scheduledMessageId": made(one)}
    return known


def drafted(turn):
    where = dialog(turn)
    ask("PUT", f"/v1/dialogs/{where}/draft", {"text": "O Romeo"})
    return path(dialogId=where)


def marked(turn):
    where = dialog(turn)
    return {"path": {"dialogId": where}, "body": {"delivered": SCENE["heard"][where], "read": SCENE["heard"][where]}}


def pictured(turn):
    ask("PUT", "/v1/users/me/avatar", PNG)
    ask("PUT", f"/v1/dialogs/{SCENE['workshop']}/avatar", PNG)
    return path(dialogId=SCENE["workshop"])


def member(turn):
    ask("PUT", f"/v1/dialogs/{SCENE['workshop']}/members/nurse", {})
    return path(dialogId=SCENE["workshop"], userId="nurse")


def opening(turn):
    return {"body": {"userId": "juliet", "memberIds": ["juliet"], "members": [{"userId": "juliet"}],
                     "externalId": str(uuid.uuid4())}}


def vouch(turn):
    nonce, now = made(ask("POST", "/v1/nonces"), "nonce"), int(time.time())
    claims = {"iss": "properties", "iat": now, "nbf": now, "exp": now + 60, "nce": nonce, "prn": str(uuid.uuid4())}
    encode = lambda part: base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=")
    signed = encode({"alg": "HS256", "typ": "JWT", "ver": "v2"}) + b"." + encode(claims)
    signature = base64.urlsafe_b64encode(hmac.digest(SCENE["secret"].encode(), signed, "sha256")).rstrip(b"=")
    return {"whole": {"identityToken": (signed + b"." + signature).decode()}}


def identity(turn):
    return path(identityId=made(ask("POST", "/v1/users/me/identities", vouch(turn)["whole"])))


def session(turn):
    device = f"spent-{turn}"
    ask("POST", "/v1/sessions", {
        "grant": "password", "username": "romeo", "password": SCENE["password"], "deviceId": device})
    listed = (ask("GET", "/v1/sessions") or {}).get("items", [])
    return path(sessionId=next((one["id"] for one in listed if one["deviceId"] == device), "nothing"))


def device(turn):
    ask("PUT", f"/v1/devices/phone-{turn}", {"push": {"provider": "webhook", "token": f"token-{turn}"}})
    return path(deviceId=f"phone-{turn}")


def few(name, known):
    """Where a few letters, a few tries or a few slots are all that anybody gets."""
    return lambda turn: known(turn) if sum(seen[name][status] for status in (201, 202, 204)) < 2 else {}


KNOWN = {
    "user.register": lambda turn: {"whole": {"username": f"guest{turn}", "password": SCENE["password"], "name": "A guest"}},
    "session.create": lambda turn: {"whole": {
        "grant": "password", "username": "juliet", "password": SCENE["password"], "deviceId": "properties"}},
    "session.delete": session,
    "device.put": lambda turn: {"whole": {"push": {"provider": "webhook", "token": f"token-{turn}"}}} if turn % 2 else {},
    "device.delete": device,
    "appPassword.create": lambda turn: {"body": {"name": f"client {turn} {time.time()}"}},
    "appPassword.delete": lambda turn: path(
        appPasswordId=made(ask("POST", "/v1/app-passwords", {"name": f"spent {turn}"}))),
    "code.send": few("code.send", lambda turn: {"whole": {"email": f"somebody{turn}@example.org"}}),
    "passwordReset.send": few("passwordReset.send", lambda turn: {"whole": {"email": f"somebody{turn}@example.org"}}),
    "me.code.send": few("me.code.send", lambda turn: {"whole": {"email": f"romeo{turn}@example.org"}}),
    "me.password.put": few(
        "me.password.put", lambda turn: {"whole": {"current": SCENE["password"], "password": SCENE["password"]}}),
    "me.secondFactor.create": few("me.secondFactor.create", lambda turn: {"whole": {"password": SCENE["password"]}}),
    "identity.create": vouch,
    "identity.delete": identity,
    "export.get": lambda turn: path(exportId=SCENE["export"]),
    "me.avatar.put": lambda turn: {"bytes": PNG},
    "me.avatar.get": pictured,
    "avatar.put": lambda turn: {**in_own_group(turn), "bytes": PNG},
    "avatar.get": pictured,
    "avatar.delete": pictured,
    "user.get": lambda turn: path(userId="juliet"),
    "user.avatar": lambda turn: path(userId="juliet"),
    "user.presence": lambda turn: path(userId="juliet"),
    "contact.put": lambda turn: path(userId="tybalt"),
    "contact.delete": lambda turn: path(userId="tybalt"),
    "block.put": lambda turn: path(userId="tybalt"),
    "block.delete": lambda turn: path(userId="tybalt"),
    "dialog.open": opening,
    "dialog.update": in_own_group,
    "dialog.delete": in_new_group,
    "dialog.clear": in_new_group,
    "member.list": in_own_group,
    "member.put": lambda turn: path(dialogId=SCENE["workshop"], userId="nurse"),
    "member.delete": member,
    "message.send": saying,
    "message.edit": lambda turn: {**own_message(turn), "body": {"clientId": str(uuid.uuid4()), "mentioned": "juliet"}},
    "message.delete": new_message,
    "message.flag": others_message,
    "reactions.set": others_message,
    "marker.set": marked,
    "draft.get": drafted,
    "draft.put": lambda turn: {**in_dialog(turn), "body": {"replyTo": SCENE["heard"][dialog(turn)]}},
    "scheduled.create": saying,
    "scheduled.update": scheduled,
    "scheduled.cancel": scheduled,
    "attachment.create": few("attachment.create", lambda turn: {"whole": {
        "name": "east.txt", "mediaType": "text/plain", "size": 4}}),
    "attachment.get": lambda turn: path(attachmentId=SCENE["attachment"]),
    "sync": lambda turn: {"query": {"wait": 0, "cursor": SCENE["cursor"]}},
    "events": lambda turn: {"query": {"cursor": SCENE["cursor"]}},
    "message.search": lambda turn: {"query": {"query": "night"}},
}


def usual(turn, names):
    """For operations that are not named: whatever of the scene their path asks for."""
    if "messageId" in names:
        return own_message(turn)
    return in_dialog(turn) if "dialogId" in names else {}


def put(body, known):
    """The body with what is known in the place of what has the same name and kind."""
    if isinstance(body, list):
        return [put(each, known) for each in body]
    if not isinstance(body, dict):
        return body
    result = {}
    for name, value in body.items():
        if name in known and isinstance(value, type(known[name])):
            result[name] = known[name]
        elif name == "userId" and "mentioned" in known and isinstance(value, str):
            result[name] = known["mentioned"]
        else:
            result[name] = put(value, known)
    return result


@schemathesis.hook
def before_call(context, case, kwargs):
    name = case.operation.definition.raw["operationId"]
    turn = next(turns[name])
    # Who shows no key may ask so often from one address; a proxy on this machine says whose it is.
    number = next(addresses)
    case.headers["X-Forwarded-For"] = f"198.51.{number // 200 % 200}.{number % 200 + 1}"
    if name == "events":
        kwargs["timeout"] = 1  # a stream has no end
    if "wait" in (case.query or {}):
        case.query["wait"] = min(case.query["wait"], 1) if isinstance(case.query["wait"], int) else case.query["wait"]
    if turn % 4 == 3 and not STANDING & {
            urllib.parse.unquote(str(value)) for value in (case.path_parameters or {}).values()}:
        return
    known = KNOWN[name](turn) if name in KNOWN else usual(turn, case.path_parameters or {})
    for part, value in known.get("path", {}).items():
        if part in (case.path_parameters or {}):
            case.path_parameters[part] = value
    for part, value in known.get("query", {}).items():
        if part in (case.query or {}):
            case.query[part] = value
    if not case.operation.body:
        return
    # A body that is wrong on purpose is no object; it stays.
    if "bytes" in known:
        case.body = known["bytes"]
    elif isinstance(case.body, dict):
        if "whole" in known:
            case.body = known["whole"]
        elif "body" in known:
            case.body = put(case.body, known["body"])


@schemathesis.hook
def after_call(context, case, response):
    seen[case.operation.definition.raw["operationId"]][response.status_code] += 1


@atexit.register
def tell():
    with open(SCENE["seen"], "w") as file:
        json.dump(seen, file)
