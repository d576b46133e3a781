/** The still half of the space-time diagram: lanes, messages, markers, events and cuts, as Plotly traces. */

import { channelsAt, handleX, isInside } from "../../lib/cuts.js";
import { escapeText, thousands, ticks, unitFor } from "../../lib/format.js";
import { distinctNames } from "../../lib/labels.js";
import { spansOf } from "../../lib/blocked.js";
import { eventRow, IN_FLIGHT } from "../../lib/window.js";
import { faded, heatScale } from "./colours.js";
import { baseLayout, plainAxis } from "./panel.js";

const MANY = 400; // messages, markers or events from which on they are drawn lighter
const NEVER = 0.6; // share of the way to its target to which a message that never arrives is drawn

/**
 * Makes the figure of a scene.
 * @param {Scene} scene @returns {Figure}
 */
export function stillFigure(scene) {
  const { window } = scene;
  /** @type {Trace[]} */
  const data = [lanes(scene)];
  if (window?.exact) {
    data.push(...blocked(scene), ...messages(scene), ...markers(scene), ...events(scene), ...cutLine(scene));
  } else if (window?.bins) data.push(heat(scene), ...markers(scene), ...events(scene), ...cutLine(scene));
  return { data, layout: layout(scene) };
}

/** @param {Scene} scene */
function lanes({ g, colours, bounds }) {
  const x = [];
  const y = [];
  for (let p = g.first; p < g.first + g.lanes; p += 1) {
    x.push(Math.max(bounds.from, g.from - (g.to - g.from)), Math.min(bounds.to, g.to + (g.to - g.from)), null);
    y.push(p, p, null);
  }
  return line(x, y, colours.rule, 1);
}

/**
 * Draws where a task takes nothing from a channel, because it waits for the barrier of another.
 * @param {Scene} scene @returns {Trace[]}
 */
function blocked({ window, colours, g }) {
  const x = [];
  const y = [];
  for (const { process, from, to } of spansOf(window)) {
    x.push(from, to, null);
    y.push(process, process, null);
  }
  return x.length ? [line(x, y, faded(colours.orphan, 0.35), Math.min(9, (g.pitch || 30) * 0.6))] : [];
}

/**
 * @param {(number | null)[]} x @param {(number | null)[]} y @param {string} color @param {number} width
 * @param {string} [dash] @returns {Trace}
 */
function line(x, y, color, width, dash = "solid") {
  return {
    type: "scatter",
    mode: "lines",
    x,
    y,
    line: { color, width, dash, simplify: false },
    hoverinfo: "skip",
    connectgaps: false,
  };
}

/**
 * @param {(number | null)[]} x @param {(number | null)[]} y @param {string} symbol @param {number} size
 * @param {string} color @param {string} [border] @returns {Trace}
 */
function points(x, y, symbol, size, color, border) {
  return {
    type: "scatter",
    mode: "markers",
    x,
    y,
    marker: { symbol, size, color, line: { width: border ? 1.5 : 0, color: border ?? color } },
    hoverinfo: "skip",
  };
}

/**
 * Draws messages in five kinds of lines: before the cut, after it, in flight across it, orphans, never received.
 * @param {Scene} scene @returns {Trace[]}
 */
function messages(scene) {
  const { window, colours, positions } = scene;
  const inside = positions && isInside(window, positions) ? channelsAt(window, positions) : null;
  const flight = new Set(inside ? [...inside.contents.values()].flat() : []);
  const orphans = new Set(inside?.orphans ?? []);
  const [before, after, across, wrong, never] = [lineSet(), lineSet(), lineSet(), lineSet(), lineSet()];
  for (let row = 0; row < window.messages.count; row += 1) {
    const set = orphans.has(row) ? wrong : flight.has(row) ? across : isAfter(scene, row) ? after : before;
    addLine(scene, window.messages, row, window.messages.received_index[row] === IN_FLIGHT ? never : set);
  }
  const thin = window.messages.count > MANY ? 0.7 : 1.2;
  return [
    line(after.x, after.y, faded(colours.message, 0.55), thin),
    line(before.x, before.y, faded(colours.message, thin < 1 ? 0.8 : 1), thin),
    line(never.x, never.y, faded(colours.message, 0.8), 1.5, "dot"),
    line(across.x, across.y, colours.flight, 2.5),
    line(wrong.x, wrong.y, colours.orphan, 2, "dash"),
  ].filter((trace) => trace.x.length);
}

/** @param {Scene} scene @param {number} row */
function isAfter({ window, topology, positions }, row) {
  if (!positions) return false;
  const source = topology.channels[window.messages.channel[row]].sourceCode;
  return positions[source] >= 0 && window.messages.sent_index[row] >= positions[source];
}

/** @returns {LineSet} */
function lineSet() {
  return { x: [], y: [] };
}

