/** Reads topologies with the arrangements of the server, as JSON by stdin, and checks what the topology panel draws. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { boxAround, meets, overlap } from "../../static/js/lib/labels.js";
import { dataflowOf, openOperators, placeDataflow } from "../../static/js/lib/operators.js";
import { openTopology } from "../../static/js/lib/topology.js";
import { createDrawing } from "../../static/js/views/workbench/topology-circles.js";

const SIZE = { width: 840, height: 210 };
const { named, generated } = JSON.parse(readFileSync(0, "utf8"));

/** Returns what the topology panel draws. */
function arranged(topology, chosen = new Map(), size = SIZE) {
  return createDrawing(openTopology(topology)).place(size, chosen);
}

/** Returns the circles of an operator. */
function circlesOf({ circles }, { processes }, name) {
  return circles.filter(({ processes: [first] }) => processes[first].id.startsWith(`${name}[`));
}

test("sources stand left, sinks right, and the subtasks of an operator in a column", () => {
  const topology = named.three;
  const drawing = arranged(topology, new Map([[" source", true], [" map", true]]));
  const columns = ["source", "map", "sink"].map((name) => circlesOf(drawing, topology, name));
  assert.deepEqual(columns.map((circles) => circles.length), [2, 3, 1]);
  const xs = columns.map((circles) => [...new Set(circles.map(({ x }) => x))]);
  assert.ok(xs.every((own) => own.length === 1) && xs[0][0] < xs[1][0] && xs[1][0] < xs[2][0]);
});

test("each channel of a generated dataflow leads to the right, and no two circles overlap", () => {
  for (const [seed, topology] of generated.entries()) {
    const { circles, bundles, radius } = arranged(topology);
    for (const { from, to } of bundles) assert.ok(from.x < to.x, `${seed}`);
    const boxes = circles.map(({ x, y }) => boxAround(x, y, 2 * radius, 2 * radius));
    boxes.forEach((box, i) => {
      assert.ok(box.left >= 0 && box.top >= 0 && box.right <= SIZE.width && box.bottom <= SIZE.height, `${seed}`);
      for (const other of boxes.slice(i + 1)) assert.ok(!overlap(box, other), `${seed} ${i}`);
    });
    const drawn = circles.flatMap(({ processes }) => processes);
    assert.equal(new Set(drawn).size, topology.processes.length, `${seed}`);
    const channels = bundles.flatMap(({ codes }) => codes);
    assert.equal(new Set(channels).size, topology.channels.length, `${seed}`);
  }
});

test("an operator with more subtasks than fit is one circle, and its channels are one bundle", () => {
  const topology = named.many;
  const drawing = arranged(topology);
  const [map, ...others] = circlesOf(drawing, topology, "map");
  assert.equal(others.length, 0);
  assert.deepEqual([map.name, map.count], ["map", 128]);
  const into = drawing.bundles.filter(({ to }) => to === map);
  assert.equal(into.flatMap(({ codes }) => codes).length, 256);
  assert.equal(into.length, circlesOf(drawing, topology, "source").length);
});

test("an operator can be opened though its subtasks do not fit in a column, and closed though they do", () => {
  const topology = named.forty;
  const drawing = arranged(topology, new Map([[" source", false], [" map", true]]));
  assert.equal(circlesOf(drawing, topology, "source").length, 1);
  assert.equal(circlesOf(drawing, topology, "map").length, 40);
  assert.deepEqual(drawing.heads.map(({ name, count }) => [name, count]), [["map", 40]]);
  const xs = new Set(circlesOf(drawing, topology, "map").map(({ x }) => x));
  assert.ok(xs.size > 1, "there is more than one column");
});

test("what has no room in an open operator is counted", () => {
  const topology = named.thousands;
  const { circles, hidden } = arranged(topology, new Map([[" map", true]]), { width: 390, height: 140 });
  assert.equal(circles.flatMap(({ processes }) => processes).length + hidden, 4002);
});

test("a process without channels stands above the layers", () => {
  const topology = named.pair;
  const { circles } = arranged(topology);
  const [coordinator] = circles.filter(({ name }) => name === "coordinator");
  assert.ok(circles.every((circle) => circle === coordinator || circle.y > coordinator.y));
});

test("tasks of which no channel is known stand in the order of the log, each pipeline by itself", () => {
  const { circles, isGuessed, bundles } = arranged(named.guessed);
  assert.ok(isGuessed && !bundles.length);
  const at = (name) => circles.find((circle) => circle.name === name || circle.name.startsWith(`${name}[`));
  assert.ok(at("source").x < at("map").x && at("map").x < at("sink").x);
  assert.ok(at("map").y < at("map (run 2)").y);
});

test("a channel bows around the circles between its ends", () => {
  const topology = named.bypass;
  const { bundles, circles, radius } = arranged(topology, new Map(), { width: 840, height: 120 });
  for (const { from, to, path } of bundles) {
    for (const circle of circles.filter((each) => each !== from && each !== to)) {
      assert.ok(!meets(path, boxAround(circle.x, circle.y, 2 * radius + 4, 2 * radius + 4)));
    }
  }
});

test("a topology with a cycle is no dataflow, and all of its processes stand on the ring", () => {
  assert.equal(dataflowOf(named.ring.arrangement), null);
  assert.equal(arranged(named.ring).circles.length, 3);
});

test("what is open by itself fits", () => {
  for (const [seed, { arrangement }] of generated.entries()) {
    const flow = dataflowOf(arrangement);
    const open = openOperators(flow, new Map(), SIZE);
    const { row, hidden } = placeDataflow(flow, open, SIZE);
    assert.equal(hidden, 0);
    if (open.size) assert.ok(row >= 37.9, `${seed}: ${row}`);
  }
});
