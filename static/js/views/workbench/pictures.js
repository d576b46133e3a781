/** The layers of the four charts that Plotly draws: what is still, and what moves. */

import { createMovingFigure } from "../../lib/moving-figure.js";
import { createPicture } from "../../lib/picture.js";
import { readPlotly } from "../../lib/plotly.js";

const CONFIG = { staticPlot: true, displayModeBar: false, responsive: false, doubleClick: false };

/** @param {App} app */
export function createPictures(app) {
  const src = app.root.dataset.plotly;
  /** @type {ReturnType<typeof createMovingFigure>[]} */
  const moving = [];
  const load = () => readPlotly(src);
  const onError = (/** @type {Error} */ error) => app.say(error.message);

  return {
    /**
     * Makes the still layer of a chart.
     * @param {HTMLElement} plot
     */
    add: (plot) => createPicture(plot, { src, config: CONFIG, onError }),
    /**
     * Makes the layer of what moves over a chart, between its still layer and the canvas under the hand.
     * @param {HTMLElement} plot
     */
    addMoving(plot) {
      const figure = createMovingFigure(plot, { load, config: CONFIG, onError });
      moving.push(figure);
      return figure;
    },
    /** Lets what moves be drawn, one layer after the other, so that the page can answer in between. */
    async begin() {
      for (const figure of moving) await figure.begin();
    },
  };
}
