/**
 * A sketch of a Plotly figure, painted on a canvas in some milliseconds.
 *
 * It stands until Plotly has been loaded and has drawn (picture.js). The sketch knows the kinds of traces that our
 * figures have (sketch-traces.js). It puts everything where Plotly will put it, so that nothing moves.
 * Therefore each axis needs its `range`, and `tickvals` and `ticktext` unless it is not `visible`; the layout needs its
 * margin.
 */

import { fitCanvas, sizeOf } from "./canvas.js";
import { plainText } from "./format.js";
import { paintTrace, setDash } from "./sketch-traces.js";

const TICK = 4;
const TITLE_Y = 34; // from the axis to the title beside it
const LINE = 1.3; // distance from one line of text to the next, in heights of the text

/**
 * Paints a figure on a canvas that covers it.
 * @param {HTMLCanvasElement} canvas @param {Figure} figure
 */
export function paintFigure(canvas, figure) {
  paintFigureOn(fitCanvas(canvas), sizeOf(canvas), figure);
}

/**
 * Paints a figure on a context, in a box of a size.
 * @param {Context} context @param {Size} size @param {Figure} figure
 */
export function paintFigureOn(context, size, { data, layout }) {
  const frames = framesOf(layout, size);
  for (const frame of frames.values()) paintGrid(context, frame);
  for (const trace of data) {
    inside(context, frames.get(trace.yaxis ?? "y"), (frame) => paintTrace(context, frame, trace, layout.font));
  }
  const [first] = frames.values();
  for (const shape of layout.shapes ?? []) paintShape(context, first, shape);
  for (const frame of frames.values()) paintTicksY(context, frame, layout.font);
  paintTicksX(context, [...frames.values()].at(-1), layout.font);
  for (const note of layout.annotations ?? []) paintNote(context, layout, { ...size, frame: first }, note);
}

/**
 * Returns the frame of each y axis ("y", "y2", …): its edges in pixels, and functions from values to pixels.
 * @param {Layout} layout @param {Size} size @returns {Map<string, Frame>}
 */
function framesOf(layout, { width, height }) {
  const { margin, xaxis } = layout;
  const [left, right] = [margin.l, width - margin.r];
  const tall = height - margin.t - margin.b;
  /** @param {number[]} range @param {number} first @param {number} last @returns {(value: number) => number} */
  const along = ([from, to], first, last) => (value) => first + ((value - from) / (to - from)) * (last - first);
  const frames = new Map();
  for (const [name, yaxis] of Object.entries(layout)) {
    if (!name.startsWith("yaxis")) continue;
    const [low, high] = yaxis.domain ?? [0, 1];
    const [top, bottom] = [margin.t + (1 - high) * tall, margin.t + (1 - low) * tall];
    const [x, y] = [along(xaxis.range, left, right), along(yaxis.range, bottom, top)];
    frames.set(name.replace("axis", ""), { left, right, top, bottom, xaxis, yaxis, x, y });
  }
  return frames;
}

/** @param {Context} context @param {Frame} frame @param {(frame: Frame) => void} paint */
function inside(context, frame, paint) {
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
  context.clip();
  paint(frame);
  context.restore();
}

/** @param {Context} context @param {Frame} frame */
function paintGrid(context, frame) {
  const { left, right, top, bottom, xaxis, yaxis } = frame;
  context.lineWidth = 1;
  if (xaxis.showgrid !== false) {
    context.strokeStyle = xaxis.gridcolor;
    for (const value of shown(xaxis)) stroke(context, crisp(frame.x(value)), top, crisp(frame.x(value)), bottom);
  }
  if (yaxis.showgrid !== false) {
    context.strokeStyle = yaxis.gridcolor;
    for (const value of shown(yaxis)) stroke(context, left, crisp(frame.y(value)), right, crisp(frame.y(value)));
  }
}

/** @param {AxisLayout} axis @returns {number[]} */
function shown({ range, tickvals, visible }) {
  if (visible === false) return [];
  const [least, most] = [Math.min(...range), Math.max(...range)];
  return tickvals.filter((value) => value >= least && value <= most);
}

