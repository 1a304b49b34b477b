"""Writes the database of a data folder as a text for `Tests/DataFolders`, where every release has one (`make data-folder`): people who use
both protocols, with rows in nearly all tables. What tests upgrade is such a folder.

Usage: data_folder.py FILE
"""
import contextlib
import pathlib
import sqlite3
import sys
import time
import uuid

from lib.apps import App, exchange, totp
from lib.files import attach, png, upload
from lib.harness import PASSWORD, Server, expect, free_port
from lib.sasl2 import Tokens
from lib.services import Hook, new_secret
from lib.signins import App as Stranger
from lib.signins import Signer, vouch
from lib.wire import SM, Client

SECRET = "a secret that only this data folder has"
ROOM = "square@conference.localhost"
MUC, PUBSUB = "http://jabber.org/protocol/muc", "http://jabber.org/protocol/pubsub"


def done(app, method, path, body=None):
    status, value = app.call(method, path, body)
    expect(200 <= status < 300, f"{method} {path}: {status} {value}")
    return value


def picture(server, app, path):
    fields = {"Content-Type": "image/png", "Authorization": "Bearer " + app.token}
    status, _, answer = exchange("PUT", server.base + path + "/avatar", png(2, 2), fields)
    expect(status == 200, f"no picture: {status} {answer}")


def operate(server):
    """What operators do."""
    for arguments in [
        ("motd", "set", "The feast begins at nine."), ("user", "note", "tybalt@localhost", "Quarrels."),
        ("user", "role", "escalus@localhost", "admin"), ("key", "add", "backend", "--scope", "users:read"),
        ("contact-group", "create", "montague", "--display-name", "Montague"), ("contact-group", "create", "capulet"),
        ("contact-group", "add", "montague", "romeo@localhost", "mercutio@localhost"),
        ("contact-group", "add", "capulet", "juliet@localhost", "tybalt@localhost"),
        ("contact-group", "see", "montague", "capulet"), ("hold", "add", "tybalt@localhost", "--note", "The duel."),
        ("federation", "deny", "padua.example", "--note", "Spam."), ("invite", "create"),
        ("webhook", "add", f"http://127.0.0.1:{free_port()}/", "--event", "message.*", "--event", "user.created"),
    ]:
        server.command(*arguments)


def settle_account(server, hook):
    """What juliet has beside her password."""
    juliet = App(server, "juliet", device="phone")
    done(juliet, "POST", "/v1/app-passwords", {"name": "desktop"})
    done(juliet, "PUT", "/v1/users/me/location", {"latitude": 45.4386, "longitude": 10.9928})
    done(juliet, "PATCH", "/v1/users/me", {"metadata": {"house": "Capulet"}, "searchable": True, "matchable": True, "status": "At the window"})
    done(juliet, "POST", "/v1/users/me/codes", {"email": "juliet@verona.example"})
    code = hook.letter("code.requested")["code"]
    done(juliet, "PUT", "/v1/users/me/email", {"email": "juliet@verona.example", "code": code, "password": PASSWORD})
    done(juliet, "POST", "/v1/password-resets", {"email": "juliet@verona.example"})
    hook.letter("password-reset.requested")
    done(juliet, "POST", "/v1/users/me/codes", {"phone": "+390458000000"})
    hook.letter("code.requested")
    escalus = App(server, "escalus")
    secret = done(escalus, "POST", "/v1/users/me/second-factor", {"password": PASSWORD})["secret"]
    done(escalus, "PUT", "/v1/users/me/second-factor", {"code": totp(secret)})
    picture(server, juliet, "/v1/users/me")
    stranger = Stranger(server)
    stranger.log_in(grant="jwt", identityToken=vouch(stranger.nonce(), "benvolio", Signer("HS256", secret=SECRET), "verona"))
    tokens = Tokens("mercutio", server)
    tokens.connect()
    tokens.first()
    tokens.close()
    return juliet


