/** The archive's pictures: trends of many checkpoints, and who was last over time. Pure. */

import { decode } from "../../lib/arrays.js";
import { clockTicks, numberTicks } from "../../lib/clock.js";
import { escapeText, thousands, ticks, unitFor } from "../../lib/format.js";

const MEASURES = [
  { name: "duration", title: "Duration", bytes: false },
  { name: "bytes", title: "State", bytes: true },
  { name: "alignment", title: "Alignment", bytes: false },
  { name: "start_delay", title: "Start delay", bytes: false },
];
/** @type {[string, number][]} */
const SIZES = [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]];
const GAP = 0.045; // of the picture's height, above a trend: its title stands there
const FAILED_SHARE = 0.09; // of it, for the failures
const ROOM = 1.06; // of the largest value, so that its mark is not cut off
const RIGHT = 16; // pixels beside a figure
const TICK = 110; // pixels, from one time to the next

/**
 * {data, layout} for Plotly and for a sketch of it. overview: as /api/archive/ID/overview; colours(name)
 * gives a colour. A measure without a trend has no row. range: what is in view of the axis; without it, all.
 */
export function trendFigure(overview, { colours, width, range = null }) {
  const known = MEASURES.filter(({ name }) => overview.trends[name]);
  const rows = known.map(
    (measure, place) => ({ ...measure, place, trend: unpacked(overview.trends[measure.name]) }),
  ).map(scaled);
  /** @type {Trace[]} */
  const data = rows.flatMap((row) => traces(row, colours));
  data.push(failures(overview, rows.length, colours));
  return { data, layout: layout(rows, overview, { colours, width, range: range ?? extent(rows, overview) }) };
}

/** The checkpoint at a clicked point: {pipeline, number}, or null. */
export function clicked(point) {
  const found = point?.customdata;
  return Array.isArray(found) ? { pipeline: found[0], number: found[1] } : null;
}

/** {data, layout}: a row for each subtask, darker where it was last more often. */
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
      ...base(colours),
      margin: { l: left, r: RIGHT, t: 8, b: 44 },
      xaxis: {
        ...axisX(axis, [edges[0], edges.at(-1)], width - left - RIGHT, colours),
        showgrid: false,
        fixedrange: true,
      },
      yaxis: {
        ...axisOf(colours),
        fixedrange: true,
        showgrid: false,
        range: [names.length - 0.5, -0.5],
        tickvals: names.map((_, row) => row),
        ticktext: names.map(escapeText),
      },
    },
  };
}

/** Milliseconds since 1970 as a form's datetime-local takes them, in UTC. */
export function formTime(milliseconds) {
  return new Date(milliseconds).toISOString().slice(0, 23);
}

function unpacked(trend) {
  const columns = {};
  for (const name of ["x", "low", "mid", "high", "number", "pipeline", "band_x", "lower", "upper"]) {
    columns[name] = Array.from(decode(trend[name]));
  }
  const outliers = {};
  for (const name of ["x", "y", "number", "pipeline"]) outliers[name] = Array.from(decode(trend.outliers[name]));
  return { ...trend, ...columns, outliers: { ...outliers, total: trend.outliers.total } };
}

/** In one unit that fits; `top` is how far the axis goes. */
function scaled(/** @type {any} */ { trend, ...row }) {
  const [unit, scale] = unitOf(trend, row.bytes);
  const own = (values) => values.map((value) => value * scale);
  const [low, mid, high, lower, upper, y] = [
    trend.low,
    trend.mid,
    trend.high,
    trend.lower,
    trend.upper,
    trend.outliers.y,
  ].map(own);
  const largest = [high, upper, y].flat().reduce((most, value) => Math.max(most, value), 0);
  return {
    ...row,
    unit,
    top: largest * ROOM || 1,
    trend: { ...trend, low, mid, high, lower, upper, outliers: { ...trend.outliers, y } },
  };
}

