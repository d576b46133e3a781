/** In which fields two values of JSON differ. Pure. */

import { own } from "./own.js";

/**
 * Returns the fields that differ, by their path: `users[2].name`. A field that one value lacks is undefined there.
 * @param {any} recorded @param {any} recomputed @param {string} [path] @returns {Difference[]}
 */
export function differences(recorded, recomputed, path = "") {
  if (!isCompound(recorded) || !isCompound(recomputed) || Array.isArray(recorded) !== Array.isArray(recomputed)) {
    return isSame(recorded, recomputed) ? [] : [{ path, recorded, recomputed }];
  }
  const keys = new Set([...Object.keys(recorded), ...Object.keys(recomputed)]);
  return [...keys].flatMap((key) => differences(own(recorded, key), own(recomputed, key), inside(path, key, recorded)));
}

/**
 * Returns whether a value has fields of its own.
 * @param {any} value
 */
export function isCompound(value) {
  return value !== null && typeof value === "object";
}

/** @param {any} a @param {any} b */
function isSame(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** @param {string} path @param {string} key @param {any} value */
function inside(path, key, value) {
  if (Array.isArray(value)) return `${path}[${key}]`;
  return path ? `${path}.${key}` : key;
}
