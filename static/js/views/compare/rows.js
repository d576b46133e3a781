/** What both sides hold at the cursor, row by row, and whether it is the same. Pure. */

import { thousands, valueText } from "../../lib/format.js";

const LONGEST_VALUE = 80; // characters
const SHARED_SHOWN = 20; // characters before the first one in which two long values differ

/**
 * Returns a row for each process and for each channel that holds something: those that differ come first, then those
 * that are not compared.
 * @param {CursorSide[]} sides @param {boolean} isOne whether both sides are of one recording, where ids are the same
 * @returns {CursorRow[]}
 */
export function rowsAt(sides, isOne) {
  const rows = [...stateRows(sides), ...channelRows(sides, isOne)];
  /** @type {CursorRow["verdict"][]} */
  const order = ["other", "open", "same"];
  return order.flatMap((verdict) => rows.filter((row) => row.verdict === verdict));
}

/** @param {CursorSide[]} sides @returns {CursorRow[]} */
function stateRows(sides) {
  const ids = new Set(sides.flatMap(({ topology }) => topology.processes.map(({ id }) => id)));
  return [...ids].map((id) => rowOf(`state of ${id}`, sides.map((side) => stateCell(side, id))));
}

/** @param {CursorSide[]} sides @param {boolean} isOne @returns {CursorRow[]} */
function channelRows(sides, isOne) {
  const filled = sides.flatMap(({ topology: { channels }, cut }) =>
    [...cut.channels.keys()].map((code) => channels[code].id));
  return [...new Set(filled)].map((id) => {
    const isOrdered = sides.every(({ topology }) => topology.channels[topology.channelCode.get(id)]?.fifo ?? true);
    return rowOf(id, sides.map((side) => contentsCell(side, id, isOne, isOrdered)));
  });
}

/** @param {string} name @param {CursorCell[]} cells @returns {CursorRow} */
function rowOf(name, [left, right]) {
  const verdict = verdictOf(left, right);
  const isUnclear = verdict === "other" && left.text === right.text;
  return { name, texts: isUnclear ? apart(left.key, right.key) : [left.text, right.text], verdict };
}

/** @param {CursorCell} left @param {CursorCell} right @returns {CursorRow["verdict"]} */
function verdictOf(left, right) {
  if (left.isAbsent || right.isAbsent) return "other";
  if (left.count === null || right.count === null) return "open";
  if (left.count !== right.count) return "other";
  if (!left.isKnown || !right.isKnown) return "open";
  if (left.key !== right.key) return "other";
  return left.isExact ? "same" : "open";
}

/** @param {string} text @returns {CursorCell} */
const absent = (text) => ({ text, key: "", count: 0, isAbsent: true, isKnown: true, isExact: true });

/** @type {CursorCell} */
const NOT_KNOWN = { text: "not known", key: "", count: null, isAbsent: false, isKnown: false, isExact: true };

/** @param {CursorSide} side @param {string} id @returns {CursorCell} */
function stateCell({ topology, cut }, id) {
  const code = topology.processCode.get(id);
  if (code === undefined) return absent("no such process");
  if (!cut.known[code]) return NOT_KNOWN;
  const state = cut.states[code];
  const text = valueText(state, LONGEST_VALUE);
  return { text, key: JSON.stringify(state), count: 1, isAbsent: false, isKnown: true, isExact: isExact(state) };
}

/**
 * @param {CursorSide} side @param {string} id @param {boolean} isOne @param {boolean} isOrdered
 * @returns {CursorCell}
 */
function contentsCell({ topology, cut, isDerived }, id, isOne, isOrdered) {
  const code = topology.channelCode.get(id);
  if (code === undefined) return absent("no such channel");
  const messages = cut.channels.get(code) ?? [];
  if (!messages.length && isDerived) return NOT_KNOWN;
  const omitted = cut.omitted?.get(code) ?? 0;
  const keys = messages.map(({ id: name, value }) => JSON.stringify(isOne ? [name, value] : value));
  const values = messages.map(({ id: name, value }) => (value === null ? name : valueText(value, LONGEST_VALUE)));
  const rest = omitted ? [`${thousands(omitted)} more`] : [];
  return {
    text: [...values, ...rest].join(", ") || "empty",
    key: `[${(isOrdered ? keys : keys.toSorted()).join(",")}]`,
    count: messages.length + omitted,
    isAbsent: false,
    isKnown: !omitted && (isOne || messages.every(({ value }) => value !== null)),
    isExact: messages.every(({ value }) => isExact(value)),
  };
}

/**
 * Returns whether only one text of JSON gives this value. A large whole number stands for several.
 * @param {any} value @returns {boolean}
 */
function isExact(value) {
  if (typeof value === "number") return Math.abs(value) <= Number.MAX_SAFE_INTEGER;
  return value === null || typeof value !== "object" || Object.values(value).every(isExact);
}

/**
 * Returns the part of two texts in which they differ.
 * @param {string} left @param {string} right @returns {[string, string]}
 */
function apart(left, right) {
  let same = 0;
  while (left[same] === right[same]) same += 1;
  const begin = Math.max(0, same - SHARED_SHOWN);
  /** @param {string} text */
  const part = (text) => {
    const end = begin + LONGEST_VALUE;
    return `${begin ? "…" : ""}${text.slice(begin, end)}${text.length > end ? "…" : ""}`;
  };
  return [part(left), part(right)];
}
