import assert from "node:assert/strict";
import { test } from "node:test";

import { depthBins } from "../../static/js/lib/depth.js";
import { activityOf, eventsInside, foldedScale, joined, openParts, plainScale } from "../../static/js/lib/folds.js";
import { arrange, PLAIN_LANES } from "../../static/js/lib/lanes.js";
import { createPlayer } from "../../static/js/lib/player.js";
import { openWindow } from "../../static/js/lib/window.js";
import { geometry, handleX, inFlight, lineOf } from "../../static/js/views/workbench/geometry.js";
import { foldText, timeAxis } from "../../static/js/views/workbench/time-axis.js";
import { aRecording, encode } from "./builders.js";

const MARK = 0.04;
const SECOND = 1e6; // us

/** Returns numbers in [0, 1) that are the same in each run. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state * 1103515245 + 12345) % 2147483648;
    return state / 2147483648;
  };
}

/** A recording of bursts of events of A and B, a message in flight across the idle time between the bursts. */
function bursts(count = 3, idle = 21 * SECOND) {
  const events = [];
  for (let burst = 0; burst < count; burst += 1) {
    const begin = burst * idle;
    for (let i = 0; i < 20; i += 1) events.push({ process: i % 2 ? "A" : "B", kind: "internal", at: begin + i * 10 });
    events.push({ process: "A", kind: "send", at: begin + 200, channel: "A->B", message: `m${burst}`, value: 1 });
    const message = `m${burst - 1}`;
    if (burst) events.push({ process: "B", kind: "receive", at: begin + 205, channel: "A->B", message });
  }
  return aRecording({ processes: { A: 0, B: 0, C: 0 }, channels: ["A->B"], events });
}

const everyone = () => true;
const END = 42 * SECOND + 300;

function burstScale(from = 0, to = END) {
  return foldedScale(activityOf(bursts().window(0, END), everyone), from, to, MARK);
}

test("idle time between bursts is folded to marks of one width that know how long they are", () => {
  const { folds, span } = burstScale();
  assert.deepEqual(folds.map(({ from, to }) => to - from), [21 * SECOND - 200, 21 * SECOND - 205]);
  for (const { begin, end } of folds) assert.ok(Math.abs((end - begin) / span - MARK) < 1e-9);
});

test("events that are evenly apart are not folded, however few", () => {
  for (const count of [1, 2, 3, 10, 500]) {
    const events = Array.from({ length: count }, (_, i) => ({ process: "A", kind: "internal", at: (i + 1) * 1000 }));
    const window = aRecording({ processes: { A: 0 }, channels: [], events }).window(0, (count + 1) * 1000);
    assert.equal(foldedScale(activityOf(window, everyone), 0, (count + 1) * 1000, MARK).folds.length, 0, `${count}`);
  }
});

test("of very many stretches the longest are considered", () => {
  const at = (i) => i * 10 + (i > 999 ? 1e6 : 0);
  const events = Array.from({ length: 2000 }, (_, i) => ({ process: "A", kind: "internal", at: at(i) }));
  const known = activityOf(aRecording({ processes: { A: 0 }, channels: [], events }).window(0, 1.1e6), everyone);
  assert.deepEqual(foldedScale(known, 0, 1.02e6, MARK).folds.map(({ from, to }) => to - from), [1e6 + 10, 80010]);
});

test("a view inside of idle time is as it was", () => {
  const { folds, u } = burstScale(3 * SECOND, 4 * SECOND);
  assert.deepEqual([folds.length, u(3.5 * SECOND)], [0, 3.5 * SECOND]);
});

test("the scale of random recordings grows, has an inverse, and leaves what is not idle as it was", () => {
  for (let seed = 1; seed <= 200; seed += 1) {
    const next = random(seed);
    const events = [];
    let at = 0;
    for (let i = 0; i < 60; i += 1) {
      at += Math.ceil(next() < 0.1 ? next() * 1e8 : next() * 1000);
      events.push({ process: "A", kind: "internal", at });
    }
    const window = aRecording({ processes: { A: 0 }, channels: [], events }).window(0, at + 10);
    const [a, b] = [next() * at, next() * at].sort((one, other) => one - other);
    const scale = foldedScale(activityOf(window, everyone), a, b + 1, MARK);
    let before = -Infinity;
    for (let i = 0; i <= 500; i += 1) {
      const x = (i / 500) * (at + 10);
      assert.ok(scale.u(x) > before, `seed ${seed}`);
      before = scale.u(x);
      assert.ok(Math.abs(scale.x(scale.u(x)) - x) < 1, `seed ${seed}: ${x} becomes ${scale.x(scale.u(x))}`);
    }
    for (const { from, to } of openParts(scale)) {
      const length = scale.u(to) - scale.u(from);
      assert.ok(Math.abs(length - (to - from)) < 1e-3, `seed ${seed}: ${from} to ${to} takes ${length}`);
    }
    const marks = scale.folds.reduce((sum, { begin, end }) => sum + (end - begin), 0);
    assert.ok(marks <= 0.6 * scale.span, `seed ${seed}`);
    for (const event of events) {
      assert.ok(scale.folds.every(({ from, to }) => event.at <= from || event.at >= to), `seed ${seed}`);
    }
  }
});

