/** What the moving figure of the topology shows: phases, names, contents of channels, messages and markers. */

import { blockedAt } from "../../lib/control.js";
import { depthOf, filledChannels, hasState, numberIn } from "../../lib/shown.js";
import { escapeText, isGiven, thousands, valueText } from "../../lib/format.js";
import { boxAround, meets, overlap } from "../../lib/labels.js";
import { faded } from "./colours.js";
import { rowsInFlight } from "./flights.js";
import { progress } from "./geometry.js";
import { pointOn, SMALL } from "./topology-circles.js";

const CROWD = 40; // channels with messages; in a larger crowd a single message gets no number
const FEW_FLYING = 24; // up to so many messages on their way show their values
const FEW_WAITING = 3; // up to so many messages in a channel show their values
const LONGEST_VALUE = 12; // characters
const LONGEST_LIST = 18; // characters
const ALONG = [0.4, 0.5, 0.3, 0.6, 0.22, 0.75]; // where on a channel its contents may stand, best first
const VALUE = { up: 13, letter: 7, height: 13 }; // px: of the text above a message
const ARC_STEP = Math.PI / 24;
const AWAY = ["down", "restoring"];
const RECORDED = ["records here", "recorded", "recording", "done"];

/**
 * Returns what stands until the panels say more: circles, the shares of operators that have recorded, names and states,
 * tasks that are down, contents of channels.
 * @param {TopologyScene} scene @returns {Trace[]}
 */
export function standingTraces(scene) {
  const { colours, badges } = scene;
  const labels = [...scene.headings, ...scene.labels];
  const big = scene.radius > SMALL;
  const small = { color: colours.ink, size: big ? 12 : 10 };
  return [
    circles(scene),
    shares(scene),
    frames(labels.map(({ box }) => box), colours.panel, faded(colours.quiet, 0.3)),
    texts(scene.circles.map(({ x, y }, i) => ({ x, y, text: scene.insides[i] })).filter(({ text }) => text), {
      color: colours.ink, size: 11, weight: 600,
    }),
    texts(linesOf(labels, (part) => part !== "phase"), small),
    texts(linesOf(labels, (part) => part === "phase"), { color: colours.quiet, size: 11 }),
    crosses(scene),
    frames(badges, colours.panel, colours.message),
    texts(badges.map((badge) => ({ ...middleOf(badge), text: badge.text })), { ...small, weight: 600 }),
  ];
}

/**
 * Returns what is on its way: bars of blocked channels, messages with their values, markers.
 * @param {TopologyScene} scene @param {PlayerState} state
 * @param {number} at where the cursor is, or will be a moment later @returns {Trace[]}
 */
export function movingTraces(scene, state, at) {
  const { colours } = scene;
  const big = scene.radius > SMALL;
  return [
    blockedBars(scene, state),
    tokens(scene, state, "messages", at, { symbol: "circle", size: big ? 10 : 6, color: colours.message }),
    tokens(scene, state, "markers", at, { symbol: "diamond", size: big ? 14 : 10, color: colours.marker }),
  ];
}

/**
 * Returns the phase that all processes of a circle have in common, or how many of them have recorded and are away.
 * @param {(string | null)[]} phases
 */
export function phaseOfAll(phases) {
  const [first] = phases;
  if (phases.every((phase) => phase === first)) return first;
  const away = phases.filter((phase) => AWAY.includes(phase)).length;
  const isChosen = phases.some((phase) => phase && !AWAY.includes(phase));
  const recorded = `${thousands(recordedOf(phases))} of ${thousands(phases.length)} recorded`;
  return [isChosen && recorded, away && `${thousands(away)} down`].filter(Boolean).join(", ");
}

/** @param {(string | null)[]} phases */
function recordedOf(phases) {
  return phases.filter((phase) => RECORDED.includes(phase)).length;
}

/**
 * Returns the state of a process as a number of at most a line, "" if it is none or not known.
 * @param {Cut | null} cut @param {number} process
 */
export function numberOfState(cut, process) {
  const number = cut && hasState(cut, process) && cut.known[process] ? numberIn(cut.states[process]) : null;
  return number === null ? "" : thousands(number);
}

/** @param {TopologyScene} scene @returns {Trace} */
function circles({ circles: all, phases, radius, colours }) {
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
  const own = phases.map((each) => looks[phaseOfAll(each)] ?? [colours.panel, colours.quiet]);
  return {
    type: "scatter",
    mode: "markers",
    x: all.map(({ x }) => x),
    y: all.map(({ y }) => y),
    marker: {
      size: radius * 2,
      color: own.map(([fill]) => fill),
      line: { width: 2, color: own.map(([, colour]) => colour) },
    },
    hoverinfo: "skip",
  };
}

