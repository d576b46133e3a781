/** Keyboard: which command a key press means. */

/** The name of a key press: "space", "shift+arrowleft", "ctrl+k", "?". */
export function keyName(event) {
  const base = event.key === " " ? "space" : event.key.toLowerCase();
  const command = event.ctrlKey || event.metaKey ? "ctrl+" : "";
  const shift = event.shiftKey && base.length > 1 ? "shift+" : "";
  return command + shift + base;
}

/** Whether the press belongs to an open dialog, or to what has the focus (typing, choosing, a button). */
export function isTaken(event, name) {
  const target = event.target;
  if (target.closest?.("dialog[open]")) return true;
  if (name.startsWith("ctrl+")) return false;
  if (target.isContentEditable || target.matches?.("input:not([type=range]), textarea, select")) {
    return name !== "escape";
  }
  if (target.matches?.("button, a, summary") && (name === "space" || name === "enter")) return true;
  return target.matches?.("[data-keys~=arrows]") && name.includes("arrow");
}

/** Calls the command of each key press. commands: [{keys: [names], run}]. Returns a function that ends it. */
export function listen(commands, root = document) {
  const byKey = new Map(commands.flatMap((command) => command.keys.map((key) => [key, command])));
  const onKey = (event) => {
    const name = keyName(event);
    const command = byKey.get(name);
    if (!command || event.altKey || event.defaultPrevented || isTaken(event, name)) return;
    event.preventDefault();
    command.run(event);
  };
  root.addEventListener("keydown", onKey);
  return () => root.removeEventListener("keydown", onKey);
}

/** Which way a key press goes in the history; in a text field the browser's own undo counts. */
export function historyWay(event) {
  if (!(event.ctrlKey || event.metaKey) || event.target.matches?.("input, textarea")) return null;
  const key = event.key.toLowerCase();
  if (key === "y" || (key === "z" && event.shiftKey)) return "redo";
  return key === "z" ? "undo" : null;
}
