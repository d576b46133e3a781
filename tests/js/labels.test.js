import assert from "node:assert/strict";
import { test } from "node:test";

import { boxAround, distinctNames, meets, overlap, placeLabels } from "../../static/js/lib/labels.js";
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

const SIZE = { width: 840, height: 200 };

/** @param {string} text */
const width = (text) => 7 * text.length;

/** Nodes on an ellipse, with names and states of real lengths. */
function ring(count) {
  return Array.from({ length: count }, (_, i) => {
    const angle = (2 * Math.PI * i) / count;
    const lines = [
      { part: "name", texts: [`process-number-${i}`, `p…-${i}`] },
      { part: "phase", texts: ["not recorded"] },
    ];
    return { x: 420 + 360 * Math.cos(angle), y: 100 + 60 * Math.sin(angle), r: count > 20 ? 7 : 15, lines };
  });
}

/** Lines between neighbours on the ring, and across it. */
function pathsOf(nodes) {
  return nodes.flatMap((node, i) => [1, Math.floor(nodes.length / 2)].map((step) => {
    const other = nodes[(i + step) % nodes.length];
    const length = Math.hypot(other.x - node.x, other.y - node.y);
    const at = (share) => ({ x: node.x + (other.x - node.x) * share, y: node.y + (other.y - node.y) * share });
    return [at(node.r / length), at(1 - node.r / length)];
  }));
}

for (const count of [2, 8, 12, 20, 50]) {
  test(`the boxes of ${count} nodes cover no other box, no node, no line, and stand in the picture`, () => {
    const nodes = ring(count);
    const paths = pathsOf(nodes);
    const labels = placeLabels(nodes, { size: SIZE, paths, width });
    labels.forEach(({ box, lines }, i) => {
      for (const other of labels.slice(i + 1)) assert.ok(!overlap(box, other.box), `${i}`);
      for (const { x, y, r } of nodes) assert.ok(!overlap(box, boxAround(x, y, 2 * r, 2 * r)), `${i}`);
      for (const path of paths) assert.ok(!meets(path, box), `${i}`);
      for (const { text } of lines) assert.ok(width(text) <= box.right - box.left, text);
      assert.ok(box.left >= 0 && box.top >= 0 && box.right <= SIZE.width && box.bottom <= SIZE.height);
    });
    if (count <= 12) assert.equal(labels.length, count);
  });
}

test("a name that has no room is shortened before it is left out, and the state goes first", () => {
  const nodes = [40, 110, 180].map((x, i) => {
    const name = { part: "name", texts: [`a-long-name-${i}`, `a…${i}`] };
    const lines = [name, { part: "phase", texts: ["not recorded"] }];
    return { x, y: 20, r: 15, lines };
  });
  const labels = placeLabels(nodes, { size: { width: 220, height: 56 }, width });
  assert.equal(labels.length, 3);
  assert.ok(labels.some(({ lines }) => lines.length === 1 && lines[0].text.includes("…")));
});

test("in a crowd a box may lie over a line, but over nothing else", () => {
  const node = { x: 60, y: 60, r: 8, lines: [{ part: "name", texts: ["name"] }] };
  const paths = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => [{ x: 0, y: 14 * i }, { x: 120, y: 14 * i + 1 }]);
  const size = { width: 120, height: 120 };
  assert.deepEqual(placeLabels([node], { size, paths, width }), []);
  const [{ box }] = placeLabels([node], { size, paths, width, crowd: true });
  assert.ok(!overlap(box, boxAround(60, 60, 16, 16)));
  assert.deepEqual(placeLabels([node], { size, paths, width, crowd: true, taken: [boxAround(60, 60, 120, 120)] }), []);
});

test("a path meets a box that it passes through, and none that it passes by", () => {
  const box = boxAround(50, 50, 20, 20);
  assert.ok(meets([{ x: 0, y: 0 }, { x: 100, y: 100 }], box));
  assert.ok(meets([{ x: 0, y: 50 }, { x: 45, y: 50 }], box));
  assert.ok(!meets([{ x: 0, y: 30 }, { x: 100, y: 30 }], box));
  assert.ok(!meets([{ x: 0, y: 0 }, { x: 30, y: 60 }, { x: 30, y: 100 }], box));
});

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
