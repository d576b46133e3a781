/** The list of jobs. Rows follow their jobs; the list is loaded again when a job is new or has ended. */

import { setText } from "../../lib/dom.js";
import { isOpen, jobLine } from "./words.js";
import { refreshList, watchJobs } from "./watch.js";

const list = document.getElementById("list");

watchJobs(show, () =>
  [...list.querySelectorAll("[data-job-row]")]
    .filter((row) => isOpen({ state: row.dataset.state }))
    .map((row) => Number(row.dataset.jobRow)),
);

/** @param {JobPayload} job */
function show(job) {
  const row = list.querySelector(`[data-job-row="${job.id}"]`);
  if (!row || (isOpen({ state: row.dataset.state }) && !isOpen(job))) {
    refreshList();
    return;
  }
  const status = row.querySelector(".status");
  status.dataset.status = job.state;
  row.dataset.state = job.state;
  setText(status, job.state);
  setText(row.querySelector("[data-job-words]"), jobLine(job));
}
