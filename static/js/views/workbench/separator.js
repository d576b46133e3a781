/** The handle that changes the size of a panel or column, by pointer and keyboard. */

import { h } from "../../lib/dom.js";
import { SIZES } from "../../lib/view.js";

const STEP = 20; // thousandths per key press
const PAGE = 5 * STEP;
/** @type {Record<string, number>} */
const STEPS = {
  ArrowUp: -STEP, ArrowLeft: -STEP, ArrowDown: STEP, ArrowRight: STEP, PageUp: -PAGE, PageDown: PAGE,
};

/**
 * Makes a handle. Sizes are thousandths; null means the usual size.
 * @param {string} label
 * @param {{ isColumn: boolean, measured(): number, sizeAt(event: PointerEvent): number,
 *   resize(size: number | null): void }} options
 *   `measured` returns the size as it is, `sizeAt` that of a handle under the pointer
 */
export function createSeparator(label, { isColumn, measured, sizeAt, resize }) {
  const handle = h("div.wb-separator", {
    role: "separator",
    tabindex: "0",
    "data-keys": "arrows",
    "aria-label": label,
    "aria-orientation": isColumn ? "vertical" : "horizontal",
    "aria-valuemin": String(SIZES.least),
    "aria-valuemax": String(SIZES.most),
    title: `${label}: drag, or use the arrow keys. Double-click for the usual size.`,
    onpointerdown: begin,
    onpointermove: move,
    onkeydown: onKey,
    ondblclick: () => resize(null),
  });

  /** @param {PointerEvent} event */
  function begin(event) {
    event.preventDefault();
    handle.focus();
    handle.setPointerCapture(event.pointerId);
  }

  /** @param {PointerEvent} event */
  function move(event) {
    if (handle.hasPointerCapture(event.pointerId)) resize(bounded(sizeAt(event)));
  }

  /** @param {KeyboardEvent} event */
  function onKey(event) {
    const size = sizeOfKey(event.key);
    if (size === null) return;
    event.preventDefault();
    event.stopPropagation();
    resize(bounded(size));
  }

  /** @param {string} key */
  function sizeOfKey(key) {
    if (key === "Home") return SIZES.least;
    if (key === "End") return SIZES.most;
    return key in STEPS ? measured() + (isColumn ? -STEPS[key] : STEPS[key]) : null;
  }

  return handle;
}

/** @param {number} size */
function bounded(size) {
  return Math.max(SIZES.least, Math.min(Math.round(size), SIZES.most));
}
