/** On a narrow screen the reading column is tabs under the diagram; on a wide one all are shown. */

export function wireTabs(root) {
  const tabs = [...root.querySelectorAll(".wb-tabs [role=tab]")];
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
    tab.addEventListener("keydown", (event) => {
      const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!by) return;
      event.preventDefault();
      event.stopPropagation();
      const next = tabs[(i + by + tabs.length) % tabs.length];
      choose(next);
      next.focus();
    });
  }
  if (tabs.length) choose(tabs[0]);
}
