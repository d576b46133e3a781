/** The topology: the phases of processes, the number of messages in channels, messages and markers in flight. */

import { downAt } from "../../lib/control.js";
import { setText } from "../../lib/dom.js";
import { depthOf } from "../../lib/shown.js";
import { counted, thousands } from "../../lib/format.js";
import { boxAround, distinctNames, placeLabels } from "../../lib/labels.js";
import { hasAny } from "../../lib/player.js";
import { alongEdge, drawnProcesses, layoutTopology } from "../../lib/layout.js";
import { layoutOf } from "../../lib/moving-figure.js";
import { faded } from "./colours.js";
import { baseLayout, wirePanel } from "./panel.js";
import { countCell } from "./sentences.js";
import { badgesOf, leastCounted, SMALL_NODE, topologyTraces } from "./topology-marks.js";

const NODE = 15;
const MANY = 20;
const CURVE_POINTS = 9;
const LONGEST_NAME = 16; // characters
const OPEN_PHASES = ["not recorded", "records here", "recorded", "recording", "done"];
const PHASES = [...OPEN_PHASES, "never records", "no record", "not part of it", "down", "restoring"];

/** @param {App} app */
export function createTopology(app) {
  const { player, topology } = app;
  const plot = app.root.querySelector("#wb-topology");
  const canvas = app.root.querySelector("#wb-topology-moving");
  const letters = document.createElement("canvas").getContext("2d"); // measures the width of text
  const notice = app.root.querySelector("#wb-topology-notice");
  const links = topology.channels.map(({ sourceCode, targetCode }) => [sourceCode, targetCode]);
  const shown = drawnProcesses(topology.processes.length, links);
  const placeOf = new Map(shown.map((p, i) => [p, i]));
  const drawnChannels = topology.channels.filter(
    ({ sourceCode, targetCode }) => placeOf.has(sourceCode) && placeOf.has(targetCode),
  );
  const unit = layoutTopology(
    shown.length,
    drawnChannels.map(({ sourceCode, targetCode }) => [placeOf.get(sourceCode), placeOf.get(targetCode)]),
  );
  const both = new Set(links.map(([a, b]) => `${a} ${b}`));
  const radius = shown.length > MANY ? SMALL_NODE : NODE;
  const names = distinctNames(shown.map((p) => topology.processes[p].id), LONGEST_NAME);
  const panel = wirePanel(app, "topology", { figure, rows, plot, over, follows: true });
  const picture = app.pictures.add(plot);
  const marks = app.pictures.addMoving(app.root.querySelector("#wb-topology-marks"));
  let waits = false;
  let size = { width: 0, height: 0 };
  /** @type {Point[]} */
  let places = [];
  /** @type {Label[]} */
  let labels = [];
  /** @type {LabelBox[]} */
  let written = [];
  let badges = badgesOf([], null, { radius, pointOn, taken: [], width });

  function measure() {
    size = { width: plot.clientWidth, height: plot.clientHeight };
    const pad = { x: Math.min(60, size.width * 0.16), y: radius + 20 };
    places = unit.map(
      ({ x, y }) => ({ x: pad.x + x * (size.width - 2 * pad.x), y: pad.y + y * (size.height - 2 * pad.y) }),
    );
    writeLabels();
  }

  /**
   * Returns the width of a text in pixels.
   * @param {string | null | undefined} text @param {number} height @param {number} [weight]
   */
  function width(text, height, weight = 400) {
    if (!text) return 0;
    letters.font = `${weight} ${height}px system-ui, sans-serif`;
    return letters.measureText(text).width;
  }

  /** Chooses the places of names and phases, and remembers what they cover. */
  function writeLabels() {
    const big = radius > SMALL_NODE;
    const now = big ? phases() : [];
    const nodes = places.map(({ x, y }, i) => {
      const name = width(names[i], big ? 12 : 10);
      return { x, y, r: radius + 1, name, state: width(now[i], 11), inside: big && name <= 2 * radius - 4 };
    });
    labels = placeLabels(nodes, size);
    written = [
      ...nodes.map(({ x, y, r }) => boxAround(x, y, 2 * r, 2 * r)),
      ...labels.map(({ node, part, x, y }) => boxAround(x, y, nodes[node][part], 14)),
    ];
  }

  /**
   * Returns the point at the share `along` of a channel, from rim to rim. Channels that go both ways bow apart.
   * @param {OpenChannel} channel @param {number} along
   */
  function pointOn({ sourceCode, targetCode }, along) {
    const a = places[placeOf.get(sourceCode)];
    const b = places[placeOf.get(targetCode)];
    const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
    const rim = Math.min(radius / length, 0.4);
    const bow = both.has(`${targetCode} ${sourceCode}`) ? Math.min(22, length * 0.12) : 0;
    return alongEdge(a, b, rim + along * (1 - 2 * rim), bow);
  }

  /** @param {OpenChannel[]} channels @param {string} colour @param {number} width */
  function edges(channels, colour, width) {
    const x = [];
    const y = [];
    for (const channel of channels) {
      for (let i = 0; i < CURVE_POINTS; i += 1) {
        const point = pointOn(channel, i / (CURVE_POINTS - 1));
        x.push(point.x);
        y.push(point.y);
      }
      x.push(null);
      y.push(null);
    }
    const line = { color: colour, width, dash: "solid", simplify: false };
    return { type: "scatter", mode: "lines", x, y, line, hoverinfo: "skip" };
  }

  /**
   * Draws an arrow head at two thirds of each channel.
   * @param {OpenChannel[]} channels @param {string} colour
   */
  function arrows(channels, colour) {
    const at = channels.map((channel) => [pointOn(channel, 0.66), pointOn(channel, 0.7)]);
    const angle = at.map(([a, b]) => 90 + (Math.atan2(b.y - a.y, b.x - a.x) * 180) / Math.PI);
    return {
      type: "scatter",
      mode: "markers",
      x: at.map(([a]) => a.x),
      y: at.map(([a]) => a.y),
      marker: { symbol: "triangle-up", size: radius > SMALL_NODE ? 8 : 5, color: colour, angle },
    };
  }

  function phases() {
    const { state } = player;
    const down = state.cut ? new Map() : downAt(state.window, state.now);
    return shown.map((p) => down.get(p) ?? app.snapshots.phaseOf(p, state));
  }

  function figure() {
    const { colours } = app;
    const big = radius > SMALL_NODE;
    const selected = player.state.selection;
    const highlighted = selected?.of === "channel" ? drawnChannels.filter(({ code }) => code === selected.channel) : [];
    /** @type {Trace[]} */
    const data = [
      edges(drawnChannels, faded(colours.quiet, big ? 0.45 : 0.25), 1.25),
      edges(highlighted, colours.accent, 2.5),
      arrows(drawnChannels, faded(colours.quiet, big ? 0.8 : 0.4)),
    ];
    const hidden = { visible: false, fixedrange: true };
    return {
      data: data.filter(({ x }) => x.length),
      layout: {
        ...baseLayout(colours, { l: 0, r: 0, t: 0, b: 0 }),
        ...size,
        xaxis: { ...hidden, range: [0, size.width] },
        yaxis: { ...hidden, range: [size.height, 0] },
      },
    };
  }

  function drawStill() {
    measure();
    picture.show(figure());
    drawNotice();
  }

  function drawNotice() {
    const hidden = topology.processes.length - shown.length;
    const now = phases();
    const counts = PHASES.map((phase) => ({ phase, n: now.filter((name) => name === phase).length }));
    const { snapshot } = player.state;
    const phaseCounts = counts.filter(({ n }) => n).map(({ phase, n }) => `${thousands(n)} ${phase}`).join(", ");
    const words = snapshot === null ? "" : `Snapshot ${snapshot}: ${phaseCounts}.`;
    const hiddenProcesses = counted(hidden, "process", "processes");
    const missing = hidden > 0 ? ` ${hiddenProcesses} not shown: those with fewest channels.` : "";
    const crowd = leastCounted(player.state.shown) > 1 ? " Numbers: channels with 2 or more; the table has all." : "";
    const unnamed = shown.length - labels.filter(({ part }) => part === "name").length;
    const uncounted = badges.hidden;
    const noRoom = [unnamed && counted(unnamed, "name"), uncounted && counted(uncounted, "number")].filter(Boolean);
    const room = noRoom.length ? ` No room for ${noRoom.join(" and ")}: see the table.` : "";
    setText(notice, words + missing + crowd + room);
    notice.title = notice.textContent;
  }

  /**
   * Returns what moves, where it will be so many ms later if the replay plays.
   * @param {number} later @returns {MovingMarks}
   */
  function marksAfter(later) {
    const { state } = player;
    const at = later ? player.placeAfter(later / 1000) : state.now;
    const data = topologyTraces({
      state,
      topology,
      colours: app.colours,
      radius,
      places,
      labels,
      names,
      phases: phases(),
      badges: badges.boxes,
      channels: drawnChannels,
      pointOn,
    }, at);
    return { data, size, view: `${size.width} ${size.height} ${app.colours.ink}` };
  }

  function drawMoving() {
    if (player.state.playing && !app.reducedMotion) marks.glide(marksAfter);
    else marks.draw(marksAfter(0));
  }

  function over() {
    return { figures: [{ data: marksAfter(0).data, layout: layoutOf(size) }] };
  }

  function rows() {
    const cut = player.state.shown;
    /** @param {number} code */
    const waiting = (code) => countCell(depthOf(cut, code), app.recording.is_derived);
    /** @param {OpenChannel} channel */
    const row = ({ id, source, target, fifo, code }) => [id, source, target, fifo ? "yes" : "no", waiting(code)];
    return { head: ["channel", "source", "target", "FIFO", "messages now"], rows: topology.channels.map(row) };
  }

  canvas.addEventListener("click", (/** @type {MouseEvent} */ event) => {
    const target = hit(event.offsetX, event.offsetY);
    if (target) app.select(target);
  });
  canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    const target = hit(event.offsetX, event.offsetY);
    canvas.style.cursor = target ? "pointer" : "";
    canvas.title = titleOf(target);
  });

  /** @param {Target | null} target */
  function titleOf(target) {
    if (target?.of === "process") {
      const phase = app.snapshots.phaseOf(target.process, player.state);
      return [topology.processes[target.process].id, phase].filter(Boolean).join(": ");
    }
    if (target?.of === "channel") {
      const messages = depthOf(player.state.shown, target.channel);
      return `${topology.channels[target.channel].id}: ${counted(messages, "message")}`;
    }
    return "";
  }

  /** @param {number} x @param {number} y @returns {Chosen | null} */
  function hit(x, y) {
    const near = places.findIndex((place) => Math.hypot(place.x - x, place.y - y) < Math.max(radius, 12));
    if (near >= 0) return { of: "process", process: shown[near] };
    /** @type {Chosen | null} */
    let best = null;
    let least = 8;
    for (const channel of drawnChannels) {
      for (let along = 0; along <= 1; along += 0.1) {
        const point = pointOn(channel, along);
        const d = Math.hypot(point.x - x, point.y - y);
        if (d >= least) continue;
        least = d;
        best = { of: "channel", channel: channel.code };
      }
    }
    return best;
  }

  app.topologyAt = (x, y) => hit(x, y);

  app.topologySpot = (process, channel) => {
    if (!places.length || panel.isFolded()) return null;
    if (channel !== undefined) return drawnChannels.some(({ code }) => code === channel)
      ? pointOn(topology.channels[channel], 0.5)
      : null;
    return places[placeOf.get(process)] ?? null;
  };

  /** @param {PlayerState} state @param {Set<string>} keys */
  function update(state, keys) {
    panel.update(state, keys);
    if (panel.isFolded() || !state.shown) return;
    if (places.length) draw(state, keys);
    else if (!waits) {
      waits = true;
      app.firstPicture.then(() => draw(player.state, new Set(["shown"])));
    }
  }

  /** @param {PlayerState} state @param {Set<string>} keys */
  function draw(state, keys) {
    if (!places.length || hasAny(keys, "theme", "size", "folded", "snapshot", "selection")) drawStill();
    if (hasAny(keys, "shown", "snapshot", "size", "theme", "folded")) {
      writeLabels();
      badges = badgesOf(drawnChannels, state.shown, { radius, pointOn, taken: written, width });
      drawNotice();
    }
    if (hasAny(keys, "now", "shown", "window", "cut", "size", "theme", "folded", "snapshot")) drawMoving();
  }

  return { update };
}
