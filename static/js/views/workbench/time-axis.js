/** The time axis of diagram and depth, and how long its folds are. Pure. */

import { eventsInside, openParts } from "../../lib/folds.js";
import { duration, thousands, ticks, unitFor } from "../../lib/format.js";
import { plainAxis } from "./panel.js";

/** @type {Record<string, number>} */
const SECONDS = { ns: 1e9, us: 1e6, ms: 1e3, s: 1 };
const TICK_ROOM = 110; // pixels from one tick to the next
const TICK_LEAST = 64; // pixels between ticks at two sides of a fold

/**
 * Makes the x axis, with ticks in the unit that fits the part in view.
 * @param {WorkbenchColours} colours @param {Axis} axis @param {string} unit @param {FoldScale} scale
 * @param {number} width @param {Layout} [more]
 */
export function timeAxis(colours, axis, unit, scale, width, more = {}) {
  const { from, to, u } = scale;
  const shown = scale.folds.length ? ticksBetweenFolds(scale, width) : evenTicks(from, to, width);
  const largest = Math.max(Math.abs(from), Math.abs(to));
  const isLong = scale.folds.length && SECONDS[unit] < largest;
  const [name, size] = unitFor(isLong ? SECONDS[unit] : largest, unit); // minutes would need many decimals
  /** @param {{ value: number, step: number }} tick */
  const text = ({ value, step }) => (axis === "order" || size === null ? thousands(value) : withoutUnit(value, step));
  return plainAxis(colours, {
    range: [u(from), u(from) + scale.span],
    tickvals: shown.map(({ value }) => u(value)),
    ticktext: shown.map(text),
    ticklabeloverflow: "allow", // Plotly places the title below the numbers, and nowhere if it hides them all
    title: { text: axis === "order" ? "events that have happened" : `time (${name})`, font: { size: 12 }, standoff: 4 },
    ...more,
  });

  /** @param {number} value @param {number} step */
  function withoutUnit(value, step) {
    const scale = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[unit] / size;
    const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step * scale) - 1e-9)));
    return (value * scale).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
}

/**
 * Returns round ticks and the step between them.
 * @param {number} from @param {number} to @param {number} width
 */
function evenTicks(from, to, width) {
  const values = ticks(from, to, Math.max(3, Math.floor(width / TICK_ROOM)), true);
  const step = values.length > 1 ? values[1] - values[0] : to - from;
  return values.map((value) => ({ value, step }));
}

/**
 * Returns ticks of the parts between folds, each part with steps of its own. Those that would overprint another are
 * left out.
 * @param {FoldScale} scale @param {number} width
 */
function ticksBetweenFolds(scale, width) {
  const perPixel = scale.span / width;
  const all = openParts(scale).flatMap(({ from, to }) => {
    const room = (scale.u(to) - scale.u(from)) / perPixel;
    const values = ticks(from, to, Math.max(1, Math.floor(room / TICK_ROOM)), true);
    const step = values.length > 1 ? values[1] - values[0] : stepOf(values[0]);
    return values.map((value) => ({ value, step }));
  });
  let last = -Infinity;
  return all.filter(({ value }) => {
    const isClear = scale.u(value) - last >= TICK_LEAST * perPixel;
    if (isClear) last = scale.u(value);
    return isClear;
  });
}

/**
 * Returns the largest power of ten of which a whole number is a multiple.
 * @param {number} value
 */
function stepOf(value) {
  let step = value === 0 ? Number.MAX_SAFE_INTEGER : 1;
  while (value && value % (step * 10) === 0) step *= 10;
  return step;
}

/**
 * Writes how long a fold is: a duration, or a number of events that happen elsewhere.
 * @param {Stretch} fold @param {Axis} axis @param {string} unit
 */
export function foldText(fold, axis, unit) {
  return axis === "order" ? thousands(eventsInside(fold)) : duration(fold.to - fold.from, unit);
}
