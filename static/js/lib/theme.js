// Loaded in the head and not as a module, so that the page is painted once and in the right colours. It dispatches
// "themechange" on the document whenever the colours change, and charts then draw again.
(() => {
  const root = document.documentElement;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const chosen = () => localStorage.getItem("theme") ?? "system";
  const resolved = () => (chosen() === "system" ? (dark.matches ? "dark" : "light") : chosen());

  function apply() {
    root.dataset.theme = resolved();
    document.dispatchEvent(new CustomEvent("themechange", { detail: resolved() }));
  }

  /** @param {string} theme */
  function choose(theme) {
    localStorage.setItem("theme", theme);
    apply();
  }

  function wire() {
    /** @type {NodeListOf<HTMLInputElement>} */
    const radios = document.querySelectorAll("input[name=theme]");
    for (const radio of radios) {
      radio.checked = radio.value === chosen();
      radio.addEventListener("change", () => choose(radio.value));
    }
  }

  apply();
  dark.addEventListener("change", apply);
  window.addEventListener("storage", (event) => event.key === "theme" && (apply(), wire()));
  document.addEventListener("DOMContentLoaded", wire);
})();
