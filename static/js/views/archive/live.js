/** Pages of a collected job follow what the collector finds, or stay as they are when they are pinned. */

import { h, setText } from "../../lib/dom.js";
import { openSocket } from "../../lib/socket.js";

const LOST = "The connection is lost: what the collector finds is shown when it is back.";

/**
 * Follows the job of the page. Does nothing if no collector has reported it.
 * @param {{ show: (news: ArchiveNews) => unknown }} options `show` shows what is new, while the page follows
 */
export function followJob({ show }) {
  const root = document.getElementById("archive-live");
  if (!root) return;
  const [follow, pin] = root.querySelectorAll("button");
  const state = /** @type {HTMLElement} */ (root.querySelector("[data-live-state]"));
  const base = `/archive/${root.dataset.job}/checkpoints`;
  let shown = keyOf(/** @type {any} */ (JSON.parse(root.dataset.shown)));
  let isPinned = root.dataset.pinned !== undefined;
  /** @type {ArchiveNews | null} */
  let latest = null;
  root.hidden = false;
  mark();

  openSocket(`/ws/archive/${root.dataset.job}`, {
    onMessage: (message) => message.type === "archive" && take(message),
    onState: (name, sentence) => setText(state, name === "open" ? "" : name === "ended" ? sentence : LOST),
  });
  follow.addEventListener("click", () => choose(false));
  pin.addEventListener("click", () => choose(true));

  function mark() {
    follow.setAttribute("aria-pressed", String(!isPinned));
    pin.setAttribute("aria-pressed", String(isPinned));
  }

  /** @param {boolean} isNowPinned */
  function choose(isNowPinned) {
    isPinned = isNowPinned;
    mark();
    if (latest) take(latest);
    else if (!isPinned) show({ newest: JSON.parse(root.dataset.shown).newest });
  }

  /** @param {ArchiveNews} news */
  function take(news) {
    latest = news;
    if (keyOf(news) === shown) return;
    if (isPinned) return say(news);
    shown = keyOf(news);
    setText(state, news.newest ? `Checkpoint ${news.newest.number} is the newest.` : "");
    show(news);
    return undefined;
  }

  /**
   * Says what a pinned page does not show.
   * @param {ArchiveNews} news
   */
  function say({ newest }) {
    state.replaceChildren("There is news. ");
    if (!newest) return;
    const href = `${base}/${newest.pipeline}/${newest.number}`;
    state.append("Newest: ", h("a", { href }, `checkpoint ${newest.number}`));
  }
}

/**
 * Returns what a page shows of a job, as a text.
 * @param {ArchiveNews} news
 */
function keyOf({ version, state, stall }) {
  return JSON.stringify([version, state, stall]);
}
