/** Lets Plotly draw the figures that the server has made (snapshots/web/figures). */

import { mountFigure } from "./figure.js";
import { pageColour } from "./figure-style.js";

const SIGN = /^var\(--color-([\w-]+)\)(?: ([\d.]+))?$/;

/** @type {ReturnType<typeof mountFigure>[]} */
let mounted = [];

/**
 * Draws all that are on the page now, in place of those before: elements whose data-figure is the id of a JSON.
 * "first-picture" on the browser's timeline is when the first of them is drawn.
 * @param {Record<string, (plot: any, figure: Figure) => void>} [wires] what is called for a figure when it is drawn
 */
export function drawServed(wires = {}) {
  for (const figure of mounted) figure.destroy();
  mounted = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-figure]"))].map((root) => {
    const name = root.dataset.figure;
    const figure = JSON.parse(document.getElementById(name).textContent);
    const wire = wires[name] && ((/** @type {any} */ plot) => wires[name](plot, figure));
    return mountFigure(root, () => coloured(figure), { config: figure.config, wire });
  });
  mounted[0]?.show().then(() => performance.mark("first-picture"));
  for (const figure of mounted.slice(1)) figure.show();
}

document.addEventListener("themechange", () => mounted.forEach((figure) => figure.show()));

/**
 * Puts the colours of the page, as they are now, in the place of their signs.
 * @param {any} part @returns {any}
 */
export function coloured(part) {
  if (Array.isArray(part)) return part.map(coloured);
  if (part && typeof part === "object") {
    return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, coloured(value)]));
  }
  const [, name, opacity] = (typeof part === "string" && SIGN.exec(part)) || [];
  return name ? faded(pageColour(name), opacity) : part;
}

/**
 * Adds an opacity to a colour, "rgb(1, 2, 3)".
 * @param {string} colour @param {string} [opacity]
 */
function faded(colour, opacity) {
  const parts = opacity && colour.match(/[\d.]+/g);
  return parts ? `rgba(${parts.slice(0, 3).join(", ")}, ${opacity})` : colour;
}
