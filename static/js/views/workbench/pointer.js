/** Pointer, wheel and touch on the space-time diagram: pan, zoom, scrub, hover, select. */

import { nearestEvent, nearestLine } from "./geometry.js";

const CLICK = 4; // pixels a press may move and still be a click
const GRIP = 9;

/** @param {App} app @param {PointerSurface} surface */
export function wirePointer(app, { canvas, measures, window, setHover, scrollLanes }) {
  const { player, topology } = app;
  const pointers = new Map();
  /** @type {any} */
  let press = null;

  /** @param {PointerEvent | WheelEvent} event */
  const local = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
  };

  /**
   * Returns the event, or the line of a message or marker, within `reach` of a pixel, or null.
   * @param {number} px @param {number} py @param {number} reach @returns {Target | null}
   */
  function hit(px, py, reach) {
    const shown = window();
    const g = measures();
    if (py > g.plotBottom) return null;
    if (!shown?.exact) return px < g.left ? laneAt(g, py) : foldAt(g, px);
    const { now } = player.state;
    if (px < g.left) return laneAt(g, py);
    const event = nearestEvent(shown, g, px, py, reach);
    if (event >= 0) return { of: "event", process: shown.events.process[event], index: shown.events.index[event] };
    const marker = nearestLine(shown.markers, topology.channels, g, now, px, py, reach * 0.7);
    if (marker >= 0) return { of: "marker", row: marker, channel: shown.markers.channel[marker] };
    const row = nearestLine(shown.messages, topology.channels, g, now, px, py, reach * 0.7);
    if (row < 0) return foldAt(g, px);
    return { of: "message", row, channel: shown.messages.channel[row], id: shown.messages.id[row] };
  }

  /**
   * Returns the lane whose name is at this height.
   * @param {Geometry} g @param {number} py @returns {Target | null}
   */
  function laneAt(g, py) {
    const slot = g.lanes > 1 ? Math.round((py - g.yOfSlot(0)) / g.pitch) : 0;
    const lane = g.rows[slot];
    return lane ? { of: "lane", lane, process: lane.processes[0] } : null;
  }

  /**
   * Returns the fold at a pixel.
   * @param {Geometry} g @param {number} px @returns {Target | null}
   */
  function foldAt(g, px) {
    const at = g.at(px);
    const fold = g.scale.folds.find(({ from, to }) => from < at && at < to);
    return fold ? { of: "fold", fold } : null;
  }

  /** @param {number} px @param {number} py */
  function onCursor(px, py) {
    const g = measures();
    return !player.state.cut && (Math.abs(px - g.x(player.state.now)) < GRIP && py < 20);
  }

  /** @param {number} px @param {number} py */
  function mode(px, py) {
    const g = measures();
    if (py > g.plotBottom || onCursor(px, py)) return "scrub";
    return "pan";
  }

  canvas.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    if (event.button > 0) return;
    canvas.setPointerCapture(event.pointerId);
    const [px, py] = local(event);
    pointers.set(event.pointerId, [px, py]);
    setHover(null);
    if (pointers.size === 2) press = { mode: "pinch", ...pinch() };
    else press = {
      mode: mode(px, py),
      px,
      py,
      scale: player.scale(),
      moved: false,
      touch: event.pointerType === "touch",
    };
    if (press.mode === "scrub") player.seek(measures().at(px));
  });

  canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    const [px, py] = local(event);
    if (pointers.has(event.pointerId)) pointers.set(event.pointerId, [px, py]);
    if (!press) {
      const target = hit(px, py, 12);
      const isLink = target && target.of !== "fold";
      canvas.style.cursor = isLink ? "pointer" : mode(px, py) === "scrub" ? "ew-resize" : "grab";
      setHover(target, px, py);
      return;
    }
    if (press.mode === "pinch") movePinch();
    else if (press.mode === "scrub") player.seek(measures().at(px));
    else movePan(px, py);
  });

  /** @param {number} px @param {number} py */
  function movePan(px, py) {
    if (!press.moved && Math.hypot(px - press.px, py - press.py) < CLICK) return;
    press.moved = true;
    canvas.style.cursor = "grabbing";
    const { scale } = press;
    const shift = ((px - press.px) / measures().plotWidth) * scale.span;
    player.show(scale, scale.u(scale.from) - shift, scale.u(scale.to) - shift);
  }

  function pinch() {
    const [[ax], [bx]] = pointers.values();
    const { at, scale } = measures();
    return { a: scale.u(at(ax)), b: scale.u(at(bx)), scale };
  }

  /** Keeps the two instants that were touched first under the two fingers. */
  function movePinch() {
    const [[ax], [bx]] = pointers.values();
    if (Math.abs(bx - ax) < 8) return;
    const g = measures();
    const perPixel = (press.b - press.a) / (bx - ax);
    if (!(perPixel > 0)) return;
    const begin = press.a - (ax - g.left) * perPixel;
    player.show(press.scale, begin, begin + g.plotWidth * perPixel);
  }

  /** @param {PointerEvent} event */
  function release(event) {
    pointers.delete(event.pointerId);
    if (press?.mode === "pan" && !press.moved && event.type === "pointerup") click(event);
    if (pointers.size === 0) press = null;
  }

  /** @param {PointerEvent} event */
  function click(event) {
    const [px, py] = local(event);
    const target = hit(px, py, press.touch ? 20 : 12);
    if (target?.of === "lane") app.lanes.activate(target.lane);
    else if (target?.of === "marker") app.select(app.markerEvent(target.row));
    else if (target && target.of !== "fold") app.select(withoutRow(target));
    else {
      player.set({ selection: null, witness: null });
      if (!player.state.cut) player.seek(app.snap(measures().at(px)));
    }
  }

  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => !press && setHover(null));

  canvas.addEventListener("wheel", (/** @type {WheelEvent} */ event) => {
    event.preventDefault();
    const [px] = local(event);
    setHover(null);
    const unit = event.deltaMode === 1 ? 16 : 1;
    if (event.shiftKey && app.lanes.arrangement().rows.length > measures().lanes) {
      scrollLanes(Math.sign(event.deltaY || event.deltaX) * 3);
    } else if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      player.pan((event.deltaX * unit) / measures().plotWidth);
    } else player.zoomBy(Math.exp(event.deltaY * unit * 0.0016), measures().at(px));
  }, { passive: false });
}

/** Drops the row of a target, which belongs to one window, for a selection outlives the window. */
function withoutRow(/** @type {any} */ { row, ...target }) {
  return target;
}
