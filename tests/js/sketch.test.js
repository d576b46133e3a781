import assert from "node:assert/strict";
import { test } from "node:test";

import { paintTrace } from "../../static/js/lib/sketch-traces.js";

/** Returns the corners of the path with which a mark of this symbol is painted. */
function cornersOf(symbol) {
  const corners = [];
  const context = new Proxy({}, {
    get: (_, name) => (...given) => name === "lineTo" && corners.push(given),
    set: () => true,
  });
  const trace = { mode: "markers", x: [0], y: [0], marker: { symbol, size: 8, color: "red" } };
  paintTrace(context, { x: (at) => at, y: (at) => at }, trace, {});
  return corners;
}

test("a crash is a cross of two strokes, which lead to all four corners", () => {
  const corners = cornersOf("x");
  for (const [right, down] of [[1, 1], [1, -1], [-1, 1], [-1, -1]]) {
    const far = corners.filter(([x, y]) => x * right > 0 && y * down > 0);
    assert.ok(far.length >= 2, `towards ${right}, ${down}: ${JSON.stringify(corners)}`);
  }
});
