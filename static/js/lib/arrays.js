/** Typed arrays as the server and Plotly write them: {dtype, bdata} with base64 little-endian bytes. */

const TYPES = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  i8: BigInt64Array,
  f4: Float32Array,
  f8: Float64Array,
};

/**
 * Reads a column of numbers; plain arrays pass, 64-bit integers become doubles (exact below 2^53).
 *
 * @param {Packed} packed
 * @returns {Column}
 */
export function decode(packed) {
  if (packed === null || packed === undefined) return new Float64Array(0);
  if (Array.isArray(packed) || ArrayBuffer.isView(packed)) return packed;
  /** @type {any} */
  const Type = TYPES[packed.dtype];
  if (!Type) throw new TypeError(`Column of unknown type ${packed.dtype}; known: ${Object.keys(TYPES)}`);
  const column = new Type(bytes(packed.bdata).buffer);
  return Type === BigInt64Array ? Float64Array.from(column, Number) : column;
}

/**
 * Reads a matrix in row-major order.
 *
 * @param {any} packed
 * @returns {Matrix}
 */
export function decodeMatrix(packed) {
  const [rows, columns] = String(packed.shape).split(",").map(Number);
  return { rows, columns, values: decode(packed) };
}

/** What decode reads; `dtype` as in TYPES. */
export function encode(numbers, dtype) {
  const column = TYPES[dtype].from(numbers);
  const raw = new Uint8Array(column.buffer);
  let text = "";
  for (const byte of raw) text += String.fromCharCode(byte);
  return { dtype, bdata: btoa(text) };
}

function bytes(base64) {
  const text = atob(base64);
  const raw = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i += 1) raw[i] = text.charCodeAt(i);
  return raw;
}

/** How many entries of the ascending `column`, from `low` up to `high`, are <= `x`, plus `low`. */
export function upperBound(column, x, low = 0, high = column.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}
