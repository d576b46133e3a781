/** Moving the cursor to the next or previous marker or snapshot, and to the other axis. */

import { covers, neighbour, positionAt } from "../../lib/window.js";

/** @param {App} app */
export function createSteps(app) {
  const { player, source } = app;

  /** Returns the window if it covers the cursor, else null. */
  function windowAtCursor() {
    const { window, axis, now } = player.state;
    return covers(window, axis, now, now) ? window : null;
  }

  /** @param {number} direction */
  function marker(direction) {
    player.pause();
    const { window, now, axis } = player.state;
    const xs = window?.axis === axis ? [...window.markers.sentX, ...window.markers.receivedX] : [];
    const inWindow = neighbour(xs.filter((x) => x >= window.from && x <= window.to), now, direction);
    if (inWindow !== null) return player.seek(inWindow);
    const spans = app.snapshots.list().flatMap((summary) => app.snapshots.spanOf(summary, axis) ?? []);
    const far = neighbour(spans, now, direction);
    if (far === null) return app.say(`No ${direction > 0 ? "later" : "earlier"} marker.`);
    player.seek(far);
  }

  /** @param {number} direction */
  function snapshot(direction) {
    const list = app.snapshots.inStrip();
    if (!list.length) return app.say("This recording has no snapshot.");
    const current = list.findIndex((summary) => summary.snapshot === player.state.snapshot);
    const next = current < 0 ? (direction > 0 ? 0 : list.length - 1) : current + direction;
    if (!list[next]) return app.say(direction > 0 ? "This is the last snapshot." : "This is the first snapshot.");
    app.chooseSnapshot(list[next].snapshot);
  }

  /**
   * Changes the axis. The cursor and the ends of the view stay at the same events.
   * @param {Axis} name
   */
  async function axis(name) {
    const { state } = player;
    if (name === state.axis) return;
    const places = [state.now, state.from, state.to];
    const moved = await Promise.all(places.map((place) => translate(place, state, name)));
    player.set({ axis: name, now: moved[0] });
    player.zoom(moved[1], Math.max(moved[2], moved[1] + 1));
    app.cutHints.clear();
  }

  /**
   * Resolves with the place on the axis `name` of a place on the axis of `state`.
   * @param {number} place @param {PlayerState} state @param {Axis} name @returns {Promise<number>}
   */
  async function translate(place, state, name) {
    const all = player.bounds(state.axis);
    const goal = player.bounds(name);
    if (place <= all.from) return goal.from;
    if (place >= all.to) return goal.to;
    const window = covers(state.window, state.axis, place, place) ? state.window : null;
    if (name === "order") {
      if (window) return window.rows.reduce((sum, _, p) => sum + positionAt(window, p, place), 0);
      return (await ask({ at: Math.floor(place) }))?.events ?? goal.from;
    }
    const step = Math.floor(place) - 1;
    const row = window ? window.events.step.indexOf(step) : -1;
    if (row >= 0) return window.events.at[row];
    return (await ask({ step: Math.max(step + 1, 1) }))?.at ?? goal.from;
  }

  /** @type {Promise<any>} */
  let last = Promise.resolve();

  /**
   * Requests a cut after the last one has been answered, for a newer request would replace an open one.
   * @param {CutQuestion} question
   */
  function ask(question) {
    last = last.then(() => source.partOfCut(question));
    return last;
  }

  /**
   * Returns the place of the event nearest to `x`, or `x` if none is near.
   * @param {number} x
   */
  function snap(x) {
    const window = windowAtCursor() ?? (player.state.window?.exact ? player.state.window : null);
    if (!window || window.axis !== player.state.axis) return x;
    const { u, span } = player.scale();
    const reach = span * 0.01;
    /** @param {number} place */
    const distance = (place) => Math.abs(u(place) - u(x));
    const before = neighbour(window.events.x, x + 1e-9, -1);
    const after = neighbour(window.events.x, x - 1e-9, 1);
    const near = [before, after].filter(
      (place) => place !== null && distance(place) <= reach,
    ).sort((a, b) => distance(a) - distance(b));
    return near[0] ?? x;
  }

  return { marker, snapshot, axis, snap };
}
