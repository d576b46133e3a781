/** Plotly is a classic script of some megabytes: reading it holds up all else, so it comes after a sketch. */

import { h } from "./dom.js";

let reading = null;

/**
 * Reads Plotly from `src` at the first call.
 *
 * @param {string} src
 * @returns {Promise<any>}
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
