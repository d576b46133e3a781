/** Two recordings, snapshots or cuts side by side: one cursor moves both diagrams. */

import { aloneText, counterpart, openAlignment } from "../../lib/alignment.js";
import { setText, table } from "../../lib/dom.js";
import { counted, thousands } from "../../lib/format.js";
import { listen } from "../../lib/keys.js";
import { getJson } from "../../lib/source.js";
import { rowsAt } from "./rows.js";
import { mountSide } from "./side.js";

const MOST_ROWS = 200;
const WAIT = 120; // ms after the last move until the states at the cursor are asked for

const root = /** @type {HTMLElement} */ (document.getElementById("compare-two"));
const data = document.getElementById("compare-data");
if (root && data) {
  const differences = JSON.parse(document.getElementById("compare-differences").textContent);
  mount(JSON.parse(data.textContent), differences).catch(({ message }) => {
    setText(root.querySelector("#compare-message"), `The diagrams cannot be shown: ${message}`);
  });
}

/** @param {ComparedData} compared @param {ComparedDifference[]} differences */
async function mount(compared, differences) {
  const isOne = compared.sides[0].recording === compared.sides[1].recording;
  const sections = /** @type {HTMLElement[]} */ ([...root.querySelectorAll("[data-side]")]);
  const by = /** @type {HTMLSelectElement} */ (root.querySelector("#compare-by"));
  const slider = /** @type {HTMLInputElement} */ (root.querySelector("#compare-cursor"));
  const csrf = () => /** @type {HTMLInputElement} */ (root.querySelector("[name=csrfmiddlewaretoken]")).value;
  const [alignment, ...sides] = await Promise.all([
    isOne ? null : getJson(compared.alignment).then(openAlignment),
    ...compared.sides.map((side, i) => mountSide(
      sections[i],
      side,
      { csrf, onSeek: (x) => lead(i, x) },
    )),
  ]);
  let leader = 0;
  /** @type {number | undefined} */
  let timer;
  by.querySelector("[value=time]").toggleAttribute("disabled", compared.sides[0].unit !== compared.sides[1].unit);

  /** @returns {Axis} */
  const axis = () => (by.value === "time" ? "time" : "order");

  /**
   * Moves the cursor of one side to `x`, and that of the other side along.
   * @param {number} side @param {number} x
   */
  function lead(side, x) {
    leader = side;
    const { from, to } = sides[side].bounds();
    const place = Math.min(Math.max(x, from), to);
    const other = 1 - side;
    const [follower, remark] = followed(side, place);
    sides[side].seek(place, remark);
    sides[other].seek(follower);
    show();
  }

  /**
   * Returns where the other side's cursor stands, and what is to be said of the leading one.
   * @param {number} side @param {number} place @returns {[number, string]}
   */
  function followed(side, place) {
    if (isOne) return [place, ""];
    if (axis() === "time") return [place - compared.sides[side].extent.from + compared.sides[1 - side].extent.from, ""];
    const { step, isSame } = counterpart(alignment, side, place - 1);
    return [step + 1, isSame ? "" : aloneText(alignment, side, place - 1)];
  }

  /** Shows what follows from the cursors' places. */
  function show() {
    const { from, to } = sides[leader].bounds();
    Object.assign(slider, { min: String(from), max: String(to), value: String(sides[leader].x) });
    keep();
    clearTimeout(timer);
    timer = setTimeout(() => showCuts().catch(({ message }) => say(message)), WAIT);
  }

  /** Writes the cursor into the address, which then opens at the same place. */
  function keep() {
    const address = new URL(location.href);
    address.searchParams.set("by", by.value);
    address.searchParams.set("cursor", sides.map(({ x }) => String(Math.round(x))).join("."));
    history.replaceState(history.state, "", address);
  }

  async function showCuts() {
    const cuts = await Promise.all(sides.map((side) => side.cut()));
    if (cuts.some((cut) => cut === null)) return;
    const both = sides.map(({ topology }, i) => ({ topology, cut: cuts[i], isDerived: compared.sides[i].is_derived }));
    const rows = rowsAt(both, isOne);
    const shown = rows.slice(0, MOST_ROWS);
    setText(root.querySelector("#at-cursor-count"), countText(rows));
    const cells = shown.map(({ name, texts }) => [name, ...texts]);
    const made = table("What both sides hold at the cursor", ["", "Left", "Right"], cells);
    [...made.querySelectorAll("tbody tr")].forEach((row, i) =>
      row.classList.toggle("is-other", shown[i].verdict === "other"));
    root.querySelector("#at-cursor").replaceChildren(made);
  }

  /** @param {string} text */
  function say(text) {
    setText(root.querySelector("#compare-message"), text);
  }

  /** @param {number} direction */
  function move(direction) {
    const next = sides[leader].next(direction);
    if (next !== null) lead(leader, next);
  }

  /** @param {number} factor */
  function zoom(factor) {
    for (const side of sides) side.zoom(factor);
  }

  /** @param {[number | null, number | null]} places */
  function place(places) {
    const known = places[0] !== null ? 0 : 1;
    if (places[known] === null) return;
    if (places[1 - known] === null) {
      lead(known, places[known]);
      return;
    }
    leader = 0;
    sides.forEach((side, i) => side.seek(places[i]));
    show();
  }

  /** @param {number} number */
  function choose(number) {
    const { process, channel, spots } = differences[number];
    const starts = spots.map((spot, i) => coordinate(spot ?? compared.sides[i].start));
    for (const button of root.querySelectorAll("[data-choose]")) {
      button.setAttribute("aria-pressed", String(button.dataset.choose === String(number)));
    }
    for (const row of root.querySelectorAll("[data-difference]")) {
      row.classList.toggle("is-chosen", row.dataset.difference === String(number));
    }
    for (const side of sides) side.mark(process, channel);
    place(/** @type {[number, number]} */ (starts));
  }

  /** @param {{ at: number, step: number } | null} spot */
  function coordinate(spot) {
    if (!spot) return null;
    return axis() === "time" ? spot.at : spot.step + 1;
  }

  function turn() {
    for (const side of sides) side.turn(axis()).catch(({ message }) => say(message));
    begin();
  }

  /** Places the cursors where the first chosen thing, or the beginning, is. */
  function begin() {
    const spots = differences.find((item) => item.spots.some(Boolean))?.spots ?? [null, null];
    const starts = compared.sides.map(({ start }, i) => coordinate(start ?? spots[i]));
    if (starts.some((start) => start !== null)) place(/** @type {[number, number]} */ (starts));
    else lead(0, sides[0].bounds().from);
  }

  const opened = new URLSearchParams(location.search);
  if (opened.get("by") === "time" && !by.querySelector("[value=time]").hasAttribute("disabled")) by.value = "time";
  await Promise.all(sides.map((side) => side.turn(axis())));
  const kept = (opened.get("cursor") ?? "").split(".").map(Number);
  if (opened.has("cursor") && kept.length === 2 && kept.every(Number.isFinite)) place([kept[0], kept[1]]);
  else begin();
  const hiding = sides.map((side, i) =>
    (side.hasHidden() ? `${side.hidden()} of the ${i ? "right" : "left"} side` : ""));
  if (hiding.some(Boolean)) say(`Not drawn: ${hiding.filter(Boolean).join(", ")}. “Show” brings a lane into view.`);
  by.addEventListener("change", turn);
  slider.addEventListener("input", () => lead(leader, Number(slider.value)));
  for (const button of root.querySelectorAll("[data-move]")) {
    button.addEventListener("click", () => move(Number(button.dataset.move)));
  }
  for (const button of root.querySelectorAll("[data-zoom]")) {
    button.addEventListener("click", () => zoom(Number(button.dataset.zoom)));
  }
  for (const button of root.querySelectorAll("[data-choose]")) {
    button.addEventListener("click", () => choose(Number(button.dataset.choose)));
  }
  listen([
    { name: "next", title: "Next event", keys: ["arrowright"], run: () => move(1) },
    { name: "previous", title: "Previous event", keys: ["arrowleft"], run: () => move(-1) },
    { name: "start", title: "To the start", keys: ["home"], run: () => lead(leader, sides[leader].bounds().from) },
    { name: "end", title: "To the end", keys: ["end"], run: () => lead(leader, sides[leader].bounds().to) },
    { name: "zoom-in", title: "Zoom in", keys: ["w", "+"], run: () => zoom(2) },
    { name: "zoom-out", title: "Zoom out", keys: ["s", "-"], run: () => zoom(0.5) },
  ]);
  document.addEventListener("themechange", () => sides.forEach((side) => side.redraw()));
  root.classList.add("is-ready");
}

/** @param {CursorRow[]} rows */
function countText(rows) {
  /** @param {CursorRow["verdict"]} wanted */
  const count = (wanted) => rows.filter(({ verdict }) => verdict === wanted).length;
  const open = count("open");
  const hidden = rows.length - MOST_ROWS;
  return [
    counted(count("other"), "difference"),
    open ? `${thousands(open)} not compared` : "",
    hidden > 0 ? `${counted(hidden, "more row is", "more rows are")} not shown` : "",
  ].filter(Boolean).join("; ");
}
