/** Text that the server has made out of Markdown. */

import { showDirection } from "./format.js";

/**
 * Returns the nodes of HTML from the server, which lets only formatting and links through (webapp/markdown.py).
 * @param {string} html
 */
export function richText(html) {
  const { body } = new DOMParser().parseFromString(html, "text/html");
  const texts = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) texts.currentNode.nodeValue = showDirection(texts.currentNode.nodeValue ?? "");
  return [...body.childNodes];
}
