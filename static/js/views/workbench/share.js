/** Sharing a view by its link. */

import { copied, showSharing } from "../../lib/sharing.js";

/** @param {App} app */
export function wireShare(app) {
  app.copyLink = async () => {
    const isCopied = await copied(app.link());
    const sentence = isCopied
      ? "The link to this view is copied."
      : "The browser does not allow copying; the address bar holds the link.";
    const { href } = /** @type {HTMLAnchorElement} */ (app.root.querySelector("[data-share]"));
    await showSharing(href, sentence);
  };
}
