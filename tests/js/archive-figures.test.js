import assert from "node:assert/strict";
import { test } from "node:test";
import { encode } from "../../static/js/lib/arrays.js";
import { clicked, formTime, instantOf, slowestFigure, trendFigure } from "../../static/js/views/archive-figures.js";

const colours = () => "rgb(1, 2, 3)";
const f8 = (...numbers) => encode(numbers, "f8");
const TREND = { x: f8(0, 1000), low: f8(100, 2000), mid: f8(100, 2000), high: f8(100, 2000), number: f8(1, 2), pipeline: f8(0, 0), exact: true, band_x: f8(0, 1000), lower: f8(0, 0), upper: f8(300, 300), outliers: { x: f8(1000), y: f8(2000), number: f8(2), pipeline: f8(0), total: 1 } };
const OVERVIEW = {
  axis: "time",
  trends: { duration: TREND, bytes: TREND, alignment: TREND, start_delay: TREND },
  failures: { edges: f8(0, 500, 1000), failed: f8(0, 1), completed: f8(1, 0) },
  slowest: { names: ["map <a>[0]", "b[1]"], edges: f8(0, 500, 1000), counts: [[1, 0], [0, 1]] },
};

test("each measure has an axis of its own in a unit that fits, and failures stand below", () => {
  const { data, layout } = trendFigure(OVERVIEW, { colours, width: 900 });
  assert.deepEqual([layout.yaxis.title.text, layout.yaxis2.title.text, layout.yaxis5.title.text], ["Duration, s", "State, kB", "Failed"]);
  const duration = data.find(({ name }) => name === "Duration");
  assert.deepEqual(duration.y, [0.1, 2]);
  assert.deepEqual(data.find(({ name }) => name === "failed").y, [0, 1]);
  assert.equal(layout.xaxis.type, "date");
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
  const { data } = trendFigure({ ...OVERVIEW, trends: { duration: many, bytes: many, alignment: many, start_delay: many } }, { colours, width: 300 });
  assert.equal(data.filter(({ name }) => name === "most").length, 4);
});

test("an empty trend breaks nothing", () => {
  const none = { ...TREND, x: f8(), low: f8(), mid: f8(), high: f8(), number: f8(), pipeline: f8(), band_x: f8(), lower: f8(), upper: f8(), outliers: { x: f8(), y: f8(), number: f8(), pipeline: f8(), total: 0 } };
  const { layout } = trendFigure({ ...OVERVIEW, axis: "number", trends: { duration: none, bytes: none, alignment: none, start_delay: none } }, { colours, width: 900 });
  assert.equal(layout.xaxis.type, "linear");
});

test("names are shown as they are, not as HTML", () => {
  const { data, layout } = slowestFigure(OVERVIEW, { colours });
  assert.equal(layout.yaxis.ticktext[0], "map &lt;a&gt;[0]");
  assert.equal(data[0].text[0][0], "map &lt;a&gt;[0]: 1 times");
});

test("what is zoomed to becomes the form's time in UTC", () => {
  assert.equal(formTime(instantOf("2026-11-20 16:32:15.5")), "2026-11-20T16:32:15.500");
  assert.equal(instantOf(12), 12);
});
