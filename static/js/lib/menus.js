/** Menus, which work without a script: with it they close by Escape, and when one goes elsewhere. */

const OPEN = "details.menu[open]";

/** @param {Event} event @returns {HTMLDetailsElement | null} */
const menuOf = ({ target }) => (target instanceof Element ? target.closest(OPEN) : null);

document.addEventListener("keydown", (event) => {
  const menu = menuOf(event);
  if (event.key !== "Escape" || !menu) return;
  menu.open = false;
  menu.querySelector("summary").focus();
  event.preventDefault(); // a dialog around the menu stays
  event.stopImmediatePropagation(); // so does what the page itself would leave
});

document.addEventListener("focusout", (event) => {
  const menu = menuOf(event);
  const next = /** @type {Node | null} */ (event.relatedTarget);
  if (menu && next && !menu.contains(next)) menu.open = false;
});

document.addEventListener("click", (event) => {
  const path = event.composedPath(); // also has what the click has taken out of the page
  for (const menu of document.querySelectorAll(OPEN)) if (!path.includes(menu)) menu.removeAttribute("open");
});
