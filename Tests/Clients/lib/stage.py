"""What the scenarios of apps share (`app_*.py`): a story that is walked row by row, what stands beside a server that is in use,
and its people: `App`, a client of the app protocol by aiohttp, and `Peer`, a client of XMPP by slixmpp. Both speak TLS with the
server's certificate verified.
"""
import asyncio
import contextlib
import json
import pathlib
import ssl
import tempfile
import uuid
import xml.etree.ElementTree as ElementTree

import jsonschema
import referencing
import referencing.jsonschema
import yaml
from slixmpp.stanza import StreamFeatures
from slixmpp.util.sasl.client import Mech, sasl_mech
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

from lib.harness import DOCS, PASSWORD, PATIENCE, Failure, Server, expect, free_port
from lib.pushes import KEY_ID, TEAM, Apple, pem
from lib.rooms import Guest
from lib.services import MailServer, certificate
from lib.signins import Provider, Signer

PUSH, PUBSUB = "urn:xmpp:push:0", "http://jabber.org/protocol/pubsub"


class Story:
    """The rows of an app's table, in their order: each is one check, or a note where nothing is asked of a server. That none was
    left out is a check too."""

    def __init__(self, checks, app, rows):
        self.checks, self.app, self.rows, self.walked = checks, app, rows, []

    def row(self, number, text):
        self.walked.append(number)
        return self.checks.check(f"{self.app} {number}: {text}")

    def client_only(self, number, feature, given="nothing is needed of the server"):
        self.walked.append(number)
        print(f"note    {self.app} {number}: {feature}: the client's alone; {given}", flush=True)

    def end(self):
        with self.checks.check(f"{self.app}: all {self.rows} rows were walked, in their order"):
            expect(self.walked == list(range(1, self.rows + 1)), f"walked: {self.walked}")


class Services:
    """What others run beside the server: mail, Apple's push service and OpenID providers of these names, each with an audience
    ("<name>-id"); and the settings that lead to them."""

    TOPIC = "org.example.chat"

    def __init__(self, *providers):
        self.stack = contextlib.ExitStack()
        self.folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        trusted = certificate(self.folder, "services")
        self.mails = self.stack.enter_context(MailServer(trusted))
        self.apple = Apple(*trusted)
        key = pathlib.Path(self.folder, "AuthKey.p8")
        key.write_text(pem(self.apple.key))
        self.providers = {name: Provider() for name in providers}
        for name, provider in self.providers.items():
            provider.signers = [Signer("RS256", name)]
            self.stack.callback(provider.close)
        apple = f"https://127.0.0.1:{self.apple.port}"
        self.settings = dict(
            mail__server=f"smtps://localhost:{self.mails.port}", mail__user="parley", mail__password="a:b c",
            mail__from="Chat <chat@localhost.example>", mail__reset_url="https://app.example/r?t={token}",
            push__apns__key=key, push__apns__key_id=KEY_ID, push__apns__team_id=TEAM, push__apns__topics=self.TOPIC,
            push__apns__url=apple, push__apns__sandbox_url=apple, outgoing__networks="127.0.0.0/8",
            outgoing__authorities=trusted[0])

    @property
    def identity(self):
        """For the configuration's file: lists of providers have no form in the environment."""
        return {"providers": [
            {"name": name, "issuers": [provider.issuer], "audiences": [f"{name}-id"]} for name, provider in self.providers.items()]}

    def token(self, provider, subject, **claims):
        return self.providers[provider].token(subject, aud=f"{provider}-id", **claims)

    async def mail(self, to):
        """The text of the next mail, which is for this address."""
        _, _, text = await asyncio.to_thread(self.mails.mail, to)
        return text

    async def push(self, what, token):
        """The headers and the body of the next push, which is for this token."""
        return await asyncio.to_thread(self.apple.push, what, token)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stack.close()


