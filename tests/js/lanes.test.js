import assert from "node:assert/strict";
import { test } from "node:test";

import { plainScale } from "../../static/js/lib/folds.js";
import {
  arrange,
  firstLane,
  groupOf,
  hiddenMessages,
  hiddenSentence,
  PLAIN_LANES,
  SORTS,
} from "../../static/js/lib/lanes.js";
import { openTopology } from "../../static/js/lib/topology.js";
import { geometry, lineOf, nearestEvent } from "../../static/js/views/workbench/geometry.js";
import { stillFigure } from "../../static/js/views/workbench/still.js";
import { twoBanks } from "./builders.js";

const SIZES = [
  ["sink[0]", 7, 30], ["map[0]", 90, 3], ["map[10]", 5, 9], ["map[2]", 8, 4], ["source[0]", 50, 0], ["x", 0],
];
const EDGES = [["source[0]", "map[0]"], ["source[0]", "map[2]"], ["source[0]", "map[10]"], ["map[0]", "sink[0]"],
  ["map[2]", "sink[0]"], ["map[10]", "sink[0]"]];
const topology = openTopology({
  processes: SIZES.map(([id, events, first_step]) => ({ id, events, first_step })),
  channels: EDGES.map(([source, target]) => ({ id: `${source}->${target}`, source, target })),
});

const names = (changes) => arrange(topology, { ...PLAIN_LANES, ...changes }).rows.map(({ name }) => name);

const ORDERS = {
  log: ["sink[0]", "map[0]", "map[10]", "map[2]", "source[0]", "x"],
  name: ["map[0]", "map[2]", "map[10]", "sink[0]", "source[0]", "x"],
  events: ["map[0]", "source[0]", "map[2]", "sink[0]", "map[10]", "x"],
  first: ["source[0]", "map[0]", "map[2]", "map[10]", "sink[0]", "x"],
  topology: ["source[0]", "x", "map[0]", "map[2]", "map[10]", "sink[0]"],
};

for (const sort of SORTS) {
  test(`lanes are sorted: ${sort}`, () => assert.deepEqual(names({ sort }), ORDERS[sort]));
}

test("a circle of channels is sorted from its first process on", () => {
  const circle = openTopology({
    processes: ["b", "a", "c"].map((id) => ({ id })),
    channels: [["a", "c"], ["c", "b"], ["b", "a"]].map(([source, target]) => ({ id: source + target, source, target })),
  });
  assert.deepEqual(arrange(circle, { ...PLAIN_LANES, sort: "topology" }).rows.map(({ name }) => name), ["b", "a", "c"]);
});

test("all words of the filter must be in a name; what is hidden is said", () => {
  const lanes = { ...PLAIN_LANES, filter: "MAP 0" };
  const arrangement = arrange(topology, lanes);
  assert.deepEqual(arrangement.rows.map(({ name }) => name), ["map[0]", "map[10]"]);
  assert.equal(hiddenSentence(arrangement, 6, String), "2 of 6 processes; 4 hidden by the filter. ");
  assert.equal(hiddenSentence(arrange(topology, PLAIN_LANES), 6, String), "");
});

test("pinned lanes come first, in the order of pinning, and no filter hides them", () => {
  assert.deepEqual(names({ pinned: ["x", "map[2]"], filter: "sink" }), ["x", "map[2]", "sink[0]"]);
  assert.equal(arrange(topology, { ...PLAIN_LANES, pinned: ["x", "gone"] }).pinned, 1);
});

test("groups are the names without their numbers", () => {
  const ids = ["map[0]", "a[1][2]", "node-3", "p12", "12", "x", "[0]", "map [7]"];
  assert.deepEqual(ids.map(groupOf), ["map", "a[1]", "node", "p", "12", "x", "[0]", "map "]);
});

test("a closed group is one lane, an open one is its lanes, a pinned process stands apart", () => {
  assert.deepEqual(names({ grouped: true }), ["sink[0]", "map[*]", "source[0]", "x"]);
  assert.deepEqual(names({ grouped: true, open: ["map"] }), ORDERS.log);
  assert.deepEqual(names({ grouped: true, pinned: ["map[2]"] }), ["map[2]", "sink[0]", "map[*]", "source[0]", "x"]);
  assert.deepEqual(names({ grouped: true, sort: "events" }), ["map[*]", "source[0]", "sink[0]", "x"]);
  const arrangement = arrange(topology, { ...PLAIN_LANES, grouped: true });
  assert.deepEqual([...arrangement.rowOf], [0, 1, 1, 1, 2, 3]);
  assert.equal(hiddenSentence(arrangement, 6, String), "3 processes in 1 closed group. ");
});

