/** The snapshot page: a figure of when each process recorded. The card of a restore follows its job. */

import "../jobs/job.js";
import { h } from "../../lib/dom.js";
import { mountFigure } from "../../lib/figure.js";
import { pageColour as colours } from "../../lib/figure-style.js";
import { timelineLayout, timelineTraces } from "./timeline.js";

const root = /** @type {HTMLElement} */ (document.querySelector("[data-timeline]"));
const data = document.getElementById("timeline-data");
if (root && data) draw(JSON.parse(data.textContent));

/** @param {TimelinePayload} timeline */
function draw(timeline) {
  /** @param {number} width */
  const build = (width) => ({
    data: timelineTraces(timeline, colours),
    layout: timelineLayout(timeline, { colours, width }),
  });
  const show = () => {
    document.querySelector("[data-timeline-legend]").replaceChildren(...build(root.clientWidth).data.map(entry));
    return figure.show();
  };
  const figure = mountFigure(root, build);
  show().then(() => performance.mark("first-picture"));
  document.addEventListener("themechange", show);
}

/** Makes an entry of the legend. */
function entry(/** @type {Trace} */ { name, marker: { color, symbol } }) {
  const look = { class: `figure-mark is-${symbol}`, style: { background: color }, "aria-hidden": "true" };
  return h("li", {}, h("i", look), name);
}
