/** What all charts share: folding, a table of the data, downloads (PNG, SVG, CSV, JSON), and the frame of a figure. */

import { sizeOf } from "../../lib/canvas.js";
import { csv } from "../../lib/csv.js";
import { h, saveText, table } from "../../lib/dom.js";
import { downloadMenu, pictureEntries } from "../../lib/download-menu.js";
import { thousands } from "../../lib/format.js";
import { drawnFigures, frameColours, paintedImage, savedSentence, svgFile } from "../../lib/picture-file.js";
import { readPlotly } from "../../lib/plotly.js";
import { withShapes } from "../../lib/shapes.js";
import { readColours } from "./colours.js";

const MOST_ROWS = 500;
const WHOLE_FORMATS = [["CSV", "csv"], ["JSON", "json"], ["Parquet", "parquet"]];

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
  const note = more > 0 ? `${thousands(more)} more rows: zoom in, or download the file.` : notice;
  return [table(title, head, shown), ...(note ? [h("p.quiet", {}, note)] : [])];
}

/** @param {string} text @param {string} label @param {() => void} onclick */
function button(text, label, onclick) {
  return h("button.btn.btn-quiet", { type: "button", title: label, "aria-label": label, onclick }, text);
}

/** @param {App} app @param {string} name @param {string} title @param {Chart} chart */
function downloads(app, name, title, chart) {
  const file = `cutline-${app.recording.id}-${name}`;
  const cells = () => {
    const { head, rows, notice } = chart.rows();
    const derived = app.recording.is_derived ? ["derived"] : [];
    const texts = rows.map((row) => [...row.map(textOf), ...derived.map(() => "true")]);
    return { head: [...head, ...derived], rows: texts, notice };
  };
  const saveCsv = () => {
    const { head, rows } = cells();
    saveText(`${file}.csv`, csv(head, rows), "text/csv");
  };
  const saveJson = () => {
    const { head, rows, notice } = cells();
    const body = { table: name, title: `${app.recording.name}: ${title}`, notice: notice ?? null, columns: head, rows };
    saveText(`${file}.json`, JSON.stringify(body), "application/json");
  };
  const entries = pictureEntries(file, () => chartFile(app, name, title, chart));
  entries.push(["CSV", saveCsv], ["JSON", saveJson], ...(chart.whole ? wholeEntries(app, chart.whole) : []));
  return downloadMenu("this chart", entries, ({ message }) => app.say(`The download failed: ${message}`));
}

/**
 * Returns the entries for a table that the server sends whole; none to a visitor, for whom the server has no tables.
 * `query` names what it is about, such as a cut.
 * @param {App} app @param {WholeTable} table @returns {[string, () => unknown][]}
 */
export function wholeEntries(app, { name, title, query = () => ({}) }) {
  if (app.isVisitor) return [];
  return WHOLE_FORMATS.map(([text, format]) => [
    `${title} ${text}`.trim(),
    () => window.location.assign(
      `/recordings/${app.recording.id}?${new URLSearchParams({ ...query(), table: name, format })}`,
    ),
  ]);
}

/**
 * Resolves with the SVG file of a chart as it is now, with what it leaves out in the words of its notice.
 * @param {App} app @param {string} name @param {string} title @param {Chart} chart
 */
async function chartFile(app, name, title, chart) {
  const parts = partsOfFile(app, name, title, chart);
  const Plotly = await readPlotly(app.root.dataset.plotly);
  const drawing = await drawnFigures(Plotly, parts.figures, parts);
  return svgFile({ ...parts, drawing: drawing + parts.painted });
}

/**
 * Returns the parts of the file, in the page's colours as they are now.
 * @param {App} app @param {string} name @param {string} title @param {Chart} chart
 */
function partsOfFile(app, name, title, chart) {
  const before = app.colours;
  app.colours = readColours();
  try {
    const size = sizeOf(chart.plot);
    const over = chart.over?.();
    return {
      ...size,
      title: `${app.recording.name}: ${title}`,
      captions: [
        app.root.querySelector(`[data-panel="${name}"] .wb-notice`).textContent,
        `The cursor is at ${app.readPlace(app.player.state.now)}.`,
        savedSentence(new Date(), window.location.href),
      ],
      figures: [withShapes(chart.figure()), ...(over?.figures ?? [])],
      painted: over?.paint ? paintedImage(over.paint, size) : "",
      colours: frameColours(),
    };
  } finally {
    app.colours = before;
  }
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
