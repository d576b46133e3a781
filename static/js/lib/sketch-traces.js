/** Painting the kinds of traces that a sketch knows: lines, filled outlines, marks, bars and heat maps. */

import { plainText } from "./format.js";

/** @type {Record<string, number[]>} */
const DASHES = { dash: [9, 9], dot: [3, 3] };
const SHADES = 256;
/** The corners of a cross with four arms, such as Plotly draws for "x". */
const CROSS = [
  [0, 1], [1, 2], [2, 1], [1, 0], [2, -1], [1, -2], [0, -1], [-1, -2], [-2, -1], [-1, 0], [-2, 1], [-1, 2],
];
/** @type {Record<string, (path: Context, x: number, y: number, r: number) => void>} */
const SHAPES = {
  /** @param {Context} path @param {number} x @param {number} y @param {number} r */
  circle: (path, x, y, r) => path.arc(x, y, r, 0, 2 * Math.PI),
  /** @param {Context} path @param {number} x @param {number} y @param {number} r */
  square: (path, x, y, r) => path.rect(x - r, y - r, 2 * r, 2 * r),
  /** @param {Context} path @param {number} x @param {number} y @param {number} r */
  diamond: (path, x, y, r) => polygon(path, [[x, y - 1.3 * r], [x + 1.3 * r, y], [x, y + 1.3 * r], [x - 1.3 * r, y]]),
  /** @param {Context} path @param {number} x @param {number} y @param {number} r */
  "triangle-up": (path, x, y, r) => polygon(path, [[x, y - r], [x + r, y + r / 2], [x - r, y + r / 2]]),
  /** @param {Context} path @param {number} x @param {number} y @param {number} r */
  x: (path, x, y, r) => polygon(path, CROSS.map(([right, down]) => [x + (right * r) / 2, y + (down * r) / 2])),
};

/**
 * Paints one trace. `frame` turns values of the axes into pixels.
 * @param {Context} context @param {Frame} frame @param {Trace} trace @param {Layout} font
 */
export function paintTrace(context, frame, trace, font) {
  if (trace.type === "heatmap") paintHeat(context, frame, trace);
  else if (trace.type === "bar") paintBars(context, frame, trace);
  else {
    if (trace.fill) paintFill(context, frame, trace);
    if (trace.mode.includes("lines") && trace.line.width) paintLine(context, frame, trace);
    if (trace.mode.includes("markers")) paintMarks(context, frame, trace);
    if (trace.mode.includes("text")) paintTexts(context, frame, trace, font);
  }
}

/** @param {Context} context @param {string} [name] */
export function setDash(context, name) {
  context.setLineDash(DASHES[name] ?? []);
}

/** @param {Context} context @param {Frame} frame @param {Trace} trace */
function paintLine(context, frame, { x, y, line }) {
  context.strokeStyle = line.color;
  context.lineWidth = line.width;
  context.lineJoin = "round";
  setDash(context, line.dash);
  trail(context, frame, cornersOf(x, y, line.shape));
  context.stroke();
  setDash(context);
}

/** @param {Context} context @param {Frame} frame @param {Trace} trace */
function paintFill(context, frame, { x, y, line, fill, fillcolor }) {
  const edge = cornersOf(x, y, line?.shape);
  const isToZero = fill === "tozeroy";
  trail(context, frame, isToZero ? { x: [x[0], ...edge.x, x.at(-1)], y: [0, ...edge.y, 0] } : edge);
  context.fillStyle = fillcolor;
  context.fill();
}

/**
 * Returns the corners of a line. One of the shape "hv" goes up at each next value, "hvh" in the middle between two.
 * @param {number[]} x @param {number[]} y @param {string} [shape] @returns {LineSet}
 */
function cornersOf(x, y, shape) {
  if (shape !== "hv" && shape !== "hvh") return { x, y };
  /** @type {LineSet} */
  const corners = { x: [], y: [] };
  for (let i = 0; i < x.length; i += 1) {
    const up = shape === "hv" ? x[i] : (x[i - 1] + x[i]) / 2;
    if (i) corners.x.push(up, up, x[i]);
    else corners.x.push(x[i]);
    if (i) corners.y.push(y[i - 1], y[i], y[i]);
    else corners.y.push(y[i]);
  }
  return corners;
}

/**
 * Begins a path from point to point; after a null it starts again.
 * @param {Context} context @param {Frame} frame @param {LineSet} line
 */
function trail(context, frame, { x, y }) {
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
}

/**
 * Paints marks. Their colours and angles may be lists; marks that look alike are one path.
 * @param {Context} context @param {Frame} frame @param {Trace} trace
 */
