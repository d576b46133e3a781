/**
 * The log in the evidence of a document, opened so that the modules of the workbench read it as one exact window.
 * Pure. snapshots/domain/proving/evidence.py writes the evidence.
 */

import { openTopology } from "../topology.js";
import { IN_FLIGHT } from "../window.js";
import { between, originOf } from "./instants.js";

const APPLICATION_KINDS = new Set(["internal", "send", "receive", "read", "write"]);

/**
 * Opens the evidence of one recording. Its times are then numbers that count from `origin`.
 * @param {Evidence} written @returns {CheckedLog}
 */
export function openLog(written) {
  const origin = originOf(written.events);
  const evidence = relativeTo(origin, written);
  const topology = openTopology(/** @type {any} */ (evidence));
  const messages = flights(evidence, evidence.messages, topology);
  return {
    evidence,
    origin,
    topology,
    messages,
    markers: flights(evidence, evidence.markers, topology),
    window: windowOf(evidence, topology, messages),
  };
}

/** @param {Instant} origin @param {Evidence} written @returns {Evidence} */
function relativeTo(origin, written) {
  if (origin === 0) return written;
  const events = written.events.map((own) => own.map((event) => ({ ...event, at: between(origin, event.at) })));
  return { ...written, events };
}

/**
 * Returns the rows of a table of messages or markers, channel by channel in the order of sending.
 * @param {Evidence} evidence @param {EvidenceFlight[][]} table @param {OpenTopology} topology @returns {Flight[][]}
 */
function flights(evidence, table, topology) {
  return table.map((rows, channel) => {
    const { sourceCode, targetCode } = topology.channels[channel];
    return rows.map((row, ordinal) => ({
      ...row,
      channel,
      ordinal,
      received: row.received ?? IN_FLIGHT,
      sentAt: evidence.events[sourceCode][row.sent]?.at,
      takenBack: row.received !== undefined && evidence.events[targetCode][row.received]?.kind === "restore",
      receivedAt: row.received === undefined ? undefined : evidence.events[targetCode][row.received]?.at,
    }));
  });
}

/**
 * @param {Evidence} evidence @param {OpenTopology} topology @param {Flight[][]} flightsOfChannels
 * @returns {OpenWindow}
 */
function windowOf(evidence, topology, flightsOfChannels) {
  const messages = flightsOfChannels.flat();
  const events = evidence.events.flatMap((own, process) => own.map((event, index) => ({ ...event, process, index })));
  const kinds = [...new Set(events.map(({ kind }) => kind))];
  let row = 0;
  const opened = {
    axis: "time",
    exact: true,
    topology,
    kinds,
    application: kinds.map((kind) => APPLICATION_KINDS.has(kind)),
    positions: evidence.events.map(() => 0),
    positionsTo: evidence.events.map((own) => own.length),
    states: evidence.processes.map(({ state }) => state ?? null),
    known: evidence.processes.map(({ state }) => state !== undefined),
    rows: evidence.events.map((own) => own.map(() => row++)),
    events: {
      count: events.length,
      process: events.map(({ process }) => process),
      index: events.map(({ index }) => index),
      at: events.map(({ at }) => at),
      x: events.map(({ at }) => at),
      kind: events.map(({ kind }) => kinds.indexOf(kind)),
      state: events.map(({ state }) => state ?? null),
      known: events.map(({ state }) => Number(state !== undefined)),
    },
    messages: {
      count: messages.length,
      channel: messages.map(({ channel }) => channel),
      ordinal: messages.map(({ ordinal }) => ordinal),
      sent_index: messages.map(({ sent }) => sent),
      received_index: messages.map(({ received }) => received),
      id: messages.map(({ id }) => id),
      value: messages.map(({ value }) => value ?? null),
    },
  };
  return /** @type {any} */ (opened);
}

/**
 * Returns what is wrong with the evidence itself: each send belongs to one message, each receive to one message or to
 * none that was sent, and no time falls. Empty if it fits together.
 * @param {CheckedLog} log @returns {string[]}
 */
