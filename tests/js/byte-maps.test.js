import assert from "node:assert/strict";
import { test } from "node:test";
import { fileSize } from "../../static/js/lib/format.js";
import { kindOf, mapFigure } from "../../static/js/views/bytes/maps.js";

const SECTORS = {
  ids: ["a", "a/keyed", "a/keyed/new", "a/keyed/old", "b", "b/0", "b/1"],
  labels: ["<a>", "keyed state", "new", "taken over", "b", "x", "y"],
  parents: ["root", "a", "a/keyed", "a/keyed", "root", "b", "b"],
  values: [1500, 1500, 1000, 500, 30, 10, 20],
  kinds: ["operator", "part", "new", "old", "operator", "state", "state"],
  before: [1500, null, null, null, 25, 10, null],
};

test("the root is as large as its operators, and no name is markup", () => {
  const [trace] = mapFigure(SECTORS, (name) => name).data;
  assert.deepEqual([trace.ids[0], trace.values[0], trace.text[0]], ["root", 1530, "1.53 kB"]);
  assert.equal(trace.labels[1], "&lt;a&gt;");
  assert.equal(trace.parents[0], "");
});

test("a sector in which others lie is quiet; an unknown size before is no growth", () => {
  const kinds = SECTORS.ids.map((_, place) => kindOf(SECTORS, place));
  assert.deepEqual(kinds, ["group", "group", "new", "old", "group", "same", "unknown"]);
  const changed = { ...SECTORS, before: [null, null, null, null, null, 4, 90] };
  assert.deepEqual([kindOf(changed, 5), kindOf(changed, 6)], ["grew", "shrank"]);
});

test("a sector says in words what its colour says", () => {
  const [trace] = mapFigure(SECTORS, (name) => name).data;
  assert.equal(trace.customdata[3], "new with this checkpoint");
  assert.equal(trace.customdata[5], "+5 B since the checkpoint before");
  assert.equal(trace.customdata[7], "it is not known how much was there before");
});

test("sizes are written as the server writes them", () => {
  assert.deepEqual([0, 812, 999.4, 12_400, 1.07e9].map(fileSize), ["0 B", "812 B", "999 B", "12.4 kB", "1.07 GB"]);
});
