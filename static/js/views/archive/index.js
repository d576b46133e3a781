/** The page of a job in the archive. It draws the job's trends, again after each filter; zooming sets the filter. */

import { setText } from "../../lib/dom.js";
import { mountFigure } from "../../lib/figure.js";
import { pageColour as colours } from "../../lib/figure-style.js";
import "../../lib/listing.js";
import { followJob } from "./live.js";
import { clicked, formTime, slowestFigure, trendFigure } from "./figures.js";

/** @type {ReturnType<typeof mountFigure>[]} */
let figures = [];

/** Draws the data that the page holds now. "first-picture" on the browser's timeline is when the trend is visible. */
function draw() {
  for (const figure of figures) figure.destroy();
  figures = [];
  const data = document.getElementById("archive-data");
  if (!data) return;
  const overview = JSON.parse(data.textContent);
  mount("[data-trend]", (root) => trend(root, overview))?.then(() => performance.mark("first-picture"));
  mount("[data-slowest]", (root) => slowest(root, overview));
}

/** @param {string} selector @param {(root: HTMLElement) => ReturnType<typeof mountFigure>} mountOn */
function mount(selector, mountOn) {
  const root = /** @type {HTMLElement} */ (document.querySelector(selector));
  if (!root) return null;
  const figure = mountOn(root);
  figures.push(figure);
  return figure.show();
}

/** @param {HTMLElement} root @param {OverviewPayload} overview */
function trend(root, overview) {
  /** @type {number[] | null} */
  let range = null;
  const figure = mountFigure(root, (width) => trendFigure(overview, { colours, width, range }), { wire });
  return figure;

  /** @param {any} plot */
  function wire(plot) {
    plot.on("plotly_click", (/** @type {any} */ { points }) => open(overview.job, clicked(points[0])));
    plot.on("plotly_relayout", (/** @type {Record<string, number>} */ change) => {
      const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (from !== undefined && to !== undefined) zoom([from, to]);
    });
    plot.on("plotly_doubleclick", () => zoom(null));
  }

  /**
   * Filters by a range of time, for which the server answers again. A range of numbers is only shown larger.
   * @param {number[] | null} wanted
   */
  function zoom(wanted) {
    if (overview.axis === "time") filterTime(wanted);
    else {
      range = wanted;
      figure.show();
    }
  }
}

/** @param {HTMLElement} root @param {OverviewPayload} overview */
function slowest(root, overview) {
  /** @param {number} width */
  const build = (width) => slowestFigure(overview, { colours, width });
  return mountFigure(root, build, { config: { displayModeBar: false } });
}

/** @param {number} job @param {{ pipeline: number, number: number } | null} checkpoint */
function open(job, checkpoint) {
  if (checkpoint) window.location.assign(`/archive/${job}/checkpoints/${checkpoint.pipeline}/${checkpoint.number}`);
}

/**
 * Sends the filter's form with a range in ms since 1970, or without one.
 * @param {number[] | null} range
 */
function filterTime(range) {
  const form = /** @type {any} */ (document.getElementById("archive-filter"));
  const [from, to] = range ? range.map((at) => formTime(Math.max(0, at))) : ["", ""];
  if (form.elements.from.value === from && form.elements.to.value === to) return;
  form.elements.from.value = from;
  form.elements.to.value = to;
  form.requestSubmit();
}

/**
 * Shows the job as it is now. Screen readers are told of the newest checkpoint only, not of all that is swapped.
 * @param {ArchiveNews} news
 */
async function refresh({ state }) {
  const body = document.getElementById("archive-body");
  if (!body) return location.reload(); // the first checkpoint has come
  const before = body.firstElementChild;
  const label = document.getElementById("job-state");
  if (label && state) setText(label, state);
  const link = body.contains(document.activeElement) && document.activeElement.getAttribute("href");
  body.setAttribute("aria-live", "off");
  await window.htmx.ajax("GET", location.pathname + location.search, { target: body, swap: "innerHTML" });
  if (link) /** @type {HTMLElement} */ (body.querySelector(`a[href="${CSS.escape(link)}"]`))?.focus();
  setTimeout(() => body.setAttribute("aria-live", "polite"));
  return !before?.isConnected;
}

/** Shows again when the job was last reported, and whether it is stalled. */
async function report() {
  const body = document.getElementById("archive-body");
  if (!body) return;
  body.setAttribute("aria-live", "off");
  const headers = { "HX-Request": "true" };
  const answer = await fetch(location.pathname + location.search, { headers }).catch(() => null);
  const parsed = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const fresh = parsed?.getElementById("archive-reported");
  if (fresh) document.getElementById("archive-reported")?.replaceWith(fresh);
  setTimeout(() => body.setAttribute("aria-live", "polite"));
}

draw();
followJob({ show: refresh, report });
document.addEventListener("themechange", () => figures.forEach((figure) => figure.show()));
document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.id === "archive-body") draw();
});
document.body.addEventListener("htmx:historyRestore", draw);
