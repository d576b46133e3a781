/** The page of recordings: files that are dropped anywhere on it, their jobs, and a list that stays current. */

import { h, setText } from "../../lib/dom.js";
import { isOpen, jobLine } from "../jobs/words.js";
import { dropped } from "../../lib/dropped.js";
import { grouped, overfull, postFile, sendAll, withFormat, withTeam } from "./upload-queue.js";
import { discardUnfinished, LEAST_BYTES, sendInPieces } from "./resumable.js";
import { mountUploadRows } from "./upload-rows.js";
import { refreshList, watchJobs } from "../jobs/watch.js";

const form = /** @type {any} */ (document.getElementById("upload"));
const list = document.getElementById("list");
const zone = form.querySelector(".drop-zone");
const csrf = form.elements.csrfmiddlewaretoken.value;
const rows = mountUploadRows(document.getElementById("uploads"), {
  cancelJob,
  /** @param {Upload} item */
  again: (item) => upload([item], { opens: false }),
  formats: [...form.elements.format.options].map(({ value, text }) => ({ value, text })),
});
const inOneRequest = postFile(form.dataset.api, csrf);
const inPieces = sendInPieces(form.dataset.pieces, csrf);
/** @type {number | null} */
let opensWhenDone = null; // id of a job

const jobs = watchJobs(onJob, () => [...new Set([...rows.jobs(), ...listedJobs()])]);

form.addEventListener("submit", async (/** @type {Event} */ event) => {
  event.preventDefault();
  const files = chosen();
  upload(asChosen(await grouped(files)));
  form.reset();
});
for (const name of ["file", "folder"]) form.elements[name].addEventListener("change", () => form.requestSubmit());

form.querySelector("[data-choose-folder]").addEventListener("click", () => form.elements.folder.click());

/** @param {Upload[]} files */
function asChosen(files) {
  const { format, team } = form.elements; // only people with teams have the choice of one
  return files.map((file) => withTeam(withFormat(file, format.value), team?.value));
}

function chosen() {
  const files = [...form.elements.file.files, ...form.elements.folder.files];
  return files.map((file) => ({ file, path: file.webkitRelativePath || file.name }));
}

form.classList.add("is-live");

/**
 * Uploads files. The recording of a single file opens when its job has ended; of several files, each has a link, and
 * so has a file that was uploaded before, since it may not be wanted twice.
 * @param {Upload[]} files @param {{ opens?: boolean }} options
 */
async function upload(files, { opens = files.length === 1 } = {}) {
  if (files.length === 0) return;
  opensWhenDone = null;
  const accepted = await sendAll(files, post, rows.on);
  if (accepted.length) {
    if (opens && !accepted[0].same_file?.length) opensWhenDone = accepted[0].job;
    refreshList();
    jobs.ask();
  }
}

/** @param {Upload} file @param {Report} report */
async function post(file, report) {
  return overfull(file) ?? (file.size < LEAST_BYTES ? inOneRequest : inPieces)(file, report);
}

document.getElementById("uploads").addEventListener("click", async ({ target }) => {
  const button = /** @type {HTMLButtonElement} */ (/** @type {Element} */ (target).closest("[data-discard]"));
  const row = /** @type {HTMLElement} */ (button?.closest("[data-unfinished]"));
  if (!row) return;
  button.disabled = true;
  const { status, body } = await discardUnfinished(`${form.dataset.pieces}/${row.dataset.unfinished}`, csrf);
  if (status === 410) return row.remove();
  button.disabled = false;
  if (status === 202) {
    button.remove();
    const link = h("a", { href: `/recordings/${body.id}` }, "open its recording");
    sayIn(row, h("p.small", { role: "alert" }, "The file was complete already: ", link));
    refreshList();
  } else sayIn(row, h("p.field-error", { role: "alert" }, body.detail));
});

/** @param {HTMLElement} row @param {HTMLElement} words */
function sayIn(row, words) {
  row.querySelector("[role=alert]")?.remove();
  row.lastElementChild.append(words);
}

/** @param {JobPayload} job */
function onJob(job) {
  rows.onJob(job);
  const cell = list.querySelector(`[data-job-words="${job.id}"]`);
  if (cell) setText(cell, jobLine(job));
  if (isOpen(job)) return;
  if (job.id === opensWhenDone && job.state !== "cancelled" && !job.error?.choices) {
    location.assign(`/recordings/${job.recording}`);
  } else refreshList();
}

function listedJobs() {
  return [...list.querySelectorAll("[data-job-words]")].map(({ dataset }) => Number(dataset.jobWords));
}

/** @param {number} id */
async function cancelJob(id) {
  await fetch(`/api/jobs/${id}/cancel`, { method: "POST", headers: { "X-CSRFToken": csrf } });
  jobs.ask();
}

/** @param {any} event */
const holdsFiles = (event) => event.dataTransfer?.types.includes("Files");
let depth = 0; // elements that the pointer has entered and not left

/** @param {number} change */
function drag(change) {
  depth = Math.max(0, depth + change);
  zone.classList.toggle("is-over", depth > 0);
}

document.addEventListener("dragenter", (event) => holdsFiles(event) && drag(1));
document.addEventListener("dragleave", (event) => holdsFiles(event) && drag(-1));
document.addEventListener("dragover", (event) => holdsFiles(event) && event.preventDefault());
document.addEventListener("drop", (event) => {
  if (!holdsFiles(event)) return;
  event.preventDefault();
  drag(-depth);
  dropped(event.dataTransfer).then(grouped).then((files) => upload(asChosen(files)));
});
