/** Which rows the panels of channels and of processes list: a page of those that their filters leave. */

import { h, setText } from "../../lib/dom.js";
import { thousands } from "../../lib/format.js";
import { filledChannels, hasMessages, hasState } from "../../lib/shown.js";
import { FEW, pageOf, ROWS_A_PAGE, WHOLE } from "../../lib/rows.js";

/** @param {App} app */
export function createListed(app) {
  const { player, topology } = app;
  const names = [topology.processes, topology.channels].map((items) => items.map(({ id }) => id.toLowerCase()));

  /** @returns {Rows} */
  function processes() {
    const words = player.state.filters.states.toLowerCase();
    const codes = [...topology.processes.keys()];
    return pageOf(words ? codes.filter((p) => names[0][p].includes(words)) : codes, player.state.pages.states);
  }

  /**
   * Returns the listed channels. The selected one comes first.
   * @param {Cut | null} cut @param {SnapshotDetail | null} detail @returns {Rows}
   */
  function channels(cut, detail) {
    const { filters, pages, selection } = player.state;
    const words = filters.channels.toLowerCase().split(/\s+/).filter(Boolean);
    const selected = selection?.of === "channel" ? selection.channel : null;
    const codes = isOnlyFull(filters) ? full(cut, detail, selected) : [...topology.channels.keys()];
    const matching = words.length ? codes.filter((c) => words.every((word) => names[1][c].includes(word))) : codes;
    const isListed = selected !== null && matching.includes(selected);
    return pageOf(isListed ? [selected, ...matching.filter((c) => c !== selected)] : matching, pages.channels);
  }

  /** @param {Filters} filters */
  function isOnlyFull({ full: only }) {
    return only ?? topology.channels.length > FEW;
  }

  /** @param {Cut | null} cut @param {SnapshotDetail | null} detail @param {number | null} selected */
  function full(cut, detail, selected) {
    const codes = new Set(cut ? filledChannels(cut) : []);
    for (const code of detail?.filled ?? []) codes.add(code);
    if (selected !== null) codes.add(selected);
    return [...codes].sort((a, b) => a - b);
  }

  /** Returns the processes whose states are shown, in the table or as what is selected. */
  function wantedProcesses() {
    const { selection } = player.state;
    const { codes } = processes();
    return selection?.of === "process" && !codes.includes(selection.process) ? [...codes, selection.process] : codes;
  }

  /** Returns what to ask for first: everything of a small recording, else the rows that are known before the answer. */
  function first() {
    const { filters, pages } = player.state;
    const areKnown = !isOnlyFull(filters) || filters.channels || pages.channels;
    return {
      processes: topology.processes.length > WHOLE ? wantedProcesses() : null,
      channels: areKnown && topology.channels.length > WHOLE ? channels(null, null).codes : null,
    };
  }

  /**
   * Returns the rows that are listed at a cut.
   * @param {Cut} cut
   */
  function wanted(cut) {
    return { processes: wantedProcesses(), channels: channels(cut, app.snapshots.detail()).codes };
  }

  /**
   * Returns the listed rows that an answer about a cut lacks, or null if it has all of them.
   * @param {Cut} cut @returns {AskedRows | null}
   */
  function missing(cut) {
    return unlessEmpty({
      processes: wantedProcesses().filter((p) => !hasState(cut, p)),
      channels: channels(cut, app.snapshots.detail()).codes.filter((code) => !hasMessages(cut, code)),
    });
  }

  /**
   * Returns the same for a snapshot.
   * @param {SnapshotDetail} detail
   */
  function missingOf(detail) {
    return unlessEmpty({
      processes: wantedProcesses().filter((p) => !detail.loaded.processes.has(p)),
      channels: channels(player.state.shown, detail).codes.filter((code) => !detail.loaded.channels.has(code)),
    });
  }

  return { processes, channels, isOnlyFull, first, wanted, missing, missingOf };
}

/** @param {AskedRows} rows */
function unlessEmpty(rows) {
  return rows.processes.length || rows.channels.length ? rows : null;
}

/**
 * Makes the line below a list that says which of its rows are listed, with buttons to the others.
 * @param {App} app @param {"channels" | "states"} name @param {string} things @param {HTMLElement} list
 */
export function createPager(app, name, things, list) {
  const panel = name === "channels" ? "contents" : name;
  const line = app.root.querySelector(`#wb-${panel}-pager`);
  const words = h("span.soft");
  const [back, on] = [-1, 1].map((step) => h("button.btn.btn-quiet", { type: "button", onclick: () => turn(step) }));
  line.replaceChildren(words, back, on);
  let shown = pageOf([], 0);

  /** @param {number} step */
  function turn(step) {
    app.player.set({ pages: { ...app.player.state.pages, [name]: shown.page + step } });
    list.scrollTop = 0;
  }

  /** @param {Rows} rows */
  function show(rows) {
    shown = rows;
    const { codes, begin, total } = rows;
    const end = begin + codes.length;
    line.hidden = total <= ROWS_A_PAGE;
    setText(words, `${thousands(begin + 1)} to ${thousands(end)} of ${thousands(total)} ${things}`);
    setText(back, `${ROWS_A_PAGE} before`);
    setText(on, `${thousands(Math.min(ROWS_A_PAGE, total - end))} more`);
    const focused = document.activeElement;
    [back.hidden, on.hidden] = [begin === 0, end === total];
    if (focused === back && back.hidden) on.focus();
    if (focused === on && on.hidden) back.focus();
  }

  return show;
}

/**
 * Returns the change of pages that shows a list from its beginning, because its filter has changed.
 * @param {PlayerState} state @param {"channels" | "states"} name
 */
export function fromTheBeginning({ pages }, name) {
  return { pages: { ...pages, [name]: 0 } };
}
