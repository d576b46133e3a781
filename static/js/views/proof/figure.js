/** One order of a run as a Plotly figure: a lane per process, a column per event. Pure. */

import { escapeText } from "../../lib/format.js";
import { messagesOf } from "../../lib/reordering.js";

const MOST_NAMED = 60; // events that can be named in a chart's width
const NARROW = 500;

/**
 * {data, layout}. order: places of proof.events as it was. middle: number of events before the recorded state, or
 * null. occurredAfter: the same for the run as it was. next: the swap to come, or null. colours(name) gives a colour.
 */
export function orderFigure(proof, lanes, order, { colours, width, middle = null, occurredAfter = null, next = null }) {
  const column = new Map(order.map((place, at) => [place, at + 1]));
  const lane = new Map(lanes.map((process, row) => [process, row]));
  const count = order.length;
  const data = [
    ...messageLines(proof, { column, lane, count, colours }),
    dots(proof, { column, lane, colours, pre: true, named: count <= MOST_NAMED && (width > NARROW || count <= 20) }),
    dots(proof, { column, lane, colours, pre: false, named: count <= MOST_NAMED && (width > NARROW || count <= 20) }),
    ...(next ? [ring(proof, next, { column, lane, colours })] : []),
  ].filter(({ x }) => x.length);
  return { data, layout: layout({ lanes, count, colours, middle, occurredAfter, width }) };
}

function messageLines(proof, { column, lane, count, colours }) {
  const lines = { inside: [[], []], across: [[], []] };
  for (const { sent, received } of messagesOf(proof.events)) {
    const [from, to] = [sent === null ? null : proof.events[sent], received === null ? null : proof.events[received]];
    const [x, y] = sent !== null && received !== null ? lines.inside : lines.across;
    const here = lane.get((from ?? to).process);
    x.push(from ? column.get(sent) : 0.4, to ? column.get(received) : count + 0.6, null);
    y.push(from ? here : here - 0.3, to ? lane.get(to.process) : here + 0.3, null);
  }
  const line = (/** @type {any[]} */ [x, y], dash) => (
    { type: "scatter", mode: "lines", x, y, line: { color: colours("message"), width: 1.5, dash }, hoverinfo: "skip" }
  );
  return [line(lines.inside, "solid"), line(lines.across, "dot")];
}

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

function layout({ lanes, count, colours, middle, occurredAfter, width }) {
  const stands = middle ?? occurredAfter;
  const axis = { zeroline: false, color: colours("text-soft"), fixedrange: true };
  const wall = stands === null
    ? []
    : [
      {
        type: "line",
        yref: "paper",
        y0: 0,
        y1: 1,
        x0: stands + 0.5,
        x1: stands + 0.5,
        line: { color: colours("recorded"), width: 2 },
      },
    ];
  const label = stands === null
    ? []
    : [
      {
        x: stands + 0.5,
        y: 1,
        yref: "paper",
        yanchor: "bottom",
        xanchor: stands < count / 2 ? "left" : "right",
        text: "<b>recorded state</b>",
        showarrow: false,
        font: { color: colours("recorded") },
      },
    ];
  return {
    autosize: true,
    margin: { l: 16, r: 16, t: 28, b: 40 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 12, color: colours("text") },
    showlegend: false,
    hovermode: "closest",
    xaxis: {
      ...axis,
      range: [0.3, count + 0.7],
      showgrid: false,
      title: { text: "events, in this order" },
      nticks: Math.max(2, Math.min(count, Math.floor(width / 60))),
      tickformat: ",d",
    },
    yaxis: {
      ...axis,
      automargin: true,
      range: [lanes.length - 0.4, -0.7],
      gridcolor: colours("lane"),
      tickvals: lanes.map((_, row) => row),
      ticktext: lanes.map((name) => `<b>${escapeText(shortened(name))}</b>`),
    },
    shapes: wall,
    annotations: label,
  };
}

function shortened(name) {
  const letters = [...name];
  return letters.length > 16 ? `${letters.slice(0, 15).join("")}…` : name;
}
