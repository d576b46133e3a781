/** The page of one checkpoint: its Gantt chart, slowest task first, the critical path marked. */

import { ganttFigure } from "./checkpoint-gantt.js";

const root = document.querySelector("[data-gantt]");
const data = document.getElementById("checkpoint-data");
if (root && data && window.Plotly) {
  const { checkpoint, unit } = JSON.parse(data.textContent);
  const colours = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--color-${name}`).trim();
  const show = () => {
    const { data: traces, layout } = ganttFigure(checkpoint, unit, { colours, width: root.clientWidth });
    window.Plotly.react(root, traces, layout, { responsive: true, displaylogo: false, modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"] });
  };
  root.style.setProperty("--rows", String(checkpoint.tasks.length));
  root.replaceChildren();
  show();
  document.addEventListener("themechange", show);
}
