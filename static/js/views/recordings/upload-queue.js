/** Sending files one after the other. One that is refused does not stop the others. */

import { counted, thousands } from "../../lib/format.js";
import { tarOf } from "../../lib/tar.js";
import { ofProcesses } from "./processes.js";

const MOST_TOGETHER = 100_000; // files that the server unpacks of one package
const LONGEST_TITLE = 200; // characters
const PAUSES = [1000, 3000, 9000]; // ms before a request without an answer is sent again
const UNDER_WAY = "/problems/request-under-way";

/**
 * Sends `files` in turn, and resolves with the bodies of the accepted ones. `post` sends one file; `on` is called with
 * each event of a file.
 * @param {Upload[]} files
 * @param {(file: Upload, report: Report) => Promise<Answer>} post
 * @param {(event: UploadEvent) => void} on
 */
export async function sendAll(files, post, on) {
  const accepted = [];
  for (const file of files) on({ file, type: "waiting" });
  for (const file of files) {
    on({ file, type: "sending", sent: 0, total: file.size });
    /** @type {Report} */
    const report = (sent, total, more) => on({ file, type: "sending", sent, total, ...more });
    const { status, body } = await post(file, report);
    if (status === 202) {
      accepted.push(body);
      on({ file, type: "accepted", body });
    } else {
      on({ file, type: "refused", problem: problemOf(status, body) });
    }
  }
  return accepted;
}

/**
 * Returns the problem to show for an answer that is not 202, even if its body is not problem+json.
 * @param {number} status @param {any} body @returns {ProblemPayload}
 */
export function problemOf(status, body) {
  if (body && typeof body.detail === "string") return body;
  if (status === 0) {
    return {
      status,
      detail: "The connection broke off before the file was sent. Check the network, then upload it again.",
    };
  }
  return {
    status,
    detail: `The server answered ${status} and no reason. Upload the file again; its log may say more.`,
  };
}

/**
 * Says where in the file a problem is: "line 12, field “channel”".
 * @param {ProblemPayload} problem
 */
export function placeOf(problem) {
  const parts = [];
  if (problem.line) parts.push(`line ${problem.line.toLocaleString("en")}`);
  if (problem.field) parts.push(`field “${problem.field}”`);
  return parts.join(", ");
}

const LOG = /\.(jsonl|ndjson|parquet|log|txt|top|zip|tar|tgz|gz|zst)$/i;

const ENGINE_FOLDER =
  /^(chk-\d+|savepoint-[0-9a-f-]+|shared|taskowned|rest|jobs|offsets|commits|state|sources|metadata|[0-9a-f]{32})$/;
const LOG_START = 4096; // bytes

/**
 * Groups files into uploads. A folder is one upload. Loose files are one upload together, such as an engine's, except
 * logs and packages, of which each is an upload of its own. Logs of the processes of one system are one upload.
 * Folders that an engine writes side by side are one upload, together with the loose files, and so is a single folder.
 * Paths begin below what was dropped.
 * @param {DroppedFile[]} files @returns {Promise<Upload[]>}
 */
export async function grouped(files) {
  /** @type {Map<string, DroppedFile[]>} */
  const folders = new Map();
  const loose = [];
  const alone = [];
  for (const item of files) {
    const [folder, ...rest] = item.path.split("/");
    if (rest.length) folders.set(folder, [...(folders.get(folder) ?? []), item]);
    else if (LOG.test(item.path) || (await beginsAsLog(item.file))) alone.push(item.file);
    else loose.push(item);
  }
  const logs = await ofProcesses(alone);
  const ofOne = logs.together.map((file) => ({ file, path: file.name }));
  const single = [...logs.apart, ...(ofOne.length ? [together(`${ofOne.length} logs`, ofOne)] : [])];
  const belonging = [...folders.keys()].filter((name) => folders.size === 1 || ENGINE_FOLDER.test(name));
  const parts = [...belonging.flatMap((name) => folders.get(name)), ...loose];
  const apart = [...folders].filter(([name]) => !belonging.includes(name)).map(([name, of]) => together(name, of));
  if (parts.length === 1 && loose.length === 1) return [...single, loose[0].file, ...apart];
  const name = belonging.length === 1 ? belonging[0] : `${parts.length} files`;
  return [...single, ...apart, ...(parts.length ? [together(name, parts)] : [])];
}

/**
 * Resolves with whether the first line of a file is a header or an event of a log.
 * @param {File} file
 */
async function beginsAsLog(file) {
  const [line] = (await file.slice(0, LOG_START).text()).trimStart().split("\n");
  const value = parsed(line);
  return value?.kind === "header" || (typeof value?.kind === "string" && "process" in value);
}

