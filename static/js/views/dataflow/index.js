/** The page of a dataflow: one history, drawn and in tables. */

import "../../lib/svg-picture.js";
import { setText } from "../../lib/dom.js";
import { counted } from "../../lib/format.js";
import { mountForm, openEditor, pressOnly } from "../topology/form.js";
import { mountDrawing } from "./drawing.js";
import * as model from "./model.js";
import { mountTables } from "./tables.js";

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

  function show() {
    drawing.show();
    tables.show();
    edit.showState();
    const { vertices, edges } = steps.now;
    setText(counts, `${counted(vertices.length, "vertex", "vertices")}, ${counted(edges.length, "edge")}`);
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
