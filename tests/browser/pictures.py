"""Compare what figures look like."""

# How many of a hundred pixels of two screenshots differ by more than a shade.
DIFFERENCE = """async (pictures) => {
  const pixels = await Promise.all(pictures.map(async (base64) => {
    const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
    const image = await createImageBitmap(new Blob([bytes]));
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return canvas.getImageData(0, 0, image.width, image.height).data;
  }));
  let differ = 0;
  for (let at = 0; at < pixels[0].length; at += 4)
    differ += [0, 1, 2].some((part) => Math.abs(pixels[0][at + part] - pixels[1][at + part]) > 60);
  return (400 * differ) / pixels[0].length;
}"""