/** @param {Context} context @param {Frame} frame @param {Layout} font */
function paintTicksX(context, frame, font) {
  const { xaxis, left, right, bottom } = frame;
  if (xaxis.visible === false) return;
  context.strokeStyle = xaxis.linecolor;
  context.lineWidth = 1;
  context.fillStyle = xaxis.tickfont?.color ?? font.color;
  context.font = `${font.size}px ${font.family}`;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  xaxis.tickvals.forEach((value, i) => {
    const at = frame.x(value);
    if (at < left || at > right) return;
    stroke(context, at, bottom, at, bottom + TICK + 1);
    plainText(xaxis.ticktext[i]).forEach(
      (text, line) => context.fillText(text, at, bottom + TICK + 3 + font.size * (1 + LINE * line)),
    );
  });
  stroke(context, left, bottom + 0.5, right, bottom + 0.5);
  if (!xaxis.title?.text) return;
  context.fillStyle = font.color;
  context.fillText(xaxis.title.text, (left + right) / 2, bottom + TICK + 6 + 2 * font.size);
}

/** @param {Context} context @param {Frame} frame @param {Layout} font */
function paintTicksY(context, frame, font) {
  const { yaxis, left, top, bottom } = frame;
  if (yaxis.visible === false) return;
  const { color, size, weight = "normal" } = /** @type {any} */ ({ ...font, ...yaxis.tickfont });
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = color;
  yaxis.tickvals.forEach((value, i) => {
    const text = yaxis.ticktext[i];
    context.font = `${weight} ${size}px ${font.family}`;
    context.fillText(plainText(text)[0], left - 1, frame.y(value));
  });
  if (yaxis.title?.text) paintTitleY(context, yaxis.title.text, { x: left - TITLE_Y, y: (top + bottom) / 2 }, font);
}

/** @param {Context} context @param {string} title @param {Point} middle @param {Layout} font */
function paintTitleY(context, title, { x, y }, font) {
  context.save();
  context.translate(x, y);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  context.fillStyle = font.color;
  context.font = `${font.size}px ${font.family}`;
  context.fillText(title, 0, 0);
  context.restore();
}

/**
 * Paints a line. x0 and x1 are values of the axis, y0 and y1 shares of the diagram's height.
 * @param {Context} context @param {Frame} frame @param {Layout} part
 */
function paintShape(context, frame, { x0, x1, y0, y1, line }) {
  /** @param {number} part */
  const share = (part) => frame.bottom + (frame.top - frame.bottom) * part;
  context.strokeStyle = line.color;
  context.lineWidth = line.width;
  setDash(context, line.dash);
  stroke(context, frame.x(x0), share(y0), frame.x(x1), share(y1));
  setDash(context);
}

/**
 * Paints a text whose lower corner is at x and y. y is a share of the figure, as x is with `xref: "paper"`; otherwise x
 * is a value of the axis.
 * @param {Context} context @param {Layout} layout @param {Size & { frame: Frame }} size @param {Layout} note
 */
function paintNote(context, { margin, font }, { width, height, frame }, { x, y, xref, text, xanchor, font: own }) {
  context.textAlign = xanchor ?? "left";
  context.textBaseline = "alphabetic";
  context.fillStyle = own?.color ?? font.color;
  context.font = `${own?.weight ?? "normal"} ${own?.size ?? font.size}px ${font.family}`;
  const at = xref === "paper" ? margin.l + x * (width - margin.l - margin.r) : frame.x(x);
  context.fillText(
    plainText(text)[0],
    at + (xanchor === "right" ? -2 : 2),
    margin.t + (1 - y) * (height - margin.t - margin.b) - 5,
  );
}

/** @param {Context} context @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function stroke(context, x0, y0, x1, y1) {
  context.beginPath();
  context.moveTo(x0, y0);
  context.lineTo(x1, y1);
  context.stroke();
}

/** @param {number} at */
function crisp(at) {
  return Math.floor(at) + 0.5;
}
