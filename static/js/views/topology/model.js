/**
 * A topology while it is edited. Pure: every change returns a new value.
 *
 * Unlike an id, a key never changes, so an id may be empty or taken while somebody types. A state is the text that was
 * typed. x and y lie in 0..1, and are null until placed. A channel that is not `named` is called after its ends,
 * "A->B", and follows when they are renamed.
 */

import { own } from "../../lib/own.js";

const GRID = 500; // places across the drawing

/** @param {any} document @returns {EditedTopology} */
export function fromDocument(document) {
  const keyOf = new Map();
  const processes = (document.processes ?? []).map((/** @type {any} */ process, /** @type {number} */ place) => {
    const key = `p${place}`;
    keyOf.set(process.id, key);
    const [x, y] = own(document.layout, process.id) ?? [null, null];
    return { key, id: process.id, state: stateText(process.state), x, y };
  });
  const channels = (document.channels ?? []).map((/** @type {any} */ channel, /** @type {number} */ place) => ({
    key: `c${place}`,
    id: channel.id,
    source: keyOf.get(channel.source) ?? null,
    target: keyOf.get(channel.target) ?? null,
    fifo: channel.fifo ?? true,
    named: channel.id !== `${channel.source}->${channel.target}`,
  }));
  return placed({ name: document.name ?? "", processes, channels, nextKey: processes.length + channels.length });
}

/** @param {EditedTopology} topology */
export function toDocument(topology) {
  const idOf = processIds(topology);
  const layout = Object.fromEntries(topology.processes.map(({ id, x, y }) => [id, [x, y]])); // also of "__proto__"
  return {
    name: topology.name,
    processes: topology.processes.map(({ id, state }) => {
      const value = readState(state).value;
      return value === undefined ? { id } : { id, state: value };
    }),
    channels: topology.channels.map((channel) => ({
      id: channelId(topology, channel, idOf),
      source: idOf.get(channel.source),
      target: idOf.get(channel.target),
      fifo: channel.fifo,
    })),
    layout,
  };
}

/**
 * Writes the document as text for the form; an empty topology is an empty text.
 * @param {EditedTopology} topology
 */
export function asText(topology) {
  return topology.processes.length === 0 ? "" : JSON.stringify(toDocument(topology), null, 1);
}

/**
 * Reads a typed state: {value}, {} if it is empty (not known), or {problem}.
 * @param {string} text @returns {{ value?: unknown, problem?: string }}
 */
