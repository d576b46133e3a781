/** Loading parts of the page again. What somebody is typing stays, and so does the focus. */

// Forms in which somebody may be typing.
const KEPT = [".review-edit[open]", "#choose-person", "#choose-exhibit", ".review-words"];

/**
 * Loads parts of the page of a review.
 * @param {HTMLElement} root
 */
export function createParts(root) {
  /**
   * Returns the element that the server has for a part; null if there is none, or no longer.
   * @param {string} part @param {Record<string, string>} [query] @returns {Promise<HTMLElement | null>}
   */
  async function fetched(part, query = {}) {
    const { review, hidden, rows, page } = root.dataset;
    const parameters = new URLSearchParams({ part, hidden, rows, page, ...query });
    const answer = await fetch(`/reviews/${review}?${parameters}`, { headers: { "HX-Request": "true" } });
    if (!answer.ok) return null;
    const parsed = new DOMParser().parseFromString(await answer.text(), "text/html");
    return /** @type {HTMLElement | null} */ (parsed.body.firstElementChild);
  }

  /** @param {string} part */
  async function load(part) {
    const fresh = await fetched(part);
    const old = document.getElementById(`review-${part}`);
    if (fresh) replace(old, fresh);
  }

  /**
   * Loads a row. With `edit`, its form is open.
   * @param {string} row @param {{ edit?: boolean, force?: boolean }} options
   */
  async function loadRow(row, { edit = false, force = edit }) {
    const mayReplace = () => {
      const shown = document.getElementById(`row-${row}`);
      return shown && (force || !shown.querySelector("[data-row-form]"));
    };
    if (!mayReplace()) return document.getElementById(`row-${row}`);
    const fresh = await fetched("row", edit ? { row, edit: row } : { row });
    // Meanwhile the list may have been loaded again, or a form been opened in the row.
    const old = document.getElementById(`row-${row}`);
    if (!mayReplace()) return old;
    if (!fresh) old.remove();
    else replace(old, fresh);
    return fresh;
  }

  return { load, loadRow };
}

/** @param {HTMLElement} old @param {HTMLElement} fresh */
function replace(old, fresh) {
  const focus = focusIn(old);
  for (const selector of KEPT) keep(old.querySelector(selector), fresh.querySelector(selector.replace("[open]", "")));
  for (const form of old.matches("[data-row]") ? [] : old.querySelectorAll("[data-row-form]")) {
    const row = form.closest("[data-row]");
    keep(row, fresh.querySelector(`#${row.id}`));
  }
  for (const group of old.querySelectorAll(".is-group > .review-body > details:not([open])")) {
    const same = fresh.querySelector(`#${group.closest("[data-row]").id} > .review-body > details`);
    same?.removeAttribute("open");
  }
  old.replaceWith(fresh);
  focus();
}

/** @param {Element | null} old @param {Element | null} fresh */
function keep(old, fresh) {
  if (old && fresh) fresh.replaceWith(old);
}

/**
 * Returns a function that puts the focus back where it was: to the same button of a row, or to the row.
 * @param {HTMLElement} element
 */
function focusIn(element) {
  const active = /** @type {any} */ (document.activeElement);
  if (!element.contains(active)) return () => {};
  const row = active.closest("[data-row]")?.id;
  return () => {
    if (document.contains(active)) return active.focus();
    const again = row ? document.getElementById(row) : null;
    const same = [...(again?.querySelectorAll("button") ?? [])].find(({ value }) => value === active.value);
    return (same ?? again)?.focus({ preventScroll: true });
  };
}
