/** The messages in each channel at the cursor or at the dragged cut, beside those of the chosen snapshot. */

import { h, renderOnce, setText } from "../../lib/dom.js";
import { counted, thousands, valueText } from "../../lib/format.js";
import { blockedAt } from "../../lib/control.js";
import { depthOf, filledChannels, hasMessages, inFlightCount } from "../../lib/shown.js";
import { own } from "../../lib/own.js";
import { hasAny } from "../../lib/player.js";
import { offerCut } from "./cut-files.js";
import { createPager, fromTheBeginning } from "./listed.js";
import { derivedContents } from "./sentences.js";

const MOST_VALUES = 24;
const BETWEEN =
  "Between checkpoints it is not known what lies in the channels: the engine keeps it only at a checkpoint.";

const WAITING = ["…"]; // until the server has answered

/** @param {App} app */
export function createContents(app) {
  const { player, topology } = app;
  offerCut(app, "contents", "cut-channels");
  const list = app.root.querySelector("#wb-contents-list");
  const filter = app.root.querySelector("#wb-contents-filter");
  const onlyFull = app.root.querySelector("#wb-contents-full");
  const notice = app.root.querySelector("#wb-contents-notice");
  const totals = app.root.querySelector("#wb-contents-totals");
  const page = createPager(app, "channels", "channels", list);
  const rows = new Map();

  /** @param {Partial<Filters>} change */
  const narrow = (change) =>
    player.set({ filters: { ...player.state.filters, ...change }, ...fromTheBeginning(player.state, "channels") });
  filter.addEventListener("input", () => narrow({ channels: filter.value }));
  onlyFull.addEventListener("change", () => narrow({ full: onlyFull.checked }));

  /** @param {Filters} filters */
  function showFilters(filters) {
    const { channels } = filters;
    if (filter.value !== channels) filter.value = channels;
    filter.closest(".wb-filter").classList.toggle("is-used", channels !== "");
    onlyFull.checked = app.listed.isOnlyFull(filters);
  }

  /** @param {PlayerState} state */
  function draw(state) {
    const detail = app.snapshots.detail();
    const selected = state.selection?.of === "channel" ? state.selection.channel : null;
    const listed = app.listed.channels(state.shown, detail);
    const drawn = listed.codes.map((code) => topology.channels[code]);
    /** @type {Map<number, number[]>} */
    const markers = (!state.cut && state.moment?.markers) || new Map();
    const blocked = state.cut ? new Set() : blockedAt(state.window, state.now);
    const elements = drawn.map(
      (channel) => row(channel, state, detail, markers.get(channel.code), channel.code === selected),
    );
    elements.forEach((element, i) => element.classList.toggle("is-blocked", blocked.has(drawn[i].code)));
    if (elements.length !== list.children.length || elements.some((element, i) => list.children[i] !== element)) {
      list.replaceChildren(...elements);
    }
    page(listed);
    drawNotices(state, detail, listed.total);
  }

  /**
   * @param {OpenChannel} channel @param {PlayerState} state @param {SnapshotDetail | null} detail
   * @param {number[] | undefined} markers @param {boolean} selected
   */
  function row(channel, state, detail, markers, selected) {
    const element = rows.get(channel.code) ?? makeRow(channel);
    const messages = state.shown?.channels.get(channel.code) ?? [];
    const isHere = !state.shown || hasMessages(state.shown, channel.code);
    const depth = depthOf(state.shown, channel.code);
    const isLoaded = detail?.loaded.channels.has(channel.code);
    const recorded = own(detail?.recorded?.channels, channel.id);
    const recomputed = own(detail?.recomputed?.channels, channel.id);
    const ids = {
      recorded: own(detail?.recorded_messages, channel.id),
      recomputed: own(detail?.messages, channel.id),
    };
    const noted = state.cut ? null : notedOf(state.moment?.spread, channel.code);
    const key = JSON.stringify([
      state.cut ? "cut" : "cursor",
      noted,
      messages.map(({ id, value }) => [id, value]),
      markers?.length,
      isHere,
      depth,
      detail ? 1 : 0,
      isLoaded,
      recorded,
      recomputed,
      state.snapshot,
    ]);
    element.classList.toggle("is-selected", selected);
    renderOnce(element.querySelector("dl"), key, () => [
      field(state.cut ? "your cut" : "in flight", isHere ? chips(messages, depth, channel, markers) : WAITING),
      ...(noted ? [field("noted so far", notedCells(noted), "", "noted")] : []),
      ...(detail && isLoaded ? snapshotFields(channel.id, recorded, recomputed, ids, detail) : []),
      ...(detail && !isLoaded ? [field("in the end", WAITING)] : []),
      ...(noted?.counts && !noted.why ? [field("sent and received", [noted.counts], "wb-counts", "counts")] : []),
    ]);
    return element;
  }

  /** @param {OpenChannel} channel */
  function makeRow(channel) {
    const name = h(
      "button.wb-link",
      {
        type: "button",
        title: `Select ${channel.id}`,
        onclick: () => app.select({ of: "channel", channel: channel.code }),
      },
      channel.id,
    );
    const element = h(
      "li",
      { "data-channel": channel.id },
      h(
        "div.wb-channel",
        {},
        name,
        channel.fifo ? null : h("span.badge", {}, "not FIFO"),
        h("span.badge.wb-blocked", {}, "blocked"),
      ),
      h("dl"),
    );
    rows.set(channel.code, element);
    return element;
  }

  /**
   * Makes the fields of the recorded messages, and of the recomputed ones if they differ.
   * @param {string} id @param {unknown[] | undefined} recorded @param {unknown[] | undefined} recomputed
   * @param {{ recorded?: string[], recomputed?: string[] }} ids @param {SnapshotDetail | null} detail
   */
  function snapshotFields(id, recorded, recomputed, ids, detail) {
    const left = own(detail.part.omitted_recorded, id) ?? 0;
    const leftRecomputed = own(detail.part.omitted, id) ?? 0;
    const agree = JSON.stringify(recorded) === JSON.stringify(recomputed) && left === leftRecomputed;
    const why = app.recording.is_derived ? detail : undefined;
    if (agree) return [field("in the end", values(recorded, ids.recorded, left, why), "", "recorded")];
    return [
      field("in the end", values(recorded, ids.recorded, left), "is-different", "recorded"),
      field("recomputed", values(recomputed, ids.recomputed, leftRecomputed), "is-different", "recomputed"),
    ];
  }

  /** @param {string} name @param {(HTMLElement | string)[]} cells @param {string} [mark] @param {string} [role] */
  function field(name, cells, mark = "", role = "now") {
    return h("div", { class: mark }, h("dt", {}, name), h("dd", { "data-role": role }, ...cells));
  }

  /**
   * @param {MessageInFlight[]} messages @param {number} depth @param {OpenChannel} channel
   * @param {number[] | undefined} markers
   */
  function chips(messages, depth, channel, markers) {
    if (!messages.length && !markers?.length) {
      return [app.recording.is_derived ? h("span.soft", { title: BETWEEN }, "not known") : h("span.soft", {}, "empty")];
    }
    const shown = messages.slice(0, MOST_VALUES).map(
      ({ id, value }) => h(
        "button.wb-value",
        {
          type: "button",
          title: `message ${id}`,
          onclick: () => app.select({ of: "message", channel: channel.code, id }),
        },
        valueText(value ?? id, 40),
      ),
    );
    if (depth > shown.length) shown.push(h("span.soft", {}, `and ${thousands(depth - shown.length)} more`));
    if (markers?.length) {
      shown.push(
        h("span.wb-marker", { title: counted(markers.length, "marker") }, "◆".repeat(Math.min(markers.length, 3))),
      );
    }
    return shown;
  }

  /**
   * Returns how far the chosen snapshot has recorded a channel at the cursor, null without one.
   * @param {Spread | null | undefined} spread @param {number} code @returns {Recording | null}
   */
  function notedOf(spread, code) {
    if (!spread) return null;
    const why = spread.notTold.get(code);
    const { count, messages } = spread.noted.get(code) ?? { count: 0, messages: [] };
    const stage = spread.locked.has(code) ? "locked" : spread.opened.has(code) ? "recording" : "not begun";
    return { stage: why ? "not known" : stage, why, count, messages, counts: spread.counts[code] };
  }

  /** @param {Recording} noted */
  function notedCells({ stage, why, count, messages }) {
    const state = h("span.wb-stage", { "data-stage": stage, title: why }, stage);
    if (why || stage === "not begun") return [state];
    const [sent, ids] = [messages.map(({ value }) => value), messages.map(({ id }) => id)];
    return [state, ...values(sent, ids, count - messages.length)];
  }

  /**
   * Shows values, or the ids of messages without one. The detail of a derived snapshot says why there are none.
   * @param {unknown[] | null | undefined} contents @param {string[] | undefined} ids
   * @param {number} omitted how many more there are @param {SnapshotDetail} [detail]
   */
  function values(contents, ids, omitted, detail) {
    if (contents === undefined || contents === null) {
      return [h("span.soft", { title: detail?.why_unknown }, "not known")];
    }
    if (!contents.length) {
      return [h("span.soft", { title: detail?.why_empty }, detail?.why_empty ? "known to be empty" : "empty")];
    }
    const shown = contents.slice(0, MOST_VALUES).map(
      (value, i) => h("span.wb-value", {}, valueText(value ?? ids?.[i], 40)),
    );
    const more = contents.length + omitted - shown.length;
    if (more > 0) shown.push(h("span.soft", {}, `and ${thousands(more)} more`));
    return shown;
  }

  /** @param {PlayerState} state @param {SnapshotDetail | null} detail @param {number} listed */
  function drawNotices({ shown, filters, cut, moment }, detail, listed) {
    const inFlight = shown ? inFlightCount(shown) : 0;
    const isKnown = inFlight > 0 || !app.recording.is_derived;
    const hidden = Math.max(shown?.outline?.hiddenChannels ?? 0, detail?.outline.hidden_channels ?? 0);
    const filled = () => filledChannels(shown).length + (shown.outline?.hiddenChannels ?? 0);
    setText(totals, shown && isKnown ? `${counted(inFlight, "message")} in ${counted(filled(), "channel")}` : "");
    const why = !cut && moment?.spread?.notTold.size ? whyNotTold(moment.spread) : "";
    const others = hidden && app.listed.isOnlyFull(filters)
      ? `${counted(hidden, "channel")} with fewer messages not listed here. The list of all channels has them.`
      : "";
    setText(notice, listed === 0 ? whyEmpty(detail) : [others, why].filter(Boolean).join(" "));
  }

  /** @param {Spread} spread */
  function whyNotTold({ notTold }) {
    return `What ${counted(notTold.size, "channel")} noted is not known. ${[...new Set(notTold.values())].join(" ")}`;
  }

  /**
   * Says why no channel is listed.
   * @param {SnapshotDetail | null} detail
   */
  function whyEmpty(detail) {
    if (!topology.channels.length) {
      return app.recording.is_derived ? "The upload does not tell the channels." : "There are no channels.";
    }
    if (filter.value) return "No channel has this name.";
    return app.recording.is_derived
      ? derivedContents(detail, topology.channels.length, BETWEEN)
      : "All channels are empty here.";
  }

  return {
    /** @param {PlayerState} state @param {Set<string>} keys */
    update(state, keys) {
      if (keys.has("filters")) showFilters(state.filters);
      if (hasAny(keys, "shown", "snapshot", "detail", "selection", "cut", "filters", "pages")) draw(state);
    },
  };
}
