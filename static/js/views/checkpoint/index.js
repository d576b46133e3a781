/** The page of one checkpoint: its Gantt chart, slowest task first, the critical path marked. */

import { h } from "../../lib/dom.js";
import { mountFigure } from "../../lib/figure.js";
import { ganttFigure } from "./gantt.js";

const root = /** @type {HTMLElement} */ (document.querySelector("[data-gantt]"));
const data = document.getElementById("checkpoint-data");
if (root && data) draw(JSON.parse(data.textContent));

function draw({ checkpoint, unit }) {
  const colours = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--color-${name}`).trim();
  const build = (width) => ganttFigure(checkpoint, unit, { colours, width });
  const legend = document.querySelector("[data-gantt-legend]");
  const show = () => {
    legend?.replaceChildren(...build(root.clientWidth).data.map(entry));
    return figure.show();
  };
  const figure = mountFigure(root, build);
  show().then(() => performance.mark("first-picture"));
  document.addEventListener("themechange", show);
}

function entry(/** @type {Trace} */ { name, mode, marker, line }) {
  const swatch = h(
    "i",
    { style: { background: (marker ?? line).color, height: mode === "lines" ? "3px" : null }, "aria-hidden": "true" },
  );
  return h("li", {}, swatch, name);
}
