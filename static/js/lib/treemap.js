/**
 * Treemaps: boxes inside a box, whose areas are as their sizes, and which are as close to squares as can be. Pure.
 *
 * Source: Bruls, Huizing and van Wijk, "Squarified Treemaps", 2000.
 */

/**
 * Divides a box among sizes. Returns a box for each size, in their order; what has no size gets no room.
 * @param {number[]} sizes @param {Box} box @returns {Box[]}
 */
export function squarify(sizes, box) {
  const boxes = sizes.map(() => ({ x: box.x, y: box.y, width: 0, height: 0 }));
  const order = [...sizes.keys()].filter((i) => sizes[i] > 0).sort((a, b) => sizes[b] - sizes[a] || a - b);
  const scale = (box.width * box.height) / order.reduce((sum, i) => sum + sizes[i], 0);
  const areas = order.map((i) => sizes[i] * scale);
  let rest = box;
  for (let first = 0; first < order.length;) {
    const end = endOfRow(areas, first, Math.min(rest.width, rest.height));
    const row = areas.slice(first, end);
    divideRow(row, rest).forEach((part, i) => {
      boxes[order[first + i]] = part;
    });
    rest = withoutRow(row, rest);
    first = end;
  }
  return boxes;
}

/**
 * Returns how many of the areas stand in rows when the row from `first` on is full: one more would make boxes longer.
 * @param {number[]} areas @param {number} first @param {number} side the length of the row
 */
function endOfRow(areas, first, side) {
  let sum = areas[first];
  let end = first + 1;
  while (end < areas.length) {
    const before = longest(areas[first], areas[end - 1], sum, side);
    if (longest(areas[first], areas[end], sum + areas[end], side) > before) break;
    sum += areas[end];
    end += 1;
  }
  return end;
}

/**
 * Returns the largest ratio of the sides of the boxes in a row.
 * @param {number} most @param {number} least @param {number} sum @param {number} side
 */
function longest(most, least, sum, side) {
  return Math.max((side * side * most) / (sum * sum), (sum * sum) / (side * side * least));
}

/** @param {number[]} row @param {Box} rest @returns {Box[]} */
function divideRow(row, rest) {
  const thick = thickness(row, rest);
  let { x, y } = rest;
  return row.map((area) => {
    const part = isWide(rest)
      ? { x, y, width: thick, height: area / thick }
      : { x, y, width: area / thick, height: thick };
    if (isWide(rest)) y += part.height;
    else x += part.width;
    return part;
  });
}

/** @param {number[]} row @param {Box} rest @returns {Box} */
function withoutRow(row, rest) {
  const { x, y, width, height } = rest;
  const thick = thickness(row, rest);
  return isWide(rest)
    ? { x: x + thick, y, width: Math.max(0, width - thick), height }
    : { x, y: y + thick, width, height: Math.max(0, height - thick) };
}

/** @param {number[]} row @param {Box} rest */
function thickness(row, rest) {
  return row.reduce((sum, area) => sum + area, 0) / Math.min(rest.width, rest.height);
}

/** @param {Box} box */
function isWide({ width, height }) {
  return width >= height;
}
