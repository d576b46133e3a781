/** What all charts share: folding, a table of the data, downloads (PNG, SVG, CSV), and the frame of a figure. */

import { csv } from "../../lib/csv.js";
import { h, saveText, table } from "../../lib/dom.js";
import { thousands } from "../../lib/format.js";

const MOST_ROWS = 500;

/**
 * Adds the buttons to the section `[data-panel=name]`, and the table that takes the place of its chart.
 * @param {App} app @param {string} name @param {Chart} chart
 */
export function wirePanel(app, name, chart) {
  const section = app.root.querySelector(`[data-panel="${name}"]`);
  const title = section.querySelector("h2").textContent;
  const body = section.querySelector(".wb-body");
  const tableBox = h("div.wb-table", { tabindex: "0", role: "region", "aria-label": `${title}, as a table` });
  body.append(tableBox);
  const tools = h(
    "div.wb-tools",
    {},
    button("▤", "Show as a table (t for all)", () => app.player.toggle("tables", name)),
    downloads(app, name, title, chart),
    button("–", "Fold this panel", () => app.player.toggle("folded", name)),
  );
  section.querySelector("header").append(tools);
  const [tableButton, , foldButton] = tools.children;
  /** @type {OpenWindow | null} */
  let drawn = null;

  /** @param {PlayerState} state @param {Set<string>} keys */
  function update(state, keys) {
    if (keys.has("folded") || keys.has("tables")) place(state);
    const folded = state.folded.has(name);
    const asTable = state.tables.has(name);
    const stale = drawn !== state.window || keys.has("tables") || (chart.follows && keys.has("shown"));
    if (asTable && !folded && stale && !state.playing) {
      drawn = state.window;
      tableBox.replaceChildren(...limitedTable(title, chart.rows()));
    }
  }

  /** @param {PlayerState} state */
  function place(state) {
    const folded = state.folded.has(name);
    const asTable = state.tables.has(name);
    section.classList.toggle("is-folded", folded);
    section.classList.toggle("is-table", asTable);
    foldButton.textContent = folded ? "+" : "–";
    foldButton.setAttribute("aria-expanded", String(!folded));
    tableButton.setAttribute("aria-pressed", String(asTable));
  }

  return { section, body, update, isFolded: () => section.classList.contains("is-folded") };
}

/** @param {string} title @param {TableRows} table */
function limitedTable(title, { head, rows, notice }) {
  const shown = rows.slice(0, MOST_ROWS);
  const more = rows.length - shown.length;
  const note = more > 0 ? `${thousands(more)} more rows: zoom in, or download the CSV.` : notice;
  return [table(title, head, shown), ...(note ? [h("p.quiet", {}, note)] : [])];
}

/** @param {string} text @param {string} label @param {() => void} onclick */
function button(text, label, onclick) {
  return h("button.btn.btn-quiet", { type: "button", title: label, "aria-label": label, onclick }, text);
}

/** @param {App} app @param {string} name @param {string} title @param {Chart} chart */
function downloads(app, name, title, chart) {
  const file = `cutline-${app.recording.id}-${name}`;
  /** @param {string} format */
  const image = (format) => async () => {
    const { data, layout } = chart.figure();
    const { width, height } = chart.plot.getBoundingClientRect();
    /** @type {Layout} */
    const titled = { ...layout, title: { text: `${app.recording.name}: ${title}`, font: { size: 14 } } };
    titled.margin = { ...layout.margin, t: 40 };
    titled.paper_bgcolor = titled.plot_bgcolor = app.colours.panel;
    const Plotly = await app.pictures.load();
    await Plotly.downloadImage(
      { data, layout: titled },
      { format, width: Math.round(width), height: Math.round(height) + 32, scale: 2, filename: file },
    );
  };
  const rows = () => {
    const { head, rows: cells } = chart.rows();
    saveText(`${file}.csv`, csv(head, cells.map((row) => row.map(textOf))), "text/csv");
  };
  const menu = h(
    "details.menu",
    {},
    h("summary.btn.btn-quiet", { title: "Download this chart", "aria-label": "Download this chart" }, "↓"),
  );
  /** @type {[string, () => unknown][]} */
  const entries = [["PNG", image("png")], ["SVG", image("svg")], ["CSV", rows]];
  /** @param {() => unknown} run */
  const close = (run) => () => {
    menu.open = false;
    Promise.resolve(run()).catch((error) => app.say(`The download failed: ${error.message}`));
  };
  menu.append(h("div", {}, entries.map(([text, run]) => button(text, `Download as ${text}`, close(run)))));
  menu.addEventListener("focusout", (/** @type {FocusEvent} */ { relatedTarget }) => {
    if (!menu.contains(relatedTarget)) menu.open = false;
  });
  return menu;
}

/** @param {any} cell */
function textOf(cell) {
  return cell instanceof Node ? cell.textContent : cell;
}

/**
 * The parts of a Plotly layout that every figure here has.
 * @param {WorkbenchColours} colours @param {Layout} margin
 */
export function baseLayout(colours, margin) {
  return {
    margin,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    hovermode: false,
    dragmode: false,
    font: { family: "system-ui, sans-serif", size: 12, color: colours.quiet },
    uirevision: "kept",
  };
}

/**
 * An axis without decoration; `more` adds to it.
 * @param {WorkbenchColours} colours @param {Layout} more
 */
export function plainAxis(colours, more) {
  return {
    showgrid: false,
    zeroline: false,
    fixedrange: true,
    linecolor: colours.rule,
    tickcolor: colours.rule,
    ticks: "outside",
    ticklen: 4,
    ...more,
  };
}
