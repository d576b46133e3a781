/** Buttons that copy the address of the page, and a dialog that says who can open it. */

import { h } from "./dom.js";

/**
 * Copies a text, and resolves with whether the browser allowed it.
 * @param {string} text @returns {Promise<boolean>}
 */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/**
 * Opens a dialog with what the page at `address` says about who can open something. Resolves when it is shown.
 * @param {string} address @param {string} sentence what happened before, such as that the link is copied
 */
export async function showSharing(address, sentence) {
  const answer = await fetch(address, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return location.assign(address);
  const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
  const dialog = h(
    "dialog.sharing-dialog",
    { "aria-labelledby": "sharing-title", onclose: () => dialog.remove() },
    h(
      "div.sharing-head",
      {},
      h("h2", { id: "sharing-title" }, "Who can open it"),
      h("button.btn", { type: "button", onclick: () => dialog.close() }, "Close"),
    ),
    sentence ? h("p.note", { "data-level": "success", role: "status" }, sentence) : null,
    ...parsed.body.children,
  );
  document.body.append(dialog);
  dialog.showModal();
}

document.addEventListener("click", async (event) => {
  const link = /** @type {HTMLAnchorElement | null} */ (
    /** @type {Element} */ (event.target).closest("[data-share]")
  );
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const isCopied = link.dataset.share === "copy" && (await copied(location.href));
  showSharing(link.href, isCopied ? "The link to this page is copied." : "");
});
