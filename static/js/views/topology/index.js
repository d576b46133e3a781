/** The topology page: one history, drawn and in tables; the form carries it to the server. */

import { setText } from "../../lib/dom.js";
import { counted } from "../../lib/format.js";
import { historyWay } from "../../lib/keys.js";
import { mountDrawing } from "./drawing.js";
import * as model from "./model.js";
import { mountTables } from "./tables.js";

const form = document.getElementById("topology-form");
const start = JSON.parse(document.getElementById("topology-data").textContent);
mountEditor(form, start);

/** start: {document, refusal: {field, detail} | null, unsaved}. */
function mountEditor(form, start) {
  const steps = model.history(model.fromDocument(start.document));
  const saved = steps.now;
  let tool = "move";
  let selected = null;
  let channelFrom = null;
  let refusals = refusalsOf(start.refusal, steps.now);
  let leaving = false;

  const editor = {
    now: () => steps.now,
    tool: () => tool,
    selected: () => selected,
    channelFrom: () => channelFrom,
    refusals: () => refusals,
    select(key) {
      if (selected === key) return;
      selected = key;
      show();
    },
    /** A click on a process: an end of a channel while one is being drawn, else the selection. */
    pick(key) {
      if (channelFrom !== null && channelFrom !== key) return editor.connect(channelFrom, key);
      if (tool === "channel" || tool === "both") channelFrom = channelFrom === key ? null : key;
      selected = key;
      return show();
    },
    startChannel(key) {
      channelFrom = key;
      selected = key;
      show();
    },
    connect(source, target) {
      const add = tool === "both" ? model.addBothWays : model.addChannel;
      channelFrom = null;
      change(add(steps.now, source, target));
      selected = model.channelBetween(steps.now, source, target)?.key ?? selected;
      show();
    },
    addAt(x, y) {
      change(model.addProcess(steps.now, { x, y }));
      selected = steps.now.processes.at(-1).key;
      show();
      drawing.focus(selected);
    },
    addChannelRow() {
      const pair = freePair(steps.now);
      if (!pair) return;
      change(model.addChannel(steps.now, ...pair));
      selected = steps.now.channels.at(-1).key;
      show();
      tables.focus(selected, "source");
    },
    moveTo(key, x, y, going) {
      const moved = model.moveProcess(steps.now, key, x, y);
      if (going) steps.amend(moved);
      else steps.change(moved);
      selected = key;
      show();
    },
    changeProcess: (key, to) => type(key, to, model.changeProcess),
    changeChannel: (key, to) => type(key, to, model.changeChannel),
    remove(key) {
      const isProcess = steps.now.processes.some((process) => process.key === key);
      change((isProcess ? model.removeProcess : model.removeChannel)(steps.now, key));
      selected = null;
      show();
    },
    makeBidirectional: () => change(model.makeBidirectional(steps.now)),
    rename: (key) => tables.focus(key, "id"),
    cancel() {
      channelFrom = null;
      selected = null;
      show();
    },
  };

  const drawing = mountDrawing(form.querySelector("[data-drawing]"), editor);
  const tables = mountTables(form.querySelector("[data-tables]"), editor);
  const undo = form.querySelector("[data-undo]");
  const redo = form.querySelector("[data-redo]");
  const removeButton = form.querySelector("[data-remove]");
  const counts = form.querySelector("[data-counts]");
  const warning = form.querySelector("[data-problems]");
  const initiators = form.elements.initiators;
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
    removeButton.disabled = selected === null;
    const { processes, channels } = steps.now;
    setText(counts, `${counted(processes.length, "process", "processes")}, ${counted(channels.length, "channel")}`);
    showProblems();
    showInitiators(processes);
  }

  function showProblems() {
    const found = model.problems(steps.now);
    warning.hidden = found.length === 0;
    setText(warning, found.length ? `${counted(found.length, "field")} to correct before this can be saved.` : "");
  }

  function showInitiators(processes) {
    const ids = JSON.stringify(processes.map(({ id }) => id));
    if (initiators.dataset.ids === ids) return;
    const chosen = new Set([...initiators.selectedOptions].map(({ value }) => value));
    initiators.dataset.ids = ids;
    initiators.replaceChildren(...processes.map(({ id }) => new Option(id, id, false, chosen.has(id))));
  }

  function useTool(name) {
    tool = name;
    channelFrom = null;
    for (const button of form.querySelectorAll("[data-tool]")) {
      button.setAttribute("aria-pressed", String(button.dataset.tool === name));
    }
    show();
  }

  const step = (way) => {
    steps[way]();
    selected = null;
    channelFrom = null;
    show();
  };

  for (const button of form.querySelectorAll("[data-tool]")) {
    button.addEventListener("click", () => useTool(button.dataset.tool));
  }
  undo.addEventListener("click", () => step("undo"));
  redo.addEventListener("click", () => step("redo"));
  removeButton.addEventListener("click", () => selected !== null && editor.remove(selected));
  form.elements.name.addEventListener("input", (event) => steps.amend(model.rename(steps.now, event.target.value)));
  text.closest("details").addEventListener("toggle", (event) => {
    if (event.target.open && !text.value) text.value = asText(steps.now);
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
  useTool("move");
  if (refusals.length) tables.focus(refusals[0].key, refusals[0].field);
}

/** "processes[3].id" of the server's refusal as the row and field it stands at. */
function refusalsOf(refusal, topology) {
  const match = /^(processes|channels)\[(\d+)\](?:\.(\w+))?/.exec(refusal?.field ?? "");
  const row = match && topology[match[1]][Number(match[2])];
  return row ? [{ key: row.key, field: match[3] ?? "id", sentence: refusal.detail }] : [];
}

/** Two processes without a channel yet, or null. */
function freePair(topology) {
  for (const { key: source } of topology.processes) {
    for (const { key: target } of topology.processes) {
      if (source !== target && !model.channelBetween(topology, source, target)) return [source, target];
    }
  }
  return null;
}

function asText(topology) {
  if (topology.processes.length === 0) return "";
  return JSON.stringify(model.toDocument(topology), null, 1);
}
