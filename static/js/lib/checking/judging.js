/**
 * Judges a snapshot from the log alone, by the rules of snapshots/domain/judging/verdicts.py. Pure.
 *
 * Only counts are derived here, not sentences: how many witnesses each verdict has, the four answers, and the numbers
 * on which they rest. A test compares this with the rules in Python on hundreds of generated runs.
 */

import { channelsAt, statesAt } from "../cuts.js";
import { numberIn } from "../shown.js";
import { IN_FLIGHT } from "../window.js";
import { answersOf } from "./answers.js";

const VERDICTS = [
  "orphan", "lost", "duplicated", "state-mismatch", "marker-rule", "fifo-violation", "incomplete", "unknown",
];
const SNAPSHOT_KINDS = new Set(["record_state", "record_channel", "marker_send", "marker_receive"]);

/**
 * Returns what the log says of a snapshot, in the fields of its claim.
 * @param {CheckedLog} log @param {string} snapshot
 */
export function judge(log, snapshot) {
  const given = caseOf(log, snapshot);
  const counts = new Map(VERDICTS.map((verdict) => [verdict, 0]));
  /** @type {(verdict: string, more?: number) => void} */
  const add = (verdict, more = 1) => {
    counts.set(verdict, counts.get(verdict) + more);
  };
  for (const channel of given.channels) {
    if (given.inFlight.has(channel)) {
      add("orphan", given.orphans.get(channel) ?? 0);
      judgeRecordedChannel(given, channel, add);
    }
    add("marker-rule", brokenMarkerRules(given, channel));
    if (log.topology.channels[channel].fifo) add("fifo-violation", overtakings(given, channel));
  }
  judgeStates(given, add);
  const strays = straysInside(given);
  add("unknown", strays);
  add("incomplete", missing(given));
  return described(given, counts, strays);
}

/** @param {SnapshotCase} given @param {Map<string, number>} counts @param {number} strays */
function described(given, counts, strays) {
  const { log, ids } = given;
  const worst = VERDICTS.filter((verdict) => counts.get(verdict) > 0);
  const byChannel = (/** @type {Map<number, any>} */ map) =>
    Object.fromEntries(Array.from(map, ([channel, value]) => [ids.channel(channel), value]));
  const byProcess = (/** @type {Map<number, any>} */ map) =>
    Object.fromEntries(Array.from(map, ([process, value]) => [ids.process(process), value]));
  const inFlight = [...given.inFlight].map(([channel, flights]) => [channel, flights.map(({ id }) => id)]);
  const found = Object.fromEntries(worst.map((verdict) => [verdict, counts.get(verdict)]));
  return {
    snapshot: given.snapshot,
    verdict: worst[0] ?? "consistent",
    counts: worst.length ? found : { consistent: 1 },
    answers: answersOf(given, counts, strays),
    positions: byProcess(given.positions),
    recorded_states: byProcess(given.recordedStates),
    recomputed_states: byProcess(given.recomputedStates),
    recorded_channels: byChannel(new Map([...given.records].filter(([channel]) => given.channels.includes(channel)))),
    in_flight: byChannel(new Map(/** @type {any} */ (inFlight))),
    values: byChannel(contentsOf(given)),
    markers_sent: given.markersSent,
    markers_received: given.markersReceived,
    totals: log.evidence.derived ? { start: null, processes: null, channels: null } : totals(given),
  };
}

/**
 * Returns, for each channel with contents, the ids and values of the messages that were recorded or in flight.
 * @param {SnapshotCase} given @returns {Map<number, [string, string | null][]>}
 */
function contentsOf(given) {
  const held = given.channels.filter((channel) => given.records.has(channel) || given.inFlight.has(channel));
  return new Map(held.map((channel) => {
    const recorded = new Set(given.records.get(channel));
    const inFlight = new Set((given.inFlight.get(channel) ?? []).map(({ ordinal }) => ordinal));
    const own = given.log.messages[channel].filter(({ id, ordinal }) => inFlight.has(ordinal) || recorded.has(id));
    return [channel, own.map(({ id, value }) => [id, value ?? null])];
  }));
}

/**
 * Collects what the log holds of a snapshot: the first record of each process and channel counts.
 * @param {CheckedLog} log @param {string} snapshot @returns {SnapshotCase}
 */
function caseOf(log, snapshot) {
  const { evidence, topology } = log;
  /** @type {Map<number, number>} */
  const positions = new Map();
  /** @type {Map<number, string[]>} */
  const records = new Map();
  const recordedStates = new Map();
  const involved = new Set();
  const markers = { marker_send: 0, marker_receive: 0 };
  evidence.events.forEach((own, process) => own.forEach((event, index) => {
    if (event.snapshot !== snapshot || !SNAPSHOT_KINDS.has(event.kind)) return;
    involved.add(process);
    if (event.kind in markers) markers[/** @type {keyof markers} */ (event.kind)] += 1;
    if (event.kind === "record_state" && !positions.has(process)) {
      positions.set(process, index);
      if (event.state !== undefined) recordedStates.set(process, event.state);
    }
    const channel = topology.channelCode.get(event.channel);
    if (event.kind === "record_channel" && !records.has(channel)) records.set(channel, event.messages ?? []);
  }));
  const { processes, channels } = scopeOf(log, involved);
  const inside = new Map([...positions].filter(([process]) => processes.includes(process)));
  return {
    log, snapshot, processes, channels, records, recordedStates,
    positions: inside,
    markersSent: markers.marker_send,
    markersReceived: markers.marker_receive,
    ids: { process: (code) => topology.processes[code].id, channel: (code) => topology.channels[code].id },
    ...recomputed(log, inside, channels),
  };
}

