/**
 * Idle stretches of an axis, and the scale that folds them. Pure.
 *
 * Places on the axis are called x, as in a window. A scale maps them to u, which runs evenly along the screen: outside
 * of folds u grows as x does, and a fold takes the same width however long it is.
 */

import { upperBound } from "./arrays.js";

const MOST_STRETCHES = 400; // the longest ones that are considered
const OUTLIER = 10; // how much longer than the mean of the others a stretch must be to be folded
const WORTH = 2; // how many times its mark's width a stretch must be to be folded
const MOST_MARKED = 0.5; // share of the view that marks may take
const MOST_TRIED = 64; // lengths that are tried as the least of a fold

/**
 * Finds where nothing happens on the lanes that are shown, or returns null if the window cannot tell.
 * @param {OpenWindow | null} window @param {(process: number) => boolean} shows @returns {Activity | null}
 */
export function activityOf(window, shows) {
  if (!window) return null;
  const busy = window.exact ? instants(window.events, shows) : busyBins(window, shows);
  return busy && activity(window.from, window.to, busy);
}

/** @param {OpenEvents} events @param {(process: number) => boolean} shows */
function instants({ count, process, x }, shows) {
  const places = new Float64Array(count);
  let filled = 0;
  for (let row = 0; row < count; row += 1) if (shows(process[row])) places[filled++] = x[row];
  const starts = places.slice(0, filled).sort();
  return { starts, ends: starts };
}

/**
 * Returns the bins in which something happens, or null if a process that is shown has events but no row of bins.
 * @param {OpenWindow} window @param {(process: number) => boolean} shows
 */
function busyBins({ bins, positions, positionsTo }, shows) {
  const withRow = new Set(bins.processes);
  for (let p = 0; p < positions.length; p += 1) {
    if (positionsTo[p] > positions[p] && shows(p) && !withRow.has(p)) return null;
  }
  const { columns, values } = bins.events;
  const counts = new Uint8Array(columns);
  bins.processes.forEach((p, row) => {
    if (!shows(p)) return;
    for (let bin = 0; bin < columns; bin += 1) if (values[row * columns + bin]) counts[bin] = 1;
  });
  const filled = Array.from(counts.keys()).filter((bin) => counts[bin]);
  return {
    starts: Float64Array.from(filled, (bin) => bins.edges[bin]),
    ends: Float64Array.from(filled, (bin) => bins.edges[bin + 1]),
  };
}

/**
 * Returns what is known of a window, with its longest idle stretches.
 * @param {number} from @param {number} to @param {{ starts: Float64Array, ends: Float64Array }} busy
 * @returns {Activity}
 */
function activity(from, to, { starts, ends }) {
  const count = starts.length;
  /** @param {number} i */
  const begin = (i) => (i === 0 ? from : Math.max(from, ends[i - 1]));
  /** @param {number} i */
  const end = (i) => (i === count ? to : Math.min(starts[i], to));
  const lengths = Float64Array.from({ length: count + 1 }, (_, i) => end(i) - begin(i));
  const longestLeft = lengths.slice().sort()[count - MOST_STRETCHES] ?? 0;
  const stretches = [];
  for (let i = 0; i <= count; i += 1) {
    const endsAtEvent = starts === ends && starts[i] <= to; // the begin of a bin is no event
    if (lengths[i] > longestLeft) stretches.push({ from: begin(i), to: end(i), ...(endsAtEvent && { endsAtEvent }) });
  }
  return { from, to, starts, stretches };
}

/**
 * Joins what a window tells with what a rougher, wider one tells of the parts beside it.
 * @param {Activity | null} fine @param {Activity | null} rough @returns {Activity | null}
 */
export function joined(fine, rough) {
  if (!fine || !rough) return fine ?? rough;
  const beside = rough.stretches.flatMap((stretch) => [
    stretch.to <= fine.from ? stretch : { from: stretch.from, to: fine.from },
    { ...stretch, from: Math.max(stretch.from, fine.to) },
  ]).filter(({ from, to }) => to > from);
  const before = rough.starts.subarray(0, upperBound(rough.starts, fine.from));
  const after = rough.starts.subarray(upperBound(rough.starts, fine.to));
  const starts = Float64Array.from([...before, ...fine.starts, ...after]);
  const seams = [fine.from, fine.to].filter((seam) => starts[upperBound(starts, seam) - 1] !== seam);
  const stretches = [...beside, ...fine.stretches].sort((a, b) => a.from - b.from);
  const [from, to] = [Math.min(fine.from, rough.from), Math.max(fine.to, rough.to)];
  return { from, to, starts, stretches: sewn(stretches, seams) };
}

/**
 * Makes one stretch of two that touch at a seam.
 * @param {Stretch[]} stretches @param {number[]} seams
 */
function sewn(stretches, seams) {
  /** @type {Stretch[]} */
  const merged = [];
  for (const stretch of stretches) {
    const last = merged.at(-1);
    const isSewn = last?.to === stretch.from && seams.includes(stretch.from);
    if (isSewn) merged[merged.length - 1] = { ...stretch, from: last.from };
    else merged.push(stretch);
  }
  return merged;
}

