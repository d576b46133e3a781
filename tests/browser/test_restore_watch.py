"""Restore and watch: four beats beside the original, under one cursor, from the server's frames."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import open_sample

PLACES = """() => [...document.querySelectorAll("[data-plot]")].map((plot) =>
  plot.data.at(-1).x[0])"""


@pytest.fixture
def banks(learn):
    """Return the page on which the snapshot of the sample Two banks is restored."""
    return restored(learn, "Two banks")


def restored(learn, name: str):
    open_sample(learn, name)
    recording = re.search(r"/recordings/(\d+)", learn.url).group(1)
    learn.goto(f"/recordings/{recording}/restore?snapshot=s1")
    learn.locator("#restored.is-ready").wait_for()
    return learn


def test_two_banks_go_through_four_beats_to_the_same_end(banks):
    frames: list[str] = []
    banks.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda text: frames.append(str(text))),
    )
    banks.reload()
    banks.locator("#restored.is-ready").wait_for()
    sentence = banks.locator("[data-sentence]")
    expect(sentence).to_contain_text("The system is emptied")
    banks.keyboard.press("n")
    expect(sentence).to_contain_text("B gets the state 3,000, which it recorded.")
    banks.get_by_role("button", name="Next beat").click()
    expect(sentence).to_contain_text("All that was recorded is back: 2 messages in 1 channel.")
    expect(banks.locator("[data-beat='3']")).to_have_attribute("aria-current", "step")
    banks.get_by_role("button", name="Play", exact=True).click()
    expect(banks.locator("[data-ending]")).to_contain_text("Both end alike", timeout=60_000)
    assert len([text for text in frames if '"restored":{' in text]) > 5
    first, second = banks.evaluate(PLACES)
    assert first == second
    expect(banks.locator("[data-play]")).to_have_text("Play")
    banks.keyboard.press("b")
    expect(banks.locator("[data-beat='3']")).to_have_attribute("aria-current", "step")


def test_a_wrong_snapshot_stops_where_it_goes_wrong(learn):
    page = restored(learn, "Snapshots by the clock")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-wrong]")).to_contain_text("a second time", timeout=60_000)
    expect(page.locator("[data-play]")).to_have_text("Play")
    expect(page.locator("[data-rows] tr.is-other")).not_to_have_count(0)
    expect(page.locator("[data-plot]").last).to_contain_text("orphan")
    page.keyboard.press("End")
    expect(page.locator("[data-ending]")).to_contain_text("They end apart")


def test_frames_come_over_http_while_the_websocket_is_closed(learn):
    learn.route_web_socket(re.compile("/ws/recordings/"), lambda socket: socket.close())
    page = restored(learn, "Two banks")
    expect(page.locator("[data-message]")).to_contain_text("asked for over HTTP")
    page.get_by_role("button", name="Next beat").click()
    expect(page.locator("[data-sentence]")).to_contain_text("B gets the state 3,000")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-ending]")).to_contain_text("Both end alike", timeout=60_000)


def test_a_checkpoint_of_flink_goes_from_task_to_task(orders, page):
    page.goto(orders.replace("/contents", "/answer"))
    page.get_by_role("link", name="Restore and watch").first.click()
    page.locator("#restored.is-ready").wait_for()
    sentence = page.locator("[data-sentence]")
    expect(sentence).to_contain_text("hold no state")
    pieces = "() => document.querySelector('[data-plot]').data.at(-4).x"
    before = page.evaluate(pieces)
    page.get_by_role("button", name="Next beat").click()
    expect(sentence).to_contain_text("key groups go to")
    page.wait_for_function(
        f"(before) => {{ const x = ({pieces})(); return x[0] > before[0]; }}", arg=before
    )
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator("[data-ending]")).to_contain_text("Flink restores", timeout=60_000)
    expect(page.locator("[data-rows]")).to_contain_text("split")
    page.set_viewport_size({"width": 390, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
