/** Undo and redo over values that never change themselves. Pure. */

const LIMIT = 200; // steps

/**
 * Makes the history that starts with the value `first`, to which the steps in `earlier` led.
 * @template T @param {T} first @param {T[]} [earlier]
 */
export function history(first, earlier = []) {
  let past = earlier;
  let now = first;
  /** @type {T[]} */
  let future = [];
  /** @type {string | null} */
  let typing = null;

  /**
   * Takes a new value as a step. What was undone cannot be redone any more.
   * @param {T} next
   */
  function change(next) {
    typing = null;
    if (next === now) return;
    past = [...past, now].slice(-LIMIT);
    future = [];
    now = next;
  }

  return {
    get now() {
      return now;
    },
    get past() {
      return past;
    },
    get canUndo() {
      return past.length > 0;
    },
    get canRedo() {
      return future.length > 0;
    },
    change,
    /**
     * Takes what is typed into a field. All that is typed into one field in a row is one step.
     * @param {string} field @param {T} next
     */
    type(field, next) {
      if (typing === field) now = next;
      else change(next);
      typing = field;
    },
    /**
     * Replaces the present value without a step, such as in the middle of a drag.
     * @param {T} next
     */
    amend(next) {
      typing = null;
      now = next;
    },
    undo() {
      typing = null;
      if (past.length === 0) return;
      future = [now, ...future];
      now = past.at(-1);
      past = past.slice(0, -1);
    },
    redo() {
      typing = null;
      if (future.length === 0) return;
      past = [...past, now];
      [now, ...future] = future;
    },
  };
}
