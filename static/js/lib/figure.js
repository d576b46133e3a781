/** A figure of Plotly with the menu that saves it. */

import { h } from "./dom.js";
import { downloadMenu, fileName, pictureEntries } from "./download-menu.js";
import { createPicture } from "./picture.js";
import { drawnFigures, frameColours, savedSentence, svgFile } from "./picture-file.js";
import { readPlotly } from "./plotly.js";

const CONFIG = {
  displaylogo: false,
  doubleClick: false,
  modeBarButtonsToRemove: ["toImage", "select2d", "lasso2d", "autoScale2d"],
};

/**
 * Mounts a figure. `show()` draws it again and resolves when it is drawn; `destroy()` removes it.
 * @param {HTMLElement} root its data-plotly is the address of Plotly
 * @param {(width: number) => Figure} build returns the figure for a width in pixels
 * @param {{ config?: object, wire?: (plot: any) => void }} options `config` adds to Plotly's configuration; `wire` is
 *   called once, when Plotly has drawn
 */
export function mountFigure(root, build, { config = {}, wire } = {}) {
  const src = root.dataset.plotly;
  const plot = h("div.figure-plot");
  let width = 0;
  const menu = downloadMenu(`the figure ${titleOf(root)}`, pictureEntries(nameOf(root), file), fail);
  root.classList.add("figure");
  root.replaceChildren(plot, menu);
  const picture = createPicture(plot, {
    src,
    config: { ...CONFIG, ...config },
    wire,
    onError: ({ message }) => {
      root.title = `The picture could not be drawn: ${message}`;
    },
  });

  /** Resolves with the figure as an SVG file, in the page's colours as they are when it is called. */
  async function file() {
    const figure = build(root.clientWidth);
    const colours = frameColours();
    const size = { width: root.clientWidth, height: figure.layout.height ?? plot.clientHeight };
    return svgFile({
      ...size,
      title: `${document.querySelector("h1")?.textContent ?? ""}: ${titleOf(root)}`,
      captions: [savedSentence(new Date(), window.location.href)],
      legend: legendOf(figure),
      drawing: await drawnFigures(await readPlotly(src), [figure], size),
      colours,
    });
  }

  /** @param {Error} error */
  function fail({ message }) {
    root.title = `The download failed: ${message}`;
  }

  function show() {
    width = root.clientWidth;
    return picture.show(build(width));
  }

  const sizes = new ResizeObserver(() => root.clientWidth !== width && show());
  sizes.observe(root);
  return {
    show,
    destroy() {
      sizes.disconnect();
      picture.destroy();
    },
  };
}

/**
 * Returns the words for a figure: the heading of its section, else its label.
 * @param {HTMLElement} root
 */
function titleOf(root) {
  const heading = root.closest("section")?.querySelector("h2, h3")?.textContent;
  return (heading ?? root.getAttribute("aria-label") ?? "").replace(/\s+/g, " ").trim();
}

/** @param {HTMLElement} root */
function nameOf(root) {
  return fileName(window.location.pathname, root.id || titleOf(root));
}

/**
 * Returns the entries of the legend: what has a name and one colour.
 * @param {Figure} figure @returns {[string, string][]}
 */
function legendOf({ data }) {
  return data.flatMap(({ name, marker, line }) => {
    const colour = marker?.color ?? line?.color;
    return name && typeof colour === "string" ? [[name, colour]] : [];
  });
}
