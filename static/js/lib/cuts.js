/**
 * Cuts inside an exact window: positions, channel contents, orphans, states and totals.
 *
 * A cut is an array of positions, one per process: how many of its events lie inside. The rules are those of
 * snapshots/domain/judging/cuts.py. The window holds every message that overlaps it, so it suffices for all
 * positions between its left and its right edge.
 */

import { isExcerpt } from "./format.js";
import { eventRow, IN_FLIGHT, positionAt } from "./window.js";

/**
 * Returns the cut of everything that has happened at `x` on the window's axis.
 * @param {OpenWindow} window @param {number} x @returns {number[]}
 */
export function positionsAt(window, x) {
  return Array.from(window.rows, (_, p) => positionAt(window, p, x));
}

/**
 * Returns whether the window alone holds everything about the cut at these positions.
 * @param {OpenWindow | null} window @param {number[]} positions
 */
export function isInside(window, positions) {
  if (!window?.exact || positions.length !== window.rows.length) return false;
  return positions.every((n, p) => window.positions[p] <= n && n <= window.positionsTo[p]);
}

/**
 * Returns the rows of the messages in each channel at the cut, and of the orphans. Empty channels have no entry.
 * Rows are in the order of sending.
 * @param {OpenWindow} window @param {number[]} positions
 * @returns {{ contents: Map<number, number[]>, orphans: number[] }}
 */
export function channelsAt(window, positions) {
  const { channels } = window.topology;
  const { messages } = window;
  /** @type {Map<number, number[]>} */
  const contents = new Map();
  const orphans = [];
  for (let row = 0; row < messages.count; row += 1) {
    const { sourceCode, targetCode } = channels[messages.channel[row]];
    const sent = messages.sent_index[row] < positions[sourceCode];
    const received =
      messages.received_index[row] !== IN_FLIGHT && messages.received_index[row] < positions[targetCode];
    if (sent && !received) pushTo(contents, messages.channel[row], row);
    if (received && !sent) orphans.push(row);
  }
  for (const rows of contents.values()) rows.sort((a, b) => messages.ordinal[a] - messages.ordinal[b]);
  return { contents, orphans };
}

/**
 * Returns the rows of the markers in flight at the cut, by channel.
 * @param {OpenWindow} window @param {number[]} positions @returns {Map<number, number[]>}
 */
export function markersAt(window, positions) {
  const { markers, topology } = window;
  const contents = new Map();
  for (let row = 0; row < markers.count; row += 1) {
    const { sourceCode, targetCode } = topology.channels[markers.channel[row]];
    const sent = markers.sent_index[row] < positions[sourceCode];
    const received =
      markers.received_index[row] !== IN_FLIGHT && markers.received_index[row] < positions[targetCode];
    if (sent && !received) pushTo(contents, markers.channel[row], row);
  }
  return contents;
}

/** @param {Map<number, number[]>} map @param {number} key @param {number} item */
function pushTo(map, key, item) {
  const list = map.get(key);
  if (list) list.push(item);
  else map.set(key, [item]);
}

/**
 * Returns the state of each process after its last event inside the cut, null where it is not known.
 * @param {OpenWindow} window @param {number[]} positions @returns {{ states: unknown[], known: boolean[] }}
 */
export function statesAt(window, positions) {
  /** @type {unknown[]} */
  const states = [];
  /** @type {boolean[]} */
  const known = [];
  positions.forEach((n, p) => {
    const [state, isKnown] = stateOf(window, p, n);
    states.push(isKnown ? state : null);
    known.push(isKnown);
  });
  return { states, known };
}

/** @param {OpenWindow} window @param {number} p @param {number} position @returns {[unknown, boolean]} */
function stateOf(window, p, position) {
  const { events, rows, application } = window;
  for (let i = rows[p].length - 1; i >= 0; i -= 1) {
    const row = rows[p][i];
    if (events.index[row] >= position || !application[events.kind[row]]) continue;
    if (events.index[row] < window.positions[p]) break;
    return [events.state[row], Boolean(events.known[row])];
  }
  return [window.states[p], Boolean(window.known[p])];
}

const WATERMARK_KINDS = new Set(["watermark", "restore", "restart"]);

/**
 * Returns the watermark of each process inside the cut, in words, null where there is none.
 * @param {OpenWindow} window @param {number[]} positions @returns {(string | null)[]}
 */
