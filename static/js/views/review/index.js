/** The page of a review: what others change arrives at once, and rows are moved by pointer and keys. */

import { setText } from "../../lib/dom.js";
import { openSocket } from "../../lib/socket.js";
import { sendJson } from "../../lib/source.js";
import { dragRows } from "./drag.js";
import { partsOf, placeOf, rowChange, spokenPlace, step } from "./order.js";
import { createParts } from "./parts.js";

const GATHER = 80; // ms in which changes are gathered

const root = document.getElementById("review");
const address = `/api/reviews/${root.dataset.review}`;
const parts = createParts(root);
const [spoken, state] = ["review-spoken", "review-state"].map((id) => document.getElementById(id));
/** @type {{ part: string, row: number | null, group?: number | null, next?: number | null }[]} */
let waiting = [];
let wasOpen = false;

const socket = openSocket(`/ws/reviews/${root.dataset.review}`, {
  onMessage: (message) => message.type === "review" && gather(message),
  onState(name, sentence) {
    if (name === "open" && wasOpen) for (const part of ["head", "timeline", "log"]) gather({ part, row: null });
    wasOpen ||= name === "open";
    const lost = "The connection is lost: what others change is shown when it is back.";
    warn(name === "open" ? "" : name === "ended" ? sentence : wasOpen ? lost : "");
  },
});

/** @param {{ part: string, row: number | null }} change */
function gather(change) {
  if (!waiting.length) setTimeout(refresh, GATHER);
  waiting.push(change);
}

async function refresh() {
  const changes = waiting;
  waiting = [];
  const { parts: names, rows } = partsOf(changes);
  try {
    for (const name of names) await parts.load(name);
    for (const row of rows) await showRow(changes.findLast((change) => change.row === row));
  } catch {
    warn("The changes of others could not be loaded. Load the page again.");
  }
}

/**
 * Shows a row as it is now, where it lies now.
 * @param {{ row?: number, group?: number | null, next?: number | null }} change
 */
async function showRow({ row, group, next }) {
  const shown = await parts.loadRow(String(row), {});
  const list = root.querySelector(`.review-rows[data-group="${group ?? ""}"]`);
  const before = next === null ? null : document.getElementById(`row-${next}`);
  if (!shown || !list || (next !== null && before?.parentElement !== list)) return parts.load("timeline");
  if (shown.parentElement !== list || shown.nextElementSibling !== before) list.insertBefore(shown, before);
  return undefined;
}

/** @param {string} sentence */
function warn(sentence) {
  setText(state, sentence);
  state.hidden = !sentence;
}

/**
 * Sends a change. The websocket says what to show; without it, the timeline is loaded again.
 * @param {string} method @param {string} path @param {object} [body]
 */
async function send(method, path, body = {}) {
  const token = /** @type {HTMLInputElement} */ (root.querySelector("[name=csrfmiddlewaretoken]")).value;
  const answer = await sendJson(method, `${address}${path}`, body, token);
  if (!socket.isOpen()) gather({ part: "timeline", row: null });
  return answer;
}

/** @param {Promise<unknown>} work */
function attempt(work) {
  return work.then(
    () => warn(""),
    async (error) => {
      warn(error.message);
      await parts.load("timeline");
    },
  );
}

/** @param {HTMLElement} row */
function moved(row) {
  setText(spoken, spokenPlace(row));
  return attempt(send("PATCH", `/timeline/${row.dataset.row}`, placeOf(row)));
}

/** @param {HTMLElement} row @param {"up" | "down"} direction @param {HTMLElement} focused */
function moveByKey(row, direction, focused) {
  if (!step(row, direction)) {
    setText(spoken, direction === "up" ? "This is the first row." : "This is the last row.");
    return;
  }
  focused.focus({ preventScroll: true });
  row.scrollIntoView({ block: "nearest" });
  moved(row);
}

