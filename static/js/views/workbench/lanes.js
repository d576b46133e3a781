/** The lanes of the workbench: their arrangement, and what buttons and keys do to it. */

import { h, setText } from "../../lib/dom.js";
import { counted } from "../../lib/format.js";
import { arrange, firstInView, firstLane, groupOf } from "../../lib/lanes.js";
import { createLaneMenu } from "./lane-menu.js";

const STORED = "workbench-control";

/** @param {App} app */
export function createLanes(app) {
  const { player, topology } = app;
  /** @type {Arrangement} */
  let arranged = null;
  /** @type {Lanes} */
  let last = null;

  /** Returns the lanes that are shown. Scrolling keeps their list. */
  function arrangement() {
    const { lanes } = player.state;
    if (lanes === last) return arranged;
    const isScrolled = last && isSameList(last, lanes);
    arranged = isScrolled ? { ...arranged, first: firstInView(arranged, lanes) } : arrange(topology, lanes);
    last = lanes;
    return arranged;
  }

  /** @param {Partial<Lanes>} change */
  function change(change) {
    player.set({ lanes: { ...player.state.lanes, ...change } });
  }

  /**
   * Makes the lane at this place among all the first below those that stay, as far as lanes fill the diagram.
   * @param {number} place @param {Geometry} g
   */
  function scrollTo(place, g) {
    const first = firstLane(arrangement(), place, g);
    if (first !== player.state.lanes.first) change({ first });
  }

  const fitting = h("button.btn.btn-quiet", {
    type: "button", title: "Fit all lanes (shift l)", hidden: true, onclick: () => fit(),
  });
  app.root.querySelector('[data-panel="spacetime"] header').append(fitting);

  /** Fits all lanes into the height, or shows them as before. */
  function fit(fitted = !player.state.lanes.fitted) {
    change({ fitted, first: null });
  }

  /**
   * Offers to fit the lanes if not all of them are in view, or to undo that.
   * @param {boolean} isOffered
   */
  function offerFit(isOffered) {
    fitting.hidden = !isOffered;
    setText(fitting, player.state.lanes.fitted ? "Lanes as before" : "Fit all lanes");
  }

  /** Pins the lane of what is selected, or lets it go. */
  function pin() {
    const p = /** @type {any} */ (player.state.selection)?.process;
    if (p === undefined) return app.say("Select a process or an event first: its lane is pinned.");
    const { rows, rowOf } = arrangement();
    togglePin(rows[rowOf[p]]?.name ?? topology.processes[p].id);
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

  /** Groups the processes by name, or gives each a lane of its own. */
  function toggleGroups() {
    const grouped = !player.state.lanes.grouped;
    const groups = new Set(topology.processes.map(({ id }) => groupOf(id)));
    const hasNone = groups.size === topology.processes.length;
    if (grouped && hasNone) app.say("There are no groups: no two names differ only in a number.");
    else app.say(grouped ? `${counted(groups.size, "lane")} for ${counted(topology.processes.length, "process",
      "processes")}.` : "A lane for each process.");
    change({ grouped: grouped && !hasNone, open: [] });
  }

  /** Draws coordinators and what they say, or treats them as any process; the browser remembers it. */
  function toggleControl() {
    const control = !player.state.lanes.control;
    localStorage.setItem(STORED, control ? "1" : "0");
    change({ control, first: null });
    app.say(control ? "The coordinator and its signals are drawn." : "The signals of the coordinator are not drawn.");
  }

  const control = app.root.querySelector("#wb-control");
  control?.addEventListener("click", toggleControl);
  if (localStorage.getItem(STORED) === "0") change({ control: false });
  player.subscribe((state) => control?.setAttribute("aria-pressed", String(state.lanes.control)));
  const openMenu = createLaneMenu(app, { arrangement, change, toggleGroups, toggleGroup, togglePin });

  return { arrangement, scrollTo, fit, offerFit, pin, activate, toggleGroups, toggleControl, openMenu };
}

/**
 * Returns whether lanes differ at most in the first one in view.
 * @param {Lanes} a @param {Lanes} b
 */
function isSameList(a, b) {
  return ["filter", "sort", "grouped", "fitted", "open", "pinned", "control"].every(
    (key) => /** @type {any} */ (a)[key] === /** @type {any} */ (b)[key],
  );
}