/** @param {number} from @param {number} to @returns {FoldScale} */
export function plainScale(from, to) {
  return { from, to, folds: [], span: to - from, u: (x) => x, x: (u) => u };
}

/**
 * Returns the scale of the view [from, to]. It folds the stretches that are much longer than the mean of what else is
 * in view. `mark` is the share of the view that a fold takes.
 * @param {Activity | null} known @param {number} from @param {number} to @param {number} mark @returns {FoldScale}
 */
export function foldedScale(known, from, to, mark) {
  const least = known ? leastFolded(known, from, to, mark) : null;
  if (least === null) return plainScale(from, to);
  const stretches = known.stretches.filter((stretch) => lengthOf(stretch) >= least);
  const { rest, marks } = restOf(stretches, from, to);
  return scaleOf(stretches, from, to, (rest / (1 - mark * marks)) * mark);
}

/**
 * Returns the length from which on stretches are folded in a view, or null if none is.
 * @param {Activity} known @param {number} from @param {number} to @param {number} mark
 */
function leastFolded({ starts, stretches }, from, to, mark) {
  const span = to - from;
  const near = stretches.filter((stretch) => stretch.to > from - span && stretch.from < to + span);
  const happenings = upperBound(starts, to) - upperBound(starts, from);
  for (const least of near.map(lengthOf).sort((a, b) => a - b).slice(-MOST_TRIED)) {
    const chosen = near.filter((stretch) => lengthOf(stretch) >= least);
    const { rest, marks, count } = restOf(chosen, from, to);
    if (rest <= span * 1e-9 || mark * marks > MOST_MARKED) continue;
    const mean = rest / Math.max(happenings + 1 - count, 1);
    if (least > OUTLIER * mean && least > (WORTH * mark * rest) / (1 - mark * marks)) return least;
  }
  return null;
}

/**
 * Returns how much of the view is left without the stretches, how many marks they need, and how many are in view.
 * @param {Stretch[]} stretches @param {number} from @param {number} to
 */
function restOf(stretches, from, to) {
  let [rest, marks, count] = [to - from, 0, 0];
  for (const stretch of stretches) {
    const inView = Math.min(stretch.to, to) - Math.max(stretch.from, from);
    if (inView <= 0) continue;
    rest -= inView;
    marks += inView / lengthOf(stretch);
    count += 1;
  }
  return { rest, marks, count };
}

/**
 * Returns how many events of hidden lanes a fold of the order axis holds. A shown event at its end is not inside.
 * @param {Stretch} stretch
 */
export function eventsInside(stretch) {
  return Math.round(lengthOf(stretch)) - (stretch.endsAtEvent ? 1 : 0);
}

/** @param {Stretch} stretch */
function lengthOf({ from, to }) {
  return to - from;
}

/**
 * Returns the scale on which each of these stretches takes `width`.
 * @param {Stretch[]} stretches in order @param {number} from @param {number} to @param {number} width
 * @returns {FoldScale}
 */
function scaleOf(stretches, from, to, width) {
  let removed = 0;
  const folds = stretches.map((stretch) => {
    const fold = { ...stretch, begin: stretch.from - removed, end: stretch.from - removed + width, removed };
    removed += lengthOf(stretch) - width;
    return fold;
  });
  const total = removed;
  /** @param {number} x */
  const u = (x) => {
    const fold = folds[firstAfter(folds, x, "to")];
    if (!fold) return x - total;
    if (x <= fold.from) return x - fold.removed;
    return fold.begin + ((x - fold.from) / (fold.to - fold.from)) * width;
  };
  /** @param {number} place */
  const x = (place) => {
    const fold = folds[firstAfter(folds, place, "end")];
    if (!fold) return place + total;
    if (place <= fold.begin) return place + fold.removed;
    return fold.from + ((place - fold.begin) / width) * (fold.to - fold.from);
  };
  const inView = folds.filter((fold) => fold.to > from && fold.from < to);
  return { from, to, folds: inView, span: u(to) - u(from), u, x };
}

/**
 * Returns the place of the first fold that ends after `value`.
 * @param {Fold[]} folds @param {number} value @param {"to" | "end"} end
 */
function firstAfter(folds, value, end) {
  let low = 0;
  let high = folds.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (folds[middle][end] > value) high = middle;
    else low = middle + 1;
  }
  return low;
}

/**
 * Returns the parts of the view between its folds.
 * @param {FoldScale} scale @returns {Stretch[]}
 */
export function openParts({ from, to, folds }) {
  const edges = [from, ...folds.flatMap((fold) => [fold.from, fold.to]), to];
  const parts = [];
  for (let i = 0; i < edges.length; i += 2) {
    if (edges[i + 1] > edges[i]) parts.push({ from: edges[i], to: edges[i + 1] });
  }
  return parts;
}
