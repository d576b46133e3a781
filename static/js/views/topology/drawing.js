/** The drawing of the topology editor, an SVG that pointer and keyboard change. */

import { shortened, valueText } from "../../lib/format.js";
import { arrowHead, create, text, title } from "../../lib/svg.js";
import { channelPath, point, processAt, RADIUS, sizeFor, toPlace } from "./geometry.js";
import { channelBetween, channelId, processIds, readState } from "./model.js";

const STEP = 0.02; // share of the drawing by which an arrow key moves a process
const CLICK = 4; // pixels that a press may move and still be a click
const DOUBLE = { time: 350, reach: 24 }; // ms and pixels between two taps that count as one
const MOST_DRAWN = 300;

/**
 * Mounts the drawing on `root`.
 * @param {HTMLElement} root @param {TopologyEditor} editor
 */
export function mountDrawing(root, editor) {
  const svg = create("svg", {
    class: "drawing",
    role: "group",
    "aria-label": "Topology",
    tabindex: "0",
  });
  svg.append(arrowHead("arrow"), arrowHead("arrow-selected"));
  const lines = svg.appendChild(create("g", { class: "drawing-channels" }));
  const draft = svg.appendChild(create("path", { class: "drawing-draft", "marker-end": "url(#arrow)" }));
  const nodes = svg.appendChild(create("g", { class: "drawing-processes" }));
  const hint = document.createElement("p");
  hint.className = "drawing-hint soft small";
  root.replaceChildren(svg, hint);

  /** @type {any} */
  let gesture = null;
  let size = sizeFor(root.clientWidth || 640);
  let tap = { x: 0, y: 0, time: -Infinity };
  let doubleTapAt = -Infinity;
  new ResizeObserver(() => {
    if (!root.clientWidth || root.clientWidth === size.width) return;
    size = sizeFor(root.clientWidth);
    show();
  }).observe(root);

  function show() {
    const topology = editor.now();
    const tooMany = topology.processes.length > MOST_DRAWN;
    svg.toggleAttribute("hidden", tooMany);
    hint.textContent = tooMany
      ? `${topology.processes.length} processes are too many to draw (the most is ${MOST_DRAWN}): ` +
        "edit them in the tables or as text."
      : hintFor(editor, topology);
    if (tooMany) return;
    const focused = document.activeElement?.dataset?.key;
    svg.dataset.tool = editor.tool();
    svg.setAttribute("viewBox", `0 0 ${size.width} ${size.height}`);
    svg.style.height = `${size.height}px`;
    drawChannels(topology);
    drawProcesses(topology);
    if (focused) nodes.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
  }

  /** @param {EditedTopology} topology */
  function drawChannels(topology) {
    const processOf = new Map(topology.processes.map((process) => [process.key, process]));
    const idOf = processIds(topology);
    lines.replaceChildren(
      ...topology.channels.flatMap((channel) => {
        const from = processOf.get(channel.source);
        const to = processOf.get(channel.target);
        if (!from || !to || from === to) return [];
        const bowed = channelBetween(topology, to.key, from.key) !== undefined;
        const selected = editor.selected() === channel.key;
        const group = create("g", {
          class: selected ? "drawing-channel is-selected" : "drawing-channel",
          "data-key": channel.key,
        });
        const path = channelPath(from, to, bowed, size);
        group.append(
          create("path", { d: path, class: "drawing-reach" }),
          create("path", {
            d: path,
            class: channel.fifo ? "drawing-line" : "drawing-line is-unordered",
            "marker-end": `url(#arrow${selected ? "-selected" : ""})`,
          }),
          title(channelId(topology, channel, idOf) + (channel.fifo ? "" : " (not FIFO)")),
        );
        return [group];
      }),
    );
  }

  /** @param {EditedTopology} topology */
  function drawProcesses(topology) {
    if (topology.processes.length === 0) {
      const middle = { x: size.width / 2, y: size.height / 2, class: "drawing-empty" };
      const words = touched("Double-click here to add a process, or press p.", "Double-tap here to add a process.");
      nodes.replaceChildren(text(words, middle));
      return;
    }
    nodes.replaceChildren(
      ...topology.processes.map((process) => {
        const { x, y } = point(process, size);
        const state = stateWords(process.state);
        const group = create("g", {
          class: "drawing-process",
          transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`,
          tabindex: "0",
          role: "button",
          "data-key": process.key,
          "aria-pressed": editor.selected() === process.key,
          "aria-label": `Process ${process.id || "without id"}${state ? `, starts with ${state}` : ""}`,
        });
        if (editor.channelFrom() === process.key) group.classList.add("is-source");
        group.append(
          create("circle", { r: RADIUS }),
          text(shortened(process.id, 6), { y: 4, class: "drawing-id" }),
          text(shortened(state, 18), { y: process.y < 0.5 ? -RADIUS - 8 : RADIUS + 18, class: "drawing-state" }),
          title(state ? `${process.id}: ${state}` : process.id),
        );
        return group;
      }),
    );
  }

  svg.addEventListener("pointerdown", (/** @type {any} */ event) => {
    if (event.button !== 0) return;
    const at = position(svg, event);
    const topology = editor.now();
    const process = processAt(topology, at, size);
    const line = event.target.closest(".drawing-channel");
    gesture = { from: at, process, line: process ? null : line, moved: false, offset: offset(process, at, size) };
    svg.setPointerCapture(event.pointerId);
    if (process) nodes.querySelector(`[data-key="${process.key}"]`)?.focus({ preventScroll: true });
  });

  svg.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (!gesture) return;
    const at = position(svg, event);
    if (Math.hypot(at.x - gesture.from.x, at.y - gesture.from.y) > CLICK) gesture.moved = true;
    if (!gesture.moved || !gesture.process) return;
    if (editor.tool() === "move") dragProcess(at);
    else if (editor.tool() !== "process") dragChannel(at);
  });

  /** @param {Point} at */
  function dragProcess(at) {
    const { x, y } = toPlace({ x: at.x - gesture.offset.x, y: at.y - gesture.offset.y }, size);
    editor.moveTo(gesture.process.key, x, y, gesture.started === true);
    gesture.started = true;
  }

  /** @param {Point} at */
  function dragChannel(at) {
    const from = point(gesture.process, size);
    draft.setAttribute("d", `M${from.x} ${from.y}L${at.x} ${at.y}`);
    draft.classList.toggle("is-ready", Boolean(otherEnd(at)));
  }

  /** @param {Point} at */
  function otherEnd(at) {
    const process = processAt(editor.now(), at, size);
    return process && process.key !== gesture.process.key ? process : null;
  }

  svg.addEventListener("pointerup", (/** @type {PointerEvent} */ event) => {
    if (!gesture) return;
    const at = position(svg, event);
    draft.removeAttribute("d");
    if (gesture.moved) finishDrag(at);
    else if (event.pointerType === "touch" && isSecondTap(at, event.timeStamp)) twice(at);
    else click(at);
    gesture = null;
  });

  /**
   * Returns whether a tap follows another one closely: not every browser makes a double click of them.
   * @param {Point} at @param {number} time
   */
  function isSecondTap({ x, y }, time) {
    const isSecond = time - tap.time < DOUBLE.time && Math.hypot(x - tap.x, y - tap.y) < DOUBLE.reach;
    tap = { x, y, time: isSecond ? -Infinity : time };
    if (isSecond) doubleTapAt = time;
    return isSecond;
  }

  svg.addEventListener("pointercancel", () => {
    draft.removeAttribute("d");
    gesture = null;
  });

  /** @param {Point} at */
  function finishDrag(at) {
    if (!gesture.process || editor.tool() === "move" || editor.tool() === "process") return;
    const target = otherEnd(at);
    if (target) editor.connect(gesture.process.key, target.key);
  }

  /** @param {Point} at */
  function click(at) {
    const { x, y } = toPlace(at, size);
    if (gesture.process) editor.pick(gesture.process.key);
    else if (gesture.line) editor.select(gesture.line.dataset.key);
    else if (editor.tool() === "process") editor.addAt(x, y);
    else editor.select(null);
  }

  svg.addEventListener("dblclick", (/** @type {MouseEvent} */ event) => {
    if (event.timeStamp - doubleTapAt > DOUBLE.time) twice(position(svg, event));
  });

  /**
   * Renames the process that was double-clicked; beside one, adds one.
   * @param {Point} at
   */
  function twice(at) {
    const process = processAt(editor.now(), at, size);
    const { x, y } = toPlace(at, size);
    if (process) editor.rename(process.key);
    else if (editor.tool() !== "process") editor.addAt(x, y);
    else click(at);
  }

  svg.addEventListener("keydown", (/** @type {any} */ event) => {
    const key = event.target.closest?.(".drawing-process")?.dataset.key;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (handled(event.key, key)) event.preventDefault();
  });

  /** @param {string} pressed @param {string | undefined} key */
  function handled(pressed, key) {
    const selected = key ?? editor.selected();
    if (pressed === "Escape") editor.cancel();
    else if (pressed === "Delete" || pressed === "Backspace") selected && editor.remove(selected);
    else if (pressed === "p") editor.addAt(null, null);
    else if (!key) return false;
    else if (pressed === "Enter" || pressed === " ") editor.pick(key);
    else if (pressed === "c") editor.startChannel(key);
    else if (pressed === "F2" || pressed === "r") editor.rename(key);
    else if (pressed.startsWith("Arrow")) nudge(key, pressed);
    else return false;
    return true;
  }

  /** @param {string} key @param {string} arrow */
  function nudge(key, arrow) {
    const { x, y } = editor.now().processes.find((process) => process.key === key);
    const sideways = { ArrowLeft: -STEP, ArrowRight: STEP }[arrow] ?? 0;
    const upright = { ArrowUp: -STEP, ArrowDown: STEP }[arrow] ?? 0;
    editor.moveTo(key, x + sideways, y + upright, false);
  }

  return {
    show,
    /** @param {string} key */
    focus: (key) => nodes.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true }),
  };
}

/**
 * Returns the words for a pointer like a finger, or those for one like a mouse.
 * @param {string} mouse @param {string} finger
 */
function touched(mouse, finger) {
  return matchMedia("(pointer: coarse)").matches ? finger : mouse;
}

/** @param {TopologyEditor} editor @param {EditedTopology} topology */
function hintFor(editor, topology) {
  if (topology.processes.length === 0) return "Or paste a topology as text, below.";
  if (editor.channelFrom()) return "Choose the process where the channel ends. Esc lets it be.";
  return {
    move: touched(
      "Drag a process to move it; double-click it to rename; double-click beside it to add one.",
      "Drag a process to move it. Double-tap it to rename it, or beside it to add one.",
    ),
    process: touched("Click where the new process is to be.", "Tap where the new process is to be."),
    channel: touched(
      "Drag from one process to another, or click the one and then the other.",
      "Drag from one process to another, or tap the one and then the other.",
    ),
    both: "Drag from one process to another: a channel each way.",
  }[editor.tool()];
}

/** @param {EditedProcess | undefined} process @param {Point} at @param {Size} size */
function offset(process, at, size) {
  if (!process) return { x: 0, y: 0 };
  const centre = point(process, size);
  return { x: at.x - centre.x, y: at.y - centre.y };
}

/**
 * Returns the words of a typed state, written as values are everywhere.
 * @param {string} typed
 */
function stateWords(typed) {
  const { value, problem } = readState(typed);
  if (problem) return typed.trim();
  return value === undefined ? "" : valueText(value);
}

/**
 * Returns where the pointer is, in the drawing's own pixels.
 * @param {any} svg @param {any} event
 */
function position(svg, event) {
  const { x, y } = new DOMPoint(event.clientX, event.clientY).matrixTransform(
    svg.getScreenCTM().inverse(),
  );
  return { x, y };
}
