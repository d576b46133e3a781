"""Theorem 1 in a browser: the paper's own example, and the tour that leads to it."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import open_sample
from tests.webapp.serving import wait_until


@pytest.fixture
def paper(learn):
    """Return the page of the sample whose recorded state never occurred."""
    open_sample(learn, "A state that never occurred")
    return learn


def test_the_tour_leads_step_by_step_to_the_other_order(paper):
    tour = paper.locator("#wb-guide")
    expect(tour).to_contain_text("Two processes with two states each")
    for _ in range(4):
        tour.get_by_role("button", name="Next").click()
    expect(tour).to_contain_text("5 of 5")
    expect(tour.get_by_role("link", name="Next tour: Fifty processes")).to_be_visible()
    expect(tour.get_by_role("button", name="Next")).to_be_disabled()
    tour.get_by_role("link", name="See the other order").click()
    expect(paper).to_have_url(re.compile(r"/proof\?snapshot=s1"))


def test_the_swaps_lead_from_e0_e1_e2_to_e1_e0_e2(paper):
    recording = re.search(r"/recordings/(\d+)", paper.url).group(1)
    paper.goto(f"/recordings/{recording}/proof?snapshot=s1")
    if paper.get_by_role("button", name="Reorder the run").count():
        paper.get_by_role("button", name="Reorder the run").click()
    paper.locator("#proof.is-ready").wait_for()
    expect(paper.get_by_text("the system never stood in it")).to_be_visible()
    expect_order(paper, "#proof-was", ["e0", "e1", "e2"])
    expect_order(paper, "#proof-now", ["e1", "e0", "e2"])
    expect(paper.locator("#proof-now")).to_contain_text("recorded state")
    paper.get_by_role("button", name="One swap back").click()
    expect_order(paper, "#proof-now", ["e0", "e1", "e2"])
    said = paper.locator("#proof-said")
    expect(said).to_have_text(
        "Swap 1 of 1: e1 (q sends M' on c') moves in front of e0 (p sends M on c)."
    )
    paper.get_by_role("button", name="Play").click()
    expect(said).to_contain_text("1 swap done")
    expect_order(paper, "#proof-now", ["e1", "e0", "e2"])


def expect_order(page, chart: str, names: list[str]) -> None:
    """Wait until Plotly has drawn these events, from left to right."""
    wait_until(lambda: order(page, chart) == names, seconds=30)


def order(page, chart: str) -> list[str]:
    """Return the names of the events from left to right, as Plotly draws them."""
    return page.locator(f"{chart} .textpoint text").evaluate_all(
        "texts => texts.map((t) => [t.getBoundingClientRect().x, t.textContent])"
        ".sort((a, b) => a[0] - b[0]).map(([, name]) => name)"
    )


def test_arrow_keys_go_through_the_global_states_and_enter_describes_one(paper):
    recording = re.search(r"/recordings/(\d+)", paper.url).group(1)
    paper.goto(f"/recordings/{recording}/states?snapshot=s1")
    chosen = paper.locator("#states-graph a[tabindex='0']")
    expect(chosen).to_have_attribute("data-state", "2")
    chosen.focus()
    paper.keyboard.press("ArrowUp")
    expect(paper.locator("#states-graph a:focus")).to_have_attribute("data-state", "1")
    paper.keyboard.press("ArrowRight")
    paper.keyboard.press("Enter")
    expect(paper.locator("#state-title")).to_have_text("State 3")
    expect(paper).to_have_url(re.compile("state=3"))
    paper.get_by_role("link", name="state 4", exact=True).click()
    expect(paper.locator("#state")).to_contain_text("the run passed it")
    expect(paper.locator("#states-graph .is-chosen")).to_have_attribute("data-state", "4")
