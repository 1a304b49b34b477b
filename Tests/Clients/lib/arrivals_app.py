"""These senders and readers of `arrivals.py` speak the app protocol."""
import asyncio
import contextlib
import itertools
import json
import random
import time
import urllib.parse

import websockets.asyncio.client
import websockets.exceptions

from lib.arrivals_ledger import Tale
from lib.arrivals_wire import LOST, OWED, reset
from lib.arrivals_xmpp import Sender
from lib.harness import PASSWORD, PATIENCE, Failure, expect


class App:
    """A client of the app protocol. Its one tale goes on for as long as it has its cursor."""

    def __init__(self, stage, name):
        self.stage, self.ledger, self.name = stage, stage.ledger, name
        self.dice = random.Random(f"{stage.seed} {name}")
        self.socket = None
        self.tale = Tale(stage.ledger, name)
        self.commands = itertools.count(1)

    async def sign_in(self):
        async with self.stage.first_login(self.name):
            self.token = (await self.stage.request("POST", "/v1/sessions", body={
                "grant": "password", "username": self.name, "password": PASSWORD, "deviceId": "arrivals"}))["accessToken"]
        self.signed_in = time.monotonic()

    async def request(self, method, path, body=None):
        return await self.stage.request(method, path, self.token, body)

    async def begin(self):
        if time.monotonic() - self.signed_in > 1_800:  # the token is good for an hour
            await self.sign_in()
        self.socket = await websockets.asyncio.client.connect(
            self.stage.server.base.replace("http", "ws", 1) + "/v1/ws", subprotocols=["parley.v1"], compression=None,
            open_timeout=PATIENCE, close_timeout=PATIENCE, ping_interval=None, proxy=None)
        name = await self.say("hello", {"token": self.token, "cursor": self.cursor})
        answer = await self.next()
        expect(answer.get("re") == name and answer.get("ok"), f"{self.name}: hello is answered {answer}")
        self.tale.note("hello")

    async def say(self, kind, data):
        name = str(next(self.commands))
        await self.socket.send(json.dumps({"id": name, "type": kind, "data": data}))
        return name

    async def close(self):
        """What comes until it is closed is read."""
        closing = asyncio.ensure_future(self.socket.close())
        with contextlib.suppress(websockets.exceptions.ConnectionClosed):
            while True:
                self.take(await self.next())
        await closing

    async def next(self):
        try:
            async with asyncio.timeout(PATIENCE):
                return json.loads(await self.socket.recv())
        except TimeoutError:
            raise Failure(f"nothing came within {PATIENCE} s") from None

    def take(self, frame):
        if frame.get("type") == "resync":
            self.tale.defect("an app lost its place", str(frame)[:300])
        if "re" not in frame and frame["type"] in ("caught_up", "resync"):
            self.cursor = frame["data"]["cursor"]
        if "cursor" not in frame:
            return
        if frame["prevCursor"] != self.cursor:
            self.tale.defect("a gap before an app's event", str(frame)[:300])
        self.cursor = frame["cursor"]
        if frame["type"] == "message.created":
            content = frame["data"]["message"]["content"]
            if content["type"] == "text" and not content["text"].startswith(self.name):
                self.tale.told(content["text"], "event")


class AppSender(App):
    """Says one to four things at a time, and waits for the answers."""
    batch, said = Sender.batch, Sender.said
    floods = False  # an app says no more than 200 things a second

    def __init__(self, stage, name, rooms):
        super().__init__(stage, name)
        self.talks, self.flooding = rooms, None
        self.unanswered = {}  # the id of a command -> body

    async def connect(self):
        self.dialogs = {name: dialog for name, (_, dialog) in self.stage.rooms.items()}
        for name in self.stage.readers + self.stage.app_readers:
            self.dialogs[name] = (await self.request("POST", "/v1/dialogs", {"type": "private", "userId": name}))["id"]
        self.cursor = (await self.request("GET", "/v1/sync"))["cursor"]
        await self.begin()

    async def run(self):
        try:
            async with asyncio.TaskGroup() as group:
                listening = group.create_task(self.listen())
                while batch := await self.batch():
                    for body in batch:
                        self.unanswered[await self.say("message.send", {
                            "dialogId": self.dialogs[body.split(" ")[1]], "clientId": body,
                            "content": {"type": "text", "text": body}})] = body
                    await self.ledger.until(lambda: not self.unanswered, f"answers for {self.name}")
                listening.cancel()
        except* (*LOST, Failure) as errors:
            self.ledger.defect("a sender failed", f"{self.name}: {errors.exceptions}")
        reset(self.socket.transport)

    async def listen(self):
        while True:
            frame = await self.next()
            body = self.unanswered.get(frame.get("re"))
            if body is None:
                self.take(frame)
                continue
            if frame.get("ok"):
                self.said(body)
            else:
                # What was said behind it was taken perhaps: this number is said by nobody.
                self.ledger.refuse(body)
                expect(frame["error"]["status"] in (429, 503), f"{self.name}: {frame}")
                await asyncio.sleep(frame["error"].get("retryAfter", 1))
            del self.unanswered[frame["re"]]
            self.ledger.changed()


class AppReader(App):
    """Comes with its cursor, over the WebSocket or by requests, reads, goes."""

    async def connect(self):
        self.cursor = (await self.request("GET", "/v1/sync"))["cursor"]

    async def run(self):
        while not self.stage.over:
            try:
                await self.dice.choices([self.visit, self.sync], [80, 20])[0]()
            except (*LOST, Failure) as error:
                self.tale.defect("an app failed", f"{type(error).__name__} {error}")
                self.socket = None

    async def visit(self):
        former, self.socket = self.socket, None
        await self.begin()
        self.ledger.add("app arrivals")
        if former:
            # The new one has replaced it (4409). What it had not read comes on the new one.
            with contextlib.suppress(websockets.exceptions.ConnectionClosed):
                while True:
                    async with asyncio.timeout(PATIENCE):
                        await former.recv()
        if self.dice.random() < 0.01:
            await self.stage.flood(self.name)  # nothing is read meanwhile
        for _ in range(self.dice.randrange(3)):
            end = self.tale.count + self.dice.choice((0, 1, 3, 6))
            while self.tale.count < end:
                self.take(await self.next())
            if self.dice.random() < 0.3:
                await self.say("ack", {"cursor": self.cursor})
        while self.ledger.owed[self.name] > OWED:
            self.take(await self.next())
        how = self.dice.random()
        if how < 0.4:
            await self.close()
        elif how < 0.8:
            reset(self.socket.transport)
        else:
            return  # the next takes its place
        self.socket = None

    async def sync(self):
        """A page or two by requests, waiting for it where there is nothing."""
        self.ledger.add("app arrivals")
        for _ in range(self.dice.randint(1, 3)):
            limit, wait = self.dice.choice((1, 3, 200)), self.dice.choice((0, 0, 5))
            page = await self.request("GET", f"/v1/sync?cursor={urllib.parse.quote(self.cursor)}&limit={limit}&wait={wait}")
            for frame in page["events"]:
                self.take(frame)
            self.cursor = page["cursor"]

    async def last_visit(self):
        if self.socket:
            reset(self.socket.transport)
        with contextlib.suppress(*LOST, Failure, TimeoutError):
            await self.begin()
            async with asyncio.timeout(PATIENCE / 3):
                while any(self.ledger.missing(self.name).values()):
                    self.take(await self.next())
            await self.close()
        self.tale.over()
