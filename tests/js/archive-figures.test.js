import assert from "node:assert/strict";
import { test } from "node:test";
import { clicked, formTime, slowestFigure, trendFigure } from "../../static/js/views/archive/figures.js";
import { encode } from "./builders.js";

const colours = () => "rgb(1, 2, 3)";
const f8 = (...numbers) => encode(numbers, "f8");
const TREND = {
  x: f8(0, 1000),
  low: f8(100, 2000),
  mid: f8(100, 2000),
  high: f8(100, 2000),
  number: f8(1, 2),
  pipeline: f8(0, 0),
  exact: true,
  band_x: f8(0, 1000),
  lower: f8(0, 0),
  upper: f8(300, 300),
  outliers: { x: f8(1000), y: f8(2000), number: f8(2), pipeline: f8(0), total: 1 },
};
const OVERVIEW = {
  axis: "time",
  trends: { duration: TREND, bytes: TREND, alignment: TREND, start_delay: TREND },
  failures: { edges: f8(0, 500, 1000), failed: f8(0, 1), completed: f8(1, 0) },
  slowest: { names: ["map <a>[0]", "b[1]"], edges: f8(0, 500, 1000), counts: [[1, 0], [0, 1]] },
};

test("each measure has an axis of its own in a unit that fits, and failures stand below", () => {
  const { data, layout } = trendFigure(OVERVIEW, { colours, width: 900 });
  assert.deepEqual(
    layout.annotations.map(({ text }) => text),
    ["Duration, s", "State, kB", "Alignment, s", "Start delay, s", "Failed"],
  );
  const duration = data.find(({ name }) => name === "Duration");
  assert.deepEqual(duration.y, [0.1, 2]);
  assert.deepEqual(data.find(({ name }) => name === "failed").y, [0, 1]);
  assert.ok(layout.xaxis.ticktext.every((text) => /^00:00/.test(text)), `${layout.xaxis.ticktext}`);
});

test("a click on a point or an outlier leads to its checkpoint, elsewhere nowhere", () => {
  const { data } = trendFigure(OVERVIEW, { colours, width: 900 });
  const outlier = data.find(({ name }) => name === "outlier");
  assert.deepEqual(clicked({ customdata: outlier.customdata[0] }), { pipeline: 0, number: 2 });
  assert.equal(clicked({}), null);
  assert.equal(clicked(undefined), null);
});

test("points of many checkpoints show least and most", () => {
  const many = { ...TREND, exact: false };
  const { data } = trendFigure(
    { ...OVERVIEW, trends: { duration: many, bytes: many, alignment: many, start_delay: many } },
    { colours, width: 300 },
  );
  assert.equal(data.filter(({ name }) => name === "least to most").length, 4);
});

test("an empty trend can be drawn", () => {
  const none = {
    ...TREND,
    x: f8(),
    low: f8(),
    mid: f8(),
    high: f8(),
    number: f8(),
    pipeline: f8(),
    band_x: f8(),
    lower: f8(),
    upper: f8(),
    outliers: { x: f8(), y: f8(), number: f8(), pipeline: f8(), total: 0 },
  };
  const { layout } = trendFigure(
    { ...OVERVIEW, axis: "number", trends: { duration: none, bytes: none, alignment: none, start_delay: none } },
    { colours, width: 900 },
  );
  assert.equal(layout.xaxis.title.text, "number");
  assert.deepEqual(layout.yaxis.range, [0, 1]);
});

test("a measure that no checkpoint has leaves no empty row", () => {
  const { data, layout } = trendFigure(
    { ...OVERVIEW, trends: { duration: TREND, bytes: TREND } },
    { colours, width: 900 },
  );
  assert.deepEqual(layout.annotations.map(({ text }) => text), ["Duration, s", "State, kB", "Failed"]);
  assert.equal(data.find(({ name }) => name === "failed").yaxis, "y3");
  assert.equal(layout.xaxis.anchor, "y3");
  const bare = trendFigure({ ...OVERVIEW, trends: {} }, { colours, width: 900 });
  assert.deepEqual(Object.keys(bare.layout).filter((name) => name.startsWith("yaxis")), ["yaxis"]);
  assert.equal(bare.data.find(({ name }) => name === "failed").yaxis, "y");
});

test("the part of the axis in view can be chosen, and no value lies outside the figure", () => {
  const { layout } = trendFigure({ ...OVERVIEW, axis: "number" }, { colours, width: 900, range: [200, 400] });
  assert.deepEqual(layout.xaxis.range, [200, 400]);
  assert.ok(layout.xaxis.tickvals.every((value) => value >= 200 && value <= 400));
  const all = trendFigure(OVERVIEW, { colours, width: 900 });
  for (const { x, y, yaxis } of all.data) {
    const [from, to] = all.layout.xaxis.range;
    assert.ok(x.every((at) => at >= from && at <= to));
    assert.ok(y.every((at) => at >= 0 && at <= all.layout[yaxis.replace("y", "yaxis")].range[1]));
  }
});

test("names are shown as they are, not as HTML", () => {
  const { data, layout } = slowestFigure(OVERVIEW, { colours, width: 500 });
  assert.equal(layout.yaxis.ticktext[0], "map &lt;a&gt;[0]");
  assert.equal(data[0].text[0][0], "map &lt;a&gt;[0]: 1 times");
});

test("a zoomed range becomes the form's time in UTC", () => {
  assert.equal(formTime(Date.UTC(2026, 10, 20, 16, 32, 15, 500)), "2026-11-20T16:32:15.500");
});
