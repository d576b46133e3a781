/** Short names that still differ, and places for labels that overlap nothing. Pure. */

import { shortenedInside } from "./format.js";

const ARROW = "→";

/**
 * Shortens names to at most `most` characters. Different names stay different if there is any way to keep them so.
 * @param {string[]} names @param {number} most @returns {string[]}
 */
export function distinctNames(names, most) {
  const short = names.map((name) => channelName(name, most));
  for (const shorten of [atDifference, numbered]) {
    for (const group of clashes(names, short)) {
      const others = new Set(short.filter((_, i) => !group.includes(i)));
      const tried = shorten(group.map((i) => names[i]), most);
      const isClear = new Set(tried).size === new Set(group.map((i) => names[i])).size
        && tried.every((name) => !others.has(name));
      if (isClear) group.forEach((i, k) => (short[i] = tried[k]));
    }
  }
  return short;
}

/**
 * Returns groups of places at which different names have the same short name.
 * @param {string[]} names @param {string[]} short @returns {number[][]}
 */
function clashes(names, short) {
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  short.forEach((name, i) => groups.set(name, [...(groups.get(name) ?? []), i]));
  return [...groups.values()].filter((group) => new Set(group.map((i) => names[i])).size > 1);
}

/**
 * Shortens a name in its middle. The name of a channel is shortened at both of its ends, `a->b` as "a→b".
 * @param {string} name @param {number} most
 */
function channelName(name, most) {
  const ends = name.split("->");
  if ([...name].length <= most || ends.length !== 2) return shortenedInside(name, most);
  const [source, target] = ends.map((end) => [...end].length);
  const room = most - ARROW.length;
  if (room < 4) return shortenedInside(name, most);
  const half = Math.floor(room / 2);
  const first = source <= half ? source : Math.max(half, room - target);
  return `${withIndex(ends[0], Math.min(first, source))}${ARROW}${withIndex(ends[1], room - Math.min(first, source))}`;
}

/**
 * Shortens a name but keeps its index: `source[12]` as "so…[12]".
 * @param {string} name @param {number} most
 */
function withIndex(name, most) {
  const letters = [...name];
  if (letters.length <= most) return name;
  const index = name.match(/(\[\d+\]|\d+)$/)?.[0] ?? "";
  const room = most - index.length - 1;
  return room >= 1 && index ? `${letters.slice(0, room).join("")}…${index}` : shortenedInside(name, most);
}

/**
 * Cuts names that begin alike so that they begin with their difference.
 * @param {string[]} names @param {number} most
 */
function atDifference(names, most) {
  const [first] = names;
  let same = 0;
  while (names.every((name) => name[same] === first[same] && same < name.length)) same += 1;
  return names.map((name) => `…${name.slice(Math.max(0, same - 1))}`).map(
    (name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name),
  );
}

/**
 * Numbers names for which nothing else makes a difference.
 * @param {string[]} names @param {number} most
 */
function numbered(names, most) {
  const unique = [...new Set(names)];
  return names.map((name) => {
    const number = `·${unique.indexOf(name) + 1}`;
    return `${name.slice(0, Math.max(0, most - number.length - 1))}…${number}`;
  });
}

const LINE = 14; // height of a line
const GAP = 2;
const PAD = 3; // between the text and the sides of its box

/**
 * Chooses where the lines of each node are written: below, above or beside it, in a box that covers no node, no other
 * box and no line of the picture. What has no room is shortened, then its last lines are left out.
 *
 * `width` measures a text. If there is a `crowd`, a box may lie over lines, for they are everywhere.
 * @param {LabelNode[]} nodes
 * @param {{ size: Size, taken?: LabelBox[], paths?: Point[][], crowd?: boolean, width: (text: string) => number }} room
 * @returns {Label[]}
 */
export function placeLabels(nodes, { size, taken: before = [], paths = [], crowd = false, width }) {
  const taken = [...nodes.map(({ x, y, r }) => boxAround(x, y, 2 * r, 2 * r)), ...before];
  const bounded = paths.map((path) => ({ path, bounds: boundsOf(path) }));
  /** @param {LabelBox} box */
  const isFree = (box) => isWithin(box, size) && !taken.some((other) => overlap(box, other));
  /** @param {LabelBox} box */
  const isClear = (box) => isFree(box) && !bounded.some((line) => overlap(box, line.bounds) && meets(line.path, box));
  const tests = crowd ? [isClear, isFree] : [isClear];
  return nodes.flatMap((node, i) => {
    for (const texts of choicesOf(node.lines)) {
      const widest = Math.max(...texts.map((text) => width(text)));
      const places = boxesBeside(node, widest + 2 * PAD, texts.length * LINE + GAP);
      const box = tests.flatMap((test) => places.find(test) ?? []).at(0);
      if (!box) continue;
      taken.push(box);
      return [{ node: i, box, lines: texts.map((text, n) => ({ part: node.lines[n].part, text })) }];
    }
    return [];
  });
}

/**
 * Returns the texts that may be written, best first: all lines, fewer, and the same shortened.
 * @param {LabelLine[]} lines @returns {string[][]}
 */
function choicesOf(lines) {
  const forms = Math.max(0, ...lines.map(({ texts }) => texts.length));
  return Array.from({ length: forms }, (_, form) => lines.map(
    (_line, left) => lines.slice(0, lines.length - left).map(({ texts }) => texts[Math.min(form, texts.length - 1)]),
  )).flat();
}

/**
 * @param {Point & { r: number }} node @param {number} width @param {number} height
 */
function boxesBeside({ x, y, r }, width, height) {
  const down = r + GAP + height / 2;
  const aside = r + GAP + width / 2;
  const straight = [[0, down], [0, -down], [aside, 0], [-aside, 0]];
  const corners = [[aside, down], [-aside, down], [aside, -down], [-aside, -down]];
  return [...straight, ...corners].map(([dx, dy]) => boxAround(x + dx, y + dy, width, height));
}

/**
 * Returns a box around a path.
 * @param {Point[]} path @returns {LabelBox}
 */
export function boundsOf(path) {
  const [xs, ys] = [path.map(({ x }) => x), path.map(({ y }) => y)];
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  return { left: left - 1, right: right + 1, top: top - 1, bottom: bottom + 1 };
}

/**
 * Returns whether a path of straight pieces passes through a box.
 * @param {Point[]} path @param {LabelBox} box
 */
export function meets(path, box) {
  return path.some((a, i) => i > 0 && pieceMeets(path[i - 1], a, box));
}

/** @param {Point} a @param {Point} b @param {LabelBox} box */
function pieceMeets(a, b, { left, right, top, bottom }) {
  let [from, to] = [0, 1]; // the part of the piece that lies inside (Liang and Barsky, 1984)
  for (const [step, room] of [
    [a.x - b.x, a.x - left], [b.x - a.x, right - a.x], [a.y - b.y, a.y - top], [b.y - a.y, bottom - a.y],
  ]) {
    if (step === 0 && room < 0) return false;
    if (step < 0) from = Math.max(from, room / step);
    if (step > 0) to = Math.min(to, room / step);
  }
  return from < to;
}

/** @param {number} x @param {number} y @param {number} width @param {number} height @returns {LabelBox} */
export function boxAround(x, y, width, height) {
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
}

/** @param {LabelBox} box @param {Size} size */
function isWithin(box, { width, height }) {
  return box.left >= 0 && box.top >= 0 && box.right <= width && box.bottom <= height;
}

/**
 * Returns whether two boxes share any area.
 * @param {LabelBox} a @param {LabelBox} b
 */
export function overlap(a, b) {
  return a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
}
