/** Derives each claim of a document from its evidence again, and says what differs. Pure. */

import { channelsAt, statesAt } from "../cuts.js";
import { counted } from "../format.js";
import { IN_FLIGHT } from "../window.js";
import { checkpointSays } from "./checkpoints.js";
import { judge } from "./judging.js";
import { instantAfter, requireExact, TooLarge } from "./instants.js";
import { contradictions, openLog } from "./log.js";
import { subjectOf } from "./subjects.js";

export const HOLDS = "holds";
const DIFFERS = "differs";
export const NOT_CHECKED = "not checked here";
const MOST_DIFFERENCES = 20;
const NEAR = 1e-9; // sums of fractions depend on their order

/** @type {Record<string, (log: CheckedLog, says: any) => Record<string, unknown>>} */
const DERIVATIONS = {
  log: logSays,
  snapshot: (log, says) => judge(log, says.snapshot),
  cut: cutSays,
  event: eventSays,
  message: messageSays,
};

/**
 * Returns what became of each claim, in their order.
 * @param {Claim[]} claims @param {Record<string, Evidence>} logs the evidence by the key that claims name
 * @param {Record<string, CheckpointData>} checkpoints
 * @returns {Checked[]}
 */
export function checkClaims(claims, logs, checkpoints) {
  /** @type {Map<string, CheckedLog>} */
  const opened = new Map();
  const openOnce = (/** @type {string} */ key) => {
    if (!opened.has(key)) opened.set(key, openLog(logs[key]));
    return opened.get(key);
  };
  return claims.map((claim) => checkClaim(claim, openOnce, checkpoints));
}

/**
 * @param {Claim} claim @param {(key: string) => CheckedLog} openOnce
 * @param {Record<string, CheckpointData>} checkpoints @returns {Checked}
 */
function checkClaim(claim, openOnce, checkpoints) {
  if (claim.why_not) return { outcome: NOT_CHECKED, differences: [claim.why_not] };
  try {
    const derived = claim.kind === "checkpoint"
      ? checkpointSays(checkpoints[claim.evidence], Object.keys(claim.says.of_tasks ?? {}))
      : derivedFrom(openOnce(claim.evidence), claim);
    requireExact([claim.says, derived]);
    const differences = [...differencesOf(claim.says, derived), ...contradictionsFor(claim, openOnce)];
    return { outcome: differences.length ? DIFFERS : HOLDS, differences: shortened(differences) };
  } catch (error) {
    if (error instanceof TooLarge) return { outcome: NOT_CHECKED, differences: [error.message] };
    return { outcome: DIFFERS, differences: [`The data cannot be read: ${error.message}`] };
  }
}

/**
 * Returns what became of all claims together. Nothing holds where nothing was derived.
 * @param {Checked[]} results
 */
export function summaryOf(results) {
  const count = (/** @type {string} */ wanted) => results.filter(({ outcome }) => outcome === wanted).length;
  const [held, wrong, open] = [HOLDS, DIFFERS, NOT_CHECKED].map(count);
  if (!results.length) {
    return { outcome: NOT_CHECKED, sentence: "Nothing here was checked: the document makes no claim." };
  }
  if (!held && !wrong) {
    return { outcome: NOT_CHECKED, sentence: `Nothing here was checked: ${counted(open, "claim")} not checked here.` };
  }
  const sentence = `${counted(results.length, "claim")}: ${held} derived again from the data below and ${
    held === 1 ? "holds" : "hold"}, ${wrong} ${wrong === 1 ? "differs" : "differ"}, ${open} not checked here.`;
  return { outcome: wrong ? DIFFERS : HOLDS, sentence };
}

/** @param {CheckedLog} log @param {Claim} claim */
function derivedFrom(log, claim) {
  return DERIVATIONS[claim.kind](log, subjectOf(claim, log));
}

/** @param {Claim} claim @param {(key: string) => CheckedLog} openOnce @returns {string[]} */
function contradictionsFor(claim, openOnce) {
  return claim.kind === "log" ? contradictions(openOnce(claim.evidence)) : [];
}

/** @param {string[]} differences */
function shortened(differences) {
  const hidden = differences.length - MOST_DIFFERENCES;
  return hidden > 0 ? [...differences.slice(0, MOST_DIFFERENCES), `And ${hidden} more differences.`] : differences;
}

