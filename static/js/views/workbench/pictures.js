/** The still layers of the four charts: sketches, until somebody points at one of them or it gets the focus. */

import { afterPaint } from "../../lib/canvas.js";
import { h } from "../../lib/dom.js";
import { createPicture } from "../../lib/picture.js";
import { readPlotly } from "../../lib/plotly.js";

const CONFIG = { staticPlot: true, displayModeBar: false, responsive: false, doubleClick: false };
const CALLS = ["pointerenter", "focusin"];

/** @param {App} app */
export function createPictures(app) {
  const src = app.root.dataset.plotly;
  /** @type {ReturnType<typeof createPicture>[]} */
  const all = [];

  /**
   * Makes the still layer of a chart, below the canvases that stand after its element of Plotly.
   * @param {HTMLElement} plot
   */
  function add(plot) {
    const canvas = h("canvas.wb-sketch", { "aria-hidden": "true" });
    plot.after(canvas);
    const isBusy = () => app.player.state.playing;
    const onError = (/** @type {Error} */ error) => app.say(error.message);
    const picture = createPicture(plot, canvas, { src, config: CONFIG, isBusy, onError });
    all.push(picture);
    const panel = plot.closest(".wb-panel, .wb-overview");
    for (const call of CALLS) panel.addEventListener(call, takeOver, { once: true });
    return picture;
  }

  /** Lets Plotly draw one chart after the other, so that the page can answer in between. */
  async function takeOver() {
    for (const picture of all.splice(0)) {
      await picture.takeOver();
      await afterPaint();
    }
  }

  return { add, load: () => readPlotly(src) };
}
