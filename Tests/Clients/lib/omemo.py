"""`Device` is a slixmpp client with keys of its own (XEP-0384, by slixmpp-omemo). `Memory` outlives it."""
import sys
import xml.etree.ElementTree as ElementTree

import twomemo
import twomemo.etree
from omemo.storage import Just, Nothing, Storage
from slixmpp import JID
from slixmpp.plugins.base import register_plugin
from slixmpp_omemo import XEP_0384

from lib.harness import PATIENCE, expect
from lib.peers import Client
from lib.rooms import Guest

OLD, NEW = "eu.siacs.conversations.axolotl", twomemo.twomemo.NAMESPACE


class Memory(Storage):
    """What a device remembers. It outlives its client."""

    def __init__(self):
        super().__init__(True)
        self.values = {}

    async def _load(self, key):
        return Just(self.values[key]) if key in self.values else Nothing()

    async def _store(self, key, value):
        self.values[key] = value

    async def _delete(self, key):
        self.values.pop(key, None)


class Encryption(XEP_0384):
    """Trusts whoever it sees first."""

    default_config = {**XEP_0384.default_config, "memory": None}
    _btbv_enabled = True

    @property
    def storage(self):
        return self.memory

    async def _prompt_manual_trust(self, devices, identifier):
        raise AssertionError(f"nobody is there to be asked about {devices}")

    async def _on_device_list_update(self, message):
        await super()._on_device_list_update(message)
        self.xmpp._note("devices", message)


register_plugin(Encryption)


class Device(Guest):
    """A client with keys of its own. `Guest` hears every message, too."""

    def __init__(self, server, name, resource, memory):
        super().__init__(server, name, resource)
        self.register_plugin("xep_0384", {"memory": memory}, module=sys.modules[__name__])
        self.omemo = self.plugin["xep_0384"]

    async def arrive(self):
        await Client.arrive(self)
        # Its list and its keys are published when this is there.
        self.keys = await self.omemo.get_session_manager()
        self.id = (await self.keys.get_own_device_information())[0].device_id
        await self["xep_0280"].enable(timeout=PATIENCE)
        # Its `+notify` goes out with the first presence.
        await self["xep_0115"].update_caps()
        self.send_presence()
        await self.saw("any presence", lambda p: p["from"] == self.boundjid)
        return self

    async def leave(self):
        await self.keys.shutdown()
        await super().leave()

    async def whisper(self, to, text, kind="chat", readers=None):
        """What slixmpp-omemo makes of it."""
        plain = self.make_message(to, text, mtype=kind)
        encrypted, errors = await self.omemo.encrypt_message(plain, {JID(reader) for reader in readers or [to]})
        expect(not errors, f"not for everybody: {errors}")
        encrypted.send()
        return encrypted["id"]

    async def whisper_anew(self, to, text):
        """The same in `urn:xmpp:omemo:2`: the text in an envelope of XEP-0420."""
        envelope = (f"<envelope xmlns='urn:xmpp:sce:1'><content><body xmlns='jabber:client'>{text}</body></content>"
                    f"<rpad>x</rpad><from jid='{self.boundjid.bare}'/></envelope>")
        made, errors = await self.keys.encrypt(frozenset([to]), {NEW: envelope.encode()}, [NEW])
        expect(not errors and len(made) == 1, f"{errors} {made}")
        message = self.make_message(to, mtype="chat")
        message.append(twomemo.etree.serialize_message(next(iter(made))))
        message.send()
        return message["id"]

    async def read(self, message):
        return str((await self.omemo.decrypt_message(message))[0]["body"])

    async def read_anew(self, message):
        found = twomemo.etree.parse_message(message.xml.find(f"{{{NEW}}}encrypted"), message["from"].bare)
        envelope = ElementTree.fromstring((await self.keys.decrypt(found))[0])
        return envelope.findtext(".//{jabber:client}body")

    async def heard(self, name):
        return await self.saw("any message", lambda m: m["id"] == name)

    async def copied(self, name):
        return (await self.saw("carbon_sent", lambda m: m["carbon_sent"]["id"] == name))["carbon_sent"]

    async def told_of(self, device, namespace):
        """A device stands in the list that this one was told, and its library has heard it."""
        await self.saw("devices", lambda m: m["from"].bare == device.boundjid.bare and any(
            item.get("id") == str(device.id) for item in m.xml.iter() if item.tag == f"{{{namespace}}}device"))
