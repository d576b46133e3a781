/** The arrangement of the panels: their order and sizes, changed by pointer and keyboard, and remembered here. */

import { h } from "../../lib/dom.js";
import { hasAny } from "../../lib/player.js";
import { checkView, PLAIN_PANELS, SIZES, toState } from "../../lib/view.js";

const STEP = 20; // thousandths per key press
const READING = "read"; // the name of the reading column's width
const STORED = "workbench-panels";
/** @type {Record<string, number>} */
const STEPS = { ArrowUp: -STEP, ArrowLeft: -STEP, ArrowDown: STEP, ArrowRight: STEP, PageUp: -5 * STEP, PageDown: 5 * STEP };

/** @param {App} app */
export function createPanels(app) {
  const { player, root, topology } = app;
  const columns = root.querySelector(".wb-columns");
  const [charts, reading] = [root.querySelector(".wb-look"), root.querySelector(".wb-read")];
  /** @type {Map<string, HTMLElement>} */
  const sections = new Map();
  for (const section of charts.querySelectorAll("[data-panel]")) sections.set(section.dataset.panel, section);
  for (const section of reading.querySelectorAll(".wb-tab:not(#wb-tab-details)")) {
    sections.set(section.id.replace("wb-tab-", ""), section);
  }
  const names = [...sections.keys(), READING];
  /** @type {Map<string, HTMLElement>} */
  const separators = new Map();
  for (const [name, section] of sections) {
    if (section.parentElement === reading) addTools(name, section);
    addMenu(name, section);
    section.after(separator(name, `Height of ${titleOf(section)}`, false));
  }
  reading.before(separator(READING, "Width of the column to read", true));
  columns.classList.add("is-resizable");

  /** @param {HTMLElement} section */
  function titleOf(section) {
    return section.querySelector("h2").textContent;
  }

  /**
   * Adds the button that folds a panel of the reading column, as the charts have one.
   * @param {string} name @param {HTMLElement} section
   */
  function addTools(name, section) {
    const label = "Fold this panel";
    const fold = h("button.btn.btn-quiet.wb-fold", {
      type: "button", title: label, "aria-label": label, onclick: () => player.toggle("folded", name),
    }, "–");
    section.querySelector("header").append(h("div.wb-tools", {}, fold));
  }

  /** @param {string} name @param {HTMLElement} section */
  function addMenu(name, section) {
    const label = `Arrange ${titleOf(section)}`;
    const menu = h("details.menu.wb-arrange", {}, h("summary.btn.btn-quiet", { title: label, "aria-label": label }, "⋮"));
    /** @param {string} text @param {() => void} run */
    const entry = (text, run) => h("button.btn.btn-quiet", {
      type: "button",
      onclick: () => {
        menu.open = false;
        run();
        menu.firstElementChild.focus();
      },
    }, text);
    menu.append(h("div", {}, entry("Move up", () => move(name, -1)), entry("Move down", () => move(name, 1)),
      entry("All panels as at first", reset)));
    menu.addEventListener("focusout", (/** @type {FocusEvent} */ { relatedTarget }) => {
      if (!menu.contains(relatedTarget)) menu.open = false;
    });
    section.querySelector(".wb-tools").append(menu);
  }

  /**
   * Makes the handle that changes a size.
   * @param {string} name @param {string} label @param {boolean} isColumn
   */
  function separator(name, label, isColumn) {
    const handle = h("div.wb-separator", {
      role: "separator",
      tabindex: "0",
      "data-keys": "arrows",
      "aria-label": label,
      "aria-orientation": isColumn ? "vertical" : "horizontal",
      "aria-valuemin": String(SIZES.least),
      "aria-valuemax": String(SIZES.most),
      title: `${label}: drag, or use the arrow keys; double-click for the usual size`,
    });
    /** @param {any} event */
    const sizeAt = (event) => isColumn
      ? (columns.getBoundingClientRect().right - event.clientX) / columns.clientWidth
      : (event.clientY - partOf(name).getBoundingClientRect().top) / window.innerHeight;
    handle.addEventListener("pointerdown", (/** @type {any} */ event) => {
      event.preventDefault();
      handle.focus();
      handle.setPointerCapture(event.pointerId);
    });
    handle.addEventListener("pointermove", (/** @type {any} */ event) => {
      if (handle.hasPointerCapture(event.pointerId)) resize(name, Math.round(sizeAt(event) * 1000));
    });
    handle.addEventListener("dblclick", () => resize(name, null));
    handle.addEventListener("keydown", (/** @type {any} */ event) => {
      const step = STEPS[event.key];
      if (event.key === "Home" || event.key === "End" || step) {
        event.preventDefault();
        event.stopPropagation();
      }
      if (event.key === "Home") resize(name, SIZES.least);
      if (event.key === "End") resize(name, SIZES.most);
      if (step) resize(name, measured(name) + (isColumn ? -step : step));
    });
    separators.set(name, handle);
    return handle;
  }

  /**
   * Returns the element whose size a separator changes.
   * @param {string} name @returns {HTMLElement}
   */
  function partOf(name) {
    return name === READING ? reading : sections.get(name);
  }

  /** @param {string} name */
  function measured(name) {
    const { width, height } = partOf(name).getBoundingClientRect();
    return Math.round((name === READING ? width / columns.clientWidth : height / window.innerHeight) * 1000);
  }

  /** @param {string} name @param {number | null} size null for the usual one */
  function resize(name, size) {
    const { [name]: _, ...others } = player.state.sizes;
    const bounded = size === null ? {} : { [name]: Math.max(SIZES.least, Math.min(size, SIZES.most)) };
    player.set({ sizes: { ...others, ...bounded } });
  }

  /**
   * Moves a panel before the one above it, or after the one below it.
   * @param {string} name @param {number} step
   */
  function move(name, step) {
    const order = inOrder();
    const own = order.filter((other) => partOf(other).parentElement === partOf(name).parentElement);
    const goal = own[own.indexOf(name) + step];
    if (!goal) return app.say(step < 0 ? "This panel is the first." : "This panel is the last.");
    const [a, b] = [order.indexOf(name), order.indexOf(goal)];
    [order[a], order[b]] = [goal, name];
    const isUsual = order.every((other, i) => other === names[i]);
    player.set({ order: isUsual ? PLAIN_PANELS.order : order });
  }

  /** Returns the names of the panels in their order; those that the order lacks stand at the end. */
  function inOrder() {
    const { order } = player.state;
    const known = order.filter((name) => sections.has(name));
    return [...known, ...[...sections.keys()].filter((name) => !known.includes(name))];
  }

  function reset() {
    player.set({ order: PLAIN_PANELS.order, sizes: PLAIN_PANELS.sizes, folded: new Set(), tables: new Set() });
    app.say("The panels are as at first.");
  }

  function drawOrder() {
    for (const column of [charts, reading]) {
      const own = inOrder().filter((name) => sections.get(name).parentElement === column);
      const before = [...sections].filter(([, section]) => section.parentElement === column).map(([, section]) => section);
      const standing = [...column.children].filter((child) => before.includes(child));
      if (own.every((name, i) => sections.get(name) === standing[i])) continue;
      const focused = /** @type {HTMLElement} */ (document.activeElement);
      const end = column.querySelector(":scope > #wb-tab-details");
      for (const name of own) {
        column.insertBefore(sections.get(name), end);
        column.insertBefore(separators.get(name), end);
      }
      focused?.focus({ preventScroll: true });
    }
  }

  /** @param {PlayerState} state */
  function drawSizes({ sizes }) {
    for (const [name, handle] of separators) {
      const part = name === READING ? columns : sections.get(name);
      part.classList.toggle("is-sized", name in sizes);
      part.style.setProperty("--size", name in sizes ? String(sizes[name]) : "");
      handle.setAttribute("aria-valuenow", String(sizes[name] ?? measured(name)));
    }
  }

  /** @param {PlayerState} state */
  function drawFolds({ folded }) {
    for (const [name, section] of sections) {
      const button = section.querySelector(".wb-fold");
      if (button) {
        section.classList.toggle("is-folded", folded.has(name));
        button.textContent = folded.has(name) ? "+" : "–";
        button.setAttribute("aria-expanded", String(!folded.has(name)));
      }
      separators.get(name).classList.toggle("is-off", folded.has(name));
    }
  }

  /** Takes over the arrangement that this browser remembers. */
  function recall() {
    try {
      const panels = JSON.parse(localStorage.getItem(STORED) ?? "{}");
      const { view } = checkView({ panels }, topology, { panels: names });
      player.set(toState(view, player.state, topology));
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
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (keys.has("order")) drawOrder();
      if (hasAny(keys, "sizes", "order", "size")) drawSizes(state);
      if (keys.has("folded")) drawFolds(state);
      if (hasAny(keys, "sizes", "order", "folded")) remember(state);
    },
  };
}
