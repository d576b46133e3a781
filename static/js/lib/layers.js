/**
 * The layers of a directed graph, such as a dataflow: sources first, and each vertex behind all that lead to it. Pure.
 *
 * A graph with a cycle has layers, too: those of what is not on the cycle, and of the ways that lead to it.
 */

/**
 * Returns the depth of each vertex by key: the length of its longest path from a source.
 * @param {Layered} graph
 */
export function depths({ vertices, edges }) {
  const depth = new Map(vertices.map(({ key }) => [key, 0]));
  const real = edges.filter(({ source, target }) => depth.has(source) && depth.has(target));
  const waiting = new Map(vertices.map(({ key }) => [key, 0]));
  for (const { target } of real) waiting.set(target, waiting.get(target) + 1);
  const ready = vertices.map(({ key }) => key).filter((key) => waiting.get(key) === 0);
  for (const key of ready) {
    for (const { target } of real.filter(({ source }) => source === key)) {
      depth.set(target, Math.max(depth.get(target), depth.get(key) + 1));
      waiting.set(target, waiting.get(target) - 1);
      if (waiting.get(target) === 0) ready.push(target);
    }
  }
  return depth;
}

/**
 * Returns whether every edge leads to a deeper layer, so that there is no cycle.
 * @param {Layered} graph @param {Map<string, number>} depth
 */
export function isLayered({ edges }, depth) {
  return edges.every(({ source, target }) => depth.get(source) < depth.get(target));
}

/**
 * Returns the keys of the vertices of each layer, in the order of the vertices.
 * @param {Layered} graph @returns {string[][]}
 */
export function layers(graph) {
  const depth = depths(graph);
  const all = Array.from({ length: Math.max(-1, ...depth.values()) + 1 }, () => []);
  for (const [key, layer] of depth) all[layer].push(key);
  return all.filter((layer) => layer.length > 0);
}

/**
 * Returns the keys of each connected component, all in the order of the vertices.
 * @param {Layered} graph @returns {string[][]}
 */
export function pipelines({ vertices, edges }) {
  const parent = new Map(vertices.map(({ key }) => [key, key]));
  /** @param {string} key */
  const root = (key) => {
    let at = key;
    while (parent.get(at) !== at) at = parent.get(at);
    return at;
  };
  for (const { source, target } of edges) {
    if (parent.has(source) && parent.has(target)) parent.set(root(target), root(source));
  }
  const groups = new Map();
  for (const { key } of vertices) {
    const top = root(key);
    groups.set(top, [...(groups.get(top) ?? []), key]);
  }
  return [...groups.values()];
}

/**
 * Returns the layers of a pipeline: vertices as {key}, and {edge} for each edge that passes the layer.
 * @param {Layered} graph @param {string[]} keys @param {Map<string, number>} depth @returns {LayerItem[][]}
 */
export function passages({ edges }, keys, depth) {
  /** @type {LayerItem[][]} */
  const rows = [];
  const links = [];
  const vertexAt = new Map();
  /** @param {LayerItem} item @param {number} layer */
  const put = (item, layer) => (rows[layer] ??= []).push(item);
  for (const key of keys) {
    vertexAt.set(key, { key });
    put(vertexAt.get(key), depth.get(key));
  }
  for (const edge of edges) {
    if (!vertexAt.has(edge.source) || !vertexAt.has(edge.target)) continue;
    let before = vertexAt.get(edge.source);
    for (let layer = depth.get(edge.source) + 1; layer < depth.get(edge.target); layer += 1) {
      const passage = { edge: edge.key };
      put(passage, layer);
      links.push([before, passage]);
      before = passage;
    }
    links.push([before, vertexAt.get(edge.target)]);
  }
  return untangled(rows.filter(Boolean), links);
}

/**
 * Sorts each row by the mean position of the items that lead to it, so that fewer edges cross.
 * @param {LayerItem[][]} rows @param {LayerItem[][]} links
 */
function untangled(rows, links) {
  const place = new Map();
  return rows.map((row) => {
    const goal = new Map(row.map((item, order) => [item, meanPlace(links, item, place) ?? order / row.length]));
    const sorted = [...row].sort((one, other) => goal.get(one) - goal.get(other));
    sorted.forEach((item, order) => place.set(item, (order + 0.5) / sorted.length));
    return sorted;
  });
}

/** @param {LayerItem[][]} links @param {LayerItem} item @param {Map<LayerItem, number>} place */
function meanPlace(links, item, place) {
  const before = links.filter(
    ([source, target]) => target === item && place.has(source),
  ).map(([source]) => place.get(source));
  return before.length ? before.reduce((all, one) => all + one, 0) / before.length : null;
}
