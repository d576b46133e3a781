import assert from "node:assert/strict";
import { test } from "node:test";

import { sentence } from "../../static/js/views/workbench/live.js";

const wait = (process) => ({ process, channel: `q->${process}`, what: "m1" });
const head = (changes) => /** @type {any} */ ({
  came: 5, counts: { events: 5, snapshots: 0 }, judged: 0, missing: 0, waits: [], waits_total: 0, ...changes,
});

test("the line says what has come, and nothing of what is not so", () => {
  assert.equal(sentence(head({})), "5 events have come.");
  assert.equal(sentence(head({ came: 1, counts: { events: 1, snapshots: 1 } })),
    "1 event has come. 1 snapshot is under way.");
});

test("events that wait are not called missing", () => {
  assert.equal(sentence(head({ counts: { events: 3, snapshots: 0 }, missing: 1 })),
    "5 events have come. 1 event is missing before others. 2 events that have come cannot be shown before others.");
});

test("processes that wait beyond those that are named are counted", () => {
  const waits = ["a", "b", "c"].map(wait);
  assert.equal(sentence(head({ waits, waits_total: 3 })),
    "5 events have come. a waits for the send of m1 on q->a. b waits for the send of m1 on q->b. " +
    "1 more process waits for other sends.");
});
