/**
 * Steps through what a search of the server finds, a page at a time. Pure but for `ask`.
 *
 * A search of a large recording takes several answers; until the last one `total` is the least number.
 */

const PAGE = 20;

/** @type {Found} */
const NOTHING = {
  query: "",
  total: 0,
  complete: true,
  searched: 1,
  number: 0,
  hit: null,
  page: [],
  bins: null,
  error: "",
};

/**
 * Makes the finder. `ask` requests a search from the server; `onChange` is called with each new state.
 * @param {(question: SearchQuestion) => Promise<SearchAnswer>} ask
 * @param {(found: Found) => void} [onChange]
 */
export function createFinder(ask, onChange = () => {}) {
  let state = NOTHING;
  let run = 0;
  let offset = 0; // of the page
  /** @type {Promise<any>} */
  let last = Promise.resolve();
  /** @type {Promise<any>} */
  let first = last;
  let settleFirst = () => {};

  /** @param {Partial<Found>} changes */
  function set(changes) {
    state = { ...state, ...changes };
    onChange(state);
  }

  /**
   * Requests a page after the last request has been answered, for the server answers one at a time. Resolves with null
   * if another query has begun.
   * @param {number} own @param {Omit<SearchQuestion, "query" | "limit">} where @returns {Promise<SearchAnswer | null>}
   */
  function request(own, where) {
    const answer = last.then(() => (own === run ? ask({ query: state.query, limit: PAGE, ...where }) : null));
    last = answer.catch(() => {});
    return answer;
  }

  /** @param {SearchAnswer} answer */
  function take({ total, complete, searched, hits, offset: begin, bins_of_time: time, bins_of_order: order }) {
    offset = begin;
    set({ total, complete, searched, page: hits, bins: { time, order } });
  }

  /**
   * Loads the page with the first hit from a step on, in a circle, and goes on until the search is complete.
   * @param {number} own @param {number} step
   */
  async function load(own, step) {
    for (;;) {
      const from = state.hit?.step ?? step;
      let answer = await request(own, { from_step: from });
      if (answer && !answer.hits.length && answer.total) answer = await request(own, { offset: 0 });
      if (!answer || own !== run) return;
      take(answer);
      if (state.hit) set({ number: answer.offset + 1 });
      if (answer.complete) return;
      if (answer.total) settleFirst();
    }
  }

  /** @param {number} own @param {Promise<void>} loading */
  async function guarded(own, loading) {
    const settle = settleFirst;
    try {
      await loading;
    } catch (error) {
      if (own === run) set({ error: error.message, complete: true });
    }
    settle();
  }

  return {
    get state() {
      return state;
    },
    /**
     * Begins a search. The first hit is the one at `step` or after it.
     * @param {string} query @param {number} step
     */
    find(query, step) {
      run += 1;
      set({ ...NOTHING, query });
      if (!query.trim()) return Promise.resolve();
      set({ complete: false, searched: 0 });
      first = new Promise((resolve) => {
        settleFirst = () => resolve(undefined);
      });
      return guarded(run, load(run, step));
    },
    /** Resolves when it is known whether there is a hit. */
    ready: () => first,
    /**
     * Goes to the next hit (direction 1) or the previous one (-1), in a circle. Resolves with it, or with null.
     * @param {number} direction @returns {Promise<SearchHit | null>}
     */
    async step(direction) {
      await first;
      const own = run;
      if (!state.total) return null;
      const now = state.number ? state.number - 1 : direction > 0 ? offset - 1 : offset;
      const goal = (now + direction + state.total) % state.total;
      if (!state.page[goal - offset]) {
        const begin = direction > 0 ? goal : Math.max(0, goal - PAGE + 1);
        const answer = await request(own, { offset: begin });
        if (!answer) return null;
        take(answer);
      }
      set({ hit: state.page[goal - offset] ?? null, number: goal + 1 });
      return state.hit;
    },
    /**
     * Goes to the hit at a place of the page.
     * @param {number} row @returns {SearchHit}
     */
    choose(row) {
      set({ hit: state.page[row], number: offset + row + 1 });
      return state.hit;
    },
    clear() {
      run += 1;
      set(NOTHING);
    },
  };
}

/**
 * Writes where one is among the hits: "3 of 128", "at least 128", "none".
 * @param {Found} found @param {(number: number) => string} write
 */
export function countText({ query, total, complete, searched, number, error }, write) {
  if (!query.trim() || error) return "";
  const share = `${Math.floor(searched * 100)} % searched`;
  if (!complete && !total) return share;
  const all = complete ? write(total) : `at least ${write(total)}`;
  const count = number ? `${write(number)} of ${all}` : total ? all : "none";
  return complete ? count : `${count}, ${share}`;
}
