import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import {
  inStrip,
  MOST_IN_STRIP,
  nextWithFindings,
  partOfStrip,
  phaseAtCut,
  snapshotOfCut,
  withFindings,
} from "../../static/js/lib/strip.js";

const verdicts = ["consistent", "orphan", "unknown", "incomplete", "consistent", "lost", "orphan"];
const summaries = verdicts.map((verdict, i) => ({ snapshot: `s${i}`, verdict, codes: [i, i + 1] }));
const names = (list) => list.map(({ snapshot }) => snapshot);

test("the worst come first on request, and equally bad ones stay in order", () => {
  assert.deepEqual(names(inStrip(summaries, true)), ["s1", "s6", "s5", "s3", "s2", "s0", "s4"]);
  assert.deepEqual(inStrip(summaries, false), summaries);
});

test("what cannot be judged is not counted as failed", () => {
  assert.deepEqual(names(withFindings(summaries)), ["s1", "s3", "s5", "s6"]);
});

test("one goes from a failed snapshot to the next, in a circle", () => {
  assert.equal(nextWithFindings(summaries, "s1").snapshot, "s3");
  assert.equal(nextWithFindings(summaries, "s6").snapshot, "s1");
  assert.equal(nextWithFindings(summaries, null).snapshot, "s1");
  assert.equal(nextWithFindings([summaries[0]], "s0"), null);
});

test("the verdicts are those of the domain, in its order", () => {
  const python = readFileSync("snapshots/domain/judging/findings.py", "utf8");
  const known = [...python.matchAll(/^[A-Z_]+ = "([a-z-]+)"$/gm)].map(([, name]) => name);
  assert.equal(known.length, 9);
  const shuffled = known.toReversed().map((verdict) => ({ verdict }));
  assert.deepEqual(inStrip(shuffled, true).map(({ verdict }) => verdict), known);
});

test("a cut is known as that of a snapshot only if all its positions are", () => {
  assert.equal(snapshotOfCut(summaries, [2, 3]).snapshot, "s2");
  assert.equal(snapshotOfCut(summaries, [2, 4]), null);
});

test("a snapshot whose positions are not loaded is not taken for a cut", () => {
  assert.equal(snapshotOfCut([{ snapshot: "s1", verdict: "orphan", codes: null }], [2, 3]), null);
});

test("a long strip shows the part around a place, and its parts have each snapshot once", () => {
  const length = 2 * MOST_IN_STRIP + 1;
  assert.deepEqual(partOfStrip(length, -1), { from: 0, to: MOST_IN_STRIP });
  assert.deepEqual(partOfStrip(length, MOST_IN_STRIP - 1), { from: 0, to: MOST_IN_STRIP });
  assert.deepEqual(partOfStrip(length, MOST_IN_STRIP), { from: MOST_IN_STRIP, to: 2 * MOST_IN_STRIP });
  assert.deepEqual(partOfStrip(length, length - 1), { from: 2 * MOST_IN_STRIP, to: length });
  assert.deepEqual(partOfStrip(0, -1), { from: 0, to: 0 });
});

test("a process whose state is recorded exactly at the cut records there", () => {
  assert.deepEqual([4, 5, 6].map((position) => phaseAtCut(position, 5)), ["not recorded", "records here", "recorded"]);
});
