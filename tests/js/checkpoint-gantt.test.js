import assert from "node:assert/strict";
import { test } from "node:test";
import { bars, ganttFigure, PHASES } from "../../static/js/views/checkpoint/gantt.js";

const TASK = {
  process: "count[0]",
  first_barrier_at: 110,
  last_barrier_at: 150,
  sync_from: 150,
  sync_to: 160,
  async_to: 190,
  acked_at: 190,
  notified_at: 205,
  committed_at: null,
};
const SOURCE = {
  ...TASK,
  process: "source[0]",
  first_barrier_at: null,
  last_barrier_at: null,
  sync_from: 105,
  sync_to: 108,
  async_to: null,
  acked_at: null,
  notified_at: null,
};
const CHECKPOINT = {
  triggered_at: 100,
  ended_at: 200,
  tasks: [TASK, SOURCE],
  critical_path: [{ process: "count[0]", phase: "alignment", from: 110, to: 150 }],
};
const phase = (name) => bars(CHECKPOINT, PHASES.find((each) => each.name === name));

test("the phases of a task follow each other", () => {
  const found = PHASES.flatMap((each) => bars(CHECKPOINT, each)).filter(({ process }) => process === "count[0]");
  assert.deepEqual(
    found.map(({ from, to }) => [from, to]),
    [[100, 110], [110, 150], [150, 160], [160, 190], [190, 205]],
  );
});

test("a source has no barrier: its start is delayed until it records", () => {
  assert.deepEqual(phase("start delay").at(-1), { process: "source[0]", from: 100, to: 105 });
  assert.equal(phase("alignment").length, 1);
});

test("a task that was still at an earlier checkpoint was not waiting for a barrier meanwhile", () => {
  const phases = (task) => PHASES.slice(0, 2).flatMap(
    (each) => bars({ ...CHECKPOINT, tasks: [{ ...TASK, ...task }] }, each).map(({ from, to }) => [each.name, from, to]),
  );
  assert.deepEqual(
    phases({ busy_until: 107 }),
    [["copy of an earlier checkpoint", 100, 107], ["start delay", 107, 110]],
  );
  assert.deepEqual(
    phases({ busy_until: 130 }),
    [["copy of an earlier checkpoint", 100, 110]],
    "at the latest until it took up a barrier",
  );
  assert.deepEqual(
    phases({ busy_until: 130, first_barrier_at: null, sync_from: null }),
    [["copy of an earlier checkpoint", 100, 130]],
  );
  assert.deepEqual(phases({ busy_until: null }), [["start delay", 100, 110]]);
});

test("a phase that the log does not hold has no bar", () => {
  assert.deepEqual(phase("upload (async)").map(({ process }) => process), ["count[0]"]);
  assert.deepEqual(phase("commit"), []);
});

test("where only the acknowledgement is known, the bar leads to it", () => {
  const task = { ...SOURCE, sync_from: null, sync_to: null, acked_at: 130 };
  const found = PHASES.flatMap(
    (each) => bars({ ...CHECKPOINT, tasks: [task] }, each).map((bar) => [each.name, bar.from, bar.to]),
  );
  assert.deepEqual(found, [["until it acknowledged", 100, 130]]);
});

test("the figure has a row per task, the critical path and the end", () => {
  const { data, layout } = ganttFigure(CHECKPOINT, "ms", { colours: () => "rgb(0, 0, 0)", width: 900 });
  assert.deepEqual(layout.yaxis.ticktext, ["count[0]", "source[0]"]);
  const [bottom, top] = layout.yaxis.range;
  assert.ok(bottom > 1 && top < 0, "who held it up most, row 0, stands above");
  assert.deepEqual(data.at(-1).x, [10, 50]);
  assert.equal(layout.shapes[0].x0, 100);
});

test("a bar has the begin and the length of its phase, since the trigger and in the unit of the axis", () => {
  const tasks = [
    { process: "a", first_barrier_at: 3000, last_barrier_at: 8000, sync_from: 8000, sync_to: 8500 },
    { process: "b", first_barrier_at: 4000, last_barrier_at: 4500 },
  ];
  const path = [{ process: "b", from: 1000, to: 4000 }];
  const { data, layout } = ganttFigure(
    { triggered_at: 1000, ended_at: 21000, tasks, critical_path: path },
    "us",
    { colours: () => "rgb(0, 0, 0)", width: 900 },
  );
  assert.match(layout.xaxis.title.text, / ms$/);
  const near = (found, wanted) => found.forEach(
    (value, i) => assert.ok(Math.abs(value - wanted[i]) < 1e-9, `${found}`),
  );
  const alignment = data.find(({ name }) => name === "alignment");
  near(alignment.base, [2, 3]);
  near(alignment.x, [5, 0.5]);
  assert.deepEqual(alignment.y, [0, 1]);
  const line = data.at(-1);
  near(line.x, [0, 3]);
  assert.ok(line.y.every((y) => y > 1.31 && y < 1.5), "below the bars of its row, above the next");
  near([layout.shapes[0].x0], [20]);
});

test("a checkpoint under way has no end line, and one without tasks can be drawn", () => {
  const { layout } = ganttFigure(
    { ...CHECKPOINT, ended_at: null, tasks: [] },
    "us",
    { colours: () => "rgb(0, 0, 0)", width: 300 },
  );
  assert.deepEqual(layout.shapes, []);
});
