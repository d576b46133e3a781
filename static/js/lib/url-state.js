/** The view in the address of the workbench. docs/workbench.md lists the parameters. Pure. */

import { PLAIN_FILTERS, PLAIN_PANELS, checkView } from "./view.js";
import { PLAIN_LANES } from "./lanes.js";

const LONGEST_CUT = 1500; // characters

/**
 * Fields that are one text, as [parameter, path of the field, what is not written].
 * @type {[string, string, any][]}
 */
const TEXTS = [
  ["snapshot", "snapshot", null],
  ["compared", "compared", null],
  ["lanes", "lanes.filter", PLAIN_LANES.filter],
  ["sort", "lanes.sort", PLAIN_LANES.sort],
  ["lane", "lanes.first", PLAIN_LANES.first],
  ["channels", "filters.channels", PLAIN_FILTERS.channels],
  ["states", "filters.states", PLAIN_FILTERS.states],
  ["tab", "panels.tab", PLAIN_PANELS.tab],
];

/**
 * Fields that are true or false, as [parameter, path, what is not written].
 * @type {[string, string, boolean | null][]}
 */
const FLAGS = [
  ["idle", "idle", false],
  ["group", "lanes.grouped", false],
  ["fit", "lanes.fitted", false],
  ["full", "filters.full", null],
  ["control", "lanes.control", true],
];

/**
 * Lists of names, as [parameter, path]; their parameter is repeated.
 * @type {[string, string][]}
 */
const LISTS = [["open", "lanes.open"], ["pin", "lanes.pinned"]];

/**
 * Lists of panels, as [parameter, path]; their names are joined by dots.
 * @type {[string, string][]}
 */
const PANELS = [["fold", "panels.folded"], ["table", "panels.tables"], ["order", "panels.order"]];

/** @type {[string, string][]} */
const NUMBERS = [["t", "now"], ["from", "from"], ["to", "to"]];

/**
 * Reads the view of a query string. Parameters that mean nothing here are absent from the view, and listed.
 * @param {string} query @param {OpenTopology} topology @param {KnownNames} [known] @returns {CheckedView}
 */
export function readView(query, topology, known) {
  const params = new URLSearchParams(query);
  const raw = {};
  if (params.has("axis")) put(raw, "axis", params.get("axis"));
  for (const [name, path] of NUMBERS) if (params.get(name)) put(raw, path, Number(params.get(name)));
  for (const [name, path] of TEXTS) if (params.has(name)) put(raw, path, params.get(name));
  for (const [name, path] of FLAGS) if (params.has(name)) put(raw, path, flagOf(params.get(name)));
  for (const [name, path] of LISTS) if (params.has(name)) put(raw, path, params.getAll(name));
  for (const [name, path] of PANELS) if (params.get(name)) put(raw, path, params.get(name).split("."));
  if (params.get("size")) put(raw, "panels.sizes", readSizes(params.get("size")));
  if (params.get("cut")) put(raw, "cut", params.get("cut").split(".").map(positionOf));
  const selection = readSelection(params, topology);
  if (selection) put(raw, "selection", selection);
  return checkView(raw, topology, known);
}

/**
 * Writes the query string (without "?") of a view; the inverse of readView. Fields that are as at first are left out.
 * @param {PartialView} view @returns {string}
 */
export function writeView(view) {
  const params = new URLSearchParams();
  if (view.axis === "order") params.set("axis", "order");
  for (const [name, path] of NUMBERS) if (get(view, path) !== undefined) params.set(name, plain(get(view, path)));
  for (const [name, path, usual] of TEXTS) if ((get(view, path) ?? usual) !== usual) params.set(name, get(view, path));
  writeSelection(params, view.selection);
  if (view.cut && cutFits(view.cut)) params.set("cut", cutText(view.cut));
  for (const [name, path, usual] of FLAGS) {
    const value = get(view, path) ?? usual;
    if (value !== usual) params.set(name, value ? "1" : "0");
  }
  for (const [name, path] of LISTS) for (const item of get(view, path) ?? []) params.append(name, item);
  for (const [name, path] of PANELS) if (get(view, path)?.length) params.set(name, get(view, path).join("."));
  const sizes = Object.entries(view.panels?.sizes ?? {}).sort();
  if (sizes.length) params.set("size", sizes.map(([name, size]) => `${name}-${size}`).join("."));
  return params.toString();
}

/** @param {any} object @param {string} path */
function get(object, path) {
  return path.split(".").reduce((inner, name) => inner?.[name], object);
}

/** @param {any} object @param {string} path @param {any} value */
function put(object, path, value) {
  const [group, name] = path.split(".");
  if (name) (object[group] ??= {})[name] = value;
  else object[group] = value;
}

/** @param {string} text @returns {boolean | string} */
function flagOf(text) {
  return text === "1" ? true : text === "0" ? false : text;
}

/** @param {string} text */
function readSizes(text) {
  return Object.fromEntries(text.split(".").map((part) => {
    const at = part.lastIndexOf("-");
    return [part.slice(0, Math.max(at, 0)), Number(part.slice(at + 1))];
  }));
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

/** @param {string} part */
function positionOf(part) {
  return /^[0-9a-z]+$/.test(part) ? parseInt(part, 36) : NaN;
}

/** @param {number} number */
function plain(number) {
  return String(Number(number.toFixed(3)));
}

/** @param {URLSearchParams} params @param {OpenTopology} topology @returns {ViewSelection | null} */
function readSelection(params, topology) {
  const event = params.get("event");
  if (event) {
    const at = event.indexOf("@");
    const index = /^\d+$/.test(event.slice(0, at)) ? Number(event.slice(0, at)) : NaN;
    return { of: "event", process: event.slice(at + 1), index };
  }
  if (params.get("message")) return readMessage(params.get("message"), topology);
  if (params.get("process")) return { of: "process", process: params.get("process") };
  return params.get("channel") ? { of: "channel", channel: params.get("channel") } : null;
}

/**
 * Reads a message and its channel. Both ids may hold an @, so the first split whose right half is a channel counts.
 * @param {string} text @param {OpenTopology} topology @returns {ViewSelection}
 */
function readMessage(text, topology) {
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    const channel = text.slice(at + 1);
    if (topology.channelCode.has(channel)) return { of: "message", channel, message: text.slice(0, at) };
  }
  return { of: "message", channel: "", message: text };
}

/** @param {URLSearchParams} params @param {ViewSelection | null | undefined} selection */
function writeSelection(params, selection) {
  if (!selection) return;
  if (selection.of === "event") params.set("event", `${selection.index}@${selection.process}`);
  else if (selection.of === "message") params.set("message", `${selection.message}@${selection.channel}`);
  else if (selection.of === "process") params.set("process", selection.process);
  else params.set("channel", selection.channel);
}
