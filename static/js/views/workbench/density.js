/** Many messages as a faint density: how many are on their way between which lanes when. Pure. */

import { channelsAt, isInside } from "../../lib/cuts.js";
import { counted, thousands } from "../../lib/format.js";
import { IN_FLIGHT } from "../../lib/window.js";
import { faded } from "./colours.js";
import { isStub, slotsOf } from "./geometry.js";

const DENSE = 600; // messages in view from which on a line for each hides all others
const COLUMNS = 160;
const ROWS_A_LANE = 3; // of the density, between a lane and the next
const MOST_ROWS = 180;

/**
 * Returns the rows of the messages that are on their way at any time of the part in view.
 * @param {Scene} scene
 */
function rowsInView({ window, g }) {
  const { count, sentX, receivedX, received_index: received } = window.messages;
  return Array.from({ length: count }, (_, row) => row).filter(
    (row) => sentX[row] <= g.to && (received[row] === IN_FLIGHT || receivedX[row] >= g.from),
  );
}

/**
 * Returns whether messages are drawn as a density.
 * @param {Scene} scene
 */
export function isDense(scene) {
  if (!scene.window?.exact || scene.window.messages.count <= DENSE) return false;
  return rowsInView(scene).length > DENSE;
}

/**
 * Returns the rows of the messages that cross a cut: in flight in it, and orphans. Neither is known of a cut that the
 * window does not hold.
 * @param {OpenWindow} window @param {number[] | null} positions
 */
export function crossing(window, positions) {
  const inside = positions && isInside(window, positions) ? channelsAt(window, positions) : null;
  return { across: new Set(inside ? [...inside.contents.values()].flat() : []), wrong: new Set(inside?.orphans) };
}

/**
 * Says what is drawn of the messages of a dense window.
 * @param {Scene} scene
 */
export function densitySentence(scene) {
  if (!isDense(scene)) return "";
  const { window, positions, snapshot } = scene;
  const { across, wrong } = crossing(window, positions);
  const rows = rowsInView(scene);
  const lines = rows.filter((row) => across.has(row) || wrong.has(row)).length;
  const rest = `${thousands(rows.length - lines)} messages as a density. `;
  return positions ? `${counted(lines, "line")}: what crosses the cut of ${snapshot}; ${rest}` : rest;
}

/**
 * Counts the messages on their way in cells of the part in view, the uppermost row first. The middles of the columns
 * are `x`, in u, and those of the rows `y`, in slots.
 * @param {Scene} scene @returns {{ cells: Float64Array[], x: number[], y: number[] }}
 */
export function countedCells({ window, g, topology }) {
  const { u, span, from } = g.scale;
  const count = Math.min(MOST_ROWS, Math.max(1, g.lanes - 1) * ROWS_A_LANE);
  const high = Math.max(1, g.lanes - 1) / count; // of a row, in slots
  const cells = Array.from({ length: count }, () => new Float64Array(COLUMNS));
  const { messages } = window;
  for (let row = 0; row < messages.count; row += 1) {
    const channel = topology.channels[messages.channel[row]];
    const slots = slotsOf(channel, g);
    if (!slots || isStub(channel, g)) continue;
    const end = messages.received_index[row] === IN_FLIGHT ? window.to : messages.receivedX[row];
    const [first, last] = [messages.sentX[row], end].map((at) => ((u(at) - u(from)) / span) * COLUMNS);
    const begin = Math.max(0, Math.floor(first));
    for (let column = begin; column < Math.min(COLUMNS, Math.max(last, begin + 0.5)); column += 1) {
      const along = last > first ? Math.min(1, Math.max(0, (column + 0.5 - first) / (last - first))) : 0;
      const place = Math.floor((slots[0] + along * (slots[1] - slots[0])) / high);
      if (place >= 0 && place < count) cells[place][column] += 1;
    }
  }
  return {
    cells,
    x: Array.from({ length: COLUMNS }, (_, i) => u(from) + ((i + 0.5) * span) / COLUMNS),
    y: cells.map((_, i) => (i + 0.5) * high),
  };
}

/**
 * Makes the density of a scene as a heat map.
 * @param {Scene} scene @returns {Trace}
 */
export function densityOf(scene) {
  const { cells, x, y } = countedCells(scene);
  const most = Math.max(1, ...cells.map((row) => Math.max(...row)));
  return {
    type: "heatmap",
    x,
    y,
    z: cells,
    zmin: 0,
    zmax: most,
    zsmooth: "fast",
    colorscale: [[0, faded(scene.colours.message, 0)], [0.2, faded(scene.colours.message, 0.18)],
      [1, faded(scene.colours.message, 0.5)]],
    showscale: false,
    hoverinfo: "skip",
  };
}
