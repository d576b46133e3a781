/** The graph of global states: arrow keys go from state to state, and a chosen state is described in place. */

import "../../lib/svg-picture.js";

const LINK = "a[data-state]";
const STEPS = new Map([
  ["ArrowRight", [1, 0]],
  ["ArrowLeft", [-1, 0]],
  ["ArrowDown", [0, 1]],
  ["ArrowUp", [0, -1]],
]);

const graph = document.getElementById("states-graph");
if (graph) mount(graph);

/** @param {HTMLElement} root */
function mount(root) {
  const states = /** @type {SVGAElement[]} */ ([...root.querySelectorAll(LINK)]);
  const first = states.find((state) => state.classList.contains("is-chosen")) ?? states[0];
  for (const state of states) state.setAttribute("tabindex", state === first ? "0" : "-1");
  root.addEventListener("keydown", (event) => {
    const step = STEPS.get(event.key);
    const from = /** @type {Element} */ (event.target).closest(LINK);
    const to = step && from && neighbour(states, /** @type {SVGAElement} */ (from), step);
    if (!to) return;
    event.preventDefault();
    from.setAttribute("tabindex", "-1");
    to.setAttribute("tabindex", "0");
    to.focus();
  });
  document.addEventListener("click", (event) => {
    const link = /** @type {Element} */ (event.target).closest(`${LINK}, a[data-go]`);
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    describe(states, link.getAttribute("href"), link.getAttribute("data-state") ?? link.getAttribute("data-go"));
  });
  const [x, y] = middle(first);
  const frame = root.parentElement;
  frame.scrollTo(x - frame.clientWidth / 2, y - frame.clientHeight / 2);
}

/**
 * Returns the nearest state in one direction: the next level, or the next state of the same one.
 * @param {SVGAElement[]} states @param {SVGAElement} from @param {number[]} step @returns {SVGAElement | null}
 */
function neighbour(states, from, [across, down]) {
  const [x, y] = middle(from);
  const ahead = states.filter((state) => {
    const [otherX, otherY] = middle(state);
    return across ? (otherX - x) * across > 1 : Math.abs(otherX - x) < 1 && (otherY - y) * down > 1;
  });
  const distance = (/** @type {SVGAElement} */ state) => {
    const [otherX, otherY] = middle(state);
    return Math.abs(otherX - x) * 1000 * Math.abs(across) + Math.abs(otherY - y);
  };
  return ahead.reduce((best, state) => (!best || distance(state) < distance(best) ? state : best), null);
}

/** @param {SVGAElement} state @returns {[number, number]} */
function middle(state) {
  const { x, y, width, height } = state.querySelector("rect").getBBox();
  return [x + width / 2, y + height / 2];
}

/** @param {SVGAElement[]} states @param {string} address @param {string} number */
async function describe(states, address, number) {
  const answer = await fetch(address);
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const panel = page.getElementById("state");
  if (!answer.ok || !panel) {
    location.assign(address);
    return;
  }
  document.getElementById("state").replaceWith(panel);
  document.getElementById("try").replaceWith(page.getElementById("try"));
  history.replaceState(null, "", address);
  for (const state of states) state.classList.toggle("is-chosen", state.dataset.state === number);
}
