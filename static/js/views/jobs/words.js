/** What a job says of itself, in words. Pure. */

import { duration, thousands, threeDigits } from "../../lib/format.js";

const OPEN = new Set(["queued", "running"]);

export function isOpen(job) {
  return OPEN.has(job.state);
}

/** job: as in the API. Every text is there from the start, so that nothing moves. */
export function jobWords(job) {
  return {
    phase: job.phase || job.state,
    progress: `${Math.round(job.progress * 100)} %`,
    done: job.total ? `${thousands(job.done)} of ${thousands(job.total)}` : thousands(job.done),
    rate: job.rate ? `${threeDigits(job.rate)} events/s` : "–",
    remaining: job.remaining === null || job.remaining === undefined ? "–" : duration(job.remaining, "s"),
  };
}

/** One line for a row of a list. */
export function jobLine(job) {
  const { phase, progress } = jobWords(job);
  return job.state === "running" ? `${phase}, ${progress}` : progress;
}

/** Whether the row that was shown may be replaced by this one: a late message never goes back. */
export function isNewer(job, shown) {
  if (!shown) return true;
  if (isOpen(shown) !== isOpen(job)) return isOpen(shown);
  return job.progress >= shown.progress || job.state !== shown.state;
}
