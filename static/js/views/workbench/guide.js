/** A guided tour. Each step has a few sentences and its own view of the replay. */

import { h, setText } from "../../lib/dom.js";
import { readView } from "../../lib/url-state.js";
import { chosenOf } from "../../lib/view.js";

const NARROW = "(max-width: 900px)"; // as in workbench-reading.css

/**
 * Mounts the tour of a recording that has one.
 * @param {App} app @param {Guide | null} guide
 */
export function mountGuide(app, guide) {
  const panel = app.root.querySelector("#wb-guide");
  if (!guide || !panel) return;
  const { player, topology } = app;
  const [title, text, leads, count] = ["title", "text", "leads", "count"].map(
    (part) => panel.querySelector(`#wb-guide-${part}`),
  );
  /** @type {HTMLButtonElement[]} */
  const [back, on] = ["back", "on"].map((part) => panel.querySelector(`#wb-guide-${part}`));
  const last = guide.steps.length - 1;
  let at = -1;

  /** @param {number} step */
  function show(step) {
    at = Math.max(0, Math.min(step, last));
    const { title: head, text: words, view, leads: links, look } = guide.steps[at];
    setText(title, head);
    setText(text, words);
    setText(count, `${at + 1} of ${guide.steps.length}`);
    leads.replaceChildren(...links.map(([label, address]) => h("a.btn", { href: address }, label)), ...onward());
    back.disabled = at === 0;
    on.disabled = at === last;
    app.showTab(look);
    apply(view);
  }

  /** Returns a link to the next tour at the last step. */
  function onward() {
    if (at < last || !guide.onward) return [];
    const [name, address] = guide.onward;
    return [h("a.btn.btn-primary", { href: address }, `Next tour: ${name}`)];
  }

  /** @param {Record<string, string>} params */
  function apply(params) {
    const { view } = readView(new URLSearchParams(params).toString(), topology);
    player.pause();
    player.set({ axis: view.axis ?? "time", cut: view.cut ?? null, selection: chosenOf(view.selection, topology) });
    if (view.from === undefined) player.fitAll();
    else player.zoom(view.from, view.to);
    player.set({ snapshot: view.snapshot });
    player.seek(view.now);
  }

  function toggled() {
    app.root.classList.toggle("is-touring", panel.open);
    if (!panel.open) return;
    if (matchMedia(NARROW).matches) panel.scrollIntoView();
    if (at < 0) show(0);
  }

  back.addEventListener("click", () => show(at - 1));
  on.addEventListener("click", () => show(at + 1));
  panel.addEventListener("toggle", toggled);
  if (new URLSearchParams(location.search).has("tour")) panel.open = true;
}
