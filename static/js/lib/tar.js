/**
 * Files as one tar package, without reading them: a Blob of headers and of the files themselves, which the browser
 * reads while it sends. Source: POSIX.1-2017, pax, ustar and pax headers.
 */

const BLOCK = 512;
const LONGEST_NAME = 100; // bytes, in a plain header
const LARGEST_SIZE = 8 ** 11 - 1; // bytes, in a plain header
const FILE = "0";
const EXTENDED = "x"; // a record of values for which the next header has no room
const text = new TextEncoder();

/**
 * Returns the package as a Blob. Paths have "/" between their parts.
 * @param {DroppedFile[]} parts
 */
export function tarOf(parts) {
  const pieces = parts.flatMap(({ file, path }) => [...headersOf(path, file.size), file, padding(file.size)]);
  return new Blob([...pieces, new Uint8Array(2 * BLOCK)], { type: "application/x-tar" });
}

/** @param {string} path @param {number} size */
function headersOf(path, size) {
  const name = text.encode(path);
  const records = [];
  if (name.length > LONGEST_NAME || name.length !== path.length) records.push(record("path", path));
  if (size > LARGEST_SIZE) records.push(record("size", String(size)));
  const plain = header(name.slice(0, LONGEST_NAME), Math.min(size, LARGEST_SIZE), FILE);
  if (!records.length) return [plain];
  const extended = text.encode(records.join(""));
  return [header(text.encode("further"), extended.length, EXTENDED), extended, padding(extended.length), plain];
}

/**
 * Writes "LENGTH key=value\n", where the length includes its own digits.
 * @param {string} key @param {string} value
 */
function record(key, value) {
  const rest = text.encode(` ${key}=${value}\n`).length;
  let length = rest + String(rest).length;
  if (String(length).length > String(rest).length) length += 1;
  return `${length} ${key}=${value}\n`;
}

/** @param {Uint8Array} name @param {number} size @param {string} kind */
function header(name, size, kind) {
  const block = new Uint8Array(BLOCK);
  /** @param {string} words @param {number} at */
  const put = (words, at) => block.set(text.encode(words), at);
  block.set(name, 0);
  put("0000644\0", 100);
  put("0000000\0", 108);
  put("0000000\0", 116);
  put(`${size.toString(8).padStart(11, "0")}\0`, 124);
  put("00000000000\0", 136);
  put("        ", 148);
  put(kind, 156);
  put("ustar\x0000", 257);
  const sum = block.reduce((total, byte) => total + byte, 0);
  put(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  return block;
}

/** @param {number} size */
function padding(size) {
  return new Uint8Array((BLOCK - (size % BLOCK)) % BLOCK);
}
