/**
 * The view: the complete state of the workbench as plain JSON, by the ids of the log. Pure.
 *
 * `toView` makes it, `checkView` reads one that somebody else wrote. url-state.js writes it into the address.
 */

import { shortened } from "./format.js";
import { PLAIN_LANES, SORTS } from "./lanes.js";

const LONGEST = 1000; // characters of an id or a filter
const MOST_NAMES = 500; // names in a list
export const SIZES = { least: 40, most: 950 }; // thousandths

/** @type {Filters} */
export const PLAIN_FILTERS = { channels: "", full: null, states: "" };

/** @type {PanelsView} */
export const PLAIN_PANELS = { folded: [], tables: [], order: [], sizes: {}, tab: "contents" };

/**
 * Returns the view that a player shows.
 * @param {PlayerState} state @param {OpenTopology} topology @returns {View}
 */
export function toView(state, topology) {
  const { axis, now, from, to, snapshot, compared, cut, idle, lanes, filters, order, sizes, tab } = state;
  const [folded, tables] = [[...state.folded].sort(), [...state.tables].sort()];
  const panels = { folded, tables, order, sizes, tab };
  const selection = idsOf(state.selection, topology);
  return { axis, now, from, to, snapshot, compared, selection, cut, idle, lanes, filters, panels };
}

/** @param {Chosen | null} selection @param {OpenTopology} topology @returns {ViewSelection | null} */
function idsOf(selection, { processes, channels }) {
  if (!selection) return null;
  if (selection.of === "event") {
    return { of: "event", process: processes[selection.process].id, index: selection.index };
  }
  if (selection.of === "message") {
    return { of: "message", channel: channels[selection.channel].id, message: selection.id };
  }
  if (selection.of === "process") return { of: "process", process: processes[selection.process].id };
  return { of: "channel", channel: channels[selection.channel].id };
}

/**
 * Returns what a view selects, by codes, or null if the topology lacks it.
 * @param {ViewSelection | null | undefined} selection @param {OpenTopology} topology @returns {Chosen | null}
 */
export function chosenOf(selection, { processCode, channelCode }) {
  if (!selection) return null;
  const process = processCode.get(/** @type {any} */ (selection).process);
  const channel = channelCode.get(/** @type {any} */ (selection).channel);
  if (selection.of === "event" && process !== undefined && isCount(selection.index)) {
    return { of: "event", process, index: selection.index };
  }
  if (selection.of === "message" && channel !== undefined && isText(selection.message)) {
    return { of: "message", channel, id: selection.message };
  }
  if (selection.of === "process" && process !== undefined) return { of: "process", process };
  if (selection.of === "channel" && channel !== undefined) return { of: "channel", channel };
  return null;
}

/** @param {any} value */
const isText = (value) => typeof value === "string" && value.length <= LONGEST;

/** @param {any} value */
const isCount = (value) => Number.isSafeInteger(value) && value >= 0;

/** @param {any} value */
const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);

/** @param {any} value */
const number = (value) => (Number.isFinite(value) ? value : undefined);

/** @param {any} value */
const flag = (value) => (typeof value === "boolean" ? value : undefined);

/** @param {any} value */
const text = (value) => (isText(value) ? value : undefined);

/** @param {any} value @param {any[]} allowed */
const oneOf = (value, allowed) => (allowed.includes(value) ? value : undefined);

/**
 * Returns the texts of a list that are allowed, each once.
 * @param {any} value @param {(name: string) => boolean} [allows]
 */
function names(value, allows = () => true) {
  if (!Array.isArray(value)) return undefined;
  return [...new Set(value)].filter((name) => isText(name) && allows(name)).slice(0, MOST_NAMES);
}

/**
 * What each field of a view may hold: a function that returns the value as far as it is allowed, or undefined.
 * @type {Record<string, (value: any, topology: OpenTopology, known: KnownNames) => any>}
 */
const RULES = {
  axis: (value) => oneOf(value, ["time", "order"]),
  now: number,
  from: number,
  to: number,
  snapshot: (value, _, known) => snapshotName(value, known),
  compared: (value, _, known) => snapshotName(value, known),
  selection: (value, topology) => (value === null ? null : idsOf(isObject(value) ? chosenOf(value, topology) : null,
    topology) ?? undefined),
  cut: (value, { processes }) => (value === null || isCut(value, processes) ? value : undefined),
  idle: flag,
  "lanes.filter": text,
  "lanes.sort": (value) => oneOf(value, SORTS),
  "lanes.grouped": flag,
  "lanes.control": flag,
  "lanes.fitted": flag,
  "lanes.open": (value) => names(value),
  "lanes.pinned": (value, { processCode }) => names(value, (name) => processCode.has(name) || name.endsWith("[*]")),
  "lanes.first": (value) => (value === null ? null : text(value)),
  "filters.channels": text,
  "filters.full": (value) => (value === null ? null : flag(value)),
  "filters.states": text,
  "panels.folded": (value, _, known) => panelNames(value, known),
  "panels.tables": (value, _, known) => panelNames(value, known),
  "panels.order": (value, _, known) => panelNames(value, known),
  "panels.sizes": (value, _, known) => sizesOf(value, known),
  "panels.tab": (value, _, { tabs }) => (tabs ? oneOf(value, tabs) : text(value)),
};

