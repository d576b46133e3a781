/** The menu with which a chart or a picture is saved. */

import { h, saveFile } from "./dom.js";
import { inColours, pngOf } from "./picture-file.js";

/**
 * Makes the menu. An entry has its text and what it does; what goes wrong is said by `onError`.
 * @param {string} what @param {[string, () => unknown][]} entries @param {(error: Error) => void} onError
 */
export function downloadMenu(what, entries, onError) {
  const label = `Download ${what}`;
  const summary = h("summary.btn.btn-quiet", { title: label, "aria-label": label }, "↓");
  const menu = h("details.menu.download-menu", {}, summary);
  /** @param {() => unknown} run */
  const close = (run) => async () => {
    menu.open = false;
    summary.focus();
    try {
      await run();
    } catch (error) {
      onError(error);
    }
  };
  /** @type {(entry: [string, () => unknown]) => HTMLElement} */
  const button = ([text, run]) => {
    const name = `Download as ${text}`;
    return h("button.btn.btn-quiet", { type: "button", title: name, "aria-label": name, onclick: close(run) }, text);
  };
  menu.append(h("div", {}, entries.map(button)));
  menu.addEventListener("click", (/** @type {Event} */ event) => event.stopPropagation()); // a figure has clicks too
  menu.addEventListener("focusout", (/** @type {FocusEvent} */ { relatedTarget }) => {
    if (!menu.contains(relatedTarget)) menu.open = false;
  });
  menu.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    summary.focus();
  });
  return menu;
}

/**
 * Returns the entries for a picture: in the colours of the page, and in light ones for paper.
 * @param {string} file name without its end
 * @param {() => string | Promise<string>} build makes the SVG file, in the colours that the page has when it is called
 * @returns {[string, () => unknown][]}
 */
export function pictureEntries(file, build) {
  /** @param {boolean} isLight */
  const svg = (isLight) => inColours(isLight, build);
  /** @param {boolean} isLight */
  const savePng = async (isLight) => saveFile(`${file}.png`, await pngOf(await svg(isLight)));
  /** @param {boolean} isLight */
  const saveSvg = async (isLight) => {
    saveFile(`${file}.svg`, new Blob([await svg(isLight)], { type: "image/svg+xml" }));
  };
  return [
    ["PNG", () => savePng(false)],
    ["SVG", () => saveSvg(false)],
    ["light PNG", () => savePng(true)],
    ["light SVG", () => saveSvg(true)],
  ];
}

/**
 * Returns a name of letters, digits and dashes: "/recordings/4/proof" and "now" make "cutline-recordings-4-proof-now".
 * @param {string} path @param {string} what
 */
export function fileName(path, what) {
  return ["cutline", ...`${path}/${what}`.split(/[^0-9A-Za-z]+/)].filter(Boolean).join("-").slice(0, 150);
}
