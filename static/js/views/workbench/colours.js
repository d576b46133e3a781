/** The colours of tokens.css as values that canvas and Plotly understand. */

const TOKENS = {
  paper: "bg",
  panel: "surface",
  ink: "text",
  quiet: "text-soft",
  rule: "lane",
  line: "line",
  accent: "cut",
  onAccent: "on-accent",
  message: "message",
  flight: "message",
  marker: "marker",
  orphan: "orphan",
  recorded: "recorded",
  event: "message",
  crash: "orphan",
  consistent: "consistent",
  incomplete: "incomplete",
  control: "series-4",
  uploading: "series-6",
  restoring: "series-7",
};

/** Reads the colours as they are now. The event "themechange" on the document says when they change. */
export function readColours() {
  const style = getComputedStyle(document.documentElement);
  /** @type {WorkbenchColours} */
  const colours = {};
  for (const [name, token] of Object.entries(TOKENS)) colours[name] = style.getPropertyValue(`--color-${token}`).trim();
  return colours;
}

/**
 * Returns a colour with another opacity.
 * @param {string} colour @param {number} alpha
 */
export function faded(colour, alpha) {
  const parts = colour.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return `rgba(${parts.slice(0, 3).join(", ")}, ${alpha})`;
}

/**
 * Returns a scale from the panel's colour to the accent.
 * @param {WorkbenchColours} colours @returns {[number, string][]}
 */
export function heatScale(colours) {
  return [0, 0.15, 0.5, 1].map((share) => [share, faded(colours.accent, share === 0 ? 0 : 0.3 + 0.7 * share)]);
}
