/** The text of a place, as snapshots/domain/reviewing/place_text.py writes it. Pure. */

/**
 * Percent-encodes all but letters, digits and -._~, as Python's `quote` does.
 * @param {string} id
 */
function quoted(id) {
  return encodeURIComponent(id).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/**
 * Compares texts by code points, as Python sorts them; JavaScript's own order differs beyond U+FFFF.
 * @param {string} a @param {string} b
 */
function byCodePoints(a, b) {
  const [left, right] = [[...a], [...b]];
  const at = left.findIndex((sign, i) => sign !== right[i]);
  if (at < 0) return left.length - right.length;
  return at < right.length ? left[at].codePointAt(0) - right[at].codePointAt(0) : 1;
}

/**
 * Returns the place of a cut, from its positions in the order of the processes.
 * @param {number[]} positions @param {OpenTopology} topology
 */
export function placeOfCut(positions, topology) {
  const inside = topology.processes.map(({ id }, p) => ({ id, count: positions[p] })).filter(({ count }) => count > 0);
  inside.sort((a, b) => byCodePoints(a.id, b.id));
  return ["cut", ...inside.map(({ id, count }) => `${quoted(id)}=${count}`)].join(":");
}

/**
 * Returns the place of a selection.
 * @param {Chosen} selection @param {OpenTopology} topology
 */
export function placeOfSelection(selection, topology) {
  const { processes, channels } = topology;
  if (selection.of === "event") return `event:${quoted(processes[selection.process].id)}:${selection.index}`;
  if (selection.of === "process") return `process:${quoted(processes[selection.process].id)}`;
  const channel = quoted(channels[selection.channel].id);
  return selection.of === "message" ? `message:${channel}:${quoted(String(selection.id))}` : `channel:${channel}`;
}

/** @param {string} snapshot */
export function placeOfSnapshot(snapshot) {
  return `snapshot:${quoted(snapshot)}`;
}

/**
 * Returns the moment at the cursor, which is never before or after the recording.
 * @param {Axis} axis @param {number} now @param {{ from: number, to: number }} bounds
 */
export function placeOfMoment(axis, now, { from, to }) {
  return `moment:${axis}:${Math.floor(Math.min(Math.max(now, from), to))}`;
}

/**
 * Returns where the screen stands: the dragged cut, or the moment at the cursor.
 * @param {{ cut: number[] | null, axis: Axis, now: number }} state @param {OpenTopology} topology
 * @param {{ from: number, to: number }} bounds
 */
export function placeOfScreen({ cut, axis, now }, topology, bounds) {
  return cut ? placeOfCut(cut, topology) : placeOfMoment(axis, now, bounds);
}

/**
 * Returns the place of which a person speaks who chooses no other: the snapshot to which they came last, else the
 * selection, else where the screen stands.
 * @param {{ selection: Chosen | null, cut: number[] | null, axis: Axis, now: number }} state
 * @param {string | null} snapshot the snapshot from which they have not moved on
 * @param {OpenTopology} topology @param {{ from: number, to: number }} bounds
 */
export function placeHere(state, snapshot, topology, bounds) {
  if (snapshot !== null) return placeOfSnapshot(snapshot);
  return state.selection ? placeOfSelection(state.selection, topology) : placeOfScreen(state, topology, bounds);
}

/**
 * Returns the place at which a person has stopped, by what has changed since the last one: a selection before a
 * dragged cut, a cut before the choice of a snapshot, and that before the cursor. Null if nothing of this has changed.
 * @param {{ selection: Chosen | null, cut: number[] | null, snapshot: string | null, axis: Axis, now: number }} state
 * @param {Set<string>} changed @param {OpenTopology} topology @param {{ from: number, to: number }} bounds
 * @returns {string | null}
 */
export function placeOfStop(state, changed, topology, bounds) {
  if (changed.has("selection") && state.selection) return placeOfSelection(state.selection, topology);
  if (changed.has("cut") && state.cut) return placeOfCut(state.cut, topology);
  if (changed.has("snapshot") && state.snapshot !== null) return placeOfSnapshot(state.snapshot);
  return changed.has("now") && !state.cut ? placeOfMoment(state.axis, state.now, bounds) : null;
}
