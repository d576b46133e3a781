/** Fitting canvases to their boxes, and waiting for the browser to paint. */

const sizes = new WeakMap();
const observer =
  globalThis.ResizeObserver &&
  new ResizeObserver((entries) => entries.forEach(({ target }) => sizes.delete(target)));

/**
 * Returns an element's size in CSS pixels. As measuring costs a layout, it is measured only after a change.
 * @param {Element} element @returns {Size}
 */
export function sizeOf(element) {
  if (!sizes.has(element)) {
    observer.observe(element);
    sizes.set(element, { width: element.clientWidth, height: element.clientHeight });
  }
  return sizes.get(element);
}

/**
 * Fits a canvas to its box and the screen's pixels, clears it, and returns its context, scaled to CSS pixels.
 * @param {HTMLCanvasElement} canvas
 */
export function fitCanvas(canvas) {
  const { width, height } = sizeOf(canvas);
  const ratio = devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(height * ratio);
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}

/** Resolves when everything that is drawn now is on the screen. */
export function afterPaint() {
  return new Promise((resolve) => {
    requestAnimationFrame(() => setTimeout(resolve));
  });
}
