/** The witness of a finding in the diagram: its message strong, its ends named, and all else dimmed. Pure. */

import { escapeText, shortened, valueText } from "../../lib/format.js";
import { boxAround, overlap } from "../../lib/labels.js";
import { IN_FLIGHT } from "../../lib/window.js";
import { faded } from "./colours.js";

const DIM = 0.78; // how much of what lies below is covered
const LETTER = 7; // pixels of a letter in a box
const HIGH = 22; // pixels of a box
const STEP = 22; // pixels between the places that are tried for a box
const REACH = 12; // places at each side of an end
const SAMPLES = 40; // of a line, for what a box may not cover
const LONGEST = 28; // characters of a name
const MOST_EVENTS = 400; // that are kept free of boxes

/** Places for the middle of a box around its end, the nearest first. */
const PLACES = [...Array((2 * REACH + 1) * 9).keys()]
  .map((i) => [((i % (2 * REACH + 1)) - REACH) * STEP, (Math.floor(i / (2 * REACH + 1)) - 4) * STEP])
  .sort((a, b) => Math.hypot(...a) - Math.hypot(...b));

/**
 * Returns the ends of the witness that are in the log: where they are drawn, and what is written there.
 * @param {Scene} scene @returns {WitnessEnd[]}
 */
export function witnessEnds({ window, witness, witnessRow, g, axis, topology }) {
  if (!witness) return [];
  const { messages } = window ?? {};
  const isHere = witnessRow >= 0;
  const hasArrived = isHere && messages.received_index[witnessRow] !== IN_FLIGHT;
  const value = isHere ? messages.value[witnessRow] : null;
  const amount = value === null || value === undefined ? "" : ` (${valueText(value, 20)})`;
  /** @param {EventLink | undefined} event @param {number | null} x @param {string} words */
  const end = (event, x, words) => {
    const slot = event ? g.slot(topology.processCode.get(event.process)) : NaN;
    const at = x ?? (axis === "time" ? event?.at ?? NaN : NaN);
    return { x: g.scale.u(at), slot, text: `${shortened(event?.process ?? "", LONGEST)} ${words}` };
  };
  const name = shortened(String(witness.id), LONGEST);
  return [
    end(witness.sent, isHere ? messages.sentX[witnessRow] : null, `sends ${name}${amount}`),
    end(witness.received, hasArrived ? messages.receivedX[witnessRow] : null, `receives ${name}`),
  ].filter(({ x, slot }) => Number.isFinite(x) && slot >= 0 && slot < g.lanes);
}

/**
 * Returns the veil over all that is not the witness, and above it its message; `cut` is drawn between the two.
 * @param {Scene} scene @param {number[]} range of the lanes, from the bottom to the top @param {Trace[]} cut
 * @returns {Trace[]}
 */
export function witnessTraces(scene, [bottom, top], cut) {
  const ends = witnessEnds(scene);
  if (!ends.length) return cut;
  const { g, colours } = scene;
  const [left, right] = [g.scale.u(g.from), g.scale.u(g.from) + g.scale.span];
  const [x, y] = [ends.map((end) => end.x), ends.map(({ slot }) => slot)];
  const plain = { type: "scatter", hoverinfo: "skip" };
  return [
    {
      ...plain, name: "veil", mode: "lines", x: [left, right, right, left], y: [bottom, bottom, top, top],
      line: { width: 0 }, fill: "toself", fillcolor: faded(colours.panel, DIM),
    },
    ...cut,
    { ...plain, name: "witness", mode: "lines", x, y, line: { color: colours.orphan, width: 4, dash: "solid" } },
    {
      ...plain, name: "ends", mode: "markers", x, y,
      marker: { symbol: "circle", size: 12, color: colours.orphan, line: { width: 2, color: colours.panel } },
    },
  ];
}

/**
 * Returns the names of the ends as annotations, each in a box near its end that covers neither the message nor the cut
 * nor the other box, nor, if there is room, an event.
 * @param {Scene} scene @param {Trace | undefined} cut the line of the cut @returns {Layout[]}
 */
export function witnessNotes(scene, cut) {
  const { g, colours } = scene;
  const ends = witnessEnds(scene).map((end) => ({ ...end, px: g.fromU(end.x), py: g.yOfSlot(end.slot) }));
  if (!ends.length) return [];
  const corners = (cut?.x ?? []).map((x, i) => ({ px: g.fromU(x), py: g.yOfSlot(cut.y[i]) }));
  const lines = [ends, corners].flatMap((points) => points.slice(1).flatMap((point, i) => samplesOf(points[i], point)));
  const taken = [...lines, ...ends].map(({ px, py }) => boxAround(px, py, 12, 12));
  const events = eventBoxes(scene);
  return ends.map(({ x, slot, text, px, py }) => {
    const wide = text.length * LETTER + 14;
    const boxes = PLACES.map(([dx, dy]) => ({ dx, dy, box: boxAround(px + dx, py + dy, wide, HIGH) }));
    const inside = boxes.filter(({ box }) => isInPlot(box, g));
    const free = inside.filter(({ box }) => !taken.some((other) => overlap(box, other)));
    const clear = free.find(({ box }) => !events.some((other) => overlap(box, other)));
    const best = clear ?? free[0] ?? inside[0] ?? boxes[0];
    taken.push(best.box);
    return {
      x, y: slot, text: escapeText(text), ax: best.dx, ay: best.dy, xanchor: "center", yanchor: "middle",
      showarrow: true, arrowhead: 0, arrowwidth: 1, arrowcolor: colours.orphan, standoff: 6,
      bgcolor: colours.panel, bordercolor: colours.orphan, borderpad: 3, font: { size: 12, color: colours.ink },
    };
  });
}

/**
 * Returns points along a line between two ends.
 * @param {{ px: number, py: number }} a @param {{ px: number, py: number }} b
 */
function samplesOf(a, b) {
  return Array.from({ length: SAMPLES + 1 }, (_, i) => ({
    px: a.px + ((b.px - a.px) * i) / SAMPLES,
    py: a.py + ((b.py - a.py) * i) / SAMPLES,
  }));
}

/** @param {LabelBox} box @param {Geometry} g */
function isInPlot(box, g) {
  return box.left >= g.left && box.right <= g.width - g.right && box.top >= 0 && box.bottom <= g.plotBottom;
}

/** @param {Scene} scene @returns {LabelBox[]} */
function eventBoxes({ window, g }) {
  if (!window?.exact || window.events.count > MOST_EVENTS) return [];
  return Array.from({ length: window.events.count }, (_, row) =>
    boxAround(g.x(window.events.x[row]), g.y(window.events.process[row]), 8, 8));
}
