/** The reading column, which is tabs on a narrow screen and while a tour is open. Otherwise all panels are shown. */

/**
 * Wires the tabs. Returns a function that brings the panel `wb-tab-${name}` to the front.
 * @param {any} root
 */
export function wireTabs(root) {
  const tabs = [...root.querySelectorAll(".wb-tabs [role=tab]")];
  /** @param {any} tab */
  const choose = (tab) => {
    for (const other of tabs) {
      const chosen = other === tab;
      other.setAttribute("aria-selected", String(chosen));
      other.tabIndex = chosen ? 0 : -1;
      document.getElementById(other.getAttribute("aria-controls")).classList.toggle("is-chosen", chosen);
    }
  };
  for (const [i, tab] of tabs.entries()) {
    tab.addEventListener("click", () => choose(tab));
    tab.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
      const step = /** @type {Record<string, number>} */ ({ ArrowRight: 1, ArrowLeft: -1 })[event.key];
      if (!step) return;
      event.preventDefault();
      event.stopPropagation();
      const next = tabs[(i + step + tabs.length) % tabs.length];
      choose(next);
      next.focus();
    });
  }
  if (tabs.length) choose(tabs[0]);
  return (/** @type {string} */ name) => {
    const tab = tabs.find((each) => each.getAttribute("aria-controls") === `wb-tab-${name}`);
    if (tab) choose(tab);
  };
}
