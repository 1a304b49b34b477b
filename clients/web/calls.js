// Calls with other browsers, apps and XMPP clients: ringing, answering, media. The server carries the signals (docs/app-protocol.md,
// "Calls"), and translates them for XMPP clients; sound and pictures go from one to the other, or by the operator's TURN server.

import { fill, h, name } from "./dom.js";
import { duration, isFuture, t } from "./i18n.js";
import { showNotification } from "./notifications.js";
import { preferences } from "./preferences.js";
import { ring } from "./tone.js";
import { attempt, toast, tool } from "./ui.js";

/** Whether this browser can make calls at all: it may have no WebRTC, as WebKitGTK and Safari's lockdown mode, or not allow microphones. */
export const hasCalls = Boolean(globalThis.navigator?.mediaDevices && globalThis.RTCPeerConnection);

/**
 * The calls of one page, which shows one at a time. Who calls somebody that is in a call, or calls, is told so, and the call is a missed
 * one; a second call to somebody whose first one still rings waits for the end of that.
 */
export class CallScreen {
  /** When the two were connected, in milliseconds since 1970. */
  began;

  /** @param {import("./app.js").App} app */
  constructor(app) {
    this.app = app;
    this.others = new Map();
    // Of the other side: which media it has turned off, and whether it holds the call.
    this.theirs = {};
    // What it was told of one's own media.
    this.told = {};
    this.players = {};
    app.parley.on("call", ({ call, signal }) => {
      if (!signal) this.changed(call);
      else if (this.call?.id === call.id && this.isMedia) {
        const before = this.queue ?? Promise.resolve();
        this.queue = before.then(() => this.heard(signal)).catch(() => this.fail());
      }
    });
  }

  /** Calls somebody. */
  async start(userId, kind) {
    if (this.call) return;
    await attempt(async () => {
      await this.open(kind);
      this.call = await this.app.parley.call({ userId }, kind);
      this.isMedia = true;
      this.draw();
      this.changed(this.call);
    });
    if (!this.call) this.clear();
  }

  /** A call's state has changed: it rings, was answered here or elsewhere, or has ended. */
  changed(call) {
    const { state, reason } = call.state;
    if (!this.call && state === "ringing" && !call.isMine) {
      this.call = call;
      call.ringing().catch(() => {});
      const caller = this.app.people.nameOf(call.state.callerId);
      showNotification(
        this.app,
        t(call.state.kind === "video" ? "call.incomingVideo" : "call.incoming"),
        caller,
        call.state.dialogId,
        call.id,
      );
      this.draw();
      return;
    }
    if (this.call?.id !== call.id) {
      this.others.delete(call.id);
      if (state !== "ringing" || call.isMine || !this.call) return;
      if (this.isMedia) call.reject("busy").catch(() => {});
      else this.others.set(call.id, call);
      return;
    }
    if (state === "ended") {
      if (this.isMedia && reason && reason !== "ended")
        toast(t.optional(`call.reason.${reason}`) ?? t("call.reason.failed"));
      this.clear();
    } else if (state === "accepted") {
      if (!this.isMedia) return this.clear();
      if (!this.connection) {
        this.ready = this.connect(call.isMine);
        this.ready.catch(() => this.fail());
      }
    }
    this.draw();
    return undefined;
  }

  async accept() {
    const { call } = this;
    await attempt(async () => {
      await this.open(call.state.kind);
      this.isMedia = true;
      await call.accept();
    });
    if (!this.stream) call.reject().catch(() => {});
  }

  hangUp() {
    const { call } = this;
    if (!call) return;
    const isRinging = call.state.state === "ringing";
    attempt(() => (isRinging && !call.isMine ? call.reject("rejected") : call.end(isRinging ? "cancelled" : "ended")));
    this.clear();
  }

  fail() {
    this.call?.end("failed").catch(() => {});
    toast(t("call.reason.failed"));
    this.clear();
  }

  // MARK: Media

  async open(kind) {
    try {
      this.stream = await navigator.mediaDevices.getUserMedia({ audio: true, video: kind === "video" });
      this.countCameras();
    } catch (error) {
      toast(t("call.devices"));
      throw error;
    }
  }

