/**
 * The positions of a topology's processes in the unit square. The same topology always looks the same.
 *
 * A small or dense graph is drawn on a ring. A sparse one starts on the ring and is relaxed in a fixed number of
 * rounds, by attraction along channels and repulsion between all processes (Fruchterman and Reingold, 1991). A
 * dataflow is drawn in layers instead (operators.js).
 */

const ROUNDS = 120;
const SPARSE = 1.6; // channels per process below which relaxing helps
export const MOST_DRAWN = 60;

/**
 * Returns the position of each of `count` processes. `links` are pairs of indexes of processes.
 * @param {number} count @param {number[][]} links @returns {Point[]}
 */
export function layoutTopology(count, links) {
  const places = circle(count);
  if (count > 8 && links.length < count * SPARSE) relax(places, links);
  return fitted(places);
}

/**
 * Returns the `limit` processes with most channels, in the order of the topology.
 * @param {number} count @param {number[][]} links @param {number} [limit] @returns {number[]}
 */
export function drawnProcesses(count, links, limit = MOST_DRAWN) {
  if (count <= limit) return Array.from({ length: count }, (_, p) => p);
  const degree = new Int32Array(count);
  for (const [a, b] of links) {
    degree[a] += 1;
    degree[b] += 1;
  }
  const order = Array.from(degree.keys()).sort((a, b) => degree[b] - degree[a] || a - b);
  return order.slice(0, limit).sort((a, b) => a - b);
}

/** @param {number} count */
function circle(count) {
  if (count === 2) return [{ x: -1, y: 0 }, { x: 1, y: 0 }];
  return Array.from({ length: count }, (_, p) => {
    const angle = -Math.PI / 2 + (2 * Math.PI * p) / count;
    return { x: Math.cos(angle), y: Math.sin(angle) };
  });
}

/** @param {Point[]} places @param {number[][]} links */
function relax(places, links) {
  const ideal = 2 / Math.sqrt(places.length);
  for (let round = 0; round < ROUNDS; round += 1) {
    const heat = 0.2 * (1 - round / ROUNDS);
    const pushes = places.map(() => ({ x: 0, y: 0 }));
    for (let a = 0; a < places.length; a += 1) {
      for (let b = a + 1; b < places.length; b += 1) {
        push(places, pushes, a, b, (d) => (ideal * ideal) / d);
      }
    }
    for (const [a, b] of links) if (a !== b) push(places, pushes, a, b, (d) => -(d * d) / ideal);
    places.forEach((place, p) => {
      const length = Math.hypot(pushes[p].x, pushes[p].y) || 1;
      place.x += (pushes[p].x / length) * Math.min(length, heat);
      place.y += (pushes[p].y / length) * Math.min(length, heat);
    });
  }
}

/**
 * @param {Point[]} places @param {Point[]} pushes @param {number} a @param {number} b
 * @param {(distance: number) => number} strength
 */
function push(places, pushes, a, b, strength) {
  const dx = places[a].x - places[b].x;
  const dy = places[a].y - places[b].y;
  const d = Math.max(Math.hypot(dx, dy), 1e-3);
  const force = strength(d) / d;
  pushes[a].x += dx * force;
  pushes[a].y += dy * force;
  pushes[b].x -= dx * force;
  pushes[b].y -= dy * force;
}

/** @param {Point[]} places */
function fitted(places) {
  if (places.length === 0) return [];
  const xs = places.map((place) => place.x);
  const ys = places.map((place) => place.y);
  /** @param {number[]} values */
  const fit = (values) => {
    const low = Math.min(...values);
    const span = Math.max(...values) - low;
    return (/** @type {number} */ value) => (span < 1e-9 ? 0.5 : (value - low) / span);
  };
  const fitX = fit(xs);
  const fitY = fit(ys);
  return places.map((place) => ({ x: fitX(place.x), y: fitY(place.y) }));
}

/**
 * Returns the point at the share `along` (0 to 1) of a bowed line. `bow` is how far its middle lies to the side.
 * @param {Point} a @param {Point} b @param {number} along @param {number} bow
 */
export function alongEdge(a, b, along, bow) {
  const dx = b.x - a.x;
  const dy = b.y - a.y;
  const length = Math.hypot(dx, dy) || 1;
  const lift = 4 * along * (1 - along) * bow;
  return { x: a.x + dx * along - (dy / length) * lift, y: a.y + dy * along + (dx / length) * lift };
}
