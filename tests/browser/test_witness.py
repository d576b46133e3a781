"""What the space-time diagram shows first: the worst finding, what crosses the cut, all lanes."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import open_sample
from tests.browser.test_workbench import until_plotly_has_drawn

KINDS = "document.getElementById('wb-spacetime').data.map(({ type }) => type)"


def test_dense_messages_are_a_density_and_what_crosses_the_cut_is_counted(samples, page):
    page.goto("/")
    open_sample(page, "Fifty processes")
    page.keyboard.press("End")
    page.locator(".wb-overview canvas").dblclick()
    until_plotly_has_drawn(page)
    notice = page.locator("#wb-window-notice")
    expect(notice).to_contain_text(
        re.compile(r"\d+ lines: what crosses the cut of s1; 1,\d+ messages as a density")
    )
    assert "heatmap" in page.evaluate(KINDS)
    for _ in range(8):
        page.keyboard.press("w")
    expect(notice).not_to_contain_text("density")
    page.wait_for_function(f"!{KINDS}.includes('heatmap')")


def test_all_lanes_fit_on_request_by_key_and_by_button(samples, page):
    page.goto("/")
    open_sample(page, "Fifty processes")
    until_plotly_has_drawn(page)
    notice = page.locator("#wb-window-notice")
    expect(notice).to_contain_text("of 50: shift and wheel")
    page.keyboard.press("Shift+L")
    expect(notice).not_to_contain_text("of 50: shift and wheel")
    page.wait_for_function(
        "document.getElementById('wb-spacetime')._fullLayout.yaxis.tickvals.length === 50"
    )
    page.get_by_role("button", name="Lanes as before").click()
    expect(notice).to_contain_text("of 50: shift and wheel")
    page.keyboard.press("?")
    expect(page.locator("#wb-help")).to_contain_text("Fit all lanes")


def test_the_diagram_has_half_of_the_height_below_the_head(samples, page):
    page.goto("/")
    open_sample(page, re.compile("two banks", re.I))
    until_plotly_has_drawn(page)
    top = page.locator(".wb-overview").bounding_box()["y"]
    height = page.locator("#wb-spacetime").bounding_box()["height"]
    assert height >= (page.viewport_size["height"] - top) / 2
