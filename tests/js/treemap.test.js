import assert from "node:assert/strict";
import { test } from "node:test";
import { squarify } from "../../static/js/lib/treemap.js";

const BOX = { x: 10, y: 20, width: 600, height: 400 };
const area = ({ width, height }) => width * height;
const meet = (from, length, other, otherLength) => from < other + otherLength - 1e-6 && other < from + length - 1e-6;
const overlaps = (a, b) => meet(a.x, a.width, b.x, b.width) && meet(a.y, a.height, b.y, b.height);

test("areas are as their sizes, and the boxes fill the whole without overlapping", () => {
  const sizes = [6, 6, 4, 3, 2, 2, 1];
  const boxes = squarify(sizes, BOX);
  sizes.forEach((size, i) => assert.ok(Math.abs(area(boxes[i]) - size * 10_000) < 1e-6));
  boxes.forEach((a, i) => boxes.slice(i + 1).forEach((b) => assert.ok(!overlaps(a, b))));
  for (const { x, y, width, height } of boxes) {
    assert.ok(x >= 10 && y >= 20 && x + width <= 610 + 1e-6 && y + height <= 420 + 1e-6);
  }
});

test("the example of the paper is divided as the paper divides it", () => {
  const boxes = squarify([6, 6, 4, 3, 2, 2, 1], { x: 0, y: 0, width: 6, height: 4 });
  const rounded = boxes.map(({ width, height }) => [width, height].map((side) => Math.round(side * 100) / 100));
  assert.deepEqual(rounded, [[3, 2], [3, 2], [1.71, 2.33], [1.29, 2.33], [1.2, 1.67], [1.2, 1.67], [0.6, 1.67]]);
});

test("the boxes stand in the order of the sizes, and what is empty gets no room", () => {
  const boxes = squarify([0, 1, 3], BOX);
  assert.deepEqual(boxes.map((box) => Math.round(area(box))), [0, 60_000, 180_000]);
  assert.deepEqual(squarify([], BOX), []);
});
