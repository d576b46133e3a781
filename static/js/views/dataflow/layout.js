/**
 * The layout of a dataflow's drawing: its layers, its pipelines, its subtasks. Pure; lengths are in pixels.
 *
 * Layers follow each other along the drawing, from left to right, or down if it is narrow. The vertices of one layer
 * lie across it. A dataflow that is still wrong, even one with a cycle, has a layout, too.
 */

import { depths, passages, pipelines } from "../../lib/layers.js";
import { width } from "./model.js";

export const MOST_SUBTASKS = 200;
export const MOST_CHANNELS = 1000;
export const BOX = { width: 148, height: 56 };
const CHIP = { width: 46, height: 22, gap: 6 };
export const HEAD = { across: 46, down: 132 }; // room for the name in a frame: above its subtasks, or beside them
const GAP = { along: { across: 104, down: 64 }, across: 22 };
const PIPELINE = { pad: 16, label: 22, gap: 20 };
const MARGIN = 12;
const PASSAGE = 18; // room for an edge that passes a layer
const TALL = 600; // from here on layers start at the same height, for nobody sees their middle

/**
 * Returns the subtasks and channels that are drawn, and how many there are in all. If there are too many, each vertex
 * shows as many of its first subtasks as the others, or all that it has.
 *
 * shown, widths: the number of subtasks by key of the vertex. channels: the ends are numbers of subtasks.
 * @param {Flow} dataflow @param {number} [mostSubtasks] @param {number} [mostChannels] @returns {Unfolded}
 */
export function unfold({ vertices, edges }, mostSubtasks = MOST_SUBTASKS, mostChannels = MOST_CHANNELS) {
  const widths = new Map(vertices.map((vertex) => [vertex.key, width(vertex)]));
  const limit = fairShare([...widths.values()], mostSubtasks);
  const shown = new Map([...widths].map(([key, wide]) => [key, Math.min(wide, limit)]));
  /** @type {Unfolded["channels"]} */
  const channels = [];
  let channelTotal = 0;
  for (const edge of edges) {
    if (!widths.has(edge.source) || !widths.has(edge.target)) continue;
    const straight = edge.exchange === "forward";
    const pairs = straight
      ? Math.min(widths.get(edge.source), widths.get(edge.target))
      : widths.get(edge.source) * widths.get(edge.target);
    channelTotal += pairs;
    for (let source = 0; source < shown.get(edge.source); source += 1) {
      for (let target = straight ? source : 0; target < (straight ? source + 1 : shown.get(edge.target)); target += 1) {
        if (target < shown.get(edge.target) && channels.length < mostChannels) channels.push({ edge, source, target });
      }
    }
  }
  return { shown, widths, channels, channelTotal, subtaskTotal: sum(widths.values()) };
}

/**
 * Returns the largest number at which all can be cut off so that their sum is at most `most`; at least 1.
 * @param {number[]} wanted @param {number} most
 */
function fairShare(wanted, most) {
  let left = most;
  const rising = [...wanted].sort((one, other) => one - other);
  for (const [place, amount] of rising.entries()) {
    const share = Math.floor(left / (rising.length - place));
    if (amount > share) return Math.max(1, share);
    left -= amount;
  }
  return Infinity;
}

/**
 * Returns the size of the drawing and the boxes of all vertices, by key, and of all pipelines.
 *
 * bends: for the key of each edge that passes layers, where it goes straight through each. unfolded: the answer of
 * `unfold`, or null for plain boxes. down: whether layers follow each other downwards.
 * @param {Flow} dataflow @param {{ unfolded?: Unfolded | null, down?: boolean }} options @returns {FlowLayout}
 */
export function place(dataflow, { unfolded = null, down = false } = {}) {
  const depth = depths(dataflow);
  /** @param {string} key */
  const sizeOf = (key) => (unfolded ? frame(unfolded.shown.get(key), unfolded.widths.get(key), down) : BOX);
  const groups = pipelines(dataflow);
  const pad = groups.length > 1 ? PIPELINE.pad : 0;
  const label = groups.length > 1 ? PIPELINE.label : 0;
  const boxes = new Map();
  const bends = new Map();
  const areas = [];
  let y = MARGIN;
  for (const keys of groups) {
    const block = placeBlock(passages(dataflow, keys, depth), sizeOf, down);
    /** @param {any} spot */
    const moved = (spot) => ({ ...spot, x: spot.x + MARGIN + pad, y: spot.y + y + pad + label });
    for (const [key, spots] of block.bends) bends.set(key, spots.map(moved));
    for (const [key, box] of block.boxes) boxes.set(key, moved(box));
    areas.push({ x: MARGIN, y, width: block.width + 2 * pad, height: block.height + 2 * pad + label, keys });
    y += areas.at(-1).height + PIPELINE.gap;
  }
  const width = Math.max(0, ...areas.map((area) => area.x + area.width)) + MARGIN;
  return { width, height: y - PIPELINE.gap + MARGIN, boxes, bends, pipelines: areas };
}

/**
 * Returns the size of the frame around `shown` of `wide` subtasks, with room for the number of hidden ones.
 * @param {number} shown @param {number} wide @param {boolean} down
 */
export function frame(shown, wide, down) {
  const parts = shown + (shown < wide ? 1 : 0);
  if (down) return { width: HEAD.down + parts * (CHIP.width + CHIP.gap) + CHIP.gap, height: CHIP.height + 26 };
  return { width: BOX.width, height: HEAD.across + parts * (CHIP.height + CHIP.gap) + CHIP.gap };
}

