/** The choice of lanes: the menu that filters, sorts, groups and pins them, and the same by keys. */

import { h } from "../../lib/dom.js";
import { counted, thousands } from "../../lib/format.js";
import { arrange, groupOf, PLAIN_LANES, SORTS } from "../../lib/lanes.js";
import { laneTitle } from "./still.js";

const MOST_LISTED = 200;
/** @type {Record<LaneSort, string>} */
const SORT_WORDS = {
  log: "as in the log",
  name: "by name",
  events: "most events first",
  first: "first event first",
  topology: "along the channels",
};

/** @param {App} app */
export function createLanes(app) {
  const { player, topology } = app;
  const { menu, filter, sort, grouping, list, notice } = makeMenu();
  app.root.querySelector('[data-panel="spacetime"] header').append(menu);
  /** @type {Arrangement} */
  let arrangement = null;
  /** @type {Lanes} */
  let arranged = null;

  /** Returns the lanes that are shown. Scrolling keeps their list. */
  function current() {
    const { lanes } = player.state;
    if (lanes === arranged) return arrangement;
    const isScrolled = arranged && isSameBut(arranged, lanes);
    arrangement = isScrolled ? { ...arrangement, first: firstOf(arrangement, lanes) } : arrange(topology, lanes);
    arranged = lanes;
    return arrangement;
  }

  /** @param {Partial<Lanes>} change */
  function change(change) {
    player.set({ lanes: { ...player.state.lanes, ...change } });
  }

  /**
   * Scrolls so that the lane at this place below the pinned ones is the first, as far as `room` lanes fill the diagram.
   * @param {number} place @param {number} room
   */
  function scrollTo(place, room) {
    const { rows, pinned, first } = current();
    const next = Math.max(0, Math.min(place, rows.length - pinned - room));
    if (next !== first) change({ first: next === 0 ? null : rows[pinned + next].name });
  }

  /** Pins the lane of what is selected, or lets it go. */
  function pin() {
    const { selection } = player.state;
    const p = /** @type {any} */ (selection)?.process;
    if (p === undefined) return app.say("Select a process or an event first: its lane is pinned.");
    const row = current().rows[current().rowOf[p]];
    togglePin(row?.name ?? topology.processes[p].id);
  }

  /** @param {string} name */
  function togglePin(name) {
    const { pinned } = player.state.lanes;
    const isPinned = pinned.includes(name);
    change({ pinned: isPinned ? pinned.filter((other) => other !== name) : [...pinned, name] });
    app.say(isPinned ? `${name} is no longer pinned.` : `${name} is pinned to the top.`);
  }

  /** @param {string} group */
  function toggleGroup(group) {
    const { open } = player.state.lanes;
    change({ open: open.includes(group) ? open.filter((other) => other !== group) : [...open, group] });
  }

  /**
   * Opens the group of a lane, or selects its process.
   * @param {LaneRow} lane
   */
  function activate(lane) {
    if (lane.processes.length > 1) toggleGroup(lane.group);
    else app.select({ of: "process", process: lane.processes[0] });
  }

  function toggleGroups() {
    const grouped = !player.state.lanes.grouped;
    const groups = new Set(topology.processes.map(({ id }) => groupOf(id)));
    if (grouped && groups.size === topology.processes.length) return app.say("No two processes share a name.");
    change({ grouped, open: [] });
    app.say(grouped ? `${counted(groups.size, "group")} of processes.` : "A lane for each process.");
  }

  function openMenu() {
    menu.open = true;
    draw();
    filter.focus();
    filter.select();
  }

  function makeMenu() {
    const filter = h("input.input", { type: "search", placeholder: "Filter lanes", "aria-label": "Filter lanes" });
    const sort = h("select.input", { "aria-label": "Order of the lanes" },
      SORTS.map((name) => h("option", { value: name }, SORT_WORDS[name])));
    const grouping = h("input", { type: "checkbox" });
    const list = h("ul.wb-lane-list", { "aria-label": "Lanes" });
    const notice = h("p.soft.small");
    const label = "Lanes: filter, sort, group, pin (l)";
    const summary = h("summary.btn.btn-quiet", { title: label, "aria-label": label }, "Lanes");
    const reset = h("button.btn.btn-quiet", { type: "button", onclick: () => change(PLAIN_LANES) }, "All lanes as at first");
    const menu = h("details.menu.wb-lanes", {}, summary, h("div", {}, filter, sort,
      h("label.small", {}, grouping, " one lane for processes that differ in a number"), list, notice, reset));
    filter.addEventListener("input", () => change({ filter: filter.value, first: null }));
    sort.addEventListener("change", () => change({ sort: sort.value, first: null }));
    grouping.addEventListener("change", toggleGroups);
    menu.addEventListener("toggle", draw);
    menu.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      if (event.key !== "Escape") return;
      event.stopPropagation();
      menu.open = false;
      summary.focus();
    });
    document.addEventListener("pointerdown", ({ target }) => {
      if (!menu.contains(target)) menu.open = false;
    });
    return { menu, filter, sort, grouping, list, notice };
  }

  function draw() {
    const { lanes } = player.state;
    menu.classList.toggle("is-used", JSON.stringify({ ...lanes, first: null }) !== JSON.stringify(PLAIN_LANES));
    if (!menu.open) return;
    if (filter.value !== lanes.filter) filter.value = lanes.filter;
    sort.value = lanes.sort;
    grouping.checked = lanes.grouped;
    const { rows } = current();
    const focused = document.activeElement?.getAttribute("data-lane-button");
    list.replaceChildren(...entries(rows.slice(0, MOST_LISTED)));
    const more = rows.length - MOST_LISTED;
    notice.textContent = more > 0 ? `${counted(more, "more lane")}: filter by name.` : rows.length ? "" : "No lane has this name.";
    if (focused) list.querySelector(`[data-lane-button="${CSS.escape(focused)}"]`)?.focus();
  }

  /**
   * Lists lanes; before the first of an opened group stands the button that closes it.
   * @param {LaneRow[]} rows
   */
  function entries(rows) {
    const opened = new Set();
    return rows.flatMap((row) => {
      const items = [entry(row)];
      const isOpen = row.processes.length === 1 && row.group !== null && player.state.lanes.open.includes(row.group);
      if (isOpen && !opened.has(row.group)) items.unshift(groupEntry(row.group));
      opened.add(row.group);
      return items;
    });
  }

  /** @param {string} group */
  function groupEntry(group) {
    return h("li", {}, laneButton(`close ${group}`, "▾", `Close the group ${group}`, () => toggleGroup(group), {
      "aria-expanded": "true",
    }), h("span.wb-lane-name", {}, group));
  }

  /** @param {LaneRow} row */
  function entry(row) {
    const { name, processes, group } = row;
    const isGroup = processes.length > 1;
    const isPinned = player.state.lanes.pinned.includes(name);
    const events = processes.reduce((sum, p) => sum + (topology.processes[p].events ?? 0), 0);
    const opener = isGroup
      ? laneButton(`open ${group}`, "▸", `Open the group ${group}`, () => toggleGroup(group), { "aria-expanded": "false" })
      : null;
    return h(
      "li",
      {},
      laneButton(`pin ${name}`, isPinned ? "★" : "☆", `Pin ${laneTitle(row)}`, () => togglePin(name), {
        "aria-pressed": String(isPinned),
      }),
      opener,
      h("span.wb-lane-name", {}, laneTitle(row)),
      h("span.soft.small", {}, thousands(events)),
    );
  }

  /**
   * @param {string} key @param {string} text @param {string} label @param {() => void} onclick
   * @param {Record<string, string>} state
   */
  function laneButton(key, text, label, onclick, state) {
    const names = { type: "button", "aria-label": label, title: label, "data-lane-button": key };
    return h("button.btn.btn-quiet.btn-icon", { ...names, onclick, ...state }, text);
  }

  player.subscribe((_, keys) => keys.has("lanes") && draw());

  return { arrangement: current, scrollTo, pin, activate, toggleGroups, openMenu };
}

/**
 * Returns whether lanes differ at most in the first one in view.
 * @param {Lanes} a @param {Lanes} b
 */
function isSameBut(a, b) {
  return a.filter === b.filter && a.sort === b.sort && a.grouped === b.grouped && a.open === b.open
    && a.pinned === b.pinned;
}

/** @param {Arrangement} arrangement @param {Lanes} lanes */
function firstOf({ rows, pinned }, { first }) {
  return Math.max(0, rows.findIndex(({ name }) => name === first) - pinned);
}
