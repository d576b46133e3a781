/** The archive's figures: trends of many checkpoints, and which subtask was last over time. Pure. */

import { decode } from "../../lib/arrays.js";
import { clockTicks, numberTicks } from "../../lib/clock.js";
import { axisLine, figureLayout, quietAxis } from "../../lib/figure-style.js";
import { escapeText, thousands, ticks, unitFor } from "../../lib/format.js";

const MEASURES = [
  { name: "duration", title: "Duration", bytes: false },
  { name: "bytes", title: "State", bytes: true },
  { name: "alignment", title: "Alignment", bytes: false },
  { name: "start_delay", title: "Start delay", bytes: false },
];
/** @type {[string, number][]} */
const SIZES = [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]];
const GAP = 0.045; // share of the figure's height for the title above a trend
const FAILED_SHARE = 0.09; // share of the figure's height for the failures
const ROOM = 1.06; // share of the largest value at the top of an axis, so that its mark is not cut off
const RIGHT = 16; // pixels beside a figure
const TICK = 110; // pixels from one tick to the next

/**
 * Makes the figure of the trends. A measure without a trend has no row.
 *
 * overview: the answer of /api/archive/ID/overview. range: the part of the axis in view, null for all.
 * @param {OverviewPayload} overview @param {FigureOptions} options @returns {Figure}
 */
export function trendFigure(overview, { colours, width, range = null }) {
  const rows = MEASURES.filter(({ name }) => overview.trends[name]).map(
    (measure, place) => scaled({ ...measure, place, trend: decodeTrend(overview.trends[measure.name]) }),
  );
  /** @type {Trace[]} */
  const data = rows.flatMap((row) => trendTraces(row, colours));
  data.push(failures(overview, rows.length, colours));
  return { data, layout: layout(rows, overview, { colours, width, range: range ?? extent(rows, overview) }) };
}

/**
 * Returns the checkpoint at a clicked point, or null.
 * @param {{ customdata?: any } | undefined} point
 */
export function clicked(point) {
  const key = point?.customdata;
  return Array.isArray(key) ? { pipeline: key[0], number: key[1] } : null;
}

/**
 * Makes the figure with a row for each subtask, darker where it was the last one more often.
 * @param {OverviewPayload} overview @param {FigureOptions} options @returns {Figure}
 */
export function slowestFigure({ axis, slowest }, { colours, width }) {
  const names = slowest.names.map(shortened);
  const edges = Array.from(decode(slowest.edges));
  const left = 16 + 7 * Math.max(0, ...names.map(({ length }) => length));
  const data = [{
    type: "heatmap",
    x: edges,
    y: names.map((_, row) => row),
    z: slowest.counts,
    zmin: 0,
    zmax: Math.max(1, ...slowest.counts.flat()),
    text: slowest.counts.map(
      (row, place) => row.map((count) => `${escapeText(slowest.names[place])}: ${thousands(count)} times`),
    ),
    hovertemplate: "%{text}<extra></extra>",
    colorscale: [[0, colours("surface")], [1, colours("series-5")]],
    showscale: false,
    ygap: 2,
  }];
  return {
    data,
    layout: {
      ...figureLayout(colours),
      margin: { l: left, r: RIGHT, t: 8, b: 44 },
      xaxis: {
        ...axisX(axis, [edges[0], edges.at(-1)], width - left - RIGHT, colours),
        showgrid: false,
        fixedrange: true,
      },
      yaxis: {
        ...quietAxis(colours),
        fixedrange: true,
        showgrid: false,
        range: [names.length - 0.5, -0.5],
        tickvals: names.map((_, row) => row),
        ticktext: names.map(escapeText),
      },
    },
  };
}

/**
 * Writes milliseconds since 1970 as the value of a datetime-local input, in UTC.
 * @param {number} milliseconds
 */
export function formTime(milliseconds) {
  return new Date(milliseconds).toISOString().slice(0, 23);
}

/** @param {any} trend */
function decodeTrend(trend) {
  /** @type {Record<string, any>} */
  const columns = {};
  for (const name of ["x", "low", "mid", "high", "number", "pipeline", "band_x", "lower", "upper"]) {
    columns[name] = Array.from(decode(trend[name]));
  }
  /** @type {Record<string, any>} */
  const outliers = {};
  for (const name of ["x", "y", "number", "pipeline"]) outliers[name] = Array.from(decode(trend.outliers[name]));
  return { ...trend, ...columns, outliers: { ...outliers, total: trend.outliers.total } };
}

