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

for (const [page, template, entry] of [
  ["the workbench", "workbench/modules.html", "js/views/workbench/index.js"],
  ["an archived job", "archive/modules.html", "js/views/archive/index.js"],
  ["a checkpoint", "checkpoints/modules.html", "js/views/checkpoint/index.js"],
]) {
  test(`the page of ${page} asks for every module at once`, () => {
    const text = readFileSync(join(root, "templates/snapshots", template), "utf8");
    const listed = [...text.matchAll(/static '([^']+)'/g)].map(([, path]) => path);
    assert.deepEqual(listed.toSorted(), [...imported(entry)].toSorted());
  });
}
