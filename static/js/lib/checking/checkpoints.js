/** Derives what a document claims of a checkpoint from the times and sizes of its tasks. Pure. */

export const SUMMED = /** @type {const} */ ([
  "duration", "start_delay", "alignment", "sync", "async", "bytes", "uploaded", "in_flight",
]);
const [FAILED, IN_PROGRESS] = ["failed", "in progress"];

/**
 * Returns what the data of a checkpoint say, in the fields of its claim.
 * @param {CheckpointData} data
 */
export function checkpointSays(data) {
  const { tasks, path } = data;
  const says = {
    duration: durationOf(data),
    tasks: tasks.length,
    acknowledged: tasks.filter(({ acknowledged }) => acknowledged).length,
    together: Object.fromEntries(SUMMED.map((name) => [name, sumKnown(tasks.map((task) => task[name]))])),
    waited_for: waitedFor(data),
  };
  return path ? { ...says, held_up: heldUp(path), gaps: gapsOf(path) } : says;
}

/**
 * Returns the time from the trigger to the end; what the engine stated if it did not say when the checkpoint ended.
 * @param {CheckpointData} data @returns {number | null}
 */
function durationOf({ triggered_at: from, ended_at: to, stated_duration: stated }) {
  return from === null || to === null ? stated ?? null : to - from;
}

/** @param {(number | null)[]} numbers @returns {number | null} */
function sumKnown(numbers) {
  const known = numbers.filter((number) => number !== null);
  return known.length ? known.reduce((sum, number) => sum + number, 0) : null;
}

/**
 * Returns the tasks for which the checkpoint waited, by the rule of snapshots/domain/archive/absence.py: who never
 * acknowledged, else who was the latest after it had failed, else who acknowledged last.
 * @param {CheckpointData} data @returns {string[]}
 */
function waitedFor(data) {
  const { status, tasks } = data;
  if (status === IN_PROGRESS) return [];
  if (status === FAILED) {
    const never = tasks.filter(({ acknowledged }) => acknowledged === false);
    if (never.length) return never.map(({ name }) => name);
    const end = durationOf(data);
    const late = tasks.filter(({ duration }) => end !== null && duration !== null && duration > end);
    if (late.length) return last(late);
  }
  return last(tasks.filter(({ duration }) => duration !== null));
}

/** @param {CheckpointTask[]} tasks */
function last(tasks) {
  const longest = tasks.reduce((most, { duration }) => Math.max(most, duration), -Infinity);
  return tasks.filter(({ duration }) => duration === longest).map(({ name }) => name);
}

/**
 * Returns how long the checkpoint waited for each task on the critical path. A commit comes after its end.
 * @param {PathSegment[]} path
 */
function heldUp(path) {
  /** @type {Record<string, number>} */
  const shares = {};
  for (const { process, phase, from, to } of path) {
    if (phase !== "commit") shares[process] = (shares[process] ?? 0) + (to === null ? 0 : to - from);
  }
  return shares;
}

/**
 * Counts the segments that do not begin where the one before ends.
 * @param {PathSegment[]} path
 */
function gapsOf(path) {
  return path.filter(({ from }, i) => i > 0 && path[i - 1].to !== from).length;
}
