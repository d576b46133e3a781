/** The line above the diagram that says who presents and who follows, with the buttons for it. */

import { h, renderOnce, setText } from "../../../lib/dom.js";
import { roomSentence } from "../../../lib/together.js";

/** @param {App} app @param {() => boolean} isFollowing */
export function createBar(app, isFollowing) {
  const bar = app.root.querySelector("#wb-together");
  const [text, buttons] = [bar.querySelector("p"), bar.querySelector("span")];

  function draw() {
    const sentence = roomSentence(app.room, isFollowing());
    setText(text, sentence);
    const commands = sentence ? commandsOf(app.room) : [];
    renderOnce(buttons, commands.join(), () => commands.map(([name, label]) => button(name, label)));
  }

  /**
   * Returns the commands that make sense now, each with the words of its button.
   * @param {Room} room @returns {[string, string][]}
   */
  function commandsOf({ you, presenter, requests }) {
    if (you.is_offered) return [["accept", "Present"], ["decline", "No, thanks"]];
    if (you.presents && requests.length) return [["accept", "Hand over"], ["decline", "Not now"]];
    if (you.presents) return [["present", "Stop presenting"]];
    if (you.asks) return [["present", "Withdraw"]];
    const follow = isFollowing() ? ["follow", "Stop following"] : ["follow", "Follow"];
    const isMine = presenter?.person === you.person;
    const ask = ["present", isMine ? "Present here" : "Ask to present"];
    return /** @type {[string, string][]} */ (presenter && you.may_present ? [follow, ask] : [follow]);
  }

  /** @param {string} name @param {string} label */
  function button(name, label) {
    return h("button.btn", { type: "button", onclick: () => app.run(name) }, label);
  }

  return { draw };
}
