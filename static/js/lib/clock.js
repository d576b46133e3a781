/** Ticks of an axis of dates: round instants in UTC, labelled with the time of day or the date. Pure. */

import { thousands, ticks } from "./format.js";

const [SECOND, MINUTE, HOUR, DAY] = [1000, 60_000, 3_600_000, 86_400_000];
const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((n) => n * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((n) => n * MINUTE),
  ...[1, 2, 3, 6, 12].map((n) => n * HOUR),
  ...[1, 2, 4, 7, 14].map((n) => n * DAY),
];
const MONTHS = [1, 2, 3, 6, 12, 24, 60, 120];
const LAST = 8.64e15; // ms: the largest instant of a Date
const MONTH = 30.4 * DAY;

/**
 * Returns about `count` ticks in [from, to], in ms since 1970. A text has the time of day or the day. The first
 * text, and each after which the day or the year has changed, has that on a second line after "<br>".
 * @param {number} from @param {number} to @param {number} count
 */
export function clockTicks(from, to, count) {
  if (!(Math.abs(from) <= LAST && Math.abs(to) <= LAST)) return numberTicks(from, to, count);
  const step = STEPS.find((each) => (to - from) / each <= count);
  const values = roundInstants(from, to, count, step);
  const isDaily = values.every((value) => value % DAY === 0);
  const texts = values.map((value, i) => {
    const [day, time] = new Date(value).toISOString().replace("Z", "").split("T");
    const [text, period] = isDaily ? [day.slice(5), day.slice(0, 4)] : [shortest(time), day];
    const isSamePeriod = i > 0 && new Date(values[i - 1]).toISOString().startsWith(period);
    return isSamePeriod ? text : `${text}<br>${period}`;
  });
  return { values, texts };
}

/** @param {number} from @param {number} to @param {number} count @param {number | undefined} step */
function roundInstants(from, to, count, step) {
  if (to - from < SECOND) return ticks(from, to, count, true);
  return step ? multiples(from, to, step) : months(from, to, count);
}

/**
 * Returns about `count` ticks of an axis of whole numbers, like `clockTicks`.
 * @param {number} from @param {number} to @param {number} count
 */
export function numberTicks(from, to, count) {
  const values = ticks(from, to, count, true);
  return { values, texts: values.map(thousands) };
}

/**
 * "09:30:00.000" -> "09:30".
 * @param {string} time
 */
function shortest(time) {
  return time.endsWith(":00.000") ? time.slice(0, 5) : time.replace(".000", "");
}

/** @param {number} from @param {number} to @param {number} step */
function multiples(from, to, step) {
  const origin = step % (7 * DAY) === 0 ? 4 * DAY : 0; // weeks begin on Mondays, and 1970 began on a Thursday
  const values = [];
  for (let at = Math.ceil((from - origin) / step) * step + origin; at <= to; at += step) values.push(at);
  return values;
}

/** @param {number} from @param {number} to @param {number} count */
function months(from, to, count) {
  const step = monthStep((to - from) / MONTH / count);
  const first = new Date(from);
  const values = [];
  for (let month = Math.floor((first.getUTCFullYear() * 12 + first.getUTCMonth()) / step) * step; ; month += step) {
    const at = new Date(0).setUTCFullYear(Math.floor(month / 12), month % 12);
    if (!(at <= to)) return values;
    if (at >= from) values.push(at);
  }
}

/**
 * Returns the smallest round number of months that is `least` or more.
 * @param {number} least
 */
function monthStep(least) {
  let step = MONTHS.find((each) => each >= least) ?? MONTHS.at(-1);
  while (step < least) step *= 10;
  return step;
}
