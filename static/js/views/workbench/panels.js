/** The arrangement of the panels: their order, sizes and folds, which the browser remembers. */

import { h } from "../../lib/dom.js";
import { hasAny } from "../../lib/player.js";
import { checkView, PLAIN_PANELS, toState } from "../../lib/view.js";
import { createSeparator } from "./separator.js";

const READING = "read"; // the name of the column's width
const STORED = "workbench-panels";
const LEGEND = "workbench-legend"; // whether it is open

/** @param {App} app */
export function createPanels(app) {
  const { player, root, topology } = app;
  const columns = root.querySelector(".wb-columns");
  const [charts, reading] = [root.querySelector(".wb-look"), root.querySelector(".wb-read")];
  const drawer = reading.querySelector("#wb-tab-details"); // always the last
  const sections = panelsOf(charts, reading);
  const names = [...sections.keys(), READING];
  /** @type {Map<string, HTMLElement>} */
  const separators = new Map();
  let isOwn = false; // at first the page shows what a link or the browser's memory says
  for (const [name, section] of sections) {
    if (section.parentElement === reading) section.querySelector("header").append(h("div.wb-tools", {}, folder(name)));
    section.querySelector(".wb-tools").append(menuOf(name));
    section.after(separatorOf(name, `Height of ${titleOf(name)}`));
  }
  reading.before(separatorOf(READING, "Width of the column to read"));
  columns.classList.add("is-resizable");
  const legend = root.querySelector("#wb-legend");
  legend.open = localStorage.getItem(LEGEND) !== "folded";
  legend.addEventListener("toggle", () => localStorage.setItem(LEGEND, legend.open ? "open" : "folded"));

  /** @param {string} name */
  function titleOf(name) {
    return sections.get(name).querySelector("h2").textContent;
  }

  /**
   * Makes the button that folds a panel of the reading column. The charts have one already.
   * @param {string} name
   */
  function folder(name) {
    const label = `Fold ${titleOf(name)}`;
    const onclick = () => player.toggle("folded", name);
    return h("button.btn.btn-quiet.wb-fold", { type: "button", title: label, "aria-label": label, onclick }, "–");
  }

  /** @param {string} name */
  function menuOf(name) {
    const label = `Arrange ${titleOf(name)}`;
    const summary = h("summary.btn.btn-quiet", { title: label, "aria-label": label }, "⋮");
    const menu = h("details.menu.wb-arrange", {}, summary);
    /** @param {string} text @param {() => void} run */
    const entry = (text, run) => {
      const onclick = () => {
        menu.open = false;
        run();
        summary.focus();
      };
      return h("button.btn.btn-quiet", { type: "button", onclick }, text);
    };
    const moves = [entry("Move up", () => move(name, -1)), entry("Move down", () => move(name, 1))];
    menu.append(h("div", {}, moves, entry("All panels as at first", reset)));
    menu.addEventListener("focusout", (/** @type {FocusEvent} */ { relatedTarget }) => {
      if (!menu.contains(relatedTarget)) menu.open = false;
    });
    return menu;
  }

  /** @param {string} name @param {string} label */
  function separatorOf(name, label) {
    const isColumn = name === READING;
    const part = isColumn ? reading : sections.get(name);
    /** @param {PointerEvent} event */
    const sizeAt = ({ clientX, clientY }) => isColumn
      ? (columns.getBoundingClientRect().right - clientX) / columns.clientWidth
      : (clientY - part.getBoundingClientRect().top) / innerHeight;
    const separator = createSeparator(label, {
      isColumn,
      measured: () => measured(name),
      sizeAt: (event) => sizeAt(event) * 1000,
      resize: (size) => resize(name, size),
    });
    separators.set(name, separator);
    return separator;
  }

  /**
   * Returns the size of a panel in thousandths of the window, that of the column in those of the page.
   * @param {string} name
   */
  function measured(name) {
    const share = name === READING
      ? reading.clientWidth / columns.clientWidth
      : sections.get(name).clientHeight / innerHeight;
    return Math.round(share * 1000);
  }

  /** @param {string} name @param {number | null} size null for the usual one */
  function resize(name, size) {
    const sizes = { ...player.state.sizes };
    if (size === null) delete sizes[name];
    else sizes[name] = size;
    player.set({ sizes });
  }

  /**
   * Exchanges a panel with the one above or below it.
   * @param {string} name @param {number} step
   */
  function move(name, step) {
    const order = inOrder();
    const beside = order.filter((other) => columnOf(other) === columnOf(name));
    const goal = beside[beside.indexOf(name) + step];
    if (!goal) return app.say(`${titleOf(name)} is the ${step < 0 ? "first" : "last"} panel of its column.`);
    const [a, b] = [order.indexOf(name), order.indexOf(goal)];
    [order[a], order[b]] = [goal, name];
    const isUsual = order.every((other, i) => other === names[i]);
    player.set({ order: isUsual ? PLAIN_PANELS.order : order });
  }

  /** @param {string} name */
  function columnOf(name) {
    return sections.get(name).parentElement;
  }

  /** Returns the names of the panels in their order. Those that it does not name stand at the end. */
  function inOrder() {
    const named = player.state.order.filter((name) => sections.has(name));
    return [...named, ...[...sections.keys()].filter((name) => !named.includes(name))];
  }

  function reset() {
    player.set({ order: PLAIN_PANELS.order, sizes: PLAIN_PANELS.sizes, folded: new Set(), tables: new Set() });
    app.say("The panels are as at first.");
  }

  /** Returns whether the panels of each column stand in their order. */
  function isDrawn() {
    const standing = [...panelsOf(charts, reading).keys()];
    return [charts, reading].every((column) => {
      const [own, drawn] = [inOrder(), standing].map((all) => all.filter((name) => columnOf(name) === column));
      return own.every((name, i) => name === drawn[i]);
    });
  }

  function drawOrder() {
    const focused = /** @type {HTMLElement} */ (document.activeElement);
    for (const name of inOrder()) {
      const end = columnOf(name) === reading ? drawer : null;
      columnOf(name).insertBefore(sections.get(name), end);
      sections.get(name).after(separators.get(name));
    }
    focused?.focus({ preventScroll: true }); // an element that is moved loses the focus
  }

  /** @param {PlayerState} state */
  function drawSizes({ sizes }) {
    for (const [name, separator] of separators) {
      const part = name === READING ? columns : sections.get(name);
      part.classList.toggle("is-sized", name in sizes);
      part.style.setProperty("--size", name in sizes ? String(sizes[name]) : "");
      separator.setAttribute("aria-valuenow", String(sizes[name] ?? measured(name)));
    }
  }

  /** @param {PlayerState} state */
  function drawFolds({ folded }) {
    for (const [name, section] of sections) {
      separators.get(name).classList.toggle("is-off", folded.has(name));
      const button = section.querySelector(".wb-fold");
      if (!button) continue;
      section.classList.toggle("is-folded", folded.has(name));
      button.textContent = folded.has(name) ? "+" : "–";
      button.setAttribute("aria-expanded", String(!folded.has(name)));
    }
  }

  /** Takes over the arrangement that this browser remembers, as far as it is one. */
  function recall() {
    try {
      const panels = JSON.parse(localStorage.getItem(STORED) ?? "{}");
      player.set(toState(checkView({ panels }, topology, { panels: names }).view, player.state, topology));
    } catch {
      localStorage.removeItem(STORED);
    }
  }

  /** @param {PlayerState} state */
  function remember({ order, sizes, folded }) {
    localStorage.setItem(STORED, JSON.stringify({ order, sizes, folded: [...folded] }));
  }

  return {
    names,
    reset,
    recall,
    /** Lets the arrangement that is drawn next be forgotten, for it is that of somebody's view. */
    keepOwn() {
      isOwn = false;
    },
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (keys.has("order") && !isDrawn()) drawOrder();
      if (hasAny(keys, "sizes", "order", "size")) drawSizes(state);
      if (keys.has("folded")) drawFolds(state);
      if (isOwn && hasAny(keys, "sizes", "order", "folded")) remember(state);
      isOwn = true;
    },
  };
}

/**
 * Returns the panels of both columns by their names, without the drawer.
 * @param {HTMLElement} charts @param {HTMLElement} reading @returns {Map<string, HTMLElement>}
 */
function panelsOf(charts, reading) {
  const all = new Map();
  for (const section of charts.querySelectorAll("[data-panel]")) all.set(section.dataset.panel, section);
  for (const section of reading.querySelectorAll(".wb-tab:not(#wb-tab-details)")) {
    all.set(section.id.replace("wb-tab-", ""), section);
  }
  return all;
}
