/**
 * Sending a large file in pieces, so that it goes on after a pause, a lost network or a reloaded page.
 * The server speaks tus 1.0.0: https://tus.io/protocols/resumable-upload.
 */

import { tarOf } from "../../lib/tar.js";

export const LEAST_BYTES = 16 * 2 ** 20; // a smaller file is sent again more quickly than it is gone on with
const PIECE_BYTES = 8 * 2 ** 20;
const KNOWN_BY_BYTES = 2 ** 20; // of the beginning, by which a file is known again
const LONGEST_TITLE = 200; // characters
const PAUSES = [1000, 3000, 9000, 15_000]; // ms before the server is asked again; the last one repeats
const STALLED_AFTER = 60_000; // ms without a byte
const RATE_OVER = 5000; // ms
const MOST_DISCARDS = 20; // times that the server is asked to discard an upload which it may be finishing
const PASSING = [0, 408, 409, 423, 460];

const CHANGED = {
  status: 400,
  body: { detail: "The file has changed on the disk while it was sent, or cannot be read any more. Upload it again." },
};
const DISCARDED = { status: 410, body: { detail: "You discarded this upload." } };

/**
 * Returns a function that sends an upload and resolves with the server's answer to the whole. `report` is called with
 * the bytes that were sent so far, all bytes, and more about it.
 * @param {string} address @param {string} csrf @param {PieceTools} [tools]
 */
export function sendInPieces(address, csrf, tools = {}) {
  const { Request = XMLHttpRequest, pause = untilOnline, now = () => performance.now() } = tools;
  return async (/** @type {Upload} */ file, /** @type {Report} */ report) => {
    const blob = blobOf(file);
    const metadata = await metadataOf(file, blob);
    const switched = control();
    const pace = paceOf(now);
    const ask = asking(Request, csrf, switched);
    /** @type {number | null} */
    let id = null;
    let sent = 0;
    let failures = 0;

    /** @param {"sending" | "paused" | "waiting" | "discarding"} state @param {string} [why] */
    const tell = (state, why = "") =>
      report(sent, blob.size, { ...pace.of(sent, blob.size), state, why, id, control: switched });

    /** @returns {Promise<Answer>} */
    async function begin() {
      const known = await ask("GET", address);
      if (known.status !== 200) return known;
      const same = known.body.items.find((/** @type {any} */ item) => isSame(item, metadata, blob.size));
      if (same) return { status: 200, body: same.id };
      const headers = { "Upload-Length": String(blob.size), "Upload-Metadata": encoded(metadata) };
      const made = await ask("POST", address, headers);
      return made.status === 201 ? { status: 200, body: Number(made.header("Location").split("/").at(-1)) } : made;
    }

    /**
     * Sends pieces from where the server is, until one is not acknowledged or the file is complete.
     * @returns {Promise<Answer>}
     */
    async function sendRest() {
      const where = `${address}/${id}`;
      const asked = await ask("HEAD", where);
      if (asked.status === 401 || isPassing(asked)) return asked;
      if (asked.status !== 200) return await outcome(where, asked);
      sent = Number(asked.header("Upload-Offset"));
      pace.reset();
      while (sent < blob.size) {
        if (switched.isPaused || switched.isDiscarded) return { status: 0, body: null };
        const begun = sent;
        const body = blob.slice(begun, begun + PIECE_BYTES);
        const headers = { "Upload-Offset": String(begun), "Content-Type": "application/offset+octet-stream" };
        const answer = await ask("PATCH", where, headers, body, (loaded) => {
          sent = begun + Math.min(loaded, body.size);
          tell("sending");
        });
        sent = begun;
        if (answer.status === 0 && !(await isReadable(body))) {
          await ask("DELETE", where); // other bytes cannot follow those that were sent
          return CHANGED;
        }
        if (answer.status !== 204) return answer;
        failures = 0;
        sent = Number(answer.header("Upload-Offset"));
        tell("sending");
      }
      return await outcome(where);
    }

    /**
     * Returns what became of a complete file, or `otherwise` if the server does not take it for complete.
     * @param {string} where @param {Answer} [otherwise] @returns {Promise<Answer>}
     */
    async function outcome(where, otherwise = { status: 409, body: null }) {
      const { status, body } = await ask("GET", where);
      if (status !== 200) return { status, body };
      if (body.accepted) return { status: 202, body: body.accepted };
      return body.problem ? { status: body.problem.status, body: body.problem } : otherwise;
    }

    /** @returns {Promise<Answer>} */
    async function discarded() {
      if (id === null) return DISCARDED;
      return await untilDiscarded(ask, `${address}/${id}`, (why, wait) => {
        tell("discarding", why);
        return pause(wait, switched);
      });
    }

    /**
     * Says in a refusal if what was sent is kept all the same, so that a person can go on.
     * @param {Answer} answer @returns {Promise<Answer>}
     */
    async function withKept(answer) {
      if (id === null || answer.status === 202 || answer === CHANGED) return answer;
      const { status, body } = await ask("GET", `${address}/${id}`);
      const kept = status === 200 ? body.state === "receiving" : status !== 404;
      return kept ? { status: answer.status, body: { ...answer.body, detail: reasonOf(answer), kept } } : answer;
    }

    for (;;) {
      while (switched.isPaused) {
        tell("paused");
        await switched.goesOn();
      }
      if (switched.isDiscarded) return await discarded();
      const answer = id === null ? await begin() : await sendRest();
      if (id === null && answer.status === 200) id = answer.body;
      else if (switched.isPaused || switched.isDiscarded) continue;
      else if (id !== null && answer.status === 404 && failures < PAUSES.length) {
        await ask("DELETE", `${address}/${id}`); // it expired or lost its bytes, so that the file is sent anew
        id = null;
        failures += 1;
      } else if (isPassing(answer)) {
        const wait = PAUSES[Math.min(failures, PAUSES.length - 1)];
        failures += 1;
        tell("waiting", reasonOf(answer));
        await pause(wait, switched);
      } else {
        return await withKept(answer);
      }
    }
  };
}

