/** Which events of two recordings stand for each other, by their steps. Pure. */

import { decode, upperBound } from "./arrays.js";

/**
 * Opens the alignment that the API gives.
 * @param {{ left: Packed, right: Packed, settled: [number, number] }} payload its left steps rise
 * @returns {Alignment}
 */
export function openAlignment(payload) {
  const [left, right] = [decode(payload.left), decode(payload.right)];
  const order = Array.from(right.keys()).sort((a, b) => right[a] - right[b]);
  return {
    from: [left, Float64Array.from(order, (place) => right[place])],
    to: [right, Float64Array.from(order, (place) => left[place])],
    settled: payload.settled,
  };
}

/**
 * Returns what is to be said of the event at `step` of a side for which the other side has no counterpart.
 * @param {Alignment} alignment @param {number} side @param {number} step
 */
export function aloneText({ settled }, side, step) {
  const text = "an event that only this side has";
  return step < settled[side] ? text : `${text}, or that is not compared`;
}

/**
 * Returns the step that the other side has for the last event at or before `step` that both have, with whether that is
 * the event of `step` itself; a step of -1 means that no such event has happened yet.
 * @param {Alignment} alignment @param {number} side 0 for the left side, 1 for the right one
 * @param {number} step @returns {{ step: number, isSame: boolean }}
 */
export function counterpart({ from, to }, side, step) {
  const place = upperBound(from[side], step) - 1;
  if (place < 0) return { step: -1, isSame: step < 0 };
  return { step: to[side][place], isSame: from[side][place] === step };
}
