/** Loading Plotly, a classic script of some megabytes. */

import { h } from "./dom.js";

// Plotly puts its rules into <style> elements of its own making, which the content security policy stops. It takes
// elements with these ids instead, if there are any. The second would be for its maps, which no chart here uses.
const RULES = "plotly.js-style-global";
const RULES_OF_MAPS = "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53";

/** @type {Promise<any> | null} */
let reading = null;

/**
 * Loads Plotly from `src` at the first call, unless the page has begun to.
 * @param {string} src @returns {Promise<any>}
 */
export function readPlotly(src) {
  reading ??= new Promise((resolve, reject) => {
    const begun = document.querySelector(`script[src="${src}"]`);
    const script = begun ?? h("script", { src });
    const done = () => setTimeout(() => resolve(window.Plotly)); // it draws in a task of its own
    const fail = () => reject(new Error("Plotly could not be loaded."));
    if (window.Plotly) return done();
    script.addEventListener("load", done);
    script.addEventListener("error", fail);
    if (begun) return window.addEventListener("load", () => window.Plotly || fail()); // it may have failed before
    holdRules();
    return document.head.append(script);
  });
  return reading;
}

/** Adds the elements that Plotly takes for its rules; they must be there before it is read. */
export function holdRules() {
  document.head.append(sheetHolder(), h("meta", { id: RULES_OF_MAPS }));
}

/** Returns an element that stands for a <style>; its style sheet is made by script, which the policy allows. */
function sheetHolder() {
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets.push(sheet);
  return Object.assign(h("meta", { id: RULES }), { sheet });
}
