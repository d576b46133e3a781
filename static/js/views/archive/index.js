/** The page of a job in the archive. It draws the job's trends, again after each filter; zooming sets the filter. */

import { setText } from "../../lib/dom.js";
import "../../lib/listing.js";
import { drawServed } from "../../lib/served-figures.js";
import { followJob } from "./live.js";

const draw = () => drawServed({ trends });

/**
 * A click opens a checkpoint. A range of time becomes the filter, for which the server answers again; a range of
 * numbers is only shown larger.
 * @param {any} plot @param {Figure} figure
 */
function trends(plot, { layout }) {
  plot.on("plotly_click", (/** @type {any} */ { points: [point] }) => {
    const place = point?.customdata?.slice(0, 2).join("/");
    if (place) window.location.assign(`${location.pathname}/checkpoints/${place}`);
  });
  if (layout.xaxis.type !== "date") return;
  plot.on("plotly_relayout", (/** @type {Record<string, string>} */ change) => {
    const [from, to] = [change["xaxis.range[0]"], change["xaxis.range[1]"]];
    if (from !== undefined && to !== undefined) filterTime([from, to].map(formTime));
  });
  plot.on("plotly_doubleclick", () => filterTime(["", ""]));
}

/**
 * Writes an instant of Plotly, in UTC, as the value of a datetime-local input; there is none before 1970.
 * @param {string | number} instant
 */
function formTime(instant) {
  const at = typeof instant === "number" ? instant : Date.parse(`${instant.replace(" ", "T")}Z`);
  return new Date(Math.max(0, at)).toISOString().slice(0, 23);
}

/**
 * Sends the filter's form with a range.
 * @param {string[]} range from and to; empty without one
 */
function filterTime([from, to]) {
  const form = /** @type {any} */ (document.getElementById("archive-filter"));
  if (form.elements.from.value === from && form.elements.to.value === to) return;
  form.elements.from.value = from;
  form.elements.to.value = to;
  form.requestSubmit();
}

/**
 * Shows the job as it is now. Screen readers are told of the newest checkpoint only, not of all that is swapped.
 * @param {ArchiveNews} news
 */
async function refresh({ state }) {
  const body = document.getElementById("archive-body");
  if (!body) return location.reload(); // the first checkpoint has come
  const before = body.firstElementChild;
  const label = document.getElementById("job-state");
  if (label && state) setText(label, state);
  const link = body.contains(document.activeElement) && document.activeElement.getAttribute("href");
  body.setAttribute("aria-live", "off");
  await window.htmx.ajax("GET", location.pathname + location.search, { target: body, swap: "innerHTML" });
  if (link) /** @type {HTMLElement} */ (body.querySelector(`a[href="${CSS.escape(link)}"]`))?.focus();
  setTimeout(() => body.setAttribute("aria-live", "polite"));
  return !before?.isConnected;
}

/** Shows again when the job was last reported, and whether it is stalled. */
async function report() {
  const body = document.getElementById("archive-body");
  if (!body) return;
  body.setAttribute("aria-live", "off");
  const headers = { "HX-Request": "true" };
  const answer = await fetch(location.pathname + location.search, { headers }).catch(() => null);
  const parsed = answer?.ok ? new DOMParser().parseFromString(await answer.text(), "text/html") : null;
  const fresh = parsed?.getElementById("archive-reported");
  if (fresh) document.getElementById("archive-reported")?.replaceWith(fresh);
  setTimeout(() => body.setAttribute("aria-live", "polite"));
}

draw();
followJob({ show: refresh, report });
document.body.addEventListener("htmx:afterSwap", ({ detail }) => {
  if (detail.target?.id === "archive-body") draw();
});
document.body.addEventListener("htmx:historyRestore", draw);
