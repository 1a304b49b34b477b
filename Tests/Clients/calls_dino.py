"""Calls between Dino, with Jingle (XEP-0166, 0167, 0176, 0353), ICE and media of its own, and the web client in Chromium: either calls, and
each hears the other. Dino is on a screen of its own (Xvfb), with PulseAudio without a sound card: a voice is played into its microphone, and
what its speaker plays is recorded.
"""
import asyncio
import math
import os
import pathlib
import shutil
import subprocess
import threading

from lib.across import Across
from lib.browser import browsing, perceives
from lib.dino import PROGRAMS, Dino
from lib.harness import PATIENCE, Failure, Log, expect

INCOMING, OUTGOING = 0, 1  # of `call.direction`
DTLS_SRTP, UNKNOWN = 3, 5  # of `call.encryption`


DEVICES = """
load-module module-null-sink sink_name=voice
load-module module-remap-source source_name=microphone master=voice.monitor
load-module module-null-sink sink_name=speaker
set-default-source microphone
set-default-sink speaker
load-module module-native-protocol-unix auth-anonymous=1 socket="""


def voice():
    """A second of two syllables, since Dino takes what does not change for noise."""
    for at in range(8000):
        loud = max(0, math.sin(4 * math.pi * at / 8000))
        wave = sum(math.sin(300 * math.pi * tone * at / 8000) / tone for tone in range(1, 8))
        yield from int(3000 * loud * wave).to_bytes(2, "little", signed=True)


class Sound:
    """PulseAudio with a microphone into which somebody speaks, and a speaker."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "sound")
        os.mkdir(self.path)
        socket = os.path.join(self.path, "socket")
        self.environment = {"PULSE_SERVER": f"unix:{socket}"}
        pathlib.Path(self.path, "devices").write_text(f"{DEVICES}{socket}\n")
        self.process = subprocess.Popen(
            ["pulseaudio", "-n", "-F", "devices", "--daemonize=no", "--use-pid-file=no", "--disable-shm=yes", "--exit-idle-time=-1",
             "--log-target=stderr", "-v"], cwd=self.path,
            env={"PATH": os.environ["PATH"], "HOME": self.path, "XDG_RUNTIME_DIR": self.path, "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, errors="replace")
        self.log = Log(self.process.stderr)
        self.log.until("PulseAudio is ready", lambda text: "Daemon startup complete" in text)
        pathlib.Path(self.path, "voice").write_bytes(bytes(voice()) * 600)
        self.speaker = subprocess.Popen(
            ["pacat", "--playback", "--device=voice", "--raw", "--format=s16le", "--rate=8000", "--channels=1", "voice"], cwd=self.path,
            env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def heard(self):
        """Waits for a second of sound from the speaker."""
        recorder = subprocess.Popen(
            ["parec", "--device=speaker.monitor", "--raw", "--format=s16le", "--rate=8000", "--channels=1"],
            env={**os.environ, **self.environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        late = threading.Timer(PATIENCE, recorder.kill)
        late.start()
        try:
            loud = 0
            while loud < 8000:
                frames = recorder.stdout.read(1600)
                expect(frames, "Dino's speaker is silent")
                loud += sum(abs(int.from_bytes(frames[at:at + 2], "little", signed=True)) > 200 for at in range(0, len(frames) - 1, 2))
        finally:
            late.cancel()
            recorder.kill()
            recorder.wait()

    def close(self):
        for each in (self.speaker, self.process):
            each.terminate()
            each.wait()


async def call(checks, server, dino, sound):
    loop = asyncio.get_running_loop()

    async def there(body, *arguments):
        return await loop.run_in_executor(None, lambda: body(*arguments))

    def has_call(direction, encryption):
        """The last call and its conversation. Dino's database has the encryption once media have come."""
        return dino.has(
            "call", "SELECT call.id, conversation.id FROM call JOIN conversation ON conversation.jid_id = call.counterpart_id "
            "WHERE direction = ? AND call.encryption = ? ORDER BY call.id DESC", direction, encryption)

    async def hear_each_other():
        try:
            await perceives(page, "audio")
        except Failure as failure:
            raise Failure(f"{failure}\nDino: {dino.log.text[-20_000:]}") from None
        await there(sound.heard)

    async with browsing(server) as browser:
        page = await browser.sign_in("juliet", await browser.watched())
        await page.locator(".row:has-text('Romeo')").first.click()
        with checks.check("calls, Dino: the browser calls, Dino accepts, both hear each other, the browser hangs up"):
            await page.click("[aria-label='Call']")
            rings, conversation = await there(has_call, INCOMING, UNKNOWN)
            await there(dino.act, "accept-call", f"({conversation}, {rings})")
            await hear_each_other()
            await there(has_call, INCOMING, DTLS_SRTP)
            await page.click("[aria-label='Hang up']")
            await there(dino.log.until, "Dino is told of the end", lambda text: "session-terminate" in text)
        with checks.check("calls, Dino: Dino calls, the browser accepts, both hear each other, Dino hangs up"):
            await there(dino.open, "xmpp:juliet@localhost?message")
            await there(dino.call)
            await page.click(".call .answer")
            await hear_each_other()
            await there(has_call, OUTGOING, DTLS_SRTP)
            await there(dino.hang_up)
            await page.locator("section.call").wait_for(state="detached")


def run(checks):
    for program in (*PROGRAMS, "pulseaudio", "pacat", "parec"):
        if not shutil.which(program):
            raise Failure(f"{program} is needed: `make test` installs it")
    with Across(ports=[5222]) as server:
        sound = Sound(server.folder)
        dino = Dino(server, **sound.environment)
        try:
            dino.sign_up("romeo@localhost")
            dino.start()
            server.online()
            dino.has("contact", "SELECT jid FROM roster WHERE jid = 'juliet@localhost' AND subscription = 'both'")
            asyncio.run(call(checks, server, dino, sound))
        finally:
            dino.close()
            sound.close()
