/** The page of a checkpoint's bytes: its maps are sketches, which keys open. Plotly draws them for the pointer. */

import "../../lib/svg-picture.js";
import { h } from "../../lib/dom.js";
import { pageColour } from "../../lib/figure-style.js";
import { readPlotly } from "../../lib/plotly.js";
import { mapFigure } from "./maps.js";
import { createSketch } from "./sketch.js";

const CONFIG = { displaylogo: false, displayModeBar: false, responsive: true };

/** @type {Record<string, SectorsPayload>} */
const maps = JSON.parse(document.getElementById("byte-maps")?.textContent ?? "{}");

/** @param {HTMLElement} root */
function mount(root) {
  const sectors = maps[root.dataset.map];
  const sketch = createSketch(root, sectors);
  const plot = h("div.byte-plot", { "aria-hidden": "true" });
  root.append(plot);
  /** @type {string | null} */
  let drawn = null;

  async function draw() {
    try {
      const Plotly = await readPlotly(root.dataset.plotly);
      const { data, layout } = mapFigure(sectors, pageColour);
      await Plotly.react(plot, data.map((trace) => ({ ...trace, level: sketch.level() })), layout, CONFIG);
      drawn = sketch.level();
      root.classList.add("is-drawn");
    } catch (error) {
      root.title = `The map does not answer the pointer: ${error.message}`;
    }
  }

  root.addEventListener("pointerenter", () => {
    if (drawn === sketch.level()) root.classList.add("is-drawn");
    else draw();
  });
  for (const call of ["focusin", "keydown"]) root.addEventListener(call, () => root.classList.remove("is-drawn"));
  document.addEventListener("themechange", () => drawn !== null && draw());
  new ResizeObserver(() => sketch.show(sketch.level())).observe(root);
}

for (const root of document.querySelectorAll("[data-map]")) mount(/** @type {HTMLElement} */ (root));
