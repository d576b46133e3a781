import assert from "node:assert/strict";
import { test } from "node:test";
import { inOrder, orderAfter, swapAt } from "../../static/js/lib/reordering.js";

const PAPER = [false, true, false]; // e0 after p recorded, e1 before q recorded, e2 after

test("the paper's example 4.1 becomes e1, e0, e2", () => {
  assert.deepEqual(orderAfter(PAPER, 0), [0, 1, 2]);
  assert.deepEqual(orderAfter(PAPER, 1), [1, 0, 2]);
  assert.deepEqual(swapAt(PAPER, 0), { passed: 0, mover: 1 });
});

test("every swap changes two neighbours, and all of them give the stable partition", () => {
  const isPre = [false, true, false, false, true, true, false, true];
  const swaps = 11;
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
  assert.equal(swapAt([true, false], 0), null);
  assert.deepEqual(orderAfter([], 0), []);
});

test("events move to their columns, ends outside the run stay, and the swap to come is marked", () => {
  const traces = [{ meta: [3, 1, null, 0, 4, null], y: [] }, { meta: [0, 2], y: [0, 0], text: ["e0", "e2"] },
    { meta: [1], y: [1], text: ["e1"] }];
  const [line, dots, , ring] = inOrder(traces, [1, 0, 2], { passed: 0, mover: 1 });
  assert.deepEqual(line.x, [0.4, 1, null, 2, 3.6, null]);
  assert.deepEqual(dots.x, [2, 3]);
  assert.deepEqual([ring.x, ring.y], [[2, 1], [0, 1]]);
  assert.equal(inOrder(traces, [0, 1, 2], null).length, 3);
});