function paintMarks(context, frame, { x, y, line, marker }) {
  const places = x.map((at, i) => [frame.x(at), frame.y(y[i])]);
  const { color, angle, line: rim } = marker;
  if (![color, angle, rim?.color].some(Array.isArray)) return paintAlike(context, places, marker, color ?? line.color);
  places.forEach((place, i) => {
    const look = { ...marker, angle: nth(angle, i), line: rim && { ...rim, color: nth(rim.color, i) } };
    paintAlike(context, [place], look, nth(color, i));
  });
}

/** @param {any} value a value of all marks, or a list @param {number} i */
function nth(value, i) {
  return Array.isArray(value) ? value[i] : value;
}

/** @param {Context} context @param {number[][]} places @param {any} marker @param {string} colour */
function paintAlike(context, places, { symbol = "circle", size, angle = 0, line }, colour) {
  const isOpen = symbol.endsWith("-open");
  const addShape = SHAPES[symbol.replace("-open", "")];
  context.beginPath();
  for (const [x, y] of places) {
    context.translate(x, y);
    context.rotate((angle * Math.PI) / 180);
    context.moveTo(size / 2, 0);
    addShape(context, 0, 0, size / 2);
    context.rotate((-angle * Math.PI) / 180);
    context.translate(-x, -y);
  }
  context.fillStyle = colour;
  if (!isOpen) context.fill();
  if (!line?.width) return;
  context.strokeStyle = isOpen ? colour : line.color;
  context.lineWidth = line.width;
  context.stroke();
}

/**
 * Paints texts: each above its mark, or in the middle of its place.
 * @param {Context} context @param {Frame} frame @param {Trace} trace @param {Layout} font
 */
function paintTexts(context, frame, { x, y, text, textfont, textposition, marker }, { family }) {
  const isCentred = textposition === "middle center";
  const up = isCentred ? 0 : marker.size / 2 + 5;
  context.fillStyle = textfont.color;
  context.font = `${textfont.size}px ${family}`;
  context.textAlign = "center";
  context.textBaseline = isCentred ? "middle" : "alphabetic";
  x.forEach((at, i) => context.fillText(plainText(text[i])[0], frame.x(at), frame.y(y[i]) - up));
}

/** @param {Context} path @param {number[][]} corners */
function polygon(path, corners) {
  corners.forEach(([x, y], i) => (i ? path.lineTo(x, y) : path.moveTo(x, y)));
  path.closePath();
}

/**
 * Paints bars. `width` is that of all bars, or a list, on the axis across them.
 * @param {Context} context @param {Frame} frame @param {Trace} trace
 */
function paintBars(context, frame, { orientation, x, y, base, width, marker }) {
  const isLying = orientation === "h";
  const [along, across] = isLying ? [frame.x, frame.y] : [frame.y, frame.x];
  const [lengths, places] = isLying ? [x, y] : [y, x];
  context.fillStyle = marker.color;
  lengths.forEach((length, i) => {
    const [begin, half] = [base?.[i] ?? 0, (width[i] ?? width) / 2];
    const [from, to] = [along(begin), along(begin + length)].map(Math.round);
    const [first, last] = [across(places[i] - half), across(places[i] + half)].map(Math.round);
    if (isLying) context.fillRect(from, first, to - from, last - first);
    else context.fillRect(first, from, last - first, to - from);
  });
}

/** @param {Context} context @param {Frame} frame @param {Trace} trace */
function paintHeat(context, frame, { x, y, z, ygap, zmax, colorscale }) {
  const most = zmax ?? Math.max(1, ...z.map((row) => Math.max(0, ...Array.from(row))));
  const palette = shades(colorscale);
  const edges = Array.from(x, (edge) => Math.round(frame.x(edge))); // whole pixels, or the cells have seams
  z.forEach((row, r) => {
    const [top, bottom] = [y[r] - 0.5, y[r] + 0.5].map((edge) => Math.round(frame.y(edge)));
    Array.from(row).forEach((count, column) => {
      if (!count) return;
      context.fillStyle = palette[Math.round((count / most) * (SHADES - 1))];
      const width = Math.max(edges[column + 1] - edges[column], 1);
      context.fillRect(edges[column], top + ygap / 2, width, bottom - top - ygap);
    });
  });
}

/**
 * Returns a colour scale in SHADES steps, as the browser blends it.
 * @param {[number, string][]} scale
 */
function shades(scale) {
  const context = new OffscreenCanvas(SHADES, 1).getContext("2d");
  const blend = context.createLinearGradient(0, 0, SHADES, 0);
  for (const [share, colour] of scale) blend.addColorStop(share, colour);
  context.fillStyle = blend;
  context.fillRect(0, 0, SHADES, 1);
  const { data } = context.getImageData(0, 0, SHADES, 1);
  return Array.from(
    { length: SHADES },
    (_, i) => `rgba(${data[4 * i]}, ${data[4 * i + 1]}, ${data[4 * i + 2]}, ${data[4 * i + 3] / 255})`,
  );
}
