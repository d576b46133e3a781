/** What commands and links do to the player: select, go to an event, fit the view, choose a snapshot, drag the cut. */

import { isInside, nearestConsistent } from "../../lib/cuts.js";
import { SPEEDS } from "../../lib/player.js";
import { cutFits } from "../../lib/url-state.js";
import { eventRow } from "../../lib/window.js";

/** @param {App} app */
export function wireActions(app) {
  const { player, topology } = app;

  /** @param {Chosen | null} selection */
  app.select = (selection) => {
    player.set({ selection });
    if (selection?.of === "process") app.spacetime.showLane(selection.process);
    if (selection && app.root.classList.contains("is-touring")) app.showTab("details");
  };

  /**
   * Selects what a link names by its ids, and brings it into view.
   * @param {LinkTarget} target
   */
  app.go = async (target) => {
    if (target.of === "event") return goToEvent(target);
    if (target.of === "message" && (target.sent || target.received)) {
      return app.witness.show({ ...target, message: target.id });
    }
    if (target.of === "message") {
      const message = { channel: topology.channelCode.get(target.channel), id: target.id };
      return app.select({ of: "message", ...message });
    }
    const { processCode, channelCode } = topology;
    if (target.of === "process") app.select({ of: "process", process: processCode.get(target.process) });
    else app.select({ of: "channel", channel: channelCode.get(target.channel) });
  };

  /** @param {Partial<EventLink>} event */
  async function goToEvent({ process: id, index, at }) {
    const process = topology.processCode.get(id);
    app.select({ of: "event", process, index });
    app.spacetime.showLane(process);
    const place = await app.placeOf(process, index, at);
    if (place === null) return;
    if (player.state.cut) player.bringIntoView(place);
    else player.seek(place);
  }

  /**
   * Resolves with the place of an event on the axis, or null if it is not known.
   * @param {number} process @param {number} index @param {number | undefined} at
   */
  app.placeOf = async (process, index, at) => {
    const { window, axis } = player.state;
    const row = window?.exact && window.axis === axis ? eventRow(window, process, index) : -1;
    if (row >= 0) return window.events.x[row];
    if (axis === "time" && Number.isFinite(at)) return at;
    try {
      const event = await app.source.event(topology.processes[process].id, index);
      return axis === "order" ? event.step + 1 : event.at;
    } catch (error) {
      app.say(`The event could not be found: ${error.message}`);
      return null;
    }
  };

  /**
   * Returns the row of a message in a window, or -1.
   * @param {OpenWindow | null} window @param {{ channel?: number, id?: string }} options
   */
  app.messageRow = (window, { channel, id }) => {
    if (!window?.exact) return -1;
    for (let row = 0; row < window.messages.count; row += 1) {
      if (window.messages.channel[row] === channel && String(window.messages.id[row]) === String(id)) return row;
    }
    return -1;
  };

  /**
   * Returns the event that receives a marker, or the one that sends it if it never arrives.
   * @param {number} row
   */
  app.markerEvent = (row) => {
    const { markers } = player.state.window;
    const { sourceCode, targetCode } = topology.channels[markers.channel[row]];
    const arrived = markers.received_index[row] >= 0;
    return {
      of: "event",
      process: arrived ? targetCode : sourceCode,
      index: arrived ? markers.received_index[row] : markers.sent_index[row],
    };
  };

  /**
   * Returns the number of a process's events, Infinity if the window does not say.
   * @param {number} p
   */
  app.eventsOf = (p) => {
    const { window } = player.state;
    return window && window.to >= player.bounds().to ? window.positionsTo[p] : Infinity;
  };

  /** @param {string} snapshot */
  app.chooseSnapshot = async (snapshot) => {
    player.set({ snapshot });
    app.standAtSnapshot(); // before its place is known, which may take a while
    const place = await app.snapshots.placeOf(app.snapshots.byId.get(snapshot), player.state.axis);
    if (player.state.snapshot !== snapshot) return;
    if (place !== null && !player.state.playing) player.seek(place);
    app.standAtSnapshot();
  };

  /** @type {{ snapshot: string, axis: Axis, now: number, selection: Chosen | null } | null} */
  let stand = null;

  app.standAtSnapshot = () => {
    const { snapshot, axis, now, selection } = player.state;
    stand = snapshot === null ? null : { snapshot, axis, now, selection };
  };

  app.snapshotHere = () => {
    const { state } = player;
    const isLeft = !stand || ["snapshot", "axis", "now", "selection"].some(
      (key) => /** @type {any} */ (state)[key] !== /** @type {any} */ (stand)[key],
    );
    return isLeft || state.cut ? null : stand.snapshot;
  };

  app.fit = () => {
    const { selection, axis, window } = player.state;
    const snapshot = app.snapshots.chosen();
    const span = spanOfSelection(selection, window) ?? (snapshot && app.snapshots.spanOf(snapshot, axis));
    if (!span) return player.fitAll();
    const [from, to] = span;
    const all = player.bounds();
    const tenEvents = ((all.to - all.from) / Math.max(player.extent.steps, 1)) * 10;
    const margin = Math.max((to - from) * 0.25, tenEvents);
    player.zoom(from - margin, to + margin);
  };

  /** @param {Chosen | null} selection @param {OpenWindow | null} window @returns {number[] | null} */
  function spanOfSelection(selection, window) {
    if (!selection || !window?.exact) return null;
    if (selection.of === "event") {
      const row = eventRow(window, selection.process, selection.index);
      return row < 0 ? null : [window.events.x[row], window.events.x[row]];
    }
    if (selection.of !== "message") return null;
    const row = app.messageRow(window, selection);
    if (row < 0) return null;
    const end = window.messages.received_index[row] < 0 ? window.to : window.messages.receivedX[row];
    return [window.messages.sentX[row], end];
  }

  /** @param {number} steps */
  app.changeSpeed = (steps) => {
    const index = SPEEDS.indexOf(player.state.speed) + steps;
    player.set({ speed: SPEEDS[Math.max(0, Math.min(index, SPEEDS.length - 1))] });
  };

  app.back = () => {
    if (player.state.cut && !player.state.witness) app.endCut();
    else player.set({ selection: null, witness: null });
  };

  app.beginCut = async () => {
    player.pause();
    const { window, snapshot, shown } = player.state;
    const codes = snapshot === null ? null : app.snapshots.chosen()?.codes;
    const start = codes?.every((n) => n >= 0) && (isInside(window, codes) || !shown) ? codes : shown?.positions;
    if (!start) return;
    app.cutHints.clear();
    player.set({ cut: start.slice() });
    if (start === codes) await showSnapshot();
    if (!cutFits(start)) app.say("A cut of so many processes does not fit into the link.");
    requestAnimationFrame(() => {
      if (player.state.cut) app.spacetime.handles.focus(0); // a hidden handle would take the space bar
    });
  };

  /** Brings the whole cut of the chosen snapshot into view. */
  async function showSnapshot() {
    const { state } = player;
    const [first, last] = (await app.snapshots.recordedSpan(state.axis)) ?? [state.from, state.to];
    if (first >= state.from && last <= state.to) return;
    const margin = Math.max((last - first) * 0.2, 1);
    player.zoom(first - margin, last + margin);
  }

  app.endCut = () => player.set({ cut: null });

  /** Moves the handles to the nearest consistent cut, which the window or else the server knows. */
  app.nearest = () => {
    const { cut, window, shown } = player.state;
    if (!cut) return;
    const goal = isInside(window, cut) ? nearestConsistent(window, cut) : shown?.nearest;
    if (goal) player.set({ cut: goal.slice() });
    app.spacetime.handles.focus(0);
  };
}
