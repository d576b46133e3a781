/** The page of notes as they change: over the websocket, without touching what somebody types. */

import { h, setText, showNote } from "../../lib/dom.js";
import { counted } from "../../lib/format.js";
import { latestWins, openSocket } from "../../lib/socket.js";

const list = () => document.getElementById("notes-list");
/** @type {Set<number>} */
const waiting = new Set(); // notes that have changed and are not shown anew yet
let wasOpen = false;

const refresh = latestWins(async () => {
  const answer = await fetch(location.pathname + location.search, { headers: { "HX-Request": "true" } });
  if (answer.ok) show(new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("notes-list"));
  return true;
});

/**
 * Shows the changed notes of a fresh list, except those in which somebody types.
 * @param {HTMLElement} fresh
 */
function show(fresh) {
  setText(document.getElementById("notes-count"), counted(Number(fresh.dataset.total), "note"));
  if (!list().querySelector(".entries") || !fresh.querySelector(".entries")) {
    if (isBusy(list())) return;
    waiting.clear();
    list().replaceWith(fresh);
    window.htmx.process(fresh);
    return;
  }
  for (const id of waiting) showEntry(id, fresh);
}

/** @param {number} id @param {HTMLElement} fresh */
function showEntry(id, fresh) {
  const [old, next] = [list(), fresh].map((root) => root.querySelector(`#entry-${id}`));
  if (old && isBusy(old)) return markChanged(old);
  waiting.delete(id);
  if (!next) return old?.remove();
  const after = next.nextElementSibling && document.getElementById(next.nextElementSibling.id);
  if (old) old.replaceWith(next);
  else if (after) after.before(next);
  else list().querySelector(".entries").append(next);
  return window.htmx.process(next);
}

/**
 * Returns whether somebody types in an element, or stands in it with the keyboard.
 * @param {Element} element
 */
function isBusy(element) {
  return element.contains(document.activeElement) || element.querySelector("details[open] textarea") !== null;
}

/** @param {Element} entry */
function markChanged(entry) {
  if (entry.querySelector(".entry-changed")) return;
  const text = "This note has changed meanwhile. It is shown anew when you are done.";
  entry.append(h("p.small.soft.entry-changed", { role: "status" }, text));
}

function retry() {
  if (waiting.size) setTimeout(() => refresh(null), 0); // after the focus has moved
}

if (list()) {
  openSocket(list().dataset.socket, {
    onMessage(/** @type {any} */ { type, id }) {
      if (type !== "entry") return;
      waiting.add(id);
      refresh(null);
    },
    onState(/** @type {string} */ state, /** @type {string} */ sentence) {
      if (state === "open" && wasOpen) {
        for (const entry of list().querySelectorAll(".entry")) waiting.add(Number(entry.id.replace("entry-", "")));
        refresh(null);
      }
      if (state === "open") {
        wasOpen = true;
        list().dataset.live = "yes";
      }
      if (state === "ended") showNote(sentence);
    },
  });
  document.addEventListener("toggle", retry, true);
  document.addEventListener("focusout", retry);
}
