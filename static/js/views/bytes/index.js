/**
 * The page of a checkpoint's bytes. Plotly is large, so it draws a map when the pointer comes to it or its button is
 * pressed; a click then opens a sector.
 */

import { h } from "../../lib/dom.js";
import { pageColour } from "../../lib/figure-style.js";
import { readPlotly } from "../../lib/plotly.js";
import { mapFigure } from "./maps.js";

const CONFIG = { displaylogo: false, displayModeBar: false, responsive: true };

/** @type {Record<string, SectorsPayload>} */
const maps = JSON.parse(document.getElementById("byte-maps")?.textContent ?? "{}");
/** @type {Set<HTMLElement>} */
const drawn = new Set();

/** @param {HTMLElement} root */
async function draw(root) {
  try {
    const Plotly = await readPlotly(root.dataset.plotly);
    const { data, layout } = mapFigure(maps[root.dataset.map], pageColour);
    root.querySelector(".reserve")?.remove();
    root.setAttribute("role", "img");
    root.setAttribute("aria-label", root.dataset.label);
    await Plotly.react(root, data, layout, CONFIG);
    drawn.add(root);
  } catch (error) {
    root.textContent = `The picture cannot be drawn: ${error.message} The table below has the numbers.`;
  }
}

/** @param {HTMLElement} root */
function offer(root) {
  const begin = () => {
    root.removeEventListener("pointerenter", begin);
    reserve.textContent = "The picture is being drawn…";
    draw(root);
  };
  const reserve = h("p.reserve", {}, h("button.btn", { type: "button", onclick: begin }, "Draw the map"));
  root.replaceChildren(reserve);
  root.addEventListener("pointerenter", begin);
}

for (const root of document.querySelectorAll("[data-map]")) offer(/** @type {HTMLElement} */ (root));
document.addEventListener("themechange", () => drawn.forEach(draw));
