/** The drawing of a dataflow, which the server makes anew after each change. */

import { latestWins } from "../../lib/socket.js";

const NARROW = 640; // pixels, below which layers follow each other downwards

/**
 * Mounts the drawing on `root`.
 * @param {HTMLElement} root its data-address is where it is drawn @param {FlowEditor} editor
 */
export function mountDrawing(root, editor) {
  const draw = latestWins(load);
  let isDown = false;

  new ResizeObserver(() => {
    if (root.clientWidth && isDown !== root.clientWidth < NARROW) show();
  }).observe(root);

  function show() {
    isDown = root.clientWidth < NARROW;
    draw(null);
  }

  async function load() {
    const { value: token } = /** @type {HTMLInputElement} */ (document.querySelector("[name=csrfmiddlewaretoken]"));
    const body = new FormData();
    const { vertices, edges } = editor.now();
    const draft = { vertices, edges, unfolds: editor.unfolded(), down: isDown, selected: editor.selected() ?? "" };
    body.set("draft", JSON.stringify(draft));
    body.set("csrfmiddlewaretoken", token);
    const answer = await fetch(root.dataset.address, { method: "POST", body }).catch(() => null);
    root.title = answer?.ok ? "" : "The drawing is not of the last change: the server did not answer.";
    if (!answer?.ok) return;
    const page = new DOMParser().parseFromString(await answer.text(), "text/html");
    const focused = document.activeElement?.closest?.(".flow-vertex")?.dataset.key;
    root.replaceChildren(...page.body.children);
    if (focused) root.querySelector(`[data-key="${focused}"]`)?.focus({ preventScroll: true });
  }

  /** @param {any} event */
  function choose({ target }) {
    const { key } = target.closest("[data-key]")?.dataset ?? {};
    if (key) editor.focusRow(key);
    return Boolean(key);
  }

  root.addEventListener("click", choose);
  root.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === " ") && choose(event)) event.preventDefault();
  });

  return { show };
}
