/** The still half of the space-time diagram: lanes, messages, markers, events and cuts, as Plotly traces. */

import { escapeText, thousands } from "../../lib/format.js";
import { distinctNames } from "../../lib/labels.js";
import { eventRow, IN_FLIGHT } from "../../lib/window.js";
import { faded, heatScale } from "./colours.js";
import { bands, signals } from "./control.js";
import { crossing, densityOf, isDense } from "./density.js";
import { handleX, isStub, slotsOf, STUB_WIDTH } from "./geometry.js";
import { baseLayout, plainAxis } from "./panel.js";
import { foldText, timeAxis } from "./time-axis.js";
import { witnessNotes, witnessTraces } from "./witness-marks.js";

const MANY = 400; // messages, markers or events from which on they are drawn lighter
const NEVER = 0.6; // share of the way to its target to which a message that never arrives is drawn
const DENSITY_BINS = 200;
const NAME = 13; // pixels from the name of a lane to the next
const FOLD_LABEL = 7; // pixels from the top of the plot to the middle of a fold's label

/**
 * Makes the figure of a scene.
 * @param {Scene} scene @returns {Figure}
 */
export function stillFigure(scene) {
  const { window } = scene;
  /** @type {Trace[]} */
  const data = [...folds(scene), lanes(scene), ...pinnedEdge(scene)];
  if (window?.exact) data.push(...density(scene), ...bands(scene), ...messages(scene));
  else if (window?.bins) data.push(heat(scene), ...bands(scene));
  if (window) {
    data.push(...markers(scene), ...signals(scene), ...events(scene));
    const cut = cutLine(scene);
    data.push(...witnessTraces(scene, laneRange(scene.g), cut));
    return { data, layout: { ...layout(scene), annotations: witnessNotes(scene, cut.at(-1)) } };
  }
  return { data, layout: layout(scene) };
}

/** @param {Scene} scene */
function lanes({ g, colours, bounds }) {
  const { u, span, from, to } = g.scale;
  const ends = [Math.max(u(bounds.from), u(from) - span), Math.min(u(bounds.to), u(to) + span)];
  const { x, y } = lineSet();
  for (let slot = 0; slot < g.lanes; slot += 1) {
    x.push(...ends, null);
    y.push(slot, slot, null);
  }
  return line(x, y, colours.rule, 1);
}

/**
 * Draws the line below the pinned lanes.
 * @param {Scene} scene @returns {Trace[]}
 */
function pinnedEdge({ g, colours }) {
  const { u, span, from } = g.scale;
  const y = g.pinned - 0.5;
  return g.pinned && g.pinned < g.lanes ? [line([u(from), u(from) + span], [y, y], colours.line, 2)] : [];
}

/**
 * Draws the folds as bands that say how long they are.
 * @param {Scene} scene @returns {Trace[]}
 */
function folds({ g, colours, axis, unit }) {
  if (!g.scale.folds.length) return [];
  const [bottom, top] = laneRange(g);
  const band = lineSet();
  for (const { begin, end } of g.scale.folds) {
    band.x.push(begin, begin, end, end, begin, null);
    band.y.push(bottom, top, top, bottom, bottom, null);
  }
  const fill = { fill: "toself", fillcolor: faded(colours.rule, 0.35) };
  const at = top + ((bottom - top) * FOLD_LABEL) / Math.max(g.plotBottom - g.top, 1);
  return [
    { ...line(band.x, band.y, colours.rule, 0), ...fill },
    {
      type: "scatter",
      mode: "text",
      x: g.scale.folds.map(({ begin, end }) => (begin + end) / 2),
      y: g.scale.folds.map(() => at),
      text: g.scale.folds.map((fold) => foldText(fold, axis, unit)),
      textposition: "middle center",
      textfont: { size: 11, color: colours.ink },
      hoverinfo: "skip",
    },
  ];
}

/**
 * Draws how many events happen when on the lanes of closed groups, where single events would hide each other.
 * @param {Scene} scene @returns {Trace[]}
 */
function density({ window, colours, g }) {
  if (!g.rows.some(isGroup)) return [];
  const { u, span, from } = g.scale;
  const rows = g.rows.map(() => new Float64Array(DENSITY_BINS));
  for (let row = 0; row < window.events.count; row += 1) {
    const slot = g.slot(window.events.process[row]);
    if (!(slot >= 0 && slot < g.lanes) || !isGroup(g.rows[slot])) continue;
    const share = (u(window.events.x[row]) - u(from)) / span;
    if (share >= 0 && share <= 1) rows[slot][Math.min(Math.floor(share * DENSITY_BINS), DENSITY_BINS - 1)] += 1;
  }
  const edges = Array.from({ length: DENSITY_BINS + 1 }, (_, i) => u(from) + (span * i) / DENSITY_BINS);
  return [heatMap(edges, rows, colours, g)];
}

