/** Lines of many parts as shapes, for Plotly makes an element of each part of a line, but one of a shape. Pure. */

const MANY = 50; // parts

/**
 * Returns a figure in which the lines of many parts are shapes below the other traces. Lines that answer the pointer
 * stay lines.
 * @param {Figure} figure @returns {Figure}
 */
export function withShapes({ data, layout }) {
  const long = data.filter(isLong);
  if (!long.length) return { data, layout };
  const shapes = [...(layout.shapes ?? []), ...long.map(shapeOf)];
  return { data: data.filter((trace) => !isLong(trace)), layout: { ...layout, shapes } };
}

/** @param {Trace} trace */
function isLong({ mode, fill, hoverinfo, x }) {
  return mode === "lines" && !fill && hoverinfo === "skip" && x.filter((at) => at === null).length > MANY;
}

/** @param {Trace} trace */
function shapeOf({ x, y, xaxis, yaxis, line: { color, width, dash } }) {
  let path = "";
  let next = "M";
  x.forEach((at, i) => {
    if (at !== null) path += `${next}${at},${y[i]}`;
    next = at === null ? "M" : "L";
  });
  const axes = { xref: xaxis ?? "x", yref: yaxis ?? "y" };
  return { type: "path", layer: "below", ...axes, path, line: { color, width, dash: dash ?? "solid" } };
}
