/** The colours of the style sheet as values that canvas and Plotly understand. */

const NAMES = [
  "paper", "panel", "ink", "quiet", "rule", "accent", "message", "flight", "marker", "orphan",
  "recorded", "event", "crash", "pale", "heat-low", "heat-high", "veil",
];

/** Reads --wb-NAME for every name; they change with the theme. */
export function readColours(root) {
  const probe = document.createElement("span");
  probe.hidden = true;
  root.append(probe);
  const colours = {};
  for (const name of NAMES) {
    probe.style.color = `var(--wb-${name})`;
    colours[name] = getComputedStyle(probe).color;
  }
  probe.remove();
  return colours;
}

/** Calls back when the light or dark theme changes, by the system or by the switch. */
export function onThemeChange(callback) {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", callback);
  const attributes = ["data-theme", "class", "style"];
  new MutationObserver(callback).observe(document.documentElement, { attributes: true, attributeFilter: attributes });
}

/** The same colour with less opacity. */
export function faded(colour, alpha) {
  const parts = colour.match(/[\d.]+/g) ?? ["0", "0", "0"];
  return `rgba(${parts.slice(0, 3).join(", ")}, ${alpha})`;
}
