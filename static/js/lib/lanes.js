/** The lanes of the diagram: which processes are shown, in which order, and which of them share a lane. Pure. */

/** @type {LaneSort[]} */
export const SORTS = ["log", "name", "events", "first", "topology"];

/**
 * The lanes as they are at first: one for each process, in the order of the log.
 * @type {Lanes}
 */
export const PLAIN_LANES = {
  ...{ filter: "", sort: "log", grouped: false, fitted: false },
  ...{ open: [], pinned: [], first: null, control: true },
};

const byName = new Intl.Collator("en", { numeric: true }).compare;

/**
 * Returns the group of a process: its name without the index at the end, as "map" of "map[0]" and "node" of "node-3".
 * @param {string} id
 */
export function groupOf(id) {
  return id.match(/^(.+?)\[\d+\]$/)?.[1] ?? id.match(/^(.*\p{L})[-_.:#/ ]?\d+$/u)?.[1] ?? id;
}

/**
 * Arranges the processes in lanes. Pinned ones come first, before them the coordinators if they are drawn as such.
 * @param {OpenTopology} topology @param {Lanes} lanes @returns {Arrangement}
 */
export function arrange(topology, lanes) {
  const { processes } = topology;
  const words = lanes.filter.toLowerCase().split(/\s+/).filter(Boolean);
  const all = lanes.grouped ? grouped(topology, lanes) : processes.map((_, p) => single(topology, p));
  const rows = inOrder(topology, all, lanes.sort);
  const pinned = new Set(lanes.pinned);
  const heads = new Set(lanes.control ? topology.coordinators : []);
  /** @param {LaneRow} row */
  const isPinned = (row) => pinned.has(row.name) || row.processes.every((p) => heads.has(p));
  const rest = rows.filter((row) => !isPinned(row)).map((row) => narrowed(topology, row, words)).filter(Boolean);
  const top = rows.filter(isPinned).sort((a, b) => lanes.pinned.indexOf(a.name) - lanes.pinned.indexOf(b.name));
  const shown = [...top, ...rest];
  const rowOf = new Int32Array(processes.length).fill(-1);
  shown.forEach((row, i) => row.processes.forEach((p) => (rowOf[p] = i)));
  const arrangement = { rows: shown, pinned: top.length, rowOf, hidden: rowOf.filter((row) => row < 0).length };
  return { ...arrangement, isFitted: lanes.fitted, first: firstInView(arrangement, lanes) };
}

/**
 * Returns the place among all rows of the first lane in view below those that stay; 0 without one.
 * @param {{ rows: LaneRow[] }} arrangement @param {Lanes} lanes
 */
export function firstInView({ rows }, { first }) {
  return Math.max(0, rows.findIndex(({ name }) => name === first));
}

/**
 * Returns the name of the lane that is the first in view below those that stay, after scrolling to `place` among all
 * rows as far as there are lanes; null for the uppermost. Pinned lanes that lack room scroll with the others.
 * @param {{ rows: LaneRow[] }} arrangement @param {number} place @param {{ lanes: number, pinned: number }} view
 */
export function firstLane({ rows }, place, { lanes, pinned }) {
  const next = Math.max(pinned, Math.min(place, rows.length - (lanes - pinned)));
  return next === pinned ? null : rows[next].name;
}

/** @param {OpenTopology} topology @param {number} p @returns {LaneRow} */
function single({ processes }, p) {
  return { name: processes[p].id, processes: [p], group: null };
}

/**
 * Returns a lane for each group that is closed, and one for each process of the others.
 * @param {OpenTopology} topology @param {Lanes} lanes @returns {LaneRow[]}
 */
function grouped(topology, { open, pinned }) {
  const apart = new Set(pinned);
  /** @type {Map<string, number[]>} */
  const groups = new Map();
  topology.processes.forEach(({ id }, p) => {
    const name = groupOf(id);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(p);
  });
  const titles = groupNames(groups, topology);
  return [...groups].flatMap(([group, members]) => {
    if (members.length === 1) return [single(topology, members[0])];
    if (open.includes(group)) return members.map((p) => ({ ...single(topology, p), group }));
    const alone = members.filter((p) => apart.has(topology.processes[p].id));
    const together = members.filter((p) => !alone.includes(p));
    const lanes = alone.map((p) => ({ ...single(topology, p), group }));
    return together.length ? [...lanes, { name: titles.get(group), processes: together, group }] : lanes;
  });
}

/**
 * Returns the name of each group's lane while it is closed, which is that of no process and of no other group.
 * @param {Map<string, number[]>} groups @param {OpenTopology} topology
 */
function groupNames(groups, { processCode }) {
  const taken = new Set(processCode.keys());
  /** @type {Map<string, string>} */
  const names = new Map();
  for (const group of groups.keys()) {
    let name = `${group}[*]`;
    while (taken.has(name)) name += "[*]";
    taken.add(name);
    names.set(group, name);
  }
  return names;
}

/**
 * Returns a lane without the processes that lack one of the words, or null if none is left.
 * @param {OpenTopology} topology @param {LaneRow} row @param {string[]} words @returns {LaneRow | null}
 */
function narrowed({ processes }, row, words) {
  if (!words.length) return row;
  const kept = row.processes.filter((p) => words.every((word) => processes[p].id.toLowerCase().includes(word)));
  return kept.length ? { ...row, processes: kept } : null;
}

/** @param {OpenTopology} topology @param {LaneRow[]} rows @param {LaneSort} sort */
function inOrder(topology, rows, sort) {
  if (sort === "log") return rows;
  const { processes } = topology;
  if (sort === "name") return rows.toSorted((a, b) => byName(a.name, b.name));
  /** @type {Record<string, (p: number) => number>} */
  const keys = {
    events: (p) => -(processes[p].events ?? 0),
    first: (p) => processes[p].first_step ?? Infinity,
  };
  const ranks = sort === "topology" ? flowRanks(topology) : null;
  const key = ranks ? (/** @type {number} */ p) => ranks[p] : keys[sort];
  const worth = new Map(rows.map((row) => [row, keyOfRow(row, key, sort)]));
  return rows.toSorted((a, b) => (worth.get(a) === worth.get(b) ? 0 : worth.get(a) - worth.get(b)));
}

/** @param {LaneRow} row @param {(p: number) => number} key @param {LaneSort} sort */
function keyOfRow(row, key, sort) {
  const values = row.processes.map(key);
  return sort === "events" ? values.reduce((sum, value) => sum + value, 0) : Math.min(...values);
}

/**
 * Returns the place of each process along the channels: sources first, each process soon after one that sends to it.
 * A circle begins at its first process in the log.
 * @param {OpenTopology} topology
 */
function flowRanks({ processes, channels }) {
  /** @type {number[][]} */
  const targets = processes.map(() => []);
  const sources = new Int32Array(processes.length);
  for (const { sourceCode, targetCode } of channels) {
    if (sourceCode === targetCode) continue;
    targets[sourceCode].push(targetCode);
    sources[targetCode] += 1;
  }
  const ranks = new Int32Array(processes.length).fill(-1);
  const ready = Array.from(processes.keys()).filter((p) => sources[p] === 0);
  let next = 0;
  let unranked = 0;
  while (next < processes.length) {
    if (!ready.length) {
      while (ranks[unranked] >= 0) unranked += 1;
      ready.push(unranked);
    }
    const p = ready.shift();
    if (ranks[p] >= 0) continue;
    ranks[p] = next++;
    for (const target of targets[p]) if ((sources[target] -= 1) === 0) ready.push(target);
  }
  return ranks;
}

/**
 * Says which lanes are shown, or returns "" if all are.
 * @param {Arrangement} arrangement @param {number} processes @param {(count: number) => string} write
 */
export function hiddenSentence({ rows, hidden }, processes, write) {
  const groups = rows.filter((row) => row.processes.length > 1);
  const inGroups = groups.reduce((sum, row) => sum + row.processes.length, 0);
  const together = groups.length
    ? `${write(inGroups)} processes in ${write(groups.length)} closed ${groups.length === 1 ? "group" : "groups"}. `
    : "";
  if (!hidden) return together;
  const shown = `${write(processes - hidden)} of ${write(processes)} processes`;
  return `${shown}; ${write(hidden)} hidden by the filter. ${together}`;
}

/**
 * Counts the messages of a window by what the lanes hide of them.
 * @param {OpenWindow} window @param {Arrangement} arrangement
 */
export function hiddenMessages({ messages, topology }, { rowOf, hidden }) {
  const counts = { oneEnd: 0, both: 0 };
  if (!hidden) return counts;
  for (let row = 0; row < messages.count; row += 1) {
    const { sourceCode, targetCode } = topology.channels[messages.channel[row]];
    const ends = Number(rowOf[sourceCode] < 0) + Number(rowOf[targetCode] < 0);
    if (ends === 2) counts.both += 1;
    else if (ends === 1) counts.oneEnd += 1;
  }
  return counts;
}
