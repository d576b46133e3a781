/** Painting the kinds of traces that a sketch knows: lines, filled outlines, marks, bars and heat maps. */

/** @type {Record<string, number[]>} */
const DASHES = { dash: [9, 9], dot: [3, 3] };
const SHADES = 256;
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
  x: (path, x, y, r) => polygon(path, [[x - r, y - r / 2], [x + r / 2, y + r], [x + r, y + r / 2], [x - r / 2, y - r]]),
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
    else if (trace.mode.includes("lines")) paintLine(context, frame, trace);
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
  trail(context, frame, x, y);
  context.stroke();
  setDash(context);
}

/** @param {Context} context @param {Frame} frame @param {Trace} trace */
function paintFill(context, frame, { x, y, fillcolor }) {
  trail(context, frame, x, y);
  context.fillStyle = fillcolor;
  context.fill();
}

/**
 * Begins a path from point to point; after a null it starts again.
 * @param {Context} context @param {Frame} frame @param {(number | null)[]} x @param {(number | null)[]} y
 */
function trail(context, frame, x, y) {
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

/** @param {Context} context @param {Frame} frame @param {Trace} trace */
function paintMarks(context, frame, { x, y, line, marker }) {
  const symbol = marker.symbol ?? "circle";
  const isOpen = symbol.endsWith("-open");
  const colour = marker.color ?? line.color;
  context.beginPath();
  x.forEach((at, i) => {
    const [px, py] = [frame.x(at), frame.y(y[i])];
    context.moveTo(px + marker.size / 2, py);
    SHAPES[symbol.replace("-open", "")](context, px, py, marker.size / 2);
  });
  context.fillStyle = colour;
  if (!isOpen) context.fill();
  if (!marker.line?.width) return;
  context.strokeStyle = isOpen ? colour : marker.line.color;
  context.lineWidth = marker.line.width;
  context.stroke();
}

/**
 * Paints the texts of marks, each above its mark.
 * @param {Context} context @param {Frame} frame @param {Trace} trace @param {Layout} font
 */
function paintTexts(context, frame, { x, y, text, textfont, marker }, { family }) {
  context.fillStyle = textfont.color;
  context.font = `${textfont.size}px ${family}`;
  context.textAlign = "center";
  context.textBaseline = "alphabetic";
  x.forEach((at, i) => context.fillText(text[i], frame.x(at), frame.y(y[i]) - marker.size / 2 - 5));
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
  z.forEach((row, r) => {
    const top = frame.y(y[r] - 0.5);
    const height = frame.y(y[r] + 0.5) - top;
    Array.from(row).forEach((count, column) => {
      if (!count) return;
      const from = frame.x(x[column]);
      context.fillStyle = palette[Math.round((count / most) * (SHADES - 1))];
      context.fillRect(from, top + ygap / 2, frame.x(x[column + 1]) - from, height - ygap);
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
