/** A still figure of Plotly: of the figures that are shown while it draws, it draws the newest next. */

import { readPlotly } from "./plotly.js";
import { withShapes } from "./shapes.js";

/**
 * Makes the picture of a chart. `show(figure)` draws it, and resolves when the newest is drawn; `destroy()` ends it.
 * @param {HTMLElement} plot the element of Plotly
 * @param {{ src: string, config: object, wire?: (plot: any) => void, onError?: (error: Error) => void }} options `src`
 *   is Plotly's address, `config` its configuration; `wire` is called once, when Plotly has drawn
 */
export function createPicture(plot, { src, config, wire, onError }) {
  /** @type {Figure | null} */
  let figure = null;
  /** @type {Promise<void> | null} */
  let underway = null;

  async function draw() {
    try {
      const Plotly = await readPlotly(src);
      for (let drawn = null; figure && drawn !== figure; ) {
        drawn = figure;
        const isNew = !plot.classList.contains("js-plotly-plot");
        const { data, layout } = withShapes(drawn);
        await Plotly.react(plot, data, layout, config);
        if (isNew) wire?.(plot);
      }
    } catch (error) {
      onError?.(error);
    } finally {
      underway = null;
    }
  }

  return {
    /** @param {Figure} next */
    show(next) {
      figure = next;
      underway ??= draw();
      return underway;
    },
    destroy() {
      figure = null;
      window.Plotly?.purge(plot);
    },
  };
}
