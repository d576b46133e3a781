import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import { test } from "node:test";

const root = new URL("../../", import.meta.url).pathname;

function imported(path, found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  const text = readFileSync(join(root, "static", path), "utf8");
  for (const [, name] of text.matchAll(/from "(\.[^"]+)"/g)) imported(normalize(join(dirname(path), name)), found);
  return found;
}

test("the page asks for every module of the workbench at once", () => {
  const template = readFileSync(join(root, "templates/snapshots/workbench/modules.html"), "utf8");
  const listed = [...template.matchAll(/static '([^']+)'/g)].map(([, path]) => path);
  assert.deepEqual(listed.toSorted(), [...imported("js/views/workbench.js")].toSorted());
});
