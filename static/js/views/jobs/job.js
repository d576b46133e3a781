/** A page with cards of jobs. They follow their jobs, and the page goes on to the result when one has ended. */

import { showJob } from "./card.js";
import { isOpen } from "./words.js";
import { watchJobs } from "./watch.js";

/** @type {NodeListOf<HTMLElement>} */
const elements = document.querySelectorAll(".job-card[data-job]");
const cards = new Map([...elements].map((card) => [Number(card.dataset.job), card]));
const waiting = [...cards].filter(([, card]) => isOpen({ state: card.dataset.state })).map(([id]) => id);

if (waiting.length) {
  watchJobs(
    (job) => {
      const card = cards.get(job.id);
      if (!card) return;
      const wasOpen = isOpen({ state: card.dataset.state });
      showJob(card, job);
      if (wasOpen && !isOpen(job) && card.dataset.then) open(card.dataset.then);
    },
    () => waiting.filter((id) => isOpen({ state: cards.get(id).dataset.state })),
  );
}

/**
 * Opens the page of the result, which may be this page again.
 * @param {string} address
 */
function open(address) {
  const here = location.pathname + location.search;
  if (address === here) location.reload();
  else location.assign(address);
}