/**
 * Returns the processes and channels of the scopes in which the snapshot was taken.
 * @param {CheckedLog} log @param {Set<number>} involved
 */
function scopeOf({ evidence, topology }, involved) {
  const scopes = new Set([...involved].map((process) => evidence.processes[process].scope));
  const isIn = (/** @type {number} */ code) => !scopes.size || scopes.has(evidence.processes[code].scope);
  return {
    processes: evidence.processes.map((_, code) => code).filter(isIn),
    channels: topology.channels.filter(({ sourceCode }) => isIn(sourceCode)).map(({ code }) => code),
  };
}

/** @param {CheckedLog} log @param {Map<number, number>} positions @param {number[]} channels */
function recomputed(log, positions, channels) {
  const cut = log.evidence.processes.map((_, process) => positions.get(process) ?? 0);
  const { contents, orphans } = channelsAt(log.window, cut);
  const { states, known } = statesAt(log.window, cut);
  const flights = log.messages.flat();
  const judged = channels.filter((channel) => {
    const { sourceCode, targetCode } = log.topology.channels[channel];
    return positions.has(sourceCode) && positions.has(targetCode);
  });
  /** @type {Map<number, number>} */
  const orphansOf = new Map();
  for (const row of orphans) orphansOf.set(flights[row].channel, (orphansOf.get(flights[row].channel) ?? 0) + 1);
  return {
    orphans: orphansOf,
    inFlight: new Map(judged.map((channel) => [channel, (contents.get(channel) ?? []).map((row) => flights[row])])),
    recomputedStates: new Map([...positions.keys()].filter((p) => known[p]).map((p) => [p, states[p]])),
  };
}

/** @param {Flight[]} flights @returns {Map<string, Flight[]>} */
function byId(flights) {
  /** @type {Map<string, Flight[]>} */
  const groups = new Map();
  for (const flight of flights) groups.set(flight.id, [...(groups.get(flight.id) ?? []), flight]);
  return groups;
}

/**
 * Splits the entries of a recorded channel: the k-th entry of an id stands for the k-th message in flight with it.
 * @param {SnapshotCase} given @param {number} channel
 */
function entriesOf(given, channel) {
  const waiting = byId(given.inFlight.get(channel) ?? []);
  /** @type {Flight[]} */
  const matched = [];
  /** @type {string[]} */
  const surplus = [];
  for (const entry of given.records.get(channel) ?? []) {
    const flight = waiting.get(entry)?.shift();
    if (flight) matched.push(flight);
    else surplus.push(entry);
  }
  return { matched, surplus, lost: [...waiting.values()].flat() };
}

/** @param {SnapshotCase} given @param {number} channel @param {(verdict: string, more?: number) => void} add */
function judgeRecordedChannel(given, channel, add) {
  if (!given.records.has(channel)) return;
  const { surplus, lost } = entriesOf(given, channel);
  const sent = new Set(given.log.messages[channel].map(({ id }) => id));
  add("lost", lost.length);
  for (const entry of surplus) add(sent.has(entry) ? "duplicated" : "unknown");
}

/** @param {number} index of a receive; IN_FLIGHT comes after all others */
function arrival(index) {
  return index === IN_FLIGHT ? Infinity : index;
}

/** @param {SnapshotCase} given @param {number} channel */
function markersOn(given, channel) {
  return given.log.markers[channel].filter(({ snapshot }) => snapshot === given.snapshot);
}

/**
 * Counts the messages that the marker rules of the paper forbid. The first marker on the channel counts.
 * @param {SnapshotCase} given @param {number} channel
 */
function brokenMarkerRules(given, channel) {
  const [marker] = markersOn(given, channel);
  if (!marker) return 0;
  const { sourceCode, targetCode } = given.log.topology.channels[channel];
  const [senderAt, receiverAt] = [given.positions.get(sourceCode), given.positions.get(targetCode)];
  const flights = given.log.messages[channel];
  let count = 0;
  if (senderAt !== undefined) {
    const [first, last] = [Math.min(senderAt, marker.sent), Math.max(senderAt, marker.sent)];
    count += flights.filter(({ sent }) => first <= sent && sent < last).length;
  }
  if (receiverAt !== undefined) {
    const from = arrival(marker.received);
    count += flights.filter(({ received }) => from <= arrival(received) && arrival(received) < receiverAt).length;
  }
  return count;
}

/**
 * Counts what overtook another on a FIFO channel: markers of the snapshot and messages in flight, each against the
 * message sent earlier that arrived last and the one sent later that arrived first; and recorded entries out of order.
 * @param {SnapshotCase} given @param {number} channel
 */
