/** The number of messages in channels (their depth) over time: in bins, or as the steps of one channel. Pure. */

import { plainScale } from "./folds.js";
import { IN_FLIGHT } from "./window.js";

/**
 * Returns the largest depth of each channel in each of `count` bins, without the channels that are always empty. The
 * bins are equally wide on the scale.
 * @param {OpenWindow} window @param {number} from @param {number} to @param {number} count @param {FoldScale} [scale]
 */
export function depthBins(window, from, to, count, scale = plainScale(from, to)) {
  const { u, x } = scale;
  const [begin, end] = [u(from), u(to)];
  const edges = Float64Array.from({ length: count + 1 }, (_, i) => x(begin + ((end - begin) * i) / count));
  [edges[0], edges[count]] = [from, to];
  const changes = changesByChannel(window);
  const channels = [];
  const rows = [];
  const candidates = new Set([...changes.keys(), ...filledAtLeft(window)]);
  for (const channel of [...candidates].sort((a, b) => a - b)) {
    const row = binned(window.depths[channel] ?? 0, changes.get(channel) ?? [], edges);
    if (row.some((depth) => depth > 0)) {
      channels.push(channel);
      rows.push(row);
    }
  }
  return { edges, channels, rows };
}

/**
 * Returns the steps of one channel's depth, from the window's left edge to its right.
 * @param {OpenWindow} window @param {number} channel
 */
export function depthSteps(window, channel) {
  const x = [window.from];
  const depth = [window.depths[channel] ?? 0];
  for (const [at, change] of changesByChannel(window).get(channel) ?? []) {
    x.push(at);
    depth.push(depth.at(-1) + change);
  }
  x.push(window.to);
  depth.push(depth.at(-1));
  return { x, depth };
}

/** @param {OpenWindow} window */
function filledAtLeft(window) {
  return Array.from(window.depths, (depth, channel) => (depth > 0 ? channel : -1)).filter((c) => c >= 0);
}

/**
 * Returns for each channel the changes of its depth inside the window, [x, +1 or -1] in order.
 * @param {OpenWindow} window @returns {Map<number, [number, number][]>}
 */
function changesByChannel(window) {
  const { messages, positions, topology } = window;
  /** @type {Map<number, [number, number][]>} */
  const changes = new Map();
  /** @param {number} channel @param {number} x @param {number} change */
  const add = (channel, x, change) => {
    if (!changes.has(channel)) changes.set(channel, []);
    changes.get(channel).push([x, change]);
  };
  for (let row = 0; row < messages.count; row += 1) {
    const channel = messages.channel[row];
    const { sourceCode, targetCode } = topology.channels[channel];
    if (messages.sent_index[row] >= positions[sourceCode]) add(channel, messages.sentX[row], 1);
    const received = messages.received_index[row];
    if (received !== IN_FLIGHT && received >= positions[targetCode]) add(channel, messages.receivedX[row], -1);
  }
  for (const list of changes.values()) list.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  return changes;
}

/** @param {number} start @param {[number, number][]} changes @param {Float64Array} edges */
function binned(start, changes, edges) {
  const row = new Float64Array(edges.length - 1);
  let depth = start;
  let next = 0;
  while (next < changes.length && changes[next][0] <= edges[0]) depth += changes[next++][1];
  for (let bin = 0; bin < row.length; bin += 1) {
    row[bin] = depth;
    const last = bin === row.length - 1;
    while (next < changes.length && (
      changes[next][0] < edges[bin + 1] || (last && changes[next][0] <= edges[bin + 1])
    )) {
      depth += changes[next++][1];
      row[bin] = Math.max(row[bin], depth);
    }
  }
  return row;
}
