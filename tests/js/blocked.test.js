import assert from "node:assert/strict";
import { test } from "node:test";
import { blockedAt, blockedSpans } from "../../static/js/lib/blocked.js";

function windowOf(rows, extra = {}) {
  const events = {
    channel: rows.map(([, , channel]) => channel),
    kind: rows.map(([, kind]) => kind),
    x: rows.map(([, , , x]) => x),
  };
  const byProcess = [[], []];
  rows.forEach(([process], row) => byProcess[process].push(row));
  return {
    exact: true,
    from: 0,
    to: 100,
    kinds: ["send", "block", "unblock", "crash", "restore", "restart"],
    events,
    rows: byProcess,
    ...extra,
  };
}

const [BLOCK, UNBLOCK] = [1, 2];

test("a span lies between block and unblock of the same channel", () => {
  const spans = blockedSpans(
    windowOf([[0, BLOCK, 7, 10], [1, BLOCK, 8, 15], [0, 0, 7, 20], [0, UNBLOCK, 7, 30], [1, UNBLOCK, 8, 40]]),
  );
  assert.deepEqual(spans, [{ channel: 7, process: 0, from: 10, to: 30 }, { channel: 8, process: 1, from: 15, to: 40 }]);
  assert.deepEqual([...blockedAt(spans, 12)], [7]);
  assert.deepEqual([...blockedAt(spans, 20)], [7, 8]);
  assert.deepEqual([...blockedAt(spans, 30)], [8]);
  assert.equal(blockedAt(spans, 40).size, 0);
});

test("a span that begins before the window or ends after it is cut off at its edges", () => {
  const spans = blockedSpans(windowOf([[0, UNBLOCK, 7, 30], [0, BLOCK, 7, 80]]));
  assert.deepEqual(spans.map(({ from, to }) => [from, to]), [[0, 30], [80, 100]]);
});

test("a task that crashes or starts again unblocks its channels", () => {
  const ends = ["crash", "restore", "restart"].map((_, place) => 3 + place);
  for (const end of ends) {
    const spans = blockedSpans(
      windowOf([[0, BLOCK, 7, 10], [1, BLOCK, 8, 12], [0, end, undefined, 20], [0, BLOCK, 7, 50], [0, UNBLOCK, 7, 60]]),
    );
    assert.deepEqual(
      spans.map(({ channel, from, to }) => [channel, from, to]),
      [[7, 10, 20], [7, 50, 60], [8, 12, 100]],
    );
  }
});

test("windows of bins and logs without blocking have no spans", () => {
  assert.deepEqual(blockedSpans(windowOf([[0, BLOCK, 7, 10]], { exact: false })), []);
  assert.deepEqual(blockedSpans(windowOf([[0, 0, 7, 10]], { kinds: ["send"] })), []);
  assert.deepEqual(blockedSpans(null), []);
});
