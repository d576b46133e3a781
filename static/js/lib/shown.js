/** What is shown of a cut, as the server's answers and frames have it: what is listed, how much there is, the sums. */

import { isExcerpt } from "./format.js";

/**
 * Returns a state that is a number, or the only number among the fields of an object; else null.
 * @param {any} value @returns {number | null}
 */
export function numberIn(value) {
  if (typeof value === "number") return value;
  if (value === null || typeof value !== "object" || Array.isArray(value) || isExcerpt(value)) return null;
  const numbers = Object.values(value).filter((item) => typeof item === "number");
  return numbers.length === 1 ? numbers[0] : null;
}

/**
 * Returns the sum of the numbers in `values` as `numberIn` finds them, null if one has none.
 * @param {Iterable<unknown>} values @returns {number | null}
 */
export function total(values) {
  let sum = 0;
  for (const value of values) {
    const number = numberIn(value);
    if (number === null) return null;
    sum += number;
  }
  return sum;
}

/**
 * Adds the number of events and the sums over processes and channels to a cut.
 * @param {Cut} cut @returns {Cut}
 */
export function summed(cut) {
  cut.events = cut.positions.reduce((sum, n) => sum + n, 0);
  const { outline } = cut;
  cut.inProcesses = outline ? outline.inProcesses : cut.known.every(Boolean) ? total(cut.states) : null;
  cut.inChannels = outline ? outline.inChannels : total(messagesInFlight(cut).map((message) => message.value));
  return cut;
}

/**
 * Returns the messages of all channels of a cut.
 * @param {Cut} cut
 */
export function messagesInFlight(cut) {
  return [...cut.channels.values()].flat();
}

/**
 * Returns how many messages all channels of a cut hold, listed or not.
 * @param {Cut} cut
 */
export function inFlightCount(cut) {
  return cut.outline?.messages ?? messagesInFlight(cut).length;
}

/**
 * Returns how many messages a channel holds at a cut, listed or not.
 * @param {Cut | null} cut @param {number} code
 */
export function depthOf(cut, code) {
  const listed = (cut?.channels.get(code)?.length ?? 0) + (cut?.omitted?.get(code) ?? 0);
  return cut?.outline?.depths.get(code) ?? listed;
}

/**
 * Returns the codes of the channels that hold messages at a cut, but for those that even the outline leaves out.
 * @param {Cut} cut
 */
export function filledChannels(cut) {
  return [...(cut.outline?.depths ?? cut.channels).keys()];
}

/**
 * Returns whether the state of process `p` was asked for.
 * @param {Cut} cut @param {number} p
 */
export function hasState(cut, p) {
  return !cut.outline || cut.outline.listed.has(p);
}

/**
 * Returns whether the messages of a channel are here, or the outline says that there are none.
 * @param {Cut} cut @param {number} code
 */
export function hasMessages({ outline, channels }, code) {
  return !outline || channels.has(code) || (!outline.hiddenChannels && !outline.depths.has(code));
}

/**
 * Returns a cut with the rows of two answers about it.
 * @param {Cut} cut @param {Cut} more @returns {Cut}
 */
export function withRows(cut, more) {
  const joined = { ...cut, states: [...cut.states], known: [...cut.known], watermarks: [...cut.watermarks] };
  for (const p of more.outline.listed) {
    joined.states[p] = more.states[p];
    joined.known[p] = more.known[p];
    joined.watermarks[p] = more.watermarks[p];
  }
  joined.channels = new Map([...cut.channels, ...more.channels]);
  joined.omitted = new Map([...cut.omitted, ...more.omitted]);
  joined.outline = { ...cut.outline, listed: new Set([...cut.outline.listed, ...more.outline.listed]) };
  return joined;
}
