/** The tables of the topology editor, in which a topology can be typed without drawing. */

import { h } from "../../lib/dom.js";
import { channelId, isBidirectional, problems, processIds } from "./model.js";
import { editorRows, fillChoices, fillField, removeButton, selectInput, tablePanel, textInput } from "./rows.js";

const ROWS = 200;
const MOST_CHOICES = 100; // longer lists of a channel's ends are filled only when somebody opens them
const BOTH_WAYS = "Add what is missing so that every channel has one in the other direction";

/** @type {("source" | "target")[]} */
const ENDS = ["source", "target"];

/**
 * Mounts the tables on `root`.
 * @param {any} root @param {TopologyEditor} editor
 */
export function mountTables(root, editor) {
  let shown = { processes: ROWS, channels: ROWS };
  const rows = editorRows(root);
  let drawn = "";

  /** Builds the rows anew if rows come or go, else only fills them. */
  function show() {
    const topology = editor.now();
    /** @param {any[]} items */
    const keys = (items) => items.map(({ key }) => key);
    const shape = JSON.stringify([keys(topology.processes), keys(topology.channels), shown]);
    if (shape !== drawn) build(topology);
    drawn = shape;
    fill(topology);
    rows.mark(editor.selected(), [...problems(topology), ...editor.refusals()]);
  }

  /** @param {EditedTopology} topology */
  function build(topology) {
    const { processes, channels } = topology;
    const wrap = "div.table-wrap.editor-rows";
    rows.rebuild(
      tablePanel("Processes", processes, {
        head: ["id", "state at the start"],
        rows: processes.slice(0, shown.processes).map(processRow),
        buttons: h("div.row", {}, button("Add process", () => editor.addAt(null, null))),
        empty: "No process yet.",
        wrap,
        more: moreButton("processes", processes),
      }),
      tablePanel("Channels", channels, {
        head: ["from", "to", "id", "FIFO"],
        rows: channels.slice(0, shown.channels).map(channelRow),
        buttons: h(
          "div.row",
          {},
          button("Both ways", () => editor.makeBidirectional(), isBidirectional(topology), BOTH_WAYS),
          button("Add channel", () => editor.addChannelRow(), processes.length < 2),
        ),
        empty: "No channel yet: messages need at least one.",
        wrap,
        more: moreButton("channels", channels),
      }),
    );
  }

  /** @param {string} label @param {() => void} run @param {boolean} [disabled] @param {string | null} [title] */
  function button(label, run, disabled = false, title = null) {
    return h("button.btn", { type: "button", onclick: run, disabled, title }, label);
  }

  /** @param {"processes" | "channels"} table @param {any[]} items */
  function moreButton(table, items) {
    const hidden = items.length - shown[table];
    if (hidden <= 0) return null;
    const showMore = () => {
      shown = { ...shown, [table]: shown[table] + ROWS };
      show();
    };
    return h("p.panel-body", {}, button(`Show ${Math.min(hidden, ROWS)} more of ${hidden} hidden`, showMore));
  }

  /** @param {EditedProcess} process */
  function processRow({ key }) {
    /** @param {string} name */
    const change = (name) => (/** @type {any} */ value) => editor.changeProcess(key, { [name]: value });
    return row(
      key,
      "process",
      textInput("id", "Id of the process", change("id"), { maxlength: "200" }),
      textInput("state", "State at the start", change("state"), { placeholder: "not known" }),
    );
  }

  /** @param {EditedChannel} channel */
  function channelRow({ key }) {
    /** @param {object} fields */
    const change = (fields) => editor.changeChannel(key, fields);
    return row(
      key,
      "channel",
      selectInput("source", "Process the channel leaves", (source) => change({ source })),
      selectInput("target", "Process the channel enters", (target) => change({ target })),
      textInput("id", "Id of the channel", (id) => change({ id, named: id !== "" }), { maxlength: "200" }),
      h("input", {
        type: "checkbox",
        "aria-label": "FIFO: messages arrive in the order of sending",
        "data-field": "fifo",
        /** @param {any} event */
        onchange: (event) => change({ fifo: event.target.checked }),
      }),
    );
  }

  /** @param {string} key @param {string} noun @param {...HTMLElement} inputs */
  function row(key, noun, ...inputs) {
    const remove = h("td.num", {}, removeButton(noun, () => editor.remove(key)));
    const cells = inputs.map((input) => h("td", {}, input));
    return h("tr", { "data-key": key, onfocusin: () => editor.select(key) }, cells, remove);
  }

  /** @param {EditedTopology} topology */
  function fill(topology) {
    const choices = topology.processes.map(({ key, id }) => [key, id]);
    const names = JSON.stringify(choices);
    const idOf = processIds(topology);
    for (const process of topology.processes) {
      fillField(rows.field(process.key, "id"), process.id);
      fillField(rows.field(process.key, "state"), process.state);
    }
    for (const channel of topology.channels) {
      for (const end of ENDS) choose(rows.field(channel.key, end), names, choices, channel[end]);
      fillField(rows.field(channel.key, "id"), channelId(topology, channel, idOf));
      const fifo = rows.field(channel.key, "fifo");
      if (fifo) fifo.checked = channel.fifo;
    }
  }

  /**
   * Fills the list of a channel's ends. With many processes, the whole list waits until it is focused.
   * @param {any} select @param {string} names @param {string[][]} choices @param {string | null} key
   */
  function choose(select, names, choices, key) {
    if (!select) return;
    const many = choices.length > MOST_CHOICES;
    select.onfocus = many ? () => fillChoices(select, names, choices, key) : null;
    if (!many) fillChoices(select, names, choices, key);
    else if (select !== document.activeElement) {
      select.dataset.names = "";
      fillChoices(select, names, choices.filter(([choice]) => choice === key), key);
      select.dataset.names = "";
    }
  }

  return {
    show,
    /** @param {string} key @param {string} name */
    focus(key, name) {
      const element = rows.field(key, name);
      element?.focus();
      element?.select?.();
    },
  };
}
