/** The topology: the phases of processes, what channels hold, messages and markers in flight. */

import { downAt } from "../../lib/control.js";
import { setText } from "../../lib/dom.js";
import { depthOf } from "../../lib/shown.js";
import { counted, thousands, valueText } from "../../lib/format.js";
import { boxAround, distinctNames, overlap, placeLabels } from "../../lib/labels.js";
import { hasAny } from "../../lib/player.js";
import { layoutOf } from "../../lib/moving-figure.js";
import { faded } from "./colours.js";
import { baseLayout, wirePanel } from "./panel.js";
import { countCell } from "./sentences.js";
import { createDrawing, pointOn, SMALL } from "./topology-circles.js";
import {
  badgesOf, leastCounted, movingTraces, numberOfState, phaseOfAll, standingTraces,
} from "./topology-marks.js";

const CROWD = 20; // circles among which names may lie over channels
const LENGTHS = [28, 16, 9]; // characters of a name: whole if there is room, else shorter
const LEGIBLE = { big: 12, small: 10 }; // px
const OPEN_PHASES = ["not recorded", "records here", "recorded", "recording", "done"];
const PHASES = [...OPEN_PHASES, "never records", "no record", "not part of it", "down", "restoring"];
/** @type {Arranged} */
const NOTHING = {
  circles: [], heads: [], bundles: [], at: new Int32Array(), hidden: 0, radius: SMALL, apart: 0, isGuessed: false,
};

