import assert from "node:assert/strict";
import { test } from "node:test";

import { plainScale } from "../../static/js/lib/folds.js";
import { arrange, PLAIN_LANES } from "../../static/js/lib/lanes.js";
import { openTopology } from "../../static/js/lib/topology.js";
import { keyName } from "../../static/js/lib/keys.js";
import { matching } from "../../static/js/lib/palette.js";
import { latestWins, openSocket, Refused } from "../../static/js/lib/socket.js";
import { createSource, defaultUrls, inOrder, openCut } from "../../static/js/lib/source.js";
import {
  geometry,
  inFlight,
  lineOf,
  nearestEvent,
  nearestLine,
  progress,
} from "../../static/js/views/workbench/geometry.js";
import {
  chipTitle,
  concurrentWords,
  countCell,
  cutResult,
  cutSentence,
  derivedContents,
  linked,
  nounsOf,
} from "../../static/js/views/workbench/sentences.js";
import { pointOn } from "../../static/js/views/workbench/topology-circles.js";
import { describeCut } from "../../static/js/lib/cuts.js";
import { twoBanks } from "./builders.js";

/** Measures a diagram of `processes` lanes of which `first` is the first in view. */
const measures = ({ from = 0, to = 100, processes = 2, first = 0 } = {}) => geometry({
  width: 420,
  height: 130,
  left: 100,
  right: 20,
  top: 10,
  bottom: 20,
  scale: plainScale(from, to),
  arrangement: { ...arrange(aTopology(processes), PLAIN_LANES), first },
});

const aTopology = (count) =>
  openTopology({ processes: Array.from({ length: count }, (_, i) => ({ id: `p${i}` })), channels: [] });

test("time runs along x and lanes down y", () => {
  const g = measures();
  assert.deepEqual([g.x(0), g.x(100), g.at(250)], [100, 400, 50]);
  assert.ok(g.y(0) < g.y(1));
});

test("lanes that do not fit are not drawn, and the first can be chosen", () => {
  const g = measures({ processes: 1000, first: 995 });
  assert.ok(g.lanes < 20);
  assert.equal(g.firstRow + g.lanes, 1000);
  assert.equal(g.shows(999) && !g.shows(0), true);
});

test("the event and the message under the pointer are found", () => {
  const window = twoBanks().window(0, 70);
  const g = measures({ to: 70 });
  const row = nearestEvent(window, g, g.x(50) + 3, g.y(0) - 2, 10);
  assert.equal(window.events.at[row], 50);
  assert.equal(nearestEvent(window, g, g.x(50), g.y(0) + 40, 10), -1);
  const { channels } = window.topology;
  const [x0, y0, x1, y1] = lineOf(window.messages, channels, g, 70, 2);
  assert.equal(nearestLine(window.messages, channels, g, 70, (x0 + x1) / 2, (y0 + y1) / 2 + 1, 6), 2);
});

test("a message is in flight from its send until just before its receipt", () => {
  const { messages } = twoBanks().window(0, 70);
  assert.deepEqual([21, 22, 36, 50].map((now) => inFlight(messages, 1, now)), [false, true, true, false]);
  assert.equal(progress(messages, 1, 36), 0.5);
});

test("the line of a message that never arrives ends at the cursor, short of its target", () => {
  const window = twoBanks().window(0, 70);
  window.messages.received_index[1] = -1;
  const g = measures({ to: 70 });
  const [, y0, x1, y1] = lineOf(window.messages, window.topology.channels, g, 40, 1);
  assert.equal(x1, g.x(40));
  assert.ok(Math.abs(y1 - y0) < Math.abs(g.y(0) - g.y(1)));
});

test("channels that go both ways bow to different sides", () => {
  const [a, b] = [{ x: 0, y: 0 }, { x: 10, y: 0 }];
  assert.equal(pointOn({ from: a, to: b, rim: 0, bow: 3 }, 0.5).y, 3);
  assert.equal(pointOn({ from: b, to: a, rim: 0, bow: 3 }, 0.5).y, -3);
});

test("the newest of several requests wins, those between are passed over", async () => {
  const begun = [];
  let finish;
  const load = latestWins((n) => {
    begun.push(n);
    return new Promise((resolve) => (finish = () => resolve(n)));
  });
  const answers = [load(1), load(2), load(3)];
  finish();
  assert.deepEqual(await Promise.all([answers[0], answers[1]]), [1, null]);
  await new Promise(setImmediate);
  finish();
  assert.equal(await answers[2], 3);
  assert.deepEqual(begun, [1, 3]);
});

test("a failed request does not block the next", async () => {
  const load = latestWins(async (n) => {
    if (n === 1) throw new Error("no");
    return n;
  });
  await assert.rejects(load(1));
  assert.equal(await load(2), 2);
});

