/** The source of the workbench's data: the websocket, or HTTP while that is not open. */

import { decode } from "./arrays.js";
import { summed } from "./shown.js";
import { own } from "./own.js";
import { partFields } from "./rows.js";
import { latestWins, Refused } from "./socket.js";
import { openWindow } from "./window.js";

const KEPT_WINDOWS = 12;
/** @type {AskedRows} */
const NO_ROWS = { processes: [], channels: [] };
const BRIEFS_A_PAGE = 400; // which weigh less than 100 kB

/**
 * Makes the source of one recording's data.
 * @param {object} options
 * @param {Record<string, string>} options.urls addresses, see defaultUrls
 * @param {OpenTopology} options.topology
 * @param {ReplaySocket} options.socket
 * @param {() => string} [options.csrf] returns the token of the page's forms
 */
export function createSource({ urls, topology, socket, csrf = () => "" }) {
  const windows = new Map();
  const underWay = new Map();
  const snapshots = new Map();

  const loadWindow = latestWins(async (request) => {
    const payload = await overEither("window", request, () => overHttp(request));
    return keep(request, openWindow(payload, topology));
  });

  /** @param {WindowRequest} request @param {OpenWindow} window */
  function keep(request, window) {
    windows.set(keyOf(request), window);
    if (windows.size > KEPT_WINDOWS) windows.delete(windows.keys().next().value);
    return window;
  }

  /**
   * Fetches a window's payload over HTTP. Equal requests at the same time share one answer.
   * @param {WindowRequest} request
   */
  function overHttp(request) {
    const key = keyOf(request);
    if (!underWay.has(key)) {
      const answer = getJson(`${urls.window}?${new URLSearchParams(/** @type {any} */ (request))}`);
      underWay.set(key, answer.finally(() => underWay.delete(key)));
    }
    return underWay.get(key);
  }

  const loadCut = latestWins(async (question) => {
    const answer = await overEither("cut", question, () => postJson(urls.cuts, asPositions(question), csrf()));
    return openCut(answer, topology);
  });

  /** @param {CutQuestion} question */
  function asPositions(question) {
    if (!question.positions) return question;
    const positions = Object.fromEntries(topology.processes.map(({ id }, p) => [id, question.positions[p]]));
    return { ...question, positions };
  }

  /** @param {string} type @param {object} body @param {() => Promise<any>} byHttp */
  async function overEither(type, body, byHttp) {
    if (!socket.isOpen()) return byHttp();
    try {
      return await socket.ask(type, body);
    } catch (error) {
      if (error instanceof Refused) throw error;
      return byHttp();
    }
  }

  /**
   * Resolves with the outline of a snapshot and some of its rows, recorded and recomputed.
   * @param {string} id @param {Parameters<typeof partFields>[0]} rows @returns {Promise<SnapshotDetail>}
   */
  function partOfSnapshot(id, rows) {
    return getJson(`${urls.snapshots}/${encodeURIComponent(id)}?${parameters(partFields(rows))}`);
  }

  return {
    /**
     * Resolves with the window, or with null when a newer request has replaced this one.
     * @param {WindowRequest} request
     */
    window(request) {
      const kept = windows.get(keyOf(request));
      return kept ? Promise.resolve(kept) : loadWindow(request);
    },
    /**
     * Loads a window other than the one in view (the overview, a snapshot's markers), which no request replaces.
     * @param {WindowRequest} request
     */
    async aside(request) {
      return windows.get(keyOf(request)) ?? openWindow(await overHttp(request), topology);
    },
    /** Forgets what was loaded, because more has come. */
    forget: () => windows.clear(),
    /**
     * Loads a window that will be needed soon, unless another is being loaded.
     * @param {WindowRequest} request
     */
    prefetch(request) {
      if (!loadWindow.isBusy() && !windows.has(keyOf(request))) loadWindow(request).catch(() => {});
    },
    /** Resolves with a whole cut, or with null when a newer request has replaced this one. */
    cut: loadCut,
    /**
     * Resolves with the outline of a cut and some of its rows, or with null in the same way.
     * @param {CutQuestion} question @param {Parameters<typeof partFields>[0]} [rows]
     */
    partOfCut: (question, rows = NO_ROWS) => loadCut({ ...question, ...partFields(rows) }),
    /**
     * Resolves with the outline of a snapshot, which is fetched once.
     * @param {string} id @returns {Promise<SnapshotDetail>}
     */
    snapshot(id) {
      if (!snapshots.has(id)) {
        const loading = partOfSnapshot(id, NO_ROWS);
        loading.catch(() => snapshots.delete(id));
        snapshots.set(id, loading);
      }
      return snapshots.get(id);
    },
    partOfSnapshot,
    /**
     * Resolves with the frames that a player shows next, over HTTP.
     * @param {Record<string, any>} question @returns {Promise<{ frames: FramePayload[] }>}
     */
    frames: (question) => getJson(`${urls.frames}?${parameters(question)}`),
    /** @param {SearchQuestion} question @returns {Promise<SearchAnswer>} */
    search: (question) => overEither("search", question, () => getJson(`${urls.search}?${parameters(question)}`)),
    /** @param {string} process @param {number} index */
    event: (process, index) => getJson(`${urls.events}/${encodeURIComponent(process)}/${index}`),
    /** @param {string} process @param {number} index */
    cones: (process, index) => getJson(`${urls.cones}/${encodeURIComponent(process)}/${index}`),
  };
}

