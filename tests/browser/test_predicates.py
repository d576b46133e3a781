"""Possibly and definitely in a browser: from the workbench's menu to a cut in the workbench."""

import re

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import open_sample


@pytest.fixture
def banks(samples, page):
    """Return the workbench of the two banks, without any predicate yet."""
    page.goto("/")
    open_sample(page, "Two banks")
    return page


def ask(page, text: str) -> None:
    page.get_by_label("Conditions on one process each").fill(text)
    page.get_by_role("button", name="Ask", exact=True).click()


def test_a_question_is_asked_answered_and_its_first_cut_opened(banks):
    banks.get_by_label("More about this recording").click()
    banks.get_by_role("link", name="Did it ever hold?").click()
    ask(banks, "A == 9000 && B <= 3000")
    expect(banks.get_by_role("heading", name="Possibly: yes")).to_be_visible(timeout=60_000)
    expect(banks.get_by_role("heading", name="Definitely: no")).to_be_visible()
    expect(banks.get_by_role("heading", name="A course that avoids it")).to_be_visible()
    banks.get_by_role("link", name="First cut in the workbench").click()
    banks.locator("#workbench.is-ready").wait_for()
    expect(banks.locator("#wb-verdict")).to_contain_text(re.compile("consistent", re.I))
    expect(banks).to_have_url(re.compile(r"cut=2\.4"))


def test_what_is_not_local_leads_to_the_recorded_snapshots(banks):
    banks.get_by_label("More about this recording").click()
    banks.get_by_role("link", name="Did it ever hold?").click()
    ask(banks, "A + B == 12000")
    expect(banks.get_by_role("alert")).to_contain_text("is about A and B at once")
    banks.get_by_role("link", name="Ask it of the recorded snapshots").click()
    expect(banks.get_by_role("cell", name="true", exact=True)).to_be_visible()
