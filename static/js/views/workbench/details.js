/** Everything about what is selected: an event, a message, a channel or a process. */

import { h } from "../../lib/dom.js";
import { counted, thousands, valueText } from "../../lib/format.js";
import { eventRow, IN_FLIGHT } from "../../lib/window.js";
import { describe } from "./hover.js";

export function createDetails(app) {
  const { player, topology } = app;
  const box = app.root.querySelector("#wb-details");
  let request = 0;

  function draw(state) {
    const { selection } = state;
    request += 1;
    if (!selection) {
      box.replaceChildren(h("p.soft", {}, "Nothing selected. Click an event, a message, a channel or a process."));
      return;
    }
    (
      { event: drawEvent, message: drawMessage, channel: drawChannel, process: drawProcess }
    )[selection.of](state, selection);
  }

  function facts(title, entries, ...more) {
    box.replaceChildren(
      h("h3", {}, title),
      h(
        "dl.facts",
        {},
        entries.filter(([, value]) => value !== undefined && value !== null && value !== "").flatMap(
          ([name, value]) => [h("dt", {}, name), h("dd", {}, value instanceof Node ? value : String(value))],
        ),
      ),
      ...more,
    );
  }

  function link(text, target) {
    return h("button.wb-link", { type: "button", onclick: () => app.go(target) }, text);
  }

  function drawEvent({ window }, { process, index }) {
    const row = window?.exact ? eventRow(window, process, index) : -1;
    if (row >= 0) {
      const [title, entries] = describe(app, window, { of: "event", row });
      facts(title, entries, ...otherEnd(window, process, index));
    } else facts(`${topology.processes[process].id}: event ${index}`, [["index", thousands(index)]]);
    loadEvent(process, index);
  }

  /** The fields that only the server knows: line in the log, value, extra fields. */
  async function loadEvent(process, index) {
    const mine = request;
    try {
      const { kind, flight, process: name, ...fields } = await app.source.event(topology.processes[process].id, index);
      if (mine !== request) return;
      const said = Object.entries(fields).filter(([, value]) => value !== null);
      facts(
        `${name}: ${kind}`,
        said.map(([key, value]) => [key.replaceAll("_", " "), fieldText(key, value)]),
        ...farEnd(flight, process, index),
      );
    } catch (error) {
      if (mine === request) box.append(h("p.soft", {}, `The other fields could not be loaded: ${error.message}`));
    }
  }

  function fieldText(key, value) {
    return key === "at" || key === "logged_at" ? app.readInstant(value) : valueText(value, 2000);
  }

  /** Links from one end of a message or marker to the other. */
  function otherEnd(window, process, index) {
    for (const table of [window.messages, window.markers]) {
      for (let i = 0; i < table.count; i += 1) {
        const { source, target, sourceCode, targetCode } = topology.channels[table.channel[i]];
        const sent = sourceCode === process && table.sent_index[i] === index;
        const received = targetCode === process && table.received_index[i] === index;
        if (!sent && !received) continue;
        const arrived = table.received_index[i] !== IN_FLIGHT;
        if (sent) {
          return endSentence(
            "Received as ",
            arrived ? { process: target, index: table.received_index[i], at: table.received_at[i] } : null,
          );
        }
        return endSentence("Sent as ", { process: source, index: table.sent_index[i], at: table.sent_at[i] });
      }
    }
    return [];
  }

  /** The same, from what the server says of the message or marker. */
  function farEnd(flight, process, index) {
    if (!flight) return [];
    const { source, target, sourceCode } = topology.channels[topology.channelCode.get(flight.channel)];
    const isSender = sourceCode === process && flight.sent_index === index;
    if (!isSender) return endSentence("Sent as ", { process: source, index: flight.sent_index, at: flight.sent_at });
    return endSentence(
      "Received as ",
      flight.received_index === null ? null : { process: target, index: flight.received_index, at: flight.received_at },
    );
  }

  function endSentence(words, end) {
    if (!end) return [h("p", {}, "It is never received: in flight at the end.")];
    return [
      h(
        "p",
        {},
        words,
        link(`${end.process}, event ${thousands(end.index)}`, { of: "event", ...end }),
        ` (${app.readInstant(end.at)}).`,
      ),
    ];
  }

  function drawMessage({ window }, { channel, id }) {
    const i = app.messageRow(window, { channel, id });
    if (i < 0) {
      facts(
        `message ${id}`,
        [["channel", link(topology.channels[channel].id, { of: "channel", channel: topology.channels[channel].id })]],
        h("p.soft", {}, "It lies outside the part in view."),
      );
      return;
    }
    const { source, target } = topology.channels[channel];
    const { messages } = window;
    const sent = { of: "event", process: source, index: messages.sent_index[i], at: messages.sent_at[i] };
    const received = { of: "event", process: target, index: messages.received_index[i], at: messages.received_at[i] };
    const arrived = received.index !== IN_FLIGHT;
    facts(`message ${messages.id[i]}`, [
      ["value", valueText(messages.value[i], 2000)],
      ["channel", link(topology.channels[channel].id, { of: "channel", channel: topology.channels[channel].id })],
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

  function drawChannel({ shown }, { channel }) {
    const { id, source, target, fifo } = topology.channels[channel];
    facts(`channel ${id}`, [
      ["from", link(source, { of: "process", process: source })],
      ["to", link(target, { of: "process", process: target })],
      ["order", fifo ? "FIFO" : "not FIFO"],
      ["holds", counted(shown?.channels.get(channel)?.length ?? 0, "message")],
    ]);
  }

  function drawProcess({ shown }, { process }) {
    const { id } = topology.processes[process];
    const of = (end) => topology.channels.filter((channel) => channel[end] === process).length;
    facts(`process ${id}`, [
      ["events so far", shown ? thousands(shown.positions[process]) : null],
      ["state", shown ? (shown.known[process] ? valueText(shown.states[process], 2000) : "not known") : null],
      [
        "channels",
        `${counted(of("targetCode"), "incoming", "incoming")}, ${counted(of("sourceCode"), "outgoing", "outgoing")}`,
      ],
      ["snapshot", app.snapshots.phaseOf(process, player.state)],
    ]);
  }

  return {
    update(state, keys) {
      const follows = ["channel", "process"].includes(state.selection?.of) && keys.has("shown");
      if (keys.has("selection") || follows || (keys.has("window") && state.selection && !state.playing)) draw(state);
    },
  };
}
