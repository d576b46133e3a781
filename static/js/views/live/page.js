/** The page of running systems: what their commands tell arrives over a websocket. */

import { h, renderOnce, setText } from "../../lib/dom.js";
import { counted, thousands } from "../../lib/format.js";
import { latestWins, openSocket } from "../../lib/socket.js";

const LOST = "The connection is lost: the page shows what was true before.";
const SILENT = 6_000; // ms after which a system that said nothing is asked for again
const ASKED = 10_000; // ms in which what a system says is taken for the answer to a button
const NOT_KNOWN = "not known";
const NONE_REPORTED = "The system has reported none yet.";
const NOT_REPORTED = "Not known, because no command is connected. The workbench shows those that are judged.";
const systems = /** @type {HTMLElement} */ (document.getElementById("systems"));
const heard = new Map();
/** @type {Map<number, string[]>} */
const notes = new Map();
let askedAt = -Infinity;

/**
 * Returns the section of a system.
 * @param {number} id @returns {HTMLElement | null}
 */
const sectionOf = (id) => systems.querySelector(`[data-system="${id}"]`);

/** @param {number | null} amount */
const money = (amount) => (amount === null ? NOT_KNOWN : thousands(amount));

/** @param {Element} root @param {string} name */
const part = (root, name) => /** @type {HTMLElement} */ (root.querySelector(`[data-show="${name}"]`));

/**
 * Shows how a system is; the page is asked for again if it is a new one.
 * @param {LiveSystem} system @returns {void}
 */
function show(system) {
  const section = sectionOf(system.recording);
  if (!section) {
    refresh({});
    return;
  }
  heard.set(system.recording, performance.now());
  const facts = /** @type {HTMLElement} */ (section.querySelector(".live-facts"));
  setText(part(facts, "events"), thousands(system.events));
  setText(part(facts, "missing"), thousands(system.missing));
  setText(part(facts, "heard_at"), `${system.heard_at.slice(0, 19).replace("T", " ")} UTC`);
  setText(part(facts, "epoch"), system.epoch === null ? NOT_KNOWN : counted(system.epoch, "time"));
  setText(part(facts, "sum"), money(system.sum));
  setText(part(facts, "total"), money(system.total));
  setText(part(section, "connected"), connection(system));
  setText(part(section, "no-snapshots"), system.is_connected ? NONE_REPORTED : NOT_REPORTED);
  /** @type {NodeListOf<HTMLButtonElement>} */
  const buttons = section.querySelectorAll("form button");
  for (const button of buttons) button.disabled = !system.is_connected;
  for (const process of system.processes) showProcess(section, process);
  part(section, "no-snapshots").hidden = system.snapshots.length > 0;
  list(part(section, "snapshots"), system.snapshots, (snapshot) => snapshotRow(system.recording, snapshot));
  part(section, "no-notes").hidden = system.notes.length > 0;
  list(part(section, "notes"), system.notes, (/** @type {string} */ note) => h("li", {}, note));
  answer(system);
}

/**
 * Shows the newest note beside the button that was pressed, for the list of notes may be out of sight.
 * @param {LiveSystem} system
 */
function answer(system) {
  const before = notes.get(system.recording);
  notes.set(system.recording, system.notes);
  const isNew = before && system.notes.length && JSON.stringify(before) !== JSON.stringify(system.notes);
  if (!isNew || performance.now() - askedAt > ASKED) return;
  showBeside(h("p.note.toast", { "aria-hidden": "true" }, system.notes.at(-1)));
}

/** @param {HTMLElement} toast */
function showBeside(toast) {
  document.getElementById("toasts").replaceChildren(toast);
  setTimeout(() => toast.remove(), ASKED);
}

/** @param {LiveSystem} system */
function connection(system) {
  if (!system.is_connected)
    return (
      "No command is connected that takes snapshots, kills or restores. " +
      "Events of the processes are taken all the same."
    );
  return (
    "“In the processes now” adds up what each process said last. That is no snapshot: it was not read at one moment, " +
    "and what is in the channels is missing."
  );
}

/** @param {HTMLElement} section @param {LiveSystem["processes"][number]} process */
function showProcess(section, process) {
  const row = /** @type {HTMLElement | null} */ (
    section.querySelector(`[data-process="${CSS.escape(process.name)}"]`)
  );
  if (!row) return;
  const since = process.since === null ? "" : ` since ${clock(process.since)}`;
  setText(part(row, "state"), process.state + since);
  setText(part(row, "balance"), money(process.balance));
  setText(part(row, "events"), thousands(process.events));
  const kill = /** @type {HTMLButtonElement | null} */ (row.querySelector("[data-kill]"));
  if (kill && ["killed", "stopped"].includes(process.state)) kill.disabled = true;
}

