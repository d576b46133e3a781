/** People who look at the same recording: how they are shown, and whether somebody moved by themself. Pure. */

import { counted } from "./format.js";
import { SECONDS_PER_VIEW } from "./player.js";

/** The names of the colours of people, in the order of --color-series-1 and the following. */
export const TONES = ["blue", "orange", "green", "pink", "red", "sky blue", "yellow"];

const PLAYED = ["now", "from", "to"];

/**
 * Returns one or two letters for a person, of the name before the @ of an e-mail address.
 * @param {string} name
 */
export function initials(name) {
  const words = name.split("@")[0].split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const [first = "?", second] = words;
  return (second ? letter(first) + letter(second) : [...first].slice(0, 2).join("")).toUpperCase();
}

/** @param {string} word */
const letter = (word) => [...word][0];

/**
 * Returns the number of a person's colour, counted from 1.
 * @param {number} person
 */
export function toneOf(person) {
  return (person % TONES.length) + 1;
}

/**
 * Returns what is before the @ of an e-mail address.
 * @param {string | null | undefined} name
 */
export function shortName(name) {
  return (name ?? "").split("@")[0] || "somebody";
}

/**
 * Returns how far the cursor moves on a scale in a millisecond of playing.
 * @param {{ span: number }} scale @param {number} speed
 */
export function playRate({ span }, speed) {
  return ((span / SECONDS_PER_VIEW) * speed) / 1000;
}

/**
 * Returns where a cursor is that was at `now` some milliseconds ago and has played on since, at most at `end`.
 * @param {number} now @param {number} elapsed @param {number} speed @param {FoldScale} scale @param {number} end
 */
export function playedOn(now, elapsed, speed, scale, end) {
  return Math.min(scale.x(scale.u(now) + Math.max(0, elapsed) * playRate(scale, speed)), end);
}

/**
 * Returns whether a change consists of nothing but playing: the cursor went on, and perhaps turned the page.
 * @param {Set<string>} keys @param {Iterable<string>} held the keys that belong to a view
 */
export function isPlaying(keys, held) {
  if (keys.has("sought") || keys.has("playing")) return false;
  const changed = [...held].filter((key) => keys.has(key));
  const hasZoomed = (keys.has("from") || keys.has("to")) && !keys.has("turned");
  return !hasZoomed && changed.every((key) => PLAYED.includes(key));
}

/**
 * Returns a text that differs if two views differ. While a view plays, its cursor and its part in view do not count.
 * @param {View} view @param {{ playing: boolean, speed: number }} state
 */
export function viewKey(view, { playing, speed }) {
  const { now, from, to, ...rest } = view;
  return JSON.stringify([rest, playing ? null : [now, from, to], playing, speed]);
}

/**
 * Returns the arrangement of panels of somebody who stops following: their own one, with what they changed just now.
 * @param {PanelsView} own @param {PanelsView} followed the arrangement that was shown @param {PanelsView} changed
 * @returns {PanelsView}
 */
export function ownPanels(own, followed, changed) {
  const isSame = (/** @type {keyof PanelsView} */ name) =>
    JSON.stringify(followed[name]) === JSON.stringify(changed[name]);
  return {
    folded: toggled(own.folded, followed.folded, changed.folded),
    tables: toggled(own.tables, followed.tables, changed.tables),
    order: isSame("order") ? own.order : changed.order,
    sizes: isSame("sizes") ? own.sizes : changed.sizes,
    tab: isSame("tab") ? own.tab : changed.tab,
  };
}

/**
 * Returns a list in which those names have changed sides that stand in only one of two other lists.
 * @param {string[]} own @param {string[]} before @param {string[]} after
 */
function toggled(own, before, after) {
  const differing = [...before, ...after].filter((name) => before.includes(name) !== after.includes(name));
  return [...own.filter((name) => !differing.includes(name)), ...differing.filter((name) => !own.includes(name))];
}

/**
 * Returns what stands above the diagram about the room, or an empty text.
 * @param {Room | null} room @param {boolean} isFollowing
 */
export function roomSentence(room, isFollowing) {
  if (!room) return "";
  const { you, presenter, requests } = room;
  if (you.is_offered) return `${presenterName(room)} offers you to present. Press y to accept.`;
  if (you.presents && requests.length) {
    const more = requests.length > 1 ? `, and ${requests.length - 1} more` : "";
    return `${shortName(requests[0].name)} asks to present${more}. Press y to hand over.`;
  }
  if (you.presents) return `You present. ${followersText(room)}`;
  if (!presenter) return isFollowing ? "Nobody presents at the moment. You follow as soon as somebody does." : "";
  const name = presenterName(room);
  const away = presenter.is_here ? "" : " The connection of the presenter is lost.";
  if (you.asks) return `You have asked ${name} to let you present.${away}`;
  if (isFollowing) return `You follow ${name}. Move, or press r, to stop.${away}`;
  return `${name.replace(/^another page/, "Another page")} presents. Press r to follow.${away}`;
}

/** @param {Room} room */
function presenterName({ presenter, you }) {
  return presenter.person === you.person ? "another page of yours" : shortName(presenter.name);
}

/** @param {Room} room */
function followersText({ people, you, total }) {
  const count = people.filter((each) => each.is_following && each.person !== you.person).length;
  if (!count) return "Nobody follows yet.";
  const least = total > people.length ? "At least " : "";
  return `${least}${counted(count, "person follows", "people follow")}.`;
}
