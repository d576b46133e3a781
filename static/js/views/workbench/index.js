/** The workbench: one player, one data source, and the views that draw from them. */

import { duration, instant, thousands } from "../../lib/format.js";
import { createPlayer } from "../../lib/player.js";
import { readPlotly } from "../../lib/plotly.js";
import { openSocket } from "../../lib/socket.js";
import { briefSnapshots, createSource, defaultUrls, getJson } from "../../lib/source.js";
import { openTopology } from "../../lib/topology.js";
import { setText, showNote } from "../../lib/dom.js";
import { wireActions } from "./actions.js";
import { readColours } from "./colours.js";
import { wireCommands } from "./commands.js";
import { createCones } from "./cones.js";
import { createContents } from "./contents.js";
import { createCourse } from "./course.js";
import { createDepth } from "./depth.js";
import { createDetails } from "./details.js";
import { createFeed } from "./feed.js";
import { createFolds } from "./folds.js";
import { createListed } from "./listed.js";
import { createLanes } from "./lanes.js";
import { keepLink, openingView } from "./link.js";
import { createLive } from "./live.js";
import { mountGuide } from "./guide.js";
import { mountNotes } from "./notes/index.js";
import { createOverview } from "./overview.js";
import { createPanels } from "./panels.js";
import { createPictures } from "./pictures.js";
import { createSnapshots } from "./snapshots.js";
import { wireShare } from "./share.js";
import { createSpacetime } from "./spacetime.js";
import { createStates } from "./states.js";
import { createSteps } from "./steps.js";
import { createTabs } from "./tabs.js";
import { wireTogether } from "./together/index.js";
import { recallPage } from "./together/page.js";
import { createTopology } from "./topology.js";
import { createTransport } from "./transport.js";
import { wireUndo } from "./undo.js";
import { wireView } from "./view.js";
import { createWitness } from "./witness.js";

const MESSAGE_STAYS = 6000; // ms

/**
 * Mounts the workbench on `root`. Data that the page leaves out (docs/workbench.md) is fetched.
 * @param {any} root @param {any} data
 */
async function mountWorkbench(root, data) {
  const { recording } = data;
  readPlotly(root.dataset.plotly).catch(() => {}); // who draws says it
  const urls = defaultUrls(recording.id, data.urls);
  const [plain, summaries] = await Promise.all([
    data.topology ?? getJson(urls.topology),
    data.snapshots ?? briefSnapshots(urls.briefs),
  ]);
  const topology = openTopology(plain, data.coordinators ?? []);
  const player = createPlayer(recording.extent);
  const page = recallPage();
  const app = /** @type {App} */ (/** @type {unknown} */ ({
    root,
    recording,
    isVisitor: data.is_visitor,
    topology,
    player,
    urls,
    review: new URLSearchParams(location.search).get("review")?.match(/^\d{1,18}$/)?.[0] ?? null,
    cutHints: new Map(),
    colours: readColours(),
    reducedMotion: matchMedia("(prefers-reduced-motion: reduce)").matches,
  }));
  app.say = speaker(root.querySelector("#wb-message"));
  /** @param {number} at */
  app.readInstant = (at) => instant(at, recording.time_unit, player.scale().span);
  /** @param {number} amount */
  app.readDuration = (amount) => duration(amount, recording.time_unit);
  /** @param {number} x */
  app.readPlace = (x) => (player.state.axis === "order" ? `event ${thousands(Math.round(x))}` : app.readInstant(x));
  app.socket = openSocket(
    `${urls.socket}?page=${page.id}&review=${app.review ?? ""}`,
    {
      onMessage: (news) => app.playing?.hear(news) || app.live?.hear(news) || app.onNews?.(news),
      onState: (state, sentence) => onState(app, state, sentence),
    },
  );
  app.source = createSource({
    urls,
    topology,
    socket: app.socket,
    csrf: () => root.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "",
  });
  app.steps = createSteps(app);
  app.snap = app.steps.snap;
  app.changeAxis = app.steps.axis;
  wireActions(app);
  wireShare(app);
  app.snapshots = createSnapshots(app, summaries);
  app.pictures = createPictures(app);
  app.lanes = createLanes(app);
  app.folds = createFolds(app);
  app.spacetime = createSpacetime(app);
  app.plotWidth = app.spacetime.plotWidth;
  app.witness = createWitness(app);
  app.listed = createListed(app);
  const feed = createFeed(app, page.id);
  app.playing = feed.playing;
  const overview = createOverview(app);
  const panels = [
    feed,
    app.snapshots,
    createTransport(app),
    createCourse(app),
    createContents(app),
    createStates(app),
    createDetails(app),
    createCones(app),
    createTabs(app),
  ];
  const charts = [app.spacetime, overview, createTopology(app), createDepth(app)];
  app.panels = createPanels(app);
  if (data.is_live) app.live = createLive(app, feed, overview);
  const leadsToPlace = Boolean(data.view || location.search); // the address then follows the view
  wireCommands(app);
  wireView(app);
  wireTogether(app, page);
  app.showTab = (tab) => player.set({ tab });
  app.loadView = () => feed.reload();
  app.panels.recall();
  await openingView(app, data.view);
  await feed.reload();
  wireUndo(app);
  player.subscribe((state, keys) => [app.panels, ...panels, ...charts].forEach((view) => view.update(state, keys)));
  player.notifyAll();
  keepLink(app);
  mountGuide(app, data.guide);
  redrawOnChange(app, feed);
  await overview.load();
  root.classList.add("is-ready");
  app.firstPicture.then(app.pictures.begin);
  mountNotes(app);
  app.together.resume();
  app.live?.begin(!leadsToPlace);
  return app;
}

/** @param {App} app @param {string} state @param {string} sentence */
function onState(app, state, sentence) {
  if (state === "open") app.onConnected?.();
  if (state === "closed") app.onLost?.();
  if (state === "ended") showNote(sentence);
}

/**
 * Returns a function that shows a message for a while, and removes it if the text is empty.
 * @param {Element} element
 */
function speaker(element) {
  /** @type {number | undefined} */
  let timer;
  return (/** @type {string} */ text) => {
    clearTimeout(timer);
    setText(element, text);
    if (text) timer = setTimeout(() => setText(element, ""), MESSAGE_STAYS);
  };
}

/**
 * Makes the views draw again when the theme or their size has changed.
 * @param {App} app @param {{ reload: () => Promise<void> }} feed
 */
function redrawOnChange(app, feed) {
  let changes = 0;
  document.addEventListener("themechange", () => {
    app.colours = readColours();
    app.player.set({ theme: (changes += 1) });
  });
  const boxes = [...app.root.querySelectorAll(".wb-plot")];
  const measured = () => boxes.map((box) => `${box.clientWidth} ${box.clientHeight}`).join();
  let before = measured();
  const sizes = new ResizeObserver(() => {
    const now = measured();
    if (now === before) return;
    before = now;
    app.player.set({ size: (changes += 1) });
    feed.reload();
  });
  for (const box of boxes) sizes.observe(box);
}

const data = document.getElementById("workbench-data");
if (data) mountWorkbench(document.getElementById("workbench"), JSON.parse(data.textContent));
