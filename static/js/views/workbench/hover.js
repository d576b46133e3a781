/** The card beside the pointer, with the fields of the event or message under it. */

import { h } from "../../lib/dom.js";
import { eventsInside } from "../../lib/folds.js";
import { counted, isGiven, thousands, valueText } from "../../lib/format.js";
import { IN_FLIGHT } from "../../lib/window.js";
import { laneTitle } from "./still.js";

/** @param {App} app @param {HTMLElement} box */
export function createHover(app, box) {
  const card = h("div.wb-hover", { hidden: true, role: "tooltip" });
  box.append(card);

  /** @param {Target | null} target @param {number} px @param {number} py */
  function show(target, px, py) {
    const { window } = app.player.state;
    if (target?.of === "fold") return showCard("Idle", foldFacts(app, target.fold), px, py);
    if (target?.of === "lane" && target.lane.processes.length > 1) {
      return showCard(laneTitle(target.lane), groupFacts(app, target.lane), px, py);
    }
    if (!target || target.row === undefined || target.row < 0 || !window?.exact) {
      card.hidden = true;
      return;
    }
    const [title, facts] = describe(app, window, target);
    showCard(title, facts, px, py);
  }

  /** @param {string} title @param {[string, any][]} facts @param {number} px @param {number} py */
  function showCard(title, facts, px, py) {
    card.replaceChildren(
      h("b", {}, title),
      h("dl", {}, facts.flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, String(value))])),
    );
    card.hidden = false;
    const x = px + 16 + card.offsetWidth > box.clientWidth ? px - 12 - card.offsetWidth : px + 16;
    const y = Math.min(py + 12, box.clientHeight - card.offsetHeight - 4);
    card.style.transform = `translate(${Math.max(0, x)}px, ${Math.max(0, y)}px)`;
  }

  return { show };
}

/** @param {App} app @param {Stretch} fold @returns {[string, any][]} */
function foldFacts({ player, readDuration, readPlace }, fold) {
  const { from, to } = fold;
  const isOrder = player.state.axis === "order";
  const length = isOrder ? `${counted(eventsInside(fold), "event")} of hidden lanes` : readDuration(to - from);
  return [["from", readPlace(from)], ["to", readPlace(to)], ["length", length]];
}

/** @param {App} app @param {LaneRow} lane @returns {[string, any][]} */
function groupFacts({ topology }, { processes }) {
  const events = processes.reduce((sum, p) => sum + (topology.processes[p].events ?? 0), 0);
  return [["processes", thousands(processes.length)], ["events", thousands(events)], ["click", "one lane for each"]];
}

/**
 * Returns the title and the facts, as [name, value], of an event, message or marker of the window.
 * @param {App} app @param {OpenWindow} window @param {Target} target @returns {[string, [string, any][]]}
 */
export function describe(app, window, target) {
  if (target.of === "event") return describeEvent(app, window, target.row);
  return describeFlight(app, window, target);
}

/** @param {App} app @param {OpenWindow} window @param {number} row @returns {[string, any[]]} */
function describeEvent({ topology, readInstant }, window, row) {
  const { events } = window;
  const facts = [
    ["index", events.index[row]],
    ["at", readInstant(events.at[row])],
    ["step", events.step[row]],
    ["channel", topology.channels[events.channel[row]]?.id],
    ["snapshot", window.snapshots[events.snapshot[row]]],
    ["label", events.label[row]],
    ["state after", events.known[row] ? valueText(events.state[row], 80) : null],
  ];
  const title = `${topology.processes[events.process[row]].id}: ${window.kinds[events.kind[row]]}`;
  return [title, facts.filter(([, value]) => isGiven(value))];
}

/** @param {App} app @param {OpenWindow} window @param {Target} target @returns {[string, any[]]} */
function describeFlight({ topology, readInstant }, window, { of, row }) {
  const table = of === "message" ? window.messages : window.markers;
  const channel = topology.channels[table.channel[row]];
  const arrived = table.received_index[row] !== IN_FLIGHT;
  const arrival = () =>
    `${channel.target}, event ${table.received_index[row]}, ${readInstant(table.received_at[row])}`;
  const facts = [
    ["channel", channel.id],
    of === "message"
      ? ["value", valueText(window.messages.value[row], 80)]
      : ["snapshot", window.snapshots[window.markers.snapshot[row]]],
    ["sent", `${channel.source}, event ${table.sent_index[row]}, ${readInstant(table.sent_at[row])}`],
    ["received", arrived ? arrival() : "never: in flight at the end"],
  ];
  return [of === "message" ? `message ${window.messages.id[row]}` : "marker", facts];
}
