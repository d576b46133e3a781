/** Presenting: the complete view of this page is sent to those who follow. */

import { hasAny } from "../../../lib/player.js";
import { isPlaying } from "../../../lib/together.js";
import { HELD } from "../link.js";

const SHARED = [...HELD, "playing", "speed", "sought"];
const SEND_EVERY = 50; // ms
const REPEAT_EVERY = 250; // ms while playing, so that followers keep to the same time even if a page is slow

/** @param {App} app */
export function createPresenting(app) {
  const { player } = app;
  let revision = 0;
  let sentAt = -Infinity;
  /** @type {number | null} */
  let timer = null;

  function send() {
    timer = null;
    sentAt = performance.now();
    const { playing, speed } = player.state;
    app.socket.send({ type: "view", view: app.view(), playing, speed, revision });
  }

  /** Sends the view, at most once in SEND_EVERY. */
  function sendSoon() {
    if (timer === null) timer = setTimeout(send, Math.max(0, sentAt + SEND_EVERY - performance.now()));
  }

  /** Shares the view as it is now. */
  function begin() {
    revision += 1;
    sendSoon();
  }

  player.subscribe((state, keys) => {
    if (!app.room?.you.presents || !hasAny(keys, ...SHARED)) return;
    if (!state.playing || !isPlaying(keys, HELD)) begin();
    else if (performance.now() - sentAt > REPEAT_EVERY) sendSoon();
  });

  return { begin };
}
