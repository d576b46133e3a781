/** The text by which the server knows a page again after a lost connection, and after it was loaded anew. */

const STORED = "workbench-page";

/**
 * Returns the page's text and whether it followed before it was loaded anew. A copy of the tab gets another text,
 * because the browser keeps it only while no page is shown.
 * @returns {{ id: string, wasFollowing: boolean }}
 */
export function recallPage() {
  const kept = JSON.parse(sessionStorage.getItem(STORED) ?? "null");
  sessionStorage.removeItem(STORED);
  const id = /^[0-9a-f]{16}$/.test(kept?.id) ? kept.id : randomText();
  return { id, wasFollowing: kept?.wasFollowing === true };
}

/**
 * Keeps the page's text while the page is loaded anew.
 * @param {string} id @param {() => boolean} isFollowing
 */
export function keepPage(id, isFollowing) {
  addEventListener("pagehide", () => {
    sessionStorage.setItem(STORED, JSON.stringify({ id, wasFollowing: isFollowing() }));
  });
  addEventListener("pageshow", () => sessionStorage.removeItem(STORED));
}

function randomText() {
  return [...crypto.getRandomValues(new Uint8Array(8))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