function traces({ title, unit, place, trend }, colours) {
  const at = { type: "scatter", xaxis: "x", yaxis: axisName(place), showlegend: false };
  const keys = ({ pipeline, number }, most) => number.map((each, row) => [pipeline[row], each, most?.[row]]);
  const own = trend.exact
    ? `%{customdata[1]}: %{y:.3~r} ${unit}`
    : `median %{y:.3~r} ${unit}, most %{customdata[2]:.3~r} ${unit} (%{customdata[1]})`;
  const outline = (name, x, low, high, opacity) => ({
    ...at,
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
  const found = [outline("band", trend.band_x, trend.lower, trend.upper, 0.16)];
  if (!trend.exact) found.push(outline("least to most", trend.x, trend.low, trend.high, 0.35));
  const few = trend.exact && trend.x.length <= 120;
  found.push({
    ...at,
    mode: few ? "lines+markers" : "lines",
    name: title,
    x: trend.x,
    y: trend.mid,
    customdata: keys(trend, trend.high),
    hovertemplate: `${title}<br>${own}<extra></extra>`,
    line: { color: colours("series-1"), width: 1.25 },
    marker: { size: 5 },
  });
  const { outliers } = trend;
  found.push({
    ...at,
    mode: "markers",
    name: "outlier",
    x: outliers.x,
    y: outliers.y,
    customdata: keys(outliers),
    hovertemplate: `${title}, an outlier<br>%{customdata[1]}: %{y:.3~r} ${unit}<extra></extra>`,
    marker: { color: colours("series-5"), size: 6, symbol: "circle-open", line: { width: 1.5 } },
  });
  return found;
}

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

function layout(rows, { axis, failures: { failed } }, { colours, width, range }) {
  const share = (1 - FAILED_SHARE - GAP * (rows.length + 1)) / (rows.length || 1);
  const axes = {};
  const notes = [];
  const put = (place, height, title, top, tickvals) => {
    const above = 1 - GAP - place * (share + GAP);
    axes[axisName(place, "yaxis")] = {
      ...axisOf(colours),
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
  rows.forEach(({ place, title, unit, top }) => put(place, share, `${title}, ${unit}`, top, ticks(0, top, 4)));
  const most = Math.max(1, ...decode(failed));
  put(rows.length, FAILED_SHARE, "Failed", most * ROOM, ticks(0, most, 2, true));
  const [left, narrow] = [52, width < 500];
  return {
    ...base(colours),
    bargap: 0,
    dragmode: narrow ? false : "zoom",
    margin: { l: left, r: RIGHT, t: 0, b: 44 }, // to fit them takes a second drawing
    hovermode: "closest",
    xaxis: { ...axisX(axis, range, width - left - RIGHT, colours), anchor: axisName(rows.length) },
    ...axes,
    annotations: notes,
  };
}

/** All that is drawn, and a little beside it. */
function extent(rows, { failures: { edges } }) {
  const all = [...decode(edges), ...rows.flatMap(({ trend }) => [trend.x[0], trend.x.at(-1)])].filter(Number.isFinite);
  const [from, to] = [Math.min(...all), Math.max(...all)];
  const beside = (to - from) / 200 || 1;
  return [from - beside, to + beside];
}

/** @returns {[string, number]} */
function unitOf(trend, bytes) {
  const largest = Math.max(1, ...trend.high.filter(Number.isFinite));
  if (bytes) {
    const [name, amount] = SIZES.filter(([, amount]) => amount <= largest).at(-1);
    return [name, 1 / amount];
  }
  const [name, nanoseconds] = unitFor(largest, "ms");
  return [name, 1e6 / nanoseconds];
}

/** Numbers and times alike: Plotly's own axis of dates reads every instant as a text. */
function axisX(axis, range, pixels, colours) {
  const { values, texts } = (axis === "time" ? clockTicks : numberTicks)(
    ...range,
    Math.max(2, Math.floor(pixels / TICK)),
  );
  const title = axis === "time" ? {} : { title: { text: "number", standoff: 4 } };
  return {
    ...axisOf(colours),
    type: "linear",
    range,
    tickvals: values,
    ticktext: texts,
    linecolor: colours("line"),
    tickcolor: colours("line"),
    ticks: "outside",
    ticklen: 4,
    ...title,
  };
}

/** As Plotly names the axis of a row. */
function axisName(place, of = "y") {
  return place ? `${of}${place + 1}` : of;
}

function axisOf(colours) {
  return {
    color: colours("text-soft"),
    gridcolor: colours("line"),
    zeroline: false,
    ticks: "",
    tickfont: { color: colours("text-soft") },
  };
}

function base(colours) {
  return {
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colours("text") },
  };
}

/** "rgb(1, 2, 3)" with an opacity. */
function faded(colour, opacity) {
  const parts = colour.match(/[\d.]+/g);
  return parts ? `rgba(${parts.slice(0, 3).join(", ")}, ${opacity})` : colour;
}

function shortened(name) {
  const letters = [...name];
  return letters.length > 22 ? `${letters.slice(0, 10).join("")}…${letters.slice(-11).join("")}` : name;
}
