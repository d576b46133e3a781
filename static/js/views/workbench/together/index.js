/** Looking together: who is here, presenting and following the complete view, the pointer, a lost connection. */

import { shortName } from "../../../lib/together.js";
import { createBar } from "./bar.js";
import { createFollowing } from "./following.js";
import { keepPage } from "./page.js";
import { createPointing } from "./pointing.js";
import { createPresence } from "./presence.js";
import { createPresenting } from "./presenting.js";

const LOST =
  "Not connected by a websocket. What you see may be old. The replay is asked for over HTTP until the page connects " +
  "again, which it does by itself.";

/**
 * Wires everything that people share. `page` is what recallPage returned.
 * @param {App} app @param {{ id: string, wasFollowing: boolean }} page
 */
export function wireTogether(app, page) {
  app.room = null;
  const following = createFollowing(app, () => draw());
  const presenting = createPresenting(app);
  const presence = createPresence(app, following.isOn);
  const pointing = createPointing(app);
  const bar = createBar(app, following.isOn);
  const lost = app.root.querySelector("#wb-lost");

  function draw() {
    presence.draw();
    bar.draw();
  }

  /** Begins to present, or asks for it. The same again ends it. */
  function present() {
    const { you } = app.room ?? {};
    const isOver = you?.presents || (you?.asks && !you.is_offered);
    if (!isOver) following.end();
    app.socket.send({ type: "follow", role: isOver ? "none" : "presenter" });
  }

  /** Follows the presenter. The same again ends it. */
  function follow() {
    if (following.isOn()) following.leave("You have stopped following.");
    else following.begin();
  }

  /** Hands the floor to the first who asked for it, or accepts an offer of it. */
  function accept() {
    const { you, requests } = app.room ?? {};
    if (you?.presents && requests.length) app.socket.send({ type: "offer", person: requests[0].person });
    else if (you?.is_offered) present();
    else app.say("Nobody asks to present, and nobody offers it to you.");
  }

  /** Follows again if the page did so before it was loaded anew. */
  function resume() {
    if (page.wasFollowing) following.begin();
  }

  const decline = () => app.socket.send({ type: "decline" });
  app.together = { present, follow, accept, decline, point: pointing.run, resume };

  /** @param {Room} room */
  function showRoom(room) {
    const before = app.room?.you;
    app.room = room;
    if (room.you.presents && !before?.presents) {
      following.end();
      presenting.begin();
    }
    if (before?.presents && !room.you.presents) app.say(endSentence(room));
    draw();
  }

  /** @param {Room} room */
  function endSentence({ presenter }) {
    return presenter ? `${shortName(presenter.name)} presents now.` : "You do not present any more.";
  }

  /** @type {Record<string, (news: any) => void>} */
  const takes = {
    room: showRoom,
    view: following.show,
    cursor: following.showCursor,
    point: pointing.show,
    refused: ({ detail }) => app.say(detail),
  };
  app.onNews = (news) => takes[news.type]?.(news);

  app.onConnected = () => {
    lost.textContent = "";
    app.playing.reconnect();
    presence.announce();
    if (following.isOn()) app.socket.send({ type: "follow", role: "follower" });
    else if (app.room?.you.presents) presenting.begin();
  };
  app.onLost = () => {
    lost.textContent = LOST;
    app.playing.reconnect();
  };
  keepPage(page.id, following.isOn);
}
