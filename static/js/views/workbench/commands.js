/** All commands of the workbench, for keys, buttons and the palette. */

import { h } from "../../lib/dom.js";
import { listen } from "../../lib/keys.js";
import { wireFind } from "./find.js";

/**
 * Returns the commands. lib/keys.js defines the names of keys.
 * @param {App} app @returns {Command[]}
 */
function commandList(app) {
  const { player, steps } = app;
  const toggleTables = () => player.set({
    tables: player.state.tables.size ? new Set() : new Set(["spacetime", "depth", "topology"]),
  });
  return [
    {
      name: "play",
      title: "Play or pause",
      keys: ["space"],
      run: () => (player.state.playing ? player.pause() : player.play()),
    },
    { name: "next-event", title: "Next event", keys: ["arrowright"], run: () => app.playing.step(1) },
    { name: "previous-event", title: "Previous event", keys: ["arrowleft"], run: () => app.playing.step(-1) },
    { name: "next-marker", title: "Next marker", keys: ["shift+arrowright"], run: () => steps.marker(1) },
    { name: "previous-marker", title: "Previous marker", keys: ["shift+arrowleft"], run: () => steps.marker(-1) },
    { name: "previous-snapshot", title: "Previous snapshot", keys: ["["], run: () => steps.snapshot(-1) },
    { name: "next-snapshot", title: "Next snapshot", keys: ["]"], run: () => steps.snapshot(1) },
    { name: "start", title: "To the start", keys: ["home"], run: () => player.seek(player.bounds().from) },
    { name: "end", title: "To the end", keys: ["end"], run: () => player.seek(player.bounds().to) },
    { name: "zoom-in", title: "Zoom in", keys: ["w", "+"], run: () => player.zoomBy(0.7) },
    { name: "zoom-out", title: "Zoom out", keys: ["s", "-"], run: () => player.zoomBy(1 / 0.7) },
    { name: "pan-left", title: "Pan left", keys: ["a"], run: () => player.pan(-0.2) },
    { name: "pan-right", title: "Pan right", keys: ["d"], run: () => player.pan(0.2) },
    { name: "fit", title: "Fit the selection, the snapshot, or all", keys: ["f"], run: () => app.fit() },
    ...(app.live ? [{ name: "live", title: "Follow what comes, or pause", keys: ["v"], run: app.live.toggle }] : []),
    { name: "slower", title: "Slower", keys: [","], run: () => app.changeSpeed(-1) },
    { name: "faster", title: "Faster", keys: ["."], run: () => app.changeSpeed(1) },
    {
      name: "axis",
      title: "Real time or event order",
      keys: ["o"],
      run: () => steps.axis(player.state.axis === "time" ? "order" : "time"),
    },
    { name: "cut", title: "Drag the cut", keys: ["c"], run: () => (player.state.cut ? app.endCut() : app.beginCut()) },
    { name: "undo", title: "Undo the last move of the cut", keys: ["ctrl+z"], run: () => app.undoCut() },
    { name: "redo", title: "Redo it", keys: ["ctrl+shift+z", "ctrl+y"], run: () => app.redoCut() },
    {
      name: "next-finding",
      title: "Next finding; while the cut is dragged, the nearest consistent cut",
      keys: ["n"],
      run: () => (player.state.cut ? app.nearest() : app.witness.step(1)),
    },
    { name: "previous-finding", title: "Previous finding", keys: ["shift+n"], run: () => app.witness.step(-1) },
    { name: "idle", title: "Fold idle time, or show it", keys: ["i"], run: () => app.folds.toggle() },
    { name: "lanes", title: "Choose lanes: filter, sort, group, pin", keys: ["l"], run: () => app.lanes.openMenu() },
    { name: "fit-lanes", title: "Fit all lanes, or as before", keys: ["shift+l"], run: () => app.lanes.fit() },
    { name: "group", title: "Group lanes by name, or one for each", keys: ["g"], run: () => app.lanes.toggleGroups() },
    ...(app.topology.coordinators.length ? [{
      name: "control", title: "Draw the coordinator and its signals, or not", keys: ["u"], run: app.lanes.toggleControl,
    }] : []),
    { name: "pin", title: "Pin the selected lane to the top, or let it go", keys: ["p"], run: () => app.lanes.pin() },
    { name: "panels", title: "Panels as at first: order, sizes, folds", keys: [], run: () => app.panels.reset() },
    { name: "note", title: "Write a note about what you see", keys: ["m"], run: () => app.writeNote?.() },
    { name: "keep", title: "Keep where I am as a note, in its own words", keys: ["k"], run: () => app.keepNote?.() },
    { name: "notes", title: "Show or hide the notes", keys: ["b"], run: () => app.toggleNotes?.() },
    { name: "tables", title: "Tables or charts", keys: ["t"], run: toggleTables },
    {
      name: "find",
      title: "Find events, messages and names",
      keys: ["/"],
      run: () => app.palette.open(),
    },
    { name: "commands", title: "Find a command or a name", keys: ["ctrl+k"], run: () => app.palette.open(false) },
    { name: "copy", title: "Copy a link to this view", keys: [], run: () => app.copyLink() },
    { name: "sharing", title: "Who can open it, and other links", keys: [], run: () => app.showSharing() },
    { name: "compare", title: "Compare this cut with…", keys: [], run: () => location.assign(compareAddress(app)) },
    {
      name: "restore",
      title: "Restore the snapshot and watch",
      keys: [],
      run: () => location.assign(restoreAddress(app)),
    },
    { name: "present", title: "Present what I see, or stop it", keys: ["e"], run: () => app.together.present() },
    { name: "follow", title: "Follow the presenter, or stop it", keys: ["r"], run: () => app.together.follow() },
    { name: "accept", title: "Hand over to who asks to present", keys: ["y"], run: () => app.together.accept() },
    { name: "decline", title: "Decline to hand over or to present", keys: ["x"], run: () => app.together.decline() },
    { name: "point", title: "Hold: others see where I point", keys: ["h"], run: (event) => app.together.point(event) },
    { name: "help", title: "List of keys", keys: ["?"], run: () => app.help.showModal() },
    { name: "back", title: "Back: end the cut, the selection", keys: ["escape"], run: () => app.back() },
  ];
}

