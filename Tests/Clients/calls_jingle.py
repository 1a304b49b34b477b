"""Calls between the two protocols, with sound (docs/app-protocol.md, "Calls"): a browser is the app's side, by SDP; slixmpp is the
other, with Jingle written here from XEP-0166, 0167, 0176 and 0320 alone, and aiortc for its media. Each hears what the other sends.
"""
import asyncio
import fractions
import http.server
import json
import os
import queue
import shutil
import signal as signals
import subprocess
import threading
import time
import uuid
import xml.etree.ElementTree as ElementTree

import aiortc
import aiortc.sdp
import av
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher import MatchXPath

from lib.apps import App
from lib.browser import browsing
from lib.harness import PATIENCE, Failure, Server, expect
from lib.peers import arrive

BROWSERS = ["chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"]
JINGLE, RTP = "urn:xmpp:jingle:1", "urn:xmpp:jingle:apps:rtp:1"
ICE, DTLS = "urn:xmpp:jingle:transports:ice-udp:1", "urn:xmpp:jingle:apps:dtls:0"
AUDIO = [(RTP, "audio")]
PAGE = """<!doctype html><script>
const say = (value) => fetch("/", { method: "POST", body: JSON.stringify(value) });
let peer;
async function open() {
  peer = new RTCPeerConnection();
  peer.onicecandidate = ({ candidate }) => candidate && say({ candidate });
  peer.ontrack = ({ track }) => {
    const audio = new Audio();
    audio.srcObject = new MediaStream([track]);
    audio.play();
  };
  const stream = await navigator.mediaDevices.getUserMedia({ audio: true });
  for (const track of stream.getTracks()) peer.addTrack(track, stream);
}
async function described() {
  await peer.setLocalDescription();
  return { sdp: peer.localDescription.sdp };
}
const acts = {
  async offer() { await open(); return described(); },
  async answer({ sdp }) {
    await open();
    await peer.setRemoteDescription({ type: "offer", sdp });
    return described();
  },
  async answered({ sdp }) { await peer.setRemoteDescription({ type: "answer", sdp }); },
  async candidate({ candidate }) { await peer.addIceCandidate(candidate); },
  async heard() {
    for (let looks = 0; looks < 600; looks += 1) {
      for (const each of (await peer.getStats()).values()) {
        if (each.type === "inbound-rtp" && each.packetsReceived > 20 && each.totalAudioEnergy > 0) {
          return { packets: each.packetsReceived, energy: each.totalAudioEnergy };
        }
      }
      await new Promise((done) => setTimeout(done, 100));
    }
    throw new Error("silence; " + peer.iceConnectionState + ", " + peer.connectionState);
  },
  async close() { peer.close(); },
};
(async () => {
  for (;;) {
    const act = await (await fetch("/next")).json();
    try { await say({ done: await acts[act.name](act) ?? {} }); } catch (error) { await say({ done: { error: String(error) } }); }
  }
})();
</script>"""


class Browser:
    """A page with one `RTCPeerConnection`, which does what it is told."""

    def __init__(self, folder):
        program = next((found for found in map(shutil.which, BROWSERS) if found), None)
        expect(program, "a browser is missing: apt install chromium-headless-shell")
        self.acts, self.done, self.candidates = queue.Queue(), queue.Queue(), queue.Queue()
        browser = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, data, kind="application/json"):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def do_GET(self):
                if self.path == "/next":
                    return self.answer(json.dumps(browser.acts.get()).encode())
                self.answer(PAGE.encode(), "text/html")

            def do_POST(self):
                said = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                (browser.candidates if "candidate" in said else browser.done).put(said)
                self.answer(b"{}")

            def log_message(self, *_):
                pass

        self.site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.site.daemon_threads = True
        threading.Thread(target=self.site.serve_forever, daemon=True).start()
        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-port=0",
             "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream", "--autoplay-policy=no-user-gesture-required",
             f"--user-data-dir={os.path.join(folder, uuid.uuid4().hex)}", f"http://127.0.0.1:{self.site.server_port}/"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def act(self, name, **what):
        self.acts.put({"name": name, **what})
        try:
            done = self.done.get(timeout=2 * PATIENCE)["done"]
        except queue.Empty:
            raise Failure(f"the browser does not {name}") from None
        expect("error" not in done, f"the browser cannot {name} {what}: {done}")
        return done

    def close(self):
        os.killpg(self.process.pid, signals.SIGKILL)
        self.process.wait()
        self.site.shutdown()


