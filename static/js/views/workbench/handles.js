/** The handles of the dragged cut: one per lane, for pointers and for the keyboard. */

import { positionAt } from "../../lib/window.js";
import { h } from "../../lib/dom.js";

/** steer(p, n) is called when a handle asks for position n of process p. */
export function createHandles(app, box, measures, steer) {
  const { player, topology } = app;
  const layer = h("div.wb-handles", { hidden: true, role: "group", "aria-label": "Handles of the dragged cut" });
  box.append(layer);
  const buttons = new Map();
  let drag = null;
  let focused = 0;
  let shown = false;

  function make(p) {
    const { id } = topology.processes[p];
    const button = h("button.wb-handle", {
      type: "button",
      role: "slider",
      "data-keys": "arrows",
      "aria-label": `Cut at ${id}`,
      "aria-valuemin": "0",
      tabindex: "-1",
      onpointerdown: (event) => begin(event, p),
      onpointermove: (event) => move(event, p),
      onpointerup: end,
      onpointercancel: end,
      onkeydown: (event) => onKey(event, p),
      onfocus: () => {
        focused = p;
      },
    });
    layer.append(button);
    buttons.set(p, button);
    return button;
  }

  function begin(event, p) {
    event.preventDefault();
    event.currentTarget.focus();
    event.currentTarget.setPointerCapture(event.pointerId);
    drag = { p, x: event.clientX - box.getBoundingClientRect().left };
    app.spacetime.drawFrame();
  }

  function move(event, p) {
    if (!drag || drag.p !== p) return;
    const g = measures();
    drag.x = Math.max(g.left, Math.min(g.width - g.right, event.clientX - box.getBoundingClientRect().left));
    seekHandle(p, g.at(drag.x));
    app.spacetime.drawFrame();
  }

  function end() {
    drag = null;
    app.spacetime.drawFrame();
  }

  /** Puts lane p where it stands at `x`: from the window, or from the server where it is too full. */
  function seekHandle(p, x) {
    const { state } = player;
    const window = state.window;
    if (window?.exact && window.axis === state.axis && window.from <= x && x <= window.to) {
      steer(p, positionAt(window, p, x));
      return;
    }
    const { axis } = state;
    const place = Math.floor(x);
    app.cutHints.set(p, { [axis]: place });
    app.source.cut(axis === "order" ? { step: place } : { at: place }).then(
      (cut) => cut && steer(p, cut.positions[p]),
      (error) => app.say(`The cut could not be moved: ${error.message}`),
    );
  }

  function onKey(event, p) {
    const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10 }[event.key];
    const lane = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (by) steer(p, Math.max(0, Math.min(player.state.cut[p] + by, app.eventsOf(p))));
    if (lane) focus(p + lane);
    if (by || lane) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  function focus(p) {
    const last = topology.processes.length - 1;
    const goal = Math.max(0, Math.min(p, last));
    app.spacetime.showLane(goal);
    app.spacetime.drawFrame();
    buttons.get(goal)?.focus();
  }

  function place(g, cutX, state) {
    shown = Boolean(cutX);
    layer.hidden = !shown;
    if (!shown) return;
    const wrong = wrongLanes(state.shown);
    const least = Math.min(40, Math.max(g.pitch || 40, 18));
    for (const [p, button] of buttons) if (!g.shows(p)) button.hidden = true;
    const stop = g.shows(focused) ? focused : g.first;
    for (let p = g.first; p < g.first + g.lanes; p += 1) {
      const button = buttons.get(p) ?? make(p);
      button.hidden = cutX[p] < g.left - 20 || cutX[p] > g.width - g.right + 20;
      button.style.transform = `translate(${cutX[p] - 20}px, ${g.y(p) - least / 2}px)`;
      button.style.height = `${least}px`;
      button.tabIndex = p === stop ? 0 : -1;
      button.classList.toggle("is-dragged", drag?.p === p);
      button.classList.toggle("is-wrong", wrong.has(p));
      button.setAttribute("aria-valuenow", String(state.cut[p]));
      button.setAttribute("aria-valuetext", `${state.cut[p]} events inside`);
    }
  }

  function wrongLanes(cut) {
    const codes = (cut?.orphans ?? []).flatMap(({ sent, received }) => [sent?.process, received?.process]);
    return new Set(codes.map((id) => topology.processCode.get(id)));
  }

  return {
    place,
    focus,
    wereShown: () => shown,
    isDragging: () => drag !== null,
    /** The pixel where the pointer holds handle p, or null. */
    dragged: (p) => (drag?.p === p ? drag.x : null),
  };
}
