import assert from "node:assert/strict";
import { test } from "node:test";

import { openCut } from "../../static/js/lib/source.js";
import { openTopology } from "../../static/js/lib/topology.js";
import { rowsAt } from "../../static/js/views/compare/rows.js";

/** One side with a process p and a channel k, on which messages with these values are. */
function side({ state, values, ids = values?.map((_, i) => `m${i}`), fifo = true, isDerived = false, omitted = 0 }) {
  const topology = openTopology({
    processes: [{ id: "p" }, { id: "q" }],
    channels: [{ id: "k", source: "p", target: "q", fifo }],
  });
  const cut = openCut({
    positions: { p: 1, q: 1 },
    states: { q: 1, ...(state === undefined ? {} : { p: state }) },
    channels: values ? { k: values } : {},
    messages: values ? { k: ids } : {},
    omitted: omitted ? { k: omitted } : {},
    consistent: true,
  }, topology);
  return { topology, cut, isDerived };
}

function row(name, left, right, isOne = false) {
  return rowsAt([side(left), side(right)], isOne).find((item) => item.name === name);
}

const LONG = "x".repeat(90);

const STATES = [
  [0.1234567891, 0.1234567899, "other"],
  ["5", 5, "other"],
  [null, "null", "other"],
  [{ log: LONG, balance: 1 }, { log: LONG, balance: 2 }, "other"],
  [{ a: "1, b: 2" }, { a: 1, b: 2 }, "other"],
  [2 ** 60, 2 ** 60, "open"], // the browser reads several whole numbers as this one
  [2 ** 60, 5, "other"],
  [undefined, 5, "open"],
  [undefined, undefined, "open"],
  [{ a: [1, "5"] }, { a: [1, "5"] }, "same"],
];

for (const [left, right, verdict] of STATES) {
  test(`the states ${JSON.stringify(left)} and ${JSON.stringify(right)} are: ${verdict}`, () => {
    const { verdict: told, texts } = row("state of p", { state: left }, { state: right });
    assert.equal(told, verdict);
    if (verdict === "other") assert.notEqual(texts[0], texts[1]);
  });
}

const CONTENTS = [
  ["an empty channel differs from a filled one", { values: [1] }, { values: [] }, "other"],
  ["a derived recording does not hold what was on a channel", { values: [1] }, { isDerived: true }, "open"],
  ["not all messages are listed", { values: [1], omitted: 4 }, { values: [1], omitted: 4 }, "open"],
  ["more messages are more, listed or not", { values: [1], omitted: 4 }, { values: [1], omitted: 5 }, "other"],
  ["values that nobody logged are not the same", { values: [null] }, { values: [null] }, "open"],
  ["the order counts", { values: [1, 2] }, { values: [2, 1] }, "other"],
  ["without FIFO the order does not count", { values: [1, 2], fifo: false }, { values: [2, 1] }, "same"],
  ["ids number the messages of one run", { values: [1], ids: ["a"] }, { values: [1], ids: ["b"] }, "same"],
];

for (const [name, left, right, verdict] of CONTENTS) {
  test(`contents of a channel: ${name}`, () => assert.equal(row("k", left, right).verdict, verdict));
}

test("in one recording other ids are other messages, and equal ids are the same without a value", () => {
  assert.equal(row("k", { values: [1], ids: ["a"] }, { values: [1], ids: ["b"] }, true).verdict, "other");
  assert.equal(row("k", { values: [null] }, { values: [null] }, true).verdict, "same");
});

test("what is not listed or not known is said", () => {
  const { texts } = row("k", { values: [1, 2], omitted: 1234 }, { isDerived: true });
  assert.deepEqual(texts, ["1, 2, 1,234 more", "not known"]);
});

test("differences come first, then what is not compared", () => {
  const sides = [side({ values: [1] }), side({ state: 5, values: [2] })];
  assert.deepEqual(rowsAt(sides, false).map(({ name, verdict }) => [name, verdict]), [
    ["k", "other"], ["state of p", "open"], ["state of q", "same"],
  ]);
});

test("a process of one side only is a difference", () => {
  const other = side({ state: 5 });
  const topology = openTopology({ processes: [{ id: "r" }], channels: [] });
  const cut = openCut({ positions: { r: 0 }, states: {}, consistent: true }, topology);
  const rows = rowsAt([other, { topology, cut, isDerived: false }], false);
  assert.deepEqual(rows.map(({ verdict }) => verdict), ["other", "other", "other"]);
});