class Phone:
    """The app: what its page and the server tell each other."""

    def __init__(self, app, browser):
        self.app, self.browser, self.call_id = app, browser, None

    def signal(self, status=200, **what):
        answered, body = self.app.call("POST", f"/v1/calls/{self.call_id}/signals", what)
        expect(answered == status, f"{what}: {answered} {body}")

    def call(self, user):
        status, made = self.app.call("POST", "/v1/calls", {"userId": user, "kind": "audio", "clientId": str(uuid.uuid4())})
        expect(status == 201, f"{status} {made}")
        self.call_id = made["id"]
        return made["id"]

    def rings(self, caller):
        self.call_id = self.app.event(
            "call.updated", lambda data: data["call"]["callerId"] == caller and data["call"]["state"] == "ringing")["data"]["call"]["id"]

    def state(self, state):
        return self.app.event(
            "call.updated", lambda data: data["call"]["id"] == self.call_id and data["call"]["state"] == state)["data"]["call"]

    def told(self, action):
        return self.app.event(
            "call.signal", lambda data: data["callId"] == self.call_id and data["action"] == action)["data"]

    def trickle(self):
        """Sends the page's candidates as they come, until the call has ended."""
        def run():
            while candidate := self.browser.candidates.get()["candidate"]:
                self.app.call("POST", f"/v1/calls/{self.call_id}/signals", {"action": "candidate", "candidate": candidate})
        threading.Thread(target=run, daemon=True).start()

    def offer(self):
        self.signal(action="offer", sdp=self.browser.act("offer")["sdp"])
        self.trickle()

    def answer(self):
        self.signal(action="answer", sdp=self.browser.act("answer", sdp=self.told("offer")["sdp"])["sdp"])
        self.trickle()

    def take_candidates(self, count):
        for _ in range(count):
            self.browser.act("candidate", candidate=self.told("candidate")["candidate"])

    def done(self):
        self.browser.act("close")
        self.browser.candidates.put({"candidate": None})


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


