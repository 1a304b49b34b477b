"""`Line` is one Jingle session of a slixmpp client: the stanzas are written here from XEP-0166, 0167, 0176, 0293, 0294, 0320, 0338 and
0339 alone, and aiortc has the media.
"""
import asyncio
import fractions
import time
import uuid
import xml.etree.ElementTree as ElementTree

import aiortc
import aiortc.sdp
import av
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

from lib.harness import PATIENCE, expect
from lib.peers import arrive

JINGLE, RTP = "urn:xmpp:jingle:1", "urn:xmpp:jingle:apps:rtp:1"
ICE, DTLS, GROUPING = "urn:xmpp:jingle:transports:ice-udp:1", "urn:xmpp:jingle:apps:dtls:0", "urn:xmpp:jingle:apps:grouping:0"
FEEDBACK, EXTENSIONS, SOURCES = (f"urn:xmpp:jingle:apps:rtp:{name}:0" for name in ("rtcp-fb", "rtp-hdrext", "ssma"))
INFO = f"{RTP[:-2]}:info:1"
AUDIO = [(RTP, "audio")]
VIDEO = [*AUDIO, (RTP, "video")]


class Tone(aiortc.MediaStreamTrack):
    """A square wave of 200 Hz."""
    kind = "audio"

    def __init__(self):
        super().__init__()
        self.count, self.begun = 0, time.monotonic()

    async def recv(self):
        await asyncio.sleep(max(0, self.begun + self.count * 0.02 - time.monotonic()))
        frame = av.AudioFrame(format="s16", layout="mono", samples=960)
        wave = b"".join((9000 if at // 120 % 2 else -9000).to_bytes(2, "little", signed=True) for at in range(960))
        frame.planes[0].update(wave)
        frame.sample_rate, frame.pts, frame.time_base = 48000, self.count * 960, fractions.Fraction(1, 48000)
        self.count += 1
        return frame


class Picture(aiortc.MediaStreamTrack):
    """Ten small pictures a second."""
    kind = "video"

    def __init__(self):
        super().__init__()
        self.count, self.begun = 0, time.monotonic()

    async def recv(self):
        await asyncio.sleep(max(0, self.begun + self.count * 0.1 - time.monotonic()))
        frame = av.VideoFrame(width=160, height=120, format="yuv420p")
        for plane in frame.planes:
            plane.update(bytes([self.count * 16 % 256]) * plane.buffer_size)
        frame.pts, frame.time_base = self.count * 9000, fractions.Fraction(1, 90000)
        self.count += 1
        return frame


def element(namespace, tag, text=None, /, **attributes):
    """Attributes with a hyphen have an underscore here; those that are None are left out."""
    made = ElementTree.Element(
        f"{{{namespace}}}{tag}", {name.replace("_", "-"): str(value) for name, value in attributes.items() if value is not None})
    made.text = text
    return made


class Line:
    """One Jingle session, and its media."""

    def __init__(self, client, peer, sid, video=False):
        self.client, self.peer, self.sid = client, peer, sid
        self.media = aiortc.RTCPeerConnection()
        self.media.addTrack(Tone())
        self.loud, self.seen = (asyncio.get_running_loop().create_future() for _ in range(2))
        self.has = ["loud"]
        if video:
            self.media.addTrack(Picture())
            self.has.append("seen")
        self.kinds, self.taking = [], None  # of the other side's candidates
        self.media.on("track", lambda track: asyncio.ensure_future(self.watch(track) if track.kind == "video" else self.listen(track)))

    async def listen(self, track):
        heard = 0
        while heard < 20:
            frame = await track.recv()
            heard += any(abs(int.from_bytes(bytes(frame.planes[0])[at:at + 2], "little", signed=True)) > 500 for at in range(0, 1920, 2))
        self.loud.done() or self.loud.set_result(heard)

    async def watch(self, track):
        for _ in range(5):
            await track.recv()
        self.seen.done() or self.seen.set_result(True)

    async def perceives(self):
        """Waits until it has heard enough, and seen enough if there is video."""
        for each in self.has:
            await asyncio.wait_for(asyncio.shield(getattr(self, each)), PATIENCE)

    async def send(self, action, *payload, **attributes):
        iq = self.client.make_iq_set(ito=self.peer)
        jingle = ElementTree.SubElement(iq.xml, f"{{{JINGLE}}}jingle", {"action": action, "sid": self.sid, **attributes})
        jingle.extend(payload)
        return await iq.send(timeout=PATIENCE)

    async def told(self, action):
        """The next request of this action; it is acknowledged."""
        iq = await self.client.saw("jingle", lambda iq: jingle_of(iq).get("action") == action and jingle_of(iq).get("sid") == self.sid)
        iq.reply().send()
        return jingle_of(iq)

    @property
    def described(self):
        return aiortc.sdp.SessionDescription.parse(self.media.localDescription.sdp).media

    def contents(self):
        """The own description, without candidates."""
        group = element(GROUPING, "group", semantics="BUNDLE")
        group.extend([element(GROUPING, "content", name=each.rtp.muxId) for each in self.described])
        return [*map(self.content, self.described), group]

    def content(self, described):
        content = element(JINGLE, "content", creator="initiator", name=described.rtp.muxId, senders="both")
        description = element(RTP, "description", media=described.kind)
        content.append(description)
        for codec in described.rtp.codecs:
            payload = element(
                RTP, "payload-type", id=codec.payloadType, name=codec.name, clockrate=codec.clockRate, channels=codec.channels or 1)
            payload.extend([element(RTP, "parameter", name=name, value=value) for name, value in codec.parameters.items()])
            payload.extend([element(FEEDBACK, "rtcp-fb", type=each.type, subtype=each.parameter or None) for each in codec.rtcpFeedback])
            description.append(payload)
        description.extend([element(EXTENSIONS, "rtp-hdrext", id=each.id, uri=each.uri) for each in described.rtp.headerExtensions])
        for each in described.ssrc:
            source = element(SOURCES, "source", ssrc=each.ssrc)
            source.append(element(SOURCES, "parameter", name="cname", value=each.cname))
            description.append(source)
        description.append(element(RTP, "rtcp-mux"))
        content.append(self.transport(described))
        for each in described.dtls.fingerprints:
            if each.algorithm == "sha-256":
                setup = aiortc.sdp.DTLS_ROLE_SETUP[described.dtls.role]
                content[-1].append(element(DTLS, "fingerprint", each.value, hash=each.algorithm, setup=setup))
        return content

    @staticmethod
    def transport(described):
        return element(ICE, "transport", ufrag=described.ice.usernameFragment, pwd=described.ice.password)

    async def send_candidates(self):
        """Sends each candidate by itself; what is bundled has those of the first. Returns their number."""
        described = self.described[0]
        expect(described.ice_candidates, "aiortc has no candidates")
        for each in described.ice_candidates:
            content = element(JINGLE, "content", creator="initiator", name=described.rtp.muxId)
            content.append(self.transport(described))
            content[0].append(element(
                ICE, "candidate", component=each.component, foundation=each.foundation, generation=0, id=uuid.uuid4().hex, ip=each.ip,
                network=0, port=each.port, priority=each.priority, protocol=each.protocol, type=each.type, rel_addr=each.relatedAddress,
                rel_port=each.relatedPort))
            await self.send("transport-info", content)
        return len(described.ice_candidates)

    async def take(self, jingle, kind):
        """Takes the other side's description."""
        lines = ["v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0"]
        for group in jingle.findall(f"{{{GROUPING}}}group"):
            lines.append(" ".join([f"a=group:{group.get('semantics')}", *(each.get("name") for each in group)]))
        for content in jingle.findall(f"{{{JINGLE}}}content"):
            lines += self.section(content)
        await self.media.setRemoteDescription(aiortc.RTCSessionDescription("\r\n".join(lines) + "\r\n", kind))
        self.taking = asyncio.ensure_future(self.take_candidates())

    @staticmethod
    def section(content):
        description, transport = content.find(f"{{{RTP}}}description"), content.find(f"{{{ICE}}}transport")
        print_ = transport.find(f"{{{DTLS}}}fingerprint")
        payloads = description.findall(f"{{{RTP}}}payload-type")
        expect(content.get("senders", "both") == "both", f"senders: {content.get('senders')}")
        expect(description.find(f"{{{RTP}}}rtcp-mux") is not None, "RTCP has a port of its own")
        lines = [f"m={description.get('media')} 9 UDP/TLS/RTP/SAVPF {' '.join(each.get('id') for each in payloads)}", "c=IN IP4 0.0.0.0",
                 "a=rtcp:9 IN IP4 0.0.0.0", f"a=mid:{content.get('name')}", "a=sendrecv", "a=rtcp-mux"]
        for each in description.findall(f"{{{EXTENSIONS}}}rtp-hdrext"):
            lines.append(f"a=extmap:{each.get('id')} {each.get('uri')}")
        for each in payloads:
            channels = f"/{each.get('channels')}" if each.get("channels", "1") != "1" else ""
            lines.append(f"a=rtpmap:{each.get('id')} {each.get('name')}/{each.get('clockrate')}{channels}")
            values = [parameter.get("name") + "=" + parameter.get("value") if parameter.get("name") else parameter.get("value")
                      for parameter in each.findall(f"{{{RTP}}}parameter")]
            if values:
                lines.append(f"a=fmtp:{each.get('id')} {';'.join(values)}")
            for feedback in each.findall(f"{{{FEEDBACK}}}rtcp-fb"):
                lines.append(" ".join([f"a=rtcp-fb:{each.get('id')}", feedback.get("type"), *filter(None, [feedback.get("subtype")])]))
        return [*lines, f"a=ice-ufrag:{transport.get('ufrag')}", f"a=ice-pwd:{transport.get('pwd')}",
                f"a=fingerprint:{print_.get('hash')} {print_.text}", f"a=setup:{print_.get('setup')}"]

    async def take_candidates(self):
        while True:
            jingle = await self.told("transport-info")
            content = jingle.find(f"{{{JINGLE}}}content")
            for each in content.findall(f"{{{ICE}}}transport/{{{ICE}}}candidate"):
                self.kinds.append(each.get("type"))
                candidate = aiortc.RTCIceCandidate(
                    component=int(each.get("component")), foundation=each.get("foundation"), ip=each.get("ip"), port=int(each.get("port")),
                    priority=int(each.get("priority")), protocol=each.get("protocol"), type=each.get("type"),
                    relatedAddress=each.get("rel-addr"), relatedPort=each.get("rel-port") and int(each.get("rel-port")),
                    sdpMid=content.get("name"))
                await self.media.addIceCandidate(candidate)

    async def describe(self, make):
        await self.media.setLocalDescription(await make())

    async def offer(self):
        """Begins, as the side that has called. The other side accepts later."""
        await self.describe(self.media.createOffer)
        await self.send("session-initiate", *self.contents(), initiator=str(self.client.boundjid))
        return await self.send_candidates()

    async def answer(self):
        """Accepts what the side that has called offers."""
        await self.take(await self.told("session-initiate"), "offer")
        await self.describe(self.media.createAnswer)
        await self.send("session-accept", *self.contents(), responder=str(self.client.boundjid))
        return await self.send_candidates()

    async def hang_up(self):
        reason = element(JINGLE, "reason")
        reason.append(element(JINGLE, "success"))
        await self.send("session-terminate", reason)

    async def close(self):
        if self.taking:
            self.taking.cancel()
        await self.media.close()


def jingle_of(iq):
    return iq.xml.find(f"{{{JINGLE}}}jingle")


def reason_of(jingle):
    return [each.tag.split("}")[1] for each in jingle.find(f"{{{JINGLE}}}reason")]


async def app(body, *arguments):
    """Runs what blocks: the app's part."""
    return await asyncio.to_thread(body, *arguments)


async def take_call(phone, desk, rings, sid):
    """The client at `desk` takes the call of the app at `phone`, and answers its offer; returns its line."""
    desk["xep_0353"].proceed(rings["from"], sid)
    await app(phone.state, "accepted")
    await app(phone.offer)
    line = Line(desk, rings["from"], sid)
    sent = await line.answer()
    await app(lambda: phone.browser.act("answered", sdp=phone.told("answer")["sdp"]))
    await app(phone.take_candidates, sent)
    return line


async def ring(phone, desk, address, caller, sid):
    """The client at `desk`, whom the app knows as `caller`, calls the app at `phone`, which accepts; returns its line, on which
    nothing has been said yet."""
    desk["xep_0353"].propose(address, sid, AUDIO)
    await app(phone.rings, caller)
    await app(lambda: phone.signal(action="accept"))
    proceeds = await desk.saw("jingle_message_proceed", lambda m: m["jingle_proceed"]["id"] == sid)
    return Line(desk, proceeds["from"], sid)


async def offer(phone, line):
    """The client offers its media on a line, and takes the app's answer."""
    sent = await line.offer()
    await app(phone.answer)
    await app(phone.take_candidates, sent)
    await line.take(await line.told("session-accept"), "answer")


async def at_desk(server, jid="juliet@localhost/desk"):
    """A slixmpp client that notes what it is told by Jingle."""
    desk = await arrive(server, jid)
    desk.register_handler(Callback(
        "jingle", MatchXPath(f"{{jabber:client}}iq/{{{JINGLE}}}jingle"), lambda iq: iq["type"] == "set" and desk._note("jingle", iq)))
    return desk
