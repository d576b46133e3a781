/** The figures of a document as Plotly traces and layouts. Pure: `colours` looks up the colours of the page. */

import { axisLine, figureLayout, quietAxis } from "../figure-style.js";
import { escapeText } from "../format.js";
import { instantAfter } from "./instants.js";
import { partAround } from "./part.js";

const MARGIN = { l: 60, r: 12, t: 44, b: 40 };
const LEGEND = { orientation: "h", x: 0, y: 1, yanchor: "bottom", traceorder: "normal" };

/** Kinds of events, their shapes and their names in the legend. */
const MARKS = /** @type {const} */ ([
  ["other", "circle", 8, "text-soft", "event"],
  ["marker", "diamond", 12, "marker", "marker"],
  ["record_state", "square", 7, "recorded", "state recorded"], // last: it often lies on a marker
]);

/**
 * Returns the space-time diagram around a cut: a lane for each process, its events, messages, markers and the cut.
 * @param {CheckedLog} log @param {number[]} cut @param {Colours} colours
 */
export function spaceTimeFigure(log, cut, colours) {
  const part = partAround(log, cut);
  const traces = [
    flightTrace(part.messages, { name: "message", color: colours("message"), width: 1.5 }),
    flightTrace(part.markers, { name: "marker on its way", color: colours("marker"), width: 1, dash: "dot" }),
    ...MARKS.map(([mark, symbol, size, colour, name]) => eventTrace(part, mark, timeIn(log), {
      name, marker: { symbol, size, color: colours(colour) },
    })),
    {
      type: "scatter", mode: "lines", name: "cut", x: part.cut, y: part.cut.map((_, row) => row),
      line: { color: colours("cut"), width: 2.5 }, hoverinfo: "skip",
    },
  ];
  const xaxis = {
    ...quietAxis(colours), ...axisLine(colours), title: { text: escapeText(axisTitle(log)) },
    showticklabels: !log.evidence.derived,
  };
  const yaxis = {
    ...quietAxis(colours), autorange: "reversed", tickmode: "array", fixedrange: true, automargin: true,
    tickvals: part.lanes.map((_, row) => row), ticktext: part.lanes.map((id) => escapeText(shortened(id))),
  };
  const layout = {
    ...figureLayout(colours), height: 104 + 38 * part.lanes.length, margin: MARGIN, legend: LEGEND,
    hovermode: "closest", xaxis, yaxis,
  };
  return { data: traces.filter(({ x }) => x.length), layout, hidden: part.hidden };
}

/** @param {CheckedLog} log */
function axisTitle({ evidence, origin }) {
  if (evidence.derived) return "the times are not known; only the order is";
  return origin === 0 ? evidence.time_unit : `${evidence.time_unit} after ${origin}`;
}

/**
 * Returns how the time of an event is worded; a derived recording does not hold it.
 * @param {CheckedLog} log @returns {(at: number) => string}
 */
function timeIn({ evidence, origin }) {
  if (evidence.derived) return () => "at a time that is not known";
  return (at) => `at ${instantAfter(origin, at)} ${evidence.time_unit}`;
}

/** @param {string} text */
function shortened(text) {
  return text.length > 24 ? `${text.slice(0, 23)}…` : text;
}

/** @param {any[]} flights @param {{ name: string, color: string, width: number, dash?: string }} look */
function flightTrace(flights, { name, ...line }) {
  /** @type {{ x: (number | null)[], y: (number | null)[] }} */
  const places = { x: [], y: [] };
  for (const { sentAt, receivedAt, fromRow, toRow } of flights) {
    const isLost = receivedAt === undefined;
    places.x.push(sentAt, isLost ? sentAt : receivedAt, null);
    places.y.push(fromRow, isLost ? (fromRow + toRow) / 2 : toRow, null); // it ends between the lanes
  }
  return { type: "scatter", mode: "lines", name, ...places, line, hoverinfo: "skip" };
}

