import assert from "node:assert/strict";
import { test } from "node:test";

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

test("a text that is no number stays as it was typed, and counts as one subtask", () => {
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
