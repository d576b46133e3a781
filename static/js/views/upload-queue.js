/** Sending files, one after the other, each with its own fate. */

/**
 * Sends `files` in turn. post(file, onBytes) resolves with {status, body}; on(event) hears
 * {file, type: "waiting" | "sending" | "accepted" | "refused", …}. Resolves with the accepted bodies.
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
    return { status, detail: "The connection broke off before the file was sent. Check the network, then upload it again." };
  }
  return { status, detail: `The server answered ${status} and no reason. Upload the file again; its log may say more.` };
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

/** POSTs a file, or what goes together, as the API takes it, telling the bytes as they go. */
export function postFile(address, csrf, Request = XMLHttpRequest) {
  return (file, onBytes) =>
    new Promise((resolve) => {
      const body = new FormData();
      for (const part of file.parts ?? [{ file }]) body.append("file", part.file);
      if (file.parts) {
        body.append("together", "true");
        for (const { path } of file.parts) body.append("paths", path);
      }
      const request = new Request();
      request.open("POST", address);
      request.setRequestHeader("X-CSRFToken", csrf);
      request.setRequestHeader("Accept", "application/json");
      request.upload.onprogress = ({ loaded, total }) => onBytes(loaded, total);
      request.onerror = () => resolve({ status: 0, body: null });
      request.onload = () => resolve({ status: request.status, body: parsed(request.responseText) });
      request.send(body);
    });
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
