import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { csv } from "../../static/js/lib/csv.js";

const scripts = new URL("../../static/js/", import.meta.url).pathname;

test("a text that a spreadsheet would run as a formula gets an apostrophe", () => {
  for (const text of ["=1+1", "+1", "-1", "@SUM(A1)", "＝1+1", "-1,234"]) {
    const cell = /,/.test(text) ? `"'${text}"` : `'${text}`;
    assert.equal(csv(["name"], [[text]]), `name\n${cell}\n`);
  }
  for (const text of ["\t=1", "\r=1", "\n=1"]) assert.equal(csv([text], []), `"'${text}"\n`);
});

test("numbers stay numbers, and other texts stay as they are", () => {
  assert.equal(csv(["a", "b"], [[-5, 1.5e21], ["p-1", ""], [null, undefined]]), "a,b\n-5,1.5e+21\np-1,\n,\n");
});

test("separators, quotes and line ends stand in quotes", () => {
  assert.equal(csv(["h"], [["a,b"], ['a"b'], ["a;b"], ["a\rb"]]), 'h\n"a,b"\n"a""b"\n"a;b"\n"a\rb"\n');
});

test("every file that a page saves as CSV is written by this module", () => {
  const savers = readdirSync(scripts, { recursive: true })
    .filter((name) => name.endsWith(".js"))
    .filter((name) => readFileSync(join(scripts, name), "utf8").includes("text/csv"));
  assert.deepEqual(savers, ["views/workbench/panel.js"]);
  assert.match(readFileSync(join(scripts, savers[0]), "utf8"), /saveText\([^;]*csv\(.*"text\/csv"\)/);
});
