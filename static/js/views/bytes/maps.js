/** The maps of a checkpoint's bytes: what is stored, and the entries, as Plotly's treemaps. Pure. */

import { figureLayout } from "../../lib/figure-style.js";
import { escapeText, fileSize } from "../../lib/format.js";

const WORDS = { part: "some of it was taken over", new: "new with this checkpoint", old: "taken over from earlier" };

/**
 * Makes the figure of a map. Every sector has its own size; that of an operator or state is the sum of its sectors
 * wherever they are known.
 * @param {SectorsPayload} sectors @param {Colours} colours @returns {{ data: Trace[], layout: Layout }}
 */
export function mapFigure(sectors, colours) {
  const fills = sectors.ids.map((_, place) => colours(COLOURS[kindOf(sectors, place)]));
  const top = rootOf(sectors);
  const total = insideOf(sectors, top).reduce((sum, place) => sum + sectors.values[place], 0);
  return {
    data: [{
      type: "treemap",
      branchvalues: "total",
      ids: [top, ...sectors.ids],
      labels: ["all", ...sectors.labels.map(escapeText)],
      parents: ["", ...sectors.parents],
      values: [total, ...sectors.values],
      text: [fileSize(total), ...sectors.values.map(fileSize)],
      customdata: ["", ...sectors.ids.map((_, place) => escapeText(remark(sectors, place)))],
      textinfo: "label+text",
      hovertemplate: "%{label}<br>%{text}<br>%{customdata}<extra></extra>",
      sort: true,
      marker: {
        colors: [colours("surface"), ...fills],
        line: { color: colours("surface"), width: 1 },
        pad: { t: 20, l: 3, r: 3, b: 3 },
      },
      textfont: { color: colours("text") },
      pathbar: { visible: true, thickness: 22, textfont: { color: colours("text") } },
      tiling: { pad: 2 },
    }],
    layout: { ...figureLayout(colours), margin: { l: 8, r: 8, t: 26, b: 8 } },
  };
}

/**
 * Returns the id of the whole, which has no sector of its own.
 * @param {SectorsPayload} sectors
 */
export function rootOf({ ids, parents }) {
  return parents.find((parent) => !ids.includes(parent));
}

/**
 * Returns the places of the sectors that lie inside of one.
 * @param {SectorsPayload} sectors @param {string} id
 */
export function insideOf({ parents }, id) {
  return [...parents.keys()].filter((place) => parents[place] === id);
}

/** The name of the colour of each kind of sector. */
export const COLOURS = {
  group: "surface-raised",
  new: "map-new",
  old: "map-old",
  grew: "map-new",
  same: "map-same",
  shrank: "map-old",
  unknown: "map-unknown",
};

/**
 * Returns what decides the colour of a sector. Sectors with others inside are in quiet colours.
 * @param {SectorsPayload} sectors @param {number} place @returns {keyof typeof COLOURS}
 */
export function kindOf({ ids, parents, values, kinds, before }, place) {
  if (kinds[place] === "new" || kinds[place] === "old" || kinds[place] === "unknown") {
    return /** @type {"new" | "old" | "unknown"} */ (kinds[place]);
  }
  if (parents.includes(ids[place])) return "group";
  if (before[place] === null) return "unknown";
  const change = values[place] - before[place];
  return change > 0 ? "grew" : change < 0 ? "shrank" : "same";
}

/**
 * Returns in words what the colour of a sector says.
 * @param {SectorsPayload} sectors @param {number} place
 */
export function remark({ kinds, values, before }, place) {
  const kind = kinds[place];
  if (kind in WORDS) return WORDS[/** @type {keyof typeof WORDS} */ (kind)];
  if (kind === "unknown") return "it is not known what of it is new";
  if (before[place] === null) return "it is not known how much was there before";
  const change = values[place] - before[place];
  if (change === 0) return "as before";
  return `${change > 0 ? "+" : "−"}${fileSize(Math.abs(change))} since the checkpoint before`;
}
