"""The workbench and the topology editor on a phone, by touch."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.test_workbench import until_plotly_has_drawn
from tests.conftest import watch_for_errors
from tests.webapp.serving import wait_until


@pytest.fixture
def phone(samples, browser, signed_in_state):
    """Return a page of a phone. Any error in its console fails the test."""
    context = browser.new_context(
        base_url=samples.url,
        storage_state=signed_in_state,
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
    )
    phone = context.new_page()
    errors = watch_for_errors(phone)
    yield phone
    context.close()
    assert not errors, f"the page complained: {errors}"


def open_banks(phone) -> None:
    phone.goto("/")
    phone.goto(
        phone.get_by_role("link", name=re.compile("two banks", re.I)).first.get_attribute("href")
    )
    phone.locator("#workbench.is-ready").wait_for()


def fits(phone) -> bool:
    return phone.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_the_cursor_moves_with_a_slider(phone):
    open_banks(phone)
    slider = phone.locator("#wb-scrub")
    expect(slider).to_be_visible()
    box = slider.bounding_box()
    assert box["height"] >= 40 or box["width"] > 250
    before = phone.locator("#wb-readout").inner_text()
    phone.touchscreen.tap(box["x"] + box["width"] * 0.9, box["y"] + box["height"] / 2)
    expect(phone.locator("#wb-readout")).not_to_have_text(before)
    readout = phone.locator("#wb-readout")
    assert readout.evaluate("it => it.scrollWidth <= it.clientWidth"), "the readout is cut off"
    assert fits(phone)


def test_every_entry_of_the_menus_is_on_the_screen(phone):
    open_banks(phone)
    phone.get_by_label("More about this recording").tap()
    rows = {entry.bounding_box()["y"] for entry in phone.locator(".site-nav a").all()}
    assert len(rows) == 2, "the menu takes the place of the diagram"
    entries = phone.locator(".site-nav a, .wb-actions details[open] a").all()
    assert len(entries) > 9
    for entry in entries:
        box = entry.bounding_box()
        assert box["x"] >= 0, entry.inner_text()
        assert box["x"] + box["width"] <= 390, entry.inner_text()
    assert fits(phone)


def lane_of_b(phone):
    return phone.locator("#wb-spacetime .ytick text", has_text="B")


def is_above(phone, upper, lower) -> bool:
    """Return whether one thing ends above another, once the page has drawn what was asked for."""
    phone.wait_for_timeout(100)
    return upper.bounding_box()["y"] + 16 < lower.bounding_box()["y"]


# An event is counted when every listener has had it, and what they asked for is drawn.
COUNT_TAPS = """() => {
  window.taps = 0;
  const count = () => requestAnimationFrame(() => requestAnimationFrame(() => (window.taps += 1)));
  addEventListener("pointerup", count);
}"""


def tap_until_selected(phone) -> None:
    """Tap along the lane of B, each time when the page is done with the tap before."""
    left = phone.locator("#wb-spacetime").bounding_box()["x"]
    lane = lane_of_b(phone).bounding_box()
    phone.evaluate(COUNT_TAPS)
    for taps, right in enumerate(range(60, 360, 12), start=1):
        phone.touchscreen.tap(left + right, lane["y"] + lane["height"] / 2)
        wait_until(lambda taps=taps: phone.evaluate("window.taps") == taps, seconds=30)
        if phone.locator("#workbench.has-selection").count():
            return
    pytest.fail("no tap on the lane of B selected anything")


def test_what_was_tapped_is_in_view(phone):
    open_banks(phone)
    until_plotly_has_drawn(phone)
    bar = phone.locator(".wb-transport").bounding_box()
    lane = lane_of_b(phone).bounding_box()
    assert lane["y"] + lane["height"] < bar["y"], "the transport bar covers the lane of B"
    tap_until_selected(phone)
    shown = phone.locator("#wb-details")
    expect(shown).to_contain_text("index")
    wait_until(lambda: is_above(phone, lane_of_b(phone), shown), seconds=5)
    box = shown.bounding_box()
    assert box["y"] + box["height"] <= bar["y"] + 1, "the details are below the transport bar"
    phone.get_by_label("Close the details").tap()
    expect(shown).not_to_contain_text("index")


def test_a_process_is_added_by_touch(phone):
    phone.goto("/topologies/new")
    drawing = phone.locator("svg.drawing")
    box = drawing.bounding_box()
    before = phone.locator(".drawing-process").count()
    place = box["x"] + 60, box["y"] + 60
    phone.touchscreen.tap(*place)
    phone.touchscreen.tap(*place)
    expect(phone.locator(".drawing-process")).to_have_count(before + 1)
    expect(phone.locator(".drawing-hint")).not_to_contain_text("lick")
    phone.get_by_role("button", name="Process", exact=True).tap()
    phone.touchscreen.tap(box["x"] + 200, box["y"] + 200)
    expect(phone.locator(".drawing-process")).to_have_count(before + 2)
    assert fits(phone)
