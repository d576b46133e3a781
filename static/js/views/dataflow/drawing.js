/** The drawing of a dataflow: its vertices in layers, or unfolded to subtasks and channels. */

import { counted, shortened, thousands } from "../../lib/format.js";
import { layers, pipelines } from "../../lib/layers.js";
import { arrowHead, create, text, title } from "../../lib/svg.js";
import { chip, edgeLine, HEAD, place, ports, unfold } from "./layout.js";
import { role, width } from "./model.js";

const NARROW = 640;
const MOST_DRAWN = 200; // vertices

/**
 * Mounts the drawing on `root`.
 * @param {HTMLElement} root @param {FlowEditor} editor
 */
export function mountDrawing(root, editor) {
  const svg = create("svg", { class: "flow", role: "group", "aria-label": "Dataflow" });
  const scroll = document.createElement("div");
  scroll.className = "flow-scroll";
  scroll.append(svg);
  const words = document.createElement("p");
  words.className = "flow-words soft small";
  root.replaceChildren(scroll, words);

  new ResizeObserver(() => {
    if (root.clientWidth && root.clientWidth !== Number(svg.dataset.for)) show();
  }).observe(root);

  function show() {
    const dataflow = editor.now();
    const focused = document.activeElement?.closest?.(".flow-vertex")?.dataset.key;
    const tooMany = dataflow.vertices.length > MOST_DRAWN;
    const { length } = dataflow.vertices;
    words.textContent = tooMany
      ? `${length} vertices are too many to draw (the most is ${MOST_DRAWN}): read them in the tables.`
      : "";
    svg.toggleAttribute("hidden", tooMany);
    if (tooMany) return;
    const down = root.clientWidth < NARROW;
    const unfolded = editor.unfolded() ? unfold(dataflow) : null;
    const layout = place(dataflow, { unfolded, down });
    const wide = Math.max(layout.width, root.clientWidth - 2);
    svg.dataset.for = root.clientWidth;
    svg.classList.toggle("is-apart", layout.pipelines.length > 1);
    svg.setAttribute("viewBox", `${(layout.width - wide) / 2} 0 ${wide} ${layout.height}`);
    svg.setAttribute("width", wide);
    svg.setAttribute("height", layout.height);
    const draw = { dataflow, layout, unfolded, down, edges: linked(dataflow) };
    svg.replaceChildren(
      arrowHead("arrow"),
      arrowHead("arrow-selected"),
      ...(layout.pipelines.length > 1 ? layout.pipelines.map(pipeline) : []),
      ...dataflow.vertices.map((vertex) => drawVertex(vertex, draw)),
      ...(unfolded ? [...channelLines(draw), ...dataflow.vertices.map((vertex) => chips(vertex, draw))] : []),
      ...edgeGroups(draw),
    );
    if (focused) svg.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
    words.textContent = summary(dataflow, unfolded);
  }

  /** @param {Box} area @param {number} order */
  function pipeline(area, order) {
    const { x, y, width: wide, height } = area;
    return create("g", { class: "flow-pipeline" },
      create("rect", { x, y, width: wide, height, rx: 6 }),
      text(`pipeline ${order + 1}`, { x: x + 12, y: y + 20, "text-anchor": "start" }));
  }

  /** @param {FlowVertex} vertex @param {FlowScene} scene */
  function drawVertex(vertex, { layout, unfolded, down }) {
    const box = layout.boxes.get(vertex.key);
    const { x, y } = box;
    const group = create("g", {
      class: "flow-vertex",
      "data-key": vertex.key,
      "data-kind": vertex.kind,
      "aria-pressed": editor.selected() === vertex.key,
      tabindex: "0",
      role: "button",
      "aria-label": `${vertex.id || "without id"}, ${role(vertex)}, ${counted(width(vertex), "subtask")}`,
    });
    const count = `×${thousands(width(vertex))}`;
    const head = unfolded && down ? HEAD.down : box.width;
    const room = Math.floor((head - 32 - 9 * count.length) / 8.6);
    group.append(
      create("rect", { x, y, width: box.width, height: box.height, rx: 4, class: "flow-box" }),
      create("rect", { x: x + 1, y: y + 1, width: 4, height: box.height - 2, class: "flow-kind" }),
      text(shortened(vertex.id, room), { x: x + 14, y: y + 22, "text-anchor": "start", class: "flow-id" }),
      text(count, { x: x + head - 10, y: y + 22, "text-anchor": "end", class: "flow-count" }),
      text(role(vertex), { x: x + 14, y: y + 39, "text-anchor": "start", class: "flow-role" }),
      title(`${vertex.id}: ${role(vertex)}, ${counted(width(vertex), "subtask")}`),
    );
    group.addEventListener("click", () => editor.focusRow(vertex.key));
    group.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      editor.focusRow(vertex.key);
    });
    return group;
  }

  /**
   * Draws the subtasks of a vertex, over the lines of their channels.
   * @param {FlowVertex} vertex @param {FlowScene} scene
   */
  function chips(vertex, { layout, unfolded, down }) {
    const [shown, all] = [unfolded.shown.get(vertex.key), unfolded.widths.get(vertex.key)];
    /** @param {number} index */
    const at = (index) => chip(layout.boxes.get(vertex.key), index, down);
    const group = create("g", { class: "flow-chips" });
    group.addEventListener("click", () => editor.focusRow(vertex.key));
    const drawn = Array.from({ length: shown }, (_, index) => {
      const { x, y, width: wide, height } = at(index);
      return create("g", { class: "flow-chip" },
        create("rect", { x, y, width: wide, height, rx: 3 }),
        text(`[${index}]`, { x: x + wide / 2, y: y + 15 }),
        title(`${vertex.id}[${index}]`));
    });
    group.append(...drawn);
    if (shown === all) return group;
    const { x, y, width: wide } = at(shown);
    group.append(text(`+${thousands(all - shown)}`, { x: x + wide / 2, y: y + 15, class: "flow-more" }));
    return group;
  }

  /** @param {FlowScene} scene */
  function channelLines({ layout, unfolded, down }) {
    /** @param {string} key @param {number} index */
    const spot = (key, index) => chip(layout.boxes.get(key), index, down);
    return unfolded.channels.map(({ edge, source, target }) => {
      const [from, to] = [spot(edge.source, source), spot(edge.target, target)];
      const { path } = edgeLine(from, to, { down, bends: layout.bends.get(edge.key), arrow: 0 });
      return create("path", { class: "flow-channel", "data-edge": edge.key, d: path });
    });
  }

  /**
   * Draws each edge with its exchange. Unfolded, the channels are drawn instead of the edge's line.
   * @param {FlowScene} scene
   */
  function edgeGroups({ layout, unfolded, down, edges }) {
    const sides = ports(edges, layout, down);
    return edges.map((edge) => {
      const from = layout.boxes.get(edge.source);
      const to = layout.boxes.get(edge.target);
      const { path, middle } = edgeLine(from, to, { down, bends: layout.bends.get(edge.key), ...sides.get(edge.key) });
      const chosen = editor.selected() === edge.key;
      const group = create("g", { class: chosen ? "flow-edge is-selected" : "flow-edge", "data-key": edge.key });
      if (!unfolded) group.append(create("path", { d: path, "marker-end": `url(#arrow${chosen ? "-selected" : ""})` }));
      const spot = unfolded ? besideChannels(edge, layout, down) : { x: middle.x, y: middle.y + (down ? 4 : -6) };
      group.append(text(edge.exchange, { ...spot, class: "flow-exchange" }));
      group.addEventListener("click", () => editor.focusRow(edge.key));
      return group;
    });
  }

  return { show };
}

