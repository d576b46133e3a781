/** Derives what a document claims of a checkpoint from the times and sizes of its tasks. Pure. */

import { between } from "./instants.js";

export const SUMMED = /** @type {const} */ ([
  "duration", "start_delay", "alignment", "sync", "async", "bytes", "uploaded", "in_flight",
]);
const [FAILED, IN_PROGRESS] = ["failed", "in progress"];

/**
 * Returns what the data of a checkpoint say, in the fields of its claim. How many tasks acknowledged is null if a task
 * is not listed, or if it is not known of one.
 * @param {CheckpointData} data @param {string[]} named the tasks of which the claim says each time
 */
export function checkpointSays(data, named = []) {
  const { status, subtasks, tasks, path } = data;
  const inTime = tasks.map((task) => isInTime(task, data));
  const isComplete = subtasks === tasks.length && !inTime.includes(null);
  const behind = tasks.filter((_, i) => inTime[i] === false).map(({ name }) => name);
  const late = tasks.filter(({ acknowledged }, i) => acknowledged && inTime[i] === false).map(({ name }) => name);
  const hasEnded = status !== IN_PROGRESS;
  const says = {
    status,
    tasks: subtasks,
    listed: tasks.map(({ name }) => name),
    acknowledged_in_time: isComplete ? inTime.filter(Boolean).length : null,
    stated_acknowledged: data.stated_acknowledged ?? null,
    not_in_time: hasEnded ? behind : [],
    too_late: hasEnded ? late : [],
    last_known: hasEnded && !behind.length ? latest(tasks) : [],
    without_barriers: tasks.filter((task) => !task.takes_barriers).map(({ name }) => name),
    together: Object.fromEntries(SUMMED.map((name) => [name, sumKnown(tasks.map((task) => task[name]))])),
    of_tasks: Object.fromEntries(named.map((name) => [name, timesOf(tasks.find((task) => task.name === name))])),
    duration: durationOf(data),
    time_unit: data.time_unit,
  };
  if (!path) return says;
  return { ...says, held_up: heldUp(path), by_phase: byPhase(path), longest: longestOf(path), gaps: gapsOf(path) };
}

/** @param {CheckpointTask | undefined} task */
function timesOf(task) {
  if (!task) return null;
  const { acknowledged, duration, start_delay, alignment, sync, async } = task;
  return { acknowledged, duration, start_delay, alignment, sync, async };
}

/**
 * Returns the time from the trigger to the end; what the engine stated if it did not say when the checkpoint ended.
 * @param {CheckpointData} data @returns {number | null}
 */
function durationOf({ triggered_at: from, ended_at: to, stated_duration: stated }) {
  return from === null || to === null ? stated ?? null : between(from, to);
}

/**
 * Tells whether a task acknowledged before the checkpoint failed; null if that is not known.
 * @param {CheckpointTask} task @param {CheckpointData} data @returns {boolean | null}
 */
function isInTime({ acknowledged, duration }, data) {
  if (acknowledged === false || data.status !== FAILED) return acknowledged;
  const end = durationOf(data);
  return end === null || duration === null ? null : duration <= end;
}

/**
 * Returns the sum of the known numbers, and how many of how many are known.
 * @param {(number | null)[]} numbers
 */
function sumKnown(numbers) {
  const known = numbers.filter((number) => number !== null);
  const sum = known.length ? known.reduce((total, number) => total + number, 0) : null;
  return { sum, known: known.length, of: numbers.length };
}

/**
 * Returns the tasks with the latest acknowledgement among those of which it is known.
 * @param {CheckpointTask[]} tasks
 */
function latest(tasks) {
  const known = tasks.filter(({ duration }) => duration !== null);
  const longest = known.reduce((most, { duration }) => Math.max(most, duration), -Infinity);
  return known.filter(({ duration }) => duration === longest).map(({ name }) => name);
}

/**
 * Returns how long the checkpoint waited for each task on the critical path. A commit comes after its end.
 * @param {PathSegment[]} path
 */
function heldUp(path) {
  return waitedBy(path, ({ process }) => process);
}

/**
 * Returns how long the checkpoint waited in each phase of its critical path.
 * @param {PathSegment[]} path
 */
function byPhase(path) {
  return waitedBy(path, ({ phase }) => phase);
}

/** @param {PathSegment[]} path @param {(segment: PathSegment) => string} key */
function waitedBy(path, key) {
  /** @type {Record<string, number>} */
  const waited = {};
  for (const segment of waitsOf(path)) waited[key(segment)] = (waited[key(segment)] ?? 0) + lengthOf(segment);
  return waited;
}

/**
 * Returns who held up the checkpoint longest in one phase; the first of several.
 * @param {PathSegment[]} path
 */
function longestOf(path) {
  const [first, ...rest] = waitsOf(path);
  if (!first) return null;
  const segment = rest.reduce((most, each) => (lengthOf(each) > lengthOf(most) ? each : most), first);
  return { process: segment.process, phase: segment.phase, length: lengthOf(segment) };
}

/** @param {PathSegment[]} path */
function waitsOf(path) {
  return path.filter(({ phase }) => phase !== "commit");
}

/** @param {PathSegment} segment */
function lengthOf({ from, to }) {
  return to === null ? 0 : between(from, to);
}

/**
 * Counts the segments that do not begin where the one before ends.
 * @param {PathSegment[]} path
 */
function gapsOf(path) {
  return path.filter(({ from }, i) => i > 0 && String(path[i - 1].to) !== String(from)).length;
}
