/** When each process recorded for a snapshot, as a Plotly figure. Pure. */

import { figureLayout, verticalLine } from "../../lib/figure-style.js";
import { escapeText, instant, shortened, unitFor } from "../../lib/format.js";

const MOST_NAMED = 21; // rows whose names fit the height of the figure in pages.css
const LONGEST_NAME = 24; // characters

/**
 * Makes a trace of the initiators and one of the other processes.
 * @param {TimelinePayload} timeline @param {Colours} colours
 */
export function timelineTraces(timeline, colours) {
  const began = new Set(timeline.initiators);
  const span = spanOf(timeline);
  const rows = timeline.processes.map((process, row) => ({ process, row, at: timeline.at[row] }));
  /** @param {string} name @param {any[]} chosen @param {string} color @param {string} symbol */
  const trace = (name, chosen, color, symbol) => ({
    name,
    type: "scatter",
    mode: "markers",
    x: chosen.map(({ at }) => scaled(at, timeline)),
    y: chosen.map(({ row }) => row),
    text: chosen.map(({ process, at }) => `${escapeText(process)}<br>${instant(at, timeline.unit, span)}`),
    hovertemplate: "%{text}<extra></extra>",
    marker: { symbol, size: 10, color: colours(color) },
  });
  return [
    trace("initiator", rows.filter(({ process }) => began.has(process)), "marker", "diamond"),
    trace("recorded", rows.filter(({ process }) => !began.has(process)), "recorded", "circle"),
  ].filter(({ x }) => x.length > 0);
}

/** @param {TimelinePayload} timeline @param {Colours} colours */
export function timelineLayout(timeline, colours) {
  const { processes } = timeline;
  const axis = { color: colours("text-soft"), gridcolor: colours("line"), zeroline: false, fixedrange: false };
  const names = processes.map((name) => escapeText(shortened(name, LONGEST_NAME)));
  const line = { color: colours("cut"), width: 1, dash: "dot" };
  return {
    ...figureLayout(colours),
    margin: { l: 16, r: 16, t: 32, b: 44 },
    showlegend: true,
    legend: { orientation: "h", x: 1, xanchor: "right", y: 1, yanchor: "bottom" },
    hovermode: "closest",
    xaxis: { ...axis, automargin: true, title: { text: `time since the start, ${unitOf(timeline)[0]}` } },
    yaxis: {
      ...axis,
      automargin: true,
      autorange: false,
      range: [processes.length - 0.5, -0.5],
      ...(processes.length > MOST_NAMED
        ? { title: { text: "processes, in the order of the topology" }, showticklabels: false }
        : { tickvals: names.map((_, row) => row), ticktext: names }),
    },
    shapes: [timeline.began_at, timeline.ended_at]
      .filter((at) => at !== null)
      .map((at) => verticalLine(scaled(at, timeline), line)),
  };
}

/** @param {TimelinePayload} timeline */
function spanOf({ at }) {
  return Math.max(...at) - Math.min(...at);
}

/**
 * Returns the unit of the axis, which fits its latest instant.
 * @param {TimelinePayload} timeline
 */
function unitOf({ at, ended_at: ended, unit }) {
  return unitFor(Math.max(...at, ended ?? 0), unit);
}

/** @param {number} at @param {TimelinePayload} timeline */
function scaled(at, timeline) {
  const [, size] = unitOf(timeline);
  const [, unitSize] = unitFor(0, timeline.unit);
  return size === null ? at : (at * unitSize) / size;
}
