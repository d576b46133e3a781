/** Dragging rows of the timeline by their handles, with a mouse, a pen or a finger. */

const EDGE = 48; // pixels at the edges of the window where it scrolls
const SCROLL = 12; // pixels of one step

/**
 * Lets rows of `root` be dragged. `moved` is called with a row that lies elsewhere than before.
 * @param {HTMLElement} root @param {(row: HTMLElement) => void} moved
 */
export function dragRows(root, moved) {
  /** @type {{ row: HTMLElement, list: HTMLElement, next: Element | null } | null} */
  let held = null;

  root.addEventListener("pointerdown", (/** @type {PointerEvent} */ event) => {
    const handle = /** @type {HTMLElement} */ (/** @type {Element} */ (event.target).closest("[data-handle]"));
    if (!handle || event.button !== 0) return;
    event.preventDefault();
    const row = /** @type {HTMLElement} */ (handle.closest("[data-row]"));
    held = { row, list: row.parentElement, next: row.nextElementSibling };
    handle.setPointerCapture(event.pointerId);
    row.classList.add("is-dragged");
  });
  root.addEventListener("pointermove", (/** @type {PointerEvent} */ event) => {
    if (!held) return;
    scrollAt(event.clientY);
    follow(held.row, event.clientX, event.clientY);
  });
  root.addEventListener("pointerup", () => end(true));
  root.addEventListener("pointercancel", () => end(false));
  document.addEventListener("keydown", (event) => {
    if (held && event.key === "Escape") end(false);
  });

  /** @param {boolean} isKept */
  function end(isKept) {
    if (!held) return;
    const { row, list, next } = held;
    held = null;
    row.classList.remove("is-dragged");
    const isMoved = row.parentElement !== list || row.nextElementSibling !== next;
    if (!isKept) list.insertBefore(row, next);
    else if (isMoved) moved(row);
  }
}

/**
 * Puts a row where the pointer is: before or after the row there, or into an empty group.
 * @param {HTMLElement} row @param {number} x @param {number} y
 */
function follow(row, x, y) {
  for (const element of document.elementsFromPoint(x, y)) {
    if (row.contains(element)) continue;
    const list = /** @type {HTMLElement} */ (element.closest(".review-rows"));
    if (!list || (row.classList.contains("is-group") && list.dataset.group)) continue;
    const over = /** @type {HTMLElement} */ (element.closest("[data-row]"));
    if (over && over.parentElement === list) putBeside(row, over, y);
    else if (!list.children.length) list.append(row);
    return;
  }
}

/** @param {HTMLElement} row @param {HTMLElement} over @param {number} y */
function putBeside(row, over, y) {
  const { top, height } = over.getBoundingClientRect();
  if (y < top + height / 2) over.before(row);
  else over.after(row);
}

/** @param {number} y */
function scrollAt(y) {
  if (y < EDGE) window.scrollBy(0, -SCROLL);
  else if (y > window.innerHeight - EDGE) window.scrollBy(0, SCROLL);
}
