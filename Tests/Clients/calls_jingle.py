"""Calls between the two protocols, with sound and pictures (docs/app-protocol.md, "Calls"): a browser is the app's side, by SDP; slixmpp
is the other, with Jingle written from XEP-0166, 0167, 0176 and 0320 alone (`lib.jingle`) and aiortc for its media. Each hears and sees what
the other sends.
"""
import asyncio
import contextlib
import os
import socket
import subprocess

from lib.apps import App
from lib.browser import RELAYED, browsing, perceives
from lib.caller import Phone
from lib.harness import PATIENCE, Log, Server, expect, free_port
from lib.jingle import AUDIO, DTLS, ICE, INFO, JINGLE, RTP, VIDEO, Line, app, at_desk, element, offer, reason_of, ring, take_call


async def across(checks, server, phone):
    async def hear_each_other(line):
        heard = await app(phone.browser.act, "heard")
        expect(heard["packets"] > 20, f"{heard}")
        await line.perceives()

    async def is_called(name):
        return await ring(phone, desk, "romeo@localhost", "juliet", name)

    desk = await at_desk(server)
    with checks.check("calls, Jingle: an app calls, both hear each other, and tell that they are muted; the app hangs up"):
        made = await app(phone.call, "juliet")
        rings = await desk.saw("jingle_message_propose", lambda m: m["jingle_propose"]["id"] == made)
        info = await desk["xep_0030"].get_info(jid=rings["from"], timeout=PATIENCE)
        expect({JINGLE, RTP, f"{RTP[:-1]}audio", ICE, DTLS} <= info["disco_info"]["features"], f"{info}")
        line = await take_call(phone, desk, rings, made)
        await hear_each_other(line)
        await app(lambda: phone.signal(action="info", info={"muted": True, "mid": "0"}))
        told = (await line.told("session-info"))[0]
        expect((told.tag, told.get("name")) == (f"{{{INFO}}}mute", "0"), f"{told.tag} {told.attrib}")
        await line.send("session-info", element(INFO, "unmute", name="0", creator="responder"))
        told = await app(phone.told, "info")
        expect(told["info"] == {"muted": False, "mid": "0"}, f"{told}")
        await app(lambda: phone.app.call("DELETE", f"/v1/calls/{made}"))
        expect(reason_of(await line.told("session-terminate")) == ["success"], "another end")
        expect((await app(phone.state, "ended"))["reason"] == "ended", "another end")
        await app(phone.done)
        await line.close()
    with checks.check("calls, Jingle: XMPP calls, both hear each other; media added later are refused, and both go on; XMPP hangs up"):
        line = await is_called("one")
        await offer(phone, line)
        await hear_each_other(line)
        screen = line.content(line.described[0])
        screen.set("name", "screen")
        await line.send("content-add", screen)
        refused = await line.told("content-reject")
        expect(reason_of(refused) == ["unsupported-applications"] and refused.find(f"{{{JINGLE}}}content").get("name") == "screen", "not refused")
        told = await app(phone.told, "info")
        expect(told["info"]["error"]["code"] == "renegotiation-unsupported", f"{told}")
        await app(lambda: phone.signal(action="offer", sdp="v=0"))
        told = await app(phone.told, "info")
        expect(told["info"]["error"]["code"] == "renegotiation-unsupported", f"{told}")
        before = await app(phone.browser.act, "heard")
        await app(lambda: phone.browser.act("heard", after=before["packets"]))
        await line.hang_up()
        expect((await app(phone.state, "ended"))["reason"] == "ended", "another end")
        await app(phone.done)
        await line.close()
    with checks.check("calls, Jingle: without a fingerprint nothing is connected, and both are told why"):
        refused = await is_called("two")
        await refused.describe(refused.media.createOffer)
        content = refused.content(refused.described[0])
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
    desk = await at_desk(server)

    async def it_calls(page, label, video=False):
        await page.click(f"[aria-label='{label}']")
        rings = await desk.saw("jingle_message_propose", lambda m: m["type"] != "error")
        line = Line(desk, rings["from"], rings["jingle_propose"]["id"], video)
        desk["xep_0353"].proceed(line.peer, line.sid)
        await line.answer()
        return line

    async def it_is_called(page, name, media=AUDIO):
        desk["xep_0353"].propose("romeo@localhost", name, media)
        await page.click(".call .answer")
        proceeds = await desk.saw("jingle_message_proceed", lambda m: m["jingle_proceed"]["id"] == name)
        line = Line(desk, proceeds["from"], name, media == VIDEO)
        await line.offer()
        await line.take(await line.told("session-accept"), "answer")
        return line

    async def it_hangs_up(page, line):
        await page.click("[aria-label='Hang up']")
        expect(reason_of(await line.told("session-terminate")) == ["success"], "another end")
        await line.close()

    async def is_hung_up(page, line):
        await line.hang_up()
        await page.locator("section.call").wait_for(state="detached")
        await line.close()

    async with browsing(server) as browser:
        page = await browser.sign_in("romeo", await browser.watched())
        await page.locator(".row:has-text('Juliet')").first.click()
        with checks.check("calls, Jingle: the web client calls, both hear each other, and it tells that it is muted"):
            line = await it_calls(page, "Call")
            await line.perceives()
            await perceives(page, "audio")
            await page.click("[aria-label='Mute']")
            expect((await line.told("session-info"))[0].tag == f"{{{INFO}}}mute", "it does not tell that it is muted")
            await it_hangs_up(page, line)
        with checks.check("calls, Jingle: the web client is called, and both hear each other"):
            line = await it_is_called(page, "three")
            await line.perceives()
            await perceives(page, "audio")
            await is_hung_up(page, line)
        with checks.check("calls, Jingle: the web client calls by video, and both hear and see each other"):
            line = await it_calls(page, "Video call", video=True)
            await line.perceives()
            await perceives(page, "audio", "video")
            await it_hangs_up(page, line)
        with checks.check("calls, Jingle: the web client is called by video, and both hear and see each other"):
            line = await it_is_called(page, "four", VIDEO)
            await line.perceives()
            await perceives(page, "audio", "video")
            await is_hung_up(page, line)
        await page.context.close()
        page = await browser.sign_in("romeo", await browser.watched(RELAYED))
        await page.locator(".row:has-text('Juliet')").first.click()
        with checks.check("calls, Jingle: the web client reaches nobody but by coturn, and both hear each other, whoever calls"):
            for begin, end in ((lambda: it_calls(page, "Call"), it_hangs_up), (lambda: it_is_called(page, "five"), is_hung_up)):
                line = await begin()
                await line.perceives()
                await perceives(page, "audio")
                expect(set(line.kinds) == {"relay"}, f"candidates: {line.kinds}")
                await end(page, line)
    await desk.leave()


