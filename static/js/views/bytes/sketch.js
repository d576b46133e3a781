/** A map of bytes as SVG: it stands at once, and is opened with the keyboard. Plotly draws over it for the pointer. */

import { fileSize } from "../../lib/format.js";
import { create, text, title } from "../../lib/svg.js";
import { squarify } from "../../lib/treemap.js";
import { insideOf, kindOf, remark, rootOf } from "./maps.js";

// What Plotly leaves free, so that nothing moves when it has drawn. Pixels.
const EDGE = 8;
const BAR = 22; // the path above an open sector
const TOP = 26;
const HEAD = 19; // the name of a sector with others inside
const PAD = 2;
const GAP = 2;
const LETTER = 6.6; // of the width of a letter
const LINE = 15;

/**
 * Makes the sketch of a map in `root`. `show(id)` opens a sector, `level()` is the one that is open.
 * @param {HTMLElement} root @param {SectorsPayload} sectors
 */
export function createSketch(root, sectors) {
  const svg = create("svg", { class: "byte-sketch", role: "group", "aria-label": root.dataset.label });
  root.replaceChildren(svg);
  let level = rootOf(sectors);

  /** @param {string} id @param {boolean} [isFocused] */
  function show(id, isFocused = false) {
    level = id;
    const [width, height] = [root.clientWidth, root.clientHeight];
    if (width <= 2 * EDGE) return; // it is shown again when there is room
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    const box = { x: EDGE, y: TOP, width: width - 2 * EDGE, height: height - TOP - EDGE };
    const name = id === rootOf(sectors) ? "all" : sectors.labels[sectors.ids.indexOf(id)];
    const head = [create("rect", { ...box, "data-kind": "group" }), label(name, box.x + 4, box.y + LINE)];
    svg.replaceChildren(...path(width), ...head, ...parts(id, within(box)));
    if (isFocused) svg.querySelector("[tabindex]")?.focus();
  }

  /** @param {number} width */
  function path(width) {
    const place = sectors.ids.indexOf(level);
    if (place < 0) return [];
    const bar = create("rect", { x: EDGE, y: 2, width: width - 2 * EDGE, height: BAR, "data-kind": "group" });
    const name = sectors.labels[place];
    const back = () => show(sectors.parents[place], true);
    return [button(`Back from ${name}`, back, bar, label(`‹ ${name}`, EDGE + 4, 2 + LINE))];
  }

  /**
   * Returns the sectors inside of one, each followed by those inside of it.
   * @param {string} id @param {Box} box @returns {SVGElement[]}
   */
  function parts(id, box) {
    if (box.width < 1 || box.height < 1) return [];
    const places = insideOf(sectors, id);
    const boxes = squarify(places.map((place) => sectors.values[place]), box);
    return places.flatMap((place, i) => {
      const own = shrunk(boxes[i], GAP / 2);
      if (own.width < 1 || own.height < 1) return [];
      return [sector(place, own), ...parts(sectors.ids[place], within(own))];
    });
  }

  /** @param {number} place @param {Box} box */
  function sector(place, box) {
    const name = sectors.labels[place];
    const words = `${name}, ${fileSize(sectors.values[place])}, ${remark(sectors, place)}`;
    const inside = [create("rect", { ...box, "data-kind": kindOf(sectors, place) }), ...written(place, box)];
    if (!sectors.parents.includes(sectors.ids[place])) return create("g", {}, title(words), ...inside);
    return button(`Open ${words}`, () => show(sectors.ids[place], true), title(words), ...inside);
  }

  /** @param {number} place @param {Box} box @returns {SVGElement[]} */
  function written(place, { x, y, width, height }) {
    const most = Math.floor((width - 8) / LETTER);
    return [sectors.labels[place], fileSize(sectors.values[place])]
      .filter((_words, line) => height > LINE * (line + 1) + 2 && most > 2)
      .map((words, line) => label(cut(words, most), x + 4, y + LINE * (line + 1)));
  }

  show(level);
  return { show, level: () => level };
}

/** @param {string} name @param {() => void} open @param {...SVGElement} children */
function button(name, open, ...children) {
  const group = create("g", { role: "button", tabindex: 0, "aria-label": name }, ...children);
  group.addEventListener("click", open);
  group.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    open();
  });
  return group;
}

/** @param {string} words @param {number} x @param {number} y */
function label(words, x, y) {
  return text(words, { x, y, "text-anchor": "start" });
}

/** @param {string} words @param {number} most */
function cut(words, most) {
  return words.length > most ? `${words.slice(0, most - 1)}…` : words;
}

/**
 * Returns the box for what lies inside of a sector.
 * @param {Box} box @returns {Box}
 */
function within({ x, y, width, height }) {
  return { x: x + PAD, y: y + HEAD, width: width - 2 * PAD, height: height - HEAD - PAD };
}

/** @param {Box} box @param {number} by @returns {Box} */
function shrunk({ x, y, width, height }, by) {
  return { x: x + by, y: y + by, width: width - 2 * by, height: height - 2 * by };
}
