/** The page of a plan: pictures that the server made, in the colours of the page. */

import { mountFigure } from "../../lib/figure.js";
import { axisLine, figureLayout, pageColour, quietAxis } from "../../lib/figure-style.js";

for (const root of document.querySelectorAll("[data-plan]")) mount(/** @type {HTMLElement} */ (root));

/** @param {HTMLElement} root */
function mount(root) {
  const { data, layout } = JSON.parse(document.getElementById(root.dataset.plan).textContent);
  const figure = mountFigure(root, () => ({
    data,
    layout: {
      ...layout,
      ...figureLayout(pageColour),
      hovermode: "closest",
      xaxis: { ...layout.xaxis, ...quietAxis(pageColour), ...axisLine(pageColour) },
      yaxis: { ...layout.yaxis, ...quietAxis(pageColour), fixedrange: true },
    },
  }));
  figure.show();
  document.addEventListener("themechange", figure.show);
}
