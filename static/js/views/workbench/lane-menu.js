/** The menu of the lanes: a filter, an order, groups, and a list in which lanes are pinned and groups opened. */

import { h, setText } from "../../lib/dom.js";
import { counted, thousands } from "../../lib/format.js";
import { PLAIN_LANES, SORTS } from "../../lib/lanes.js";
import { laneTitle } from "./still.js";

const MOST_LISTED = 200;
const TITLE = "Lanes: filter, sort, group, pin (l)";
/** @type {Record<LaneSort, string>} */
const SORT_WORDS = {
  log: "as in the log",
  name: "by name",
  events: "most events first",
  first: "first event first",
  topology: "along the channels",
};

/**
 * Makes the menu in the head of the diagram.
 * @param {App} app
 * @param {{ arrangement(): Arrangement, change(change: Partial<Lanes>): void, toggleGroups(): void,
 *   toggleGroup(group: string): void, togglePin(name: string): void }} lanes
 */
export function createLaneMenu({ root, player, topology }, lanes) {
  const filter = h("input.input", {
    type: "search", placeholder: "Filter lanes", "aria-label": "Filter lanes",
    oninput: () => lanes.change({ filter: filter.value, first: null }),
  });
  const sort = h("select.input", {
    "aria-label": "Order of the lanes",
    onchange: () => lanes.change({ sort: sort.value, first: null }),
  }, SORTS.map((name) => h("option", { value: name }, SORT_WORDS[name])));
  const grouping = h("input", { type: "checkbox", onchange: () => lanes.toggleGroups() });
  const groupLabel = h("label.small", {}, grouping, " one lane for processes that differ in a number");
  const list = h("ul.wb-lane-list", { "aria-label": "Lanes" });
  const notice = h("p.soft.small");
  const onreset = () => lanes.change({ ...PLAIN_LANES, control: player.state.lanes.control });
  const reset = h("button.btn.btn-quiet", { type: "button", onclick: onreset }, "All lanes as at first");
  const summary = h("summary.btn.btn-quiet", { title: TITLE, "aria-label": TITLE }, "Lanes");
  const menu = h("details.menu.wb-lanes", { ontoggle: draw, onkeydown: closeByKey }, summary,
    h("div", {}, filter, sort, groupLabel, list, notice, reset));
  root.querySelector('[data-panel="spacetime"] header').append(menu);
  document.addEventListener("pointerdown", ({ target }) => {
    if (!menu.contains(target)) menu.open = false;
  });

  /** @param {KeyboardEvent} event */
  function closeByKey(event) {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    menu.open = false;
    summary.focus();
  }

  function draw() {
    const chosen = player.state.lanes;
    const isPlain = JSON.stringify({ ...chosen, first: null, control: true }) === JSON.stringify(PLAIN_LANES);
    menu.classList.toggle("is-used", !isPlain);
    if (!menu.open) return;
    if (filter.value !== chosen.filter) filter.value = chosen.filter;
    sort.value = chosen.sort;
    grouping.checked = chosen.grouped;
    drawList(lanes.arrangement().rows);
  }

  /** @param {LaneRow[]} rows */
  function drawList(rows) {
    const focused = document.activeElement?.getAttribute("data-lane-button");
    list.replaceChildren(...entries(rows.slice(0, MOST_LISTED)));
    if (focused) list.querySelector(`[data-lane-button="${CSS.escape(focused)}"]`)?.focus();
    const more = rows.length - MOST_LISTED;
    const empty = rows.length ? "" : "No process has these words in its name.";
    setText(notice, more > 0 ? `${counted(more, "more lane")}: filter by name.` : empty);
  }

  /**
   * Lists lanes. Before the first lane of an open group stands the button that closes it.
   * @param {LaneRow[]} rows
   */
  function entries(rows) {
    const seen = new Set();
    return rows.flatMap((row) => {
      const isFirst = isOpen(row) && !seen.has(row.group);
      seen.add(row.group);
      return isFirst ? [openGroup(row.group), entry(row)] : [entry(row)];
    });
  }

  /** @param {LaneRow} row */
  function isOpen({ processes, group }) {
    return processes.length === 1 && group !== null && player.state.lanes.open.includes(group);
  }

  /** @param {string} group */
  function openGroup(group) {
    return h("li", {}, opener(group, true), h("span.wb-lane-name", {}, group));
  }

  /** @param {LaneRow} row */
  function entry(row) {
    const isPinned = player.state.lanes.pinned.includes(row.name);
    const events = row.processes.reduce((sum, p) => sum + (topology.processes[p].events ?? 0), 0);
    const pin = button(`pin ${row.name}`, isPinned ? "★" : "☆", `Pin ${laneTitle(row)}`, {
      "aria-pressed": String(isPinned),
      onclick: () => lanes.togglePin(row.name),
    });
    return h(
      "li",
      {},
      pin,
      row.processes.length > 1 ? opener(row.group, false) : null,
      h("span.wb-lane-name", {}, laneTitle(row)),
      h("span.soft.small", { title: counted(events, "event") }, thousands(events)),
    );
  }

  /** @param {string} group @param {boolean} isOpen */
  function opener(group, isOpen) {
    const title = `${isOpen ? "Close" : "Open"} the group ${group}`;
    const onclick = () => lanes.toggleGroup(group);
    return button(`group ${group}`, isOpen ? "▾" : "▸", title, { "aria-expanded": String(isOpen), onclick });
  }

  /** @param {string} key @param {string} text @param {string} title @param {Record<string, any>} more */
  function button(key, text, title, more) {
    const names = { type: "button", "aria-label": title, title, "data-lane-button": key };
    return h("button.btn.btn-quiet.btn-icon", { ...names, ...more }, text);
  }

  player.subscribe((_, keys) => keys.has("lanes") && draw());

  /** Opens the menu, for typing a filter. */
  return function open() {
    menu.open = true;
    draw();
    filter.focus();
    filter.select();
  };
}
