import assert from "node:assert/strict";
import { test } from "node:test";

import {
  counted,
  duration,
  escapeText,
  instant,
  shortenedInside,
  showDirection,
  fileSize,
  threeDigits,
  ticks,
  valueText,
} from "../../static/js/lib/format.js";

test("durations stand in the largest unit that keeps three digits", () => {
  const cases = [
    [12400, "us", "12.4 ms"],
    [999, "us", "999 µs"],
    [1e6, "us", "1 s"],
    [90e6, "us", "1.5 min"],
    [7, "ns", "7 ns"],
    [0, "ms", "0 ms"],
  ];
  for (const [amount, unit, text] of cases) assert.equal(duration(amount, unit), text);
});

test("a unit that is no time is written as it is", () => {
  assert.equal(duration(1234, "tick"), "1,234 ticks");
  assert.equal(duration(1, "tick"), "1 tick");
  assert.equal(instant(12, "tick", 100), "12 ticks");
});

test("instants that lie close together are distinguished", () => {
  assert.equal(instant(12400, "us", 40000), "12.400 ms");
  assert.notEqual(instant(5000001, "us", 10), instant(5000002, "us", 10));
});

test("sizes are written as the server writes them", () => {
  assert.deepEqual([0, 812, 999.4, 12_400, 1.07e9].map(fileSize), ["0 B", "812 B", "999 B", "12.4 kB", "1.07 GB"]);
});

test("numbers keep three significant digits", () => {
  assert.deepEqual([9.8149, 12.449, 123.6, 12400, 0].map(threeDigits), ["9.81", "12.4", "124", "12,400", "0"]);
});

test("the noun of one is singular, and thousands are separated", () => {
  assert.deepEqual(
    [counted(1, "event"), counted(2000, "event"), counted(2, "process", "processes")],
    ["1 event", "2,000 events", "2 processes"],
  );
});

test("values are written as text, with an ellipsis where they are cut off", () => {
  assert.equal(valueText({ balance: 9000, open: true }), "balance: 9,000, open: true");
  assert.equal(valueText({ a: { b: 1, c: {} }, d: 2 }), "a (b: 1, c ()), d: 2");
  assert.equal(valueText([1, "a"]), '[1,"a"]');
  assert.equal(valueText("abcdef", 4), "abc…");
  assert.equal(valueText(null), "null");
});

test("ticks are round, inside the range, and whole on demand", () => {
  assert.deepEqual(ticks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(ticks(-2.1, 72.1, 4), [0, 20, 40, 60]);
  assert.deepEqual(ticks(3, 5, 10, true), [3, 4, 5]);
  assert.ok(ticks(1e9, 1e9 + 50, 5).every((x) => x >= 1e9 && x <= 1e9 + 50));
});

test("a name is shortened inside, where names that belong together are alike", () => {
  assert.equal(shortenedInside("kv-node-1", 9), "kv-node-1");
  assert.equal(shortenedInside("kv-node-1", 8), "kv-n…e-1");
  assert.equal(shortenedInside("kv-node-12", 3), "k…2");
  assert.equal(shortenedInside("Source: rates-numbers -> to-rate[0]", 18), "Source: r…-rate[0]");
  assert.equal([...shortenedInside("🏦🏦🏦🏦🏦", 4)].length, 4);
});

test("a character that changes the direction of text is shown by its number", () => {
  assert.equal(showDirection("a\u202etxt.exe"), "a⟨U+202E⟩txt.exe");
  assert.equal(showDirection("\u2066\u2069\u202a"), "⟨U+2066⟩⟨U+2069⟩⟨U+202A⟩");
  assert.equal(showDirection("שלום \u200f حساب"), "שלום \u200f حساب");
  assert.equal(escapeText("<a\u202e>"), "&lt;a⟨U+202E⟩&gt;");
});
