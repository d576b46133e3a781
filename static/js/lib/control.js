/** What tasks and coordinators do in a window, as the server tells it. Pure. */

import { decode } from "./arrays.js";

/**
 * Decodes what a window says of them.
 * @param {ControlPayload | undefined} payload @returns {OpenControl}
 */
export function openControl(payload) {
  const names = payload?.doing_names ?? [];
  const kinds = payload?.signal_names ?? [];
  const doings = rowsOf(payload?.doings).map((row) => ({ ...row, what: names[row.what] }));
  const signals = rowsOf(payload?.signals).map((row) => ({ ...row, kind: kinds[row.kind] }));
  const sentence = [
    payload?.why_not ?? "",
    payload?.doings_hidden ? `${payload.doings_hidden} short stretches of what tasks do are left out. ` : "",
    payload && payload.signals_total > signals.length ? "Too many signals of the coordinator to draw: zoom in. " : "",
  ].join("");
  return { doings, signals, sentence };
}

/**
 * Returns an object for each row of a table.
 * @param {Record<string, Packed> | undefined} table @returns {any[]}
 */
function rowsOf(table) {
  const columns = Object.entries(table ?? {}).map(([name, column]) => /** @type {const} */ ([name, decode(column)]));
  const count = columns[0]?.[1].length ?? 0;
  return Array.from({ length: count }, (_, row) =>
    Object.fromEntries(columns.map(([name, column]) => [name, column[row]])));
}

/**
 * Returns what goes on at `x`.
 * @param {OpenWindow | null} window @param {number} x
 */
const goingOn = (window, x) => (window?.control.doings ?? []).filter(({ since, until }) => since <= x && x < until);

/**
 * Returns the codes of the channels that are blocked at `x`.
 * @param {OpenWindow | null} window @param {number} x
 */
export function blockedAt(window, x) {
  return new Set(goingOn(window, x).filter(({ what }) => what === "blocked").map(({ channel }) => channel));
}

/**
 * Returns, by the code of its process, that a task is down or comes back at `x`.
 * @param {OpenWindow | null} window @param {number} x @returns {Map<number, string>}
 */
export function downAt(window, x) {
  const found = goingOn(window, x).filter(({ what }) => what === "down" || what === "restoring");
  return new Map(found.map(({ process, what }) => [process, what]));
}
