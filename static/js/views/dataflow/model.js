/**
 * A dataflow while it is edited: pure values, every change gives a new one.
 *
 * A vertex is {key, id, kind, parallelism, cost, records, rate, keys, skew, function, sink, rest},
 * an edge {key, source, target, exchange}; the ends are keys of vertices, null until chosen. `key`
 * is ours and never changes. Numbers are what was typed; `rest` are fields that the tables lack.
 */

export const KINDS = ["source", "operator", "sink"];
export const FUNCTIONS = ["map", "filter", "flatmap", "count", "sum", "total", "join"];
export const SINKS = ["plain", "idempotent", "two-phase"];
export const EXCHANGES = ["forward", "hash", "broadcast", "rebalance"];
const KEYED = ["count", "sum", "join"];
const DEFAULTS = { parallelism: 1, cost: 100, records: 100, rate: 1000, keys: 8, skew: 0 };
const NUMBERS = Object.keys(DEFAULTS);
const KEY_GROUPS = 128;
const MOST_KEY_GROUPS = 32768;

export function fromDocument(document) {
  const keyOf = new Map();
  const vertices = (document.dataflow?.vertices ?? []).map((given, place) => {
    const { id, kind, function: does, sink, ...rest } = Object(given);
    const key = `v${place}`;
    if (!keyOf.has(id)) keyOf.set(id, key);
    const vertex = {
      key,
      id: String(id ?? ""),
      kind: kind ?? "operator",
      function: does ?? "map",
      sink: sink ?? "plain",
    };
    for (const name of NUMBERS) {
      vertex[name] = String(rest[name] ?? DEFAULTS[name]);
      delete rest[name];
    }
    return { ...vertex, rest };
  });
  const edges = (document.dataflow?.edges ?? []).map((given, place) => {
    const { source, target, exchange } = Object(given);
    return {
      key: `e${place}`,
      source: keyOf.get(source) ?? null,
      target: keyOf.get(target) ?? null,
      exchange: exchange ?? "forward",
    };
  });
  return { name: document.name ?? "", vertices, edges, nextKey: vertices.length + edges.length };
}

export function toDocument(dataflow) {
  const idOf = new Map(dataflow.vertices.map(({ key, id }) => [key, id]));
  return {
    name: dataflow.name,
    dataflow: {
      vertices: dataflow.vertices.map(vertexDocument),
      edges: dataflow.edges.map(({ source, target, exchange }) => ({
        source: idOf.get(source) ?? "",
        target: idOf.get(target) ?? "",
        exchange,
      })),
    },
  };
}

function vertexDocument(vertex) {
  const found = { id: vertex.id, kind: vertex.kind, function: vertex.function, sink: vertex.sink, ...vertex.rest };
  for (const name of NUMBERS) found[name] = asNumber(vertex[name]);
  const groups = found.max_parallelism ?? KEY_GROUPS;
  if (width(vertex) > groups) found.max_parallelism = keyGroups(width(vertex));
  return found;
}

/** A number where it is one; else the text, which the server refuses at its field. */
function asNumber(typed) {
  const text = typed.trim();
  return /^-?\d+(\.\d+)?(e-?\d+)?$/i.test(text) ? Number(text) : text;
}

/** As many as Flink takes where none are set: half more than subtasks, up to a power of two. */
function keyGroups(parallelism) {
  const power = 2 ** Math.ceil(Math.log2(parallelism * 1.5));
  return Math.min(Math.max(power, KEY_GROUPS), MOST_KEY_GROUPS);
}

/** How many subtasks to draw for a vertex: 1 as long as what is typed is none. */
export function width(vertex) {
  const typed = asNumber(vertex.parallelism);
  return Number.isInteger(typed) && typed >= 1 ? typed : 1;
}

/** What a vertex does, in its own word. */
export function role(vertex) {
  if (vertex.kind === "sink") return `sink: ${vertex.sink}`;
  return vertex.kind === "operator" ? `operator: ${vertex.function}` : vertex.kind;
}

export function rename(dataflow, name) {
  return { ...dataflow, name };
}

