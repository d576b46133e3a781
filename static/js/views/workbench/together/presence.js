/** Who is here: a menu of people, and a mark where the cursor of each stands in the diagram and the overview. */

import { h, renderOnce } from "../../../lib/dom.js";
import { counted, thousands } from "../../../lib/format.js";
import { hasAny } from "../../../lib/player.js";
import { initials, shortName, TONES, toneOf } from "../../../lib/together.js";

const ANNOUNCED_EVERY = 1000; // ms
const MOST_FACES = 4;
const ROOM = 60; // pixels that initials need to the right of a mark
const MOVES = ["from", "to", "axis", "window", "size", "folded", "tables", "lanes", "idle", "overview", "order"];

/** @param {App} app @param {() => boolean} isFollowing */
export function createPresence(app, isFollowing) {
  const { player, root } = app;
  const menu = root.querySelector("#wb-people");
  const [summary, list] = [menu.querySelector("summary"), menu.querySelector("ul")];
  const diagram = h("div.wb-others", { role: "group", "aria-label": "Where others are, in the diagram" });
  const overview = h("div.wb-others", { "aria-hidden": "true" });
  root.querySelector("#wb-spacetime").parentElement.append(diagram);
  root.querySelector("#wb-overview").parentElement.append(overview);
  let announcedAt = -Infinity;
  /** @type {number | null} */
  let timer = null;

  /** Tells the others where the cursor is, at most once in ANNOUNCED_EVERY. Nobody is told who is alone. */
  function announce() {
    if (!(app.room?.total > 1)) return;
    if (timer === null) timer = setTimeout(send, Math.max(0, announcedAt + ANNOUNCED_EVERY - performance.now()));
  }

  function send() {
    timer = null;
    announcedAt = performance.now();
    app.socket.send({ type: "here", axis: player.state.axis, at: Math.floor(player.state.now) });
  }

  /** Returns the other people, without oneself. */
  const others = () => (app.room?.people ?? []).filter(({ person }) => person !== app.room.you.person);

  function draw() {
    const { total = 0 } = app.room ?? {};
    menu.hidden = total < 2;
    if (total > 1 && announcedAt === -Infinity) announce();
    drawFaces(total);
    drawList(total);
    drawMarks();
  }

  /** @param {number} total */
  function drawFaces(total) {
    const shown = others().slice(0, MOST_FACES);
    const more = total - 1 - shown.length;
    const key = `${shown.map(({ person }) => person)} ${more}`;
    summary.setAttribute("aria-label", `${counted(total, "person", "people")} here. Show who`);
    renderOnce(summary, key, () => [...shown.map(face), more > 0 ? h("span.small", {}, `+${thousands(more)}`) : null]);
  }

  /** @param {RoomPerson} person */
  function face({ person, name }) {
    return h("span.wb-face", { "data-tone": toneOf(person), title: name, "aria-hidden": "true" }, initials(name));
  }

  /** @param {number} total */
  function drawList(total) {
    if (!menu.open) return;
    const hidden = total - app.room.people.length;
    const rest = hidden > 0 ? [h("li.soft", {}, `${thousands(hidden)} more people are here.`)] : [];
    const focused = list.contains(document.activeElement) ? document.activeElement.getAttribute("data-for") : null;
    list.replaceChildren(...app.room.people.map(row), ...rest);
    if (focused) list.querySelector(`[data-for="${CSS.escape(focused)}"]`)?.focus();
  }

  /** @param {RoomPerson} person */
  function row(person) {
    const { you, presenter } = app.room;
    const isYou = person.person === you.person;
    const role = presenter?.person === person.person ? "presents" : person.is_following ? "follows" : "";
    const where = [role, isYou ? "" : placeText(person), `shown in ${TONES[toneOf(person.person) - 1]}`];
    return h(
      "li",
      {},
      face(person),
      h("span.wb-person", {}, isYou ? `${person.name} (you)` : person.name,
        h("span.soft.small", {}, where.filter(Boolean).join(", "))),
      canGo(person) && !isYou ? tool(`go ${person.person}`, "Go there", `Go to where ${person.name} is`,
        () => player.seek(person.at)) : null,
      you.presents && person.may_present && !isYou ? tool(`hand ${person.person}`, "Hand over",
        `Offer ${person.name} to present`, () => offer(person)) : null,
    );
  }

  /** @param {string} name @param {string} label @param {string} title @param {() => void} run */
  function tool(name, label, title, run) {
    const onclick = () => {
      menu.open = false;
      run();
    };
    return h("button.btn.btn-quiet", { type: "button", "data-for": name, "aria-label": title, title, onclick }, label);
  }

  /** @param {RoomPerson} person */
  function offer({ person, name }) {
    app.socket.send({ type: "offer", person });
    app.say(`${shortName(name)} is asked to present.`);
  }

  /** @param {RoomPerson} person */
  const canGo = ({ axis, at, recording }) => at !== null && axis === player.state.axis
    && recording === app.recording.id;

  /** @param {RoomPerson} person */
  function placeText({ axis, at, recording }) {
    if (recording !== app.recording.id) return `looks at recording ${recording}`;
    if (at === null) return "place not known";
    return axis === "order" ? `at event ${thousands(Math.round(at))}` : `at ${app.readInstant(at)}`;
  }

  function drawMarks() {
    const shown = others().filter((person) => canGo(person) && !(isFollowing() && isPresenter(person)));
    const g = app.spacetime.measures();
    const inView = shown.filter(({ at }) => at >= g.from && at <= g.to);
    renderOnce(diagram, JSON.stringify([inView, g.from, g.to, g.width, g.left]), () => inView.map((person) => {
      const x = Math.round(g.x(person.at));
      return mark(x > g.width - ROOM ? "button.wb-other.is-late" : "button.wb-other", person, `${x}px`);
    }));
    const { from, to } = player.margins();
    renderOnce(overview, JSON.stringify([shown, from, to]), () => shown.map((person) =>
      mark("span.wb-other", person, `${((person.at - from) / (to - from)) * 100}%`)));
  }

  /** @param {RoomPerson} person */
  const isPresenter = ({ person }) => person === app.room.presenter?.person;

  /** @param {string} selector @param {RoomPerson} person @param {string} left */
  function mark(selector, person, left) {
    const title = `${person.name}, ${placeText(person)}`;
    const attributes = { "data-tone": toneOf(person.person), title, style: { left } };
    if (selector.startsWith("span")) return h(selector, attributes);
    const onclick = () => player.seek(person.at);
    return h(selector, { ...attributes, type: "button", "aria-label": `Go to ${title}`, onclick },
      h("span", {}, initials(person.name)));
  }

  menu.addEventListener("toggle", () => app.room && drawList(app.room.total));
  player.subscribe((_, keys) => {
    if (hasAny(keys, "now", "axis")) announce();
    if (app.room?.total > 1 && hasAny(keys, ...MOVES)) drawMarks();
  });

  return { draw, announce };
}
