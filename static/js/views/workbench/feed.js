/** Keeps the player's window (what can be drawn) and its shown cut (what the panels say) up to date. */

import { describeCut, isInside } from "../../lib/cuts.js";
import { hasAny } from "../../lib/player.js";
import { withRows } from "../../lib/shown.js";
import { covers } from "../../lib/window.js";
import { createPlaying } from "./playing.js";

const PANELS_EVERY = 200; // ms while playing: as fast as one can read
const SERVER_EVERY = 250; // ms
const PAD = 0.25; // share of the view that is loaded beside it, at both sides
const ROOM_FOR_PAD = 2.5; // how much more than one exact window a padded one may hold
const LISTING = ["filters", "pages", "selection", "detail"]; // what changes the rows of the panels
const COURSE = ["axis", "playing", "speed", "from", "to", "snapshot", "idle"]; // what changes the frames

/**
 * Makes the feed of a page.
 * @param {App} app @param {string} session by which the server knows what the page plays
 */
export function createFeed(app, session) {
  const { player, source } = app;
  const playing = createPlaying(app, session, () => !player.state.cut && showSoon(player.state));
  let shownAt = 0;
  /** @type {number | null} */
  let timer = null;
  /** @type {WindowRequest | null} */
  let requested = null;
  /** @type {Promise<void> | null} */
  let underway = null;

  function width() {
    return Math.max(200, Math.round(app.plotWidth()));
  }

  /**
   * Returns the request for [from, to], widened to whole instants or steps and cut off at the recording's ends.
   * @param {{ axis: Axis }} options @param {number} from @param {number} to
   */
  function clipped({ axis }, from, to) {
    const all = player.bounds(axis);
    const left = Math.max(Math.floor(from), all.from);
    return { axis, from: left, to: Math.max(Math.min(Math.ceil(to), all.to), left + 1), width: width() };
  }

  /**
   * Resolves when the part in view has been loaded, or could not be.
   * @param {PlayerState} state
   */
  function load(state) {
    const view = clipped(state, state.from, state.to);
    if (covers(state.window, view.axis, view.from, view.to)) return Promise.resolve();
    if (!isSame(view, requested)) {
      requested = view;
      underway = fetchAround(view, state);
    }
    return underway;
  }

  /** @param {WindowRequest} view @param {PlayerState} state */
  async function fetchAround(view, state) {
    const span = view.to - view.from;
    const pad = state.window ? span * PAD : 0; // the first picture does not wait for what is beside it
    const padded = clipped(state, view.from - pad, view.to + pad);
    try {
      let window = await source.window(padded);
      if (window && !window.exact && !isSame(padded, view) && mightFit(window)) window = await source.window(view);
      if (window) player.set({ window });
    } catch (error) {
      app.say(`This part could not be loaded: ${error.message}`);
    } finally {
      if (isSame(requested, view)) requested = null;
    }
  }

  /**
   * Returns whether the part in view might be exact without the padding of this window.
   * @param {OpenWindow} window
   */
  function mightFit(window) {
    return window.messagesTotal < 4000 * ROOM_FOR_PAD && window.eventsTotal < 20000 * ROOM_FOR_PAD;
  }

  /** @param {PlayerState} state */
  function prefetch(state) {
    const span = state.to - state.from;
    const next = clipped(state, state.to - span * (0.1 + PAD), state.to + span * (0.9 + PAD));
    if (state.playing && state.to < player.bounds().to && !covers(state.window, next.axis, next.from, next.to)) {
      source.prefetch(next);
    }
  }

  /** @param {PlayerState} state */
  function show(state) {
    const { window, cut } = state;
    if (cut) return isInside(window, cut) ? player.set({ shown: describeCut(window, cut) }) : showFromServer(cut);
    const moment = playing.moment();
    if (moment) player.set({ shown: moment.cut, moment });
    playing.wantRows();
  }

  /** @param {number[]} positions */
  async function showFromServer(positions) {
    try {
      const cut = await source.partOfCut({ positions }, app.listed.first());
      if (!cut || player.state.cut !== positions) return;
      player.set({ shown: cut });
      const missing = app.listed.missing(cut);
      const more = missing && (await source.partOfCut({ positions }, missing));
      if (more && player.state.shown === cut) player.set({ shown: withRows(cut, more) });
    } catch (error) {
      app.say(`The contents here could not be loaded: ${error.message}`);
    }
  }

  /** @param {PlayerState} state */
  function showSoon(state) {
    const isLocal = state.cut ? state.window?.exact : !state.playing;
    const every = state.cut ? SERVER_EVERY : PANELS_EVERY;
    const wait = isLocal ? 0 : Math.max(0, shownAt + every - performance.now());
    if (timer !== null && wait > 0) return;
    clearTimeout(timer);
    const run = () => {
      timer = null;
      shownAt = performance.now();
      show(player.state);
    };
    if (wait > 0) timer = setTimeout(run, wait);
    else run();
  }

  return {
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (hasAny(keys, "from", "to", "axis")) {
        load(state);
        prefetch(state);
      }
      if (hasAny(keys, ...COURSE)) playing.want(state);
      else if (keys.has("now")) playing.keepUp(state);
      const lacksRows = hasAny(keys, ...LISTING) && state.shown && app.listed.missing(state.shown) !== null;
      if (lacksRows || hasAny(keys, "now", "cut", "window", "axis", "playing")) showSoon(state);
    },
    playing,
    /** Loads the part in view again, after the width has changed. */
    reload: () => load(player.state),
    /** Loads it again, because more has come. */
    refresh() {
      requested = clipped(player.state, player.state.from, player.state.to);
      underway = fetchAround(requested, player.state);
      return underway;
    },
  };
}

/** @param {WindowRequest | null} a @param {WindowRequest | null} b */
function isSame(a, b) {
  return Boolean(a && b) && a.axis === b.axis && a.from === b.from && a.to === b.to;
}
