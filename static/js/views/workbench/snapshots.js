/** The snapshots of the header: strip, verdict sentence, and what the chosen one says to every view. */

import { h, renderOnce, setText } from "../../lib/dom.js";
import { counted, duration } from "../../lib/format.js";
import { inOrder } from "../../lib/source.js";
import { answersSentence, cutSentence, nounsOf, sentenceElements } from "./sentences.js";

export function createSnapshots(app, summaries) {
  const { player, topology } = app;
  const strip = app.root.querySelector("#wb-snapshots");
  const verdict = app.root.querySelector("#wb-verdict");
  const spoken = app.root.querySelector("#wb-verdict-spoken");
  const byId = new Map(
    summaries.map(
      (summary) => [summary.snapshot, { ...summary, codes: inOrder(summary.positions, topology.processes) }],
    ),
  );
  const details = new Map();
  const doneAt = new Map();
  let speak = null;

  const chosen = () => byId.get(player.state.snapshot) ?? null;

  function drawStrip() {
    strip.replaceChildren(...summaries.map(chip));
    if (!summaries.length) {
      strip.append(h("span.soft", {}, "No snapshot in this recording. Press c to draw your own cut."));
    }
  }

  function chip(summary) {
    const isChosen = summary.snapshot === player.state.snapshot;
    const button = h(
      "button.wb-chip",
      {
        type: "button",
        "aria-pressed": String(isChosen),
        title: `Snapshot ${summary.snapshot}: ${summary.verdict}`,
        onclick: () => app.chooseSnapshot(summary.snapshot),
      },
      h("b", {}, String(summary.snapshot)),
      h("span.verdict", { "data-verdict": summary.verdict }, summary.verdict),
    );
    if (isChosen) requestAnimationFrame(() => bringIntoStrip(button));
    return button;
  }

  /** Scrolls the strip alone: the page stays where it is. */
  function bringIntoStrip(button) {
    const [own, all] = [button.getBoundingClientRect(), strip.getBoundingClientRect()];
    if (own.left < all.left) strip.scrollLeft -= all.left - own.left;
    else if (own.right > all.right) strip.scrollLeft += own.right - all.right;
  }

  /** Loads recorded contents and, from its own window, when each process had all its markers. */
  async function load(id) {
    if (id === null || details.has(id)) return;
    details.set(id, null);
    try {
      details.set(id, await app.source.snapshot(id));
      player.set({ detail: id });
      doneAt.set(id, await donePositions(byId.get(id)));
      player.set({ phases: id });
    } catch (error) {
      details.delete(id);
      app.say(`Snapshot ${id} could not be loaded: ${error.message}`);
    }
  }

  async function donePositions({ snapshot, began_at: from, ended_at: to, codes }) {
    if (!Number.isFinite(from) || !Number.isFinite(to)) return null;
    const window = await app.source.aside({ axis: "time", from, to: Math.max(to, from + 1), width: 200 });
    if (!window.markers.count) return window.exact ? codes : null;
    const missing = topology.processes.map(() => 0);
    for (const { targetCode } of topology.channels) missing[targetCode] += 1;
    const done = codes.slice();
    const { markers } = window;
    for (let row = 0; row < markers.count; row += 1) {
      if (window.snapshots[markers.snapshot[row]] !== snapshot || markers.received_index[row] < 0) continue;
      const target = topology.channels[markers.channel[row]].targetCode;
      missing[target] -= 1;
      done[target] = Math.max(done[target], markers.received_index[row] + 1);
    }
    return done.map((n, p) => (missing[p] > 0 ? Infinity : n));
  }

  /**
   * Returns the phase of process `p`: "not recorded", "recording", "done", "never records" or "not part
   * of it"; null without a snapshot.
   */
  function phaseOf(p, { shown }) {
    const summary = chosen();
    if (!summary || !shown) return null;
    const recordsAt = summary.codes[p];
    if (recordsAt < 0) return isOf(summary, p) ? "never records" : "not part of it";
    if (shown.positions[p] <= recordsAt) return "not recorded";
    const done = doneAt.get(summary.snapshot);
    if (done) return shown.positions[p] >= done[p] ? "done" : "recording";
    const total =
      player.state.axis === "time" &&
      Number.isFinite(summary.ended_at) &&
      player.state.now >= summary.ended_at;
    return total ? "done" : "recording";
  }

  /** Whether a snapshot is of process `p`: of the scopes in which somebody recorded it, or of all. */
  function isOf({ codes }, p) {
    const scopes = new Set(topology.processes.filter((_, n) => codes[n] >= 0).map(({ scope }) => scope));
    return !scopes.size || scopes.has(topology.processes[p].scope);
  }

  /** [first, last] place of a snapshot on an axis, or null where it is not known. */
  function spanOf(summary, axis) {
    if (axis === "time") {
      return Number.isFinite(summary.began_at) ? [summary.began_at, summary.ended_at ?? summary.began_at] : null;
    }
    const { codes } = byId.get(summary.snapshot);
    if (codes.some((n) => n < 0)) return null;
    const events = codes.reduce((sum, n) => sum + n, 0);
    return [events, events];
  }

  /** Where the last process recorded, or null where it is not known. */
  async function placeOf(summary, axis) {
    const recorded = axis === "time" ? await recordedAt(summary) : [];
    return recorded.length ? Math.max(...recorded) : spanOf(summary, axis)?.[1] ?? null;
  }

  async function recordedAt({ snapshot }) {
    const detail = await app.source.snapshot(snapshot).catch(() => null);
    return Object.values(detail?.recorded_at ?? {}).filter(Number.isFinite);
  }

  /** The first and last place where a process recorded for the chosen snapshot, or null. */
  async function recordedSpan(axis) {
    const summary = chosen();
    if (!summary || axis === "order") return summary && spanOf(summary, axis);
    const recorded = await recordedAt(summary);
    return recorded.length ? [Math.min(...recorded), Math.max(...recorded)] : null;
  }

  function drawVerdict(state) {
    app.root.querySelector("[data-command=cut]").setAttribute("aria-pressed", String(Boolean(state.cut)));
    if (state.cut) return drawCutVerdict(state);
    const summary = chosen();
    verdict.classList.remove("is-cut");
    if (!summary) {
      return void renderOnce(verdict, "none", () => h("span.soft", {}, summaries.length ? "No snapshot chosen." : ""));
    }
    renderOnce(
      verdict,
      `snapshot ${summary.snapshot}`,
      () => [word(summary.verdict), h("span", {}, ...snapshotSentence(summary))],
    );
    say(`Snapshot ${summary.snapshot}: ${summary.verdict}.`);
  }

  function snapshotSentence(summary) {
    const id = summary.snapshot;
    const page = h("a", { href: `${app.urls.snapshotPage}/${encodeURIComponent(id)}` }, `Snapshot ${id}`);
    const worst = (summary.verdicts ?? []).find(({ verdict: name }) => name !== "consistent");
    const others = (summary.verdicts ?? []).length - 1;
    const said = worst?.sentence
      ? sentenceElements(worst.sentence, nounsOf(worst), app.go)
      : [answersSentence(summary.answers ?? [])];
    const more = worst && others > 0
      ? [
        " ",
        h("a", { href: `${app.urls.snapshotPage}/${encodeURIComponent(id)}` }, `${counted(others, "more finding")}`),
      ]
      : [];
    return [page, ": ", ...said, ...more, h("span.soft", {}, ` ${factsOf(summary)}`)];
  }

  function factsOf({ initiators, duration: took, markers_received: markers }) {
    const facts = [];
    if (initiators?.length) facts.push(`begun by ${initiators.join(", ")}`);
    if (Number.isFinite(took)) facts.push(`took ${duration(took, app.recording.time_unit)}`);
    if (Number.isFinite(markers)) facts.push(counted(markers, "marker"));
    return facts.length ? `${facts.join(", ")}.`.replace(/^./, (first) => first.toUpperCase()) : "";
  }

  function drawCutVerdict({ shown, cut }) {
    verdict.classList.add("is-cut");
    if (!shown || shown.positions.some((n, p) => n !== cut[p])) return;
    const orphans = shown.orphans.map(({ channel, message }) => `${channel} ${message}`);
    const key = `cut ${shown.consistent} ${orphans} ${[...shown.channels.values()].flat().length}`;
    const drawn = renderOnce(verdict, key, () => [
      word(shown.consistent ? "consistent" : "orphan", shown.consistent ? "consistent" : "not consistent"),
      h(
        "span",
        {},
        h("b", {}, "Your cut: "),
        ...sentenceElements(
          cutSentence(shown, app.recording.is_derived),
          shown.orphans.slice(0, 1).flatMap(nounsOf),
          app.go,
        ),
      ),
      h(
        "span.wb-cut-actions",
        {},
        shown.nearest
          ? h(
            "button.btn",
            { type: "button", id: "wb-nearest", onclick: () => app.nearest() },
            "Nearest consistent cut",
          )
          : null,
        h("button.btn.btn-quiet", { type: "button", onclick: () => app.endCut() }, "Done (Esc)"),
      ),
    ]);
    if (!drawn) return;
    const result = shown.consistent ? "consistent" : "not consistent";
    say(`Your cut is ${result}. ${cutSentence(shown, app.recording.is_derived)}`);
  }

  function word(name, text = name) {
    return h("span.verdict", { "data-verdict": name }, text);
  }

  /** Told to screen readers when it has stood still for a moment. */
  function say(sentence) {
    clearTimeout(speak);
    speak = setTimeout(() => setText(spoken, sentence), 500);
  }

  drawStrip();

  return {
    list: () => summaries,
    chosen,
    detail: () => details.get(player.state.snapshot) ?? null,
    phaseOf,
    spanOf,
    placeOf,
    recordedSpan,
    byId,
    update(state, keys) {
      if (keys.has("snapshot")) {
        drawStrip();
        load(state.snapshot);
      }
      if (["snapshot", "cut", "shown"].some((key) => keys.has(key))) drawVerdict(state);
    },
  };
}
