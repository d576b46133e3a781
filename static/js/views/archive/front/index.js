/** The page of a barrier front: replays all polls, which the server draws, and follows the newest. */

import { setText } from "../../../lib/dom.js";
import { latestWins } from "../../../lib/socket.js";
import { followJob } from "../live.js";

const STEP = 800; // ms between two polls of a replay
const NARROW = 640; // pixels, below which layers follow each other downwards

const body = document.getElementById("front");
const replay = /** @type {HTMLElement} */ (document.querySelector("[data-replay]"));
const slider = /** @type {HTMLInputElement} */ (document.querySelector("[data-slider]"));
const play = /** @type {HTMLButtonElement} */ (document.querySelector("[data-play]"));
const bring = latestWins(load);
/** @type {FrontPoll} */
let shown;
/** @type {number | undefined} */
let timer;

let isDown = false;

if (body) begin();
const { pin } = followJob({ show: follow, report: () => bring(null) });

/**
 * Shows the newest poll, also if it is of a later checkpoint.
 * @param {ArchiveNews} news
 */
function follow({ polled }) {
  const own = /(\d+)\/front$/;
  if (polled && polled.number > Number(own.exec(location.pathname)[1])) {
    return location.assign(location.pathname.replace(own, `${polled.number}/front`));
  }
  return bring(null);
}

function begin() {
  take();
  slider.addEventListener("input", () => {
    halt();
    go(Number(slider.value));
  });
  play.addEventListener("click", () => (timer ? stop() : start()));
  body.addEventListener("click", (event) => {
    const link = /** @type {HTMLElement} */ (event.target).closest("a[rel]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    halt();
    go(place() + (link.getAttribute("rel") === "next" ? 1 : -1));
  });
  new ResizeObserver(() => {
    if (isDown !== body.clientWidth < NARROW) bring(shown.at);
  }).observe(body);
}

/** Takes over which poll the page shows now. */
function take() {
  shown = JSON.parse(document.getElementById("front-data").textContent);
  replay.hidden = shown.instants.length < 2;
  slider.max = String(shown.instants.length - 1);
  slider.value = String(place());
  const status = /** @type {HTMLElement} */ (document.querySelector(".page-head .checkpoint-status"));
  status.dataset.status = shown.status;
  setText(status, shown.status);
  slider.setAttribute("aria-valuetext", `poll ${place() + 1} of ${shown.instants.length}`);
}

function place() {
  return shown.instants.indexOf(shown.at);
}

/** @param {number} index */
function go(index) {
  return bring(shown.instants[index]);
}

/** Ends the replay, and stays at what somebody chooses. */
function halt() {
  stop();
  pin();
}

function start() {
  pin();
  play.textContent = "Stop";
  if (place() === shown.instants.length - 1) go(0);
  timer = window.setInterval(() => (place() < shown.instants.length - 1 ? go(place() + 1) : stop()), STEP);
}

function stop() {
  clearInterval(timer);
  timer = undefined;
  play.textContent = "Play";
}

/**
 * Shows the poll of an instant, or the last one. Returns false if the server did not answer.
 * @param {number | null} at
 */
async function load(at) {
  if (!body) return location.reload(); // the first poll has come
  const address = at === null ? location.pathname : `${location.pathname}?poll=${at}`;
  const isNarrow = body.clientWidth < NARROW;
  const drawn = `${address}${at === null ? "?" : "&"}down=${Number(isNarrow)}`;
  const answer = await fetch(drawn, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok) return false;
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  body.replaceChildren(...parsed.body.children);
  history.replaceState(null, "", address);
  isDown = isNarrow;
  take();
  return true;
}
