/** A card that shows the progress of one job. templates/snapshots/jobs/card.html is its first state. */

import { h, setText } from "../../lib/dom.js";
import { create } from "../../lib/svg.js";
import { isOpen, jobWords } from "./words.js";

/**
 * Shows a job on a card of the page.
 * @param {HTMLElement} card @param {JobPayload} job
 */
export function showJob(card, job) {
  /** @type {Record<string, string>} */
  const words = jobWords(job);
  /** @param {string} name @returns {any} */
  const part = (name) => card.querySelector(`[data-job-${name}]`);
  for (const name of ["phase", "progress", "done", "rate", "remaining"]) {
    if (part(name)) setText(part(name), words[name]);
  }
  const state = part("state");
  state.dataset.status = job.state;
  setText(state, job.state);
  card.dataset.state = job.state;
  const bar = part("bar");
  bar.setAttribute("aria-valuenow", String(Math.round(job.progress * 100)));
  bar.firstElementChild.setAttribute("width", `${100 * job.progress}%`);
  const cancel = part("cancel");
  cancel.hidden = !isOpen(job);
  const button = cancel.querySelector("button");
  button.disabled = job.cancel_requested;
  setText(button, job.cancel_requested ? "Stopping" : "Cancel");
}

/**
 * Makes a card for a job that is newer than the page. `onCancel` is called when it shall stop.
 * @param {JobPayload} job @param {() => void} onCancel
 */
export function makeCard(job, onCancel) {
  /** @param {string} title @param {string} name */
  const number = (title, name) => h("div", {}, h("dt", {}, title), h("dd", { [`data-job-${name}`]: true }));
  const card = h("div.job-card", { "data-job": job.id, "data-state": job.state },
    h("div.row", {}, h("span.soft", { "data-job-phase": true }), h("span.status", { "data-job-state": true })),
    h(
      "div.progress",
      {
        role: "progressbar",
        "aria-label": "Progress",
        "aria-valuemin": "0",
        "aria-valuemax": "100",
        "data-job-bar": true,
      },
      create("svg"),
    ),
    h(
      "dl.job-numbers",
      {},
      number("Progress", "progress"),
      number("Events so far", "done"),
      number("Rate", "rate"),
      number("Remaining", "remaining"),
    ),
    h(
      "form",
      {
        "data-job-cancel": true,
        onsubmit(/** @type {Event} */ event) {
          event.preventDefault();
          onCancel();
        },
      },
      h("button.btn", {}, "Cancel"),
    ),
  );
  showJob(card, job);
  return card;
}
