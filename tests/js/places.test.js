import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  placeHere, placeOfCut, placeOfMoment, placeOfSelection, placeOfSnapshot, placeOfStop,
} from "../../static/js/lib/places.js";
import { openTopology } from "../../static/js/lib/topology.js";

const topology = openTopology({
  processes: [{ id: "B" }, { id: "A" }, { id: "🙂" }, { id: "\uff5e" }],
  channels: [{ id: "A->B", source: "A", target: "B" }],
});
const bounds = { from: 400, to: 11000 };
const still = { selection: null, cut: null, snapshot: "s1", axis: "time", now: 5200.7 };

test("a cut names its processes in the order of code points, without those that have no event", () => {
  assert.equal(placeOfCut([1, 3, 0, 0], topology), "cut:A=3:B=1");
  assert.equal(placeOfCut([0, 0, 1, 2], topology), "cut:%EF%BD%9E=2:%F0%9F%99%82=1");
  assert.equal(placeOfCut([0, 0, 0, 0], topology), "cut");
});

test("ids are encoded as Python does", () => {
  assert.equal(placeOfSnapshot("a!b'c(d)e*f-._~ /:="), "snapshot:a%21b%27c%28d%29e%2Af-._~%20%2F%3A%3D");
  assert.equal(placeOfSelection({ of: "message", channel: 0, id: "m 1" }, topology), "message:A-%3EB:m%201");
  assert.equal(placeOfSelection({ of: "event", process: 0, index: 2 }, topology), "event:B:2");
  assert.equal(placeOfSelection({ of: "channel", channel: 0 }, topology), "channel:A-%3EB");
  assert.equal(placeOfSelection({ of: "process", process: 1 }, topology), "process:A");
});

test("a moment is a whole number inside the recording", () => {
  assert.equal(placeOfMoment("time", 5200.7, bounds), "moment:time:5200");
  assert.equal(placeOfMoment("time", -50, bounds), "moment:time:400");
  assert.equal(placeOfMoment("order", 31.2, { from: 0, to: 20 }), "moment:order:20");
});

test("a person stops at what was changed: a selection before a cut, a snapshot, and the cursor", () => {
  const selection = { of: "event", process: 0, index: 2 };
  const cut = [1, 3, 0, 0];
  const all = new Set(["selection", "cut", "snapshot", "now"]);
  assert.equal(placeOfStop({ ...still, selection, cut }, all, topology, bounds), "event:B:2");
  assert.equal(placeOfStop({ ...still, cut }, all, topology, bounds), "cut:A=3:B=1");
  assert.equal(placeOfStop(still, all, topology, bounds), "snapshot:s1");
  assert.equal(placeOfStop(still, new Set(["now"]), topology, bounds), "moment:time:5200");
  assert.equal(placeOfStop({ ...still, cut }, new Set(["now"]), topology, bounds), null);
  assert.equal(placeOfStop(still, new Set(["window", "selection"]), topology, bounds), null);
});

test("a person speaks of the snapshot to which they came, else of the selection, the cut and the cursor", () => {
  const selection = { of: "event", process: 0, index: 2 };
  const cut = [1, 3, 0, 0];
  assert.equal(placeHere({ ...still, selection }, "s2", topology, bounds), "snapshot:s2");
  assert.equal(placeHere({ ...still, selection, cut }, null, topology, bounds), "event:B:2");
  assert.equal(placeHere({ ...still, cut }, null, topology, bounds), "cut:A=3:B=1");
  assert.equal(placeHere(still, null, topology, bounds), "moment:time:5200");
});

test("the kinds are those that the server reads", () => {
  const server = readFileSync(new URL("../../snapshots/domain/reviewing/place_text.py", import.meta.url), "utf8");
  for (const kind of ["moment", "process", "event", "channel", "message", "snapshot"]) {
    assert.ok(server.includes(`"${kind}": ("${kind}:`), kind);
  }
});
