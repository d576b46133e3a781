/** The menus of the panels that show a cut: its states and contents, whole, as the server sends them. */

import { h } from "../../lib/dom.js";
import { downloadMenu } from "../../lib/download-menu.js";
import { wholeEntries } from "./panel.js";

/**
 * Adds the menu to the head of a panel, if it has an entry.
 * The file is about the cursor, or about the cut that is dragged.
 * @param {App} app @param {string} panel @param {string} name of the table
 */
export function offerCut(app, panel, name) {
  const entries = wholeEntries(app, { name, title: "", query: () => cutQuery(app.player.state) });
  if (!entries.length) return;
  const menu = downloadMenu("this table", entries, ({ message }) => app.say(`The download failed: ${message}`));
  app.root.querySelector(`#wb-${panel}-title`).closest("header").append(h("div.wb-files", {}, menu));
}

/**
 * Returns the parameters that name a cut in an address. Pure.
 * @param {Pick<PlayerState, "cut" | "axis" | "now">} state @returns {Record<string, string>}
 */
export function cutQuery({ cut, axis, now }) {
  if (cut) return { cut: Array.from(cut, (position) => position.toString(36)).join(".") };
  const at = String(Math.floor(now));
  return axis === "time" ? { at } : { step: at };
}
