/** Channels that a task has blocked until the barrier of another has come (events block, unblock). Pure. */

/** [{channel, process, from, to}] in the window's coordinate; a span that began or ends outside is cut off there.
 * A task that dies, or is started anew, holds nothing back any more. */
export function blockedSpans(window) {
  if (!window?.exact) return [];
  const [block, unblock, ...ends] = [
    "block",
    "unblock",
    "crash",
    "restore",
    "restart",
  ].map((kind) => window.kinds.indexOf(kind));
  if (block < 0) return [];
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
        for (const [held, from] of open) spans.push({ channel: held, process, from, to: x });
        open.clear();
      }
    }
    for (const [channel, from] of open) spans.push({ channel, process, from, to: window.to });
  });
  return spans;
}

/** The channels (codes) that are blocked at x. */
export function blockedAt(spans, x) {
  return new Set(spans.filter(({ from, to }) => from <= x && x < to).map(({ channel }) => channel));
}

const known = new WeakMap();

/** The spans of a window, found once. */
export function spansOf(window) {
  if (!window) return [];
  if (!known.has(window)) known.set(window, blockedSpans(window));
  return known.get(window);
}
