/** Recordings for tests: events in causal order become window payloads as the server writes them. */

import { openTopology } from "../../static/js/lib/topology.js";
import { openWindow } from "../../static/js/lib/window.js";

const APPLICATION = ["internal", "send", "receive"];
const TYPES = {
  i1: Int8Array,
  u1: Uint8Array,
  u2: Uint16Array,
  i4: Int32Array,
  i8: BigInt64Array,
  f8: Float64Array,
};

/** Encodes numbers as the server does. */
export function encode(numbers, dtype) {
  return { dtype, bdata: Buffer.from(TYPES[dtype].from(numbers).buffer).toString("base64") };
}

/** Makes a recording. processes: {id: start state}; channels: ["A->B"]; events: [{process, kind, at, channel, …}]. */
export function aRecording({ processes, channels, events }) {
  const topology = openTopology({
    processes: Object.entries(processes).map(([id, state]) => ({ id, state })),
    channels: channels.map((id) => ({ id, source: id.split("->")[0], target: id.split("->")[1], fifo: true })),
  });
  const counts = new Map();
  const placed = events.map((event, step) => {
    const index = counts.get(event.process) ?? 0;
    counts.set(event.process, index + 1);
    return { at: step * 10, ...event, step, index };
  });
  const { messages, markers } = matched(placed);
  return { topology, events: placed, messages, markers, ...views({ topology, events: placed, messages, markers }) };
}

function matched(events) {
  const messages = [];
  const markers = [];
  const ordinals = new Map();
  for (const event of events) {
    if (event.kind === "send") {
      const ordinal = ordinals.get(event.channel) ?? 0;
      ordinals.set(event.channel, ordinal + 1);
      messages.push({ ...event, ordinal, sent: event, received: null });
    }
    if (event.kind === "marker_send") markers.push({ ...event, sent: event, received: null });
    const table = { receive: messages, marker_receive: markers }[event.kind];
    const same = (row) => row.channel === event.channel
      && row.message === event.message
      && row.snapshot === event.snapshot
      && !row.received;
    const row = table?.find(same);
    if (row) row.received = event;
  }
  return { messages, markers };
}

function views(recording) {
  const payload = (from, to, axis = "time") => windowPayload(recording, from, to, axis);
  return { payload, window: (from, to, axis) => openWindow(payload(from, to, axis), recording.topology) };
}

function windowPayload({ topology, events, messages, markers }, from, to, axis) {
  const place = (event) => (axis === "order" ? event.step + 1 : event.at);
  const processes = topology.processes.map(({ id }) => id);
  const positions = processes.map((id) => events.filter((e) => e.process === id && place(e) <= from).length);
  const positionsTo = processes.map((id) => events.filter((e) => e.process === id && place(e) <= to).length);
  const inside = events.filter((e) => place(e) >= from && place(e) <= to);
  const overlaps = ({ sent, received }) => place(sent) <= to && (!received || place(received) >= from);
  const states = processes.map(
    (id, p) => stateAfter(topology.processes[p].state, events.filter((e) => e.process === id).slice(0, positions[p])),
  );
  const depth = ({ id, sourceCode, targetCode }) => messages.filter(
    (m) => m.channel === id && m.sent.index < positions[sourceCode] && !(
      m.received && m.received.index < positions[targetCode]
    ),
  ).length;
  const kinds = [...new Set([...APPLICATION, ...events.map((e) => e.kind)])];
  const snapshots = [...new Set(events.filter((e) => e.snapshot !== undefined).map((e) => e.snapshot))];
  const shownMessages = messages.filter(overlaps);
  const codes = { kinds, snapshots, topology, processes };
  return {
    axis, from, to, exact: true,
    events_total: inside.length,
    messages_total: shownMessages.length,
    positions: encode(positions, "i4"),
    positions_to: encode(positionsTo, "i4"),
    states: states.map(([state]) => state),
    states_known: states.map(([, known]) => known),
    depths: encode(topology.channels.map(depth), "i4"),
    events: eventColumns(inside, codes),
    messages: {
      ...ends(shownMessages, codes),
      ordinal: encode(shownMessages.map((m) => m.ordinal), "i4"),
      message: shownMessages.map((m) => m.message),
      value: shownMessages.map((m) => m.value ?? null),
    },
    markers: {
      ...ends(markers.filter(overlaps), codes),
      snapshot: encode(markers.filter(overlaps).map((m) => snapshots.indexOf(m.snapshot)), "i4"),
    },
    kinds, snapshots, bins: null,
  };
}

