/** Numbers, durations and values as people read them. */

const UNITS = [
  ["ns", 1],
  ["µs", 1e3],
  ["ms", 1e6],
  ["s", 1e9],
  ["min", 60e9],
  ["h", 3600e9],
  ["d", 86400e9],
];
const NANOSECONDS = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9, m: 60e9, min: 60e9, h: 3600e9 };

const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 3 });

/** 1234567 -> "1,234,567"; fractions keep at most three digits. */
export function thousands(number) {
  return grouped.format(number);
}

/** "1 event", "2,000 events". */
export function counted(number, noun, plural = `${noun}s`) {
  return `${thousands(number)} ${number === 1 ? noun : plural}`;
}

/** A duration in `unit` in the largest unit that keeps three digits: 12400 us -> "12.4 ms". */
export function duration(amount, unit) {
  const [name, size] = unitFor(amount, unit);
  if (size === null) return counted(amount, name, name.endsWith("s") ? name : `${name}s`);
  return `${threeDigits((amount * NANOSECONDS[unit]) / size)} ${name}`;
}

/** An instant beside others that lie `span` apart: as many decimals as tell neighbours apart. */
export function instant(amount, unit, span) {
  const [name, size] = unitFor(Math.max(Math.abs(amount), span), unit);
  if (size === null) return counted(amount, name, name.endsWith("s") ? name : `${name}s`);
  const scale = NANOSECONDS[unit] / size;
  const wanted = Math.ceil(-Math.log10(Math.max((span * scale) / 10000, 1e-12)));
  const exact = Math.round(Math.log10(1 / scale)) + (Number.isInteger(amount) ? 0 : 1);
  const digits = Math.max(0, Math.min(wanted, Math.max(exact, 0), 9));
  const decimals = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return `${(amount * scale).toLocaleString("en", decimals)} ${name}`;
}

/** The unit that instants of this size are written in: [name, nanoseconds], or [unit, null]. */
export function unitFor(amount, unit) {
  if (!(unit in NANOSECONDS)) return [unit, null];
  const size = Math.abs(amount) * NANOSECONDS[unit];
  const own = UNITS.find(([, ns]) => ns === NANOSECONDS[unit]) ?? UNITS[0];
  return UNITS.filter(([, ns]) => ns <= size && ns >= own[1]).at(-1) ?? own;
}

/** "9.81", "12.4", "124", "12,400": three digits that count. */
export function threeDigits(number) {
  if (number === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(number)));
  const digits = Math.max(0, Math.min(3, 2 - size));
  return number.toLocaleString("en", { maximumFractionDigits: digits });
}

/** At most `most` characters of a name; what is left out is in its middle, for names differ at their ends. */
export function shortenedInside(name, most) {
  const letters = [...name];
  if (letters.length <= most) return name;
  const last = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - last).join("")}…${letters.slice(letters.length - last).join("")}`;
}

/** A state or message value on one line; `limit` characters, the rest shown as an ellipsis. */
export function valueText(value, limit = Infinity) {
  const text = plain(value);
  return text.length > limit ? `${text.slice(0, limit - 1)}…` : text;
}

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

function isObject(value) {
  return value !== null && typeof value === "object" && !Array.isArray(value);
}

/** Round places for axis ticks: about `count` of them inside [from, to]. Whole numbers only if asked. */
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
  const places = [];
  for (let k = first; k * step <= to + step * 1e-9; k += 1) places.push(Number((k * step).toPrecision(15)));
  return places;
}

/** Plotly reads a little HTML in its texts; ids are not to be read so. */
export function escapeText(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
