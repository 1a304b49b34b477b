"""What the checks of the SDKs share: a site that does for the SDK's own tests what only this side can do."""
import asyncio
import contextlib
import http.server
import json
import re
import threading

import yaml

from lib.apps import totp
from lib.harness import DOCS, PATIENCE, Server, expect, free_port
from lib.peers import Client
from lib.services import Hook, new_secret
from lib.signins import Signer, vouch

SECRET = "a secret that the check of the SDK knows"
# Operations of openapi.yaml that the SDKs leave out.
NEEDLESS = {
    "health.get": "an operator's", "readiness.get": "an operator's", "sync": "the WebSocket tells the same", "events": "the WebSocket tells the same",
    "contactMatch.salt": "an address book is the app's, which asks by `request`", "contactMatch.create": "the same",
    "me.avatar.get": "user.avatar has it", "draft.get": "a dialog has it", "call.get": "of a call whose beginning no event has told",
}


class Nurse(Client):
    """Answers everything, and says that she has seen it."""

    def __init__(self, server):
        super().__init__(server, "nurse@localhost/kitchen")
        self.add_event_handler("message", self.answer)

    def answer(self, message):
        if message["type"] == "chat" and message["body"]:
            self["xep_0333"].send_marker(message["from"].bare, message["id"], "displayed")
            message.reply(f"heard: {message['body']}").send()


class Control:
    """Does what a test asks for, by HTTP."""

    def __init__(self, server, hook):
        self.server, self.hook, self.loop = server, hook, None
        control = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
                try:
                    # Nobody follows a redirection: a letter would be taken.
                    status, value = (307, {"location": "/letter"}) if self.path == "/elsewhere" else (
                        200, getattr(control, "on_" + self.path[1:])(body) or {})
                except Exception as error:  # the test that asked tells it
                    status, value = 500, {"error": repr(error)}
                data = json.dumps(value).encode()
                self.send_response(status)
                if status == 307:
                    self.send_header("Location", value["location"])
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_):
                pass

        self.site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.site.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.site.server_port}"

    def on_restart(self, _):
        self.server.kill()
        self.server.start()

    def on_letter(self, _):
        letter = self.hook.letters.get(timeout=PATIENCE)
        if isinstance(letter, Exception):
            raise letter
        return letter["data"]

    def on_vouch(self, body):
        """The identity token of the app's backend."""
        return {"token": vouch(body["nonce"], body["prn"], Signer("HS256", secret=SECRET), iss="app", name=body["name"])}

    def on_totp(self, body):
        return {"code": totp(body["secret"])}

    def on_arrive(self, _):
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

        async def arrive():
            self.nurse = Nurse(self.server)
            await self.nurse.arrive()
            self.nurse.send_presence()
            await self.nurse.saw("presence_available")

        asyncio.run_coroutine_threadsafe(arrive(), self.loop).result(PATIENCE)

    def close(self):
        if self.loop:
            async def leave():
                await self.nurse.disconnect()
            with contextlib.suppress(Exception):
                asyncio.run_coroutine_threadsafe(leave(), self.loop).result(5)
            self.loop.call_soon_threadsafe(self.loop.stop)
        self.site.shutdown()
        self.site.server_close()


@contextlib.contextmanager
def site(*users, **settings):
    """A server with its users, and what the tests ask for."""
    secret, port = new_secret(), free_port()
    hook = Hook(port, secret)
    settings = dict(
        guests__domains="localhost", registration="true", invitations="true", identity__backends=f"app={SECRET}", signup__email="false", terms__version="1",
        terms__url="https://www.example.org/terms",
        turn__servers="turn:relay.example.org:3478?transport=udp", turn__secret="a secret of the relay",
        delivery__url=f"http://127.0.0.1:{port}/letters", delivery__secret=secret, **settings)
    with Server(**settings) as server:
        server.start()
        server.add_users("romeo", "juliet", "nurse", "mercutio", "benvolio", "tybalt", "paris", "rosaline", *users)
        for one, other in [("romeo", "juliet"), ("romeo", "nurse"), ("mercutio", "benvolio"), ("rosaline", "paris")]:
            server.befriend(one, other)
        control = Control(server, hook)
        try:
            yield server, control
        finally:
            control.close()
            hook.close()


def never_done(log, but=()):
    """The operations of openapi.yaml that no request of this log has had done: lines of a method, a path and a status."""
    done = [line.split() for line in log.read_text().splitlines()]
    done = {(method, path) for method, path, status in done if status.startswith("2")}
    expect(done, "no request was logged")
    left = set()
    for path, item in yaml.safe_load((DOCS / "openapi.yaml").read_text())["paths"].items():
        fits = re.compile(re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(path)))
        for method in item.keys() - {"parameters"}:
            if not any(method.upper() == asked and fits.fullmatch(place) for asked, place in done):
                left.add(item[method]["operationId"])
    return sorted(left - NEEDLESS.keys() - set(but))
