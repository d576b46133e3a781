/** The tables of the editors: rows `tr[data-key]` with fields `[data-field]`, built, filled, focused and marked. */

import { h } from "../../lib/dom.js";

/**
 * Finds and marks the rows of the tables in `root`.
 * @param {HTMLElement} root
 */
export function editorRows(root) {
  /** @param {string} key @param {string} name @returns {any} */
  function field(key, name) {
    return root.querySelector(`tr[data-key="${key}"] [data-field="${name}"]`);
  }

  return {
    field,
    /**
     * Builds the tables anew. What was focused before is focused after.
     * @param {...HTMLElement} sections
     */
    rebuild(...sections) {
      const row = document.activeElement?.closest("tr[data-key]");
      const name = row && root.contains(row) ? document.activeElement.dataset.field : null;
      root.replaceChildren(...sections);
      if (name) field(row.dataset.key, name)?.focus();
    },
    /**
     * Marks the selected row and the first problem of each field. `element(key, field)` shows a problem.
     * @param {string | null} selected @param {FieldProblem[]} problems
     * @param {(key: string, field: string) => any} [element]
     */
    mark(selected, problems, element = field) {
      for (const row of root.querySelectorAll("tr[data-key]")) {
        row.setAttribute("aria-selected", String(row.dataset.key === selected));
      }
      for (const old of root.querySelectorAll("[aria-invalid]")) old.removeAttribute("aria-invalid");
      for (const old of root.querySelectorAll(".field-error")) old.remove();
      for (const { key, field: name, sentence } of problems) {
        const wrong = element(key, name);
        if (!wrong || wrong.hasAttribute("aria-invalid")) continue;
        wrong.setAttribute("aria-invalid", "true");
        wrong.after(h("p.field-error.small", { role: "alert" }, sentence));
      }
    },
  };
}

/**
 * Makes the panel of a table. `rows` are those drawn of `items`; without items, the sentence `empty` is shown.
 * @param {string} name @param {any[]} items @param {TablePanel} options
 */
export function tablePanel(name, items, options) {
  const { head, rows, buttons, empty, wrap = "div.table-wrap", kind = "", more = null } = options;
  const cells = [
    ...head.map((/** @type {string} */ label) => h("th", { scope: "col" }, label)),
    h("th", {}, h("span.visually-hidden", {}, "remove")),
  ];
  const table = () =>
    h(wrap, {}, h(`table.table.editor-table${kind}`, {}, h("thead", {}, h("tr", {}, cells)), h("tbody", {}, rows)));
  return h(
    "section.panel",
    { "aria-label": name },
    h("div.panel-head", {}, h("h2", {}, `${name} `, h("span.soft", {}, String(items.length))), buttons),
    items.length === 0 ? h("p.panel-body.soft", {}, empty) : table(),
    more,
  );
}

/** @param {string} name @param {string} label @param {(value: any) => void} onValue @param {object} [attributes] */
export function textInput(name, label, onValue, attributes = {}) {
  return h("input.input", {
    type: "text",
    "aria-label": label,
    "data-field": name,
    autocomplete: "off",
    spellcheck: "false",
    /** @param {any} event */
    oninput: (event) => onValue(event.target.value),
    ...attributes,
  });
}

/**
 * Makes a select of words. Without words, `fillChoices` fills it. An empty choice is null.
 * @param {string} name @param {string} label @param {(value: any) => void} onValue @param {string[]} [words]
 */
export function selectInput(name, label, onValue, words = []) {
  return h(
    "select.input",
    {
      "aria-label": label,
      "data-field": name,
      onchange: (/** @type {any} */ event) => onValue(event.target.value || null),
    },
    words.map((word) => h("option", { value: word }, word)),
  );
}

/** @param {string} noun @param {() => void} run */
export function removeButton(noun, run) {
  const label = `Remove this ${noun}`;
  return h("button.btn.btn-quiet.btn-icon", { type: "button", "aria-label": label, title: label, onclick: run }, "×");
}

/**
 * Shows a value in a field that nobody is typing in. A value that a select does not offer is added to it.
 * @param {any} element @param {any} value
 */
export function fillField(element, value) {
  if (!element || element === document.activeElement) return;
  if (element.matches("select") && ![...element.options].some((option) => option.value === value)) {
    element.append(h("option", { value }, value));
  }
  element.value = value;
}

/**
 * Fills a select with rows, as [key, id], when their `names` have changed, and chooses a key.
 * @param {any} select @param {string} names @param {string[][]} choices @param {string | null} key
 */
export function fillChoices(select, names, choices, key) {
  if (select.dataset.names !== names) {
    select.dataset.names = names;
    const options = choices.map(([value, id]) => h("option", { value }, id || "(no id)"));
    select.replaceChildren(h("option", { value: "" }, "choose"), ...options);
  }
  select.value = key ?? "";
}
