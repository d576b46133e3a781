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

const NAME = 14; // height of a line
const GAP = 2;

/**
 * Chooses where the name and the state of each node are written: inside, below, above or beside it. What fits nowhere
 * is left out, the state before the name.
 * @param {LabelNode[]} nodes @param {Size} size @returns {Label[]}
 */
export function placeLabels(nodes, size) {
  const taken = nodes.map(({ x, y, r }) => boxAround(x, y, 2 * r, 2 * r));
  /** @type {Label[]} */
  const labels = [];
  nodes.forEach((node, i) => {
    if (node.inside) labels.push({ node: i, part: "name", x: node.x, y: node.y });
  });
  nodes.forEach((node, i) => {
    const parts = [...(node.inside ? [] : [{ part: "name", width: node.name }]), { part: "state", width: node.state }];
    for (let count = parts.length; count > 0; count -= 1) {
      const written = /** @type {any[]} */ (parts.slice(0, count).filter(({ width }) => width > 0));
      const box = written.length ? freeBox(node, written, taken, size) : null;
      if (!box) continue;
      taken.push(box);
      written.forEach(({ part }, line) => labels.push(
        { node: i, part, x: (box.left + box.right) / 2, y: box.top + NAME * (line + 0.5) },
      ));
      break;
    }
  });
  return labels;
}

/**
 * Returns the first box beside a node that is inside the picture and overlaps nothing, or null.
 * @param {LabelNode} node @param {{ width: number }[]} lines @param {LabelBox[]} taken @param {Size} size
 */
function freeBox({ x, y, r }, lines, taken, size) {
  const width = Math.max(...lines.map((line) => line.width)) + 2 * GAP;
  const height = lines.length * NAME;
  const down = r + GAP + height / 2;
  const aside = r + GAP + width / 2;
  const straight = [[0, down], [0, -down], [aside, 0], [-aside, 0]];
  const corners = [[aside, down], [-aside, down], [aside, -down], [-aside, -down]];
  const places = [...straight, ...corners];
  const boxes = places.map(([dx, dy]) => boxAround(x + dx, y + dy, width, height));
  return boxes.find((box) => isWithin(box, size) && !taken.some((other) => overlap(box, other))) ?? null;
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