/** Scales the values of a row to one unit that fits. `top` is the end of its axis. */
function scaled(/** @type {any} */ { trend, ...row }) {
  const [unit, scale] = unitOf(trend, row.bytes);
  const columns = [trend.low, trend.mid, trend.high, trend.lower, trend.upper, trend.outliers.y];
  const [low, mid, high, lower, upper, y] = columns.map(
    (/** @type {number[]} */ values) => values.map((value) => value * scale),
  );
  const largest = [high, upper, y].flat().reduce((most, value) => Math.max(most, value), 0);
  return {
    ...row,
    unit,
    top: largest * ROOM || 1,
    trend: { ...trend, low, mid, high, lower, upper, outliers: { ...trend.outliers, y } },
  };
}

/**
 * @param {{ title: string, unit: string, place: number, trend: any }} row @param {Colours} colours
 * @returns {Trace[]}
 */
function trendTraces({ title, unit, place, trend }, colours) {
  const base = { type: "scatter", xaxis: "x", yaxis: axisName(place), showlegend: false };
  /** @param {{ pipeline: number[], number: number[] }} points @param {number[]} [most] */
  const keys = ({ pipeline, number }, most) => pipeline.map((each, row) => [each, number[row], most?.[row]]);
  const hoverText = trend.exact
    ? `%{customdata[1]}: %{y:.3~r} ${unit}`
    : `median %{y:.3~r} ${unit}, most %{customdata[2]:.3~r} ${unit} (%{customdata[1]})`;
  /** @param {string} name @param {number[]} x @param {number[]} low @param {number[]} high @param {number} opacity */
  const outline = (name, x, low, high, opacity) => ({
    ...base,
    name,
    mode: "lines",
    x: [...x, ...x.toReversed()],
    y: [...low, ...high.toReversed()],
    fill: "toself",
    fillcolor: faded(colours("series-1"), opacity),
    line: { width: 0 },
    hoverinfo: "skip",
  });
  /** @type {Trace[]} */
  const traces = [outline("band", trend.band_x, trend.lower, trend.upper, 0.16)];
  if (!trend.exact) traces.push(outline("least to most", trend.x, trend.low, trend.high, 0.35));
  const isSparse = trend.exact && trend.x.length <= 120;
  traces.push({
    ...base,
    mode: isSparse ? "lines+markers" : "lines",
    name: title,
    x: trend.x,
    y: trend.mid,
    customdata: keys(trend, trend.high),
    hovertemplate: `${title}<br>${hoverText}<extra></extra>`,
    line: { color: colours("series-1"), width: 1.25 },
    marker: { size: 5 },
  });
  const { outliers } = trend;
  traces.push({
    ...base,
    mode: "markers",
    name: "outlier",
    x: outliers.x,
    y: outliers.y,
    customdata: keys(outliers),
    hovertemplate: `${title}, an outlier<br>%{customdata[1]}: %{y:.3~r} ${unit}<extra></extra>`,
    marker: { color: colours("series-5"), size: 6, symbol: "circle-open", line: { width: 1.5 } },
  });
  return traces;
}

/** @param {OverviewPayload} overview @param {number} place @param {Colours} colours @returns {Trace} */
function failures({ failures: { edges, failed } }, place, colours) {
  const ends = Array.from(decode(edges));
  const counts = Array.from(decode(failed));
  return {
    type: "bar",
    name: "failed",
    xaxis: "x",
    yaxis: axisName(place),
    showlegend: false,
    x: counts.map((_, bin) => (ends[bin] + ends[bin + 1]) / 2),
    width: counts.map((_, bin) => ends[bin + 1] - ends[bin]),
    y: counts,
    text: counts.map((count) => `${thousands(count)} failed`),
    textposition: "none",
    hovertemplate: "%{text}<extra></extra>",
    marker: { color: colours("orphan") },
  };
}