def converse(server, romeo, juliet):
    """Messages of two, and what becomes of them."""
    dialog = romeo.dialog("juliet")
    path = f"/v1/dialogs/{dialog}"
    for number in range(3):
        romeo.say(dialog, f"But soft, what light {number}")
    said = [juliet.say(dialog, text) for text in ("Ay me", "O Romeo, Romeo", "Deny thy father", "What man art thou")]
    one = [f"{path}/messages/{each['id']}" for each in said]
    done(juliet, "PATCH", one[0], {"text": "Ah me"})
    done(romeo, "PUT", one[0] + "/reactions", {"emoji": ["\U0001f339"]})
    done(juliet, "DELETE", one[1] + "?for=everyone")
    done(romeo, "DELETE", one[2] + "?for=me")
    done(romeo, "PUT", one[3] + "/pin")
    done(romeo, "PUT", one[3] + "/star")
    done(romeo, "POST", one[3] + "/flags", {"reason": "spam", "text": "No."})
    done(romeo, "PUT", path + "/marker", {"read": said[0]["id"]})
    done(romeo, "PATCH", path + "/me", {"pinned": True, "notify": "mentions"})
    done(romeo, "PUT", path + "/draft", {"text": "She speaks"})
    done(romeo, "POST", path + "/scheduled-messages", {
        "clientId": "later", "sendAt": time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 86_400)),
        "content": {"type": "text", "text": "O, speak again"}})
    attach(romeo, dialog, upload(server, romeo, png(3, 2), "rose.png", "image/png"), "rose.png")
    done(romeo, "POST", path + "/messages", {
        "clientId": "place", "content": {"type": "location", "lat": 45.4384, "lng": 10.9917, "name": "Verona"}, "metadata": {"k": "v"}})
    done(romeo, "POST", "/v1/calls", {"clientId": str(uuid.uuid4()), "userId": "juliet", "kind": "audio"})
    keys = {"p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4", "auth": "BTBZMqHH6r4Tts7J_aSIgg"}
    push = {"provider": "webpush", "subscription": {"endpoint": "https://push.example.org/a", "keys": keys}}
    done(romeo, "PUT", "/v1/devices/browser", {"push": push, "platform": "web"})
    done(romeo, "POST", "/v1/users/me/exports")
    done(romeo, "PUT", "/v1/blocks/paris")
    found = done(romeo, "GET", "/v1/messages?query=soft")
    expect(len(found["items"]) == 3, f"found {found}")
    own = romeo.dialog("romeo")
    romeo.say(own, "A note")
    done(romeo, "DELETE", f"/v1/dialogs/{own}/messages?for=me")


def gather(server, romeo, juliet):
    """A group of the app protocol."""
    group = done(romeo, "POST", "/v1/dialogs", {
        "type": "group", "name": "The feast", "topic": "Masks", "externalId": "feast-1", "memberIds": ["juliet", "mercutio"]})["id"]
    done(romeo, "POST", f"/v1/dialogs/{group}/messages", {
        "clientId": "g1", "content": {"type": "text", "text": "@juliet come"}, "mentions": [{"userId": "juliet", "begin": 0, "end": 7}]})
    juliet.say(group, "I come")
    picture(server, romeo, f"/v1/dialogs/{group}")
    mercutio = App(server, "mercutio")
    done(mercutio, "DELETE", f"/v1/dialogs/{group}/messages?for=me")
    done(romeo, "DELETE", f"/v1/dialogs/{group}/members/mercutio")


def stand(server):
    """Clients of XMPP: a room with whispers and a ban, nodes, subscriptions, a message to another server, and a stream that waits."""
    romeo, juliet = Client(server, "romeo", "orchard").present(), Client(server, "juliet", "balcony").present()
    for client, nick in (romeo, "R"), (juliet, "J"):
        client.send(f"<presence to='{ROOM}/{nick}'><x xmlns='{MUC}'/></presence>")
        client.stanza(lambda s: s.find("{jabber:client}subject") is not None, "the room")
        if client is romeo:
            client.ask(f"<query xmlns='{MUC}#owner'><x xmlns='jabber:x:data' type='submit'/></query>", to=ROOM)
    romeo.send(f"<message type='groupchat' to='{ROOM}' id='r1'><body>Good morrow</body></message>")
    romeo.send(f"<message type='chat' to='{ROOM}/J' id='w1'><body>Psst</body><x xmlns='{MUC}#user'/></message>")
    juliet.message("Psst")
    romeo.ask(f"<query xmlns='{MUC}#admin'><item affiliation='outcast' jid='tybalt@localhost'><reason>Rude</reason></item></query>", to=ROOM)
    romeo.send(f"<message to='{ROOM}'><x xmlns='{MUC}#user'><invite to='mercutio@localhost'/></x></message>")
    romeo.send(f"<message type='groupchat' to='{ROOM}' id='r2'><body>Farewell</body></message>")
    juliet.message("Farewell")
    for jid, node in [("", "urn:example:verses"), ("pubsub.localhost", "news")]:
        romeo.ask(f"<pubsub xmlns='{PUBSUB}'><create node='{node}'/></pubsub>", to=jid or None)
        published = romeo.ask(
            f"<pubsub xmlns='{PUBSUB}'><publish node='{node}'><item id='1'><verse xmlns='urn:example'>Rose</verse></item></publish></pubsub>",
            to=jid or None)
        expect(published.get("type") == "result", f"{node} was not published")
    juliet.ask(f"<pubsub xmlns='{PUBSUB}'><subscribe node='news' jid='juliet@localhost'/></pubsub>", to="pubsub.localhost")
    romeo.ask(
        f"<pubsub xmlns='{PUBSUB}#owner'><affiliations node='news'><affiliation jid='juliet@localhost' affiliation='publisher'/></affiliations></pubsub>",
        to="pubsub.localhost")
    romeo.ask("<block xmlns='urn:xmpp:blocking'><item jid='iago@venice.example'/></block>")
    romeo.ask("<query xmlns='jabber:iq:private'><notes xmlns='urn:example'>x</notes></query>")
    romeo.enable()
    romeo.send("<message type='chat' to='portia@venice.example' id='f1'><body>Greetings</body></message>")
    juliet.ask("<query xmlns='urn:xmpp:mam:2'/>")
    juliet.send(f"<enable xmlns='{SM}' resume='true'/>")
    juliet.stanza(lambda s: s.tag == f"{{{SM}}}enabled", "stream management")
    romeo.say("juliet", "Parting is such sweet sorrow")
    juliet.message("Parting is such sweet sorrow")
    return romeo, juliet


