import assert from "node:assert/strict";
import { test } from "node:test";

import * as layers from "../../static/js/lib/layers.js";
import * as layout from "../../static/js/views/dataflow/layout.js";
import * as model from "../../static/js/views/dataflow/model.js";

/** Makes a dataflow of vertices, "orders*2", and edges, "orders-hash-clean". A vertex without input is a source. */
function dataflow(vertices, edges) {
  const document = {
    vertices: vertices.map((text) => {
      const [id, parallelism = "1"] = text.split("*");
      return {
        id,
        kind: edges.some((edge) => edge.endsWith(`-${id}`)) ? "operator" : "source",
        parallelism: Number(parallelism),
      };
    }),
    edges: edges.map((text) => {
      const [source, exchange, target] = text.split("-");
      return { source, exchange, target };
    }),
  };
  return model.fromDocument({ dataflow: document });
}

function names(flow, keys) {
  return keys.map((key) => flow.vertices.find((vertex) => vertex.key === key).id);
}

const JOIN = dataflow(
  ["orders*2", "rates", "clean*2", "enrich*3", "out*3"],
  ["orders-forward-clean", "clean-hash-enrich", "rates-broadcast-enrich", "enrich-forward-out"],
);

test("a vertex stands behind the longest way that leads to it", () => {
  assert.deepEqual(
    layers.layers(JOIN).map((layer) => names(JOIN, layer)),
    [["orders", "rates"], ["clean"], ["enrich"], ["out"]],
  );
});

test("a dataflow with a cycle and with an edge to nowhere can be drawn", () => {
  const flow = dataflow(["a", "b", "c"], ["a-hash-b", "b-hash-c", "c-hash-b", "c-hash-nowhere"]);
  const { boxes } = layout.place(flow);
  assert.equal(boxes.size, 3);
  assert.ok([...boxes.values()].every(({ x, y }) => Number.isFinite(x) && Number.isFinite(y)));
});

test("a vertex on a cycle stands by the ways that lead to the cycle", () => {
  const flow = dataflow(["a", "b", "c", "d"], ["a-hash-b", "b-hash-c", "c-hash-b", "c-hash-d"]);
  assert.deepEqual(layers.layers(flow).map((layer) => names(flow, layer)), [["a", "c", "d"], ["b"]]);
});

test("pipelines are what edges connect, whichever way they lead", () => {
  const flow = dataflow(["a", "x", "b", "c", "y"], ["a-hash-c", "b-hash-c", "x-forward-y"]);
  assert.deepEqual(layers.pipelines(flow).map((keys) => names(flow, keys)), [["a", "b", "c"], ["x", "y"]]);
});

test("pipelines are drawn apart, and no two boxes overlap, across and down, folded and unfolded", () => {
  const flow = dataflow(
    ["a*2", "x*4", "b", "c*3", "y*4", "d"],
    ["a-hash-c", "b-hash-c", "x-forward-y", "a-broadcast-d", "c-hash-d"],
  );
  for (const down of [false, true]) {
    for (const unfolded of [null, layout.unfold(flow)]) {
      const { boxes, pipelines, width, height } = layout.place(flow, { down, unfolded });
      const spots = [...boxes.values()];
      for (const [place, one] of spots.entries()) {
        assert.ok(one.x >= 0 && one.x + one.width <= width && one.y >= 0 && one.y + one.height <= height);
        for (const other of spots.slice(place + 1)) assert.ok(apart(one, other));
      }
      assert.equal(pipelines.length, 2);
      assert.ok(apart(...pipelines));
    }
  }
});

function apart(one, other) {
  const apart = (at, size) => one[at] + one[size] <= other[at] || other[at] + other[size] <= one[at];
  return apart("x", "width") || apart("y", "height");
}

test("an edge that passes a layer goes through a passage beside what stands there", () => {
  const { boxes, bends } = layout.place(JOIN);
  const edge = JOIN.edges[2];
  const [bend] = bends.get(edge.key);
  const clean = boxes.get(JOIN.vertices[2].key);
  assert.equal(bend.x, clean.x);
  assert.ok(bend.y < clean.y || bend.y > clean.y + clean.height);
  assert.equal([...bends.keys()].length, 1);
});