export function watermarksAt(window, positions) {
  const { events, rows, kinds } = window;
  return positions.map((position, p) => {
    const row = rows[p].findLast((i) => events.index[i] < position && WATERMARK_KINDS.has(kinds[events.kind[i]]));
    if (row === undefined || events.index[row] < window.positions[p]) return window.watermarks[p] ?? null;
    return events.label[row] ?? null;
  });
}

/**
 * Returns the consistent cut that differs from `positions` by the fewest events: the latest inside it or the
 * smallest around it. Both exist and are unique, for consistent cuts form a lattice.
 * @param {OpenWindow} window @param {number[]} positions @returns {number[]}
 */
export function nearestConsistent(window, positions) {
  const inner = repaired(window, positions, shrink);
  const outer = repaired(window, positions, grow);
  return distance(positions, inner) <= distance(positions, outer) ? inner : outer;
}

/**
 * @param {OpenWindow} window @param {number[]} positions
 * @param {(window: OpenWindow, positions: number[], row: number) => void} repair
 */
function repaired(window, positions, repair) {
  const fixed = Array.from(positions);
  let { orphans } = channelsAt(window, fixed);
  while (orphans.length > 0) {
    for (const row of orphans) repair(window, fixed, row);
    ({ orphans } = channelsAt(window, fixed));
  }
  return fixed;
}

/** @param {OpenWindow} window @param {number[]} positions @param {number} row */
function shrink({ messages, topology }, positions, row) {
  const target = topology.channels[messages.channel[row]].targetCode;
  positions[target] = Math.min(positions[target], messages.received_index[row]);
}

/** @param {OpenWindow} window @param {number[]} positions @param {number} row */
function grow({ messages, topology }, positions, row) {
  const source = topology.channels[messages.channel[row]].sourceCode;
  positions[source] = Math.max(positions[source], messages.sent_index[row] + 1);
}

/** @param {number[]} a @param {number[]} b */
function distance(a, b) {
  return a.reduce((sum, n, p) => sum + Math.abs(n - b[p]), 0);
}

/**
 * Returns where the handle for position `n` of process `p` stands on the window's axis: halfway from the last event
 * inside to the next, but at most `gap` after it. Before a record_state it stands at most `gap` before that event,
 * where its snapshot cuts. -Infinity and Infinity mean outside the window, NaN not known. Gap and result are places
 * that `u` makes of those of the axis.
 * @param {OpenWindow} window @param {number} p @param {number} n @param {number} gap
 * @param {(x: number) => number} [u]
 */
export function handleX(window, p, n, gap, u = (x) => x) {
  if (n < window.positions[p]) return -Infinity;
  if (n > window.positionsTo[p]) return Infinity;
  const before = eventRow(window, p, n - 1);
  const after = eventRow(window, p, n);
  const events = window.events.x;
  const [x0, x1] = [before, after].map((row) => (row >= 0 ? u(events[row]) : NaN));
  if (after >= 0 && window.kinds[window.events.kind[after]] === "record_state") {
    return x1 - (before >= 0 ? Math.min(gap, (x1 - x0) / 2) : gap);
  }
  if (before >= 0 && after >= 0) return x0 + Math.min(gap, (x1 - x0) / 2);
  if (before >= 0) return x0 + gap;
  if (after >= 0) return x1 - gap;
  return window.exact ? u(n <= window.positions[p] ? window.from : window.to) : NaN;
}

/**
 * Returns a state that is a number, or the only number among the fields of an object; else null.
 * @param {any} value @returns {number | null}
 */
export function numberIn(value) {
  if (typeof value === "number") return value;
  if (value === null || typeof value !== "object" || Array.isArray(value) || isExcerpt(value)) return null;
  const numbers = Object.values(value).filter((item) => typeof item === "number");
  return numbers.length === 1 ? numbers[0] : null;
}

/**
 * Returns the sum of the numbers in `values` as `numberIn` finds them, null if one has none.
 * @param {Iterable<unknown>} values @returns {number | null}
 */
export function total(values) {
  let sum = 0;
  for (const value of values) {
    const number = numberIn(value);
    if (number === null) return null;
    sum += number;
  }
  return sum;
}

/**
 * Counts the receives inside the cut that no send in the log explains.
 * @param {OpenWindow} window @param {number[]} positions
 */
function straysAt({ strays, straysBefore }, positions) {
  let count = straysBefore;
  for (let row = 0; row < strays.count; row += 1) {
    if (strays.index[row] < positions[strays.process[row]]) count += 1;
  }
  return count;
}

