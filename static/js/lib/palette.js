/** The command palette (ctrl+k): a filter box over a list of commands. */

import { h } from "./dom.js";

const PLACEHOLDER = "Find a command, process, channel or snapshot";
const MOST_SHOWN = 50;

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
 * Makes the dialog. `commands()` is called for the list each time it is drawn.
 * @param {() => Command[]} commands
 */
export function createPalette(commands) {
  const input = h("input", {
    type: "text",
    placeholder: PLACEHOLDER,
    "aria-label": PLACEHOLDER,
    role: "combobox",
    "aria-expanded": "true",
    "aria-controls": "palette-list",
    autocomplete: "off",
  });
  const list = h("ul.palette-list", { id: "palette-list", role: "listbox" });
  const dialog = h("dialog.palette", { "aria-label": "Commands" }, input, list);
  document.body.append(dialog);
  /** @type {Command[]} */
  let matches = [];
  let chosen = 0;

  function draw() {
    matches = matching(commands(), input.value);
    chosen = Math.min(chosen, Math.max(Math.min(matches.length, MOST_SHOWN) - 1, 0));
    list.replaceChildren(...matches.slice(0, MOST_SHOWN).map(item));
    const hidden = matches.length - MOST_SHOWN;
    if (hidden > 0) list.append(h("li.quiet", {}, `${hidden} more: type to narrow`));
    if (!matches.length) list.append(h("li.quiet", {}, "Nothing has this name."));
  }

  /** @param {Command} command @param {number} i */
  function item(command, i) {
    const keys = (command.keys ?? []).slice(0, 1).map((key) => h("kbd", {}, key));
    const li = h(
      "li",
      { role: "option", id: `palette-${i}`, "aria-selected": String(i === chosen), onclick: () => run(command) },
      h("span", {}, command.title),
      keys,
    );
    if (i === chosen) {
      input.setAttribute("aria-activedescendant", li.id);
      requestAnimationFrame(() => li.scrollIntoView({ block: "nearest" }));
    }
    return li;
  }

  /** @param {Command} command */
  function run(command) {
    dialog.close();
    command?.run();
  }

  input.addEventListener("input", () => {
    chosen = 0;
    draw();
  });
  input.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      chosen = Math.max(0, Math.min(chosen + move, matches.length - 1));
      draw();
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(matches[chosen]);
    }
    event.stopPropagation();
  });
  dialog.addEventListener("click", (/** @type {MouseEvent} */ event) => event.target === dialog && dialog.close());

  return {
    open(query = "") {
      input.value = query;
      chosen = 0;
      draw();
      dialog.showModal();
      input.select();
    },
  };
}