export function readState(text) {
  const typed = text.trim();
  if (typed === "") return {};
  try {
    return { value: JSON.parse(typed) };
  } catch {
    if (/^[[{"]/.test(typed)) {
      return { problem: "This starts like JSON but is not. Close every bracket and quote." };
    }
    return { value: typed };
  }
}

/** @param {unknown} state */
function stateText(state) {
  if (state === undefined || state === null) return "";
  const plain = typeof state === "string" && readState(state).value === state;
  return plain ? state : JSON.stringify(state);
}

/** @param {EditedTopology} topology */
export function processIds(topology) {
  return new Map(topology.processes.map(({ key, id }) => [key, id]));
}

/** @param {EditedTopology} topology @param {EditedChannel} channel @param {Map<string, string>} [idOf] */
export function channelId(topology, channel, idOf = processIds(topology)) {
  if (channel.named) return channel.id;
  return `${idOf.get(channel.source) ?? "?"}->${idOf.get(channel.target) ?? "?"}`;
}

/** @param {EditedTopology} topology @param {string} name */
export function rename(topology, name) {
  return { ...topology, name };
}

/**
 * Adds a process at (x, y), or where there is room. Its id is the next free letter or number.
 * @param {EditedTopology} topology @param {{ x?: number | null, y?: number | null, state?: string }} options
 */
export function addProcess(topology, { x = null, y = null, state = "" } = {}) {
  const key = `k${topology.nextKey}`;
  const process = { key, id: freeId(topology), state, ...clamped(x, y) };
  return placed({
    ...topology,
    processes: [...topology.processes, process],
    nextKey: topology.nextKey + 1,
  });
}

/** @param {EditedTopology} topology @param {string} key @param {object} fields */
export function changeProcess(topology, key, fields) {
  return { ...topology, processes: changed(topology.processes, key, fields) };
}

/** @param {EditedTopology} topology @param {string} key @param {number | null} x @param {number | null} y */
export function moveProcess(topology, key, x, y) {
  return changeProcess(topology, key, clamped(x, y));
}

/**
 * Removes a process and every channel at it.
 * @param {EditedTopology} topology @param {string} key
 */
export function removeProcess(topology, key) {
  return {
    ...topology,
    processes: topology.processes.filter((process) => process.key !== key),
    channels: topology.channels.filter(({ source, target }) => source !== key && target !== key),
  };
}

/**
 * Adds a channel, unless there is one already or its ends are the same process.
 * @param {EditedTopology} topology @param {string | null} source @param {string | null} target
 */
export function addChannel(topology, source, target) {
  if (source === target || channelBetween(topology, source, target)) return topology;
  const channel = { key: `k${topology.nextKey}`, id: "", source, target, fifo: true, named: false };
  return {
    ...topology,
    channels: [...topology.channels, channel],
    nextKey: topology.nextKey + 1,
  };
}

/** @param {EditedTopology} topology @param {string} one @param {string} other */
export function addBothWays(topology, one, other) {
  return addChannel(addChannel(topology, one, other), other, one);
}

/**
 * Adds the channels that are missing so that each has one in the other direction.
 * @param {EditedTopology} topology
 */
export function makeBidirectional(topology) {
  return topology.channels.reduce(
    (grown, { source, target }) =>
      source === null || target === null ? grown : addChannel(grown, target, source),
    topology,
  );
}

/** @param {EditedTopology} topology */
export function isBidirectional(topology) {
  return makeBidirectional(topology) === topology;
}

/** @param {EditedTopology} topology @param {string | null} source @param {string | null} target */
export function channelBetween(topology, source, target) {
  return topology.channels.find((channel) => channel.source === source && channel.target === target);
}

/**
 * Returns two processes without a channel from the first to the second, or null.
 * @param {EditedTopology} topology @returns {[string, string] | null}
 */
export function freePair(topology) {
  for (const { key: source } of topology.processes) {
    for (const { key: target } of topology.processes) {
      if (source !== target && !channelBetween(topology, source, target)) return [source, target];
    }
  }
  return null;
}

/** @param {EditedTopology} topology @param {string} key @param {object} fields */
export function changeChannel(topology, key, fields) {
  return { ...topology, channels: changed(topology.channels, key, fields) };
}

/**
 * Returns the items with new values of some fields of one of them.
 * @param {any[]} items @param {string} key @param {object} fields
 */
export function changed(items, key, fields) {
  return items.map((item) => (item.key === key ? { ...item, ...fields } : item));
}

/** @param {EditedTopology} topology @param {string} key */
export function removeChannel(topology, key) {
  return { ...topology, channels: topology.channels.filter((channel) => channel.key !== key) };
}

/**
 * Returns what the server would refuse, in the order of the tables.
 * @param {EditedTopology} topology @returns {FieldProblem[]}
 */
export function problems(topology) {
  return [...processProblems(topology), ...channelProblems(topology)];
}

/** @param {EditedTopology} topology @returns {FieldProblem[]} */
function processProblems(topology) {
  const all = [];
  const taken = new Set();
  for (const { key, id, state } of topology.processes) {
    all.push(...idProblems("process", key, id, taken));
    const { problem } = readState(state);
    if (problem) all.push({ key, field: "state", sentence: problem });
  }
  return all;
}

/** @param {EditedTopology} topology @returns {FieldProblem[]} */
function channelProblems(topology) {
  const all = [];
  const taken = new Set();
  const idOf = processIds(topology);
  for (const channel of topology.channels) {
    const { key, source, target } = channel;
    if (!idOf.has(source)) all.push({ key, field: "source", sentence: "Choose the process this channel leaves." });
    if (!idOf.has(target)) all.push({ key, field: "target", sentence: "Choose the process this channel enters." });
    all.push(...idProblems("channel", key, channelId(topology, channel, idOf), taken));
  }
  return all;
}

/**
 * Returns the problem of an empty id, or of one that is taken. Adds the id to those taken.
 * @param {string} noun @param {string} key @param {string} id @param {Set<string>} taken @returns {FieldProblem[]}
 */
export function idProblems(noun, key, id, taken) {
  const isTaken = taken.has(id);
  taken.add(id);
  if (id.trim() === "") return [{ key, field: "id", sentence: `A ${noun} needs an id. Type one.` }];
  if (isTaken) return [{ key, field: "id", sentence: `There is already a ${noun} ${id}. Choose another id.` }];
  return [];
}

/**
 * Returns the row and field of the server's refusal, such as "processes[3].id"; [] if it names none.
 * @param {Refusal | null} refusal @param {EditedTopology} topology @returns {FieldProblem[]}
 */
export function refusalsOf(refusal, topology) {
  const match = /^(processes|channels)\[(\d+)\](?:\.(\w+))?/.exec(refusal?.field ?? "");
  const rows = match?.[1] === "processes" ? topology.processes : topology.channels;
  const row = match && rows[Number(match[2])];
  return row ? [{ key: row.key, field: match[3] ?? "id", sentence: refusal.detail }] : [];
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

/** @param {EditedTopology} topology */
function freeId(topology) {
  const taken = new Set(topology.processes.map(({ id }) => id));
  for (const letter of LETTERS) if (!taken.has(letter)) return letter;
  let number = 1;
  while (taken.has(`P${number}`)) number += 1;
  return `P${number}`;
}

/** @param {number | null} x @param {number | null} y */
function clamped(x, y) {
  if (x === null || y === null) return { x: null, y: null };
  /** @param {number} value */
  const within = (value) => Math.min(1, Math.max(0, Math.round(value * GRID) / GRID));
  return { x: within(x), y: within(y) };
}

/**
 * Places every process that has no place yet: on a circle, or where it is farthest from those that have one.
 * @param {EditedTopology} topology @returns {EditedTopology}
 */
export function placed(topology) {
  const unplaced = topology.processes.filter(({ x }) => x === null);
  if (unplaced.length === 0) return topology;
  const settled = topology.processes.filter(({ x }) => x !== null);
  const places = settled.length === 0 ? circle(unplaced.length) : emptySpots(settled, unplaced.length);
  const placeOf = new Map(unplaced.map(({ key }, order) => [key, places[order]]));
  return {
    ...topology,
    processes: topology.processes.map((process) => {
      const place = placeOf.get(process.key);
      return place ? { ...process, ...clamped(place[0], place[1]) } : process;
    }),
  };
}

/** @param {number} count @returns {number[][]} */
function circle(count) {
  if (count === 1) return [[0.5, 0.5]];
  if (count === 2) return [[0.22, 0.5], [0.78, 0.5]];
  const angles = Array.from({ length: count }, (_, order) => (2 * Math.PI * order) / count - Math.PI / 2);
  const lowest = Math.max(...angles.map(Math.sin));
  return angles.map((angle) => [
    0.5 + 0.44 * Math.cos(angle),
    (Math.sin(angle) + 1) / (lowest + 1),
  ]);
}

/**
 * Returns `count` places of a grid, each the farthest from all that are taken.
 * @param {EditedProcess[]} settled @param {number} count @returns {number[][]}
 */
function emptySpots(settled, count) {
  const taken = settled.map(({ x, y }) => [x, y]);
  const grid = [];
  for (let row = 1; row < 8; row += 1) {
    for (let column = 1; column < 8; column += 1) grid.push([column / 8, row / 8]);
  }
  const spots = [];
  for (let place = 0; place < count; place += 1) {
    const room = (/** @type {number[]} */ [x, y]) => Math.min(...taken.map(([a, b]) => Math.hypot(a - x, b - y)));
    const best = grid.reduce((one, other) => (room(other) > room(one) ? other : one));
    spots.push(best);
    taken.push(best);
  }
  return spots;
}
