"""Two recordings side by side: one cursor moves both diagrams, and a difference shows in both."""

import re

from playwright.sync_api import expect

from snapshots.simulating.reruns import DEMONSTRATION, rerun_of
from tests.browser.test_snapshot_page import uploaded

PLACES = "() => [...document.querySelectorAll('.compare-cursor')].map(({ style }) => style.left)"


def test_one_cursor_moves_both_sides_and_a_difference_shows_in_both(stack, page):
    again = rerun_of(DEMONSTRATION)
    before = uploaded(page, again.breaking("late_markers", "A->B").log(), "before.jsonl")
    after = uploaded(page, again.log(), "after.jsonl")
    page.goto("/")
    for address in (before, after):
        page.locator(f'input[name="recordings"][value="{address.rpartition("/")[2]}"]').check()
    page.get_by_role("button", name="Compare the ticked").click()
    page.get_by_role("link", name="Event by event").click()
    page.locator("#compare-two.is-ready").wait_for()
    left, right = page.locator("[data-readout]").all()

    page.get_by_role("slider", name="The cursor of both sides").focus()
    page.keyboard.press("Home")
    expect(left).to_have_text("0 of 111 events have happened")
    expect(right).to_have_text("0 of 111 events have happened")
    begin = page.evaluate(PLACES)
    for _ in range(9):
        page.keyboard.press("ArrowRight")
    expect(left).to_have_text("9 of 111 events have happened")
    expect(right).to_have_text("9 of 111 events have happened")
    moved = page.evaluate(PLACES)
    assert all(float(now[:-2]) > float(was[:-2]) for was, now in zip(begin, moved, strict=True))

    row = page.get_by_role("row", name=re.compile("C: the first 7 events agree"))
    row.get_by_role("button", name="Show").press("Enter")
    expect(left).to_have_text("34 of 111 events have happened")
    expect(right).to_have_text("31 of 111 events have happened")
    expect(page.locator(".compare-lane")).to_have_count(2)
    at_cursor = page.get_by_role("region", name="At the cursor")
    expect(at_cursor.get_by_role("row", name=re.compile("state of C 720 819"))).to_be_visible()

    page.reload()
    page.locator("#compare-two.is-ready").wait_for()
    expect(right).to_have_text("31 of 111 events have happened")
    page.get_by_label("Where both sides stand").select_option("time")
    expect(left).to_have_text("14.847 ms")
    page.keyboard.press("End")
    expect(left).to_have_text("38.066 ms")
    expect(right).to_have_text("38.066 ms")
