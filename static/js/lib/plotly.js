/** Loading Plotly, a classic script of some megabytes. Reading it blocks the page, so it loads after a first sketch. */

import { h } from "./dom.js";

/** @type {Promise<any> | null} */
let reading = null;

/**
 * Loads Plotly from `src` at the first call.
 * @param {string} src @returns {Promise<any>}
 */
export function readPlotly(src) {
  reading ??= new Promise((resolve, reject) => {
    const script = h("script", { src });
    script.addEventListener("load", () => resolve(window.Plotly));
    script.addEventListener("error", () => reject(new Error("Plotly could not be loaded.")));
    document.head.append(script);
  });
  return reading;
}
