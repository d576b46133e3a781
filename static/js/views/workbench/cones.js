/** What happened before the selected event, and what it could influence, in words and for the diagram. */

import { h } from "../../lib/dom.js";
import { counted } from "../../lib/format.js";
import { CAUSALITY, concurrentWords } from "./sentences.js";

/** @param {App} app */
export function createCones(app) {
  const { player, topology } = app;
  const box = app.root.querySelector("#wb-cones");
  let request = 0;

  /** @param {PlayerState} state */
  async function load({ selection }) {
    request += 1;
    const current = request;
    box.replaceChildren();
    player.set({ cones: null });
    if (selection?.of !== "event") return;
    try {
      const cones = await app.source.cones(topology.processes[selection.process].id, selection.index);
      if (current !== request) return;
      player.set({ cones });
      box.replaceChildren(...sentences(cones));
    } catch (error) {
      if (current === request) {
        box.replaceChildren(h("p.soft", {}, `Its past and future could not be loaded: ${error.message}`));
      }
    }
  }

  /** @param {ConesPayload} cones */
  function sentences({ before, after, concurrent, past, future, process }) {
    /** @param {ConeEdge} edge */
    const others = (edge) => edge.at.filter((at, p) => at !== null && topology.processes[p].id !== process).length;
    return [
      line("wb-past", `${counted(before, "event")} happened before it`, others(past)),
      line("wb-future", `${counted(after, "event")} it could influence`, others(future)),
      h("p.soft", {}, concurrentWords(concurrent, app.recording.is_derived)),
      h("p.soft", {}, CAUSALITY),
    ];
  }

  /** @param {string} look @param {string} words @param {number} processes */
  function line(look, words, processes) {
    const where = processes ? `, in ${counted(processes, "other process", "other processes")}` : "";
    return h("p", {}, h(`span.wb-cone.${look}`, { "aria-hidden": "true" }), `${words}${where}.`);
  }

  return {
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (keys.has("selection")) load(state);
    },
  };
}