function stateAfter(start, events) {
  return events.reduce(([state, known], event) => {
    if (!APPLICATION.includes(event.kind)) return [state, known];
    return "state" in event ? [event.state, true] : [null, false];
  }, [start, true]);
}

function eventColumns(events, { kinds, snapshots, topology, processes }) {
  return {
    process: encode(events.map((e) => processes.indexOf(e.process)), "i4"),
    index: encode(events.map((e) => e.index), "i4"),
    at: encode(events.map((e) => e.at), "f8"),
    step: encode(events.map((e) => e.step), "f8"),
    kind: encode(events.map((e) => kinds.indexOf(e.kind)), "u2"),
    channel: encode(events.map((e) => topology.channelCode.get(e.channel) ?? -1), "i4"),
    snapshot: encode(events.map((e) => snapshots.indexOf(e.snapshot)), "i4"),
    state: events.map((e) => e.state ?? null),
    state_known: encode(events.map((e) => ("state" in e ? 1 : 0)), "u1"),
    label: events.map((e) => e.label ?? null),
  };
}

function ends(rows, { topology }) {
  const column = (pick, dtype) => encode(rows.map(pick), dtype);
  return {
    channel: column((m) => topology.channelCode.get(m.channel), "i4"),
    sent_index: column((m) => m.sent.index, "f8"),
    received_index: column((m) => m.received?.index ?? -1, "f8"),
    sent_at: column((m) => m.sent.at, "f8"),
    received_at: column((m) => m.received?.at ?? NaN, "f8"),
    sent_step: column((m) => m.sent.step, "f8"),
    received_step: column((m) => m.received?.step ?? NaN, "f8"),
  };
}

/** Makes the two-bank example. Its snapshot is A 9000, B 3000, A->B empty, B->A [1000, 2000]. */
export function twoBanks() {
  return aRecording({
    processes: { A: 10000, B: 5000 },
    channels: ["A->B", "B->A"],
    events: [
      { process: "A", kind: "send", at: 10, channel: "A->B", message: "a1", value: 1000, state: 9000 },
      { process: "A", kind: "record_state", at: 20, snapshot: "1", state: 9000 },
      { process: "A", kind: "marker_send", at: 20, channel: "A->B", snapshot: "1" },
      { process: "B", kind: "send", at: 22, channel: "B->A", message: "b1", value: 1000, state: 4000 },
      { process: "B", kind: "send", at: 26, channel: "B->A", message: "b2", value: 2000, state: 2000 },
      { process: "B", kind: "receive", at: 30, channel: "A->B", message: "a1", value: 1000, state: 3000 },
      { process: "B", kind: "marker_receive", at: 40, channel: "A->B", snapshot: "1" },
      { process: "B", kind: "record_state", at: 40, snapshot: "1", state: 3000 },
      { process: "B", kind: "marker_send", at: 40, channel: "B->A", snapshot: "1" },
      { process: "A", kind: "receive", at: 50, channel: "B->A", message: "b1", value: 1000, state: 10000 },
      { process: "A", kind: "receive", at: 60, channel: "B->A", message: "b2", value: 2000, state: 12000 },
      { process: "A", kind: "marker_receive", at: 70, channel: "B->A", snapshot: "1" },
    ],
  });
}
