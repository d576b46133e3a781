/** The snapshot page: the picture of who recorded when. The restore's card follows its job. */

import "../jobs/job.js";
import { timelineLayout, timelineTraces } from "./timeline.js";

const root = document.querySelector("[data-timeline]");
const data = document.getElementById("timeline-data");
if (root && data && window.Plotly) draw(JSON.parse(data.textContent));

function draw(timeline) {
  const colors = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--color-${name}`).trim();
  const show = () =>
    window.Plotly.react(root, timelineTraces(timeline, colors), timelineLayout(timeline, colors), {
      responsive: true,
      displaylogo: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    });
  root.replaceChildren();
  show();
  document.addEventListener("themechange", show);
}
