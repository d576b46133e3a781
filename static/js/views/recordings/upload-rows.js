/** The panels of the files that are being uploaded: their bytes, their jobs, or why they were refused. */

import { h, setText } from "../../lib/dom.js";
import { counted, duration, fileSize, thousands } from "../../lib/format.js";
import { create } from "../../lib/svg.js";
import { makeCard, showJob } from "../jobs/card.js";
import { isOpen } from "../jobs/words.js";
import { offered, placeOf, withFormat } from "./upload-queue.js";

const APART = "Each becomes a recording of its own.";
const NOTHING_KEPT = "Nothing of this file was kept. Correct it and upload it again.";
const STILL_KEPT = "What was sent is kept by the server until the upload expires.";
const SHOWN_DEFECTS = 5;

/**
 * Mounts the panels on `root`, one for each file.
 * @param {HTMLElement} root
 * @param {object} options @param {(id: number) => void} options.cancelJob stops a job
 * @param {(item: Upload) => void} options.again sends a file in another way
 * @param {{ value: string, text: string }[]} options.formats the choices of a form's list
 */
export function mountUploadRows(root, { cancelJob, again, formats }) {
  const rows = new Map();
  const byJob = new Map();

  /** @param {Upload} file */
  function rowOf(file) {
    if (!rows.has(file)) {
      const words = h("span.soft");
      const recognised = h("span.soft.small.upload-recognised");
      const body = h("div.panel-body.stack");
      const row = h("section.panel.upload-row", { "aria-label": file.name },
        h("div.panel-head", {}, h("strong.clip", { title: file.name }, file.name), recognised, words), body);
      root.prepend(row);
      rows.set(file, { row, words, recognised, body });
    }
    return rows.get(file);
  }

  /**
   * Shows an event of `sendAll`.
   * @param {UploadEvent} event
   */
  function on(event) {
    const { row, words, recognised, body } = rowOf(event.file);
    row.dataset.state = event.type;
    if (event.type === "waiting") setText(words, `${fileSize(event.file.size)}, waiting`);
    else if (event.type === "sending") showBytes(event);
    else if (event.type === "refused") showRefusal(event.file, event.problem);
    else setText(words, "sent, waiting for a worker");
    if (event.type === "accepted") {
      const { id, job, recognised: reason, notes, same_file: same = [] } = event.body;
      setText(recognised, reason ?? "");
      body.replaceChildren(...(notes ? [h("p.small", { "data-notes": true }, notes)] : []), ...sameWords(same));
      if (job === null) showHere(event.file, id);
      else byJob.set(job, event.file);
    }
  }

  /**
   * Shows that the recording of a file was here already.
   * @param {Upload} file @param {number} id
   */
  function showHere(file, id) {
    const { row, words } = rows.get(file);
    row.dataset.state = "done";
    words.replaceChildren(h("a", { href: `/recordings/${id}/notes` }, "open its notes"));
    offerDismissal(file);
  }

  /** @param {UploadEvent} event */
  function showBytes(event) {
    const { words, body } = rows.get(event.file);
    const { sent, total } = event;
    const text = [`${fileSize(sent)} of ${fileSize(total)}`, ...paceWords(event)].join(", ");
    setText(words, text);
    const share = total ? sent / total : 0;
    if (!body.firstChild) {
      body.append(
        h(
          "div.progress",
          { role: "progressbar", "aria-label": "Upload", "aria-valuemin": "0", "aria-valuemax": "100" },
          create("svg"),
        ),
      );
    }
    body.firstChild.setAttribute("aria-valuenow", String(Math.round(share * 100)));
    body.firstChild.setAttribute("aria-valuetext", text);
    body.firstChild.firstChild.setAttribute("width", `${100 * share}%`);
    if (event.control) showPieces(event);
  }

  /**
   * Shows what a person can do with an upload in pieces, and why it does not go on by itself.
   * @param {UploadEvent} event
   */
  function showPieces({ file, state, why, id, control }) {
    const { words, body } = rows.get(file);
    words.setAttribute("aria-live", "off"); // the bar says it to whoever asks; each change would be too much
    root.querySelector(`[data-unfinished="${id}"]`)?.remove();
    if (!body.querySelector("[data-pause]")) {
      body.append(
        h("p.small.upload-why", { role: "status" }),
        h("div.row", {},
          h("button.btn", { type: "button", "data-pause": true, "aria-label": `Pause ${file.name}`,
            onclick: () => control.pause() }, "Pause"),
          h("button.btn.btn-primary", { type: "button", "data-go-on": true, "aria-label": `Go on with ${file.name}`,
            onclick: () => control.goOn() }, "Go on"),
          h("button.btn.btn-quiet", { type: "button", "aria-label": `Discard ${file.name}`,
            onclick: () => control.discard() }, "Discard")),
      );
    }
    const [pause, goOn] = ["[data-pause]", "[data-go-on]"].map((name) => body.querySelector(name));
    const hadFocus = document.activeElement === pause || document.activeElement === goOn;
    pause.hidden = state === "paused";
    goOn.hidden = state === "sending";
    if (hadFocus) (state === "paused" ? goOn : pause).focus();
    setText(body.querySelector(".upload-why"), whyWords(state, why));
  }

  /**
   * Offers to take away the panel of a file that nothing happens to any more.
   * @param {Upload} file
   */
  function offerDismissal(file) {
    const { row } = rows.get(file);
    if (row.querySelector("[data-dismiss]")) return;
    const onclick = () => row.remove();
    const label = `Dismiss ${file.name}`;
    row.firstElementChild.append(
      h("button.btn.btn-quiet", { type: "button", "data-dismiss": true, "aria-label": label, onclick }, "Dismiss"),
    );
  }

  /** @param {Upload} file @param {ProblemPayload} problem */
  function showRefusal(file, problem) {
    const { row, words, body } = rows.get(file);
    row.dataset.level = "error";
    offerDismissal(file);
    setText(words, "refused");
    const others = (problem.defects ?? []).slice(1, SHOWN_DEFECTS);
    const hidden = (problem.defects_total ?? 0) - others.length - 1;
    const lines = others.map(({ line, sentence }) => (line ? `Line ${thousands(line)}: ${sentence}` : sentence));
    body.replaceChildren(
      h("p.field-error", { role: "alert" }, problem.detail),
      ...(placeOf(problem) && !problem.choices ? [h("p.soft.small", {}, placeOf(problem))] : []),
      ...(problem.excerpt ? [h("pre.excerpt", {}, problem.excerpt)] : []),
      ...(lines.length ? [h("ul.small", {}, lines.map((line) => h("li", {}, line)))] : []),
      ...(hidden > 0 ? [h("p.small.soft", {}, `and ${thousands(hidden)} more defects`)] : []),
      ...(problem.instead ? [h("p.small", {}, h("a", { href: problem.instead }, "Make a mapping of its fields"))] : []),
      ...(problem.choices ? [choices(offered(file, problem))] : otherFormat(file, problem)),
      ...(problem.kept ? [goOn(file)] : []),
      h("p.small.soft", {}, problem.choices ? APART : problem.kept ? STILL_KEPT : NOTHING_KEPT),
    );
  }

  /**
   * Offers to go on with an upload that the server has a part of.
   * @param {Upload} file
   */
  function goOn(file) {
    const onclick = () => {
      rows.get(file).row.remove();
      rows.delete(file);
      again(file);
    };
    return h("div.row", {},
      h("button.btn.btn-primary", { type: "button", "aria-label": `Go on with ${file.name}`, onclick }, "Go on"));
  }

  /** @param {Offer[]} offers */
  function choices(offers) {
    const choose = (/** @type {any} */ event, /** @type {Upload} */ item) => {
      event.currentTarget.disabled = true;
      again(item);
    };
    const buttons = offers.map(({ item, words }) =>
      h("button.btn", { type: "button", onclick: (/** @type {Event} */ event) => choose(event, item) }, words));
    return h("div.row", { role: "group", "aria-label": "Which of them to read" }, buttons);
  }

  /**
   * Offers to read a file as another format, if it could not be read as the one that was recognised.
   * @param {Upload} file @param {ProblemPayload} problem
   */
  function otherFormat(file, { status }) {
    if (status !== 422) return [];
    const select = h(
      "select.input",
      { "aria-label": "Format" },
      formats.map(({ value, text }) => h("option", { value }, text)),
    );
    select.value = file.format ?? "";
    select.addEventListener("change", () => {
      rows.get(file).row.remove();
      again(withFormat(file, select.value));
    });
    return [h("label.small.soft.upload-format", {}, "Read it as ", select)];
  }

  /**
   * Shows the progress of an uploaded file's job.
   * @param {JobPayload} job
   */
  function onJob(job) {
    const file = byJob.get(job.id);
    if (!file) return;
    const { row, words, body } = rows.get(file);
    const card = body.querySelector(".job-card");
    if (card) showJob(card, job);
    else body.prepend(makeCard(job, () => cancelJob(job.id)));
    row.dataset.state = job.state;
    if (!isOpen(job)) offerDismissal(file);
    words.replaceChildren(h("a", { href: `/recordings/${job.recording}` }, job.state === "done" ? "open" : "follow"));
    if (job.error && !body.querySelector(".field-error")) {
      body.append(h("p.field-error", { role: "alert" }, job.error.detail));
      if (job.error.excerpt) body.append(h("pre.excerpt", {}, job.error.excerpt));
      if (job.error.choices && !file.parts) body.append(choices(offered(file, job.error)));
    }
  }

  return { on, onJob, jobs: () => [...byJob.keys()] };
}

/**
 * Says that the file is a recording already, and which one.
 * @param {{ id: number, name: string, created_at: string }[]} same
 */
function sameWords([newest, ...others]) {
  if (!newest) return [];
  const link = h("a", { href: `/recordings/${newest.id}` }, newest.name);
  const more = others.length ? `, and ${counted(others.length, "time")} before that` : "";
  return [h("p.small", { "data-same": true },
    `This file was uploaded on ${newest.created_at.slice(0, 10)} as `, link, `${more}. It is being read once more.`)];
}

/** @param {UploadEvent} event */
function paceWords({ state, rate, left }) {
  if (state === "paused") return ["paused"];
  if (state !== "sending" || !rate) return [];
  return [`${fileSize(rate)}/s`, left === null ? "" : `${duration(Math.ceil(left), "s")} left`].filter(Boolean);
}

/** @param {string} state @param {string} why */
function whyWords(state, why) {
  if (state === "paused") return "Paused. What was sent is kept by the server.";
  if (state === "waiting") return `${why} The upload goes on from there as soon as it can.`;
  if (state === "discarding") return `${why} The upload is discarded as soon as that is possible.`;
  return "";
}
