/** The person's jobs as they change: over the websocket, and asked for where it may have missed one. */

import { showNote } from "../../lib/dom.js";
import { openSocket } from "../../lib/socket.js";
import { isNewer } from "./words.js";

const ASK_EVERY = 5000;

/**
 * Calls onJob(job) for every change. ids() gives the jobs that somebody waits for: they are asked
 * for whenever the socket opens, and every few seconds while it is closed.
 */
export function watchJobs(onJob, ids) {
  const shown = new Map();
  let isSocketOpen = false;

  function take(job) {
    if (!isNewer(job, shown.get(job.id))) return;
    shown.set(job.id, job);
    onJob(job);
  }

  async function ask() {
    for (const id of ids()) {
      const answer = await fetch(`/api/jobs/${id}`).catch(() => null);
      if (answer?.ok) take(await answer.json());
    }
  }

  openSocket("/ws/jobs", {
    onMessage: (message) => message.type === "job" && take(message),
    onState: (state, sentence) => {
      isSocketOpen = state === "open";
      if (isSocketOpen) ask();
      if (state === "ended") {
        clearInterval(asking);
        showNote(sentence);
      }
    },
  });
  const asking = setInterval(() => !isSocketOpen && ask(), ASK_EVERY);
  return { ask };
}
