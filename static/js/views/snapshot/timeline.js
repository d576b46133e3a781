/** When each process recorded for a snapshot, as a Plotly figure. Pure. */

import { axisLine, figureLayout, quietAxis, verticalLine } from "../../lib/figure-style.js";
import { escapeText, instant, shortened, thousands, ticks, unitFor } from "../../lib/format.js";

const MOST_NAMED = 21; // rows whose names fit the height of the figure in pages.css
const LONGEST_NAME = 24; // characters
const RIGHT = 16; // pixels beside the figure
const TICK = 90; // pixels from one tick to the next
const BESIDE = 0.04; // share of the axis before the first instant and after the last

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

/** @param {TimelinePayload} timeline @param {FigureOptions} options */
export function timelineLayout(timeline, { colours, width }) {
  const { processes } = timeline;
  const names = processes.length > MOST_NAMED ? [] : processes.map((name) => shortened(name, LONGEST_NAME));
  const left = 16 + 7 * Math.max(0, ...names.map(({ length }) => length));
  const ends = [timeline.began_at, timeline.ended_at].filter((at) => at !== null).map((at) => scaled(at, timeline));
  const range = rangeOf([...timeline.at.map((at) => scaled(at, timeline)), ...ends]);
  const tickvals = ticks(range[0], range[1], Math.max(3, Math.floor((width - left - RIGHT) / TICK)));
  return {
    ...figureLayout(colours),
    margin: { l: left, r: RIGHT, t: 28, b: 44 },
    showlegend: false, // index.js lists the traces above the figure
    hovermode: "closest",
    xaxis: {
      ...quietAxis(colours),
      ...axisLine(colours),
      range,
      tickvals,
      ticktext: tickvals.map(thousands),
      title: { text: `time since the start, ${unitOf(timeline)[0]}`, standoff: 4, font: { size: 12 } },
    },
    yaxis: {
      ...quietAxis(colours),
      range: [processes.length - 0.5, -0.5],
      tickvals: names.map((_, row) => row),
      ticktext: names.map(escapeText),
    },
    shapes: ends.map((at) => verticalLine(at, { color: colours("cut"), width: 1, dash: "dot" })),
  };
}

/**
 * Returns the axis on which all instants are seen.
 * @param {number[]} instants
 */
function rangeOf(instants) {
  const [from, to] = [Math.min(...instants), Math.max(...instants)];
  const beside = (to - from) * BESIDE || 0.5;
  return [from - beside, to + beside];
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
