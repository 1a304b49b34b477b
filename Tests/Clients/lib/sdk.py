"""What the checks of the SDKs share: a site that does for the SDK's own tests what only this side can do."""
import asyncio
import contextlib
import http.server
import json
import threading

from lib.apps import totp
from lib.harness import PATIENCE
from lib.peers import Client
from lib.signins import Signer, vouch

SECRET = "a secret that the check of the SDK knows"


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
