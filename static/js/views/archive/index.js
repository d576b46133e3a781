/** The page of a job in the archive: draws its trends, again after each filter; zooming filters. */

import { mountFigure } from "../../lib/figure.js";
import { clicked, formTime, slowestFigure, trendFigure } from "./figures.js";

const colours = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--color-${name}`).trim();
let figures = [];

/** Of what the page holds now; "first-picture" on the browser's timeline says when the trend stands. */
function draw() {
  for (const figure of figures) figure.destroy();
  figures = [];
  const data = document.getElementById("archive-data");
  if (!data) return;
  const overview = JSON.parse(data.textContent);
  mount(
    document.querySelector("[data-trend]"),
    (root) => trend(root, overview),
  )?.then(() => performance.mark("first-picture"));
  mount(document.querySelector("[data-slowest]"), (root) => slowest(root, overview));
}

function mount(root, make) {
  if (!root) return null;
  const figure = make(root);
  figures.push(figure);
  return figure.show();
}

function trend(root, overview) {
  let range = null;
  const own = mountFigure(root, (width) => trendFigure(overview, { colours, width, range }), { wire });
  return own;

  function wire(plot) {
    plot.on("plotly_click", ({ points }) => open(overview.job, clicked(points[0])));
    plot.on("plotly_relayout", (change) => {
      const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
      if (from !== undefined && to !== undefined) look([from, to]);
    });
    plot.on("plotly_doubleclick", () => look(null));
  }

  /** Times become the filter's, and the server answers for them alone; numbers are only looked at. */
  function look(wanted) {
    if (overview.axis === "time") filterTime(wanted);
    else {
      range = wanted;
      own.show();
    }
  }
}

function slowest(root, overview) {
  return mountFigure(
    root,
    (width) => slowestFigure(overview, { colours, width }),
    { config: { displayModeBar: false } },
  );
}

function open(job, found) {
  if (found) window.location.assign(`/archive/${job}/checkpoints/${found.pipeline}/${found.number}`);
}

/** range: [from, to] in ms since 1970, or null for all. */
function filterTime(range) {
  const form = /** @type {any} */ (document.getElementById("archive-filter"));
  const [from, to] = range ? range.map((at) => formTime(Math.max(0, at))) : ["", ""];
  if (form.elements.from.value === from && form.elements.to.value === to) return;
  form.elements.from.value = from;
  form.elements.to.value = to;
  form.requestSubmit();
}

draw();
document.addEventListener("themechange", () => figures.forEach((figure) => figure.show()));
document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.id === "archive-body") draw();
});
document.body.addEventListener("htmx:historyRestore", draw);
