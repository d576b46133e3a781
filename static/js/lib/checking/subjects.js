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
  if (kind === "cut" && form === "moment") return { positions: positionsAtMoment(parts, says.positions, log) };
  return says;
}

/** @param {string[]} parts each PROCESS=COUNT @param {CheckedLog} log */
function positionsIn(parts, { evidence }) {
  const pairs = parts.map((part) => part.split("="));
  const counts = new Map(pairs.map(([id, count]) => [decodeURIComponent(id), Number(count)]));
  return Object.fromEntries(evidence.processes.map(({ id }) => [id, counts.get(id) ?? 0]));
}

/**
 * Returns the positions at a moment. The order of all events is not in the data, only how many lie inside: positions
 * with another sum are refused.
 * @param {string[]} moment @param {Record<string, number>} said @param {CheckedLog} log
 */
function positionsAtMoment([axis, value], said, { evidence }) {
  const limit = Number(value);
  if (axis === "time") {
    const inside = evidence.events.map((own) => own.filter(({ at }) => at <= limit).length);
    return Object.fromEntries(evidence.processes.map(({ id }, p) => [id, inside[p]]));
  }
  const events = evidence.events.reduce((sum, own) => sum + own.length, 0);
  const sum = Object.values(said).reduce((a, b) => a + b, 0);
  if (sum !== Math.min(limit, events)) throw new Error(`the cut has ${sum} events, and its place ${value}.`);
  return said;
}
