import assert from "node:assert/strict";
import { test } from "node:test";

import { fileName } from "../../static/js/lib/download-menu.js";
import { drawnFigures, escapeXml, savedSentence, svgFile, wrapped } from "../../static/js/lib/picture-file.js";
import { cutQuery } from "../../static/js/views/workbench/cut-files.js";
import { wholeEntries } from "../../static/js/views/workbench/panel.js";

const FRAME = { background: "#fff", text: "#111", soft: "#666" };

test("a text cannot become markup, and what XML forbids is left out", () => {
  assert.equal(escapeXml('<script>"&\u0000\uFFFF'), "&lt;script&gt;&quot;&amp;");
  assert.equal(escapeXml("\ud800a"), "a");
});

test("figures of one size are drawn one above the other, without what XML forbids", async () => {
  const asked = [];
  const toImage = async (figure, options) => {
    asked.push([figure.layout.width, options.format, options.height]);
    return `<svg>${figure.data[0].name}</svg>`;
  };
  const figures = ["a\u0000", "b"].map((name) => ({ data: [{ name }], layout: {} }));
  const drawing = await drawnFigures({ toImage }, figures, { width: 300, height: 20 });
  assert.equal(drawing, "<svg>a</svg>\n<svg>b</svg>");
  assert.deepEqual(asked, [[300, "svg", 20], [300, "svg", 20]]);
});

test("a file has the title, the legend, the captions and the drawing one below the other", () => {
  const svg = svgFile({
    title: "two <banks>: Space-time diagram",
    captions: ["3 more channels are not shown.", "", "Saved"],
    legend: [["sent", "red"], ["received", "blue"]],
    width: 400,
    height: 100,
    drawing: "<path/>",
    colours: FRAME,
  });
  assert.match(svg, /^<svg xmlns="http:\/\/www.w3.org\/2000\/svg" width="424" height="(\d+)"/);
  assert.match(svg, /<title>two &lt;banks&gt;: Space-time diagram<\/title>/);
  assert.match(svg, /<desc>3 more channels are not shown. Saved<\/desc>/);
  const places = ["Space-time diagram</text>", "sent</text>", "not shown.</text>", "Saved</text>"].map((words) => {
    const [, y] = new RegExp(`y="(\\d+)"[^>]*>[^<]*${words}`).exec(svg);
    return Number(y);
  });
  assert.deepEqual(places, [...places].sort((a, b) => a - b));
  assert.ok(places.at(-1) < Number(/height="(\d+)"/.exec(svg)[1]));
  assert.ok(places[1] > places[0] + 100);
});

test("a cut of the workbench is named by its positions, its instant or its step", () => {
  assert.deepEqual(cutQuery({ cut: [2, 10, 36], axis: "time", now: 3 }), { cut: "2.a.10" });
  assert.deepEqual(cutQuery({ cut: null, axis: "time", now: 5200.7 }), { at: "5200" });
  assert.deepEqual(cutQuery({ cut: null, axis: "order", now: 3 }), { step: "3" });
});

test("a name that turns the direction of the text shows it by its number", () => {
  const svg = svgFile({ title: "a\u202eb", captions: [], width: 300, height: 10, drawing: "", colours: FRAME });
  assert.match(svg, /U\+202E/);
});

test("lines break between words", () => {
  assert.deepEqual(wrapped("one two three", 70, 11), ["one two", "three"]);
  assert.deepEqual(wrapped("", 70, 11), []);
});

test("the date has its zone, and a name only letters, digits and dashes", () => {
  const date = new Date(Date.UTC(2026, 10, 23, 4, 5));
  assert.equal(savedSentence(date, "http://h/x"), "Saved on 2026-11-23 at 04:05 UTC from http://h/x");
  assert.equal(fileName("/recordings/4/proof", "proof now?"), "cutline-recordings-4-proof-proof-now");
});

test("a visitor with a public link is offered no table that the server would refuse", () => {
  const table = { name: "events", title: "All events" };
  const app = /** @type {any} */ ({ recording: { id: 1 }, isVisitor: false });
  assert.ok(wholeEntries(app, table).some(([text]) => text === "All events CSV"));
  assert.deepEqual(wholeEntries({ ...app, isVisitor: true }, table), []);
});
