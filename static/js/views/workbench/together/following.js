/** Following: the presenter's complete view is shown here, until the person moves by themself. */

import { hasAny } from "../../../lib/player.js";
import { isPlaying, ownPanels, playedOn, playRate, viewKey } from "../../../lib/together.js";
import { getJson } from "../../../lib/source.js";
import { HELD } from "../link.js";

const MOVES = [...HELD, "playing", "speed", "sought"];
const INPUTS = ["pointerdown", "wheel", "keydown", "input", "change", "click"];
const BY_HAND = 1000; // ms after an input in which a change is taken for the person's own
const DRIFT = 40; // ms by which the cursor may differ while both play
const FASTEST = 100;

/**
 * Makes the follower. `onChange` is called when following begins or ends.
 * @param {App} app @param {() => void} onChange
 */
export function createFollowing(app, onChange) {
  const { player } = app;
  let isOn = false;
  let isLeaving = false;
  let inputAt = -Infinity;
  /** @type {PanelsView | null} */
  let own = null;
  /**
   * What this page shows of the presenter, and the view that came out.
   * @type {{ source: string, key: string, panels: PanelsView } | null}
   */
  let shown = null;

  /** Begins to follow. The server sends the presenter's last view. */
  function begin() {
    isOn = true;
    shown = null;
    own = app.view().panels;
    app.socket.send({ type: "follow", role: "follower" });
    onChange();
  }

  /** Ends following, and brings back the person's own panels. */
  function end() {
    if (!isOn) return;
    isOn = false;
    const { panels } = app.view();
    const kept = ownPanels(own, shown?.panels ?? panels, panels);
    player.set({ ...kept, folded: new Set(kept.folded), tables: new Set(kept.tables) });
    onChange();
  }

  /** @param {string} sentence */
  function leave(sentence) {
    end();
    app.socket.send({ type: "follow", role: "none" });
    app.say(sentence);
  }

  /**
   * Goes to the recording of the presenter of a review, if the person may open it.
   * @param {number} recording
   */
  async function goTo(recording) {
    if (isLeaving) return;
    isLeaving = true;
    try {
      await getJson(`/api/recordings/${recording}`);
      location.assign(`/recordings/${recording}?review=${app.review}`);
    } catch (error) {
      leave(`You have stopped following, for the presenter looks at recording ${recording}: ${error.message}`);
      isLeaving = false;
    }
  }

  /** @param {ViewNews} news */
  function show(news) {
    if (!isOn) return;
    if (news.recording === app.recording.id) showHere(news);
    else goTo(news.recording);
  }

  /** @param {ViewNews} news */
  function showHere(news) {
    const source = `${news.page} ${news.revision}`;
    const isNew = shown?.source !== source;
    player.mark("applied");
    if (isNew) app.applyView(news.view);
    player.set({ playing: news.playing, speed: news.speed > 0 && news.speed <= FASTEST ? news.speed : 1 });
    if (Number.isFinite(news.view.now) && (news.view.axis ?? "time") === player.state.axis) moveCursor(news, isNew);
    const view = app.view();
    shown = { source, key: viewKey(view, player.state), panels: view.panels };
  }

  /**
   * Moves the cursor to where the presenter's is by now, unless it is there already.
   * @param {ViewNews} news @param {boolean} isNew
   */
  function moveCursor({ view, playing, age }, isNew) {
    const scale = player.scale();
    const { speed, now } = player.state;
    const goal = playing ? playedOn(view.now, age, speed, scale, player.bounds().to) : view.now;
    const drift = Math.abs(scale.u(goal) - scale.u(now)) / playRate(scale, speed);
    if (!isNew && drift <= DRIFT) return;
    player.set({ now: goal });
    if (playing) player.bringIntoView(goal);
  }

  /**
   * Shows the cursor of a presenter that shares nothing else, such as a program.
   * @param {any} news
   */
  function showCursor({ at, step, playing, speed = player.state.speed, client: page }) {
    const axis = step === undefined ? "time" : "order";
    const view = { axis, now: step ?? at ?? player.state.now };
    show({ view, playing, speed, page, revision: view.now, age: 0, recording: app.recording.id });
  }

  /** @param {Event} event */
  function noteInput(event) {
    if (event.isTrusted) inputAt = performance.now();
  }

  /** @param {PointerEvent} event */
  function noteDrag(event) {
    if (event.buttons) noteInput(event);
  }

  /**
   * Returns whether the view differs from that of the presenter by more than playing on.
   * @param {PlayerState} state @param {Set<string>} keys
   */
  function hasMoved(state, keys) {
    const hasEnded = !state.playing && state.now >= player.bounds().to;
    if (viewKey(app.view(), state) !== shown.key) return !hasEnded;
    return state.playing && !keys.has("applied") && !isPlaying(keys, HELD);
  }

  for (const name of INPUTS) document.addEventListener(name, noteInput, { capture: true, passive: true });
  document.addEventListener("pointermove", noteDrag, { capture: true, passive: true });
  player.subscribe((state, keys) => {
    if (!isOn || !shown || performance.now() - inputAt > BY_HAND || !hasAny(keys, ...MOVES)) return;
    if (hasMoved(state, keys)) leave("You have stopped following, because you moved. Press r to follow again.");
  });

  return { begin, end, leave, show, showCursor, isOn: () => isOn };
}
