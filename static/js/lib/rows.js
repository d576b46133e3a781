/** Pages of long lists, and how a part of a cut or snapshot is asked for. Pure. */

export const ROWS_A_PAGE = 200; // a browser takes long to lay out thousands
export const WHOLE = 500; // processes or channels that one answer of the server lists at most
export const FEW = 12; // channels that are all shown at first, even empty ones

/**
 * Returns a page of a list, or its last page if it has fewer.
 * @param {number[]} codes @param {number} page from 0 @returns {Rows}
 */
export function pageOf(codes, page) {
  const last = Math.max(Math.ceil(codes.length / ROWS_A_PAGE) - 1, 0);
  const kept = Math.min(Math.max(page, 0), last);
  const begin = kept * ROWS_A_PAGE;
  return { codes: codes.slice(begin, begin + ROWS_A_PAGE), page: kept, begin, total: codes.length };
}

/**
 * Returns the parameters that ask for an outline and for some rows. Null stands for the first rows.
 * @param {{ processes: number[] | null, channels: number[] | null }} rows
 */
export function partFields({ processes, channels }) {
  return {
    outline: true,
    limit: WHOLE,
    ...(processes && { process_codes: processes.join(",") }),
    ...(channels && { channel_codes: channels.join(",") }),
  };
}
