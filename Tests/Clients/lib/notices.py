"""`Notices` is what shows notifications on a desktop: a server of org.freedesktop.Notifications on a session bus. It keeps them, and presses
them when it is told to. `PushService` is what a browser has its Web Push from: Mozilla's, as far as Firefox needs it.
"""
import asyncio
import base64
import contextlib
import itertools
import json
import uuid

import websockets
from jeepney import DBusAddress, HeaderFields, MessageType, message_bus, new_error, new_method_return, new_signal
from jeepney.io.asyncio import open_dbus_connection

from lib.harness import PATIENCE, Failure, expect, free_port

PLACE = DBusAddress("/org/freedesktop/Notifications", "org.freedesktop.Notifications", "org.freedesktop.Notifications")
ABILITIES = ["actions", "body"]


class Notices:
    def __init__(self, bus):
        self.bus = bus
        self.shown = {}  # by number: {title, body, actions}
        self.all = []  # the titles and bodies of all that were ever shown
        self.numbers = itertools.count(1)
        self.changed = asyncio.Condition()

    async def __aenter__(self):
        self.connection = await open_dbus_connection(self.bus)
        await self.connection.send(message_bus.RequestName(PLACE.bus_name))
        self.work = asyncio.ensure_future(self._serve())
        return self

    async def __aexit__(self, *_):
        self.work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.work
        await self.connection.close()

    async def _serve(self):
        while True:
            message = await self.connection.receive()
            if message.header.message_type != MessageType.method_call:
                continue
            name = message.header.fields[HeaderFields.member]
            answer = getattr(self, f"_on_{name}", None)
            if not answer:
                await self.connection.send(new_error(message, "org.freedesktop.DBus.Error.UnknownMethod"))
                continue
            signature, values = answer(*message.body)
            await self.connection.send(new_method_return(message, signature, values))
            async with self.changed:
                self.changed.notify_all()

    def _on_GetServerInformation(self):
        return "ssss", ("test", "test", "1", "1.2")

    def _on_GetCapabilities(self):
        return "as", (ABILITIES,)

    def _on_Notify(self, program, replaced, icon, title, body, actions, hints, time):
        number = replaced or next(self.numbers)
        self.shown.pop(number, None)
        self.shown[number] = {"title": title, "body": body, "actions": actions[::2]}
        self.all.append((title, body))
        return "u", (number,)

    def _on_CloseNotification(self, number):
        self.shown.pop(number, None)
        return None, ()

    async def until(self, what, test):
        """Waits until this is true of what is shown, and gives what the test gave."""
        async with self.changed:
            try:
                await asyncio.wait_for(self.changed.wait_for(lambda: test(self.shown)), PATIENCE)
            except asyncio.TimeoutError:
                raise Failure(f"not within {PATIENCE} s: {what}; shown are {list(self.shown.values())}") from None
        return test(self.shown)

    async def notice(self, title, body):
        """Waits for a notice that is shown. Its number."""
        return await self.until(f"a notice {title}: {body}", lambda shown: next(
            (number for number, each in shown.items() if (each["title"], each["body"]) == (title, body)), None))

    async def press(self, number):
        """As if its user clicked on it."""
        expect("default" in self.shown[number]["actions"], f"it cannot be pressed: {self.shown[number]}")
        await self.connection.send(new_signal(PLACE, "ActionInvoked", "us", (number, "default")))


class PushService:
    """Tells Firefox of what a server pushes: `provider` is where servers post it (`pushes.Browser`), and has the subscription's path first."""

    def __init__(self, provider):
        self.provider, self.port, self.firefox = provider, free_port(), None
        self.preferences = {
            "dom.push.connection.enabled": True, "dom.push.serverURL": f"ws://127.0.0.1:{self.port}/",
            "dom.push.testing.allowInsecureServerURL": True}

    async def __aenter__(self):
        self.server = await websockets.serve(self._serve, "127.0.0.1", self.port)
        return self

    async def __aexit__(self, *_):
        self.server.close()
        await self.server.wait_closed()

    async def _serve(self, firefox):
        self.firefox = firefox
        async for text in firefox:
            said = json.loads(text)
            answer = {"messageType": said.get("messageType"), "status": 200}
            if answer["messageType"] == "hello":
                answer |= {"uaid": uuid.uuid4().hex, "use_webpush": True}
            elif answer["messageType"] == "register":
                answer |= {"channelID": said["channelID"], "pushEndpoint": f"https://127.0.0.1:{self.provider.port}/{said['channelID']}"}
            elif answer["messageType"] == "unregister":
                answer |= {"channelID": said["channelID"]}
            else:
                continue
            await firefox.send(json.dumps(answer))

    async def forward(self, what):
        """Waits for the server's next push, and gives it to Firefox as it is."""
        path, headers, body, _ = await asyncio.get_running_loop().run_in_executor(None, self.provider.take, what)
        await self.firefox.send(json.dumps({
            "messageType": "notification", "channelID": path[1:], "version": uuid.uuid4().hex,
            "data": base64.urlsafe_b64encode(body).decode().rstrip("="), "headers": {"encoding": headers["content-encoding"]}}))
