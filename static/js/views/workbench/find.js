/** The search box of the workbench: it marks the hits in the overview and goes from one to the next. */

import { countText, createFinder } from "../../lib/finder.js";
import { isGiven, thousands, valueText } from "../../lib/format.js";
import { createPalette } from "../../lib/palette.js";
import { eventsBefore } from "../../lib/window.js";

const EVENTS_AROUND = 60; // shown around a hit if the view holds too many to draw each

/**
 * Makes the box. `commands()` returns the commands and names that it also finds.
 * @param {App} app @param {() => Command[]} commands
 */
export function wireFind(app, commands) {
  const { player } = app;
  const finder = createFinder(
    (question) => app.source.search(question),
    ({ bins }) => {
      player.set({ marks: bins });
      app.palette?.draw();
    },
  );

  /** Returns the step of the event at the cursor, or of a later one. */
  function stepAtCursor() {
    const { axis, now, window, shown } = player.state;
    const happened = axis === "order" ? Math.floor(now) : shown?.events ?? (window ? eventsBefore(window, now) : 0);
    return Math.max(0, happened - 1);
  }

  /** @param {SearchHit | null} hit */
  function show(hit) {
    if (!hit) return hit;
    const { process, index, at, step } = hit;
    if (!player.state.window?.exact) {
      const place = player.state.axis === "order" ? step + 1 : at;
      const all = player.bounds();
      const span = (all.to - all.from) * Math.min(1, EVENTS_AROUND / Math.max(player.extent.steps, 1));
      player.zoom(place - span / 2, place + span / 2);
    }
    app.go({ of: "event", process, index, at });
    return hit;
  }

  /** @param {SearchHit} hit */
  function title({ process, kind, message, value, snapshot, label, at }) {
    const value_ = isGiven(value) ? valueText(value, 40) : null;
    const facts = [message, value_ === message ? null : value_, snapshot && `snapshot ${snapshot}`, label];
    return [`${process}: ${kind}`, ...facts.filter(isGiven), app.readInstant(at)].join(" · ");
  }

  app.palette = createPalette({
    commands,
    search: {
      state: () => finder.state,
      count: () => countText(finder.state, thousands),
      write: thousands,
      title,
      find: (query) => finder.find(query, stepAtCursor()),
      ready: () => finder.ready(),
      step: async (direction) => show(await finder.step(direction)),
      choose: (row) => show(finder.choose(row)),
      clear: () => finder.clear(),
    },
  });
}
