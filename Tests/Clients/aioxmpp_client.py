"""aioxmpp, a library for asyncio that takes every element by a declared type and refuses what does not fit, with an app client on
the other side.
"""
import asyncio
import logging
import pathlib
import socket

import aioxmpp
import aioxmpp.dispatcher
import aioxmpp.muc.xso
import aioxmpp.security_layer
import aioxmpp.vcard
import OpenSSL.crypto

from lib.across import Across
from lib.harness import PASSWORD, PATIENCE, expect
from lib.peers import ROSE
from lib.wire import Client


class Pinned(aioxmpp.security_layer.CertificateVerifier):
    """Takes this certificate and no other. The library's own check of names needs an older pyOpenSSL."""

    def __init__(self, path):
        super().__init__()
        self.certificate = OpenSSL.crypto.load_certificate(OpenSSL.crypto.FILETYPE_PEM, pathlib.Path(path).read_bytes())

    def verify_callback(self, connection, certificate, error, depth, is_good):
        return certificate.digest("sha256") == self.certificate.digest("sha256")

    async def post_handshake(self, transport):
        pass


class Romeo:
    def __init__(self, server):
        security = aioxmpp.make_security_layer(PASSWORD, no_verify=True)._replace(
            certificate_verifier_factory=lambda: Pinned(server.certificate))
        self.client = aioxmpp.PresenceManagedClient(
            aioxmpp.JID.fromstr("romeo@localhost"), security,
            override_peer=[("127.0.0.1", server.xmpp, aioxmpp.connector.STARTTLSConnector())])
        self.messages, self.said, self.occupants = asyncio.Queue(), asyncio.Queue(), asyncio.Queue()
        self.roster = self.client.summon(aioxmpp.RosterClient)
        self.presence = self.client.summon(aioxmpp.PresenceClient)
        self.disco = self.client.summon(aioxmpp.DiscoClient)
        self.rooms = self.client.summon(aioxmpp.MUCClient)
        self.blocking = self.client.summon(aioxmpp.BlockingClient)
        self.vcards = self.client.summon(aioxmpp.vcard.VCardService)
        self.avatars = self.client.summon(aioxmpp.AvatarService)
        self.client.summon(aioxmpp.CarbonsClient)
        self.client.summon(aioxmpp.EntityCapsService)
        dispatcher = self.client.summon(aioxmpp.dispatcher.SimpleMessageDispatcher)
        dispatcher.register_callback(aioxmpp.MessageType.CHAT, None, self.messages.put_nowait)

    async def tell(self, to, text, kind=aioxmpp.MessageType.CHAT):
        message = aioxmpp.Message(to=aioxmpp.JID.fromstr(to), type_=kind)
        message.body[None] = text
        await self.client.send(message)

    async def heard(self, text):
        while True:
            message = await asyncio.wait_for(self.messages.get(), PATIENCE)
            if message.body.any() == text if message.body else False:
                return message


async def off(action, *arguments):
    """The app client blocks."""
    return await asyncio.get_running_loop().run_in_executor(None, action, *arguments)