/**
 * Returns where the exchange of an unfolded edge is written: above its first channels, or below its source.
 * @param {FlowEdge} edge @param {FlowLayout} layout @param {boolean} down
 */
function besideChannels({ key, source, target }, { boxes, bends }, down) {
  const from = boxes.get(source);
  if (down) return { x: from.x + 14, y: from.y + from.height + 22, "text-anchor": "start" };
  const [first, to] = [chip(from, 0, down), bends.get(key)?.[0] ?? chip(boxes.get(target), 0, down)];
  return { x: (first.x + to.x + first.width) / 2, y: (first.y + to.y) / 2 };
}

/**
 * Returns the edges that join two different vertices.
 * @param {Flow} dataflow @returns {FlowEdge[]}
 */
function linked({ vertices, edges }) {
  const keys = new Set(vertices.map(({ key }) => key));
  return edges.filter(({ source, target }) => keys.has(source) && keys.has(target) && source !== target);
}

/**
 * Says in words what the drawing shows, and what it leaves out.
 * @param {Flow} dataflow @param {Unfolded | null} unfolded
 */
function summary(dataflow, unfolded) {
  if (dataflow.vertices.length === 0) return "No vertex yet: add one in the table below.";
  const groups = pipelines(dataflow).length;
  const { subtaskTotal, channelTotal, shown, channels } = unfolded ?? unfold(dataflow);
  const counts = [
    counted(layers(dataflow).length, "layer"),
    counted(groups, "pipeline"),
    counted(subtaskTotal, "subtask"),
    counted(channelTotal, "channel"),
  ];
  const words = `${counts.join(", ")}.`;
  const drawn = [...shown.values()].reduce((total, number) => total + number, 0);
  if (!unfolded || (drawn === subtaskTotal && channels.length === channelTotal)) return words;
  const hidden = [counted(subtaskTotal - drawn, "subtask"), counted(channelTotal - channels.length, "channel")];
  return `${words} ${hidden.join(" and ")} are not drawn.`;
}