  /** Connects the two browsers. Whoever called makes the offers; the other side gives way when both offer at once. */
  async connect(isCaller) {
    const { call, stream } = this;
    this.waiting = [];
    // Made before anything is awaited, so that an offer that arrives meanwhile finds it.
    const connection = new RTCPeerConnection({ iceServers: [] });
    this.connection = connection;
    connection.addEventListener("icecandidate", ({ candidate }) => {
      if (candidate) call.candidate(candidate.toJSON()).catch(() => {});
    });
    connection.addEventListener("track", ({ streams, track }) => {
      this.remote = streams[0] ?? new MediaStream([track]);
      this.remote.onremovetrack = () => this.draw();
      this.draw();
    });
    connection.addEventListener("connectionstatechange", () => {
      if (connection.connectionState === "failed") this.fail();
      else if (connection.connectionState === "connected") {
        this.began ??= Date.now();
        this.draw();
      }
    });
    connection.addEventListener("negotiationneeded", () => {
      if (isCaller || this.isNegotiated) this.offer().catch(() => this.fail());
    });
    const servers = await this.app.parley.iceServers().catch(() => []);
    const iceServers = servers.map((each) => {
      const { urls, username, credential } = each;
      return username ? { urls, username, credential } : { urls };
    });
    connection.setConfiguration({ iceServers });
    for (const track of stream.getTracks()) connection.addTrack(track, stream);
  }

  async offer() {
    await this.connection.setLocalDescription();
    await this.call.offer(this.connection.localDescription.sdp);
  }

  /**
   * Takes what the other browser says, in order.
   *
   * @param {import("../js/parley.js").CallSignal} signal
   */
  async heard({ action, sdp, candidate, info }) {
    // The answer to the call and the other side's first signals can arrive together.
    for (let step = 0; !this.connection && this.call && step < 50; step += 1)
      await new Promise((resolve) => setTimeout(resolve, 100));
    // An answer that is made before the own tracks are there would leave them out.
    await this.ready;
    const { connection } = this;
    if (!connection) return;
    if (action === "candidate") {
      if (connection.remoteDescription) await connection.addIceCandidate(candidate).catch(() => {});
      else this.waiting.push(candidate);
    } else if (action === "offer" || action === "answer") {
      const isCollision = action === "offer" && connection.signalingState !== "stable";
      if (isCollision && this.call.isMine) return;
      await connection.setRemoteDescription({ type: action, sdp });
      for (const each of this.waiting.splice(0)) await connection.addIceCandidate(each).catch(() => {});
      this.isNegotiated = true;
      if (action === "offer") {
        await connection.setLocalDescription();
        await this.call.answer(connection.localDescription.sdp);
      }
    } else if (action === "info") this.informed(info);
  }

  /**
   * The other side has turned a medium off or on, or both without a `mid`; or it holds the call.
   *
   * @param {any} info
   */
  informed({ muted, mid, held }) {
    const { theirs } = this;
    if (typeof held === "boolean") theirs.held = held;
    if (typeof muted === "boolean") {
      for (const each of this.connection.getTransceivers())
        if (mid === undefined || each.mid === mid) theirs[each.receiver.track.kind] = muted;
    }
    this.draw();
  }

  /** Whether there can be pictures: in a call of sound alone only between browsers and apps, since an XMPP client takes one offer. */
  get mayShow() {
    return this.call.state.kind === "video" || (this.isNegotiated && this.call.state.media !== "jingle");
  }

  /** Shows a camera or a screen to the other side, in place of what was shown; `undefined`: nothing. */
  async show(track) {
    const video = this.connection?.getTransceivers().find((each) => each.receiver.track.kind === "video");
    if (video) {
      video.sender.setStreams(this.stream);
      await video.sender.replaceTrack(track ?? null);
      // It is offered again if it changes.
      video.direction = track ? "sendrecv" : "recvonly";
    } else if (track) this.connection?.addTrack(track, this.stream);
    this.tellMuted("video");
    this.draw();
  }

  /** Tells the other side whether a medium is off. Of a screen it is not, whatever the camera is. */
  tellMuted(kind) {
    const sender = this.connection?.getTransceivers().find((each) => each.sender.track?.kind === kind);
    const isMuted = sender && !sender.sender.track.enabled;
    if (!sender?.mid || isMuted === (this.told[kind] ?? false)) return;
    this.told[kind] = isMuted;
    this.call.info({ muted: isMuted, mid: sender.mid }).catch(() => {});
  }

  /** Learns of the cameras. Nothing waits for it: Firefox tells no window that has not got the focus. */
  countCameras() {
    navigator.mediaDevices.enumerateDevices().then(
      (devices) => {
        this.cameras = devices.filter((each) => each.kind === "videoinput").map((each) => each.deviceId);
        this.draw();
      },
      () => {},
    );
  }

  /** Whether there is another camera to turn to, as on telephones. */
  get mayTurn() {
    return this.cameras?.length > 1 && !this.screen && this.stream?.getVideoTracks().length > 0;
  }

