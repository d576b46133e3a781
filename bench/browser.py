"""The workbench in Chromium: bytes on the wire, first picture, tasks, shifts and frames.

    python -m bench.browser URL [--sign-in LINK] [--seconds 8]

URL is a recording's page; LINK is the output of `manage.py sign_in_link`.
"""

import argparse
import itertools
import json
import os
from dataclasses import asdict, dataclass

from playwright.sync_api import Browser, CDPSession, Page, Playwright, sync_playwright

from bench.tasks import traced
from webapp import machine

CHROMIUM_ARGUMENTS = [
    "--no-sandbox",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # A browser that is measured notes where each call stands. Chromium would compile functions a
    # second time for that; nobody else's browser does.
    "--js-flags=--no-enable-lazy-source-positions",
]
FIRST_PICTURE = "performance.getEntriesByName('first-picture')[0]?.startTime ?? null"
OBSERVE = """() => {
  window.observed = { longest: 0, shift: 0 };
  const observe = (type, note) => new PerformanceObserver(
    (list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
  observe("longtask", ({ duration }) => {
    window.observed.longest = Math.max(window.observed.longest, duration);
  });
  observe("layout-shift", ({ value, hadRecentInput }) => {
    if (!hadRecentInput) window.observed.shift += value;
  });
}"""
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

    Attributes:
        cold_bytes: bytes on the wire when the browser has cached nothing.
        first_picture: seconds from the request to the drawn diagram; the scripts are cached.
        longest_task: longest task until the page is ready, ms.
        longest_processor: the same in processor time, ms.
        longest_drawing: longest task, in processor time, while Plotly is loaded and draws, ms.
        layout_shift: sum of the shifts until the page is ready.
        frames_per_second: frames a second while playing.
        slowest_frame: 99th percentile, ms.
        worst_frame: the longest of all frames, ms.
        in_flight: messages in channels at the end of playing.
        empty_frames_per_second: frames a second of an empty page, before.
        empty_worst_frame: its longest frame, ms.
        load: processes that wanted to run, on average of the last minute.
    """

    cold_bytes: int
    first_picture: float
    longest_task: float
    longest_processor: float
    longest_drawing: float
    layout_shift: float
    frames_per_second: float
    slowest_frame: float
    worst_frame: float
    in_flight: int
    empty_frames_per_second: float
    empty_worst_frame: float
    load: float


def measure(url: str, *, sign_in: str | None = None, seconds: float = 8) -> Measured:
    """Open the recording, play it from its middle at 1x with about 300 messages in view."""
    with sync_playwright() as playwright:
        browser = launch(playwright)
        figures = measure_in(signed_in(browser, sign_in), url, seconds)
        browser.close()
    return figures


def launch(playwright: Playwright) -> Browser:
    chromium = machine.find_chromium() or playwright.chromium.executable_path
    return playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGUMENTS)


def signed_in(browser: Browser, link: str | None) -> Page:
    """Return a page of somebody who has followed the link."""
    page = browser.new_context(viewport={"width": 1280, "height": 800}).new_page()
    page.add_init_script(f"({OBSERVE})()")
    if link:
        page.goto(link)
        page.get_by_role("button", name="Sign in as").click()
        if page.get_by_role("button", name="Sign in").count():
            page.get_by_role("button", name="Sign in").click()
    return page


def measure_in(page: Page, url: str, seconds: float) -> Measured:
    cold_bytes = cold_weight(page, url)
    page.goto("about:blank")
    empty = steps_of(page.evaluate(COUNT_FRAMES, seconds))
    with traced(page) as opening:
        first_picture = open_once(page, url)
        page.locator("#workbench.is-ready").wait_for()
    observed = page.evaluate("window.observed")
    with traced(page) as drawing:
        until_plotly_has_drawn(page)
    played, in_flight = play(page, seconds)
    steps = steps_of(played)
    return Measured(
        cold_bytes=cold_bytes,
        first_picture=round(first_picture, 3),
        longest_task=round(observed["longest"]),
        longest_processor=round(opening.longest),
        longest_drawing=round(drawing.longest),
        layout_shift=round(observed["shift"], 4),
        frames_per_second=round(1000 * len(steps) / sum(steps), 1),
        slowest_frame=round(steps[int(len(steps) * 0.99)], 1),
        worst_frame=round(steps[-1], 1),
        in_flight=in_flight,
        empty_frames_per_second=round(1000 * len(empty) / sum(empty), 1),
        empty_worst_frame=round(empty[-1], 1),
        load=round(os.getloadavg()[0], 1),
    )


def steps_of(frames: list[float]) -> list[float]:
    """Return the times from frame to frame, the shortest first, ms."""
    return sorted(b - a for a, b in itertools.pairwise(frames))


def until_plotly_has_drawn(page: Page) -> None:
    """Wait until Plotly has drawn all charts."""
    for chart in ("topology-marks", "depth"):  # which come last
        page.locator(f"#wb-{chart} .main-svg").first.wait_for()


def cold_weight(page: Page, url: str) -> int:
    """Return the bytes on the wire until the page is at rest, with an empty cache."""
    weights, session = watch_weights(page)
    session.send("Network.clearBrowserCache")
    page.goto(url)
    if page.locator("#workbench").count():
        page.locator("#workbench.is-ready").wait_for()
    page.wait_for_load_state("networkidle")
    session.detach()
    return sum(weights.values())


def watch_weights(page: Page) -> tuple[dict[str, int], CDPSession]:
    """Return the bytes on the wire by address, which grow while pages load, and what counts them.

    A frame of a websocket counts as it is after decompression, so rather too much.
    """
    weights: dict[str, int] = {}
    addresses: dict[str, str] = {}
    session = page.context.new_cdp_session(page)

    def add(address: str, size: float) -> None:
        weights[address] = weights.get(address, 0) + int(size)

    session.on(
        "Network.requestWillBeSent",
        lambda sent: addresses.update({sent["requestId"]: sent["request"]["url"]}),
    )
    session.on(
        "Network.loadingFinished",
        lambda done: add(addresses.get(done["requestId"], "?"), done["encodedDataLength"]),
    )
    session.on(
        "Network.webSocketFrameReceived",
        lambda got: add("websocket", len(got["response"]["payloadData"])),
    )
    session.send("Network.enable")
    return weights, session


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