function overtakings(given, channel) {
  const { latestBefore, earliestAfter } = orderOf(given.log.messages[channel]);
  const { overtaking } = given.log.evidence.channels[channel];
  const markers = markersOn(given, channel);
  const seen = new Set();
  let count = 0;
  /** @param {Flight | undefined} first @param {Flight | undefined} second */
  const compare = (first, second) => {
    if (!first || !second || !(arrival(first.received) > arrival(second.received))) return;
    const ends = `${first.sent},${second.sent}`;
    if (!seen.has(ends)) count += 1;
    seen.add(ends);
  };
  for (const travelling of [...markers, ...(given.inFlight.get(channel) ?? [])]) {
    const isMarker = travelling.snapshot !== undefined;
    if (!(overtaking && isMarker)) compare(latestBefore(travelling.sent), travelling);
    compare(travelling, earliestAfter(travelling.sent));
  }
  const { matched } = entriesOf(given, channel);
  for (let i = 1; i < matched.length; i += 1) {
    const [later, earlier] = [matched[i - 1], matched[i]];
    if (earlier.ordinal < later.ordinal && !seen.has(`${earlier.sent},${later.sent}`)) count += 1;
  }
  return count;
}

/**
 * Returns two searches among messages in the order of sending.
 * @param {Flight[]} flights
 */
function orderOf(flights) {
  /** @type {Flight[]} */
  const latest = [];
  for (const flight of flights) {
    const before = latest.at(-1);
    latest.push(before && arrival(before.received) >= arrival(flight.received) ? before : flight);
  }
  /** @type {Flight[]} */
  const earliest = Array(flights.length);
  for (let i = flights.length - 1; i >= 0; i -= 1) {
    const after = earliest[i + 1];
    earliest[i] = after && arrival(after.received) < arrival(flights[i].received) ? after : flights[i];
  }
  return {
    latestBefore: (/** @type {number} */ sent) => latest[countBelow(flights, sent) - 1],
    earliestAfter: (/** @type {number} */ sent) => earliest[countBelow(flights, sent + 1)],
  };
}

/** @param {Flight[]} flights by rising `sent` @param {number} sent */
function countBelow(flights, sent) {
  let [low, high] = [0, flights.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (flights[middle].sent < sent) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param {SnapshotCase} given @param {(verdict: string, more?: number) => void} add */
function judgeStates(given, add) {
  const { evidence } = given.log;
  add("unknown", evidence.flaws[given.snapshot] ?? 0);
  let unjudged = 0;
  for (const process of given.positions.keys()) {
    const [recorded, state] = [given.recordedStates.get(process), given.recomputedStates.get(process)];
    if (recorded !== undefined && state !== undefined && recorded !== state) add("state-mismatch");
    else if (evidence.derived) unjudged += 1;
  }
  if (unjudged) add("unknown");
}

/** @param {SnapshotCase} given */
function straysInside({ log, positions }) {
  const { evidence, topology } = log;
  return evidence.strays.filter(({ process, index }) => {
    const code = topology.processCode.get(process);
    return evidence.events[code]?.[index]?.kind === "receive" && index < (positions.get(code) ?? 0);
  }).length;
}

/** @param {SnapshotCase} given */
function missing(given) {
  const processes = given.processes.filter((process) => !given.positions.has(process)).length;
  if (!given.markersSent && !given.markersReceived) return processes;
  let markers = 0;
  for (const channel of given.channels) {
    const own = markersOn(given, channel);
    if (!own.length && given.positions.has(given.log.topology.channels[channel].sourceCode)) markers += 1;
    markers += own.filter(({ received }) => received === IN_FLIGHT).length;
  }
  return processes + markers;
}

/** @param {SnapshotCase} given */
function totals(given) {
  const { evidence } = given.log;
  const states = given.processes.map((process) => (given.positions.has(process)
    ? given.recordedStates.get(process) ?? given.recomputedStates.get(process)
    : undefined));
  return {
    start: totalOf(given.processes.map((process) => evidence.processes[process].state)),
    processes: totalOf(states),
    channels: totalOf(given.channels.flatMap((channel) => valuesOf(given, channel))),
  };
}

/** @param {SnapshotCase} given @param {number} channel @returns {(string | null | undefined)[]} */
function valuesOf(given, channel) {
  const waiting = given.inFlight.get(channel);
  if (!given.records.has(channel)) return waiting ? waiting.map(({ value }) => value) : [null];
  const inFlight = byId(waiting ?? []);
  const sent = byId(given.log.messages[channel]);
  return given.records.get(channel).map((entry) => {
    const flight = inFlight.get(entry)?.shift() ?? sent.get(entry)?.[0];
    return flight?.value;
  });
}

/**
 * Returns the sum of states or values, null if one has no number.
 * @param {(string | null | undefined)[]} texts canonical JSON @returns {number | null}
 */
function totalOf(texts) {
  let sum = 0;
  for (const text of texts) {
    const number = text === undefined || text === null ? null : numberIn(JSON.parse(text));
    if (number === null) return null;
    sum += number;
  }
  return sum;
}
