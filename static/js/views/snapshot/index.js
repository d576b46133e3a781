/** The snapshot page: a figure of when each process recorded. The card of a restore follows its job. */

import "../jobs/job.js";
import { pageColour } from "../../lib/figure-style.js";
import { timelineLayout, timelineTraces } from "./timeline.js";

const root = document.querySelector("[data-timeline]");
const data = document.getElementById("timeline-data");
if (root && data && window.Plotly) draw(JSON.parse(data.textContent));

/** @param {TimelinePayload} timeline */
function draw(timeline) {
  const show = () =>
    window.Plotly.react(root, timelineTraces(timeline, pageColour), timelineLayout(timeline, pageColour), {
      responsive: true,
      displaylogo: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    });
  root.replaceChildren();
  show();
  document.addEventListener("themechange", show);
}
