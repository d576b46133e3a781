/** The progress of a job in words. Pure. */

import { duration, thousands, threeDigits } from "../../lib/format.js";

const OPEN = new Set(["queued", "running"]);

/** @param {{ state: string }} job */
export function isOpen(job) {
  return OPEN.has(job.state);
}

/**
 * Returns the texts of a job's card. None is empty, so that nothing moves when one is known.
 * @param {JobPayload} job
 */
export function jobWords(job) {
  return {
    phase: job.phase || job.state,
    progress: `${Math.round(job.progress * 100)} %`,
    done: job.total ? `${thousands(job.done)} of ${thousands(job.total)}` : thousands(job.done),
    rate: job.rate ? `${threeDigits(job.rate)} events/s` : "–",
    remaining: job.remaining === null || job.remaining === undefined ? "–" : duration(job.remaining, "s"),
  };
}

/**
 * Returns one line for a row of a list.
 * @param {JobPayload} job
 */
export function jobLine(job) {
  const { phase, progress } = jobWords(job);
  return job.state === "running" ? `${phase}, ${progress}` : progress;
}

/**
 * Returns whether a job is newer than what is shown of it, so that a late message changes nothing.
 * @param {JobPayload} job @param {JobPayload | undefined} shown
 */
export function isNewer(job, shown) {
  if (!shown) return true;
  if (isOpen(shown) !== isOpen(job)) return isOpen(shown);
  return job.progress >= shown.progress || job.state !== shown.state;
}
