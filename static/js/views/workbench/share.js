/** Sharing a view by its link. */

import { copied, ownAddress, shortLink, showSharing } from "../../lib/sharing.js";

/** @param {App} app */
export function wireShare(app) {
  app.copyLink = async () => {
    const { link, sentence } = await linkToView(app);
    const isCopied = await copied(link);
    const { href } = /** @type {HTMLAnchorElement} */ (app.root.querySelector("[data-share]"));
    const byHand = `The browser does not allow copying. This is the link: ${link}`;
    await showSharing(href, isCopied ? sentence : byHand, app.view());
  };

  app.showSharing = () => {
    const { href } = /** @type {HTMLAnchorElement} */ (app.root.querySelector("[data-share]"));
    return showSharing(href, "", app.view());
  };
}

/**
 * Returns a short link to the view, or the long one, which needs nothing of the server, if none can be made.
 * @param {App} app
 */
async function linkToView(app) {
  const token = app.root.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
  try {
    const { link } = await shortLink({ address: ownAddress(), view: app.view() }, token);
    return { link, sentence: `The short link to this view is copied: ${link}` };
  } catch (error) {
    return { link: app.link(), sentence: `The long link to this view is copied. ${error.message}` };
  }
}
