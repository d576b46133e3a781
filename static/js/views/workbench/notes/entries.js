/** The entries of a recording as the browser knows them, and the calls that change them. */

import { getJson, sendJson } from "../../../lib/source.js";

const PAGE = 500; // entries of one answer

/**
 * Makes the list of entries. `changed` is called whenever it is another one.
 * @param {string} recording @param {() => string} token @param {() => void} changed
 */
export function createEntries(recording, token, changed) {
  const address = `/api/recordings/${recording}/entries`;
  /** @type {Map<number, NoteEntry>} */
  let byId = new Map();
  let mayWrite = false;

  /** Loads all entries, page by page. */
  async function load() {
    const fresh = new Map();
    let total = 0;
    do {
      const page = await getJson(`${address}?limit=${PAGE}&offset=${fresh.size}`);
      for (const entry of page.items) fresh.set(entry.id, entry);
      total = page.items.length ? page.total : fresh.size;
      mayWrite = page.may_write;
    } while (fresh.size < total);
    byId = fresh;
    changed();
  }

  /** @param {NoteEntry} entry */
  function keep(entry) {
    byId.set(entry.id, entry);
    changed();
    return entry;
  }

  /** @param {number} id */
  function drop(id) {
    if (byId.delete(id)) changed();
  }

  return {
    load,
    all: () => [...byId.values()].toSorted((a, b) => a.number - b.number),
    mayWrite: () => mayWrite,
    /** @param {number} id */
    get: (id) => byId.get(id),
    /**
     * Takes the news of the websocket that an entry was made, changed or deleted.
     * @param {{ id: number, change: string }} news
     */
    async hear({ id, change }) {
      if (change === "deleted") return drop(id);
      keep(await getJson(`/api/entries/${id}`));
    },
    /** @param {object} fields */
    write: async (fields) => keep(await sendJson("POST", address, fields, token())),
    /** @param {number} id @param {object} fields */
    async change(id, fields) {
      const { parent, ...entry } = await sendJson("PATCH", `/api/entries/${id}`, fields, token());
      return keep(parent === null ? { ...entry, parent } : await getJson(`/api/entries/${parent}`));
    },
    /** @param {number} id @param {string} text */
    answer: async (id, text) => keep(await sendJson("POST", `/api/entries/${id}/answers`, { text }, token())),
    /** @param {number} id @param {number | null} [parent] */
    async remove(id, parent = null) {
      await sendJson("DELETE", `/api/entries/${id}`, {}, token());
      if (parent === null) drop(id);
      else keep(await getJson(`/api/entries/${parent}`));
    },
    /** @param {number} item @param {object} fields */
    keepItem: async (item, fields) => keep(await sendJson("POST", `/api/trail/${item}/keep`, fields, token())),
  };
}
