import assert from "node:assert/strict";
import { test } from "node:test";

import { layoutTopology } from "../../static/js/lib/layout.js";
import { boxAround, meets, overlap } from "../../static/js/lib/labels.js";
import { dataflowOf, openOperators, placeDataflow } from "../../static/js/lib/operators.js";
import { openTopology } from "../../static/js/lib/topology.js";
import { createDrawing } from "../../static/js/views/workbench/topology-circles.js";

const SIZE = { width: 840, height: 210 };

/** Makes a topology of operators "map*4" and of edges "map-sum", which connect all subtasks with all. */
function dataflow(operators, edges, scope) {
  const subtasks = new Map(operators.map((text) => {
    const [name, count = "1"] = text.split("*");
    return [name, Array.from({ length: Number(count) }, (_, i) => `${name}[${i}]`)];
  }));
  const channels = edges.flatMap((text) => {
    const [source, target] = text.split("-").map((name) => subtasks.get(name));
    return source.flatMap((a) => target.map((b) => ({ id: `${a}->${b}`, source: a, target: b, fifo: true })));
  });
  const processes = [...subtasks.values()].flat().map((id) => ({ id, scope }));
  return { processes: [...processes, { id: scope ?? "coordinator", scope }], channels };
}

/** Returns what the topology panel draws. */
function arranged(topology, chosen = new Map(), size = SIZE) {
  return createDrawing(openTopology(topology)).place(size, chosen);
}

/** Returns the circles of an operator. */
function circlesOf({ circles }, { processes }, name) {
  return circles.filter(({ processes: [first] }) => processes[first].id.startsWith(`${name}[`));
}

/** Returns a generator of the same numbers from 0 to 1 each time. */
function numbers(seed) {
  let state = seed;
  return () => (state = (state * 16807) % 2147483647) / 2147483647;
}

/** Makes a dataflow of up to seven operators, each with inputs among those before it. */
function generated(seed) {
  const next = numbers(seed + 1);
  const count = 2 + Math.floor(next() * 6);
  const names = Array.from({ length: count }, (_, i) => `o${"abcdefg"[i]}`);
  const operators = names.map((name) => `${name}*${1 + Math.floor(next() * 9)}`);
  const edges = names.slice(1).flatMap((name, i) => (
    next() < 0.85 ? [`${names[Math.floor(next() * (i + 1))]}-${name}`] : []
  ));
  if (!edges.length) edges.push(`${names[0]}-${names[1]}`);
  return dataflow(operators, edges);
}

test("sources stand left, sinks right, and the subtasks of an operator in a column", () => {
  const topology = dataflow(["source*2", "map*3", "sink"], ["source-map", "map-sink"]);
  const drawing = arranged(topology, new Map([[" source", true], [" map", true]]));
  const columns = ["source", "map", "sink"].map((name) => circlesOf(drawing, topology, name));
  assert.deepEqual(columns.map((circles) => circles.length), [2, 3, 1]);
  const xs = columns.map((circles) => [...new Set(circles.map(({ x }) => x))]);
  assert.ok(xs.every((own) => own.length === 1) && xs[0][0] < xs[1][0] && xs[1][0] < xs[2][0]);
});

test("each channel of a generated dataflow leads to the right, and no two circles overlap", () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const topology = generated(seed);
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
  const topology = dataflow(["source*2", "map*128", "sink"], ["source-map", "map-sink"]);
  const drawing = arranged(topology);
  const [map, ...others] = circlesOf(drawing, topology, "map");
  assert.equal(others.length, 0);
  assert.deepEqual([map.name, map.count], ["map", 128]);
  const into = drawing.bundles.filter(({ to }) => to === map);
  assert.equal(into.flatMap(({ codes }) => codes).length, 256);
  assert.equal(into.length, circlesOf(drawing, topology, "source").length);
});

test("an operator can be opened though its subtasks do not fit in a column, and closed though they do", () => {
  const topology = dataflow(["source*2", "map*40", "sink"], ["source-map", "map-sink"]);
  const drawing = arranged(topology, new Map([[" source", false], [" map", true]]));
  assert.equal(circlesOf(drawing, topology, "source").length, 1);
  assert.equal(circlesOf(drawing, topology, "map").length, 40);
  assert.deepEqual(drawing.heads.map(({ name, count }) => [name, count]), [["map", 40]]);
  const xs = new Set(circlesOf(drawing, topology, "map").map(({ x }) => x));
  assert.ok(xs.size > 1, "there is more than one column");
});

test("what has no room in an open operator is counted", () => {
  const topology = dataflow(["source", "map*4000"], ["source-map"]);
  const { circles, hidden } = arranged(topology, new Map([[" map", true]]), { width: 390, height: 140 });
  assert.equal(circles.flatMap(({ processes }) => processes).length + hidden, 4002);
});

test("a process without channels stands above the layers", () => {
  const topology = dataflow(["source", "sink"], ["source-sink"]);
  const { circles } = arranged(topology);
  const [coordinator] = circles.filter(({ name }) => name === "coordinator");
  assert.ok(circles.every((circle) => circle === coordinator || circle.y > coordinator.y));
});

test("tasks of which no channel is known stand in the order of the log, each pipeline by itself", () => {
  const [one, other] = ["run 1", "run 2"].map((scope) => dataflow(["source*2", "map", "sink*2"], [], scope));
  other.processes.forEach((process) => (process.id = process.id.replace("[", " (run 2)[")));
  const topology = { processes: [...one.processes, ...other.processes], channels: [] };
  const { circles, isGuessed, bundles } = arranged(topology);
  assert.ok(isGuessed && !bundles.length);
  const at = (name) => circles.find((circle) => circle.name === name || circle.name.startsWith(`${name}[`));
  assert.ok(at("source").x < at("map").x && at("map").x < at("sink").x);
  assert.ok(at("map").y < at("map (run 2)").y);
});

test("a channel bows around the circles between its ends", () => {
  const topology = dataflow(["a", "b", "c"], ["a-b", "b-c", "a-c"]);
  const { bundles, circles, radius } = arranged(topology, new Map(), { width: 840, height: 120 });
  for (const { from, to, path } of bundles) {
    for (const circle of circles.filter((each) => each !== from && each !== to)) {
      assert.ok(!meets(path, boxAround(circle.x, circle.y, 2 * radius + 4, 2 * radius + 4)));
    }
  }
});

test("a topology with a cycle is no dataflow, and all of its processes stand on the ring", () => {
  const ring = { processes: ["p1", "p2", "p3"].map((id) => ({ id })), channels: ["12", "23", "31"].map(([a, b]) => (
    { id: `p${a}->p${b}`, source: `p${a}`, target: `p${b}`, fifo: true }
  )) };
  assert.equal(dataflowOf(openTopology(ring)), null);
  const places = layoutTopology(3, [[0, 1], [1, 2], [2, 0]]);
  assert.equal(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, 3);
  assert.equal(arranged(ring).circles.length, 3);
});

test("what is open by itself fits", () => {
  for (let seed = 0; seed < 200; seed += 1) {
    const flow = dataflowOf(openTopology(generated(seed)));
    const open = openOperators(flow, new Map(), SIZE);
    const { row, hidden } = placeDataflow(flow, open, SIZE);
    assert.equal(hidden, 0);
    if (open.size) assert.ok(row >= 37.9, `${seed}: ${row}`);
  }
});
