import { createHash, randomBytes } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { reason } from "./errors.js";

const GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const FRAME_MAX = 1 << 20;
const CONTINUATION = 0,
  TEXT = 1,
  CLOSE = 8,
  PING = 9,
  PONG = 10;

/** As much of the browser's WebSocket (RFC 6455) as the client uses, for Node without dependencies: text frames, ping and close. */
export class WebSocket {
  onopen = null;
  onmessage = null;
  onerror = null;
  onclose = null;

  constructor(address, protocols) {
    const url = new URL(address);
    const isSecure = url.protocol === "wss:";
    url.protocol = isSecure ? "https:" : "http:";
    const key = randomBytes(16).toString("base64");
    const request = (isSecure ? https : http).request(url, {
      agent: false,
      timeout: 20_000,
      headers: {
        Connection: "Upgrade",
        Upgrade: "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": key,
        "Sec-WebSocket-Protocol": protocols.join(", "),
      },
    });
    this.request = request;
    request.on("upgrade", (response, socket, head) => {
      const proof = createHash("sha1")
        .update(key + GUID)
        .digest("base64");
      if (
        response.headers["sec-websocket-accept"] !== proof ||
        !protocols.includes(response.headers["sec-websocket-protocol"])
      ) {
        socket.destroy();
        return this.end(1006, "The server does not speak this protocol.");
      }
      socket.setTimeout(0);
      socket.setNoDelay(true);
      this.socket = socket;
      socket.on("data", (data) => this.take(data));
      socket.on("error", () => {});
      socket.on("close", () => this.end(1006, ""));
      this.onopen?.({});
      if (head.length) this.take(head);
    });
    request.on("response", (response) => {
      response.resume();
      this.end(1006, `The server answered ${response.statusCode}.`);
    });
    request.on("timeout", () => request.destroy(new Error("timeout")));
    request.on("error", (error) => this.end(1006, reason(error)));
    request.end();
  }

  rest = Buffer.alloc(0);
  parts = [];

  take(data) {
    this.rest = this.rest.length ? Buffer.concat([this.rest, data]) : data;
    for (;;) {
      const { rest } = this;
      if (rest.length < 2) return;
      let length = rest[1] & 127,
        start = 2;
      if (length === 126) {
        if (rest.length < 4) return;
        [length, start] = [rest.readUInt16BE(2), 4];
      } else if (length === 127) {
        if (rest.length < 10) return;
        [length, start] = [Number(rest.readBigUInt64BE(2)), 10];
      }
      if (length > FRAME_MAX) return this.close(1009);
      if (rest.length < start + length) return;
      this.rest = rest.subarray(start + length);
      this.frame(rest[0] & 15, (rest[0] & 128) !== 0, rest.subarray(start, start + length));
      if (this.isEnded) return;
    }
  }

  frame(kind, isLast, data) {
    if (kind === TEXT || kind === CONTINUATION) {
      this.parts.push(data);
      if (this.parts.reduce((sum, part) => sum + part.length, 0) > FRAME_MAX) return this.close(1009);
      if (!isLast) return;
      const text = Buffer.concat(this.parts).toString("utf8");
      this.parts = [];
      this.onmessage?.({ data: text });
    } else if (kind === PING) this.write(PONG, data);
    else if (kind === CLOSE) {
      const code = data.length >= 2 ? data.readUInt16BE(0) : 1005;
      if (!this.isClosing) this.write(CLOSE, data.subarray(0, 2));
      this.socket.end();
      this.end(code, data.subarray(2).toString("utf8"));
    }
  }

  /** Frames of a client are masked (5.3). */
  write(kind, data) {
    if (!this.socket?.writable) return;
    const size = data.length < 126 ? 2 : data.length < 65_536 ? 4 : 10;
    const frame = Buffer.alloc(size + 4 + data.length);
    frame[0] = 128 | kind;
    if (size === 2) frame[1] = 128 | data.length;
    else if (size === 4) {
      frame[1] = 254;
      frame.writeUInt16BE(data.length, 2);
    } else {
      frame[1] = 255;
      frame.writeBigUInt64BE(BigInt(data.length), 2);
    }
    const mask = randomBytes(4);
    mask.copy(frame, size);
    for (let i = 0; i < data.length; i++) frame[size + 4 + i] = data[i] ^ mask[i & 3];
    this.socket.write(frame);
  }

  send(text) {
    this.write(TEXT, Buffer.from(text));
  }

  close(code = 1000) {
    if (this.isClosing || this.isEnded) return;
    this.isClosing = true;
    if (!this.socket) return this.request.destroy(new Error("closed"));
    const data = Buffer.alloc(2);
    data.writeUInt16BE(code);
    this.write(CLOSE, data);
    this.socket.end();
    this.timer = setTimeout(() => this.socket.destroy(), 5000);
  }

  end(code, reason) {
    if (this.isEnded) return;
    this.isEnded = true;
    clearTimeout(this.timer);
    this.onclose?.({ code, reason });
  }
}
