/** The page of running systems: what their commands tell arrives over a websocket. */

import { h, renderOnce, setText, showNote } from "../../lib/dom.js";
import { counted, thousands } from "../../lib/format.js";
import { latestWins, openSocket } from "../../lib/socket.js";

const LOST = "The connection is lost: the page shows what was true before.";
const SILENT = 6_000; // ms after which a system that said nothing is asked for again
const NOT_KNOWN = "not known";
const NONE_REPORTED = "The system has reported none yet.";
const NOT_REPORTED = "Not known, because no command is connected. The workbench shows those that are judged.";
const systems = /** @type {HTMLElement} */ (document.getElementById("systems"));
const heard = new Map();

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
  list(part(section, "snapshots"), system.snapshots, snapshotRow);
  list(part(section, "notes"), system.notes, (/** @type {string} */ note) => h("li", {}, note));
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
}

/** @param {HTMLElement} element @param {any[]} items @param {(item: any) => any} row */
function list(element, items, row) {
  renderOnce(element, JSON.stringify(items), () => items.map(row));
}

/** @param {LiveSystem["snapshots"][number]} snapshot */
function snapshotRow(snapshot) {
  const whole = snapshot.channels === null
    ? `${thousands(snapshot.states)} in the processes; the channels were not recorded`
    : `${thousands(snapshot.states)} in the processes + ${thousands(snapshot.channels)} in the channels = ` +
      `${thousands(/** @type {number} */ (snapshot.sum))}`;
  const by = snapshot.initiator === null ? "read by clocks" : `begun by ${snapshot.initiator}`;
  return h("li", { "data-snapshot": snapshot.name },
    h("p", {}, h("strong", {}, snapshot.name), ` ${by}, ${clock(snapshot.at)} `,
      snapshot.verdict && h("span.verdict", { "data-verdict": snapshot.verdict }, snapshot.verdict)),
    h("p.num-text", {}, `${whole}.`),
    h("p.soft", {}, snapshot.sentence));
}

/** @param {number} seconds since 1970 */
const clock = (seconds) => `${new Date(seconds * 1000).toISOString().slice(11, 19)} UTC`;

/** Asks for the page again: a system is new, or has gone. */
const refresh = latestWins(async () => {
  const answer = await fetch(location.href);
  if (!answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.getElementById("systems");
  if (fresh) systems.replaceChildren(...fresh.childNodes);
  begin();
});

function begin() {
  heard.clear();
  const given = systems.querySelectorAll("script[type='application/json']");
  for (const { textContent } of given) show(JSON.parse(String(textContent)));
}

systems.addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = /** @type {HTMLFormElement} */ (event.target);
  const fields = new FormData(form);
  const [action, process] = /** @type {any} */ (event).submitter.value.split(/:(.*)/s);
  const recording = /** @type {HTMLElement} */ (form.closest("[data-system]")).dataset.system;
  const answer = await fetch(`/api/recordings/${recording}/orders`, {
    method: "POST",
    headers: { "Content-Type": "application/json", "X-CSRFToken": String(fields.get("csrfmiddlewaretoken")) },
    body: JSON.stringify({ action, process: process ?? null }),
  }).catch(() => null);
  if (!answer) showNote("The server does not answer. Nothing was asked for.");
  else if (!answer.ok) showNote((await answer.json()).detail);
});

begin();
const state = /** @type {HTMLElement} */ (document.getElementById("connection"));
openSocket("/ws/live", {
  onMessage: (message) => message.type === "system" && show(message),
  onState: (name, sentence) => setText(state, name === "open" ? "" : name === "ended" ? sentence : LOST),
});
setInterval(() => {
  const now = performance.now();
  if ([...heard.values()].some((at) => now - at > SILENT)) refresh({});
}, SILENT / 2);
