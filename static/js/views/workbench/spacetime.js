/** The space-time diagram: a still and a moving figure, a canvas for what is under the hand, pointers, cut handles. */

import { afterPaint, sizeOf } from "../../lib/canvas.js";
import { hiddenMessages, hiddenSentence } from "../../lib/lanes.js";
import { counted, thousands, valueText } from "../../lib/format.js";
import { setText } from "../../lib/dom.js";
import { hasAny } from "../../lib/player.js";
import { layoutOf } from "../../lib/moving-figure.js";
import { eventRow } from "../../lib/window.js";
import { saidTraces } from "./control.js";
import { densitySentence } from "./density.js";
import { geometry, handleX, inFlight } from "./geometry.js";
import { createHandles } from "./handles.js";
import { createHover } from "./hover.js";
import { flightTraces, MOST_MARKS, rowsInFlight, stepThrough } from "./flights.js";
import { drawMoving, paintMoving } from "./moving.js";
import { wirePanel } from "./panel.js";
import { wirePointer } from "./pointer.js";
import { stillFigure } from "./still.js";

const LANE_LETTER = 8.5; // pixels of a letter of a lane's name
const DEPTH_LETTER = 6.5; // pixels of a letter of a channel's name in the depth chart, which has the same margin
const GLIDE = 0.35; // share of its way that a handle moves in a frame
const EVENTS = { name: "events", title: "all events," };
const FIRST_PICTURE = "first-picture"; // a mark of the browser's performance timeline

/** @param {{ id: string }[]} items */
function longestName(items) {
  return items.reduce((most, { id }) => Math.max(most, id.length), 0);
}

