/** The topology page: one history, drawn and in tables. */

import "../../lib/svg-picture.js";
import { h, setText } from "../../lib/dom.js";
import { counted } from "../../lib/format.js";
import { mountDrawing } from "./drawing.js";
import { mountForm, openEditor, pressOnly } from "./form.js";
import * as model from "./model.js";
import { mountTables } from "./tables.js";

openEditor(mountEditor);

/** @param {any} form @param {EditorStart} start */
function mountEditor(form, start) {
  let tool = "move";
  /** @type {string | null} */
  let selected = null;
  /** @type {string | null} */
  let channelFrom = null;

  const edit = mountForm(form, start, {
    model,
    show,
    stepped() {
      selected = null;
      channelFrom = null;
    },
    focus: (key, field) => tables.focus(key, field),
  });
  const { steps, change, type } = edit;
  /** @type {TopologyEditor} */
  const editor = {
    now: () => steps.now,
    tool: () => tool,
    selected: () => selected,
    channelFrom: () => channelFrom,
    refusals: edit.refusals,
    select(key) {
      if (selected === key) return;
      selected = key;
      show();
    },
    /** Takes a click on a process: an end of a channel while one is being drawn, else the selection. */
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
      const pair = model.freePair(steps.now);
      if (!pair) return;
      change(model.addChannel(steps.now, ...pair));
      selected = steps.now.channels.at(-1).key;
      show();
      tables.focus(selected, "source");
    },
    /** Moves a process. `going`: in the middle of a drag, which is one step. */
    moveTo(key, x, y, going) {
      const moved = model.moveProcess(steps.now, key, x, y);
      if (going) steps.amend(moved);
      else steps.change(moved);
      selected = key;
      show();
    },
    changeProcess: (key, fields) => type(key, fields, model.changeProcess),
    changeChannel: (key, fields) => type(key, fields, model.changeChannel),
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
  const removeButton = form.querySelector("[data-remove]");
  const counts = form.querySelector("[data-counts]");
  const { initiators } = form.elements;

  function show() {
    drawing.show();
    tables.show();
    edit.showState();
    removeButton.disabled = selected === null;
    const { processes, channels } = steps.now;
    setText(counts, `${counted(processes.length, "process", "processes")}, ${counted(channels.length, "channel")}`);
    showInitiators(processes);
  }

  /** @param {EditedProcess[]} processes */
  function showInitiators(processes) {
    const ids = JSON.stringify(processes.map(({ id }) => id));
    if (initiators.dataset.ids === ids) return;
    const chosen = new Set([...initiators.selectedOptions].map(({ value }) => value));
    initiators.dataset.ids = ids;
    initiators.replaceChildren(...processes.map(({ id }) => h("option", { value: id, selected: chosen.has(id) }, id)));
  }

  const tools = [...form.querySelectorAll("[data-tool]")];
  for (const button of tools) {
    button.addEventListener("click", () => {
      tool = button.dataset.tool;
      channelFrom = null;
      pressOnly(tools, button);
      show();
    });
  }
  removeButton.addEventListener("click", () => selected !== null && editor.remove(selected));
  show();
  edit.open();
}
