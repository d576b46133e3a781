/** The page of a dataflow: one history, drawn and in tables. */

import "../../lib/svg-picture.js";
import { setText } from "../../lib/dom.js";
import { counted } from "../../lib/format.js";
import { mountForm, openEditor, pressOnly } from "../topology/form.js";
import { mountDrawing } from "./drawing.js";
import { unfold } from "./layout.js";
import * as model from "./model.js";
import { mountTables } from "./tables.js";

const MOST_CHOICES = 500;

openEditor(mountEditor);

/** @param {any} form @param {EditorStart} start */
function mountEditor(form, start) {
  /** @type {string | null} */
  let selected = null;
  let unfolded = false;

  const edit = mountForm(form, start, {
    model,
    show,
    stepped: () => (selected = null),
    focus: (key, field) => tables.focus(key, field),
  });
  const { steps, change, type } = edit;
  /** @type {FlowEditor} */
  const editor = {
    now: () => steps.now,
    selected: () => selected,
    unfolded: () => unfolded,
    refusals: edit.refusals,
    select(key) {
      if (selected === key) return;
      selected = key;
      show();
    },
    focusRow: (key) => tables.focus(key),
    addVertex() {
      change(model.addVertex(steps.now));
      tables.focus(steps.now.vertices.at(-1).key, "id");
    },
    addEdge() {
      change(model.addEdge(steps.now));
      tables.focus(steps.now.edges.at(-1).key, "source");
    },
    changeVertex: (key, fields) => type(key, fields, model.changeVertex),
    changeEdge: (key, fields) => type(key, fields, model.changeEdge),
    removeVertex: (key) => change(model.removeVertex(steps.now, key)),
    removeEdge: (key) => change(model.removeEdge(steps.now, key)),
  };

  const drawing = mountDrawing(form.querySelector("[data-drawing]"), editor);
  const tables = mountTables(form.querySelector("[data-tables]"), editor);
  const counts = form.querySelector("[data-counts]");
  const choices = document.getElementById("subtasks");

  function show() {
    drawing.show();
    tables.show();
    edit.showState();
    const { vertices, edges } = steps.now;
    setText(counts, `${counted(vertices.length, "vertex", "vertices")}, ${counted(edges.length, "edge")}`);
    showChoices(vertices);
  }

  /**
   * Offers the names of subtasks wherever the form asks for one.
   * @param {FlowVertex[]} vertices
   */
  function showChoices(vertices) {
    const { shown } = unfold(steps.now, MOST_CHOICES, 0);
    const names = vertices.flatMap(
      ({ key, id }) => Array.from({ length: shown.get(key) }, (_, index) => `${id}[${index}]`),
    );
    const text = JSON.stringify(names);
    if (choices.dataset.names === text) return;
    choices.dataset.names = text;
    choices.replaceChildren(...names.map((name) => new Option("", name)));
  }

  const views = [...form.querySelectorAll("[data-view]")];
  for (const button of views) {
    button.addEventListener("click", () => {
      unfolded = button.dataset.view === "subtasks";
      pressOnly(views, button);
      show();
    });
  }
  show();
  edit.open();
}
