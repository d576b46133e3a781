import assert from "node:assert/strict";
import { test } from "node:test";

import { channelsAt } from "../../static/js/lib/cuts.js";
import { arrange, PLAIN_LANES } from "../../static/js/lib/lanes.js";
import { plainScale } from "../../static/js/lib/folds.js";
import { countedCells, crossing, densitySentence, isDense } from "../../static/js/views/workbench/density.js";
import { geometry } from "../../static/js/views/workbench/geometry.js";
import { stillFigure } from "../../static/js/views/workbench/still.js";
import { aRecording } from "./builders.js";

const COLOURS = new Proxy({}, { get: () => "rgb(1, 2, 3)" });

/**
 * Returns a scene of processes in a ring, each message of which is received three events of its sender later.
 * @param {number} rounds @param {{ lanes?: object, height?: number, processes?: number }} more
 */
function aScene(rounds, { lanes = {}, height = 200, processes = 3 } = {}) {
  const names = Array.from({ length: processes }, (_, i) => `p${i}`);
  const next = (i) => names[(i + 1) % processes];
  const events = [];
  for (let round = 0; round < rounds + 3; round += 1) {
    names.forEach((process, i) => {
      const channel = `${process}->${next(i)}`;
      if (round >= 3) events.push({ process: next(i), kind: "receive", channel, message: `${i} ${round - 3}` });
      if (round < rounds) events.push({ process, kind: "send", channel, message: `${i} ${round}` });
    });
  }
  const recording = aRecording({
    processes: Object.fromEntries(names.map((name) => [name, 0])),
    channels: names.map((name, i) => `${name}->${next(i)}`),
    events,
  });
  const { topology } = recording;
  const arrangement = arrange(topology, { ...PLAIN_LANES, ...lanes });
  const window = recording.window(0, events.length, "order");
  const g = geometry({
    width: 400, height, left: 60, right: 12, top: 14, bottom: 44, scale: plainScale(0, events.length), arrangement,
  });
  return {
    window, g, topology, arrangement, colours: COLOURS, axis: "order", unit: "us",
    bounds: { from: 0, to: events.length }, snapshot: "s1", positions: null, recordedAt: null, dragging: false,
  };
}

/** Returns how many lines a trace has. */
const linesOf = ({ x }) => x.filter((at) => at === null).length;

test("each message on its way is counted once in each column that its line crosses", () => {
  const scene = aScene(30);
  const { cells, x } = countedCells(scene);
  const { messages } = scene.window;
  x.forEach((at, column) => {
    let under = 0;
    for (let row = 0; row < messages.count; row += 1) {
      if (messages.sentX[row] < at && at < messages.receivedX[row]) under += 1;
    }
    const counted = cells.reduce((sum, row) => sum + row[column], 0);
    assert.ok(Math.abs(counted - under) <= 3, `${counted} for ${under} in column ${column}`);
  });
});

test("of a dense window only what crosses the cut is a line, above the density of all", () => {
  const scene = aScene(250);
  assert.ok(isDense(scene));
  const positions = [300, 301, 290];
  const { contents, orphans } = channelsAt(scene.window, positions);
  const across = [...contents.values()].flat();
  assert.ok(across.length > 0 && orphans.length > 0);
  const drawn = crossing(scene.window, positions);
  assert.deepEqual([[...drawn.across].sort(), [...drawn.wrong].sort()], [across.sort(), orphans.sort()]);
  const { data } = stillFigure({ ...scene, positions });
  assert.equal(data.filter(({ type }) => type === "heatmap").length, 1);
  const lanes = data[0];
  const messages = data.filter((trace) => trace !== lanes && trace.mode === "lines" && linesOf(trace) > 0);
  const crossed = messages.filter(({ line }) => line.width === 1.5 && line.dash === "solid" || line.dash === "dash");
  assert.deepEqual(crossed.map(linesOf).filter((n) => n < 100).slice(0, 2), [across.length, orphans.length]);
  assert.equal(
    densitySentence({ ...scene, positions }),
    `${across.length + orphans.length} lines: what crosses the cut of s1; ${
      750 - across.length - orphans.length} messages as a density. `,
  );
  assert.equal(densitySentence(scene), "750 messages as a density. ");
});

test("where messages are few, each is a line and nothing is said", () => {
  const scene = aScene(20);
  assert.equal(isDense(scene), false);
  assert.equal(densitySentence(scene), "");
  const { data } = stillFigure(scene);
  assert.equal(data.filter(({ type }) => type === "heatmap").length, 0);
  assert.ok(data.some((trace) => trace.mode === "lines" && linesOf(trace) === 60));
});

test("a part in which messages are few shows each as a line, whatever the window holds beside it", () => {
  const scene = aScene(250);
  const { from, to } = { from: 1400, to: 1460 };
  const near = { ...scene, g: { ...scene.g, from, to } };
  assert.equal(isDense(near), false);
  assert.equal(densitySentence(near), "");
});

test("all lanes fit on request, with names that do not overprint each other", () => {
  const few = aScene(2, { processes: 60 }).g;
  assert.ok(few.lanes < 60);
  const scene = aScene(2, { processes: 60, lanes: { fitted: true } });
  assert.equal(scene.g.lanes, 60);
  assert.ok(scene.g.y(59) <= scene.g.plotBottom);
  const { ticktext } = stillFigure(scene).layout.yaxis;
  const named = ticktext.flatMap((text, i) => (text ? [i] : []));
  assert.ok((named[1] - named[0]) * scene.g.pitch >= 13);
});
