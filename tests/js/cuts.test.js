import assert from "node:assert/strict";
import { test } from "node:test";

import { channelsAt, describeCut, isInside, nearestConsistent, watermarksAt } from "../../static/js/lib/cuts.js";
import { numberIn, total } from "../../static/js/lib/shown.js";
import { positionAt } from "../../static/js/lib/window.js";
import { handleX } from "../../static/js/views/workbench/geometry.js";
import { aRecording, twoBanks } from "./builders.js";

const positionsAt = (window, x) => Array.from(window.rows, (_, p) => positionAt(window, p, x));
const values = (cut, channel) => (cut.channels.get(channel) ?? []).map(({ value }) => value);

test("the snapshot of the two banks is A 9000, B 3000, [] and [1000, 2000]", () => {
  const cut = describeCut(twoBanks().window(0, 70), [1, 4]);
  assert.deepEqual(cut.states, [9000, 3000]);
  assert.deepEqual([values(cut, 0), values(cut, 1)], [[], [1000, 2000]]);
  assert.equal(cut.consistent, true);
  assert.equal(cut.inProcesses + cut.inChannels, 15000);
});

test("every instant of the two banks is a consistent cut that conserves the money", () => {
  const recording = twoBanks();
  const window = recording.window(0, 70);
  for (let at = 0; at <= 70; at += 1) {
    const cut = describeCut(window, positionsAt(window, at));
    assert.equal(cut.consistent, true, `at ${at}`);
    assert.equal(cut.inProcesses + cut.inChannels, 15000, `at ${at}`);
  }
});

test("a window in the middle gives the same cuts as the whole recording", () => {
  const recording = twoBanks();
  const whole = recording.window(0, 70);
  const middle = recording.window(25, 55);
  for (let at = 25; at <= 55; at += 1) {
    const here = describeCut(middle, positionsAt(middle, at));
    const there = describeCut(whole, positionsAt(whole, at));
    for (const key of ["positions", "states", "known", "inChannels"]) {
      assert.deepEqual(here[key], there[key], `${key} at ${at}`);
    }
    assert.deepEqual([values(here, 0), values(here, 1)], [values(there, 0), values(there, 1)]);
  }
});

test("on the order axis the cut k holds exactly k events", () => {
  const window = twoBanks().window(0, 12, "order");
  for (let k = 0; k <= 12; k += 1) assert.equal(describeCut(window, positionsAt(window, k)).events, k);
});

test("a message received inside and sent outside is an orphan with both its events", () => {
  const cut = describeCut(twoBanks().window(0, 70), [0, 3]);
  assert.equal(cut.consistent, false);
  assert.deepEqual(
    cut.orphans.map(
      ({ message, sent, received }) => [message, sent.process, sent.index, received.process, received.index],
    ),
    [["a1", "A", 0, "B", 2]],
  );
  assert.equal(cut.inProcesses + cut.inChannels, 16000);
});

test("the nearest consistent cut changes as few events as it can, on whichever side", () => {
  const window = twoBanks().window(0, 70);
  assert.deepEqual(nearestConsistent(window, [0, 3]), [0, 2]);
  assert.deepEqual(nearestConsistent(window, [0, 6]), [1, 6]);
  assert.deepEqual(nearestConsistent(window, [1, 4]), [1, 4]);
});

test("repairing one orphan can make another, which is repaired, too", () => {
  const chain = aRecording({
    processes: { P: 0, Q: 0, R: 0 },
    channels: ["P->Q", "Q->R"],
    events: [
      { process: "P", kind: "send", channel: "P->Q", message: "1", value: 1, state: 0 },
      { process: "Q", kind: "receive", channel: "P->Q", message: "1", value: 1, state: 0 },
      { process: "Q", kind: "send", channel: "Q->R", message: "2", value: 1, state: 0 },
      { process: "R", kind: "receive", channel: "Q->R", message: "2", value: 1, state: 0 },
      { process: "R", kind: "internal", state: 0 },
      { process: "R", kind: "internal", state: 0 },
      { process: "R", kind: "internal", state: 0 },
    ],
  });
  const window = chain.window(0, 60);
  assert.deepEqual(nearestConsistent(window, [0, 0, 4]), [1, 2, 4]);
  assert.deepEqual(nearestConsistent(window, [0, 0, 1]), [0, 0, 0]);
});

test("a message never received stays in its channel", () => {
  const window = aRecording({
    processes: { P: 1, Q: 0 },
    channels: ["P->Q"],
    events: [{ process: "P", kind: "send", channel: "P->Q", message: "m", value: 1, state: 0 }],
  }).window(0, 100);
  assert.deepEqual([...channelsAt(window, [1, 0]).contents], [[0, [0]]]);
});

test("a state is not known after an application event without one, and kept by control events", () => {
  const recording = aRecording({
    processes: { P: 5 },
    channels: [],
    events: [
      { process: "P", kind: "record_state", snapshot: "1", state: 99 },
      { process: "P", kind: "internal" },
      { process: "P", kind: "internal", state: 7 },
    ],
  });
  const cuts = [0, 1, 2, 3].map((n) => describeCut(recording.window(0, 50), [n]));
  assert.deepEqual(
    cuts.map(({ states, known }) => [states[0], known[0]]),
    [[5, true], [5, true], [null, false], [7, true]],
  );
});

test("positions outside an exact window are left to the server", () => {
  const window = twoBanks().window(25, 45);
  assert.equal(isInside(window, positionsAt(window, 30)), true);
  assert.equal(isInside(window, [0, 2]), false);
  assert.equal(isInside({ ...window, exact: false }, positionsAt(window, 30)), false);
});

test("a handle stands after the last event inside, or just before a record", () => {
  const window = twoBanks().window(0, 70);
  assert.equal(handleX(window, 0, 0, 2), 8);
  assert.equal(handleX(window, 0, 1, 2), 18);
  assert.equal(handleX(window, 1, 1, 2), 24);
  assert.equal(handleX(window, 1, 1, 1), 23);
  assert.equal(handleX(twoBanks().window(45, 70), 1, 0, 1), -Infinity);
});

test("a number is summed if it stands alone or is the only number of an object", () => {
  assert.deepEqual(
    [7, { balance: 7, name: "A" }, { a: 1, b: 2 }, "7", true, null].map(numberIn),
    [7, 7, null, null, null, null],
  );
  assert.equal(total([1, { n: 2 }]), 3);
  assert.equal(total([1, "x"]), null);
});

test("the watermark of a process is that of its last event inside that says so", () => {
  const window = /** @type {any} */ ({
    events: { index: [3, 4, 5], kind: [0, 1, 2], label: ["watermark 7 ms", null, null] },
    rows: [[0, 1, 2], []],
    kinds: ["watermark", "send", "restore"],
    positions: [3, 0],
    watermarks: ["watermark 5 ms", null],
  });
  const first = [3, 4, 5, 6].map((position) => watermarksAt(window, [position, 0])[0]);
  assert.deepEqual(first, ["watermark 5 ms", "watermark 7 ms", "watermark 7 ms", null]);
  assert.equal(watermarksAt(window, [6, 0])[1], null);
});
