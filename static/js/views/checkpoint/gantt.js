/** One checkpoint as a Gantt chart: a row per task, a bar per phase. Pure. */

import { axisLine, figureLayout, quietAxis, verticalLine } from "../../lib/figure-style.js";
import { duration, escapeText, shortenedInside, thousands, ticks, unitFor } from "../../lib/format.js";

/**
 * The phases of a task: name, colour, and the instants between which a phase lies, null if the log lacks them.
 * @type {Phase[]}
 */
export const PHASES = [
  {
    name: "copy of an earlier checkpoint",
    from: (_, checkpoint) => checkpoint.triggered_at,
    to: (task) => busyUntil(task),
    colour: "series-7",
  },
  {
    name: "start delay",
    from: (task, checkpoint) => busyUntil(task) ?? checkpoint.triggered_at,
    to: (task) => startedAt(task),
    colour: "series-2",
  },
  { name: "alignment", from: (task) => task.first_barrier_at, to: (task) => task.last_barrier_at, colour: "series-5" },
  { name: "copy (sync)", from: (task) => task.sync_from, to: (task) => task.sync_to, colour: "series-1" },
  { name: "upload (async)", from: (task) => task.sync_to, to: (task) => task.async_to, colour: "series-6" },
  {
    name: "until it acknowledged",
    from: (task, checkpoint) => ((task.first_barrier_at ?? task.sync_from) === null ? checkpoint.triggered_at : null),
    to: (task) => task.acked_at,
    colour: "series-4",
  },
  {
    name: "until told that it is complete",
    from: (task) => task.acked_at,
    to: (task) => task.notified_at,
    colour: "lane",
  },
  { name: "commit", from: (task) => task.notified_at, to: (task) => task.committed_at, colour: "series-3" },
];

/**
 * Returns when the task received its first barrier or, at a source, the coordinator's request.
 * @param {CheckpointTask} task @returns {number | null | undefined}
 */
const startedAt = (task) => task.first_barrier_at ?? task.sync_from;

/**
 * Returns until when the task was at an earlier checkpoint, null if it was not.
 * @param {CheckpointTask} task @returns {number | null}
 */
function busyUntil(task) {
  if (!Number.isFinite(task.busy_until)) return null;
  return Math.min(task.busy_until, startedAt(task) ?? task.busy_until);
}

/**
 * Returns the bars of one phase in the order of the tasks. A phase that is not known has no bar.
 * @param {CheckpointPayload} checkpoint @param {Pick<Phase, "from" | "to">} phase
 */
export function bars(checkpoint, { from, to }) {
  return checkpoint.tasks
    .map((task) => ({ process: task.process, from: from(task, checkpoint), to: to(task, checkpoint) }))
    .filter((bar) => Number.isFinite(bar.from) && Number.isFinite(bar.to) && bar.to > bar.from);
}

const RIGHT = 16; // pixels beside the chart
const ROOM = 1.04; // share of the last instant at the end of the axis, so that its bar is seen to end
const LONGEST_NAME = 18; // characters
const TICK = 110; // pixels from one tick to the next

/**
 * Makes the figure of a checkpoint whose instants are in `unit`.
 * @param {CheckpointPayload} checkpoint @param {string} unit @param {FigureOptions} options @returns {Figure}
 */
export function ganttFigure(checkpoint, unit, { colours, width }) {
  const rows = new Map(checkpoint.tasks.map(({ process }, row) => [process, row]));
  const start = checkpoint.triggered_at;
  const [name, scale] = timeScale(checkpoint, unit);
  /** @type {Trace[]} */
  const data = PHASES.map((phase) => {
    const drawn = bars(checkpoint, phase);
    return {
      type: "bar",
      orientation: "h",
      name: phase.name,
      y: drawn.map(({ process }) => rows.get(process)),
      x: drawn.map(({ from, to }) => (to - from) * scale),
      base: drawn.map(({ from }) => (from - start) * scale),
      width: 0.62,
      marker: { color: colours(phase.colour) },
      text: drawn.map(
        ({ process, from, to }) => `${escapeText(process)}<br>${phase.name}: ${duration(to - from, unit)}`,
      ),
      textposition: "none",
      hovertemplate: "%{text}<extra></extra>",
    };
  }).filter(({ x }) => x.length);
  data.push(...criticalPath(checkpoint, rows, (at) => (at - start) * scale, colours));
  const ended = checkpoint.ended_at === null ? null : (checkpoint.ended_at - start) * scale;
  const last = Math.max(ended ?? 0, ...barEnds(checkpoint).map((at) => at * scale));
  return { data, layout: layout(checkpoint, { name, ended, last: last || 1, colours, width }) };
}

/**
 * Returns the ends of all bars since the trigger.
 * @param {CheckpointPayload} checkpoint
 */
function barEnds(checkpoint) {
  return PHASES.flatMap((phase) => bars(checkpoint, phase).map(({ to }) => to - checkpoint.triggered_at));
}

/**
 * Returns the name of the unit that fits the axis, and the length of the recording's unit in it.
 * @param {CheckpointPayload} checkpoint @param {string} unit @returns {[string, number]}
 */
function timeScale(checkpoint, unit) {
  const [name, size] = unitFor(Math.max(1, ...barEnds(checkpoint)), unit);
  const [, unitSize] = unitFor(0, unit);
  return [name, size === null ? 1 : unitSize / size];
}

/**
 * Draws the critical path: along a task's row, and from row to row where a barrier travels.
 * @param {CheckpointPayload} checkpoint @param {Map<string, number>} rows @param {(instant: number) => number} at
 * @param {Colours} colours @returns {Trace[]}
 */
function criticalPath({ critical_path: path = [], tasks }, rows, at, colours) {
  const x = [];
  const y = [];
  for (const part of path ?? []) {
    const row = rows.get(part.process);
    if (row === undefined || !Number.isFinite(part.from) || !Number.isFinite(part.to)) continue;
    x.push(at(part.from), at(part.to));
    y.push(row + 0.4, row + 0.4);
  }
  if (!x.length || !tasks.length) return [];
  return [
    {
      type: "scatter",
      mode: "lines",
      name: "critical path",
      x,
      y,
      line: { color: colours("text"), width: 2.5 },
      hoverinfo: "skip",
    },
  ];
}

/**
 * @param {CheckpointPayload} checkpoint
 * @param {FigureOptions & { name: string, ended: number | null, last: number }} options
 */
function layout({ tasks }, { name, ended, last, colours, width }) {
  const names = tasks.map(({ process }) => shortenedInside(process, LONGEST_NAME));
  const left = 16 + 7 * Math.max(0, ...names.map(({ length }) => length));
  const tickvals = ticks(0, last, Math.max(2, Math.floor((width - left - RIGHT) / TICK)));
  return {
    ...figureLayout(colours),
    barmode: "overlay",
    margin: { l: left, r: RIGHT, t: 4, b: 44 },
    showlegend: false, // index.js lists the phases above the chart
    hovermode: "closest",
    xaxis: {
      ...quietAxis(colours),
      range: [0, last * ROOM],
      tickvals,
      ticktext: tickvals.map(thousands),
      ...axisLine(colours),
      title: { text: `since the trigger, ${name}`, standoff: 4 },
    },
    yaxis: {
      ...quietAxis(colours),
      fixedrange: true,
      range: [tasks.length - 0.4, -0.6],
      tickvals: names.map((_, row) => row),
      ticktext: names.map(escapeText),
      showgrid: false,
    },
    shapes: ended === null ? [] : [verticalLine(ended, { color: colours("cut"), width: 1.5, dash: "dot" })],
  };
}
