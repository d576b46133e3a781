"""The workbench plays from the frames of the server."""

import json
import re
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from snapshots.domain.simulators.samples import two_banks
from tests.browser.conftest import open_sample
from tests.browser.test_snapshot_page import uploaded
from tests.web.api.test_open_recordings import HEADER, lines
from tests.webapp.over_http import Api

FRAMES = 20  # more than these arrive while one plays for 10 s
MARKS = """() => [...document.querySelectorAll(".js-plotly-plot")]
  .filter(({ layout }) => layout.paper_bgcolor === "rgba(0,0,0,0)" && layout.margin.l === 0)
  .map(({ data }) => data.map(({ x }) => [...x]))"""


@pytest.fixture
def frames(page):
    """Return the frames that the page gets, as they come."""
    return frames_of(page)


def frames_of(page) -> list[dict]:
    """Return the frames that a page gets, as they come."""
    found: list[dict] = []

    def take(text: str | bytes) -> None:
        message = json.loads(text)
        if message["type"] == "frame":
            found.append(message)

    page.on("websocket", lambda socket: socket.on("framereceived", take))
    return found


def play(page, frames: list[dict]) -> None:
    """Play until more than FRAMES frames have come, and traces of Plotly have moved."""
    page.wait_for_function("() => window.Plotly")
    page.locator("#wb-play").click()
    before = page.evaluate(MARKS)
    assert before
    come(page, frames)
    moved = f"(before) => JSON.stringify(({MARKS})()) !== JSON.stringify(before)"
    page.wait_for_function(moved, arg=before)


def come(page, frames: list[dict]) -> None:
    """Wait until more than FRAMES frames have come."""
    before = len(frames)
    for _ in range(300):
        if len(frames) > before + FRAMES:
            return
        page.wait_for_timeout(200)
    raise AssertionError(f"{len(frames) - before} frames came in 60 s")


def test_frames_come_while_a_sample_plays_and_the_panels_follow(samples, page, frames):
    page.goto("/")
    open_sample(page, re.compile("two banks", re.I))
    readout = page.locator("#wb-readout")
    page.keyboard.press("Home")
    before = readout.text_content()
    play(page, frames)
    assert readout.text_content() != before
    numbers = [frame["sequence"] for frame in frames]
    assert numbers == sorted(numbers)
    assert all(later["from"] in (None, earlier["at"]) for earlier, later in pairwise(frames))


def test_frames_come_while_fifty_processes_play(samples, page, frames):
    page.goto("/")
    open_sample(page, re.compile("fifty", re.I))
    page.keyboard.press("Home")
    play(page, frames)


def test_frames_come_while_an_open_recording_plays(stack, page, frames):
    api = Api(stack)
    pk = api.post("/recordings", {"open": True, "header": HEADER}).body["id"]
    sent = {"kind": "send", "process": "A", "channel": "A->B"}
    received = sent | {"kind": "receive", "process": "B"}
    events = [
        each | {"index": n, "at": 1000 * n + later, "message": f"m{n}"}
        for n in range(40)
        for each, later in ((sent, 0), (received, 3000))
    ]
    more = {"Content-Type": "application/x-ndjson"}
    answer = api.call("POST", f"/recordings/{pk}/events", lines(*events), **more)
    assert answer.status == 200, answer.body
    page.goto(f"/recordings/{pk}")
    page.locator("#workbench.is-ready").wait_for()
    page.keyboard.press("v")  # it no longer follows the head
    page.keyboard.press("Home")
    play(page, frames)
    api.call("DELETE", f"/recordings/{pk}")


def test_without_a_websocket_the_page_says_so_and_plays_over_http(samples, page, frames):
    page.goto("/")
    page.route_web_socket(re.compile("/ws/recordings/"), lambda socket: socket.close())
    with page.expect_response(re.compile(r"/frames\?")) as first:
        open_sample(page, re.compile("two banks", re.I))
    assert first.value.ok
    expect(page.locator("#wb-lost")).to_contain_text("over HTTP")
    page.keyboard.press("Home")
    before = page.locator("#wb-readout").text_content()
    with page.expect_response(re.compile(r"/frames\?.*key=false")) as further:
        page.locator("#wb-play").click()
    assert further.value.ok
    expect(page.locator("#wb-readout")).not_to_have_text(before)
    assert frames == []


def test_a_visitor_without_an_account_plays_what_a_public_link_shows(stack, page, stranger):
    address = uploaded(page, two_banks(), "shown.jsonl")
    link = Api(stack).post(f"{address}/public-links", {"name": "for the vendor"}).body
    frames = frames_of(stranger)
    stranger.goto(link["link"])
    stranger.locator("#workbench.is-ready").wait_for()
    expect(stranger.get_by_role("link", name="Account")).to_have_count(0)
    readout = stranger.locator("#wb-readout")
    stranger.keyboard.press("Home")
    before = readout.text_content()
    play(stranger, frames)
    assert readout.text_content() != before
    stranger.locator("#wb-play").click()
    expect(stranger.locator("#wb-lost")).to_be_hidden()
