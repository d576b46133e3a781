/** The page of a checkpoint's bytes. It draws each map when it comes into view; a click opens a sector. */

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
  const reserve = root.querySelector(".reserve");
  if (reserve) reserve.textContent = "The picture is being drawn…";
  try {
    const Plotly = await readPlotly(root.dataset.plotly);
    const { data, layout } = mapFigure(maps[root.dataset.map], pageColour);
    reserve?.remove();
    await Plotly.react(root, data, layout, CONFIG);
    drawn.add(root);
  } catch (error) {
    root.textContent = `The picture cannot be drawn: ${error.message} The table below has the numbers.`;
  }
}

const views = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (!isIntersecting) continue;
    views.unobserve(target);
    draw(/** @type {HTMLElement} */ (target));
  }
});
for (const root of document.querySelectorAll("[data-map]")) views.observe(root);
document.addEventListener("themechange", () => drawn.forEach(draw));
