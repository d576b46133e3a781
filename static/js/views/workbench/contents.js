/** The messages in each channel at the cursor or at the dragged cut, beside those of the chosen snapshot. */

import { h, renderOnce, setText } from "../../lib/dom.js";
import { counted, thousands, valueText } from "../../lib/format.js";
import { blockedAt, spansOf } from "../../lib/blocked.js";
import { isInside, markersAt, messagesInFlight } from "../../lib/cuts.js";
import { own } from "../../lib/own.js";
import { hasAny } from "../../lib/player.js";
import { offerCut } from "./cut-files.js";
import { derivedContents } from "./sentences.js";

const MOST_CHANNELS = 150;
const MOST_VALUES = 24;
const FEW = 12; // channels that are all shown at first, even empty ones
const BETWEEN =
  "Between checkpoints it is not known what lies in the channels: the engine keeps it only at a checkpoint.";

/** @param {App} app */
export function createContents(app) {
  const { player, topology } = app;
  offerCut(app, "contents", "cut-channels");
  const list = app.root.querySelector("#wb-contents-list");
  const filter = app.root.querySelector("#wb-contents-filter");
  const onlyFull = app.root.querySelector("#wb-contents-full");
  const notice = app.root.querySelector("#wb-contents-notice");
  const totals = app.root.querySelector("#wb-contents-totals");
  const rows = new Map();

  /** @param {Partial<Filters>} change */
  const narrow = (change) => player.set({ filters: { ...player.state.filters, ...change } });
  filter.addEventListener("input", () => narrow({ channels: filter.value }));
  onlyFull.addEventListener("change", () => narrow({ full: onlyFull.checked }));

  /** @param {Filters} filters */
  function showFilters({ channels, full }) {
    if (filter.value !== channels) filter.value = channels;
    filter.closest(".wb-filter").classList.toggle("is-used", channels !== "");
    onlyFull.checked = full ?? topology.channels.length > FEW;
  }

  /** @param {PlayerState} state */
  function draw(state) {
    const detail = app.snapshots.detail();
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const selected = state.selection?.of === "channel" ? state.selection.channel : null;
    const listed = topology.channels
      .filter((channel) => matches(channel, words))
      .filter((channel) => !onlyFull.checked || channel.code === selected || isFull(channel, state.shown, detail))
      .sort((a, b) => Number(b.code === selected) - Number(a.code === selected));
    const drawn = listed.slice(0, MOST_CHANNELS);
    const markers = state.shown && isInside(state.window, state.shown.positions)
      ? markersAt(state.window, state.shown.positions)
      : new Map();
    const blocked = state.cut ? new Set() : blockedAt(spansOf(state.window), state.now);
    const elements = drawn.map(
      (channel) => row(channel, state, detail, markers.get(channel.code), channel.code === selected),
    );
    elements.forEach((element, i) => element.classList.toggle("is-blocked", blocked.has(drawn[i].code)));
    if (elements.length !== list.children.length || elements.some((element, i) => list.children[i] !== element)) {
      list.replaceChildren(...elements);
    }
    drawNotices(state, listed.length, drawn.length);
  }

  /** @param {OpenChannel} channel @param {string[]} words */
  function matches({ id }, words) {
    const name = id.toLowerCase();
    return words.every((word) => name.includes(word));
  }

  /** @param {OpenChannel} channel @param {Cut | null} cut @param {SnapshotDetail | null} detail */
  function isFull({ code, id }, cut, detail) {
    return (
      (cut?.channels.get(code)?.length ?? 0) > 0 ||
      (own(detail?.recorded?.channels, id)?.length ?? 0) > 0 ||
      (own(detail?.recomputed?.channels, id)?.length ?? 0) > 0
    );
  }

  /**
   * @param {OpenChannel} channel @param {PlayerState} state @param {SnapshotDetail | null} detail
   * @param {number[] | undefined} markers @param {boolean} selected
   */
  function row(channel, state, detail, markers, selected) {
    const element = rows.get(channel.code) ?? makeRow(channel);
    const messages = state.shown?.channels.get(channel.code) ?? [];
    const recorded = own(detail?.recorded?.channels, channel.id);
    const recomputed = own(detail?.recomputed?.channels, channel.id);
    const ids = {
      recorded: own(detail?.recorded_messages, channel.id),
      recomputed: own(detail?.messages, channel.id),
    };
    const key = JSON.stringify([
      state.cut ? "cut" : "cursor",
      messages.map(({ id, value }) => [id, value]),
      markers?.length,
      detail ? 1 : 0,
      recorded,
      recomputed,
      state.snapshot,
    ]);
    element.classList.toggle("is-selected", selected);
    renderOnce(element.querySelector("dl"), key, () => [
      line(state.cut ? "your cut" : "at cursor", chips(messages, channel, markers)),
      ...(detail ? snapshotLines(recorded, recomputed, ids, detail) : []),
    ].flat());
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
   * Makes the lines of the recorded and the recomputed messages, marked if they differ. In a derived recording one line
   * is enough if they agree.
   * @param {unknown[] | undefined} recorded @param {unknown[] | undefined} recomputed
   * @param {{ recorded?: string[], recomputed?: string[] }} ids @param {SnapshotDetail | null} detail
   */
  function snapshotLines(recorded, recomputed, ids, detail) {
    const agree = JSON.stringify(recorded) === JSON.stringify(recomputed);
    if (app.recording.is_derived && agree) {
      return [line("recorded", values(recorded, ids.recorded, detail), "", "recorded")];
    }
    return [
      line("recorded", values(recorded, ids.recorded), agree ? "" : "is-different", "recorded"),
      line("recomputed", values(recomputed, ids.recomputed), agree ? "" : "is-different", "recomputed"),
    ];
  }

  /** @param {string} name @param {HTMLElement[]} cells @param {string} [mark] @param {string} [role] */
  function line(name, cells, mark = "", role = "now") {
    return [h("dt", { class: mark }, name), h(`dd`, { class: mark, "data-role": role }, ...cells)];
  }

  /** @param {MessageInFlight[]} messages @param {OpenChannel} channel @param {number[] | undefined} markers */
  function chips(messages, channel, markers) {
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
    if (messages.length > MOST_VALUES) {
      shown.push(h("span.soft", {}, `and ${thousands(messages.length - MOST_VALUES)} more`));
    }
    if (markers?.length) {
      shown.push(
        h("span.wb-marker", { title: counted(markers.length, "marker") }, "◆".repeat(Math.min(markers.length, 3))),
      );
    }
    return shown;
  }

  /**
   * Shows values, or the ids of messages without one. The detail of a derived snapshot says why there are none.
   * @param {unknown[] | null | undefined} contents @param {string[] | undefined} ids @param {SnapshotDetail} [detail]
   */
  function values(contents, ids, detail) {
    if (contents === undefined || contents === null) {
      return [h("span.soft", { title: detail?.why_unknown }, "not known")];
    }
    if (!contents.length) {
      return [h("span.soft", { title: detail?.why_empty }, detail?.why_empty ? "known to be empty" : "empty")];
    }
    const shown = contents.slice(0, MOST_VALUES).map(
      (value, i) => h("span.wb-value", {}, valueText(value ?? ids?.[i], 40)),
    );
    const more = contents.length - MOST_VALUES;
    if (more > 0) shown.push(h("span.soft", {}, `and ${thousands(more)} more`));
    return shown;
  }

  /** @param {PlayerState} state @param {number} listed @param {number} drawn */
  function drawNotices({ shown }, listed, drawn) {
    const inFlight = shown ? messagesInFlight(shown).length : 0;
    const isKnown = inFlight > 0 || !app.recording.is_derived;
    const total = () => `${counted(inFlight, "message")} in ${counted(shown.channels.size, "channel")}`;
    setText(totals, shown && isKnown ? total() : "");
    const more = listed > drawn ? `${thousands(listed - drawn)} more channels: filter by name.` : "";
    setText(notice, more || (drawn === 0 ? whyEmpty(app.snapshots.detail()) : ""));
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
      if (hasAny(keys, "shown", "snapshot", "detail", "selection", "cut", "filters")) draw(state);
    },
  };
}
