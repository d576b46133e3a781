/** The proof page: the run in two orders, and a slider that swaps neighbours until one is the other. */

import "../jobs/job.js";
import { setText } from "../../lib/dom.js";
import { counted, thousands } from "../../lib/format.js";
import { countSwaps, orderAfter, swapAt, told } from "../../lib/reordering.js";
import { orderFigure } from "./figure.js";

const SWAPS_A_SECOND = 2;
const LONGEST = 12; // seconds that playing takes at most
const REORDERED =
  "the prerecording events come first, and the recorded state stands between them and the rest.";
const CONFIG = { responsive: true, displayModeBar: false };

const root = document.getElementById("proof");
const data = document.getElementById("proof-data");
if (root && data && window.Plotly && root.querySelector("#proof-now")) mount(JSON.parse(data.textContent));

function mount(proof) {
  const isPre = proof.events.map(({ prerecording }) => Boolean(prerecording));
  const total = countSwaps(isPre);
  const slider = /** @type {HTMLInputElement} */ (root.querySelector("#proof-swaps"));
  const said = root.querySelector("#proof-said");
  const play = /** @type {HTMLButtonElement} */ (root.querySelector("#proof-play"));
  const asItWas = root.querySelector("#proof-was");
  const reordered = root.querySelector("#proof-now");
  const lanes = lanesOf(proof);
  for (const chart of [asItWas, reordered]) chart.style.setProperty("--rows", String(lanes.length));
  let timer = null;
  let done = total;

  function colours(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(`--color-${name}`).trim();
  }

  function draw(chart, order, options) {
    const { data: traces, layout } = orderFigure(
      proof,
      lanes,
      order,
      { colours, width: chart.clientWidth, ...options },
    );
    window.Plotly.react(chart, traces, layout, CONFIG);
  }

  function drawAll() {
    draw(asItWas, orderAfter(isPre, 0), { occurredAfter: proof.occurred ? proof.occurred_after : null });
    show(done);
  }

  function show(swaps) {
    done = Math.max(0, Math.min(total, swaps));
    slider.value = String(done);
    const next = done < total ? swapAt(isPre, done) : null;
    draw(reordered, orderAfter(isPre, done), { middle: done === total ? proof.middle : null, next });
    root.classList.toggle("is-reordered", done === total);
    setText(said, sentence(next));
  }

  function sentence(next) {
    if (total === 0) return "No swap is needed: every prerecording event already comes first.";
    if (!next) return `${counted(total, "swap")} done: ${REORDERED}`;
    const [mover, passed] = [proof.events[next.mover], proof.events[next.passed]];
    const number = `Swap ${thousands(done + 1)} of ${thousands(total)}`;
    return `${number}: e${next.mover} (${told(mover)}) moves in front of e${next.passed} (${told(passed)}).`;
  }

  function stop() {
    clearInterval(timer);
    timer = null;
    play.textContent = "Play";
  }

  function start() {
    if (done === total) show(0);
    const each = Math.max(1, Math.ceil(total / (SWAPS_A_SECOND * LONGEST)));
    play.textContent = "Pause";
    timer = setInterval(() => {
      show(done + each);
      if (done === total) stop();
    }, 1000 / SWAPS_A_SECOND);
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
  for (const chart of [asItWas, reordered]) chart.replaceChildren();
  drawAll();
  root.classList.add("is-ready");
}

/** The processes that take part, in the order of the topology. */
function lanesOf({ events, start }) {
  const acting = new Set(events.map(({ process }) => process));
  const known = [...new Set([...Object.keys(start.processes), ...acting])];
  const few = known.length <= 12 ? known : known.filter((process) => acting.has(process));
  return few.length ? few : known;
}
