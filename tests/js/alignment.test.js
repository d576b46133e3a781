import assert from "node:assert/strict";
import { test } from "node:test";

import { aloneText, counterpart, openAlignment } from "../../static/js/lib/alignment.js";

// The left side's events 0, 2 and 3 are the right side's events 1, 0 and 5; event 1 is only on the left side.
const alignment = openAlignment({ left: [0, 2, 3], right: [1, 0, 5], settled: [4, 3] });

test("an event that both sides have is followed to its counterpart, in both directions", () => {
  assert.deepEqual(counterpart(alignment, 0, 2), { step: 0, isSame: true });
  assert.deepEqual(counterpart(alignment, 1, 0), { step: 2, isSame: true });
  assert.deepEqual(counterpart(alignment, 1, 5), { step: 3, isSame: true });
});

test("an event of one side only leaves the other side at the last event that both have", () => {
  assert.deepEqual(counterpart(alignment, 0, 1), { step: 1, isSame: false });
  assert.deepEqual(counterpart(alignment, 1, 3), { step: 0, isSame: false });
  assert.deepEqual(counterpart(alignment, 0, 99), { step: 5, isSame: false });
});

test("before the first common event the other side stands at its beginning", () => {
  const late = openAlignment({ left: [4], right: [7], settled: [5, 8] });
  assert.deepEqual(counterpart(late, 0, 3), { step: -1, isSame: false });
  assert.deepEqual(counterpart(late, 0, -1), { step: -1, isSame: true });
  const none = openAlignment({ left: [], right: [], settled: [0, 4] });
  assert.deepEqual(counterpart(none, 1, 3), { step: -1, isSame: false });
});

test("an event that is not compared is not said to be of one side only", () => {
  assert.equal(aloneText(alignment, 0, 1), "an event that only this side has");
  assert.equal(aloneText(alignment, 1, 3), "an event that only this side has, or that is not compared");
});
