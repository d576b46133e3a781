/** Sentences whose nouns are links: the verdicts of snapshots and of dragged cuts. Pure, but for the elements. */

import { inFlightCount } from "../../lib/shown.js";
import { h } from "../../lib/dom.js";
import { counted, isGiven, thousands, valueText } from "../../lib/format.js";

/**
 * Splits a sentence into texts and nouns. A noun is found where it is a whole word.
 * @param {string} sentence @param {Noun[]} nouns @returns {(string | Noun)[]}
 */
export function linked(sentence, nouns) {
  const given = nouns.filter(({ text }) => isGiven(text));
  if (!given.length) return [sentence];
  const ordered = given.toSorted((a, b) => String(b.text).length - String(a.text).length);
  const pattern = ordered.map(({ text }) => escaped(String(text))).join("|");
  const pieces = [];
  let end = 0;
  for (const match of sentence.matchAll(new RegExp(`(?<![\\w>-])(?:${pattern})(?![\\w]|->)`, "gu"))) {
    if (match.index > end) pieces.push(sentence.slice(end, match.index));
    pieces.push(ordered.find(({ text }) => String(text) === match[0]));
    end = match.index + match[0].length;
  }
  if (end < sentence.length) pieces.push(sentence.slice(end));
  return pieces;
}

/** @param {string} text */
function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/**
 * Returns the nouns of a finding and what each of them selects.
 * @param {Finding} finding @returns {Noun[]}
 */
export function nounsOf({ message, channel, process, sent, received }) {
  /** @type {Noun[]} */
  const nouns = [
    { text: channel, target: { of: "channel", channel } },
    { text: sent?.process, target: sent && { of: "event", ...sent } },
    { text: received?.process, target: received && { of: "event", ...received } },
    { text: process, target: { of: "process", process } },
  ];
  if (channel !== undefined) {
    nouns.unshift({ text: message, target: { of: "message", channel, id: message, sent, received } });
  }
  return nouns.filter(({ text }) => text !== undefined && text !== null);
}

/**
 * Says what is wrong with an orphan: "B has received m42 (1000) inside this cut, but A sends it only after."
 * @param {Finding} finding
 */
function orphanSentence({ message, value, sent, received }) {
  const amount = value === undefined || value === null ? "" : ` (${valueText(value, 40)})`;
  const arrival = `${received.process} has received ${message}${amount} inside this cut`;
  return `${arrival}, but ${sent.process} sends it only after.`;
}

/**
 * Says how many channels of a derived recording are known to be empty in the chosen snapshot, and why.
 * @param {SnapshotDetail | null} detail @param {number} channels @param {string} between
 */
export function derivedContents(detail, channels, between) {
  if (!detail) return between;
  const known = Object.values(detail.recorded?.channels ?? {}).length;
  const name = `Snapshot ${detail.snapshot}: `;
  const empty = known ? `${name}${counted(known, "channel")} known to be empty. ${detail.why_empty ?? ""}` : "";
  const rest = counted(channels - known, known ? "more channel" : "channel");
  const unknown = channels > known ? `${known ? "" : name}${rest} not known. ${detail.why_unknown ?? ""}` : "";
  return [empty.trim(), unknown.trim()].filter(Boolean).join(" ");
}

/**
 * Returns the cell of a table and of its CSV for a number of messages. A derived recording that shows no message does
 * not show that there was none.
 * @param {number} count @param {boolean} [isDerived]
 */
export function countCell(count, isDerived = false) {
  return isDerived && count === 0 ? "not known" : count;
}

/** What past and future mean here, for a cut or a condition is judged by messages alone. */
export const CAUSALITY =
  "Messages and markers carry influence here. Cuts, “possibly” and “definitely” look at messages only.";

/**
 * Says how many events lie neither in the past nor in the future of an event. A derived recording lacks most events.
 * @param {number} count @param {boolean} [isDerived]
 */