/**
 * Returns whether a cut is consistent, null if that is not known because the log lacks sends.
 * @param {number} orphans @param {number} strays
 */
function isConsistent(orphans, strays) {
  if (orphans > 0) return false;
  return strays > 0 ? null : true;
}

/**
 * Describes a cut inside the window: all that the panels show of it. Rows of messages are rows of `window`.
 * @param {OpenWindow} window @param {number[]} positions @returns {Cut}
 */
export function describeCut(window, positions) {
  const { contents, orphans } = channelsAt(window, positions);
  const { states, known } = statesAt(window, positions);
  const { messages } = window;
  const strays = straysAt(window, positions);
  const channels = new Map();
  for (const [channel, rows] of contents) {
    channels.set(channel, rows.map((row) => ({ id: messages.id[row], value: messages.value[row], row })));
  }
  return summed({
    window,
    positions: Array.from(positions),
    states,
    known,
    watermarks: watermarksAt(window, positions),
    channels,
    consistent: isConsistent(orphans.length, strays),
    strays,
    orphans: orphans.map((row) => orphanAt(window, row)),
    orphansTotal: orphans.length,
    nearest: orphans.length ? nearestConsistent(window, positions) : null,
  });
}

/**
 * Adds the number of events and the sums over processes and channels to a cut.
 * @param {Cut} cut @returns {Cut}
 */
export function summed(cut) {
  cut.events = cut.positions.reduce((sum, n) => sum + n, 0);
  const { outline } = cut;
  cut.inProcesses = outline ? outline.inProcesses : cut.known.every(Boolean) ? total(cut.states) : null;
  cut.inChannels = outline ? outline.inChannels : total(messagesInFlight(cut).map((message) => message.value));
  return cut;
}

/**
 * Returns the messages of all channels of a cut.
 * @param {Cut} cut
 */
export function messagesInFlight(cut) {
  return [...cut.channels.values()].flat();
}

/**
 * Returns how many messages all channels of a cut hold, listed or not.
 * @param {Cut} cut
 */
export function inFlightCount(cut) {
  return cut.outline?.messages ?? messagesInFlight(cut).length;
}

/**
 * Returns how many messages a channel holds at a cut, listed or not.
 * @param {Cut | null} cut @param {number} code
 */
export function depthOf(cut, code) {
  const listed = (cut?.channels.get(code)?.length ?? 0) + (cut?.omitted?.get(code) ?? 0);
  return cut?.outline?.depths.get(code) ?? listed;
}

/**
 * Returns the codes of the channels that hold messages at a cut, but for those that even the outline leaves out.
 * @param {Cut} cut
 */
export function filledChannels(cut) {
  return [...(cut.outline?.depths ?? cut.channels).keys()];
}

/**
 * Returns whether the state of process `p` was asked for.
 * @param {Cut} cut @param {number} p
 */
export function hasState(cut, p) {
  return !cut.outline || cut.outline.listed.has(p);
}

/**
 * Returns whether the messages of a channel are here, or the outline says that there are none.
 * @param {Cut} cut @param {number} code
 */
export function hasMessages({ outline, channels }, code) {
  return !outline || channels.has(code) || (!outline.hiddenChannels && !outline.depths.has(code));
}

/**
 * Returns a cut with the rows of two answers about it.
 * @param {Cut} cut @param {Cut} more @returns {Cut}
 */
export function withRows(cut, more) {
  const joined = { ...cut, states: [...cut.states], known: [...cut.known], watermarks: [...cut.watermarks] };
  for (const p of more.outline.listed) {
    joined.states[p] = more.states[p];
    joined.known[p] = more.known[p];
    joined.watermarks[p] = more.watermarks[p];
  }
  joined.channels = new Map([...cut.channels, ...more.channels]);
  joined.omitted = new Map([...cut.omitted, ...more.omitted]);
  joined.outline = { ...cut.outline, listed: new Set([...cut.outline.listed, ...more.outline.listed]) };
  return joined;
}

/** @param {OpenWindow} window @param {number} row */
function orphanAt({ messages, topology }, row) {
  const channel = topology.channels[messages.channel[row]];
  return {
    verdict: "orphan",
    channel: channel.id,
    message: messages.id[row],
    value: messages.value[row],
    row,
    sent: { process: channel.source, index: messages.sent_index[row], at: messages.sent_at[row] },
    received: { process: channel.target, index: messages.received_index[row], at: messages.received_at[row] },
  };
}
