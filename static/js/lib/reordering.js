/** Theorem 1, step by step: the orders between the run as it was and the reordered one. Pure. */

/** Places of the events after `done` of the swaps of domain/reordering.py. isPre: of each event, as it happened. */
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

/** The two events that change places in swap number `done` (from 0): {mover, passed}, places as it was. */
export function swapAt(isPre, done) {
  const before = orderAfter(isPre, done);
  const after = orderAfter(isPre, done + 1);
  const at = before.findIndex((place, i) => place !== after[i]);
  return at < 0 ? null : { passed: before[at], mover: before[at + 1] };
}

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
 * Messages as lines between events: {channel, message, sent, received}, places as it was, null where the end
 * lies outside. The k-th send of an id on a channel meets its k-th receive.
 */
export function messagesOf(events) {
  const open = new Map();
  const found = [];
  events.forEach((event, place) => {
    const key = JSON.stringify([event.channel, event.message]);
    if (event.kind === "send") {
      const message = { channel: event.channel, message: event.message, sent: place, received: null };
      found.push(message);
      open.set(key, [...(open.get(key) ?? []), message]);
    } else if (event.kind === "receive") {
      const message = open.get(key)?.shift();
      if (message) message.received = place;
      else found.push({ channel: event.channel, message: event.message, sent: null, received: place });
    }
  });
  return found;
}

/** What an event does, in a few words. */
export function told(event) {
  if (event.kind === "send") return `${event.process} sends ${event.message} on ${event.channel}`;
  if (event.kind === "receive") return `${event.process} receives ${event.message} from ${event.channel}`;
  return `${event.process}: ${event.label ?? "internal"}`;
}
