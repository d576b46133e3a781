/** What happens at the cursor, and the phases of the chosen snapshot: a bar whose parts lead to where each begins. */

import { setText } from "../../lib/dom.js";
import { hasAny } from "../../lib/player.js";

/** @param {App} app */
export function createCourse(app) {
  const { player, root } = app;
  const bar = root.querySelector("#wb-course");
  const words = root.querySelector("#wb-course-said");
  const sentence = root.querySelector("#wb-sentence");
  /** @type {HTMLButtonElement[]} */
  const parts = [...bar.querySelectorAll("[data-phase]")];
  for (const part of parts) part.addEventListener("click", () => player.seek(beginOf(part.dataset.phase)));

  /** @param {string} phase @returns {number | null} */
  function beginOf(phase) {
    const { begins, completes } = player.state.moment.spread;
    return phase === "not begun" ? player.bounds().from : phase === "spreading" ? begins : completes;
  }

  /**
   * Returns which share of each phase is over.
   * @param {Spread} spread @param {number} now
   */
  function sharesOf({ phase, begins, processes, channels, recorded, locked }, now) {
    const { from } = player.bounds();
    const before = phase === "not begun" ? (now - from) / Math.max((begins ?? player.bounds().to) - from, 1) : 1;
    return [before, (recorded.size + locked.size) / (processes + channels), phase === "complete" ? 1 : 0];
  }

  /** @param {PlayerState} state */
  function draw({ moment, snapshot, now }) {
    const spread = moment?.spread?.snapshot === snapshot ? moment.spread : null;
    bar.hidden = snapshot === null; // it keeps its place while the first frame is awaited
    if (!spread) return;
    const shares = sharesOf(spread, now);
    parts.forEach((part, i) => {
      const { phase } = part.dataset;
      part.style.setProperty("--share", shares[i].toFixed(3));
      part.setAttribute("aria-current", phase === spread.phase ? "step" : "false");
      part.disabled = beginOf(phase) === null;
      part.title = part.disabled ? `${snapshot} is never ${phase} in this recording` : `Go to where this begins`;
    });
    setText(words, spread.said);
  }

  /**
   * Says what the last event is. While many go by, or a cut is dragged, it says nothing.
   * @param {PlayerState} state
   */
  function say({ moment, playing, cut }) {
    if (!playing && !cut && moment?.sentence === null) return app.playing.askAgain();
    setText(sentence, cut ? "" : moment?.sentence ?? (playing ? "" : "…"));
  }

  return {
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (hasAny(keys, "moment", "snapshot")) draw(state);
      if (hasAny(keys, "moment", "playing", "cut")) say(state);
    },
  };
}
