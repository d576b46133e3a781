/**
 * What the server's frames say (docs/websocket.md): all that is there at a place of the axis, and what changes after.
 *
 * A frame says what each event changes. So what is there at any place between is known, and nothing is judged here.
 */

import { decode } from "./arrays.js";
import { total } from "./shown.js";
import { openCut } from "./source.js";

const MOST_BEHIND = 60; // frames before the newest that was read, of which one may go back

/**
 * Makes what keeps the frames of one session, in which one can read at any place that they cover.
 * @param {OpenTopology} topology @param {boolean} [grows] whether more may come of the recording
 */
export function createFrames(topology, grows = false) {
  /** @type {Moment | null} what is there where the frames begin */
  let base = null;
  /** @type {Moment | null} what was read last */
  let moment = null;
  /** @type {OpenFrame[]} in their order; the first begins at the base */
  let frames = [];
  let forgotten = 0; // frames before the first of these
  let ends = false; // whether nothing happens after the last frame

  /** @param {FramePayload} frame */
  function take(frame) {
    const opened = openFrame(frame, topology);
    const isNext = base && frame.from !== null && frame.from === end();
    if (frame.from === null) {
      base = moment = opened.whole;
      frames = [];
      forgotten = 0;
    } else if (isNext) frames.push(opened);
    const isTaken = frame.from === null || isNext;
    if (isTaken) ends = frame.ends && !grows;
    return isTaken;
  }

  /** Returns the place up to which the frames reach, -Infinity without any. */
  function end() {
    return frames.at(-1)?.at ?? base?.x ?? -Infinity;
  }

  /** @param {number} x */
  function covers(x) {
    return base !== null && base.x <= x && (x <= end() || ends);
  }

  /**
   * Returns what is there at a place, null where the frames do not reach.
   * @param {number} x @returns {Moment | null}
   */
  function at(x) {
    if (!covers(x)) return null;
    if (moment.x > x) moment = base;
    for (let frame = next(); frame && moment.x <= x; frame = next()) {
      moment = advanced(moment, frame, x);
      if (frame.at > x) break;
    }
    forget();
    return moment;
  }

  /** Returns the first frame that was not read to its end, if there is one. */
  const next = () => frames[moment.frames - forgotten];

  /** Forgets frames far behind what was read last. */
  function forget() {
    const behind = moment.frames - forgotten - MOST_BEHIND;
    if (behind < MOST_BEHIND) return;
    for (const frame of frames.splice(0, behind)) base = advanced(base, frame, frame.at);
    forgotten += behind;
  }

  return {
    take,
    at,
    end,
    covers,
    /** Returns what was read last, null before the first frame. */
    last: () => moment,
    /**
     * Returns the number of the frame around a place, null without one.
     * @param {number} x
     */
    readUntil: (x) => frames.findLast(({ from }) => from < x)?.sequence ?? null,
    /** Returns whether the recording ends with the last frame. */
    isLast: () => ends,
    clear() {
      base = moment = null;
      frames = [];
      ends = false;
    },
  };
}

/**
 * Decodes a frame.
 * @param {FramePayload} frame @param {OpenTopology} topology @returns {OpenFrame}
 */
function openFrame(frame, topology) {
  const { from, at, ends, sequence } = frame;
  const opened = { from, at, ends, sequence };
  if (frame.cut) return { ...opened, whole: openWhole(frame, topology), steps: [] };
  return { ...opened, whole: null, steps: stepsOf(frame) };
}

/** @param {FramePayload} frame @param {OpenTopology} topology @returns {Moment} */
function openWhole({ at: x, cut: answer, markers, spread, said, sentence }, topology) {
  const cut = openCut(answer, topology);
  const ordinals = new Map();
  for (const [code, messages] of cut.channels) {
    ordinals.set(code, (answer.ordinals[topology.channels[code].id] ?? []).slice(0, messages.length));
  }
  const spreading = spread ? openSpread(spread) : null;
  const found = { spread: spreading, said: openSaid(said), sentence };
  return { x, frames: 0, taken: 0, cut, ordinals, markers: openMarkers(markers), ...found };
}

/** @param {any} said @returns {Moment["said"]} */
function openSaid(said) {
  const [codes, order] = [decode(said?.coordinator), decode(said?.order)];
  return new Map(Array.from(codes, (code, i) => [code, { order: order[i], words: said.words[i] }]));
}

/** @param {any} markers @returns {Map<number, number[]>} */
function openMarkers({ channel, ordinal }) {
  const found = new Map();
  const ordinals = decode(ordinal);
  decode(channel).forEach((code, i) => found.set(code, [...(found.get(code) ?? []), ordinals[i]]));
  return found;
}

