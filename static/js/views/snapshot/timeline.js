/** Who recorded when, as a Plotly figure. Pure. */

import { escapeText, instant, unitFor } from "../../lib/format.js";

const MOST_NAMED = 21; // rows whose names fit the height that pages.css gives

/** timeline: {processes, at, initiators, began_at, ended_at, unit}; colors(name) gives a colour. */
export function timelineTraces(timeline, colors) {
  const began = new Set(timeline.initiators);
  const span = spanOf(timeline);
  const rows = timeline.processes.map((process, row) => ({ process, row, at: timeline.at[row] }));
  const trace = (name, chosen, color, symbol) => ({
    name,
    type: "scatter",
    mode: "markers",
    x: chosen.map(({ at }) => scaled(at, timeline)),
    y: chosen.map(({ row }) => row),
    text: chosen.map(({ process, at }) => `${escapeText(process)}<br>${instant(at, timeline.unit, span)}`),
    hovertemplate: "%{text}<extra></extra>",
    marker: { symbol, size: 10, color: colors(color) },
  });
  return [
    trace("initiator", rows.filter(({ process }) => began.has(process)), "marker", "diamond"),
    trace("recorded", rows.filter(({ process }) => !began.has(process)), "recorded", "circle"),
  ].filter(({ x }) => x.length > 0);
}

export function timelineLayout(timeline, colors) {
  const { processes } = timeline;
  const many = processes.length > MOST_NAMED;
  const axis = { color: colors("text-soft"), gridcolor: colors("line"), zeroline: false, fixedrange: false };
  const wall = (at) => (
    {
      type: "line",
      yref: "paper",
      y0: 0,
      y1: 1,
      x0: scaled(at, timeline),
      x1: scaled(at, timeline),
      line: { color: colors("cut"), width: 1, dash: "dot" },
    }
  );
  return {
    autosize: true,
    margin: { l: 16, r: 16, t: 32, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colors("text") },
    showlegend: true,
    legend: { orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom" },
    hovermode: "closest",
    xaxis: { ...axis, automargin: true, title: { text: `time since the start, ${unitOf(timeline)[0]}` } },
    yaxis: {
      ...axis,
      automargin: true,
      autorange: false,
      range: [processes.length - 0.5, -0.5],
      ...(many
        ? { title: { text: "processes, in the order of the topology" }, showticklabels: false }
        : { tickvals: processes.map((_, row) => row), ticktext: processes.map((name) => escapeText(shortened(name))) }),
    },
    shapes: [timeline.began_at, timeline.ended_at].filter((at) => at !== null).map(wall),
  };
}

function spanOf({ at }) {
  return Math.max(...at) - Math.min(...at);
}

/** One unit for the whole axis, fit for its latest instant. */
function unitOf({ at, ended_at: ended, unit }) {
  return unitFor(Math.max(...at, ended ?? 0), unit);
}

function scaled(at, timeline) {
  const [, size] = unitOf(timeline);
  const [, own] = unitFor(0, timeline.unit);
  return size === null ? at : (at * own) / size;
}


function shortened(name) {
  const letters = [...name];
  return letters.length > 24 ? `${letters.slice(0, 23).join("")}…` : name;
}
