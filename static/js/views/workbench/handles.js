/** The handles of the dragged cut: one on each lane, for pointers and the keyboard. */

import { covers, positionAt } from "../../lib/window.js";
import { h } from "../../lib/dom.js";

/** @type {Record<string, number>} */
const EVENTS_BY_KEY = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 };
/** @type {Record<string, number>} */
const LANES_BY_KEY = { ArrowUp: -1, ArrowDown: 1 };

/**
 * Makes the handles. `steer(p, n)` is called when a handle moves to position `n` of process `p`.
 * @param {App} app @param {HTMLElement} box @param {() => Geometry} measures
 * @param {(p: number, n: number) => void} steer
 */
export function createHandles(app, box, measures, steer) {
  const { player, topology } = app;
  const layer = h("div.wb-handles", { hidden: true, role: "group", "aria-label": "Handles of the dragged cut" });
  box.append(layer);
  const buttons = new Map();
  /** @type {{ p: number, x: number } | null} */
  let drag = null;
  let focused = 0;
  let shown = false;

  /** @param {number} p */
  function make(p) {
    const { id } = topology.processes[p];
    const button = h("button.wb-handle", {
      type: "button",
      role: "slider",
      "data-keys": "arrows",
      "aria-label": `Cut at ${id}`,
      "aria-valuemin": "0",
      tabindex: "-1",
      /** @param {any} event */
      onpointerdown: (event) => begin(event, p),
      /** @param {any} event */
      onpointermove: (event) => move(event, p),
      onpointerup: end,
      onpointercancel: end,
      /** @param {any} event */
      onkeydown: (event) => onKey(event, p),
      onfocus: () => {
        focused = p;
      },
    });
    layer.append(button);
    buttons.set(p, button);
    return button;
  }

  /** @param {any} event @param {number} p */
  function begin(event, p) {
    event.preventDefault();
    event.currentTarget.focus();
    event.currentTarget.setPointerCapture(event.pointerId);
    drag = { p, x: event.clientX - box.getBoundingClientRect().left };
    app.spacetime.drawFrame();
  }

  /** @param {any} event @param {number} p */
  function move(event, p) {
    if (!drag || drag.p !== p) return;
    const g = measures();
    drag.x = Math.max(g.left, Math.min(g.width - g.right, event.clientX - box.getBoundingClientRect().left));
    seekHandle(p, g.at(drag.x));
    app.spacetime.drawFrame();
  }

  function end() {
    drag = null;
    app.keepCut();
    app.spacetime.drawFrame();
  }

  /**
   * Moves the handle of lane `p` to its position at `x`, which the window or else the server knows.
   * @param {number} p @param {number} x
   */
  function seekHandle(p, x) {
    const { axis, window } = player.state;
    if (covers(window, axis, x, x)) {
      steer(p, positionAt(window, p, x));
      return;
    }
    const place = Math.floor(x);
    app.cutHints.set(p, { [axis]: place });
    app.source.partOfCut(axis === "order" ? { step: place } : { at: place }).then(
      (cut) => cut && steer(p, cut.positions[p]),
      (error) => app.say(`The cut could not be moved: ${error.message}`),
    );
  }

  /** @param {any} event @param {number} p */
  function onKey(event, p) {
    const events = EVENTS_BY_KEY[event.key];
    const lanes = LANES_BY_KEY[event.key];
    if (events) {
      steer(p, Math.max(0, Math.min(player.state.cut[p] + events, app.eventsOf(p))));
      app.keepCut(); // each key is a step, also of several keys before the next frame
    }
    if (lanes) focus(nextLane(p, lanes));
    if (events || lanes) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /**
   * Returns the process of the next lane with a handle. The lanes of closed groups have none.
   * @param {number} p @param {number} step
   */
  function nextLane(p, step) {
    const { rows, rowOf } = app.lanes.arrangement();
    let row = rowOf[p] + step;
    while (rows[row]?.processes.length > 1) row += step;
    return rows[row]?.processes[0] ?? p;
  }

  /** @param {number} p */
  function focus(p) {
    const { rows, rowOf } = app.lanes.arrangement();
    const isAlone = rows[rowOf[p]]?.processes.length === 1;
    const goal = isAlone ? p : rows.find(({ processes }) => processes.length === 1)?.processes[0];
    if (goal === undefined) return app.say("No lane has a handle: open a group, or change the filter of the lanes.");
    app.spacetime.showLane(goal);
    app.spacetime.drawFrame();
    buttons.get(goal)?.focus();
  }

  /**
   * Puts the handles where the cut crosses the lanes; without a cut, hides them.
   * @param {Geometry} g @param {number[] | null} cutX @param {PlayerState} state
   */
  function place(g, cutX, state) {
    shown = Boolean(cutX);
    layer.hidden = !shown;
    if (!shown) return;
    const wrong = wrongLanes(state.shown);
    const height = Math.min(40, Math.max(g.pitch || 40, 18));
    const lanes = g.rows.filter(({ processes }) => processes.length === 1).map(({ processes: [p] }) => p);
    const inView = new Set(lanes);
    for (const [p, button] of buttons) if (!inView.has(p)) button.hidden = true;
    const tabStop = inView.has(focused) ? focused : lanes[0];
    for (const p of lanes) {
      const button = buttons.get(p) ?? make(p);
      button.hidden = cutX[p] < g.left - 20 || cutX[p] > g.width - g.right + 20;
      button.style.transform = `translate(${cutX[p] - 20}px, ${g.y(p) - height / 2}px)`;
      button.style.height = `${height}px`;
      button.tabIndex = p === tabStop ? 0 : -1;
      button.classList.toggle("is-dragged", drag?.p === p);
      button.classList.toggle("is-wrong", wrong.has(p));
      button.setAttribute("aria-valuenow", String(state.cut[p]));
      button.setAttribute("aria-valuetext", `${state.cut[p]} events inside`);
    }
  }

  /**
   * Returns the codes of the processes that send or receive an orphan of the cut.
   * @param {Cut | null} cut
   */
  function wrongLanes(cut) {
    const codes = (cut?.orphans ?? []).flatMap(({ sent, received }) => [sent?.process, received?.process]);
    return new Set(codes.map((id) => topology.processCode.get(id)));
  }

  return {
    place,
    focus,
    wereShown: () => shown,
    isDragging: () => drag !== null,
    /**
     * Returns the pixel to which the pointer drags handle `p`, or null.
     * @param {number} p @returns {number | null}
     */
    dragged: (p) => (drag?.p === p ? drag.x : null),
  };
}
