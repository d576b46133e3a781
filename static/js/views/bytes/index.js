/** The page of a checkpoint's bytes: its maps, each with a list of what can be opened in it. */

import { drawServed } from "../../lib/served-figures.js";

/**
 * Lets a map and its list open the same part.
 * @param {any} plot @param {Figure} figure
 */
function wire(plot, figure) {
  const levels = plot.closest("section").querySelector("select");
  const [trace] = figure.data;
  levels.addEventListener("change", () => {
    trace.level = levels.value;
    window.Plotly.restyle(plot, { level: trace.level });
  });
  plot.on("plotly_treemapclick", (/** @type {{ nextLevel?: string }} */ { nextLevel }) => {
    if (nextLevel !== undefined) trace.level = levels.value = nextLevel;
  });
}

drawServed({ "map-stored": wire, "map-entries": wire });
