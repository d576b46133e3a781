"""Compare what figures look like."""

import base64

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


def colours_lacking(sketch, *names: str) -> list[str]:
    """Return the named colours of the page that no pixel of a canvas has."""
    return sketch.evaluate(
        """(canvas, names) => {
          const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
          const seen = new Set();
          for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(
            `rgb(${data[i]}, ${data[i + 1]}, ${data[i + 2]})`);
          const style = getComputedStyle(document.documentElement);
          return names.filter((name) =>
            !seen.has(style.getPropertyValue(`--color-${name}`).trim()));
        }""",
        names,
    )


def picture(locator) -> str:
    """Return a screenshot in base64, as ``DIFFERENCE`` takes it."""
    return base64.b64encode(locator.screenshot(animations="disabled")).decode()
