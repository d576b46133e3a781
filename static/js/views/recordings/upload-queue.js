/** Sending files, one after the other, each with its own fate. */

import { counted, thousands } from "../../lib/format.js";
import { tarOf } from "../../lib/tar.js";

const MOST_TOGETHER = 100_000; // files: what the server unpacks of one archive
const LONGEST_TITLE = 200; // characters
const PAUSES = [1000, 3000, 9000]; // ms before a request without an answer is sent again
const UNDER_WAY = "/problems/request-under-way";

/**
 * Sends `files` in turn. post(file, onBytes) resolves with {status, body}; on(event) hears
 * {file, type: "waiting" | "sending" | "accepted" | "refused", …}. Resolves with the accepted bodies.
 * A file is a File, or {name, size} with `parts`, [{file, path}], of what goes together, or with
 * `source`, a File that is sent again as something else; both may have a `format` and a `title`.
 */
export async function sendAll(files, post, on) {
  const accepted = [];
  for (const file of files) on({ file, type: "waiting" });
  for (const file of files) {
    on({ file, type: "sending", sent: 0, total: file.size });
    const { status, body } = await post(file, (sent, total) => on({ file, type: "sending", sent, total }));
    if (status === 202) {
      accepted.push(body);
      on({ file, type: "accepted", body });
    } else {
      on({ file, type: "refused", problem: problemOf(status, body) });
    }
  }
  return accepted;
}

/** What to show for an answer that is no 202, also where it is no problem+json. */
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

/** Where a problem stands in the file: "line 12, field “channel”". */
export function placeOf(problem) {
  const parts = [];
  if (problem.line) parts.push(`line ${problem.line.toLocaleString("en")}`);
  if (problem.field) parts.push(`field “${problem.field}”`);
  return parts.join(", ");
}

const LOG = /\.(jsonl|ndjson|parquet|log|txt|top|zip|tar|tgz|gz|zst)$/i;

/**
 * What is sent as one: a whole folder, and loose files that only together say something, as an
 * engine's; a log or an archive stands for itself. files: [{file, path}], path below what was
 * dropped. Gives files, and {name, size, parts: [{file, path}]} for those that go together.
 */
export function grouped(files) {
  const folders = new Map();
  const loose = [];
  const alone = [];
  for (const item of files) {
    const [folder, ...rest] = item.path.split("/");
    if (rest.length) folders.set(folder, [...(folders.get(folder) ?? []), item]);
    else if (LOG.test(item.path)) alone.push(item.file);
    else loose.push(item);
  }
  if (loose.length === 1) alone.push(loose.pop().file);
  const groups = [...folders].map(([name, parts]) => together(name, parts));
  if (loose.length) groups.push(together(`${loose.length} files`, loose));
  return [...alone, ...groups];
}

function together(name, parts) {
  return { name, parts, size: parts.reduce((sum, { file }) => sum + file.size, 0) };
}

/** The file to be sent as a format, under a title; both may be empty. */
export function asked(file, format = "", title = "") {
  if (!format && !file.format) return file;
  const { name, size, parts } = file;
  return {
    name,
    size,
    ...(format ? { format } : {}),
    ...(parts ? { parts } : { source: file.source ?? file }),
    ...(title ? { title } : {}),
  };
}

/** What a refusal offers to choose between: [{item, words}], each item to be sent in its place. */
export function offered(file, problem) {
  return (problem.choices ?? []).map(({ format, name, events }) => {
    const called = name || format;
    const item = { ...asked(file, format, `${file.name}, ${called}`), name: `${file.name}, ${called}` };
    return { item, words: events === null ? called : `${called}: ${counted(events, "event")}` };
  });
}

/**
 * POSTs a file, what goes together as one archive of it, telling the bytes as they go. A request that
 * gets no answer is sent again with the same key, so that the server makes one recording of both.
 */
export function postFile(address, csrf, Request = XMLHttpRequest, pause = sleep) {
  return async (file, onBytes) => {
    if (file.parts?.length > MOST_TOGETHER) return { status: 413, body: { detail: tooMany(file) } };
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

function isUnanswered({ status, body }) {
  return status === 0 || body?.type === UNDER_WAY;
}

function sleep(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** 128 random bits. crypto.randomUUID is missing on pages that came over plain HTTP. */
function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function postOnce(request, { address, csrf, key }, file, onBytes) {
  return new Promise((resolve) => {
    request.open("POST", address);
    request.setRequestHeader("X-CSRFToken", csrf);
    request.setRequestHeader("Idempotency-Key", key);
    request.setRequestHeader("Accept", "application/json");
    request.upload.onprogress = ({ loaded, total }) => onBytes(loaded, total);
    request.onerror = () => resolve({ status: 0, body: null });
    request.onload = () => resolve({ status: request.status, body: parsed(request.responseText) });
    request.send(formOf(file));
  });
}

/** The fields of a request that uploads a file. */
export function formOf(file) {
  const body = new FormData();
  if (file.parts) body.append("file", tarOf(file.parts), `${file.name}.tar`);
  else body.append("file", file.source ?? file);
  const title = file.title ?? (file.parts ? file.name : "");
  if (title) body.append("name", title.slice(0, LONGEST_TITLE));
  if (file.format) body.append("format", file.format);
  return body;
}

function tooMany({ parts }) {
  return (
      `The folder has ${thousands(parts.length)} files; at most ${thousands(MOST_TOGETHER)} are read as one upload. ` +
      "Upload a folder inside it, for example of one job or one checkpoint."
    );
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
