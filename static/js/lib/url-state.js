/** The view that a link to the workbench names. docs/workbench.md lists the parameters. Pure. */

const LONGEST_CUT = 1500; // characters

/**
 * Reads the view of a query string. Parameters that are absent or wrong are absent from the view.
 * @param {string} query @param {OpenTopology} topology @returns {View}
 */
export function readView(query, topology) {
  const params = new URLSearchParams(query);
  /** @type {View} */
  const view = {};
  if (["time", "order"].includes(params.get("axis"))) view.axis = /** @type {Axis} */ (params.get("axis"));
  for (const [name, key] of /** @type {const} */ ([["t", "now"], ["from", "from"], ["to", "to"]])) {
    if (params.get(name) && Number.isFinite(Number(params.get(name)))) view[key] = Number(params.get(name));
  }
  if (!(view.from < view.to)) {
    delete view.from;
    delete view.to;
  }
  if (params.has("snapshot")) view.snapshot = params.get("snapshot");
  const selection = readSelection(params, topology);
  if (selection) view.selection = selection;
  const cut = readCut(params.get("cut"), topology.processes.length);
  if (cut) view.cut = cut;
  for (const [name, key] of /** @type {const} */ ([["fold", "folded"], ["table", "tables"]])) {
    if (params.get(name)) view[key] = new Set(params.get(name).split("."));
  }
  return view;
}

/**
 * Writes the query string (without "?") of a view; the inverse of readView.
 * @param {View} view @param {OpenTopology} topology @returns {string}
 */
export function writeView(view, topology) {
  const params = new URLSearchParams();
  if (view.axis === "order") params.set("axis", "order");
  params.set("t", plain(view.now));
  params.set("from", plain(view.from));
  params.set("to", plain(view.to));
  if (view.snapshot !== null && view.snapshot !== undefined) params.set("snapshot", view.snapshot);
  writeSelection(params, view.selection, topology);
  if (view.cut && cutFits(view.cut)) params.set("cut", cutText(view.cut));
  if (view.folded?.size) params.set("fold", [...view.folded].sort().join("."));
  if (view.tables?.size) params.set("table", [...view.tables].sort().join("."));
  return params.toString();
}

/**
 * Returns whether a cut fits into a link.
 * @param {number[]} cut
 */
export function cutFits(cut) {
  return cutText(cut).length <= LONGEST_CUT;
}

/** @param {number[]} cut */
function cutText(cut) {
  return cut.map((n) => n.toString(36)).join(".");
}

/** @param {number} number */
function plain(number) {
  return String(Number(number.toFixed(3)));
}

/** @param {URLSearchParams} params @param {OpenTopology} topology @returns {Chosen | null} */
function readSelection(params, topology) {
  const event = split(params.get("event"));
  if (event) {
    const process = topology.processCode.get(event[1]);
    if (process !== undefined && /^\d+$/.test(event[0])) return { of: "event", process, index: Number(event[0]) };
  }
  const message = splitLast(params.get("message"), topology);
  if (message) return message;
  for (const of of /** @type {const} */ (["process", "channel"])) {
    const code = topology[`${of}Code`].get(params.get(of));
    if (code !== undefined) return /** @type {Chosen} */ ({ of, [of]: code });
  }
  return null;
}

/** @param {string | null} text */
function split(text) {
  const at = (text ?? "").indexOf("@");
  return at > 0 ? [text.slice(0, at), text.slice(at + 1)] : null;
}

/**
 * Reads a message and its channel. Both ids may hold an @, so the first split whose right half is a channel counts.
 * @param {string | null} text @param {OpenTopology} topology @returns {Chosen | null}
 */
function splitLast(text, topology) {
  for (let at = (text ?? "").indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    const channel = topology.channelCode.get(text.slice(at + 1));
    if (channel !== undefined) return { of: "message", channel, id: text.slice(0, at) };
  }
  return null;
}

/** @param {URLSearchParams} params @param {any} selection @param {OpenTopology} topology */
function writeSelection(params, selection, topology) {
  if (!selection) return;
  const { of } = selection;
  if (of === "event") params.set("event", `${selection.index}@${topology.processes[selection.process].id}`);
  else if (of === "message") params.set("message", `${selection.id}@${topology.channels[selection.channel].id}`);
  else params.set(of, topology[of === "process" ? "processes" : "channels"][selection[of]].id);
}

/** @param {string | null} text @param {number} processes @returns {number[] | null} */
function readCut(text, processes) {
  if (!text) return null;
  const positions = text.split(".").map((part) => (/^[0-9a-z]+$/.test(part) ? parseInt(part, 36) : NaN));
  return positions.length === processes && positions.every(Number.isSafeInteger) ? positions : null;
}
