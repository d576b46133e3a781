import assert from "node:assert/strict";
import { test } from "node:test";
import { clockTicks } from "../../static/js/lib/clock.js";

const at = (text) => Date.parse(`${text}Z`);

test("ticks of hours have the time of day, and the day where it begins or changes", () => {
  const { values, texts } = clockTicks(at("2026-11-20T16:10"), at("2026-11-21T09:00"), 6);
  assert.deepEqual(texts, ["18:00<br>2026-11-20", "21:00", "00:00<br>2026-11-21", "03:00", "06:00", "09:00"]);
  assert.equal(values[0], at("2026-11-20T18:00"));
});

test("ticks of days have the year where it changes, and weeks begin on Mondays", () => {
  assert.deepEqual(
    clockTicks(at("2026-12-30"), at("2027-01-02"), 5).texts,
    ["12-30<br>2026", "12-31", "01-01<br>2027", "01-02"],
  );
  const weeks = clockTicks(at("2026-11-01"), at("2026-12-01"), 5);
  assert.deepEqual(weeks.texts, ["11-02<br>2026", "11-09", "11-16", "11-23", "11-30"]);
});

test("ticks of months and years follow the calendar", () => {
  assert.deepEqual(
    clockTicks(at("2026-01-15"), at("2026-07-15"), 7).texts,
    ["02-01<br>2026", "03-01", "04-01", "05-01", "06-01", "07-01"],
  );
  assert.deepEqual(
    clockTicks(at("1990-05-01"), at("2026-07-15"), 4).texts,
    ["01-01<br>2000", "01-01<br>2010", "01-01<br>2020"],
  );
});

test("seconds and their fractions are distinguished", () => {
  assert.deepEqual(
    clockTicks(at("2026-11-20T16:10:02"), at("2026-11-20T16:10:12"), 5).texts.slice(0, 2),
    ["16:10:02<br>2026-11-20", "16:10:04"],
  );
  assert.deepEqual(
    clockTicks(at("2026-11-20T16:10:02.1"), at("2026-11-20T16:10:02.3"), 3).texts.at(-1),
    "16:10:02.300",
  );
});

test("any span, however absurd, has few ticks, and an instant beyond all dates is a number", () => {
  for (const [from, to] of [[0, 1], [0, 8.6e15], [5, 5], [1.79e12, 1.8e12 + 7], [0, 9.2e18]]) {
    const { values, texts } = clockTicks(from, to, 6);
    assert.ok(values.length >= 1 && values.length <= 8, `${from} to ${to}: ${texts}`);
    assert.ok(values.every((value) => value >= from && value <= to));
  }
  assert.match(clockTicks(0, 9.2e18, 3).texts.at(-1), /^[\d,]+$/);
});
