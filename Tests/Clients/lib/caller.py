"""`Phone` is an app in which somebody calls and is called: `App` for the signals, and a page of a headless Chromium for its media. The page
has one `RTCPeerConnection` and nothing of Parley's.
"""
import http.server
import json
import os
import queue
import shutil
import signal as signals
import subprocess
import threading
import uuid

from lib.browser import BROWSERS
from lib.harness import PATIENCE, Failure, expect

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
  async heard({ after = 20 }) {
    for (let looks = 0; looks < 600; looks += 1) {
      for (const each of (await peer.getStats()).values()) {
        if (each.type === "inbound-rtp" && each.packetsReceived > after && each.totalAudioEnergy > 0) {
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

    def __init__(self, app, folder):
        self.app, self.browser, self.call_id = app, Browser(folder), None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.browser.close()

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
