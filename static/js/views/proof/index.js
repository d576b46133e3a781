/** The proof page: a run in two orders, and a slider that swaps neighbours until one order becomes the other. */

import "../jobs/job.js";
import { setText } from "../../lib/dom.js";
import { mountFigure } from "../../lib/figure.js";
import { counted, thousands } from "../../lib/format.js";
import { inOrder, orderAfter, swapAt } from "../../lib/reordering.js";
import { coloured } from "../../lib/served-figures.js";

const STEPS_A_SECOND = 2;
const LONGEST = 12; // seconds that playing takes at most
const REORDERED =
  "the prerecording events come first, and the recorded state stands between them and the rest.";
const NARROW = 500; // pixels of a chart
const FEW = 20; // events that have room for their names there

const root = document.getElementById("proof");
const data = document.getElementById("proof-data");
if (root && data && root.querySelector("#proof-now")) mount(JSON.parse(data.textContent));

/** @param {ProofPayload} proof */
function mount(proof) {
  const { is_pre: isPre, swaps: total, words } = proof;
  const slider = /** @type {HTMLInputElement} */ (root.querySelector("#proof-swaps"));
  const caption = root.querySelector("#proof-said");
  const play = /** @type {HTMLButtonElement} */ (root.querySelector("#proof-play"));
  /** @type {number | null} */
  let timer = null;
  let done = total;

  const original = mountChart("#proof-was", () => proof.was);
  const reordered = mountChart("#proof-now", () => {
    const data = inOrder(proof.now.data, orderAfter(isPre, done), nextSwap());
    const { layout } = proof.now;
    return { data, layout: done === total ? layout : { ...layout, shapes: [], annotations: [] } };
  });

  /** @param {string} selector @param {() => Figure} shown */
  function mountChart(selector, shown) {
    const chart = /** @type {HTMLElement} */ (root.querySelector(selector));
    chart.style.setProperty("--rows", String(proof.lanes));
    /** @param {number} width */
    const build = (width) => {
      const { data, layout } = shown();
      const hasRoom = width > NARROW || isPre.length <= FEW;
      return coloured({ data: hasRoom ? data : data.map(withoutNames), layout });
    };
    return mountFigure(chart, build, { config: proof.now.config });
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
    const number = `Swap ${thousands(done + 1)} of ${thousands(total)}`;
    const move = `e${next.mover} (${words[next.mover]}) moves in front of`;
    return `${number}: ${move} e${next.passed} (${words[next.passed]}).`;
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

/** @param {Trace} trace */
function withoutNames(trace) {
  return { ...trace, mode: trace.mode === "lines" ? "lines" : "markers" };
}
