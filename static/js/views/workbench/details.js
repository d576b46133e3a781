/** Everything that is known about the selected event, message, channel or process. */

import { h } from "../../lib/dom.js";
import { counted, isExcerpt, isGiven, thousands, valueText } from "../../lib/format.js";
import { depthOf, hasState } from "../../lib/shown.js";
import { own } from "../../lib/own.js";
import { hasAny } from "../../lib/player.js";
import { eventRow, IN_FLIGHT } from "../../lib/window.js";
import { describe } from "./hover.js";

const NARROW = "(max-width: 900px)"; // as in reading.css
const LANE_ROOM = 32; // pixels between a lane and the drawer below it

/** @param {App} app */
export function createDetails(app) {
  const { player, topology } = app;
  const box = app.root.querySelector("#wb-details");
  const drawer = box.closest("section");
  let request = 0;
  // What a selection caused, and what caused it, arrives later and makes the drawer taller.
  new ResizeObserver(() => keepLaneInView(player.state.selection)).observe(drawer);
  app.root.querySelector("#wb-details-close").addEventListener("click", () => player.set({ selection: null }));

  /** @param {PlayerState} state */
  function draw(state) {
    const { selection } = state;
    request += 1;
    app.root.classList.toggle("has-selection", Boolean(selection));
    if (!selection) {
      box.replaceChildren(h("p.soft", {}, "Nothing selected. Click an event, a message, a channel or a process."));
      return;
    }
    if (selection.of === "event") drawEvent(state, selection);
    else if (selection.of === "message") drawMessage(state, selection);
    else if (selection.of === "channel") drawChannel(state, selection);
    else drawProcess(state, selection);
  }

  /**
   * Scrolls a narrow page until the lane of a selected event is above the drawer that tells about it.
   * @param {Chosen | null} selection
   */
  function keepLaneInView(selection) {
    if (selection?.of !== "event" || !matchMedia(NARROW).matches) return;
    const lane = app.spacetime.laneAt(selection.process);
    const below = lane + LANE_ROOM - drawer.getBoundingClientRect().top;
    if (below > 0) scrollBy({ top: below });
  }

  /** @param {string} title @param {any[]} entries @param {...HTMLElement} more */
  function facts(title, entries, ...more) {
    const lines = entries
      .filter(([, value]) => isGiven(value))
      .flatMap(([name, value]) => [h("dt", {}, name), h("dd", {}, value instanceof Node ? value : String(value))]);
    box.replaceChildren(h("h3", {}, title), h("dl.facts", {}, lines), ...more);
    requestAnimationFrame(() => keepLaneInView(player.state.selection));
  }

  /** @param {string} text @param {LinkTarget} target */
  function link(text, target) {
    return h("button.wb-link", { type: "button", onclick: () => app.go(target) }, text);
  }

  /** @param {PlayerState} state @param {{ process: number, index: number }} options */
  function drawEvent({ window }, { process, index }) {
    const row = window?.exact ? eventRow(window, process, index) : -1;
    if (row >= 0) {
      const [title, entries] = describe(app, window, { of: "event", row });
      facts(title, entries, ...otherEnd(window, process, index));
    } else facts(`${topology.processes[process].id}: event ${index}`, [["index", thousands(index)]]);
    loadEvent(process, index);
  }

  /**
   * Loads the fields that only the server has: line in the log, value, extra fields.
   * @param {number} process @param {number} index
   */
  async function loadEvent(process, index) {
    const current = request;
    try {
      const { kind, flight, process: name, ...fields } = await app.source.event(topology.processes[process].id, index);
      if (current !== request) return;
      const entries = Object.entries(fields)
        .filter(([, value]) => value !== null)
        .map(([key, value]) => [key.replaceAll("_", " "), fieldText(key, value)]);
      facts(`${name}: ${kind}`, entries, ...farEnd(flight, process, index), ...wayToWhole(fields, process, index));
    } catch (error) {
      if (current === request) box.append(h("p.soft", {}, `The other fields could not be loaded: ${error.message}`));
    }
  }

  /**
   * Returns a link to the whole event if something of it was shortened.
   * @param {Record<string, any>} fields @param {number} process @param {number} index
   */
  function wayToWhole(fields, process, index) {
    const isShort = Object.values(fields).some(isExcerpt) || isGiven(fields.messages_omitted);
    const name = encodeURIComponent(topology.processes[process].id);
    const href = `${app.urls.events}/${name}/${index}?whole=true`;
    return isShort ? [h("p", {}, h("a", { href, download: `event-${index}.json` }, "The whole event, as JSON"))] : [];
  }

  /** @param {string} key @param {any} value */
  function fieldText(key, value) {
    return key === "at" || key === "logged_at" ? app.readInstant(value) : valueText(value, 2000);
  }

  /**
   * Returns a link from the event at one end of a message or marker to the event at its other end.
   * @param {OpenWindow} window @param {number} process @param {number} index
   */
  function otherEnd(window, process, index) {
    for (const table of [window.messages, window.markers]) {
      for (let i = 0; i < table.count; i += 1) {
        const { id, sourceCode, targetCode } = topology.channels[table.channel[i]];
        const isSender = sourceCode === process && table.sent_index[i] === index;
        const isReceiver = targetCode === process && table.received_index[i] === index;
        if (!isSender && !isReceiver) continue;
        const receivedIndex = table.received_index[i] === IN_FLIGHT ? null : table.received_index[i];
        return farEnd(
          {
            channel: id,
            sent_index: table.sent_index[i],
            sent_at: table.sent_at[i],
            received_index: receivedIndex,
            received_at: table.received_at[i],
          },
          process,
          index,
        );
      }
    }
    return [];
  }

  /**
   * Returns the same link for the message or marker of an event that the server describes.
   * @param {FlightPayload | null} flight @param {number} process @param {number} index
   */
  function farEnd(flight, process, index) {
    if (!flight) return [];
    const { source, target, sourceCode } = topology.channels[topology.channelCode.get(flight.channel)];
    const isSender = sourceCode === process && flight.sent_index === index;
    if (!isSender) return endSentence("Sent as ", { process: source, index: flight.sent_index, at: flight.sent_at });
    if (flight.received_index === null) return [h("p", {}, "It is never received: in flight at the end.")];
    return endSentence("Received as ", { process: target, index: flight.received_index, at: flight.received_at });
  }

  /** @param {string} words @param {EventLink} end */
  function endSentence(words, end) {
    const event = link(`${end.process}, event ${thousands(end.index)}`, { of: "event", ...end });
    return [h("p", {}, words, event, ` (${app.readInstant(end.at)}).`)];
  }

  /** @param {PlayerState} state @param {{ channel: number, id: string }} options */
  function drawMessage({ window }, { channel, id }) {
    const i = app.messageRow(window, { channel, id });
    const { id: name, source, target } = topology.channels[channel];
    const channelFact = ["channel", link(name, { of: "channel", channel: name })];
    if (i < 0) {
      facts(`message ${id}`, [channelFact], h("p.soft", {}, "It lies outside the part in view."));
      return;
    }
    const { messages } = window;
    const sent = { of: "event", process: source, index: messages.sent_index[i], at: messages.sent_at[i] };
    const received = { of: "event", process: target, index: messages.received_index[i], at: messages.received_at[i] };
    const arrived = received.index !== IN_FLIGHT;
    facts(`message ${messages.id[i]}`, [
      ["value", valueText(messages.value[i], 2000)],
      channelFact,
      ["ordinal", `${thousands(messages.ordinal[i])} on its channel`],
      ["sent", link(`${source}, event ${thousands(sent.index)}`, sent)],
      ["sent at", app.readInstant(sent.at)],
      [
        "received",
        arrived ? link(`${target}, event ${thousands(received.index)}`, received) : "never: in flight at the end",
      ],
      ["received at", arrived ? app.readInstant(received.at) : null],
      ["under way", arrived ? app.readDuration(received.at - sent.at) : null],
    ]);
  }

  /** @param {PlayerState} state @param {{ channel: number }} options */
  function drawChannel({ shown }, { channel }) {
    const { id, source, target, fifo } = topology.channels[channel];
    facts(`channel ${id}`, [
      ["from", link(source, { of: "process", process: source })],
      ["to", link(target, { of: "process", process: target })],
      ["order", fifo ? "FIFO" : "not FIFO"],
      ["holds", counted(depthOf(shown, channel), "message")],
    ]);
  }

  /** @param {PlayerState} state @param {{ process: number }} options */
  function drawProcess({ shown }, { process }) {
    const { id } = topology.processes[process];
    /** @param {"sourceCode" | "targetCode"} end */
    const channels = (end) => thousands(topology.channels.filter((channel) => channel[end] === process).length);
    const detail = app.snapshots.detail();
    const [recorded, recomputed] = [detail?.recorded?.processes, detail?.recomputed?.processes];
    /** @param {Cut} cut */
    function stateNow(cut) {
      if (!hasState(cut, process)) return "…";
      return cut.known[process] ? valueText(cut.states[process], 2000) : "not known";
    }
    /** @param {Record<string, any> | undefined} states */
    function text(states) {
      if (!detail) return null;
      if (!detail.loaded.processes.has(process)) return "…";
      const state = own(states, id);
      return state === undefined ? "not known" : valueText(state, 2000);
    }
    facts(`process ${id}`, [
      ["events so far", shown ? thousands(shown.positions[process]) : null],
      ["event time", shown?.watermarks[process] ?? null],
      ["state", shown ? stateNow(shown) : null],
      ["recorded", text(recorded)],
      ["recomputed", text(recomputed)],
      ["channels", `${channels("targetCode")} incoming, ${channels("sourceCode")} outgoing`],
      ["snapshot", app.snapshots.phaseOf(process, player.state)],
    ]);
  }

  return {
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      const follows = ["channel", "process"].includes(state.selection?.of) && hasAny(keys, "shown", "detail");
      if (keys.has("selection") || follows || (keys.has("window") && state.selection && !state.playing)) draw(state);
    },
  };
}
