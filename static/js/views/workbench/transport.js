/** The transport bar: play, steps, speed, axis, scrubbing, and where the cursor is. */

import { setText } from "../../lib/dom.js";
import { thousands } from "../../lib/format.js";
import { hasAny, SECONDS_PER_VIEW, SPEEDS } from "../../lib/player.js";
import { covers, eventsBefore } from "../../lib/window.js";

const SCRUB_STEPS = 10000;
const READ_EVERY = 100; // ms while playing

/** @param {App} app */
export function createTransport(app) {
  const { player, recording } = app;
  const bar = app.root.querySelector(".wb-transport");
  const play = bar.querySelector("#wb-play");
  const speed = bar.querySelector("#wb-speed");
  const scrub = bar.querySelector("#wb-scrub");
  const readout = bar.querySelector("#wb-readout");
  const rate = bar.querySelector("#wb-rate");
  const idle = bar.querySelector("[data-command=idle]");
  for (const value of SPEEDS) speed.append(new Option(`${value}×`, String(value), false, value === 1));
  scrub.max = String(SCRUB_STEPS);
  let readAt = 0;
  bar.style.setProperty("--readout", `${longestText().length + 1}ch`);

  bar.addEventListener("click", (/** @type {any} */ { target }) => {
    const command = target.closest("[data-command]")?.dataset.command;
    if (command) app.run(command);
  });
  speed.addEventListener("change", () => player.set({ speed: Number(speed.value) }));
  scrub.addEventListener("input", () => {
    const whole = app.folds.whole();
    player.seek(whole.x(whole.u(whole.from) + (Number(scrub.value) / SCRUB_STEPS) * whole.span));
  });
  for (const button of bar.querySelectorAll("[data-axis]")) {
    button.addEventListener("click", () => app.changeAxis(button.dataset.axis));
  }

  /** @param {PlayerState} state */
  function text(state) {
    const count = `event ${happenedText(state)} / ${thousands(recording.counts.events)}`;
    return state.axis === "order" ? `${count}${atText(state)}` : `t = ${app.readInstant(state.now)}, ${count}`;
  }

  /** Returns a readout as long as any: at the end of the recording, of which only a rough number is known. */
  function longestText() {
    const { from, to } = player.bounds("time");
    const last = Math.abs(from) > Math.abs(to) ? from : to;
    const count = thousands(recording.counts.events);
    return `t = ${app.readInstant(last)}000, event ≈ ${count} / ${count}`;
  }

  /**
   * Writes how many events have happened at the cursor: exactly, roughly, or "…" if nothing says it.
   * @param {PlayerState} state
   */
  function happenedText({ axis, now, window, shown, playing, cut }) {
    if (covers(window, axis, now, now)) return thousands(eventsBefore(window, now));
    if (!playing && !cut && shown) return thousands(shown.events);
    const isRough = window?.axis === axis && window.from <= now;
    return isRough ? `≈ ${thousands(Math.min(eventsBefore(window, now), recording.counts.events))}` : "…";
  }

  /**
   * Writes the instant of the last event that has happened, on the axis "order".
   * @param {PlayerState} state
   */
  function atText({ window, now }) {
    if (!window?.exact || window.axis !== "order") return "";
    const { step, at } = window.events;
    let row = -1;
    for (let i = 0; i < step.length; i += 1) if (step[i] < now && (row < 0 || step[i] > step[row])) row = i;
    return row < 0 ? "" : `, t = ${app.readInstant(at[row])}`;
  }

  /** @param {PlayerState} state */
  function drawReadout(state) {
    readAt = performance.now();
    setText(readout, text(state));
    const { from, span, u } = app.folds.whole();
    const place = String(Math.round(((u(state.now) - u(from)) / span) * SCRUB_STEPS));
    if (scrub.value !== place && (document.activeElement !== scrub || state.playing)) scrub.value = place;
    scrub.setAttribute("aria-valuetext", readout.textContent);
  }

  /** @param {PlayerState} state @param {Set<string>} keys */
  function update(state, keys) {
    if (keys.has("playing")) {
      play.setAttribute("aria-pressed", String(state.playing));
      play.setAttribute("aria-label", state.playing ? "Pause" : "Play");
      play.classList.toggle("is-playing", state.playing);
    }
    if (keys.has("axis")) {
      for (const button of bar.querySelectorAll("[data-axis]")) {
        button.setAttribute("aria-pressed", String(button.dataset.axis === state.axis));
      }
    }
    if (keys.has("idle")) idle.setAttribute("aria-pressed", String(state.idle));
    if (hasAny(keys, "speed", "from", "to", "axis", "idle", "lanes", "window")) {
      speed.value = String(state.speed);
      const perSecond = (player.scale().span / SECONDS_PER_VIEW) * state.speed;
      const rounded = Number(perSecond.toPrecision(3));
      setText(rate, state.axis === "order" ? `${thousands(rounded)} events/s` : `${app.readDuration(rounded)}/s`);
    }
    if (hasAny(keys, "now", "window", "shown", "axis", "playing", "cut", "idle", "overview")) {
      const isEarly = state.playing && !keys.has("playing") && performance.now() - readAt < READ_EVERY;
      if (!isEarly) drawReadout(state);
    }
  }

  return { update };
}
