/** An exported document in the reader's browser: checks its claims and draws its figures, without a server. */

import { checkClaims, HOLDS, NOT_CHECKED } from "../../lib/checking/claims.js";
import { checkpointFigure, spaceTimeFigure } from "../../lib/checking/figures.js";
import { openLog } from "../../lib/checking/log.js";
import { cutOf } from "../../lib/checking/part.js";
import { h, setText } from "../../lib/dom.js";
import { pageColour } from "../../lib/figure-style.js";
import { counted } from "../../lib/format.js";
import { holdRules } from "../../lib/plotly.js";

const NARROW = 600; // pixels
const LEGEND_LINES = 60; // pixels
const CONFIG = { displayModeBar: false, responsive: true };

/** Reads the data that stand in the document itself. */
function readData() {
  return JSON.parse(document.getElementById("data").textContent);
}

/** @param {{ claims: Claim[], logs: Record<string, Evidence>, checkpoints: Record<string, CheckpointData> }} data */
function showOutcomes({ claims, logs, checkpoints }) {
  const results = checkClaims(claims, logs, checkpoints);
  claims.forEach(({ id }, i) => {
    for (const element of document.querySelectorAll(`[data-claim="${CSS.escape(id)}"]`)) show(element, results[i]);
    showNumbers(claims[i]);
  });
  const count = (/** @type {(outcome: string) => boolean} */ test) => results.filter((r) => test(r.outcome)).length;
  const held = count((outcome) => outcome === HOLDS);
  const open = count((outcome) => outcome === NOT_CHECKED);
  const wrong = results.length - held - open;
  const summary = document.getElementById("check-summary");
  summary.dataset.outcome = wrong ? "differs" : "holds";
  setText(summary, `${counted(results.length, "claim")}: ${held} derived again from the data below and ${
    held === 1 ? "holds" : "hold"}, ${wrong} differ, ${open} not checked here.`);
}

/** @param {Element} element @param {Checked} result */
function show(element, { outcome, differences }) {
  const shown = element.querySelector("[data-outcome]");
  shown.setAttribute("data-outcome", outcome);
  setText(shown, outcome);
  if (outcome === NOT_CHECKED || !differences.length) return;
  element.append(h("ul.differences", {}, differences.map((difference) => h("li", {}, difference))));
}

/**
 * Shows the numbers of a claim where it first stands.
 * @param {Claim} claim
 */
function showNumbers({ id, says, why_not: reason }) {
  if (reason) return;
  const numbers = h("pre", {}, JSON.stringify(says, null, 1));
  document.querySelector(`[data-claim="${CSS.escape(id)}"]`)
    ?.append(h("details", {}, h("summary.soft", {}, "the numbers of this claim"), numbers));
}

/** @param {{ claims: Claim[], logs: Record<string, Evidence>, checkpoints: any }} data */
function drawFigures({ claims, logs, checkpoints }) {
  const byId = new Map(claims.map((claim) => [claim.id, claim]));
  for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-figure]"))) {
    const claim = byId.get(place.dataset.figure);
    const figure = figureOf(claim, logs, checkpoints);
    if (!figure) continue;
    window.Plotly.newPlot(place, figure.data, fitted(figure.layout, claim.kind, place.clientWidth), CONFIG);
    if (figure.hidden && !place.dataset.drawn) {
      place.after(h("p.soft", {}, `${figure.hidden} more processes or tasks are not shown.`));
    }
    place.dataset.drawn = "true";
  }
}

/**
 * Returns a layout for the width of the page. On a narrow one the caption alone explains a diagram, and the legend of
 * bars gets room for its lines.
 * @param {any} layout @param {string} kind @param {number} width
 */
function fitted(layout, kind, width) {
  if (width >= NARROW) return layout;
  if (kind !== "checkpoint") return { ...layout, showlegend: false };
  const { height, margin } = layout;
  return { ...layout, height: height + LEGEND_LINES, margin: { ...margin, t: margin.t + LEGEND_LINES } };
}

/** @param {Claim} claim @param {Record<string, Evidence>} logs @param {any} checkpoints */
function figureOf(claim, logs, checkpoints) {
  if (claim.kind === "checkpoint") return checkpointFigure(checkpoints[claim.evidence], pageColour);
  const log = openLog(logs[claim.evidence]);
  const cut = cutOf(log, claim);
  return cut && spaceTimeFigure(log, cut, pageColour);
}

/**
 * Draws the figures in light colours for the paper, and in those of the screen afterwards.
 * @param {Parameters<typeof drawFigures>[0]} data
 */
function drawForPrint(data) {
  const { dataset } = document.documentElement;
  window.addEventListener("beforeprint", () => {
    dataset.theme = "light";
    drawFigures(data);
  });
  window.addEventListener("afterprint", () => {
    delete dataset.theme;
    drawFigures(data);
  });
}

holdRules();
document.addEventListener("DOMContentLoaded", () => {
  const data = readData();
  showOutcomes(data);
  drawFigures(data);
  drawForPrint(data);
});
