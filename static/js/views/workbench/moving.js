/** What is under the hand in the space-time diagram, on a canvas: cursor, highlights, the dragged cut. */

import { fitCanvas } from "../../lib/canvas.js";
import { messagesInFlight } from "../../lib/shown.js";
import { lineOf } from "./geometry.js";
import { faded } from "./colours.js";

const FEW_LINES = 40; // more lines than these are drawn as hairlines
const HAIRS = [[0, 0], [0, 1], [0.7, 0.5]];

/**
 * Draws one frame.
 * @param {HTMLCanvasElement} canvas @param {MovingScene} scene
 */
export function drawMoving(canvas, scene) {
  const context = fitCanvas(canvas);
  paintMoving(context, scene);
  clearMargins(context, scene.g);
}

/**
 * Paints one frame on a context; what lies outside the plot is painted too.
 * @param {Context} context @param {MovingScene} scene
 */
export function paintMoving(context, scene) {
  const { state } = scene;
  drawFuture(context, scene);
  if (state.cones) drawCones(context, scene);
  if (scene.window?.exact && scene.window.axis === state.axis) {
    drawHighlight(context, scene, scene.hover, 0.5);
    if (!state.witness) drawHighlight(context, scene, state.selection, 1);
  }
  if (scene.cutX) drawCut(context, scene);
  drawCursor(context, scene);
}

/**
 * Clears what lies outside the plot, which costs less than clipping each line.
 * @param {Context} context @param {Geometry} g
 */
function clearMargins(context, g) {
  context.clearRect(0, 0, g.left, g.height);
  context.clearRect(g.width - g.right, 0, g.right, g.height);
  context.clearRect(0, g.plotBottom, g.width, g.bottom);
}

/**
 * Veils what has not happened yet.
 * @param {Context} context @param {MovingScene} scene
 */
function drawFuture(context, { g, state, colours }) {
  const x = Math.max(g.left, g.x(state.now));
  if (x >= g.width - g.right || state.cut || state.witness) return;
  context.fillStyle = faded(colours.panel, 0.45);
  context.fillRect(x, g.top, g.width - g.right - x, g.plotBottom - g.top);
}

/**
 * Draws the past and the future of the selected event as bands along the lanes.
 * @param {Context} context @param {MovingScene} scene
 */
function drawCones(context, { g, state, colours }) {
  const { past, future } = state.cones;
  /** @param {ConeEdge} edge @param {number} p */
  const coordinate = (edge, p) => (state.axis === "order" ? edge.step[p] + 1 : edge.at[p]);
  for (const { processes: [p, ...others] } of g.rows) {
    if (others.length) continue; // the processes of a closed group differ
    const [y, height] = [g.y(p), Math.min(10, (g.pitch || 30) * 0.7)];
    context.fillStyle = faded(colours.accent, 0.35);
    if (past.at[p] !== null) context.fillRect(g.left, y - height / 2, g.x(coordinate(past, p)) - g.left, height);
    context.fillStyle = faded(colours.recorded, 0.35);
    const from = Math.max(g.left, g.x(coordinate(future, p)));
    if (future.at[p] !== null) context.fillRect(from, y - height / 2, Math.max(0, g.width - g.right - from), height);
  }
}

/**
 * Draws lines that are 2.5 pixels wide, from a flat list of x0, y0, x1, y1. Many lines are drawn as three hairlines
 * each: software rendering takes 27 ms for a path of 300 crossing wide lines, and 3 ms for the hairlines.
 * @param {Context} context @param {number[]} lines @param {string} colour
 */
function strokeThick(context, lines, colour) {
  context.strokeStyle = colour;
  const many = lines.length > 4 * FEW_LINES;
  context.lineWidth = many ? 1 / (devicePixelRatio || 1) : 2.5;
  for (const [dx, dy] of many ? HAIRS : [[0, 0]]) {
    context.beginPath();
    for (let i = 0; i < lines.length; i += 4) {
      context.moveTo(lines[i] + dx, lines[i + 1] + dy);
      context.lineTo(lines[i + 2] + dx, lines[i + 3] + dy);
    }
    context.stroke();
  }
}

