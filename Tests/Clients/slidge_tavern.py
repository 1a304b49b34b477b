"""A network for slidge to be a gateway to: a tavern, which is a TCP connection of the check (`gateway_slidge.py`) with one JSON
object on each line. What slidge calls a legacy module; slidge loads it by its name.
"""
import asyncio
import json
import os

from slidge import BaseGateway, BaseSession
from slidge.contact import LegacyContact, LegacyRoster


class Gateway(BaseGateway):
    COMPONENT_NAME = "The tavern"
    COMPONENT_TYPE = "tavern"
    ROSTER_GROUP = "Tavern"

    async def validate(self, user_jid, registration_form):
        return registration_form


class Contact(LegacyContact):
    async def update_info(self):
        self.name = self.legacy_id.capitalize()
        self.is_friend = True

    async def on_message(self, message):
        self.session.say(to=self.legacy_id, text=message.body)
        return f"tavern-{message.body}"


class Roster(LegacyRoster):
    async def fill(self):
        for name in ("tybalt", "mercutio"):
            contact = await self.by_legacy_id(name)
            contact.online("drinking")
            # slidge 0.4.2 does this itself only where its own tests do not think that they run.
            await contact.add_to_roster()
            yield contact


class Session(BaseSession):
    async def login(self):
        reader, self.writer = await asyncio.open_connection("127.0.0.1", int(os.environ["TAVERN_PORT"]))
        self.create_task(self.listen(reader))
        return "in the tavern"

    async def logout(self):
        self.writer.close()

    def say(self, **line):
        self.writer.write(json.dumps(line).encode() + b"\n")

    async def listen(self, reader):
        await self.ready
        self.say(ready=self.user_jid.bare)
        async for line in reader:
            said = json.loads(line)
            contact = await self.contacts.by_legacy_id(said["who"])
            contact.send_text(said["text"], said["text"], carbon=said["carbon"])
