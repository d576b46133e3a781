/** One checkpoint as a Gantt chart: a row per task, a bar per phase. Pure. */

import { duration, escapeText, shortenedInside, thousands, ticks, unitFor } from "../../lib/format.js";

/** Name, the task's instants between which it lies, colour. What the log does not hold makes no bar. */
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
    to: (task) => begun(task),
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

/** When the task had its first barrier, or, at a source, the coordinator's word. */
const begun = (task) => task.first_barrier_at ?? task.sync_from;

function busyUntil(task) {
  if (!Number.isFinite(task.busy_until)) return null;
  return Math.min(task.busy_until, begun(task) ?? task.busy_until);
}

/** The bars of one phase: [{process, from, to}], in the order of the tasks. */
export function bars(checkpoint, { from, to }) {
  return checkpoint.tasks
    .map((task) => ({ process: task.process, from: from(task, checkpoint), to: to(task, checkpoint) }))
    .filter((bar) => Number.isFinite(bar.from) && Number.isFinite(bar.to) && bar.to > bar.from);
}

const RIGHT = 16; // pixels beside the chart
const ROOM = 1.04; // of the last instant, so that its end is seen
const LONGEST_NAME = 18; // characters
const TICK = 110; // pixels, from one instant to the next

/**
 * Makes {data, layout} for Plotly and for a sketch of it. unit: time unit of the recording.
 * colours(name) gives a colour.
 */
export function ganttFigure(checkpoint, unit, { colours, width }) {
  const rows = new Map(checkpoint.tasks.map(({ process }, row) => [process, row]));
  const start = checkpoint.triggered_at;
  const [name, scale] = timeScale(checkpoint, unit);
  /** @type {Trace[]} */
  const data = PHASES.map((phase) => {
    const found = bars(checkpoint, phase);
    return {
      type: "bar",
      orientation: "h",
      name: phase.name,
      y: found.map(({ process }) => rows.get(process)),
      x: found.map(({ from, to }) => (to - from) * scale),
      base: found.map(({ from }) => (from - start) * scale),
      width: 0.62,
      marker: { color: colours(phase.colour) },
      text: found.map(
        ({ process, from, to }) => `${escapeText(process)}<br>${phase.name}: ${duration(to - from, unit)}`,
      ),
      textposition: "none",
      hovertemplate: "%{text}<extra></extra>",
    };
  }).filter(({ x }) => x.length);
  data.push(...criticalPath(checkpoint, rows, (at) => (at - start) * scale, colours));
  const ended = checkpoint.ended_at === null ? null : (checkpoint.ended_at - start) * scale;
  const last = Math.max(
    ended ?? 0,
    ...PHASES.flatMap((phase) => bars(checkpoint, phase).map(({ to }) => (to - start) * scale)),
  );
  return { data, layout: layout(checkpoint, { name, ended, last: last || 1, colours, width }) };
}

/** One unit for the axis, fit for its length: its name, and how many of it one instant is. */
function timeScale(checkpoint, unit) {
  const ends = PHASES.flatMap((phase) => bars(checkpoint, phase).map(({ to }) => to));
  const [name, size] = unitFor(Math.max(1, ...ends.map((at) => at - checkpoint.triggered_at)), unit);
  const [, own] = unitFor(0, unit);
  return [name, size === null ? 1 : own / size];
}

/** The chain that set the duration: along a task's row, and from row to row where a barrier travels. */
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

function layout({ tasks }, { name, ended, last, colours, width }) {
  const axis = {
    color: colours("text-soft"),
    gridcolor: colours("line"),
    zeroline: false,
    ticks: "",
    tickfont: { color: colours("text-soft") },
  };
  const names = tasks.map(({ process }) => shortenedInside(process, LONGEST_NAME));
  const left = 16 + 7 * Math.max(0, ...names.map(({ length }) => length));
  const tickvals = ticks(0, last, Math.max(2, Math.floor((width - left - RIGHT) / TICK)));
  return {
    autosize: true,
    barmode: "overlay",
    margin: { l: left, r: RIGHT, t: 4, b: 44 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colours("text") },
    showlegend: false, // a list above the chart, see checkpoint.js
    hovermode: "closest",
    xaxis: {
      ...axis,
      range: [0, last * ROOM],
      tickvals,
      ticktext: tickvals.map(thousands),
      linecolor: colours("line"),
      tickcolor: colours("line"),
      ticks: "outside",
      ticklen: 4,
      title: { text: `since the trigger, ${name}`, standoff: 4 },
    },
    yaxis: {
      ...axis,
      fixedrange: true,
      range: [tasks.length - 0.4, -0.6],
      tickvals: names.map((_, row) => row),
      ticktext: names.map(escapeText),
      showgrid: false,
    },
    shapes: ended !== null
      ? [
        {
          type: "line",
          yref: "paper",
          y0: 0,
          y1: 1,
          x0: ended,
          x1: ended,
          line: { color: colours("cut"), width: 1.5, dash: "dot" },
        },
      ]
      : [],
  };
}
