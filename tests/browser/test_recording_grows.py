"""What channels note grows at the cursor, and a bar leads to where each phase begins."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import open_sample


@pytest.fixture
def banks(samples, page):
    page.goto("/")
    open_sample(page, re.compile("two banks", re.I))
    page.keyboard.press("Home")
    return page


def noted(page, channel: str, role: str = "noted"):
    return page.locator(f'#wb-contents-list li[data-channel="{channel}"] [data-role={role}]')


def phase(page, name: str):
    return page.locator(f'#wb-course [data-phase="{name}"]')


def said(page):
    return page.locator("#wb-course-said")


def step_until(page, text: str) -> None:
    for _ in range(30):
        if text in (said(page).text_content() or ""):
            return
        before = page.locator("#wb-readout").text_content()
        page.keyboard.press("ArrowRight")
        expect(page.locator("#wb-readout")).not_to_have_text(before or "")
    raise AssertionError(f"no step led to: {text}")


def test_what_a_channel_notes_grows_until_it_is_locked(banks):
    expect(noted(banks, "B->A")).to_have_text("not begun")
    step_until(banks, "1 of 2 recorded, 1 channel open, waited for: B.")
    expect(noted(banks, "B->A")).to_have_text("recordingempty")
    expect(noted(banks, "A->B")).to_have_text("not begun")
    lists = {noted(banks, "B->A").text_content()}
    step_until(banks, "2 of 2 recorded, 1 channel open, waited for: the marker on B->A.")
    expect(noted(banks, "A->B")).to_have_text("lockedempty")
    for _ in range(8):
        lists.add(noted(banks, "B->A").text_content())
        banks.keyboard.press("ArrowRight")
        banks.wait_for_timeout(300)
    expect(said(banks)).to_have_text("2 of 2 recorded, all 2 channels locked.")
    expect(noted(banks, "B->A")).to_have_text("locked1,0002,000")
    assert {"recordingempty", "recording1,0002,000"} <= lists
    expect(noted(banks, "B->A", "recorded")).to_have_text("1,0002,000")  # in the end the same


def test_each_phase_can_be_gone_to_with_mouse_and_keys(banks):
    places = {}
    for name in ("complete", "not begun", "spreading"):
        phase(banks, name).focus()
        banks.keyboard.press("Enter")
        expect(phase(banks, name)).to_have_attribute("aria-current", "step")
        places[name] = banks.locator("#wb-readout").text_content()
    assert len(set(places.values())) == 3
    phase(banks, "complete").click()
    expect(said(banks)).to_have_text("2 of 2 recorded, all 2 channels locked.")
    expect(banks.locator("#wb-readout")).to_have_text(places["complete"])


def shares(page) -> list[float]:
    """Return which share of each phase is filled."""
    return page.locator(".wb-phase").evaluate_all(
        "(parts) => parts.map((part) => Number(part.style.getPropertyValue('--share')))"
    )


def test_the_bar_fills_while_it_plays(banks):
    expect(phase(banks, "not begun")).to_have_attribute("aria-current", "step")
    assert shares(banks)[1:] == [0, 0]
    banks.locator("#wb-speed").select_option("5")
    banks.locator("#wb-play").click()
    expect(phase(banks, "complete")).to_have_attribute("aria-current", "step", timeout=60_000)
    assert shares(banks) == [1, 1, 1]


def test_steps_are_asked_of_the_server(samples, page):
    sent: list[str] = []

    def take(text: str | bytes) -> None:
        sent.append(str(text))

    page.on("websocket", lambda socket: socket.on("framesent", take))
    page.goto("/")
    open_sample(page, re.compile("two banks", re.I))
    page.keyboard.press("Home")
    for key in ("ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator("#wb-readout")).to_contain_text("event 3 /")
    assert [text for text in sent if '"step"' in text]


def sentence(page):
    return page.locator("#wb-sentence")


def test_each_step_is_said_in_a_sentence_that_screen_readers_read(banks):
    expect(sentence(banks)).to_have_attribute("aria-live", "polite")
    step_until(banks, "1 of 2 recorded")
    expect(sentence(banks)).to_have_text("A records 9,000 for s1 and sends a marker on A->B.")
    step_until(banks, "2 of 2 recorded")
    expect(sentence(banks)).to_have_text(
        "B had not recorded: it records 3,000, notes A->B as empty, and sends a marker on B->A."
    )
    banks.keyboard.press("c")  # a cut that is dragged has no last event
    expect(sentence(banks)).to_have_text("")


def test_many_processes_are_counted_and_what_happens_is_said_when_the_replay_stops(samples, page):
    page.goto("/")
    open_sample(page, re.compile("fifty processes", re.I))
    page.keyboard.press("Home")
    phase(page, "spreading").click()
    expect(said(page)).to_have_text(
        re.compile(r"^1 of 50 recorded, \d channels? open, waited for: p1, p2, p3 … and 46 more\.$")
    )
    page.locator("#wb-speed").select_option("2")
    page.locator("#wb-play").click()
    expect(sentence(page)).to_have_text("")  # too many go by
    expect(said(page)).not_to_contain_text("1 of 50 recorded")
    page.locator("#wb-play").click()
    expect(sentence(page)).to_have_text(re.compile(r"^\S.+\.$"))
