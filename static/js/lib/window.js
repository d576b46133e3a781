/** A decoded window of a recording, which the diagram draws and in which cuts are computed. */

import { decode, decodeMatrix, upperBound } from "./arrays.js";
import { openControl } from "./control.js";

export const IN_FLIGHT = -1; // the received_index of a message that is never received; its receivedX is NaN

/** Kinds after which a state that the event does not carry is not known. All other kinds leave the state as it was. */
const APPLICATION_KINDS = new Set(["internal", "send", "receive", "read", "write"]);

/**
 * Decodes a window payload (docs/websocket.md). Adds `rows`, the event rows of each process by index, and `x` columns
 * on the window's own axis: instants, or steps + 1.
 * @param {WindowPayload} payload @param {OpenTopology} topology @returns {OpenWindow}
 */
export function openWindow(payload, topology) {
  const byStep = payload.axis === "order";
  const events = columns(payload.events, ["process", "index", "at", "step", "kind", "channel", "snapshot"]);
  events.state = payload.events?.state ?? [];
  events.known = decode(payload.events?.state_known);
  events.label = payload.events?.label ?? [];
  events.x = axisColumn(byStep, events.at, events.step);
  const messages = columns(payload.messages, ["channel", "ordinal", ...ENDS]);
  messages.id = payload.messages?.message ?? [];
  messages.value = payload.messages?.value ?? [];
  const markers = columns(payload.markers, ["channel", "snapshot", ...ENDS]);
  for (const table of [messages, markers]) addAxis(table, byStep);
  return {
    axis: payload.axis,
    from: payload.from,
    to: payload.to,
    exact: payload.exact,
    eventsTotal: payload.events_total,
    messagesTotal: payload.messages_total,
    positions: decode(payload.positions),
    positionsTo: decode(payload.positions_to),
    states: payload.states,
    known: payload.states_known,
    watermarks: payload.watermarks ?? [],
    depths: decode(payload.depths),
    straysBefore: payload.strays_before ?? 0,
    strays: columns(payload.strays, ["process", "index"]),
    events,
    messages,
    markers,
    kinds: payload.kinds,
    application: payload.kinds.map((kind) => APPLICATION_KINDS.has(kind)),
    snapshots: payload.snapshots,
    bins: payload.bins ? openBins(payload.bins) : null,
    control: openControl(payload.control),
    rows: rowsByProcess(events, topology.processes.length),
    topology,
  };
}

const ENDS = ["sent_index", "received_index", "sent_at", "received_at", "sent_step", "received_step"];

/** @param {Record<string, any> | undefined} table @param {string[]} names @returns {any} */
function columns(table, names) {
  /** @type {Record<string, any>} */
  const out = { count: 0 };
  for (const name of names) out[name] = decode(table?.[name]);
  out.count = out[names[0]].length;
  return out;
}

/** @param {boolean} byStep @param {Column} at @param {Column} step */
function axisColumn(byStep, at, step) {
  return byStep ? Float64Array.from(step, (s) => s + 1) : at;
}

/** @param {OpenFlights} table @param {boolean} byStep */
function addAxis(table, byStep) {
  table.sentX = axisColumn(byStep, table.sent_at, table.sent_step);
  const receivedX = axisColumn(byStep, table.received_at, table.received_step);
  table.receivedX = Float64Array.from(receivedX, (x, row) => (table.received_index[row] === IN_FLIGHT ? NaN : x));
}

/** @param {BinsPayload} bins @returns {OpenBins} */
function openBins(bins) {
  return {
    edges: decode(bins.edges),
    events: decodeMatrix(bins.events),
    depth: decodeMatrix(bins.depth),
    width: bins.bin_width,
    processes: Array.from(decode(bins.processes)),
    channels: Array.from(decode(bins.channels)),
    hiddenProcesses: bins.hidden_processes ?? 0,
    hiddenChannels: bins.hidden_channels ?? 0,
  };
}

/** @param {OpenEvents} events @param {number} processes */
function rowsByProcess(events, processes) {
  const rows = Array.from({ length: processes }, () => []);
  for (let row = 0; row < events.count; row += 1) rows[events.process[row]]?.push(row);
  for (const processRows of rows) processRows.sort((a, b) => events.index[a] - events.index[b]);
  return rows;
}

/**
 * Returns the row of an event, or -1 if the window does not hold it.
 * @param {OpenWindow} window @param {number} process @param {number} index
 */
export function eventRow(window, process, index) {
  const rows = window.rows[process];
  if (!rows?.length) return -1;
  const guess = rows[index - window.events.index[rows[0]]]; // right unless an event is missing between
  if (guess !== undefined && window.events.index[guess] === index) return guess;
  return rows.find((row) => window.events.index[row] === index) ?? -1;
}

/**
 * Returns whether the window holds every event and message of [from, to] on `axis`.
 * @param {OpenWindow | null} window @param {Axis} axis @param {number} from @param {number} to
 */
export function covers(window, axis, from, to) {
  return Boolean(window) && window.exact && window.axis === axis && window.from <= from && to <= window.to;
}

/**
 * Returns the value of `xs` that is next after `x` (direction 1) or before it (-1), or null.
 * @param {Iterable<number>} xs @param {number} x @param {number} direction @returns {number | null}
 */
export function neighbour(xs, x, direction) {
  let best = null;
  for (const candidate of xs) {
    if (!Number.isFinite(candidate) || (candidate - x) * direction <= 0) continue;
    if (best === null || (candidate - best) * direction < 0) best = candidate;
  }
  return best;
}

/**
 * Counts the events of process `p` that have happened at `x`.
 * @param {OpenWindow} window @param {number} p @param {number} x @returns {number}
 */
export function positionAt(window, p, x) {
  const { events, rows, positions } = window;
  const own = rows[p];
  let low = 0;
  let high = own.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (events.x[own[middle]] <= x) low = middle + 1;
    else high = middle;
  }
  return low === 0 ? positions[p] : Math.max(positions[p], events.index[own[low - 1]] + 1);
}

/**
 * Counts the events that have happened at `x`, in a window of bins only roughly.
 * @param {OpenWindow} window @param {number} x @returns {number}
 */
export function eventsBefore(window, x) {
  if (window.exact) {
    let sum = 0;
    for (let p = 0; p < window.rows.length; p += 1) sum += positionAt(window, p, x);
    return sum;
  }
  const { edges, events } = window.bins;
  let sum = 0;
  for (const position of window.positions) sum += position;
  const last = Math.min(upperBound(edges, x) - 1, events.columns);
  for (let row = 0; row < events.rows; row += 1) {
    for (let bin = 0; bin < last; bin += 1) sum += events.values[row * events.columns + bin];
  }
  return sum;
}