  /** Turns to the camera on the other side of a telephone; on other machines to the next one. */
  async turnCamera() {
    const [old] = this.stream.getVideoTracks();
    if (this.isTurning) return;
    this.isTurning = true;
    const { facingMode, deviceId } = old.getSettings();
    const next = this.cameras[(this.cameras.indexOf(deviceId) + 1) % this.cameras.length];
    const wish = facingMode
      ? { facingMode: facingMode === "user" ? "environment" : "user" }
      : { deviceId: { exact: next } };
    // Many telephones open a camera only while no other one is open.
    old.stop();
    const open = (video) => navigator.mediaDevices.getUserMedia({ video });
    const openAgain = () =>
      open({ deviceId }).catch(() => {
        toast(t("call.devices"));
      });
    const camera = await open(wish).catch(openAgain);
    const [track] = camera ? camera.getVideoTracks() : [];
    this.isTurning = false;
    if (!this.stream?.getTracks().includes(old)) {
      track?.stop();
      return;
    }
    this.stream.removeTrack(old);
    if (track) {
      track.enabled = old.enabled;
      this.stream.addTrack(track);
    }
    if (this.screen) this.draw();
    else await this.show(track);
  }

  async addCamera() {
    const camera = await navigator.mediaDevices.getUserMedia({ video: true }).catch(() => {
      toast(t("call.devices"));
    });
    const [track] = camera ? camera.getVideoTracks() : [];
    if (!track) return;
    if (!this.stream || this.stream.getVideoTracks().length) {
      track.stop();
      return;
    }
    this.stream.addTrack(track);
    this.countCameras();
    if (this.screen) this.draw();
    else await this.show(track);
  }

  toggle(kind) {
    const track = this.stream?.getTracks().find((each) => each.kind === kind);
    if (!track) {
      if (kind === "video") this.addCamera().catch(() => this.fail());
      return;
    }
    track.enabled = !track.enabled;
    this.tellMuted(kind);
    this.draw();
  }

  /** Shows the screen in place of the camera, and the camera again when that ends. */
  async share() {
    if (this.screen) {
      for (const track of this.screen.getTracks()) track.stop();
      this.screen = undefined;
      await this.show(this.stream.getVideoTracks()[0]);
    } else {
      const screen = await navigator.mediaDevices.getDisplayMedia({ video: true }).catch(() => undefined);
      const [track] = screen?.getVideoTracks() ?? [];
      if (!track) return;
      if (!this.connection) {
        track.stop();
        return;
      }
      this.screen = screen;
      track.addEventListener("ended", () => {
        if (this.screen === screen) this.share();
      });
      await this.show(track);
    }
  }

  clear() {
    clearInterval(this.timer);
    this.connection?.close();
    for (const stream of [this.stream, this.screen]) for (const track of stream?.getTracks() ?? []) track.stop();
    Object.assign(this, {
      call: undefined,
      connection: undefined,
      stream: undefined,
      screen: undefined,
      remote: undefined,
      isMedia: false,
      isNegotiated: false,
      ready: undefined,
      began: undefined,
      timer: undefined,
      theirs: {},
      told: {},
      players: {},
    });
    this.element?.remove();
    this.element = this.said = undefined;
    this.sound();
    const [next] = this.others.values();
    if (!next) return;
    this.others.delete(next.id);
    this.changed(next);
  }

  /** Whether an incoming call makes a sound: not in a muted dialog, nor while one is not to be disturbed. One tab rings. */
  get isAudible() {
    const { parley } = this.app;
    const { notify, mutedUntil } = parley.dialogs.find((each) => each.id === this.call.state.dialogId)?.me ?? {};
    const isMuted = notify === "never" || isFuture(mutedUntil);
    return (
      preferences.get("rings") && parley.isLeader && !isMuted && preferences.get("availability") !== "doNotDisturb"
    );
  }

  /** Rings as long as the call does, unless it is answered here. */
  sound() {
    const { call } = this;
    const kind =
      call?.state.state !== "ringing"
        ? undefined
        : call.isMine
          ? "outgoing"
          : !this.isMedia && this.isAudible
            ? "incoming"
            : undefined;
    if (kind === this.sounding) return;
    this.sounding = kind;
    this.silence?.();
    this.silence = kind && ring(kind === "incoming");
  }

  // MARK: On the screen

