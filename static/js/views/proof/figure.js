/** One order of a run as a Plotly figure: a lane per process, a column per event. Pure. */

import { axisLine, figureLayout, quietAxis, verticalLine } from "../../lib/figure-style.js";
import { escapeText, shortened, thousands, ticks } from "../../lib/format.js";
import { messagesOf } from "../../lib/reordering.js";

const MOST_NAMED = 60; // events that can be named in a chart's width
const NARROW = 500; // pixels
const LONGEST_NAME = 16; // characters
const TICK = 60; // pixels from one tick to the next

/**
 * Makes the figure of one order of a run's events.
 *
 * order: indexes of proof.events. state: the number of events before the recorded state, null if it is not drawn.
 * next: the swap to come, or null.
 * @param {ProofPayload} proof @param {string[]} lanes @param {number[]} order
 * @param {{ colours: Colours, width: number, state?: number | null, next?: Swap | null }} options @returns {Figure}
 */
export function orderFigure(proof, lanes, order, { colours, width, state = null, next = null }) {
  const column = new Map(order.map((place, at) => [place, at + 1]));
  const lane = new Map(lanes.map((process, row) => [process, row]));
  const count = order.length;
  const named = count <= MOST_NAMED && (width > NARROW || count <= 20);
  const data = [
    ...messageLines(proof, { column, lane, count, colours }),
    dots(proof, { column, lane, colours, pre: true, named }),
    dots(proof, { column, lane, colours, pre: false, named }),
    ...(next ? [ring(proof, next, { column, lane, colours })] : []),
  ].filter(({ x }) => x.length);
  return { data, layout: layout({ lanes, count, colours, state, width }) };
}

/** @param {ProofPayload} proof @param {OrderPlaces} places @returns {Trace[]} */
function messageLines(proof, { column, lane, count, colours }) {
  /** @type {Record<"inside" | "across", (number | null)[][]>} */
  const lines = { inside: [[], []], across: [[], []] };
  for (const { sent, received } of messagesOf(proof.events)) {
    const [from, to] = [sent === null ? null : proof.events[sent], received === null ? null : proof.events[received]];
    const [x, y] = sent !== null && received !== null ? lines.inside : lines.across;
    const row = lane.get((from ?? to).process);
    x.push(from ? column.get(sent) : 0.4, to ? column.get(received) : count + 0.6, null);
    y.push(from ? row : row - 0.3, to ? lane.get(to.process) : row + 0.3, null);
  }
  /** @param {number[][]} points @param {string} dash */
  const line = (/** @type {number[][]} */ [x, y], dash) => {
    const look = { color: colours("message"), width: 1.5, dash };
    return { type: "scatter", mode: "lines", x, y, line: look, hoverinfo: "skip" };
  };
  return [line(lines.inside, "solid"), line(lines.across, "dot")];
}

/** @param {ProofPayload} proof @param {OrderPlaces} places @returns {Trace} */
function dots(proof, { column, lane, colours, pre, named }) {
  const chosen = [...column].filter(([place]) => Boolean(proof.events[place].prerecording) === pre);
  const events = chosen.map(([place]) => proof.events[place]);
  return {
    type: "scatter",
    mode: named ? "markers+text" : "markers",
    x: chosen.map(([, at]) => at),
    y: events.map(({ process }) => lane.get(process)),
    text: chosen.map(([place]) => `e${place}`),
    textposition: "top center",
    textfont: { color: colours(pre ? "text" : "text-soft"), size: 12 },
    hovertext: chosen.map(([place], i) => {
      const { kind, message, label } = events[i];
      return `e${place}: ${kind} ${escapeText(message ?? label ?? "")}<br>${pre ? "prerecording" : "postrecording"}`;
    }),
    hoverinfo: "text",
    marker: {
      size: column.size > 400 ? 5 : 10,
      symbol: pre ? "circle" : "circle-open",
      color: colours(pre ? "cut" : "message"),
      line: { width: 2, color: colours(pre ? "cut" : "message") },
    },
  };
}

/**
 * Marks the two events of a swap.
 * @param {ProofPayload} proof @param {Swap} swap @param {OrderPlaces} places @returns {Trace}
 */
function ring(proof, { mover, passed }, { column, lane, colours }) {
  const both = [passed, mover];
  return {
    type: "scatter",
    mode: "markers",
    x: both.map((place) => column.get(place)),
    y: both.map((place) => lane.get(proof.events[place].process)),
    marker: { size: 22, symbol: "circle-open", color: colours("marker"), line: { width: 2 } },
    hoverinfo: "skip",
  };
}

/** @param {{ lanes: string[], count: number, colours: Colours, state: number | null, width: number }} options */
function layout({ lanes, count, colours, state, width }) {
  const names = lanes.map((name) => shortened(name, LONGEST_NAME));
  const left = 16 + 8 * Math.max(0, ...names.map(({ length }) => length));
  const tickvals = ticks(1, count, Math.max(2, Math.floor((width - left) / TICK)), true);
  const label = {
    x: state + 0.5,
    y: 1,
    yref: "paper",
    yanchor: "bottom",
    xanchor: state < count / 2 ? "left" : "right",
    text: "recorded state",
    showarrow: false,
    font: { color: colours("recorded"), weight: "bold" },
  };
  return {
    ...figureLayout(colours),
    margin: { l: left, r: 16, t: 28, b: 44 },
    showlegend: false,
    hovermode: "closest",
    xaxis: {
      ...quietAxis(colours),
      ...axisLine(colours),
      fixedrange: true,
      range: [0.3, count + 0.7],
      showgrid: false,
      title: { text: "events, in this order", standoff: 4, font: { size: 12 } },
      tickvals,
      ticktext: tickvals.map(thousands),
    },
    yaxis: {
      ...quietAxis(colours),
      fixedrange: true,
      range: [lanes.length - 0.4, -0.7],
      gridcolor: colours("lane"),
      tickvals: names.map((_, row) => row),
      ticktext: names.map(escapeText),
      tickfont: { color: colours("text-soft"), weight: "bold" },
    },
    shapes: state === null ? [] : [verticalLine(state + 0.5, { color: colours("recorded"), width: 2 })],
    annotations: state === null ? [] : [label],
  };
}