export function concurrentWords(count, isDerived = false) {
  return isDerived
    ? `Of ${counted(count, "event")} the recording does not show whether it came before or after.`
    : `${thousands(count)} concurrent: neither before nor after it.`;
}

/**
 * Returns the verdict that colours a dragged cut, and its words. A derived recording lacks the events between two
 * checkpoints, so that no cut of it is known to be consistent.
 * @param {Cut} cut @param {boolean} [isDerived] @returns {[string, string]}
 */
export function cutResult(cut, isDerived = false) {
  if (cut.consistent === false) return ["orphan", "not consistent"];
  return isDerived || cut.consistent === null ? ["unknown", "not known"] : ["consistent", "consistent"];
}

/**
 * Says the verdict of a dragged cut. A derived recording has messages only at checkpoints.
 * @param {Cut} cut @param {boolean} [isDerived]
 */
export function cutSentence(cut, isDerived = false) {
  if (cut.consistent !== false) {
    const waiting = inFlightCount(cut);
    if (isDerived) {
      const there = waiting === 0 ? "" : ` ${counted(waiting, "message")} of a checkpoint in flight.`;
      return `The engine keeps no events between two checkpoints, so nothing tells what else passed.${there}`;
    }
    if (cut.strays) {
      return `The log has no send for ${counted(cut.strays, "receive")} inside it, so it may be inconsistent.`;
    }
    const inFlight = waiting === 0 ? "All channels are empty." : `${thousands(waiting)} in flight.`;
    return `No message is received before it is sent. ${inFlight}`;
  }
  const more = cut.orphansTotal > 1 ? ` ${counted(cut.orphansTotal - 1, "more orphan")}.` : "";
  if (!cut.orphans.length) return `A message is received inside it and sent outside it.${more}`;
  return `${orphanSentence(cut.orphans[0])}${more}`;
}

/**
 * Words the answers of a snapshot against which nothing speaks: what holds, and what is not known and why.
 * @param {AnswerPayload[]} answers
 */
export function answersSentence(answers) {
  const holding = answers.filter(({ answer }) => answer === "holds").map(({ question }) => question);
  const holds = holding.length ? `${listOf(holding)} ${holding.length > 1 ? "hold" : "holds"}.` : "";
  /** @type {Map<string, string[]>} */
  const reasons = new Map();
  for (const { answer, question, sentence } of answers) {
    if (answer === "not-known") reasons.set(sentence, [...(reasons.get(sentence) ?? []), question]);
  }
  const rest = [...reasons].map(([sentence, questions]) => `${listOf(questions)}: not known. ${sentence}`);
  return ["No witness against it.", ...[holds, ...rest].filter(Boolean).map(capitalised)].join(" ");
}

/**
 * Says in one line the outcome of a snapshot and its four answers.
 * @param {SnapshotSummary} summary
 */
export function chipTitle({ snapshot, verdict, outcome, answers }) {
  /** @type {Record<string, string>} */
  const words = { holds: "holds", "does-not-hold": "does not hold", "not-known": "not known" };
  /** @type {Map<string, string[]>} */
  const byAnswer = new Map();
  for (const { answer, question } of answers ?? []) {
    byAnswer.set(words[answer], [...(byAnswer.get(words[answer]) ?? []), question]);
  }
  const lines = [...byAnswer].map(([word, questions]) => `${word}: ${listOf(questions)}`);
  return [`Snapshot ${snapshot}: ${outcome ?? verdict}`, ...lines].join("; ");
}

/** @param {string[]} words */
function listOf(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** @param {string} text */
function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/**
 * Makes the elements of a sentence. `go` is called with the target of a noun that is pressed.
 * @param {string} sentence @param {Noun[]} nouns @param {(target: LinkTarget) => void} go
 */
export function sentenceElements(sentence, nouns, go) {
  return linked(sentence, nouns).map(
    (piece) => (
      typeof piece === "string"
        ? piece
        : h("button.wb-link", { type: "button", onclick: () => go(piece.target) }, String(piece.text))
    ),
  );
}