/**
 * Draws an arc around each operator of whose subtasks some have recorded, as long as their share.
 * @param {TopologyScene} scene @returns {Trace}
 */
function shares({ circles: all, phases, radius, colours }) {
  const arcs = all.flatMap(({ x, y }, i) => {
    const end = 2 * Math.PI * (recordedOf(phases[i]) / phases[i].length);
    if (phases[i].length < 2 || end === 0) return [];
    const steps = Math.ceil(end / ARC_STEP);
    const points = Array.from({ length: steps + 1 }, (_, n) => (end * n) / steps - Math.PI / 2);
    const rim = radius + 3;
    return [...points.map((angle) => [x + rim * Math.cos(angle), y + rim * Math.sin(angle)]), [null, null]];
  });
  return {
    type: "scatter",
    mode: "lines",
    x: arcs.map(([x]) => x),
    y: arcs.map(([, y]) => y),
    line: { color: colours.recorded, width: 4, simplify: false },
    hoverinfo: "skip",
  };
}

/**
 * Crosses out what is down; of an operator with other subtasks, at its corner.
 * @param {TopologyScene} scene @returns {Trace}
 */
function crosses({ circles: all, phases, radius, colours }) {
  const marked = all.filter((_, i) => phases[i].includes("down"));
  const aside = marked.map(({ count }) => (count === 1 ? 0 : radius * 0.7));
  return {
    type: "scatter",
    mode: "markers",
    x: marked.map(({ x }, i) => x + aside[i]),
    y: marked.map(({ y }, i) => y - aside[i]),
    marker: { symbol: "x", size: Math.max(9, radius), color: colours.orphan },
    hoverinfo: "skip",
  };
}

/** @param {Label[]} labels @param {(part: string) => boolean} isOwn */
function linesOf(labels, isOwn) {
  return labels.flatMap(({ lines, box }) => lines.flatMap(({ part, text }, n) => {
    const y = box.top + ((n + 0.5) * (box.bottom - box.top)) / lines.length;
    return isOwn(part) ? [{ x: (box.left + box.right) / 2, y, text: escapeText(text) }] : [];
  }));
}

/** @param {(Point & { text: string })[]} own @param {object} textfont @returns {Trace} */
function texts(own, textfont) {
  return {
    type: "scatter",
    mode: "text",
    x: own.map(({ x }) => x),
    y: own.map(({ y }) => y),
    text: own.map(({ text }) => text),
    textposition: "middle center",
    textfont,
    hoverinfo: "skip",
  };
}

/** @param {LabelBox} box @returns {Point} */
function middleOf({ left, right, top, bottom }) {
  return { x: (left + right) / 2, y: (top + bottom) / 2 };
}

/**
 * Draws a bar across the end of each blocked channel.
 * @param {TopologyScene} scene @param {PlayerState} state @returns {Trace}
 */
