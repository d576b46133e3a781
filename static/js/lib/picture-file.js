/** Pictures as files: SVG with title, captions and date around figures of Plotly, and PNG made from that SVG. */

import { showDirection } from "./format.js";

const FAMILY = "system-ui, sans-serif";
const PAD = 12; // pixels
const TITLE = 15; // height of the title's letters
const SMALL = 11; // height of the captions' letters
const LINE = 16; // from one caption to the next
const LETTER = 0.56; // mean width of a letter, in heights of the text
const SHARPNESS = 2; // pixels of a PNG for each of the screen
const NOT_XML = /[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu;
const ESCAPES = /** @type {Record<string, string>} */ ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" });

/**
 * Returns a text for XML: what has a meaning there is written otherwise, and what XML forbids is left out.
 * @param {string} text
 */
export function escapeXml(text) {
  return text.replace(NOT_XML, "").replace(/[&<>"]/g, (letter) => ESCAPES[letter]);
}

/**
 * Returns a whole SVG file.
 *
 * `drawing` are elements of SVG for a box of `width` and `height`. `colours` are those of background and text.
 * @param {PictureParts} parts
 */
export function svgFile({ title: name, captions, legend = [], width, height, drawing, colours }) {
  const title = showDirection(name);
  const wide = Math.max(Math.round(width), 200) + 2 * PAD;
  const head = wrapped(title, wide - 2 * PAD, TITLE);
  const keys = legendRows(legend, wide - 2 * PAD);
  const foot = captions.filter(Boolean).flatMap((caption) => wrapped(caption, wide - 2 * PAD, SMALL));
  const top = PAD + head.length * (TITLE + 5) + 4;
  const below = top + Math.round(height) + keys.length * LINE;
  const high = below + foot.length * LINE + PAD;
  const texts = [
    ...head.map((line, i) => textOf(line, PAD + (i + 1) * (TITLE + 5) - 5, TITLE, colours.text)),
    ...keys.flatMap((row, i) => row.map((key) => keyOf(key, below - (keys.length - i - 1) * LINE - 3, colours.text))),
    ...foot.map((line, i) => textOf(line, below + (i + 1) * LINE - 3, SMALL, colours.soft)),
  ];
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${wide}" height="${high}" viewBox="0 0 ${wide} ${high}">`,
    `<title>${escapeXml(title)}</title>`,
    `<desc>${escapeXml(captions.filter(Boolean).join(" "))}</desc>`,
    `<rect width="${wide}" height="${high}" fill="${escapeXml(colours.background)}"/>`,
    `<g transform="translate(${PAD} ${top})">`,
    drawing,
    "</g>",
    ...texts,
    "</svg>",
    "",
  ].join("\n");
}

/** @param {string} line @param {number} y @param {number} size @param {string} colour @param {number} [x] */
function textOf(line, y, size, colour, x = PAD) {
  const weight = size === TITLE ? ' font-weight="600"' : "";
  const look = `font-family="${FAMILY}" font-size="${size}"${weight} fill="${escapeXml(colour)}"`;
  return `<text x="${Math.round(x)}" y="${Math.round(y)}" ${look}>${escapeXml(line)}</text>`;
}

/**
 * Divides the entries of a legend into rows, each entry with its place from the left.
 * @param {[string, string][]} legend @param {number} width @returns {[string, string, number][][]}
 */
function legendRows(legend, width) {
  /** @type {[string, string, number][][]} */
  const rows = [];
  let x = width;
  for (const [name, colour] of legend) {
    const wide = 16 + name.length * SMALL * LETTER + 14;
    if (x + wide > width) {
      rows.push([]);
      x = 0;
    }
    rows.at(-1).push([name, colour, x]);
    x += wide;
  }
  return rows;
}

/** @param {[string, string, number]} key @param {number} y @param {string} colour of the text */
function keyOf([name, own, x], y, colour) {
  const place = `x="${Math.round(PAD + x)}" y="${Math.round(y - 9)}"`;
  const square = `<rect ${place} width="10" height="10" fill="${escapeXml(own)}"/>`;
  return `${square}${textOf(name, y, SMALL, colour, PAD + x + 15)}`;
}

/**
 * Breaks a text into lines that fit; a word that is too long stays whole.
 * @param {string} text @param {number} width @param {number} size
 */
export function wrapped(text, width, size) {
  const most = Math.max(10, Math.floor(width / (size * LETTER)));
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < most) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/**
 * Resolves with figures of Plotly of one size, each above the one before, as elements of SVG.
 * @param {any} Plotly @param {Figure[]} figures @param {Size} size
 */
export async function drawnFigures(Plotly, figures, size) {
  const options = { format: "svg", imageDataOnly: true, ...size };
  /** @param {Figure} figure @returns {Promise<string>} */
  const image = ({ data, layout }) => Plotly.toImage({ data, layout: { ...layout, ...size } }, options);
  const images = await Promise.all(figures.map(image));
  return images.join("\n").replace(NOT_XML, "");
}

/**
 * Returns what is painted on a canvas of a size, as an element of SVG.
 * @param {(context: Context) => void} paint @param {Size} size
 */
export function paintedImage(paint, { width, height }) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width * SHARPNESS, height * SHARPNESS];
  const context = canvas.getContext("2d");
  context.scale(SHARPNESS, SHARPNESS);
  paint(context);
  return `<image width="${width}" height="${height}" href="${canvas.toDataURL()}"/>`;
}

/**
 * Returns the sentence that says when a picture was saved, and of which page.
 * @param {Date} now @param {string} address
 */
export function savedSentence(now, address) {
  return `Saved on ${now.toISOString().slice(0, 16).replace("T", " at ")} UTC from ${address}`;
}

/**
 * Turns an SVG file into a PNG.
 * @param {string} svg @returns {Promise<Blob>}
 */
export async function pngOf(svg) {
  const address = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth * SHARPNESS;
    canvas.height = image.naturalHeight * SHARPNESS;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((resolve, reject) => {
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The picture is too large."))), "image/png");
    });
  } finally {
    URL.revokeObjectURL(address);
  }
}

/**
 * Calls a function while the page has its light colours. Nothing is painted in between.
 * @template T @param {boolean} isLight @param {() => T} build @returns {T}
 */
export function inColours(isLight, build) {
  const root = document.documentElement;
  const before = root.dataset.theme;
  if (isLight) root.dataset.theme = "light";
  try {
    return build();
  } finally {
    root.dataset.theme = before;
  }
}

/** Returns the colours around a drawing as they are now. */
export function frameColours() {
  const style = getComputedStyle(document.documentElement);
  /** @param {string} name */
  const colour = (name) => style.getPropertyValue(`--color-${name}`).trim();
  return { background: colour("surface"), text: colour("text"), soft: colour("text-soft") };
}