/**
 * Discards an unfinished upload, of which this page sends nothing.
 * Resolves with the status 410, with 202 and the recording if the server has made one, or with why it was not possible.
 * @param {string} where @param {string} csrf @param {PieceTools} [tools] @returns {Promise<Answer>}
 */
export function discardUnfinished(where, csrf, tools = {}) {
  const { Request = XMLHttpRequest, pause = untilOnline } = tools;
  const switched = control();
  return untilDiscarded(asking(Request, csrf, switched), where, (_, wait) => pause(wait, switched));
}

/**
 * Asks the server to discard an upload until it does. While it finishes the file it answers 423; then there may be a
 * recording.
 * @param {any} ask @param {string} where @param {(why: string, wait: number) => Promise<void>} waiting
 * @returns {Promise<Answer>}
 */
async function untilDiscarded(ask, where, waiting) {
  for (let tries = 1; ; tries++) {
    const known = await ask("GET", where);
    if (known.body?.accepted) return { status: 202, body: known.body.accepted };
    const answer = known.status === 200 ? await ask("DELETE", where) : known;
    if (answer.status === 204 || answer.status === 404) return DISCARDED;
    if (!isPassing(answer) || tries === MOST_DISCARDS) return notDiscarded(answer);
    await waiting(reasonOf(answer), PAUSES[Math.min(tries, PAUSES.length) - 1]);
  }
}

/** @param {Answer} answer @returns {Answer} */
function notDiscarded(answer) {
  const detail = `The upload was not discarded. ${reasonOf(answer)}`;
  return { status: answer.status, body: { ...answer.body, detail, kept: true } };
}

/** @param {Blob} blob */
function isReadable(blob) {
  return blob.arrayBuffer().then(() => true, () => false);
}

/** @param {Answer} answer */
function isPassing({ status, body }) {
  return PASSING.includes(status) || status >= 500 || (status === 429 && body?.retry_after !== undefined);
}

/** @param {Answer} answer */
function reasonOf({ status, body }) {
  return status === 0 ? "The server cannot be reached." : (body?.detail ?? `The server answered ${status}.`);
}

/**
 * Returns the switch with which a person pauses, goes on or discards.
 * @returns {PieceControl}
 */
function control() {
  /** @type {(() => void)[]} */
  let waiting = [];
  const wake = () => {
    for (const each of waiting.splice(0)) each();
  };
  return {
    isPaused: false,
    isDiscarded: false,
    request: /** @type {PieceControl["request"]} */ (null),
    pause() {
      this.isPaused = true;
      this.request?.abort();
      wake();
    },
    goOn() {
      this.isPaused = false;
      wake();
    },
    discard() {
      this.isDiscarded = true;
      this.isPaused = false;
      this.request?.abort();
      wake();
    },
    goesOn() {
      return new Promise((resolve) => waiting.push(() => resolve()));
    },
  };
}

/**
 * Waits, at most until the network is back or the person does something.
 * @param {number} ms @param {PieceControl} switched @returns {Promise<void>}
 */
function untilOnline(ms, switched) {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    addEventListener("online", done);
    switched.goesOn().then(done);
  });
}

/**
 * Measures the rate over the last seconds, in bytes a second, and the seconds that are left.
 * @param {() => number} now
 */