class Line:
    """One Jingle session of a slixmpp client, and its media."""

    def __init__(self, client, peer, sid):
        self.client, self.peer, self.sid = client, peer, sid
        self.media = aiortc.RTCPeerConnection()
        self.media.addTrack(Tone())
        self.loud = asyncio.get_running_loop().create_future()
        self.media.on("track", lambda track: asyncio.ensure_future(self.listen(track)))

    async def listen(self, track):
        heard = 0
        while heard < 20:
            frame = await track.recv()
            heard += any(abs(int.from_bytes(bytes(frame.planes[0])[at:at + 2], "little", signed=True)) > 500 for at in range(0, 1920, 2))
        self.loud.done() or self.loud.set_result(heard)

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

    def content(self):
        """The own description, without candidates."""
        described = aiortc.sdp.SessionDescription.parse(self.media.localDescription.sdp).media[0]
        content = ElementTree.Element(
            f"{{{JINGLE}}}content", {"creator": "initiator", "name": described.rtp.muxId, "senders": "both"})
        description = ElementTree.SubElement(content, f"{{{RTP}}}description", {"media": "audio"})
        for codec in described.rtp.codecs:
            payload = ElementTree.SubElement(description, f"{{{RTP}}}payload-type", {
                "id": str(codec.payloadType), "name": codec.name, "clockrate": str(codec.clockRate), "channels": str(codec.channels or 1)})
            for name, value in codec.parameters.items():
                ElementTree.SubElement(payload, f"{{{RTP}}}parameter", {"name": name, "value": str(value)})
        ElementTree.SubElement(description, f"{{{RTP}}}rtcp-mux")
        transport = self.transport(described, content)
        for each in described.dtls.fingerprints:
            if each.algorithm == "sha-256":
                setup = aiortc.sdp.DTLS_ROLE_SETUP[described.dtls.role]
                ElementTree.SubElement(transport, f"{{{DTLS}}}fingerprint", {"hash": each.algorithm, "setup": setup}).text = each.value
        return content

    @staticmethod
    def transport(described, content):
        return ElementTree.SubElement(
            content, f"{{{ICE}}}transport", {"ufrag": described.ice.usernameFragment, "pwd": described.ice.password})

    async def send_candidates(self):
        """Sends each candidate by itself. Returns their number."""
        described = aiortc.sdp.SessionDescription.parse(self.media.localDescription.sdp).media[0]
        expect(described.ice_candidates, "aiortc has no candidates")
        for each in described.ice_candidates:
            content = ElementTree.Element(f"{{{JINGLE}}}content", {"creator": "initiator", "name": described.rtp.muxId})
            attributes = {"component": each.component, "foundation": each.foundation, "generation": 0, "id": uuid.uuid4().hex,
                          "ip": each.ip, "network": 0, "port": each.port, "priority": each.priority, "protocol": each.protocol, "type": each.type}
            if each.relatedAddress:
                attributes.update({"rel-addr": each.relatedAddress, "rel-port": each.relatedPort})
            ElementTree.SubElement(
                self.transport(described, content), f"{{{ICE}}}candidate", {name: str(value) for name, value in attributes.items()})
            await self.send("transport-info", content)
        return len(described.ice_candidates)

    async def take(self, jingle, kind):
        """Takes the other side's description."""
        content = jingle.find(f"{{{JINGLE}}}content")
        description, transport = content.find(f"{{{RTP}}}description"), content.find(f"{{{ICE}}}transport")
        print_ = transport.find(f"{{{DTLS}}}fingerprint")
        payloads = description.findall(f"{{{RTP}}}payload-type")
        lines = ["v=0", "o=- 1 1 IN IP4 0.0.0.0", "s=-", "t=0 0", f"a=group:BUNDLE {content.get('name')}",
                 f"m={description.get('media')} 9 UDP/TLS/RTP/SAVPF {' '.join(each.get('id') for each in payloads)}", "c=IN IP4 0.0.0.0",
                 "a=rtcp:9 IN IP4 0.0.0.0", f"a=mid:{content.get('name')}", "a=sendrecv"]
        expect(content.get("senders", "both") == "both", f"senders: {content.get('senders')}")
        expect(description.find(f"{{{RTP}}}rtcp-mux") is not None, "RTCP has a port of its own")
        lines.append("a=rtcp-mux")
        for each in payloads:
            channels = f"/{each.get('channels')}" if each.get("channels", "1") != "1" else ""
            lines.append(f"a=rtpmap:{each.get('id')} {each.get('name')}/{each.get('clockrate')}{channels}")
            values = [parameter.get("name") + "=" + parameter.get("value") if parameter.get("name") else parameter.get("value")
                      for parameter in each.findall(f"{{{RTP}}}parameter")]
            if values:
                lines.append(f"a=fmtp:{each.get('id')} {';'.join(values)}")
        lines += [f"a=ice-ufrag:{transport.get('ufrag')}", f"a=ice-pwd:{transport.get('pwd')}",
                  f"a=fingerprint:{print_.get('hash')} {print_.text}", f"a=setup:{print_.get('setup')}"]
        await self.media.setRemoteDescription(aiortc.RTCSessionDescription("\r\n".join(lines) + "\r\n", kind))
        self.taking = asyncio.ensure_future(self.take_candidates())

    async def take_candidates(self):
        while True:
            jingle = await self.told("transport-info")
            content = jingle.find(f"{{{JINGLE}}}content")
            for each in content.findall(f"{{{ICE}}}transport/{{{ICE}}}candidate"):
                candidate = aiortc.RTCIceCandidate(
                    component=int(each.get("component")), foundation=each.get("foundation"), ip=each.get("ip"), port=int(each.get("port")),
                    priority=int(each.get("priority")), protocol=each.get("protocol"), type=each.get("type"),
                    relatedAddress=each.get("rel-addr"), relatedPort=each.get("rel-port") and int(each.get("rel-port")),
                    sdpMid=content.get("name"))
                await self.media.addIceCandidate(candidate)

    async def describe(self, make):
        await self.media.setLocalDescription(await make())

    async def close(self):
        self.taking.cancel()
        await self.media.close()


