import assert from "node:assert/strict";
import { test } from "node:test";

import { lacksProcesses } from "../../static/js/views/recordings/processes.js";
import { grouped } from "../../static/js/views/recordings/upload-queue.js";

const FRONT = 'front {"front":1}\nstarts\nfront {"front":2, "back":1}\nreceives\n';
const BACK = 'back {"back":1}\nsends\n';
const WHOLE = `${FRONT}${BACK}`;
const LINES = ['{"host":0,"vc":{"0":1}}', '{"host":0,"vc":{"0":2,"1":1}}'];
const HEADER = '{"kind":"header","format":"cutline"}\n{"process":"A","kind":"internal","state":{"x":1}}\n';

/** Drops files by name and text; returns the name of each upload, or the names of its parts. */
async function dropped(files) {
  const items = Object.entries(files).map(([path, text]) => ({ path, file: new File([text], path) }));
  return (await grouped(items)).map(({ name, parts }) => (parts ? parts.map(({ path }) => path) : name));
}

test("a log lacks the processes that its clocks count and that have no event in it", () => {
  assert.deepEqual([FRONT, BACK, WHOLE, HEADER, "hello"].map(lacksProcesses), [true, false, false, null, null]);
  assert.equal(lacksProcesses(LINES[0]), false);
  assert.equal(lacksProcesses(LINES.join("\n")), true);
  assert.equal(lacksProcesses("2 0 0\n5 1 0\n"), true);
});

test("logs of the processes of one system are one upload", async () => {
  assert.deepEqual(await dropped({ "front.log": FRONT, "back.log": BACK }), [["front.log", "back.log"]]);
  assert.deepEqual(await dropped({ "0.txt": "2 0\n", "1.txt": "1 1\n" }), [["0.txt", "1.txt"]]);
  assert.deepEqual(await dropped({ "a.jsonl": HEADER, "f.log": FRONT, "b.log": BACK }), [
    "a.jsonl",
    ["f.log", "b.log"],
  ]);
});

test("whole logs are an upload each", async () => {
  assert.deepEqual(await dropped({ "1.log": WHOLE, "2.log": WHOLE }), ["1.log", "2.log"]);
  assert.deepEqual(await dropped({ "1.jsonl": HEADER, "2.jsonl": HEADER }), ["1.jsonl", "2.jsonl"]);
  assert.deepEqual(await dropped({ "front.log": FRONT }), ["front.log"]);
});
