/** Columns of numbers as the server sends them and Plotly reads them: {dtype, bdata}, base64 of little-endian bytes. */

/** @type {Record<string, any>} */
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
 * Decodes a column of numbers. A plain array is returned as it is; 64-bit integers become doubles, exact below 2^53.
 * @param {Packed} packed @returns {Column}
 */
export function decode(packed) {
  if (packed === null || packed === undefined) return new Float64Array(0);
  if (Array.isArray(packed) || ArrayBuffer.isView(packed)) return /** @type {any} */ (packed);
  const Type = TYPES[packed.dtype];
  if (!Type) throw new TypeError(`Column of unknown type ${packed.dtype}; known: ${Object.keys(TYPES)}`);
  const column = new Type(bytes(packed.bdata).buffer);
  return Type === BigInt64Array ? Float64Array.from(column, Number) : column;
}

/**
 * Decodes a matrix in row-major order.
 * @param {any} packed @returns {Matrix}
 */
export function decodeMatrix(packed) {
  const [rows, columns] = String(packed.shape).split(",").map(Number);
  return { rows, columns, values: /** @type {Float64Array} */ (decode(packed)) };
}

/** @param {string} base64 */
function bytes(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/**
 * Returns how many entries of the ascending `column` are at most `x`.
 * @param {ArrayLike<number>} column @param {number} x
 */
export function upperBound(column, x) {
  let low = 0;
  let high = column.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (column[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low;
}
