/**
 * The geometry of the space-time diagram: time runs along x, lanes down y. Pure; lengths are in pixels.
 *
 * A row is a lane of the arrangement (lib/lanes.js), a slot is the place of a row on the screen.
 */

import { eventRow, IN_FLIGHT } from "../../lib/window.js";

const LANE_LEAST = 10;
const LANE_FITTED = 2; // the same, where all lanes are to fit
const PAD = 14;
const STUB = 0.42; // how far the line of a message leads towards a hidden lane, in lanes
export const STUB_WIDTH = 14; // pixels along the axis

/**
 * Measures a diagram. As many lanes are drawn as fit into the height: the pinned ones, then those from the first on.
 * Pinned lanes that leave no room for another scroll with the others.
 * @param {Measures} measures
 */
export function geometry({ width, height, left, right, top, bottom, scale, arrangement }) {
  const inner = { width: Math.max(width - left - right, 1), height: Math.max(height - top - bottom, 1) };
  const { rows, rowOf } = arrangement;
  const least = arrangement.isFitted ? LANE_FITTED : LANE_LEAST;
  const lanes = Math.min(rows.length, Math.max(1, Math.floor(inner.height / least)));
  const pinned = Math.min(arrangement.pinned, Math.max(lanes - 1, 0));
  const firstRow = Math.max(pinned, Math.min(arrangement.first, rows.length - (lanes - pinned)));
  const skipped = firstRow - pinned;
  const pitch = lanes > 1 ? (inner.height - 2 * PAD) / (lanes - 1) : 0;
  const begin = scale.u(scale.from);
  /** @param {number} place */
  const fromU = (place) => left + ((place - begin) / scale.span) * inner.width;
  /** @param {number} row */
  const slotOfRow = (row) => {
    if (row < pinned) return row;
    return row - skipped >= pinned ? row - skipped : row - skipped - pinned;
  };
  /** @param {number} process */
  const slot = (process) => (rowOf[process] < 0 ? NaN : slotOfRow(rowOf[process]));
  /** @param {number} place */
  const yOfSlot = (place) => (lanes > 1 ? top + PAD + place * pitch : top + (inner.height / 2) * (1 + place));
  return {
    width, height, left, right, top, bottom, from: scale.from, to: scale.to, lanes, pitch, scale, pinned,
    plotWidth: inner.width,
    plotBottom: height - bottom,
    /** The place among all rows of the first one in view below those that stay. */
    firstRow,
    /** The rows in view, from top to bottom. */
    rows: Array.from({ length: lanes }, (_, i) => rows[i < pinned ? i : i + skipped]),
    fromU,
    /** @param {number} at */
    x: (at) => fromU(scale.u(at)),
    slot,
    yOfSlot,
    /** @param {number} process */
    y: (process) => yOfSlot(slot(process)),
    /** @param {number} px */
    at: (px) => scale.x(begin + ((px - left) / inner.width) * scale.span),
    perPixel: scale.span / inner.width, // in u
    /** @param {number} process */
    shows: (process) => slot(process) >= 0 && slot(process) < lanes,
  };
}

/**
 * Returns the slots between which the line of a channel runs, or null if both of its ends are hidden. Towards a hidden
 * end it is a stub.
 * @param {OpenChannel} channel @param {Geometry} g
 */
export function slotsOf({ sourceCode, targetCode }, g) {
  const [source, target] = [g.slot(sourceCode), g.slot(targetCode)];
  if (Number.isNaN(source)) return Number.isNaN(target) ? null : [target - STUB, target];
  return Number.isNaN(target) ? [source, source + STUB] : [source, target];
}

/**
 * Returns whether one end of a channel has no lane.
 * @param {OpenChannel} channel @param {Geometry} g
 */
export function isStub({ sourceCode, targetCode }, g) {
  return Number.isNaN(g.slot(sourceCode)) !== Number.isNaN(g.slot(targetCode));
}

