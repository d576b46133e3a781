/** Building and changing elements. Text never passes through innerHTML. */

import { showDirection } from "./format.js";

/**
 * Makes an element, such as h("button.quiet", {type: "button", onclick}, "Play"). Null children are left out.
 * @param {string} selector @param {Record<string, any>} [attributes] @param {...any} children @returns {any}
 */
export function h(selector, attributes = {}, ...children) {
  const [tag, ...classes] = selector.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  for (const [name, value] of Object.entries(attributes)) setAttribute(element, name, value);
  const kept = children.flat().filter((child) => child !== null && child !== undefined);
  element.append(...(tag === "textarea" ? kept : kept.map(shown)));
  return element;
}

/**
 * Returns a text as it is read; anything else is returned as it is.
 * @param {any} child
 */
function shown(child) {
  return typeof child === "string" ? showDirection(child) : child;
}

/** @param {any} element @param {string} name @param {any} value */
function setAttribute(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (name === "style") Object.assign(element.style, value);
  else element.setAttribute(name, value === true ? "" : value);
}

/**
 * Shows a sentence above the content for as long as the page is open.
 * @param {string} text @param {string} [level]
 */
export function showNote(text, level = "warning") {
  const notes = /** @type {HTMLElement} */ (document.querySelector(".messages"));
  notes.append(h("p.note", { "data-level": level }, text));
  notes.hidden = false;
}

/**
 * Replaces an element's text if it differs, so that the browser lays out the page only for a change.
 * @param {Element} element @param {string} text
 */
export function setText(element, text) {
  const next = showDirection(text);
  if (element.textContent !== next) element.textContent = next;
}

/**
 * Replaces the children if `key` differs from that of the last call. Returns whether it did.
 * @param {HTMLElement} element @param {string} key @param {() => any} build
 */
export function renderOnce(element, key, build) {
  if (element.dataset.key === key) return false;
  element.dataset.key = key;
  element.replaceChildren(...[build()].flat().filter((child) => child !== null && child !== undefined));
  return true;
}

/**
 * Makes a table of texts or elements. The first cell of a row is its heading.
 * @param {string} caption @param {any[]} head @param {any[][]} rows
 */
export function table(caption, head, rows) {
  const cells = head.map((name) => h("th", { scope: "col" }, name));
  const body = rows.map(
    (row) => h("tr", {}, row.map((cell, i) => h(i === 0 ? "th" : "td", i === 0 ? { scope: "row" } : {}, cell))),
  );
  return h(
    "table.table",
    {},
    h("caption.visually-hidden", {}, caption),
    h("thead", {}, h("tr", {}, cells)),
    h("tbody", {}, body),
  );
}

/**
 * Downloads `text` as a file of this name and media type.
 * @param {string} name @param {string} text @param {string} type
 */
export function saveText(name, text, type) {
  saveFile(name, new Blob([text], { type }));
}

/**
 * Downloads a file under this name.
 * @param {string} name @param {Blob} content
 */
export function saveFile(name, content) {
  const url = URL.createObjectURL(content);
  h("a", { href: url, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
