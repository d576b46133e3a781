import assert from "node:assert/strict";
import { test } from "node:test";

import { checkClaims, summaryOf } from "../../static/js/lib/checking/claims.js";
import { checkpointFigure, spaceTimeFigure } from "../../static/js/lib/checking/figures.js";
import { openLog } from "../../static/js/lib/checking/log.js";

const START = 1763872000000000000n;

/** Makes the evidence of a log in nanoseconds since 1970, as Cutline writes it. */
function evidenceAt(start = START, fields = {}) {
  const at = (after) => String(start + BigInt(after));
  return {
    name: "x", time_unit: "ns", derived: false, flaws: {}, strays: [],
    processes: [{ id: "A" }, { id: "B" }],
    channels: [{ id: "A->B", source: "A", target: "B", fifo: true, overtaking: false }],
    events: [
      [{ kind: "send", at: at(0), step: 0, channel: "A->B", message: "m1" }],
      [
        { kind: "internal", at: at(100), step: 1 },
        { kind: "receive", at: at(300), step: 2, channel: "A->B", message: "m1" },
      ],
    ],
    messages: [[{ id: "m1", sent: 0, received: 1 }]],
    markers: [[]],
    ...fields,
  };
}

/** Returns the outcome of one claim about a log. */
function outcomeOf(kind, place, says, log = evidenceAt()) {
  const [{ outcome, differences }] = checkClaims([{ id: "c1", kind, place, says, evidence: "1" }], { 1: log }, {});
  return `${outcome} ${differences.join(" ")}`.trim();
}

const LOG = {
  name: "x", time_unit: "ns", events: 3, kinds: { send: 1, internal: 1, receive: 1 }, messages: 1, arrived: 1,
  markers: 0, strays: 0,
};
const HELD = { consistent: true, orphans: 0, strays: 0, in_flight: { "A->B": ["m1"] }, values: { "A->B": [null] } };

test("times of nanoseconds are compared exactly", () => {
  const says = { ...LOG, first: String(START), last: String(START + 300n) };
  assert.equal(outcomeOf("log", "", says), "holds");
  assert.match(outcomeOf("log", "", { ...says, first: String(START - 1n) }), /^differs first/);
  const event = { process: "B", index: 0, kind: "internal", at: String(START + 100n) };
  assert.equal(outcomeOf("event", "event:B:0", event), "holds");
  assert.match(outcomeOf("event", "event:B:0", { ...event, at: String(START + 101n) }), /^differs at/);
});

test("a moment of nanoseconds takes the events until it and no other", () => {
  const says = { ...HELD, positions: { A: 1, B: 0 }, states: {} };
  assert.equal(outcomeOf("cut", `moment:time:${START + 50n}`, says), "holds");
  assert.match(outcomeOf("cut", `moment:time:${START + 100n}`, says), /^differs positions, B/);
});

test("a moment by order is derived from the order of the log", () => {
  const says = { ...HELD, positions: { A: 1, B: 0 }, states: {} };
  assert.equal(outcomeOf("cut", "moment:order:1", says), "holds");
  const other = { ...says, positions: { A: 0, B: 1 }, in_flight: {}, values: {} }; // true of other positions
  assert.match(outcomeOf("cut", "moment:order:1", other), /positions, A: claimed 0, derived 1/);
});

test("an order with a gap contradicts itself", () => {
  const log = evidenceAt();
  log.events[1][1].step = 3;
  const says = { ...LOG, first: String(START), last: String(START + 300n) };
  assert.match(outcomeOf("log", "", says, log), /order of events has gaps/);
});

test("times that are too far apart are not checked", () => {
  const log = evidenceAt(-(2n ** 62n));
  log.events[1][1].at = String(2n ** 62n);
  assert.match(outcomeOf("log", "", LOG, log), /^not checked here/);
});

const TASK = { start_delay: null, alignment: null, sync: null, async: null, uploaded: null, in_flight: null };

/** Makes the data of a checkpoint with an unknown task. */
function checkpoint(fields = {}) {
  const tasks = [
    { ...TASK, name: "a", acknowledged: true, takes_barriers: true, duration: 8, sync: 8, bytes: 5 },
    { ...TASK, name: "b", acknowledged: null, takes_barriers: true, duration: null, bytes: null },
  ];
  return { status: "completed", triggered_at: 0, ended_at: 10, subtasks: 2, tasks, time_unit: "ms", ...fields };
}

/** Returns what differs between a claim and the data of a checkpoint. */
function checkpointOutcome(says, data) {
  return checkClaims([{ id: "c1", kind: "checkpoint", says, evidence: "c" }], {}, { c: data })[0];
}

test("of a checkpoint nothing is counted that is not known", () => {
  const text = checkpointOutcome({}, checkpoint()).differences.join(" ");
  assert.match(text, /"bytes":\{"sum":5,"known":1,"of":2\}/);
  assert.match(text, /acknowledged_in_time: claimed not known, derived not known\./);
});

test("a claim with another status of a checkpoint differs", () => {
  const { differences } = checkpointOutcome({ status: "completed" }, checkpoint({ status: "failed" }));
  assert.ok(differences.includes('status: claimed "completed", derived "failed".'));
});

test("the time between two instants of a checkpoint is exact", () => {
  const path = [{ process: "p", phase: "sync", from: String(START + 100n), to: String(START + 1000n) }];
  const data = checkpoint({ triggered_at: String(START + 100n), ended_at: String(START + 1100n), path });
  const text = checkpointOutcome({}, data).differences.join(" ");
  assert.match(text, /duration: claimed not known, derived 1000\./);
  assert.match(text, /held_up: claimed not known, derived \{"p":900\}/);
});

test("nothing holds where nothing was derived", () => {
  assert.equal(summaryOf([]).outcome, "not checked here");
  const open = { outcome: "not checked here", differences: [] };
  assert.equal(summaryOf([open, open]).sentence, "Nothing here was checked: 2 claims not checked here.");
  assert.equal(summaryOf([open, { outcome: "holds", differences: [] }]).outcome, "holds");
  assert.equal(summaryOf([open, { outcome: "differs", differences: [] }]).outcome, "differs");
});

test("a figure of a derived recording names no time", () => {
  const log = openLog(evidenceAt(START, { derived: true }));
  const { data, layout } = spaceTimeFigure(log, [1, 1], (name) => name);
  assert.match(layout.xaxis.title.text, /not known/);
  const words = data.flatMap(({ text }) => text ?? []);
  assert.ok(words.length && words.every((word) => word.includes("at a time that is not known")));
});

test("a figure of a checkpoint names the tasks whose times are not known", () => {
  const [a, b] = checkpoint().tasks;
  const source = { ...a, name: "s", takes_barriers: false };
  const { data, layout } = checkpointFigure(checkpoint({ tasks: [a, b, source] }), (name) => name);
  assert.deepEqual(data[1].text, ["a, alignment: not known", "s, alignment: none", "b, alignment: not known"]);
  assert.deepEqual(layout.yaxis.ticktext, [
    "a (start delay, alignment, async not known)", "s (start delay, async not known)", "b (times not known)",
  ]);
});
