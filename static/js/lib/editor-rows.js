/** The rows of an editor's tables, `tr[data-key]` with fields `[data-field]`: found, focused, marked. */

import { h } from "./dom.js";

/** root: holds the tables. */
export function editorRows(root) {
  function field(key, name) {
    return root.querySelector(`tr[data-key="${key}"] [data-field="${name}"]`);
  }

  return {
    field,
    /** The row and field that is typed into, or null. */
    focused() {
      const element = document.activeElement;
      const row = element?.closest("tr[data-key]");
      return row && root.contains(row) ? { key: row.dataset.key, name: element.dataset.field } : null;
    },
    /**
     * Marks the selected row and the first problem of every field. problems: [{key, field, sentence}].
     * place(key, field): the element that shows a problem, if it is not the field itself.
     */
    mark(selected, problems, place = field) {
      for (const row of root.querySelectorAll("tr[data-key]")) {
        row.setAttribute("aria-selected", String(row.dataset.key === selected));
      }
      for (const old of root.querySelectorAll("[aria-invalid]")) old.removeAttribute("aria-invalid");
      for (const old of root.querySelectorAll(".field-error")) old.remove();
      for (const { key, field: name, sentence } of problems) {
        const element = place(key, name);
        if (!element || element.hasAttribute("aria-invalid")) continue;
        element.setAttribute("aria-invalid", "true");
        element.after(h("p.field-error.small", { role: "alert" }, sentence));
      }
    },
  };
}
