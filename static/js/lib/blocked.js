/** Channels that a task has blocked until a barrier arrives on another (events block, unblock). Pure. */

/**
 * Returns when each channel is blocked, on the window's axis. A span that begins or ends outside the window ends
 * at its edge. A task that crashes or starts again blocks nothing any more.
 * @param {OpenWindow | null} window @returns {BlockedSpan[]}
 */
export function blockedSpans(window) {
  if (!window?.exact) return [];
  const names = ["block", "unblock", "crash", "restore", "restart"];
  const [block, unblock, ...ends] = names.map((name) => window.kinds.indexOf(name));
  if (block < 0) return [];
  /** @type {BlockedSpan[]} */
  const spans = [];
  window.rows.forEach((rows, process) => {
    const open = new Map();
    for (const row of rows) {
      const channel = window.events.channel[row];
      const x = window.events.x[row];
      const kind = window.events.kind[row];
      if (kind === block) open.set(channel, x);
      else if (kind === unblock) {
        spans.push({ channel, process, from: open.get(channel) ?? window.from, to: x });
        open.delete(channel);
      } else if (ends.includes(kind)) {
        for (const [blocked, from] of open) spans.push({ channel: blocked, process, from, to: x });
        open.clear();
      }
    }
    for (const [channel, from] of open) spans.push({ channel, process, from, to: window.to });
  });
  return spans;
}

/**
 * Returns the codes of the channels that are blocked at `x`.
 * @param {BlockedSpan[]} spans @param {number} x
 */
export function blockedAt(spans, x) {
  return new Set(spans.filter(({ from, to }) => from <= x && x < to).map(({ channel }) => channel));
}

const spansByWindow = new WeakMap();

/**
 * Returns the blocked spans of a window, computed once for each window.
 * @param {OpenWindow | null} window @returns {BlockedSpan[]}
 */
export function spansOf(window) {
  if (!window) return [];
  if (!spansByWindow.has(window)) spansByWindow.set(window, blockedSpans(window));
  return spansByWindow.get(window);
}
