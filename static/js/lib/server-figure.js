/** A figure that the server made: Plotly draws it at once, in the page's colours, and again when these change. */

import { pageColour } from "./figure-style.js";
import { readPlotly } from "./plotly.js";

const CONFIG = { displaylogo: false, responsive: true, toImageButtonOptions: { format: "svg" } };

/**
 * Draws the figure of the script element that `root.dataset.figure` names; strings like `var(--color-text)` are colours.
 * @param {HTMLElement} root its data-plotly is the address of Plotly
 */
export async function mountServerFigure(root) {
  const text = document.getElementById(root.dataset.figure ?? "")?.textContent ?? "{}";
  const Plotly = await readPlotly(root.dataset.plotly ?? "");
  const draw = () => {
    const { data, layout } = JSON.parse(text, (_, value) =>
      typeof value === "string" ? value.replace(/^var\(--color-(.+)\)$/, (_all, name) => pageColour(name)) : value,
    );
    return Plotly.react(root, data, layout, CONFIG);
  };
  document.addEventListener("themechange", draw);
  await draw();
}
