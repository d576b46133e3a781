/** Loading Plotly, a classic script of some megabytes, when somebody points at what it is to draw. */

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
    script.addEventListener("load", () => setTimeout(() => resolve(window.Plotly))); // it draws in a task of its own
    script.addEventListener("error", () => reject(new Error("Plotly could not be loaded.")));
    document.head.append(script);
  });
  return reading;
}
