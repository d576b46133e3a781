/** The strip above the diagram: the density of the whole recording, its snapshots, and the part in view. */

import { fitCanvas, sizeOf } from "../../lib/canvas.js";
import { thousands } from "../../lib/format.js";
import { hasAny } from "../../lib/player.js";
import { faded } from "./colours.js";
import { baseLayout } from "./panel.js";

const HIDDEN = { visible: false, fixedrange: true };
const EDGE = 10; // pixels at the window's ends that resize it
const MOVES = ["from", "to", "snapshot", "theme", "size", "axis", "marks", "notes", "idle"];
const PIN = 6; // pixels of the head of a pin

/** @param {App} app */
export function createOverview(app) {
  const { player } = app;
  const plot = app.root.querySelector("#wb-overview");
  const canvas = app.root.querySelector("#wb-overview-moving");
  const picture = app.pictures.add(plot);
  /** @type {{ x: number[], y: number[] } | null} */
  let density = null;
  /** @type {{ kind: string, px: number, from: number, to: number } | null} */
  let grip = null;
  /** @type {number | null} */
  let cursorAt = null;
  canvas.setAttribute(
    "aria-label",
    `Overview: ${thousands(app.recording.counts.events)} events, the marked part is in view`,
  );

  const width = () => sizeOf(canvas).width;
  const all = () => player.margins();
  /** @param {number} at */
  const toX = (at) => ((at - all().from) / (all().to - all().from)) * width();
  /** @param {number} px */
  const toAt = (px) => all().from + (px / width()) * (all().to - all().from);

  async function load() {
    const { axis } = player.state;
    const { from, to } = player.bounds(axis);
    try {
      const window = await app.source.aside({ axis, from, to, width: Math.max(200, Math.round(app.plotWidth())) });
      if (axis !== player.state.axis) return;
      player.set({ overview: window });
      density = window.exact ? countedBins(window) : summedBins(window);
      app.firstPicture.then(drawStill);
    } catch (error) {
      app.say(`The overview could not be loaded: ${error.message}`);
    }
  }

  function drawStill() {
    if (!density) return;
    const { x, y } = density;
    const { colours } = app;
    const line = { shape: "hvh", dash: "solid", width: 1, color: colours.message };
    const fillcolor = faded(colours.message, 0.45);
    const data = [{ type: "scatter", mode: "lines", x, y, line, fill: "tozeroy", fillcolor }];
    const layout = {
      ...baseLayout(colours, { l: 0, r: 0, t: 4, b: 2 }),
      width: plot.clientWidth,
      height: plot.clientHeight,
      xaxis: { ...HIDDEN, range: [all().from, all().to] },
      yaxis: { ...HIDDEN, range: [0, Math.max(...y) * 1.1 || 1] },
    };
    picture.show({ data, layout });
  }

  function drawMoving() {
    const context = fitCanvas(canvas);
    const { state } = player;
    const { colours } = app;
    const { height } = sizeOf(canvas);
    for (const summary of app.snapshots.list()) drawSnapshot(context, summary, height);
    const [left, right] = [toX(state.from), toX(state.to)];
    context.fillStyle = faded(colours.paper, 0.72);
    context.fillRect(0, 0, left, height);
    context.fillRect(right, 0, width() - right, height);
    drawMarks(context, height);
    drawPins(context);
    context.strokeStyle = colours.accent;
    context.lineWidth = 1.5;
    context.strokeRect(left + 0.75, 0.75, Math.max(right - left - 1.5, 3), height - 1.5);
    context.fillStyle = colours.accent;
    for (const x of [left, right]) context.fillRect(x - 2, height / 2 - 8, 4, 16);
    context.fillStyle = colours.ink;
    cursorAt = Math.round(toX(state.now));
    context.fillRect(cursorAt - 0.75, 0, 1.5, height);
  }

  /**
   * Marks where the search has found events.
   * @param {Context} context @param {number} height
   */
  function drawMarks(context, height) {
    const { axis, marks } = player.state;
    const bins = marks?.[axis];
    if (!bins) return;
    const { from, to } = player.bounds();
    context.fillStyle = app.colours.marker;
    for (const x of markPlaces(bins, from, to).map(toX)) context.fillRect(Math.round(x) - 1, height - 12, 3, 12);
  }

  /**
   * Draws a pin for each entry that has a place in time.
   * @param {Context} context
   */
  function drawPins(context) {
    const { axis, notes } = player.state;
    context.fillStyle = app.colours.ink;
    for (const at of pinPlaces(notes, axis)) {
      const x = Math.round(toX(at));
      context.fillRect(x - 0.5, PIN, 1, PIN);
      context.beginPath();
      context.arc(x, PIN, PIN / 2, 0, 2 * Math.PI);
      context.fill();
    }
  }

  /** @param {Context} context @param {SnapshotSummary} summary @param {number} height */
  function drawSnapshot(context, summary, height) {
    const span = app.snapshots.spanOf(summary, player.state.axis);
    if (!span) return;
    const [x0, x1] = span.map(toX);
    const chosen = summary.snapshot === player.state.snapshot;
    const colour = summary.verdict === "consistent" ? app.colours.accent : app.colours.orphan;
    context.fillStyle = faded(colour, chosen ? 0.35 : 0.15);
    context.fillRect(x0, 0, Math.max(x1 - x0, 2), height);
    context.fillStyle = colour;
    context.fillRect(x1 - 1, 0, chosen ? 2.5 : 1.5, height);
  }

  /** @param {PointerEvent} event */
  const at = (event) => event.clientX - canvas.getBoundingClientRect().left;

  /** @param {number} px */
  function gripAt(px) {
    const [left, right] = [toX(player.state.from), toX(player.state.to)];
    if (Math.abs(px - left) < EDGE) return "from";
    if (Math.abs(px - right) < EDGE) return "to";
    return px > left && px < right ? "window" : "outside";
  }

  canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    const px = at(event);
    canvas.setPointerCapture(event.pointerId);
    const { from, to } = player.state;
    grip = { kind: gripAt(px), px, from, to };
    if (grip.kind !== "outside") return;
    const middle = toAt(px);
    player.zoom(middle - (to - from) / 2, middle + (to - from) / 2);
    grip = { kind: "window", px, from: player.state.from, to: player.state.to };
  });
  canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    const px = at(event);
    if (!grip) {
      canvas.style.cursor = { from: "ew-resize", to: "ew-resize", window: "grab", outside: "pointer" }[gripAt(px)];
      return;
    }
    const shift = toAt(px) - toAt(grip.px);
    const { from, to } = grip;
    if (grip.kind === "window") player.zoom(from + shift, to + shift);
    else if (grip.kind === "from") player.zoom(Math.min(from + shift, to), to);
    else player.zoom(from, Math.max(to + shift, from));
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => {
    grip = null;
  });
  canvas.addEventListener("dblclick", () => player.fitAll());

  return {
    load,
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (keys.has("axis")) load();
      if (hasAny(keys, "theme", "size", "idle")) drawStill();
      const moved = keys.has("now") && Math.round(toX(state.now)) !== cursorAt;
      if (moved || hasAny(keys, ...MOVES)) drawMoving();
    },
  };
}