/** @param {HTMLElement} element @param {any[]} items @param {(item: any) => any} row */
function list(element, items, row) {
  renderOnce(element, JSON.stringify(items), () => items.map(row));
}

/** @param {number} recording @param {LiveSystem["snapshots"][number]} snapshot */
function snapshotRow(recording, snapshot) {
  const whole = snapshot.channels === null
    ? `${thousands(snapshot.states)} in the processes; the channels were not recorded`
    : `${thousands(snapshot.states)} in the processes + ${thousands(snapshot.channels)} in the channels = ` +
      `${thousands(/** @type {number} */ (snapshot.sum))}`;
  const hasPage = snapshot.verdict !== null && snapshot.initiator !== null;
  const href = `/recordings/${recording}?snapshot=${encodeURIComponent(snapshot.name)}`;
  const name = h("strong", {}, snapshot.name);
  const by = snapshot.initiator === null ? "read by clocks" : `begun by ${snapshot.initiator}`;
  return h("li", { "data-snapshot": snapshot.name },
    h("p", {}, hasPage ? h("a", { href }, name) : name, ` ${by}, ${clock(snapshot.at)} `,
      badge(snapshot)),
    snapshot.problem && h("p.note", { "data-level": "error" }, snapshot.problem),
    h("p.num-text", {}, `${whole}.`),
    h("p.soft", {}, snapshot.sentence));
}

/**
 * Returns the word for a snapshot: no praise for one whose sum does not hold.
 * @param {LiveSystem["snapshots"][number]} snapshot
 */
function badge(snapshot) {
  if (snapshot.problem && (snapshot.verdict === null || snapshot.verdict === "consistent"))
    return h("span.verdict", { "data-verdict": "lost" }, "sum does not hold");
  return snapshot.verdict && h("span.verdict", { "data-verdict": snapshot.verdict }, snapshot.verdict);
}

/** @param {number} seconds since 1970 */
const clock = (seconds) => `${new Date(seconds * 1000).toISOString().slice(11, 19)} UTC`;

/** Asks for the page again: a system is new, has gone, or says nothing. */
const refresh = latestWins(async () => {
  const answer = await fetch(location.href).catch(() => null); // the line above says that the server is away
  if (!answer?.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("systems");
  if (!fresh) return;
  const before = /** @type {HTMLElement[]} */ ([...systems.querySelectorAll("[data-system]")]);
  if (numbersIn(fresh) === numbersIn(systems)) {
    showAll(fresh); // nothing is replaced, so that what has the focus keeps it
    return;
  }
  systems.replaceChildren(...fresh.childNodes);
  for (const section of before) sayGone(section);
  heard.clear();
  showAll(systems);
});

/** @param {HTMLElement} root */
function numbersIn(root) {
  return [...root.querySelectorAll("section")].map(({ dataset }) => dataset.system).join();
}

/**
 * Says where a system is now that is not on the page any more.
 * @param {HTMLElement} section
 */
function sayGone(section) {
  if (sectionOf(Number(section.dataset.system))) return;
  const link = /** @type {HTMLElement} */ (section.querySelector("h2 a"));
  systems.prepend(h("p.note", {}, link, " is not among these systems any more. Was its recording closed?"));
}

/**
 * Shows the systems that a page was sent with.
 * @param {HTMLElement} root
 */
function showAll(root) {
  const given = root.querySelectorAll("script[type='application/json']");
  for (const { textContent } of given) show(JSON.parse(String(textContent)));
}

/** @param {string} sentence */
function refuse(sentence) {
  showBeside(h("p.note.toast", { "data-level": "warning" }, sentence));
}

systems.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const fields = new FormData(form);
  const [action, process] = /** @type {any} */ (event).submitter.value.split(/:(.*)/s);
  const recording = /** @type {HTMLElement} */ (form.closest("[data-system]")).dataset.system;
  askedAt = performance.now();
  const answer = await fetch(`/api/recordings/${recording}/orders`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": String(fields.get("csrfmiddlewaretoken")) },
    body: JSON.stringify({ action, process: process ?? null }),
  }).catch(() => null);
  if (!answer) refuse("The server does not answer. Whether it took the request is not known.");
  else if (!answer.ok) refuse((await answer.json()).detail);
});

showAll(systems);
const state = /** @type {HTMLElement} */ (document.getElementById("connection"));
openSocket("/ws/live", {
  onMessage: (message) => message.type === "system" && show(message),
  onState: (name, sentence) => setText(state, name === "open" ? "" : name === "ended" ? sentence : LOST),
});
setInterval(() => {
  const now = performance.now();
  if ([...heard.values()].some((at) => now - at > SILENT)) refresh({});
}, SILENT / 2);
