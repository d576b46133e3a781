import assert from "node:assert/strict";
import { test } from "node:test";
import { withShapes } from "../../static/js/lib/shapes.js";

const LINE = { color: "red", width: 2, dash: "dot" };
const parts = (count) => Array.from({ length: count }, (_, i) => [i, i + 0.5, null]).flat();

/** Returns a line of `count` parts. */
function aLine(count, more = {}) {
  return { type: "scatter", mode: "lines", x: parts(count), y: parts(count), line: LINE, hoverinfo: "skip", ...more };
}

test("a line of many parts is one shape below the other traces", () => {
  const points = { type: "scatter", mode: "markers", x: [1], y: [1] };
  const { data, layout } = withShapes({ data: [aLine(60), points], layout: { shapes: [{ type: "line" }] } });
  assert.deepEqual(data, [points]);
  assert.equal(layout.shapes.length, 2);
  const [, { path, layer, line, xref, yref }] = layout.shapes;
  assert.ok(path.startsWith("M0,0L0.5,0.5M1,1L1.5,1.5M"));
  assert.deepEqual([layer, line, xref, yref], ["below", LINE, "x", "y"]);
});

test("short lines, fills and lines that answer the pointer stay as they are", () => {
  const figure = {
    data: [aLine(3), aLine(60, { fill: "tozeroy" }), aLine(60, { hoverinfo: undefined })],
    layout: { margin: {} },
  };
  assert.deepEqual(withShapes(figure), figure);
});
