/** A restored run in four beats, beside the original, under one cursor. The server's frames say all that is shown. */

import "../jobs/job.js";
import { h, setText, table } from "../../lib/dom.js";
import { listen } from "../../lib/keys.js";
import { readPlotly } from "../../lib/plotly.js";
import { createFrames } from "./frames.js";

const CONFIG = { displayModeBar: false, responsive: true, doubleClick: false };
const COLOUR = /var\((--color-[a-z0-9-]+)\)/g;
const LONGEST = 1500; // ms that one frame takes

const root = document.getElementById("restored");
const data = document.getElementById("restored-data");
if (root && data) mount(JSON.parse(data.textContent));

/** @param {RestoredData} run */
function mount(run) {
  const plots = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-plot]")]);
  /** @param {string} name @returns {any} */
  const part = (name) => root.querySelector(`[data-${name}]`);
  const slider = /** @type {HTMLInputElement} */ (part("cursor"));
  const frames = createFrames(run, { onFrame: take, say: (text) => setText(part("message"), text) });
  const isCalm = matchMedia("(prefers-reduced-motion: reduce)").matches;
  const stops = [...new Set([...run.beats, ...run.faults.slice(0, 1)])].sort((a, b) => a - b);
  /** @type {any} */
  let Plotly = null;
  /** @type {RestoredFrame[]} */
  let queue = [];
  /** @type {RestoredFrame} */
  let shown = run.frame;
  let figures = run.frame.restored.pictures;
  let playing = false;
  /** @type {number | undefined} */
  let timer;

  /** @param {RestoredFrame} frame */
  function take(frame) {
    if (frame.from === null) {
      queue = [];
      clearTimeout(timer);
      timer = undefined;
      show(frame, 0);
      if (playing) next();
    } else {
      queue.push(frame);
      if (playing && timer === undefined) next();
    }
  }

  /** Shows the next frame, as long as the replay plays. */
  function next() {
    timer = undefined;
    const frame = playing && queue.shift();
    if (!frame) return;
    const took = Math.min(((frame.at - frame.from) / run.rate) * 1000, LONGEST);
    frames.tellRead(frame);
    show(frame, isCalm ? 0 : took);
    if (frame.ends || frame.restored.is_fault) pause();
    else timer = setTimeout(next, took);
  }

  /** @param {RestoredFrame} frame @param {number} duration ms in which what moves gets there */
  function show(frame, duration) {
    const { restored } = frame;
    const isBeat = restored.beat !== shown.restored.beat;
    shown = frame;
    figures = restored.pictures ?? figures;
    if (Plotly) restored.pictures ? draw() : glide(restored.moving, duration);
    say(restored, isBeat);
    slider.value = String(frame.at);
    slider.setAttribute("aria-valuetext", `${restored.title}: ${restored.sentence}`);
    const address = new URL(location.href);
    address.searchParams.set("step", String(Math.floor(frame.at)));
    history.replaceState(history.state, "", address);
  }

  /** Draws both figures anew. */
  function draw() {
    figures.forEach(({ data: still, layout }, side) => {
      const figure = coloured({ data: [...still, ...shown.restored.moving[side]], layout });
      Plotly.react(plots[side], figure.data, figure.layout, CONFIG);
    });
  }

  /** @param {object[][]} moving @param {number} duration */
  function glide(moving, duration) {
    const options = {
      mode: "immediate",
      transition: { duration, easing: "linear" },
      frame: { duration, redraw: false },
    };
    moving.forEach((traces, side) => {
      const first = figures[side].data.length;
      const update = { data: coloured(traces), traces: traces.map((_, i) => first + i) };
      Plotly.animate(plots[side], update, options).catch(() => {}); // a later frame took its place
    });
  }

  /** @param {RestoredSides} sides @param {boolean} isBeat */
  function say({ beat, title, sentence, faults, sums, rows, counted, ending, is_fault: isFault }, isBeat) {
    for (const each of root.querySelectorAll("[data-beat]")) {
      each.setAttribute("aria-current", Number(each.dataset.beat) === beat ? "step" : "false");
    }
    setText(part("title"), title);
    setText(part("sentence"), sentence);
    part("faults").replaceChildren(...faults.map((fault) => h("li", {}, fault.sentence)));
    part("wrong").hidden = !faults.length;
    const [original, again] = sums?.texts ?? [];
    setText(part("sums"), sums ? `Sums: ${original} in the original, ${again} restored. ${sums.wrong}` : "");
    setText(part("ending"), ending?.sentence ?? "");
    part("ending").dataset.level = ending?.alike ? "success" : ending?.alike === false ? "error" : "info";
    part("ending").hidden = !ending;
    setText(part("differ"), counted);
    const made = table(run.caption, ["", ...run.sides], rows.map(({ name, texts }) => [name, ...texts]));
    [...made.querySelectorAll("tbody tr")].forEach((row, i) =>
      row.classList.toggle("is-other", rows[i].verdict === "other"));
    part("rows").replaceChildren(made);
    const isSaid = !playing || isBeat || isFault || ending;
    if (isSaid) setText(part("said"), `${title}. ${sentence} ${ending?.sentence ?? ""}`);
  }

  function play() {
    playing = true;
    mark();
    frames.ask("play", shown.ends ? 0 : shown.at);
  }

  function pause() {
    playing = false;
    clearTimeout(timer);
    timer = undefined;
    queue = [];
    frames.pause(shown.at);
    mark();
  }

  function mark() {
    setText(part("play"), playing ? "Pause" : "Play");
    part("play").setAttribute("aria-pressed", String(playing));
  }

  /** @param {number} step */
  function seek(step) {
    if (playing) pause();
    frames.ask("seek", Math.min(Math.max(step, 0), run.end));
  }

  const nextBeat = () => seek(stops.find((stop) => stop > shown.at) ?? run.end);
  const previousBeat = () => seek(stops.findLast((stop) => stop < shown.at) ?? 0);
  const toggle = () => (playing ? pause() : play());
  part("play").addEventListener("click", toggle);
  part("next").addEventListener("click", nextBeat);
  part("previous").addEventListener("click", previousBeat);
  slider.addEventListener("input", () => seek(Number(slider.value)));
  listen([
    { title: "Play or pause", keys: ["space"], run: toggle },
    { title: "Next beat", keys: ["n", "pagedown"], run: nextBeat },
    { title: "Previous beat", keys: ["b", "pageup"], run: previousBeat },
    { title: "One step on", keys: ["arrowright"], run: () => seek(Math.floor(shown.at) + 1) },
    { title: "One step back", keys: ["arrowleft"], run: () => seek(Math.ceil(shown.at) - 1) },
    { title: "To the start", keys: ["home"], run: () => seek(0) },
    { title: "To the end", keys: ["end"], run: () => seek(run.end) },
  ]);
  document.addEventListener("themechange", () => Plotly && draw());
  show(run.frame, 0);
  readPlotly(root.dataset.plotly).then((loaded) => {
    Plotly = loaded;
    draw();
    root.classList.add("is-ready");
  }, ({ message }) => setText(part("message"), message));
}

/**
 * Returns a figure with the colours of the page in the places of their names.
 * @template T @param {T} figure @returns {T}
 */
function coloured(figure) {
  const style = getComputedStyle(document.documentElement);
  return JSON.parse(JSON.stringify(figure).replace(COLOUR, (_, name) => style.getPropertyValue(name)));
}