/** @param {LaneRow} row */
function isGroup({ processes }) {
  return processes.length > 1;
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
 * Draws messages in five kinds of lines: before the cut, after it, in flight across it, orphans, never received. Of a
 * dense window only those that cross the cut are lines, above the density of all.
 * @param {Scene} scene @returns {Trace[]}
 */
function messages(scene) {
  const { window, colours, positions } = scene;
  const { across: flight, wrong: orphans } = crossing(window, positions);
  const [before, after, across, wrong, never] = [lineSet(), lineSet(), lineSet(), lineSet(), lineSet()];
  const isOnlyCrossing = isDense(scene);
  for (let row = 0; row < window.messages.count; row += 1) {
    if (isOnlyCrossing && !orphans.has(row) && !flight.has(row)) continue;
    const set = orphans.has(row) ? wrong : flight.has(row) ? across : isAfter(scene, row) ? after : before;
    addLine(scene, window.messages, row, window.messages.received_index[row] === IN_FLIGHT ? never : set);
  }
  const thin = window.messages.count > MANY ? 0.7 : 1.2;
  const lines = [
    line(after.x, after.y, faded(colours.message, 0.55), thin),
    line(before.x, before.y, faded(colours.message, thin < 1 ? 0.8 : 1), thin),
    line(never.x, never.y, faded(colours.message, 0.8), 1.5, "dot"),
    line(across.x, across.y, colours.flight, flight.size > MANY ? 1 : isOnlyCrossing ? 1.5 : 2.5),
    line(wrong.x, wrong.y, colours.orphan, 2, "dash"),
  ].filter((trace) => trace.x.length);
  return isOnlyCrossing ? [densityOf(scene), ...lines] : lines;
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

/**
 * Adds the line of a message or marker, from or to a hidden lane only a stub. Returns whether its end was added.
 * @param {Scene} scene @param {OpenFlights} table @param {number} row @param {LineSet} set
 */
function addLine({ topology, window, g }, table, row, set) {
  const channel = topology.channels[table.channel[row]];
  const slots = slotsOf(channel, g);
  if (!slots) return false;
  const hasArrived = table.received_index[row] !== IN_FLIGHT;
  const [source, target] = slots;
  const [sent, end] = [table.sentX[row], hasArrived ? table.receivedX[row] : window.to].map(g.scale.u);
  const reach = STUB_WIDTH * g.perPixel;
  if (!isStub(channel, g)) {
    set.x.push(sent, end, null);
    set.y.push(source, hasArrived ? target : source + (target - source) * NEVER, null);
    return true;
  }
  const isSent = Number.isNaN(g.slot(channel.targetCode));
  if (!isSent && !hasArrived) return false;
  set.x.push(isSent ? sent : Math.max(sent, end - reach), isSent ? Math.min(end, sent + reach) : end, null);
  set.y.push(source, target, null);
  return !isSent;
}

/** @param {Scene} scene @returns {Trace[]} */
function markers(scene) {
  const { window, colours, snapshot } = scene;
  const [chosen, others, ends] = [lineSet(), lineSet(), lineSet()];
  for (let row = 0; row < window.markers.count; row += 1) {
    const isChosen = snapshot === null || window.snapshots[window.markers.snapshot[row]] === snapshot;
    if (!isChosen && !window.exact) continue;
    const hasEnd = addLine(scene, window.markers, row, isChosen ? chosen : others);
    if (hasEnd && isChosen) push(ends.x, ends.y, chosen.x.at(-2), chosen.y.at(-2));
  }
  const many = window.markers.count > MANY;
  return [
    line(others.x, others.y, faded(colours.marker, isDense(scene) ? 0.15 : 0.35), 1),
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

const CROWDED = new Set(["event", "control"]); // what the density of a closed group shows

/** @param {Scene} scene @returns {Trace[]} */
function events({ window, colours, snapshot, g }) {
  const places = new Map();
  for (let row = 0; row < window.events.count; row += 1) {
    const isChosen = snapshot === null || window.snapshots[window.events.snapshot[row]] === snapshot;
    const key = lookOf(window.kinds[window.events.kind[row]], isChosen);
    const slot = g.slot(window.events.process[row]);
    if (Number.isNaN(slot) || (g.rows[slot] && isGroup(g.rows[slot]) && CROWDED.has(key))) continue;
    if (!places.has(key)) places.set(key, lineSet());
    push(places.get(key).x, places.get(key).y, g.scale.u(window.events.x[row]), slot);
  }
  const size = g.pitch && g.pitch < 24 ? Math.min(4, Math.max(2, g.pitch - 2)) : 6;
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
  g.rows.forEach(({ processes }, slot) => {
    const places = processes.map((p) => cutX(scene, p)).filter((place) => place !== null);
    if (!places.length) {
      const isOtherScope = scene.topology.processes[processes[0]].scope !== scope;
      if (isOtherScope && x.length) push(x, y, null, null); // the line does not cross lanes of other scopes
      return;
    }
    const [first, last] = [Math.min(...places), Math.max(...places)];
    if (slot === 0) push(x, y, first, slot - 0.4);
    push(x, y, first, slot);
    if (last !== first) push(x, y, last, slot); // a closed group from its first to its last process
    if (slot === g.lanes - 1) push(x, y, last, slot + 0.4);
  });
  return x.length ? [...pastOf(x, y, scene), line(x, y, colours.accent, 2)] : [];
}

/**
 * Fills what lies before a cut that crosses all lanes.
 * @param {(number | null)[]} x @param {(number | null)[]} y @param {Scene} scene @returns {Trace[]}
 */
function pastOf(x, y, { g, colours }) {
  if (x.includes(null)) return [];
  const left = g.scale.u(g.from) - g.scale.span;
  const edge = line([left, ...x, left], [y[0], ...y, y.at(-1)], colours.accent, 0);
  return [{ ...edge, fill: "toself", fillcolor: faded(colours.accent, 0.07) }];
}

/** @param {(number | null)[]} x @param {(number | null)[]} y @param {number | null} a @param {number | null} b */
function push(x, y, a, b) {
  x.push(a);
  y.push(b);
}

/**
 * Returns where the chosen cut crosses the lane of process `p`, on the scale's u, or null if it is not known.
 * @param {Scene} scene @param {number} p @returns {number | null}
 */
export function cutX({ window, g, positions, recordedAt, topology }, p) {
  if (!positions || positions[p] < 0) return null;
  const { u, span, from, to } = g.scale;
  if (window?.exact) {
    const place = handleX(window, p, positions[p], g.perPixel * 8, u);
    return Math.max(u(from) - span, Math.min(u(to) + span, place));
  }
  const row = window ? eventRow(window, p, positions[p]) : -1; // a window of bins still holds records
  const at = row >= 0 ? window.events.x[row] : recordedAt?.[topology.processes[p].id] ?? null;
  return at === null ? null : u(at);
}

/** @param {Scene} scene @returns {Trace} */
function heat({ window, colours, g }) {
  const { edges, events: { columns, values }, processes } = window.bins;
  const rows = g.rows.map(() => new Float64Array(columns));
  processes.forEach((p, row) => {
    if (!g.shows(p)) return;
    const sums = rows[g.slot(p)];
    for (let bin = 0; bin < columns; bin += 1) sums[bin] += values[row * columns + bin];
  });
  return heatMap(Array.from(edges, g.scale.u), rows, colours, g);
}

/**
 * Makes a heat map with a row for each lane in view. `x` are the edges of its bins, in u.
 * @param {number[]} x @param {Float64Array[]} z @param {WorkbenchColours} colours @param {Geometry} g @returns {Trace}
 */
function heatMap(x, z, colours, g) {
  return {
    type: "heatmap",
    x,
    y: z.map((_, slot) => slot),
    z,
    ygap: g.pitch > 12 ? Math.min(g.pitch * 0.4, 10) : 1,
    colorscale: heatScale(colours),
    zmin: 0,
    showscale: false,
    hoverinfo: "skip",
  };
}

/** @param {Scene} scene */
function layout(scene) {
  const { g, colours, axis, unit, arrangement, dragging } = scene;
  const every = g.pitch ? Math.ceil(NAME / g.pitch) : 1;
  const most = Math.max(3, Math.floor((g.left - 12) / 7.2)); // characters of a name
  const short = shortNames(arrangement.rows, most);
  return {
    ...baseLayout(colours, { l: g.left, r: g.right, t: g.top, b: g.bottom }),
    width: g.width,
    height: g.height,
    xaxis: timeAxis(colours, axis, unit, g.scale, g.plotWidth),
    yaxis: plainAxis(colours, {
      range: laneRange(g),
      tickvals: g.rows.map((_, slot) => slot),
      ticktext: g.rows.map((row, i) => (i % every ? "" : escapeText(short.get(row)))),
      tickfont: {
        color: dragging ? colours.accent : colours.ink,
        size: g.pitch && g.pitch * every < 18 ? 10 : 12,
        weight: "bold",
      },
      ticks: "",
      showline: false,
    }),
  };
}

/** @type {WeakMap<LaneRow[], Map<number, Map<LaneRow, string>>>} */
const shortened = new WeakMap();

/**
 * Returns the short names of all lanes, which are the same wherever one has scrolled to.
 * @param {LaneRow[]} rows @param {number} most
 */
function shortNames(rows, most) {
  if (!shortened.has(rows)) shortened.set(rows, new Map());
  const kept = shortened.get(rows);
  if (!kept.has(most)) {
    const names = distinctNames(rows.map(laneTitle), most);
    kept.set(most, new Map(rows.map((row, i) => [row, names[i]])));
  }
  return kept.get(most);
}

/**
 * Returns the name of a lane; that of a closed group ends with the number of its processes.
 * @param {LaneRow} row
 */
export function laneTitle({ name, group, processes }) {
  return processes.length > 1 ? `${group} ×${thousands(processes.length)}` : name;
}

/** @param {Geometry} g */
function laneRange(g) {
  if (g.lanes <= 1) return [1, -1];
  const px = (g.plotBottom - g.top) / g.pitch;
  const pad = (px - (g.lanes - 1)) / 2;
  return [g.lanes - 1 + pad, -pad];
}
