import assert from "node:assert/strict";
import { test } from "node:test";

import { differences } from "../../static/js/lib/differences.js";

test("equal values have no difference, whatever the order of their fields", () => {
  assert.deepEqual(differences({ a: 1, b: [1, { c: null }] }, { b: [1, { c: null }], a: 1 }), []);
});

test("only the fields that differ are listed, with their paths", () => {
  const recorded = { k1: 10, k4: 5, inner: { list: [1, 2], same: "x" } };
  const recomputed = { k1: 10, k4: 6, inner: { list: [1, 3], same: "x" } };
  assert.deepEqual(differences(recorded, recomputed), [
    { path: "k4", recorded: 5, recomputed: 6 },
    { path: "inner.list[1]", recorded: 2, recomputed: 3 },
  ]);
});

test("a field that is absent is not the same as null", () => {
  assert.deepEqual(differences({ a: null }, {}), [{ path: "a", recorded: null, recomputed: undefined }]);
  assert.deepEqual(differences({}, { a: 0 }), [{ path: "a", recorded: undefined, recomputed: 0 }]);
});

test("values of different kinds differ as a whole", () => {
  assert.deepEqual(differences({ a: [1] }, { a: { 0: 1 } }), [{ path: "a", recorded: [1], recomputed: { 0: 1 } }]);
  assert.deepEqual(differences(5, 6), [{ path: "", recorded: 5, recomputed: 6 }]);
});