/**
 * Returns the row of the event nearest to a pixel, within `reach`, or -1.
 * @param {OpenWindow} window @param {Geometry} g @param {number} px @param {number} py @param {number} reach
 */
export function nearestEvent(window, g, px, py, reach) {
  const { events } = window;
  let best = -1;
  let least = reach * reach;
  for (let row = 0; row < events.count; row += 1) {
    const dy = g.y(events.process[row]) - py;
    if (dy * dy > least) continue;
    const dx = g.x(events.x[row]) - px;
    const d = dx * dx + dy * dy;
    if (d <= least && g.shows(events.process[row])) {
      least = d;
      best = row;
    }
  }
  return best;
}

/**
 * Returns the row of the message or marker whose line is nearest to a pixel, within `reach`, or -1.
 * @param {OpenFlights} table @param {OpenChannel[]} channels @param {Geometry} g @param {number} now @param {number} px
 * @param {number} py @param {number} reach
 */
export function nearestLine(table, channels, g, now, px, py, reach) {
  let best = -1;
  let least = reach;
  for (let row = 0; row < table.count; row += 1) {
    const line = lineOf(table, channels, g, now, row);
    if (!line) continue;
    const [x0, y0, x1, y1] = line;
    if (px < Math.min(x0, x1) - reach || px > Math.max(x0, x1) + reach) continue;
    const d = distanceToLine(px, py, x0, y0, x1, y1);
    if (d < least) {
      least = d;
      best = row;
    }
  }
  return best;
}

/**
 * Returns the line of a message, [x0, y0, x1, y1], or null if both of its ends are hidden. If it never arrives, it ends
 * at `now`, short of its target. The line of a message from or to a hidden lane is a stub.
 * @param {OpenFlights} table @param {OpenChannel[]} channels @param {Geometry} g @param {number} now
 * @param {number} row @returns {[number, number, number, number] | null}
 */
export function lineOf(table, channels, g, now, row) {
  const channel = channels[table.channel[row]];
  const slots = slotsOf(channel, g);
  if (!slots) return null;
  const [y0, y1] = slots.map(g.yOfSlot);
  const hasArrived = table.received_index[row] !== IN_FLIGHT;
  const [x0, x1] = [table.sentX[row], hasArrived ? table.receivedX[row] : Math.max(now, table.sentX[row])].map(g.x);
  if (isStub(channel, g)) {
    if (Number.isNaN(g.slot(channel.targetCode))) return [x0, y0, Math.min(x1, x0 + STUB_WIDTH), y1];
    return hasArrived ? [Math.max(x0, x1 - STUB_WIDTH), y0, x1, y1] : null;
  }
  return [x0, y0, x1, hasArrived ? y1 : y0 + (y1 - y0) * 0.6];
}

/** @param {number} px @param {number} py @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function distanceToLine(px, py, x0, y0, x1, y1) {
  const dx = x1 - x0;
  const dy = y1 - y0;
  const length = dx * dx + dy * dy;
  const along = length === 0 ? 0 : Math.max(0, Math.min(1, ((px - x0) * dx + (py - y0) * dy) / length));
  return Math.hypot(px - x0 - along * dx, py - y0 - along * dy);
}

/**
 * Returns at which share of its line (0 to 1) a message in flight is at `now`.
 * @param {OpenFlights} table @param {number} row @param {number} now
 */
export function progress(table, row, now) {
  if (table.received_index[row] === IN_FLIGHT) return 1;
  const span = table.receivedX[row] - table.sentX[row];
  return span <= 0 ? 1 : (now - table.sentX[row]) / span;
}

/**
 * Returns whether a message is in flight at `now`.
 * @param {OpenFlights} table @param {number} row @param {number} now
 */
export function inFlight(table, row, now) {
  return table.sentX[row] <= now && (table.received_index[row] === IN_FLIGHT || table.receivedX[row] > now);
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

