/** The geometry of the space-time diagram: time runs along x, lanes down y. Pure; lengths are in pixels. */

import { IN_FLIGHT } from "../../lib/window.js";

export const LANE_LEAST = 10;
const PAD = 14;

/**
 * Measures a diagram. As many lanes are drawn, from the process `first` on, as fit into the height.
 * @param {Measures} measures
 */
export function geometry({ width, height, left, right, top, bottom, from, to, processes, first }) {
  const inner = { width: Math.max(width - left - right, 1), height: Math.max(height - top - bottom, 1) };
  const lanes = Math.min(processes, Math.max(1, Math.floor(inner.height / LANE_LEAST)));
  const start = Math.max(0, Math.min(first, processes - lanes));
  const pitch = lanes > 1 ? (inner.height - 2 * PAD) / (lanes - 1) : 0;
  /** @param {number} at */
  const x = (at) => left + ((at - from) / (to - from)) * inner.width;
  /** @param {number} process */
  const y = (process) => (lanes > 1 ? top + PAD + (process - start) * pitch : top + inner.height / 2);
  return {
    width, height, left, right, top, bottom, from, to, lanes, first: start, pitch,
    plotWidth: inner.width,
    plotBottom: height - bottom,
    x,
    y,
    /** @param {number} px */
    at: (px) => from + ((px - left) / inner.width) * (to - from),
    perPixel: (to - from) / inner.width,
    /** @param {number} process */
    shows: (process) => process >= start && process < start + lanes,
  };
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
    const [x0, y0, x1, y1] = lineOf(table, channels, g, now, row);
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
 * Returns the line of a message, [x0, y0, x1, y1]. If it never arrives, it ends at `now`, short of its target.
 * @param {OpenFlights} table @param {OpenChannel[]} channels @param {Geometry} g @param {number} now
 * @param {number} row @returns {[number, number, number, number]}
 */
export function lineOf(table, channels, g, now, row) {
  const { sourceCode, targetCode } = channels[table.channel[row]];
  const y0 = g.y(sourceCode);
  const y1 = g.y(targetCode);
  if (table.received_index[row] !== IN_FLIGHT) return [g.x(table.sentX[row]), y0, g.x(table.receivedX[row]), y1];
  return [g.x(table.sentX[row]), y0, g.x(Math.max(now, table.sentX[row])), y0 + (y1 - y0) * 0.6];
}

/** @param {number} px @param {number} py @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
export function distanceToLine(px, py, x0, y0, x1, y1) {
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
