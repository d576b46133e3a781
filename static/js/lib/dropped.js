/** The files that were dropped, those in folders with their paths. */

/** Resolves with [{file, path}]; path begins with the folder that was dropped. */
export async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean);
  if (!entries.length) return [...transfer.files].map((file) => ({ file, path: file.name }));
  return (await Promise.all(entries.map((entry) => inside(entry)))).flat();
}

async function inside(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    return [{ file, path: entry.fullPath.replace(/^\//, "") }];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a hundred at a time
    if (!some.length) break;
    found.push(...some);
  }
  return (await Promise.all(found.map((each) => inside(each)))).flat();
}
