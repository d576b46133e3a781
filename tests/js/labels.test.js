import assert from "node:assert/strict";
import { test } from "node:test";

import { boxAround, distinctNames, overlap, placeLabels } from "../../static/js/lib/labels.js";
import { ticks } from "../../static/js/lib/format.js";
import { plainScale } from "../../static/js/lib/folds.js";
import { timeAxis } from "../../static/js/views/workbench/time-axis.js";

test("names that differ only in their middle stay different", () => {
  const names = [];
  for (const from of [0, 1, 2]) for (const to of [0, 1]) names.push(`source[${from}]->count[${to}]`);
  for (const most of [11, 14, 17, 30]) {
    const short = distinctNames(names, most);
    assert.equal(new Set(short).size, names.length, short.join(" "));
    for (const name of short) assert.ok([...name].length <= most, name);
  }
  assert.deepEqual(distinctNames(names, 17).slice(0, 2), ["sour…[0]→count[0]", "sour…[0]→count[1]"]);
});

test("names without an end of their own stay different, too", () => {
  const cases = [
    ["orders.enumerator", "orders.operator", "orders.coordinator"],
    ["a very long name (first)", "a very long name (other)", "a very long name (third)"],
    ["aaaaaaaaaaaaaa1bbbbbbbbbbbbbbb", "aaaaaaaaaaaaaa2bbbbbbbbbbbbbbb"],
  ];
  for (const names of cases) {
    const short = distinctNames(names, 8);
    assert.equal(new Set(short).size, names.length, short.join(" "));
    for (const name of short) assert.ok([...name].length <= 8, name);
  }
});

test("a name that fits stays whole", () => {
  assert.deepEqual(distinctNames(["A->B", "count[0]"], 8), ["A->B", "count[0]"]);
});

const WIDTH = 7;
const SIZE = { width: 840, height: 200 };

/** Nodes on an ellipse, with names and states of real lengths. */
function ring(count) {
  return Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count;
    const r = count > 20 ? 7 : 15;
    const name = `process-${i}`.length * WIDTH;
    return {
      x: 420 + 360 * Math.cos(angle),
      y: 100 + 60 * Math.sin(angle),
      r,
      name,
      state: "not recorded".length * WIDTH,
      inside: false,
    };
  });
}

for (const count of [8, 12, 20, 50]) {
  test(`labels of ${count} nodes overprint neither each other nor a node`, () => {
    const nodes = ring(count);
    const labels = placeLabels(nodes, SIZE);
    const boxes = labels.map(({ node, part, x, y }) => boxAround(x, y, nodes[node][part], 14));
    boxes.forEach((box, i) => {
      for (const other of boxes.slice(i + 1)) assert.ok(!overlap(box, other), `${i}`);
      for (const { x, y, r } of nodes) assert.ok(!overlap(box, boxAround(x, y, 2 * r, 2 * r)), `${i}`);
    });
    if (count <= 12) assert.equal(labels.filter(({ part }) => part === "name").length, count);
  });
}

test("an axis has a number wherever it is zoomed to", () => {
  for (let from = 0; from < 40; from += 0.7) {
    for (const span of [2, 2.1, 4.8, 4.85, 7, 49, 480]) {
      for (const count of [2, 3, 7]) {
        const values = ticks(from, from + span, count, true);
        const isInside = values[0] >= from - 1e-6 && values.at(-1) <= from + span + 1e-6;
        assert.ok(values.length >= 1 && isInside, `${from} ${span} ${count}`);
      }
    }
  }
});

test("no number is hidden at the end of an axis, which would leave its title without a place", () => {
  const axis = timeAxis({}, "order", "us", plainScale(4999995.2, 5000000.05), 300);
  assert.equal(axis.ticklabeloverflow, "allow");
});
