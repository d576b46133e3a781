/** Making SVG elements. Text never passes through innerHTML. */

import { showDirection } from "./format.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} name @param {Record<string, any>} [attributes] @param {...(Node | string)} children @returns {any}
 */
export function create(name, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children.map((child) => (typeof child === "string" ? showDirection(child) : child)));
  return element;
}

/** @param {string} content @param {Record<string, any>} attributes */
export function text(content, attributes) {
  return create("text", { "text-anchor": "middle", ...attributes }, content);
}

/** @param {string} content */
export function title(content) {
  return create("title", {}, content);
}

/**
 * Makes an arrow head for the ends of lines. `id` is also the end of its class.
 * @param {string} id
 */
export function arrowHead(id) {
  const box = { viewBox: "0 0 8 8", refX: 1, refY: 4, markerWidth: 8, markerHeight: 8 };
  return create(
    "marker",
    { id, ...box, markerUnits: "userSpaceOnUse", orient: "auto", class: `drawing-${id}` },
    create("path", { d: "M0 0L8 4L0 8z" }),
  );
}
