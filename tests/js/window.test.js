import assert from "node:assert/strict";
import { test } from "node:test";

import { decode, decodeMatrix, upperBound } from "../../static/js/lib/arrays.js";
import { depthBins, depthSteps } from "../../static/js/lib/depth.js";
import { covers, eventRow, eventsBefore, neighbour, openWindow } from "../../static/js/lib/window.js";
import { aRecording, encode, twoBanks } from "./builders.js";

test("typed arrays come out as they went in", () => {
  for (const [dtype, numbers] of [
    ["i1", [-1, 2]],
    ["u2", [65535]],
    ["i4", [-70000, 1]],
    ["f8", [0.5, -1]],
    ["f8", []],
  ]) {
    assert.deepEqual(Array.from(decode(encode(numbers, dtype))), numbers);
  }
});

test("64-bit integers become numbers", () => {
  assert.deepEqual(Array.from(decode(encode([5n, -1n], "i8"))), [5, -1]);
});

test("an unknown column type is refused by name", () => {
  assert.throws(() => decode({ dtype: "c16", bdata: "" }), /unknown type c16/);
});

test("a matrix keeps its shape", () => {
  const { rows, columns, values } = decodeMatrix({ ...encode([1, 2, 3, 4, 5, 6], "i4"), shape: "2,3" });
  assert.deepEqual([rows, columns, values[3]], [2, 3, 4]);
});

test("the upper bound counts what is not above", () => {
  assert.deepEqual([0, 1, 2, 5].map((x) => upperBound([1, 2, 2, 4], x)), [0, 1, 3, 4]);
});

test("a window finds its events by process and index", () => {
  const window = twoBanks().window(25, 70);
  assert.equal(window.events.at[eventRow(window, 1, 2)], 30);
  assert.equal(eventRow(window, 1, 0), -1);
  assert.equal(eventRow(window, 0, 99), -1);
});

test("a message never received has no place of receipt on either axis", () => {
  const payload = twoBanks().payload(0, 45, "order");
  payload.messages.received_index = encode([-1, -1, -1], "i4");
  payload.messages.received_step = encode([-1, -1, -1], "i4");
  assert.ok(openWindow(payload, twoBanks().topology).messages.receivedX.every(Number.isNaN));
});

test("only an exact window of the same axis covers a part of itself", () => {
  const window = twoBanks().window(0, 70);
  assert.equal(covers(window, "time", 10, 60), true);
  assert.equal(covers(window, "order", 10, 60), false);
  assert.equal(covers(window, "time", 10, 71), false);
  assert.equal(covers({ ...window, exact: false }, "time", 10, 60), false);
  assert.equal(covers(null, "time", 0, 1), false);
});

test("the neighbour is the nearest place strictly beyond", () => {
  assert.equal(neighbour([1, 5, 3, 5], 3, 1), 5);
  assert.equal(neighbour([1, 5, 3], 3, -1), 1);
  assert.equal(neighbour([1, NaN], 1, 1), null);
});

test("events before a place are counted from bins where there are no events", () => {
  const bins = { edges: new Float64Array([0, 10, 20]), events: { rows: 2, columns: 2, values: [1, 2, 3, 4] } };
  const window = { exact: false, positions: [5, 5], bins };
  assert.deepEqual([0, 10, 20].map((x) => eventsBefore(window, x)), [10, 14, 20]);
});

test("events before a place are counted one by one in an exact window", () => {
  const window = twoBanks().window(25, 70);
  assert.deepEqual([25, 30, 70].map((x) => eventsBefore(window, x)), [4, 6, 12]);
});

test("the depth of a channel steps up where it is sent to and down where it is received from", () => {
  const { x, depth } = depthSteps(twoBanks().window(0, 70), 1);
  assert.deepEqual(Array.from(x), [0, 22, 26, 50, 60, 70]);
  assert.deepEqual(depth, [0, 1, 2, 1, 0, 0]);
});

test("a bin holds the most messages that waited at once, also those from before the window", () => {
  const { channels, rows } = depthBins(twoBanks().window(25, 70), 25, 65, 4);
  assert.deepEqual(channels, [0, 1]);
  assert.deepEqual(rows.map((row) => Array.from(row)), [[1, 0, 0, 0], [2, 2, 2, 1]]);
});

test("at one instant a send counts before a receipt, so the depth is the most there was", () => {
  const window = aRecording({
    processes: { P: 0, Q: 0 },
    channels: ["P->Q"],
    events: [
      { process: "P", kind: "send", at: 0, channel: "P->Q", message: "1" },
      { process: "Q", kind: "receive", at: 5, channel: "P->Q", message: "1" },
      { process: "P", kind: "send", at: 5, channel: "P->Q", message: "2" },
    ],
  }).window(-1, 10);
  assert.equal(Math.max(...depthSteps(window, 0).depth), 2);
});
