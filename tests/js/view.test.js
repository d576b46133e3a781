import assert from "node:assert/strict";
import { test } from "node:test";

import { PLAIN_LANES, SORTS } from "../../static/js/lib/lanes.js";
import { createPlayer } from "../../static/js/lib/player.js";
import { openTopology } from "../../static/js/lib/topology.js";
import { cutFits, readView, writeView } from "../../static/js/lib/url-state.js";
import { checkView, PLAIN_FILTERS, PLAIN_PANELS, toState, toView } from "../../static/js/lib/view.js";

const ODD = "b/ü @&=🙂.,-+%";
const topology = openTopology({
  processes: [{ id: "A", events: 5 }, { id: ODD, events: 9000 }],
  channels: [{ id: "A->b@x", source: "A", target: ODD }],
});
const known = {
  snapshots: new Set(["1 &?/#", "s2"]),
  panels: ["spacetime", "depth", "topology", "contents", "states", "read"],
  tabs: ["contents", "states", "details"],
};

/** Every field of a view with values that differ from those at first. */
const VALUES = {
  axis: ["order"],
  now: [12.4, 0, -3],
  snapshot: ["1 &?/#"],
  compared: ["s2"],
  selection: [
    { of: "event", process: 1, index: 7 },
    { of: "message", channel: 0, id: "m@1" },
    { of: "process", process: 1 },
    { of: "channel", channel: 0 },
  ],
  cut: [[0, 4711], [5, 0]],
  idle: [true],
  lanes: [
    { ...PLAIN_LANES, filter: "a b&=%", first: ODD },
    ...SORTS.map((sort) => ({ ...PLAIN_LANES, sort })),
    { ...PLAIN_LANES, grouped: true, fitted: true, open: ["map", ODD], pinned: [ODD, "A", "map[*]"] },
  ],
  filters: [
    { ...PLAIN_FILTERS, channels: " x ", full: false },
    { channels: "", full: true, states: ODD },
  ],
  folded: [new Set(["depth", "topology"])],
  tables: [new Set(["depth"])],
  order: [["depth", "spacetime", "topology"]],
  sizes: [{ read: 300, spacetime: 412 }],
  tab: ["details"],
};

function aState(changes = {}) {
  const { state } = createPlayer({ from: 0, to: 100, steps: 9 }, { schedule() {} });
  return { ...state, from: -2.5, to: 100, snapshot: "s2", ...changes };
}

/** Goes from a state to the address, to a view, and to the state of another page. */
function elsewhere(state) {
  const query = writeView(toView(state, topology));
  const { view, ignored } = readView(query, topology, known);
  const other = aState({ lanes: { ...PLAIN_LANES, filter: "other" }, idle: true, tab: "states", snapshot: "1 &?/#" });
  const { now, from, to } = view;
  return { query, ignored, state: { ...other, ...toState(view, other, topology), now, from, to } };
}

const cases = Object.entries(VALUES).flatMap(([field, values]) => values.map((value) => [field, value]));

for (const [field, value] of cases) {
  test(`the address brings back ${field} ${JSON.stringify(value)} on another page, whatever that showed`, () => {
    const state = aState({ [field]: value });
    const there = elsewhere(state);
    assert.deepEqual(there.ignored, []);
    assert.deepEqual(toView(there.state, topology), toView(state, topology));
    assert.equal(writeView(toView(there.state, topology)), there.query);
  });
}

test("a view is plain JSON, and its JSON brings back everything at once", () => {
  const last = Object.entries(VALUES).map(([field, values]) => [field, values.at(-1)]);
  const everything = aState(Object.fromEntries(last));
  const view = toView(everything, topology);
  const { view: back, ignored } = checkView(JSON.parse(JSON.stringify(view)), topology, known);
  assert.deepEqual(ignored, []);
  assert.deepEqual(back, view);
  assert.deepEqual(toView({ ...aState(back), ...toState(back, aState(), topology) }, topology), view);
});

test("each field of the state that a listener can hear of is part of the view, or named here", () => {
  const others = ["playing", "speed", "cones", "window", "shown", "moment", "marks", "notes", "overview", "pages",
    "witness"];
  const inView = [...Object.keys(VALUES), "from", "to"];
  assert.deepEqual([...inView, ...others].sort(), Object.keys(aState()).sort());
});

