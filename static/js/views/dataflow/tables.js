/** The editor of a dataflow: a table of vertices and one of edges. */

import { h } from "../../lib/dom.js";
import { editorRows } from "../../lib/editor-rows.js";
import { EXCHANGES, FUNCTIONS, KINDS, problems, SINKS } from "./model.js";

const NUMBERS = [
  ["parallelism", "subtasks", "Number of subtasks", null],
  ["cost", "cost, µs", "Cost of a record in microseconds", null],
  ["records", "records", "Records in each split", "source"],
  ["rate", "rate, 1/s", "Records a second in each split, 0: all at once", "source"],
  ["keys", "keys", "How many different keys", "source"],
  ["skew", "skew", "Skew of the keys, 0: all as frequent", "source"],
];

/** editor: see dataflow.js. Returns {show(), focus(key, field)}. */
export function mountTables(root, editor) {
  const rows = editorRows(root);
  let drawn = "";

  /** Rows are built anew when rows come or go, or a kind changes; else only what they hold. */
  function show() {
    const { vertices, edges } = editor.now();
    const shape = JSON.stringify([vertices.map(({ key, kind }) => [key, kind]), edges.map(({ key }) => key)]);
    if (shape !== drawn) build(vertices, edges);
    drawn = shape;
    fill(vertices, edges);
    mark();
  }

  function build(vertices, edges) {
    const focus = rows.focused();
    const head = ["id", "kind", "does", ...NUMBERS.map(([, label]) => label)];
    root.replaceChildren(
      section("Vertices", head, vertices, vertexRow, "Add vertex", () => editor.addVertex(), "No vertex yet."),
      section(
        "Edges",
        ["from", "to", "exchange"],
        edges,
        edgeRow,
        "Add edge",
        () => editor.addEdge(),
        "No edge yet: records flow along edges.",
      ),
    );
    if (focus) rows.field(focus.key, focus.name)?.focus();
  }

  function section(name, head, items, row, label, add, empty) {
    const cells = [
      ...head.map((word) => h("th", { scope: "col" }, word)),
      h("th", {}, h("span.visually-hidden", {}, "remove")),
    ];
    return h("section.panel", { "aria-label": name },
      h(
        "div.panel-head",
        {},
        h("h2", {}, `${name} `, h("span.soft", {}, String(items.length))),
        h("button.btn", { type: "button", onclick: add }, label),
      ),
      items.length === 0
        ? h("p.panel-body.soft", {}, empty)
        : h(
          "div.table-wrap",
          {},
          h(
            "table.table.editor-table.flow-table",
            {},
            h("thead", {}, h("tr", {}, cells)),
            h("tbody", {}, items.map(row)),
          ),
        ));
  }

  function vertexRow({ key, kind }) {
    const change = (name) => (value) => editor.changeVertex(key, { [name]: value });
    return h("tr", { "data-key": key, onfocusin: () => editor.select(key) },
      cell("id", input("id", "Id of the vertex", change("id"), { maxlength: "80" })),
      cell("kind", choice("kind", "Kind of the vertex", KINDS, change("kind"))),
      cell("does", does(kind, change)),
      NUMBERS.map(([name, label, words, only]) =>
        cell(
          label,
          !only || only === kind ? input(name, words, change(name), { inputmode: "decimal" }) : null,
          "number",
        )),
      removeCell("vertex", () => editor.removeVertex(key)));
  }

  function does(kind, change) {
    if (kind === "operator") return choice("function", "Function of the operator", FUNCTIONS, change("function"));
    return kind === "sink" ? choice("sink", "Kind of the sink", SINKS, change("sink")) : null;
  }

  function edgeRow({ key }) {
    const change = (name) => (value) => editor.changeEdge(key, { [name]: value });
    return h("tr", { "data-key": key, onfocusin: () => editor.select(key) },
      cell("from", choice("source", "Vertex the edge leaves", null, change("source"))),
      cell("to", choice("target", "Vertex the edge enters", null, change("target"))),
      cell("exchange", choice("exchange", "Exchange", EXCHANGES, change("exchange"))),
      removeCell("edge", () => editor.removeEdge(key)));
  }

  /** A cell says its column where the table is folded to cards; an empty one is left out there. */
  function cell(label, element, kind = "text") {
    return h(
      "td",
      { "data-label": label, "data-is": element ? kind : "empty" },
      element ?? h("span.soft", { "aria-hidden": "true" }, "–"),
    );
  }

  function input(name, label, change, more = {}) {
    return h(
      "input.input",
      {
        type: "text",
        "aria-label": label,
        "data-field": name,
        autocomplete: "off",
        spellcheck: "false",
        oninput: (event) => change(event.target.value),
        ...more,
      },
    );
  }

  /** options: the words to choose from; null: the vertices, filled in later. */
  function choice(name, label, options, change) {
    return h("select.input", {
      "aria-label": label,
      "data-field": name,
      onchange: (event) => change(event.target.value || null),
    },
      (options ?? []).map((word) => h("option", { value: word }, word)));
  }

  function removeCell(what, run) {
    return h(
      "td.num.flow-remove",
      {},
      h(
        "button.btn.btn-quiet.btn-icon",
        { type: "button", "aria-label": `Remove this ${what}`, title: `Remove this ${what}`, onclick: run },
        "×",
      ),
    );
  }

  function fill(vertices, edges) {
    for (const vertex of vertices) {
      for (const name of ["id", "kind", "function", "sink", ...NUMBERS.map(([field]) => field)]) {
        set(rows.field(vertex.key, name), vertex[name]);
      }
    }
    const names = JSON.stringify(vertices.map(({ key, id }) => [key, id]));
    for (const edge of edges) {
      for (const end of ["source", "target"]) choose(rows.field(edge.key, end), names, vertices, edge[end]);
      set(rows.field(edge.key, "exchange"), edge.exchange);
    }
  }

  /** What somebody is typing in stays as it is; a word that is not to choose from is shown, too. */
  function set(element, value) {
    if (!element || element === document.activeElement) return;
    if (element.matches("select") && ![...element.options].some((option) => option.value === value)) {
      element.append(h("option", { value }, value));
    }
    element.value = value;
  }

  function choose(select, names, vertices, value) {
    if (!select) return;
    if (select.dataset.names !== names) {
      select.dataset.names = names;
      const options = vertices.map(({ key, id }) => h("option", { value: key }, id || "(no id)"));
      select.replaceChildren(h("option", { value: "" }, "choose"), ...options);
    }
    select.value = value ?? "";
  }

  function mark() {
    const found = [...problems(editor.now()), ...editor.refusals()];
    rows.mark(
      editor.selected(),
      found,
      (key, name) => rows.field(key, name) ?? rows.field(key, "id") ?? rows.field(key, "exchange"),
    );
  }

  return {
    show,
    focus(key, name) {
      const element = name ? rows.field(key, name) : root.querySelector(`tr[data-key="${key}"] [data-field]`);
      element?.focus();
      if (element?.matches("input")) element.select();
    },
  };
}
