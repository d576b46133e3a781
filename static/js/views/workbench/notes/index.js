/** The panel "Notes": entries that everybody sees, the trail that one person sees, and the pins. */

import { h, setText } from "../../../lib/dom.js";
import { counted } from "../../../lib/format.js";
import { placeHere, placeOfScreen } from "../../../lib/places.js";
import { getJson } from "../../../lib/source.js";
import { readView } from "../../../lib/url-state.js";
import { chosenOf } from "../../../lib/view.js";
import { createEntries } from "./entries.js";
import { createPins } from "./pins.js";
import { entryRow, titleOf, trailRow } from "./rows.js";
import { createTrail } from "./trail.js";

/**
 * Mounts the notes. A sample has no panel, because strangers share it.
 * @param {App} app
 */
export async function mountNotes(app) {
  const panel = app.root.querySelector("#wb-notes");
  if (!panel) return;
  const { player, topology, root } = app;
  /** @param {string} name */
  const part = (name) => root.querySelector(`#wb-notes-${name}`);
  const [toggle, count, list, form, subject, text, kind, problem, trailList, trailTitle, ...more] = [
    ...["toggle", "count", "list", "form", "subject", "text", "kind", "problem", "trail", "trail-title"],
    ...["filter", "open", "day", "due", "newer"],
  ].map(part);
  const [filter, onlyOpen, day, due, newer] = more;
  const token = () => root.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
  const entries = createEntries(app.recording.id, token, draw);
  const trail = createTrail(app, token, drawTrail);
  const pins = createPins(app, shown, open);
  /** @type {Draft | null} */
  let draft = null;

  /** @type {NoteActions} */
  const actions = {
    compose,
    jump,
    keep: (item) => attempt(keep(item)),
    unfold: (entry) => attempt(entries.hear({ id: entry.id, change: "changed" })),
    resolve: (entry, resolved) => attempt(entries.change(entry.id, { resolved })),
    remove(entry, parent) {
      attempt(removed(entry, parent));
    },
  };

  /** @param {{ id: number }} entry @param {{ id: number }} [parent] */
  async function removed(entry, parent) {
    const { sentence } = await getJson(`/api/entries/${entry.id}/leftovers`);
    if (confirm(`Delete this? ${sentence}`)) await entries.remove(entry.id, parent?.id);
  }

  function shown() {
    return entries.all().filter(
      (entry) => (!filter.value || entry.kind === filter.value) && !(onlyOpen.checked && entry.resolved_at),
    );
  }

  function draw() {
    const [all, visible] = [entries.all(), shown()];
    setText(count, all.length ? String(all.length) : "");
    const hidden = all.length - visible.length;
    const empty = all.length
      ? "No note passes the filter."
      : "No notes yet. Press m to write one about what you see, or k to keep where you stopped.";
    const rest = hidden ? h("li.soft.small", {}, `${counted(hidden, "note")} hidden by the filter.`) : null;
    const rows = visible.length ? visible.map((entry) => entryRow(entry, actions)) : [h("li.soft", {}, empty)];
    list.replaceChildren(...rows, ...(rest && visible.length ? [rest] : []));
    pins.draw();
  }

  function drawTrail() {
    const items = trail.items();
    const more = trail.total() - items.length;
    setText(trailTitle, `My trail (${trail.total()}), which only you see`);
    const older = `${counted(more, "older place")} not shown; the API gives all.`;
    const rest = more > 0 ? [h("li.soft.small", {}, older)] : [];
    const none = [h("li.soft", {}, "Where you stop, a line appears here. It goes after 7 days.")];
    const rows = items.map((item) => trailRow(item, actions, entries.mayWrite()));
    trailList.replaceChildren(...(rows.length ? [...rows, ...rest] : none));
  }

  /** @param {boolean} isOpen */
  function show(isOpen) {
    panel.hidden = !isOpen;
    root.classList.toggle("has-notes", isOpen);
    toggle.setAttribute("aria-expanded", String(isOpen));
    if (isOpen) panel.scrollIntoView({ block: "nearest" });
  }

  /** @param {NoteEntry} entry */
  function open(entry) {
    show(true);
    const row = list.querySelector(`[data-entry="${entry.id}"]`);
    row?.scrollIntoView({ block: "nearest" });
    row?.focus();
  }

  /**
   * Goes to a place: in this page if the workbench shows it, else on the page that does.
   * @param {NotePlace} place
   */
  function jump(place) {
    if (!place.workbench && app.isVisitor) return app.say("The public link does not show the page of this place.");
    if (!place.workbench) return location.assign(place.address);
    const { view } = readView(place.workbench.split("?")[1] ?? "", topology);
    player.pause();
    if (view.axis) player.set({ axis: view.axis });
    player.set({ cut: view.cut ?? null, selection: chosenOf(view.selection, topology) });
    if (view.snapshot !== undefined) return app.chooseSnapshot(view.snapshot);
    const at = player.state.axis === "order" ? place.step : place.at;
    if (at !== null) player.seek(at);
    return undefined;
  }

  /**
   * Opens the form for a new entry, an answer, a changed text, or words beside an item of the trail.
   * @param {Draft} next
   */
  function compose(next) {
    show(true);
    draft = next;
    form.hidden = false;
    text.value = next.text ?? "";
    kind.hidden = next.of === "answer" || next.of === "edit";
    text.required = next.of !== "keep";
    due.value = next.entry?.due_on ?? "";
    if (next.of === "edit") kind.value = next.entry.kind ?? "note";
    showDay();
    setText(subject, aboutOf(next));
    setText(problem, "");
    newer.hidden = true;
    text.focus();
    if (next.of === "new") attempt(sayWhere(next));
  }

  /**
   * Shows what is at the place of a new entry, as soon as the server has said it.
   * @param {Draft} next
   */
  async function sayWhere(next) {
    await app.playing.stepped();
    if (draft === next) Object.assign(next, placesHere());
    const query = new URLSearchParams({ place: next.place, seen: next.seen });
    const { sentence, reason } = await getJson(`/api/recordings/${app.recording.id}/place?${query}`);
    if (draft === next) setText(subject, sentence || reason);
  }

  /** @param {Draft} next */
  function aboutOf(next) {
    if (next.of === "answer") return `Answer to ${titleOf(next.entry.kind).toLowerCase()} ${next.entry.number}`;
    if (next.of === "edit") return "Change the text";
    return next.of === "keep" ? next.item.sentence : "At this place";
  }

  /** A follow-up has a day on which it is due; an answer and other kinds have none. */
  function showDay() {
    day.hidden = draft?.of === "answer" || kind.value !== "follow-up";
  }

  function closeForm() {
    draft = null;
    form.hidden = true;
    toggle.focus();
  }

  function placesHere() {
    const [{ state }, bounds] = [player, player.bounds()];
    const place = placeHere(state, app.snapshotHere(), topology, bounds);
    return { place, seen: placeOfScreen(state, topology, bounds) };
  }

  /** @param {TrailItem} item */
  async function keep(item) {
    const entry = await entries.keepItem(item.id, {});
    await trail.load();
    app.say(`Kept as note ${entry.number}: ${entry.sentence}`);
  }

  async function keepHere() {
    await loaded;
    if (entries.mayWrite()) attempt(trail.here().then(keep));
    else app.say("Your role allows you to look at notes, not to write them.");
  }

  async function save() {
    const dueOn = day.hidden ? {} : { due_on: due.value };
    const fields = { text: text.value, kind: kind.value };
    if (draft.of === "answer") return entries.answer(draft.entry.id, text.value);
    if (draft.of === "edit") {
      return entries.change(draft.entry.id, { text: text.value, version: draft.version, ...dueOn });
    }
    if (draft.of === "new") return entries.write({ ...fields, ...dueOn, place: draft.place, seen: draft.seen });
    const entry = await entries.keepItem(draft.item.id, fields);
    await trail.load();
    return due.value && !day.hidden ? entries.change(entry.id, dueOn) : entry;
  }

  /**
   * Shows the words that were saved since the form was opened. Saving again replaces these, and none that are newer.
   * @param {{ newer?: Record<string, string>, version?: string }} problem
   */
  function showNewer({ newer: words, version }) {
    if (!words || !draft) return;
    draft.version = version;
    const lines = Object.entries(words).map(([name, value]) => `Saved meanwhile, ${name}: ${value || "none"}`);
    setText(newer, lines.join("\n"));
    newer.hidden = false;
  }

  /** @param {Promise<unknown>} work */
  function attempt(work) {
    return work.catch((error) => app.say(error.message));
  }

  const loaded = attempt(entries.load()); // and with them, whether the person may write
  app.writeNote = async () => {
    await loaded;
    if (entries.mayWrite()) compose({ of: "new", ...placesHere() });
    else app.say("Your role allows you to look at notes, not to write them.");
  };
  app.keepNote = keepHere;
  app.toggleNotes = () => show(panel.hidden);
  toggle.addEventListener("click", () => show(panel.hidden));
  part("close").addEventListener("click", () => {
    show(false);
    toggle.focus();
  });
  part("write").addEventListener("click", app.writeNote);
  part("cancel").addEventListener("click", closeForm);
  part("clear").addEventListener("click", () => attempt(trail.clear()));
  kind.addEventListener("change", showDay);
  filter.addEventListener("change", draw);
  onlyOpen.addEventListener("change", draw);
  form.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Escape") closeForm();
    else if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  form.addEventListener("submit", async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    try {
      await save();
      closeForm();
    } catch (error) {
      setText(problem, error.message);
      showNewer(error.problem ?? {});
    }
  });
  listen(app, (news) => attempt(entries.hear(news)), () => attempt(entries.load()));
  await loaded;
  if (app.isVisitor) return;
  await attempt(trail.load());
  trail.begin();
}

/**
 * Calls `hear` for each entry that somebody made or changed, and `again` when a lost connection is back.
 * @param {App} app @param {(news: any) => void} hear @param {() => void} again
 */
function listen(app, hear, again) {
  const { onNews, onConnected } = app;
  let wasOpen = app.socket.isOpen();
  app.onNews = (news) => (news.type === "entry" ? hear(news) : onNews?.(news));
  app.onConnected = () => {
    onConnected?.();
    if (wasOpen) again();
    wasOpen = true;
  };
}