def dump(path):
    """The statements that make a database again, in their own order: what a release has called its tables stays as it was."""
    with contextlib.closing(sqlite3.connect(path)) as database:
        objects = database.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY rowid").fetchall()
        virtual = [name for kind, name, _, sql in objects if kind == "table" and sql.startswith("CREATE VIRTUAL")]
        shadows = {name for _, name, _, _ in objects if any(name.startswith(each + "_") for each in virtual)} - {"search_progress"}
        yield f"PRAGMA application_id = {database.execute('PRAGMA application_id').fetchone()[0]};"
        yield "BEGIN;"
        for kind, name, table, sql in objects:
            if sql and not name.startswith("sqlite_") and table not in shadows:
                yield sql + ";"
        tables = [name for kind, name, _, _ in objects if kind == "table" and name not in virtual]
        # What the engine writes by itself comes last, and is replaced.
        by_itself = {"sqlite_sequence", *shadows}
        for name in sorted(tables, key=lambda name: (name in by_itself, name in shadows)):
            if name in by_itself:
                yield f"DELETE FROM {name};"
            columns = [row[1] for row in database.execute(f"PRAGMA table_xinfo({name})")]
            quoted = " || ', ' || ".join(f'quote("{column}")' for column in columns)
            for (row,) in database.execute(f"SELECT {quoted} FROM {name}"):
                yield f"INSERT INTO {name} VALUES ({row});"
        yield "COMMIT;"


def make(target):
    hook, secret = free_port(), new_secret()
    settings = dict(
        invitations="true", identity__backends=f"verona={SECRET}", delivery__url=f"http://127.0.0.1:{hook}/", delivery__secret=secret,
        signup__phone="true", federation__enabled="true", federation__host="127.0.0.1", federation__port=free_port(),
        federation__tls_port=free_port())
    with Server(**settings) as server, contextlib.closing(Hook(hook, secret)) as letters:
        server.start()
        server.add_users("romeo", "juliet", "mercutio", "tybalt", "paris", "escalus")
        server.befriend("romeo", "juliet")
        operate(server)
        romeo = App(server, "romeo", device="phone")
        juliet = settle_account(server, letters)
        converse(server, romeo, juliet)
        gather(server, romeo, juliet)
        server.stop()
        # A restore begins an epoch of ids, and ends the streams.
        backup = server.folder + "/backup.db"
        server.command("backup", backup)
        server.command("restore", backup, "--replace")
        server.start()
        clients = stand(server)
        server.stop()
        for client in clients:
            client.close()
        path = server.data + "/parley.db"
        pathlib.Path(target).write_text("\n".join(dump(path)) + "\n")
        report(path)


def report(path):
    with contextlib.closing(sqlite3.connect(path)) as database:
        tables = [name for name, in database.execute("SELECT name FROM pragma_table_list WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        empty = [name for name in tables if not database.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone()]
    print(f"{len(tables)} tables, of which these are empty: {', '.join(sorted(empty))}")


if __name__ == "__main__":
    make(sys.argv[1])
