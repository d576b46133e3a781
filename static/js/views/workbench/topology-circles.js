/** What the topology draws, and where: circles of processes or of whole operators, and the channels between. Pure. */

import { boundsOf, boxAround, meets } from "../../lib/labels.js";
import { groupOf } from "../../lib/lanes.js";
import { dataflowOf, openOperators, placeDataflow } from "../../lib/operators.js";

const RADII = [24, 15, 11, 7];
export const SMALL = RADII.at(-1);
const TIGHT = 11; // up to this radius, names may stand beside the circles of a column instead of below
const LINE = 16;
const GAP = 6;
const MANY = 20;
const CURVE_POINTS = 9;
const BENDS = [0, 26, -26, 52, -52, 80, -80]; // pixels by which a channel may bow around a circle
const MOST_BENT = 400; // of more channels none bows around a circle

/**
 * Makes the drawing of a topology. `place` arranges it for a size; what stands in it is found by the codes of the log.
 * @param {OpenTopology} topology
 */
export function createDrawing(topology) {
  const { processes, channels, arrangement } = topology;
  const flow = dataflowOf(arrangement);

  /**
   * Arranges all that is drawn.
   * @param {Size} size @param {Map<string, boolean>} chosen which operators somebody has opened or closed
   * @returns {Arranged}
   */
  function place(size, chosen) {
    const open = flow ? openOperators(flow, chosen, size) : new Set();
    const { circles, heads, hidden, radius, apart } = flow ? withRadius(placeDataflow(flow, open, size)) : onRing(size);
    const at = new Int32Array(processes.length).fill(-1);
    circles.forEach((circle, i) => circle.processes.forEach((p) => (at[p] = i)));
    const named = circles.map((circle) => ({ ...circle, ...nameOf(circle, open) }));
    const bundles = bundlesOf(channels, at);
    bendAll(bundles, named, radius);
    const titles = heads.map(({ operator, x, y }) => {
      const { name, members } = flow.operators.get(operator);
      return { operator, x, y, name, count: members.length };
    });
    return { circles: named, heads: titles, bundles, at, hidden, radius, apart, isGuessed: Boolean(flow?.isGuessed) };
  }

  /** @param {Size} size */
  function onRing({ width, height }) {
    const tried = (arrangement.drawn.length > MANY ? [SMALL] : RADII).map((radius) => {
      const pad = { x: Math.min(60, width * 0.16), y: radius + 20 };
      const circles = arrangement.places.map(([x, y], i) => ({
        operator: /** @type {string | null} */ (null),
        processes: [arrangement.drawn[i]],
        x: pad.x + x * (width - 2 * pad.x),
        y: pad.y + y * (height - 2 * pad.y),
      }));
      return { circles, radius };
    });
    const best = tried.find(({ circles, radius }) => areApart(circles, 2 * radius + 16)) ?? tried.at(-1);
    const heads = /** @type {PlacedFlow["heads"]} */ ([]);
    return { ...best, heads, hidden: processes.length - arrangement.drawn.length, apart: width };
  }

  /** @param {Circle} circle @param {Set<string>} open */
  function nameOf({ operator, processes: [first, ...others] }, open) {
    const { id } = processes[first];
    if (operator === null || !flow.operators.get(operator).members[1]) return { name: id, count: 1 };
    if (others.length || !open.has(operator)) return { name: groupOf(id), count: others.length + 1 };
    return { name: id.slice(groupOf(id).length).replace(/^[-_.:#/ ]/, ""), count: 1 };
  }

  return { place };
}

/** @param {PlacedFlow} placed */
function withRadius(placed) {
  const room = Math.min(placed.row, placed.apart);
  return { ...placed, radius: RADII.find((radius) => 2 * radius + (radius > TIGHT ? LINE : GAP) <= room) ?? SMALL };
}

/** @param {Point[]} places @param {number} least */
function areApart(places, least) {
  return places.every((a, i) => places.slice(i + 1).every((b) => Math.hypot(a.x - b.x, a.y - b.y) >= least));
}

/**
 * Returns a bundle for all channels that lead from one circle to another.
 * @param {OpenChannel[]} channels @param {Int32Array} at the circle of each process, -1 without one
 * @returns {Bundle[]}
 */
function bundlesOf(channels, at) {
  /** @type {Map<number, Bundle>} */
  const bundles = new Map();
  for (const { code, sourceCode, targetCode } of channels) {
    const [source, target] = [at[sourceCode], at[targetCode]];
    if (source < 0 || target < 0 || source === target) continue;
    const key = source * at.length + target;
    /** @type {Bundle} */
    const bundle = { source, target, codes: [], path: [], bow: 0, from: null, to: null, rim: 0, bounds: null };
    if (!bundles.has(key)) bundles.set(key, bundle);
    bundles.get(key).codes.push(code);
  }
  return [...bundles.values()];
}

/**
 * Gives each bundle its way: bowed to its own side if there is one back, and around the circles between its ends.
 * @param {Bundle[]} bundles @param {NamedCircle[]} circles @param {number} radius
 */
function bendAll(bundles, circles, radius) {
  const pairs = new Set(bundles.map(({ source, target }) => `${source} ${target}`));
  for (const bundle of bundles) {
    const [from, to] = [circles[bundle.source], circles[bundle.target]];
    const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
    const own = pairs.has(`${bundle.target} ${bundle.source}`) ? Math.min(22, length * 0.12) : 0;
    const others = circles.filter((circle) => circle !== from && circle !== to);
    const boxes = others.map(({ x, y }) => boxAround(x, y, 2 * radius + 6, 2 * radius + 6));
    Object.assign(bundle, { from, to, rim: Math.min(radius / length, 0.4), bow: own });
    const bends = bundles.length > MOST_BENT ? [0] : BENDS;
    const free = bends.find((bend) => !boxes.some((box) => meets(pathOf({ ...bundle, bow: own + bend }), box)));
    bundle.bow = own + (free ?? 0);
    bundle.path = pathOf(bundle);
    bundle.bounds = boundsOf(bundle.path);
  }
}

/** @param {Bundle} bundle @returns {Point[]} */
function pathOf(bundle) {
  const points = bundle.bow ? CURVE_POINTS : 2;
  return Array.from({ length: points }, (_, i) => pointOn(bundle, i / (points - 1)));
}

/**
 * Returns the point at the share `along` of a bundle, from rim to rim. `bow` is how far its middle lies to the side.
 * @param {{ from: Point, to: Point, rim: number, bow: number }} bundle @param {number} along
 */
export function pointOn({ from: a, to: b, rim, bow }, along) {
  const share = rim + along * (1 - 2 * rim);
  const [dx, dy] = [b.x - a.x, b.y - a.y];
  const lift = (4 * share * (1 - share) * bow) / (Math.hypot(dx, dy) || 1);
  return { x: a.x + dx * share - dy * lift, y: a.y + dy * share + dx * lift };
}
