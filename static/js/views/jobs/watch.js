/** The user's jobs as they change: over the websocket, and by requests for what it may have missed. */

import { showNote } from "../../lib/dom.js";
import { openSocket } from "../../lib/socket.js";
import { isNewer } from "./words.js";

const ASK_EVERY = 5000; // ms

/**
 * Calls `onJob` for every change of a job. `ids` returns the jobs that somebody waits for: they are requested whenever
 * the socket opens, and every few seconds while it is closed.
 * @param {(job: JobPayload) => void} onJob @param {() => number[]} ids
 */
export function watchJobs(onJob, ids) {
  const shown = new Map();
  let isSocketOpen = false;

  /** @param {JobPayload} job */
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

/** Loads the list of the page again, after what is on its way: lib/listing.js then says what it is asked for. */
export function refreshList() {
  const loaded = window.htmx.ajax("GET", location.pathname, { source: "#list", target: "#list", swap: "innerHTML" });
  loaded.catch(() => {}); // a filter has replaced it, or the network failed: the next change loads it again
}
