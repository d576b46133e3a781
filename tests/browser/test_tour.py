"""Guided tours in a browser: each step shows what its text describes."""

import re

from playwright.sync_api import expect

from tests.browser.conftest import open_sample

PHONE = {"width": 390, "height": 844}


def tour(page, name: str):
    """Open a sample's tour and return its panel."""
    open_sample(page, name)
    return page.locator("#wb-guide")


def go_on(panel, title: str) -> None:
    """Go on to the step with this title."""
    panel.get_by_role("button", name="Next").click()
    expect(panel.get_by_role("heading", name=title)).to_be_visible()


def test_each_step_brings_the_panel_that_it_speaks_of(learn):
    panel = tour(learn, "Two banks")
    states, contents = learn.locator("#wb-tab-states"), learn.locator("#wb-tab-contents")
    expect(states).to_be_in_viewport()
    expect(states.locator("[data-process=A] [data-role=now]")).to_have_text("10,000")
    expect(contents).to_be_hidden()
    go_on(panel, "Why not just ask each bank?")
    expect(contents.locator("[data-channel='A->B'] [data-role=now]")).to_have_text("1,000")
    expect(contents).to_be_in_viewport()
    expect(states).to_be_hidden()
    panel.locator("summary").first.click()
    expect(contents).to_be_visible()
    expect(states).to_be_visible()


def test_the_last_step_of_the_banks_shows_a_cut_that_is_not_consistent(learn):
    panel = tour(learn, "Two banks")
    for _ in range(7):
        panel.get_by_role("button", name="Next").click()
    expect(learn.locator("#wb-verdict")).to_contain_text("not consistent")
    expect(learn.locator("#wb-states-totals")).to_contain_text("16,000; at the start 15,000")
    panel.get_by_role("link", name="Next tour: One token").click()
    expect(learn).to_have_url(re.compile(r"tour=1"))
    expect(learn.locator("#wb-guide-title")).to_have_text("One token")


def test_the_words_of_a_tour_are_explained_beside_it(learn):
    panel = tour(learn, "Two banks")
    panel.get_by_text("The words of this tour").click()
    expect(panel.locator("dl")).to_contain_text("First in, first out")


def test_the_topology_shows_the_phases_of_the_snapshot_that_is_chosen(learn):
    """The counts of phases are the same at both snapshots, and differ in between."""
    tour(learn, "A computation that ends")
    for name in ("s3", "s4"):
        learn.locator(".wb-chip", has_text=name).click()
        expect(learn.locator("#wb-topology-notice")).to_have_text(f"Snapshot {name}: 4 recording.")
        words = learn.locator("#wb-topology-marks text", has_text="recording")
        expect(words).to_have_count(4, timeout=60_000)


def test_a_message_without_a_value_is_shown_by_its_id(learn):
    tour(learn, "A state that never occurred")
    recorded = learn.locator('[data-channel="c\'"] [data-role=recorded]')
    expect(recorded).to_have_text("M'")


def test_on_a_phone_text_and_picture_stand_together(learn):
    learn.set_viewport_size(PHONE)
    panel = tour(learn, "Two banks")
    expect(panel.get_by_role("button", name="Next")).to_be_in_viewport()
    expect(learn.locator("#wb-spacetime")).to_be_in_viewport(ratio=0.9)
    assert panel.bounding_box()["y"] < learn.locator("#wb-spacetime").bounding_box()["y"]
