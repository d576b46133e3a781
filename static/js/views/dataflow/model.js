/**
 * A dataflow while it is edited. Pure: every change returns a new value.
 *
 * The ends of an edge are keys of vertices, null until chosen. Unlike an id, a key never changes. Numbers are texts as
 * they were typed. `rest` holds the fields of a vertex for which the tables have no column.
 */

import { changed, idProblems } from "../topology/model.js";

export const KINDS = ["source", "operator", "sink"];
export const FUNCTIONS = ["map", "filter", "flatmap", "count", "sum", "total", "join", "window"];
export const SINKS = ["plain", "idempotent", "two-phase"];
export const EXCHANGES = ["forward", "hash", "broadcast", "rebalance"];
const KEYED = ["count", "sum", "join", "window"];
/** @type {Record<string, number>} */
const DEFAULTS = { parallelism: 1, cost: 100, records: 100, rate: 1000, keys: 8, skew: 0 };
const NUMBERS = Object.keys(DEFAULTS);
const KEY_GROUPS = 128;
const MOST_KEY_GROUPS = 32768;

/** @param {any} document @returns {Flow} */
export function fromDocument(document) {
  const keyOf = new Map();
  const vertices = (document.dataflow?.vertices ?? []).map((/** @type {any} */ item, /** @type {number} */ place) => {
    const { id, kind, function: action, sink, ...rest } = Object(item);
    const key = `v${place}`;
    if (!keyOf.has(id)) keyOf.set(id, key);
    /** @type {Record<string, string>} */
    const vertex = {
      key,
      id: String(id ?? ""),
      kind: kind ?? "operator",
      function: action ?? "map",
      sink: sink ?? "plain",
    };
    for (const name of NUMBERS) {
      vertex[name] = String(rest[name] ?? DEFAULTS[name]);
      delete rest[name];
    }
    return /** @type {FlowVertex} */ ({ ...vertex, rest });
  });
  const edges = (document.dataflow?.edges ?? []).map((/** @type {any} */ item, /** @type {number} */ place) => {
    const { source, target, exchange } = Object(item);
    return {
      key: `e${place}`,
      source: keyOf.get(source) ?? null,
      target: keyOf.get(target) ?? null,
      exchange: exchange ?? "forward",
    };
  });
  return { name: document.name ?? "", vertices, edges, nextKey: vertices.length + edges.length };
}

/** @param {Flow} dataflow */
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

/**
 * Writes the document as text for the form.
 * @param {Flow} dataflow
 */
export function asText(dataflow) {
  return JSON.stringify(toDocument(dataflow), null, 1);
}

/** @param {FlowVertex} vertex */
function vertexDocument(vertex) {
  /** @type {Record<string, any>} */
  const document = { id: vertex.id, kind: vertex.kind, function: vertex.function, sink: vertex.sink, ...vertex.rest };
  for (const name of NUMBERS) document[name] = asNumber(vertex[name]);
  const groups = document.max_parallelism ?? KEY_GROUPS;
  if (width(vertex) > groups) document.max_parallelism = keyGroups(width(vertex));
  return document;
}

/**
 * Reads a typed number. Any other text is returned as it is, and the server refuses it at its field.
 * @param {string} typed @returns {number | string}
 */
function asNumber(typed) {
  const text = typed.trim();
  return /^-?\d+(\.\d+)?(e-?\d+)?$/i.test(text) ? Number(text) : text;
}

/**
 * Returns how many key groups Flink chooses by default: half more than subtasks, rounded up to a power of two.
 * @param {number} parallelism
 */
function keyGroups(parallelism) {
  const power = 2 ** Math.ceil(Math.log2(parallelism * 1.5));
  return Math.min(Math.max(power, KEY_GROUPS), MOST_KEY_GROUPS);
}

/**
 * Returns the number of subtasks of a vertex: 1 if what is typed is not one.
 * @param {FlowVertex} vertex @returns {number}
 */
export function width(vertex) {
  const typed = asNumber(vertex.parallelism);
  return typeof typed === "number" && Number.isInteger(typed) && typed >= 1 ? typed : 1;
}

/** @param {Flow} dataflow @param {string} name */
export function rename(dataflow, name) {
  return { ...dataflow, name };
}