/** @param {App} app */
export function createTopology(app) {
  const { player, topology } = app;
  const plot = app.root.querySelector("#wb-topology");
  const canvas = app.root.querySelector("#wb-topology-moving");
  const letters = document.createElement("canvas").getContext("2d"); // measures the width of text
  const notice = app.root.querySelector("#wb-topology-notice");
  const drawing = createDrawing(topology);
  const panel = wirePanel(app, "topology", { figure, rows, plot, over, follows: true });
  const picture = app.pictures.add(plot);
  const marks = app.pictures.addMoving(app.root.querySelector("#wb-topology-marks"));
  /** @type {Map<string, boolean>} which operators somebody has opened or closed */
  const chosen = new Map();
  let waits = false;
  let size = { width: 0, height: 0 };
  let arranged = NOTHING;
  /** @type {string[][]} the names of the circles in each of the lengths */
  let names = [];
  /** @type {TopologyScene} */
  let scene = null;
  /** @type {Trace[]} */
  let standing = [];
  let written = "";
  let uncounted = 0;
  let arrangements = 0; // how often the circles were given their places

  const isBig = () => arranged.radius > SMALL;

  function measure() {
    size = { width: plot.clientWidth, height: plot.clientHeight };
    arranged = drawing.place(size, chosen);
    written = "";
    arrangements += 1;
    const { circles } = arranged;
    names = LENGTHS.map((most) => distinctNames(circles.map(({ name }) => name), most));
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

  /**
   * Returns what processes do: which are down, and else the phase of each for the chosen snapshot.
   * @param {number[]} processes
   */
  function phasesOf(processes) {
    const { state } = player;
    const down = state.cut ? new Map() : downAt(state.window, state.now);
    return processes.map((p) => down.get(p) ?? app.snapshots.phaseOf(p, state));
  }

  /** Writes names, states and contents of channels at places where they cover nothing. */
  function write() {
    const { circles, bundles, radius } = arranged;
    const { shown } = player.state;
    const bundleOf = new Map(bundles.flatMap((bundle) => bundle.codes.map((code) => [code, bundle])));
    const phases = circles.map(({ processes }) => phasesOf(processes));
    const common = commonPhases(phases);
    const nodes = circles.map((circle, i) => nodeOf(circle, i, common.get(circle.operator) ? [] : phases[i]));
    const key = JSON.stringify([nodes.map(({ lines }) => lines), [...common]]);
    if (key !== written) scene = { ...scene, ...labelled(nodes, common) };
    written = key;
    const covered = [
      ...circles.map(({ x, y }) => boxAround(x, y, 2 * radius, 2 * radius)),
      ...[...scene.headings, ...scene.labels].map(({ box }) => box),
    ];
    const badges = badgesOf(bundles, shown, { radius, taken: covered, width });
    uncounted = badges.hidden;
    scene = {
      ...scene,
      ...arranged,
      colours: app.colours,
      insides: nodes.map(({ inside }) => inside),
      phases,
      badges: badges.boxes,
      covered: [...covered, ...badges.boxes],
      bundleOf,
    };
    const before = new Map(standing.map((trace) => [JSON.stringify(trace), trace]));
    standing = standingTraces(scene).map((trace) => before.get(JSON.stringify(trace)) ?? trace);
  }

  /**
   * Returns what is written in and beside a circle: its state if that is a short number, else its name, in it.
   * @param {NamedCircle} circle @param {number} i @param {(string | null)[]} phases
   */
  function nodeOf({ processes: [first], count, name, x, y }, i, phases) {
    const r = arranged.radius;
    const times = count > 1 ? `×${thousands(count)}` : "";
    const state = count > 1 ? times : numberOfState(player.state.shown, first);
    const inside = [state, name].find((text) => text && isBig() && width(text, 11, 600) <= 2 * r - 5) ?? "";
    const forms = names.map((all) => all[i]);
    const title = times && !inside ? forms.map((form) => `${form} ${times}`) : forms;
    const phase = isBig() ? phaseOfAll(phases) : null;
    const lines = [
      ...(inside === name ? [] : [{ part: "name", texts: [...new Set(title)] }]),
      ...(state && state !== inside && !times && isBig() ? [{ part: "state", texts: [state] }] : []),
      ...(phase ? [{ part: "phase", texts: [phase] }] : []),
    ];
    return { x, y, r: r + (count > 1 ? 5 : 1), lines, inside };
  }

  /**
   * Returns the phase of each open operator that all its subtasks have in common.
   * @param {(string | null)[][]} phases
   */
  function commonPhases(phases) {
    const { circles, heads } = arranged;
    return new Map(heads.map(({ operator }) => {
      const own = phases.filter((_, i) => circles[i].operator === operator).flat();
      return [operator, isBig() && own.every((phase) => phase === own[0]) ? own[0] : null];
    }));
  }

  /** @param {LabelNode[]} nodes @param {Map<string, string | null>} common */
  function labelled(nodes, common) {
    const { circles, heads, bundles } = arranged;
    const height = isBig() ? LEGIBLE.big : LEGIBLE.small;
    const titles = heads.map(({ operator, x, y, name, count }) => {
      const texts = LENGTHS.map((most) => `${distinctNames([name], most)[0]} ×${thousands(count)} –`);
      const fitting = texts.filter((text, i) => i === LENGTHS.length - 1 || width(text, height) < arranged.apart - 8);
      const phase = common.get(operator);
      const named = { part: "name", texts: [...new Set(fitting)] };
      return { x, y, r: -8, lines: phase ? [named, { part: "phase", texts: [phase] }] : [named] };
    });
    /** @param {string} text */
    const measured = (text) => width(text, height);
    const room = { size, paths: bundles.map(({ path }) => path), width: measured };
    const taken = nodes.map(({ x, y, r }) => boxAround(x, y, 2 * r, 2 * r));
    const headings = placeLabels(titles, { ...room, taken, crowd: true });
    const crowd = circles.length > CROWD;
    return { headings, labels: placeLabels(nodes, { ...room, taken: headings.map(({ box }) => box), crowd }) };
  }

  /** @param {Bundle[]} bundles @param {string} colour @param {number} width */
  function edges(bundles, colour, width) {
    const x = bundles.flatMap(({ path }) => [...path.map((point) => point.x), null]);
    const y = bundles.flatMap(({ path }) => [...path.map((point) => point.y), null]);
    const line = { color: colour, width, dash: "solid", simplify: false };
    return { type: "scatter", mode: "lines", x, y, line, hoverinfo: "skip" };
  }

  /**
   * Draws an arrow head at two thirds of each channel.
   * @param {Bundle[]} bundles @param {string} colour
   */
  function arrows(bundles, colour) {
    const at = bundles.map((bundle) => [pointOn(bundle, 0.66), pointOn(bundle, 0.7)]);
    const angle = at.map(([a, b]) => 90 + (Math.atan2(b.y - a.y, b.x - a.x) * 180) / Math.PI);
    return {
      type: "scatter",
      mode: "markers",
      x: at.map(([a]) => a.x),
      y: at.map(([a]) => a.y),
      marker: { symbol: "triangle-up", size: isBig() ? 8 : 5, color: colour, angle },
    };
  }

  function figure() {
    const { colours } = app;
    const { bundles } = arranged;
    const [single, several] = [false, true].map((many) => bundles.filter(({ codes }) => codes.length > 1 === many));
    const selected = player.state.selection;
    const code = selected?.of === "channel" ? selected.channel : -1;
    /** @type {Trace[]} */
    const data = [
      edges(single, faded(colours.quiet, isBig() ? 0.45 : 0.25), 1.25),
      edges(several, faded(colours.quiet, 0.45), 3),
      edges(bundles.filter(({ codes }) => codes.includes(code)), colours.accent, 2.5),
      arrows(bundles, faded(colours.quiet, isBig() ? 0.8 : 0.4)),
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
  }

  function drawNotice() {
    const { circles, hidden, isGuessed } = arranged;
    const now = scene.phases.flat();
    const counts = PHASES.map((phase) => ({ phase, n: now.filter((name) => name === phase).length }));
    const { snapshot, shown } = player.state;
    const phaseCounts = counts.filter(({ n }) => n).map(({ phase, n }) => `${thousands(n)} ${phase}`).join(", ");
    const unnamed = circles.filter(({ name }, i) => name !== scene.insides[i]).length
      - scene.labels.length;
    const noRoom = [unnamed > 0 && counted(unnamed, "name"), uncounted && counted(uncounted, "number")].filter(Boolean);
    const hiddenProcesses = counted(hidden, "process", "processes");
    const words = [
      snapshot !== null && `Snapshot ${snapshot}: ${phaseCounts}.`,
      isGuessed && "How they are connected is not known: in the order of the log.",
      hidden > 0 && `${hiddenProcesses} not shown${circles[0]?.operator ? "" : ": those with fewest channels"}.`,
      leastCounted(shown) > 1 && "Numbers: channels with 2 or more; the table has all.",
      noRoom.length && `No room for ${noRoom.join(" and ")}: see the table.`,
    ];
    setText(notice, words.filter(Boolean).join(" "));
    notice.title = notice.textContent;
  }

  /**
   * Returns what moves, where it will be so many ms later if the replay plays.
   * @param {number} later @returns {MovingMarks}
   */
  function marksAfter(later) {
    const { state } = player;
    const at = later ? player.placeAfter(later / 1000) : state.now;
    const data = [...standing, ...movingTraces(scene, state, at)];
    return { data, size, view: `${arrangements} ${app.colours.ink}` };
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

  canvas.addEventListener("click", (/** @type {MouseEvent} */ { offsetX: x, offsetY: y }) => {
    const operator = operatorAt(x, y);
    const target = hit(x, y);
    if (operator) toggle(operator);
    else if (target) app.select(target);
  });
  canvas.addEventListener("pointermove", (/** @type {PointerEvent} */ { offsetX: x, offsetY: y }) => {
    const title = titleAt(x, y);
    canvas.style.cursor = operatorAt(x, y) || hit(x, y) ? "pointer" : "";
    if (canvas.title !== title) canvas.title = title;
  });

  /**
   * Opens a closed operator, and closes an open one.
   * @param {string} operator
   */
  function toggle(operator) {
    chosen.set(operator, !arranged.heads.some((head) => head.operator === operator));
    draw(new Set(["arranged"]));
  }

  /**
   * Returns the operator of which the circle, or the name above its subtasks, is at a place.
   * @param {number} x @param {number} y
   */
  function operatorAt(x, y) {
    const circle = circleAt(x, y);
    if (circle) return circle.count > 1 ? circle.operator : null;
    const heading = scene?.headings.find(({ box }) => overlap(box, boxAround(x, y, 1, 1)));
    return heading ? arranged.heads[heading.node].operator : null;
  }

  /** @param {number} x @param {number} y */
  function circleAt(x, y) {
    const reach = Math.max(arranged.radius, 12);
    const [nearest] = arranged.circles.map((circle) => ({ circle, d: Math.hypot(circle.x - x, circle.y - y) }))
      .sort((a, b) => a.d - b.d);
    return nearest?.d < reach ? nearest.circle : null;
  }

  /** @param {number} x @param {number} y */
  function bundleAt(x, y) {
    /** @type {Bundle | null} */
    let best = null;
    let least = 8;
    for (const bundle of arranged.bundles) {
      for (let along = 0; along <= 1; along += 0.1) {
        const point = pointOn(bundle, along);
        const d = Math.hypot(point.x - x, point.y - y);
        if (d < least) [least, best] = [d, bundle];
      }
    }
    return best;
  }

  /**
   * Says in words what is at a place: names that are shortened stand here whole.
   * @param {number} x @param {number} y
   */
  function titleAt(x, y) {
    const { shown } = player.state;
    const operator = operatorAt(x, y);
    const circle = circleAt(x, y);
    const bundle = circle ? null : bundleAt(x, y);
    if (circle?.count > 1) {
      const phase = phaseOfAll(scene.phases[arranged.circles.indexOf(circle)]);
      return [`${circle.name}, ${counted(circle.count, "subtask")}`, phase, "click to open"].filter(Boolean).join(": ");
    }
    if (operator) {
      const { name, count } = arranged.heads.find((head) => head.operator === operator);
      return `${name}, ${counted(count, "subtask")}: click to close`;
    }
    if (circle) {
      const [p] = circle.processes;
      const state = shown?.known[p] ? valueText(shown.states[p], 200) : "";
      return [topology.processes[p].id, ...phasesOf([p]), state].filter(Boolean).join(": ");
    }
    if (!bundle) return "";
    const [code, ...others] = bundle.codes;
    const messages = bundle.codes.reduce((sum, each) => sum + depthOf(shown, each), 0);
    const name = others.length
      ? `${counted(bundle.codes.length, "channel")}, ${bundle.from.name} to ${bundle.to.name}`
      : topology.channels[code].id;
    return `${name}: ${counted(messages, "message")}`;
  }

  /** @param {number} x @param {number} y @returns {Chosen | null} */
  function hit(x, y) {
    const circle = circleAt(x, y);
    if (circle) return circle.count > 1 ? null : { of: "process", process: circle.processes[0] };
    const bundle = bundleAt(x, y);
    return bundle?.codes.length === 1 ? { of: "channel", channel: bundle.codes[0] } : null;
  }

  app.topologyAt = (x, y) => hit(x, y);

  app.topologySpot = (process, channel) => {
    if (!scene || panel.isFolded()) return null;
    const bundle = channel === undefined ? null : scene.bundleOf.get(channel);
    if (channel !== undefined) return bundle ? pointOn(bundle, 0.5) : null;
    return arranged.circles[arranged.at[process]] ?? null;
  };

  /** @param {PlayerState} state @param {Set<string>} keys */
  function update(state, keys) {
    panel.update(state, keys);
    if (panel.isFolded() || !state.shown) return;
    if (scene) draw(keys);
    else if (!waits) {
      waits = true;
      app.firstPicture.then(() => draw(new Set(["shown"])));
    }
  }

  /** @param {Set<string>} keys */
  function draw(keys) {
    const isNew = !scene || hasAny(keys, "theme", "size", "folded", "snapshot", "selection", "arranged");
    if (isNew) drawStill();
    if (isNew || keys.has("shown")) {
      write();
      drawNotice();
    }
    if (isNew || hasAny(keys, "now", "shown", "window", "cut")) drawMoving();
  }

  return { update };
}
