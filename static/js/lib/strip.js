/** The order of the snapshots in the strip, which of them it shows, and which something speaks against. Pure. */

export const MOST_IN_STRIP = 200; // a browser takes long to lay out thousands

const WORST_FIRST = [
  "orphan",
  "lost",
  "duplicated",
  "state-mismatch",
  "marker-rule",
  "fifo-violation",
  "incomplete",
  "unknown",
  "consistent",
];
const NOTHING_AGAINST = new Set(["unknown", "consistent"]);

/**
 * Returns the snapshots in their order, or the worst first; equally bad ones stay in order.
 * @template {{ verdict: string }} T @param {T[]} summaries @param {boolean} isWorstFirst @returns {T[]}
 */
export function inStrip(summaries, isWorstFirst) {
  if (!isWorstFirst) return summaries;
  return summaries.toSorted((a, b) => WORST_FIRST.indexOf(a.verdict) - WORST_FIRST.indexOf(b.verdict));
}

/**
 * Returns the part of a strip that is shown, as its begin and end: the one around a place, or the first.
 * @param {number} length of the whole strip @param {number} place in it, -1 for none
 */
export function partOfStrip(length, place) {
  const from = Math.floor(Math.max(place, 0) / MOST_IN_STRIP) * MOST_IN_STRIP;
  return { from, to: Math.min(from + MOST_IN_STRIP, length) };
}

/**
 * Returns the snapshots against which something speaks: not those that are consistent or cannot be judged.
 * @template {{ verdict: string }} T @param {T[]} summaries @returns {T[]}
 */
export function withFindings(summaries) {
  return summaries.filter(({ verdict }) => !NOTHING_AGAINST.has(verdict));
}

/**
 * Returns the next snapshot against which something speaks, after the chosen one and in a circle, or null.
 * @template {{ snapshot: string, verdict: string }} T
 * @param {T[]} summaries @param {string | null} chosen @returns {T | null}
 */
export function nextWithFindings(summaries, chosen) {
  const at = summaries.findIndex(({ snapshot }) => snapshot === chosen);
  const circle = [...summaries.slice(at + 1), ...summaries.slice(0, at + 1)];
  return withFindings(circle)[0] ?? null;
}

/**
 * Returns the snapshot whose cut has exactly these positions, or null. One whose positions are not loaded is not found.
 * @template {{ codes: number[] | null }} T @param {T[]} summaries @param {number[]} cut @returns {T | null}
 */
export function snapshotOfCut(summaries, cut) {
  return summaries.find(({ codes }) => codes?.length === cut.length && codes.every((n, p) => n === cut[p])) ?? null;
}

/**
 * Returns the phase of a process at a position of a dragged cut: whether it records there, before or after.
 * @param {number} position @param {number} recordsAt
 */
export function phaseAtCut(position, recordsAt) {
  if (position === recordsAt) return "records here";
  return position < recordsAt ? "not recorded" : "recorded";
}
