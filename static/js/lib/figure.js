/**
 * A figure that is visible at once: first painted as a sketch, then drawn by Plotly, which answers the pointer.
 *
 * Plotly is 1.3 MB to load, and takes half a second to draw what the sketch paints in some milliseconds. So it is
 * loaded when the pointer enters a figure, and from then on draws each figure that has not changed for a while.
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
 * Mounts a figure. `show()` draws it again and resolves when the sketch is on the screen; `destroy()` removes it.
 * @param {HTMLElement} root its data-plotly is the address of Plotly
 * @param {(width: number) => Figure} build returns the figure for a width in pixels, as sketch.js requires it
 * @param {{ config?: object, wire?: (plot: any) => void }} options `config` adds to Plotly's configuration; `wire` is
 *   called once, when Plotly has drawn
 */
export function mountFigure(root, build, { config = {}, wire = (_plot) => {} } = {}) {
  const plot = h("div.figure-plot");
  const canvas = h("canvas", { "aria-hidden": "true" });
  /** @type {Figure | null} */
  let figure = null;
  let width = 0;
  /** @type {number | undefined} */
  let timer;
  root.classList.add("figure");
  root.replaceChildren(plot, canvas);

  function show() {
    width = root.clientWidth;
    figure = build(width);
    canvas.hidden = false;
    paintFigure(canvas, figure);
    clearTimeout(timer);
    if (window.Plotly) timer = setTimeout(takeOver, CALM);
    return afterPaint();
  }

  async function takeOver() {
    clearTimeout(timer);
    const drawn = figure;
    try {
      const Plotly = await readPlotly(root.dataset.plotly);
      if (drawn !== figure || canvas.hidden) return;
      const isNew = !plot.classList.contains("js-plotly-plot");
      await Plotly.react(plot, drawn.data, drawn.layout, { ...CONFIG, ...config });
      if (isNew) wire(plot);
    } catch (error) {
      root.title = `The picture does not answer the pointer: ${error.message}`;
      return;
    }
    canvas.hidden = drawn === figure;
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
