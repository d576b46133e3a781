import assert from "node:assert/strict";
import { test } from "node:test";

import { countText, createFinder } from "../../static/js/lib/finder.js";
import { listed } from "../../static/js/lib/palette.js";
import { markPlaces } from "../../static/js/views/workbench/overview.js";

const BINS = { bins_of_time: [0, 1], bins_of_order: [1, 0] };

/** A server that holds hits at these steps, and needs `rounds` answers until the search is complete. */
function aServer(steps, rounds = 1) {
  const questions = [];
  let round = 0;
  const ask = async (question) => {
    questions.push(question);
    round += 1;
    const share = Math.min(round / rounds, 1);
    const held = steps.slice(0, Math.ceil(steps.length * share));
    const offset = question.offset ?? held.filter((step) => step < question.from_step).length;
    const hits = held.slice(offset, offset + question.limit).map((step) => ({ step }));
    return { total: held.length, complete: share === 1, searched: share, offset, hits, ...BINS };
  };
  return { ask, questions };
}

const many = Array.from({ length: 45 }, (_, i) => i * 10);

test("it begins at the cursor, and goes to the next and the previous hit in a circle", async () => {
  const finder = createFinder(aServer([5, 15, 25]).ask);
  await finder.find("x", 10);
  assert.equal((await finder.step(1)).step, 15);
  assert.equal(finder.state.number, 2);
  assert.equal((await finder.step(1)).step, 25);
  assert.equal((await finder.step(1)).step, 5);
  assert.equal(finder.state.number, 1);
  assert.equal((await finder.step(-1)).step, 25);
});

test("going back first leads to the hit before the cursor", async () => {
  const finder = createFinder(aServer([5, 15, 25]).ask);
  await finder.find("x", 10);
  assert.equal((await finder.step(-1)).step, 5);
});

test("behind the last hit it begins with the first", async () => {
  const finder = createFinder(aServer([5, 15]).ask);
  await finder.find("x", 99);
  assert.equal((await finder.step(1)).step, 5);
});

test("every hit of several pages comes once, in both directions", async () => {
  for (const direction of [1, -1]) {
    const finder = createFinder(aServer(many).ask);
    await finder.find("x", 0);
    const seen = [];
    for (let i = 0; i < many.length; i += 1) seen.push((await finder.step(direction)).step);
    assert.deepEqual(seen.sort((a, b) => a - b), many);
  }
});

test("it asks again until all is searched, and says at least as long", async () => {
  const states = [];
  const server = aServer(many, 3);
  const finder = createFinder(server.ask, (state) => states.push(countText(state, String)));
  await finder.find("x", 0);
  assert.equal(server.questions.length, 3);
  assert.ok(states.includes("at least 15, 33 % searched"), states.join("; "));
  assert.equal(states.at(-1), "45");
  await finder.step(1);
  assert.equal(countText(finder.state, String), "1 of 45");
});

test("one can go to the first hit before all is searched", async () => {
  const server = aServer(many, 3);
  let answers = 0;
  let release = () => {};
  const held = new Promise((resolve) => (release = resolve));
  const finder = createFinder(async (question) => {
    const answer = await server.ask(question);
    answers += 1;
    if (answers === 2) await held;
    return answer;
  });
  const done = finder.find("x", 0);
  const hit = await finder.step(1);
  assert.equal(hit.step, 0);
  assert.equal(finder.state.complete, false);
  release();
  await done;
  assert.equal(finder.state.complete, true);
  assert.equal(finder.state.number, 1);
});

test("a new query replaces the one that is under way", async () => {
  const finder = createFinder(aServer(many, 5).ask);
  const old = finder.find("old", 0);
  await finder.find("new", 0);
  await old;
  assert.equal(finder.state.query, "new");
  assert.equal(finder.state.total, 45);
});

test("a refusal is kept as a sentence, and no hit is claimed", async () => {
  const finder = createFinder(async () => {
    throw new Error("“noon” is no instant.");
  });
  await finder.find("time:noon", 0);
  assert.equal(finder.state.error, "“noon” is no instant.");
  assert.equal(await finder.step(1), null);
  assert.equal(countText(finder.state, String), "");
});

test("the list begins with hits to find, and with names to command", () => {
  const options = { query: "marker", names: [{ title: "Next marker" }], hits: [{ title: "A: marker_send" }] };
  assert.equal(listed({ finds: true, ...options })[0].title, "A: marker_send");
  assert.equal(listed({ finds: false, ...options })[0].title, "Next marker");
  assert.equal(listed({ finds: true, ...options, query: "next marker" })[0].title, "Next marker");
});

test("a mark stands in the middle of its part of the axis", () => {
  assert.deepEqual(markPlaces([0, 3, 0, 1], 0, 100), [37.5, 87.5]);
});
