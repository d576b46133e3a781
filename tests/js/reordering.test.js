import assert from "node:assert/strict";
import { test } from "node:test";
import { countSwaps, eventWords, messagesOf, orderAfter, swapAt } from "../../static/js/lib/reordering.js";

const PAPER = [false, true, false]; // e0 after p recorded, e1 before q recorded, e2 after

test("the paper's example 4.1 becomes e1, e0, e2", () => {
  assert.equal(countSwaps(PAPER), 1);
  assert.deepEqual(orderAfter(PAPER, 0), [0, 1, 2]);
  assert.deepEqual(orderAfter(PAPER, 1), [1, 0, 2]);
  assert.deepEqual(swapAt(PAPER, 0), { passed: 0, mover: 1 });
});

test("every swap changes two neighbours, and all of them give the stable partition", () => {
  const isPre = [false, true, false, false, true, true, false, true];
  const swaps = countSwaps(isPre);
  for (let done = 0; done < swaps; done += 1) {
    const [before, after] = [orderAfter(isPre, done), orderAfter(isPre, done + 1)];
    const changed = before.map((place, i) => (place === after[i] ? null : i)).filter((i) => i !== null);
    assert.equal(changed.length, 2);
    assert.equal(changed[1], changed[0] + 1);
    const { mover, passed } = swapAt(isPre, done);
    assert.deepEqual([before[changed[0]], before[changed[1]]], [passed, mover]);
    assert.ok(isPre[mover] && !isPre[passed]);
  }
  assert.deepEqual(orderAfter(isPre, swaps), [1, 4, 5, 7, 0, 2, 3, 6]);
});

test("a run without swaps stays as it is", () => {
  assert.equal(countSwaps([true, false]), 0);
  assert.equal(swapAt([true, false], 0), null);
  assert.deepEqual(orderAfter([], 0), []);
});

test("sends meet receives of the same id in order, and ends outside are null", () => {
  const event = (kind, message) => ({ kind, channel: "c", message, process: "p" });
  assert.deepEqual(
    messagesOf([event("receive", "a"), event("send", "b"), event("send", "b"), event("receive", "b")]).map(
      ({ sent, received }) => [sent, received],
    ),
    [[null, 0], [1, 3], [2, null]],
  );
});

test("events are described in words", () => {
  assert.equal(eventWords({ kind: "send", process: "p", message: "M", channel: "c" }), "p sends M on c");
  assert.equal(eventWords({ kind: "internal", process: "p", label: "work" }), "p: work");
});