function blockedBars({ bundles, radius, colours }, state) {
  const blocked = state.cut ? new Set() : blockedAt(state.window, state.now);
  const bars = bundles.filter(({ codes }) => codes.some((code) => blocked.has(code))).map((bundle) => {
    const [a, b] = [pointOn(bundle, 0.9), pointOn(bundle, 0.96)];
    const scale = (radius > SMALL ? 9 : 6) / (Math.hypot(b.x - a.x, b.y - a.y) || 1);
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

/** @param {LabelBox[]} boxes @param {string} fillcolor @param {string} color of the frame @returns {Trace} */
function frames(boxes, fillcolor, color) {
  return {
    type: "scatter",
    mode: "lines",
    fill: "toself",
    fillcolor,
    x: boxes.flatMap(({ left, right }) => [left, right, right, left, left, null]),
    y: boxes.flatMap(({ top, bottom }) => [top, top, bottom, bottom, top, null]),
    line: { color, width: 1, simplify: false },
    hoverinfo: "skip",
  };
}

/**
 * Draws messages or markers where they are on their channels; a few messages with their values.
 * @param {TopologyScene} scene @param {PlayerState} state @param {"messages" | "markers"} name @param {number} at
 * @param {object} marker @returns {Trace}
 */
function tokens({ bundleOf, covered, radius, colours }, state, name, at, marker) {
  const { window, now, axis, cut } = state;
  const table = window?.exact && window.axis === axis && !cut ? window[name] : null;
  const rows = table ? rowsInFlight(table, Array.from({ length: table.count }, (_, row) => row), now) : [];
  const own = rows.filter((row) => bundleOf.has(table.channel[row]));
  const points = own.map((row) => {
    const along = table.received_index[row] < 0 ? 0.5 : Math.min(progress(table, row, at), 1);
    return pointOn(bundleOf.get(table.channel[row]), along);
  });
  const hasValues = name === "messages" && radius > SMALL;
  const isFew = hasValues && own.length <= FEW_FLYING;
  const values = isFew ? withRoom(own.map((row) => shortValue(window.messages.value[row])), points, covered) : [];
  return {
    type: "scatter",
    mode: hasValues ? "markers+text" : "markers", // an empty text takes as long as another
    ids: own.map((row) => `${table.channel[row]} ${table.sent_index[row]}`),
    x: points.map(({ x }) => x),
    y: points.map(({ y }) => y),
    text: own.map((_, i) => values[i] ?? ""),
    textposition: "top center",
    textfont: { color: colours.ink, size: 11 },
    marker,
    hoverinfo: "skip",
  };
}

/**
 * Leaves out the values that would cover a name, a state, the contents of a channel or another value.
 * @param {string[]} values @param {Point[]} points of their messages @param {LabelBox[]} covered
 */
function withRoom(values, points, covered) {
  const taken = [...covered];
  return values.map((value, i) => {
    const box = boxAround(points[i].x, points[i].y - VALUE.up, VALUE.letter * value.length, VALUE.height);
    if (taken.some((other) => overlap(box, other))) return "";
    taken.push(box);
    return value;
  });
}

/**
 * Returns a value that is short, or the only number in a longer one; else "".
 * @param {unknown} value
 */
function shortValue(value) {
  const text = isGiven(value) ? valueText(value) : "";
  const number = numberIn(value);
  if (text.length <= LONGEST_VALUE) return escapeText(text);
  return number === null ? "" : thousands(number);
}

/**
 * Chooses where the contents of channels stand, so that they cover no other text and, if there is a place, no other
 * channel. `hidden` counts those without a place.
 * @param {Bundle[]} bundles @param {Cut | null} cut
 * @param {{ radius: number, taken: LabelBox[], width: (text: string, height: number, weight: number) => number }} room
 */
export function badgesOf(bundles, cut, { radius, taken, width }) {
  const big = radius > SMALL;
  const least = leastCounted(cut);
  const covered = [...taken];
  /** @type {Badge[]} */
  const boxes = [];
  let hidden = 0;
  for (const bundle of cut ? bundles : []) {
    const text = contentsText(bundle.codes, cut, least);
    if (!text) continue;
    const wide = width(text, big ? 12 : 10, 600) + (big ? 8 : 4);
    const places = ALONG.map((along) => pointOn(bundle, along))
      .map(({ x, y }) => boxAround(x, y, wide, big ? 16 : 12))
      .filter((place) => !covered.some((other) => overlap(place, other)));
    /** @param {LabelBox} place */
    const isClear = (place) => !bundles.some(
      (other) => other !== bundle && overlap(other.bounds, place) && meets(other.path, place),
    );
    const box = places.find(isClear) ?? places[0];
    if (box) {
      covered.push(box);
      boxes.push({ ...box, text });
    } else hidden += 1;
  }
  return { boxes, hidden };
}

/**
 * Returns the values of the messages in some channels, or how many there are: "3, 20", or "×47". It is "" if there are
 * fewer than `least`.
 * @param {number[]} codes @param {Cut} cut @param {number} [least]
 */
function contentsText(codes, cut, least = 1) {
  const count = codes.reduce((sum, code) => sum + depthOf(cut, code), 0);
  if (count < least || !count) return "";
  const listed = codes.flatMap((code) => cut.channels.get(code) ?? []);
  const values = listed.length === count && count <= FEW_WAITING ? listed.map(({ value }) => shortValue(value)) : [];
  const list = values.every(Boolean) ? values.join(", ") : "";
  return list && list.length <= LONGEST_LIST ? list : `×${thousands(count)}`;
}

/**
 * Returns from how many messages on a channel gets its number. The notice says if that is more than one.
 * @param {Cut | null} cut
 */
export function leastCounted(cut) {
  return cut && filledChannels(cut).length > CROWD ? 2 : 1;
}