/** @type {Record<string, (row: string, button: HTMLElement) => unknown>} */
const ACTIONS = {
  up: (_, button) => moveByKey(button.closest("[data-row]"), "up", button),
  down: (_, button) => moveByKey(button.closest("[data-row]"), "down", button),
  hide: (row) => attempt(send("PATCH", `/timeline/${row}`, { is_hidden: true })),
  show: (row) => attempt(send("PATCH", `/timeline/${row}`, { is_hidden: false })),
  add: (entry) => attempt(send("POST", "/timeline", { entry: Number(entry) })),
  "add-all": () => attempt(send("POST", "/timeline/all")),
  remove(row, button) {
    const isOwn = button.closest("[data-row]").hasAttribute("data-own");
    if (!isOwn || confirm("Remove these words for everybody?")) attempt(send("DELETE", `/timeline/${row}`));
  },
};

root.addEventListener("click", async (event) => {
  const target = /** @type {Element} */ (event.target);
  const button = /** @type {HTMLButtonElement} */ (target.closest("button[form=act]"));
  const [name, number] = button?.value.split(" ") ?? [];
  const row = /** @type {HTMLElement} */ (target.closest("[data-row]"));
  if (name in ACTIONS) ACTIONS[name](number, button);
  else if (target.closest("[data-edit]")) edit(row.dataset.row);
  else if (target.closest("[data-cancel]")) close(row.dataset.row);
  else return;
  event.preventDefault();
});

/** @param {string} number */
async function edit(number) {
  const row = await parts.loadRow(number, { edit: true });
  row?.querySelector("textarea").focus();
}

/** @param {string} number */
async function close(number) {
  const row = await parts.loadRow(number, { force: true });
  row?.focus();
}

root.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  const row = /** @type {HTMLElement} */ (target.closest("[data-row]"));
  if (event.key === "Escape" && target.closest("[data-row-form]")) return void close(row.dataset.row);
  const direction = { ArrowUp: "up", ArrowDown: "down" }[event.key];
  if (!row || !event.altKey || !direction || target.closest("form") || !row.hasAttribute("tabindex")) return;
  event.preventDefault();
  moveByKey(row, /** @type {"up" | "down"} */ (direction), target);
});

root.addEventListener("submit", async (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.dataset.rowForm) {
    event.preventDefault();
    await saveRow(form);
  } else if (form.matches(".review-words")) {
    event.preventDefault();
    await addWords(form, /** @type {any} */ (event).submitter?.value);
  }
});

/** @param {HTMLFormElement} form */
async function saveRow(form) {
  const row = /** @type {HTMLElement} */ (form.closest("[data-row]"));
  const problem = /** @type {HTMLElement} */ (form.querySelector("[data-problem]"));
  try {
    await send("PATCH", `/timeline/${form.dataset.rowForm}`, rowChange(fieldsOf(form), row.dataset.group));
    await close(form.dataset.rowForm);
  } catch (error) {
    setText(problem, error.message);
    problem.hidden = false;
    showNewer(form, error.problem ?? {});
  }
}

/**
 * Shows what was saved since the form was opened. Saving again then replaces that, and nothing newer.
 * @param {HTMLFormElement} form @param {{ newer?: Record<string, unknown>, revision?: number }} problem
 */
function showNewer(form, { newer, revision }) {
  if (!newer) return;
  /** @type {HTMLInputElement} */ (form.querySelector("[name=revision]")).value = String(revision);
  for (const place of /** @type {NodeListOf<HTMLElement>} */ (form.querySelectorAll("[data-newer]"))) {
    const name = place.dataset.newer;
    place.hidden = !(name in newer);
    setText(place.querySelector(".newer-text"), String(newer[name] || "nothing"));
  }
}

/** @param {HTMLFormElement} form @param {string} action */
async function addWords(form, action) {
  const { text, clock } = fieldsOf(form);
  try {
    await send("POST", "/timeline", { text, clock: clock || null, is_group: action === "group" });
    form.reset();
    warn("");
  } catch (error) {
    warn(error.message);
  }
}

/** @param {HTMLFormElement} form @returns {any} */
function fieldsOf(form) {
  return Object.fromEntries(new FormData(form));
}

dragRows(root, moved);
root.classList.add("is-live");
