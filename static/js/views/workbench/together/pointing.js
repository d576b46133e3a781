/** The pointer: while a key is held, others see where somebody points, in the diagram and in the topology. */

import { h } from "../../../lib/dom.js";
import { initials, shortName, toneOf } from "../../../lib/together.js";

const KEY = "h";
const SENT_EVERY = 100; // ms
const SHOWN_FOR = 1000; // ms
const PULSE = 1000; // ms for which a button points
const LONG_PRESS = 500; // ms
const STILL = 8; // pixels that a finger may move in a long press
const SPOKEN_EVERY = 3000; // ms

/** @param {App} app */
export function createPointing(app) {
  const { player, topology, root } = app;
  const spoken = root.querySelector("#wb-pointed");
  const canvas = root.querySelector("#wb-spacetime-moving");
  const graph = root.querySelector("#wb-topology-moving");
  const layers = [canvas, graph].map((each) => {
    const layer = h("div.wb-pointers", { "aria-hidden": "true" });
    each.parentElement.append(layer);
    return layer;
  });
  /** @type {Map<number, { dots: HTMLElement[], timer: number }>} */
  const dots = new Map();
  /** @type {{ on: HTMLElement, x: number, y: number } | null} */
  let mouse = null;
  /** @type {number | null} */
  let sending = null;
  let spokenAt = -Infinity;

  /**
   * Points as long as the key is held. A button points for a moment.
   * @param {Event} [event]
   */
  function run(event) {
    begin();
    if (event?.type !== "keydown") setTimeout(end, PULSE);
  }

  function begin() {
    if (sending !== null) return;
    if (!(app.room?.total > 1)) app.say("Nobody else is here to see where you point.");
    send();
    sending = setInterval(send, SENT_EVERY);
  }

  function end() {
    clearInterval(sending);
    sending = null;
  }

  function send() {
    app.socket.send({ type: "point", ...(underMouse() ?? atCursor()) });
  }

  /** Returns what is under the mouse, by the names of the log, or null. */
  function underMouse() {
    if (!mouse) return null;
    if (mouse.on === graph) return named(app.topologyAt(mouse.x, mouse.y));
    const g = app.spacetime.measures();
    const { axis } = player.state;
    const lane = g.rows.find((_, slot) => Math.abs(g.yOfSlot(slot) - mouse.y) <= Math.max(g.pitch / 2, 12));
    const at = Math.min(Math.max(Math.round(g.at(mouse.x)), Math.floor(g.from)), Math.ceil(g.to));
    return { axis, at, process: lane && topology.processes[lane.processes[0]].id };
  }

  /** Returns the place of the cursor, in the lane or on the channel that is selected. */
  function atCursor() {
    const { axis, now, selection } = player.state;
    return { axis, at: Math.floor(now), ...named(selection) };
  }

  /** @param {Chosen | null} selection */
  function named(selection) {
    if (selection?.of === "process" || selection?.of === "event") {
      return { process: topology.processes[selection.process].id };
    }
    return selection ? { channel: topology.channels[selection.channel].id } : null;
  }

  /** @param {PointNews} news */
  function show(news) {
    const spots = [spotInDiagram(news), spotInTopology(news)];
    const before = dots.get(news.person);
    clearTimeout(before?.timer);
    before?.dots.forEach((dot) => dot.remove());
    const drawn = spots.flatMap((spot, i) => (spot ? [draw(layers[i], spot, news)] : []));
    const timer = setTimeout(() => {
      drawn.forEach((dot) => dot.remove());
      dots.delete(news.person);
    }, SHOWN_FOR);
    dots.set(news.person, { dots: drawn, timer });
    speak(news);
  }

  /** @param {HTMLElement} layer @param {Point} spot @param {PointNews} news */
  function draw(layer, { x, y }, { person, name }) {
    const style = { transform: `translate(${Math.round(x)}px, ${Math.round(y)}px)` };
    const dot = h("div.wb-pointer", { "data-tone": toneOf(person), style }, h("span", {}, initials(name)));
    layer.append(dot);
    return dot;
  }

  /**
   * Returns where something is in the diagram, at its edge if it is outside the view.
   * @param {PointNews} news @returns {Point | null}
   */
  function spotInDiagram({ axis, at, process, recording }) {
    if (recording !== app.recording.id || !Number.isFinite(at) || axis !== player.state.axis) return null;
    const g = app.spacetime.measures();
    const lane = topology.processCode.get(process);
    const x = Math.min(Math.max(g.x(at), g.left), g.width - g.right);
    return { x, y: lane !== undefined && g.shows(lane) ? g.y(lane) : g.top };
  }

  /** @param {PointNews} news @returns {Point | null} */
  function spotInTopology({ process, channel, recording }) {
    if (recording !== app.recording.id) return null;
    return app.topologySpot(topology.processCode.get(process), topology.channelCode.get(channel));
  }

  /**
   * Says what somebody points at, for those who do not see it.
   * @param {PointNews} news
   */
  function speak({ name, axis, at, process, channel }) {
    if (performance.now() - spokenAt < SPOKEN_EVERY) return;
    spokenAt = performance.now();
    const time = Number.isFinite(at) ? (axis === "order" ? `event ${at}` : app.readInstant(at)) : null;
    spoken.textContent = `${shortName(name)} points at ${[process ?? channel, time].filter(Boolean).join(", ")}.`;
  }

  for (const on of [canvas, graph]) {
    on.addEventListener("pointermove", (/** @type {PointerEvent} */ { offsetX, offsetY }) => {
      mouse = { on, x: offsetX, y: offsetY };
    });
    on.addEventListener("pointerleave", () => {
      mouse = null;
    });
  }
  document.addEventListener("keyup", ({ key }) => key.toLowerCase() === KEY && end());
  addEventListener("blur", end);
  wireLongPress(canvas, begin, end);

  return { run, show };
}

/**
 * Calls `begin` when a finger has rested on an element for a while, and `end` when it leaves.
 * @param {HTMLElement} element @param {() => void} begin @param {() => void} end
 */
function wireLongPress(element, begin, end) {
  /** @type {{ x: number, y: number, timer: number } | null} */
  let press = null;
  const release = () => {
    if (!press) return;
    clearTimeout(press.timer);
    press = null;
    end();
  };
  element.addEventListener("pointerdown", ({ pointerType, clientX, clientY }) => {
    release();
    if (pointerType === "touch") press = { x: clientX, y: clientY, timer: setTimeout(begin, LONG_PRESS) };
  });
  element.addEventListener("pointermove", ({ clientX, clientY }) => {
    if (press && Math.hypot(clientX - press.x, clientY - press.y) > STILL) release();
  });
  for (const name of ["pointerup", "pointercancel"]) element.addEventListener(name, release);
}
