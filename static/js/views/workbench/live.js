/** An open recording: the view follows what comes, until somebody looks at something else. */

import { h, setText } from "../../lib/dom.js";
import { counted, thousands } from "../../lib/format.js";
import { briefSnapshots } from "../../lib/source.js";

const SHOWN = { time: 10, order: 200 }; // seconds, or events, that the view has at first
/** @type {Record<string, number>} */
const SECONDS = { ns: 1e9, us: 1e6, ms: 1e3, s: 1 };
const OVERVIEW_EVERY = 2000; // ms
const LEAVES = ["now", "from", "to", "axis", "playing", "cut"]; // what a person changes to look at something else
const MOST_WAITS = 2;

/**
 * Makes what follows the head. Pausing, scrubbing, zooming and dragging a cut leave it; the button and the key return.
 * @param {App} app @param {{ refresh: () => Promise<void> }} feed @param {{ load: () => Promise<void> }} overview
 */
export function createLive(app, feed, overview) {
  const { player, recording } = app;
  const button = app.root.querySelector("#wb-live");
  const words = app.root.querySelector("#wb-coming");
  let isLive = false;
  let isClosed = false;
  /** @type {Record<string, any>} */
  let head = {}; // what the view shows while it follows
  let drawnAt = 0;

  /** @param {boolean} value @param {number} [length] */
  function setLive(value, length = player.state.to - player.state.from) {
    isLive = value && !isClosed;
    button.setAttribute("aria-pressed", String(isLive));
    if (isLive) toHead(length);
  }

  /** Returns how much the view shows at first. */
  function first() {
    const { axis } = player.state;
    return axis === "order" ? SHOWN.order : SHOWN.time * (SECONDS[recording.time_unit] ?? 1000);
  }

  /**
   * Shows the last part of what has come.
   * @param {number} length
   */
  function toHead(length) {
    const { to } = player.bounds();
    const end = player.margins().to;
    player.set({ cut: null, playing: false });
    player.zoom(end - length, end);
    player.set({ now: to });
    const { axis, now, from, to: right } = player.state;
    head = { axis, now, from, to: right, playing: false, cut: null };
  }

  player.subscribe((/** @type {any} */ state, keys) => {
    if (!isLive || LEAVES.every((name) => state[name] === head[name])) return;
    if (keys.has("axis")) toHead(first());
    else setLive(false);
  });

  /** @param {LiveHead} news */
  function take(news) {
    const length = player.state.to - player.state.from;
    const sawAll = seesNew();
    Object.assign(recording.extent, news.extent);
    Object.assign(recording.counts, news.counts);
    app.source.forget();
    if (isLive) toHead(length);
    if (!player.state.playing) app.playing.again();
    if (isLive || sawAll) feed.refresh();
    setText(words, sentence(news));
    if (news.judged > app.snapshots.list().length) readSnapshots();
    if (performance.now() - drawnAt > OVERVIEW_EVERY) {
      drawnAt = performance.now();
      overview.load();
    }
  }

  async function readSnapshots() {
    try {
      app.snapshots.replace(await briefSnapshots(app.urls.briefs));
    } catch (error) {
      app.say(`The snapshots could not be loaded: ${error.message}`);
    }
  }

  /** Returns whether the view reaches to the end of what it was loaded from, where more may have come. */
  function seesNew() {
    return player.state.to >= (player.state.window?.to ?? 0);
  }

  function close() {
    isClosed = true;
    setLive(false);
    button.hidden = true;
    const status = app.root.querySelector(".wb-head .status");
    if (status) {
      status.dataset.status = "queued";
      setText(status, "closed");
    }
    const link = h("a", { href: `/recordings/${recording.id}` }, "Open it as a whole");
    words.replaceChildren("The recording was closed, and its log is being read. ", link, ".");
  }

  return {
    toggle: () => setLive(!isLive),
    /**
     * Takes a message of the server; returns whether it was about what comes.
     * @param {any} news
     */
    hear(news) {
      if (news.type === "head") take(news);
      if (news.type === "closed") close();
      return news.type === "head" || news.type === "closed";
    },
    /**
     * Follows from the beginning, unless the address leads to a place.
     * @param {boolean} isWanted
     */
    begin: (isWanted) => setLive(isWanted, first()),
  };
}

/**
 * Says what has come, and what holds the rest back.
 * @param {LiveHead} head
 */
export function sentence({ came, counts, under_way, missing, waits, waits_total }) {
  const parts = [came ? `${counted(came, "event")} ${came === 1 ? "has" : "have"} come.` : "No event has come yet."];
  const held = came - counts.events;
  if (held > 0) {
    const waiting = held === 1 ? "waits" : "wait";
    parts.push(`${thousands(held)} of them ${waiting} for others, and cannot be shown yet.`);
  }
  if (missing) parts.push(`${counted(missing, "event")} ${missing === 1 ? "is" : "are"} missing before others.`);
  if (under_way) parts.push(`${counted(under_way, "snapshot")} ${under_way === 1 ? "is" : "are"} under way.`);
  for (const { process, channel, what } of waits.slice(0, MOST_WAITS)) {
    parts.push(`${process} waits for the send of ${what} on ${channel}.`);
  }
  const others = waits_total - MOST_WAITS;
  if (others > 0) {
    const more = counted(others, "more process", "more processes");
    parts.push(`${more} ${others === 1 ? "waits" : "wait"} so.`);
  }
  return parts.join(" ");
}
