/** The order of the snapshots in the strip, and which of them something speaks against. Pure. */

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
 * Returns the snapshot whose cut has exactly these positions, or null.
 * @template {{ codes: number[] }} T @param {T[]} summaries @param {number[]} cut @returns {T | null}
 */
export function snapshotOfCut(summaries, cut) {
  return summaries.find(({ codes }) => codes.length === cut.length && codes.every((n, p) => n === cut[p])) ?? null;
}

/**
 * Returns the phase of a process at a position of a dragged cut: whether it records there, before or after.
 * @param {number} position @param {number} recordsAt
 */
export function phaseAtCut(position, recordsAt) {
  if (position === recordsAt) return "records here";
  return position < recordsAt ? "not recorded" : "recorded";
}