test("whatever is chosen, each process has one lane or is counted as hidden", () => {
  for (const sort of SORTS) for (const grouped of [false, true]) for (const filter of ["", "map", "2", "nobody"]) {
    for (const [open, pinned] of [[[], []], [["map"], ["x"]], [[], ["map[0]", "map[*]"]]]) {
      const { rows, rowOf, hidden } = arrange(topology, { filter, sort, grouped, open, pinned, first: null });
      const all = rows.flatMap(({ processes }) => processes);
      assert.equal(new Set(all).size, all.length);
      assert.equal(all.length + hidden, 6);
      rows.forEach((row, i) => row.processes.forEach((p) => assert.equal(rowOf[p], i)));
    }
  }
});

function measured(arrangement, height = 200) {
  const scale = plainScale(0, 100);
  return geometry({ width: 500, height, left: 0, right: 0, top: 0, bottom: 0, scale, arrangement });
}

test("pinned lanes stay in view while the others scroll, and no lane is drawn over another", () => {
  const many = openTopology({ processes: Array.from({ length: 300 }, (_, i) => ({ id: `p-${i}` })), channels: [] });
  const lanes = { ...PLAIN_LANES, pinned: ["p-250", "p-7"], first: "p-100" };
  const g = measured(arrange(many, lanes));
  assert.deepEqual(g.rows.slice(0, 4).map(({ name }) => name), ["p-250", "p-7", "p-100", "p-101"]);
  const seen = g.rows.flatMap(({ processes }) => processes);
  assert.deepEqual(seen.map(g.slot), seen.map((_, i) => i));
  for (let p = 0; p < 300; p += 1) assert.equal(g.shows(p), seen.includes(p), `p-${p}`);
  assert.ok(g.slot(99) < 0 && g.slot(299) >= g.lanes);
});

test("no lane at all is a diagram without lanes", () => {
  const g = measured(arrange(topology, { ...PLAIN_LANES, filter: "nobody" }));
  assert.deepEqual([g.lanes, g.rows.length, g.shows(0)], [0, 0, false]);
});

function banksWith(lanes) {
  const window = twoBanks().window(0, 70);
  const arrangement = arrange(window.topology, { ...PLAIN_LANES, ...lanes });
  const g = geometry({
    width: 500, height: 200, left: 100, right: 0, top: 0, bottom: 0, scale: plainScale(0, 70), arrangement,
  });
  return { window, arrangement, g };
}

test("messages from or to a hidden lane are stubs and counted", () => {
  const { window, arrangement, g } = banksWith({ filter: "a" });
  assert.deepEqual(hiddenMessages(window, arrangement), { oneEnd: 3, both: 0 });
  const { channels } = window.topology;
  const sent = lineOf(window.messages, channels, g, 70, 0); // A->B, sent at 10
  const received = lineOf(window.messages, channels, g, 70, 1); // B->A, received at 50
  assert.deepEqual([sent[0], sent[1]], [g.x(10), g.y(0)]);
  assert.deepEqual([received[2], received[3]], [g.x(50), g.y(0)]);
  for (const [x0, y0, x1, y1] of [sent, received]) assert.ok(x1 - x0 <= 14 && y0 !== y1);
  assert.equal(nearestEvent(window, g, g.x(30), g.y(0), 5), -1);
});

test("messages between hidden lanes are counted and not drawn", () => {
  const { window, arrangement, g } = banksWith({ filter: "nobody" });
  assert.deepEqual(hiddenMessages(window, arrangement), { oneEnd: 0, both: 3 });
  assert.equal(lineOf(window.messages, window.topology.channels, g, 70, 0), null);
});

const anyColour = new Proxy({}, { get: () => "rgb(1, 2, 3)" });

function figureOf({ window, arrangement, g }, more = {}) {
  return stillFigure({
    window, g, arrangement, topology: window.topology, colours: anyColour, axis: "time", unit: "us",
    bounds: { from: 0, to: 70 }, snapshot: "1", positions: null, recordedAt: null, dragging: false, ...more,
  });
}