/** @param {any} spread @returns {Spread} */
function openSpread(spread) {
  const counts = decode(spread.noted_count);
  const noted = new Map();
  decode(spread.noted).forEach((code, i) => {
    const messages = spread.noted_messages[i].map((/** @type {string} */ id, /** @type {number} */ n) => {
      return { id, value: spread.noted_values[i][n] };
    });
    noted.set(code, { count: counts[i], messages });
  });
  const why = decode(spread.not_told_why);
  const notTold = new Map(Array.from(decode(spread.not_told), (code, i) => [code, spread.why[why[i]]]));
  const { snapshot, phase, said, begins, completes, processes, channels } = spread;
  const [recorded, opened, locked, done] = [spread.recorded, spread.opened, spread.locked, spread.done].map((codes) => {
    return new Set(Array.from(decode(codes)));
  });
  return {
    snapshot, phase, said, begins, completes, processes, channels, recorded, opened, locked, done, noted, notTold,
    counts: spread.counts,
  };
}

/**
 * Returns what each event of a frame changes, in their order.
 * @param {FramePayload} frame @returns {FrameStep[]}
 */
function stepsOf(frame) {
  const [process, index, x] = ["process", "index", "x"].map((name) => decode(frame.events[name]));
  /** @type {FrameStep[]} */
  const steps = Array.from(x, (place, i) => {
    const sentence = frame.sentences?.[i] ?? null;
    return { x: place, process: process[i], position: index[i] + 1, sentence, changes: [] };
  });
  /** @param {any} table @param {string} event @param {(draft: Moment, row: number, columns: any) => void} change */
  function each(table, event, change) {
    const columns = Object.fromEntries(
      Object.entries(table).map(([name, column]) => [name, Array.isArray(column) ? column : decode(column)]),
    );
    columns[event].forEach((/** @type {number} */ place, /** @type {number} */ row) => {
      steps[place].changes.push((draft) => change(draft, row, columns));
    });
  }
  each(frame.put, "event", put);
  each(frame.taken, "event", takeOut);
  each(frame.markers_put, "event", putMarker);
  each(frame.markers_taken, "event", takeMarker);
  each(frame.states, "event", setState);
  each(frame.watermarks, "event", setWatermark);
  each(frame.said, "event", say);
  decode(frame.strays).forEach((place) => steps[place].changes.push(addStray));
  if (frame.spread) {
    each(frame.spread, "recorded_event", ({ spread }, row, { recorded }) => spread.recorded.add(recorded[row]));
    each(frame.spread, "opened_event", ({ spread }, row, { opened }) => spread.opened.add(opened[row]));
    each(frame.spread, "locked_event", ({ spread }, row, { locked }) => spread.locked.add(locked[row]));
    each(frame.spread, "noted_event", note);
    each(frame.spread, "done_event", ({ spread }, row, { done }) => spread.done.add(done[row]));
    each(frame.spread, "counted_event", ({ spread }, row, { counted, counted_said: said }) => {
      spread.counts[counted[row]] = said[row];
    });
    each(frame.spread, "phase_event", ({ spread }, row, { phase, phase_said: said }) => {
      Object.assign(spread, { phase: phase[row], said: said[row] });
    });
  }
  return steps;
}

/**
 * Returns what is there at `x`, or at the end of the frame if that comes before. A frame that does not list its
 * events says what is there at its end alone.
 * @param {Moment} moment @param {OpenFrame} frame @param {number} x @returns {Moment}
 */
function advanced(moment, frame, x) {
  const place = Math.min(x, frame.at);
  const read = moment.frames + (place < frame.at ? 0 : 1);
  if (frame.whole) return place < frame.at ? { ...moment, x: place } : { ...frame.whole, frames: read };
  let { taken } = moment;
  if (taken < frame.steps.length && frame.steps[taken].x <= place) {
    const draft = draftOf(moment);
    while (taken < frame.steps.length && frame.steps[taken].x <= place) {
      const { process, position, sentence, changes } = frame.steps[taken];
      draft.cut.positions[process] = position;
      draft.sentence = sentence;
      for (const change of changes) change(draft);
      taken += 1;
    }
    moment = { ...draft, cut: withSums(draft.cut) };
  }
  if (place === moment.x && read === moment.frames && taken === moment.taken) return moment;
  return { ...moment, x: place, frames: read, taken: place < frame.at ? taken : 0 };
}

/**
 * Returns a copy whose parts may be changed.
 * @param {Moment} moment @returns {Moment}
 */
