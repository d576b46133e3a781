/** A task's course through its flow chart: arrow keys go to the event before and the next one. */

import { listen } from "../../lib/keys.js";
import { drawServed } from "../../lib/served-figures.js";

drawServed();
document.addEventListener("htmx:afterSettle", () => drawServed());
listen([
  { title: "The event before", keys: ["arrowleft"], run: () => follow("prev") },
  { title: "The next event", keys: ["arrowright"], run: () => follow("next") },
]);

/** @param {string} rel */
function follow(rel) {
  /** @type {HTMLElement | null} */ (document.querySelector(`#course a[rel=${rel}]`))?.click();
}
