/**
 * The first picture: a Plotly figure painted on a canvas, shown while Plotly itself is being read.
 *
 * Reading Plotly takes a browser a second or two. The sketch knows the few kinds of traces of
 * still.js and puts everything where Plotly will put it, so that nothing moves when it does.
 */

import { h } from "../../lib/dom.js";
import { fitCanvas } from "./panel.js";

const DASHES = { dash: [9, 9], dot: [3, 3], solid: [] };
const SHADES = 256;
const TICK = 4;
const SHAPES = {
  circle: (path, x, y, r) => path.arc(x, y, r, 0, 2 * Math.PI),
  square: (path, x, y, r) => path.rect(x - r, y - r, 2 * r, 2 * r),
  diamond: (path, x, y, r) => polygon(path, [[x, y - 1.3 * r], [x + 1.3 * r, y], [x, y + 1.3 * r], [x - 1.3 * r, y]]),
  "triangle-up": (path, x, y, r) => polygon(path, [[x, y - r], [x + r, y + r / 2], [x - r, y + r / 2]]),
  x: (path, x, y, r) => polygon(path, [[x - r, y - r / 2], [x + r / 2, y + r], [x + r, y + r / 2], [x - r / 2, y - r]]),
};

/** Paints {data, layout} over the element `plot`; returns what takes the sketch away again. */
export function sketch(plot, { data, layout }) {
  const canvas = h("canvas", { "aria-hidden": "true" });
  plot.after(canvas);
  const context = fitCanvas(canvas);
  const frame = scales(layout);
  context.save();
  context.beginPath();
  context.rect(frame.left, frame.top, frame.right - frame.left, frame.bottom - frame.top);
  context.clip();
  for (const trace of data) {
    if (trace.type === "heatmap") paintHeat(context, frame, trace);
    else if (trace.mode === "lines") paintLine(context, frame, trace);
    else paintMarks(context, frame, trace);
  }
  context.restore();
  paintAxes(context, frame, layout);
  return () => canvas.remove();
}

function scales({ width, height, margin, xaxis, yaxis }) {
  const [left, right, top, bottom] = [margin.l, width - margin.r, margin.t, height - margin.b];
  const along = ([from, to], first, last) => (value) => first + ((value - from) / (to - from)) * (last - first);
  return { left, right, top, bottom, x: along(xaxis.range, left, right), y: along(yaxis.range, bottom, top) };
}

function paintLine(context, frame, { x, y, line }) {
  context.strokeStyle = line.color;
  context.lineWidth = line.width;
  context.setLineDash(DASHES[line.dash] ?? []);
  context.beginPath();
  let drawing = false;
  for (let i = 0; i < x.length; i += 1) {
    if (x[i] === null) drawing = false;
    else {
      if (drawing) context.lineTo(frame.x(x[i]), frame.y(y[i]));
      else context.moveTo(frame.x(x[i]), frame.y(y[i]));
      drawing = true;
    }
  }
  context.stroke();
  context.setLineDash([]);
}

function paintMarks(context, frame, { x, y, marker }) {
  context.beginPath();
  x.forEach((at, i) => {
    const [px, py] = [frame.x(at), frame.y(y[i])];
    context.moveTo(px + marker.size / 2, py);
    SHAPES[marker.symbol](context, px, py, marker.size / 2);
  });
  context.fillStyle = marker.color;
  context.fill();
  if (!marker.line.width) return;
  context.strokeStyle = marker.line.color;
  context.lineWidth = marker.line.width;
  context.stroke();
}

function polygon(path, corners) {
  corners.forEach(([x, y], i) => (i ? path.lineTo(x, y) : path.moveTo(x, y)));
  path.closePath();
}

function paintHeat(context, frame, { x, y, z, ygap, colorscale }) {
  const most = Math.max(1, ...z.map((row) => row.reduce((a, b) => Math.max(a, b), 0)));
  const palette = shades(colorscale);
  z.forEach((row, r) => {
    const top = frame.y(y[r] - 0.5);
    const height = frame.y(y[r] + 0.5) - top;
    row.forEach((count, column) => {
      if (!count) return;
      const from = frame.x(x[column]);
      context.fillStyle = palette[Math.round((count / most) * (SHADES - 1))];
      context.fillRect(from, top + ygap / 2, frame.x(x[column + 1]) - from, height - ygap);
    });
  });
}

/** The colour scale in SHADES steps, as the browser blends it. */
function shades(scale) {
  const context = new OffscreenCanvas(SHADES, 1).getContext("2d");
  const blend = context.createLinearGradient(0, 0, SHADES, 0);
  for (const [share, colour] of scale) blend.addColorStop(share, colour);
  context.fillStyle = blend;
  context.fillRect(0, 0, SHADES, 1);
  const { data } = context.getImageData(0, 0, SHADES, 1);
  return Array.from({ length: SHADES }, (_, i) => `rgba(${data[4 * i]}, ${data[4 * i + 1]}, ${data[4 * i + 2]}, ${data[4 * i + 3] / 255})`);
}

function paintAxes(context, frame, { xaxis, yaxis, font }) {
  context.strokeStyle = xaxis.linecolor;
  context.lineWidth = 1;
  context.fillStyle = font.color;
  context.font = `${font.size}px ${font.family}`;
  context.textAlign = "center";
  xaxis.tickvals.forEach((value, i) => {
    const at = frame.x(value);
    if (at < frame.left || at > frame.right) return;
    context.strokeRect(at, frame.bottom, 0, TICK + 1);
    context.fillText(xaxis.ticktext[i], at, frame.bottom + TICK + 3 + font.size);
  });
  context.strokeRect(frame.left, frame.bottom + 0.5, frame.right - frame.left, 0);
  context.fillText(xaxis.title.text, (frame.left + frame.right) / 2, frame.bottom + TICK + 6 + 2 * font.size);
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.fillStyle = yaxis.tickfont.color;
  context.font = `bold ${yaxis.tickfont.size}px ${font.family}`;
  yaxis.tickvals.forEach((value, i) => context.fillText(plain(yaxis.ticktext[i]), frame.left - 1, frame.y(value)));
}

/** A tick's text without the little HTML that Plotly reads. */
function plain(text) {
  return text.replaceAll("<b>", "").replaceAll("</b>", "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&");
}