/** @param {Scene} scene @param {OpenFlights} table @param {number} row @param {LineSet} set */
function addLine({ topology, window }, table, row, set) {
  const { sourceCode, targetCode } = topology.channels[table.channel[row]];
  const arrived = table.received_index[row] !== IN_FLIGHT;
  set.x.push(table.sentX[row], arrived ? table.receivedX[row] : window.to, null);
  set.y.push(sourceCode, arrived ? targetCode : sourceCode + (targetCode - sourceCode) * NEVER, null);
}

/** @param {Scene} scene @returns {Trace[]} */
function markers(scene) {
  const { window, colours, snapshot } = scene;
  const chosen = lineSet();
  const others = lineSet();
  for (let row = 0; row < window.markers.count; row += 1) {
    const isChosen = snapshot === null || window.snapshots[window.markers.snapshot[row]] === snapshot;
    if (isChosen || window.exact) addLine(scene, window.markers, row, isChosen ? chosen : others);
  }
  const many = window.markers.count > MANY;
  const ends = { x: chosen.x.filter((_, i) => i % 3 === 1), y: chosen.y.filter((_, i) => i % 3 === 1) };
  return [
    line(others.x, others.y, faded(colours.marker, 0.35), 1),
    line(chosen.x, chosen.y, faded(colours.marker, many ? 0.6 : 1), many ? 0.8 : 1.5),
    many ? outlines(ends, colours.marker, scene.g) : points(ends.x, ends.y, "diamond", 8, colours.marker),
  ].filter((trace) => trace.x.length);
}

/**
 * Draws diamonds as one path, for Plotly makes an element of each marker, and thousands slow the page down.
 * @param {LineSet} set @param {string} colour @param {Geometry} g
 */
function outlines({ x, y }, colour, g) {
  const [dx, dy] = [3 * g.perPixel, 3 / (g.pitch || 30)];
  const set = lineSet();
  x.forEach((at, i) => {
    set.x.push(at - dx, at, at + dx, at, at - dx, null);
    set.y.push(y[i], y[i] - dy, y[i], y[i] + dy, y[i], null);
  });
  return line(set.x, set.y, colour, 1.5);
}

/**
 * Draws events as short strokes across their lanes, in one path.
 * @param {LineSet} set @param {string} colour @param {number} height @param {Geometry} g
 */
function strokes({ x, y }, colour, height, g) {
  const dy = height / 2 / (g.pitch || 30);
  const set = lineSet();
  x.forEach((at, i) => {
    set.x.push(at, at, null);
    set.y.push(y[i] - dy, y[i] + dy, null);
  });
  return line(set.x, set.y, colour, 1.5);
}

/** @param {Scene} scene @returns {Trace[]} */
function events({ window, colours, snapshot, g }) {
  const places = new Map();
  for (let row = 0; row < window.events.count; row += 1) {
    const isChosen = snapshot === null || window.snapshots[window.events.snapshot[row]] === snapshot;
    const key = lookOf(window.kinds[window.events.kind[row]], isChosen);
    if (!places.has(key)) places.set(key, lineSet());
    places.get(key).x.push(window.events.x[row]);
    places.get(key).y.push(window.events.process[row]);
  }
  const size = g.pitch && g.pitch < 24 ? 4 : 6;
  /** @type {Record<string, [string, number, string, string?]>} */
  const looks = {
    event: ["circle", size, colours.event],
    control: ["circle", size - 2, colours.quiet],
    "record-other": ["square", size + 2, colours.panel, colours.quiet],
    record: ["square", size + 5, colours.recorded, colours.panel],
    crash: ["x", 11, colours.crash],
    restore: ["triangle-up", 11, colours.recorded],
  };
  return Object.entries(looks)
    .filter(([key]) => places.has(key))
    .map(([key, look]) => {
      const { x, y } = places.get(key);
      return x.length > MANY
        ? strokes({ x, y }, look[3] === colours.quiet ? colours.quiet : look[2], look[1], g)
        : points(x, y, ...look);
    });
}

/**
 * Returns which of the looks in `events` an event of this kind has.
 * @param {string} kind @param {boolean} isChosen
 */
function lookOf(kind, isChosen) {
  if (kind === "record_state") return isChosen ? "record" : "record-other";
  if (kind === "crash" || kind === "restore") return kind;
  return kind.startsWith("marker") || kind === "record_channel" ? "control" : "event";
}

/**
 * Draws the cut of the chosen snapshot from lane to lane, without the lanes at which its place is not known.
 * @param {Scene} scene @returns {Trace[]}
 */
function cutLine(scene) {
  const { colours, g, positions } = scene;
  if (!positions || scene.dragging) return [];
  const { x, y } = lineSet();
  const { scope } = scene.topology.processes[positions.findIndex((n) => n >= 0)] ?? {};
  for (let p = g.first; p < g.first + g.lanes; p += 1) {
    const place = cutX(scene, p);
    if (place === null) {
      const isOtherScope = scene.topology.processes[p].scope !== scope;
      if (isOtherScope && x.length) push(x, y, null, null); // the line does not cross lanes of other scopes
      continue;
    }
    if (p === g.first) push(x, y, place, p - 0.4);
    push(x, y, place, p);
    if (p === g.first + g.lanes - 1) push(x, y, place, p + 0.4);
  }
  return x.length ? [line(x, y, colours.accent, 2)] : [];
}

