/**
 * Two layers that show one figure: a sketch that stands at once, and Plotly's picture, which takes its place.
 *
 * Plotly is 1.2 MB to load, and takes half a second to draw what the sketch paints in some milliseconds. So it is
 * loaded when `takeOver` is first called, and from then on draws each figure that has not changed for a while.
 */

import { readPlotly } from "./plotly.js";
import { withShapes } from "./shapes.js";
import { paintFigure } from "./sketch.js";

const CALM = 400; // ms

/**
 * Makes the picture of a chart. `show(figure)` sketches it at once; `takeOver()` lets Plotly draw it; `destroy()` ends
 * it.
 * @param {HTMLElement} plot the element of Plotly
 * @param {HTMLCanvasElement} canvas covers it, for the sketch
 * @param {{ src: string, config: object, wire?: (plot: any) => void, isBusy?: () => boolean,
 *   onError?: (error: Error) => void }} options `src` is Plotly's address, `config` its configuration; `wire` is called
 *   once, when Plotly has drawn; as long as `isBusy`, Plotly waits
 */
export function createPicture(plot, canvas, { src, config, wire, isBusy, onError }) {
  /** @type {Figure | null} */
  let figure = null;
  /** @type {number | undefined} */
  let timer;

  /** @param {Figure} next */
  function show(next) {
    figure = next;
    canvas.hidden = false;
    paintFigure(canvas, figure);
    if (window.Plotly) wait();
  }

  function wait() {
    clearTimeout(timer);
    timer = setTimeout(() => (isBusy?.() ? wait() : takeOver()), CALM);
  }

  async function takeOver() {
    clearTimeout(timer);
    try {
      const Plotly = await readPlotly(src);
      const drawn = figure;
      if (!drawn || canvas.hidden) return;
      const isNew = !plot.classList.contains("js-plotly-plot");
      const { data, layout } = withShapes(drawn);
      await Plotly.react(plot, data, layout, config);
      if (isNew) wire?.(plot);
      canvas.hidden = drawn === figure;
    } catch (error) {
      onError?.(error);
    }
  }

  return {
    show,
    takeOver,
    destroy() {
      figure = null;
      clearTimeout(timer);
      window.Plotly?.purge(plot);
    },
  };
}