class ASocket {
  constructor() {
    ASocket.last = this;
    this.readyState = 1;
    this.sent = [];
  }
  send(text) {
    this.sent.push(JSON.parse(text));
  }
  close() {
    this.onclose?.();
  }
}

function connected() {
  globalThis.location = { href: "http://host/recordings/1" };
  const news = [];
  const socket = openSocket("/ws", { Socket: ASocket, onMessage: (message) => news.push(message) });
  const receive = (message) => ASocket.last.onmessage({ data: JSON.stringify(message) });
  return { socket, news, receive };
}

test("answers find their requests, whatever the order; the rest is news", async () => {
  const { socket, news, receive } = connected();
  const [a, b] = [socket.ask("window", { from: 0 }), socket.ask("cut", { at: 1 })];
  receive({ type: "cursor", at: 5 });
  receive({ type: "cut", request: 2, at: 1 });
  receive({ type: "window", request: 1, from: 0 });
  assert.deepEqual([(await a).from, (await b).at, news], [0, 1, [{ type: "cursor", at: 5 }]]);
  socket.close();
});

test("a refused request says why, and a closed socket ends what is open", async () => {
  const { socket, receive } = connected();
  const refused = socket.ask("cut", {});
  receive({ type: "refused", request: 1, detail: "positions are missing" });
  await assert.rejects(refused, /positions are missing/);
  const open = socket.ask("cut", {});
  socket.close();
  await assert.rejects(open, /closed/);
});

test("a socket that the server has ended stays closed and says why", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  globalThis.location = { href: "http://host/recordings/1" };
  const states = [];
  let opened = 0;
  class Counted extends ASocket {
    constructor() {
      super();
      opened += 1;
    }
  }
  openSocket("/ws", { Socket: Counted, onState: (...state) => states.push(state) });
  ASocket.last.onclose({ code: 1006, reason: "" });
  t.mock.timers.tick(60_000);
  assert.equal(opened, 2);
  ASocket.last.onclose({ code: 4401, reason: "You have been signed out." });
  t.mock.timers.tick(60_000);
  assert.equal(opened, 2);
  assert.deepEqual(states.map(([state]) => state), ["closed", "ended"]);
  assert.equal(states[1][1], "You have been signed out.");
});

test("a socket whose beats stop is given up and opened again", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const { socket, receive } = connected();
  const first = ASocket.last;
  receive({ type: "room" });
  t.mock.timers.tick(60_000);
  assert.equal(ASocket.last, first, "without beats, silence means nothing");
  receive({ type: "beat" });
  t.mock.timers.tick(11_000);
  receive({ type: "room" });
  t.mock.timers.tick(11_000);
  assert.equal(ASocket.last, first);
  t.mock.timers.tick(2_000);
  assert.equal(first.onclose, null);
  t.mock.timers.tick(1_000);
  assert.notEqual(ASocket.last, first);
  socket.close();
});

test("a cut from the server has the form of one from the window", () => {
  const recording = twoBanks();
  const answer = {
    consistent: true,
    positions: { A: 1, B: 4 },
    states: { A: 9000, B: 3000 },
    channels: { "A->B": [], "B->A": [1000, 2000] },
    messages: { "A->B": [], "B->A": ["b1", "b2"] },
    orphans: [],
  };
  const there = openCut(answer, recording.topology);
  const here = describeCut(recording.window(0, 70), [1, 4]);
  for (const key of ["positions", "states", "known", "events", "inProcesses", "inChannels", "consistent", "nearest"]) {
    assert.deepEqual(there[key], here[key], key);
  }
  assert.deepEqual(there.channels.get(1), [{ id: "b1", value: 1000 }, { id: "b2", value: 2000 }]);
});

test("positions that a snapshot lacks are -1", () => {
  assert.deepEqual(inOrder({ A: 3 }, [{ id: "A" }, { id: "B" }]), [3, -1]);
  assert.deepEqual(inOrder([3, null], []), [3, -1]);
});

test("the verdict of a cut names the message and both processes, and links them", () => {
  const cut = describeCut(twoBanks().window(0, 70), [0, 3]);
  const sentence = cutSentence(cut);
  assert.match(sentence, /B has received a1 \(1,000\) inside this cut, but A sends it only after/);
  const pieces = linked(sentence, cut.orphans.flatMap(nounsOf));
  assert.deepEqual(pieces.filter((piece) => typeof piece !== "string").map(({ text }) => text), ["B", "a1", "A"]);
  assert.equal(pieces.map((piece) => piece.text ?? piece).join(""), sentence);
});

