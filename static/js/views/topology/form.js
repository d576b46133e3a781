/** What the editors of topologies and of dataflows share: the history, and the form that carries it to the server. */

import { setText } from "../../lib/dom.js";
import { counted } from "../../lib/format.js";
import { historyStep } from "../../lib/keys.js";
import { history } from "../../lib/history.js";

const KEPT = "cutline.editor.steps"; // in sessionStorage
const MOST_KEPT = 50; // steps

/**
 * Mounts the editor of the page on its form, with the data that the server put beside it.
 * @param {(form: any, start: EditorStart) => void} mountEditor
 */
export function openEditor(mountEditor) {
  const data = document.getElementById("topology-data");
  mountEditor(document.getElementById("topology-form"), JSON.parse(data.textContent));
}

/**
 * Wires the form around an editor: undo and redo, the name, the text, saving and leaving.
 * @template T
 * @param {any} form @param {EditorStart} start @param {EditorParts<T>} parts
 */
export function mountForm(form, start, { model, show, stepped, focus }) {
  const first = model.fromDocument(start.document);
  const earlier = keptSteps().filter(() => start.unsaved);
  if (earlier.length && isSame(earlier.at(-1), first)) earlier.pop(); // it was sent
  const steps = history(first, earlier);
  const saved = steps.now;
  const undo = form.querySelector("[data-undo]");
  const redo = form.querySelector("[data-redo]");
  const warning = form.querySelector("[data-problems]");
  const text = form.elements.text;
  let refusals = model.refusalsOf(start.refusal, steps.now);
  let leaving = false;

  /**
   * Returns whether two values are the same but for the name, which the server may have given.
   * @param {T} one @param {T} other
   */
  function isSame(one, other) {
    return model.asText(model.rename(one, "")) === model.asText(model.rename(other, ""));
  }

  /** @param {T} next */
  function change(next) {
    refusals = [];
    steps.change(next);
    show();
  }

  /**
   * Takes what is typed into a row. `fields` are the new values of the fields that change.
   * @param {string} key @param {object} fields @param {(now: T, key: string, fields: object) => T} changeRow
   */
  function type(key, fields, changeRow) {
    steps.type(`${key} ${Object.keys(fields)}`, changeRow(steps.now, key, fields));
    refusals = [];
    show();
  }

  /** @param {"undo" | "redo"} direction */
  function step(direction) {
    steps[direction]();
    stepped();
    show();
  }

  /** Shows what can be undone, and how many fields are wrong. */
  function showState() {
    undo.disabled = !steps.canUndo;
    redo.disabled = !steps.canRedo;
    const { length } = model.problems(steps.now);
    warning.hidden = length === 0;
    setText(warning, length ? `${counted(length, "field")} to correct before this can be saved.` : "");
  }

  undo.addEventListener("click", () => step("undo"));
  redo.addEventListener("click", () => step("redo"));
  document.addEventListener("keydown", (event) => {
    const direction = historyStep(event);
    if (!direction) return;
    event.preventDefault();
    step(direction);
  });
  const { name } = form.elements;
  name.addEventListener("input", () => steps.amend(model.rename(steps.now, name.value)));
  text.closest("details").addEventListener("toggle", (/** @type {any} */ event) => {
    if (event.target.open && !text.value) text.value = model.asText(steps.now);
  });
  form.addEventListener("submit", (/** @type {any} */ event) => {
    const isRead = event.submitter?.value === "read";
    const [first] = isRead ? [] : model.problems(steps.now);
    if (first) {
      event.preventDefault();
      focus(first.key, first.field);
      return;
    }
    form.elements.document.value = JSON.stringify(model.toDocument(steps.now));
    keepSteps([...steps.past, steps.now]);
    leaving = true;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && (start.unsaved || steps.now !== saved)) event.preventDefault();
  });

  /** Makes the form usable, with the first field that the server refused in focus. */
  function open() {
    form.classList.add("is-live");
    if (refusals.length) focus(refusals[0].key, refusals[0].field);
  }

  return { steps, change, type, showState, open, refusals: () => refusals };
}

/**
 * Keeps the last steps until the server has answered, so that a refusal leaves something to undo.
 * @param {unknown[]} steps
 */
function keepSteps(steps) {
  try {
    sessionStorage.setItem(KEPT, JSON.stringify(steps.slice(-MOST_KEPT)));
  } catch {
    sessionStorage.removeItem(KEPT); // there is no room: the page works without
  }
}

/** Returns the steps that were kept, and forgets them. */
function keptSteps() {
  const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "[]");
  sessionStorage.removeItem(KEPT);
  return kept;
}

/**
 * Marks the chosen one of a group of buttons that exclude each other.
 * @param {HTMLElement[]} buttons @param {HTMLElement} chosen
 */
export function pressOnly(buttons, chosen) {
  for (const button of buttons) button.setAttribute("aria-pressed", String(button === chosen));
}
