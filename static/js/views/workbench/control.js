/** The lanes of tasks and coordinators as Plotly traces: what a task is doing, and what is said beside the channels. */

import { escapeText } from "../../lib/format.js";
import { faded } from "./colours.js";

const LETTER = 6.4; // pixels of a letter of what is said
const SHORTEST = 26; // letters for which there is to be room before the cursor
const LINE = 15; // pixels of a line of it
const NEVER = 0.6; // share of its way at which a signal that arrives nowhere ends

/**
 * How each doing is drawn: its colour, how thick its band is, and where it stands in its lane, in bands.
 * @type {Record<string, (colours: WorkbenchColours) => [string, number, number]>}
 */
const BANDS = {
  running: ({ recorded }) => [faded(recorded, 0.45), 1, 0],
  aligning: ({ marker }) => [faded(marker, 0.75), 1, 0],
  copying: ({ accent }) => [accent, 1, 0],
  finished: ({ rule }) => [rule, 1, 0],
  down: ({ orphan }) => [faded(orphan, 0.85), 1, 0],
  restoring: ({ restoring }) => [faded(restoring, 0.7), 1, 0],
  uploading: ({ uploading }) => [uploading, 0.3, 0.75],
  acknowledged: ({ consistent }) => [consistent, 0.3, 0.75],
  blocked: ({ orphan }) => [orphan, 0.3, -0.75],
};

/**
 * The mark at the end of a signal, and how it is turned.
 * @type {Record<string, [string, number]>}
 */
const ENDS = { trigger: ["triangle-up", 180], ack: ["triangle-up", 0], decline: ["x", 0], notify: ["diamond", 0] };

/**
 * Returns a trace for each doing of tasks that is in the window.
 * @param {Scene} scene @returns {Trace[]}
 */
export function bands({ window, colours, g }) {
  const thick = Math.min(11, (g.pitch || 30) * 0.5);
  return Object.entries(BANDS).flatMap(([what, look]) => {
    const own = window.control.doings.filter((doing) => doing.what === what && isAlone(g, doing.process));
    if (!own.length) return [];
    const [color, share, shift] = look(colours);
    const offset = (shift * thick) / (g.pitch || 30);
    const x = own.flatMap(({ since, until }) => [g.scale.u(since), g.scale.u(until), null]);
    const y = own.flatMap(({ process }) => [g.slot(process) + offset, g.slot(process) + offset, null]);
    const line = { color, width: Math.max(thick * share, 2), dash: "solid", simplify: false };
    return [{ type: "scatter", mode: "lines", name: what, x, y, line, hoverinfo: "skip", connectgaps: false }];
  });
}

/**
 * Returns whether a process is in view on a lane of its own.
 * @param {Geometry} g @param {number} process
 */
function isAlone(g, process) {
  return g.shows(process) && g.rows[g.slot(process)].processes.length === 1;
}

/**
 * Returns the lanes of coordinators, and what they and the tasks say to each other, with a mark at the end of each.
 * @param {Scene} scene @returns {Trace[]}
 */
export function signals({ window, colours, g, topology, bounds, lanes }) {
  if (!lanes?.control) return [];
  const [left, right] = [g.scale.u(bounds.from), g.scale.u(bounds.to)];
  const own = topology.coordinators.filter((process) => g.shows(process)).map(g.slot);
  const lane = dotted("coordinator", colours.control, 2, "dash");
  /** @type {Trace[]} */
  const traces = [{ ...lane, x: own.flatMap(() => [left, right, null]), y: own.flatMap((y) => [y, y, null]) }];
  for (const [kind, [symbol, angle]] of Object.entries(ENDS)) {
    const lines = window.control.signals.filter((signal) => signal.kind === kind).flatMap((signal) => {
      const way = wayOf(signal, g);
      return way ? [way] : [];
    });
    if (!lines.length) continue;
    const color = kind === "decline" ? colours.orphan : colours.control;
    const ends = lines.filter(({ arrives }) => arrives);
    traces.push({
      ...dotted(kind, color, 1.2, "dot"),
      x: lines.flatMap(({ x0, x1 }) => [x0, x1, null]),
      y: lines.flatMap(({ y0, y1 }) => [y0, y1, null]),
    }, {
      type: "scatter",
      mode: "markers",
      name: `${kind} arrives`,
      x: ends.map(({ x1 }) => x1),
      y: ends.map(({ y1 }) => y1),
      marker: { symbol, angle, size: 7, color, line: { width: 0, color } },
      hoverinfo: "skip",
    });
  }
  return traces;
}