/** @param {any} part @param {string} mark @param {(at: number) => string} timed @param {any} look */
function eventTrace(part, mark, timed, look) {
  const events = part.events.filter((/** @type {EvidenceEvent} */ { kind }) => markOf(kind) === mark);
  return {
    type: "scatter", mode: "markers", ...look,
    x: events.map((/** @type {any} */ { at }) => at),
    y: events.map((/** @type {any} */ { row }) => row),
    text: events.map((/** @type {any} */ event) => escapeText(wordsOf(event, part.lanes[event.row], timed))),
    hoverinfo: "text",
  };
}

/** @param {string} kind */
function markOf(kind) {
  if (kind === "record_state") return kind;
  return kind.startsWith("marker_") ? "marker" : "other";
}

/** @param {any} event @param {string} lane @param {(at: number) => string} timed */
function wordsOf({ kind, at, index, channel, message, snapshot }, lane, timed) {
  const what = [kind.replaceAll("_", " "), message, channel && `on ${channel}`, snapshot && `for ${snapshot}`];
  return `event ${index} of ${lane} ${timed(at)}: ${what.filter(Boolean).join(" ")}`;
}

const PHASES = /** @type {const} */ ([
  ["start_delay", "start delay", "series-1"],
  ["alignment", "alignment", "series-2"],
  ["sync", "sync", "series-4"],
  ["async", "async", "series-3"],
]);
const MOST_BARS = 40;

/**
 * Tells whether a phase is not known. A task that takes no barriers, such as a source, has no alignment.
 * @param {CheckpointTask} task @param {typeof PHASES[number][0]} field
 */
function isUnknown(task, field) {
  return task[field] === null && (field !== "alignment" || task.takes_barriers);
}

/** @param {CheckpointTask} task @param {typeof PHASES[number][0]} field @param {string} unit */
function amountWords(task, field, unit) {
  if (isUnknown(task, field)) return "not known";
  return task[field] === null ? "none" : `${task[field]} ${unit}`;
}

/** @param {CheckpointTask} task */
function taskLabel(task) {
  const unknown = PHASES.filter(([field]) => isUnknown(task, field)).map(([, name]) => name);
  const missing = PHASES.every(([field]) => task[field] === null) ? "times" : unknown.join(", ");
  return unknown.length ? `${shortened(task.name)} (${missing} not known)` : shortened(task.name);
}

/**
 * Returns what the tasks of a checkpoint spent their time on, the slowest first.
 * @param {CheckpointData & { time_unit: string }} data @param {Colours} colours
 */
export function checkpointFigure({ tasks, time_unit: unit }, colours) {
  const total = (/** @type {CheckpointTask} */ task) => PHASES.reduce((sum, [field]) => sum + (task[field] ?? 0), 0);
  const sorted = tasks.toSorted((a, b) => total(b) - total(a));
  const shown = sorted.slice(0, MOST_BARS);
  const data = PHASES.map(([field, name, colour]) => ({
    type: "bar", orientation: "h", name,
    y: shown.map((_, row) => row),
    x: shown.map((task) => task[field] ?? 0),
    text: shown.map((task) => escapeText(`${task.name}, ${name}: ${amountWords(task, field, unit)}`)),
    textposition: "none", hoverinfo: "text", marker: { color: colours(colour) },
  }));
  const layout = {
    ...figureLayout(colours), barmode: "stack", height: 120 + 24 * shown.length, margin: MARGIN, legend: LEGEND,
    xaxis: { ...quietAxis(colours), ...axisLine(colours), title: { text: escapeText(unit) } },
    yaxis: {
      ...quietAxis(colours), autorange: "reversed", automargin: true, tickmode: "array",
      tickvals: shown.map((_, row) => row), ticktext: shown.map((task) => escapeText(taskLabel(task))),
    },
  };
  return { data, layout, hidden: tasks.length - shown.length };
}
