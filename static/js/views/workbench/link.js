/** The address of the page, which always names the view. Opening it brings the view back. */

import { hasAny } from "../../lib/player.js";
import { readView, writeView } from "../../lib/url-state.js";
import { checkView, toState } from "../../lib/view.js";

export const HELD = [
  ...["now", "from", "to", "axis", "selection", "snapshot", "cut", "folded", "tables"],
  ...["lanes", "idle", "order", "sizes", "tab", "filters", "compared"],
];
const WAIT = 250; // ms
const WAIT_PLAYING = 1000; // ms
const EVENTS_AROUND = 60;

/**
 * Shows the view that a short or public link keeps, or that the address names, else the whole recording at its worst
 * snapshot.
 * @param {App} app @param {unknown} kept
 */
export async function openingView(app, kept) {
  const { player, topology, snapshots } = app;
  const { view, ignored } = kept
    ? checkView(kept, topology, app.known())
    : readView(location.search, topology, app.known());
  app.sayIgnored(ignored);
  const axis = view.axis ?? bestAxis(app);
  const named = [view.snapshot, app.recording.worst].find((name) => snapshots.byId.has(name));
  const snapshot = named ?? snapshots.list()[0]?.snapshot ?? null;
  const { selection, cut, ...others } = toState(view, player.state, topology);
  player.set({ ...others, axis, snapshot });
  player.fitAll();
  if (view.from !== undefined) player.zoom(view.from, view.to);
  else if (view.now === undefined && !selection && !cut && !app.live) await app.witness.open();
  if (selection?.of !== "event" || view.from !== undefined) app.loadView();
  const start = await startingPlace(app, axis);
  const now = view.now ?? start;
  player.set({ now: Math.min(Math.max(now, player.bounds().from), player.bounds().to), cut, selection });
  if (now === start && !selection) app.standAtSnapshot();
  if (view.from !== undefined) return;
  if (selection?.of === "event") await centre(app, selection);
  else if (selection?.of === "message") await app.witness.showMessage(selection);
}

/**
 * Returns "order" if many events share an instant, else "time".
 * @param {App} app @returns {Axis}
 */
function bestAxis({ recording }) {
  const { from, to, steps } = recording.extent;
  return steps > 20 && (to - from) * 1.5 < steps ? "order" : "time";
}

/**
 * Returns where the last process recorded for the chosen snapshot, without a snapshot the recording's start.
 * @param {App} app @param {Axis} axis
 */
async function startingPlace({ player, snapshots }, axis) {
  const summary = snapshots.chosen();
  return (summary && (await snapshots.placeOf(summary, axis))) ?? player.bounds(axis).from;
}

/** @param {App} app @param {{ process: number, index: number }} options */
async function centre(app, { process, index }) {
  const { player, topology } = app;
  try {
    const { at, step } = await app.source.event(topology.processes[process].id, index);
    const place = player.state.axis === "order" ? step + 1 : at;
    const all = player.bounds();
    const span = (all.to - all.from) * Math.min(1, EVENTS_AROUND / Math.max(player.extent.steps, 1));
    player.zoom(place - span / 2, place + span / 2);
    player.seek(place);
  } catch (error) {
    app.say(`The event of this link could not be found: ${error.message}`);
  }
}

/**
 * Writes the address a little after the view has changed, without a new entry in the history.
 * @param {App} app
 */
export function keepLink(app) {
  /** @type {number | null} */
  let timer = null;
  const review = app.review ? `&review=${app.review}` : "";
  app.link = () => `${location.origin}${location.pathname}?${writeView(app.view())}${review}`;
  const write = () => {
    timer = null;
    history.replaceState(history.state, "", app.link());
  };
  app.player.subscribe((state, keys) => {
    if (timer === null && hasAny(keys, ...HELD)) {
      timer = setTimeout(write, state.playing ? WAIT_PLAYING : WAIT);
    }
  });
}
