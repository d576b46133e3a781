/** What moves in the topology, as traces of its moving figure: phases, numbers of messages, messages and markers. */

import { blockedAt } from "../../lib/control.js";
import { depthOf, filledChannels } from "../../lib/shown.js";
import { escapeText, thousands } from "../../lib/format.js";
import { boxAround, overlap } from "../../lib/labels.js";
import { faded } from "./colours.js";
import { rowsInFlight } from "./flights.js";
import { progress } from "./geometry.js";

export const SMALL_NODE = 7;
const CROWD = 40; // channels with messages; in a larger crowd a single message gets no number
const ALONG = [0.4, 0.5, 0.3, 0.6, 0.22, 0.75]; // where on a channel its number may stand, best first

/**
 * Returns the traces: processes, names, phases, bars of blocked channels, frames and numbers of messages in channels,
 * messages, markers.
 * @param {TopologyScene} scene @param {number} at where the cursor is, or will be a moment later
 */
export function topologyTraces(scene, at) {
  const { colours, radius, badges } = scene;
  const big = radius > SMALL_NODE;
  return [
    nodes(scene),
    words(scene, "name", (node) => escapeText(scene.names[node]), { color: colours.ink, size: big ? 12 : 10 }),
    words(scene, "state", (node) => scene.phases[node] ?? "", { color: colours.quiet, size: 11 }),
    blockedBars(scene),
    frames(badges, colours),
    numbers(badges, { color: colours.ink, size: big ? 12 : 10, weight: 600 }),
    tokens(scene, "messages", at, { symbol: "circle", size: big ? 10 : 6, color: colours.message }),
    tokens(scene, "markers", at, { symbol: "diamond", size: big ? 14 : 10, color: colours.marker }),
  ];
}

/** @param {TopologyScene} scene @returns {Trace} */
function nodes({ places, phases, radius, colours }) {
  const [done, off] = [faded(colours.recorded, 0.55), faded(colours.quiet, 0.4)];
  /** @type {Record<string, [string, string]>} */
  const looks = {
    "not recorded": [colours.panel, colours.quiet],
    "records here": [faded(colours.accent, 0.35), colours.accent],
    recorded: [done, colours.recorded],
    recording: [faded(colours.marker, 0.5), colours.marker],
    done: [done, colours.recorded],
    "never records": [colours.panel, colours.orphan],
    "no record": [colours.panel, colours.quiet],
    "not part of it": [colours.panel, off],
    down: [faded(colours.orphan, 0.6), colours.orphan],
    restoring: [faded(colours.restoring, 0.5), colours.restoring],
  };
  const own = phases.map((phase) => looks[phase] ?? [colours.panel, colours.quiet]);
  const rim = { width: 2, color: own.map(([, colour]) => colour) };
  return {
    type: "scatter",
    mode: "markers",
    x: places.map(({ x }) => x),
    y: places.map(({ y }) => y),
    marker: { size: radius * 2, color: own.map(([fill]) => fill), line: rim },
    hoverinfo: "skip",
  };
}

/**
 * Returns the names, or the phases, where there is room for them.
 * @param {TopologyScene} scene @param {"name" | "state"} part @param {(node: number) => string} text
 * @param {object} textfont @returns {Trace}
 */
function words({ labels }, part, text, textfont) {
  const own = labels.filter((label) => label.part === part);
  return textTrace(own, own.map(({ node }) => text(node)), textfont);
}

/** @param {Point[]} at @param {string[]} text @param {object} textfont @returns {Trace} */
function textTrace(at, text, textfont) {
  return {
    type: "scatter",
    mode: "text",
    x: at.map(({ x }) => x),
    y: at.map(({ y }) => y),
    text,
    textposition: "middle center",
    textfont,
    hoverinfo: "skip",
  };
}

/**
 * Draws a bar across the end of each blocked channel.
 * @param {TopologyScene} scene @returns {Trace}
 */
