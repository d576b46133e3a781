/** The depth of the channels in the part in view: a heat map, or the steps of the selected channel. */

import { fitCanvas, sizeOf } from "../../lib/canvas.js";
import { depthBins, depthSteps } from "../../lib/depth.js";
import { setText } from "../../lib/dom.js";
import { counted, escapeText, thousands, ticks } from "../../lib/format.js";
import { distinctNames } from "../../lib/labels.js";
import { hasAny } from "../../lib/player.js";
import { faded, heatScale } from "./colours.js";
import { baseLayout, plainAxis, wirePanel } from "./panel.js";
import { countCell } from "./sentences.js";
import { timeAxis } from "./time-axis.js";

const ROW_LEAST = 12; // pixels
const BINS = 200;
const SETTLE = 120; // ms between a change and the next drawing
const DRAWN = ["window", "from", "to", "axis", "selection", "theme", "size", "folded", "idle", "lanes", "overview"];
const MESSAGES = { name: "messages", title: "all messages," };
const LETTER = 6.2; // pixels of a letter of a name

/** @param {App} app */
export function createDepth(app) {
  const { player, topology, recording } = app;
  const plot = app.root.querySelector("#wb-depth");
  const canvas = app.root.querySelector("#wb-depth-moving");
  const notice = app.root.querySelector("#wb-depth-notice");
  const panel = wirePanel(app, "depth", { figure, rows, plot, over: () => ({ paint: paintCursor }), whole: MESSAGES });
  const picture = app.pictures.add(plot);
  const edges = { t: 6, b: 26 }; // the title of the axis stands below the diagram
  /** @type {any} */
  let settle = null;
  /** @type {OpenWindow | null} */
  let drawn = null;
  /** @type {number | null} */
  let cursorAt = null;
  /** @type {DepthMatrix} */
  let matrix = { edges: [], channels: [], rows: [] };

  /** Returns the margins, of which left and right are those of the diagram: one axis stands below the other. */
  function margins() {
    return { ...edges, ...app.spacetime.plotMargins() };
  }

  function selectedChannel() {
    const { selection, window } = player.state;
    return selection?.of === "channel" && window?.exact ? selection.channel : null;
  }

  /** @returns {DepthMatrix} */
  function measure() {
    const { window, from, to } = player.state;
    if (!window) return { edges: [], channels: [], rows: [] };
    if (window.exact) {
      return depthBins(window, Math.max(from, window.from), Math.min(to, window.to), BINS, player.scale());
    }
    const { depth, edges, channels } = window.bins;
    const cells = channels.map((_, row) => depth.values.subarray(row * depth.columns, (row + 1) * depth.columns));
    return { edges, channels, rows: cells };
  }

  /**
   * Returns the deepest channels that fit, in the topology's order.
   * @param {DepthMatrix} matrix
   */
  function fitting({ channels, rows }) {
    const room = Math.max(1, Math.floor((plot.clientHeight - edges.t - edges.b) / ROW_LEAST));
    const deepest = rows
      .map((row, i) => ({ i, most: row.reduce((most, depth) => Math.max(most, depth), 0) }))
      .filter(({ most }) => most > 0)
      .sort((a, b) => b.most - a.most || a.i - b.i);
    const kept = deepest.slice(0, room).map(({ i }) => i).sort((a, b) => channels[a] - channels[b]);
    const hidden = deepest.length - kept.length + (player.state.window?.bins?.hiddenChannels ?? 0);
    return { kept, hidden, most: deepest[0]?.most ?? 0 };
  }

  function figure() {
    const { axis } = player.state;
    const margin = margins();
    const width = plot.clientWidth - margin.l - margin.r;
    const layout = {
      ...baseLayout(app.colours, margin),
      width: plot.clientWidth,
      height: plot.clientHeight,
      xaxis: timeAxis(app.colours, axis, recording.time_unit, player.scale(), width, { title: {} }),
    };
    const channel = selectedChannel();
    return channel === null ? heatFigure(layout) : stepFigure(layout, channel);
  }

  /** @param {number} rowCount @param {number} most @param {number} hidden */
  function sentence(rowCount, most, hidden) {
    if (rowCount) {
      const rest = hidden > 0 ? ` ${counted(hidden, "channel")} with less not shown.` : "";
      return `Darkest: ${counted(most, "message")}.${rest}`;
    }
    return app.recording.is_derived ? "No message is known to wait here." : "No message waits in a channel here.";
  }

  /** @param {Layout} layout */
  function heatFigure(layout) {
    matrix = measure();
    const { kept, hidden, most: deepest } = fitting(matrix);
    const most = Math.max(5, Math.floor((margins().l - 8) / LETTER)); // characters of a name
    const names = distinctNames(kept.map((i) => topology.channels[matrix.channels[i]].id), most).map(escapeText);
    setText(notice, player.state.window ? sentence(kept.length, deepest, hidden) : "");
    const data = kept.length === 0 ? [] : [{
      type: "heatmap",
      x: Array.from(matrix.edges, player.scale().u),
      y: kept.map((_, i) => i),
      z: kept.map((i) => Array.from(matrix.rows[i])),
      ygap: 1,
      zmin: 0,
      zmax: Math.max(deepest, 1),
      colorscale: heatScale(app.colours),
      showscale: false,
    }];
    layout.yaxis = plainAxis(app.colours, {
      range: [Math.max(kept.length, 1) - 0.5, -0.5],
      tickvals: names.map((_, i) => i),
      ticktext: names,
      ticks: "",
      showline: false,
      tickfont: { size: 11 },
    });
    return { data, layout };
  }

  /** @param {Layout} layout @param {number} channel */
  function stepFigure(layout, channel) {
    const { x, depth } = depthSteps(player.state.window, channel);
    const most = Math.max(1, ...depth);
    setText(
      notice,
      `${topology.channels[channel].id}: at most ${counted(Math.max(0, ...depth), "message")}. Esc shows all channels.`,
    );
    const data = [
      {
        type: "scatter",
        mode: "lines",
        x: x.map(player.scale().u),
        y: depth,
        line: { shape: "hv", dash: "solid", color: app.colours.accent, width: 1.5 },
        fill: "tozeroy",
        fillcolor: faded(app.colours.accent, 0.15),
      },
    ];
    const counts = ticks(0, most, 4, true);
    layout.yaxis = plainAxis(app.colours, {
      range: [0, most * 1.1],
      tickvals: counts,
      ticktext: counts.map(thousands),
      ticks: "",
      showline: false,
      title: { text: "messages", font: { size: 12 } },
    });
    return { data, layout };
  }

  function rows() {
    const { window } = player.state;
    if (!window) return { head: ["channel"], rows: [] };
    const measured = measure();
    const all = measured.channels.map((channel, row) => {
      const depths = Array.from(measured.rows[row]);
      const counts = [window.depths[channel] ?? 0, Math.max(0, ...depths), depths.at(-1) ?? 0];
      return [topology.channels[channel].id, ...counts.map((count) => countCell(count, app.recording.is_derived))];
    });
    return { head: ["channel", "messages at the left edge", "most", "in the last bin"], rows: all };
  }

  function drawStill() {
    settle = null;
    if (panel.isFolded()) return;
    picture.show(figure());
    drawn = player.state.window;
    drawCursor();
  }

  function cursorX() {
    const { now, from } = player.state;
    const { u, span } = player.scale();
    const margin = margins();
    const width = sizeOf(canvas).width - margin.l - margin.r;
    return Math.round(margin.l + ((u(now) - u(from)) / span) * width);
  }

  function drawCursor(isStale = true) {
    const x = cursorX();
    if (x === cursorAt && !isStale) return;
    cursorAt = x;
    paintCursor(fitCanvas(canvas));
  }

  /**
   * Paints the cursor.
   * @param {Context} context
   */
  function paintCursor(context) {
    const x = cursorX();
    const margin = margins();
    const { width: all, height } = sizeOf(canvas);
    const width = all - margin.l - margin.r;
    if (x < margin.l || x > margin.l + width) return;
    context.fillStyle = app.colours.ink;
    context.fillRect(x - 0.75, margin.t, 1.5, height - margin.t - margin.b);
  }

  canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    const cell = cellAt(event);
    canvas.title = cell
      ? `${topology.channels[cell.channel].id}: ${thousands(cell.depth)} at ${app.readPlace(cell.x)}`
      : "";
  });
  canvas.addEventListener("click", (/** @type {MouseEvent} */ event) => {
    const cell = cellAt(event);
    if (cell) app.select({ of: "channel", channel: cell.channel });
  });

  /** @param {MouseEvent} event */
  function cellAt(event) {
    if (selectedChannel() !== null || !matrix.channels.length) return null;
    const scale = player.scale();
    const { kept } = fitting(matrix);
    const margin = margins();
    const inner = {
      width: canvas.clientWidth - margin.l - margin.r,
      height: canvas.clientHeight - margin.t - margin.b,
    };
    const row = Math.floor(((event.offsetY - margin.t) / inner.height) * kept.length);
    const x = scale.x(scale.u(scale.from) + ((event.offsetX - margin.l) / inner.width) * scale.span);
    const bin = Array.from(matrix.edges).findIndex((edge, i) => edge <= x && x < matrix.edges[i + 1]);
    if (kept[row] === undefined || bin < 0) return null;
    return { channel: matrix.channels[kept[row]], depth: matrix.rows[kept[row]][bin], x };
  }

  return {
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      panel.update(state, keys);
      const isStale = hasAny(keys, ...DRAWN);
      if (state.window && isStale && !settle) {
        settle = drawn ? setTimeout(drawStill, SETTLE) : app.firstPicture.then(drawStill);
      }
      if (keys.has("now") && !panel.isFolded()) drawCursor(false);
    },
  };
}
