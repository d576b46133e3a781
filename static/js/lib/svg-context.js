/**
 * A drawing context that writes SVG instead of pixels.
 *
 * It has the part of CanvasRenderingContext2D that the charts use, so the file has the very lines of the screen. A
 * clip is a rectangle. What `clearRect` would take away is not drawn at first: a layer is clipped instead.
 */

const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const ESCAPES = /** @type {Record<string, string>} */ ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" });
const ANCHORS = /** @type {Record<string, string>} */ ({ center: "middle", right: "end", end: "end" });
const FONT = /^(?:(\S+) )?([\d.]+)px (.*)$/;
const LETTER = 0.56; // mean width of a letter, in heights of the text
const COLOUR = /^rgba?\(\s*([\d.]+)[\s,]+([\d.]+)[\s,]+([\d.]+)\s*[,/]\s*([\d.]+)\s*\)$/;

/**
 * Returns a text for XML: what has a meaning there is written otherwise, and what XML forbids is left out.
 * @param {string} text
 */
export function escapeXml(text) {
  return text.replace(NOT_XML, "").replace(/[&<>"]/g, (letter) => ESCAPES[letter]);
}

/** @param {number} value */
function short(value) {
  return String(Math.round(value * 100) / 100);
}

/**
 * Makes a context. `markup()` returns the elements that were drawn. `prefix` begins the ids in it.
 * @param {string} [prefix] @returns {any} a Context, with `markup`
 */
export function createSvgContext(prefix = "clip") {
  /** @type {string[]} */
  const parts = [];
  /** @type {any[]} */
  const saved = [];
  let matrix = [1, 0, 0, 1, 0, 0];
  let path = "";
  let dash = "";
  let open = 0;
  let clips = 0;

  /** @param {number} x @param {number} y */
  function point(x, y) {
    const [a, b, c, d, e, f] = matrix;
    return `${short(a * x + c * y + e)} ${short(b * x + d * y + f)}`;
  }

  /** @param {string} name @param {string} colour */
  function paint(name, colour) {
    const [, r, g, b, alpha] = COLOUR.exec(colour) ?? [];
    if (alpha === undefined) return `${name}="${escapeXml(colour)}"`;
    return `${name}="rgb(${r},${g},${b})" ${name}-opacity="${short(Number(alpha))}"`;
  }

  function pen() {
    const dashes = dash ? ` stroke-dasharray="${dash}"` : "";
    const join = context.lineJoin === "round" ? ' stroke-linejoin="round"' : "";
    const width = `stroke-width="${short(context.lineWidth)}"`;
    return `fill="none" ${paint("stroke", context.strokeStyle)} ${width}${dashes}${join}`;
  }

  /** @param {number} x @param {number} y @param {number} width @param {number} height @param {string} look */
  function rectangle(x, y, width, height, look) {
    if (!width || !height) return;
    const corners = [[x, y], [x + width, y], [x + width, y + height], [x, y + height]].map(([a, b]) => point(a, b));
    parts.push(`<path d="M${corners.join("L")}Z" ${look}/>`);
  }

  const context = {
    fillStyle: "#000",
    strokeStyle: "#000",
    lineWidth: 1,
    lineJoin: "miter",
    font: "12px sans-serif",
    textAlign: "start",
    textBaseline: "alphabetic",
    save() {
      const { fillStyle, strokeStyle, lineWidth, lineJoin, font, textAlign, textBaseline } = context;
      const look = { fillStyle, strokeStyle, lineWidth, lineJoin, font, textAlign, textBaseline };
      saved.push({ look, matrix, dash, open });
    },
    restore() {
      const before = saved.pop();
      Object.assign(context, before.look);
      ({ matrix, dash } = before);
      for (; open > before.open; open -= 1) parts.push("</g>");
    },
    /** @param {number} x @param {number} y */
    translate(x, y) {
      const [a, b, c, d, e, f] = matrix;
      matrix = [a, b, c, d, a * x + c * y + e, b * x + d * y + f];
    },
    /** @param {number} angle */
    rotate(angle) {
      const [a, b, c, d, e, f] = matrix;
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      matrix = [a * cos + c * sin, b * cos + d * sin, c * cos - a * sin, d * cos - b * sin, e, f];
    },
    beginPath() {
      path = "";
    },
    /** @param {number} x @param {number} y */
    moveTo(x, y) {
      path += `M${point(x, y)}`;
    },
    /** @param {number} x @param {number} y */
    lineTo(x, y) {
      path += `L${point(x, y)}`;
    },
    closePath() {
      path += "Z";
    },
    /**
     * Adds a whole circle; no chart draws a part of one.
     * @param {number} x @param {number} y @param {number} r
     */
    arc(x, y, r) {
      const half = `A${short(r)} ${short(r)} 0 1 1`;
      path += `M${point(x + r, y)}${half} ${point(x - r, y)}${half} ${point(x + r, y)}`;
    },
    /** @param {number} x @param {number} y @param {number} width @param {number} height */
    rect(x, y, width, height) {
      const [a, b, c, d] = [point(x, y), point(x + width, y), point(x + width, y + height), point(x, y + height)];
      path += `M${a}L${b}L${c}L${d}Z`;
    },
    clip() {
      clips += 1;
      const id = `${prefix}-${clips}`;
      parts.push(`<clipPath id="${id}"><path d="${path}"/></clipPath><g clip-path="url(#${id})">`);
      open += 1;
    },
    fill() {
      if (path) parts.push(`<path d="${path}" ${paint("fill", context.fillStyle)}/>`);
    },
    stroke() {
      if (path) parts.push(`<path d="${path}" ${pen()}/>`);
    },
    /** @param {number} x @param {number} y @param {number} width @param {number} height */
    fillRect: (x, y, width, height) => rectangle(x, y, width, height, paint("fill", context.fillStyle)),
    /** @param {number} x @param {number} y @param {number} width @param {number} height */
    strokeRect: (x, y, width, height) => rectangle(x, y, width, height, pen()),
    clearRect() {},
    /** @param {number[]} lengths */
    setLineDash(lengths) {
      dash = lengths.map(short).join(" ");
    },
    /** @param {string} text @param {number} x @param {number} y */
    fillText(text, x, y) {
      const [, weight, size, family] = FONT.exec(context.font);
      const look = [
        matrix.slice(0, 4).join() === "1,0,0,1"
          ? `x="${short(x + matrix[4])}" y="${short(y + matrix[5])}"`
          : `transform="matrix(${matrix.map(short).join(" ")})" x="${short(x)}" y="${short(y)}"`,
        `font-size="${size}"`,
        `font-family="${escapeXml(family)}"`,
        paint("fill", context.fillStyle),
      ];
      if (weight && weight !== "normal") look.push(`font-weight="${escapeXml(weight)}"`);
      if (ANCHORS[context.textAlign]) look.push(`text-anchor="${ANCHORS[context.textAlign]}"`);
      if (context.textBaseline === "middle") look.push('dominant-baseline="central"');
      parts.push(`<text ${look.join(" ")}>${escapeXml(String(text))}</text>`);
    },
    /** @param {string} text */
    measureText(text) {
      const size = Number(FONT.exec(context.font)[2]);
      return { width: text.length * size * LETTER };
    },
    markup: () => parts.join("\n") + "</g>".repeat(open),
  };
  return context;
}
