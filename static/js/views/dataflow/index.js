/** The page of a dataflow: one history, drawn and in tables; the form carries it to the server. */

import { setText } from "../../lib/dom.js";
import { counted } from "../../lib/format.js";
import { historyWay } from "../../lib/keys.js";
import { mountDrawing } from "./drawing.js";
import { unfold } from "./layout.js";
import * as model from "./model.js";
import { mountTables } from "./tables.js";
import { history } from "../topology/model.js";

const MOST_CHOICES = 500;

const form = document.getElementById("topology-form");
mountEditor(form, JSON.parse(document.getElementById("topology-data").textContent));

/** start: {document, refusal: {field, detail} | null, unsaved}. */
function mountEditor(form, start) {
  const steps = history(model.fromDocument(start.document));
  const saved = steps.now;
  let selected = null;
  let unfolded = false;
  let refusals = model.refusalsOf(start.refusal, steps.now);
  let leaving = false;

  const editor = {
    now: () => steps.now,
    selected: () => selected,
    unfolded: () => unfolded,
    refusals: () => refusals,
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
    changeVertex: (key, to) => type(key, to, model.changeVertex),
    changeEdge: (key, to) => type(key, to, model.changeEdge),
    removeVertex: (key) => change(model.removeVertex(steps.now, key)),
    removeEdge: (key) => change(model.removeEdge(steps.now, key)),
  };

  const drawing = mountDrawing(form.querySelector("[data-drawing]"), editor);
  const tables = mountTables(form.querySelector("[data-tables]"), editor);
  const undo = form.querySelector("[data-undo]");
  const redo = form.querySelector("[data-redo]");
  const counts = form.querySelector("[data-counts]");
  const warning = form.querySelector("[data-problems]");
  const choices = document.getElementById("subtasks");
  const text = form.elements.text;

  function change(next) {
    refusals = [];
    steps.change(next);
    show();
  }

  function type(key, to, change) {
    steps.type(`${key} ${Object.keys(to)}`, change(steps.now, key, to));
    refusals = [];
    show();
  }

  function show() {
    drawing.show();
    tables.show();
    undo.disabled = !steps.canUndo;
    redo.disabled = !steps.canRedo;
    const { vertices, edges } = steps.now;
    setText(counts, `${counted(vertices.length, "vertex", "vertices")}, ${counted(edges.length, "edge")}`);
    const found = model.problems(steps.now).length;
    warning.hidden = found === 0;
    setText(warning, found ? `${counted(found, "field")} to correct before this can be saved.` : "");
    showChoices(vertices);
  }

  function showChoices(vertices) {
    const { shown } = unfold(steps.now, MOST_CHOICES, 0);
    const names = vertices.flatMap(
      ({ key, id }) => Array.from({ length: shown.get(key) }, (_, index) => `${id}[${index}]`),
    );
    const known = JSON.stringify(names);
    if (choices.dataset.names === known) return;
    choices.dataset.names = known;
    choices.replaceChildren(...names.map((name) => new Option("", name)));
  }

  const step = (way) => {
    steps[way]();
    selected = null;
    refusals = [];
    show();
  };

  for (const button of form.querySelectorAll("[data-view]")) {
    button.addEventListener("click", () => {
      unfolded = button.dataset.view === "subtasks";
      for (const other of form.querySelectorAll("[data-view]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      show();
    });
  }
  undo.addEventListener("click", () => step("undo"));
  redo.addEventListener("click", () => step("redo"));
  form.elements.name.addEventListener("input", (event) => steps.amend(model.rename(steps.now, event.target.value)));
  text.closest("details").addEventListener("toggle", (event) => {
    if (event.target.open && !text.value) text.value = JSON.stringify(model.toDocument(steps.now), null, 1);
  });
  document.addEventListener("keydown", (event) => {
    const way = historyWay(event);
    if (!way) return;
    event.preventDefault();
    step(way);
  });

  form.addEventListener("submit", (event) => {
    const read = event.submitter?.value === "read";
    const [first] = read ? [] : model.problems(steps.now);
    if (first) {
      event.preventDefault();
      tables.focus(first.key, first.field);
      return;
    }
    form.elements.document.value = JSON.stringify(model.toDocument(steps.now));
    leaving = true;
  });
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && (start.unsaved || steps.now !== saved)) event.preventDefault();
  });

  form.classList.add("is-live");
  show();
  if (refusals.length) tables.focus(refusals[0].key, refusals[0].field);
}
