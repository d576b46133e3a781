import assert from "node:assert/strict";
import { test } from "node:test";

import { differences } from "../../static/js/lib/differences.js";
import { own } from "../../static/js/lib/own.js";
import { inOrder, openCut } from "../../static/js/lib/source.js";
import { fromDocument, toDocument } from "../../static/js/views/topology/model.js";

const INHERITED = ["constructor", "toString", "__proto__"];
const processes = INHERITED.map((id) => ({ id }));

test("what every object inherits is not a value of its own", () => {
  for (const name of INHERITED) assert.equal(own({}, name), undefined);
  assert.equal(own(JSON.parse('{"__proto__": 4}'), "__proto__"), 4);
  assert.equal(own(undefined, "a"), undefined);
});

test("a process with such a name has no state and no position unless the cut holds them", () => {
  const topology = /** @type {any} */ ({ processes, channelCode: new Map([["constructor", 0]]) });
  const channels = { constructor: [1] };
  const cut = openCut(/** @type {any} */ ({ positions: {}, states: {}, channels, messages: {} }), topology);
  assert.deepEqual([cut.known, cut.states], [[false, false, false], [null, null, null]]);
  assert.deepEqual(cut.channels.get(0), [{ id: undefined, value: 1 }]);
  assert.deepEqual(inOrder({ toString: 2 }, /** @type {any} */ (processes)), [-1, 2, -1]);
});

test("a field with such a name that is absent is absent", () => {
  assert.deepEqual(differences({}, { toString: 1 }), [{ path: "toString", recorded: undefined, recomputed: 1 }]);
});

test("a process with such a name keeps its place in the drawing", () => {
  const document = { processes, layout: JSON.parse('{"__proto__": [0.5, 0.25]}') };
  const layout = toDocument(fromDocument(document)).layout;
  assert.deepEqual(Object.keys(layout), INHERITED);
  assert.deepEqual(Object.getOwnPropertyDescriptor(layout, "__proto__").value, [0.5, 0.25]);
});
