import assert from "node:assert/strict";
import { test } from "node:test";

import { plainScale } from "../../static/js/lib/folds.js";
import { createPlayer } from "../../static/js/lib/player.js";
import {
  initials,
  isPlaying,
  ownPanels,
  playedOn,
  roomSentence,
  toneOf,
  TONES,
  viewKey,
} from "../../static/js/lib/together.js";
import { HELD } from "../../static/js/views/workbench/link.js";

test("initials come from the words before the @", () => {
  const names = ["ada.lovelace@x.org", "bob@x.org", "m-j-k@x", "jürgen_é@x", "@x", "李雷@x"];
  assert.deepEqual(names.map(initials), ["AL", "BO", "MJ", "JÉ", "?", "李雷"]);
});

test("each person keeps one of the named colours", () => {
  const tones = Array.from({ length: 30 }, (_, person) => toneOf(person));
  assert.deepEqual([Math.min(...tones), Math.max(...tones)], [1, TONES.length]);
  assert.equal(toneOf(9), toneOf(9));
});

test("a cursor that plays is carried on by the time that has passed, and stops at the end", () => {
  const scale = plainScale(0, 200); // 200 units pass in 20 s at speed 1
  assert.equal(playedOn(10, 3000, 2, scale, 1000), 70);
  assert.equal(playedOn(10, -50, 2, scale, 1000), 10);
  assert.equal(playedOn(10, 3000, 2, scale, 50), 50);
});

/** Plays a player by hand: returns it with a function that draws a frame, and the keys of the last frame. */
function played() {
  const queue = [];
  const player = createPlayer({ from: 0, to: 1000, steps: 50 }, { schedule: (run) => queue.push(run) });
  let keys = new Set();
  let time = 0;
  player.subscribe((_, changed) => {
    keys = changed;
  });
  const frame = (elapsed = 100) => {
    keys = new Set();
    time += elapsed;
    for (const run of queue.splice(0)) run(time);
    return keys;
  };
  player.zoom(0, 100);
  player.play();
  frame();
  frame();
  return { player, frame };
}

test("playing on and turning the page are playing, what somebody does meanwhile is not", () => {
  const { player, frame } = played();
  assert.equal(isPlaying(frame(), HELD), true);
  let turned = new Set();
  while (!turned.has("turned")) turned = frame(250);
  assert.ok(turned.has("from"));
  assert.equal(isPlaying(turned, HELD), true);
  const acts = [
    () => player.seek(5),
    () => player.zoomBy(0.5),
    () => player.pan(0.1),
    () => player.set({ snapshot: "s1" }),
    () => player.toggle("folded", "depth"),
    () => player.pause(),
  ];
  for (const act of acts) {
    act();
    assert.equal(isPlaying(frame(), HELD), false, String(act));
    player.play();
    frame();
  }
});

test("views differ in their cursor unless they play", () => {
  const view = { now: 1, from: 0, to: 9, snapshot: "s1" };
  const still = { playing: false, speed: 1 };
  const playing = { playing: true, speed: 1 };
  assert.notEqual(viewKey(view, still), viewKey({ ...view, now: 2 }, still));
  assert.equal(viewKey(view, playing), viewKey({ ...view, now: 2 }, playing));
  assert.notEqual(viewKey(view, playing), viewKey({ ...view, snapshot: "s2" }, playing));
  assert.notEqual(viewKey(view, playing), viewKey(view, still));
});

test("who stops following gets the own panels back, with what was changed last", () => {
  const own = { folded: ["depth"], tables: [], order: ["a", "b"], sizes: { a: 100 }, tab: "states" };
  const followed = { folded: ["topology"], tables: ["depth"], order: [], sizes: {}, tab: "contents" };
  assert.deepEqual(ownPanels(own, followed, followed), own);
  const changed = { ...followed, folded: ["topology", "states"], tab: "details" };
  assert.deepEqual(ownPanels(own, followed, changed), { ...own, folded: ["depth", "states"], tab: "details" });
  assert.deepEqual(ownPanels(own, followed, { ...followed, folded: [] }).folded, ["depth", "topology"]);
});

const YOU = { person: 1, may_present: true, presents: false, asks: false, is_offered: false };
const ROOM = {
  people: [
    { person: 1, name: "ada@x", is_following: false },
    { person: 2, name: "bob@x", is_following: true },
  ],
  total: 2,
  presenter: null,
  requests: [],
  you: YOU,
};
const BOB = { person: 2, name: "bob@x", is_here: true };

test("the room is put into a sentence with the key that helps", () => {
  const cases = [
    [null, false, /^$/],
    [ROOM, false, /^$/],
    [ROOM, true, /^Nobody presents at the moment. You follow as soon/],
    [{ ...ROOM, presenter: BOB }, false, /^bob presents. Press r to follow.$/],
    [{ ...ROOM, presenter: BOB }, true, /^You follow bob. Move, or press r, to stop.$/],
    [{ ...ROOM, presenter: { ...BOB, is_here: false } }, true, /The connection of the presenter is lost.$/],
    [{ ...ROOM, presenter: { ...BOB, person: 1 } }, false, /^Another page of yours presents/],
    [{ ...ROOM, presenter: BOB, you: { ...YOU, asks: true } }, false, /^You have asked bob to let you present.$/],
    [{ ...ROOM, presenter: BOB, you: { ...YOU, is_offered: true } }, false, /^bob offers you to present. Press y/],
    [{ ...ROOM, you: { ...YOU, presents: true } }, false, /^You present. 1 person follows.$/],
    [{ ...ROOM, total: 90, you: { ...YOU, presents: true } }, false, /^You present. At least 1 person follows.$/],
    [{ ...ROOM, requests: [BOB], you: { ...YOU, presents: true } }, false, /^bob asks to present. Press y/],
  ];
  for (const [room, isFollowing, words] of cases) assert.match(roomSentence(room, isFollowing), words);
});