function paceOf(now) {
  /** @type {{ at: number, sent: number }[]} */
  let samples = [];
  return {
    reset() {
      samples = [];
    },
    of(/** @type {number} */ sent, /** @type {number} */ total) {
      const at = now();
      samples.push({ at, sent });
      while (samples.length > 2 && samples[1].at < at - RATE_OVER) samples.shift();
      const passed = at - samples[0].at;
      const rate = passed > 0 ? (1000 * (sent - samples[0].sent)) / passed : null;
      return { rate, left: rate > 0 ? (total - sent) / rate : null };
    },
  };
}

/** @param {any} Request @param {string} csrf @param {PieceControl} switched */
function asking(Request, csrf, switched) {
  /**
   * @param {string} method @param {string} address @param {Record<string, string>} [headers] @param {Blob} [body]
   * @param {(loaded: number) => void} [onBytes]
   * @returns {Promise<Answer & { header: (name: string) => string }>}
   */
  return (method, address, headers = {}, body, onBytes) =>
    new Promise((resolve) => {
      const request = new Request();
      const header = (/** @type {string} */ name) => request.getResponseHeader(name) ?? "";
      /** @type {ReturnType<typeof setTimeout>} */
      let stalled;
      const alive = () => {
        clearTimeout(stalled);
        stalled = setTimeout(() => request.abort(), STALLED_AFTER);
      };
      const end = (/** @type {number} */ status) => {
        clearTimeout(stalled);
        switched.request = null;
        resolve({ status, body: parsed(request.responseText), header });
      };
      request.open(method, address);
      request.setRequestHeader("X-CSRFToken", csrf);
      request.setRequestHeader("Tus-Resumable", "1.0.0");
      request.setRequestHeader("Accept", "application/json");
      for (const [name, value] of Object.entries(headers)) request.setRequestHeader(name, value);
      if (onBytes) {
        request.upload.onprogress = (/** @type {ProgressEvent} */ { loaded }) => {
          alive();
          onBytes(loaded);
        };
      }
      request.onerror = request.onabort = () => end(0);
      request.onload = () => end(request.status);
      switched.request = method === "PATCH" ? request : null;
      alive();
      request.send(body);
    });
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {Upload} file @returns {Blob} */
function blobOf(file) {
  return file.parts ? tarOf(file.parts) : (file.source ?? file);
}

/** @param {Upload} file @param {Blob} blob @returns {Promise<Record<string, string>>} */
async function metadataOf(file, blob) {
  const filename = file.parts ? `${file.name}.tar` : (file.source ?? file).name;
  const title = file.title ?? (file.parts ? file.name : "");
  return {
    filename,
    fingerprint: await fingerprintOf(filename, markOf(file), blob),
    ...(title ? { name: title.slice(0, LONGEST_TITLE) } : {}),
    ...(file.format ? { format: file.format } : {}),
    ...(file.team ? { team: String(file.team) } : {}),
  };
}

/**
 * Returns when a file was changed last, or of several the path, size and time of each.
 * @param {any} file @returns {string | number}
 */
function markOf(file) {
  if (!file.parts) return (file.source ?? file).lastModified;
  const parts = /** @type {DroppedFile[]} */ (file.parts);
  return JSON.stringify(parts.map(({ path, file: { size, lastModified } }) => [path, size, lastModified]));
}

/**
 * Returns a text by which the same file is known again: a hash of its name, size, mark and first megabyte.
 * crypto.subtle is missing on pages that are loaded over plain HTTP.
 * @param {string} name @param {string | number} mark @param {Blob} blob
 */
export async function fingerprintOf(name, mark, blob) {
  const said = new TextEncoder().encode(`${name}\n${mark}\n${blob.size}\n`);
  const head = new Uint8Array(await blob.slice(0, KNOWN_BY_BYTES).arrayBuffer());
  let [one, other] = [0x811c9dc5, 0x9747b28c];
  for (const bytes of [said, head]) {
    for (const byte of bytes) {
      one = Math.imul(one ^ byte, 0x01000193);
      other = Math.imul(other ^ byte, 0x85ebca6b) ^ (other >>> 13);
    }
  }
  return [one, other].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

/** @param {any} item @param {Record<string, string>} metadata @param {number} size */
function isSame(item, metadata, size) {
  const names = ["filename", "fingerprint", "name", "format", "team"];
  return item.length === size && names.every((name) => item.metadata[name] === metadata[name]);
}

/** @param {Record<string, string>} metadata */
function encoded(metadata) {
  const base64 = (/** @type {string} */ text) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  return Object.entries(metadata).map(([name, value]) => `${name} ${base64(value)}`).join(",");
}