function blockedBars({ state, channels, pointOn, radius, colours }) {
  const blocked = state.cut ? new Set() : blockedAt(state.window, state.now);
  const bars = channels.filter(({ code }) => blocked.has(code)).map((channel) => {
    const [a, b] = [pointOn(channel, 0.9), pointOn(channel, 0.96)];
    const scale = (radius > SMALL_NODE ? 9 : 6) / (Math.hypot(b.x - a.x, b.y - a.y) || 1);
    return { x: b.x, y: b.y, dx: (b.y - a.y) * scale, dy: (b.x - a.x) * scale };
  });
  return {
    type: "scatter",
    mode: "lines",
    x: bars.flatMap(({ x, dx }) => [x - dx, x + dx, null]),
    y: bars.flatMap(({ y, dy }) => [y + dy, y - dy, null]),
    line: { color: colours.orphan, width: 4, simplify: false },
    hoverinfo: "skip",
  };
}

/** @param {Badge[]} badges @param {WorkbenchColours} colours @returns {Trace} */
function frames(badges, colours) {
  return {
    type: "scatter",
    mode: "lines",
    fill: "toself",
    fillcolor: colours.panel,
    x: badges.flatMap(({ left, right }) => [left, right, right, left, left, null]),
    y: badges.flatMap(({ top, bottom }) => [top, top, bottom, bottom, top, null]),
    line: { color: colours.message, width: 1, simplify: false },
    hoverinfo: "skip",
  };
}

/** @param {Badge[]} badges @param {object} textfont @returns {Trace} */
function numbers(badges, textfont) {
  const middles = badges.map(({ left, right, top, bottom }) => ({ x: (left + right) / 2, y: (top + bottom) / 2 }));
  return textTrace(middles, badges.map(({ text }) => text), textfont);
}

/**
 * Draws messages or markers where they are on their channels.
 * @param {TopologyScene} scene @param {"messages" | "markers"} name @param {number} at @param {object} marker
 * @returns {Trace}
 */
function tokens({ state, topology, channels, pointOn }, name, at, marker) {
  const { window, now, axis, cut } = state;
  const drawn = new Set(channels);
  const table = window?.exact && window.axis === axis && !cut ? window[name] : null;
  const rows = table ? rowsInFlight(table, Array.from({ length: table.count }, (_, row) => row), now) : [];
  const own = rows.filter((row) => drawn.has(topology.channels[table.channel[row]]));
  const points = own.map((row) => {
    const along = table.received_index[row] < 0 ? 0.5 : Math.min(progress(table, row, at), 1);
    return pointOn(topology.channels[table.channel[row]], along);
  });
  return {
    type: "scatter",
    mode: "markers",
    ids: own.map((row) => `${table.channel[row]} ${table.sent_index[row]}`),
    x: points.map(({ x }) => x),
    y: points.map(({ y }) => y),
    marker,
    hoverinfo: "skip",
  };
}

/**
 * Chooses where the numbers of messages stand, so that they cover nothing. `hidden` counts those without a place.
 * @param {OpenChannel[]} channels @param {Cut | null} cut
 * @param {{ radius: number, pointOn: (channel: OpenChannel, along: number) => Point, taken: LabelBox[],
 *   width: (text: string, height: number, weight: number) => number }} room
 */
export function badgesOf(channels, cut, { radius, pointOn, taken, width }) {
  const big = radius > SMALL_NODE;
  const least = leastCounted(cut);
  const covered = [...taken];
  /** @type {Badge[]} */
  const boxes = [];
  let hidden = 0;
  for (const channel of cut ? channels : []) {
    const messages = depthOf(cut, channel.code);
    if (messages < least) continue;
    const text = thousands(messages);
    const wide = width(text, big ? 12 : 10, 600) + (big ? 8 : 4);
    const box = ALONG.map((along) => pointOn(channel, along))
      .map(({ x, y }) => boxAround(x, y, wide, big ? 16 : 12))
      .find((place) => !covered.some((other) => overlap(place, other)));
    if (box) {
      covered.push(box);
      boxes.push({ ...box, text });
    } else hidden += 1;
  }
  return { boxes, hidden };
}

/**
 * Returns from how many messages on a channel gets its number. The notice says if that is more than one.
 * @param {Cut | null} cut
 */
export function leastCounted(cut) {
  return cut && filledChannels(cut).length > CROWD ? 2 : 1;
}
