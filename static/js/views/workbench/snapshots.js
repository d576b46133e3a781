/** The snapshots of the header: their strip, the sentence of the verdict, and what views show of the chosen one. */

import { h, renderOnce, setText } from "../../lib/dom.js";
import { counted, duration, thousands } from "../../lib/format.js";
import { decode } from "../../lib/arrays.js";
import { inFlightCount } from "../../lib/shown.js";
import { hasAny } from "../../lib/player.js";
import { WHOLE } from "../../lib/rows.js";
import { inOrder } from "../../lib/source.js";
import { inStrip, nextWithFindings, partOfStrip, phaseAtCut, snapshotOfCut, withFindings } from "../../lib/strip.js";
import { openDetail, withRowsOf } from "./snapshot-rows.js";
import { answersSentence, chipTitle, cutResult, cutSentence, nounsOf, sentenceElements } from "./sentences.js";

/** @param {App} app @param {SnapshotSummary[]} summaries */
export function createSnapshots(app, summaries) {
  const { player, topology } = app;
  const strip = app.root.querySelector("#wb-snapshots");
  const verdict = app.root.querySelector("#wb-verdict");
  const spoken = app.root.querySelector("#wb-verdict-spoken");
  const byId = new Map(summaries.map((summary) => [summary.snapshot, opened(summary)]));
  const details = new Map();
  /** @type {number | undefined} */
  let speak;
  let loads = 0; // answers about snapshots, whose number says that there is a new one
  let isFilling = false;

  const tools = app.root.querySelector("#wb-strip-tools");
  const count = tools.querySelector("#wb-strip-count");
  const failed = tools.querySelector("#wb-strip-failed");
  const worst = tools.querySelector("#wb-strip-worst");
  let isWorstFirst = false;
  let shownAround = -1; // a place in the strip, -1 for that of the chosen snapshot

  /** @param {SnapshotSummary} summary @returns {OpenSummary} */
  function opened(summary) {
    return { ...summary, codes: summary.positions ? inOrder(summary.positions, topology.processes) : null };
  }

  /** @param {SnapshotDetail} detail @returns {OpenSummary} */
  function openedWhole(detail) {
    return { ...detail, codes: Array.from(decode(detail.outline.positions)) };
  }

  const chosen = () => byId.get(player.state.snapshot) ?? null;

  function drawStrip() {
    const order = inStrip(summaries, isWorstFirst);
    const at = order.findIndex(({ snapshot }) => snapshot === player.state.snapshot);
    const { from, to } = partOfStrip(order.length, shownAround < 0 ? at : shownAround);
    strip.replaceChildren(
      ...(from > 0 ? [others(`${thousands(from)} before`, from - 1, true)] : []),
      ...order.slice(from, to).map(chip),
      ...(to < order.length ? [others(`${thousands(order.length - to)} after`, to, false)] : []),
    );
    if (!summaries.length) {
      const none = app.recording.status === "open" ? "No snapshot is judged yet." : "No snapshot in this recording.";
      strip.append(h("span.soft", {}, `${none} Press c to draw your own cut.`));
    }
    tools.hidden = summaries.length < 2;
    setText(count, `${at >= 0 ? thousands(at + 1) : "–"} of ${thousands(order.length)}`);
    const failing = withFindings(summaries).length;
    failed.hidden = worst.hidden = failing === 0;
    setText(failed, `${thousands(failing)} with findings`);
    worst.setAttribute("aria-pressed", String(isWorstFirst));
  }

  failed.addEventListener("click", () => {
    const next = nextWithFindings(inStrip(summaries, isWorstFirst), player.state.snapshot);
    if (next) app.chooseSnapshot(next.snapshot);
  });
  worst.addEventListener("click", () => {
    isWorstFirst = !isWorstFirst;
    shownAround = -1;
    drawStrip();
  });

  /**
   * Makes a button that shows the part of the strip before or after this one, from its near end.
   * @param {string} text @param {number} place @param {boolean} isBefore
   */
  function others(text, place, isBefore) {
    function show() {
      shownAround = place;
      drawStrip();
      strip.scrollLeft = isBefore ? strip.scrollWidth : 0;
    }
    return h("button.btn.btn-quiet", { type: "button", onclick: show }, text);
  }

  /** @param {SnapshotSummary} summary */
  function chip(summary) {
    const isChosen = summary.snapshot === player.state.snapshot;
    const button = h(
      "button.wb-chip",
      {
        type: "button",
        "aria-pressed": String(isChosen),
        title: chipTitle(summary),
        onclick: () => app.chooseSnapshot(summary.snapshot),
      },
      h("b", {}, String(summary.snapshot)),
      h("span.verdict", { "data-verdict": summary.verdict }, summary.outcome ?? summary.verdict),
    );
    if (isChosen) requestAnimationFrame(() => bringIntoStrip(button));
    return button;
  }

  /**
   * Scrolls the strip until it begins with a button that was not whole in view, without scrolling the page. So the
   * name of the button before is not cut off at its beginning.
   * @param {HTMLElement} button
   */
  function bringIntoStrip(button) {
    const [inner, outer] = [button.getBoundingClientRect(), strip.getBoundingClientRect()];
    if (inner.left < outer.left || inner.right > outer.right) strip.scrollLeft += inner.left - outer.left;
  }

  /**
   * Loads what a snapshot recorded.
   * @param {string | null} id
   */
  async function load(id) {
    if (id === null || details.has(id)) return;
    details.set(id, null);
    try {
      const rows = firstRows();
      const detail = openDetail(await app.source.partOfSnapshot(id, rows), rows, topology);
      details.set(id, detail);
      if (!byId.get(id).codes) {
        byId.set(id, { ...byId.get(id), ...openedWhole(detail) });
        player.set({ whole: id });
      }
      player.set({ detail: (loads += 1) });
    } catch (error) {
      details.delete(id);
      app.say(`Snapshot ${id} could not be loaded: ${error.message}`);
    }
  }

  /** Returns what to ask of a snapshot first: all channels of a small recording, else the first that hold messages. */
  function firstRows() {
    const areFew = topology.channels.length <= WHOLE;
    return { ...app.listed.first(), channels: areFew ? [...topology.channels.keys()] : null };
  }

  /** Loads the rows of the chosen snapshot that the panels list and that are not here yet, one request at a time. */
  async function fill() {
    const id = player.state.snapshot;
    const detail = details.get(id);
    const missing = detail && !isFilling ? app.listed.missingOf(detail) : null;
    if (!missing) return;
    isFilling = true;
    try {
      const more = openDetail(await app.source.partOfSnapshot(id, missing), missing, topology);
      details.set(id, withRowsOf(detail, more));
    } catch (error) {
      return app.say(`More of snapshot ${id} could not be loaded: ${error.message}`);
    } finally {
      isFilling = false;
    }
    player.set({ detail: (loads += 1) });
  }

  /**
   * Returns the phase of process `p` for the chosen snapshot, one of PHASES in topology.js, or null without one.
   * @param {number} p @param {PlayerState} state @returns {string | null}
   */
  function phaseOf(p, { shown, cut, moment }) {
    const summary = chosen();
    if (!summary?.codes || !shown) return null;
    const recordsAt = summary.codes[p];
    const missing = app.recording.is_derived ? "no record" : "never records";
    if (recordsAt < 0) return includes(summary, p) ? missing : "not part of it";
    if (cut && shown.positions[p] === cut[p]) return phaseAtCut(cut[p], recordsAt);
    if (shown.positions[p] <= recordsAt) return "not recorded";
    return moment?.spread?.done.has(p) ? "done" : "recording";
  }

  /**
   * Returns whether process `p` belongs to a scope of the snapshot. One that nobody recorded is of all scopes.
   * @param {OpenSummary} summary @param {number} p
   */
  function includes({ codes }, p) {
    const scopes = new Set(topology.processes.filter((_, n) => codes[n] >= 0).map(({ scope }) => scope));
    return !scopes.size || scopes.has(topology.processes[p].scope);
  }

  /**
   * Returns the first and the last place of a snapshot on an axis, or null if they are not known.
   * @param {SnapshotSummary} summary @param {Axis} axis @returns {[number, number] | null}
   */
  function spanOf(summary, axis) {
    if (axis === "time") {
      return Number.isFinite(summary.began_at) ? [summary.began_at, summary.ended_at ?? summary.began_at] : null;
    }
    const events = eventsIn(byId.get(summary.snapshot));
    return events === null ? null : [events, events];
  }

  /** @param {OpenSummary} summary */
  function eventsIn({ codes, events }) {
    if (!codes) return events ?? null;
    return codes.some((n) => n < 0) ? null : codes.reduce((sum, n) => sum + n, 0);
  }

  /**
   * Resolves with the place where the last process recorded, or null if it is not known.
   * @param {SnapshotSummary} summary @param {Axis} axis
   */
  async function placeOf(summary, axis) {
    const recorded = axis === "time" ? await recordedBetween(summary) : null;
    return (recorded ?? spanOf(summary, axis))?.[1] ?? null;
  }

  /** @param {SnapshotSummary} summary */
  async function recordedBetween({ snapshot }) {
    const detail = await app.source.snapshot(snapshot).catch(() => /** @type {SnapshotDetail | null} */ (null));
    return detail?.outline.recorded_between ?? null;
  }

  /**
   * Resolves with the first and the last place where a process recorded for the chosen snapshot, or null.
   * @param {Axis} axis
   */
  async function recordedSpan(axis) {
    const summary = chosen();
    if (!summary || axis === "order") return summary && spanOf(summary, axis);
    return recordedBetween(summary);
  }

  /** @param {PlayerState} state */
  function drawVerdict(state) {
    app.root.querySelector("[data-command=cut]").setAttribute("aria-pressed", String(Boolean(state.cut)));
    if (state.cut) return drawCutVerdict(state);
    const summary = chosen();
    verdict.classList.remove("is-cut");
    if (!summary) {
      return void renderOnce(verdict, "none", () => h("span.soft", {}, summaries.length ? "No snapshot chosen." : ""));
    }
    const shown = app.witness.shownOf(summary.snapshot)?.sentence;
    renderOnce(
      verdict,
      `snapshot ${summary.snapshot} ${summary.codes ? "" : "in brief"} ${shown}`,
      () => [word(summary.verdict, summary.outcome), h("span", {}, ...snapshotSentence(summary))],
    );
    say(`Snapshot ${summary.snapshot}: ${summary.outcome ?? summary.verdict}.`);
  }

  /** @param {OpenSummary} summary */
  function snapshotSentence(summary) {
    const href = `${app.urls.snapshotPage}/${encodeURIComponent(summary.snapshot)}`;
    const findings = summary.verdicts ?? [];
    const worst = app.witness.shownOf(summary.snapshot) ?? findings.find(({ verdict: name }) => name !== "consistent");
    const others = findings.length - 1;
    const none = summary.codes ? [answersSentence(summary.answers ?? [])] : [];
    const words = worst?.sentence ? sentenceElements(worst.sentence, nounsOf(worst), app.go) : none;
    /** @param {string} text */
    const toPage = (text) => (app.isVisitor ? text : h("a", { href }, text));
    const more = worst && others > 0 ? [" ", toPage(counted(others, "more finding"))] : [];
    const page = toPage(`Snapshot ${summary.snapshot}`);
    return [page, ": ", ...words, ...more, h("span.soft", {}, ` ${factsOf(summary)}`)];
  }

  /** @param {SnapshotSummary} summary */
  function factsOf({ initiators, duration: length, markers_received: markers }) {
    const facts = [];
    if (initiators?.length) facts.push(`begun by ${initiators.join(", ")}`);
    if (Number.isFinite(length)) facts.push(`took ${duration(length, app.recording.time_unit)}`);
    if (Number.isFinite(markers) && !app.recording.is_derived) facts.push(counted(markers, "marker"));
    return facts.length ? `${facts.join(", ")}.`.replace(/^./, (first) => first.toUpperCase()) : "";
  }

  /** @param {PlayerState} state */
  function drawCutVerdict({ shown, cut }) {
    verdict.classList.add("is-cut");
    if (!shown || shown.positions.some((n, p) => n !== cut[p])) return;
    const orphans = shown.orphans.map(({ channel, message }) => `${channel} ${message}`);
    const same = snapshotOfCut([...byId.values()], cut);
    const counts = `${shown.strays} ${inFlightCount(shown)}`;
    const key = `cut ${shown.consistent} ${counts} ${orphans} ${same?.snapshot}`;
    const [look, result] = cutResult(shown, app.recording.is_derived);
    const sentence = cutSentence(shown, app.recording.is_derived);
    const nouns = shown.orphans.slice(0, 1).flatMap(nounsOf);
    const nearest = { type: "button", id: "wb-nearest", onclick: () => app.nearest() };
    const isDrawn = renderOnce(verdict, key, () => [
      word(look, result),
      h(
        "span",
        {},
        h("b", {}, same ? `Your cut, which is that of snapshot ${same.snapshot}: ` : "Your cut: "),
        ...sentenceElements(sentence, nouns, app.go),
      ),
      h(
        "span.wb-cut-actions",
        {},
        shown.nearest ? h("button.btn", nearest, "Nearest consistent cut") : null,
        h("button.btn.btn-quiet", { type: "button", onclick: () => app.endCut() }, "Done (Esc)"),
      ),
    ]);
    if (isDrawn) say(`Your cut: ${result}. ${sentence}`);
  }

  /** @param {string} name @param {string} [text] */
  function word(name, text = name) {
    return h("span.verdict", { "data-verdict": name }, text);
  }

  /**
   * Reads a sentence to screen readers when it has not changed for a moment.
   * @param {string} sentence
   */
  function say(sentence) {
    clearTimeout(speak);
    speak = setTimeout(() => setText(spoken, sentence), 500);
  }

  drawStrip();

  return {
    list: () => summaries,
    inStrip: () => inStrip(summaries, isWorstFirst),
    chosen,
    detail: () => details.get(player.state.snapshot) ?? null,
    phaseOf,
    spanOf,
    placeOf,
    recordedSpan,
    byId,
    /**
     * Shows these snapshots instead, because more were judged.
     * @param {SnapshotSummary[]} all
     */
    replace(all) {
      summaries.splice(0, summaries.length, ...all);
      for (const summary of all) {
        if (!byId.get(summary.snapshot)?.codes) byId.set(summary.snapshot, opened(summary));
      }
      drawStrip();
    },
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (keys.has("snapshot")) {
        shownAround = -1;
        drawStrip();
        load(state.snapshot);
      }
      if (hasAny(keys, "snapshot", "detail", "cut", "shown", "witness")) drawVerdict(state);
      if (hasAny(keys, "detail", "shown", "filters", "pages", "selection")) fill();
    },
  };
}
