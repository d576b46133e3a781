/** The trail: where the person stopped in this recording. Nobody else sees it. */

import { hasAny } from "../../../lib/player.js";
import { placeHere, placeOfScreen, placeOfStop } from "../../../lib/places.js";
import { getJson, sendJson } from "../../../lib/source.js";

const STOPPED = 1200; // ms without a change
const WATCHED = ["selection", "cut", "snapshot", "now"];
const SHOWN = 30; // items

/**
 * Records the places at which the person stops. `changed` is called when the trail is another one.
 * @param {App} app @param {() => string} token @param {() => void} changed
 */
export function createTrail(app, token, changed) {
  const { player, topology } = app;
  const address = `/api/recordings/${app.recording.id}/trail`;
  /** @type {TrailPage} */
  let page = { items: [], total: 0 };
  /** @type {Set<string>} */
  let since = new Set();
  /** @type {number | undefined} */
  let timer;

  async function load() {
    page = await getJson(`${address}?limit=${SHOWN}`);
    changed();
  }

  /** Returns the place at which the person has stopped since the last one, or null. */
  function newPlace() {
    clearTimeout(timer);
    const place = placeOfStop(player.state, since, topology, player.bounds());
    since = new Set();
    return place;
  }

  /**
   * Adds a place to the trail, with where the screen stands. Resolves with the item.
   * @param {string} place @returns {Promise<TrailItem>}
   */
  async function record(place) {
    const seen = placeOfScreen(player.state, topology, player.bounds());
    const item = await sendJson("POST", address, { place, seen }, token());
    await load();
    return item;
  }

  async function stop() {
    const place = newPlace();
    // The trail is a convenience: a place that cannot be looked up is left out.
    if (place !== null) await record(place).catch(() => {});
  }

  /** Adds where the person is now: at a new stop, else at what they chose last. */
  function here() {
    return record(newPlace() ?? placeHere(player.state, app.snapshotHere(), topology, player.bounds()));
  }

  /** @param {PlayerState} state @param {Set<string>} keys */
  function watch(state, keys) {
    if (!hasAny(keys, ...WATCHED, "playing")) return;
    clearTimeout(timer);
    if (state.playing) {
      since = new Set(["now"]);
      return;
    }
    for (const key of WATCHED) if (keys.has(key)) since.add(key);
    timer = setTimeout(stop, STOPPED);
  }

  return {
    load,
    here,
    /** Begins to record, from the next change on. */
    begin: () => player.subscribe(watch),
    items: () => page.items,
    total: () => page.total,
    async clear() {
      await sendJson("DELETE", address, {}, token());
      await load();
    },
  };
}
