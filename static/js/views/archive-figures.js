/** The archive's pictures: trends of many checkpoints, and who was last over time. Pure. */

import { decode } from "../lib/arrays.js";
import { escapeText, thousands, unitFor } from "../lib/format.js";

const MEASURES = [
  { name: "duration", title: "Duration", bytes: false },
  { name: "bytes", title: "State", bytes: true },
  { name: "alignment", title: "Alignment", bytes: false },
  { name: "start_delay", title: "Start delay", bytes: false },
];
const SIZES = [["B", 1], ["kB", 1e3], ["MB", 1e6], ["GB", 1e9], ["TB", 1e12]];
const GAP = 0.035; // of the picture's height, between two trends
const FAILED_SHARE = 0.1; // of it, for the failures

/** {data, layout} for Plotly. overview: as /api/archive/ID/overview; colours(name) gives a colour. */
export function trendFigure(overview, { colours, width }) {
  const rows = MEASURES.map((measure, place) => ({ ...measure, place, trend: unpacked(overview.trends[measure.name]) }));
  const data = rows.flatMap((row) => traces(row, overview.axis, colours));
  data.push(failures(overview, colours));
  return { data, layout: layout(rows, overview, colours, width) };
}

/** The checkpoint at a clicked point: {pipeline, number}, or null. */
export function clicked(point) {
  const found = point?.customdata;
  return Array.isArray(found) ? { pipeline: found[0], number: found[1] } : null;
}

/** {data, layout}: a row for each subtask, darker where it was last more often. */
export function slowestFigure({ axis, slowest }, { colours }) {
  const names = slowest.names.map(shortened);
  const edges = Array.from(decode(slowest.edges));
  const data = [{
    type: "heatmap",
    x: edges,
    y: names.map((_, row) => row),
    z: slowest.counts,
    text: slowest.counts.map((row, place) => row.map((count) => `${escapeText(slowest.names[place])}: ${thousands(count)} times`)),
    hovertemplate: "%{text}<extra></extra>",
    colorscale: [[0, colours("surface")], [1, colours("series-5")]],
    showscale: false,
    ygap: 2,
  }];
  const own = base(colours);
  return {
    data,
    layout: {
      ...own,
      margin: { l: 16 + 7 * Math.max(0, ...names.map(({ length }) => length)), r: 16, t: 8, b: 40 },
      xaxis: { ...axisOf(colours), ...kindOf(axis), fixedrange: true },
      yaxis: { ...axisOf(colours), fixedrange: true, showgrid: false, range: [names.length - 0.5, -0.5], tickvals: names.map((_, row) => row), ticktext: names.map(escapeText) },
    },
  };
}

/** Milliseconds since 1970 as a form's datetime-local takes them, in UTC. */
export function formTime(milliseconds) {
  return new Date(milliseconds).toISOString().slice(0, 23);
}

/** What Plotly says of an axis of dates, as milliseconds since 1970; numbers pass. */
export function instantOf(value) {
  return typeof value === "number" ? value : Date.parse(`${String(value).replace(" ", "T")}Z`);
}

function unpacked(trend) {
  const columns = {};
  for (const name of ["x", "low", "mid", "high", "number", "pipeline", "band_x", "lower", "upper"]) columns[name] = Array.from(decode(trend[name]));
  const outliers = {};
  for (const name of ["x", "y", "number", "pipeline"]) outliers[name] = Array.from(decode(trend.outliers[name]));
  return { ...trend, ...columns, outliers: { ...outliers, total: trend.outliers.total } };
}

