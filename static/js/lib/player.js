/**
 * The one object that owns the cursor, the zoom and everything chosen. Views subscribe to it and draw from it.
 *
 * now, from and to are places on the axis: instants in the time unit or, on the axis "order", the number of events
 * that have happened. At speed 1 the part in view passes in SECONDS_PER_VIEW seconds. The scale (folds.js) says how
 * places lie along the screen: what moves there, moves evenly on it.
 */

import { plainScale } from "./folds.js";
import { PLAIN_LANES } from "./lanes.js";
import { PLAIN_FILTERS, PLAIN_PANELS } from "./view.js";

export const SPEEDS = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100];
export const SECONDS_PER_VIEW = 20;
const PLAIN_PAGES = { channels: 0, states: 0 };
const FLIP_AT = 0.9; // share of the view at which a playing cursor turns the page
const FLIP_TO = 0.1;

/**
 * Returns whether one of the names is among the keys that a listener is called with.
 * @param {Set<string>} keys @param {...string} names
 */
export function hasAny(keys, ...names) {
  return names.some((name) => keys.has(name));
}

/**
 * Makes the player of one recording. `schedule` calls a function once, before the next frame.
 * @param {{ from: number, to: number, steps: number }} extent
 */
export function createPlayer(extent, { schedule = nextFrame } = {}) {
  const listeners = new Set();
  let changed = new Set();
  let scheduled = false;
  /** @type {number | null} */
  let lastTick = null;
  /** @type {(from: number, to: number) => FoldScale} */
  let scaleFor = plainScale;
  /** @type {(now: number) => number} how far what is shown is known */
  let limitAt = () => Infinity;

  /** @type {PlayerState} */
  const state = {
    axis: "time",
    now: 0,
    from: 0,
    to: 1,
    playing: false,
    speed: 1,
    selection: null,
    cones: null,
    snapshot: null,
    cut: null,
    witness: null,
    window: null,
    shown: null,
    moment: null,
    marks: null,
    notes: [],
    folded: new Set(),
    tables: new Set(),
    order: PLAIN_PANELS.order,
    sizes: PLAIN_PANELS.sizes,
    tab: PLAIN_PANELS.tab,
    filters: PLAIN_FILTERS,
    pages: PLAIN_PAGES,
    compared: null,
    lanes: PLAIN_LANES,
    idle: false,
    overview: null,
  };

  /** Returns the first and the last place of the recording on an axis, which are never the same. */
  function bounds(axis = state.axis) {
    const [low, high] = axis === "order" ? [0, extent.steps] : [extent.from, extent.to];
    return { from: low, to: Math.max(high, low + 1) };
  }

  /** @param {Record<string, any>} changes */
  function set(changes) {
    for (const [key, value] of Object.entries(changes)) {
      if (/** @type {any} */ (state)[key] === value) continue;
      Object.assign(state, { [key]: value });
      changed.add(key);
    }
    if (changed.size && !scheduled) {
      scheduled = true;
      schedule(flush);
    }
  }

  /**
   * Says how the next change comes about while playing: the page "turned", somebody "sought" a place, or the view of
   * another page was "applied".
   * @param {"turned" | "sought" | "applied"} name
   */
  function mark(name) {
    changed.add(name);
  }

  /** @param {number} time */
  function flush(time) {
    scheduled = false;
    if (state.playing) advance(time);
    else lastTick = null;
    const keys = changed;
    changed = new Set();
    if (keys.size) for (const listener of listeners) listener(state, keys);
    if (state.playing && !scheduled) {
      scheduled = true;
      schedule(flush);
    }
  }

  /** @param {number} time */
  function advance(time) {
    const elapsed = lastTick === null ? 0 : Math.min(time - lastTick, 250) / 1000;
    lastTick = time;
    const end = bounds().to;
    const scale = scaleFor(state.from, state.to);
    const now = placeAfter(elapsed);
    set({ now });
    if (now >= end) set({ playing: false });
    else if (scale.u(now) > scale.u(state.from) + scale.span * FLIP_AT && state.to < end) turnPage(scale);
  }

  /**
   * Returns where a playing cursor is after so many seconds. It waits where what is to come is not known.
   * @param {number} seconds
   */
  function placeAfter(seconds) {
    const scale = scaleFor(state.from, state.to);
    const rate = (scale.span / SECONDS_PER_VIEW) * state.speed;
    const limit = Math.max(limitAt(state.now), state.now);
    return Math.min(scale.x(scale.u(state.now) + seconds * rate), bounds().to, limit);
  }

  /** @param {FoldScale} scale */
  function turnPage(scale) {
    const at = scale.u(state.now);
    mark("turned");
    show(scale, at - scale.span * FLIP_TO, at + scale.span * (1 - FLIP_TO));
  }

  /**
   * Shows what lies between two places of a scale.
   * @param {FoldScale} scale @param {number} begin @param {number} end
   */
  function show(scale, begin, end) {
    zoom(scale.x(begin), scale.x(end));
  }

  /**
   * Shows [from, to], moved and shrunk into the recording, but at least two units of the axis.
   * @param {number} from @param {number} to
   */
  function zoom(from, to) {
    const all = margins();
    const least = state.axis === "order" ? 2 : Math.min(2, all.to - all.from);
    let span = Math.max(to - from, least);
    const middle = (from + to) / 2;
    span = Math.min(span, all.to - all.from);
    const left = Math.min(Math.max(middle - span / 2, all.from), all.to - span);
    set({ from: left, to: left + span });
  }

  /** Returns the ends of the recording with a small margin at both. */
  function margins() {
    const { from, to } = bounds();
    const air = scaleFor(from, to).span * 0.03;
    return { from: from - air, to: to + air };
  }

  /**
   * Moves the cursor. The view follows if the cursor would leave it.
   * @param {number} now
   */
  function seek(now) {
    const { from, to } = bounds();
    const at = Math.min(Math.max(now, from), to);
    if (state.playing) mark("sought");
    set({ now: at });
    bringIntoView(at);
  }

  /**
   * Moves the view so that `x` is in its middle, unless it is in view.
   * @param {number} x
   */
  function bringIntoView(x) {
    if (x >= state.from && x <= state.to) return;
    const scale = scaleFor(state.from, state.to);
    const middle = scale.u(x);
    show(scale, middle - scale.span / 2, middle + scale.span / 2);
  }

  /** @param {number} factor @param {number} [around] */
  function zoomBy(factor, around = state.now) {
    const scale = scaleFor(state.from, state.to);
    const [begin, end] = [scale.u(state.from), scale.u(state.to)];
    const isInView = around >= state.from && around <= state.to;
    const anchor = isInView ? scale.u(around) : (begin + end) / 2;
    show(scale, anchor - (anchor - begin) * factor, anchor + (end - anchor) * factor);
    if (isInView && scale.folds.length) align(around, (anchor - begin) / scale.span);
  }

  /**
   * Moves the view until `x` stands at this share of it, for the folds of another view may be others.
   * @param {number} x @param {number} share
   */
  function align(x, share) {
    const scale = scaleFor(state.from, state.to);
    const shift = scale.u(x) - scale.u(state.from) - share * scale.span;
    if (Math.abs(shift) < scale.span * 1e-6) return;
    show(scale, scale.u(state.from) + shift, scale.u(state.to) + shift);
  }

  return {
    state,
    extent,
    bounds,
    margins,
    set,
    mark,
    placeAfter,
    seek,
    zoom,
    zoomBy,
    /** @param {number} fraction */
    pan(fraction) {
      const scale = scaleFor(state.from, state.to);
      const shift = scale.span * fraction;
      show(scale, scale.u(state.from) + shift, scale.u(state.to) + shift);
    },
    show,
    bringIntoView,
    scale: () => scaleFor(state.from, state.to),
    /** @param {(from: number, to: number) => FoldScale} next returns the scale of a view */
    useScale(next) {
      scaleFor = next;
    },
    /** @param {(now: number) => number} next returns the place at which a playing cursor waits for what is to come */
    useLimit(next) {
      limitAt = next;
    },
    fitAll: () => zoom(margins().from, margins().to),
    play: () => set({ playing: true, now: state.now >= bounds().to ? bounds().from : state.now }),
    pause: () => set({ playing: false }),
    /** @param {"folded" | "tables"} key @param {string} name */
    toggle(key, name) {
      const next = new Set(state[key]);
      if (!next.delete(name)) next.add(name);
      set({ [key]: next });
    },
    /** Calls every listener as if everything had changed. */
    notifyAll() {
      for (const key of Object.keys(state)) changed.add(key);
      set({});
    },
    /**
     * Calls `listener(state, changed keys)` at most once a frame. Returns a function that unsubscribes it.
     * @param {(state: PlayerState, keys: Set<string>) => void} listener
     */
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** @param {FrameRequestCallback} callback */
function nextFrame(callback) {
  requestAnimationFrame(callback);
}
