/** The keyboard: which command a key press means. */

const OF_TEXT = new Set(["ctrl+z", "ctrl+shift+z", "ctrl+y"]); // what a text field does itself

/**
 * Names a key press: "space", "shift+arrowleft", "ctrl+k", "ctrl+shift+z", "?".
 * @param {KeyboardEvent} event
 */
export function keyName(event) {
  const base = event.key === " " ? "space" : event.key.toLowerCase();
  const command = event.ctrlKey || event.metaKey ? "ctrl+" : "";
  const shift = event.shiftKey && (base.length > 1 || command) ? "shift+" : "";
  return command + shift + base;
}

/**
 * Returns whether the key belongs to an open dialog, or to the focused field, link or button.
 * @param {any} event @param {string} name
 */
export function isTaken(event, name) {
  const target = event.target;
  if (target.closest?.("dialog[open]")) return true;
  const isText = target.isContentEditable || target.matches?.("input:not([type=range]), textarea, select");
  if (name.startsWith("ctrl+")) return isText && OF_TEXT.has(name);
  if (isText) return name !== "escape";
  if (target.matches?.("button, a, summary") && (name === "space" || name === "enter")) return true;
  return target.matches?.("[data-keys~=arrows]") && name.includes("arrow");
}

/**
 * Runs the command of each key press. Returns a function that stops listening.
 * @param {Command[]} commands @param {any} [root]
 */
export function listen(commands, root = document) {
  const byKey = new Map(commands.flatMap((command) => command.keys.map((key) => [key, command])));
  /** @param {any} event */
  const onKey = (event) => {
    const name = keyName(event);
    const command = (event.shiftKey && byKey.get(`shift+${name}`)) || byKey.get(name);
    if (!command || event.altKey || event.defaultPrevented || isTaken(event, name)) return;
    event.preventDefault();
    command.run(event);
  };
  root.addEventListener("keydown", onKey);
  return () => root.removeEventListener("keydown", onKey);
}

/**
 * Returns whether a key press means undo or redo. In a text field the browser's own undo counts.
 * @param {any} event
 */
export function historyStep(event) {
  if (!(event.ctrlKey || event.metaKey) || event.target.matches?.("input, textarea")) return null;
  const key = event.key.toLowerCase();
  if (key === "y" || (key === "z" && event.shiftKey)) return "redo";
  return key === "z" ? "undo" : null;
}