/** @param {Context} context @param {MovingScene} scene @param {any} target @param {number} strength */
function drawHighlight(context, scene, target, strength) {
  const { window, g, topology, colours, state } = scene;
  if (!target) return;
  context.strokeStyle = faded(colours.accent, strength);
  context.lineWidth = 2;
  if (target.of === "event" && target.row >= 0 && g.shows(target.process)) {
    context.beginPath();
    context.arc(g.x(window.events.x[target.row]), g.y(target.process), 8, 0, 2 * Math.PI);
    context.stroke();
  } else if ((target.of === "message" || target.of === "marker") && target.row >= 0) {
    const table = target.of === "message" ? window.messages : window.markers;
    const line = lineOf(table, topology.channels, g, state.now, target.row);
    context.lineWidth = 3;
    if (line) strokeLine(context, ...line);
  } else if (target.of === "process" && g.shows(target.process)) {
    context.lineWidth = 3;
    strokeLine(context, g.left, g.y(target.process), g.width - g.right, g.y(target.process));
  } else if (target.of === "channel") {
    context.lineWidth = 2;
    for (let row = 0; row < window.messages.count; row += 1) {
      const line = window.messages.channel[row] === target.channel
        ? lineOf(window.messages, topology.channels, g, state.now, row)
        : null;
      if (line) strokeLine(context, ...line);
    }
  }
}

/** @param {Context} context @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function strokeLine(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/**
 * Draws the dragged cut: its line, a veil over what it leaves out, its messages in flight and its orphans (dashed).
 * @param {Context} context @param {MovingScene} scene
 */
function drawCut(context, scene) {
  const { window, g, colours, cutX, shown } = scene;
  const xs = g.rows.flatMap(({ processes }, slot) => {
    const places = processes.map((p) => cutX[p]);
    const ends = processes.length > 1 ? [Math.min(...places), Math.max(...places)] : places;
    return ends.map((x) => [x, g.yOfSlot(slot)]);
  });
  if (!xs.length) return;
  const [top, bottom] = [[xs[0][0], g.top], [xs.at(-1)[0], g.plotBottom]];
  context.beginPath();
  const right = g.width - g.right;
  tracePath(context, [top, ...xs, bottom, [right, g.plotBottom], [right, g.top]]);
  context.closePath();
  context.fillStyle = faded(colours.panel, 0.55);
  context.fill();
  if (window && shown?.window === window) {
    drawRows(context, scene, messagesInFlight(shown), colours.message, []);
    drawRows(context, scene, shown.orphans, colours.orphan, [7, 5]);
  }
  context.strokeStyle = shown?.consistent === false ? colours.orphan : colours.accent;
  context.lineWidth = 2.5;
  tracePath(context, [top, ...xs, bottom]);
  context.stroke();
}

/** @param {Context} context @param {number[][]} points */
function tracePath(context, points) {
  context.beginPath();
  points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
}

/**
 * @param {Context} context @param {MovingScene} scene @param {{ row?: number }[]} messages @param {string} colour
 * @param {number[]} dash
 */
function drawRows(context, { window, g, topology, state }, messages, colour, dash) {
  const rows = messages.map(({ row }) => row).filter((row) => row !== undefined);
  const lines = rows.flatMap((row) => lineOf(window.messages, topology.channels, g, state.to, row) ?? []);
  context.setLineDash(dash);
  strokeThick(context, lines, colour);
  context.setLineDash([]);
}

/** @param {Context} context @param {MovingScene} scene */
function drawCursor(context, { g, state, colours }) {
  drawHair(context, g, g.x(state.now), state.cut ? faded(colours.ink, 0.35) : colours.ink, !state.cut);
}

/** @param {Context} context @param {Geometry} g @param {number} x @param {string} colour @param {boolean} grip */
function drawHair(context, g, x, colour, grip) {
  if (x < g.left - 8 || x > g.width - g.right + 8) return;
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 1.5;
  strokeLine(context, x, 0, x, g.plotBottom);
  if (!grip) return;
  tracePath(context, [[x - 6, 0], [x + 6, 0], [x + 6, 6], [x, 12], [x - 6, 6]]);
  context.closePath();
  context.fill();
}
