/** What is loaded of a snapshot: its outline, and the rows of processes and channels that were asked for. Pure. */

import { decode } from "../../lib/arrays.js";

/**
 * Adds to an answer which rows it has, and which channels hold messages.
 * @param {SnapshotDetail} answer
 * @param {{ processes: number[] | null, channels: number[] | null }} asked null for the first rows
 * @param {OpenTopology} topology @returns {SnapshotDetail}
 */
export function openDetail(answer, { processes, channels: named }, topology) {
  const answered = Object.keys(answer.channels).map((id) => topology.channelCode.get(id));
  const channels = new Set([...(named ?? []), ...answered]);
  const loaded = { processes: new Set(processes ?? topology.processes.keys()), channels };
  return { ...answer, loaded, filled: new Set(decode(answer.outline.channels)) };
}

/**
 * Returns a detail with the rows of two answers about the same snapshot.
 * @param {SnapshotDetail} detail @param {SnapshotDetail} more @returns {SnapshotDetail}
 */
export function withRowsOf(detail, more) {
  /** @param {"recorded" | "recomputed"} side */
  const joined = (side) => ({
    processes: { ...detail[side].processes, ...more[side].processes },
    channels: { ...detail[side].channels, ...more[side].channels },
  });
  return {
    ...detail,
    recorded: joined("recorded"),
    recomputed: joined("recomputed"),
    messages: { ...detail.messages, ...more.messages },
    recorded_messages: { ...detail.recorded_messages, ...more.recorded_messages },
    part: {
      ...detail.part,
      omitted: { ...detail.part.omitted, ...more.part.omitted },
      omitted_recorded: { ...detail.part.omitted_recorded, ...more.part.omitted_recorded },
    },
    loaded: {
      processes: new Set([...detail.loaded.processes, ...more.loaded.processes]),
      channels: new Set([...detail.loaded.channels, ...more.loaded.channels]),
    },
  };
}
