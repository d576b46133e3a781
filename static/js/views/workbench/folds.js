/** Idle time in the workbench: the scale of the view, and what is said about its folds. */

import { activityOf, foldedScale, joined, plainScale } from "../../lib/folds.js";

const MARK = 40; // pixels of a fold
const LEAST_MARK = 0.25; // share of a narrow plot that a fold takes at most
const MUCH = 0.5; // share of the view from which on a sentence says that it could be folded

/** @param {App} app */
export function createFolds(app) {
  const { player } = app;
  const activityIn = remembered((/** @type {OpenWindow | null} */ window, /** @type {Int32Array} */ rowOf) =>
    activityOf(window, (p) => rowOf[p] >= 0));
  const activityOfAll = remembered((/** @type {OpenWindow | null} */ window, /** @type {Int32Array} */ rowOf) =>
    activityOf(window, (p) => rowOf[p] >= 0));
  const all = remembered((/** @type {Activity | null} */ fine, /** @type {Activity | null} */ rough) =>
    joined(fine, rough));
  const scaleOf = remembered(foldedScale);
  const wholeScale = remembered(foldedScale);

  /** @param {OpenWindow | null} window */
  const onAxis = (window) => (window?.axis === player.state.axis ? window : null);

  /** Returns what is known of when something happens on the lanes that are shown, or null. */
  function known() {
    const { rowOf } = app.lanes.arrangement();
    const { window, overview } = player.state;
    return all(activityIn(onAxis(window), rowOf), activityOfAll(onAxis(overview), rowOf));
  }

  function mark() {
    return Math.min(LEAST_MARK, MARK / app.plotWidth());
  }

  /** Returns the scale on which the whole recording is scrubbed. */
  function whole() {
    const { from, to } = player.bounds();
    return player.state.idle ? wholeScale(known(), from, to, mark()) : plainScale(from, to);
  }

  /** Says what is folded, or that it cannot be known, or that much could be. */
  function sentence() {
    const { from, to, idle, window } = player.state;
    if (!window) return "";
    const activity = known();
    if (!activity) return idle ? "Idle time is not folded: this window does not count the events of all lanes. " : "";
    const { folds } = idle ? player.scale() : foldedScale(activity, from, to, mark());
    const share = folds.reduce((sum, fold) => sum + Math.min(fold.to, to) - Math.max(fold.from, from), 0) / (to - from);
    const percent = `${Math.min(99, Math.floor(share * 100))} %`;
    if (idle) return folds.length ? `Idle time is folded: ${percent} of this view. ` : "";
    return share >= MUCH ? `${percent} of this view is idle: i folds it. ` : "";
  }

  player.useScale((from, to) => {
    const all = player.bounds();
    if (from === all.from && to === all.to) return whole();
    return player.state.idle ? scaleOf(known(), from, to, mark()) : plainScale(from, to);
  });
  player.subscribe(({ from, to }, keys) => keys.has("idle") && player.zoom(from, to)); // the margins have changed

  return {
    whole,
    sentence,
    toggle() {
      player.set({ idle: !player.state.idle });
      app.say(player.state.idle ? "Idle time is folded." : "Idle time is shown.");
    },
  };
}

/**
 * Returns a function that remembers its last result, for the same arguments.
 * @template {any[]} A @template R
 * @param {(...given: A) => R} compute @returns {(...given: A) => R}
 */
function remembered(compute) {
  /** @type {A} */
  let last = null;
  /** @type {R} */
  let result;
  return (...given) => {
    if (!last || given.some((value, i) => value !== last[i])) {
      result = compute(...given);
      last = given;
    }
    return result;
  };
}