/** @param {string} name @param {string} color @param {number} width @param {string} dash @returns {Trace} */
function dotted(name, color, width, dash) {
  const line = { color, width, dash, simplify: false };
  return { type: "scatter", mode: "lines", name, line, hoverinfo: "skip", connectgaps: false };
}

/**
 * Returns the line of a signal. One of which the log has no arrival goes straight down or up, an order only a part of
 * its way.
 * @param {ControlSignal} signal @param {Geometry} g
 */
function wayOf({ kind, coordinator, task, sent, arrived, lost }, g) {
  if (!g.shows(coordinator) || !g.shows(task)) return null;
  const isAnswer = kind === "ack" || kind === "decline";
  const [y0, end] = (isAnswer ? [task, coordinator] : [coordinator, task]).map(g.slot);
  const arrives = isAnswer || (Number.isFinite(arrived) && !lost);
  const y1 = arrives ? end : y0 + (end - y0) * NEVER;
  return { x0: g.scale.u(sent), x1: g.scale.u(Number.isFinite(arrived) ? arrived : sent), y0, y1, arrives };
}

/**
 * Returns what is said at the cursor beside the lanes of coordinators: a frame and the words in it.
 * @param {MovingScene} scene @returns {Trace[]}
 */
export function saidTraces({ g, state, colours, topology, lanes }) {
  const said = lanes?.control && !state.cut ? state.moment?.said ?? new Map() : new Map();
  const notes = topology.coordinators.filter((process) => said.has(process) && g.shows(process)).map((process) => {
    return noteAt(g, g.x(state.now), g.y(process), said.get(process).words);
  });
  return [
    {
      type: "scatter",
      mode: "lines",
      name: "said frame",
      fill: "toself",
      fillcolor: faded(colours.panel, 0.9),
      x: notes.flatMap(({ left, right }) => [left, right, right, left, left, null]),
      y: notes.flatMap(({ top, bottom }) => [top, top, bottom, bottom, top, null]),
      line: { color: colours.control, width: 1, simplify: false },
      hoverinfo: "skip",
    },
    {
      type: "scatter",
      mode: "text",
      name: "said",
      x: notes.map(({ left, right }) => (left + right) / 2),
      y: notes.map(({ top, bottom }) => (top + bottom) / 2),
      text: notes.map(({ lines }) => lines.map(escapeText).join("<br>")),
      textposition: "middle center",
      textfont: { size: 12, color: colours.ink },
      hoverinfo: "skip",
    },
  ];
}

/**
 * Breaks words into lines and finds the box beside the cursor that has room for them.
 * @param {Geometry} g @param {number} x @param {number} y @param {string} words
 */
function noteAt(g, x, y, words) {
  const before = x - g.left - 24; // what is behind the cursor is veiled
  const isBefore = before >= SHORTEST * LETTER;
  const most = Math.min(48, Math.floor((isBefore ? before : g.width - g.right - x - 24) / LETTER));
  /** @type {string[]} */
  const lines = [];
  for (const word of words.split(" ")) {
    const longer = `${lines.at(-1) ?? ""} ${word}`.trim();
    if (lines.length && longer.length <= most) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  const width = Math.max(...lines.map(({ length }) => length)) * LETTER + 12;
  const left = isBefore ? x - 8 - width : x + 8;
  const top = Math.max(2, y - LINE / 2 - 3);
  return { lines, left, right: left + width, top, bottom: top + lines.length * LINE + 6 };
}
