/** Compares the cuts that the browser computes in a window with the server's answers, which come as JSON by stdin. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";

import { describeCut, isInside } from "../../static/js/lib/cuts.js";
import { openCut } from "../../static/js/lib/source.js";
import { openTopology } from "../../static/js/lib/topology.js";
import { openWindow } from "../../static/js/lib/window.js";

const FIELDS = ["consistent", "strays", "orphansTotal", "nearest", "states", "known", "watermarks", "events"];

for (const { topology: plain, window: payload, cuts } of JSON.parse(readFileSync(0, "utf8"))) {
  const topology = openTopology(plain);
  const window = openWindow(payload, topology);
  for (const answer of cuts) {
    const there = openCut(answer, topology);
    assert.ok(isInside(window, there.positions));
    const here = describeCut(window, there.positions);
    for (const field of FIELDS) assert.deepEqual(here[field], there[field], field);
    assert.deepEqual(idsByChannel(here), idsByChannel(there));
  }
}

function idsByChannel({ channels }) {
  return [...channels].map(([code, messages]) => [code, messages.map(({ id }) => id)]).sort(([a], [b]) => a - b);
}
