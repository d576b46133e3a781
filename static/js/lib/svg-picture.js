/**
 * Menus that save the drawings of a page that are SVG already.
 *
 * `<span data-picture="#states-graph" data-what="The graph"></span>` becomes the menu of that drawing. Its look comes
 * from style sheets, so each element is written with the look that it has.
 */

import { h } from "./dom.js";
import { downloadMenu, fileName, pictureEntries } from "./download-menu.js";
import { frameColours, savedSentence, svgFile } from "./picture-file.js";

const LOOK = [
  "fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "stroke-linejoin", "opacity",
  "font-family", "font-size", "font-weight", "text-anchor", "dominant-baseline", "paint-order", "visibility",
];
const NOT_SHOWN = "none";

/**
 * Returns the markup of a drawing with the look that it has now, without links and without what is not shown.
 * @param {SVGSVGElement} svg
 */
function drawingOf(svg) {
  const { width, height } = svg.getBoundingClientRect();
  const copy = /** @type {SVGSVGElement} */ (dressed(svg));
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return { width, height, drawing: new XMLSerializer().serializeToString(copy) };
}

/**
 * Copies an element with its look. Returns null for what is not shown.
 * @param {Element} element @returns {Element | null}
 */
function dressed(element) {
  const style = getComputedStyle(element);
  const isHidden = style.display === NOT_SHOWN && element.localName !== "title" && !element.closest("defs");
  if (isHidden) return null;
  const copy = document.createElementNS(element.namespaceURI, element.localName === "a" ? "g" : element.localName);
  for (const { name, value } of element.attributes) if (isKept(name)) copy.setAttribute(name, value);
  for (const name of LOOK) {
    const value = style.getPropertyValue(name);
    if (value) copy.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    const inner = child instanceof Element ? dressed(child) : child.cloneNode();
    if (inner) copy.append(inner);
  }
  return copy;
}

/** @param {string} name */
function isKept(name) {
  return !/^(class|href|xlink:href|style|tabindex|role|on.*|aria-.*|data-.*|hx-.*)$/.test(name);
}

/** @param {HTMLElement} holder */
function mount(holder) {
  const { picture, what } = holder.dataset;
  const build = () => {
    const svg = /** @type {SVGSVGElement} */ (document.querySelector(picture));
    if (!svg) throw new Error("there is no drawing");
    return svgFile({
      ...drawingOf(svg),
      title: `${document.querySelector("h1")?.textContent.replace(/\s+/g, " ").trim() ?? ""}: ${what}`,
      captions: [savedSentence(new Date(), window.location.href)],
      colours: frameColours(),
    });
  };
  const fault = h("span.field-error", { role: "alert" });
  const entries = pictureEntries(fileName(window.location.pathname, what), build);
  const menu = downloadMenu(`the picture ${what}`, entries, ({ message }) => {
    fault.textContent = `The download failed: ${message}`;
  });
  holder.replaceChildren(menu, fault);
}

for (const holder of document.querySelectorAll("[data-picture]")) mount(/** @type {HTMLElement} */ (holder));
