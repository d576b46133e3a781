/**
 * The rules of a cut: channel contents, orphans, states. They are those of snapshots/domain/judging/cuts.py, and stand
 * here once more for what has no server to ask in time: a cut while it is dragged, and a document that checks itself.
 *
 * A cut is an array of positions, one per process: how many of its events lie inside. An exact window holds every
 * message that overlaps it, so it suffices for all positions between its left and its right edge.
 */

import { summed } from "./shown.js";
import { IN_FLIGHT } from "./window.js";

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