/**
 * Returns the addresses of a recording's data. Those of `urls` replace the usual ones.
 * @param {string} id @param {Record<string, string>} [urls]
 */
export function defaultUrls(id, urls = {}) {
  const api = `/api/recordings/${id}`;
  return {
    topology: `${api}/topology`,
    window: `${api}/window`,
    cuts: `${api}/cuts`,
    frames: `${api}/frames`,
    snapshots: `${api}/snapshots`,
    briefs: `${api}/snapshots-in-brief`,
    events: `${api}/events`,
    search: `${api}/search`,
    cones: `${api}/cones`,
    socket: `/ws/recordings/${id}`,
    snapshotPage: `/recordings/${id}/snapshots`,
    ...urls,
  };
}

/**
 * Fetches all snapshots of a recording in brief, page by page.
 * @param {string} url @returns {Promise<SnapshotSummary[]>}
 */
export async function briefSnapshots(url) {
  const listed = [];
  let page = await getJson(`${url}?limit=${BRIEFS_A_PAGE}`);
  listed.push(...page.items);
  while (page.next !== null) {
    page = await getJson(`${url}?${new URLSearchParams({ limit: String(BRIEFS_A_PAGE), after: page.next })}`);
    listed.push(...page.items);
  }
  return listed.map(({ answers, ...brief }) => ({
    ...brief,
    answers: Object.entries(answers).map(([question, answer]) => ({ question, answer })),
  }));
}

/** @param {object} question */
function parameters(question) {
  const given = Object.entries(question).filter(([, value]) => value !== undefined);
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
}

/** @param {WindowRequest} request */
function keyOf({ axis, from, to, width, only = undefined }) {
  return `${axis} ${from} ${to} ${width} ${only ?? ""}`;
}

/**
 * Converts a cut that the server describes to the form of describeCut.
 * @param {CutPayload} answer @param {OpenTopology} topology @returns {Cut}
 */
export function openCut(answer, topology) {
  const { processes, channelCode } = topology;
  const channels = new Map();
  for (const [id, values] of Object.entries(answer.channels ?? {})) {
    const ids = own(answer.messages, id) ?? [];
    const isTold = values.length > 0 || Boolean(answer.outline);
    if (isTold) channels.set(channelCode.get(id), values.map((value, i) => ({ id: ids[i], value })));
  }
  const omitted = new Map(Object.entries(answer.omitted ?? {}).map(([id, count]) => [channelCode.get(id), count]));
  const outline = answer.outline ? openOutline(answer, topology) : null;
  const nearest = answer.nearest ? inOrder(answer.nearest.positions, processes) : null;
  return summed({
    omitted,
    outline,
    positions: outline?.positions ?? inOrder(answer.positions, processes),
    states: processes.map(({ id }) => own(answer.states, id) ?? null),
    known: processes.map(({ id }) => own(answer.states, id) !== undefined),
    watermarks: processes.map(({ id }) => own(answer.watermarks, id) ?? null),
    channels,
    consistent: answer.consistent,
    strays: answer.strays_total ?? 0,
    orphans: answer.orphans ?? [],
    orphansTotal: answer.orphans_total ?? answer.orphans?.length ?? 0,
    nearest: outline ? outline.nearest : nearest,
    at: answer.at,
  });
}

/**
 * Decodes what an answer tells of all processes and channels, and notes which processes it lists.
 * @param {CutPayload} answer @param {OpenTopology} topology @returns {CutOutline}
 */
function openOutline({ outline, positions }, { processCode }) {
  const depths = decode(outline.depths);
  return {
    positions: Array.from(decode(outline.positions)),
    nearest: outline.nearest ? Array.from(decode(outline.nearest)) : null,
    depths: new Map(Array.from(decode(outline.channels), (code, i) => [code, depths[i]])),
    hiddenChannels: outline.hidden_channels,
    messages: outline.messages,
    inProcesses: outline.in_processes,
    inChannels: outline.in_channels,
    listed: new Set(Object.keys(positions).map((id) => processCode.get(id))),
  };
}

/**
 * Returns positions as a list in the order of the processes, -1 for a process without one.
 * @param {Record<string, number> | number[] | undefined} positions @param {ProcessPayload[]} processes
 * @returns {number[]}
 */
export function inOrder(positions, processes) {
  if (Array.isArray(positions)) return positions.map((n) => n ?? -1);
  return processes.map(({ id }) => own(positions, id) ?? -1);
}

/**
 * Fetches JSON. Throws an Error with the server's sentence if the server refuses.
 * @param {string} url
 */
export async function getJson(url) {
  return answered(await fetch(url, { headers: { Accept: "application/json" }, credentials: "same-origin" }));
}

/** @param {string} url @param {object} body @param {string} token */
const postJson = (url, body, token) => sendJson("POST", url, body, token);

/**
 * Sends JSON, and resolves with the answer's. Throws an Error with the server's sentence if the server refuses;
 * its `problem` has all that the server says of it.
 * @param {string} method @param {string} url @param {object} body @param {string} token
 */
export async function sendJson(method, url, body, token) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": token };
  return answered(await fetch(url, { method, headers, body: JSON.stringify(body), credentials: "same-origin" }));
}

/** @param {Response} response */
async function answered(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok) {
    const refusal = new Error(body.detail ?? `The server answered ${response.status}.`);
    throw Object.assign(refusal, { problem: body });
  }
  return body;
}