test("a view as at first is a short address", () => {
  assert.equal(writeView(toView(aState(), topology)), "t=0&from=-2.5&to=100&snapshot=s2");
});

test("old links are read as before", () => {
  const query = "axis=order&t=3&from=0&to=39&snapshot=s2&event=7%40A&cut=0.3mv&fold=depth.topology&table=depth";
  const { view, ignored } = readView(query, topology, known);
  assert.deepEqual(ignored, []);
  assert.deepEqual(view, {
    axis: "order",
    now: 3,
    from: 0,
    to: 39,
    snapshot: "s2",
    selection: { of: "event", process: "A", index: 7 },
    cut: [0, 4711],
    panels: { folded: ["depth", "topology"], tables: ["depth"] },
  });
});

test("a link that names only a part leaves the rest as it is", () => {
  const { view } = readView("event=7@A", topology, known);
  const state = aState({ sizes: { read: 300 }, lanes: { ...PLAIN_LANES, sort: "name" } });
  const next = toState(view, state, topology);
  assert.deepEqual([next.sizes, next.lanes.sort, next.snapshot], [{ read: 300 }, "name", "s2"]);
  assert.deepEqual(next.selection, { of: "event", process: 0, index: 7 });
});

const WRONG = {
  "t=NaN": "now",
  "from=9&to=3": "from and to",
  "from=9": "from and to",
  "axis=up": "axis",
  "event=x@A": "selection",
  "event=3@nobody": "selection",
  "process=nobody": "selection",
  "message=m@nowhere": "selection",
  "cut=1.2.3": "cut",
  "cut=1.?": "cut",
  "cut=6.0": "cut",
  "snapshot=none": "snapshot",
  "compared=none": "compared",
  "idle=yes": "idle",
  "sort=up": "lanes.sort",
  "pin=A&pin=nobody": "lanes.pinned",
  "fold=depth.cellar": "panels.folded",
  "size=depth-1": "panels.sizes",
  "size=depth": "panels.sizes",
  "size=__proto__-300": "panels.sizes",
  "tab=x": "panels.tab",
};

for (const [query, field] of Object.entries(WRONG)) {
  test(`of ${query} the field is left out, said, and all others are read`, () => {
    const { view, ignored } = readView(`${query}&open=map`, topology, known);
    assert.equal(ignored.length, 1, String(ignored));
    assert.ok(ignored[0].startsWith(field), ignored[0]);
    assert.deepEqual(view.lanes.open, ["map"]);
  });
}

test("what is right in a list stays when the rest is left out", () => {
  assert.deepEqual(readView("pin=A&pin=nobody", topology, known).view.lanes.pinned, ["A"]);
  assert.deepEqual(readView("fold=depth.cellar", topology, known).view.panels.folded, ["depth"]);
});

const HOSTILE = [
  null, 3, "text", [], [[]], { lanes: null }, { lanes: [] }, { lanes: { pinned: "A", open: [{}], filter: {} } },
  { panels: { sizes: { depth: "300", spacetime: 1e9 }, folded: [null] } }, { now: "1", from: null, to: {} },
  { cut: [0.5, -1] }, { selection: { of: "event", process: "A", index: -1 } }, { selection: [] }, { axis: ["time"] },
  { lanes: { filter: "x".repeat(5000) } }, { unheard: 1 }, JSON.parse('{"__proto__": {"now": 3}, "constructor": 1}'),
];

for (const value of HOSTILE) {
  test(`nothing of ${JSON.stringify(value)?.slice(0, 60)} reaches the page`, () => {
    const { view, ignored } = checkView(value, topology, known);
    const state = toState(view, aState(), topology);
    assert.deepEqual(toView({ ...aState(), ...state }, topology), toView(aState(), topology));
    assert.ok(ignored.length > 0);
    assert.equal({}.now, undefined);
  });
}

test("a cut of very many processes does not fit", () => {
  assert.equal(cutFits(new Array(50).fill(99999)), true);
  assert.equal(cutFits(new Array(2000).fill(99999)), false);
});