/**
 * Returns the page on which one chooses what the cut is compared with: the dragged one, else that of the cursor.
 * @param {App} app
 */
function compareAddress({ recording, player }) {
  const { cut, axis, now } = player.state;
  const place = cut
    ? { left_positions: JSON.stringify(cut) }
    : { [axis === "order" ? "left_step" : "left_at"]: String(Math.floor(now)) };
  return `/compare/two?${new URLSearchParams({ left: recording.id, ...place })}`;
}

/**
 * Returns the page on which the chosen snapshot is restored, or the newest.
 * @param {App} app
 */
function restoreAddress({ recording, player }) {
  const { snapshot } = player.state;
  return `/recordings/${recording.id}/restore?${new URLSearchParams(snapshot === null ? {} : { snapshot })}`;
}

/** @type {Record<string, string>} */
const SHOWN = {
  arrowright: "→",
  arrowleft: "←",
  "shift+l": "shift L",
  "shift+n": "shift N",
  "shift+arrowright": "shift →",
  "shift+arrowleft": "shift ←",
  escape: "Esc",
  "ctrl+k": "ctrl K",
  "ctrl+z": "ctrl Z",
  "ctrl+shift+z": "ctrl shift Z",
  "ctrl+y": "ctrl Y",
};

const PAGES = [
  ["Recordings", "/"],
  ["Topologies", "/topologies"],
  ["Jobs", "/jobs"],
  ["Account", "/account"],
  ["API", "/api/docs"],
];

/** What a visitor with a public link cannot do, because it writes, leads elsewhere or concerns other people. */
const NOT_FOR_VISITORS = ["copy", "sharing", "compare", "restore", "present", "follow", "note", "keep"];

/** @param {string} key */
const keyText = (key) => SHOWN[key] ?? key;

/**
 * Wires keys, buttons, the palette and the list of keys.
 * @param {App} app
 */
export function wireCommands(app) {
  const commands = commandList(app).filter(({ name }) => !app.isVisitor || !NOT_FOR_VISITORS.includes(name));
  const byName = new Map(commands.map((command) => [command.name, command]));
  /** @param {string} name */
  app.run = (name) => byName.get(name).run();
  wireFind(app, () => [...commands.map(forPalette), ...places(app)]);
  app.help = helpDialog(commands);
  for (const button of app.root.querySelectorAll(".wb-head [data-command]")) {
    button.addEventListener("click", (/** @type {MouseEvent} */ event) => {
      leaveMenu(button.closest("details"), event.detail === 0);
      app.run(button.dataset.command);
    });
  }
  return listen(commands);
}

/**
 * Closes the menu of a command. By keyboard the focus goes to its name, to which a dialog gives it back.
 * @param {HTMLElement | null} menu @param {boolean} isByKey
 */
function leaveMenu(menu, isByKey) {
  menu?.removeAttribute("open");
  if (isByKey) menu?.querySelector("summary").focus();
}

/** @param {Command} command */
function forPalette({ title, keys, run }) {
  return { title, keys: keys.map(keyText), run };
}

/**
 * Returns the commands that go to a process, a channel, a snapshot or a page.
 * @param {App} app @returns {Command[]}
 */
function places(app) {
  const { topology } = app;
  /** @param {string} title @param {() => void} run */
  const entry = (title, run) => ({ title, run });
  return [
    ...app.snapshots.list().map(
      ({ snapshot, verdict, outcome }) => entry(
        `Snapshot ${snapshot} (${outcome ?? verdict})`,
        () => app.chooseSnapshot(snapshot),
      ),
    ),
    ...topology.processes.map(({ id }) => entry(`Process ${id}`, () => app.go({ of: "process", process: id }))),
    ...topology.channels.map(({ id }) => entry(`Channel ${id}`, () => app.go({ of: "channel", channel: id }))),
    ...(app.isVisitor ? [] : PAGES).map(([name, address]) => entry(`Open ${name}`, () => location.assign(address))),
  ];
}

/** @param {Command[]} commands */
function helpDialog(commands) {
  /** @param {string[]} keys */
  const keyCell = (keys) => h("td", {}, keys.map((key) => h("kbd.kbd", {}, keyText(key))));
  const withKeys = commands.filter(({ keys }) => keys.length);
  const rows = withKeys.map(({ title, keys }) => h("tr", {}, keyCell(keys), h("td", {}, title)));
  const close = h("button.btn", { type: "button", onclick: () => dialog.close(), autofocus: true }, "Close");
  const dialog = h(
    "dialog.wb-help",
    { id: "wb-help", "aria-label": "Keys" },
    h("h2", {}, "Keys"),
    h("table.table", {}, h("tbody", {}, rows)),
    h("p.soft", {}, "Drag to pan, wheel or pinch to zoom, click to select. Double-click the overview to see all."),
    close,
  );
  document.body.append(dialog);
  return dialog;
}
