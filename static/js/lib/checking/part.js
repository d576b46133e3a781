/** The part of a log that a figure of a document shows: some events on both sides of a cut. Pure. */

export const EVENTS_BESIDE = 8; // of each process, on each side of the cut
export const MOST_LANES = 24;

/**
 * Returns the cut around which the figure of a claim is drawn; null for a claim without one.
 * @param {CheckedLog} log @param {Claim} claim @returns {number[] | null}
 */
export function cutOf(log, { kind, says }) {
  const { evidence, topology } = log;
  if (kind === "cut" || kind === "snapshot") {
    const last = latest(evidence, topology, says.positions);
    return evidence.processes.map(({ id }, p) => says.positions[id] ?? countUntil(evidence.events[p], last));
  }
  if (kind !== "event" && kind !== "message") return null;
  const at = kind === "event"
    ? evidence.events[topology.processCode.get(says.process)]?.[says.index]?.at
    : log.messages[topology.channelCode.get(says.channel)]?.find(({ id }) => id === says.message)?.sentAt;
  return at === undefined ? null : evidence.events.map((own) => countUntil(own, at));
}

/** @param {Evidence} evidence @param {OpenTopology} topology @param {Record<string, number>} positions */
function latest(evidence, topology, positions) {
  const times = Object.entries(positions).map(
    ([id, n]) => evidence.events[topology.processCode.get(id)]?.[n - 1]?.at ?? -Infinity,
  );
  return times.reduce((a, b) => Math.max(a, b), -Infinity);
}

/** @param {EvidenceEvent[]} events @param {number} at */
function countUntil(events, at) {
  return events.filter((event) => event.at <= at).length;
}

/**
 * Returns the lanes, events and messages around a cut, and how many lanes are left out.
 * @param {CheckedLog} log @param {number[]} cut
 */
export function partAround(log, cut) {
  const { evidence, topology } = log;
  const filled = evidence.processes.map((_, p) => p).filter((p) => evidence.events[p].length);
  const lanes = filled.slice(0, MOST_LANES);
  const rows = new Map(lanes.map((p, row) => [p, row]));
  const isNear = (/** @type {number} */ p, /** @type {number} */ index) =>
    rows.has(p) && index >= cut[p] - EVENTS_BESIDE && index < cut[p] + EVENTS_BESIDE;
  const events = lanes.flatMap((p) => evidence.events[p]
    .map((event, index) => ({ ...event, process: p, index, row: rows.get(p) }))
    .filter(({ index }) => isNear(p, index)));
  const flights = (/** @type {Flight[][]} */ table) => table.flat()
    .map((flight) => ({ ...flight, ...ends(topology, flight) }))
    .filter(({ from, to }) => rows.has(from) && rows.has(to))
    .filter(({ from, to, sent, received }) => isNear(from, sent) || isNear(to, received))
    .map((flight) => ({ ...flight, fromRow: rows.get(flight.from), toRow: rows.get(flight.to) }));
  return {
    lanes: lanes.map((p) => evidence.processes[p].id),
    hidden: filled.length - lanes.length,
    events,
    messages: flights(log.messages),
    markers: flights(log.markers),
    cut: lanes.map((p) => placeOfCut(evidence.events[p], cut[p])),
  };
}

/** @param {OpenTopology} topology @param {Flight} flight */
function ends({ channels }, { channel }) {
  return { from: channels[channel].sourceCode, to: channels[channel].targetCode };
}

/**
 * Returns the time at which the cut crosses a lane: halfway between the last event inside and the next.
 * @param {EvidenceEvent[]} events @param {number} position
 */
function placeOfCut(events, position) {
  const [before, after] = [events[position - 1]?.at, events[position]?.at];
  if (before === undefined) return after;
  return after === undefined ? before : (before + after) / 2;
}
