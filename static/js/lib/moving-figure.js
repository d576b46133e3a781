/**
 * What moves over a chart: a second, thin figure of Plotly, in pixels from the chart's top left corner.
 *
 * Each drawing says where the marks are now and where they will be a moment later; Plotly moves them evenly in between,
 * so a browser without a graphics card shows sixty frames a second (docs/workbench.md has what was tried).
 */

export const GLIDE = 100; // ms between two drawings while the replay plays
const OFF = -1e4; // pixels: a place that is in no view
const HIDDEN = { visible: false, fixedrange: true };

/**
 * Makes the figure. It draws nothing until Plotly is there.
 * @param {HTMLElement} plot the element of Plotly
 * @param {{ load: () => Promise<any>, config: object, onError: (error: Error) => void }} options `load` resolves to
 *   Plotly
 */
export function createMovingFigure(plot, { load, config, onError }) {
  /** @type {any} */
  let Plotly = null;
  /** @type {MovingMarks | null} */
  let drawn = null;
  /** @type {Trace[]} the traces of the last drawing, as they were given */
  let given = [];
  let due = 0;

  /**
   * Draws marks.
   * @param {MovingMarks} marks @param {number} [duration] ms in which they move there from where they are
   */
  function draw(marks, duration = 0) {
    const isSameView = marks.view === drawn?.view;
    const changed = marks.data.flatMap((trace, i) => (trace === given[i] ? [] : [i]));
    given = marks.data;
    drawn = { ...marks, data: marks.data.map(neverEmpty) };
    if (!Plotly) return;
    if (isSameView) animate(changed, duration);
    else Plotly.react(plot, drawn.data, layoutOf(marks.size), config);
  }

  /**
   * Moves the traces that are others than those drawn last; Plotly spends time on each that it is given.
   * @param {number[]} traces @param {number} duration
   */
  function animate(traces, duration) {
    if (!traces.length) return;
    const data = traces.map((i) => drawn.data[i]);
    const options = {
      mode: "immediate",
      transition: { duration, easing: "linear" },
      frame: { duration, redraw: false },
    };
    Plotly.animate(plot, { data, traces }, options).catch(() => {}); // a later drawing took its place
  }

  return {
    draw,
    /** Loads Plotly, with which marks are drawn from then on. */
    async begin() {
      try {
        Plotly = await load();
        if (drawn) await Plotly.react(plot, drawn.data, layoutOf(drawn.size), config);
      } catch (error) {
        onError(error);
      }
    },
    /**
     * Draws marks where they are now and lets them move to where they are `GLIDE` later; in the same view not before
     * the last such move is over.
     * @param {(later: number) => MovingMarks} marksAfter returns the marks after so many ms
     */
    glide(marksAfter) {
      const now = performance.now();
      const marks = marksAfter(0);
      if (now < due && marks.view === drawn?.view) return;
      due = now + GLIDE;
      draw(marks);
      draw(marksAfter(GLIDE), GLIDE);
    },
  };
}

/**
 * Returns a trace with a mark out of view if it has none: `Plotly.animate` leaves an empty trace as it was drawn.
 * @param {Trace} trace @returns {Trace}
 */
function neverEmpty(trace) {
  return trace.x.length ? trace : { ...trace, x: [OFF], y: [OFF], ids: ["none"], text: [""] };
}

/**
 * Returns the layout of a figure in pixels.
 * @param {Size} size
 */
export function layoutOf({ width, height }) {
  return {
    width,
    height,
    margin: { l: 0, r: 0, t: 0, b: 0 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    font: { family: "system-ui, sans-serif", size: 12 },
    hovermode: false,
    dragmode: false,
    xaxis: { ...HIDDEN, range: [0, width] },
    yaxis: { ...HIDDEN, range: [height, 0] },
  };
}
