"""What exactly-once costs: three runs in one figure under one cursor, in a browser."""

import pytest
from playwright.sync_api import expect

from snapshots.simulating.compared_modes import MODES
from tests.browser.looks import looking
from tests.stack import PICTURES

DRAWN = "() => document.querySelector('.modes-figure .figure-plot')?.data?.length === 12"
LABELS = ".modes-figure .hoverlayer .legend text, .modes-figure .hoverlayer text"
WAYS = [(scheme, width) for scheme in ("light", "dark") for width in (1280, 390)]


@pytest.fixture
def figure(page):
    page.goto("/learn")
    page.get_by_role("link", name="What exactly-once costs").click()
    page.wait_for_function(DRAWN)
    return page.locator(".modes-figure .figure-plot")


def test_one_cursor_reads_all_three_runs_in_all_panels(figure, page):
    box = figure.locator(".draglayer .xy .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.5 * box["height"])
    expect(page.locator(LABELS).first).to_be_visible()
    texts = " ".join(page.locator(LABELS).all_text_contents())
    assert all(f"{mode} : " in texts for mode in MODES)
    for unit in ("records / s", "latency, ms", "blocked channels"):
        assert texts.count(unit) == 3, texts
    line = figure.locator(".hoverlayer .spikeline").first.bounding_box()
    assert line["height"] > 500


def test_another_seed_makes_other_runs_and_the_best_are_marked(figure, page):
    best = page.locator(".modes-best")
    expect(best.first).to_be_visible()
    before = figure.evaluate("plot => JSON.stringify(plot.data[0].y)")
    page.get_by_role("textbox", name="Seed").fill("6")
    page.get_by_role("button", name="Run it again").click()
    page.wait_for_url("**/learn/modes?seed=6")
    page.wait_for_function(DRAWN)
    assert figure.evaluate("plot => JSON.stringify(plot.data[0].y)") != before
    row = page.get_by_role("row", name="Channels blocked")
    expect(row.locator("td").first).not_to_contain_text("best")
    expect(row.locator("td").nth(1)).to_contain_text("best")


def test_colours_follow_the_theme(figure, page):
    light = figure.evaluate("plot => plot.layout.font.color")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(
        "light => document.querySelector('.modes-figure .figure-plot').layout.font.color !== light",
        arg=light,
    )


@pytest.mark.parametrize(("scheme", "width"), WAYS)
def test_it_is_pictured_and_nothing_is_wider_than_the_page(
    browser, server, signed_in_state, scheme, width
):
    with looking(browser, server.url, signed_in_state, (scheme, width)) as page:
        page.goto("/learn/modes")
        page.wait_for_function(DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=PICTURES / f"modes-{scheme}-{width}.png", full_page=True)
