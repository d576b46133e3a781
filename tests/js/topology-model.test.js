import assert from "node:assert/strict";
import { test } from "node:test";

import { history } from "../../static/js/lib/history.js";
import * as model from "../../static/js/views/topology/model.js";

const TWO = {
  name: "two",
  processes: [{ id: "A", state: { balance: 5 } }, { id: "B" }],
  channels: [{ id: "A->B", source: "A", target: "B", fifo: false }],
  layout: { A: [0.2, 0.4] },
};

function keysOf(topology) {
  return topology.processes.map(({ key }) => key);
}

test("a document that is opened and not changed is the same document, with a place for everyone", () => {
  const { layout, ...rest } = model.toDocument(model.fromDocument(TWO));
  const { layout: given, ...expected } = TWO;
  assert.deepEqual(rest, expected);
  assert.deepEqual(layout.A, given.A);
  assert.ok(layout.B.every((part) => part >= 0 && part <= 1));
});

test("a state is JSON where it can be, a word where it cannot, and not known where it is empty", () => {
  assert.deepEqual(model.readState(" 9000 "), { value: 9000 });
  assert.deepEqual(model.readState("idle"), { value: "idle" });
  assert.deepEqual(model.readState(""), {});
  assert.ok(model.readState('{"balance": ').problem);
});

test("a text that looks like a number stays a text", () => {
  const topology = model.fromDocument({ processes: [{ id: "A", state: "7" }] });
  assert.equal(topology.processes[0].state, '"7"');
  assert.equal(model.toDocument(topology).processes[0].state, "7");
});

test("a channel named after its ends follows when an end is renamed, a named one does not", () => {
  const [a] = keysOf(model.fromDocument(TWO));
  const renamed = model.changeProcess(model.fromDocument(TWO), a, { id: "bank" });
  assert.equal(model.toDocument(renamed).channels[0].id, "bank->B");
  const named = model.fromDocument({ ...TWO, channels: [{ id: "wire", source: "A", target: "B" }] });
  assert.equal(model.toDocument(model.changeProcess(named, a, { id: "bank" })).channels[0].id, "wire");
});

test("removing a process removes the channels at it", () => {
  const topology = model.fromDocument(TWO);
  const left = model.removeProcess(topology, keysOf(topology)[1]);
  assert.deepEqual(left.channels, []);
});

test("there is one channel from a process to another and none to itself", () => {
  const topology = model.fromDocument(TWO);
  const [a, b] = keysOf(topology);
  assert.equal(model.addChannel(topology, a, b), topology);
  assert.equal(model.addChannel(topology, a, a), topology);
  assert.equal(model.addChannel(topology, b, a).channels.length, 2);
});

test("bidirectional adds what is missing, once", () => {
  const both = model.makeBidirectional(model.fromDocument(TWO));
  assert.deepEqual(model.toDocument(both).channels.map(({ id }) => id), ["A->B", "B->A"]);
  assert.equal(model.makeBidirectional(both), both);
});

test("a taken id, an empty id and a broken state are problems at their fields", () => {
  let topology = model.addProcess(model.fromDocument(TWO));
  const [, b, c] = keysOf(topology);
  topology = model.changeProcess(topology, c, { id: "A", state: "{" });
  topology = model.changeProcess(topology, b, { id: " " });
  const found = model.problems(topology).map(({ key, field }) => [key, field]);
  assert.deepEqual(found, [[b, "id"], [c, "id"], [c, "state"]]);
});

test("a new process takes an id that is free and a place of its own", () => {
  const topology = model.addProcess(model.addProcess(model.fromDocument(TWO)));
  assert.deepEqual(topology.processes.map(({ id }) => id), ["A", "B", "C", "D"]);
  const places = new Set(topology.processes.map(({ x, y }) => `${x} ${y}`));
  assert.equal(places.size, 4);
});

test("undo goes back one step, redo forward, and a change forgets what was undone", () => {
  const steps = history("a");
  steps.change("b");
  steps.change("c");
  steps.undo();
  assert.equal(steps.now, "b");
  steps.redo();
  assert.equal(steps.now, "c");
  steps.undo();
  steps.change("d");
  assert.ok(!steps.canRedo);
  steps.undo();
  assert.equal(steps.now, "b");
});

test("steps that were kept can be undone", () => {
  const steps = history("c", ["a", "b"]);
  assert.ok(steps.canUndo);
  steps.undo();
  steps.undo();
  assert.equal(steps.now, "a");
  assert.ok(!steps.canUndo);
  steps.redo();
  steps.redo();
  assert.equal(steps.now, "c");
});

test("a whole drag is one step", () => {
  const steps = history("start");
  steps.change("moving");
  steps.amend("moved further");
  steps.amend("dropped");
  steps.undo();
  assert.equal(steps.now, "start");
});

test("what is typed into one field is one step, and every other change begins a new one", () => {
  const steps = history("");
  for (const text of ["a", "ab", "abc"]) steps.type("id", text);
  steps.undo();
  assert.equal(steps.now, "");
  steps.redo();
  steps.type("id", "abcd");
  steps.type("state", "abcd 1");
  steps.undo();
  assert.equal(steps.now, "abcd");
  steps.undo();
  assert.equal(steps.now, "abc");
});