/** @param {App} app */
export function createSpacetime(app) {
  const { player, topology, recording } = app;
  const plot = app.root.querySelector("#wb-spacetime");
  const canvas = app.root.querySelector("#wb-spacetime-moving");
  const box = plot.parentElement;
  const notice = app.root.querySelector("#wb-window-notice");
  const longest = LANE_LETTER * longestName(topology.processes);
  const longestChannel = DEPTH_LETTER * longestName(topology.channels);
  let isPictured = false;
  /** @type {number[] | null} */
  let cutX = null;
  /** @type {Flights} */
  let flights = { window: null, messages: [], markers: [] };
  /** @type {Target | null} */
  let hover = null;
  /** @type {() => void} */
  let markPictured = null;
  app.firstPicture = new Promise((resolve) => {
    markPictured = resolve;
  });
  const panel = wirePanel(app, "spacetime", { figure, rows, plot, over, whole: EVENTS });
  const picture = app.pictures.add(plot);
  const marks = app.pictures.addMoving(app.root.querySelector("#wb-spacetime-marks"));
  app.root.style.setProperty("--lanes", String(Math.min(topology.processes.length, 200)));
  app.root.style.setProperty("--channels", String(Math.min(topology.channels.length, 200)));
  app.root.classList.toggle("is-wide", topology.processes.length > 12);
  const handles = createHandles(app, box, measures, steer);
  const card = createHover(app, box);

  function frame() {
    const { width, height } = sizeOf(box);
    const left = Math.round(Math.min(width < 500 ? 76 : 132, 16 + Math.max(longest, longestChannel)));
    return { width, height, left, right: 12, top: 14, bottom: 44 };
  }

  function plotWidth() {
    const { width, left, right } = frame();
    return Math.max(width - left - right, 1);
  }

  function measures() {
    return geometry({ ...frame(), scale: player.scale(), arrangement: app.lanes.arrangement() });
  }

  function scene(state = player.state) {
    const snapshot = app.snapshots.chosen();
    const window = state.window?.axis === state.axis ? state.window : null;
    return {
      window,
      witness: state.witness,
      witnessRow: state.witness ? app.messageRow(window, state.witness) : -1,
      g: measures(),
      topology,
      arrangement: app.lanes.arrangement(),
      colours: app.colours,
      axis: state.axis,
      unit: recording.time_unit,
      bounds: player.margins(),
      snapshot: state.snapshot,
      positions: snapshot?.codes ?? null,
      recordedAt: state.axis === "time" ? app.snapshots.detail()?.recorded_at : null,
      dragging: Boolean(state.cut),
      lanes: state.lanes,
    };
  }

  function figure() {
    return stillFigure(scene());
  }

  async function drawStill() {
    const isFirst = !isPictured;
    isPictured = true;
    await picture.show(figure());
    if (!isFirst) return;
    await afterPaint();
    performance.mark(FIRST_PICTURE);
    markPictured(); // other charts wait, for the diagram is what one opens the page for
  }

  /** @param {OpenWindow | null} window */
  function findFlights(window) {
    if (flights.window === window || !window) return;
    flights = { window, messages: allRows(window.messages), markers: allRows(window.markers) };
  }

  /** @param {OpenFlights} table */
  function allRows(table) {
    return Array.from({ length: table.count }, (_, row) => row).sort((a, b) => table.sentX[a] - table.sentX[b]);
  }

  /**
   * Moves the handles a step towards the cut. Returns whether they have not arrived yet.
   * @param {Geometry} g @param {PlayerState} state
   */
  function glide(g, state) {
    if (!state.cut) {
      cutX = null;
      return false;
    }
    const still = app.reducedMotion || !cutX || cutX.length !== state.cut.length;
    const goal = state.cut.map((n, p) => goalX(g, state, p, n));
    const before = cutX;
    cutX = still
      ? goal
      : goal.map((x, p) => (Math.abs(x - before[p]) < 0.4 || zoomed(g) ? x : before[p] + (x - before[p]) * GLIDE));
    lastView = [g.from, g.to, g.width];
    return cutX.some((x, p) => x !== goal[p]);
  }

  /** @type {number[]} */
  let lastView = [];
  /** @param {Geometry} g */
  const zoomed = (g) => lastView[0] !== g.from || lastView[1] !== g.to || lastView[2] !== g.width;

  /** @param {Geometry} g @param {PlayerState} state @param {number} p @param {number} n */
  function goalX(g, state, p, n) {
    const dragged = handles.dragged(p);
    if (dragged !== null) return dragged;
    const window = state.window?.axis === state.axis ? state.window : null;
    const { u } = g.scale;
    const place = window?.exact ? handleX(window, p, n, g.perPixel * 8, u) : u(roughX(state, window, p, n));
    const x = g.fromU(Number.isNaN(place) ? u(state.now) : place);
    return Math.max(g.left - 30, Math.min(g.width - g.right + 30, x));
  }

  /**
   * Returns where position `n` of lane `p` lies in a window of bins: at a record, or where it was dragged to.
   * @param {PlayerState} state @param {OpenWindow | null} window @param {number} p @param {number} n
   */
  function roughX(state, window, p, n) {
    const row = window ? eventRow(window, p, n) : -1;
    return row >= 0 ? window.events.x[row] : app.cutHints.get(p)?.[state.axis] ?? state.now;
  }

  /** @param {any} target @param {OpenWindow | null} window */
  function withRow(target, window) {
    if (!target || !window) return target;
    if (target.of === "event") return { ...target, row: eventRow(window, target.process, target.index) };
    if (target.of === "message") return { ...target, row: app.messageRow(window, target) };
    return target;
  }

  function drawFrame() {
    const state = player.state;
    if (panel.isFolded()) return;
    const current = scene(state);
    findFlights(current.window);
    const isGliding = glide(current.g, state);
    handles.place(current.g, cutX, state);
    const moving = movingScene(current, withRow(hover, current.window));
    drawMoving(canvas, moving);
    if (state.playing && !app.reducedMotion) marks.glide((later) => marksAfter(moving, later));
    else marks.draw(marksAfter(moving, 0));
    if (isGliding) requestAnimationFrame(drawFrame);
  }

  /** @param {Scene} current @param {Target | null} pointed @returns {MovingScene} */
  function movingScene(current, pointed) {
    const { state } = player;
    const selection = withRow(state.selection, current.window);
    return { ...current, state: { ...state, selection }, flights, cutX, shown: state.shown, hover: pointed };
  }

  /**
   * Returns what is in flight at the cursor, where it will be so many ms later if the replay plays.
   * @param {MovingScene} moving @param {number} later @returns {MovingMarks}
   */
  function marksAfter(moving, later) {
    const { window, g, state } = moving;
    const isShown = window?.exact && !state.cut;
    const flying = {
      messages: isShown ? rowsInFlight(window.messages, flights.messages, state.now) : [],
      markers: isShown ? rowsInFlight(window.markers, flights.markers, state.now) : [],
    };
    const at = later ? player.placeAfter(later / 1000) : state.now;
    const { width, height, from, to } = g;
    const view = [width, height, from, to, g.firstRow, g.lanes, app.colours.ink, state.witness?.id].join(" ");
    const data = [...flightTraces(moving, flying, at), ...saidTraces(moving)];
    return { data, size: { width, height }, view };
  }

  /** Returns what moves over the diagram, as the screen shows it; what is painted stays within the plot. */
  function over() {
    const current = scene();
    const { left, plotBottom, width, right } = current.g;
    findFlights(current.window);
    const moving = movingScene(current, null);
    const { data, size } = marksAfter(moving, 0);
    /** @param {Context} context */
    const paint = (context) => {
      context.beginPath();
      context.rect(left, 0, width - right - left, plotBottom);
      context.clip();
      paintMoving(context, moving);
    };
    return { figures: [{ data, layout: layoutOf(size) }], paint };
  }

  /** @param {PlayerState} state @param {Set<string>} keys */
  function update(state, keys) {
    panel.update(state, keys);
    if (panel.isFolded()) markPictured();
    if (panel.isFolded() || !state.window) return;
    const isZoomed = hasAny(keys, "from", "to");
    const isStale =
      hasAny(keys, "window", "snapshot", "whole", "axis", "theme", "size", "lanes", "idle", "witness") ||
      (state.idle && keys.has("overview")) ||
      (keys.has("detail") && !state.window.events.count) ||
      (keys.has("cut") && Boolean(state.cut) !== handles.wereShown());
    if (!isPictured || isStale || isZoomed) drawStill();
    const isNews = isZoomed || hasAny(keys, "window", "lanes", "idle", "overview", "size");
    if (isNews) hover = null;
    if (isNews || hasAny(keys, "shown", "snapshot", "whole")) drawNotice(state);
    drawFrame();
  }

  /**
   * Says what the diagram leaves out.
   * @param {PlayerState} state
   */
  function drawNotice({ window }) {
    const g = measures();
    const arrangement = app.lanes.arrangement();
    const count = arrangement.rows.length;
    const range = `${thousands(g.firstRow + 1)}–${thousands(g.firstRow + g.lanes - g.pinned)}`;
    const scrolled = count > g.lanes ? `Lanes ${range} of ${thousands(count)}: shift and wheel shows others. ` : "";
    const hidden = hiddenSentence(arrangement, topology.processes.length, thousands);
    const told = window?.control.sentence ?? "";
    app.lanes.offerFit(count > g.lanes || arrangement.isFitted);
    const lanes = hidden + unseen(window, arrangement) + scrolled + app.folds.sentence() + told;
    const bins =
      window && !window.exact
        ? `${counted(window.eventsTotal, "event")} in this window: zoom in to see single messages.`
        : "";
    const empty = window?.exact && window.eventsTotal === 0 ? "No event in this window." : "";
    const words = densitySentence(scene()) + lanes + bins + empty + flown(window);
    setText(notice, words);
    if (notice.title !== words) notice.title = words; // what does not fit is cut off
  }

  /**
   * Says how many of the messages in flight at the cursor are not drawn.
   * @param {OpenWindow | null} window
   */
  function flown(window) {
    const { now, cut } = player.state;
    if (!window?.exact || cut || window.messages.count <= MOST_MARKS) return "";
    const flying = flights.messages.filter((row) => inFlight(window.messages, row, now)).length;
    const nth = stepThrough(flying);
    return nth === 1 ? "" : ` Of ${thousands(flying)} messages in flight one in ${nth} is drawn on its way.`;
  }

  /**
   * Says how many messages of the window lead to hidden lanes.
   * @param {OpenWindow | null} window @param {Arrangement} arrangement
   */
  function unseen(window, arrangement) {
    if (!window || !arrangement.hidden) return "";
    if (!window.exact) return "Messages to hidden lanes are not counted in this window. ";
    const { oneEnd, both } = hiddenMessages(window, arrangement);
    const stubs = oneEnd ? `Messages from or to them: ${thousands(oneEnd)}, drawn as stubs. ` : "";
    return stubs + (both ? `Messages among them: ${thousands(both)}, not drawn. ` : "");
  }

  /** @returns {TableRows} */
  function rows() {
    const { window } = player.state;
    const at = `at (${recording.time_unit})`;
    const head = ["process", "index", "kind", at, "step", "channel", "snapshot", "state after"];
    if (!window?.exact) return { head, rows: [], notice: "Too many events in this window: zoom in to list them." };
    const { events } = window;
    const order = Array.from(events.step.keys()).sort((a, b) => events.step[a] - events.step[b]);
    const inView = order.filter((row) => events.x[row] >= player.state.from && events.x[row] <= player.state.to);
    return {
      head,
      rows: inView.map((row) => [
        topology.processes[events.process[row]].id,
        events.index[row],
        window.kinds[events.kind[row]],
        events.at[row],
        events.step[row],
        topology.channels[events.channel[row]]?.id ?? "",
        window.snapshots[events.snapshot[row]] ?? "",
        events.known[row] ? numberOrText(events.state[row]) : "",
      ]),
    };
  }

  /**
   * Moves lane `p` of the cut to position `n`.
   * @param {number} p @param {number} n
   */
  function steer(p, n) {
    const { cut } = player.state;
    if (!cut || cut[p] === n) return;
    const next = cut.slice();
    next[p] = n;
    player.set({ cut: next });
  }

  wirePointer(app, {
    canvas,
    measures,
    window: () => scene().window,
    /** @param {Target | null} target @param {number} px @param {number} py */
    setHover(target, px, py) {
      hover = target;
      card.show(withRow(target, scene().window), px, py);
      drawFrame();
    },
    /** @param {number} count */
    scrollLanes(count) {
      const g = measures();
      app.lanes.scrollTo(g.firstRow + count, g);
    },
  });

  return {
    update,
    plotWidth,
    measures,
    /**
     * Returns where a lane is in the browser's window.
     * @param {number} p
     */
    laneAt: (p) => box.getBoundingClientRect().top + measures().y(p),
    plotMargins: () => ({ l: frame().left, r: frame().right }),
    /**
     * Scrolls to the lane of process `p`. If no lane shows it, a sentence says so.
     * @param {number} p
     */
    showLane(p) {
      const g = measures();
      const { rowOf } = app.lanes.arrangement();
      if (rowOf[p] < 0) app.say(`${topology.processes[p].id} is hidden by the filter of the lanes.`);
      else if (!g.shows(p)) app.lanes.scrollTo(rowOf[p] - Math.floor((g.lanes - g.pinned) / 2), g);
    },
    /**
     * Brings the lanes of processes into view, if need be by fitting all lanes.
     * @param {number[]} processes
     */
    showLanes(processes) {
      const g = measures();
      const { rowOf } = app.lanes.arrangement();
      if (processes.some((p) => rowOf[p] >= 0 && !g.shows(p))) app.lanes.fit(true);
      processes.filter((p) => rowOf[p] < 0).forEach(this.showLane);
    },
    handles,
    drawFrame,
  };
}

/**
 * Returns the cell of a state. A number stays a number, for the spreadsheet in which a CSV is opened.
 * @param {unknown} state
 */
function numberOrText(state) {
  return typeof state === "number" ? state : valueText(state);
}
