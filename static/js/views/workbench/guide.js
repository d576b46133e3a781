/** A guided tour: a few sentences a step, each with its own view of the replay. */

import { h, setText } from "../../lib/dom.js";
import { readView } from "../../lib/url-state.js";

/** Mounts on #wb-guide if the recording has a tour; guide: {steps: [{title, text, view, leads}]} or null. */
export function mountGuide(app, guide) {
  const panel = app.root.querySelector("#wb-guide");
  if (!guide || !panel) return;
  const { player, topology } = app;
  const [title, text, leads, count, back, on] = ["title", "text", "leads", "count", "back", "on"].map((part) => panel.querySelector(`#wb-guide-${part}`));
  let at = -1;

  async function show(step) {
    at = Math.max(0, Math.min(step, guide.steps.length - 1));
    const { title: head, text: words, view, leads: links } = guide.steps[at];
    setText(title, head);
    setText(text, words);
    setText(count, `${at + 1} of ${guide.steps.length}`);
    leads.replaceChildren(...links.map(([label, address]) => h("a.btn", { href: address }, label)));
    back.disabled = at === 0;
    on.disabled = at === guide.steps.length - 1;
    await apply(view);
  }

  async function apply(params) {
    const view = readView(new URLSearchParams(params).toString(), topology);
    player.pause();
    player.set({ axis: view.axis ?? "time", cut: view.cut ?? null, selection: view.selection ?? null });
    if (view.from === undefined) player.fitAll();
    else player.zoom(view.from, view.to);
    if (view.snapshot) await app.chooseSnapshot(view.snapshot);
    if (view.now !== undefined) player.seek(view.now);
  }

  back.addEventListener("click", () => show(at - 1));
  on.addEventListener("click", () => show(at + 1));
  panel.addEventListener("toggle", () => panel.open && at < 0 && show(0));
  if (new URLSearchParams(location.search).has("tour")) panel.open = true;
}