/**
 * Returns the middle of each bin that counts something, of bins that divide from .. to in equal parts. Pure.
 * @param {number[]} bins @param {number} from @param {number} to
 */
export function markPlaces(bins, from, to) {
  const width = (to - from) / bins.length;
  return bins.flatMap((count, i) => (count ? [from + (i + 0.5) * width] : []));
}

/**
 * Returns where the entries lie that have a place in time, each place once, in order. Pure.
 * @param {NoteEntry[]} entries @param {Axis} axis
 */
export function pinPlaces(entries, axis) {
  const places = entries.map(({ place }) => (axis === "order" ? place?.step : place?.at) ?? null);
  return [...new Set(places.filter((at) => at !== null))].sort((a, b) => a - b);
}

/** @param {OpenWindow} window */
function countedBins({ from, to, events }) {
  const bins = 120;
  const y = new Array(bins).fill(0);
  for (const x of events.x) y[Math.min(bins - 1, Math.floor(((x - from) / (to - from)) * bins))] += 1;
  return { x: y.map((_, i) => from + ((i + 0.5) * (to - from)) / bins), y };
}

/** @param {OpenWindow} window */
function summedBins({ bins }) {
  const y = new Array(bins.events.columns).fill(0);
  bins.events.values.forEach((count, i) => {
    y[i % bins.events.columns] += count;
  });
  return { x: y.map((_, i) => (bins.edges[i] + bins.edges[i + 1]) / 2), y };
}
