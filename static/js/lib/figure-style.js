/** What the figures of all pages look like: the colours of tokens.css, the base of a layout, axes and lines. */

/**
 * Returns a colour of the page as it is now.
 * @param {string} name
 */
export function pageColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--color-${name}`).trim();
}

/**
 * Returns the part that all Plotly layouts share.
 * @param {Colours} colours
 */
export function figureLayout(colours) {
  return {
    autosize: true,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colours("text") },
  };
}

/**
 * Returns an axis in quiet colours, without a line and ticks.
 * @param {Colours} colours
 */
export function quietAxis(colours) {
  return {
    color: colours("text-soft"),
    gridcolor: colours("line"),
    zeroline: false,
    ticks: "",
    ticklabeloverflow: "allow", // Plotly places the title below the numbers, and nowhere if it hides them all
    tickfont: { color: colours("text-soft") },
  };
}

/**
 * Returns the decoration of a horizontal axis: a line with ticks.
 * @param {Colours} colours
 */
export function axisLine(colours) {
  return { linecolor: colours("line"), tickcolor: colours("line"), ticks: "outside", ticklen: 4 };
}
