/** Pins with the numbers of entries, at their places in the space-time diagram. */

import { h } from "../../../lib/dom.js";
import { hasAny } from "../../../lib/player.js";

const REACH = 24; // pixels within which pins share one
const MOVES = ["from", "to", "axis", "window", "size", "folded", "tables", "lanes", "idle"];

/**
 * Makes the pins. `open` is called with the entry of a pin that is pressed.
 * @param {App} app @param {() => NoteEntry[]} shown @param {(entry: NoteEntry) => void} open
 */
export function createPins(app, shown, open) {
  const layer = h("div.wb-pins", { role: "group", "aria-label": "Notes in the diagram" });
  app.root.querySelector("#wb-spacetime").parentElement.append(layer);

  function draw() {
    showInOverview();
    const g = app.spacetime.measures();
    const groups = grouped(shown().map((entry) => ({ entry, ...spot(entry, g) })).filter(({ x }) => x !== null));
    layer.replaceChildren(...groups.map(pin));
  }

  /** Shows the same entries in the overview, if they are others than those of before. */
  function showInOverview() {
    const { notes } = app.player.state;
    const entries = shown();
    if (notes.length === entries.length && notes.every((entry, i) => entry === entries[i])) return;
    app.player.set({ notes: entries });
  }

  /**
   * Returns where a pin points, which is the upper edge for what is in no lane; x is null outside the view.
   * @param {NoteEntry} entry @param {Geometry} g @returns {{ x: number | null, y: number | null }}
   */
  function spot({ place }, g) {
    const at = app.player.state.axis === "order" ? place?.step : place?.at;
    const lane = app.topology.processCode.get(place?.process ?? "");
    const x = at === null || at === undefined ? NaN : g.x(at);
    const isOutside = !(x >= g.left && x <= g.width - g.right) || (lane !== undefined && !g.shows(lane));
    return { x: isOutside ? null : x, y: lane === undefined ? null : g.y(lane) };
  }

  /** @param {{ x: number, y: number | null, entries: NoteEntry[] }} group */
  function pin({ x, y, entries }) {
    const [first, ...more] = entries;
    const label = more.length ? `${first.number} +${more.length}` : String(first.number);
    const names = entries.map(({ number, kind }) => `${kind} ${number}`).join(", ");
    const up = y === null ? "translate(-50%, 0)" : `translate(-50%, ${Math.round(y)}px) translate(0, -135%)`;
    const isResolved = entries.every(({ resolved_at: at }) => at !== null);
    return h(
      `button.wb-pin${isResolved ? ".is-resolved" : ""}`,
      {
        type: "button",
        title: `${names}: ${first.text || first.sentence}`.slice(0, 200),
        "aria-label": `Open ${names}`,
        style: { transform: `translate(${Math.round(x)}px, 0) ${up}` },
        onclick: () => open(first),
      },
      label,
    );
  }

  app.player.subscribe((_, keys) => hasAny(keys, ...MOVES) && draw());
  return { draw };
}

/**
 * Joins what lies in one lane within REACH pixels.
 * @param {{ entry: NoteEntry, x: number, y: number | null }[]} spots
 */
function grouped(spots) {
  /** @type {{ x: number, y: number | null, entries: NoteEntry[] }[]} */
  const groups = [];
  for (const { entry, x, y } of spots.toSorted((a, b) => a.y - b.y || a.x - b.x)) {
    const last = groups.at(-1);
    if (last && last.y === y && x - last.x < REACH) last.entries.push(entry);
    else groups.push({ x, y, entries: [entry] });
  }
  return groups;
}