/** @param {string} name @param {DroppedFile[]} parts @returns {Upload} */
function together(name, parts) {
  return { name, parts, size: parts.reduce((sum, { file }) => sum + file.size, 0) };
}

/**
 * Returns an upload that is read as a format and gets a title. Both may be empty.
 * @param {Upload} file @param {string} [format] @param {string} [title] @returns {Upload}
 */
export function withFormat(file, format = "", title = "") {
  if (!format && !file.format) return file;
  const { name, size, parts, team } = file;
  return {
    name,
    size,
    ...(format ? { format } : {}),
    ...(parts ? { parts } : { source: file.source ?? file }),
    ...(title ? { title } : {}),
    ...(team ? { team } : {}),
  };
}

/**
 * Returns an upload that a team gets, by the number of the team. An empty number leaves it to the person.
 * @param {Upload} file @param {string} [team] @returns {Upload}
 */
export function withTeam(file, team = "") {
  if (!team) return file;
  const { name, size, parts, source, format, title } = file;
  return { name, size, format, title, team, ...(parts ? { parts } : { source: source ?? file }) };
}

/**
 * Returns the uploads that a refusal offers to choose from, with words for each.
 * @param {Upload} file @param {ProblemPayload} problem @returns {Offer[]}
 */
export function offered(file, problem) {
  return (problem.choices ?? []).map(({ format, name, events }) => {
    const label = name || format;
    const title = `${file.name}, ${label}`;
    const item = { ...withFormat(file, format, title), name: title };
    return { item, words: events === null ? label : `${label}: ${counted(events, "event")}` };
  });
}

/**
 * Returns a function that POSTs an upload, files that go together as one package. `onBytes` is called with the bytes
 * sent so far. A request without an answer is repeated with the same key, so that the server makes one recording.
 * @param {string} address @param {string} csrf @param {any} [Request] @param {(ms: number) => Promise<void>} [pause]
 */
export function postFile(address, csrf, Request = XMLHttpRequest, pause = sleep) {
  return async (/** @type {Upload} */ file, /** @type {(sent: number, total: number) => void} */ onBytes) => {
    const refusal = overfull(file);
    if (refusal) return refusal;
    const key = newKey();
    const post = () => postOnce(new Request(), { address, csrf, key }, file, onBytes);
    let answer = await post();
    for (const wait of PAUSES) {
      if (!isUnanswered(answer)) break;
      await pause(wait);
      answer = await post();
    }
    return answer;
  };
}

/** @param {Answer} answer */
function isUnanswered({ status, body }) {
  return status === 0 || body?.type === UNDER_WAY;
}

/** @param {number} ms @returns {Promise<void>} */
function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Returns 128 random bits. crypto.randomUUID is missing on pages that are loaded over plain HTTP. */
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * @param {any} request @param {{ address: string, csrf: string, key: string }} options @param {Upload} file
 * @param {(sent: number, total: number) => void} onBytes @returns {Promise<Answer>}
 */
function postOnce(request, { address, csrf, key }, file, onBytes) {
  return new Promise((resolve) => {
    request.open("POST", address);
    request.setRequestHeader("X-CSRFToken", csrf);
    request.setRequestHeader("Idempotency-Key", key);
    request.setRequestHeader("Accept", "application/json");
    /** @param {ProgressEvent} event */
    request.upload.onprogress = ({ loaded, total }) => onBytes(loaded, total);
    request.onerror = () => resolve({ status: 0, body: null });
    request.onload = () => resolve({ status: request.status, body: parsed(request.responseText) });
    request.send(formOf(file));
  });
}

/**
 * Returns the fields of the request that uploads a file.
 * @param {Upload} file
 */
export function formOf(file) {
  const body = new FormData();
  if (file.parts) body.append("file", tarOf(file.parts), `${file.name}.tar`);
  else body.append("file", file.source ?? file);
  const title = file.title ?? (file.parts ? file.name : "");
  if (title) body.append("name", title.slice(0, LONGEST_TITLE));
  if (file.format) body.append("format", file.format);
  if (file.team) body.append("team", file.team);
  return body;
}

/**
 * Returns the refusal of a folder with more files than are read as one upload, or null.
 * @param {Upload} file @returns {Answer | null}
 */
export function overfull(file) {
  return file.parts?.length > MOST_TOGETHER ? { status: 413, body: { detail: tooMany(file) } } : null;
}

/** @param {Upload} file */
function tooMany({ parts }) {
  const counts = `The folder has ${thousands(parts.length)} files; at most ${thousands(MOST_TOGETHER)} are read`;
  return `${counts} as one upload. Upload a folder inside it, for example of one job or one checkpoint.`;
}

/** @param {string} text */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
