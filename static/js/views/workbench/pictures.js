/** The layers of the four charts that Plotly draws: what is still, sketched until Plotly is there, and what moves. */

import { afterPaint } from "../../lib/canvas.js";
import { h } from "../../lib/dom.js";
import { createMovingFigure } from "../../lib/moving-figure.js";
import { createPicture } from "../../lib/picture.js";
import { readPlotly } from "../../lib/plotly.js";

const CONFIG = { staticPlot: true, displayModeBar: false, responsive: false, doubleClick: false };

/** @param {App} app */
export function createPictures(app) {
  const src = app.root.dataset.plotly;
  /** @type {ReturnType<typeof createPicture>[]} */
  const still = [];
  /** @type {ReturnType<typeof createMovingFigure>[]} */
  const moving = [];
  const load = () => readPlotly(src);
  const onError = (/** @type {Error} */ error) => app.say(error.message);

  /**
   * Makes the still layer of a chart, below the canvases that stand after its element of Plotly.
   * @param {HTMLElement} plot
   */
  function add(plot) {
    const canvas = h("canvas.wb-sketch", { "aria-hidden": "true" });
    plot.after(canvas);
    const isBusy = () => app.player.state.playing;
    const picture = createPicture(plot, canvas, { src, config: CONFIG, isBusy, onError });
    still.push(picture);
    return picture;
  }

  /**
   * Makes the layer of what moves over a chart, between its still layer and the canvas under the hand.
   * @param {HTMLElement} plot
   */
  function addMoving(plot) {
    const canvas = h("canvas", { "aria-hidden": "true" });
    plot.after(canvas);
    const figure = createMovingFigure(plot, canvas, { load, config: CONFIG, onError });
    moving.push(figure);
    return figure;
  }

  /** Loads Plotly and lets it draw one layer after the other, so that the page can answer in between. */
  async function begin() {
    for (const figure of moving) await figure.begin();
    for (const picture of still) {
      await afterPaint();
      await picture.takeOver();
    }
  }

  return { add, addMoving, begin };
}
