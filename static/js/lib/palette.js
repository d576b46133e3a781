/** The command palette (ctrl+k): a filter box over a list of commands. */

import { h } from "./dom.js";

/** Commands whose title holds every word of the query, those that begin with it first. Pure. */
export function matching(commands, query) {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = commands.filter(({ title }) => words.every((word) => title.toLowerCase().includes(word)));
  const early = ({ title }) => (title.toLowerCase().startsWith(words[0] ?? "") ? 0 : 1);
  return found.sort((a, b) => early(a) - early(b));
}

/** Makes the dialog. commands() gives [{title, keys, run}] each time it opens. */
export function createPalette(commands, { placeholder = "Find a command, process, channel or snapshot" } = {}) {
  const input = h(
    "input",
    {
      type: "text",
      placeholder,
      "aria-label": placeholder,
      role: "combobox",
      "aria-expanded": "true",
      "aria-controls": "palette-list",
      autocomplete: "off",
    },
  );
  const list = h("ul.palette-list", { id: "palette-list", role: "listbox" });
  const dialog = h("dialog.palette", { "aria-label": "Commands" }, input, list);
  document.body.append(dialog);
  let found = [];
  let chosen = 0;

  function draw() {
    found = matching(commands(), input.value);
    const most = 50;
    chosen = Math.min(chosen, Math.max(Math.min(found.length, most) - 1, 0));
    list.replaceChildren(...found.slice(0, most).map(item));
    if (found.length > most) list.append(h("li.quiet", {}, `${found.length - most} more: type to narrow`));
    if (!found.length) list.append(h("li.quiet", {}, "Nothing has this name."));
  }

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

  function run(command) {
    dialog.close();
    command?.run();
  }

  input.addEventListener("input", () => {
    chosen = 0;
    draw();
  });
  input.addEventListener("keydown", (event) => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (move) {
      event.preventDefault();
      chosen = Math.max(0, Math.min(chosen + move, found.length - 1));
      draw();
    } else if (event.key === "Enter") {
      event.preventDefault();
      run(found[chosen]);
    }
    event.stopPropagation();
  });
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());

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
