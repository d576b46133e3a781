/**
 * A topology while it is edited: pure values, every change gives a new one.
 *
 * A process is {key, id, state, x, y}, a channel {key, id, source, target, fifo, named}. `key` is
 * ours and never changes, so that an id may be empty or taken for as long as somebody types;
 * `state` is what was typed; x and y lie in 0..1, null until placed. A channel that is not `named`
 * is called after its ends, "A->B", and follows when they are renamed.
 */

const GRID = 500; // places across the drawing

export function fromDocument(document) {
  const keyOf = new Map();
  const processes = (document.processes ?? []).map((process, place) => {
    const key = `p${place}`;
    keyOf.set(process.id, key);
    const [x, y] = document.layout?.[process.id] ?? [null, null];
    return { key, id: process.id, state: stateText(process.state), x, y };
  });
  const channels = (document.channels ?? []).map((channel, place) => ({
    key: `c${place}`,
    id: channel.id,
    source: keyOf.get(channel.source) ?? null,
    target: keyOf.get(channel.target) ?? null,
    fifo: channel.fifo ?? true,
    named: channel.id !== `${channel.source}->${channel.target}`,
  }));
  return placed({ name: document.name ?? "", processes, channels, nextKey: processes.length + channels.length });
}

export function toDocument(topology) {
  const idOf = processIds(topology);
  const layout = {};
  for (const process of topology.processes) layout[process.id] = [process.x, process.y];
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

/** What a typed state means: {value}, {} where it is empty (not known), or {problem}. */
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

export function stateText(state) {
  if (state === undefined || state === null) return "";
  const plain = typeof state === "string" && readState(state).value === state;
  return plain ? state : JSON.stringify(state);
}

export function processIds(topology) {
  return new Map(topology.processes.map(({ key, id }) => [key, id]));
}

export function channelId(topology, channel, idOf = processIds(topology)) {
  if (channel.named) return channel.id;
  return `${idOf.get(channel.source) ?? "?"}->${idOf.get(channel.target) ?? "?"}`;
}

export function rename(topology, name) {
  return { ...topology, name };
}

/** Adds a process at (x, y), or where there is room; its id is the next free letter or number. */
export function addProcess(topology, { x = null, y = null, state = "" } = {}) {
  const key = `k${topology.nextKey}`;
  const process = { key, id: freeId(topology), state, ...clamped(x, y) };
  return placed({
    ...topology,
    processes: [...topology.processes, process],
    nextKey: topology.nextKey + 1,
  });
}

export function changeProcess(topology, key, change) {
  return {
    ...topology,
    processes: topology.processes.map((process) =>
      process.key === key ? { ...process, ...change } : process,
    ),
  };
}

export function moveProcess(topology, key, x, y) {
  return changeProcess(topology, key, clamped(x, y));
}

/** Removes a process and every channel at it. */
export function removeProcess(topology, key) {
  return {
    ...topology,
    processes: topology.processes.filter((process) => process.key !== key),
    channels: topology.channels.filter(({ source, target }) => source !== key && target !== key),
  };
}

/** Adds source -> target; the same topology where there is one already, or the ends are one. */
export function addChannel(topology, source, target) {
  if (source === target || channelBetween(topology, source, target)) return topology;
  const channel = { key: `k${topology.nextKey}`, id: "", source, target, fifo: true, named: false };
  return {
    ...topology,
    channels: [...topology.channels, channel],
    nextKey: topology.nextKey + 1,
  };
}

export function addBothWays(topology, one, other) {
  return addChannel(addChannel(topology, one, other), other, one);
}

/** Adds what is missing so that every channel has one in the other direction. */
export function makeBidirectional(topology) {
  return topology.channels.reduce(
    (grown, { source, target }) =>
      source === null || target === null ? grown : addChannel(grown, target, source),
    topology,
  );
}

export function isBidirectional(topology) {
  return makeBidirectional(topology) === topology;
}

export function channelBetween(topology, source, target) {
  return topology.channels.find(
    (channel) => channel.source === source && channel.target === target,
  );
}

export function changeChannel(topology, key, change) {
  return {
    ...topology,
    channels: topology.channels.map((channel) =>
      channel.key === key ? { ...channel, ...change } : channel,
    ),
  };
}

export function removeChannel(topology, key) {
  return { ...topology, channels: topology.channels.filter((channel) => channel.key !== key) };
}

/** What would be refused: [{key, field, sentence}], in the order of the tables. */
export function problems(topology) {
  return [...processProblems(topology), ...channelProblems(topology)];
}

function processProblems(topology) {
  const found = [];
  const taken = new Set();
  for (const { key, id, state } of topology.processes) {
    if (id.trim() === "") {
      found.push({ key, field: "id", sentence: "A process needs an id. Type one." });
    } else if (taken.has(id)) {
      found.push({ key, field: "id", sentence: `There is already a process ${id}. Choose another id.` });
    }
    taken.add(id);
    const { problem } = readState(state);
    if (problem) found.push({ key, field: "state", sentence: problem });
  }
  return found;
}

function channelProblems(topology) {
  const found = [];
  const taken = new Set();
  const idOf = processIds(topology);
  for (const channel of topology.channels) {
    const { key, source, target } = channel;
    const id = channelId(topology, channel, idOf);
    if (!idOf.has(source)) {
      found.push({ key, field: "source", sentence: "Choose the process this channel leaves." });
    }
    if (!idOf.has(target)) {
      found.push({ key, field: "target", sentence: "Choose the process this channel enters." });
    }
    if (id.trim() === "") {
      found.push({ key, field: "id", sentence: "A channel needs an id. Type one." });
    } else if (taken.has(id)) {
      found.push({ key, field: "id", sentence: `There is already a channel ${id}. Choose another id.` });
    }
    taken.add(id);
  }
  return found;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";

function freeId(topology) {
  const taken = new Set(topology.processes.map(({ id }) => id));
  for (const letter of LETTERS) if (!taken.has(letter)) return letter;
  let number = 1;
  while (taken.has(`P${number}`)) number += 1;
  return `P${number}`;
}

function clamped(x, y) {
  if (x === null || y === null) return { x: null, y: null };
  const within = (value) => Math.min(1, Math.max(0, Math.round(value * GRID) / GRID));
  return { x: within(x), y: within(y) };
}

/** Puts every process that has no place yet on a circle, or in the emptiest spot beside others. */
export function placed(topology) {
  const homeless = topology.processes.filter(({ x }) => x === null);
  if (homeless.length === 0) return topology;
  const settled = topology.processes.filter(({ x }) => x !== null);
  const places =
    settled.length === 0 ? circle(homeless.length) : emptySpots(settled, homeless.length);
  const placeOf = new Map(homeless.map(({ key }, order) => [key, places[order]]));
  return {
    ...topology,
    processes: topology.processes.map((process) => {
      const place = placeOf.get(process.key);
      return place ? { ...process, ...clamped(...place) } : process;
    }),
  };
}

function circle(count) {
  if (count === 1) return [[0.5, 0.5]];
  if (count === 2) {
    return [
      [0.22, 0.5],
      [0.78, 0.5],
    ];
  }
  const angles = Array.from({ length: count }, (_, order) => (2 * Math.PI * order) / count - Math.PI / 2);
  const lowest = Math.max(...angles.map(Math.sin));
  return angles.map((angle) => [
    0.5 + 0.44 * Math.cos(angle),
    (Math.sin(angle) + 1) / (lowest + 1),
  ]);
}

/** `count` places of a grid, each the farthest from everything already there. */
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

/** Undo and redo over values; `change` drops what was undone. Every step is one value. */
export function history(first, limit = 200) {
  let past = [];
  let now = first;
  let future = [];
  let typing = null;

  function change(next) {
    typing = null;
    if (next === now) return;
    past = [...past, now].slice(-limit);
    future = [];
    now = next;
  }

  return {
    get now() {
      return now;
    },
    get canUndo() {
      return past.length > 0;
    },
    get canRedo() {
      return future.length > 0;
    },
    change,
    /** What is typed into one field is one step, however many keys it takes. */
    type(field, next) {
      if (typing === field) now = next;
      else change(next);
      typing = field;
    },
    /** Replaces the present without a step of its own: the middle of a drag. */
    amend(next) {
      typing = null;
      now = next;
    },
    undo() {
      typing = null;
      if (past.length === 0) return;
      future = [now, ...future];
      now = past.at(-1);
      past = past.slice(0, -1);
    },
    redo() {
      typing = null;
      if (future.length === 0) return;
      past = [...past, now];
      [now, ...future] = future;
    },
  };
}
