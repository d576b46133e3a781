import assert from "node:assert/strict";
import { test } from "node:test";
import { layoutTopology } from "../../static/js/lib/layout.js";

test("a graph without a cycle stands in layers from left to right", () => {
  const places = layoutTopology(5, [[0, 2], [1, 2], [2, 3], [2, 4]]);
  assert.deepEqual(places.map(({ x }) => x), [0, 0, 0.5, 1, 1]);
  assert.deepEqual(places.map(({ y }) => y), [0, 1, 0.5, 0, 1]);
});

test("a process without channels stands above the layers", () => {
  const places = layoutTopology(3, [[0, 1]]);
  assert.deepEqual(places[2], { x: 0.5, y: 0 });
  assert.ok(places[0].y > 0.3 && places[1].y > 0.3);
});

test("with a cycle, or without a channel, all stand on the ring", () => {
  for (const links of [[[0, 1], [1, 2], [2, 0]], []]) {
    const places = layoutTopology(3, links);
    assert.equal(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, 3);
    assert.ok(Math.abs(places[0].x - 0.5) < 1e-9 && places[0].y === 0);
  }
});
