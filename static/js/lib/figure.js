/**
 * A figure that stands at once: painted as a sketch, then drawn by Plotly, which answers the pointer.
 *
 * Plotly takes half a second of a processor to draw what the sketch draws in some milliseconds, and a
 * second more to be read. So it comes when nothing has changed for a while, or the pointer asks for it.
 */

import { afterPaint } from "./canvas.js";
import { h } from "./dom.js";
import { readPlotly } from "./plotly.js";
import { paintFigure } from "./sketch.js";

const CALM = 400; // ms
const CONFIG = {
  displaylogo: false,
  doubleClick: false,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
};

/**
 * Mounts on `root`, whose data-plotly is the address of Plotly. build(width): {data, layout}, as
 * sketch.js asks for. config: Plotly's, beside ours. wire(plot): called once, when Plotly has drawn.
 * show() draws anew and promises when the sketch is on the screen; destroy() forgets all.
 *
 * @param {HTMLElement} root
 * @param {(width: number) => { data: Trace[], layout: any }} build
 */
export function mountFigure(root, build, { config = {}, wire = (_plot) => {} } = {}) {
  const plot = h("div.figure-plot");
  const canvas = h("canvas", { "aria-hidden": "true" });
  let [figure, width, timer] = [null, 0, 0];
  root.classList.add("figure");
  root.replaceChildren(plot, canvas);

  function show() {
    width = root.clientWidth;
    figure = build(width);
    canvas.hidden = false;
    paintFigure(canvas, figure);
    clearTimeout(timer);
    timer = setTimeout(takeOver, CALM);
    return afterPaint();
  }

  async function takeOver() {
    clearTimeout(timer);
    const taken = figure;
    try {
      const Plotly = await readPlotly(root.dataset.plotly);
      if (taken !== figure || canvas.hidden) return;
      const isNew = !plot.classList.contains("js-plotly-plot");
      await Plotly.react(plot, taken.data, taken.layout, { ...CONFIG, ...config });
      if (isNew) wire(plot);
    } catch (error) {
      root.title = `The picture does not answer the pointer: ${error.message}`;
      return;
    }
    canvas.hidden = taken === figure;
  }

  const sizes = new ResizeObserver(() => root.clientWidth !== width && show());
  sizes.observe(root);
  root.addEventListener("pointerenter", takeOver);
  return {
    show,
    destroy() {
      figure = null;
      clearTimeout(timer);
      sizes.disconnect();
      root.removeEventListener("pointerenter", takeOver);
      window.Plotly?.purge(plot);
    },
  };
}
