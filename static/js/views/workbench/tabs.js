/** The reading column, which is tabs on a narrow screen and while a tour is open. Otherwise all panels are shown. */

/**
 * Wires the tabs. Returns the part that shows the chosen one.
 * @param {App} app @returns {WorkbenchPart}
 */
export function createTabs({ root, player }) {
  const tabs = [...root.querySelectorAll(".wb-tabs [role=tab]")];
  /** @param {any} tab */
  const nameOf = (tab) => tab.getAttribute("aria-controls").replace("wb-tab-", "");
  /** @param {any} tab */
  const choose = (tab) => player.set({ tab: nameOf(tab) });
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

  return {
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (!keys.has("tab")) return;
      for (const tab of tabs) {
        const isChosen = nameOf(tab) === state.tab;
        tab.setAttribute("aria-selected", String(isChosen));
        tab.tabIndex = isChosen ? 0 : -1;
        document.getElementById(tab.getAttribute("aria-controls")).classList.toggle("is-chosen", isChosen);
      }
    },
  };
}