test("what happens only on hidden lanes is idle", () => {
  const recording = bursts();
  recording.events.push({ process: "C", kind: "internal", at: 10 * SECOND, step: 999, index: 0 });
  const window = recording.window(0, END);
  const folds = (shows) => foldedScale(activityOf(window, shows), 0, END, MARK).folds.length;
  assert.deepEqual([folds(everyone), folds((p) => p !== 2)], [3, 2]);
});

/** A window of bins, 1 s wide each, in which A happens in the seconds of `busy`. */
function bins(busy, { rows = [0], counts = [9, 0] } = {}) {
  const seconds = 100;
  const events = Array.from({ length: seconds }, (_, i) => (busy.includes(i) ? 1000 : 0));
  const payload = {
    axis: "time", from: 0, to: seconds, exact: false, events_total: 0, messages_total: 0,
    positions: encode([0, 0], "i4"), positions_to: encode(counts, "i4"), states: [], states_known: [],
    depths: encode([], "i4"), kinds: [], snapshots: [],
    bins: {
      edges: encode(Array.from({ length: seconds + 1 }, (_, i) => i), "f8"), bin_width: 1,
      events: { ...encode(rows.flatMap(() => events), "i4"), shape: `${rows.length},${seconds}` },
      depth: { ...encode([], "i4"), shape: "0,100" }, processes: encode(rows, "i4"), channels: encode([], "i4"),
    },
  };
  return openWindow(payload, bursts().topology);
}

test("a window of bins is folded where all of its bins are empty", () => {
  const { folds } = foldedScale(activityOf(bins([0, 1, 2, 3, 40, 41, 99]), everyone), 0, 100, MARK);
  assert.deepEqual(folds.map(({ from, to }) => [from, to]), [[4, 40], [42, 99]]);
});

test("bins that lack a lane with events tell of no idle time", () => {
  assert.equal(activityOf(bins([1], { counts: [9, 1] }), everyone), null);
  assert.notEqual(activityOf(bins([1], { counts: [9, 1] }), (p) => p !== 1), null);
  assert.equal(foldedScale(null, 0, 100, MARK).folds.length, 0);
});

test("beside the window its overview says where idle time goes on", () => {
  const fine = activityOf(bursts().window(0, 300), everyone);
  const rough = activityOf(bursts().window(0, END), everyone);
  const { stretches, from, to } = joined(fine, rough);
  assert.deepEqual([from, to], [0, END]);
  const long = stretches.filter((stretch) => stretch.to - stretch.from > SECOND);
  assert.deepEqual(long.map((stretch) => [stretch.from, stretch.to]), [
    [200, 21 * SECOND],
    [21 * SECOND + 205, 42 * SECOND],
  ]);
});

function aPlayer() {
  const waiting = [];
  let time = 0;
  const player = createPlayer({ from: 0, to: END, steps: 65 }, { schedule: (frame) => waiting.push(frame) });
  const frame = (elapsed) => waiting.splice(0).forEach((run) => run((time += elapsed)));
  const activity = activityOf(bursts().window(0, END), everyone);
  player.useScale((from, to) => foldedScale(activity, from, to, MARK));
  player.zoom(0, END);
  return { player, frame };
}

test("the replay passes a fold in the time of its mark", () => {
  const { player, frame } = aPlayer();
  const [{ from }] = player.scale().folds;
  player.seek(from);
  player.play();
  frame(16);
  for (let i = 0; i < 20 * MARK * 50; i += 1) frame(20);
  assert.ok(Math.abs(player.state.now - 21 * SECOND) < 3, `at ${player.state.now}`);
});

test("zooming keeps the place under the pointer, also where a fold comes or goes", () => {
  for (const factor of [0.5, 0.8, 1.25]) {
    for (const around of [100, 21 * SECOND + 50, 42 * SECOND + 100]) {
      const { player } = aPlayer();
      player.zoomBy(0.7, around);
      const share = () => {
        const { u, from, span } = player.scale();
        return (u(around) - u(from)) / span;
      };
      const before = share();
      player.zoomBy(factor, around);
      const isAtEdge = player.state.from <= player.margins().from || player.state.to >= player.margins().to;
      if (!isAtEdge) assert.ok(Math.abs(share() - before) < 0.02, `${factor} ${around}: ${before} -> ${share()}`);
    }
  }
});

test("a cursor that leaves the view takes as much of it along as was shown, folds or not", () => {
  const { player } = aPlayer();
  player.zoom(0, 21 * SECOND + 100);
  const { span } = player.scale();
  player.seek(42 * SECOND + 100);
  assert.ok(player.state.from > 21 * SECOND && player.state.from < 42 * SECOND, `from ${player.state.from}`);
  assert.ok(Math.abs(player.scale().span - span) < span * 0.5, `${player.scale().span} of ${span}`);
});