test("unfolded, forward joins subtasks one to one and the others all to all", () => {
  const { channels, channelTotal, subtaskTotal } = layout.unfold(JOIN);
  const of = (place) => channels.filter(({ edge }) => edge === JOIN.edges[place]).map(
    ({ source, target }) => `${source}${target}`,
  );
  assert.deepEqual(of(0), ["00", "11"]);
  assert.deepEqual(of(1), ["00", "01", "02", "10", "11", "12"]);
  assert.deepEqual(of(2), ["00", "01", "02"]);
  assert.equal(subtaskTotal, 11);
  assert.equal(channelTotal, channels.length);
});

test("some of very many subtasks and channels are drawn, and all are counted", () => {
  const flow = dataflow(["a*1000", "b*900", "c*2"], ["a-hash-b", "b-hash-c"]);
  const { shown, channels, channelTotal, subtaskTotal } = layout.unfold(flow);
  assert.deepEqual([...shown.values()], [99, 99, 2]);
  assert.equal(subtaskTotal, 1902);
  assert.equal(channelTotal, 901_800);
  assert.equal(channels.length, layout.MOST_CHANNELS);
  assert.ok(channels.every(({ source, target }) => source < 99 && target < 99));
});

test("a dataflow that fits is drawn whole", () => {
  const { shown, channels, channelTotal } = layout.unfold(dataflow(["a*100", "b*100"], ["a-forward-b"]));
  assert.deepEqual([...shown.values()], [100, 100]);
  assert.equal(channels.length, channelTotal);
});

test("a document that is opened and not changed is the same document", () => {
  const vertex = {
    id: "a",
    kind: "source",
    parallelism: 2,
    cost: 1,
    records: 0,
    rate: 0.5,
    keys: 3,
    skew: 1,
    function: "map",
    sink: "plain",
    max_parallelism: 128,
    value: 7,
  };
  const document = { name: "n", dataflow: { vertices: [vertex], edges: [] } };
  assert.deepEqual(model.toDocument(model.fromDocument(document)), document);
});

test("a text that is no number stays as it was typed, and is drawn as one subtask", () => {
  const flow = model.changeVertex(JOIN, "v0", { parallelism: "two" });
  assert.equal(model.toDocument(flow).dataflow.vertices[0].parallelism, "two");
  assert.equal(model.width(flow.vertices[0]), 1);
});

test("more subtasks than key groups get more key groups, as in Flink", () => {
  const groups = (typed) => model.toDocument(
    model.changeVertex(JOIN, "v0", { parallelism: typed }),
  ).dataflow.vertices[0].max_parallelism;
  assert.deepEqual([groups("128"), groups("129"), groups("200")], [undefined, 256, 512]);
});

test("a new vertex has a free id, and a new edge leads to it", () => {
  const flow = model.addEdge(model.addVertex(model.addVertex(JOIN)));
  assert.deepEqual(flow.vertices.slice(-2).map(({ id }) => id), ["map", "map 2"]);
  const { source, target, exchange } = flow.edges.at(-1);
  assert.deepEqual([...names(flow, [source, target]), exchange], ["out", "map", "rebalance"]);
});

test("removing a vertex removes the edges at it", () => {
  const flow = model.removeVertex(JOIN, "v3");
  assert.deepEqual(flow.edges.map(({ key }) => key), ["e0"]);
});

test("an id that is empty or taken and an end that is missing are problems at their fields", () => {
  let flow = model.changeVertex(JOIN, "v1", { id: "orders" });
  flow = model.changeVertex(flow, "v2", { id: " " });
  flow = model.changeEdge(flow, "e3", { target: null });
  assert.deepEqual(
    model.problems(flow).map(({ key, field }) => [key, field]),
    [["v1", "id"], ["v2", "id"], ["e3", "target"]],
  );
});

test("a refusal of the server stands at its row and field", () => {
  const at = (field) => model.refusalsOf({ field, detail: "no" }, JOIN).map(({ key, field }) => [key, field]);
  assert.deepEqual(at("dataflow.vertices[2].cost"), [["v2", "cost"]]);
  assert.deepEqual(at("dataflow.vertices[2].max_parallelism"), [["v2", "parallelism"]]);
  assert.deepEqual(at("dataflow.edges[1]"), [["e1", "exchange"]]);
  assert.deepEqual(at("dataflow.edges[9]"), []);
  assert.deepEqual(at("checkpoints.interval"), []);
});
