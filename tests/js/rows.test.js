/** Pages of long lists, and cuts of which only an outline and some rows are here. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  depthOf, filledChannels, hasMessages, hasState, inFlightCount, numberIn, withRows,
} from "../../static/js/lib/shown.js";
import { pageOf, partFields, ROWS_A_PAGE } from "../../static/js/lib/rows.js";
import { openCut } from "../../static/js/lib/source.js";
import { openTopology } from "../../static/js/lib/topology.js";
import { openDetail, withRowsOf } from "../../static/js/views/workbench/snapshot-rows.js";
import { valueText } from "../../static/js/lib/format.js";

const topology = openTopology({
  processes: ["A", "B", "C"].map((id) => ({ id, state: 0 })),
  channels: [["A", "B"], ["B", "C"], ["C", "A"]].map(([source, target]) => ({
    id: `${source}->${target}`, source, target, fifo: true,
  })),
});
const OUTLINE = {
  positions: [4, 5, 6], nearest: null, channels: [0, 2], depths: [3, 900], hidden_channels: 0, messages: 903,
  in_processes: 7, in_channels: null,
};

function part(states, channels, omitted = {}, outline = OUTLINE) {
  const positions = Object.fromEntries(Object.keys(states).map((id) => [id, 1]));
  const messages = Object.fromEntries(Object.entries(channels).map(([id, values]) => [id, values.map(String)]));
  return openCut({ positions, states, channels, messages, omitted, consistent: true, outline }, topology);
}

test("a page is a part of a list, and the last one where there are fewer", () => {
  const codes = Array.from({ length: 2 * ROWS_A_PAGE + 5 }, (_, code) => code);
  assert.deepEqual(pageOf(codes, 1).codes, codes.slice(ROWS_A_PAGE, 2 * ROWS_A_PAGE));
  assert.deepEqual(pageOf(codes, 9), { codes: codes.slice(-5), page: 2, begin: 400, total: 405 });
  assert.deepEqual(pageOf([], 3), { codes: [], page: 0, begin: 0, total: 0 });
});

test("rows are asked for by their codes, and null asks for the first ones", () => {
  assert.deepEqual(partFields({ processes: [1, 2], channels: [] }), {
    outline: true, limit: 500, process_codes: "1,2", channel_codes: "",
  });
  assert.deepEqual(partFields({ processes: null, channels: null }), { outline: true, limit: 500 });
});

test("an outline has the positions, depths and sums of all, whatever is listed", () => {
  const cut = part({ B: 5 }, { "A->B": [1, 2] }, { "A->B": 1 });
  assert.deepEqual(cut.positions, [4, 5, 6]);
  assert.equal(cut.events, 15);
  assert.equal(cut.inProcesses, 7);
  assert.equal(cut.inChannels, null);
  assert.equal(inFlightCount(cut), 903);
  assert.deepEqual(filledChannels(cut), [0, 2]);
  assert.deepEqual([0, 1, 2].map((code) => depthOf(cut, code)), [3, 0, 900]);
  assert.deepEqual([0, 1, 2].map((p) => hasState(cut, p)), [false, true, false]);
  assert.deepEqual([0, 1, 2].map((code) => hasMessages(cut, code)), [true, true, false]);
});

test("a channel that even the outline leaves out is not taken for an empty one", () => {
  const cut = part({}, {}, {}, { ...OUTLINE, hidden_channels: 1 });
  assert.equal(hasMessages(cut, 1), false);
});

test("two answers about a cut are joined", () => {
  const joined = withRows(part({ B: 5 }, { "A->B": [1] }, { "A->B": 2 }), part({ C: 6 }, { "C->A": [2] }));
  assert.deepEqual(joined.states, [null, 5, 6]);
  assert.deepEqual([...joined.channels.keys()], [0, 2]);
  assert.equal(joined.omitted.get(0), 2);
  assert.deepEqual([...joined.outline.listed], [1, 2]);
});

test("two answers about a snapshot are joined, and what was asked for is loaded though it is not part of it", () => {
  const answer = (name, channels) => ({
    channels, recorded: { processes: { [name]: 1 }, channels }, recomputed: { processes: {}, channels },
    messages: {}, recorded_messages: {}, part: { omitted: { [name]: 1 }, omitted_recorded: {} },
    outline: { channels: [0, 2] },
  });
  const first = openDetail(answer("A", { "A->B": [1] }), { processes: [0], channels: null }, topology);
  const joined = withRowsOf(first, openDetail(answer("B", {}), { processes: [1], channels: [2] }, topology));
  assert.deepEqual([...joined.loaded.processes], [0, 1]);
  assert.deepEqual([...joined.loaded.channels], [0, 2]);
  assert.deepEqual(joined.recorded.processes, { A: 1, B: 1 });
  assert.deepEqual(joined.part.omitted, { A: 1, B: 1 });
  assert.deepEqual([...joined.filled], [0, 2]);
});

test("a long value is shown with its beginning and its length, and is no number", () => {
  const value = { $excerpt: "abcdef", $bytes: 1048576 };
  assert.equal(valueText(value, 4), "abcd… (the first 4 of 1,048,576 bytes)");
  assert.equal(numberIn(value), null);
});
