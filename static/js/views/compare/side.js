/** One side of the comparison: its space-time diagram, with the cursor and what is chosen drawn over it. */

import { h, setText } from "../../lib/dom.js";
import { mountFigure } from "../../lib/figure.js";
import { counted, instant, thousands } from "../../lib/format.js";
import { plainScale } from "../../lib/folds.js";
import { PLAIN_LANES, arrange } from "../../lib/lanes.js";
import { createSource, defaultUrls, getJson, inOrder } from "../../lib/source.js";
import { openTopology } from "../../lib/topology.js";
import { neighbour } from "../../lib/window.js";
import { readColours } from "../workbench/colours.js";
import { geometry } from "../workbench/geometry.js";
import { stillFigure } from "../workbench/still.js";

const LANE_LETTER = 8.5; // pixels of a letter of a lane's name
const NO_SOCKET = /** @type {ReplaySocket} */ (/** @type {unknown} */ ({ isOpen: () => false }));
const OPTIONS = { config: { staticPlot: true, displayModeBar: false } };

/**
 * Mounts one side. `onSeek(x)` is called when a person chooses a place in the diagram.
 * @param {HTMLElement} section @param {ComparedSide} data
 * @param {{ csrf: () => string, onSeek: (x: number) => void }} options
 */
export async function mountSide(section, data, { csrf, onSeek }) {
  const urls = defaultUrls(String(data.recording));
  const topology = openTopology(await getJson(urls.topology));
  const source = createSource({ urls, topology, socket: NO_SOCKET, csrf });
  const chart = /** @type {HTMLElement} */ (section.querySelector("[data-chart]"));
  const readout = section.querySelector("[data-readout]");
  const figure = mountFigure(chart, build, OPTIONS);
  const cursor = h("div.compare-cursor", { "aria-hidden": "true" });
  const marks = h("div.compare-marks", { "aria-hidden": "true" });
  chart.append(marks, cursor);
  chart.style.setProperty("--lanes", String(Math.min(topology.processes.length, 40)));
  const positions = data.positions ? inOrder(data.positions, topology.processes) : null;
  /** @type {OpenWindow | null} */
  let window = null;
  /** @type {Axis} */
  let axis = "order";
  let view = bounds();
  let x = view.from;
  const plain = arrange(topology, PLAIN_LANES);
  let first = 0;
  /** @type {number[]} */
  let lanes = [];
  chart.addEventListener("click", (event) => {
    const at = measures().at(event.clientX - chart.getBoundingClientRect().left);
    onSeek(Math.round(Math.min(Math.max(at, bounds().from), bounds().to)));
  });

  function bounds() {
    const { from, to, steps } = data.extent;
    return axis === "order" ? { from: 0, to: Math.max(steps, 1) } : { from, to: Math.max(to, from + 1) };
  }

  function measures() {
    const width = Math.max(chart.clientWidth, 100);
    const longest = Math.max(...topology.processes.map(({ id }) => id.length * LANE_LETTER), 0);
    const pad = (view.to - view.from) * 0.02;
    return geometry({
      width,
      height: Math.max(chart.clientHeight, 100),
      left: Math.round(Math.min(width < 500 ? 76 : 132, 16 + longest)),
      right: 12,
      top: 14,
      bottom: 44,
      scale: plainScale(view.from - pad, view.to + pad),
      arrangement: { ...plain, first },
    });
  }

  function build() {
    return stillFigure({
      window: window?.axis === axis ? window : null,
      g: measures(),
      topology,
      colours: readColours(),
      axis,
      unit: data.unit,
      bounds: { from: view.from, to: view.to },
      arrangement: { ...plain, first },
      snapshot: data.snapshot,
      positions,
      recordedAt: null,
      dragging: false,
    });
  }

  /** Fetches what the view shows, and draws it. */
  async function load() {
    const request = { axis, from: Math.floor(view.from), to: Math.ceil(view.to), width: measures().width };
    const loaded = await source.window(request);
    if (!loaded) return;
    window = loaded;
    await figure.show();
    drawOver();
  }

  function drawOver() {
    const g = measures();
    const at = g.x(x);
    cursor.hidden = at < g.left - 1 || at > g.width - g.right + 1;
    Object.assign(cursor.style, { left: `${at}px`, top: `${g.top}px`, height: `${g.plotBottom - g.top}px` });
    const half = Math.min(g.pitch || 30, 30) / 2;
    marks.replaceChildren(...lanes.filter(g.shows).map((lane) => h("div.compare-lane", { style: {
      left: `${g.left}px`, top: `${g.y(lane) - half}px`, width: `${g.plotWidth}px`, height: `${half * 2}px`,
    } })));
  }

  /** @param {number} place */
  function placeText(place) {
    if (axis === "time") return instant(place, data.unit, data.extent.to - data.extent.from);
    return `${thousands(place)} of ${counted(data.extent.steps, "event")} have happened`;
  }

  return {
    topology,
    get x() {
      return x;
    },
    bounds,
    /** @param {Axis} next */
    turn(next) {
      axis = next;
      view = bounds();
      return load();
    },
    /**
     * Moves the cursor; what the other side is to know of it stands behind the place.
     * @param {number} place @param {string} [remark]
     */
    seek(place, remark = "") {
      x = Math.min(Math.max(place, bounds().from), bounds().to);
      setText(readout, remark ? `${placeText(x)}: ${remark}` : placeText(x));
      if (x < view.from || x > view.to) {
        const half = (view.to - view.from) / 2;
        look(x - half, x + half);
      }
      drawOver();
    },
    /** @param {number} factor */
    zoom(factor) {
      const span = Math.max((view.to - view.from) / factor, 4);
      look(x - span / 2, x + span / 2);
    },
    /**
     * Marks the lanes of a process, or of both ends of a channel.
     * @param {string | null} process @param {string | null} channel
     */
    mark(process, channel) {
      const { sourceCode, targetCode } = topology.channels[topology.channelCode.get(channel)] ?? {};
      const codes = [topology.processCode.get(process), sourceCode, targetCode];
      lanes = [...new Set(codes.filter((code) => code !== undefined))];
      if (lanes.length && !measures().shows(lanes[0])) {
        first = Math.max(0, lanes[0] - 2);
        figure.show();
      }
      drawOver();
    },
    /**
     * Returns the place of the next event in a direction, in a window of bins a hundredth of the view away.
     * @param {number} direction
     */
    next(direction) {
      if (axis === "order") return x + direction;
      if (!window?.exact) return x + (direction * (view.to - view.from)) / 100;
      return neighbour(window.events.x, x, direction);
    },
    /** Resolves with what holds at the cursor, or with null if the cursor has moved on. */
    cut: () => source.cut(axis === "order" ? { step: Math.round(x) } : { at: x }),
    hidden: () => counted(topology.processes.length - measures().lanes, "lane"),
    hasHidden: () => topology.processes.length > measures().lanes,
    redraw: () => figure.show().then(drawOver),
  };

  /** @param {number} from @param {number} to */
  function look(from, to) {
    const all = bounds();
    const span = Math.min(to - from, all.to - all.from);
    const start = Math.min(Math.max(from, all.from), all.to - span);
    view = { from: start, to: start + span };
    load();
  }
}