async def converse(checks, server, romeo):
    juliet, dialog = server.juliet, server.dialog
    balcony = aioxmpp.JID.fromstr("juliet@localhost")
    with checks.check("aioxmpp: logged in over STARTTLS; the roster, and who is online"):
        await off(server.online)
        expect(romeo.roster.items[balcony].subscription == "both", f"{romeo.roster.items}")
        while not romeo.presence.get_most_available_stanza(balcony):
            changed = asyncio.get_running_loop().create_future()
            romeo.presence.on_available.connect(changed, aioxmpp.callbacks.AdHocSignal.AUTO_FUTURE)
            await asyncio.wait_for(changed, PATIENCE)
    with checks.check("aioxmpp: messages in both directions"):
        await romeo.tell("juliet@localhost", "But soft, what light")
        await off(server.hears, "But soft, what light")
        await off(juliet.say, dialog, "Ay me & <all>")
        await romeo.heard("Ay me & <all>")
    with checks.check("aioxmpp: discovery, capabilities and extended information fit their types"):
        domain = aioxmpp.JID.fromstr("localhost")
        info = await romeo.disco.query_info(domain)
        expect("urn:xmpp:carbons:2" in info.features, f"{info.features}")
        for item in (await romeo.disco.query_items(domain)).items:
            await romeo.disco.query_info(item.jid)
        session = romeo.presence.get_most_available_stanza(balcony).from_
        expect("urn:xmpp:receipts" in (await romeo.disco.query_info(session)).features, "no receipts")
    with checks.check("aioxmpp: a vCard, and a picture by PEP, which the app sees"):
        card = await romeo.vcards.get_vcard()
        expect(card is not None, "no vCard")
        pictures = aioxmpp.avatar.AvatarSet()
        pictures.add_avatar_image("image/png", image_bytes=ROSE)
        await romeo.avatars.publish_avatar_set(pictures)
        await off(juliet.event, "user.updated", lambda d: d["user"]["id"] == "romeo" and d["user"].get("avatarHash"))
    with checks.check("aioxmpp: blocks a user, and does so no more"):
        paris = aioxmpp.JID.fromstr("paris@localhost")
        await romeo.blocking.block_jids([paris])
        await romeo.blocking.unblock_jids([paris])
    with checks.check("aioxmpp: enters the app's room, talks and listens; its form fits its types"):
        room, entered = romeo.rooms.join(aioxmpp.JID.fromstr(server.room_jid), "Romeo")
        room.on_message.connect(lambda message, member, source, **_: romeo.said.put_nowait(message.body.any()))
        await asyncio.wait_for(entered, PATIENCE)
        expect({"Juliet", "Romeo"} == {member.nick for member in room.members}, f"{room.members}")
        await romeo.tell(server.room_jid, "Draw, if you be men", aioxmpp.MessageType.GROUPCHAT)
        await off(server.hears, "Draw, if you be men", server.room)
        await off(juliet.say, server.room, "Part, fools")
        while await asyncio.wait_for(romeo.said.get(), PATIENCE) != "Part, fools":
            pass
    with checks.check("aioxmpp: makes a room with the form that it reads into its own type"):
        jid = aioxmpp.JID.fromstr("garden@conference.localhost")
        _, entered = romeo.rooms.join(jid, "Romeo")
        await asyncio.wait_for(entered, PATIENCE)
        form = aioxmpp.muc.xso.ConfigurationForm.from_xso(await romeo.rooms.get_room_config(jid))
        form.roomname.value, form.membersonly.value = "The garden", True
        await romeo.rooms.set_room_config(jid, form.render_reply())
        info = await romeo.disco.query_info(jid, require_fresh=True)
        expect("muc_membersonly" in info.features and info.identities[0].name == "The garden", f"{info.features}")
    with checks.check("aioxmpp: somebody's nick has an emoji that no stringprep knew"):
        paris = await off(Client, server, "paris", "street")
        paris.send(f"<presence to='{server.room_jid}/Paris \U0001f64c'><x xmlns='http://jabber.org/protocol/muc'/></presence>")
        await off(paris.ask, "<ping xmlns='urn:xmpp:ping'/>", "get", server.room_jid + "/Paris \U0001f64c")
        await romeo.tell(server.room_jid, "Peace, ho", aioxmpp.MessageType.GROUPCHAT)
        await off(server.hears, "Peace, ho", server.room)
        paris.close()
    with checks.check("aioxmpp: enters 45 rooms at once"):
        rooms = [await off(juliet.call, "POST", "/v1/dialogs", {"type": "public", "name": f"Street {n}"}) for n in range(45)]
        await asyncio.wait_for(asyncio.gather(
            *(romeo.rooms.join(aioxmpp.JID.fromstr(room["jid"]), "Romeo")[1] for _, room in rooms)), PATIENCE)
    with checks.check("aioxmpp: the connection is cut, and the stream resumed"):
        resumed = asyncio.get_running_loop().create_future()
        romeo.client.on_stream_resumed.connect(resumed, aioxmpp.callbacks.AdHocSignal.AUTO_FUTURE)
        romeo.client.stream._xmlstream.transport.get_extra_info("socket").shutdown(socket.SHUT_RDWR)
        await off(juliet.say, dialog, "said meanwhile")
        await asyncio.wait_for(resumed, PATIENCE)
        await romeo.heard("said meanwhile")


def run(checks):
    logging.getLogger("aioxmpp").setLevel(logging.CRITICAL)

    async def play():
        romeo = Romeo(server)
        async with romeo.client.connected():
            await converse(checks, server, romeo)
        with checks.check("aioxmpp: logs out, and is seen to be gone"):
            await off(server.online, False)

    with Across() as server:
        asyncio.run(play())
