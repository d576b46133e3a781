/** The topology: the phases of processes, the number of messages in channels, messages and markers in flight. */

import { fitCanvas } from "../../lib/canvas.js";
import { setText } from "../../lib/dom.js";
import { blockedAt, spansOf } from "../../lib/blocked.js";
import { depthOf, filledChannels } from "../../lib/cuts.js";
import { counted, escapeText, thousands } from "../../lib/format.js";
import { boxAround, distinctNames, overlap, placeLabels } from "../../lib/labels.js";
import { hasAny } from "../../lib/player.js";
import { alongEdge, drawnProcesses, layoutTopology } from "../../lib/layout.js";
import { inFlight, progress } from "./geometry.js";
import { faded } from "./colours.js";
import { baseLayout, wirePanel } from "./panel.js";
import { countCell } from "./sentences.js";

const NODE = 15;
const SMALL_NODE = 7;
const MANY = 20;
const CURVE_POINTS = 9;
const CROWD = 40; // channels with messages; in a larger crowd a single message gets no number
const LONGEST_NAME = 16; // characters
const ALONG = [0.4, 0.5, 0.3, 0.6, 0.22, 0.75]; // where on a channel its number may stand, best first
const OPEN_PHASES = ["not recorded", "records here", "recorded", "recording", "done"];
const PHASES = [...OPEN_PHASES, "never records", "no record", "not part of it"];

