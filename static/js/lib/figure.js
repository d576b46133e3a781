/** A figure that is visible at once as a sketch, and that Plotly draws when the pointer comes, see picture.js. */

import { afterPaint } from "./canvas.js";
import { h } from "./dom.js";
import { createPicture } from "./picture.js";

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
export function mountFigure(root, build, { config = {}, wire } = {}) {
  const plot = h("div.figure-plot");
  const canvas = h("canvas", { "aria-hidden": "true" });
  let width = 0;
  root.classList.add("figure");
  root.replaceChildren(plot, canvas);
  const picture = createPicture(plot, canvas, {
    src: root.dataset.plotly,
    config: { ...CONFIG, ...config },
    wire,
    onError: ({ message }) => {
      root.title = `The picture does not answer the pointer: ${message}`;
    },
  });

  function show() {
    width = root.clientWidth;
    picture.show(build(width));
    return afterPaint();
  }

  const sizes = new ResizeObserver(() => root.clientWidth !== width && show());
  sizes.observe(root);
  root.addEventListener("pointerenter", picture.takeOver);
  return {
    show,
    destroy() {
      sizes.disconnect();
      root.removeEventListener("pointerenter", picture.takeOver);
      picture.destroy();
    },
  };
}
