/** The editor of a dataflow: a table of vertices and one of edges. */

import { h } from "../../lib/dom.js";
import {
  editorRows,
  fillChoices,
  fillField,
  removeButton,
  selectInput,
  tablePanel,
  textInput,
} from "../topology/rows.js";
import { EXCHANGES, FUNCTIONS, KINDS, problems, SINKS } from "./model.js";

/** Name, title of the column, label, and the only kind of vertex that has the field (null: each has). */
const NUMBERS = [
  ["parallelism", "subtasks", "Number of subtasks", null],
  ["cost", "cost, µs", "Cost of a record in microseconds", null],
  ["records", "records", "Records in each split", "source"],
  ["rate", "rate, 1/s", "Records a second in each split, 0: all at once", "source"],
  ["keys", "keys", "How many different keys", "source"],
  ["skew", "skew", "Skew of the keys, 0: all as frequent", "source"],
];

/** @type {("source" | "target")[]} */
const ENDS = ["source", "target"];

/**
 * Mounts the tables on `root`.
 * @param {any} root @param {FlowEditor} editor
 */
export function mountTables(root, editor) {
  const rows = editorRows(root);
  let drawn = "";

  /** Builds the rows anew if rows come or go or a kind changes, else only fills them. */
  function show() {
    const { vertices, edges } = editor.now();
    const shape = JSON.stringify([vertices.map(({ key, kind }) => [key, kind]), edges.map(({ key }) => key)]);
    if (shape !== drawn) build(vertices, edges);
    drawn = shape;
    fill(vertices, edges);
    mark();
  }

  /** @param {FlowVertex[]} vertices @param {FlowEdge[]} edges */
  function build(vertices, edges) {
    rows.rebuild(
      tablePanel("Vertices", vertices, {
        head: ["id", "kind", "does", ...NUMBERS.map(([, title]) => title)],
        rows: vertices.map(vertexRow),
        buttons: addButton("Add vertex", () => editor.addVertex()),
        empty: "No vertex yet.",
        kind: ".flow-table",
      }),
      tablePanel("Edges", edges, {
        head: ["from", "to", "exchange"],
        rows: edges.map(edgeRow),
        buttons: addButton("Add edge", () => editor.addEdge()),
        empty: "No edge yet: records flow along edges.",
        kind: ".flow-table",
      }),
    );
  }

  /** @param {string} label @param {() => void} run */
  function addButton(label, run) {
    return h("button.btn", { type: "button", onclick: run }, label);
  }

  /** @param {FlowVertex} vertex */
  function vertexRow({ key, kind }) {
    /** @param {string} name */
    const change = (name) => (/** @type {any} */ value) => editor.changeVertex(key, { [name]: value });
    return h("tr", { "data-key": key, onfocusin: () => editor.select(key) },
      cell("id", textInput("id", "Id of the vertex", change("id"), { maxlength: "80" })),
      cell("kind", selectInput("kind", "Kind of the vertex", change("kind"), KINDS)),
      cell("does", action(kind, change)),
      NUMBERS.map(([name, title, label, only]) => {
        const input = () => textInput(name, label, change(name), { inputmode: "decimal" });
        return cell(title, !only || only === kind ? input() : null, "number");
      }),
      removeCell("vertex", () => editor.removeVertex(key)));
  }

  /** @param {string} kind @param {(name: string) => (value: any) => void} change */
  function action(kind, change) {
    if (kind === "operator") return selectInput("function", "Function of the operator", change("function"), FUNCTIONS);
    return kind === "sink" ? selectInput("sink", "Kind of the sink", change("sink"), SINKS) : null;
  }

  /** @param {FlowEdge} edge */
  function edgeRow({ key }) {
    /** @param {string} name */
    const change = (name) => (/** @type {any} */ value) => editor.changeEdge(key, { [name]: value });
    return h("tr", { "data-key": key, onfocusin: () => editor.select(key) },
      cell("from", selectInput("source", "Vertex the edge leaves", change("source"))),
      cell("to", selectInput("target", "Vertex the edge enters", change("target"))),
      cell("exchange", selectInput("exchange", "Exchange", change("exchange"), EXCHANGES)),
      removeCell("edge", () => editor.removeEdge(key)));
  }

  /**
   * Makes a cell with the name of its column, which a narrow screen shows beside it; empty cells are hidden there.
   * @param {string} label @param {HTMLElement | null} element @param {string} [kind]
   */
  function cell(label, element, kind = "text") {
    const content = element ?? h("span.soft", { "aria-hidden": "true" }, "–");
    return h("td", { "data-label": label, "data-is": element ? kind : "empty" }, content);
  }

  /** @param {string} noun @param {() => void} run */
  function removeCell(noun, run) {
    return h("td.num.flow-remove", {}, removeButton(noun, run));
  }

  /** @param {FlowVertex[]} vertices @param {FlowEdge[]} edges */
  function fill(vertices, edges) {
    for (const vertex of vertices) {
      for (const name of ["id", "kind", "function", "sink", ...NUMBERS.map(([field]) => field)]) {
        fillField(rows.field(vertex.key, name), vertex[name]);
      }
    }
    const choices = vertices.map(({ key, id }) => [key, id]);
    const names = JSON.stringify(choices);
    for (const edge of edges) {
      for (const end of ENDS) fillChoices(rows.field(edge.key, end), names, choices, edge[end]);
      fillField(rows.field(edge.key, "exchange"), edge.exchange);
    }
  }

  /** Marks problems at their fields. A field that the row does not have gives way to its first one. */
  function mark() {
    /** @param {string} key @param {string} name */
    const element = (key, name) => rows.field(key, name) ?? rows.field(key, "id") ?? rows.field(key, "exchange");
    rows.mark(editor.selected(), [...problems(editor.now()), ...editor.refusals()], element);
  }

  return {
    show,
    /** @param {string} key @param {string} [name] */
    focus(key, name) {
      const element = name ? rows.field(key, name) : root.querySelector(`tr[data-key="${key}"] [data-field]`);
      element?.focus();
      if (element?.matches("input")) element.select();
    },
  };
}