/** @param {App} app */
export function createTopology(app) {
  const { player, topology } = app;
  const plot = app.root.querySelector("#wb-topology");
  const canvas = app.root.querySelector("#wb-topology-moving");
  const numbers = app.root.querySelector("#wb-topology-numbers");
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
  let drawnKey = "";
  let waits = false;
  let size = { width: 0, height: 0 };
  /** @type {Point[]} */
  let places = [];
  /** @type {Label[]} */
  let labels = [];
  /** @type {LabelBox[]} */
  let written = [];
  let uncounted = 0;

  function measure() {
    size = { width: plot.clientWidth, height: plot.clientHeight };
    const pad = { x: Math.min(60, size.width * 0.16), y: radius + 20 };
    places = unit.map(
      ({ x, y }) => ({ x: pad.x + x * (size.width - 2 * pad.x), y: pad.y + y * (size.height - 2 * pad.y) }),
    );
    writeLabels();
  }

  /** Chooses the places of names and phases, and remembers what they cover. */
  function writeLabels() {
    const context = numbers.getContext("2d");
    const big = radius > SMALL_NODE;
    const now = player.state.snapshot === null || !big ? [] : phases();
    /** @param {string | null | undefined} text @param {number} height */
    const width = (text, height) => {
      if (!text) return 0;
      context.font = `${height}px system-ui, sans-serif`;
      return context.measureText(text).width;
    };
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
    return shown.map((p) => app.snapshots.phaseOf(p, player.state));
  }

  function figure() {
    const { colours } = app;
    const now = phases();
    const big = radius > SMALL_NODE;
    const selected = player.state.selection;
    const highlighted = selected?.of === "channel" ? drawnChannels.filter(({ code }) => code === selected.channel) : [];
    /** @type {Record<string, string>} */
    const fills = {
      "not recorded": colours.panel,
      "records here": faded(colours.accent, 0.35),
      recorded: faded(colours.recorded, 0.55),
      recording: faded(colours.marker, 0.5),
      done: faded(colours.recorded, 0.55),
      "never records": colours.panel,
      "no record": colours.panel,
      "not part of it": colours.panel,
    };
    /** @type {Record<string, string>} */
    const rims = {
      "not recorded": colours.quiet,
      "records here": colours.accent,
      recorded: colours.recorded,
      recording: colours.marker,
      done: colours.recorded,
      "never records": colours.orphan,
      "no record": colours.quiet,
      "not part of it": faded(colours.quiet, 0.4),
    };
    /** @type {Trace[]} */
    const data = [
      edges(drawnChannels, faded(colours.quiet, big ? 0.45 : 0.25), 1.25),
      edges(highlighted, colours.accent, 2.5),
      arrows(drawnChannels, faded(colours.quiet, big ? 0.8 : 0.4)),
      {
        type: "scatter",
        mode: "markers",
        x: places.map(({ x }) => x),
        y: places.map(({ y }) => y),
        marker: {
          size: radius * 2,
          color: now.map((phase) => fills[phase] ?? colours.panel),
          line: { width: 2, color: now.map((phase) => rims[phase] ?? colours.quiet) },
        },
      },
      texts("name", (node) => escapeText(names[node]), { color: colours.ink, size: big ? 12 : 10 }),
      texts("state", (node) => now[node] ?? "", { color: colours.quiet, size: 11 }),
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

  /**
   * Makes the trace of the names, or of the phases.
   * @param {"name" | "state"} part @param {(node: number) => string} text @param {object} textfont
   */
  function texts(part, text, textfont) {
    const own = labels.filter((label) => label.part === part);
    return {
      type: "scatter",
      mode: "text",
      x: own.map(({ x }) => x),
      y: own.map(({ y }) => y),
      text: own.map(({ node }) => text(node)),
      textposition: "middle center",
      textfont,
    };
  }

  function drawStill() {
    measure();
    drawnKey = phases().join();
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
    const noRoom = [unnamed && counted(unnamed, "name"), uncounted && counted(uncounted, "number")].filter(Boolean);
    const room = noRoom.length ? ` No room for ${noRoom.join(" and ")}: see the table.` : "";
    setText(notice, words + missing + crowd + room);
    notice.title = notice.textContent;
  }

  /** @param {PlayerState} state */
  function drawMoving(state) {
    paintMoving(fitCanvas(canvas), state);
  }

  /** @param {Context} context */
  function over(context) {
    paintCounts(context, player.state.shown);
    paintMoving(context, player.state);
  }

  /** @param {Context} context @param {PlayerState} state */
  function paintMoving(context, state) {
    const { window } = state;
    if (window?.exact && window.axis === state.axis && !state.cut) drawTokens(context, window, state.now);
  }

  /** @param {Context} context @param {OpenWindow} window @param {number} now */
  function drawTokens(context, window, now) {
    for (const table of [window.messages, window.markers]) {
      context.fillStyle = table === window.markers ? app.colours.marker : app.colours.message;
      context.beginPath();
      for (let row = 0; row < table.count; row += 1) {
        if (!inFlight(table, row, now)) continue;
        const channel = topology.channels[table.channel[row]];
        if (!placeOf.has(channel.sourceCode) || !placeOf.has(channel.targetCode)) continue;
        const { x, y } = pointOn(channel, Math.min(progress(table, row, now), table.received_index[row] < 0 ? 0.5 : 1));
        if (table === window.markers) diamond(context, x, y, radius > SMALL_NODE ? 7 : 5);
        else dot(context, x, y, radius > SMALL_NODE ? 5 : 3);
      }
      context.fill();
    }
  }

  /** @param {Context} context @param {number} x @param {number} y @param {number} r */
  function dot(context, x, y, r) {
    context.moveTo(x + r, y);
    context.arc(x, y, r, 0, 2 * Math.PI);
  }

  /** @param {Context} context @param {number} x @param {number} y @param {number} r */
  function diamond(context, x, y, r) {
    context.moveTo(x, y - r);
    context.lineTo(x + r, y);
    context.lineTo(x, y + r);
    context.lineTo(x - r, y);
    context.closePath();
  }

  /**
   * Draws the numbers of messages, on a canvas of their own: they change less often than the tokens move.
   * @param {Cut | null} cut
   */
  function drawCounts(cut) {
    paintCounts(fitCanvas(numbers), cut);
  }

  /** @param {Context} context @param {Cut | null} cut */
  function paintCounts(context, cut) {
    if (!cut) return;
    if (!player.state.cut) drawBlocked(context, blockedAt(spansOf(player.state.window), player.state.now));
    const least = leastCounted(cut);
    const taken = [...written];
    uncounted = 0;
    context.font = `600 ${radius > SMALL_NODE ? 12 : 10}px system-ui, sans-serif`;
    context.textAlign = "center";
    context.textBaseline = "middle";
    for (const channel of drawnChannels) {
      const messages = depthOf(cut, channel.code);
      if (messages < least) continue;
      const text = thousands(messages);
      const width = context.measureText(text).width + (radius > SMALL_NODE ? 8 : 4);
      const half = radius > SMALL_NODE ? 8 : 6;
      const box = badgeBox(channel, width, 2 * half, taken);
      if (!box) {
        uncounted += 1;
        continue;
      }
      taken.push(box);
      const [x, y] = [box.left + width / 2, box.top + half];
      context.fillStyle = app.colours.panel;
      context.fillRect(x - width / 2, y - half, width, 2 * half);
      context.strokeStyle = app.colours.message;
      context.strokeRect(x - width / 2, y - half, width, 2 * half);
      context.fillStyle = app.colours.ink;
      context.fillText(text, x, y + 0.5);
    }
  }

  /**
   * Returns the first place on a channel where its number covers nothing, or null.
   * @param {OpenChannel} channel @param {number} width @param {number} height @param {LabelBox[]} taken
   */
  function badgeBox(channel, width, height, taken) {
    const boxes = ALONG.map((along) => {
      const { x, y } = pointOn(channel, along);
      return boxAround(x, y, width, height);
    });
    return boxes.find((box) => !taken.some((other) => overlap(box, other))) ?? null;
  }

  /**
   * Draws a bar across the end of each blocked channel.
   * @param {Context} context @param {Set<number>} blocked
   */
  function drawBlocked(context, blocked) {
    context.strokeStyle = app.colours.orphan;
    context.lineWidth = 4;
    context.beginPath();
    for (const channel of drawnChannels) {
      if (!blocked.has(channel.code)) continue;
      const [a, b] = [pointOn(channel, 0.9), pointOn(channel, 0.96)];
      const [dx, dy] = [b.x - a.x, b.y - a.y];
      const scale = (radius > SMALL_NODE ? 9 : 6) / (Math.hypot(dx, dy) || 1);
      context.moveTo(b.x - dy * scale, b.y + dx * scale);
      context.lineTo(b.x + dy * scale, b.y - dx * scale);
    }
    context.stroke();
    context.lineWidth = 1;
  }

  /**
   * Returns from how many messages on a channel gets its number. The notice says if that is more than one.
   * @param {Cut | null} cut
   */
  function leastCounted(cut) {
    return cut && filledChannels(cut).length > CROWD ? 2 : 1;
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
    const key = hasAny(keys, "shown", "phases") ? phases().join() : drawnKey;
    const isStale = key !== drawnKey || !places.length;
    if (isStale || hasAny(keys, "theme", "size", "folded", "snapshot", "selection")) drawStill();
    if (isStale || hasAny(keys, "shown", "snapshot", "size", "theme", "folded")) drawCounts(state.shown);
    if (keys.has("shown")) drawNotice();
    if (hasAny(keys, "now", "shown", "window", "cut", "size", "theme", "folded")) drawMoving(state);
  }

  return { update };
}
