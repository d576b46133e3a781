import assert from "node:assert/strict";
import { test } from "node:test";

import { partsOf, placeOf, rowChange, spokenPlace, step } from "../../static/js/views/review/order.js";
import { pinPlaces } from "../../static/js/views/workbench/overview.js";

/** Makes a list of rows that move as elements of a page do. */
function listOf(...keys) {
  const list = { dataset: { group: "", next: "" }, children: [] };
  const at = (row) => list.children.indexOf(row);
  const put = (row, other, shift) => {
    list.children.splice(at(row), 1);
    list.children.splice(at(other) + shift, 0, row);
  };
  for (const key of keys) {
    const row = {
      dataset: { row: key },
      parentElement: list,
      get previousElementSibling() {
        return list.children[at(row) - 1] ?? null;
      },
      get nextElementSibling() {
        return list.children[at(row) + 1] ?? null;
      },
      before: (other) => put(other, row, 0),
      after: (other) => put(other, row, 1),
    };
    list.children.push(row);
  }
  return list;
}

const order = (list) => list.children.map(({ dataset }) => dataset.row).join("");

test("a row moves by one place, and stays at the ends", () => {
  const list = listOf("1", "2", "3");
  const [first, , last] = list.children;
  assert.equal(step(first, "up"), false);
  assert.equal(step(last, "down"), false);
  assert.equal(step(last, "up"), true);
  assert.equal(order(list), "132");
  assert.equal(step(first, "down"), true);
  assert.equal(order(list), "312");
  assert.equal(spokenPlace(first), "Row 2 of 3");
});

test("the place of the last row is before the first that is not shown", () => {
  const list = listOf("1", "2");
  assert.deepEqual(placeOf(list.children[0]), { group: null, before: 2 });
  assert.deepEqual(placeOf(list.children[1]), { group: null, before: null });
  list.dataset = { group: "7", next: "9" };
  assert.deepEqual(placeOf(list.children[1]), { group: 7, before: 9 });
});

test("the form of a row sends what was typed, and no group unless it changed", () => {
  const fields = { revision: "4", text: "", kind: "note", clock: "", at: "5,100", group: "7" };
  const change = { revision: 4, text: null, kind: "note", clock: null, at: 5100 };
  assert.deepEqual(rowChange(fields, "7"), change);
  assert.deepEqual(rowChange(fields, ""), { ...change, group: 7 });
  assert.equal(rowChange({ ...fields, at: "noon" }, "7").at, "noon", "which the server refuses");
  assert.equal(rowChange({ ...fields, at: "" }, "7").at, null);
});

test("several changes load each part once, and many rows the timeline", () => {
  const row = (number) => ({ part: "row", row: number });
  assert.deepEqual(partsOf([row(1), row(1), row(2)]), { parts: [], rows: [1, 2] });
  assert.deepEqual(partsOf([1, 2, 3, 4].map(row)), { parts: ["timeline"], rows: [] });
  assert.deepEqual(partsOf([{ part: "people", row: null }, row(1)]), { parts: ["head"], rows: [1] });
  assert.deepEqual(partsOf([{ part: "exhibits", row: null }]).parts, ["head", "log"]);
  assert.deepEqual(partsOf([{ part: "timeline", row: null }, row(1)]), { parts: ["timeline", "log"], rows: [] });
});

test("pins in the overview are the places that have a time on the axis", () => {
  const places = [{ at: 5, step: 2 }, { at: 5, step: 3 }, { at: null, step: 1 }, null];
  const entries = places.map((place) => ({ place }));
  assert.deepEqual(pinPlaces(entries, "time"), [5]);
  assert.deepEqual(pinPlaces(entries, "order"), [1, 2, 3]);
});