function traces({ title, bytes, place, trend }, axis, colours) {
  const [unit, scale] = unitOf(trend, bytes);
  const at = { xaxis: "x", yaxis: `y${place + 1}`, showlegend: false };
  const scaled = (values) => values.map((value) => value * scale);
  const keys = ({ pipeline, number }, most) => number.map((each, row) => [pipeline[row], each, most?.[row] * scale]);
  const own = trend.exact ? `%{customdata[1]}: %{y:.3~r} ${unit}` : `median %{y:.3~r} ${unit}, most %{customdata[2]:.3~r} ${unit} (%{customdata[1]})`;
  const soft = { mode: "lines", type: "scatter", line: { width: 0 }, hoverinfo: "skip" };
  const found = [
    { ...at, ...soft, name: "band", x: trend.band_x, y: scaled(trend.lower) },
    { ...at, ...soft, name: "band", x: trend.band_x, y: scaled(trend.upper), fill: "tonexty", fillcolor: faded(colours("series-1"), 0.16) },
  ];
  if (!trend.exact) {
    found.push(
      { ...at, ...soft, name: "least", x: trend.x, y: scaled(trend.low) },
      { ...at, ...soft, name: "most", x: trend.x, y: scaled(trend.high), fill: "tonexty", fillcolor: faded(colours("series-1"), 0.35) },
    );
  }
  const few = trend.exact && trend.x.length <= 120;
  found.push({
    ...at,
    type: "scatter",
    mode: few ? "lines+markers" : "lines",
    name: title,
    x: trend.x,
    y: scaled(trend.mid),
    customdata: keys(trend, trend.high),
    hovertemplate: `${title}<br>${own}<extra></extra>`,
    line: { color: colours("series-1"), width: 1.25 },
    marker: { size: 5 },
  });
  const { outliers } = trend;
  found.push({
    ...at,
    type: "scatter",
    mode: "markers",
    name: "outlier",
    x: outliers.x,
    y: scaled(outliers.y),
    customdata: keys(outliers),
    hovertemplate: `${title}, an outlier<br>%{customdata[1]}: %{y:.3~r} ${unit}<extra></extra>`,
    marker: { color: colours("series-5"), size: 6, symbol: "circle-open", line: { width: 1.5 } },
  });
  return found;
}

function failures({ failures: { edges, failed } }, colours) {
  const ends = Array.from(decode(edges));
  const counts = Array.from(decode(failed));
  return {
    type: "bar",
    name: "failed",
    xaxis: "x",
    yaxis: `y${MEASURES.length + 1}`,
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

function layout(rows, { axis, failures: { failed } }, colours, width) {
  const own = base(colours);
  const most = Math.max(0, ...decode(failed));
  const share = (1 - FAILED_SHARE - GAP * rows.length) / rows.length;
  const names = width < 500 ? 10 : 12;
  const axes = {};
  rows.forEach(({ place, title, bytes, trend }) => {
    const top = 1 - place * (share + GAP);
    const key = place ? `yaxis${place + 1}` : "yaxis";
    const text = `${title}, ${unitOf(trend, bytes)[0]}`;
    axes[key] = { ...axisOf(colours), domain: [top - share, top], fixedrange: true, rangemode: "tozero", nticks: 4, title: { text, font: { size: names } } };
  });
  axes[`yaxis${rows.length + 1}`] = { ...axisOf(colours), domain: [0, FAILED_SHARE], fixedrange: true, rangemode: "tozero", ...(most <= 3 ? { dtick: 1 } : { nticks: 3 }), title: { text: "Failed", font: { size: names } } };
  return {
    ...own,
    bargap: 0,
    dragmode: width < 500 ? false : "zoom",
    margin: { l: width < 500 ? 52 : 64, r: 16, t: 8, b: 44 }, // to fit them takes a second drawing
    hovermode: "closest",
    xaxis: { ...axisOf(colours), ...kindOf(axis), anchor: `y${rows.length + 1}` },
    ...axes,
  };
}

function unitOf(trend, bytes) {
  const largest = Math.max(1, ...trend.high.filter(Number.isFinite));
  if (bytes) {
    const [name, amount] = SIZES.filter(([, amount]) => amount <= largest).at(-1);
    return [name, 1 / amount];
  }
  const [name, nanoseconds] = unitFor(largest, "ms");
  return [name, 1e6 / nanoseconds];
}

function kindOf(axis) {
  return axis === "time" ? { type: "date" } : { type: "linear", title: { text: "number" } };
}

function axisOf(colours) {
  return { color: colours("text-soft"), gridcolor: colours("line"), zeroline: false };
}

function base(colours) {
  return { autosize: true, paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: "system-ui, sans-serif", size: 12, color: colours("text") } };
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
