/** Tables as CSV that a spreadsheet opens without running texts of a log as formulas. */

const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;
const NEEDS_QUOTES = /[",;\t\r\n]/;

/**
 * Writes one line per row. Numbers stay numbers; a text that a spreadsheet would run gets an apostrophe.
 * @param {any[]} head @param {any[][]} rows
 */
export function csv(head, rows) {
  return [head, ...rows].map((row) => row.map((cell) => quoted(harmless(cell))).join(",")).join("\n") + "\n";
}

/** @param {any} cell */
function harmless(cell) {
  if (typeof cell === "number") return String(cell);
  const text = String(cell ?? "");
  return FORMULA.test(text) ? `'${text}` : text;
}

/** @param {string} text */
function quoted(text) {
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