class Stage:
    """A running server, and everybody who has come to it. They leave when the story ends."""

    def __init__(self, server):
        self.server, self.people = server, []
        self.trust = ssl.create_default_context(cafile=server.certificate)

    async def app(self, device="phone", **grant):
        """Somebody who has opened the app; with a grant they are signed in."""
        app = App(self, device)
        self.people.append(app)
        if grant:
            await app.sign_in(**grant)
        return app

    async def peer(self, name, resource="orchard", password=PASSWORD, **options):
        """Somebody with an XMPP client, who has arrived, with carbons on."""
        peer = Peer(self, name, resource, password, **options)
        self.people.append(peer)
        return await peer.arrive()

    async def command(self, *arguments, stdin=None):
        """An admin command, as an operator would type it."""
        return await asyncio.to_thread(lambda: self.server.command(*arguments, stdin=stdin))

    async def until(self, test, what):
        """Asks until it is so: of what the server does in its own time, and tells nobody who is here."""
        end = asyncio.get_running_loop().time() + PATIENCE
        while not await test():
            expect(asyncio.get_running_loop().time() < end, f"not within {PATIENCE} s: {what}")

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        for one in self.people:
            with contextlib.suppress(Exception):  # whoever is gone already
                await one.leave()


class App:
    """An app on a device."""

    def __init__(self, stage, device):
        import aiohttp

        self.stage, self.device = stage, device
        self.base = stage.server.settings["http__url"]
        self.http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(ssl=stage.trust), timeout=aiohttp.ClientTimeout(total=PATIENCE))
        # A WebSocket is asked for on a connection of its own; aiohttp would take one that requests have used.
        self.line = aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=stage.trust))
        self.token = self.refresh = self.user = self.cursor = None
        self.socket = self.reader = None
        self.frames, self.waiting, self.commands, self.fault = [], [], 0, None

    # REST

    async def answer(self, method, path, body=None, data=None, headers=None):
        """Status, headers and value (bytes where it is no JSON)."""
        import yarl

        fields = dict(headers or {})
        if self.token:
            fields.setdefault("Authorization", "Bearer " + self.token)
        if body is not None:
            data = json.dumps(body).encode()
        if data is not None:
            fields.setdefault("Content-Type", "application/json")
        url = path if path.startswith("https:") else self.base + path
        async with self.http.request(method, yarl.URL(url, encoded=True), data=data, headers=fields) as answer:
            content = await answer.read()
            is_json = answer.content_type in ("application/json", "application/problem+json")
            return answer.status, answer.headers, json.loads(content) if is_json else content

    async def ask(self, method, path, body=None, status=None, data=None, headers=None):
        """The value of an answer with this status, or any that says it is done."""
        got, _, value = await self.answer(method, path, body, data, headers)
        expect(got == status if status else 200 <= got < 300, f"{method} {path} is answered {got}, not {status or '2xx'}: {value}")
        return value

    async def refused(self, status, code, method, path, body=None, field=None):
        """The problem with this status and code."""
        got, headers, value = await self.answer(method, path, body)
        expect(headers.get("Content-Type") == "application/problem+json", f"{method} {path} is answered {got}: {value}")
        expect((got, value["code"]) == (status, code), f"{method} {path} is answered {got} {value}, not {status} {code}")
        expect(field is None or value.get("field") == field, f"the field is {value.get('field')}, not {field}: {value}")
        return value

    async def sign_in(self, **grant):
        """By any grant; the session, as it was answered."""
        session = await self.ask("POST", "/v1/sessions", {"deviceId": self.device, "client": "scenario", **grant}, 201)
        expect(session["deviceId"] == self.device, f"{session}")
        self.token, self.refresh, self.user = session["accessToken"], session["refreshToken"], session["user"]
        return session

    @property
    def id(self):
        return self.user["id"]

    @property
    def jid(self):
        return self.user["jid"]

    # What one does

    async def dialog(self, user):
        """The private dialog with this user: its id."""
        return (await self.ask("POST", "/v1/dialogs", {"type": "private", "userId": user}))["id"]

    async def send(self, dialog, content, **more):
        """A message, which is answered as one that is new."""
        return await self.ask(
            "POST", f"/v1/dialogs/{dialog}/messages", {"clientId": str(uuid.uuid4()), "content": content, **more}, 201)

    async def say(self, dialog, text, **more):
        return await self.send(dialog, {"type": "text", "text": text}, **more)

    async def upload(self, data, name, kind, **more):
        """A file, which can be sent by its `id`."""
        slot = await self.ask("POST", "/v1/attachments", {"name": name, "mediaType": kind, "size": len(data), **more}, 201)
        status, _, value = await self.answer(
            "PUT", slot["uploadUrl"], data=data, headers={"Content-Type": kind, "Authorization": ""})
        expect(status == 201, f"{name} is not stored: {status} {value}")
        return slot

    async def fetch(self, url, **headers):
        """The bytes behind a URL of a file, for whoever knows it."""
        status, _, data = await self.answer("GET", url, headers={"Authorization": "", **headers})
        expect(status in (200, 206), f"{url} is answered {status}: {data}")
        return data

    async def history(self, dialog, limit=100):
        """The newest page, newest first."""
        return (await self.ask("GET", f"/v1/dialogs/{dialog}/messages?limit={limit}"))["items"]

    async def open(self, dialog):
        return await self.ask("GET", f"/v1/dialogs/{dialog}")

    async def dialogs(self, query=""):
        return await self.ask("GET", "/v1/dialogs" + query)

    # WebSocket

    async def connect(self, cursor=None):
        """Follows the events; with a cursor, from there. What was missed comes as other events do."""
        import aiohttp

        self.socket = await self.line.ws_connect(
            self.base.replace("http", "ws", 1) + "/v1/ws", protocols=["parley.v1"],
            timeout=aiohttp.ClientWSTimeout(ws_close=PATIENCE))
        self.cursor = cursor
        self.reader = asyncio.ensure_future(self._read(self.socket))
        hello = {"token": self.token}
        if cursor:
            hello["cursor"] = cursor
        expect((await self.command("hello", hello)).get("ok"), "hello was refused")
        await self.event("caught_up")
        return self

    async def _read(self, socket):
        async for message in socket:
            frame = json.loads(message.data)
            if "prevCursor" in frame:
                if self.cursor and frame["prevCursor"] != self.cursor:
                    self.fault = f"events are missing before {frame}"
                self.cursor = frame["cursor"]
            elif frame.get("type") in ("caught_up", "resync"):
                self.cursor = frame["data"]["cursor"]
            for waiter in self.waiting:
                if not waiter[1].done() and waiter[0](frame):
                    waiter[1].set_result(frame)
                    break
            else:
                self.frames.append(frame)

    async def frame(self, test, what):
        """The first that fits, come already or still to come; nobody gets it twice."""
        for frame in self.frames:
            if test(frame):
                self.frames.remove(frame)
                return frame
        waiter = (test, asyncio.get_running_loop().create_future())
        self.waiting.append(waiter)
        try:
            frame = await asyncio.wait_for(waiter[1], PATIENCE)
        except asyncio.TimeoutError:
            raise Failure(f"{self.user['id']} ({self.device}) did not get {what}; the last: {self.frames[-5:]}") from None
        finally:
            self.waiting.remove(waiter)
        expect(self.fault is None, self.fault)
        return frame

    async def event(self, kind, test=lambda data: True):
        """The data of the first of this kind."""
        return (await self.frame(lambda f: f.get("type") == kind and "re" not in f and test(f["data"]), kind))["data"]

    async def message(self, text):
        """The message that says so."""
        return (await self.event("message.created", lambda data: data["message"]["content"]["text"] == text))["message"]

    async def command(self, kind, data=None):
        self.commands += 1
        name = str(self.commands)
        await self.socket.send_json({"id": name, "type": kind, "data": data or {}})
        return await self.frame(lambda frame: frame.get("re") == name, f"the answer to {kind}")

    async def settled(self, kind=None, test=lambda data: True):
        """Everything that was caused before has come: what of it nobody has asked for, of this kind."""
        expect((await self.command("ping")).get("ok"), "no answer to a ping")
        return [f["data"] for f in self.frames if kind in (None, f.get("type")) and test(f["data"])]

    async def closed(self):
        """The close code of a WebSocket that the server ends."""
        await asyncio.wait_for(asyncio.shield(self.reader), PATIENCE)
        return self.socket.close_code

    async def disconnect(self):
        await self.socket.close()
        await self.reader
        self.socket = None

    async def leave(self):
        if self.socket:
            await self.disconnect()
        await self.http.close()
        await self.line.close()


