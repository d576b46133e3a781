/** The elements of entries, answers and trail items. */

import { h } from "../../../lib/dom.js";
import { counted } from "../../../lib/format.js";
import { richText } from "../../../lib/rich-text.js";

/** @type {Record<string, string>} */
const TITLES = {
  note: "Note",
  finding: "Finding",
  question: "Question",
  decision: "Decision",
  "follow-up": "Follow-up",
};
export const KINDS = Object.keys(TITLES);

/** @param {string} kind */
export const titleOf = (kind) => TITLES[kind] ?? kind;

/**
 * Makes the row of an entry.
 * @param {NoteEntry} entry @param {NoteActions} actions
 */
export function entryRow(entry, actions) {
  const { may, answers } = entry;
  const isResolved = entry.resolved_at !== null;
  const resolver = personOf(entry.resolved_by, entry.resolution_imported_from);
  const buttons = [
    may.answer && button("Answer", () => actions.compose({ of: "answer", entry })),
    may.resolve && button(isResolved ? "Reopen" : "Resolve", () => actions.resolve(entry, !isResolved)),
    may.edit && button("Edit", () => actions.compose(draftOf(entry))),
    may.delete && button("Delete", () => actions.remove(entry)),
  ];
  return h(
    `li.wb-note${isResolved ? ".is-resolved" : ""}`,
    { "data-entry": entry.id, tabindex: "-1" },
    h(
      "p.wb-note-head",
      {},
      h("b.wb-note-number", {}, String(entry.number)),
      h("span.badge", {}, titleOf(entry.kind)),
      isResolved ? h("span.badge", { title: `by ${resolver}` }, "resolved") : null,
      entry.due_on ? h("span.badge", {}, `due ${entry.due_on}`) : null,
      h("span.soft.small", {}, signature(entry)),
    ),
    placeLine(entry, actions),
    entry.text ? h("div.wb-note-text", {}, richText(entry.html)) : null,
    earlier(entry, actions),
    answers.length ? h("ul.wb-answers", {}, answers.map((answer) => answerRow(entry, answer, actions))) : null,
    h("p.wb-note-tools", {}, buttons.filter(Boolean)),
  );
}

/**
 * Makes the button that loads the answers which a list leaves out.
 * @param {NoteEntry} entry @param {NoteActions} actions
 */
function earlier(entry, actions) {
  const hidden = entry.answers_total - entry.answers.length;
  return hidden > 0 ? button(counted(hidden, "earlier answer"), () => actions.unfold(entry)) : null;
}

/** @param {NoteEntry} entry @param {NoteAnswer} answer @param {NoteActions} actions */
function answerRow(entry, answer, actions) {
  const buttons = [
    answer.may.edit && button("Edit", () => actions.compose(draftOf(answer))),
    answer.may.delete && button("Delete", () => actions.remove(answer, entry)),
  ];
  return h(
    "li",
    {},
    h("p.soft.small", {}, signature(answer)),
    h("div.wb-note-text", {}, richText(answer.html)),
    h("p.wb-note-tools", {}, buttons.filter(Boolean)),
  );
}

/** @param {NoteAnswer} entry @returns {Draft} */
function draftOf(entry) {
  return { of: "edit", entry, text: entry.text, version: entry.version };
}

/** @param {NoteAnswer} entry */
function signature({ author, imported_from: name, created_at: at, edited_at: edited }) {
  const when = at.slice(0, 16).replace("T", " ");
  return `${personOf(author, name)}, ${when} UTC${edited ? ", edited" : ""}`;
}

/**
 * Returns who wrote or resolved an entry: a person here, or a name in the file with which it came.
 * @param {string | null} person @param {string | null} imported
 */
function personOf(person, imported) {
  return person ?? (imported ? `imported from ${imported}` : "a deleted account");
}

/**
 * Makes the line that says where an entry points, and what was there.
 * @param {{ place: NotePlace | null, sentence: string }} entry @param {NoteActions} actions
 */
function placeLine({ place, sentence }, actions) {
  if (!place) return null;
  const words = sentence || place.words;
  const isShown = place.workbench ?? place.address;
  const line = isShown
    ? h("button.wb-link.wb-note-place", { type: "button", onclick: () => actions.jump(place) }, words)
    : h("span.wb-note-place", {}, words);
  /** @type {Record<string, string>} */
  const states = { gone: "gone", changed: "another one now", "not-known": "not known now" };
  const state = states[place.state];
  const why = state ? h("span.wb-note-why.small", {}, h("b", {}, `${state}: `), place.reason) : null;
  return h("p", {}, line, why);
}

/**
 * Makes the row of an item of the trail.
 * @param {TrailItem} item @param {NoteActions} actions @param {boolean} mayWrite
 */
export function trailRow(item, actions, mayWrite) {
  const buttons = [
    button("Keep", () => actions.keep(item)),
    button("Add words", () => actions.compose({ of: "keep", item })),
  ];
  return h("li.wb-note", {}, placeLine(item, actions), mayWrite ? h("p.wb-note-tools", {}, buttons) : null);
}

/** @param {string} text @param {() => unknown} run */
function button(text, run) {
  return h("button.btn.btn-quiet", { type: "button", onclick: run }, text);
}
