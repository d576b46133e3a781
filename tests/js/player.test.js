import assert from "node:assert/strict";
import { test } from "node:test";

import { createPlayer } from "../../static/js/lib/player.js";

function aPlayer(extent = { from: 0, to: 1000, steps: 100 }) {
  const waiting = [];
  let time = 0;
  const player = createPlayer(extent, { schedule: (frame) => waiting.push(frame) });
  const frame = (elapsed = 16) => {
    time += elapsed;
    waiting.splice(0).forEach((run) => run(time));
  };
  player.fitAll();
  frame();
  return { player, frame };
}

test("listeners are called once for several changes in one frame", () => {
  const { player, frame } = aPlayer();
  const calls = [];
  player.subscribe((_, keys) => calls.push([...keys].sort()));
  player.set({ speed: 2 });
  player.seek(10);
  frame();
  frame();
  assert.deepEqual(calls, [["now", "speed"]]);
});

test("listeners are not called without a change", () => {
  const { player, frame } = aPlayer();
  let calls = 0;
  player.subscribe(() => (calls += 1));
  player.set({ speed: 1 });
  frame();
  assert.equal(calls, 0);
});

test("at speed 1 the part in view passes in 20 seconds, whatever the frame rate", () => {
  const { player, frame } = aPlayer();
  player.zoom(0, 200);
  player.play();
  frame();
  for (let i = 0; i < 100; i += 1) frame(10);
  assert.ok(Math.abs(player.state.now - 10) < 1e-9, String(player.state.now));
});

test("the page turns before the cursor leaves it", () => {
  const { player, frame } = aPlayer();
  player.zoom(0, 100);
  player.set({ speed: 100 });
  player.play();
  for (let i = 0; i < 20; i += 1) {
    frame(20);
    assert.ok(player.state.now <= player.state.to);
  }
  assert.ok(player.state.from > 0);
});

test("playing stops at the end, and begins again from there at the start", () => {
  const { player, frame } = aPlayer();
  player.set({ speed: 100 });
  player.seek(999);
  player.play();
  for (let i = 0; i < 5; i += 1) frame(100);
  assert.deepEqual([player.state.playing, player.state.now], [false, 1000]);
  player.play();
  assert.equal(player.state.now, 0);
});

test("a seek outside the view brings the view along", () => {
  const { player } = aPlayer();
  player.zoom(0, 100);
  player.seek(500);
  assert.ok(player.state.from <= 500 && 500 <= player.state.to);
  assert.equal(player.state.to - player.state.from, 100);
});

test("zoom stays inside the recording and keeps the place under the pointer", () => {
  const { player } = aPlayer();
  player.zoom(400, 600);
  player.zoomBy(0.5, 450);
  assert.deepEqual([player.state.from, player.state.to], [425, 525]);
  player.zoom(-1e9, 1e9);
  const all = player.margins();
  assert.deepEqual([player.state.from, player.state.to], [all.from, all.to]);
});

test("a recording without length still has a width", () => {
  const { player } = aPlayer({ from: 5, to: 5, steps: 0 });
  assert.ok(player.state.to > player.state.from);
});