export function contradictions({ evidence, topology, messages, markers }) {
  const named = evidence.events.map(() => /** @type {Map<number, number>} */ (new Map()));
  const wrong = [...endsThatDoNotFit(evidence, topology, messages, "send", "receive", named)];
  wrong.push(...endsThatDoNotFit(evidence, topology, markers, "marker_send", "marker_receive", named));
  for (const { process, index } of evidence.strays) {
    const code = topology.processCode.get(process);
    name(named, code, index);
    const kind = evidence.events[code]?.[index]?.kind;
    if (kind !== "receive" && kind !== "marker_receive") wrong.push(`Event ${index} of ${process} is no receive.`);
  }
  wrong.push(...eventsNotNamedOnce(evidence, named), ...timesThatFall(evidence, topology, messages));
  return [...wrong, ...stepsThatDoNotFit(evidence)];
}

/** @param {Map<number, number>[]} named @param {number} process @param {number} index */
function name(named, process, index) {
  named[process]?.set(index, (named[process].get(index) ?? 0) + 1);
}

/**
 * @param {Evidence} evidence @param {OpenTopology} topology @param {Flight[][]} table
 * @param {string} send @param {string} receive @param {Map<number, number>[]} named
 */
function* endsThatDoNotFit(evidence, topology, table, send, receive, named) {
  for (const flight of table.flat()) {
    const { id, sourceCode, targetCode } = topology.channels[flight.channel];
    const isEnd = (/** @type {EvidenceEvent} */ event, /** @type {string} */ kind) =>
      event?.kind === kind && event.channel === id && event.message === flight.id
      && (flight.snapshot === undefined || event.snapshot === flight.snapshot);
    name(named, sourceCode, flight.sent);
    if (!isEnd(evidence.events[sourceCode][flight.sent], send)) {
      yield `Event ${flight.sent} of ${topology.processes[sourceCode].id} does not send what ${id} carries.`;
    }
    if (flight.received === IN_FLIGHT) continue;
    name(named, targetCode, flight.received);
    if (!isEnd(evidence.events[targetCode][flight.received], receive)) {
      yield `Event ${flight.received} of ${topology.processes[targetCode].id} does not receive what ${id} carries.`;
    }
  }
}

const ENDS = new Set(["send", "receive", "marker_send", "marker_receive"]);

/** @param {Evidence} evidence @param {Map<number, number>[]} named */
function* eventsNotNamedOnce(evidence, named) {
  for (const [process, events] of evidence.events.entries()) {
    for (const [index, { kind }] of events.entries()) {
      const times = named[process].get(index) ?? 0;
      if (times === Number(ENDS.has(kind))) continue;
      const { id } = evidence.processes[process];
      yield `Event ${index} of ${id}, a ${kind}, is an end of ${times} messages or markers.`;
    }
  }
}

/** @param {Evidence} evidence @param {OpenTopology} topology @param {Flight[][]} messages */
function* timesThatFall(evidence, topology, messages) {
  for (const [process, events] of evidence.events.entries()) {
    const index = events.findIndex(({ at }, i) => i > 0 && at < events[i - 1].at);
    if (index > 0) yield `The time falls at event ${index} of ${evidence.processes[process].id}.`;
  }
  for (const { channel, id, sentAt, receivedAt } of messages.flat()) {
    if (receivedAt < sentAt) yield `${id} on ${topology.channels[channel].id} is received before it is sent.`;
  }
}

/**
 * The steps of all events are 0, 1, 2 … and rise within each process.
 * @param {Evidence} evidence
 */
function* stepsThatDoNotFit({ events, processes }) {
  const seen = new Set();
  for (const [process, own] of events.entries()) {
    const index = own.findIndex(({ step }, i) => i > 0 && step <= own[i - 1].step);
    if (index > 0) yield `The order of events falls at event ${index} of ${processes[process].id}.`;
    for (const { step } of own) seen.add(step);
  }
  const count = events.flat().length;
  const isWhole = seen.size === count && [...seen].every((step) => step >= 0 && step < count);
  if (!isWhole) yield "The order of events has gaps, or names an event twice.";
}
