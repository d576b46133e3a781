/** Undo and redo of the dragged cut. A drag is one step, however many positions it passed. */

import { history } from "../../lib/history.js";

/** @param {App} app */
export function wireUndo(app) {
  const { player } = app;
  const cuts = history(player.state.cut);

  app.keepCut = () => cuts.change(player.state.cut);

  /** @param {"undo" | "redo"} step @param {string} refusal */
  function go(step, refusal) {
    app.keepCut();
    if (!(step === "undo" ? cuts.canUndo : cuts.canRedo)) return app.say(refusal);
    cuts[step]();
    player.set({ cut: cuts.now });
    if (cuts.now) app.spacetime.handles.focus(0);
  }

  app.undoCut = () => go("undo", "The cut has not been moved before.");
  app.redoCut = () => go("redo", "Nothing of the cut has been undone.");

  player.subscribe((_, keys) => {
    if (keys.has("cut") && !app.spacetime.handles.isDragging()) app.keepCut();
  });
}
