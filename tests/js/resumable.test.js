import assert from "node:assert/strict";
import { test } from "node:test";

import { discardUnfinished, fingerprintOf, sendInPieces } from "../../static/js/views/recordings/resumable.js";

const MEGABYTE = 2 ** 20;
const PIECE = 8 * MEGABYTE;
const BYTES = Uint8Array.from({ length: 20 * MEGABYTE }, (_, at) => (at * 31 + (at >> 12)) % 251);
const aFile = (name = "big.jsonl", lastModified = 5) => new File([BYTES], name, { lastModified });

/** A server of tus in memory. `fates` are outcomes of the next pieces: a status, "broken" before it or "lost" after. */
function aServer(fates = [], deletions = []) {
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
    if (method === "HEAD" && upload.problem) return [upload.problem.status, {}];
    if (method === "HEAD") return [200, { "Upload-Offset": String(offset) }];
    const isComplete = offset === upload.length;
    if (method === "GET" && upload.problem) return [200, {}, { state: "refused", problem: upload.problem }];
    if (method === "GET" && !isComplete) return [200, {}, { state: "receiving", accepted: null, problem: null }];
    if (method === "GET") return [200, {}, { state: "accepted", accepted: { id: 7, job: 8 } }];
    if (method === "DELETE" && deletions.length) return deletions.shift()(upload);
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

test("an upload is discarded once the server lets go of it, and a finished one is shown", async () => {
  const locked = () => [423, {}, { detail: "locked" }];
  const finishes = (upload) => ((upload.bytes = Buffer.from(BYTES)), locked());
  for (const [deletions, expected] of [[[locked, locked], 410], [[locked, finishes], 202]]) {
    const server = aServer([], deletions);
    const states = [];
    const report = (sent, total, { state, control }) => {
      states.push(state);
      if (sent >= PIECE && !control.isDiscarded) control.discard();
    };
    const { status } = await sender(server).send(aFile(), report);
    assert.equal(status, expected);
    assert.equal(states.filter((state) => state === "discarding").length, 2);
    assert.equal(server.uploads.length, expected === 410 ? 0 : 1);
  }
});

test("an unfinished upload that is not discarded says why", async () => {
  const server = aServer([undefined, 422], [() => [403, {}, { detail: "not you" }]]);
  await sender(server).send(aFile(), () => {});
  const tools = { Request: server.Request, pause: async () => {} };
  const discard = () => discardUnfinished("/api/uploads/1", "token", tools);
  assert.match((await discard()).body.detail, /not discarded. not you/);
  assert.equal((await discard()).status, 410);
  assert.deepEqual(server.uploads, []);
});

test("a refusal after which the bytes are kept says so", async () => {
  for (const status of [429, 401, 403]) {
    const answer = await sender(aServer([undefined, status])).send(aFile(), () => {});
    assert.deepEqual(answer, { status, body: { detail: "as told", kept: true } });
  }
});

test("a refusal whose answer was lost is asked for, whatever its status", async () => {
  const server = aServer();
  const problem = { status: 413, detail: "too many events" };
  const report = () => (server.uploads[0].problem = problem);
  const answer = await sender(aServerThatRefuses(server)).send(aFile(), report);
  assert.deepEqual(answer, { status: 413, body: problem });
});

/** Loses the answer to the second piece. */
function aServerThatRefuses(server) {
  const { Request } = server;
  server.Request = class extends Request {
    async send(body) {
      if (this.method === "PATCH" && server.pieces.length) return this.onerror();
      return super.send(body);
    }
  };
  return server;
}

test("a file that changes while it is sent is refused", async () => {
  const file = aFile();
  const { slice } = file;
  file.slice = (...range) => {
    const piece = slice.apply(file, range);
    if (range[0] >= PIECE) piece.arrayBuffer = () => Promise.reject(new Error("NotReadableError"));
    return piece;
  };
  const server = aServer([undefined, "broken"]);
  const { status, body } = await sender(server).send(file, () => {});
  assert.equal(status, 400);
  assert.deepEqual(server.uploads, []);
  assert.match(body.detail, /^The file has changed/);
});

test("a folder is known again only with the same files", async () => {
  const folder = (path, lastModified, other = "b") => ({
    name: "folder",
    size: BYTES.length,
    parts: [
      { path: "big", file: new File([BYTES], "big", { lastModified: 9 }) },
      { path, file: new File(["x"], other, { lastModified }) },
    ],
  });
  const server = aServer();
  for (const each of [folder("b", 5), folder("c", 5), folder("b", 6)]) await sender(server).send(each, () => {});
  assert.equal(new Set(server.uploads.map(({ metadata }) => metadata.fingerprint)).size, 3);
});
