import assert from "node:assert/strict";
import { test } from "node:test";

import { flowOf, words } from "../../static/js/views/archive/front/drawing.js";

test("a vertex says how many have acknowledged, and a question mark what is not known", () => {
  assert.equal(words({ status: "started", acknowledged: 1, parallelism: 2 }), "1/2 started");
  assert.equal(words({ status: "not known", acknowledged: null, parallelism: null }), "?/? not known");
});

test("several edges between two vertices are drawn as one", () => {
  const edge = { source: "a", target: "b", ship: "HASH", is_front: true };
  const { vertices, edges } = flowOf({ vertices: [{ id: "a" }, { id: "b" }], edges: [edge, edge] });
  assert.deepEqual(vertices, [{ key: "a" }, { key: "b" }]);
  assert.equal(edges.length, 1);
  assert.equal(edges[0].exchange, "HASH");
});
