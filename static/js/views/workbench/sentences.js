/** Sentences whose nouns are links: verdicts of snapshots and of dragged cuts. Pure, but for the elements. */

import { h } from "../../lib/dom.js";
import { counted, thousands, valueText } from "../../lib/format.js";

/** A sentence in pieces: texts and {text, target}; each noun is linked where it stands as a whole word. */
export function linked(sentence, nouns) {
  const known = nouns.filter(({ text }) => text !== undefined && text !== null && String(text) !== "");
  if (!known.length) return [sentence];
  const ordered = known.toSorted((a, b) => String(b.text).length - String(a.text).length);
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

function escaped(text) {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}

/** The nouns of a finding and what they select. */
export function nounsOf(finding) {
  const sent = finding.sent && { of: "event", ...finding.sent };
  const received = finding.received && { of: "event", ...finding.received };
  return [
    {
      text: finding.message,
      target: finding.channel !== undefined
        ? { of: "message", channel: finding.channel, id: finding.message, near: finding.sent ?? finding.received }
        : null,
    },
    { text: finding.channel, target: { of: "channel", channel: finding.channel } },
    { text: finding.sent?.process, target: sent },
    { text: finding.received?.process, target: received },
    { text: finding.process, target: { of: "process", process: finding.process } },
  ].filter(({ text, target }) => text !== undefined && text !== null && target);
}

/** "B received m42 (1000) inside this cut, but A sends it after." */
export function orphanSentence({ message, value, sent, received }) {
  const amount = value === undefined || value === null ? "" : ` (${valueText(value, 40)})`;
  const arrival = `${received.process} has received ${message}${amount} inside this cut`;
  return `${arrival}, but ${sent.process} sends it only after.`;
}

/**
 * Says for a derived recording without messages in channels how many channels are known to be empty
 * in the chosen snapshot, and why.
 */
export function derivedSilence(detail, channels, between) {
  if (!detail) return between;
  const known = Object.values(detail.recorded?.channels ?? {}).length;
  const name = `Snapshot ${detail.snapshot}: `;
  const empty = known ? `${name}${counted(known, "channel")} known to be empty. ${detail.why_empty ?? ""}` : "";
  const rest = counted(channels - known, known ? "more channel" : "channel");
  const unknown = channels > known ? `${known ? "" : name}${rest} not known. ${detail.why_unknown ?? ""}` : "";
  return [empty.trim(), unknown.trim()].filter(Boolean).join(" ");
}

/** The verdict of a dragged cut in one sentence, without links. isDerived: no message was logged but at checkpoints. */
export function cutSentence(cut, isDerived = false) {
  if (cut.consistent) {
    const waiting = [...cut.channels.values()].reduce((sum, messages) => sum + messages.length, 0);
    const nothing = isDerived ? "What else lies in the channels is not known." : "All channels are empty.";
    return `No message is received before it is sent. ${waiting === 0 ? nothing : `${thousands(waiting)} in flight.`}`;
  }
  const more = cut.orphansTotal > 1 ? ` ${counted(cut.orphansTotal - 1, "more orphan")}.` : "";
  if (!cut.orphans.length) return `A message is received inside it and sent outside it.${more}`;
  return `${orphanSentence(cut.orphans[0])}${more}`;
}

/** The answers of a snapshot against which nothing speaks: what holds, and what is not known and why. */
export function answersSentence(answers) {
  const holding = answers.filter(({ answer }) => answer === "holds").map(({ question }) => question);
  const unknown = answers.filter(({ answer }) => answer === "not-known");
  const holds = holding.length ? `${listOf(holding)} ${holding.length > 1 ? "hold" : "holds"}.` : "";
  const reasons = new Map();
  for (const { question, sentence } of unknown) {
    reasons.set(sentence, [...(reasons.get(sentence) ?? []), question]);
  }
  const rest = [...reasons].map(([sentence, questions]) => `${listOf(questions)}: not known. ${sentence}`);
  return ["No witness against it.", ...[holds, ...rest].filter(Boolean).map(capitalised)].join(" ");
}

function listOf(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

function capitalised(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The elements of a sentence; go(target) is called when a noun is pressed. */
export function sentenceElements(sentence, nouns, go) {
  return linked(sentence, nouns).map(
    (piece) => (
      typeof piece === "string"
        ? piece
        : h("button.wb-link", { type: "button", onclick: () => go(piece.target) }, String(piece.text))
    ),
  );
}
