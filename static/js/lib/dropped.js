/** Reading files and whole folders that are dropped on a page. */

/**
 * Resolves with all dropped files. A path begins with the name of the dropped folder.
 * @param {DataTransfer} transfer @returns {Promise<DroppedFile[]>}
 */
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  return (await Promise.all(entries.map(filesBelow))).flat();
}

/** @param {any} entry @returns {Promise<DroppedFile[]>} */
async function filesBelow(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const children = [];
  for (;;) {
    const batch = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // at most a hundred
    if (!batch.length) break;
    children.push(...batch);
  }
  return (await Promise.all(children.map(filesBelow))).flat();
}