/**
 * Returns the box of a subtask in the frame of its vertex.
 * @param {Box} box @param {number} index @param {boolean} down @returns {Box & { gap: number }}
 */
export function chip(box, index, down) {
  if (down) return { ...CHIP, x: box.x + HEAD.down + index * (CHIP.width + CHIP.gap), y: box.y + 13 };
  return {
    ...CHIP,
    x: box.x + (box.width - CHIP.width) / 2,
    y: box.y + HEAD.across + index * (CHIP.height + CHIP.gap),
  };
}

/** @param {LayerItem[][]} rows @param {(key: string) => Size} sizeOf @param {boolean} down */
function placeBlock(rows, sizeOf, down) {
  /** @type {(keyof Size)[]} */
  const [along, across] = down ? ["height", "width"] : ["width", "height"];
  const gap = GAP.along[down ? "down" : "across"];
  /** @param {LayerItem} item */
  const sizeAcross = (item) => (item.key ? sizeOf(item.key)[across] : PASSAGE);
  const spans = rows.map((row) => sum(row.map(sizeAcross)) + GAP.across * (row.length - 1));
  const span = Math.max(...spans);
  const boxes = new Map();
  const bends = new Map();
  let at = 0;
  for (const [order, row] of rows.entries()) {
    const length = Math.max(0, ...row.filter(({ key }) => key).map(({ key }) => sizeOf(key)[along]));
    let side = span > TALL ? 0 : (span - spans[order]) / 2;
    for (const item of row) {
      /** @param {number} main @param {number} cross */
      const spot = (main, cross) => (down ? { x: cross, y: main } : { x: main, y: cross });
      if (item.key) {
        boxes.set(item.key, { ...spot(at + (length - sizeOf(item.key)[along]) / 2, side), ...sizeOf(item.key) });
      } else bends.set(item.edge, [...(bends.get(item.edge) ?? []), { ...spot(at, side + PASSAGE / 2), length }]);
      side += sizeAcross(item) + GAP.across;
    }
    at += length + gap;
  }
  return { boxes, bends, width: down ? span : at - gap, height: down ? at - gap : span };
}

/**
 * Returns the path of the line between two boxes, and the middle of its first part.
 *
 * out, into: the shares of the boxes' sides at which it begins and ends. bends: see `place`. arrow: the length that
 * is left for the arrow head.
 * @param {Box} from @param {Box} to
 * @param {{ down: boolean, out?: number, into?: number, bends?: Bend[], arrow?: number }} options
 */
export function edgeLine(from, to, { down, out = 0.5, into = 0.5, bends = [], arrow = 8 }) {
  const start = down
    ? { x: from.x + from.width * out, y: from.y + from.height }
    : { x: from.x + from.width, y: from.y + from.height * out };
  const end = down ? { x: to.x + to.width * into, y: to.y - arrow } : { x: to.x - arrow, y: to.y + to.height * into };
  const parts = [];
  let at = start;
  for (const { x, y, length } of bends) {
    const far = down ? { x, y: y + length } : { x: x + length, y };
    parts.push(curve(at, { x, y }, down), `L${point(far)}`);
    at = far;
  }
  parts.push(curve(at, end, down));
  const next = bends[0] ?? end;
  return {
    path: `M${point(start)}${parts.join("")}`,
    middle: { x: (start.x + next.x) / 2, y: (start.y + next.y) / 2 },
  };
}

/** @param {Point} a @param {Point} b @param {boolean} down */
function curve(a, b, down) {
  const reach = Math.max(24, (down ? b.y - a.y : b.x - a.x) / 2);
  const [c, d] = down
    ? [{ x: a.x, y: a.y + reach }, { x: b.x, y: b.y - reach }]
    : [{ x: a.x + reach, y: a.y }, { x: b.x - reach, y: b.y }];
  return `C${point(c)} ${point(d)} ${point(b)}`;
}

/** @param {Point} point */
function point({ x, y }) {
  return `${x.toFixed(1)} ${y.toFixed(1)}`;
}

/**
 * Returns for each edge, by key, at which share of its boxes' sides it leaves and enters them.
 * @param {FlowEdge[]} edges @param {FlowLayout} layout @param {boolean} down
 */
export function ports(edges, { boxes, bends }, down) {
  /** @param {string} key */
  const centre = (key) => (
    down ? boxes.get(key).x + boxes.get(key).width / 2 : boxes.get(key).y + boxes.get(key).height / 2
  );
  /** @param {FlowEdge} edge @param {number} place */
  const bend = (edge, place) => bends.get(edge.key)?.at(place)?.[down ? "x" : "y"];
  /** @type {["source" | "target", "out" | "into", (edge: FlowEdge) => number][]} */
  const sides = [
    ["source", "out", (edge) => bend(edge, 0) ?? centre(edge.target)],
    ["target", "into", (edge) => bend(edge, -1) ?? centre(edge.source)],
  ];
  /** @type {Map<string, { out?: number, into?: number }>} */
  const shares = new Map(edges.map(({ key }) => [key, {}]));
  for (const [end, name, farEnd] of sides) {
    for (const key of new Set(edges.map((edge) => edge[end]))) {
      const atVertex = edges.filter((edge) => edge[end] === key).sort((one, other) => farEnd(one) - farEnd(other));
      atVertex.forEach((edge, order) => (shares.get(edge.key)[name] = (order + 1) / (atVertex.length + 1)));
    }
  }
  return shares;
}

/** @param {Iterable<number>} numbers */
function sum(numbers) {
  return [...numbers].reduce((total, number) => total + number, 0);
}
