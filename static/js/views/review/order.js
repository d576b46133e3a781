/** Where rows of a timeline go: the pure half of dragging and of moving by keys. */

/**
 * Returns the place of a row of a list for the server: its group, and the row before which it lies.
 * @param {HTMLElement} row @returns {{ group: number | null, before: number | null }}
 */
export function placeOf(row) {
  const list = row.parentElement;
  const next = /** @type {HTMLElement | null} */ (row.nextElementSibling);
  return { group: numberOf(list.dataset.group), before: numberOf(next ? next.dataset.row : list.dataset.next) };
}

/** @param {string | undefined} text */
function numberOf(text) {
  return text ? Number(text) : null;
}

/**
 * Says where a row of a list lies, for people who do not see it.
 * @param {HTMLElement} row
 */
export function spokenPlace(row) {
  const rows = [...row.parentElement.children];
  return `Row ${rows.indexOf(row) + 1} of ${rows.length}`;
}

/**
 * Moves a row by one place among those beside it. Returns whether it moved.
 * @param {HTMLElement} row @param {"up" | "down"} direction
 */
export function step(row, direction) {
  const other = direction === "up" ? row.previousElementSibling : row.nextElementSibling;
  if (!other) return false;
  if (direction === "up") other.before(row);
  else other.after(row);
  return true;
}

/**
 * Returns what the form of a row says, as the API takes it. An empty field shows again what the entry says.
 * @param {Record<string, string>} fields @param {string} group the group in which the row lies now
 */
export function rowChange(fields, group) {
  /** @type {Record<string, any>} */
  const change = { revision: Number(fields.revision), text: fields.text || null };
  if ("kind" in fields) change.kind = fields.kind || null;
  if ("clock" in fields) change.clock = fields.clock || null;
  if ("at" in fields) change.at = instantOf(fields.at);
  if ("group" in fields && fields.group !== group) change.group = numberOf(fields.group);
  return change;
}

/** @param {string} text */
function instantOf(text) {
  const digits = text.trim().replaceAll(",", "");
  if (!digits) return null;
  return /^-?\d{1,15}$/.test(digits) ? Number(digits) : digits;
}

/**
 * Returns the parts of the page to load for several changes: many rows are one timeline.
 * @param {{ part: string, row: number | null }[]} changes
 */
export function partsOf(changes) {
  const parts = new Set(changes.map(({ part }) => (part === "people" || part === "exhibits" ? "head" : part)));
  if (parts.has("head") && changes.some(({ part }) => part === "exhibits")) parts.add("log");
  if (parts.has("timeline")) parts.add("log");
  const rows = new Set(changes.filter(({ part }) => part === "row").map(({ row }) => row));
  if (rows.size > MOST_ROWS) parts.add("timeline");
  parts.delete("row");
  return { parts: [...parts], rows: parts.has("timeline") ? [] : [...rows] };
}

const MOST_ROWS = 3; // loaded one by one
