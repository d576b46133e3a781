import assert from "node:assert/strict";
import { test } from "node:test";

import { openTopology } from "../../static/js/lib/topology.js";
import { cutFits, readView, writeView } from "../../static/js/lib/url-state.js";

const topology = openTopology({
  processes: [{ id: "A" }, { id: "b/ü @&=🙂" }],
  channels: [{ id: "A->b@x", source: "A", target: "b/ü @&=🙂" }],
});

const views = [
  { now: 12.4, from: 0, to: 100, axis: "time" },
  { now: 3, from: 0, to: 39, axis: "order", snapshot: "1 &?/#", cut: [0, 4711] },
  { now: 0, from: -2.5, to: 1, axis: "time", selection: { of: "event", process: 1, index: 7 } },
  { now: 0, from: 0, to: 1, axis: "time", selection: { of: "message", channel: 0, id: "m@1" } },
  { now: 0, from: 0, to: 1, axis: "time", selection: { of: "process", process: 1 } },
  {
    now: 0,
    from: 0,
    to: 1,
    axis: "time",
    selection: { of: "channel", channel: 0 },
    folded: new Set(["depth", "topology"]),
    tables: new Set(["depth"]),
  },
];

for (const view of views) {
  test(`a link brings back ${JSON.stringify(view.selection ?? view.cut ?? view.axis)}`, () => {
    const { axis, ...back } = readView(writeView(view, topology), topology);
    assert.deepEqual({ axis: axis ?? "time", ...back }, view);
  });
}

test("wrong parameters of a link are left out", () => {
  const query = "t=NaN&from=9&to=3&axis=up&event=x@A&process=nobody&cut=1.2.3&message=m@nowhere";
  assert.deepEqual(readView(query, topology), {});
});

test("a cut of very many processes does not fit", () => {
  assert.equal(cutFits(new Array(50).fill(99999)), true);
  assert.equal(cutFits(new Array(2000).fill(99999)), false);
});
