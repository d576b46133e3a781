import assert from "node:assert/strict";
import { test } from "node:test";

import { fileName } from "../../static/js/lib/download-menu.js";
import { drawn, savedSentence, svgFile, wrapped } from "../../static/js/lib/picture-file.js";
import { paintFigureOn } from "../../static/js/lib/sketch.js";
import { createSvgContext, escapeXml } from "../../static/js/lib/svg-context.js";
import { arrange, PLAIN_LANES } from "../../static/js/lib/lanes.js";
import { plainScale } from "../../static/js/lib/folds.js";
import { cutQuery } from "../../static/js/views/workbench/cut-files.js";
import { wholeEntries } from "../../static/js/views/workbench/panel.js";
import { geometry } from "../../static/js/views/workbench/geometry.js";
import { paintMoving } from "../../static/js/views/workbench/moving.js";
import { stillFigure } from "../../static/js/views/workbench/still.js";
import { aRecording } from "./builders.js";

const COLOURS = Object.fromEntries(
  ["paper", "panel", "ink", "quiet", "rule", "line", "accent", "message", "flight", "marker", "orphan", "recorded",
    "event", "crash"].map((name, i) => [name, `rgb(${i}, ${i}, ${i})`]),
);
const FRAME = { background: "#fff", text: "#111", soft: "#666" };

function paths(markup) {
  return [...markup.matchAll(/<path d="([^"]*)" ([^/]*)\/>/g)].map(([, d, look]) => ({ d, look }));
}

test("lines and fills have the colours, widths and dashes of the context", () => {
  const context = createSvgContext();
  context.strokeStyle = "rgba(1, 2, 3, 0.5)";
  context.lineWidth = 2.5;
  context.setLineDash([7, 5]);
  context.beginPath();
  context.moveTo(1, 2);
  context.lineTo(3.456, 4);
  context.stroke();
  context.fillStyle = "#abc";
  context.fillRect(0, 0, 10, 5);
  const [line, box] = paths(context.markup());
  assert.equal(line.d, "M1 2L3.46 4");
  assert.match(line.look, /stroke="rgb\(1,2,3\)" stroke-opacity="0.5" stroke-width="2.5" stroke-dasharray="7 5"/);
  assert.deepEqual([box.d, box.look.trim()], ["M0 0L10 0L10 5L0 5Z", 'fill="#abc"']);
});

test("points are turned and moved as on a canvas, and restore ends that and each clip", () => {
  const context = createSvgContext();
  context.save();
  context.beginPath();
  context.rect(0, 0, 5, 5);
  context.clip();
  context.translate(10, 20);
  context.rotate(Math.PI / 2);
  context.beginPath();
  context.moveTo(1, 0);
  context.lineTo(0, 1);
  context.fill();
  context.restore();
  context.beginPath();
  context.moveTo(1, 1);
  context.fill();
  const markup = context.markup();
  assert.match(markup, /<clipPath id="([\w-]+)">.*<g clip-path="url\(#\1\)">/s);
  assert.match(markup, /M10 21L9 20/);
  assert.match(markup, /<\/g>\n<path d="M1 1"/);
});

test("a text cannot become markup, and what XML forbids is left out", () => {
  const context = createSvgContext();
  context.font = "600 12px system-ui, sans-serif";
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillText('<script>"&\u0000\uFFFF', 3, 4);
  assert.equal(
    context.markup(),
    '<text x="3" y="4" font-size="12" font-family="system-ui, sans-serif" fill="#000" font-weight="600"' +
      ' text-anchor="middle" dominant-baseline="central">&lt;script&gt;&quot;&amp;</text>',
  );
  assert.equal(escapeXml("\ud800a"), "a");
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

function aScene() {
  const recording = aRecording({
    processes: { "&<B>": 0, C: 0 },
    channels: [],
    events: [{ process: "&<B>", kind: "internal" }, { process: "C", kind: "internal" }],
  });
  const { topology } = recording;
  const arrangement = arrange(topology, PLAIN_LANES);
  const g = geometry({
    width: 400, height: 120, left: 60, right: 12, top: 14, bottom: 44, scale: plainScale(0, 20), arrangement,
  });
  return {
    window: recording.window(0, 20, "time"), g, topology, arrangement, colours: COLOURS, axis: "time", unit: "us",
    bounds: { from: 0, to: 20 }, snapshot: null, positions: null, recordedAt: null, dragging: false,
  };
}

test("the space-time diagram has the lanes, names, events and the cursor of the screen", () => {
  const scene = aScene();
  const flights = { window: scene.window, messages: [], markers: [] };
  const state = { now: 10, axis: "time", cut: null, cones: null, selection: null };
  const markup = drawn((context) => {
    paintFigureOn(context, { width: 400, height: 120 }, stillFigure(scene));
    paintMoving(context, { ...scene, state, flights, cutX: null, shown: null, hover: null, peer: null });
  });
  assert.match(markup, />&amp;&lt;B&gt;<\/text>/);
  for (const lane of [0, 1]) {
    const y = scene.g.y(lane);
    assert.ok(markup.includes(` ${Math.round(y * 100) / 100}L`), `lane ${lane} at ${y}`);
  }
  const cursor = Math.round(scene.g.x(10) * 100) / 100;
  assert.ok(markup.includes(`M${cursor} 0L${cursor} `));
  assert.equal(markup.split("<g").length, markup.split("</g>").length);
});

test("a visitor with a public link is offered no table that the server would refuse", () => {
  const table = { name: "events", title: "All events" };
  const app = /** @type {any} */ ({ recording: { id: 1 }, isVisitor: false });
  assert.ok(wholeEntries(app, table).some(([text]) => text === "All events CSV"));
  assert.deepEqual(wholeEntries({ ...app, isVisitor: true }, table), []);
});
