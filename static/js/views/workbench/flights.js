/** Messages and markers on their way in the space-time diagram, as traces of its moving figure. */

import { IN_FLIGHT } from "../../lib/window.js";
import { inFlight, lineOf } from "./geometry.js";

const DIMMED = 0.2; // beside the witness of a finding
const FEW_LINES = 40; // up to so many, the way that each has come is drawn
export const MOST_MARKS = 400; // more elements than these are slow

/**
 * Returns the rows of a table that are in flight at `now`; of more than `MOST_MARKS`, every second, third or n-th.
 * @param {OpenFlights} table @param {number[]} rows in the order of their sends @param {number} now
 */
export function rowsInFlight(table, rows, now) {
  const flying = rows.filter((row) => inFlight(table, row, now));
  const every = stepThrough(flying.length);
  return flying.filter((_, i) => i % every === 0);
}

/**
 * Returns n where every n-th of so many messages is drawn.
 * @param {number} count
 */
export function stepThrough(count) {
  return Math.max(1, Math.ceil(count / MOST_MARKS));
}

/**
 * Returns the traces: ways of messages, ways of markers, messages, markers.
 * @param {MovingScene} scene @param {{ messages: number[], markers: number[] }} flying rows
 * @param {number} at where the cursor is, or will be a moment later
 */
export function flightTraces(scene, flying, at) {
  const { window, colours } = scene;
  const [messages, markers] = [
    placesOf(scene, window?.messages, flying.messages, at),
    placesOf(scene, window?.markers, flying.markers, at),
  ];
  const opacity = scene.witness ? DIMMED : 1;
  return [
    waysOf(messages, colours.message, scene.g),
    waysOf(markers, colours.marker, scene.g),
    marksOf(messages, "circle", 8, colours.message, scene.g),
    marksOf(markers, "diamond", 12, colours.marker, scene.g),
  ].map((trace) => ({ ...trace, opacity }));
}

/**
 * @param {MovingScene} scene @param {OpenFlights | undefined} table @param {number[]} rows @param {number} at
 * @returns {FlightPlace[]}
 */
function placesOf({ g, topology }, table, rows, at) {
  return rows.flatMap((row) => {
    const line = lineOf(table, topology.channels, g, at, row);
    if (!line) return [];
    const [x0, y0, x1, y1] = line;
    const hasArrived = table.received_index[row] !== IN_FLIGHT;
    const along = hasArrived && x1 > x0 ? Math.max(0, Math.min(1, (g.x(at) - x0) / (x1 - x0))) : 1;
    const [x, y] = [x0 + (x1 - x0) * along, y0 + (y1 - y0) * along];
    return [{ id: `${table.channel[row]} ${table.sent_index[row]}`, x0, y0, x, y }];
  });
}

/**
 * Returns a line for each message from where it was sent, or from the edge of the plot, to where it is.
 * @param {FlightPlace[]} places @param {string} color @param {Geometry} g @returns {Trace}
 */
function waysOf(places, color, { left, top, plotBottom }) {
  /** @param {number} y */
  const isInView = (y) => y >= top && y <= plotBottom;
  const drawn = places.length > FEW_LINES ? [] : places.filter(({ y0, y }) => isInView(y0) && isInView(y));
  const begins = drawn.map(({ x0, y0, x, y }) => {
    if (x0 >= left) return [x0, y0];
    return x <= left ? [x, y] : [left, y0 + ((y - y0) * (left - x0)) / (x - x0)];
  });
  return {
    type: "scatter",
    mode: "lines",
    x: drawn.flatMap(({ x }, i) => [begins[i][0], x, null]),
    y: drawn.flatMap(({ y }, i) => [begins[i][1], y, null]),
    line: { color, width: 2.5, simplify: false },
    hoverinfo: "skip",
  };
}

/**
 * @param {FlightPlace[]} places @param {string} symbol @param {number} size @param {string} color @param {Geometry} g
 * @returns {Trace}
 */
function marksOf(places, symbol, size, color, g) {
  const drawn = places.filter(({ x, y }) => x >= g.left && x <= g.width - g.right && y >= g.top && y <= g.plotBottom);
  return {
    type: "scatter",
    mode: "markers",
    ids: drawn.map(({ id }) => id),
    x: drawn.map(({ x }) => x),
    y: drawn.map(({ y }) => y),
    marker: { symbol, size, color },
    hoverinfo: "skip",
  };
}
