import assert from "node:assert/strict";
import { test } from "node:test";

import { fingerprintOf, sendInPieces } from "../../static/js/views/recordings/resumable.js";

const MEGABYTE = 2 ** 20;
const PIECE = 8 * MEGABYTE;
const BYTES = Uint8Array.from({ length: 20 * MEGABYTE }, (_, at) => (at * 31 + (at >> 12)) % 251);
const aFile = (name = "big.jsonl", lastModified = 5) => new File([BYTES], name, { lastModified });

/** A server of tus in memory. `fates` are outcomes of the next pieces: a status, "broken" before it or "lost" after. */
function aServer(fates = []) {
  const server = { uploads: [], pieces: [], asked: [] };
  const find = (address) => server.uploads.find(({ id }) => address.endsWith(`/${id}`));
  const metadataOf = (header) =>
    Object.fromEntries(header.split(",").map((pair) => {
      const [name, value] = pair.split(" ");
      return [name, Buffer.from(value, "base64").toString()];
    }));

  async function answer(method, address, headers, body) {
    const upload = find(address);
    server.asked.push(method);
    if (method === "GET" && address === "/api/uploads") {
      return [200, {}, { items: server.uploads.map(({ bytes, ...item }) => item) }];
    }
    if (method === "POST") {
      const metadata = metadataOf(headers["Upload-Metadata"]);
      const length = Number(headers["Upload-Length"]);
      const made = { id: server.uploads.length + 1, length, metadata, bytes: Buffer.alloc(0) };
      server.uploads.push(made);
      return [201, { Location: `/api/uploads/${made.id}` }];
    }
    if (!upload) return [404, {}, { detail: "There is no upload." }];
    const offset = upload.bytes.length;
    if (method === "HEAD") return [200, { "Upload-Offset": String(offset) }];
    if (method === "GET") return [200, {}, { accepted: { id: 7, job: 8 } }];
    if (method === "DELETE") return server.uploads.splice(server.uploads.indexOf(upload), 1), [204, {}];
    const fate = fates.shift();
    if (fate === "broken" || Number(fate)) return fate;
    if (Number(headers["Upload-Offset"]) !== offset) return [409, {}, { detail: "another offset" }];
    server.pieces.push(body.size);
    upload.bytes = Buffer.concat([upload.bytes, Buffer.from(await body.arrayBuffer())]);
    if (fate === "lost") return "broken";
    return [204, { "Upload-Offset": String(upload.bytes.length) }];
  }

  server.Request = class {
    upload = {};
    headers = {};
    open(method, address) {
      Object.assign(this, { method, address });
    }
    setRequestHeader(name, value) {
      this.headers[name] = value;
    }
    getResponseHeader(name) {
      return this.answered[name] ?? null;
    }
    async send(body) {
      const fate = await answer(this.method, this.address, this.headers, body);
      if (fate === "broken") return this.onerror();
      const [status, headers, said] = Array.isArray(fate) ? fate : [fate, {}, { detail: "as told" }];
      Object.assign(this, { status, answered: headers, responseText: said ? JSON.stringify(said) : "" });
      return this.onload();
    }
    abort() {
      this.onabort();
    }
  };
  return server;
}

function sender(server) {
  const waits = [];
  const pause = async (ms) => waits.push(ms);
  let clock = 0;
  const send = sendInPieces("/api/uploads", "token", { Request: server.Request, pause, now: () => (clock += 1000) });
  return { send, waits };
}

const whole = (server) => server.uploads[0].bytes.equals(BYTES);

test("a file is sent in pieces, with its rate and the time that is left", async () => {
  const server = aServer();
  const { send } = sender(server);
  const told = [];
  const answer = await send(aFile(), (sent, total, more) => told.push({ sent, total, ...more }));
  assert.deepEqual(answer, { status: 202, body: { id: 7, job: 8 } });
  assert.deepEqual(server.pieces, [PIECE, PIECE, BYTES.length - 2 * PIECE]);
  assert.ok(whole(server));
  const { sent, total, rate, left, state } = told[1];
  assert.deepEqual([sent, total, rate, state], [2 * PIECE, BYTES.length, PIECE, "sending"]);
  assert.equal(left, (BYTES.length - 2 * PIECE) / PIECE);
});

test("after a lost request or a lost answer it goes on from where the server is", async () => {
  const server = aServer(["lost", "broken", 503, 460, 423, "lost"]);
  const { send, waits } = sender(server);
  const states = [];
  const { status } = await send(aFile(), (sent, total, { state, why }) => states.push([state, why]));
  assert.equal(status, 202);
  assert.ok(whole(server));
  assert.equal(server.uploads.length, 1);
  assert.equal(waits.length, 6);
  assert.deepEqual(states[0], ["waiting", "The server cannot be reached."]);
});

test("a page that was loaded again goes on with the same file, and with no other", async () => {
  const server = aServer([undefined, 422]);
  assert.equal((await sender(server).send(aFile(), () => {})).status, 422);
  assert.equal(server.uploads[0].bytes.length, PIECE);
  await sender(server).send(aFile("other.jsonl"), () => {});
  await sender(server).send(aFile("big.jsonl", 6), () => {});
  assert.deepEqual(server.uploads.map(({ bytes }) => bytes.length), [PIECE, BYTES.length, BYTES.length]);
  await sender(server).send(aFile(), () => {});
  assert.ok(whole(server));
});

test("an upload that the server has no more begins anew, and a refusal ends it", async () => {
  const server = aServer([undefined, 404, undefined, 413]);
  const { send } = sender(server);
  const answer = await send(aFile(), () => {});
  assert.deepEqual([answer.status, answer.body.detail], [413, "as told"]);
});

test("a paused upload waits until it goes on, and a discarded one leaves nothing", async () => {
  const server = aServer();
  const states = [];
  const report = (sent, total, { state, control }) => {
    states.push(state);
    if (sent === PIECE && states.length === 1) control.pause();
    else if (state === "paused") setTimeout(() => control.goOn());
    else if (sent === 2 * PIECE) control.discard();
  };
  const { status } = await sender(server).send(aFile(), report);
  assert.ok(states.includes("paused"));
  assert.equal(status, 410);
  assert.deepEqual(server.uploads, []);
});

test("the fingerprint tells files apart by name, time, size and beginning", async () => {
  const marked = Uint8Array.from(BYTES);
  marked[MEGABYTE - 1] += 1;
  const prints = await Promise.all([
    fingerprintOf("a", 1, new Blob([BYTES])),
    fingerprintOf("b", 1, new Blob([BYTES])),
    fingerprintOf("a", 2, new Blob([BYTES])),
    fingerprintOf("a", 1, new Blob([BYTES, "x"])),
    fingerprintOf("a", 1, new Blob([marked])),
    fingerprintOf("a", 1, new Blob([BYTES])),
  ]);
  assert.equal(new Set(prints).size, 5);
  assert.equal(prints[0], prints[5]);
  assert.match(prints[0], /^[0-9a-f]{16}$/);
});
