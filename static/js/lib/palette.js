/** The search box: commands and names by their titles, events and messages by what they hold. */

import { h, setText } from "./dom.js";

const MOST_SHOWN = 50;
const MOST_HITS = 6;
const WAIT = 150; // ms after the last key before the server is asked

/**
 * Returns the commands whose title holds every word of the query, those that begin with its first word first. Pure.
 * @param {Command[]} commands @param {string} query
 */
export function matching(commands, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = commands.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
  /** @param {Command} command */
  const rank = ({ title }) => (title.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1);
  return matches.sort((a, b) => rank(a) - rank(b));
}

/**
 * Returns what the box lists, in its order: hits first if it was opened to find, names first if to command or if the
 * query is a whole title. Pure.
 * @param {object} options
 * @param {boolean} options.finds @param {string} options.query @param {Command[]} options.names
 * @param {Entry[]} options.hits @returns {Entry[]}
 */
export function listed({ finds, query, names, hits }) {
  const isTitle = names.some(({ title }) => title.toLowerCase() === query.trim().toLowerCase());
  const shown = names.slice(0, MOST_SHOWN).map((command) => ({ ...command, closes: true }));
  return finds && !isTitle ? [...hits, ...shown] : [...shown, ...hits];
}

/**
 * Makes the box, which leaves the rest of the page in use.
 * @param {PaletteOptions} options
 */
export function createPalette({ commands, search }) {
  const input = h("input", {
    type: "text",
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    autocomplete: "off",
    spellcheck: "false",
    enterkeyhint: "search",
  });
  const list = h("ul.palette-list", { id: "palette-list", role: "listbox", "aria-label": "What was found" });
  const count = h("output.palette-count", { "aria-live": "polite" });
  const previous = button("▴", "Previous hit (shift Enter)", () => step(-1));
  const next = button("▾", "Next hit (Enter)", () => step(1));
  const shut = button("×", "Close (Esc)", () => close());
  const bar = h("div.palette-bar", {}, input, count, previous, next, shut);
  const dialog = h("dialog.palette", { "aria-label": "Search" }, bar, list);
  document.body.append(dialog);
  /** @type {Entry[]} */
  let entries = [];
  let chosen = 0;
  let finds = true;
  /** @type {number | undefined} */
  let timer;
  /** @type {any} */
  let before = null;

  function draw() {
    const names = matching(commands(), input.value);
    entries = listed({ finds, query: input.value, names, hits: hitEntries() });
    chosen = Math.max(0, Math.min(chosen, entries.length - 1));
    list.replaceChildren(...entries.map(item), ...notes(names.length - MOST_SHOWN));
    const hasHits = search.state().total > 0;
    setText(count, search.count());
    previous.disabled = next.disabled = !hasHits;
  }

  /** @returns {Entry[]} */
  function hitEntries() {
    return search.state().page.slice(0, MOST_HITS).map((hit, row) => ({
      title: search.title(hit),
      keys: row === 0 ? ["Enter"] : [],
      run: () => (row === 0 && !search.state().number ? step(1) : choose(row)),
      isHit: true,
    }));
  }

  /** @param {number} hidden */
  function notes(hidden) {
    const { query, error, total, page } = search.state();
    const more = total - Math.min(page.length, MOST_HITS);
    return [
      error && error,
      query.trim() && more > 0 && `${search.write(more)} more: Enter goes to the next`,
      hidden > 0 && `${hidden} more names: type to narrow`,
      !entries.length && !error && (search.state().complete ? "Nothing was found." : "Searching events and messages…"),
    ].filter(Boolean).map((text) => h("li.quiet", {}, text));
  }

  /** @param {Entry} entry @param {number} i */
  function item(entry, i) {
    const keys = (entry.keys ?? []).slice(0, 1).map((key) => h("kbd", {}, key));
    const li = h(
      `li${entry.isHit ? ".palette-hit" : ""}`,
      { role: "option", id: `palette-${i}`, "aria-selected": String(i === chosen), onclick: () => run(entry) },
      h("span", {}, entry.title),
      keys,
    );
    if (i === chosen) {
      input.setAttribute("aria-activedescendant", li.id);
      requestAnimationFrame(() => li.scrollIntoView({ block: "nearest" }));
    }
    return li;
  }

  /** @param {Entry | undefined} entry */
  function run(entry) {
    if (entry?.closes) close();
    entry?.run();
  }

  /** @param {number} direction */
  async function step(direction) {
    const hit = await search.step(direction);
    if (hit) fold(true);
    draw();
  }

  /** @param {number} row */
  function choose(row) {
    search.choose(row);
    fold(true);
    draw();
  }

  /** @param {boolean} isFolded */
  function fold(isFolded) {
    list.hidden = isFolded;
    input.setAttribute("aria-expanded", String(!isFolded));
  }

  function typed() {
    chosen = 0;
    fold(false);
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT);
    draw();
  }

  function ask() {
    clearTimeout(timer);
    timer = undefined;
    return search.find(input.value);
  }

  /**
   * Enter goes to the next hit. In a list it runs what is chosen, as soon as it is known whether there are hits.
   * @param {boolean} back
   */
  async function entered(back) {
    if (timer !== undefined) ask();
    if (list.hidden || back) return step(back ? -1 : 1);
    if (finds && chosen === 0) {
      await search.ready();
      draw();
    }
    run(entries[chosen]);
  }

  function close() {
    clearTimeout(timer);
    timer = undefined;
    dialog.close();
    search.clear();
    before?.focus?.();
  }

  input.addEventListener("input", typed);
  dialog.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    event.stopPropagation();
    if (event.key === "Escape") {
      event.preventDefault();
      close();
    }
  });
  input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      if (!list.hidden) chosen = Math.max(0, Math.min(chosen + move, entries.length - 1));
      fold(false);
      draw();
    } else if (event.key === "Enter") {
      event.preventDefault();
      entered(event.shiftKey);
    }
  });

  return {
    /** Draws the list again, after the search has changed. */
    draw: () => dialog.open && draw(),
    /**
     * Opens the box: to find events and messages, or to find a command.
     * @param {boolean} [toFind]
     */
    open(toFind = true) {
      finds = toFind;
      const placeholder = finds ? "Find an event, a message or a name" : "Find a command or a name";
      input.setAttribute("placeholder", placeholder);
      input.setAttribute("aria-label", placeholder);
      if (!dialog.open) {
        before = document.activeElement;
        input.value = "";
        dialog.show();
      }
      chosen = 0;
      fold(false);
      draw();
      input.focus();
      input.select();
    },
  };
}

/** @param {string} text @param {string} label @param {() => void} onclick */
function button(text, label, onclick) {
  return h("button.btn.btn-quiet.btn-icon", { type: "button", title: label, "aria-label": label, onclick }, text);
}
