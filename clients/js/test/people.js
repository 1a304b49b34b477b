/** What the tests share: people on the server that Tests/Clients/sdk_js.py runs, and requests to that script. */
import assert from "node:assert/strict";
import { appendFileSync } from "node:fs";
import http from "node:http";
import net from "node:net";
import { internalOf } from "../facade.js";
import { Parley } from "../node.js";

export const { PARLEY_URL: url, PARLEY_PASSWORD: password, PARLEY_CONTROL: control } = process.env;
/** A picture of one pixel. */
export const png = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=",
  "base64",
);
const open = new Set();

// Every request of the tests is logged, so that the script knows what they have had done.
const { fetch } = globalThis;
globalThis.fetch = async (address, input) => {
  const answer = await fetch(address, input);
  appendFileSync(
    process.env.PARLEY_REQUESTS,
    `${input?.method ?? "GET"} ${new URL(address).pathname} ${answer.status}\n`,
  );
  return answer;
};

/** Asks the script for something that only it can do: `restart` (kill -9), `letter`, `say`. */
export async function ask(what, body = {}) {
  const answer = await fetch(`${control}/${what}`, { method: "POST", body: JSON.stringify(body) });
  assert.equal(answer.status, 200, `${what}: ${await answer.clone().text()}`);
  return answer.json();
}

export function client(options) {
  const made = new Parley({ url, ...options });
  made.errors = [];
  made.on("error", (error) => made.errors.push(error));
  open.add(made);
  return made;
}

/** What apps do not see of a client: to spend its tokens, to lose its place, to look into its storage. */
export const inside = internalOf;

/** Somebody who is signed in and connected. */
export async function person(username, options) {
  const made = client(options);
  if (!(await made.open())) await made.signIn({ username, password });
  await made.connect();
  return made;
}

export async function everybodyLeaves() {
  for (const each of open) await each.close();
  open.clear();
}

/** Waits for a change of a view that fits. */
export function sees(view, test) {
  return new Promise((resolve) => {
    const look = () => {
      const found = test(view.messages);
      if (!found) return;
      off();
      resolve(found);
    };
    const off = view.onChange(look);
    look();
  });
}

export async function refuses(promise, code, members = {}) {
  const error = await promise.then(
    () => assert.fail(`${code} was expected`),
    (error) => error,
  );
  assert.equal(error.code, code, error.stack);
  for (const [name, value] of Object.entries(members)) assert.equal(error[name], value, name);
  return error;
}

/**
 * A proxy in front of the server. `cut(n)`: of the next `n` requests that carry this text the answer is lost, after the server has
 * done what was asked. `down()` refuses everything until `up()`.
 */
export async function lossy() {
  const target = new URL(url);
  let isDown = false,
    left = 0,
    text = "";
  const sockets = new Set();
  const server = net.createServer((near) => {
    if (isDown) return near.destroy();
    const far = net.connect(target.port, target.hostname);
    let isLost = false;
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        (socket === near ? far : near).destroy();
      });
    }
    near.on("data", (data) => {
      // What clients send on a WebSocket is masked: there a cut counts frames of some length.
      if (left > 0 && (data.includes(text) || (data[0] === 0x81 && data.length > 200))) {
        left--;
        isLost = true;
      }
      far.write(data);
    });
    far.on("data", (data) => {
      if (isLost) {
        near.destroy();
        far.destroy();
      } else near.write(data);
    });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    cut(n, what) {
      left = n;
      text = what;
    },
    down() {
      isDown = true;
      drop();
    },
    up() {
      isDown = false;
    },
    drop,
    get left() {
      return left;
    },
    close() {
      drop();
      server.close();
    },
  };
}

/** A site for pages of the tests: the SDK's files, one page, and behind the same origin the server. */
export async function site(page, files) {
  const target = new URL(url);
  const told = [],
    waiting = [];
  const tell = (text) => {
    told.push(text);
    for (const look of [...waiting]) look();
  };
  const server = http.createServer((request, response) => {
    const path = request.url.split("?")[0];
    if (path === "/told") {
      let text = "";
      request.on("data", (data) => {
        text += data;
      });
      request.on("end", () => {
        tell(text);
        response.end();
      });
    } else if (path === "/" || files[path]) {
      response.setHeader("Content-Type", path === "/" ? "text/html" : "text/javascript");
      response.end(path === "/" ? page : files[path]);
    } else {
      const { host, port } = { host: target.hostname, port: target.port };
      const inner = http.request(
        { host, port, path: request.url, method: request.method, headers: request.headers },
        (answer) => {
          response.writeHead(answer.statusCode, answer.headers);
          answer.pipe(response);
        },
      );
      inner.on("error", () => response.destroy());
      request.pipe(inner);
    }
  });
  server.on("upgrade", (request, near, head) => {
    const far = net.connect(target.port, target.hostname, () => {
      far.write(
        `${request.method} ${request.url} HTTP/1.1\r\n${Object.entries(request.headers)
          .map(([name, value]) => `${name}: ${value}\r\n`)
          .join("")}\r\n`,
      );
      far.write(head);
      near.pipe(far).pipe(near);
    });
    for (const socket of [near, far])
      socket.on("error", () => {
        near.destroy();
        far.destroy();
      });
  });
  await new Promise((resolve) => server.listen(0, "localhost", resolve));
  return {
    url: `http://localhost:${server.address().port}/`,
    told,
    until(text) {
      return new Promise((resolve, reject) => {
        const look = () => {
          const failed = told.find((each) => each.startsWith("failed"));
          const found = told.find((each) => each.startsWith(text));
          if (!failed && !found) return;
          waiting.splice(waiting.indexOf(look), 1);
          if (found) resolve(found);
          else reject(new Error(failed));
        };
        waiting.push(look);
        look();
      });
    },
    close() {
      server.closeAllConnections?.();
      server.close();
    },
  };
}
