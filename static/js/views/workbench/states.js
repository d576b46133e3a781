/** The state of each process at the cursor, beside that of the chosen snapshot, and the sums of states with numbers. */

import { differences, isCompound } from "../../lib/differences.js";
import { h, renderOnce, setText } from "../../lib/dom.js";
import { isExcerpt, thousands, valueText } from "../../lib/format.js";
import { hasState, total } from "../../lib/shown.js";
import { own } from "../../lib/own.js";
import { hasAny } from "../../lib/player.js";
import { offerCut } from "./cut-files.js";
import { createPager, fromTheBeginning } from "./listed.js";

const MOST_FIELDS = 20; // of one state that differ
const LONGEST = 60; // characters of a cell

/** @param {App} app */
export function createStates(app) {
  const { player, topology } = app;
  offerCut(app, "states", "cut-states");
  const body = app.root.querySelector("#wb-states-body");
  const sums = app.root.querySelector("#wb-states-totals");
  const filter = app.root.querySelector("#wb-states-filter");
  const page = createPager(app, "states", "processes", body.closest(".wb-states"));
  const atHead = app.root.querySelector("#wb-states-at");
  const start = total(topology.processes.map(({ state }) => state));
  const rows = new Map();
  body.replaceChildren();
  filter.addEventListener("input", () => {
    const filters = { ...player.state.filters, states: filter.value };
    player.set({ filters, ...fromTheBeginning(player.state, "states") });
  });

  /** @param {Filters} filters */
  function showFilter({ states }) {
    if (filter.value !== states) filter.value = states;
    filter.closest(".wb-filter").classList.toggle("is-used", states !== "");
  }

  /** @param {number} p */
  function makeRow(p) {
    const { id } = topology.processes[p];
    const cells = Array.from({ length: 4 }, () => h("td"));
    cells[0].dataset.role = "now";
    cells[1].dataset.role = "recorded";
    cells[2].dataset.role = "recomputed";
    const watermark = h("span.wb-watermark", { hidden: true });
    const name = h(
      "th",
      { scope: "row" },
      h("button.wb-link", { type: "button", onclick: () => app.select({ of: "process", process: p }) }, id),
      watermark,
    );
    const fields = h("td", { colspan: "5" });
    const more = h("tr.wb-difference", { "data-difference": id, hidden: true }, fields);
    const row = { element: h("tr", { "data-process": id }, name, ...cells), cells, more, fields, watermark };
    rows.set(p, row);
    return row;
  }

  /** @param {PlayerState} state */
  function draw(state) {
    const listed = app.listed.processes();
    const elements = listed.codes.flatMap((p) => fill(p, state));
    if (elements.length !== body.children.length || elements.some((element, i) => body.children[i] !== element)) {
      body.replaceChildren(...elements);
    }
    setText(atHead, state.cut ? "Your cut" : "At cursor");
    page(listed);
    drawTotals(state);
  }

  /** @param {number} p @param {PlayerState} state */
  function fill(p, state) {
    const { element, cells, more, fields, watermark } = rows.get(p) ?? makeRow(p);
    const { id } = topology.processes[p];
    const detail = app.snapshots.detail();
    const recorded = own(detail?.recorded?.processes, id);
    const recomputed = own(detail?.recomputed?.processes, id);
    const areKnown = recorded !== undefined && recomputed !== undefined;
    const differing = areKnown ? differencesOf(recorded, recomputed) : [];
    const isAgreed = areKnown && !differing.length && isCompound(recorded);
    setCell(cells[0], textNow(state.shown, p));
    setText(watermark, state.shown?.watermarks[p] ?? "");
    watermark.hidden = !state.shown?.watermarks[p];
    const isLoaded = detail?.loaded.processes.has(p);
    setCell(cells[1], detail ? (isLoaded ? knownText(recorded) : "…") : "");
    setCell(cells[2], detail ? (isAgreed ? "the same" : isLoaded ? knownText(recomputed) : "…") : "");
    setCell(cells[3], app.snapshots.phaseOf(p, state) ?? "");
    cells[1].classList.toggle("is-different", differing.length > 0);
    const isListed = differing.some(({ path }) => path);
    more.hidden = !isListed;
    if (isListed) renderOnce(fields, JSON.stringify(differing), () => fieldTable(id, differing));
    element.setAttribute("aria-selected", String(state.selection?.of === "process" && state.selection.process === p));
    return isListed ? [element, more] : [element];
  }

  /**
   * Shows a text, as far as it fits. The whole text stands in the title.
   * @param {HTMLElement} cell @param {string} text
   */
  function setCell(cell, text) {
    setText(cell, text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text);
    if (cell.title !== text) cell.title = text;
  }

  /**
   * Lists the fields in which a state differs from the recomputed one.
   * @param {string} id @param {Difference[]} differing
   */
  function fieldTable(id, differing) {
    const shown = differing.slice(0, MOST_FIELDS);
    const hidden = differing.length - shown.length;
    /** @param {any} value */
    const text = (value) => (value === undefined ? "absent" : valueText(value, 200));
    const list = shown.map(({ path, recorded, recomputed }) => h(
      "li",
      {},
      h("code", {}, path),
      " recorded ",
      h("b.is-different", {}, text(recorded)),
      ", recomputed ",
      h("b", {}, text(recomputed)),
    ));
    if (hidden > 0) list.push(h("li.soft", {}, `${thousands(hidden)} more fields differ.`));
    return h("ul", { "aria-label": `Fields of ${id} that differ` }, list);
  }

  /**
   * Compares two states field by field. Of long ones only the beginning is here, so they are compared as a whole.
   * @param {unknown} recorded @param {unknown} recomputed @returns {Difference[]}
   */
  function differencesOf(recorded, recomputed) {
    if (!isExcerpt(recorded) && !isExcerpt(recomputed)) return differences(recorded, recomputed);
    return JSON.stringify(recorded) === JSON.stringify(recomputed) ? [] : [{ path: "", recorded, recomputed }];
  }

  /** @param {Cut | null} cut @param {number} p */
  function textNow(cut, p) {
    if (!cut || !hasState(cut, p)) return "…";
    return cut.known[p] ? valueText(cut.states[p]) : "not known";
  }

  /** @param {unknown} state */
  function knownText(state) {
    return state === undefined ? "not known" : valueText(state);
  }

  /**
   * Compares the sum of money or tokens in processes and channels with the sum at the start.
   * @param {PlayerState} state
   */
  function drawTotals({ shown }) {
    const isSummed = shown && !app.recording.is_derived && shown.inProcesses !== null && shown.inChannels !== null;
    if (!isSummed) return setText(sums, "");
    const sum = shown.inProcesses + shown.inChannels;
    const before = start === null ? "" : sum === start ? `, as at the start` : `; at the start ${thousands(start)}`;
    const parts = `${thousands(shown.inProcesses)} in processes + ${thousands(shown.inChannels)} in channels`;
    setText(sums, `${parts} = ${thousands(sum)}${before}`);
    sums.classList.toggle("is-different", start !== null && sum !== start);
  }

  return {
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (keys.has("filters")) showFilter(state.filters);
      if (hasAny(keys, "shown", "snapshot", "detail", "selection", "cut", "filters", "pages")) draw(state);
    },
  };
}
