/** What a claim is about, read from the text of its place (snapshots/domain/reviewing/place_text.py). Pure. */

/**
 * Returns the fields by which a claim's numbers name what they are about, as its place names it. A claim without a
 * place is about what its numbers name.
 * @param {Claim} claim @param {CheckedLog} log @returns {Record<string, any>}
 */
export function subjectOf({ kind, place, says }, log) {
  const [form, ...parts] = (place ?? "").split(":");
  const ids = parts.map((part) => (kind === "cut" ? part : decodeURIComponent(part)));
  if (kind === "snapshot" && ids.length) return { snapshot: ids[0] };
  if (kind === "event" && ids.length) return { process: ids[0], index: Number(ids[1]) };
  if (kind === "message" && ids.length) return { channel: ids[0], message: ids[1] };
  if (kind === "cut" && form === "cut") return { positions: positionsIn(parts, log) };
  if (kind === "cut" && form === "moment") return { positions: positionsAtMoment(parts, log) };
  return says;
}

/** @param {string[]} parts each PROCESS=COUNT @param {CheckedLog} log */
function positionsIn(parts, { evidence }) {
  const pairs = parts.map((part) => part.split("="));
  const counts = new Map(pairs.map(([id, count]) => [decodeURIComponent(id), Number(count)]));
  return Object.fromEntries(evidence.processes.map(({ id }) => [id, counts.get(id) ?? 0]));
}

/**
 * Returns the positions at a moment: the events until its time, or its number of events in the order of the log.
 * @param {string[]} moment @param {CheckedLog} log
 */
function positionsAtMoment([axis, value], { evidence, origin }) {
  const isInside = axis === "time"
    ? (/** @type {EvidenceEvent} */ { at }) => BigInt(at) + BigInt(origin) <= BigInt(value)
    : (/** @type {EvidenceEvent} */ { step }) => step < Number(value);
  const inside = evidence.events.map((own) => own.filter(isInside).length);
  return Object.fromEntries(evidence.processes.map(({ id }, p) => [id, inside[p]]));
}
