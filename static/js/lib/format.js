/** Numbers, durations and values as people read them. */

/** @type {[string, number][]} */
const UNITS = [
  ["ns", 1],
  ["µs", 1e3],
  ["ms", 1e6],
  ["s", 1e9],
  ["min", 60e9],
  ["h", 3600e9],
  ["d", 86400e9],
];
/** @type {Record<string, number>} */
const NANOSECONDS = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9 };

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/**
 * Writes a number with separators, 1234567 as "1,234,567". A fraction keeps at most three digits.
 * @param {number} number
 */
export function thousands(number) {
  return grouped.format(number);
}

/**
 * Writes a number with its noun: "1 event", "2,000 events".
 * @param {number} number @param {string} noun @param {string} [plural]
 */
export function counted(number, noun, plural = `${noun}s`) {
  return `${thousands(number)} ${number === 1 ? noun : plural}`;
}

/**
 * Writes a duration in the largest unit of which it is at least one: 12400 us as "12.4 ms".
 * @param {number} amount @param {string} unit
 */
export function duration(amount, unit) {
  const [name, size] = unitFor(amount, unit);
  if (size === null) return inOwnUnit(amount, name);
  return `${threeDigits((amount * NANOSECONDS[unit]) / size)} ${name}`;
}

/**
 * Writes an instant with as many decimals as distinguish it from its neighbours in a view of `span`.
 * @param {number} amount @param {string} unit @param {number} span
 */
export function instant(amount, unit, span) {
  const [name, size] = unitFor(Math.max(Math.abs(amount), span), unit);
  if (size === null) return inOwnUnit(amount, name);
  const scale = NANOSECONDS[unit] / size;
  const needed = Math.ceil(-Math.log10(Math.max((span * scale) / 10000, 1e-12)));
  const exact = Math.round(Math.log10(1 / scale)) + (Number.isInteger(amount) ? 0 : 1);
  const digits = Math.max(0, Math.min(needed, Math.max(exact, 0), 9));
  const decimals = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(amount * scale).toLocaleString("en", decimals)} ${name}`;
}

/**
 * Writes an amount of a unit that is no unit of time: "12 ticks".
 * @param {number} amount @param {string} unit
 */
function inOwnUnit(amount, unit) {
  return counted(amount, unit, unit.endsWith("s") ? unit : `${unit}s`);
}

/**
 * Returns the unit for amounts of this size, [name, nanoseconds], or [unit, null] if `unit` is no unit of time.
 * @param {number} amount @param {string} unit @returns {[string, number | null]}
 */
export function unitFor(amount, unit) {
  if (!(unit in NANOSECONDS)) return [unit, null];
  const size = Math.abs(amount) * NANOSECONDS[unit];
  const own = UNITS.find(([, ns]) => ns === NANOSECONDS[unit]) ?? UNITS[0];
  return UNITS.filter(([, ns]) => ns <= size && ns >= own[1]).at(-1) ?? own;
}

/**
 * Writes a number with three significant digits: "9.81", "12.4", "124", "12,400".
 * @param {number} number
 */
export function threeDigits(number) {
  if (number === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(number)));
  const digits = Math.max(0, Math.min(3, 2 - size));
  return number.toLocaleString("en", { maximumFractionDigits: digits });
}

/**
 * Shortens a text to `most` characters at its end.
 * @param {string} text @param {number} most
 */
export function shortened(text, most) {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
}

/**
 * Formats a size in bytes, as in "812 B", "12.4 kB" and "1.07 GB"; a kB is 1,000 B.
 * @param {number} size
 */
export function fileSize(size) {
  let [amount, name] = [size, "B"];
  for (const larger of ["kB", "MB", "GB", "TB"]) {
    if (amount < 999.5) break;
    [amount, name] = [amount / 1000, larger];
  }
  return `${threeDigits(amount)} ${name}`;
}

/**
 * Shortens a name to `most` characters in its middle, for names differ at their ends.
 * @param {string} name @param {number} most
 */
export function shortenedInside(name, most) {
  const letters = [...name];
  if (letters.length <= most) return name;
  const last = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - last).join("")}…${letters.slice(letters.length - last).join("")}`;
}

/**
 * Returns whether there is a value to show.
 * @param {any} value
 */
export function isGiven(value) {
  return value !== undefined && value !== null && value !== "";
}

/**
 * Writes the value of a state or message on one line of at most `limit` characters.
 * @param {any} value @param {number} [limit]
 */
export function valueText(value, limit = Infinity) {
  if (isExcerpt(value)) return excerptText(value, limit);
  const text = plain(value);
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

/** @param {{ $excerpt: string, $bytes: number }} value @param {number} limit */
function excerptText({ $excerpt: beginning, $bytes: bytes }, limit) {
  const text = beginning.slice(0, limit);
  return `${text}… (the first ${thousands(text.length)} of ${thousands(bytes)} bytes)`;
}

/**
 * Returns whether a value stands for a longer one: the server sends its beginning and its length.
 * @param {any} value
 */
export function isExcerpt(value) {
  return isObject(value) && typeof value.$excerpt === "string" && typeof value.$bytes === "number";
}

/** @param {any} value @returns {string} */
function plain(value) {
  if (value === undefined || value === null) return "null";
  if (typeof value === "number") return thousands(value);
  if (typeof value === "string") return value;
  if (isObject(value)) {
    return Object.entries(value)
      .map(([key, item]) => (isObject(item) ? `${key} (${plain(item)})` : `${key}: ${plain(item)}`))
      .join(", ");
  }
  return JSON.stringify(value);
}

/** @param {any} value */
function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/**
 * Returns about `count` round numbers inside [from, to] for the ticks of an axis, whole ones if `whole`. There is at
 * least one, unless no whole number is inside.
 * @param {number} from @param {number} to @param {number} count @param {boolean} [whole] @returns {number[]}
 */
export function ticks(from, to, count, whole = false) {
  const span = to - from;
  if (!(span > 0)) return [from];
  let step = 10 ** Math.floor(Math.log10(span / count));
  for (const factor of [1, 2, 5, 10]) {
    if (span / (step * factor) <= count) {
      step *= factor;
      break;
    }
  }
  if (whole) step = Math.max(1, Math.round(step));
  const first = Math.ceil(from / step - 1e-9);
  const values = [];
  for (let k = first; k * step <= to + step * 1e-9; k += 1) values.push(Number((k * step).toPrecision(15)));
  const isFinest = whole && step === 1;
  return values.length || isFinest ? values : ticks(from, to, count * 2, whole);
}

/**
 * Shows the number of each character that changes the direction of text, as webapp/direction.py does in pages.
 * @param {string} text
 */
export function showDirection(text) {
  const number = (/** @type {string} */ sign) => sign.charCodeAt(0).toString(16).toUpperCase();
  return text.replace(/[\u202a-\u202e\u2066-\u2069]/g, (sign) => `⟨U+${number(sign)}⟩`);
}

/**
 * Escapes a text for Plotly, which reads a little HTML in its texts.
 * @param {string} text
 */
export function escapeText(text) {
  return showDirection(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