def jingle_of(iq):
    return iq.xml.find(f"{{{JINGLE}}}jingle")


def reason_of(jingle):
    return [each.tag.split("}")[1] for each in jingle.find(f"{{{JINGLE}}}reason")]


async def at_desk(server):
    desk = await arrive(server, "juliet@localhost/desk")
    desk.register_handler(Callback(
        "jingle", MatchXPath(f"{{jabber:client}}iq/{{{JINGLE}}}jingle"), lambda iq: iq["type"] == "set" and desk._note("jingle", iq)))
    return desk


async def across(checks, server, phone):
    loop = asyncio.get_running_loop()

    async def app(body, *arguments):
        return await loop.run_in_executor(None, lambda: body(*arguments))

    async def hear_each_other(line):
        heard = await app(phone.browser.act, "heard")
        expect(heard["packets"] > 20, f"{heard}")
        await asyncio.wait_for(asyncio.shield(line.loud), PATIENCE)

    desk = await at_desk(server)
    with checks.check("calls, Jingle: an app calls, both hear each other, the app hangs up"):
        made = await app(phone.call, "juliet")
        rings = await desk.saw("jingle_message_propose", lambda m: m["jingle_propose"]["id"] == made)
        info = await desk["xep_0030"].get_info(jid=rings["from"], timeout=PATIENCE)
        expect({JINGLE, RTP, f"{RTP[:-1]}audio", ICE, DTLS} <= info["disco_info"]["features"], f"{info}")
        desk["xep_0353"].proceed(rings["from"], made)
        await app(phone.state, "accepted")
        await app(phone.offer)
        line = Line(desk, rings["from"], made)
        await line.take(await line.told("session-initiate"), "offer")
        await line.describe(line.media.createAnswer)
        await line.send("session-accept", line.content(), responder=str(desk.boundjid))
        sent = await line.send_candidates()
        await app(lambda: phone.browser.act("answered", sdp=phone.told("answer")["sdp"]))
        await app(phone.take_candidates, sent)
        await hear_each_other(line)
        await app(lambda: phone.app.call("DELETE", f"/v1/calls/{made}"))
        expect(reason_of(await line.told("session-terminate")) == ["success"], "another end")
        expect((await app(phone.state, "ended"))["reason"] == "ended", "another end")
        await app(phone.done)
        await line.close()
    with checks.check("calls, Jingle: XMPP calls, both hear each other, XMPP hangs up"):
        line = Line(desk, "romeo@localhost", "one")
        desk["xep_0353"].propose("romeo@localhost", "one", AUDIO)
        await app(phone.rings, "juliet")
        await app(lambda: phone.signal(action="accept"))
        line.peer = (await desk.saw("jingle_message_proceed", lambda m: m["jingle_proceed"]["id"] == "one"))["from"]
        await line.describe(line.media.createOffer)
        await line.send("session-initiate", line.content(), initiator=str(desk.boundjid))
        sent = await line.send_candidates()
        await app(phone.answer)
        await app(phone.take_candidates, sent)
        await line.take(await line.told("session-accept"), "answer")
        await hear_each_other(line)
        reason = ElementTree.Element(f"{{{JINGLE}}}reason")
        ElementTree.SubElement(reason, f"{{{JINGLE}}}success")
        await line.send("session-terminate", reason)
        expect((await app(phone.state, "ended"))["reason"] == "ended", "another end")
        await app(phone.done)
        await line.close()
    with checks.check("calls, Jingle: without a fingerprint nothing is connected, and both are told why"):
        desk["xep_0353"].propose("romeo@localhost", "two", AUDIO)
        await app(phone.rings, "juliet")
        await app(lambda: phone.signal(action="accept"))
        refused = Line(desk, (await desk.saw("jingle_message_proceed", lambda m: m["jingle_proceed"]["id"] == "two"))["from"], "two")
        await refused.describe(refused.media.createOffer)
        content = refused.content()
        transport = content.find(f"{{{ICE}}}transport")
        transport.remove(transport.find(f"{{{DTLS}}}fingerprint"))
        await refused.send("session-initiate", content)
        expect(reason_of(await refused.told("session-terminate")) == ["security-error", "text"], "another end")
        told = await app(phone.told, "info")
        expect(told["info"]["error"]["code"] == "fingerprint-missing", f"{told}")
        expect((await app(phone.state, "ended"))["reason"] == "incompatible", "another end")
        await refused.media.close()
    await desk.leave()


