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

/**
 * Returns the traces of a run's figure (snapshots/web/figures/order.py) in another order, with the swap to come marked.
 * @param {Trace[]} traces @param {number[]} order @param {Swap | null} next
 */
export function inOrder(traces, order, next) {
  /** @type {number[]} */
  const column = [];
  order.forEach((place, at) => (column[place] = at + 1));
  column.push(0.4, order.length + 0.6); // before the run, and after it
  const data = traces.map((trace) => (
    { ...trace, x: trace.meta.map((/** @type {number | null} */ place) => (place === null ? null : column[place])) }
  ));
  if (!next) return data;
  const both = [next.passed, next.mover];
  const rowOf = new Map(traces.filter(({ text }) => text).flatMap(({ meta, y }) => (
    meta.map((/** @type {number} */ place, /** @type {number} */ i) => [place, y[i]])
  )));
  return [...data, {
    type: "scatter",
    mode: "markers",
    x: both.map((place) => column[place]),
    y: both.map((place) => rowOf.get(place)),
    marker: { size: 22, symbol: "circle-open", color: "var(--color-marker)", line: { width: 2 } },
    hoverinfo: "skip",
  }];
}
