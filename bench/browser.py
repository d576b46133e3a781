"""The workbench in Chromium: frames per second while playing, and the time to the first picture.

    python -m bench.browser URL [--sign-in LINK] [--seconds 8]

URL is a recording's page; LINK is the output of `manage.py sign_in_link`.
"""

import argparse
import itertools
import json
from dataclasses import asdict, dataclass

from playwright.sync_api import Page, sync_playwright

from webapp import machine

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
FIRST_PICTURE = "performance.getEntriesByName('first-picture')[0]?.startTime ?? null"
COUNT_FRAMES = """seconds => new Promise((resolve) => {
  const frames = [];
  const begin = performance.now();
  const frame = (now) => {
    frames.push(now);
    if (now - begin < seconds * 1000) requestAnimationFrame(frame);
    else resolve(frames);
  };
  requestAnimationFrame(frame);
})"""


@dataclass(frozen=True)
class Measured:
    """The figures of one visit.

    first_picture: seconds from the request to the drawn diagram. slowest_frame: 99th percentile,
    ms. in_flight: messages in channels at the end of playing.
    """

    first_picture: float
    frames_per_second: float
    slowest_frame: float
    in_flight: int


def measure(url: str, *, sign_in: str | None = None, seconds: float = 8) -> Measured:
    """Open the recording, play it from its middle at 1x with about 300 messages in view."""
    with sync_playwright() as playwright:
        chromium = machine.find_chromium() or playwright.chromium.executable_path
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)
        page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
        if sign_in:
            page.goto(sign_in)
            page.get_by_role("button", name="Sign in as").click()
            if page.get_by_role("button", name="Sign in").count():
                page.get_by_role("button", name="Sign in").click()
        open_once(page, url)
        first_picture = open_once(page, url)
        frames, in_flight = play(page, seconds)
        browser.close()
    steps = sorted(b - a for a, b in itertools.pairwise(frames))
    return Measured(
        first_picture=round(first_picture, 3),
        frames_per_second=round(1000 * len(steps) / (frames[-1] - frames[0]), 1),
        slowest_frame=round(steps[int(len(steps) * 0.99)], 1),
        in_flight=in_flight,
    )


def open_once(page: Page, url: str) -> float:
    """Return the seconds until the diagram is drawn. The second time, the browser has the
    scripts."""
    page.goto("about:blank")
    page.goto(url, wait_until="commit")
    while (at := page.evaluate(FIRST_PICTURE)) is None:
        page.wait_for_timeout(20)
    return at / 1000


def play(page: Page, seconds: float) -> tuple[list[float], int]:
    """Return the instants of the frames while it plays, and how many messages are in flight."""
    page.locator("#workbench.is-ready").wait_for()
    page.evaluate(
        """() => {
          const scrub = document.getElementById("wb-scrub");
          scrub.value = 5000;
          scrub.dispatchEvent(new Event("input"));
        }"""
    )
    notice = page.locator("#wb-window-notice")
    for _ in range(40):
        page.wait_for_timeout(250)
        if "zoom in" not in notice.inner_text():
            break
        page.keyboard.press("w")
    page.wait_for_timeout(1000)
    page.keyboard.press("Space")
    page.wait_for_timeout(500)
    frames = page.evaluate(COUNT_FRAMES, seconds)
    page.keyboard.press("Space")
    page.wait_for_timeout(500)
    totals = page.locator("#wb-contents-totals").inner_text()
    return frames, int(totals.split(" ")[0].replace(",", "") or 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("--sign-in", help="a one-time link")
    parser.add_argument("--seconds", type=float, default=8)
    given = parser.parse_args()
    print(json.dumps(asdict(measure(given.url, sign_in=given.sign_in, seconds=given.seconds))))


if __name__ == "__main__":
    main()
