/** The list of jobs: rows follow their jobs, and a job that is new here brings the list up to date. */

import { setText } from "../../lib/dom.js";
import { isOpen, jobLine } from "./words.js";
import { watchJobs } from "./watch.js";

const list = document.getElementById("list");

watchJobs(show, () =>
  [...list.querySelectorAll("[data-job-row]")]
    .filter((row) => isOpen({ state: row.dataset.state }))
    .map((row) => Number(row.dataset.jobRow)),
);

function show(job) {
  const row = list.querySelector(`[data-job-row="${job.id}"]`);
  if (!row || (isOpen({ state: row.dataset.state }) && !isOpen(job))) {
    refresh();
    return;
  }
  const status = row.querySelector(".status");
  status.dataset.status = job.state;
  row.dataset.state = job.state;
  setText(status, job.state);
  setText(row.querySelector("[data-job-words]"), jobLine(job));
}

function refresh() {
  window.htmx.ajax("GET", location.pathname + location.search, { target: "#list", swap: "innerHTML" });
}
