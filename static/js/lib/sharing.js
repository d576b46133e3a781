/** Buttons that copy the address of the page, and a dialog that says who can open it and makes further links. */

import { h, setText } from "./dom.js";
import { sendJson } from "./source.js";

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
 * Makes the short link of a page, or returns the one that the person has made of it before.
 * @param {{ address: string, view?: object, name?: string }} page @param {string} token of the page's forms
 * @returns {Promise<{ link: string }>}
 */
export function shortLink(page, token) {
  return sendJson("POST", "/api/links", page, token);
}

/** Returns the path, query and fragment of this page. */
export const ownAddress = () => `${location.pathname}${location.search}${location.hash}`;

/**
 * Opens a dialog with what the page at `address` says about who can open something. Resolves when it is shown.
 * @param {string} address @param {string} sentence what happened before, such as that the link is copied
 * @param {object} [view] the view of the workbench, which the links of the dialog show
 */
export async function showSharing(address, sentence, view) {
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
  wireShortLink(dialog.querySelector("[data-short-link]"), view);
  const field = /** @type {HTMLInputElement | null} */ (dialog.querySelector("[data-public-link] [name=view]"));
  if (field && view) field.value = JSON.stringify(view);
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * Lets the form make a short link to this page, and copy it.
 * @param {HTMLFormElement | null} form @param {object} [view]
 */
function wireShortLink(form, view) {
  if (!form) return;
  form.hidden = false;
  const answer = form.querySelector("[data-short-answer]");
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const fields = new FormData(form);
    const page = { address: ownAddress(), view, name: String(fields.get("name")) };
    try {
      const { link } = await shortLink(page, String(fields.get("csrfmiddlewaretoken")));
      const isCopied = await copied(link);
      answer.replaceChildren(h("code.link", {}, link), isCopied ? " is copied." : " is the link.");
    } catch (error) {
      setText(answer, error.message);
    }
  });
}

document.addEventListener("click", async (event) => {
  const link = /** @type {HTMLAnchorElement | null} */ (
    /** @type {Element} */ (event.target).closest("[data-share]")
  );
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  if (link.dataset.share === "view") return; // a command of the workbench shows it
  const isCopied = link.dataset.share === "copy" && (await copied(location.href));
  showSharing(link.href, isCopied ? "The link to this page is copied." : "");
});