  draw() {
    const { call } = this;
    if (!call) return;
    this.sound();
    const { state, callerId, participants } = call.state;
    const other = call.isMine ? participants.find((each) => each.userId !== callerId)?.userId : callerId;
    const { mayShow } = this;
    const hasPictures = (stream) => stream?.getVideoTracks().length > 0;
    const isVideo = call.state.kind === "video" || [this.screen, this.stream, this.remote].some(hasPictures);
    const title = h(
      "div",
      { class: "call-who" },
      this.app.people.avatar({ userId: other, size: 72 }),
      h("h2", {}, name(this.app.people.nameOf(other))),
      h("p", { class: "call-time" }, this.time()),
      this.status(state),
    );
    this.element ??= document.body.appendChild(
      h("section", { class: "call", role: "dialog", "aria-label": t("call.title") }),
    );
    const isIncoming = state === "ringing" && !call.isMine && !this.isMedia;
    this.element.classList.toggle("with-video", isVideo && state === "accepted");
    this.element.classList.toggle("camera-off", Boolean(this.theirs.video));
    const isOn = (media) => this.stream?.getTracks().find((each) => each.kind === media)?.enabled;
    const controls = isIncoming
      ? [
          tool("hangup", t("decline"), () => this.hangUp(), { class: "hang-up" }),
          hasCalls && tool("call", t("accept"), () => this.accept(), { class: "main answer" }),
        ]
      : [
          tool(
            isOn("audio") ? "microphone" : "microphoneOff",
            t(isOn("audio") ? "call.mute" : "call.unmute"),
            () => this.toggle("audio"),
            { "aria-pressed": String(!isOn("audio")) },
          ),
          mayShow &&
            tool(isOn("video") ? "video" : "videoOff", t("call.camera"), () => this.toggle("video"), {
              "aria-pressed": String(!isOn("video")),
            }),
          mayShow &&
            this.mayTurn &&
            tool("turn", t("call.turnCamera"), () => this.turnCamera().catch(() => this.fail())),
          mayShow &&
            navigator.mediaDevices.getDisplayMedia &&
            tool("device", t("call.screen"), () => this.share(), { "aria-pressed": String(Boolean(this.screen)) }),
          tool("hangup", t("call.hangUp"), () => this.hangUp(), { class: "hang-up" }),
        ];
    const wasFocused = this.element.contains(document.activeElement);
    fill(this.element, this.media(isVideo), title, h("div", { class: "call-controls" }, controls));
    if ((isIncoming && hasCalls) || wasFocused)
      this.element.querySelector(".call-controls button:last-of-type")?.focus();
    clearInterval(this.timer);
    if (this.began)
      this.timer = setInterval(() => {
        this.element.querySelector(".call-time").textContent = this.time();
      }, 1000);
  }

  /** How long the two have been connected; nothing before. It is not read aloud at each second, as what `status` says is. */
  time() {
    return this.began ? duration(Date.now() - this.began) : "";
  }

  /** What is said of the call: until it is connected how far it is, then what the other side has turned off. */
  status(state) {
    const { kind } = this.call.state;
    const notes = this.began
      ? [this.theirs.held && "call.held", this.theirs.audio && "call.isMuted", this.theirs.video && "call.isHidden"]
      : [
          state !== "ringing"
            ? "call.connecting"
            : this.call.isMine
              ? "call.ringing"
              : !hasCalls
                ? "call.unsupported"
                : kind === "video"
                  ? "call.incomingVideo"
                  : "call.incoming",
        ];
    const text = notes
      .filter(Boolean)
      .map((each) => t(each))
      .join(" · ");
    this.said ??= h("p", { class: "call-status", role: "status" });
    if (this.said.textContent !== text) this.said.textContent = text;
    return this.said;
  }

  /** The pictures, or for sound alone an element that plays it. An element stays as long as its call does: a new one would begin with nothing. */
  media(isVideo) {
    const play = (place, stream, properties) => {
      const kind = isVideo ? "video" : "audio";
      if (this.players[place]?.localName !== kind) this.players[place] = h(kind, { autoplay: true, playsinline: true });
      const element = Object.assign(this.players[place], properties);
      if (element.srcObject !== stream) element.srcObject = stream;
      return element;
    };
    const own = this.screen ?? this.stream;
    const [mine] = own?.getVideoTracks() ?? [];
    // One's own face is shown as in a mirror; a screen, and what lies before a telephone, is shown as the other side sees it.
    const isFace = !this.screen && mine?.getSettings().facingMode !== "environment";
    return [
      this.remote && play("remote", this.remote, { className: "remote" }),
      mine && play("own", own, { className: isFace ? "local mirrored" : "local", muted: true }),
    ];
  }
}
