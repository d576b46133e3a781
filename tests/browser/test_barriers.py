"""Barriers step by step, in a browser: the steps of the event at the cursor light up."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.looks import LOOKS, looking
from tests.stack import PICTURES

DRAWN = "() => document.querySelector('.barriers-chart .figure-plot')?.data?.length > 20"
LIT = """() => (document.querySelector('.barriers-chart .figure-plot')?.data ?? [])
  .filter(({ meta, name }) => meta === 'lit' && !name.includes('→')).map(({ name }) => name)"""
BLOCKED = ["barrier", "old", "same", "under way", "follow", "all", "block"]
TAKEN = ["barrier", "old", "same", "all", "off", "forward", "snapshot", "unblock"]


@pytest.fixture
def course(samples, page):
    """Return the page of the task whose inputs fill up, at its first barrier."""
    page.goto("/learn")
    page.get_by_role("link", name="Barriers under back pressure").click()
    page.locator("#workbench.is-ready").wait_for()
    page.goto(f"{page.url.partition('?')[0]}/barriers?task=count[1]")
    page.wait_for_function(DRAWN)
    return page


def wait_for_lit(page, steps: list[str]) -> None:
    page.wait_for_function(
        f"(steps) => JSON.stringify(({LIT})().sort()) === JSON.stringify(steps)", arg=sorted(steps)
    )


def test_keys_go_from_barrier_to_barrier_and_their_steps_light_up(course):
    heading = course.get_by_role("heading", level=2).first
    expect(heading).to_have_text("Event 1 of 8 at count[1]")
    wait_for_lit(course, BLOCKED)
    course.keyboard.press("ArrowRight")
    expect(heading).to_have_text("Event 2 of 8 at count[1]")
    wait_for_lit(course, TAKEN)
    steps = course.locator(".barriers-steps li")
    expect(steps).to_have_count(len(TAKEN))
    expect(steps.nth(3)).to_contain_text("All 2 barriers are here.")
    expect(course).to_have_url(re.compile("event="))
    course.keyboard.press("ArrowLeft")
    expect(heading).to_have_text("Event 1 of 8 at count[1]")
    wait_for_lit(course, BLOCKED)


def test_the_link_to_the_next_event_keeps_the_focus_and_arrows_in_the_list_of_tasks_are_its_own(
    course,
):
    forward = course.get_by_role("link", name="Next event")
    forward.focus()
    course.keyboard.press("Enter")
    expect(course.get_by_role("heading", level=2).first).to_have_text("Event 2 of 8 at count[1]")
    expect(course.get_by_role("link", name="Next event")).to_be_focused()
    course.get_by_role("combobox", name="Task").focus()
    course.keyboard.press("ArrowLeft")
    expect(course.get_by_role("heading", level=2).first).to_have_text("Event 2 of 8 at count[1]")


@pytest.mark.parametrize(("scheme", "width"), LOOKS)
def test_it_is_pictured_and_nothing_is_wider_than_the_page(
    course, browser, server, signed_in_state, scheme, width
):
    with looking(browser, server.url, signed_in_state, (scheme, width)) as page:
        page.goto(course.url)
        page.wait_for_function(DRAWN)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.screenshot(path=PICTURES / f"barriers-{scheme}-{width}.png", full_page=True)
