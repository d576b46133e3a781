/**
 * Whole numbers beyond 2^53 travel as decimal texts, because JSON.parse would round them. Instants are compared and
 * subtracted exactly, whether they are numbers or texts. Pure.
 */

/** What is beyond the whole numbers that a browser compares exactly; the message says what it is. */
export class TooLarge extends Error {}

/**
 * Returns the time between two instants.
 * @param {Instant} from @param {Instant} to @returns {number} exact. Throws TooLarge.
 */
export function between(from, to) {
  const amount = Number(BigInt(to) - BigInt(from));
  if (!Number.isSafeInteger(amount)) throw new TooLarge("Two of its times are too far apart for this browser.");
  return amount;
}

/**
 * Returns an instant as the data of a document write it: a decimal text beyond 2^53.
 * @param {Instant} origin @param {number} after @returns {Instant}
 */
export function instantAfter(origin, after) {
  const at = BigInt(origin) + BigInt(after);
  return Number.isSafeInteger(Number(at)) ? Number(at) : String(at);
}

/**
 * Returns the instant to which the times of a log are relative: 0 if all of them are numbers, else the first.
 * @param {EvidenceEvent[][]} events @returns {Instant}
 */
export function originOf(events) {
  const times = events.flat().map(({ at }) => at);
  if (times.every((at) => typeof at === "number")) return 0;
  return String(times.map(BigInt).reduce((a, b) => (b < a ? b : a)));
}

/**
 * Throws TooLarge if a number in what was derived is whole and beyond 2^53.
 * @param {any} value
 */
export function requireExact(value) {
  if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new TooLarge("A number of this claim is too large for this browser to compare exactly.");
  }
  if (value !== null && typeof value === "object") Object.values(value).forEach(requireExact);
}