function draftOf({ cut, ordinals, markers, said, spread, ...rest }) {
  const { outline } = cut;
  return {
    ...rest,
    cut: {
      ...cut,
      positions: [...cut.positions],
      states: [...cut.states],
      known: [...cut.known],
      watermarks: [...cut.watermarks],
      channels: new Map(cut.channels),
      omitted: new Map(cut.omitted),
      outline: { ...outline, depths: new Map(outline.depths), listed: new Set(outline.listed) },
    },
    ordinals: new Map(ordinals),
    markers: new Map(markers),
    said: new Map(said),
    spread: spread && {
      ...spread,
      recorded: new Set(spread.recorded),
      opened: new Set(spread.opened),
      locked: new Set(spread.locked),
      done: new Set(spread.done),
      counts: [...spread.counts],
      noted: new Map(spread.noted),
    },
  };
}

/** @param {Moment} draft @param {number} row @param {any} columns @returns {void} */
function put({ cut, ordinals }, row, { channel, ordinal, message, value }) {
  const code = channel[row];
  const { outline, channels, omitted } = cut;
  const depth = outline.depths.get(code) ?? 0;
  outline.depths.set(code, depth + 1);
  outline.messages += 1;
  if (!depth && !channels.has(code)) [channels, ordinals].forEach((map) => map.set(code, []));
  if (!channels.has(code)) return;
  const left = omitted.get(code) ?? 0;
  if (left) return void omitted.set(code, left + 1);
  channels.set(code, [...channels.get(code), { id: message[row], value: value[row] }]);
  ordinals.set(code, [...ordinals.get(code), ordinal[row]]);
}

/** @param {Moment} draft @param {number} row @param {any} columns */
function takeOut({ cut, ordinals }, row, { channel, ordinal }) {
  const code = channel[row];
  const { outline, channels, omitted } = cut;
  const depth = outline.depths.get(code) - 1;
  if (depth) outline.depths.set(code, depth);
  else outline.depths.delete(code);
  outline.messages -= 1;
  if (!channels.has(code)) return;
  const place = ordinals.get(code).indexOf(ordinal[row]);
  const left = omitted.get(code) ?? 0;
  if (place < 0 && left > 1) omitted.set(code, left - 1);
  else if (place < 0) omitted.delete(code);
  if (place < 0) return;
  channels.set(code, channels.get(code).filter((_, i) => i !== place));
  ordinals.set(code, ordinals.get(code).filter((_, i) => i !== place));
}

/** @param {Moment} draft @param {number} row @param {any} columns */
function putMarker({ markers }, row, { channel, ordinal }) {
  markers.set(channel[row], [...(markers.get(channel[row]) ?? []), ordinal[row]]);
}

/** @param {Moment} draft @param {number} row @param {any} columns */
function takeMarker({ markers }, row, { channel, ordinal }) {
  const left = (markers.get(channel[row]) ?? []).filter((each) => each !== ordinal[row]);
  if (left.length) markers.set(channel[row], left);
  else markers.delete(channel[row]);
}

/** @param {Moment} draft @param {number} row @param {any} columns */
function setState({ cut }, row, { process, known, state }) {
  cut.states[process[row]] = state[row];
  cut.known[process[row]] = Boolean(known[row]);
  cut.outline.listed.add(process[row]);
}

/** @param {Moment} draft @param {number} row @param {any} columns */
function setWatermark({ cut }, row, { process, watermark }) {
  cut.watermarks[process[row]] = watermark[row];
}

/** @param {Moment} draft @param {number} row @param {any} columns */
function say({ said }, row, { coordinator, order, words }) {
  if (order[row] < (said.get(coordinator[row])?.order ?? -1)) return;
  said.set(coordinator[row], { order: order[row], words: words[row] });
}

/** @param {Moment} draft */
function addStray({ cut }) {
  cut.strays += 1;
  cut.consistent = null; // nothing tells where it was sent
}

/** @param {Moment} draft @param {number} row @param {any} columns */
function note({ spread }, row, { noted, noted_message: id, noted_value: value }) {
  const { count, messages } = spread.noted.get(noted[row]) ?? { count: 0, messages: [] };
  const isListed = count === messages.length;
  const added = isListed ? [...messages, { id: id[row], value: value[row] }] : messages;
  spread.noted.set(noted[row], { count: count + 1, messages: added });
}

/**
 * Adds the number of events and the sums to a cut; a sum of which not all is listed is not known until the next frame
 * that has the whole cut.
 * @param {Cut} cut @returns {Cut}
 */
function withSums(cut) {
  const { outline, channels, omitted, known } = cut;
  const events = cut.positions.reduce((sum, n) => sum + n, 0);
  const areStatesHere = outline.listed.size === cut.positions.length && known.every(Boolean);
  const areMessagesHere = !outline.hiddenChannels && ![...omitted.values()].some(Boolean) &&
    [...outline.depths.keys()].every((code) => channels.has(code));
  outline.inProcesses = areStatesHere ? total(cut.states) : null;
  outline.inChannels = areMessagesHere ? total([...channels.values()].flat().map(({ value }) => value)) : null;
  return { ...cut, events, inProcesses: outline.inProcesses, inChannels: outline.inChannels };
}