export function addVertex(dataflow) {
  const blank = fromDocument({ dataflow: { vertices: [{ id: freeId(dataflow), kind: "operator" }] } });
  const vertex = { ...blank.vertices[0], key: `k${dataflow.nextKey}` };
  return { ...dataflow, vertices: [...dataflow.vertices, vertex], nextKey: dataflow.nextKey + 1 };
}

export function changeVertex(dataflow, key, change) {
  return { ...dataflow, vertices: changed(dataflow.vertices, key, change) };
}

/** Removes a vertex and every edge at it. */
export function removeVertex(dataflow, key) {
  return {
    ...dataflow,
    vertices: dataflow.vertices.filter((vertex) => vertex.key !== key),
    edges: dataflow.edges.filter(({ source, target }) => source !== key && target !== key),
  };
}

/** Adds an edge between two vertices that want one; its ends are null where nobody does. */
export function addEdge(dataflow) {
  const [source, target] = likelyEnds(dataflow);
  const edge = { key: `k${dataflow.nextKey}`, source, target, exchange: likelyExchange(dataflow, source, target) };
  return { ...dataflow, edges: [...dataflow.edges, edge], nextKey: dataflow.nextKey + 1 };
}

export function changeEdge(dataflow, key, change) {
  return { ...dataflow, edges: changed(dataflow.edges, key, change) };
}

export function removeEdge(dataflow, key) {
  return { ...dataflow, edges: dataflow.edges.filter((edge) => edge.key !== key) };
}

function changed(items, key, change) {
  return items.map((item) => (item.key === key ? { ...item, ...change } : item));
}

/** To the first vertex without an input, from the last one before it that is no sink. */
function likelyEnds({ vertices, edges }) {
  const reached = new Set(edges.map(({ target }) => target));
  const target = vertices.find(({ key, kind }) => kind !== "source" && !reached.has(key));
  const before = vertices.slice(0, target ? vertices.indexOf(target) : 0);
  const source = before.findLast(({ kind }) => kind !== "sink");
  return [source?.key ?? null, target?.key ?? null];
}

function likelyExchange({ vertices }, sourceKey, targetKey) {
  const source = vertices.find(({ key }) => key === sourceKey);
  const target = vertices.find(({ key }) => key === targetKey);
  if (!source || !target) return "forward";
  const keyed = target.kind === "operator" && KEYED.includes(target.function);
  if (keyed && width(target) > 1) return "hash";
  return width(source) === width(target) ? "forward" : "rebalance";
}

/** What would be refused and is plain at once: [{key, field, sentence}]; the rest the server says. */
export function problems({ vertices, edges }) {
  const found = [];
  const taken = new Set();
  for (const { key, id } of vertices) {
    if (id.trim() === "") found.push({ key, field: "id", sentence: "A vertex needs an id. Type one." });
    else if (taken.has(id)) {
      found.push({ key, field: "id", sentence: `There is already a vertex ${id}. Choose another id.` });
    }
    taken.add(id);
  }
  const keys = new Set(vertices.map(({ key }) => key));
  for (const { key, source, target } of edges) {
    if (!keys.has(source)) found.push({ key, field: "source", sentence: "Choose the vertex this edge leaves." });
    if (!keys.has(target)) found.push({ key, field: "target", sentence: "Choose the vertex this edge enters." });
  }
  return found;
}

/** The server's refusal as the row and field it stands at: [{key, field, sentence}], or []. */
export function refusalsOf(refusal, dataflow) {
  const match = /^dataflow\.(vertices|edges)\[(\d+)\](?:\.(\w+))?$/.exec(refusal?.field ?? "");
  const row = match && dataflow[match[1]][Number(match[2])];
  if (!row) return [];
  const first = match[1] === "vertices" ? "id" : "exchange";
  const field = match[3] === "max_parallelism" ? "parallelism" : (match[3] ?? first);
  return [{ key: row.key, field, sentence: refusal.detail }];
}

function freeId({ vertices }) {
  const taken = new Set(vertices.map(({ id }) => id));
  let number = 1;
  const name = () => (number === 1 ? "map" : `map ${number}`);
  while (taken.has(name())) number += 1;
  return name();
}
