/** Logs of several processes, a file for each, which are one recording. */

const LOOKED_AT = 1_000_000; // bytes of each file
const CLOCK = /\{\s*\\?"[^"\\{}]+\\?"\s*:\s*\d+(?:\s*,\s*\\?"[^"\\{}]+\\?"\s*:\s*\d+)*\s*\}/;
const VECTOR = /^\s*\[?\s*\d+(?:[\s,]+\d+)+\s*\]?\s*$/; // a node's vector timestamp

/**
 * Parts files into those that are one recording and the others. Logs with vector clocks belong together if one of them
 * counts events of a process that it does not hold.
 * @param {File[]} files @returns {Promise<{ together: File[], apart: File[] }>}
 */
export async function ofProcesses(files) {
  const texts = await Promise.all(files.map((file) => file.slice(0, LOOKED_AT).text()));
  const lacks = texts.map(lacksProcesses);
  const together = files.filter((_, place) => lacks[place] !== null);
  if (together.length < 2 || !lacks.some(Boolean)) return { together: [], apart: files };
  return { together, apart: files.filter((file) => !together.includes(file)) };
}

/**
 * Tells whether the clocks of a log count events of processes that it does not hold. Null if it has no clocks.
 * @param {string} text
 */
export function lacksProcesses(text) {
  const lines = text.split("\n").filter((line) => line.trim());
  if (/"kind"\s*:\s*"header"/.test(lines[0] ?? "")) return null;
  if (lines.length && lines.slice(0, 20).every((line) => VECTOR.test(line))) return true;
  const counted = new Set();
  const own = new Set();
  for (const line of lines) {
    const [clock] = line.match(CLOCK) ?? [];
    if (clock === undefined) continue;
    const names = [...clock.matchAll(/"([^"\\{}]+)\\?"\s*:/g)].map(([, name]) => name);
    const words = new Set(line.replace(clock, " ").split(/[\s"',:;{}[\]]+/));
    for (const name of names) {
      counted.add(name);
      if (words.has(name)) own.add(name);
    }
  }
  if (!own.size) return null;
  return [...counted].some((name) => !own.has(name));
}
