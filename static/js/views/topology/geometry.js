/** The geometry of a drawn topology. Pure; lengths are in pixels, places of processes in 0..1. */

export const RADIUS = 22;
const MARGIN = { x: 28, y: 44 }; // room for a process and the state beside it
const BOW = 18;
const ARROW = 7;

/**
 * Returns the point of a process in a drawing of this size.
 * @param {EditedProcess} process @param {Size} size
 */
export function point(process, size) {
  return {
    x: MARGIN.x + process.x * (size.width - 2 * MARGIN.x),
    y: MARGIN.y + process.y * (size.height - 2 * MARGIN.y),
  };
}

/**
 * Returns the place, in 0..1, of a point in a drawing of this size.
 * @param {Point} point @param {Size} size
 */
export function toPlace({ x, y }, size) {
  return {
    x: (x - MARGIN.x) / (size.width - 2 * MARGIN.x),
    y: (y - MARGIN.y) / (size.height - 2 * MARGIN.y),
  };
}

/**
 * Returns the size of a drawing that is `width` pixels wide.
 * @param {number} width
 */
export function sizeFor(width) {
  return { width, height: Math.round(Math.max(320, Math.min(560, width * 0.7))) };
}

/**
 * Returns the path of a channel from rim to rim. It is bowed if there is a channel the other way, too.
 * @param {EditedProcess} from @param {EditedProcess} to @param {boolean} bowed @param {Size} size
 */
export function channelPath(from, to, bowed, size) {
  const a = point(from, size);
  const b = point(to, size);
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const across = { x: -(b.y - a.y) / length, y: (b.x - a.x) / length };
  const bow = bowed ? BOW : 0;
  const middle = {
    x: (a.x + b.x) / 2 + across.x * bow * 2,
    y: (a.y + b.y) / 2 + across.y * bow * 2,
  };
  const start = towards(a, middle, RADIUS + 2);
  const end = towards(b, middle, RADIUS + ARROW);
  return `M${fixed(start.x)} ${fixed(start.y)}Q${fixed(middle.x)} ${fixed(middle.y)} ${fixed(end.x)} ${fixed(end.y)}`;
}

/** @param {Point} from @param {Point} to @param {number} distance */
function towards(from, to, distance) {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return {
    x: from.x + ((to.x - from.x) * distance) / length,
    y: from.y + ((to.y - from.y) * distance) / length,
  };
}

/** @param {number} number */
function fixed(number) {
  return number.toFixed(1);
}

/**
 * Returns the process under a point, the last one drawn if there are several, or undefined.
 * @param {EditedTopology} topology @param {Point} at @param {Size} size @param {number} [reach]
 */
export function processAt(topology, at, size, reach = RADIUS + 4) {
  return topology.processes.findLast((process) => {
    const centre = point(process, size);
    return Math.hypot(centre.x - at.x, centre.y - at.y) <= reach;
  });
}
