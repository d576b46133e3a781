/** The four answers of a snapshot, by the rules of snapshots/domain/judging/answers.py. Pure. */

const [HOLDS, FAILS, NOT_KNOWN] = ["holds", "does-not-hold", "not-known"];

/**
 * Returns the answer to each of the four questions. A derived recording proves nothing, so that nothing holds there.
 * @param {SnapshotCase} given @param {Map<string, number>} counts @param {number} strays
 * @returns {Record<string, string>}
 */
export function answersOf(given, counts, strays) {
  const answers = {
    cut: cut(given, counts, strays),
    channels: channels(given, counts, strays),
    states: states(given, counts),
    rule: rule(given, counts),
  };
  if (!given.log.evidence.derived) return answers;
  const known = Object.entries(answers).map(([question, answer]) => [question, answer === FAILS ? FAILS : NOT_KNOWN]);
  return Object.fromEntries(known);
}

/** @param {SnapshotCase} given @param {Map<string, number>} counts @param {number} strays */
function cut(given, counts, strays) {
  if (counts.get("orphan")) return FAILS;
  return strays || lacks(given) ? NOT_KNOWN : HOLDS;
}

/** @param {SnapshotCase} given @param {Map<string, number>} counts @param {number} strays */
function channels(given, counts, strays) {
  if (counts.get("lost") || counts.get("duplicated")) return FAILS;
  if (given.log.evidence.only_clocks) return NOT_KNOWN;
  const unsent = given.log.evidence.derived ? 0 : counts.get("unknown") - strays;
  const unrecorded = [...given.inFlight].filter(([channel]) => !given.records.has(channel));
  const isUnrecorded = unrecorded.some(([, flights]) => flights.length);
  return unsent || isUnrecorded || given.channels.length > given.inFlight.size ? NOT_KNOWN : HOLDS;
}

/** @param {SnapshotCase} given @param {Map<string, number>} counts */
function states(given, counts) {
  if (counts.get("state-mismatch")) return FAILS;
  const compared = [...given.recordedStates.keys()].filter((process) => given.recomputedStates.has(process));
  return compared.length < given.positions.size || lacks(given) ? NOT_KNOWN : HOLDS;
}

/** @param {SnapshotCase} given @param {Map<string, number>} counts */
function rule({ channels, markersSent, markersReceived }, counts) {
  if (["marker-rule", "fifo-violation", "incomplete"].some((verdict) => counts.get(verdict))) return FAILS;
  return markersSent || markersReceived || !channels.length ? HOLDS : NOT_KNOWN;
}

/** @param {SnapshotCase} given */
function lacks({ positions, processes }) {
  return positions.size < processes.length;
}
