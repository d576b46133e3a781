/** Reading objects whose keys are names of an upload: a process may be called "constructor". Pure. */

/**
 * Returns what an object holds under a key, or undefined. What every object inherits does not count.
 * @param {Record<string, any> | null | undefined} object @param {string} key @returns {any}
 */
export function own(object, key) {
  return object && Object.hasOwn(object, key) ? object[key] : undefined;
}