test("the figure holds no number that is not a place, whatever is hidden", () => {
  for (const lanes of [{}, { filter: "a" }, { filter: "nobody" }, { pinned: ["B"] }]) {
    const { data } = figureOf(banksWith(lanes), { positions: [1, 4] });
    for (const { x, y } of data) for (const value of [...x, ...y]) assert.ok(value === null || Number.isFinite(value));
  }
});

test("a closed group shows how much happens in it, and the cut from its first to its last process", () => {
  const window = twoBanks().window(0, 70);
  window.topology.processes.forEach((process, p) => (process.id = `bank[${p}]`));
  const arrangement = arrange(window.topology, { ...PLAIN_LANES, grouped: true });
  const g = geometry({
    width: 500, height: 200, left: 100, right: 0, top: 0, bottom: 0, scale: plainScale(0, 70), arrangement,
  });
  const { data, layout } = figureOf({ window, arrangement, g }, { positions: [1, 4] });
  assert.deepEqual(layout.yaxis.ticktext, ["bank ×2"]);
  const heat = data.find(({ type }) => type === "heatmap");
  assert.equal(heat.z[0].reduce((sum, count) => sum + count, 0), window.events.count);
  const cut = data.at(-1);
  assert.ok(cut.x[1] < cut.x[2] && cut.y[1] === 0 && cut.y[2] === 0, JSON.stringify(cut));
});

test("the place of the first lane that scrolls is known, however many are pinned", () => {
  const many = openTopology({ processes: Array.from({ length: 80 }, (_, i) => ({ id: `p-${i}` })), channels: [] });
  for (const count of [0, 2, 60]) {
    const pinned = many.processes.slice(0, count).map(({ id }) => id);
    const arrangement = arrange(many, { ...PLAIN_LANES, pinned, first: "p-70" });
    const g = measured(arrangement);
    assert.equal(arrangement.rows[g.firstRow], g.rows[g.pinned], `${count} pinned lanes`);
  }
});

test("more pinned lanes than fit are scrolled to like the others", () => {
  const many = openTopology({ processes: Array.from({ length: 80 }, (_, i) => ({ id: `p-${i}` })), channels: [] });
  const pinned = many.processes.slice(0, 60).map(({ id }) => id);
  const seen = new Set();
  for (let n = 0; n < 80; n += 1) {
    const lanes = { ...PLAIN_LANES, pinned, first: n ? `p-${n}` : null };
    for (const { name } of measured(arrange(many, lanes)).rows) seen.add(name);
  }
  assert.equal(seen.size, 80);
});

test("scrolling by one lane at a time reaches every lane and ends at the last, then at the first", () => {
  const many = openTopology({ processes: Array.from({ length: 80 }, (_, i) => ({ id: `p-${i}` })), channels: [] });
  for (const count of [0, 2, 60, 80]) {
    const pinned = many.processes.slice(0, count).map(({ id }) => id);
    const seen = new Set();
    let lanes = { ...PLAIN_LANES, pinned };
    for (const step of [...Array(90).fill(1), ...Array(90).fill(-1)]) {
      const arrangement = arrange(many, lanes);
      const g = measured(arrangement);
      for (const { name } of g.rows) seen.add(name);
      lanes = { ...lanes, first: firstLane(arrangement, g.firstRow + step, g) };
    }
    assert.equal(seen.size, 80, `${count} pinned lanes`);
    assert.equal(lanes.first, null);
  }
});

test("a process that is called like a closed group has a lane of its own", () => {
  const ids = ["map[0]", "map[1]", "map[*]", "map[*][0]", "map[*][1]"];
  const odd = openTopology({ processes: ids.map((id) => ({ id })), channels: [] });
  const lanes = { ...PLAIN_LANES, grouped: true };
  const rows = arrange(odd, lanes).rows.map(({ name }) => name);
  assert.equal(new Set(rows).size, rows.length, rows.join(" "));
  assert.deepEqual(arrange(odd, { ...lanes, pinned: ["map[*]"] }).rows[0].processes, [2]);
  const group = arrange(odd, lanes).rows.find(({ processes }) => processes.length === 2).name;
  const pinned = arrange(odd, { ...lanes, pinned: [group] });
  assert.equal(pinned.pinned, 1);
  assert.deepEqual(pinned.rows[0].processes, [0, 1]);
});