/** @param {Flow} dataflow */
export function addVertex(dataflow) {
  const blank = fromDocument({ dataflow: { vertices: [{ id: freeId(dataflow), kind: "operator" }] } });
  const vertex = { ...blank.vertices[0], key: `k${dataflow.nextKey}` };
  return { ...dataflow, vertices: [...dataflow.vertices, vertex], nextKey: dataflow.nextKey + 1 };
}

/** @param {Flow} dataflow @param {string} key @param {object} fields */
export function changeVertex(dataflow, key, fields) {
  return { ...dataflow, vertices: changed(dataflow.vertices, key, fields) };
}

/**
 * Removes a vertex and every edge at it.
 * @param {Flow} dataflow @param {string} key
 */
export function removeVertex(dataflow, key) {
  return {
    ...dataflow,
    vertices: dataflow.vertices.filter((vertex) => vertex.key !== key),
    edges: dataflow.edges.filter(({ source, target }) => source !== key && target !== key),
  };
}

/**
 * Adds an edge between two vertices that lack one. An end without a likely vertex is null.
 * @param {Flow} dataflow
 */
export function addEdge(dataflow) {
  const [source, target] = likelyEnds(dataflow);
  const edge = { key: `k${dataflow.nextKey}`, source, target, exchange: likelyExchange(dataflow, source, target) };
  return { ...dataflow, edges: [...dataflow.edges, edge], nextKey: dataflow.nextKey + 1 };
}

/** @param {Flow} dataflow @param {string} key @param {object} fields */
export function changeEdge(dataflow, key, fields) {
  return { ...dataflow, edges: changed(dataflow.edges, key, fields) };
}

/** @param {Flow} dataflow @param {string} key */
export function removeEdge(dataflow, key) {
  return { ...dataflow, edges: dataflow.edges.filter((edge) => edge.key !== key) };
}

/**
 * Returns the last vertex that can be the source of an edge to the first vertex without an input, and that vertex.
 * @param {Flow} dataflow
 */
function likelyEnds({ vertices, edges }) {
  const reached = new Set(edges.map(({ target }) => target));
  const target = vertices.find(({ key, kind }) => kind !== "source" && !reached.has(key));
  const before = vertices.slice(0, target ? vertices.indexOf(target) : 0);
  const source = before.findLast(({ kind }) => kind !== "sink");
  return [source?.key ?? null, target?.key ?? null];
}

/** @param {Flow} dataflow @param {string | null} sourceKey @param {string | null} targetKey */
function likelyExchange({ vertices }, sourceKey, targetKey) {
  const source = vertices.find(({ key }) => key === sourceKey);
  const target = vertices.find(({ key }) => key === targetKey);
  if (!source || !target) return "forward";
  const keyed = target.kind === "operator" && KEYED.includes(target.function);
  if (keyed && width(target) > 1) return "hash";
  return width(source) === width(target) ? "forward" : "rebalance";
}

/**
 * Returns the problems that are plain without the server, which finds the others.
 * @param {Flow} dataflow @returns {FieldProblem[]}
 */
export function problems({ vertices, edges }) {
  const all = [];
  const taken = new Set();
  for (const { key, id } of vertices) all.push(...idProblems("vertex", key, id, taken));
  const keys = new Set(vertices.map(({ key }) => key));
  for (const { key, source, target } of edges) {
    if (!keys.has(source)) all.push({ key, field: "source", sentence: "Choose the vertex this edge leaves." });
    if (!keys.has(target)) all.push({ key, field: "target", sentence: "Choose the vertex this edge enters." });
  }
  return all;
}

/**
 * Returns the row and field of the server's refusal, [] if it names none.
 * @param {Refusal | null} refusal @param {Flow} dataflow @returns {FieldProblem[]}
 */
export function refusalsOf(refusal, dataflow) {
  const match = /^dataflow\.(vertices|edges)\[(\d+)\](?:\.(\w+))?$/.exec(refusal?.field ?? "");
  const rows = match?.[1] === "vertices" ? dataflow.vertices : dataflow.edges;
  const row = match && rows[Number(match[2])];
  if (!row) return [];
  const first = match[1] === "vertices" ? "id" : "exchange";
  const field = match[3] === "max_parallelism" ? "parallelism" : (match[3] ?? first);
  return [{ key: row.key, field, sentence: refusal.detail }];
}

/** @param {Flow} dataflow */
function freeId({ vertices }) {
  const taken = new Set(vertices.map(({ id }) => id));
  let number = 1;
  const name = () => (number === 1 ? "map" : `map ${number}`);
  while (taken.has(name())) number += 1;
  return name();
}