/** @param {(number | null)[]} x @param {(number | null)[]} y @param {number | null} a @param {number | null} b */
function push(x, y, a, b) {
  x.push(a);
  y.push(b);
}

/**
 * Returns where the chosen cut crosses lane `p`, or null if it is not known.
 * @param {Scene} scene @param {number} p @returns {number | null}
 */
export function cutX({ window, g, positions, recordedAt, topology }, p) {
  if (!positions || positions[p] < 0) return null;
  const far = g.to - g.from;
  if (window?.exact) {
    const x = handleX(window, p, positions[p], g.perPixel * 8);
    return Math.max(g.from - far, Math.min(g.to + far, x));
  }
  const row = window ? eventRow(window, p, positions[p]) : -1; // a window of bins still holds records
  return row >= 0 ? window.events.x[row] : recordedAt?.[topology.processes[p].id] ?? null;
}

/** @param {Scene} scene @returns {Trace} */
function heat({ window, colours, g }) {
  const { bins } = window;
  const rows = bins.processes.map((p, row) => [p, row]).filter(([p]) => g.shows(p));
  const z = rows.map(
    ([, row]) => bins.events.values.subarray(row * bins.events.columns, (row + 1) * bins.events.columns),
  );
  return {
    type: "heatmap",
    x: Array.from(bins.edges),
    y: rows.map(([p]) => p),
    z,
    ygap: g.pitch > 12 ? Math.min(g.pitch * 0.4, 10) : 1,
    colorscale: heatScale(colours),
    zmin: 0,
    showscale: false,
    hoverinfo: "skip",
  };
}

/** @param {Scene} scene */
function layout({ g, colours, axis, unit, topology, dragging }) {
  const shown = topology.processes.slice(g.first, g.first + g.lanes);
  const every = g.pitch && g.pitch < 13 ? 2 : 1;
  const most = Math.max(3, Math.floor((g.left - 12) / 7.2)); // characters of a name
  const names = distinctNames(topology.processes.map(({ id }) => id), most).slice(g.first, g.first + g.lanes);
  return {
    ...baseLayout(colours, { l: g.left, r: g.right, t: g.top, b: g.bottom }),
    width: g.width,
    height: g.height,
    xaxis: timeAxis(colours, axis, unit, g.from, g.to, g.plotWidth),
    yaxis: plainAxis(colours, {
      range: laneRange(g),
      tickvals: shown.map((_, i) => g.first + i),
      ticktext: names.map((name, i) => (i % every ? "" : escapeText(name))),
      tickfont: {
        color: dragging ? colours.accent : colours.ink,
        size: g.pitch && g.pitch < 18 ? 10 : 12,
        weight: "bold",
      },
      ticks: "",
      showline: false,
    }),
  };
}

/** @param {Geometry} g */
function laneRange(g) {
  if (g.lanes === 1) return [g.first + 1, g.first - 1];
  const px = (g.plotBottom - g.top) / g.pitch;
  const pad = (px - (g.lanes - 1)) / 2;
  return [g.first + g.lanes - 1 + pad, g.first - pad];
}

/**
 * Makes the x axis, with ticks in the unit that fits the part in view.
 * @param {WorkbenchColours} colours @param {Axis} axis @param {string} unit @param {number} from @param {number} to
 * @param {number} width @param {Layout} [more]
 */
export function timeAxis(colours, axis, unit, from, to, width, more = {}) {
  const count = Math.max(3, Math.floor(width / 110));
  const values = ticks(from, to, count, true);
  const step = values.length > 1 ? values[1] - values[0] : to - from;
  const largest = Math.max(Math.abs(from), Math.abs(to));
  const [name, size] = unitFor(largest, unit);
  /** @param {number} value */
  const text = (value) => (axis === "order" || size === null ? thousands(value) : withoutUnit(value));
  return plainAxis(colours, {
    range: [from, to],
    tickvals: values,
    ticktext: values.map(text),
    ticklabeloverflow: "allow", // Plotly places the title below the numbers, and nowhere if it hides them all
    title: { text: axis === "order" ? "events that have happened" : `time (${name})`, font: { size: 12 }, standoff: 4 },
    ...more,
  });

  /** @param {number} value */
  function withoutUnit(value) {
    const scale = { ns: 1, us: 1e3, ms: 1e6, s: 1e9 }[unit] / size;
    const digits = Math.max(0, Math.min(6, Math.ceil(-Math.log10(step * scale) - 1e-9)));
    return (value * scale).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  }
}
