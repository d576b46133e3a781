/** Sharing a view: its link, and the presenter's cursor. */

import { hasAny } from "../../lib/player.js";
import { copied, ownAddress, shortLink, showSharing } from "../../lib/sharing.js";

const SHARED_EVERY = 100; // ms
/** @type {Record<string, string>} */
const SENTENCES = {
  presenter: "Who follows this recording sees your cursor.",
  follower: "Following the presenter's cursor.",
  none: "",
};

/** @param {App} app */
export function wireShare(app) {
  const { player } = app;
  const badge = app.root.querySelector("#wb-role");
  let role = "none";
  /** @type {{ axis: Axis, now: number } | null} */
  let peer = null;
  let sentAt = 0;

  app.copyLink = async () => {
    const { link, sentence } = await linkToView(app);
    const isCopied = await copied(link);
    const { href } = /** @type {HTMLAnchorElement} */ (app.root.querySelector("[data-share]"));
    const byHand = `The browser does not allow copying. This is the link: ${link}`;
    await showSharing(href, isCopied ? sentence : byHand, app.view());
  };

  app.showSharing = () => {
    const { href } = /** @type {HTMLAnchorElement} */ (app.root.querySelector("[data-share]"));
    return showSharing(href, "", app.view());
  };

  /**
   * Becomes the "presenter", whose cursor is shared, or a "follower" of it. The same role again ends it.
   * @param {"presenter" | "follower"} name
   */
  app.takeRole = (name) => {
    role = role === name ? "none" : name;
    peer = null;
    app.socket.send({ type: "follow", role });
    badge.hidden = role === "none";
    badge.textContent = { presenter: "presenting", follower: "following", none: "" }[role];
    app.say(SENTENCES[role]);
  };

  /**
   * Returns where the presenter's cursor is on this axis, or null.
   * @param {Axis} axis
   */
  app.peerNow = (axis) => (peer?.axis === axis ? peer.now : null);

  /** @param {any} news */
  app.onNews = (news) => {
    if (news.type !== "cursor" || role !== "follower") return;
    peer = news.step === undefined ? { axis: "time", now: news.at } : { axis: "order", now: news.step };
    if (peer.axis === player.state.axis) player.seek(peer.now);
    else app.changeAxis(peer.axis).then(() => player.seek(peer.now));
  };

  app.onConnected = () => role !== "none" && app.socket.send({ type: "follow", role });

  player.subscribe((state, keys) => {
    const isEarly = state.playing && performance.now() - sentAt < SHARED_EVERY;
    if (role !== "presenter" || !hasAny(keys, "now", "playing", "speed") || isEarly) return;
    sentAt = performance.now();
    const type = keys.has("playing") ? (state.playing ? "play" : "pause") : "seek";
    app.socket.send({
      type,
      playing: state.playing,
      speed: state.speed,
      [state.axis === "order" ? "step" : "at"]: Math.floor(state.now),
    });
  });
}

/**
 * Returns a short link to the view, or the long one, which needs nothing of the server, if none can be made.
 * @param {App} app
 */
async function linkToView(app) {
  const token = app.root.querySelector("[name=csrfmiddlewaretoken]")?.value ?? "";
  try {
    const { link } = await shortLink({ address: ownAddress(), view: app.view() }, token);
    return { link, sentence: `The short link to this view is copied: ${link}` };
  } catch (error) {
    return { link: app.link(), sentence: `The long link to this view is copied. ${error.message}` };
  }
}