/** @param {any} value @param {KnownNames} known */
function snapshotName(value, { snapshots }) {
  if (value === null) return null;
  return isText(value) && (!snapshots || snapshots.has(value)) ? value : undefined;
}

/** @param {any} value @param {ProcessPayload[]} processes */
function isCut(value, processes) {
  if (!Array.isArray(value) || value.length !== processes.length) return false;
  return value.every((n, p) => isCount(n) && n <= (processes[p].events ?? Infinity));
}

/** @param {any} value @param {KnownNames} known */
function panelNames(value, { panels }) {
  return names(value, (name) => !panels || panels.includes(name));
}

/** @param {any} value @param {KnownNames} known @returns {Record<string, number> | undefined} */
function sizesOf(value, { panels }) {
  if (!isObject(value)) return undefined;
  /** @param {[string, any]} entry */
  const isAllowed = ([name, size]) => (!panels || panels.includes(name))
    && Number.isInteger(size) && size >= SIZES.least && size <= SIZES.most;
  return Object.fromEntries(Object.entries(value).filter(isAllowed));
}

/**
 * Reads a view that somebody else wrote, field by field. What has no meaning here is left out and listed.
 * @param {any} value @param {OpenTopology} topology @param {KnownNames} [known] @returns {CheckedView}
 */
export function checkView(value, topology, known = {}) {
  if (!isObject(value)) return { view: {}, ignored: ["the view, which is no object"] };
  /** @type {any} */
  const view = {};
  /** @type {string[]} */
  const ignored = [];
  for (const [path, given] of fieldsOf(value)) {
    const allowed = Object.hasOwn(RULES, path) ? RULES[path](given, topology, known) : undefined;
    if (sizeOfField(allowed) !== sizeOfField(given)) ignored.push(fieldText(path, given));
    if (allowed === undefined) continue;
    const [group, name] = path.split(".");
    if (name) (view[group] ??= {})[name] = allowed;
    else view[group] = allowed;
  }
  if (!hasWindow(view)) {
    if (view.from !== undefined || view.to !== undefined) ignored.push("from and to, which are no part of an axis");
    delete view.from;
    delete view.to;
  }
  return { view, ignored };
}

/** @param {PartialView} view */
function hasWindow({ from, to }) {
  return from < to;
}

/** @param {any} value @returns {[string, any][]} */
function fieldsOf(value) {
  return Object.entries(value).flatMap(([name, field]) => {
    if (!["lanes", "filters", "panels"].includes(name) || !isObject(field)) return [[name, field]];
    return /** @type {[string, any][]} */ (Object.entries(field).map(([key, inner]) => [`${name}.${key}`, inner]));
  });
}

/**
 * Returns a number that differs if something of a field was left out: -1 for all of it.
 * @param {any} field
 */
function sizeOfField(field) {
  if (field === undefined) return -1;
  if (Array.isArray(field)) return field.length;
  return isObject(field) ? Object.keys(field).length : 0;
}

/** @param {string} path @param {any} value */
function fieldText(path, value) {
  return `${shortened(path, 40)} ${shortened(JSON.stringify(value) ?? "", 60)}`;
}

/**
 * Returns whether a view names the cursor and the part in view. Then a field that it lacks is as at first.
 * @param {PartialView} view
 */
export function isComplete({ now, from, to }) {
  return now !== undefined && from !== undefined && to !== undefined;
}

/**
 * Returns the fields of a view in the form of the player's state. What the view lacks is taken from `base`.
 * @param {PartialView} view @param {PlayerState} base @param {OpenTopology} topology
 */
export function toState(view, base, topology) {
  const isWhole = isComplete(view);
  /** @param {any} plain @param {any} own */
  const start = (plain, own) => (isWhole ? plain : own);
  const panels = { ...start(PLAIN_PANELS, toView(base, topology).panels), ...view.panels };
  return {
    axis: view.axis ?? start("time", base.axis),
    snapshot: view.snapshot ?? base.snapshot,
    compared: view.compared ?? start(null, base.compared),
    selection: view.selection === undefined ? start(null, base.selection) : chosenOf(view.selection, topology),
    cut: view.cut === undefined ? start(null, base.cut) : view.cut,
    idle: view.idle ?? start(false, base.idle),
    lanes: { ...start(PLAIN_LANES, base.lanes), ...view.lanes },
    filters: { ...start(PLAIN_FILTERS, base.filters), ...view.filters },
    folded: new Set(panels.folded),
    tables: new Set(panels.tables),
    order: panels.order,
    sizes: panels.sizes,
    tab: panels.tab,
  };
}
