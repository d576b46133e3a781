import assert from "node:assert/strict";
import { test } from "node:test";

import { arrange, PLAIN_LANES } from "../../static/js/lib/lanes.js";
import { plainScale } from "../../static/js/lib/folds.js";
import { boxAround, overlap } from "../../static/js/lib/labels.js";
import { geometry } from "../../static/js/views/workbench/geometry.js";
import { witnessEnds, witnessNotes, witnessTraces } from "../../static/js/views/workbench/witness-marks.js";
import { aRecording } from "./builders.js";

const COLOURS = new Proxy({}, { get: () => "rgb(1, 2, 3)" });

/** Returns a scene in which A sends m at event 1 and B receives it, if at all, at event 4. */
function aScene({ isReceived = true, height = 200, name = "m" } = {}) {
  const channel = "A->B";
  const quiet = [1, 2].map(() => ({ process: "A", kind: "internal" }));
  const end = isReceived ? [{ process: "B", kind: "receive", channel, message: name }] : [];
  const recording = aRecording({
    processes: { A: 0, B: 0 },
    channels: [channel],
    events: [{ process: "A", kind: "send", channel, message: name, value: 7 }, ...quiet, ...end],
  });
  const { topology } = recording;
  const arrangement = arrange(topology, PLAIN_LANES);
  const g = geometry({
    width: 600, height, left: 60, right: 12, top: 14, bottom: 44, scale: plainScale(0, 6), arrangement,
  });
  const witness = { channel: 0, id: name, sent: { process: "A", index: 0 }, received: { process: "B", index: 0 } };
  return {
    window: recording.window(0, 6, "order"), g, topology, arrangement, colours: COLOURS, axis: "order", witness,
    witnessRow: 0,
  };
}

test("both ends of a witness are named where they are, with the value", () => {
  const scene = aScene();
  const ends = witnessEnds(scene);
  assert.deepEqual(ends.map(({ slot, text }) => [slot, text]), [[0, "A sends m (7)"], [1, "B receives m"]]);
  assert.deepEqual(ends.map(({ x }) => x), [scene.window.messages.sentX[0], scene.window.messages.receivedX[0]]);
});

test("a message that was never received has one end, and a window that lacks it none on the order axis", () => {
  assert.deepEqual(witnessEnds(aScene({ isReceived: false })).map(({ text }) => text), ["A sends m (7)"]);
  assert.deepEqual(witnessEnds({ ...aScene(), witnessRow: -1 }), []);
});

test("the witness stands above a veil over all else, and the cut between them", () => {
  const scene = aScene();
  const cut = { name: "cut" };
  const names = witnessTraces(scene, [1.5, -0.5], [cut]).map(({ name }) => name);
  assert.deepEqual(names, ["veil", "cut", "witness", "ends"]);
  assert.deepEqual(witnessTraces({ ...scene, witness: null }, [1.5, -0.5], [cut]), [cut]);
});

test("boxes cover neither each other nor the message nor the cut, at every height", () => {
  for (const height of [160, 200, 400]) {
    const scene = aScene({ height, name: "a-long-name" });
    const { g } = scene;
    const cut = { x: [0.5, 0.5, 4.5, 4.5], y: [-0.4, 0, 1, 1.4] };
    const [a, b] = witnessNotes(scene, cut).map((note) => boxAround(
      g.fromU(note.x) + note.ax, g.yOfSlot(note.y) + note.ay, note.text.length * 6.5, 20,
    ));
    assert.ok(!overlap(a, b), `the boxes overlap at ${height}`);
    const lines = [[[1, 0], [4, 1]], [[0.5, 0], [4.5, 1]]];
    for (const [[x0, y0], [x1, y1]] of lines) {
      for (let share = 0; share <= 1; share += 0.01) {
        const [px, py] = [g.fromU(x0 + (x1 - x0) * share), g.yOfSlot(y0 + (y1 - y0) * share)];
        for (const box of [a, b]) {
          assert.ok(!overlap(box, boxAround(px, py, 1, 1)), `a box covers a line at ${height}, ${share}`);
        }
      }
    }
  }
});