/** @param {CheckedLog} log */
function logSays({ evidence, origin, messages, markers }) {
  const times = evidence.events.flat().map(({ at }) => at);
  const flights = messages.flat();
  const { derived } = evidence;
  const isTimed = times.length > 0 && !derived;
  return {
    name: evidence.name,
    time_unit: evidence.time_unit,
    events: times.length,
    kinds: countsOf(evidence.events.flat().map(({ kind }) => kind)),
    messages: flights.length,
    arrived: derived ? null : flights.filter(hasArrived).length,
    markers: markers.flat().length,
    strays: evidence.strays.length,
    first: isTimed ? instantAfter(origin, times.reduce((a, b) => Math.min(a, b))) : null,
    last: isTimed ? instantAfter(origin, times.reduce((a, b) => Math.max(a, b))) : null,
  };
}

/** @param {string[]} words @returns {Record<string, number>} */
function countsOf(words) {
  /** @type {Record<string, number>} */
  const counts = {};
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1;
  return counts;
}

/** @param {CheckedLog} log @param {{ positions: Record<string, number> }} says */
function cutSays(log, { positions }) {
  const { evidence, topology, window } = log;
  const cut = evidence.processes.map(({ id }) => positions[id] ?? 0);
  const { contents, orphans } = channelsAt(window, cut);
  const { states, known } = statesAt(window, cut);
  const flights = log.messages.flat();
  const isStrayInside = (/** @type {{ process: string, index: number }} */ { process, index }) => {
    const code = topology.processCode.get(process);
    return index < cut[code] && evidence.events[code]?.[index]?.kind === "receive";
  };
  const strays = evidence.strays.filter(isStrayInside).length;
  const isKnown = !strays && !evidence.derived;
  const held = [...contents].sort(([a], [b]) => a - b);
  const each = (/** @type {(flight: Flight) => unknown} */ read) =>
    Object.fromEntries(held.map(([code, rows]) => [topology.channels[code].id, rows.map((row) => read(flights[row]))]));
  const knownStates = evidence.processes.map(({ id }, p) => [id, states[p]]).filter((_, p) => known[p]);
  return {
    positions: Object.fromEntries(evidence.processes.map(({ id }, p) => [id, cut[p]])),
    consistent: orphans.length ? false : (isKnown || null),
    orphans: orphans.length,
    strays,
    in_flight: each(({ id }) => id),
    values: each(({ value }) => value ?? null),
    states: Object.fromEntries(knownStates),
  };
}

/** @param {CheckedLog} log @param {{ process: string, index: number }} says */
function eventSays({ evidence, origin, topology }, { process, index }) {
  const event = evidence.events[topology.processCode.get(process)]?.[index];
  if (!event) return { process };
  const { kind, at, channel, message, snapshot, value, state, label } = event;
  const time = evidence.derived ? undefined : instantAfter(origin, at);
  return { process, index, kind, at: time, channel, message, snapshot, value, state, label };
}

/** @param {Flight} flight */
function hasArrived({ received, takenBack }) {
  return received !== IN_FLIGHT && !takenBack;
}

/** @param {CheckedLog} log @param {{ channel: string, message: string }} says */
function messageSays({ origin, topology, messages }, { channel, message }) {
  const own = (messages[topology.channelCode.get(channel)] ?? []).filter(({ id }) => id === message);
  const ways = own.map((flight) => ({
    sent: flight.sent,
    sent_at: instantAfter(origin, flight.sentAt),
    received: hasArrived(flight) ? flight.received : null,
    received_at: hasArrived(flight) ? instantAfter(origin, flight.receivedAt) : null,
    arrived: hasArrived(flight),
    value: flight.value ?? null,
  }));
  return { channel, message, ways };
}

/**
 * Returns in sentences where a claim and what was derived differ.
 * @param {any} said @param {any} derived @param {string} [where] @returns {string[]}
 */
export function differencesOf(said, derived, where = "") {
  if (isSame(said, derived)) return [];
  if (isObject(said) && isObject(derived)) {
    const keys = [...new Set([...Object.keys(said), ...Object.keys(derived)])];
    return keys.flatMap((key) => differencesOf(said[key], derived[key], where ? `${where}, ${key}` : key));
  }
  return [`${where}: claimed ${worded(said)}, derived ${worded(derived)}.`];
}

/** @param {any} said @param {any} derived */
function isSame(said, derived) {
  if (typeof said === "number" && typeof derived === "number") {
    if (Number.isSafeInteger(said) && Number.isSafeInteger(derived)) return said === derived;
    return Math.abs(said - derived) <= NEAR * Math.max(Math.abs(said), Math.abs(derived));
  }
  if (said === derived) return true;
  return Array.isArray(said) && Array.isArray(derived) && JSON.stringify(said) === JSON.stringify(derived);
}

/** @param {any} value */
function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** @param {any} value */
function worded(value) {
  return value === undefined || value === null ? "not known" : JSON.stringify(value);
}
