import assert from "node:assert/strict";
import test from "node:test";
import { GLIDE, createMovingFigure } from "../../static/js/lib/moving-figure.js";
import { flightTraces, MOST_MARKS, rowsInFlight } from "../../static/js/views/workbench/flights.js";
import { geometry } from "../../static/js/views/workbench/geometry.js";
import { arrange, PLAIN_LANES } from "../../static/js/lib/lanes.js";
import { plainScale } from "../../static/js/lib/folds.js";

import { aRecording } from "./builders.js";

const SIZE = { width: 100, height: 50 };

/** Returns a stand-in for Plotly that notes its calls; Plotly itself runs in tests/browser/test_workbench.py. */
function noting() {
  const calls = [];
  const react = (plot, data, layout) => calls.push(["react", data[0].x[0], layout.xaxis.range[1]]);
  const animate = async (plot, { data }, { transition }) => {
    calls.push(["animate", data[0].x[0], transition.duration]);
  };
  return { calls, load: async () => ({ react, animate }) };
}

/** @param {number} x @param {string} view */
function marks(x, view = "whole") {
  return { data: [{ x: [x], y: [0] }], size: SIZE, view };
}

async function begun() {
  const { calls, load } = noting();
  const figure = createMovingFigure(null, { load, config: {}, onError: assert.fail });
  await figure.begin();
  return { calls, figure };
}

test("marks glide from where they are to where they will be, and not again before they are there", async () => {
  const { calls, figure } = await begun();
  figure.draw(marks(1));
  for (const _ of [1, 2]) figure.glide((later) => marks(2 + later));
  assert.deepEqual(calls, [["react", 1, 100], ["animate", 2, 0], ["animate", 2 + GLIDE, GLIDE]]);
});

test("in another view marks stand at once where they are", async () => {
  const { calls, figure } = await begun();
  figure.glide((later) => marks(later, "whole"));
  figure.glide((later) => marks(7 + later, "a part"));
  assert.deepEqual(calls.slice(2), [["react", 7, 100], ["animate", 7 + GLIDE, GLIDE]]);
});

test("a trace without marks has one out of view, for Plotly would leave the last ones standing", async () => {
  const { calls, figure } = await begun();
  figure.draw(marks(1));
  figure.draw({ ...marks(1), data: [{ x: [], y: [] }] });
  assert.ok(calls[1][1] < -SIZE.width);
});

test("a trace that is the same as before is left alone", async () => {
  const moved = [];
  const animate = async (plot, { data, traces }) => moved.push([traces, data.map(({ x }) => x[0])]);
  const load = async () => ({ react: () => {}, animate });
  const figure = createMovingFigure(null, { load, config: {}, onError: assert.fail });
  await figure.begin();
  const [still, first, then] = [1, 2, 3].map((x) => ({ x: [x], y: [0] }));
  for (const moving of [first, then, then]) figure.draw({ data: [still, moving], size: SIZE, view: "whole" });
  assert.deepEqual(moved, [[[1], [3]]]);
});

/** @param {number} count of messages from A to B, all in flight from 10 to 30 */
function aScene(count) {
  const channel = "A->B";
  const sends = Array.from({ length: count }, (_, i) => ({ process: "A", kind: "send", channel, message: `m${i}` }));
  const receives = sends.map((event) => ({ ...event, process: "B", kind: "receive" }));
  const recording = aRecording({
    processes: { A: 0, B: 0 },
    channels: [channel],
    events: [...sends, ...receives],
  });
  const { topology } = recording;
  const g = geometry({
    width: 400, height: 120, left: 60, right: 12, top: 14, bottom: 44, scale: plainScale(0, 2 * count),
    arrangement: arrange(topology, PLAIN_LANES),
  });
  return { window: recording.window(0, 2 * count, "order"), g, topology, colours: {} };
}

test("a message in flight stands on the cursor, between its lanes", () => {
  const scene = aScene(2);
  const rows = rowsInFlight(scene.window.messages, [0, 1], 2.5);
  assert.deepEqual(rows, [0, 1]);
  const [ways, , dots] = flightTraces(scene, { messages: rows, markers: [] }, 2.5);
  assert.deepEqual(dots.x, [scene.g.x(2.5), scene.g.x(2.5)]);
  for (const y of dots.y) assert.ok(y > scene.g.y(0) && y < scene.g.y(1));
  assert.equal(ways.x.length, 6);
});

test("a message that will have arrived glides to its end", () => {
  const scene = aScene(1);
  const [, , dots] = flightTraces(scene, { messages: [0], markers: [] }, 5);
  assert.deepEqual([dots.x[0], dots.y[0]], [scene.g.x(2), scene.g.y(1)]);
});

test("of many messages in flight every n-th is drawn, without its way", () => {
  const scene = aScene(3 * MOST_MARKS);
  const all = Array.from({ length: 3 * MOST_MARKS }, (_, row) => row);
  const rows = rowsInFlight(scene.window.messages, all, 3 * MOST_MARKS);
  assert.ok(rows.length > MOST_MARKS / 2 && rows.length <= MOST_MARKS);
  const [ways, , dots] = flightTraces(scene, { messages: rows, markers: [] }, 3 * MOST_MARKS);
  assert.equal(ways.x.length, 0);
  assert.equal(dots.x.length, rows.length);
});