test("panning goes through folds, and back to where it began", () => {
  const { player } = aPlayer();
  player.zoom(0, 250);
  for (let i = 0; i < 40; i += 1) player.pan(0.05);
  assert.ok(player.state.from > 20 * SECOND, `at ${player.state.from}`);
  for (let i = 0; i < 40; i += 1) player.pan(-0.05);
  assert.ok(player.state.from < 200, `at ${player.state.from}`);
});

function measured(scale) {
  const recording = bursts();
  const arrangement = arrange(recording.topology, PLAIN_LANES);
  const g = geometry({ width: 1000, height: 200, left: 0, right: 0, top: 0, bottom: 0, scale, arrangement });
  return { g, window: recording.window(0, END), channels: recording.topology.channels };
}

test("pixels and places are each other's inverse, and a message is drawn across a fold", () => {
  const { g, window, channels } = measured(burstScale());
  for (let px = 0; px <= 1000; px += 7) assert.ok(Math.abs(g.x(g.at(px)) - px) < 1e-6);
  const [x0, , x1] = lineOf(window.messages, channels, g, END, 0);
  const [{ from, to }] = g.scale.folds;
  assert.ok(x0 <= g.x(from) && x1 >= g.x(to) && x1 - x0 < 500, `${x0} to ${x1}`);
  assert.ok(inFlight(window.messages, 0, 10 * SECOND));
});

test("a cut in idle time stands a little after the last event before it, in pixels", () => {
  const { g, window } = measured(burstScale());
  const last = window.rows[0].filter((row) => window.events.x[row] < 22 * SECOND).length; // of A in two bursts
  const place = handleX(window, 0, last, g.perPixel * 8, g.scale.u);
  assert.ok(Math.abs(g.fromU(place) - g.x(21 * SECOND + 200) - 8) < 1e-6, `${g.fromU(place)}`);
});

test("ticks stand at their instants beside the folds and do not overprint", () => {
  const scale = burstScale();
  const { tickvals, ticktext } = timeAxis({}, "time", "us", scale, 1000);
  assert.equal(new Set(ticktext).size, ticktext.length);
  const places = tickvals.map((u) => ((u - scale.u(scale.from)) / scale.span) * 1000);
  places.slice(1).forEach((place, i) => assert.ok(place - places[i] >= 60, `${places}`));
  tickvals.forEach((u, i) => {
    const inSeconds = Number(ticktext[i]);
    assert.ok(Math.abs(scale.u(inSeconds * SECOND) - u) < scale.span * 0.002, `${ticktext[i]} at ${places[i]}`);
  });
  for (const { from, to } of openParts(scale)) {
    const hasTick = tickvals.some((u) => scale.u(from) - 1 <= u && u <= scale.u(to) + 1);
    assert.ok(hasTick || scale.u(to) - scale.u(from) < 64 * (scale.span / 1000), `${from} to ${to}`);
  }
});

test("the bins of the depth chart are equally wide on the screen", () => {
  const scale = burstScale();
  const { edges, rows } = depthBins(bursts().window(0, END), 0, END, 50, scale);
  const widths = Array.from(edges.slice(1), (edge, i) => scale.u(edge) - scale.u(edges[i]));
  for (const width of widths) assert.ok(Math.abs(width - widths[0]) < 1e-3);
  assert.ok(rows[0].some((depth) => depth === 1));
});

test("a scale without folds is the axis itself", () => {
  const { u, x, span } = plainScale(5, 25);
  assert.deepEqual([u(7), x(7), span], [7, 7, 20]);
});

/** A window of the order axis: A's 5 events, 999 of B, A's 5 events, 100 of B. */
function ordered(from, to) {
  const process = Int32Array.from({ length: 1109 }, (_, i) => Number((i >= 5 && i < 1004) || i >= 1009));
  const x = Float64Array.from(process, (_, i) => i + 1);
  const rows = Array.from(x.keys()).filter((i) => x[i] >= from && x[i] <= to);
  const pick = (column) => column.filter((_, i) => rows.includes(i));
  return { from, to, exact: true, events: { count: rows.length, process: pick(process), x: pick(x) } };
}

test("a fold of the order axis holds the hidden events only", () => {
  const ofA = (p) => p === 0;
  const whole = activityOf(ordered(0, 1109), ofA);
  const inside = (known) => known.stretches.filter(({ from, to }) => to - from > 50).map(eventsInside);
  assert.deepEqual(inside(whole), [999, 100]);
  for (const [from, to] of [[2, 500], [500, 1006], [1, 1109], [300, 700]]) {
    assert.deepEqual(inside(joined(activityOf(ordered(from, to), ofA), whole)), [999, 100], `${from} to ${to}`);
  }
  const [fold] = foldedScale(whole, 0, 1109, MARK).folds;
  assert.equal(foldText(fold, "order", "us"), "999");
});
