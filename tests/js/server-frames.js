/** Reads frames of the server, which come as JSON by stdin, and compares what they say with the server's cuts. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { createFrames } from "../../static/js/lib/frames.js";
import { openCut } from "../../static/js/lib/source.js";
import { openTopology } from "../../static/js/lib/topology.js";

const FIELDS = [
  "positions", "states", "known", "watermarks", "consistent", "strays", "orphansTotal", "events", "inProcesses",
  "inChannels",
];
let compared = 0;
let told = 0; // places at which the frames say what happens

for (const { topology: plain, frames: payloads, places, grew = false } of JSON.parse(readFileSync(0, "utf8"))) {
  const topology = openTopology(plain);
  const frames = createFrames(topology);
  for (const payload of payloads) assert.ok(frames.take(payload), "a frame does not follow the one before");
  for (const { x, whole } of places) {
    const moment = frames.at(x);
    assert.ok(moment, `the frames do not reach ${x}`);
    compareCuts(moment.cut, openCut(whole.cut, topology));
    const other = createFrames(topology);
    other.take(whole);
    assert.deepEqual(sorted(moment.markers), sorted(other.at(x).markers));
    assert.deepEqual(sorted(moment.said), sorted(other.at(x).said));
    assert.deepEqual(plainSpread(moment.spread), plainSpread(other.at(x).spread));
    // What came late is said last, although it stands before other events.
    if (moment.sentence !== null && !grew) assert.equal(moment.sentence, other.at(x).sentence);
    told += moment.sentence === null ? 0 : 1;
    compared += 1;
  }
}
assert.ok(!compared || told, "no frame says what happens");
console.log(compared);

function compareCuts(here, there) {
  for (const field of FIELDS) assert.deepEqual(here[field], there[field], field);
  assert.deepEqual(sorted(here.outline.depths), sorted(there.outline.depths));
  assert.equal(here.outline.messages, there.outline.messages);
  assert.deepEqual(filled(here), filled(there));
}

function filled({ channels, omitted }) {
  const listed = [...channels].filter(([, messages]) => messages.length);
  return sorted(new Map(listed.map(([code, messages]) => [code, { messages, left: omitted.get(code) ?? 0 }])));
}

function sorted(map) {
  return [...map].sort(([a], [b]) => a - b);
}

function plainSpread(spread) {
  if (!spread) return null;
  const sets = ["recorded", "opened", "locked", "done"].map((name) => {
    return [name, [...spread[name]].sort((one, other) => one - other)];
  });
  return { ...spread, ...Object.fromEntries(sets), noted: sorted(spread.noted), notTold: sorted(spread.notTold) };
}
