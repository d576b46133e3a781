/** Pages of a collected job follow what the collector finds, or stay as they are when they are pinned. */

import { h, setText } from "../../lib/dom.js";
import { latestWins, openSocket } from "../../lib/socket.js";

const LOST = "The connection is lost: what the collector finds is shown when it is back.";
const STALLED = "It has stopped completing checkpoints. ";
const LATE = 1_000; // ms after the end of a time, at which it is surely over

/**
 * Follows the job of the page. Does nothing if no collector has reported it.
 * @param {{ show: (news: ArchiveNews, hasNewData: boolean) => unknown, report?: () => unknown }} options `show` shows
 * what is new, while the page follows; it returns false if it could not. `report` shows again when the job was reported
 * @returns {{ pin: () => void }} `pin` keeps the page as it is
 */
export function followJob({ show, report = () => {} }) {
  const root = document.getElementById("archive-live");
  if (!root) return { pin() {} };
  const [follow, pin] = root.querySelectorAll("button");
  const state = /** @type {HTMLElement} */ (root.querySelector("[data-live-state]"));
  const base = `/archive/${root.dataset.job}/checkpoints`;
  let latest = /** @type {ArchiveNews} */ (JSON.parse(root.dataset.shown));
  let shown = latest;
  let isPinned = root.dataset.pinned !== undefined;
  /** @type {number | undefined} */
  let timer;
  const bring = latestWins(attempt);
  root.hidden = false;
  mark();
  expect(latest);

  openSocket(`/ws/archive/${root.dataset.job}`, {
    onMessage: (message) => message.type === "archive" && take(message),
    onState: (name, sentence) => setText(state, name === "open" ? "" : name === "ended" ? sentence : LOST),
  });
  follow.addEventListener("click", () => choose(false));
  pin.addEventListener("click", () => choose(true));
  return { pin: () => choose(true) };

  function mark() {
    follow.setAttribute("aria-pressed", String(!isPinned));
    pin.setAttribute("aria-pressed", String(isPinned));
  }

  /** @param {boolean} isNowPinned */
  function choose(isNowPinned) {
    isPinned = isNowPinned;
    mark();
    if (isPinned) compare();
    else bring(latest);
  }

  /** @param {ArchiveNews} news */
  function take(news) {
    latest = news;
    expect(news);
    if (isPinned) compare();
    else if (keyOf(news) !== keyOf(shown)) bring(news);
    else report();
  }

  /**
   * Shows the report again when the collector has been silent for too long.
   * @param {ArchiveNews} news
   */
  function expect({ fresh_for: left }) {
    clearTimeout(timer);
    if (left) timer = setTimeout(() => isPinned || report(), left + LATE);
  }

  /** @param {ArchiveNews} news */
  async function attempt(news) {
    const isShown = await Promise.resolve(show(news, news.version !== shown.version)).catch(() => false);
    if (isShown === false) return say(news);
    shown = news;
    const newest = news.newest ? `Checkpoint ${news.newest.number} is the newest. ` : "";
    setText(state, (newest + stallOf(news)).trim());
    return undefined;
  }

  /** Says what a pinned page does not show, if there is something. */
  function compare() {
    if (keyOf(latest) !== keyOf(shown)) say(latest);
    else setText(state, "");
  }

  /**
   * Says what the page does not show.
   * @param {ArchiveNews} news
   */
  function say(news) {
    state.replaceChildren(`There is news. ${stallOf(news)}`);
    if (!news.newest) return;
    const href = `${base}/${news.newest.pipeline}/${news.newest.number}`;
    state.append("Newest: ", h("a", { href }, `checkpoint ${news.newest.number}`));
  }
}

/** @param {ArchiveNews} news */
function stallOf({ stall }) {
  return stall === "stalled" ? STALLED : "";
}

/**
 * Returns what a page shows of a job, as a text.
 * @param {ArchiveNews} news
 */
function keyOf({ version, state, stall }) {
  return JSON.stringify([version, state, stall]);
}
