"""A review in two browsers at once: rows are moved by keys and by pointer, and nothing is lost."""

import pytest
from playwright.sync_api import expect

from snapshots.domain.simulators.samples import two_banks
from tests.browser.test_notes import colleague  # noqa: F401, a fixture
from tests.browser.test_snapshot_page import uploaded

ROW = ".review-rows[data-group=''] > .review-row"


@pytest.fixture
def review(page):
    """Return the address of a review of a recording with two notes, opened by one button."""
    address = uploaded(page, two_banks(), "reviewed.jsonl")
    page.goto(f"{address}/notes")
    for text in ("first", "second"):
        page.locator(".entry-input").fill(text)
        page.get_by_role("button", name="Write").click()
    page.locator("summary", has_text="Review").click()
    page.get_by_role("button", name="Open a review").click()
    page.locator("#review.is-live").wait_for()
    return page.url


def test_two_people_curate_one_timeline(stack, page, review, colleague):  # noqa: F811
    colleague.goto(review)
    colleague.locator("#review.is-live").wait_for()
    page.get_by_role("button", name="Add all 2 to the timeline").click()
    texts = f"{ROW} .entry-text"
    for each in (page, colleague):
        expect(each.locator(texts)).to_have_text(["first", "second"])
    page.locator(ROW).nth(1).focus()
    page.keyboard.press("Alt+ArrowUp")
    expect(page.locator("#review-spoken")).to_have_text("Row 1 of 2")
    expect(page.locator(ROW).nth(0)).to_be_focused()
    expect(colleague.locator(texts)).to_have_text(["second", "first"])

    colleague.locator(ROW).nth(0).get_by_role("link", name="Edit").click()
    typed = colleague.locator("[data-row-form] textarea")
    typed.fill("hers")
    drag(page, 0, 1)
    expect(colleague.locator(texts)).to_have_text(["first", "second"])
    expect(typed).to_have_value("hers")
    page.locator(ROW).nth(1).get_by_role("link", name="Edit").click()
    page.locator("[data-row-form] textarea").fill("his")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(texts)).to_have_text(["first", "his"])
    colleague.get_by_role("button", name="Save").click()
    problem, newer = colleague.locator("[data-problem]"), colleague.locator("[data-newer=text]")
    expect(problem).to_contain_text("You yourself saved this row")
    expect(newer).to_have_text("Saved meanwhile: his")
    expect(typed).to_have_value("hers")

    page.locator(ROW).nth(1).get_by_role("link", name="Edit").click()
    page.locator("[data-row-form] textarea").fill("third")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(texts)).to_have_text(["first", "third"])
    colleague.get_by_role("button", name="Save").click()
    expect(newer).to_have_text("Saved meanwhile: third")
    colleague.get_by_role("button", name="Save").click()
    expect(page.locator(texts)).to_have_text(["first", "hers"])


def test_a_group_counts_a_row_as_soon_as_it_is_moved_in(stack, page, review):
    page.get_by_role("button", name="Add all 2 to the timeline").click()
    expect(page.locator(ROW)).to_have_count(2)  # a group before them would be the first row
    page.get_by_label("Words of your own").fill("What we did")
    page.get_by_role("button", name="Add a group").click()
    group = page.locator(".review-row.is-group")
    expect(group.locator("summary")).to_contain_text("0 rows")
    row = page.locator(ROW).nth(0)
    row.get_by_role("link", name="Edit").click()
    row.get_by_label("Group").select_option("What we did")
    row.get_by_role("button", name="Save").click()
    expect(group.locator(".review-row")).to_have_count(1)
    expect(group.locator("summary").first).to_contain_text("1 row")


def drag(page, source, target):
    handle = page.locator(f"{ROW} [data-handle]").nth(source)
    box = page.locator(ROW).nth(target).bounding_box()
    handle.hover()
    page.mouse.down()
    page.mouse.move(box["x"] + 100, box["y"] + box["height"] - 4, steps=4)
    page.mouse.up()
