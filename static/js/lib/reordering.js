/**
 * The orders between a run as it happened and its reordering with all prerecording events first (theorem 1 of Chandy
 * and Lamport), one swap of neighbours at a time. The swaps are those of domain/replaying/reordering.py. Pure.
 *
 * `isPre` says of each event, in the order of the run, whether it is prerecording. An event is named by its index
 * in that order.
 */

/**
 * Returns the order of the events after the first `done` swaps.
 * @param {boolean[]} isPre @param {number} done
 */
export function orderAfter(isPre, done) {
  const order = isPre.map((_, place) => place);
  let left = done;
  let settled = 0;
  for (let place = 0; place < isPre.length && left > 0; place += 1) {
    if (!isPre[place]) continue;
    const jump = Math.min(left, place - settled);
    order.splice(place - jump, 0, ...order.splice(place, 1));
    left -= jump;
    settled += 1;
  }
  return order;
}

/**
 * Returns the two events that swap number `done` (from 0) exchanges, or null after the last swap.
 * @param {boolean[]} isPre @param {number} done
 */
export function swapAt(isPre, done) {
  const before = orderAfter(isPre, done);
  const after = orderAfter(isPre, done + 1);
  const at = before.findIndex((place, i) => place !== after[i]);
  return at < 0 ? null : { passed: before[at], mover: before[at + 1] };
}

/** @param {boolean[]} isPre */
export function countSwaps(isPre) {
  let behind = 0;
  let swaps = 0;
  for (const pre of isPre) {
    if (pre) swaps += behind;
    else behind += 1;
  }
  return swaps;
}

/**
 * Returns the messages with the indexes of the events that send and receive them, null for an end outside the run.
 * The k-th send of an id on a channel meets its k-th receive.
 * @param {RunEvent[]} events @returns {RunMessage[]}
 */
export function messagesOf(events) {
  const open = new Map();
  /** @type {RunMessage[]} */
  const messages = [];
  events.forEach((event, place) => {
    const key = JSON.stringify([event.channel, event.message]);
    if (event.kind === "send") {
      /** @type {RunMessage} */
      const message = { channel: event.channel, message: event.message, sent: place, received: null };
      messages.push(message);
      open.set(key, [...(open.get(key) ?? []), message]);
    } else if (event.kind === "receive") {
      const message = open.get(key)?.shift();
      if (message) message.received = place;
      else messages.push({ channel: event.channel, message: event.message, sent: null, received: place });
    }
  });
  return messages;
}

/**
 * Describes an event in a few words.
 * @param {RunEvent} event
 */
export function eventWords(event) {
  if (event.kind === "send") return `${event.process} sends ${event.message} on ${event.channel}`;
  if (event.kind === "receive") return `${event.process} receives ${event.message} from ${event.channel}`;
  return `${event.process}: ${event.label ?? "internal"}`;
}
