/** The tables of the topology editor: the same topology to type, without drawing. */

import { h } from "../../lib/dom.js";
import { editorRows } from "../../lib/editor-rows.js";
import { channelId, isBidirectional, problems, processIds } from "./model.js";

const ROWS = 200;
const MOST_CHOICES = 100; // in the lists of a channel's ends, before somebody opens one

/** editor: see topology.js. Returns {show(), focus(key, field)}. */
export function mountTables(root, editor) {
  let shown = { processes: ROWS, channels: ROWS };
  const rows = editorRows(root);
  let drawn = "";

  /** Rows are built anew when rows come or go; while somebody types, only the marks change. */
  function show() {
    const topology = editor.now();
    const shape = JSON.stringify([
      topology.processes.map(({ key }) => key),
      topology.channels.map(({ key }) => key),
      shown,
    ]);
    if (shape !== drawn) build(topology);
    drawn = shape;
    fill(topology);
    mark(topology);
  }

  function build(topology) {
    const focus = rows.focused();
    root.replaceChildren(
      section("Processes", "processes", ["id", "state at the start"], topology.processes, processRow, [
        button("Add process", () => editor.addAt(null, null)),
      ]),
      section("Channels", "channels", ["from", "to", "id", "FIFO"], topology.channels, channelRow, [
        button(
          "Both ways",
          () => editor.makeBidirectional(),
          isBidirectional(topology),
          "Add what is missing so that every channel has one in the other direction",
        ),
        button("Add channel", () => editor.addChannelRow(), topology.processes.length < 2),
      ]),
    );
    if (focus) rows.field(focus.key, focus.name)?.focus();
  }

  function section(name, of, head, items, row, buttons) {
    const drawnRows = items.slice(0, shown[of]).map(row);
    const hidden = items.length - drawnRows.length;
    const cells = [
      ...head.map((word) => h("th", { scope: "col" }, word)),
      h("th", {}, h("span.visually-hidden", {}, "remove")),
    ];
    return h(
      "section.panel",
      { "aria-label": name },
      h("div.panel-head", {}, h("h2", {}, `${name} `, h("span.soft", {}, String(items.length))),
        h("div.row", {}, buttons)),
      items.length === 0
        ? h(
          "p.panel-body.soft",
          {},
          of === "channels" ? "No channel yet: messages need at least one." : "No process yet.",
        )
        : h(
          "div.table-wrap.editor-rows",
          {},
          h("table.table.editor-table", {}, h("thead", {}, h("tr", {}, cells)), h("tbody", {}, drawnRows)),
        ),
      hidden > 0
        ? h(
          "p.panel-body",
          {},
          h(
            "button.btn",
            { type: "button", onclick: () => more(of) },
            `Show ${Math.min(hidden, ROWS)} more of ${hidden} hidden`,
          ),
        )
        : null,
    );
  }

  function button(label, run, disabled = false, title = null) {
    return h("button.btn", { type: "button", onclick: run, disabled, title }, label);
  }

  function more(of) {
    shown = { ...shown, [of]: shown[of] + ROWS };
    show();
  }

  function processRow({ key }) {
    return h("tr", { "data-key": key, onfocusin: () => editor.select(key) },
      h("td", {}, input("id", "Id of the process", (value) => editor.changeProcess(key, { id: value }))),
      h(
        "td",
        {},
        input("state", "State at the start", (value) => editor.changeProcess(key, { state: value }), "not known"),
      ),
      removeCell(key, "process"),
    );
  }

  function channelRow({ key }) {
    return h("tr", { "data-key": key, onfocusin: () => editor.select(key) },
      h("td", {}, ends(key, "source", "Process the channel leaves")),
      h("td", {}, ends(key, "target", "Process the channel enters")),
      h(
        "td",
        {},
        input("id", "Id of the channel", (value) => editor.changeChannel(key, { id: value, named: value !== "" })),
      ),
      h("td", {}, h("input", {
        type: "checkbox",
        "aria-label": "FIFO: messages arrive in the order of sending",
        "data-field": "fifo",
        onchange: (event) => editor.changeChannel(key, { fifo: event.target.checked }),
      })),
      removeCell(key, "channel"),
    );
  }

  function input(name, label, change, placeholder = "") {
    return h("input.input", {
      type: "text",
      "aria-label": label,
      "data-field": name,
      placeholder,
      autocomplete: "off",
      spellcheck: "false",
      maxlength: name === "id" ? "200" : null,
      oninput: (event) => change(event.target.value),
    });
  }

  function ends(key, name, label) {
    return h("select.input", {
      "aria-label": label,
      "data-field": name,
      onchange: (event) => editor.changeChannel(key, { [name]: event.target.value || null }),
    });
  }

  function removeCell(key, what) {
    return h("td.num", {}, h("button.btn.btn-quiet.btn-icon", {
      type: "button",
      "aria-label": `Remove this ${what}`,
      title: `Remove this ${what}`,
      onclick: () => editor.remove(key),
    }, "×"));
  }

  function fill(topology) {
    const choices = topology.processes.map(({ key, id }) => [key, id]);
    const names = JSON.stringify(choices);
    const idOf = processIds(topology);
    for (const process of topology.processes) {
      set(rows.field(process.key, "id"), process.id);
      set(rows.field(process.key, "state"), process.state);
    }
    for (const channel of topology.channels) {
      for (const end of ["source", "target"]) choose(rows.field(channel.key, end), names, choices, channel[end]);
      set(rows.field(channel.key, "id"), channelId(topology, channel, idOf));
      const fifo = rows.field(channel.key, "fifo");
      if (fifo) fifo.checked = channel.fifo;
    }
  }

  /** What somebody is typing in stays as it is. */
  function set(element, value) {
    if (element && element !== document.activeElement) element.value = value;
  }

  /** Where there are many processes, the long list of choices waits for the focus. */
  function choose(select, names, choices, value) {
    if (!select) return;
    const fill = (shown) => {
      if (select.dataset.names !== names) {
        select.dataset.names = names;
        const options = shown.map(([key, id]) => h("option", { value: key }, id || "(no id)"));
        select.replaceChildren(h("option", { value: "" }, "choose"), ...options);
      }
      select.value = value ?? "";
    };
    const many = choices.length > MOST_CHOICES;
    select.onfocus = many ? () => fill(choices) : null;
    if (!many) fill(choices);
    else if (select !== document.activeElement) {
      select.dataset.names = "";
      fill(choices.filter(([key]) => key === value));
      select.dataset.names = "";
    }
  }

  function mark(topology) {
    rows.mark(editor.selected(), [...problems(topology), ...editor.refusals()]);
  }

  return {
    show,
    focus(key, name) {
      const element = rows.field(key, name);
      element?.focus();
      element?.select?.();
    },
  };
}
