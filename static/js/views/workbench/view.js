/** The complete state of the page as one object, and showing such an object that somebody else made. */

import { checkView, toState, toView } from "../../lib/view.js";

const MOST_SAID = 3;

/** @param {App} app */
export function wireView(app) {
  const { player, topology } = app;
  const tabs = [...app.root.querySelectorAll(".wb-tabs [role=tab]")];
  const tabNames = tabs.map((tab) => tab.getAttribute("aria-controls").replace("wb-tab-", ""));

  app.known = () => ({ snapshots: app.snapshots.byId, panels: app.panels.names, tabs: tabNames });

  app.view = () => toView(player.state, topology);

  /** Shows a view. What means nothing here is left out, which a sentence says. */
  app.applyView = (value) => {
    const { view, ignored } = checkView(value, topology, app.known());
    app.panels.keepOwn();
    player.set(toState(view, player.state, topology));
    if (view.from !== undefined) player.zoom(view.from, view.to);
    if (view.now !== undefined) player.set({ now: within(view.now) });
    app.sayIgnored(ignored);
    return ignored;
  };

  /** @param {number} now */
  function within(now) {
    const { from, to } = player.bounds();
    return Math.min(Math.max(now, from), to);
  }

  app.sayIgnored = (ignored) => {
    if (!ignored.length) return;
    const more = ignored.length - MOST_SAID;
    const rest = more > 0 ? `, and ${more} more` : "";
    app.say(`Left out, because it means nothing in this recording: ${ignored.slice(0, MOST_SAID).join(", ")}${rest}.`);
  };
}
