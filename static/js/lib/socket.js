/** A websocket that connects again, and requests of which the newest wins. */

const FIRST_WAIT = 500; // ms
const LONGEST_WAIT = 15000; // ms
const ANSWER_WITHIN = 4000; // ms
const SILENCE = 12000; // ms without a message after which a connection that has had beats is taken for lost
const FINAL = 4400; // the server's own close codes: connecting again would not help
const ENDED = "The server has ended the connection of this page. Load the page again.";

/** The server refuses the request: repeating it would not help. */
export class Refused extends Error {}

/**
 * Wraps an asynchronous function so that the newest call wins. While one call runs, only the newest of the others
 * waits; the calls that it replaces resolve with null.
 * @param {(request: any) => Promise<any>} perform
 */
export function latestWins(perform) {
  let busy = false;
  /** @type {{ request: any, settle: Settle } | null} */
  let waiting = null;

  /** @param {any} request @param {Settle} settle */
  async function run(request, settle) {
    busy = true;
    try {
      settle.resolve(await perform(request));
    } catch (error) {
      settle.reject(error);
    }
    busy = false;
    if (waiting) {
      const next = waiting;
      waiting = null;
      run(next.request, next.settle);
    }
  }

  /** @param {any} request */
  const call = (request) =>
    new Promise((resolve, reject) => {
      const settle = { resolve, reject };
      if (!busy) run(request, settle);
      else {
        waiting?.settle.resolve(null);
        waiting = { request, settle };
      }
    });
  call.isBusy = () => busy;
  return call;
}

/**
 * Opens a websocket at `path` on this host, and again after growing pauses whenever it closes. A connection that the
 * network lost without a word is given up too: when the browser says so, or when the server's beats stop.
 * @param {string} path @param {SocketOptions} options @returns {ReplaySocket}
 */
export function openSocket(path, options = {}) {
  const { onMessage = (_message) => {}, onState = (_state, _sentence) => {}, Socket = WebSocket } = options;
  const open = new Map();
  /** @type {WebSocket} */
  let socket;
  let wait = FIRST_WAIT;
  let number = 0;
  let ended = false;
  let hasBeats = false; // until the first beat, silence means nothing
  /** @type {number | undefined} */
  let timer;
  /** @type {number | undefined} */
  let silence;

  function connect() {
    clearTimeout(timer);
    hasBeats = false;
    socket = new Socket(new URL(path, location.href.replace(/^http/, "ws")));
    socket.onopen = () => {
      wait = FIRST_WAIT;
      onState("open");
    };
    /** @param {MessageEvent} event */
    socket.onmessage = ({ data }) => receive(JSON.parse(data));
    /** @param {CloseEvent} event */
    socket.onclose = (event) => onClose(event ?? {});
  }

  /** @param {{ code?: number, reason?: string }} event */
  function onClose({ code, reason }) {
    for (const { reject } of open.values()) reject(new Error("The connection closed."));
    open.clear();
    clearTimeout(silence);
    if (code >= FINAL) {
      ended = true;
      onState("ended", reason || ENDED);
      return;
    }
    onState("closed");
    if (!ended) timer = setTimeout(connect, wait);
    wait = Math.min(wait * 2, LONGEST_WAIT);
  }

  /** Gives a connection up that the network has lost, for the browser may notice that minutes later. */
  function giveUp() {
    if (ended || socket.readyState > 1) return;
    Object.assign(socket, { onopen: null, onmessage: null, onclose: null });
    socket.close();
    onClose({});
  }

  function tryNow() {
    if (!ended && socket.readyState > 1) connect();
  }

  /** @param {string} type */
  function noteLife(type) {
    hasBeats ||= type === "beat";
    clearTimeout(silence);
    if (hasBeats) silence = setTimeout(giveUp, SILENCE);
  }

  /** @param {any} message */
  function receive(message) {
    noteLife(message.type);
    const request = open.get(message.request);
    if (!request) {
      if (message.request === undefined) onMessage(message);
      return;
    }
    open.delete(message.request);
    if (message.type === "refused") request.reject(new Refused(message.detail));
    else request.resolve(message);
  }

  connect();
  globalThis.addEventListener?.("offline", giveUp);
  globalThis.addEventListener?.("online", tryNow);
  return {
    isOpen: () => socket.readyState === 1,
    send: (message) => socket.readyState === 1 && socket.send(JSON.stringify(message)),
    ask(type, body) {
      number += 1;
      const request = number;
      return new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          open.delete(request);
          reject(new Error("No answer from the server."));
        }, ANSWER_WITHIN);
        /** @param {(value: any) => void} settle */
        const settled = (settle) => (/** @type {any} */ value) => {
          clearTimeout(timer);
          settle(value);
        };
        open.set(request, { resolve: settled(resolve), reject: settled(reject) });
        socket.send(JSON.stringify({ type, request, ...body }));
      });
    },
    close() {
      ended = true;
      socket.close();
    },
  };
}
