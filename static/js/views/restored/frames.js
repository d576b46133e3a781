/** Where the frames of a restored run come from: the websocket, HTTP while that is closed, or the page itself. */

import { openSocket } from "../../lib/socket.js";
import { getJson } from "../../lib/source.js";

const SESSION = "restored";
const READ_EVERY = 3; // frames

/**
 * Makes what asks for frames. `onFrame` is called with each, in their order; `say` with what a person has to know.
 * @param {RestoredData} data @param {{ onFrame: (frame: RestoredFrame) => void, say: (text: string) => void }} options
 */
export function createFrames(data, { onFrame, say }) {
  if (data.frames) return keptFrames(data.frames, onFrame);
  const { restored, rate } = data;
  let isAwaited = false; // whether a key frame is, before which older frames may still come
  let read = 0;
  let turn = 0; // counts what was asked for over HTTP
  /** @type {{ type: "play" | "seek", step: number } | null} */
  let last = null;

  /** @param {any} news */
  function onMessage(news) {
    if (news.type === "refused") say(news.detail);
    if (news.type !== "frame" || news.session !== SESSION || (isAwaited && news.from !== null)) return;
    if (news.from === null) read = news.sequence;
    isAwaited = false;
    onFrame(news);
  }

  /** @param {string} state @param {string} sentence */
  function onState(state, sentence) {
    say(state === "open" ? "" : sentence || "The websocket is closed: the frames are asked for over HTTP.");
    if (last) ask(last.type, last.step);
  }

  const socket = openSocket(`/ws/recordings/${data.recording}`, { onMessage, onState });

  /** @param {"play" | "seek"} type @param {number} step */
  function ask(type, step) {
    last = { type, step };
    turn += 1;
    isAwaited = true;
    if (socket.isOpen()) socket.send({ type, session: SESSION, restored, step, rate });
    else fetchFrom(step, type === "play", turn).catch(({ message }) => say(message));
  }

  /** @param {number} step @param {boolean} goesOn @param {number} own */
  async function fetchFrom(step, goesOn, own) {
    const [key, count] = [String(isAwaited), goesOn ? "12" : "1"];
    const query = { restored, step: String(step), rate: String(rate), key, count };
    const { frames } = await getJson(`/api/recordings/${data.recording}/frames?${new URLSearchParams(query)}`);
    if (own !== turn) return;
    isAwaited = false;
    frames.forEach(onFrame);
    const end = frames.at(-1);
    if (goesOn && end && !end.ends) await fetchFrom(end.at, true, own);
  }

  return {
    ask,
    /** @param {number} step */
    pause(step) {
      last = { type: "seek", step };
      turn += 1;
      socket.send({ type: "pause", session: SESSION, step });
    },
    /** @param {RestoredFrame} frame */
    tellRead({ sequence, at }) {
      if (last) last.step = at;
      if (!sequence || sequence < read + READ_EVERY) return;
      read = sequence;
      socket.send({ type: "read", session: SESSION, sequence });
    },
  };
}

/**
 * The same for frames that are in the page.
 * @param {RestoredFrame[]} frames @param {(frame: RestoredFrame) => void} onFrame
 */
function keptFrames(frames, onFrame) {
  return {
    /** @param {"play" | "seek"} type @param {number} step */
    ask(type, step) {
      const here = frames.filter(({ at }) => at <= step).length - 1;
      onFrame({ ...frames[here], from: null });
      if (type === "play") frames.slice(here + 1).forEach(onFrame);
    },
    /** @param {number} _step */
    pause(_step) {},
    /** @param {RestoredFrame} _frame */
    tellRead(_frame) {},
  };
}
