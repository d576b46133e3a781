/** The source of the workbench's data: the websocket, or HTTP while that is not open. */

import { summed } from "./cuts.js";
import { own } from "./own.js";
import { latestWins, Refused } from "./socket.js";
import { openWindow } from "./window.js";

const KEPT_WINDOWS = 12;
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
    return { positions: Object.fromEntries(topology.processes.map(({ id }, p) => [id, question.positions[p]])) };
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
    /**
     * Loads a window that will be needed soon, unless another is being loaded.
     * @param {WindowRequest} request
     */
    prefetch(request) {
      if (!loadWindow.isBusy() && !windows.has(keyOf(request))) loadWindow(request).catch(() => {});
    },
    /** Resolves with a cut, or with null when a newer request has replaced this one. */
    cut: loadCut,
    /**
     * Resolves with a snapshot's recorded and recomputed contents, which are fetched once.
     * @param {string} id
     */
    snapshot(id) {
      if (!snapshots.has(id)) {
        const loading = getJson(`${urls.snapshots}/${encodeURIComponent(id)}`);
        loading.catch(() => snapshots.delete(id));
        snapshots.set(id, loading);
      }
      return snapshots.get(id);
    },
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

/** @param {SearchQuestion} question */
function parameters(question) {
  return new URLSearchParams(Object.entries(question).map(([name, value]) => [name, String(value)]));
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
    if (values.length) channels.set(channelCode.get(id), values.map((value, i) => ({ id: ids[i], value })));
  }
  const omitted = new Map(Object.entries(answer.omitted ?? {}).map(([id, count]) => [channelCode.get(id), count]));
  return summed({
    omitted,
    positions: inOrder(answer.positions, processes),
    states: processes.map(({ id }) => own(answer.states, id) ?? null),
    known: processes.map(({ id }) => own(answer.states, id) !== undefined),
    watermarks: processes.map(({ id }) => own(answer.watermarks, id) ?? null),
    channels,
    consistent: answer.consistent,
    strays: answer.strays_total ?? 0,
    orphans: answer.orphans ?? [],
    orphansTotal: answer.orphans_total ?? answer.orphans?.length ?? 0,
    nearest: answer.nearest ? inOrder(answer.nearest.positions, processes) : null,
    at: answer.at,
  });
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