async def with_the_web_client(checks, server):
    """The server's own client in the browser, where the app's side was a page of this script."""
    hears = "() => document.querySelector('.call .remote')?.srcObject?.getAudioTracks().some((track) => !track.muted)"
    desk = await at_desk(server)
    async with browsing(server) as browser:
        page = await browser.sign_in("romeo")
        with checks.check("calls, Jingle: the web client calls, and both hear each other"):
            await page.locator(".row:has-text('Juliet')").first.click()
            await page.click("[aria-label='Call']")
            rings = await desk.saw("jingle_message_propose", lambda m: m["type"] != "error")
            line = Line(desk, rings["from"], rings["jingle_propose"]["id"])
            desk["xep_0353"].proceed(line.peer, line.sid)
            await line.take(await line.told("session-initiate"), "offer")
            await line.describe(line.media.createAnswer)
            await line.send("session-accept", line.content(), responder=str(desk.boundjid))
            await line.send_candidates()
            await asyncio.wait_for(asyncio.shield(line.loud), PATIENCE)
            await page.wait_for_function(hears)
            await page.click("[aria-label='Hang up']")
            expect(reason_of(await line.told("session-terminate")) == ["success"], "another end")
            await line.close()
        with checks.check("calls, Jingle: the web client is called, and both hear each other"):
            line = Line(desk, "romeo@localhost", "three")
            desk["xep_0353"].propose("romeo@localhost", "three", AUDIO)
            await page.click(".call .answer")
            line.peer = (await desk.saw("jingle_message_proceed", lambda m: m["jingle_proceed"]["id"] == "three"))["from"]
            await line.describe(line.media.createOffer)
            await line.send("session-initiate", line.content(), initiator=str(desk.boundjid))
            await line.send_candidates()
            await line.take(await line.told("session-accept"), "answer")
            await asyncio.wait_for(asyncio.shield(line.loud), PATIENCE)
            await page.wait_for_function(hears)
            reason = ElementTree.Element(f"{{{JINGLE}}}reason")
            ElementTree.SubElement(reason, f"{{{JINGLE}}}success")
            await line.send("session-terminate", reason)
            await page.locator("section.call").wait_for(state="detached")
            await line.close()
    await desk.leave()


def run(checks):
    with Server() as server:
        server.start()
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        browser = Browser(server.folder)
        try:
            asyncio.run(across(checks, server, Phone(App(server, "romeo", "phone").connect(), browser)))
        finally:
            browser.close()
        asyncio.run(with_the_web_client(checks, server))
