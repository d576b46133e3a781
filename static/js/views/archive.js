/** The page of a job in the archive: draws its trends, again after each filter; zooming filters. */

import { clicked, formTime, instantOf, slowestFigure, trendFigure } from "./archive-figures.js";

const CONFIG = { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d", "toImage"] };
const colours = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--color-${name}`).trim();
const form = document.getElementById("archive-filter");

function draw() {
  const data = document.getElementById("archive-data");
  const trend = document.querySelector("[data-trend]");
  if (!data || !trend || !window.Plotly) return;
  const overview = JSON.parse(data.textContent);
  const isNew = !trend.classList.contains("js-plotly-plot");
  if (isNew) trend.replaceChildren();
  const figure = trendFigure(overview, { colours, width: trend.clientWidth });
  window.Plotly.react(trend, figure.data, figure.layout, CONFIG).then(() => performance.mark("first-picture"));
  if (isNew) {
    trend.on("plotly_click", ({ points }) => open(overview.job, clicked(points[0])));
    trend.on("plotly_relayout", (change) => zoom(overview.axis, change));
  }
  setTimeout(() => drawSlowest(overview));
}

function drawSlowest(overview) {
  const root = document.querySelector("[data-slowest]");
  if (!root) return;
  const { data, layout } = slowestFigure(overview, { colours });
  window.Plotly.react(root, data, layout, { ...CONFIG, displayModeBar: false });
}

function open(job, found) {
  if (found) window.location.assign(`/archive/${job}/checkpoints/${found.pipeline}/${found.number}`);
}

/** What was dragged across becomes the filter's time; the server then answers for it alone. */
function zoom(axis, change) {
  const from = change["xaxis.range[0]"];
  const to = change["xaxis.range[1]"];
  if (axis !== "time" || !form) return;
  if (from !== undefined && to !== undefined) {
    form.elements.from.value = formTime(instantOf(from));
    form.elements.to.value = formTime(instantOf(to));
  } else if (change["xaxis.autorange"]) {
    form.elements.from.value = "";
    form.elements.to.value = "";
  } else return;
  form.requestSubmit();
}

draw();
document.addEventListener("themechange", draw);
document.body.addEventListener("htmx:afterSettle", ({ detail }) => {
  if (detail.target?.id === "archive-body") draw();
});
