/** The drawing of a barrier front: the job's vertices with how far a checkpoint has come, and the edges between. */

import { counted, shortenedInside } from "../../../lib/format.js";
import { arrowHead, create, text, title } from "../../../lib/svg.js";
import { BOX, edgeLine, place, ports } from "../../dataflow/layout.js";

const NARROW = 640;
export const MOST_DRAWN = 100; // vertices
const LETTER = 7.7; // pixels of a bold letter
const GAUGE = { width: BOX.width - 28, height: 4 };

/**
 * Draws a poll on `root`.
 * @param {HTMLElement} root @param {FrontPoll} poll
 */
export function drawFront(root, poll) {
  if (poll.vertices.length > MOST_DRAWN || !poll.vertices.length) {
    root.replaceChildren(sentence(poll.vertices.length));
    return;
  }
  const down = root.clientWidth < NARROW;
  const flow = flowOf(poll);
  const layout = place(flow, { down });
  const wide = Math.max(layout.width, root.clientWidth - 2);
  const svg = create("svg", {
    viewBox: `${(layout.width - wide) / 2} 0 ${wide} ${layout.height}`,
    width: wide,
    height: layout.height,
    "aria-hidden": "true",
  });
  const sides = ports(flow.edges, layout, down);
  svg.append(
    arrowHead("arrow"),
    ...flow.edges.map((edge) => drawEdge(edge, layout, sides.get(edge.key), down)),
    ...poll.vertices.map((vertex) => drawVertex(vertex, layout.boxes.get(vertex.id))),
  );
  root.replaceChildren(svg);
}

/**
 * Returns a poll as a dataflow that can be laid out. Of several edges between two vertices one is drawn.
 * @param {FrontPoll} poll @returns {{ vertices: any[], edges: any[] } & Flow}
 */
export function flowOf({ vertices, edges }) {
  const pairs = new Map();
  for (const edge of edges) {
    const key = JSON.stringify([edge.source, edge.target]);
    pairs.set(key, { key, exchange: edge.ship, ...edge });
  }
  const keys = vertices.map(({ id }) => /** @type {any} */ ({ key: id }));
  return { name: "", nextKey: 0, vertices: keys, edges: [...pairs.values()] };
}

/** @param {any} edge @param {FlowLayout} layout @param {object} side @param {boolean} down */
function drawEdge(edge, layout, side, down) {
  const [from, to] = [layout.boxes.get(edge.source), layout.boxes.get(edge.target)];
  const { path } = edgeLine(from, to, { down, bends: layout.bends.get(edge.key), ...side });
  const name = edge.is_front ? "front-edge is-front" : "front-edge";
  return create("g", {}, create("path", { class: name, d: path, "marker-end": "url(#arrow)" }), title(edge.exchange));
}

/** @param {FrontVertex} vertex @param {Box} box */
function drawVertex(vertex, { x, y, width, height }) {
  const { name, status, role, reason, busy, back_pressured: pressed } = vertex;
  const room = Math.floor((width - 22) / LETTER);
  return create("g", { class: "front-vertex", "data-status": status, "data-role": role },
    create("rect", { class: "front-box", x, y, width, height, rx: 4 }),
    create("rect", { class: "front-state", x: x + 1, y: y + 1, width: 6, height: height - 2 }),
    text(shortenedInside(name, room), { class: "front-name", "text-anchor": "start", x: x + 14, y: y + 18 }),
    text(words(vertex), { class: "front-words", "text-anchor": "start", x: x + 14, y: y + 34 }),
    ...gauge(busy, "front-busy", x + 14, y + 40),
    ...gauge(pressed, "front-pressed", x + 14, y + 47),
    title(`${name}: ${status}. ${reason} ${loads(busy, pressed)}`));
}

/**
 * Returns the words on a vertex: its state, and how many of its subtasks have acknowledged.
 * @param {FrontVertex} vertex
 */
export function words({ status, acknowledged, parallelism }) {
  return `${acknowledged ?? "?"}/${parallelism ?? "?"} ${status}`;
}

/** @param {number | null} busy @param {number | null} pressed */
function loads(busy, pressed) {
  return `Busy: ${percent(busy)}; back-pressured: ${percent(pressed)}.`;
}

/** @param {number | null} share */
function percent(share) {
  return share === null ? "not known" : `${Math.round(share * 100)} %`;
}

/** @param {number | null} share @param {string} name @param {number} x @param {number} y */
function gauge(share, name, x, y) {
  if (share === null) return [];
  return [
    create("rect", { class: "front-gauge", x, y, ...GAUGE }),
    create("rect", { class: name, x, y, ...GAUGE, width: GAUGE.width * Math.min(1, share) }),
  ];
}

/** @param {number} count */
function sentence(count) {
  const element = document.createElement("p");
  element.className = "reserve";
  element.textContent = count
    ? `${counted(count, "vertex", "vertices")} are too many to draw, more than ${MOST_DRAWN}: read them in the table.`
    : "The engine named no vertex.";
  return element;
}