@sasl_mech(20)
class Bearer(Mech):
    """RFC 7628, which slixmpp does not know; where there is a password, it prefers SCRAM."""

    name, required_credentials = "OAUTHBEARER", {"access_token"}

    def process(self, challenge=b""):
        return b"n,,\x01auth=Bearer " + self.credentials["access_token"] + b"\x01\x01"


class Peer(Guest):
    """The other party: slixmpp, with what is usual in clients. It answers no request for subscription by itself."""

    PLUGINS = ("xep_0012", "xep_0050", "xep_0060", "xep_0066", "xep_0084", "xep_0153", "xep_0163", "xep_0172", "xep_0292",
               "xep_0308", "xep_0353", "xep_0363", "xep_0402", "xep_0424", "xep_0444", "xep_0446", "xep_0447", "xep_0461")
    # What PEP tells of without being asked each time.
    INTERESTS = ("urn:xmpp:avatar:metadata", "http://jabber.org/protocol/nick", "urn:xmpp:bookmarks:1")

    def __init__(self, stage, name, resource, password=None, token=None, bookmarks=True):
        """With a password, or the access token of an app; `bookmarks`: whether it follows them, and so needs no invitations."""
        super().__init__(stage.server, name, resource)
        self.stage = stage
        self.credentials["password"] = password
        if token:
            del self.credentials["password"]
            self.credentials["access_token"] = token.encode()
            self.add_filter("in", self._offer_bearer)
        self.auto_authorize, self.auto_subscribe = None, False
        for plugin in self.PLUGINS:
            self.register_plugin(plugin)
        self.register_plugin("xep_0055", {"provide_search": False})
        for event in ("presence_subscribed", "presence_unsubscribe", "presence_unsubscribed", "avatar_metadata_publish",
                      "user_nick_publish", "pubsub_publish", "pubsub_retract", "message_correction", "message_retract",
                      "chatstate_paused", "chatstate_active", "reactions", "stream_error", "failed_auth",
                      *(f"jingle_message_{name}" for name in ("propose", "proceed", "reject", "retract", "accept"))):
            self.add_event_handler(event, lambda data, event=event: self._note(event, data))
        for node in self.INTERESTS:
            if bookmarks or "bookmarks" not in node:
                self["xep_0163"].add_interest(node)

    @staticmethod
    def _offer_bearer(stanza):
        """Whoever has a token knows that it is taken: the server names the mechanism in SASL2 alone, which slixmpp does not speak."""
        if isinstance(stanza, StreamFeatures) and stanza["mechanisms"]:
            stanza["mechanisms"] = [*stanza["mechanisms"], Bearer.name]
        return stanza

    async def arrive(self):
        self.enable_direct_tls, self.enable_starttls, self.enable_plaintext = False, True, False
        self.connect("127.0.0.1", self.house.xmpp)
        await self.saw("session_start")
        await self.get_roster(timeout=PATIENCE)
        await self["xep_0280"].enable(timeout=PATIENCE)
        # Its `+notify` goes out with the first presence.
        await self["xep_0115"].update_caps()
        self.send_presence()
        await self.saw("any presence", lambda p: p["from"] == self.boundjid)
        return self

    async def leave(self):
        """Once everything that it has sent is taken."""
        if self.is_connected():
            await self["xep_0199"].ping("localhost", timeout=PATIENCE)
            await super().leave()

    async def hears(self, body, sender=None):
        """The message that says so, from whoever it is expected from (a bare JID)."""
        return await self.saw("any message", lambda m: str(m["body"]) == body and m["type"] != "error" and (
            sender is None or m["from"].bare == sender))

    def chat(self, to, body, **more):
        """Says something to one person; its id. `receipt` and `markable` ask for what their names say."""
        message = self.make_message(to, body, mtype="chat")
        message["id"] = message["origin_id"]["id"] = str(uuid.uuid4())
        if more.get("receipt"):
            message["request_receipt"] = True
        if more.get("markable"):
            message.enable("markable")
        message.send()
        return message["id"]

    async def pep(self, jid, node):
        """The payloads of a node's items, by their ids."""
        answer = await self["xep_0060"].get_items(jid, node, timeout=PATIENCE)
        return {item["id"]: item.xml[0] for item in answer["pubsub"]["items"] if len(item.xml)}

    async def roster_item(self, jid, test=lambda item: True):
        """The roster's line of somebody, once it is so."""
        def line():
            return self.client_roster[jid] if jid in self.client_roster.keys() else None

        if not (line() and test(line())):
            await self.saw("roster_update", lambda _: bool(line() and test(line())))
        return line()

    async def archived(self, jid=None, **query):
        """The bodies of the archive, oldest first: the whole personal one, or what was said with somebody."""
        found = []
        async for entry in self["xep_0313"].iterate(with_jid=jid, **{"rsm": {"max": 50}, **query}):
            body = str(entry["mam_result"]["forwarded"]["stanza"]["body"])
            if body:
                found.append(body)
        return found

    async def upload(self, data, name, kind):
        """A file, by XEP-0363: its URL."""
        service = await self["xep_0363"].find_upload_service(timeout=PATIENCE)
        answer = await self["xep_0363"].request_slot(service["from"], name, len(data), kind, timeout=PATIENCE)
        import aiohttp

        slot = answer["http_upload_slot"]
        async with aiohttp.ClientSession() as http, http.put(
                slot["put"]["url"], data=data, headers={"Content-Type": kind}, ssl=self.stage.trust) as done:
            expect(done.status == 201, f"{name} is not stored: {done.status}")
        return slot["get"]["url"]


