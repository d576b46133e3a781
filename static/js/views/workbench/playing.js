/**
 * Plays from the frames of the server: asks for them ahead of the cursor, and says what is there at the cursor.
 *
 * The frames come over the websocket. While that is not connected they are asked for over HTTP.
 */

import { createFrames } from "../../lib/frames.js";
import { SECONDS_PER_VIEW } from "../../lib/player.js";
import { partFields } from "../../lib/rows.js";

const READ_EVERY = 3; // frames
const ANSWER_WITHIN = 4000; // ms
const AHEAD = 3; // seconds of playing that are asked for over HTTP
const ROWS_EVERY = 500; // ms between two questions for other rows

/**
 * Makes the client of a session. `onFrame` is called when the frames say more.
 * @param {App} app @param {string} session @param {() => void} onFrame
 */
export function createPlaying(app, session, onFrame) {
  const { player, topology, source, socket } = app;
  const grows = app.recording.status === "open";
  const frames = createFrames(topology, grows);
  /** @type {{ what: string, fields: object, playing: boolean, rate: number } | null} */
  let asked = null;
  let sequence = 0; // of the last frame
  let read = 0; // the last that the server was told of
  let askedAt = -Infinity; // when the key frame was asked for that has not come
  let isFetching = false;
  let steps = 0; // events by which the cursor is to move
  let stepping = 0; // those of them after which the server looks for the place
  /** @type {{ processes: number[] | null, channels: number[] | null } | null} */
  let rows = null;
  let rowsAt = -Infinity;

  /** @param {PlayerState} state */
  function rateOf({ speed }) {
    return (player.scale().span / SECONDS_PER_VIEW) * speed;
  }

  /** @param {PlayerState} state */
  function fieldsOf({ axis, snapshot, idle }) {
    const { process_codes, channel_codes } = partFields(rows ?? app.listed.first());
    return { axis, idle, ...(snapshot !== null && { snapshot }), process_codes, channel_codes };
  }

  /** @param {PlayerState} state @param {number} x */
  const place = ({ axis }, x) => (axis === "order" ? { step: x } : { at: x });

  /**
   * Asks for what the state needs and is not here.
   * @param {PlayerState} state
   */
  function want(state) {
    const { now, playing } = state;
    const [fields, rate] = [fieldsOf(state), rateOf(state)];
    const what = JSON.stringify(fields);
    const isSame = asked?.what === what;
    const isFresh = playing && !asked?.playing && grows; // what came meanwhile may stand before the last frame
    if (!isSame || isFresh || !frames.covers(now)) return restart(state, { what, fields, playing, rate });
    if (!socket.isOpen()) return void fetchAhead(state, rate);
    if (playing && !asked.playing) goOn(state, fields, rate);
    if (!playing && asked.playing) socket.send({ type: "pause", session, ...place(state, now) });
    if (playing && asked.playing && rate !== asked.rate) {
      socket.send({ type: "speed", session, rate, speed: state.speed });
    }
    asked = { what, fields, playing, rate };
    if (playing) tellRead(now);
  }

  /**
   * Does the same where only the cursor has moved.
   * @param {PlayerState} state
   */
  function keepUp(state) {
    if (!asked || !frames.covers(state.now)) return want(state);
    if (!socket.isOpen()) fetchAhead(state, asked.rate);
    else if (state.playing) tellRead(state.now);
  }

  /**
   * Plays on behind the frames that are here.
   * @param {PlayerState} state @param {object} fields @param {number} rate
   */
  function goOn(state, fields, rate) {
    socket.send({ type: "play", session, ...fields, rate, ...place(state, frames.end()), sequence });
    read = sequence;
  }

  /**
   * Asks for a key frame at the cursor, unless one is on its way.
   * @param {PlayerState} state @param {NonNullable<typeof asked>} wanted @returns {void}
   */
  function restart(state, wanted) {
    if (asked?.what !== wanted.what) frames.clear();
    if (performance.now() - askedAt < ANSWER_WITHIN && asked?.what === wanted.what) return;
    asked = wanted;
    if (!socket.isOpen()) return void fetchAhead(state, wanted.rate);
    askedAt = performance.now();
    const type = wanted.playing ? "play" : "seek";
    socket.send({ type, session, ...wanted.fields, rate: wanted.rate, ...place(state, state.now) });
    setTimeout(() => want(player.state), ANSWER_WITHIN + 1);
  }

  /**
   * Moves the cursor to another event.
   * @param {number} by how many events after the cursor it is
   */
  function step(by) {
    player.pause();
    steps += by;
    if (!stepping) askForStep();
  }

  /** @returns {Promise<void>} */
  async function askForStep() {
    [stepping, steps] = [steps, 0];
    if (!stepping) return;
    const { state } = player;
    const [fields, rate] = [fieldsOf(state), rateOf(state)];
    const question = { ...fields, rate, ...place(state, state.now), by: stepping };
    asked = { what: JSON.stringify(fields), fields, playing: false, rate };
    try {
      if (socket.isOpen()) return void socket.send({ type: "step", session, ...question });
      const { frames: [frame] } = await source.frames({ ...question, key: true, count: 1 });
      take({ ...frame, by: stepping, sequence: sequence + 1 });
    } catch (error) {
      [stepping, steps] = [0, 0];
      app.say(`The replay could not be loaded: ${error.message}`);
    }
  }

  /**
   * Moves the cursor to where a step leads.
   * @param {number} at
   */
  function stepTo(at) {
    stepping = 0;
    player.seek(at);
    askForStep();
  }

  /**
   * Says which frame the cursor has reached.
   * @param {number} now
   */
  function tellRead(now) {
    const reached = frames.readUntil(now) ?? 0;
    if (reached < read + READ_EVERY) return;
    read = reached;
    socket.send({ type: "read", session, sequence: read });
  }

  /**
   * Takes a message of the server; returns whether it was a frame.
   * @param {any} news
   */
  function hear(news) {
    if (news.type !== "frame") return false;
    if (news.session === session) take(news);
    return true;
  }

  /** @param {FramePayload} frame */
  function take(frame) {
    if (frame.from === null) {
      askedAt = -Infinity;
      read = frame.sequence - 1;
    }
    if (frames.take(frame)) ({ sequence } = frame);
    if (frame.by) stepTo(frame.at);
    onFrame();
    keepUp(player.state);
  }

  /**
   * Asks for frames over HTTP: a key frame where none reaches the cursor, and while playing those ahead.
   * @param {PlayerState} state @param {number} rate
   */
  async function fetchAhead(state, rate) {
    const isHere = frames.covers(state.now);
    if (isFetching || (isHere && !(state.playing && frames.end() < state.now + rate * AHEAD))) return;
    isFetching = true;
    const { fields, what } = asked;
    const begin = isHere ? frames.end() : state.now;
    try {
      const question = { ...fields, ...place(state, begin), key: !isHere, rate, ...(!state.playing && { count: 1 }) };
      const answer = await source.frames(question);
      if (asked.what === what) for (const frame of answer.frames) frames.take({ ...frame, sequence: (sequence += 1) });
      if (asked.what === what && answer.frames.length) onFrame();
    } catch (error) {
      app.say(`The replay could not be loaded: ${error.message}`);
      return;
    } finally {
      isFetching = false;
    }
    want(player.state);
  }

  /** Asks for the rows that the panels list and that are not here, not too often. */
  function wantRows() {
    const moment = frames.at(player.state.now);
    if (!moment || !app.listed.missing(moment.cut) || performance.now() - rowsAt < ROWS_EVERY) return;
    rowsAt = performance.now();
    rows = app.listed.wanted(moment.cut);
    want(player.state);
  }

  player.useLimit((now) => (frames.covers(now) ? (frames.isLast() ? Infinity : frames.end()) : now));

  return {
    hear,
    want,
    keepUp,
    wantRows,
    step,
    /** Waits until the cursor is where the steps lead that were asked for. */
    async stepped() {
      while (stepping) await new Promise(requestAnimationFrame);
    },
    /** Asks for a key frame at the cursor, which says what the frames there leave out. */
    askAgain() {
      if (!socket.isOpen()) frames.clear();
      if (asked) restart(player.state, { ...asked, playing: false });
    },
    /** Returns what is there at the cursor, or what was read last; null before there is anything. */
    moment: () => frames.at(player.state.now) ?? frames.last(),
    /** Begins anew, as the connection was lost or more has come. */
    again() {
      askedAt = -Infinity;
      stepping = 0;
      asked = null;
      frames.clear();
      want(player.state);
    },
    /** Goes on over a new connection behind the frames that are here. */
    reconnect() {
      askedAt = -Infinity;
      stepping = 0;
      if (asked) asked = { ...asked, playing: false };
      want(player.state);
    },
  };
}
