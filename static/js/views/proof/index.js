/** The proof page: a run in two orders, and a slider that swaps neighbours until one order becomes the other. */

import "../jobs/job.js";
import { setText } from "../../lib/dom.js";
import { mountFigure } from "../../lib/figure.js";
import { pageColour } from "../../lib/figure-style.js";
import { counted, thousands } from "../../lib/format.js";
import { countSwaps, eventWords, orderAfter, swapAt } from "../../lib/reordering.js";
import { orderFigure } from "./figure.js";

const STEPS_A_SECOND = 2;
const LONGEST = 12; // seconds that playing takes at most
const REORDERED =
  "the prerecording events come first, and the recorded state stands between them and the rest.";
const OPTIONS = { config: { displayModeBar: false } };

const root = document.getElementById("proof");
const data = document.getElementById("proof-data");
if (root && data && root.querySelector("#proof-now")) mount(JSON.parse(data.textContent));

/** @param {ProofPayload} proof */
function mount(proof) {
  const isPre = proof.events.map(({ prerecording }) => Boolean(prerecording));
  const total = countSwaps(isPre);
  const slider = /** @type {HTMLInputElement} */ (root.querySelector("#proof-swaps"));
  const caption = root.querySelector("#proof-said");
  const play = /** @type {HTMLButtonElement} */ (root.querySelector("#proof-play"));
  const lanes = lanesOf(proof);
  /** @type {number | null} */
  let timer = null;
  let done = total;

  const original = mountChart("#proof-was", () => [
    orderAfter(isPre, 0),
    { state: proof.occurred ? proof.occurred_after : null },
  ]);
  const reordered = mountChart("#proof-now", () => [
    orderAfter(isPre, done),
    { state: done === total ? proof.middle : null, next: nextSwap() },
  ]);

  /** @param {string} selector @param {() => [number[], { state?: number | null, next?: Swap | null }]} shown */
  function mountChart(selector, shown) {
    const chart = /** @type {HTMLElement} */ (root.querySelector(selector));
    chart.style.setProperty("--rows", String(lanes.length));
    /** @param {number} width */
    const build = (width) => {
      const [order, options] = shown();
      return orderFigure(proof, lanes, order, { colours: pageColour, width, ...options });
    };
    return mountFigure(chart, build, OPTIONS);
  }

  function nextSwap() {
    return done < total ? swapAt(isPre, done) : null;
  }

  function drawAll() {
    original.show();
    show(done);
  }

  /** @param {number} swaps */
  function show(swaps) {
    done = Math.max(0, Math.min(total, swaps));
    slider.value = String(done);
    reordered.show();
    root.classList.toggle("is-reordered", done === total);
    setText(caption, sentence(nextSwap()));
  }

  /** @param {Swap | null} next */
  function sentence(next) {
    if (total === 0) return "No swap is needed: every prerecording event already comes first.";
    if (!next) return `${counted(total, "swap")} done: ${REORDERED}`;
    const [mover, passed] = [proof.events[next.mover], proof.events[next.passed]];
    const number = `Swap ${thousands(done + 1)} of ${thousands(total)}`;
    const move = `e${next.mover} (${eventWords(mover)}) moves in front of`;
    return `${number}: ${move} e${next.passed} (${eventWords(passed)}).`;
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  function start() {
    if (done === total) show(0);
    const swaps = Math.max(1, Math.ceil(total / (STEPS_A_SECOND * LONGEST)));
    play.textContent = "Pause";
    timer = setInterval(() => {
      show(done + swaps);
      if (done === total) stop();
    }, 1000 / STEPS_A_SECOND);
  }

  slider.max = String(total);
  slider.disabled = total === 0;
  play.disabled = total === 0;
  slider.addEventListener("input", () => {
    stop();
    show(Number(slider.value));
  });
  play.addEventListener("click", () => (timer === null ? start() : stop()));
  for (const [id, by] of /** @type {[string, number][]} */ ([["proof-back", -1], ["proof-on", 1]])) {
    const button = /** @type {HTMLButtonElement} */ (root.querySelector(`#${id}`));
    button.disabled = total === 0;
    button.addEventListener("click", () => {
      stop();
      show(done + by);
    });
  }
  document.addEventListener("themechange", drawAll);
  drawAll();
  root.classList.add("is-ready");
}

/**
 * Returns the processes to draw, in the order of the topology: all if they are few, else those with events.
 * @param {ProofPayload} proof
 */
function lanesOf({ events, start }) {
  const acting = new Set(events.map(({ process }) => process));
  const all = [...new Set([...Object.keys(start.processes), ...acting])];
  const drawn = all.length <= 12 ? all : all.filter((process) => acting.has(process));
  return drawn.length ? drawn : all;
}