def serve(scenario, checks, identity=None, services=None, configuration=None, **settings):
    """Runs a scenario, a coroutine of a stage, on a server as it would be deployed: TLS everywhere, uploads, the services that
    there are. Where it fails, the end of the server's log is shown."""
    port = free_port()
    if services:
        settings = {**services.settings, **settings}
        identity = {**services.identity, **(identity or {})}
    with Server(https__host="127.0.0.1", https__port=port, http__url=f"https://localhost:{port}", **settings) as server:
        # JSON is YAML.
        pathlib.Path(server.configuration).write_text(json.dumps({**({"identity": identity} if identity else {}), **(configuration or {})}))
        server.start()

        async def play():
            async with Stage(server) as stage:
                await scenario(stage)

        failed = len(checks.failed)
        try:
            asyncio.run(play())
        finally:
            if len(checks.failed) > failed:
                print(server.tail())


class Moderator(Peer):
    """Comes by the access token of an app's session, moderates, and notes what moderators do."""

    def __init__(self, stage, session, resource):
        super().__init__(stage, session["user"]["id"], resource, token=session["accessToken"])
        self.register_plugin("xep_0425")
        self.add_event_handler("moderated_message", lambda data: self._note("moderated_message", data))


class Beacon(Peer):
    """A push service (XEP-0357 6): takes what is published to it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.register_handler(Callback("a push", MatchXPath(f"{{jabber:client}}iq/{{{PUBSUB}}}pubsub"), self._take))

    def _take(self, iq):
        if iq["type"] == "set" and iq.xml.find(f".//{{{PUSH}}}notification") is not None:
            iq.reply().send()
            self._note("push", iq)

    async def push(self):
        """The fields of the next one."""
        iq = await self.saw("push")
        return {f.get("var"): f.findtext("{jabber:x:data}value") for f in iq.xml.iter("{jabber:x:data}field")}


async def agree(service, peer):
    """Another user's client serves as a push service if that user has approved it, here in advance (RFC 6121 3.4)."""
    service.send_presence(pto=peer.boundjid.bare, ptype="subscribed")
    await service.get_roster(timeout=PATIENCE)


async def switch(peer, on, jid, node="phone"):
    """XEP-0357: on or off."""
    iq = peer.make_iq_set()
    ElementTree.SubElement(iq.xml, f"{{{PUSH}}}{'enable' if on else 'disable'}", jid=jid, node=node)
    return await iq.send(timeout=PATIENCE)


class Described:
    """The documents that an app is written from."""

    def __init__(self):
        self.openapi = yaml.safe_load((DOCS / "openapi.yaml").read_text())
        self.asyncapi = yaml.safe_load((DOCS / "asyncapi.yaml").read_text())
        make = referencing.jsonschema.DRAFT202012.create_resource
        self.registry = referencing.Registry().with_resources(
            [("https://docs/openapi.yaml", make(self.openapi)), ("https://docs/asyncapi.yaml", make(self.asyncapi))])

    def fits(self, where, value):
        errors = [e.message for e in jsonschema.Draft202012Validator(
            {"$ref": "https://docs/" + where}, registry=self.registry).iter_errors(value)]
        expect(not errors, f"{value} is not as {where} says: {errors}")
