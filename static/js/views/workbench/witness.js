/** The findings about the snapshots, one after the other, each shown at its witness: the message that speaks for it. */

import { counted, thousands } from "../../lib/format.js";

const MARGIN = 0.4; // of the witness' length, at both sides
const WORST_FIRST = ["orphan", "lost"]; // before all others

/** @param {App} app */
export function createWitness(app) {
  const { player, topology, snapshots } = app;
  /** @type {{ snapshot: string, finding: Finding } | null} */
  let current = null;
  let isSelected = false; // whether the message of the witness is selected, too

  /**
   * Resolves with the findings against a snapshot, or why it is not known, the worst first.
   * @param {string} id
   */
  async function findingsOf(id) {
    const summary = snapshots.byId.get(id);
    if (!summary || summary.verdict === "consistent") return [];
    const verdicts = summary.verdicts ?? (await app.source.snapshot(id)).verdicts ?? [];
    return verdicts.filter(({ verdict }) => verdict !== "consistent");
  }

  /**
   * Shows a message of a finding: both its ends in view and named, all else dimmed.
   * @param {Finding} finding @param {boolean} [selects] whether the message is selected, too
   */
  async function show({ channel, message, sent, received }, selects = true) {
    const ends = [sent, received].filter(Boolean);
    const codes = ends.map(({ process }) => topology.processCode.get(process));
    const found = await Promise.all(ends.map(({ index, at }, i) => app.placeOf(codes[i], index, at)));
    const places = found.filter((place) => place !== null);
    if (!places.length) return;
    const target = { channel: topology.channelCode.get(channel), id: message };
    isSelected = selects;
    player.set({ witness: { ...target, sent, received }, ...(selects && { selection: { of: "message", ...target } }) });
    const [from, to] = [Math.min(...places), Math.max(...places)];
    const all = player.bounds();
    const fewEvents = ((all.to - all.from) / Math.max(player.extent.steps, 1)) * 4;
    const margin = Math.max((to - from) * MARGIN, fewEvents);
    player.zoom(from - margin, to + margin);
    app.spacetime.showLanes(codes);
  }

  /**
   * Shows a finding; one without a message by what it names, at the span of its snapshot.
   * @param {string} snapshot @param {Finding} finding @param {boolean} [selects]
   */
  async function showFinding(snapshot, finding, selects) {
    current = { snapshot, finding };
    if (finding.sent || finding.received) return show(finding, selects);
    player.set({ selection: null });
    app.fit();
    const { channel, process } = finding;
    if (process !== undefined) await app.go({ of: "process", process });
    else if (channel !== undefined) await app.go({ of: "channel", channel });
  }

  /**
   * Leads to the next finding (1) or the previous one (-1), in a circle over all snapshots.
   * @param {number} direction
   */
  async function step(direction) {
    player.pause();
    const { snapshot } = player.state;
    const own = snapshot === null ? [] : await findingsOf(snapshot);
    const at = current?.snapshot === snapshot ? own.indexOf(current.finding) : direction > 0 ? -1 : own.length;
    if (own[at + direction]) return lead(snapshot, own, at + direction);
    const list = snapshots.list().filter(({ verdict, snapshot: id }) => verdict !== "consistent" || id === snapshot);
    const place = list.findIndex(({ snapshot: id }) => id === snapshot);
    for (let i = 1; i <= list.length; i += 1) {
      const { snapshot: id } = list[(place + direction * i + (i + 1) * list.length) % list.length];
      const findings = await findingsOf(id);
      if (findings.length) return lead(id, findings, direction > 0 ? 0 : findings.length - 1);
    }
    app.say("Nothing speaks against a snapshot of this recording.");
  }

  /** @param {string} snapshot @param {Finding[]} findings @param {number} place */
  async function lead(snapshot, findings, place) {
    if (snapshot !== player.state.snapshot) await app.chooseSnapshot(snapshot);
    await showFinding(snapshot, findings[place]);
    const all = counted(findings.length, "finding");
    const which = findings.length > 1 ? `, finding ${thousands(place + 1)} of ${all}` : "";
    app.say(`Snapshot ${snapshot}${which}: ${findings[place].sentence ?? findings[place].verdict}`);
  }

  /** Lets nothing be dimmed any more. */
  function end() {
    player.set({ witness: null });
  }

  player.subscribe(({ selection, witness, snapshot }, keys) => {
    if (!witness) return;
    const isSame = selection?.of === "message" && selection.id === witness.id && selection.channel === witness.channel;
    const isLeft = selection ? !isSame : isSelected;
    if (isLeft || (keys.has("snapshot") && current && current.snapshot !== snapshot)) end();
  });

  return {
    show,
    /**
     * Returns the finding about a snapshot that was shown last, null if that was about another.
     * @param {string} snapshot
     */
    shownOf: (snapshot) => (current?.snapshot === snapshot ? current.finding : null),
    step,
    end,
    /**
     * Shows the finding about the chosen snapshot whose witness is this message, if there is one.
     * @param {Chosen} selection
     */
    async showMessage(selection) {
      if (selection.of !== "message") return;
      const { snapshot } = player.state;
      const findings = snapshot === null ? [] : await findingsOf(snapshot);
      const finding = findings.find(({ channel, message }) =>
        String(message) === selection.id && topology.channelCode.get(channel) === selection.channel);
      if (finding) await showFinding(snapshot, finding);
    },
    /** Brings into view what the page opens for: the worst finding, else the chosen snapshot on the axis of time. */
    async open() {
      const { snapshot, axis } = player.state;
      if (snapshot === null) return;
      const findings = (await findingsOf(snapshot)).filter(({ sent, received }) => sent || received);
      const [worst] = WORST_FIRST.flatMap((name) => findings.filter(({ verdict }) => verdict === name));
      const finding = worst ?? findings[0];
      if (finding) return showFinding(snapshot, finding, false);
      if (axis === "time") app.fit();
    },
  };
}
