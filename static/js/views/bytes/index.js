/** The page of a checkpoint's bytes: its maps, each with a list of what can be opened in it. */

import { h } from "../../lib/dom.js";
import { mountFigure } from "../../lib/figure.js";
import { pageColour } from "../../lib/figure-style.js";
import { mapFigure, rootOf } from "./maps.js";

/** @type {Record<string, SectorsPayload>} */
const maps = JSON.parse(document.getElementById("byte-maps")?.textContent ?? "{}");

/** @param {HTMLElement} root */
function mount(root) {
  const sectors = maps[root.dataset.map];
  const inside = [...sectors.ids.keys()].filter((place) => sectors.parents.includes(sectors.ids[place]));
  const levels = h(
    "select.input",
    { "aria-label": `Open a part of: ${root.dataset.label}`, onchange: () => figure.show() },
    h("option", { value: rootOf(sectors) }, "all"),
    inside.map((place) => h("option", { value: sectors.ids[place] }, pathTo(sectors, place))),
  );
  root.before(h("p.panel-body", {}, levels));
  const figure = mountFigure(root, build, { config: { displayModeBar: false }, wire });

  function build() {
    const { data, layout } = mapFigure(sectors, pageColour);
    return { data: data.map((trace) => ({ ...trace, level: levels.value })), layout };
  }

  /** @param {any} plot */
  function wire(plot) {
    plot.on("plotly_treemapclick", (/** @type {{ nextLevel?: string }} */ { nextLevel }) => {
      if (nextLevel !== undefined) levels.value = nextLevel;
    });
  }

  document.addEventListener("themechange", figure.show);
  figure.show();
}

/**
 * Returns the names of a sector and of those around it, the outermost first.
 * @param {SectorsPayload} sectors @param {number} place @returns {string}
 */
function pathTo(sectors, place) {
  const above = sectors.ids.indexOf(sectors.parents[place]);
  return `${above < 0 ? "" : `${pathTo(sectors, above)} › `}${sectors.labels[place]}`;
}

for (const root of document.querySelectorAll("[data-map]")) mount(/** @type {HTMLElement} */ (root));
