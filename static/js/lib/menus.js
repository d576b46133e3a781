/** Menus of plain pages, which work without a script: here they close by Escape, and when one goes elsewhere. */

/**
 * Makes a menu close like those of programs.
 * @param {HTMLDetailsElement | null} menu
 */
export function closeByItself(menu) {
  menu?.addEventListener("keydown", ({ key }) => {
    if (key !== "Escape" || !menu.open) return;
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  menu?.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && !menu.contains(/** @type {Node} */ (relatedTarget))) menu.open = false;
  });
  document.addEventListener("click", ({ target }) => {
    if (menu && !menu.contains(/** @type {Node} */ (target))) menu.open = false;
  });
}