test("channels that no checkpoint holds are not known, and not empty", () => {
  const between = "Between checkpoints it is not known.";
  const detail = (channels, more = {}) => (
    { snapshot: "3", recorded: { channels }, why_empty: "Aligned.", why_unknown: "It failed.", ...more }
  );
  assert.equal(derivedContents(null, 2, between), between);
  assert.equal(
    derivedContents(detail({ "A->B": [], "B->A": [] }), 2, between),
    "Snapshot 3: 2 channels known to be empty. Aligned.",
  );
  assert.equal(derivedContents(detail({}), 2, between), "Snapshot 3: 2 channels not known. It failed.");
  assert.equal(
    derivedContents(detail({ "A->B": [] }), 2, between),
    "Snapshot 3: 1 channel known to be empty. Aligned. 1 more channel not known. It failed.",
  );
});

test("tables and CSV of a derived recording do not count messages that nobody saw as none", () => {
  assert.deepEqual([countCell(0), countCell(3)], [0, 3]);
  assert.deepEqual([countCell(0, true), countCell(3, true)], ["not known", 3]);
});

test("the strip says the outcome of a snapshot and its answers", () => {
  const answers = [
    { question: "cut", answer: "holds", sentence: "" },
    { question: "channels", answer: "holds", sentence: "" },
    { question: "states", answer: "not-known", sentence: "" },
    { question: "rule", answer: "does-not-hold", sentence: "" },
  ];
  assert.equal(
    chipTitle({ snapshot: "s1", verdict: "unknown", outcome: "damaged", answers }),
    "Snapshot s1: damaged; holds: cut and channels; not known: states; does not hold: rule",
  );
  assert.equal(chipTitle({ snapshot: "s1", verdict: "lost" }), "Snapshot s1: lost");
});

test("events of a derived recording are not called concurrent", () => {
  assert.equal(concurrentWords(1200), "1,200 concurrent: neither before nor after it.");
  assert.equal(
    concurrentWords(2, true),
    "Of 2 events the recording does not show whether it came before or after.",
  );
});

test("a cut of a derived recording is not called consistent, and its channels are not called empty", () => {
  const cut = { consistent: true, channels: new Map() };
  assert.match(cutSentence(cut), /All channels are empty/);
  assert.deepEqual(cutResult(cut), ["consistent", "consistent"]);
  assert.deepEqual(cutResult(cut, true), ["unknown", "not known"]);
  assert.deepEqual(cutResult({ ...cut, consistent: false }, true), ["orphan", "not consistent"]);
  assert.equal(
    cutSentence(cut, true),
    "The engine keeps no events between two checkpoints, so nothing tells what else passed.",
  );
  const full = { consistent: true, channels: new Map([[0, [{ id: "m" }]]]) };
  assert.match(cutSentence(full, true), /passed\. 1 message of a checkpoint in flight\.$/);
});

test("a cut with a receive that no send explains is not called consistent", () => {
  const cut = { consistent: null, strays: 2, channels: new Map() };
  assert.deepEqual(cutResult(cut), ["unknown", "not known"]);
  assert.match(cutSentence(cut), /^The log has no send for 2 receives inside it/);
});

test("only whole words are linked, and a channel before its processes", () => {
  const nouns = [{ text: "A", target: 1 }, { text: "A->B", target: 2 }];
  assert.deepEqual(linked("A sent on A->B. AB?", nouns), [nouns[0], " sent on ", nouns[1], ". AB?"]);
  assert.deepEqual(linked("m(1) came", [{ text: "m(1)", target: 1 }]), [{ text: "m(1)", target: 1 }, " came"]);
});

test("key presses have names", () => {
  assert.equal(keyName({ key: "Z", ctrlKey: true, shiftKey: true }), "ctrl+shift+z");
  assert.equal(keyName({ key: "z", ctrlKey: true }), "ctrl+z");
  const press = (key, more = {}) => keyName({ key, ...more });
  assert.deepEqual(
    [
      press(" "),
      press("ArrowLeft", { shiftKey: true }),
      press("K", { ctrlKey: true }),
      press("?", { shiftKey: true }),
      press("["),
    ],
    ["space", "shift+arrowleft", "ctrl+k", "?", "["],
  );
});

test("the palette finds titles by words, those that begin with the first word first", () => {
  const commands = ["Copy a link", "Open Jobs", "Link nothing"].map((title) => ({ title }));
  assert.deepEqual(matching(commands, "link").map(({ title }) => title), ["Link nothing", "Copy a link"]);
  assert.equal(matching(commands, "jobs open").length, 1);
});

test("a request that the socket does not answer is repeated over HTTP, a refused one is not", async () => {
  const recording = twoBanks();
  globalThis.fetch = async () => ({ ok: true, json: async () => recording.payload(0, 70) });
  const asking = (error) => createSource({
    urls: defaultUrls(1),
    topology: recording.topology,
    socket: { isOpen: () => true, ask: () => Promise.reject(error) },
  });
  const request = { from: 0, to: 70, width: 300, axis: "time" };
  assert.equal((await asking(new Error("No answer")).window(request)).events.count, 12);
  await assert.rejects(asking(new Refused("from lies behind to.")).window(request), /behind/);
});
