/** Where the workbench's data comes from: the websocket, or HTTP while it is not open. */

import { summed } from "./cuts.js";
import { latestWins, Refused } from "./socket.js";
import { openWindow } from "./window.js";

const KEPT_WINDOWS = 12;

/**
 * Makes the source of one recording's data.
 *
 * @param {object} given
 * @param {Record<string, string>} given.urls addresses, see defaultUrls
 * @param {OpenTopology} given.topology
 * @param {ReplaySocket} given.socket
 * @param {() => string} [given.csrf] gives the token of the page's forms
 */
export function createSource({ urls, topology, socket, csrf = () => "" }) {
  const windows = new Map();
  const underWay = new Map();
  const snapshots = new Map();

  const loadWindow = latestWins(async (request) => {
    const payload = await overEither("window", request, () => overHttp(request));
    return keep(request, openWindow(payload, topology));
  });

  /**
   * @param {WindowRequest} request
   * @param {OpenWindow} window
   */
  function keep(request, window) {
    windows.set(keyOf(request), window);
    if (windows.size > KEPT_WINDOWS) windows.delete(windows.keys().next().value);
    return window;
  }

  /** A window's payload over HTTP; two who want the same at the same time share one answer. */
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
    /** The window, or null when a newer one was asked for meanwhile. {from, to, width, axis} */
    window(request) {
      const kept = windows.get(keyOf(request));
      return kept ? Promise.resolve(kept) : loadWindow(request);
    },
    /** A window beside the one in view (the overview, a snapshot's markers); never passed over. */
    async aside(request) {
      return windows.get(keyOf(request)) ?? openWindow(await overHttp(request), topology);
    },
    /** Fetches a window that will be wanted soon, unless something is wanted now. */
    prefetch(request) {
      if (!loadWindow.isBusy() && !windows.has(keyOf(request))) loadWindow(request).catch(() => {});
    },
    /** A cut by {positions}, {at} or {step}; null when a newer one was asked for meanwhile. */
    cut: loadCut,
    /** One snapshot with recorded and recomputed contents; fetched once. */
    snapshot(id) {
      if (!snapshots.has(id)) {
        const loading = getJson(`${urls.snapshots}/${encodeURIComponent(id)}`);
        loading.catch(() => snapshots.delete(id));
        snapshots.set(id, loading);
      }
      return snapshots.get(id);
    },
    event: (process, index) => getJson(`${urls.events}/${encodeURIComponent(process)}/${index}`),
    cones: (process, index) => getJson(`${urls.cones}/${encodeURIComponent(process)}/${index}`),
  };
}

/** Returns the addresses of a recording's data; `given` ones win. */
export function defaultUrls(id, given = {}) {
  const api = `/api/recordings/${id}`;
  return {
    topology: `${api}/topology`,
    window: `${api}/window`,
    cuts: `${api}/cuts`,
    snapshots: `${api}/snapshots`,
    events: `${api}/events`,
    cones: `${api}/cones`,
    socket: `/ws/recordings/${id}`,
    snapshotPage: `/recordings/${id}/snapshots`,
    ...given,
  };
}

function keyOf({ axis, from, to, width }) {
  return `${axis} ${from} ${to} ${width}`;
}

/**
 * Brings a cut that the server describes into the form of describeCut.
 *
 * @param {CutPayload} answer
 * @param {OpenTopology} topology
 * @returns {Cut}
 */
export function openCut(answer, topology) {
  const { processes, channelCode } = topology;
  const channels = new Map();
  for (const [id, values] of Object.entries(answer.channels ?? {})) {
    const ids = answer.messages?.[id] ?? [];
    if (values.length) channels.set(channelCode.get(id), values.map((value, i) => ({ id: ids[i], value })));
  }
  return summed({
    positions: inOrder(answer.positions, processes),
    states: processes.map(({ id }) => answer.states?.[id] ?? null),
    known: processes.map(({ id }) => answer.states !== undefined && id in answer.states),
    channels,
    consistent: answer.consistent,
    orphans: answer.orphans ?? [],
    orphansTotal: answer.orphans_total ?? answer.orphans?.length ?? 0,
    nearest: answer.nearest ? inOrder(answer.nearest.positions, processes) : null,
    at: answer.at,
  });
}

/**
 * Returns positions as a list; -1 where a process has none.
 *
 * @param {Record<string, number> | number[] | undefined} positions
 * @param {ProcessPayload[]} processes
 * @returns {number[]}
 */
export function inOrder(positions, processes) {
  if (Array.isArray(positions)) return positions.map((n) => n ?? -1);
  return processes.map(({ id }) => positions?.[id] ?? -1);
}

/** Fetches JSON. Throws an Error with the server's sentence if it refuses. */
export async function getJson(url) {
  return answered(await fetch(url, { headers: { Accept: "application/json" }, credentials: "same-origin" }));
}

async function postJson(url, body, token) {
  const headers = { "Content-Type": "application/json", "X-CSRFToken": token };
  return answered(
    await fetch(url, { method: "POST", headers, body: JSON.stringify(body), credentials: "same-origin" }),
  );
}

async function answered(response) {
  const body = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(body.detail ?? `The server answered ${response.status}.`);
  return body;
}