def own_address():
    """One that others could reach this machine by."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as probe:
        probe.connect(("192.0.2.1", 9))  # which sends nothing
        return probe.getsockname()[0]


@contextlib.contextmanager
def relay(folder, address, port, secret):
    process = subprocess.Popen(
        ["turnserver", "-n", "--no-cli", "--no-tls", "--no-dtls", "--listening-ip", address, "--relay-ip", address, "--listening-port", str(port),
         "--realm", "relay.test", "--log-file", "stdout", "--pidfile", os.path.join(folder, "coturn.pid"), "--userdb",
         os.path.join(folder, "coturn.db"), "--use-auth-secret", "--static-auth-secret", secret, "--verbose"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        Log(process.stdout).until("coturn is ready", lambda text: "UDP listener opened" in text)
        yield
    finally:
        process.terminate()
        process.wait()


def run(checks):
    address, port, secret = own_address(), free_port(), "the relay's"
    with Server(turn__secret=secret, turn__servers=f"turn:{address}:{port}?transport=udp") as server, relay(server.folder, address, port, secret):
        server.start()
        server.add_users("romeo", "juliet")
        server.befriend("romeo", "juliet")
        with Phone(App(server, "romeo", "phone").connect(), server.folder) as phone:
            asyncio.run(across(checks, server, phone))
        asyncio.run(with_the_web_client(checks, server))
