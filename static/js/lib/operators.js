/**
 * Where the circles of a dataflow's operators stand, whose layers the server sends. Pure; lengths are in pixels.
 *
 * An operator is drawn as one circle, or open: as a column of its subtasks below its name.
 */

const ROW = 38; // for a circle with a line of text below it
const LEAST_ROW = 18;
const ABOVE = 36; // for the processes without channels
const HEAD = 0.5; // rows: room for the name above an open operator
const PASSAGE = 0.5; // rows: room for channels that pass a layer
const APART = 0.6; // rows between two pipelines
const MARGIN = 8;

/**
 * Returns the operators of a topology as the server has arranged them, or null if it stands on a ring.
 * @param {ArrangementPayload} arrangement @returns {Dataflow | null}
 */
export function dataflowOf({ operators, bands, alone, is_guessed: isGuessed }) {
  if (!operators.length) return null;
  return { operators: new Map(operators.map((each) => [each.key, each])), bands, alone, isGuessed };
}

/**
 * Returns the operators that are open: those in which all subtasks fit, unless somebody has chosen otherwise.
 * @param {Dataflow} flow @param {Map<string, boolean>} chosen by the key of the operator @param {Size} size
 */
export function openOperators(flow, chosen, { height }) {
  const several = [...flow.operators.values()].filter(({ members }) => members.length > 1);
  const free = several.filter(({ key }) => !chosen.has(key)).sort((a, b) => b.members.length - a.members.length);
  const open = new Set(free.map(({ key }) => key));
  const usable = height - 2 * MARGIN - (flow.alone.length ? ABOVE : 0);
  for (const { key } of free) {
    if (rowsOf(flow, open, Infinity) * ROW <= usable) break;
    open.delete(key);
  }
  for (const { key } of several) if (chosen.get(key)) open.add(key);
  return open;
}

/**
 * Returns the height of all pipelines in rows.
 * @param {Dataflow} flow @param {Set<string>} open @param {number} most rows of one operator
 */
function rowsOf(flow, open, most) {
  const heights = flow.bands.map((band) => bandRows(flow, band, open, most));
  return heights.reduce((sum, rows) => sum + rows, APART * (heights.length - 1));
}

/** @param {Dataflow} flow @param {Dataflow["bands"][0]} band @param {Set<string>} open @param {number} most */
function bandRows(flow, band, open, most) {
  return Math.max(...band.map((layer) => layerRows(flow, layer, open, most)));
}

/** @param {Dataflow} flow @param {(string | null)[]} layer @param {Set<string>} open @param {number} most */
function layerRows(flow, layer, open, most) {
  return layer.reduce((sum, item) => sum + itemRows(flow, item, open, most), 0);
}

/** @param {Dataflow} flow @param {string | null} key @param {Set<string>} open @param {number} most */
function itemRows({ operators }, key, open, most) {
  if (key === null) return PASSAGE;
  return open.has(key) ? Math.min(operators.get(key).members.length, most) + HEAD : 1;
}

/**
 * Returns the circles, the places of the names of open operators, the least distance of two circles, and how many
 * processes have no room.
 * @param {Dataflow} flow @param {Set<string>} open @param {Size} size @returns {PlacedFlow}
 */
export function placeDataflow(flow, open, { width, height }) {
  const top = MARGIN + (flow.alone.length ? ABOVE : 0);
  const usable = height - top - MARGIN;
  let most = Math.max(1, Math.floor(usable / LEAST_ROW));
  while (most > 1 && rowsOf(flow, open, most) * LEAST_ROW > usable) most -= 1;
  const rows = rowsOf(flow, open, most);
  const row = usable / rows;
  const edge = Math.min(70, width * 0.14);
  /** @type {PlacedFlow} */
  const placed = { circles: [], heads: [], row, apart: width - 2 * edge, hidden: 0 };
  flow.alone.forEach((key, i) => {
    const x = ((i + 1) * width) / (flow.alone.length + 1);
    placed.circles.push({ operator: key, processes: flow.operators.get(key).members, x, y: (MARGIN + top) / 2 });
  });
  let y = top;
  for (const band of flow.bands) {
    const high = bandRows(flow, band, open, most) * row;
    const apart = (width - 2 * edge) / (band.length - 1);
    placed.apart = Math.min(placed.apart, apart);
    for (const [n, layer] of band.entries()) {
      const x = edge + n * apart;
      let at = y + (high - layerRows(flow, layer, open, most) * row) / 2;
      for (const item of layer) {
        if (item !== null) placeOperator(flow, item, open, { x, top: at, most, row, apart }, placed);
        at += itemRows(flow, item, open, most) * row;
      }
    }
    y += high + APART * row;
  }
  return placed;
}

/**
 * Adds one circle of an operator, or those of its subtasks: in one column or, if there are many, in several.
 * @param {Dataflow} flow @param {string} key @param {Set<string>} open
 * @param {{ x: number, top: number, most: number, row: number, apart: number }} room @param {PlacedFlow} placed
 * @returns {void}
 */
function placeOperator({ operators }, key, open, { x, top, most, row, apart }, placed) {
  const { members } = operators.get(key);
  if (!open.has(key)) return void placed.circles.push({ operator: key, processes: members, x, y: top + row / 2 });
  const columns = Math.min(Math.ceil(members.length / most), Math.max(1, Math.floor((apart * 0.8) / LEAST_ROW)));
  const shown = members.slice(0, columns * most);
  const high = Math.ceil(shown.length / columns);
  placed.heads.push({ operator: key, x, y: top + (HEAD * row) / 2 });
  placed.hidden += members.length - shown.length;
  shown.forEach((process, i) => placed.circles.push({
    operator: key,
    processes: [process],
    x: x + (Math.floor(i / high) - (columns - 1) / 2) * LEAST_ROW,
    y: top + (HEAD + (i % high) + 0.5) * row,
  }));
}
