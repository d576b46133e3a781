/** The page of one checkpoint: its Gantt chart, slowest task first, the critical path marked. */

import { h } from "../../lib/dom.js";
import { mountFigure } from "../../lib/figure.js";
import { pageColour } from "../../lib/figure-style.js";
import { followJob } from "../archive/live.js";
import { ganttFigure } from "./gantt.js";

const root = /** @type {HTMLElement} */ (document.querySelector("[data-gantt]"));
const data = document.getElementById("checkpoint-data");
if (root && data) draw(JSON.parse(data.textContent));
followJob({ show: openNewest });

/**
 * Opens the newest checkpoint, whose page follows in its turn. Returns false where a note is being written.
 * @param {ArchiveNews} news @param {boolean} hasNewData
 */
function openNewest({ newest }, hasNewData) {
  if (!newest) return true;
  const job = document.getElementById("archive-live").dataset.job;
  const address = `/archive/${job}/checkpoints/${newest.pipeline}/${newest.number}`;
  if (address === location.pathname && !hasNewData) return true;
  if ([...document.querySelectorAll("textarea")].some(isInUse)) return false;
  location.replace(`${address}?follow=yes`);
  return true;
}

/** @param {HTMLTextAreaElement} field */
function isInUse(field) {
  return field === document.activeElement || field.value !== field.defaultValue;
}

/** @param {{ checkpoint: CheckpointPayload, unit: string }} options */
function draw({ checkpoint, unit }) {
  /** @param {number} width */
  const build = (width) => ganttFigure(checkpoint, unit, { colours: pageColour, width });
  const legend = document.querySelector("[data-gantt-legend]");
  const show = () => {
    legend?.replaceChildren(...build(root.clientWidth).data.map(entry));
    return figure.show();
  };
  const figure = mountFigure(root, build);
  show().then(() => performance.mark("first-picture"));
  document.addEventListener("themechange", show);
}

/** Makes an entry of the legend. */
function entry(/** @type {Trace} */ { name, mode, marker, line }) {
  const style = { background: (marker ?? line).color, height: mode === "lines" ? "3px" : null };
  return h("li", {}, h("i", { style, "aria-hidden": "true" }), name);
}
