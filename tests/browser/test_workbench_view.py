"""The view of the workbench: keys change it, and another browser shows it from the address."""

import base64
import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import open_sample
from tests.browser.pictures import DIFFERENCE
from tests.browser.test_workbench import until_plotly_has_drawn, wait_for_address
from tests.conftest import watch_for_errors
from tests.stack import PICTURES

SETTLED = 700  # ms, until the address is written


@pytest.fixture
def splits(learn):
    """Return the workbench of a dataflow with operators of several subtasks."""
    open_sample(learn, "Splits change hands")
    learn.goto(learn.url.partition("?")[0])  # without the tour
    learn.locator("#workbench.is-ready").wait_for()
    return learn


def lanes(page):
    return page.locator(".wb-lane-list .wb-lane-name")


def separator(page, name: str):
    return page.get_by_role("separator", name=name)


def arrange(page) -> None:
    """Change everything that a view has by the keyboard alone."""
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.keyboard.type("e")
    page.get_by_label("Order of the lanes").select_option("events")
    page.locator(".wb-lane-list").get_by_role("button", name="Pin").last.press("Enter")
    page.keyboard.press("Escape")
    page.keyboard.press("i")
    page.keyboard.press("w")
    separator(page, "Height of Space-time diagram").press("ArrowDown")
    separator(page, "Width of the column to read").press("PageUp")
    page.get_by_label("Arrange Channel depth").press("Enter")
    page.get_by_role("button", name="Move up").press("Enter")
    page.get_by_label("Fold Process states").press("Enter")
    page.get_by_label("Filter channels").fill("0")
    page.keyboard.press("Escape")
    page.evaluate("document.activeElement.blur()")
    page.keyboard.press("ArrowRight")


def seen(page) -> bytes:
    """Return a screenshot of charts by Plotly and lists, without what is said for a moment."""
    until_plotly_has_drawn(page)
    page.mouse.move(1, 1)
    page.wait_for_timeout(SETTLED)
    page.locator(".wb-message").evaluate_all(
        "all => all.forEach((each) => { each.hidden = true; })"
    )
    return page.locator(".wb-columns").screenshot()


@pytest.mark.long
def test_another_browser_shows_the_view_from_its_address(splits, browser, signed_in_state, samples):
    splits.keyboard.press("l")
    all_lanes = lanes(splits).count()
    splits.keyboard.press("Escape")
    arrange(splits)
    before = seen(splits)
    address = splits.url
    for field in (
        "idle=1",
        "group=1",
        "lanes=e",
        "sort=events",
        "pin=",
        "order=",
        "size=",
        "fold=",
    ):
        assert field in address
    other = browser.new_context(
        base_url=samples.url,
        storage_state=signed_in_state,
        viewport={"width": 1280, "height": 800},
    )
    page = other.new_page()
    errors = watch_for_errors(page)
    page.goto(address.partition("?")[0])
    page.locator("#workbench.is-ready").wait_for()
    separator(page, "Height of Topology").press("End")  # this browser has an arrangement of its own
    page.goto(address)
    page.locator("#workbench.is-ready").wait_for()
    pictures = {"here": before, "there": seen(page)}
    for name, content in pictures.items():
        PICTURES.mkdir(parents=True, exist_ok=True)
        (PICTURES / f"view-{name}.png").write_bytes(content)
    differing = page.evaluate(DIFFERENCE, [encoded(content) for content in pictures.values()])
    assert differing == 0
    assert page.url == address
    page.keyboard.press("l")
    assert 0 < lanes(page).count() < all_lanes
    page.goto(address.partition("?")[0])
    page.locator("#workbench.is-ready").wait_for()
    page.wait_for_timeout(SETTLED)
    assert "size=topology-950" in page.url, "the link has replaced what this browser remembers"
    assert not errors
    other.close()


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def test_panels_return_and_a_link_of_nonsense_is_said(splits):
    start = splits.locator('[data-panel="depth"]').bounding_box()
    height = separator(splits, "Height of Channel depth")
    usual = int(height.get_attribute("aria-valuenow"))
    height.press("ArrowDown")
    expect(height).to_have_attribute("aria-valuenow", str(usual + 20))
    assert splits.locator('[data-panel="depth"]').bounding_box()["height"] > start["height"]
    grip = height.bounding_box()
    splits.mouse.move(grip["x"] + 100, grip["y"] + 4)
    splits.mouse.down()
    splits.mouse.move(grip["x"] + 100, grip["y"] + 64, steps=4)
    splits.mouse.up()
    expect(height).not_to_have_attribute("aria-valuenow", str(usual + 20))
    splits.get_by_label("Arrange Topology").click()
    splits.get_by_role("button", name="Move up").click()
    wait_for_address(splits, "order")
    splits.reload()
    splits.locator("#workbench.is-ready").wait_for()
    panels = splits.locator("[data-panel]")
    names = panels.evaluate_all("all => all.map((panel) => panel.dataset.panel)")
    assert names == ["spacetime", "topology", "depth"]
    splits.get_by_label("Arrange Topology").click()
    splits.get_by_role("button", name="All panels as at first").click()
    expect(height).to_have_attribute("aria-valuenow", str(usual))
    names = panels.evaluate_all("all => all.map((panel) => panel.dataset.panel)")
    assert names == ["spacetime", "depth", "topology"]
    splits.goto(f"{splits.url.partition('?')[0]}?sort=up&pin=nobody&cut=1&size=depth-3")
    splits.locator("#workbench.is-ready").wait_for()
    said = splits.locator("#wb-message")
    expect(said).to_contain_text(re.compile("lanes.sort.*lanes.pinned.*panels.sizes.*and 1 more"))