/** @param {any[]} rows @param {OverviewPayload} overview @param {FigureOptions} options */
function layout(rows, { axis, failures: { failed } }, { colours, width, range }) {
  const share = (1 - FAILED_SHARE - GAP * (rows.length + 1)) / (rows.length || 1);
  /** @type {Record<string, any>} */
  const axes = {};
  /** @type {Layout[]} */
  const notes = [];
  /**
   * @param {number} place @param {number} height @param {string} title @param {number} top @param {number[]} tickvals
   */
  const addAxis = (place, height, title, top, tickvals) => {
    const above = 1 - GAP - place * (share + GAP);
    axes[axisName(place, "yaxis")] = {
      ...quietAxis(colours),
      domain: [Math.max(0, above - height), above],
      fixedrange: true,
      range: [0, top],
      tickvals,
      ticktext: tickvals.map(thousands),
    };
    notes.push({
      xref: "paper",
      yref: "paper",
      x: 0,
      y: above,
      xanchor: "left",
      yanchor: "bottom",
      showarrow: false,
      text: title,
      font: { color: colours("text-soft") },
    });
  };
  rows.forEach(({ place, title, unit, top }) => addAxis(place, share, `${title}, ${unit}`, top, ticks(0, top, 4)));
  const most = Math.max(1, ...decode(failed));
  addAxis(rows.length, FAILED_SHARE, "Failed", most * ROOM, ticks(0, most, 2, true));
  const left = 52;
  return {
    ...figureLayout(colours),
    bargap: 0,
    dragmode: width < 500 ? false : "zoom",
    margin: { l: left, r: RIGHT, t: 0, b: 44 }, // fixed, for to fit margins Plotly draws twice
    hovermode: "closest",
    xaxis: { ...axisX(axis, range, width - left - RIGHT, colours), anchor: axisName(rows.length) },
    ...axes,
    annotations: notes,
  };
}

/**
 * Returns the ends of all that is drawn, with a small margin.
 * @param {any[]} rows @param {OverviewPayload} overview
 */
function extent(rows, { failures: { edges } }) {
  const all = [...decode(edges), ...rows.flatMap(({ trend }) => [trend.x[0], trend.x.at(-1)])].filter(Number.isFinite);
  const [from, to] = [Math.min(...all), Math.max(...all)];
  const beside = (to - from) / 200 || 1;
  return [from - beside, to + beside];
}

/** @param {any} trend @param {boolean} bytes @returns {[string, number]} */
function unitOf(trend, bytes) {
  const largest = Math.max(1, ...trend.high.filter(Number.isFinite));
  if (bytes) {
    const [name, amount] = SIZES.filter(([, amount]) => amount <= largest).at(-1);
    return [name, 1 / amount];
  }
  const [name, nanoseconds] = unitFor(largest, "ms");
  return [name, 1e6 / nanoseconds];
}

/**
 * Makes the x axis. Its instants stay numbers, for Plotly's own axis of dates reads each as a text.
 * @param {string} axis @param {number[]} range @param {number} pixels @param {Colours} colours
 */
function axisX(axis, range, pixels, colours) {
  const count = Math.max(2, Math.floor(pixels / TICK));
  const { values, texts } = (axis === "time" ? clockTicks : numberTicks)(range[0], range[1], count);
  const title = axis === "time" ? {} : { title: { text: "number", standoff: 4 } };
  return {
    ...quietAxis(colours),
    type: "linear",
    range,
    tickvals: values,
    ticktext: texts,
    ...axisLine(colours),
    ...title,
  };
}

/**
 * Returns Plotly's name of the axis of a row: "y", "y2", … or "yaxis", "yaxis2", …
 * @param {number} place @param {string} [prefix]
 */
function axisName(place, prefix = "y") {
  return place ? `${prefix}${place + 1}` : prefix;
}

/**
 * Adds an opacity to a colour, "rgb(1, 2, 3)".
 * @param {string} colour @param {number} opacity
 */
function faded(colour, opacity) {
  const parts = colour.match(/[\d.]+/g);
  return parts ? `rgba(${parts.slice(0, 3).join(", ")}, ${opacity})` : colour;
}

/** @param {string} name */
function shortened(name) {
  const letters = [...name];
  return letters.length > 22 ? `${letters.slice(0, 10).join("")}…${letters.slice(-11).join("")}` : name;
}
